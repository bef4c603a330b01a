/* SPDX-License-Identifier: MIT */
/* Whether two modules say the same. Functions, globals, arguments, blocks and instructions are paired
 * by position; types, constants and metadata are paired when they are first met on both sides, and
 * every later meeting must agree in both directions. What hangs below a pair waits in a work list, so
 * cycles (named structs, loop metadata) need no depth. Where metadata is stored, numbers of types and
 * unused table entries do not matter. */
#include "air/pools.h"

typedef struct pair {
    const void *a, *b;
    u8 what; /* enum pair_kind */
    const air_inst *at; /* where it was met */
    const air_func *func;
} pair;
enum pair_kind { PAIR_TYPE, PAIR_VALUE, PAIR_MD };

typedef struct equal {
    const air_module *a, *b;
    arena *scratch;
    map *forth, *back;
    VEC(pair) work;
    const air_func *func; /* context for the explanation, of module a */
    const air_inst *at;
    text *why;
} equal;

static bool differ(equal *e, const char *what) {
    if (!e->why)
        return false;
    if (e->func)
        text_printf(e->why, "function %s: ", e->func->v.name);
    if (e->at) {
        u32 block = 0, inst = 0;
        for (const air_block *b = e->at->block->prev; b; b = b->prev)
            block++;
        for (const air_inst *i = e->at->prev; i; i = i->prev)
            inst++;
        text_printf(e->why, "block %u, instruction %u: ", block, inst);
    }
    text_printf(e->why, "%s", what);
    return false;
}

#define SAME(e, cond, what)                                                                        \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return differ((e), (what));                                                            \
    } while (0)

static void bind(equal *e, const void *a, const void *b) {
    *map_put(e->forth, MAP_KEY(a)) = (void *)(uintptr_t)b;
    *map_put(e->back, MAP_KEY(b)) = (void *)(uintptr_t)a;
}

static bool match(equal *e, u8 what, const void *a, const void *b) {
    static const char *const names[] = {"a type differs", "an operand differs", "metadata differs"};
    if (!a || !b) {
        SAME(e, a == b, names[what]);
        return true;
    }
    void **forth = map_get(e->forth, MAP_KEY(a)), **back = map_get(e->back, MAP_KEY(b));
    if (forth || back) {
        SAME(e, forth && back && *forth == b && *back == a, names[what]);
        return true;
    }
    bind(e, a, b);
    VEC_PUSH(e->scratch, &e->work, ((pair){a, b, what, e->at, e->func}));
    return true;
}

static bool match_type(equal *e, const air_type *a, const air_type *b) {
    return match(e, PAIR_TYPE, a, b);
}
static bool match_value(equal *e, const air_value *a, const air_value *b) {
    return match(e, PAIR_VALUE, a, b);
}
static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool type_pair(equal *e, const air_type *a, const air_type *b) {
    SAME(e, a->kind == b->kind && a->packed == b->packed && a->vararg == b->vararg &&
                a->bits == b->bits && a->space == b->space && a->count == b->count &&
                a->n_fields == b->n_fields && same_text(a->name, b->name),
         "a type differs");
    for (u32 i = 0; i < a->n_fields; i++)
        if (!match_type(e, a->fields[i], b->fields[i]))
            return false;
    return match_type(e, a->elem, b->elem);
}

static bool const_pair(equal *e, const air_const *a, const air_const *b) {
    SAME(e, a->kind == b->kind && a->op == b->op && a->inbounds == b->inbounds &&
                a->n_elems == b->n_elems && a->inrange == b->inrange && a->wide == b->wide &&
                a->data_len == b->data_len &&
                (!a->data_len || memcmp(a->data, b->data, a->data_len) == 0),
         "a constant differs");
    if (!match_type(e, a->aux, b->aux))
        return false;
    for (u32 i = 0; i < a->n_elems; i++)
        if (!match_value(e, a->elems[i], b->elems[i]))
            return false;
    return true;
}

static bool value_pair(equal *e, const air_value *a, const air_value *b) {
    SAME(e, a->kind == b->kind, "an operand differs in kind");
    if (!match_type(e, a->type, b->type))
        return false;
    switch ((enum air_value_kind)a->kind) {
    case AIR_V_CONST: return const_pair(e, (const air_const *)a, (const air_const *)b);
    case AIR_V_MD:
        return match(e, PAIR_MD, ((const air_md_ref *)a)->md, ((const air_md_ref *)b)->md);
    case AIR_V_GLOBAL:
    case AIR_V_FUNC:
    case AIR_V_ARG:
    case AIR_V_INST: break;
    }
    return differ(e, "an operand belongs to another function or module");
}

