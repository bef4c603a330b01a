/* SPDX-License-Identifier: MIT */
/* Numbers what the text refers to by number, in the order llvm-dis 14 numbers it: metadata depth
 * first from named lists and then function by function, attribute sets by first use. Also finds the
 * structs to define, in the order a walk over the module meets them. */
#include "air/print/print.h"

static bool first_visit(air_printer *p, const void *item) {
    u32 before = map_count(p->seen);
    map_put(p->seen, MAP_KEY(item));
    return map_count(p->seen) != before;
}

/* ---- Types ------------------------------------------------------------------------------------ */
typedef VEC(const air_type *) type_stack;

static void push_type(air_printer *p, type_stack *stack, const air_type *t) {
    if (t && first_visit(p, t))
        VEC_PUSH(p->scratch, stack, t);
}

static void find_in_type(air_printer *p, const air_type *t) {
    type_stack stack = {0};
    push_type(p, &stack, t);
    while (stack.count) {
        t = VEC_POP(&stack);
        if ((t->kind == AIR_STRUCT || t->kind == AIR_OPAQUE) && t->name) {
            if (!t->name[0])
                *map_put(p->seen, MAP_KEY(t)) = (void *)(uintptr_t)++p->n_unnamed;
            VEC_PUSH(p->scratch, &p->structs, t);
        }
        for (u32 i = t->n_fields; i-- > 0;)
            push_type(p, &stack, t->fields[i]);
        push_type(p, &stack, t->elem);
    }
}

static void find_in_value(air_printer *p, const air_value *v) {
    const air_const *c = as_const(v);
    if (!c || !first_visit(p, c))
        return;
    find_in_type(p, v->type);
    for (u32 i = 0; i < c->n_elems; i++)
        find_in_value(p, c->elems[i]);
}

static void find_in_md(air_printer *p, const air_md *root) {
    VEC(const air_md *) stack = {0};
    VEC_PUSH(p->scratch, &stack, root);
    while (stack.count) {
        const air_md *md = VEC_POP(&stack);
        if (!md || !first_visit(p, md))
            continue;
        if (md->kind == AIR_MD_VALUE)
            find_in_value(p, md->value);
        for (u32 i = md->n; md->kind == AIR_MD_NODE && i-- > 0;)
            VEC_PUSH(p->scratch, &stack, md->ops[i]);
    }
}

/* Operands in LLVM's order: a store's value is first, a call's callee last. */
static const air_value *operand(const air_inst *i, u32 k) {
    if (i->op == AIR_STORE)
        return i->ops[1 - k];
    return i->op == AIR_CALL ? i->ops[(k + 1) % i->n_ops] : i->ops[k];
}

static void find_in_inst(air_printer *p, const air_inst *i) {
    find_in_type(p, i->v.type);
    u32 n = i->op == AIR_SHUFFLE ? 2 : i->n_ops;
    for (u32 k = 0; k < n; k++)
        find_in_value(p, operand(i, k));
    if (i->op == AIR_GEP || i->op == AIR_ALLOCA)
        find_in_type(p, i->aux);
    for (u32 k = 0; k < i->n_attach; k++)
        find_in_md(p, i->attach[k].node);
}

void print_collect_types(air_printer *p) {
    const air_module *m = p->m;
    for (u32 i = 0; i < m->globals.count; i++) {
        find_in_type(p, m->globals.at[i]->value_type);
        if (m->globals.at[i]->init)
            find_in_value(p, m->globals.at[i]->init);
    }
    for (u32 i = 0; i < m->funcs.count; i++) {
        find_in_type(p, m->funcs.at[i]->func_type);
        for (const air_block *b = m->funcs.at[i]->first; b; b = b->next)
            for (const air_inst *k = b->first; k; k = k->next)
                find_in_inst(p, k);
    }
    for (u32 i = 0; i < m->named.count; i++)
        for (u32 k = 0; k < m->named.at[i].n; k++)
            find_in_md(p, m->named.at[i].ops[k]);
}

/* ---- Metadata and attributes ------------------------------------------------------------------ */
static bool has_number(const air_printer *p, const air_md *md) {
    return md->id < p->mds.count && p->mds.at[md->id] == md;
}

/* Preorder: a node before its operands, operands from first to last. */
void print_number_md(air_printer *p, air_md *root) {
    VEC(air_md *) stack = {0};
    VEC_PUSH(p->scratch, &stack, root);
    while (stack.count) {
        air_md *md = VEC_POP(&stack);
        if (!md || md->kind != AIR_MD_NODE || has_number(p, md))
            continue;
        md->id = p->mds.count;
        VEC_PUSH(p->scratch, &p->mds, md);
        for (u32 i = md->n; i-- > 0;)
            VEC_PUSH(p->scratch, &stack, md->ops[i]);
    }
}

u32 print_attr_slot(air_printer *p, u32 list) {
    if (!list)
        return 0;
    u32 *slot = &p->fn_attr[list - 1];
    if (*slot != UINT32_MAX)
        return *slot;
    text set = {0};
    print_attr_set(p, &set, list, true);
    *slot = 0;
    if (set.len) {
        const char *stored;
        void **number = strmap_put(p->attr_slots, set.at, set.len, &stored);
        if (!*number) {
            VEC_PUSH(p->scratch, &p->attr_texts, stored);
            *number = (void *)(uintptr_t)p->attr_texts.count;
        }
        *slot = (u32)(uintptr_t)*number;
    }
    text_free(&set);
    return *slot;
}

static void number_inst_md(air_printer *p, const air_inst *i) {
    for (u32 k = 0; k < i->n_ops; k++)
        if (i->ops[k]->kind == AIR_V_MD)
            print_number_md(p, ((air_md_ref *)i->ops[k])->md);
    for (u32 k = 0; k < i->n_attach; k++)
        print_number_md(p, i->attach[k].node);
}

void print_number_function(air_printer *p, air_func *f) {
    u32 next = 0;
    for (air_block *b = f->first; b; b = b->next)
        for (air_inst *i = b->first; i; i = i->next)
            number_inst_md(p, i);
    for (u32 i = 0; i < f->n_args; i++)
        if (!f->args[i].name)
            f->args[i].id = next++;
    for (air_block *b = f->first; b; b = b->next) {
        if (!b->name)
            b->id = next++;
        for (air_inst *i = b->first; i; i = i->next) {
            if (i->v.type->kind != AIR_VOID && !i->v.name)
                i->v.id = next++;
            if (i->op == AIR_CALL)
                print_attr_slot(p, i->attrs);
        }
    }
}
