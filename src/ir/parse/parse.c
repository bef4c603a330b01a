/* SPDX-License-Identifier: MIT */
/* Reading a module: finds alias definitions, then reads definitions and the one module op, or functions
 * without a module around them. */
#include "ir/parse/parse_in.h"

static void add_alias(reader *r, const char *line) {
    const char *p = line + 1;
    while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
           *p == '_' || *p == '-' || *p == '$')
        p++;
    u32 len = (u32)(p - line);
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p != '=' || len < 2)
        return;
    void **slot = strmap_put(r->aliases, line, len, NULL);
    if (*slot)
        return; /* a second definition: read_toplevel reports it */
    read_alias *a = ARENA_NEW(r->keep, read_alias);
    *a = (read_alias){.at = p + 1, .name = line, .len = len};
    *slot = a;
}

static void find_aliases(reader *r) {
    const char *p = r->start;
    while (p && p < r->end) {
        while (*p == ' ' || *p == '\t')
            p++;
        if (*p == '#' || *p == '!')
            add_alias(r, p);
        p = memchr(p, '\n', (size_t)(r->end - p));
        p = p ? p + 1 : NULL;
    }
}

/* #name = value */
static tm_status read_alias_definition(reader *r) {
    const char *at = r->at, *name;
    u32 len;
    r->at++;
    if (!read_suffix_text(r, &name, &len))
        return read_expected(r, "an alias name");
    TRY(read_need(r, '='));
    const char *value = r->at;
    void **found = strmap_get(r->aliases, at, len + 1);
    if (!found) {
        add_alias(r, at);
        found = strmap_get(r->aliases, at, len + 1);
    }
    read_alias *a = found ? *found : NULL;
    if (!a)
        return read_fail(r, at, TM1007, (int)len + 1, at);
    if (a->at != value)
        return read_fail(r, at, TM1030, (int)len + 1, at);
    TRY(read_alias_use(r, a));
    r->at = a->after;
    return 0;
}

/* A module in generic form was read like any op: it becomes the module. */
static tm_status adopt_module(reader *r) {
    ir_op *only = ir_module_body(r->m)->first;
    if (!only || only->next || only->code != IR_builtin_module)
        return 0;
    ir_region *region = only->n_regions == 1 ? &only->regions[0] : NULL;
    if (!region || !region->first || region->first->next || region->first->n_args ||
        only->n_operands || only->n_results)
        return read_fail(r, r->start, TM1009, "modules of this shape");
    ir_remove(only);
    r->m->op = only;
    return 0;
}

static tm_status read_toplevel(reader *r) {
    bool module = false, loose = false;
    for (;;) {
        arena_mark mark = arena_save(r->scratch);
        read_space(r);
        if (r->at >= r->end)
            break;
        if (*r->at == '#' || *r->at == '!') {
            TRY(read_alias_definition(r));
        } else if (read_peek_word(r, "module") || read_peek_word(r, "builtin.module")) {
            const char *at = r->at;
            if (module || loose)
                return read_fail(r, at, TM1009, "several modules in one text");
            module = true;
            TRY(read_one_op(r, NULL));
        } else {
            if (module)
                return read_expected(r, "the end of the text");
            loose = true;
            TRY(read_one_op(r, ir_module_body(r->m)));
        }
        arena_rewind(r->scratch, mark);
    }
    if (!module && !loose)
        return read_fail(r, r->at, TM1031);
    TRY(read_check_later(r));
    return loose ? adopt_module(r) : 0;
}

static void add_codes(reader *r) {
    for (u32 code = 0; code < IR_CODE_COUNT; code++)
        *strmap_put(r->codes, ir_ops[code].name, strlen(ir_ops[code].name), NULL) =
            (void *)(uintptr_t)code;
}

ir_module *ir_parse(tm_ctx *ctx, const char *source, size_t len, const char *name) {
    ir_module *m = ir_module_new(ctx);
    reader r = {.m = m, .ctx = ctx, .file = name ? name : "<text>"};
    r.keep = arena_new();
    r.scratch = arena_new();
    r.start = r.at = r.line_start = arena_str(r.keep, source, len);
    r.end = r.start + len;
    r.line = 1;
    r.aliases = strmap_new(r.keep);
    r.codes = strmap_new(r.keep);
    r.layouts = map_new(r.keep);
    r.name_mask = 255;
    r.name_slots = ARENA_ARRAY(r.keep, u32, 256);
    tm_status status = 0;
    if (len > UINT32_MAX / 2) {
        status = read_fail(&r, r.start, TM1009, "texts above 2 GB");
    } else {
        add_codes(&r);
        find_aliases(&r);
        status = read_toplevel(&r);
    }
    arena_free(r.keep);
    arena_free(r.scratch);
    if (status == 0)
        return m;
    ir_module_free(m);
    return NULL;
}
