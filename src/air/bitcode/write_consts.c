/* SPDX-License-Identifier: MIT */
/* Writes CONSTANTS and METADATA blocks and the metadata attached to instructions. */
#include "air/bitcode/write.h"

static void put_signed(air_writer *w, u64 value, u32 bits) {
    u32 shift = 64 - bits;
    i64 v = (i64)(value << shift) >> shift;
    PUT(w, v >= 0 ? (u64)v << 1 : (0 - (u64)v) << 1 | 1);
}

typedef struct const_abbrevs {
    u32 aggregate, string8, string7, string6;
} const_abbrevs;

static const_abbrevs define_const_abbrevs(air_writer *w) {
    abbrev_op array = {ABBREV_ARRAY, 0};
    bit_writer *b = &w->bits;
    const_abbrevs a;
    a.aggregate = bit_define(b, 3, (abbrev_op[]){{0, CONSTANTS_AGGREGATE}, array,
                                                 {ABBREV_FIXED, bits_for(w->n_module_values + 1)}});
    a.string8 = bit_define(b, 3, (abbrev_op[]){{0, CONSTANTS_STRING}, array, {ABBREV_FIXED, 8}});
    a.string7 = bit_define(b, 3, (abbrev_op[]){{0, CONSTANTS_CSTRING}, array, {ABBREV_FIXED, 7}});
    a.string6 = bit_define(b, 3, (abbrev_op[]){{0, CONSTANTS_CSTRING}, array, {ABBREV_CHAR6, 0}});
    return a;
}

static u64 load_le(const u8 *p, u32 width) {
    u64 v = 0;
    for (u32 i = 0; i < width; i++)
        v |= (u64)p[i] << (8 * i);
    return v;
}

static void write_data(air_writer *w, const air_const *c, const const_abbrevs *a) {
    u32 width = air_data_width(c->v.type->elem), code = CONSTANTS_DATA, abbrev_id = BC_UNABBREV;
    u64 n = c->data_len / width;
    bool seven = true, six = true;
    if (c->cstring) {
        const u8 *nul = memchr(c->data, 0, n);
        code = nul && nul == c->data + n - 1 ? CONSTANTS_CSTRING : CONSTANTS_STRING;
        n -= code == CONSTANTS_CSTRING;
    }
    for (u64 i = 0; i < n; i++) {
        u64 v = load_le(c->data + i * width, width);
        seven = seven && v < 128;
        six = six && ((v >= 'a' && v <= 'z') || (v >= 'A' && v <= 'Z') || (v >= '0' && v <= '9') ||
                      v == '.' || v == '_');
        PUT(w, v);
    }
    if (a && code == CONSTANTS_STRING)
        abbrev_id = a->string8;
    else if (a && code == CONSTANTS_CSTRING && seven)
        abbrev_id = six ? a->string6 : a->string7;
    write_record(w, abbrev_id, code);
}

static void write_gep_const(air_writer *w, const air_const *c) {
    u32 code = c->inbounds ? CONSTANTS_CE_INBOUNDS_GEP : CONSTANTS_CE_GEP;
    PUT(w, c->aux->id);
    if (c->inrange) {
        code = CONSTANTS_CE_GEP_INRANGE;
        PUT(w, (u64)(c->inrange - 1) << 1 | c->inbounds);
    }
    for (u32 i = 0; i < c->n_elems; i++) {
        PUT(w, c->elems[i]->type->id);
        PUT(w, write_value_id(w, c->elems[i]));
    }
    write_record(w, BC_UNABBREV, code);
}

