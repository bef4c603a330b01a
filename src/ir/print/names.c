/* SPDX-License-Identifier: MIT */
/* Names of values and blocks, as upstream chooses them: the name in the value's location, constants by
 * their value, else a number. A nested region goes on counting where the region around it ends, and
 * its names need only differ from those of the regions around it: sibling regions reuse names. */
#include "ir/print/print_in.h"
#include <stdio.h>

typedef struct used_name {
    const char *name;
    u32 len, hash;
} used_name;

typedef struct counters {
    u32 value, argument, conflict;
} counters;

typedef struct namer {
    printer *p;
    counters next;
    used_name *slots; /* open addressing; len 0 and name NULL: empty */
    u32 mask, count;
    VEC(u32) trail; /* slots in use, innermost scope last */
} namer;

/* ---- The set of names in use -------------------------------------------------------------------------- */

static u32 name_slot(const namer *n, const char *name, u32 len, u32 hash) {
    u32 i = hash & n->mask;
    while (n->slots[i].name && (n->slots[i].hash != hash || n->slots[i].len != len ||
                                memcmp(n->slots[i].name, name, len) != 0))
        i = (i + 1) & n->mask;
    return i;
}

/* Names are taken out in the reverse order of coming in, so empty slots break no chain. */
static void use_name(namer *n, const char *name, u32 len) {
    if (n->count > n->mask / 2) {
        used_name *old = n->slots;
        n->mask = n->mask * 2 + 1;
        n->slots = ARENA_ARRAY(n->p->arena, used_name, n->mask + 1);
        for (u32 i = 0; i < n->trail.count; i++) {
            const used_name *u = &old[n->trail.at[i]];
            u32 slot = name_slot(n, u->name, u->len, u->hash);
            n->slots[slot] = *u;
            n->trail.at[i] = slot;
        }
    }
    u32 hash = (u32)hash_bytes(name, len, 0);
    u32 slot = name_slot(n, name, len, hash);
    n->slots[slot] = (used_name){name, len, hash};
    n->count++;
    VEC_PUSH(n->p->arena, &n->trail, slot);
}

static bool is_used(const namer *n, const char *name, u32 len) {
    return n->slots[name_slot(n, name, len, (u32)hash_bytes(name, len, 0))].name != NULL;
}

static void leave_scope(namer *n, u32 mark) {
    while (n->trail.count > mark) {
        n->slots[VEC_POP(&n->trail)].name = NULL;
        n->count--;
    }
}

/* ---- Choosing ------------------------------------------------------------------------------------------ */

