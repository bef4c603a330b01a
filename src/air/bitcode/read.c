/* SPDX-License-Identifier: MIT */
/* Reads a bitcode file into a module. Names come from the string table, which lies behind the module
 * block, so the file is walked twice: first to find its blocks, then to read the module. Anything
 * that no AIR module holds (aliases, comdats, inline assembly, opaque pointers) is refused by name.
 * What the reader returns is sound in structure: every operand is there and has the type its use
 * names; dominance and the rest is air_verify's. */
#include "air/bitcode/read.h"

tm_status bc_fail(air_reader *r, const char *what) {
    if (!r->bits.failed)
        diag_at(r->ctx, NULL, TM4004, what, (unsigned long long)(r->bits.at / 8));
    r->bits.failed = true;
    return -1;
}

tm_status read_unsupported(air_reader *r, const char *what) {
    if (!r->bits.failed)
        diag_at(r->ctx, NULL, TM4003, what, r->bits.code);
    r->bits.failed = true;
    return -1;
}

tm_status read_spend(air_reader *r, u64 units) {
    if (units <= r->budget) {
        r->budget -= units;
        return 0;
    }
    if (!r->bits.failed)
        diag_at(r->ctx, NULL, TM4005, "it asks for far more memory than its own size");
    r->bits.failed = true;
    return -1;
}

tm_status bc_need(air_reader *r, u32 n) {
    return r->bits.n_ops >= n ? 0 : bc_fail(r, "a record is too short");
}

const char *read_chars(air_reader *r, u32 from) {
    u32 n = r->bits.n_ops > from ? r->bits.n_ops - from : 0;
    char *s = arena_alloc(r->m->arena, n + 1);
    for (u32 i = 0; i < n; i++)
        s[i] = (char)r->bits.ops[from + i];
    s[n] = 0;
    return s;
}

/* Operand i of the record, 0 when the record is shorter. */
static u64 field(const air_reader *r, u32 i) { return i < r->bits.n_ops ? r->bits.ops[i] : 0; }

static tm_status symbol_name(air_reader *r, const char **out) {
    u64 at = field(r, 0), len = field(r, 1);
    if (at > r->strtab_len || len > r->strtab_len - at)
        return bc_fail(r, "a name lies outside the string table");
    *out = arena_str(r->m->arena, (const char *)r->strtab + at, len);
    if (strlen(*out) != len)
        return bc_fail(r, "a name contains a NUL");
    return 0;
}

static tm_status alignment(air_reader *r, u64 encoded, u32 *out) {
    if (encoded > 30)
        return bc_fail(r, "an alignment is out of range");
    *out = (1u << encoded) >> 1;
    return 0;
}

static tm_status check_attrs(air_reader *r, u64 list) {
    return list <= r->m->attr_lists.count ? 0 : bc_fail(r, "an attribute list is not there");
}

static tm_status read_global(air_reader *r) {
    TRY(bc_need(r, 8));
    const char *name;
    TRY(symbol_name(r, &name));
    air_type *t = bc_type(r, field(r, 2));
    if (!t)
        return -1;
    u64 flags = field(r, 3);
    if (!(flags & 2) || (flags >> 2) >= 1 << 24 || field(r, 13))
        return read_unsupported(r, "global without a value type or with a comdat, record");
    if (t->kind == AIR_FUNC || t->kind == AIR_VOID || t->kind == AIR_LABEL ||
        t->kind == AIR_METADATA)
        return bc_fail(r, "a global has a type without values");
    air_global *g = air_global_new(r->m, name, t, (u32)(flags >> 2));
    g->constant = flags & 1;
    g->linkage = (u32)field(r, 5);
    TRY(alignment(r, field(r, 6), &g->align));
    g->section = (u32)field(r, 7);
    g->visibility = (u32)field(r, 8);
    g->tls = (u32)field(r, 9);
    g->unnamed_addr = (u32)field(r, 10);
    g->ext_init = field(r, 11) != 0;
    g->dll = (u32)field(r, 12);
    TRY(check_attrs(r, field(r, 14)));
    g->attrs = (u32)field(r, 14);
    g->dso_local = field(r, 15) != 0;
    if (g->section > r->m->sections.count)
        return bc_fail(r, "a section is not there");
    if (field(r, 4))
        VEC_PUSH(r->scratch, &r->inits, ((pending_init){g, field(r, 4) - 1}));
    VEC_PUSH(r->scratch, &r->values, &g->v);
    return 0;
}