static void write_const(air_writer *w, const air_const *c, const const_abbrevs *a) {
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_NULL: write_record(w, w->info[INFO_CONST_NULL], CONSTANTS_NULL); return;
    case AIR_C_UNDEF: write_record(w, BC_UNABBREV, CONSTANTS_UNDEF); return;
    case AIR_C_POISON: write_record(w, BC_UNABBREV, CONSTANTS_POISON); return;
    case AIR_C_INT:
    case AIR_C_FLOAT:
        if (c->wide == 0) {
            write_record(w, w->info[INFO_CONST_NULL], CONSTANTS_NULL);
        } else if (c->kind == AIR_C_INT) {
            put_signed(w, c->wide, c->v.type->bits);
            write_record(w, w->info[INFO_CONST_INTEGER], CONSTANTS_INTEGER);
        } else {
            PUT(w, c->wide);
            write_record(w, BC_UNABBREV, CONSTANTS_FLOAT);
        }
        return;
    case AIR_C_AGGREGATE:
        for (u32 i = 0; i < c->n_elems; i++)
            PUT(w, write_value_id(w, c->elems[i]));
        write_record(w, a ? a->aggregate : BC_UNABBREV, CONSTANTS_AGGREGATE);
        return;
    case AIR_C_DATA: write_data(w, c, a); return;
    case AIR_C_CAST:
        PUT(w, c->op);
        PUT(w, c->elems[0]->type->id);
        PUT(w, write_value_id(w, c->elems[0]));
        write_record(w, w->info[INFO_CONST_CAST], CONSTANTS_CE_CAST);
        return;
    case AIR_C_GEP: write_gep_const(w, c); return;
    }
}

void write_constants(air_writer *w, u32 from, u32 to, bool module_level) {
    if (from == to)
        return;
    bit_begin(&w->bits, BLOCK_CONSTANTS, 4);
    const_abbrevs abbrevs;
    if (module_level)
        abbrevs = define_const_abbrevs(w);
    const air_type *type = NULL;
    for (u32 i = from; i < to; i++) {
        const air_const *c = as_const(w->values.at[i].value);
        if (c->v.type != type) {
            type = c->v.type;
            PUT(w, type->id);
            write_record(w, w->info[INFO_CONST_SETTYPE], CONSTANTS_SETTYPE);
        }
        write_const(w, c, module_level ? &abbrevs : NULL);
    }
    bit_finish(&w->bits);
}

/* ---- Metadata --------------------------------------------------------------------------------- */
void write_md_kinds(air_writer *w) {
    bit_begin(&w->bits, BLOCK_METADATA_KIND, 3);
    for (u32 i = 0; i < w->m->md_kinds.count; i++) {
        PUT(w, i);
        for (const char *s = w->m->md_kinds.at[i]; *s; s++)
            PUT(w, (u8)*s);
        write_record(w, BC_UNABBREV, METADATA_KIND_KIND);
    }
    bit_finish(&w->bits);
}

/* One blob: the lengths as a bit stream of its own, then the characters. */
static void write_strings(air_writer *w, const md_range *range) {
    if (!range->strings)
        return;
    u32 id = bit_define(&w->bits, 4, (abbrev_op[]){{0, METADATA_STRINGS}, {ABBREV_VBR, 6},
                                                   {ABBREV_VBR, 6}, {ABBREV_BLOB, 0}});
    text blob = {0};
    bit_writer lengths = {.out = &blob};
    for (u32 i = 0; i < range->strings; i++)
        bit_emit_vbr(&lengths, w->md_order.at[range->first + i]->n, 6);
    if (lengths.n_pending)
        bit_emit(&lengths, 0, 32 - lengths.n_pending);
    u64 ops[] = {range->strings, blob.len};
    for (u32 i = 0; i < range->strings; i++) {
        const air_md *s = w->md_order.at[range->first + i];
        text_add(&blob, s->text, s->n);
    }
    bit_record_blob(&w->bits, id, METADATA_STRINGS, 2, ops, blob.at, blob.len);
    text_free(&blob);
}

static void write_md(air_writer *w, const air_md *md) {
    if (md->kind == AIR_MD_VALUE) {
        PUT(w, md->value->type->id);
        PUT(w, write_value_id(w, md->value));
        write_record(w, BC_UNABBREV, METADATA_VALUE);
        return;
    }
    for (u32 i = 0; i < md->n; i++)
        PUT(w, md->ops[i] ? (u64)write_md_id(w, md->ops[i]) + 1 : 0);
    write_record(w, BC_UNABBREV, md->distinct ? METADATA_DISTINCT_NODE : METADATA_NODE);
}