static bool is_punctuation(char c) { return c == '$' || c == '.' || c == '_' || c == '-'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* A name with only characters that an identifier may have. */
static const char *sanitize(arena *a, const char *name, u32 *len) {
    bool prefix = !is_punctuation(name[0]) && !is_alpha(name[0]), clean = !prefix;
    for (u32 i = 0; i < *len && clean; i++)
        clean = is_punctuation(name[i]) || is_alpha(name[i]) || is_digit(name[i]);
    if (clean)
        return name;
    char *out = arena_alloc(a, 2 * (size_t)*len + 2), *o = out;
    if (prefix)
        *o++ = '_';
    for (u32 i = 0; i < *len; i++) {
        if (is_punctuation(name[i]) || is_alpha(name[i]) || is_digit(name[i]))
            *o++ = name[i];
        else if (name[i] == ' ')
            *o++ = '_';
        else
            o += sprintf(o, "%X", (u8)name[i]);
    }
    *len = (u32)(o - out);
    return out;
}

static print_name *name_entry(printer *p, const ir_value *v) {
    u32 i = (u32)(((uintptr_t)v >> 4) * 0x9E3779B1u) & p->name_mask;
    while (p->names[i].value && p->names[i].value != v)
        i = (i + 1) & p->name_mask;
    return &p->names[i];
}

static void add_entry(printer *p, const ir_value *v, const char *name, u32 number) {
    if (++p->n_names > p->name_mask / 2) {
        print_name *old = p->names;
        u32 old_mask = p->name_mask;
        p->name_mask = p->name_mask * 2 + 1;
        p->names = ARENA_ARRAY(p->arena, print_name, p->name_mask + 1);
        for (u32 i = 0; i <= old_mask; i++)
            if (old[i].value)
                *name_entry(p, old[i].value) = old[i];
    }
    *name_entry(p, v) = (print_name){v, name, number};
}

static void set_number(namer *n, const ir_value *v) { add_entry(n->p, v, NULL, n->next.value++); }

static void set_name(namer *n, const ir_value *v, const char *name, u32 len) {
    if (len == 0) {
        set_number(n, v);
        return;
    }
    name = sanitize(n->p->arena, name, &len);
    if (is_used(n, name, len)) {
        char *probe = arena_alloc(n->p->arena, len + 16);
        memcpy(probe, name, len);
        u32 total;
        do
            total = len + (u32)sprintf(probe + len, "_%u", n->next.conflict++);
        while (is_used(n, probe, total));
        name = probe;
        len = total;
    }
    use_name(n, name, len);
    add_entry(n->p, v, name, len);
}

static const char *name_of_loc(const namer *n, const ir_loc *loc) {
    return n->p->flags & IR_PRINT_NAMES && loc && loc->first_name ? loc->first_name : NULL;
}

/* What an op suggests for result i, NULL for nothing. */
static const char *suggested(namer *n, const ir_op *op, u32 i) {
    static const char *const split[] = {"outLHS", "outRHS"}, *const extended[] = {"low", "high"};
    if (op->code == IR_tt_split && i < 2)
        return split[i];
    if ((op->code == IR_arith_mulsi_extended || op->code == IR_arith_mului_extended) && i < 2)
        return extended[i];
    if (op->code != IR_arith_constant)
        return NULL;
    const ir_attr *value = ir_attr_get(op, "value");
    if (!value || value->kind != IR_ATTR_INT)
        return "cst";
    if (ir_is_int(value->type, 1))
        return value->i ? "true" : "false";
    if (value->type->kind == IR_INDEX)
        return arena_printf(n->p->arena, "c%lld", (long long)value->i);
    return arena_printf(n->p->arena, "c%lld_%s%u", (long long)value->i,
                        value->type->sign == 's' ? "si" : value->type->sign == 'u' ? "ui" : "i",
                        value->type->width);
}

u32 print_result_groups(const ir_op *op) {
    bool own = op->code == IR_tt_split || op->code == IR_arith_mulsi_extended ||
               op->code == IR_arith_mului_extended;
    return own ? op->n_results : 1;
}

static void name_results(namer *n, const ir_op *op) {
    u32 groups = op->n_results ? print_result_groups(op) : 0;
    const char *from_loc = groups ? name_of_loc(n, op->loc) : NULL;
    for (u32 i = 0; i < groups; i++) {
        const char *name = from_loc;
        if (!name)
            name = suggested(n, op, i);
        if (name)
            set_name(n, &op->results[i], name, (u32)strlen(name));
        else
            set_number(n, &op->results[i]);
    }
}

static void name_args(namer *n, const ir_block *b, bool entry) {
    for (u32 i = 0; i < b->n_args; i++) {
        const char *name = name_of_loc(n, b->args[i]->loc);
        char arg[16];
        u32 len = entry ? (u32)sprintf(arg, "arg%u", n->next.argument++) : 0;
        if (name)
            set_name(n, b->args[i], name, (u32)strlen(name));
        else
            set_name(n, b->args[i], arena_str(n->p->arena, arg, len), len);
    }
}

/* Values of a whole region first, then the regions inside it. */
static void name_region(namer *n, const ir_region *region) {
    u32 mark = n->trail.count, number = 0;
    for (const ir_block *b = region->first; b; b = b->next) {
        if (region->first->next)
            *map_put(n->p->blocks, MAP_KEY(b)) = (void *)(uintptr_t)++number;
        name_args(n, b, b == region->first);
        IR_FOR_EACH_OP(b, op)
            name_results(n, op);
    }
    counters here = n->next;
    for (const ir_block *b = region->first; b; b = b->next)
        IR_FOR_EACH_OP(b, op)
            for (u32 i = 0; i < op->n_regions; i++) {
                n->next = here;
                name_region(n, &op->regions[i]);
            }
    leave_scope(n, mark);
}

void print_number_values(printer *p, const ir_op *root) {
    namer n = {.p = p, .mask = 255};
    n.slots = ARENA_ARRAY(p->arena, used_name, 256);
    p->name_mask = 255;
    p->names = ARENA_ARRAY(p->arena, print_name, 256);
    p->blocks = map_new(p->arena);
    name_results(&n, root);
    counters here = n.next;
    for (u32 i = 0; i < root->n_regions; i++) {
        n.next = here;
        name_region(&n, &root->regions[i]);
    }
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

static void put_name(printer *p, const print_name *n) {
    put(p, "%");
    if (!n->value)
        put(p, "<unnamed>");
    else if (n->name)
        put_n(p, n->name, n->number);
    else
        put_int(p, n->number);
}

/* The value, with its number in the group of results that share a name. */
void print_value(printer *p, const ir_value *v) {
    if (p->collect)
        return;
    const ir_op *op = v->op;
    if (!op || op->n_results == 1 || print_result_groups(op) > 1) {
        put_name(p, name_entry(p, v));
        return;
    }
    put_name(p, name_entry(p, &op->results[0]));
    put(p, "#");
    put_int(p, v->index);
}

void print_result_group(printer *p, const ir_value *first, u32 count) {
    if (p->collect)
        return;
    put_name(p, name_entry(p, first));
    if (count > 1) {
        put(p, ":");
        put_int(p, count);
    }
}

u32 print_block_number(printer *p, const ir_block *b) {
    void **found = map_get(p->blocks, MAP_KEY(b));
    return found ? (u32)(uintptr_t)*found - 1 : 0;
}
