/* SPDX-License-Identifier: MIT */
/* Writes a module as the bitcode file Apple's compiler would make: LLVM 14 with typed pointers,
 * names in a string table, a native symbol table, the wrapper around it and padding to 16 bytes.
 * The module must have passed air_verify. */
#include "air/bitcode/write.h"

static void put_chars(air_writer *w, u32 code, const char *s) {
    bit_record_chars(&w->bits, BC_UNABBREV, code, s, strlen(s));
}

static void write_identification(air_writer *w) {
    bit_begin(&w->bits, BLOCK_IDENTIFICATION, 5);
    u32 text_id = bit_define(&w->bits, 3, (abbrev_op[]){{0, IDENTIFICATION_STRING},
                                                        {ABBREV_ARRAY, 0}, {ABBREV_CHAR6, 0}});
    u32 epoch_id = bit_define(&w->bits, 2, (abbrev_op[]){{0, IDENTIFICATION_EPOCH}, {ABBREV_VBR, 6}});
    const char *s = w->m->identification;
    bool plain = s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._")] == 0;
    bit_record_chars(&w->bits, plain ? text_id : BC_UNABBREV, IDENTIFICATION_STRING, s, strlen(s));
    bit_record(&w->bits, epoch_id, IDENTIFICATION_EPOCH, 1, &w->m->epoch);
    bit_finish(&w->bits);
}

static void set_info(air_writer *w, u32 block) {
    u64 id = block;
    bit_record(&w->bits, BC_UNABBREV, INFO_SETBID, 1, &id);
}

/* The abbreviations LLVM 14 gives every module. */
static void write_blockinfo(air_writer *w) {
    bit_writer *b = &w->bits;
    abbrev_op array = {ABBREV_ARRAY, 0}, type = {ABBREV_FIXED, w->type_bits};
    abbrev_op value = {ABBREV_VBR, 6}, four = {ABBREV_FIXED, 4}, eight = {ABBREV_FIXED, 8};
    abbrev_op wide = {ABBREV_VBR, 8}, one = {ABBREV_FIXED, 1};
#define INFO_DEFINE(block, ...)                                                                    \
    bit_define_info(b, block, COUNT_OF(((abbrev_op[]){__VA_ARGS__})), (abbrev_op[]){__VA_ARGS__})
    bit_begin(b, BLOCK_INFO, 2);
    set_info(w, BLOCK_VALUE_SYMTAB);
    INFO_DEFINE(BLOCK_VALUE_SYMTAB, {ABBREV_FIXED, 3}, wide, array, eight);
    INFO_DEFINE(BLOCK_VALUE_SYMTAB, {0, VALUE_SYMTAB_ENTRY}, wide, array, {ABBREV_FIXED, 7});
    INFO_DEFINE(BLOCK_VALUE_SYMTAB, {0, VALUE_SYMTAB_ENTRY}, wide, array, {ABBREV_CHAR6, 0});
    INFO_DEFINE(BLOCK_VALUE_SYMTAB, {0, VALUE_SYMTAB_BBENTRY}, wide, array, {ABBREV_CHAR6, 0});
    set_info(w, BLOCK_CONSTANTS);
    w->info[INFO_CONST_SETTYPE] = INFO_DEFINE(BLOCK_CONSTANTS, {0, CONSTANTS_SETTYPE}, type);
    w->info[INFO_CONST_INTEGER] = INFO_DEFINE(BLOCK_CONSTANTS, {0, CONSTANTS_INTEGER}, wide);
    w->info[INFO_CONST_CAST] =
        INFO_DEFINE(BLOCK_CONSTANTS, {0, CONSTANTS_CE_CAST}, four, type, wide);
    w->info[INFO_CONST_NULL] = INFO_DEFINE(BLOCK_CONSTANTS, {0, CONSTANTS_NULL});
    set_info(w, BLOCK_FUNCTION);
    w->info[INFO_LOAD] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_LOAD}, value, type,
                                     {ABBREV_VBR, 4}, one);
    w->info[INFO_UNOP] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_UNOP}, value, four);
    w->info[INFO_UNOP_FLAGS] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_UNOP}, value, four, eight);
    w->info[INFO_BINOP] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_BINOP}, value, value, four);
    w->info[INFO_BINOP_FLAGS] =
        INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_BINOP}, value, value, four, eight);
    w->info[INFO_CAST] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_CAST}, value, type, four);
    w->info[INFO_RET_VOID] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_RET});
    w->info[INFO_RET_VALUE] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_RET}, value);
    w->info[INFO_UNREACHABLE] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_UNREACHABLE});
    w->info[INFO_GEP] = INFO_DEFINE(BLOCK_FUNCTION, {0, FUNCTION_GEP}, one, type, array, value);
