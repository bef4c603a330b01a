/* SPDX-License-Identifier: MIT */
/* Names of values and blocks while reading. One table holds every name of the text; what a name means
 * changes with scopes, and leaving a scope takes back what was defined in it. A use before its
 * definition gets a stand-in value, replaced when the definition comes. */
#include "ir/parse/parse_in.h"

static u32 find_name(reader *r, const char *s, u32 len) {
    u32 hash = (u32)hash_bytes(s, len, 0);
    u32 i = hash & r->name_mask;
    for (; r->name_slots[i]; i = (i + 1) & r->name_mask) {
        const read_name *n = &r->names.at[r->name_slots[i] - 1];
        if (n->hash == hash && n->len == len && memcmp(n->text, s, len) == 0)
            return r->name_slots[i] - 1;
    }
    read_name fresh = {.text = s, .len = len, .hash = hash};
    VEC_PUSH(r->keep, &r->names, fresh);
    r->name_slots[i] = r->names.count;
    if (r->names.count > r->name_mask / 2) {
        r->name_mask = r->name_mask * 2 + 1;
        r->name_slots = ARENA_ARRAY(r->keep, u32, r->name_mask + 1);
        for (u32 k = 0; k < r->names.count; k++) {
            for (i = r->names.at[k].hash & r->name_mask; r->name_slots[i];)
                i = (i + 1) & r->name_mask;
            r->name_slots[i] = k + 1;
        }
    }
    return r->names.count - 1;
}

tm_status read_ref_of(reader *r, read_ref *ref) {
    if (!read_peek(r, '%'))
        return read_expected(r, "an operand");
    const char *s;
    u32 len;
    ref->at = r->at++;
    if (!read_suffix_text(r, &s, &len))
        return read_expected(r, "a value name");
    ref->name = find_name(r, s, len);
    ref->index = 0;
    if (*r->at == '#') {
        r->at++;
        TRY(read_u32(r, &ref->index));
    }
    return 0;
}

/* For messages: a type as text. */
static const char *type_text(reader *r, const ir_type *t) {
    text s = {0};
    ir_print_type(&s, r->m, t);
    const char *copy = arena_str(r->keep, s.at, MIN(s.len, (size_t)300));
    text_free(&s);
    return copy;
}

static ir_value *stand_in(reader *r, const read_ref *ref, const ir_type *type) {
    read_name *n = &r->names.at[ref->name];
    for (read_later *l = n->later; l; l = l->next)
        if (l->index == ref->index && l->value->type == type)
            return l->value;
    read_later *l = ARENA_NEW(r->keep, read_later);
    l->value = ARENA_NEW(r->m->arena, ir_value);
    l->value->type = type;
    l->index = ref->index;
    l->at = ref->at;
    l->next = n->later;
    n->later = l;
    r->n_later++;
    return l->value;
}

ir_value *read_resolve(reader *r, const read_ref *ref, const ir_type *type) {
    read_name *n = &r->names.at[ref->name];
    if (!n->first)
        return stand_in(r, ref, type);
    if (ref->index >= n->count) {
        read_fail(r, ref->at, TM1024, (int)n->len, n->text, n->count, ref->index);
        return NULL;
    }
    ir_value *v = n->first + ref->index;
    if (v->type != type) {
        read_fail(r, ref->at, TM1005, (int)n->len, n->text, type_text(r, v->type),
                  type_text(r, type));
        return NULL;
    }
    return v;
}

static tm_status settle(reader *r, read_name *n) {
    for (read_later *l = n->later; l; l = l->next) {
        if (l->index >= n->count)
            return read_fail(r, l->at, TM1024, (int)n->len, n->text, n->count, l->index);
        ir_value *v = n->first + l->index;
        if (v->type != l->value->type)
            return read_fail(r, l->at, TM1005, (int)n->len, n->text, type_text(r, v->type),
                             type_text(r, l->value->type));
        ir_replace_uses(l->value, v);
        r->n_later--;
    }
    n->later = NULL;
    return 0;
}

tm_status read_define(reader *r, const char *at, const char *name, u32 len, ir_value *first, u32 n) {
    u32 index = find_name(r, name, len);
    read_name *entry = &r->names.at[index];
    if (entry->first)
        return read_fail(r, at, TM1004, (int)len, name);
    entry->first = first;
    entry->count = n;
    VEC_PUSH(r->keep, &r->defined, index);
    return entry->later ? settle(r, entry) : 0;
}

u32 read_scope(reader *r) { return r->defined.count; }

void read_scope_end(reader *r, u32 mark) {
    while (r->defined.count > mark)
        r->names.at[VEC_POP(&r->defined)].first = NULL;
}

/* At the end of a function nothing may be left without definition. */
tm_status read_check_later(reader *r) {
    if (r->n_later == 0)
        return 0;
    const read_name *first = NULL;
    for (u32 i = 0; i < r->names.count; i++) {
        const read_name *n = &r->names.at[i];
        if (n->later && (!first || n->later->at < first->later->at))
            first = n;
    }
    return read_fail(r, first->later->at, TM1003, (int)first->len, first->text);
}

/* A block label behind '^'. When `define`d it joins the region here, in text order. */
ir_block *read_label(reader *r, bool define) {
    const char *name;
    u32 len;
    read_space(r);
    const char *at = r->at;
    if (!r->region) { /* a branch beside the functions */
        read_expected(r, "a function around this branch");
        return NULL;
    }
    if (!read_char(r, '^') || !read_suffix_text(r, &name, &len)) {
        read_expected(r, "a block label");
        return NULL;
    }
    if (!r->region->labels)
        r->region->labels = strmap_new(r->keep);
    void **slot = strmap_put(r->region->labels, name, len, NULL);
    read_block *b = *slot;
    if (!b) {
        b = *slot = ARENA_NEW(r->keep, read_block);
        b->block = ARENA_NEW(r->m->arena, ir_block);
        b->at = at;
        b->next = r->region->blocks;
        r->region->blocks = b;
    }
    if (!define)
        return b->block;
    if (b->defined) {
        read_fail(r, at, TM1011, (int)len, name);
        return NULL;
    }
    b->defined = true;
    ir_region *region = r->region->region;
    b->block->region = region;
    b->block->prev = region->last;
    *(region->last ? &region->last->next : &region->first) = b->block;
    region->last = b->block;
    return b->block;
}