/* Records with the place of each, for readers that load metadata lazily. */
static void write_indexed(air_writer *w, const md_range *range, u32 offset_id, u32 index_id) {
    u32 n = range->count - range->strings;
    bit_record(&w->bits, offset_id, METADATA_INDEX_OFFSET, 2, (u64[]){0, 0});
    u64 start = bit_position(&w->bits), last = start;
    u64 *deltas = ARENA_ARRAY(w->scratch, u64, n);
    for (u32 i = 0; i < n; i++) {
        u64 at = bit_position(&w->bits);
        deltas[i] = at - last;
        last = at;
        write_md(w, w->md_order.at[range->first + range->strings + i]);
    }
    u64 distance = bit_position(&w->bits) - start;
    bit_patch32(&w->bits, start - 64, (u32)distance);
    bit_patch32(&w->bits, start - 32, (u32)(distance >> 32));
    bit_record(&w->bits, index_id, METADATA_INDEX, n, deltas);
}

static void write_named(air_writer *w) {
    if (!w->m->named.count)
        return;
    u32 id = bit_define(&w->bits, 3, (abbrev_op[]){{0, METADATA_NAME}, {ABBREV_ARRAY, 0},
                                                   {ABBREV_FIXED, 8}});
    for (u32 i = 0; i < w->m->named.count; i++) {
        const air_named_md *named = &w->m->named.at[i];
        bit_record_chars(&w->bits, id, METADATA_NAME, named->name, strlen(named->name));
        for (u32 k = 0; k < named->n; k++)
            PUT(w, write_md_id(w, named->ops[k]));
        write_record(w, BC_UNABBREV, METADATA_NAMED_NODE);
    }
}

void write_module_metadata(air_writer *w) {
    enum { INDEX_THRESHOLD = 25 };
    const md_range *range = &w->module_mds;
    if (!range->count && !w->m->named.count)
        return;
    bit_begin(&w->bits, BLOCK_METADATA, 4);
    u32 offset_id = bit_define(&w->bits, 3, (abbrev_op[]){{0, METADATA_INDEX_OFFSET},
                                                          {ABBREV_FIXED, 32}, {ABBREV_FIXED, 32}});
    u32 index_id = bit_define(&w->bits, 3, (abbrev_op[]){{0, METADATA_INDEX}, {ABBREV_ARRAY, 0},
                                                         {ABBREV_VBR, 6}});
    write_strings(w, range);
    if (range->count - range->strings > INDEX_THRESHOLD)
        write_indexed(w, range, offset_id, index_id);
    else
        for (u32 i = range->strings; i < range->count; i++)
            write_md(w, w->md_order.at[range->first + i]);
    write_named(w);
    bit_finish(&w->bits);
}

void write_function_metadata(air_writer *w, u32 func) {
    const md_range *range = &w->func_mds[func];
    if (!range->count)
        return;
    bit_begin(&w->bits, BLOCK_METADATA, 3);
    write_strings(w, range);
    for (u32 i = range->strings; i < range->count; i++)
        write_md(w, w->md_order.at[range->first + i]);
    bit_finish(&w->bits);
}

void write_attachments(air_writer *w, const air_func *f) {
    bool open = false;
    u32 number = 0;
    for (const air_block *b = f->first; b; b = b->next)
        for (const air_inst *i = b->first; i; i = i->next, number++) {
            if (!i->n_attach)
                continue;
            if (!open)
                bit_begin(&w->bits, BLOCK_ATTACHMENT, 3);
            open = true;
            PUT(w, number);
            for (u32 k = 0; k < i->n_attach; k++) {
                PUT(w, i->attach[k].kind);
                PUT(w, write_md_id(w, i->attach[k].node));
            }
            write_record(w, BC_UNABBREV, ATTACHMENT_ENTRY);
        }
    if (open)
        bit_finish(&w->bits);
}