#undef INFO_DEFINE
    bit_finish(b);
}

static u32 align_code(u32 align) { return align ? log2_u64(align) + 1 : 0; }

static u32 add_name(air_writer *w, const char *name) {
    u32 at = (u32)w->strtab.len;
    text_puts(&w->strtab, name);
    return at;
}

static void write_globals(air_writer *w) {
    for (u32 i = 0; i < w->m->globals.count; i++) {
        const air_global *g = w->m->globals.at[i];
        w->name_at[i] = add_name(w, g->v.name);
        u64 ops[] = {w->name_at[i], strlen(g->v.name), g->value_type->id,
                     (u64)g->space << 2 | 2 | g->constant,
                     g->init ? write_value_id(w, g->init) + 1u : 0, g->linkage,
                     align_code(g->align), g->section, g->visibility, g->tls, g->unnamed_addr,
                     g->ext_init, g->dll, 0, g->attrs, g->dso_local, 0, 0};
        bit_record(&w->bits, BC_UNABBREV, MODULE_GLOBALVAR, COUNT_OF(ops), ops);
    }
}

static void write_functions(air_writer *w) {
    for (u32 i = 0; i < w->m->funcs.count; i++) {
        const air_func *f = w->m->funcs.at[i];
        u32 *name_at = &w->name_at[w->m->globals.count + i];
        *name_at = add_name(w, f->v.name);
        u64 ops[] = {*name_at, strlen(f->v.name), f->func_type->id, f->cc, f->first == NULL,
                     f->linkage, f->attrs, align_code(f->align), f->section, f->visibility, f->gc,
                     f->unnamed_addr, 0, f->dll, 0, 0, 0, f->dso_local, 0, 0, 0};
        bit_record(&w->bits, BC_UNABBREV, MODULE_FUNCTION, COUNT_OF(ops), ops);
    }
}

/* Target, globals and functions. Returns where the offset of the symbol table is to be patched in. */
static u64 write_module_info(air_writer *w) {
    const air_module *m = w->m;
    put_chars(w, MODULE_TRIPLE, m->triple);
    put_chars(w, MODULE_DATALAYOUT, m->datalayout);
    if (m->module_asm[0])
        put_chars(w, MODULE_ASM, m->module_asm);
    for (u32 i = 0; i < m->sections.count; i++)
        put_chars(w, MODULE_SECTIONNAME, m->sections.at[i]);
    put_chars(w, MODULE_SOURCE_FILENAME, m->source_name);
    write_globals(w);
    write_functions(w);
    u32 id = bit_define(&w->bits, 2, (abbrev_op[]){{0, MODULE_VSTOFFSET}, {ABBREV_FIXED, 32}});
    bit_record(&w->bits, id, MODULE_VSTOFFSET, 1, (u64[]){0});
    return bit_position(&w->bits) - 32;
}

static void write_name_list(air_writer *w, u32 block, u32 code, u32 n, const char *const *names,
                            u32 width) {
    if (!n)
        return;
    bit_begin(&w->bits, block, width);
    for (u32 i = 0; i < n; i++)
        put_chars(w, code, names[i]);
    bit_finish(&w->bits);
}