static bool md_pair(equal *e, const air_md *a, const air_md *b) {
    SAME(e, a->kind == b->kind && a->distinct == b->distinct && a->n == b->n,
         "a metadata node differs");
    if (a->kind == AIR_MD_STRING)
        SAME(e, a->n == 0 || memcmp(a->text, b->text, a->n) == 0, "a metadata string differs");
    if (a->kind == AIR_MD_VALUE)
        return match_value(e, a->value, b->value);
    for (u32 i = 0; a->kind == AIR_MD_NODE && i < a->n; i++)
        if (!match(e, PAIR_MD, a->ops[i], b->ops[i]))
            return false;
    return true;
}

static bool drain(equal *e) {
    const air_func *func = e->func;
    const air_inst *at = e->at;
    while (e->work.count) {
        pair p = VEC_POP(&e->work);
        e->func = p.func;
        e->at = p.at;
        bool same = p.what == PAIR_TYPE    ? type_pair(e, p.a, p.b)
                    : p.what == PAIR_VALUE ? value_pair(e, p.a, p.b)
                                           : md_pair(e, p.a, p.b);
        if (!same)
            return false;
    }
    e->func = func;
    e->at = at;
    return true;
}

static bool same_group(equal *e, const air_attr_group *a, const air_attr_group *b) {
    SAME(e, a->slot == b->slot && a->n == b->n, "an attribute group differs");
    for (u32 i = 0; i < a->n; i++) {
        const air_attr *x = &a->at[i], *y = &b->at[i];
        SAME(e, x->form == y->form && x->kind == y->kind && x->value == y->value &&
                    same_text(x->key, y->key) && same_text(x->text, y->text),
             "an attribute differs");
        if (!match_type(e, x->type, y->type))
            return false;
    }
    return true;
}

static bool same_attrs(equal *e, u32 na, u32 nb) {
    SAME(e, (na == 0) == (nb == 0), "attributes differ");
    if (na == 0)
        return true;
    const air_attr_list *a = &e->a->attr_lists.at[na - 1], *b = &e->b->attr_lists.at[nb - 1];
    void **forth = map_get(e->forth, MAP_KEY(a));
    if (forth && *forth == b)
        return true;
    SAME(e, a->n == b->n, "attributes differ");
    for (u32 i = 0; i < a->n; i++)
        if (!same_group(e, &e->a->attr_groups.at[a->groups[i]], &e->b->attr_groups.at[b->groups[i]]))
            return false;
    bind(e, a, b);
    return true;
}

static bool same_section(equal *e, u32 a, u32 b) {
    SAME(e, (a == 0) == (b == 0) &&
                (a == 0 || strcmp(e->a->sections.at[a - 1], e->b->sections.at[b - 1]) == 0),
         "a section differs");
    return true;
}

static bool same_attachments(equal *e, const air_inst *a, const air_inst *b) {
    SAME(e, a->n_attach == b->n_attach, "attached metadata differs");
    for (u32 i = 0; i < a->n_attach; i++) {
        /* At most a handful: kinds are unique on an instruction, their order is not part of it. */
        u32 k = 0;
        const char *kind = e->a->md_kinds.at[a->attach[i].kind];
        while (k < b->n_attach && strcmp(kind, e->b->md_kinds.at[b->attach[k].kind]) != 0)
            k++;
        SAME(e, k < b->n_attach, "attached metadata differs");
        if (!match(e, PAIR_MD, a->attach[i].node, b->attach[k].node))
            return false;
    }
    return true;
}

static bool same_inst(equal *e, const air_inst *a, const air_inst *b) {
    e->at = a;
    SAME(e, a->op == b->op && a->sub == b->sub, "the operation differs");
    SAME(e, a->flags == b->flags && a->fmf == b->fmf, "flags differ");
    SAME(e, a->align == b->align, "the alignment differs");
    SAME(e, a->cc == b->cc, "the calling convention differs");
    SAME(e, a->n_ops == b->n_ops && a->n_blocks == b->n_blocks && a->n_indices == b->n_indices,
         "the number of operands differs");
    SAME(e, same_text(a->v.name, b->v.name), "the name differs");
    if (!same_attrs(e, a->attrs, b->attrs) || !match_type(e, a->v.type, b->v.type) ||
        !match_type(e, a->aux, b->aux))
        return false;
    for (u32 i = 0; i < a->n_ops; i++)
        if (!match_value(e, a->ops[i], b->ops[i]))
            return false;
    for (u32 i = 0; i < a->n_blocks; i++) {
        void **to = map_get(e->forth, MAP_KEY(a->blocks[i]));
        SAME(e, to && *to == b->blocks[i], "a target block differs");
    }
    SAME(e, !a->n_indices || memcmp(a->indices, b->indices, a->n_indices * sizeof(u32)) == 0,
         "an index differs");
    return same_attachments(e, a, b);
}

