/* SPDX-License-Identifier: MIT */
/* Writes the type table, in the module's order (ids are positions), and the attribute tables. */
#include "air/bitcode/write.h"

enum { TA_POINTER, TA_FUNCTION, TA_ANON, TA_NAME, TA_NAMED, TA_ARRAY, TA_COUNT };

static void define_type_abbrevs(air_writer *w, u32 ids[TA_COUNT]) {
    abbrev_op type = {ABBREV_FIXED, w->type_bits}, array = {ABBREV_ARRAY, 0}, bit = {ABBREV_FIXED, 1};
    bit_writer *b = &w->bits;
    ids[TA_POINTER] =
        bit_define(b, 3, (abbrev_op[]){{0, TYPE_POINTER}, type, {ABBREV_LITERAL, 0}});
    ids[TA_FUNCTION] = bit_define(b, 4, (abbrev_op[]){{0, TYPE_FUNCTION}, bit, array, type});
    ids[TA_ANON] = bit_define(b, 4, (abbrev_op[]){{0, TYPE_STRUCT_ANON}, bit, array, type});
    ids[TA_NAME] =
        bit_define(b, 3, (abbrev_op[]){{0, TYPE_STRUCT_NAME}, array, {ABBREV_CHAR6, 0}});
    ids[TA_NAMED] = bit_define(b, 4, (abbrev_op[]){{0, TYPE_STRUCT_NAMED}, bit, array, type});
    ids[TA_ARRAY] = bit_define(b, 3, (abbrev_op[]){{0, TYPE_ARRAY}, {ABBREV_VBR, 8}, type});
}

static bool all_char6(const char *s) {
    for (; *s; s++)
        if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && !(*s >= '0' && *s <= '9') &&
            *s != '.' && *s != '_')
            return false;
    return true;
}

static void write_struct(air_writer *w, const air_type *t, const u32 *ids) {
    if (t->name && t->name[0])
        bit_record_chars(&w->bits, all_char6(t->name) ? ids[TA_NAME] : BC_UNABBREV,
                         TYPE_STRUCT_NAME, t->name, strlen(t->name));
    if (t->kind == AIR_OPAQUE) {
        PUT(w, 0);
        write_record(w, BC_UNABBREV, TYPE_OPAQUE);
        return;
    }
    PUT(w, t->packed);
    for (u32 i = 0; i < t->n_fields; i++)
        PUT(w, t->fields[i]->id);
    write_record(w, ids[t->name ? TA_NAMED : TA_ANON],
                 t->name ? TYPE_STRUCT_NAMED : TYPE_STRUCT_ANON);
}

static void write_type(air_writer *w, const air_type *t, const u32 *ids) {
    static const u8 simple[] = {[AIR_VOID] = TYPE_VOID, [AIR_LABEL] = TYPE_LABEL,
                                [AIR_METADATA] = TYPE_METADATA, [AIR_HALF] = TYPE_HALF,
                                [AIR_BFLOAT] = TYPE_BFLOAT, [AIR_FLOAT] = TYPE_FLOAT,
                                [AIR_DOUBLE] = TYPE_DOUBLE};
    switch ((enum air_type_kind)t->kind) {
    case AIR_VOID:
    case AIR_LABEL:
    case AIR_METADATA:
    case AIR_HALF:
    case AIR_BFLOAT:
    case AIR_FLOAT:
    case AIR_DOUBLE: write_record(w, BC_UNABBREV, simple[t->kind]); return;
    case AIR_INT:
        PUT(w, t->bits);
        write_record(w, BC_UNABBREV, TYPE_INTEGER);
        return;
    case AIR_PTR:
        PUT(w, t->elem->id);
        PUT(w, t->space);
        write_record(w, t->space ? BC_UNABBREV : ids[TA_POINTER], TYPE_POINTER);
        return;
    case AIR_ARRAY:
    case AIR_VECTOR:
        PUT(w, t->count);
        PUT(w, t->elem->id);
        write_record(w, t->kind == AIR_ARRAY ? ids[TA_ARRAY] : BC_UNABBREV,
                     t->kind == AIR_ARRAY ? TYPE_ARRAY : TYPE_VECTOR);
        return;
    case AIR_STRUCT:
    case AIR_OPAQUE: write_struct(w, t, ids); return;
    case AIR_FUNC:
        PUT(w, t->vararg);
        PUT(w, t->elem->id);
        for (u32 i = 0; i < t->n_fields; i++)
            PUT(w, t->fields[i]->id);
        write_record(w, ids[TA_FUNCTION], TYPE_FUNCTION);
        return;
    }
}

void write_types(air_writer *w) {
    u32 ids[TA_COUNT];
    bit_begin(&w->bits, BLOCK_TYPE, 4);
    define_type_abbrevs(w, ids);
    PUT(w, w->m->types.count);
    write_record(w, BC_UNABBREV, TYPE_NUMENTRY);
    for (u32 i = 0; i < w->m->types.count; i++)
        write_type(w, w->m->types.at[i], ids);
    bit_finish(&w->bits);
}

static void put_text(air_writer *w, const char *s) {
    for (; *s; s++)
        PUT(w, (u8)*s);
    PUT(w, 0);
}

static void put_attr(air_writer *w, const air_attr *a) {
    PUT(w, a->form);
    if (a->form == AIR_ATTR_KEY || a->form == AIR_ATTR_KEY_VALUE) {
        put_text(w, a->key);
        if (a->form == AIR_ATTR_KEY_VALUE)
            put_text(w, a->text);
        return;
    }
    PUT(w, a->kind);
    if (a->form == AIR_ATTR_INT)
        PUT(w, a->value);
    if (a->form == AIR_ATTR_TYPE_VALUE)
        PUT(w, a->type->id);
}

void write_attributes(air_writer *w) {
    const air_module *m = w->m;
    if (!m->attr_lists.count)
        return;
    bit_begin(&w->bits, BLOCK_PARAMATTR_GROUP, 3);
    for (u32 i = 0; i < m->attr_groups.count; i++) {
        const air_attr_group *g = &m->attr_groups.at[i];
        PUT(w, i + 1);
        PUT(w, g->slot);
        for (u32 k = 0; k < g->n; k++)
            put_attr(w, &g->at[k]);
        write_record(w, BC_UNABBREV, PARAMATTR_GROUP_ENTRY);
    }
    bit_finish(&w->bits);
    bit_begin(&w->bits, BLOCK_PARAMATTR, 3);
    for (u32 i = 0; i < m->attr_lists.count; i++) {
        for (u32 k = 0; k < m->attr_lists.at[i].n; k++)
            PUT(w, m->attr_lists.at[i].groups[k] + 1);
        write_record(w, BC_UNABBREV, PARAMATTR_ENTRY);
    }
    bit_finish(&w->bits);
}