static void write_function_offsets(air_writer *w, u64 patch_at) {
    bit_patch32(&w->bits, patch_at, (u32)(bit_position(&w->bits) / 32));
    bit_begin(&w->bits, BLOCK_VALUE_SYMTAB, 4);
    u32 id = bit_define(&w->bits, 3, (abbrev_op[]){{0, VALUE_SYMTAB_FNENTRY}, {ABBREV_VBR, 8},
                                                   {ABBREV_FIXED, 32}});
    for (u32 i = 0; i < w->m->funcs.count; i++)
        if (w->m->funcs.at[i]->first)
            bit_record(&w->bits, id, VALUE_SYMTAB_FNENTRY, 2,
                       (u64[]){w->m->globals.count + i, w->func_word[i]});
    bit_finish(&w->bits);
}

static void write_module(air_writer *w) {
    const air_module *m = w->m;
    bit_begin(&w->bits, BLOCK_MODULE, 3);
    bit_record(&w->bits, BC_UNABBREV, MODULE_VERSION, 1, (u64[]){2});
    write_blockinfo(w);
    write_types(w);
    write_attributes(w);
    u64 patch_at = write_module_info(w);
    write_constants(w, w->first_const, w->n_module_values, true);
    write_md_kinds(w);
    write_module_metadata(w);
    write_name_list(w, BLOCK_OPERAND_BUNDLE_TAGS, OPERAND_BUNDLE_TAGS_TAG, m->bundle_tags.count,
                    m->bundle_tags.at, 3);
    write_name_list(w, BLOCK_SYNC_SCOPES, SYNC_SCOPES_NAME, m->sync_scopes.count, m->sync_scopes.at,
                    2);
    for (u32 i = 0; i < m->funcs.count; i++)
        if (m->funcs.at[i]->first)
            write_function(w, i);
    write_function_offsets(w, patch_at);
    bit_finish(&w->bits);
}

/* ---- Symbol table ------------------------------------------------------------------------------ */
enum { SYM_UNDEFINED = 1 << 3, SYM_WEAK = 1 << 4, SYM_TLS = 1 << 8, SYM_GLOBAL = 1 << 10,
       SYM_FORMAT_SPECIFIC = 1 << 11, SYM_UNNAMED_ADDR = 1 << 12, SYM_EXECUTABLE = 1 << 13 };

static u32 symbol_flags(const air_value *v, u32 linkage, bool defined, u32 unnamed_addr) {
    bool local = linkage == AIR_INTERNAL || linkage == AIR_PRIVATE;
    bool weak = linkage == AIR_WEAK_ODR || linkage == 16 || linkage == 18 || linkage == 19 ||
                linkage == 7;
    return (defined ? 0u : SYM_UNDEFINED) | (weak ? SYM_WEAK : 0u) | (local ? 0u : SYM_GLOBAL) |
           (linkage == AIR_PRIVATE || strncmp(v->name, "llvm.", 5) == 0 ? SYM_FORMAT_SPECIFIC : 0u) |
           (unnamed_addr == 1 ? SYM_UNNAMED_ADDR : 0u) |
           (v->kind == AIR_V_FUNC ? SYM_EXECUTABLE : 0u);
}

static void put_symbol(text *out, u32 name_at, const char *name, u32 flags) {
    for (u32 i = 0; i < 2; i++) {
        text_u32le(out, name_at);
        text_u32le(out, (u32)strlen(name));
    }
    text_u32le(out, UINT32_MAX); /* no comdat */
    text_u32le(out, flags);
}

/* "Apple metal version 32023.883 (...)" says which compiler the file claims to be from. */
static const char *producer(air_writer *w) {
    static const char mark[] = "version ";
    for (u32 i = 0; i < w->m->named.count; i++) {
        const air_named_md *named = &w->m->named.at[i];
        if (strcmp(named->name, "llvm.ident") != 0 || !named->n || !named->ops[0]->n ||
            !named->ops[0]->ops[0] || named->ops[0]->ops[0]->kind != AIR_MD_STRING)
            continue;
        const char *at = strstr(named->ops[0]->ops[0]->text, mark);
        if (at)
            return arena_str(w->scratch, at + strlen(mark), strcspn(at + strlen(mark), " "));
    }
    return "LLVM14";
}