static tm_status read_function_record(air_reader *r) {
    TRY(bc_need(r, 10));
    const char *name;
    TRY(symbol_name(r, &name));
    air_type *t = bc_type(r, field(r, 2));
    if (!t)
        return -1;
    if (t->kind != AIR_FUNC)
        return bc_fail(r, "a function has no function type");
    if (field(r, 12) || field(r, 14) || field(r, 15) || field(r, 16) || field(r, 18))
        return read_unsupported(r, "function with a prologue, prefix, comdat or personality, record");
    TRY(read_spend(r, t->n_fields));
    air_func *f = air_func_new(r->m, name, t);
    f->cc = (u32)field(r, 3);
    f->linkage = (u32)field(r, 5);
    TRY(check_attrs(r, field(r, 6)));
    f->attrs = (u32)field(r, 6);
    TRY(alignment(r, field(r, 7), &f->align));
    f->section = (u32)field(r, 8);
    f->visibility = (u32)field(r, 9);
    f->gc = (u32)field(r, 10);
    f->unnamed_addr = (u32)field(r, 11);
    f->dll = (u32)field(r, 13);
    f->dso_local = field(r, 17) != 0;
    if (f->section > r->m->sections.count || f->gc)
        return bc_fail(r, "a section or a garbage collector is not there");
    if (!field(r, 4))
        VEC_PUSH(r->scratch, &r->bodies, f);
    VEC_PUSH(r->scratch, &r->values, &f->v);
    return 0;
}

static tm_status read_module_record(air_reader *r) {
    air_module *m = r->m;
    switch (r->bits.code) {
    case MODULE_VERSION:
        TRY(bc_need(r, 1));
        if (r->bits.ops[0] != 2)
            return read_unsupported(r, "module of another version, record");
        r->version_seen = true;
        return 0;
    case MODULE_TRIPLE: m->triple = read_chars(r, 0); return 0;
    case MODULE_DATALAYOUT: m->datalayout = read_chars(r, 0); return 0;
    case MODULE_ASM: m->module_asm = read_chars(r, 0); return 0;
    case MODULE_SECTIONNAME: VEC_PUSH(m->arena, &m->sections, read_chars(r, 0)); return 0;
    case MODULE_SOURCE_FILENAME: m->source_name = read_chars(r, 0); return 0;
    case MODULE_GLOBALVAR: return read_global(r);
    case MODULE_FUNCTION: return read_function_record(r);
    case MODULE_VSTOFFSET:
    case MODULE_HASH: return 0;
    }
    return read_unsupported(r, "module record");
}

static tm_status read_name_list(air_reader *r, u32 block) {
    TRY(bit_enter(&r->bits, block));
    bool tags = block == BLOCK_OPERAND_BUNDLE_TAGS;
    if (tags)
        r->m->bundle_tags.count = 0;
    else
        r->m->sync_scopes.count = 0;
    u32 sub;
    FOR_RECORDS(r, &sub) {
        const char *name = read_chars(r, 0);
        if (tags)
            VEC_PUSH(r->m->arena, &r->m->bundle_tags, name);
        else
            VEC_PUSH(r->m->arena, &r->m->sync_scopes, name);
    }
    return 0;
}

static tm_status read_module_block(air_reader *r, u32 block) {
    switch (block) {
    case BLOCK_INFO: return bit_read_blockinfo(&r->bits);
    case BLOCK_TYPE: return read_type_block(r);
    case BLOCK_PARAMATTR_GROUP: return read_attr_groups(r);
    case BLOCK_PARAMATTR: return read_attr_lists(r);
    case BLOCK_CONSTANTS: return read_constants(r);
    case BLOCK_METADATA: return read_metadata(r);
    case BLOCK_METADATA_KIND: return read_md_kinds(r);
    case BLOCK_OPERAND_BUNDLE_TAGS:
    case BLOCK_SYNC_SCOPES: return read_name_list(r, block);
    case BLOCK_FUNCTION: return read_function_body(r);
    case BLOCK_VALUE_SYMTAB: return bit_skip(&r->bits); /* function offsets, an aid for lazy reading */
    }
    r->bits.code = block;
    return read_unsupported(r, "block");
}