static bool pair_bodies(equal *e, const air_func *a, const air_func *b) {
    const air_block *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next) {
        bind(e, x, y);
        SAME(e, same_text(x->name, y->name), "a block's name differs");
        const air_inst *i = x->first, *k = y->first;
        for (; i && k; i = i->next, k = k->next)
            bind(e, i, k);
        SAME(e, !i && !k, "the number of instructions in a block differs");
    }
    SAME(e, !x && !y, "the number of blocks differs");
    return true;
}

static bool same_body(equal *e, const air_func *a, const air_func *b) {
    if (!pair_bodies(e, a, b))
        return false;
    const air_block *x = a->first, *y = b->first;
    for (; x; x = x->next, y = y->next) {
        const air_inst *i = x->first, *k = y->first;
        for (; i; i = i->next, k = k->next)
            if (!same_inst(e, i, k) || !drain(e))
                return false;
    }
    e->at = NULL;
    return true;
}

static bool same_func(equal *e, const air_func *a, const air_func *b) {
    e->func = a;
    SAME(e, strcmp(a->v.name, b->v.name) == 0, "the name differs");
    SAME(e, a->cc == b->cc && a->linkage == b->linkage && a->align == b->align &&
                a->visibility == b->visibility && a->gc == b->gc &&
                a->unnamed_addr == b->unnamed_addr && a->dll == b->dll &&
                a->dso_local == b->dso_local && a->n_args == b->n_args,
         "the declaration differs");
    if (!same_section(e, a->section, b->section) || !same_attrs(e, a->attrs, b->attrs) ||
        !match_type(e, a->func_type, b->func_type) || !match_type(e, a->v.type, b->v.type))
        return false;
    for (u32 i = 0; i < a->n_args; i++) {
        bind(e, &a->args[i], &b->args[i]);
        SAME(e, same_text(a->args[i].name, b->args[i].name), "an argument's name differs");
    }
    return same_body(e, a, b);
}

static bool same_global(equal *e, const air_global *a, const air_global *b) {
    SAME(e, strcmp(a->v.name, b->v.name) == 0, "a global's name differs");
    SAME(e, a->space == b->space && a->linkage == b->linkage && a->visibility == b->visibility &&
                a->tls == b->tls && a->unnamed_addr == b->unnamed_addr && a->dll == b->dll &&
                a->align == b->align && a->constant == b->constant &&
                a->ext_init == b->ext_init && a->dso_local == b->dso_local,
         "a global differs");
    return same_section(e, a->section, b->section) && same_attrs(e, a->attrs, b->attrs) &&
           match_type(e, a->value_type, b->value_type) && match_type(e, a->v.type, b->v.type) &&
           match_value(e, a->init, b->init);
}

static bool same_named(equal *e) {
    SAME(e, e->a->named.count == e->b->named.count, "the number of named metadata lists differs");
    for (u32 i = 0; i < e->a->named.count; i++) {
        const air_named_md *a = &e->a->named.at[i], *b = &e->b->named.at[i];
        SAME(e, strcmp(a->name, b->name) == 0 && a->n == b->n, "a named metadata list differs");
        for (u32 k = 0; k < a->n; k++)
            if (!match(e, PAIR_MD, a->ops[k], b->ops[k]))
                return false;
    }
    return true;
}

static bool same_module(equal *e) {
    const air_module *a = e->a, *b = e->b;
    SAME(e, strcmp(a->source_name, b->source_name) == 0, "the source name differs");
    SAME(e, strcmp(a->triple, b->triple) == 0, "the triple differs");
    SAME(e, strcmp(a->datalayout, b->datalayout) == 0, "the data layout differs");
    SAME(e, strcmp(a->identification, b->identification) == 0 && a->epoch == b->epoch,
         "the identification differs");
    SAME(e, strcmp(a->module_asm, b->module_asm) == 0, "the module's assembly differs");
    SAME(e, a->globals.count == b->globals.count, "the number of globals differs");
    SAME(e, a->funcs.count == b->funcs.count, "the number of functions differs");
    for (u32 i = 0; i < a->globals.count; i++)
        bind(e, a->globals.at[i], b->globals.at[i]);
    for (u32 i = 0; i < a->funcs.count; i++)
        bind(e, a->funcs.at[i], b->funcs.at[i]);
    for (u32 i = 0; i < a->globals.count; i++)
        if (!same_global(e, a->globals.at[i], b->globals.at[i]) || !drain(e))
            return false;
    for (u32 i = 0; i < a->funcs.count; i++)
        if (!same_func(e, a->funcs.at[i], b->funcs.at[i]) || !drain(e))
            return false;
    e->func = NULL;
    return same_named(e) && drain(e);
}

bool air_equal(const air_module *a, const air_module *b, text *why) {
    arena *scratch = arena_new();
    equal e = {.a = a, .b = b, .scratch = scratch, .forth = map_new(scratch),
               .back = map_new(scratch), .why = why};
    bool same = same_module(&e);
    arena_free(scratch);
    return same;
}