/* Version, producer, then ranges (offset, count) of what follows: one module, symbols. */
static void write_symtab(air_writer *w) {
    enum { HEADER = 76, MODULE = 12, SYMBOL = 24 };
    const air_module *m = w->m;
    u32 n = m->globals.count + m->funcs.count, end = HEADER + MODULE + SYMBOL * n;
    const char *made_by = producer(w);
    text out = {0};
    u32 source_at = UINT32_MAX;
    for (u32 i = 0; i < m->funcs.count; i++)
        if (strcmp(m->funcs.at[i]->v.name, m->source_name) == 0)
            source_at = w->name_at[m->globals.count + i];
    u32 producer_at = add_name(w, made_by), triple_at = add_name(w, m->triple);
    if (source_at == UINT32_MAX)
        source_at = add_name(w, m->source_name);
    u32 head[] = {3, producer_at, (u32)strlen(made_by), HEADER, 1, HEADER + MODULE, 0,
                  HEADER + MODULE, n, end, 0, triple_at, (u32)strlen(m->triple), source_at,
                  (u32)strlen(m->source_name), (u32)w->strtab.len, 0, end, 0, 0, n, 0};
    for (u32 i = 0; i < COUNT_OF(head); i++)
        text_u32le(&out, head[i]);
    for (u32 i = 0; i < m->funcs.count; i++) {
        const air_func *f = m->funcs.at[i];
        put_symbol(&out, w->name_at[m->globals.count + i], f->v.name,
                   symbol_flags(&f->v, f->linkage, f->first != NULL, f->unnamed_addr));
    }
    for (u32 i = 0; i < m->globals.count; i++) {
        const air_global *g = m->globals.at[i];
        put_symbol(&out, w->name_at[i], g->v.name,
                   symbol_flags(&g->v, g->linkage, g->init != NULL, g->unnamed_addr));
    }
    bit_begin(&w->bits, BLOCK_SYMTAB, 3);
    u32 id = bit_define(&w->bits, 2, (abbrev_op[]){{0, SYMTAB_BLOB}, {ABBREV_BLOB, 0}});
    bit_record_blob(&w->bits, id, SYMTAB_BLOB, 0, NULL, out.at, out.len);
    bit_finish(&w->bits);
    text_free(&out);
}

static void write_strtab(air_writer *w) {
    bit_begin(&w->bits, BLOCK_STRTAB, 3);
    u32 id = bit_define(&w->bits, 2, (abbrev_op[]){{0, STRTAB_BLOB}, {ABBREV_BLOB, 0}});
    bit_record_blob(&w->bits, id, STRTAB_BLOB, 0, NULL, w->strtab.at, w->strtab.len);
    bit_finish(&w->bits);
}

tm_status air_write_bitcode(const air_module *m, text *out) {
    air_writer w = {.m = m, .scratch = arena_new()};
    size_t start = out->len;
    for (u32 i = 0; i < 5; i++)
        text_u32le(out, (u32[]){BC_WRAPPER_MAGIC, 0, 20, 0, UINT32_MAX}[i]);
    w.bits = (bit_writer){.out = out, .base = out->len, .width = 2, .arena = w.scratch};
    text_u32le(out, BC_RAW_MAGIC);
    w.type_bits = bits_for((u64)m->types.count + 1);
    w.name_at = ARENA_ARRAY(w.scratch, u32, m->globals.count + m->funcs.count);
    w.func_word = ARENA_ARRAY(w.scratch, u64, m->funcs.count);
    write_enumerate(&w);
    write_identification(&w);
    write_module(&w);
    write_symtab(&w);
    write_strtab(&w);
    text_patch_u32le(out, start + 12, (u32)(out->len - w.bits.base));
    while ((out->len - start) % 16)
        text_u8(out, 0);
    text_free(&w.strtab);
    arena_free(w.scratch);
    return 0;
}