static tm_status finish_module(air_reader *r) {
    if (r->next_body != r->bodies.count)
        return bc_fail(r, "a function has no body");
    for (u32 i = 0; i < r->inits.count; i++) {
        const pending_init *p = &r->inits.at[i];
        air_value *v = p->value < r->values.count ? r->values.at[p->value] : NULL;
        if (!v || v->type != p->global->value_type)
            return bc_fail(r, "a global's initial value is not there or has another type");
        p->global->init = v;
    }
    return 0;
}

static tm_status read_module(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_MODULE));
    for (;;) {
        u32 block;
        switch (bit_next(&r->bits, &block)) {
        case BIT_ERROR: return -1;
        case BIT_END: return finish_module(r);
        case BIT_BLOCK:
            if (!r->version_seen)
                return bc_fail(r, "the module does not begin with its version");
            TRY(read_module_block(r, block));
            break;
        case BIT_RECORD: TRY(read_module_record(r)); break;
        }
    }
}

static tm_status read_identification(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_IDENTIFICATION));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code == IDENTIFICATION_STRING)
            r->m->identification = read_chars(r, 0);
        else if (r->bits.code == IDENTIFICATION_EPOCH)
            r->m->epoch = field(r, 0);
    }
    return 0;
}

static tm_status read_strtab(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_STRTAB));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code != STRTAB_BLOB || !r->bits.blob)
            continue;
        r->strtab = r->bits.blob;
        r->strtab_len = r->bits.blob_len;
    }
    return 0;
}

/* The top level: blocks of abbreviation width 2 until the data ends. */
static tm_status read_file(air_reader *r) {
    bit_reader *b = &r->bits;
    u64 module_at = 0;
    while (b->end - b->at >= 32 + 32) {
        u64 id = bit_take(b, 2), block = bit_take_vbr(b, 8);
        if (b->failed || id != BC_ENTER_BLOCK)
            return bc_fail(r, "something that is no block stands at the top level");
        if (block == BLOCK_MODULE && module_at)
            return read_unsupported(r, "a second module, block");
        if (block == BLOCK_MODULE)
            module_at = b->at;
        if (block == BLOCK_IDENTIFICATION)
            TRY(read_identification(r));
        else if (block == BLOCK_STRTAB)
            TRY(read_strtab(r));
        else
            TRY(bit_skip(b));
    }
    if (!module_at)
        return bc_fail(r, "there is no module");
    b->at = module_at;
    return read_module(r);
}

/* Finds the raw stream inside the wrapper that Apple's tools put around it. */
static const char *unwrap(const u8 **data, size_t *len) {
    if (*len >= 20 && get_u32le(*data) == BC_WRAPPER_MAGIC) {
        u32 at = get_u32le(*data + 8), size = get_u32le(*data + 12);
        if (at > *len || size > *len - at)
            return "the wrapper's size goes past the end of the file";
        *data += at;
        *len = size;
    }
    if (*len < 4 || get_u32le(*data) != BC_RAW_MAGIC)
        return "the magic number is missing";
    return NULL;
}

air_module *air_read_bitcode(tm_ctx *ctx, const u8 *data, size_t len) {
    const char *wrong = unwrap(&data, &len);
    if (wrong) {
        diag_at(ctx, NULL, TM4001, wrong);
        return NULL;
    }
    len &= ~(size_t)3;
    air_module *m = air_module_new(ctx, "");
    air_reader r = {.ctx = ctx, .m = m, .scratch = arena_new(), .strtab = (const u8 *)""};
    r.budget = (u64)len + (1 << 16);
    r.bits = (bit_reader){.data = data, .len = len, .at = 32, .end = (u64)len * 8, .ctx = ctx,
                          .arena = r.scratch, .info_block = BC_BLOCK_IDS};
    r.group_at = map_new(r.scratch);
    tm_status status = read_file(&r);
    arena_free(r.scratch);
    if (status == 0)
        return m;
    air_module_free(m);
    return NULL;
}
