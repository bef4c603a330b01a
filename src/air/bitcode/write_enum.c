/* SPDX-License-Identifier: MIT */
/* Numbers values and metadata the way LLVM does, so that files look like Apple's: constants grouped
 * by type and use with integers first; metadata in post-order, what only one function reaches in that
 * function's block, strings before values before distinct nodes before the others. Numbers are kept
 * in the objects' id fields; a table entry that points back says whether a number is current. */
#include "air/bitcode/write.h"
#include <stdlib.h>

static bool numbered(const air_writer *w, const air_value *v) {
    return v->id < w->values.count && w->values.at[v->id].value == v;
}

u32 write_value_id(const air_writer *w, const air_value *v) {
    TM_ASSERT(numbered(w, v));
    return v->id;
}

static void add_value(air_writer *w, air_value *v) {
    v->id = w->values.count;
    VEC_PUSH(w->scratch, &w->values, ((value_slot){v, 1}));
}

/* Parts before the whole; nesting is bounded by AIR_MAX_DEPTH. */
static void enumerate_const(air_writer *w, air_value *v) {
    if (numbered(w, v)) {
        w->values.at[v->id].uses++;
        return;
    }
    const air_const *c = as_const(v);
    for (u32 i = 0; c && i < c->n_elems; i++)
        enumerate_const(w, c->elems[i]);
    add_value(w, v);
}

static bool is_int_like(const air_type *t) { return type_scalar(t)->kind == AIR_INT; }

static int by_plane_and_use(const void *pa, const void *pb) {
    const value_slot *a = pa, *b = pb;
    const air_type *ta = a->value->type, *tb = b->value->type;
    if (is_int_like(ta) != is_int_like(tb))
        return is_int_like(ta) ? -1 : 1;
    if (ta->id != tb->id)
        return ta->id < tb->id ? -1 : 1;
    if (a->uses != b->uses)
        return a->uses > b->uses ? -1 : 1;
    return a->value->id < b->value->id ? -1 : 1;
}

static void sort_consts(air_writer *w, u32 from) {
    if (w->values.count - from < 2)
        return;
    qsort(w->values.at + from, w->values.count - from, sizeof *w->values.at, by_plane_and_use);
    for (u32 i = from; i < w->values.count; i++)
        w->values.at[i].value->id = i;
}

/* ---- Metadata --------------------------------------------------------------------------------- */
static md_slot *slot_of(const air_writer *w, const air_md *md) {
    return md->id < w->mds.count && w->mds.at[md->id].md == md ? &w->mds.at[md->id] : NULL;
}

u32 write_md_id(const air_writer *w, const air_md *md) {
    (void)w;
    return md->id;
}

typedef VEC(air_md *) md_stack;

/* What two functions reach belongs to the module, and so does all that hangs below it. */
static void drop_function(air_writer *w, md_slot *first) {
    md_stack stack = {0};
    for (md_slot *s = first;;) {
        if (s && s->func) {
            s->func = 0;
            if (s->order && s->md->kind == AIR_MD_NODE)
                for (u32 i = 0; i < s->md->n; i++)
                    if (s->md->ops[i])
                        VEC_PUSH(w->scratch, &stack, s->md->ops[i]);
        }
        if (!stack.count)
            return;
        s = slot_of(w, VEC_POP(&stack));
    }
}

/* Returns the node when its operands still have to be walked. */
static air_md *visit_md(air_writer *w, u32 func, air_md *md) {
    if (!md)
        return NULL;
    md_slot *s = slot_of(w, md);
    if (s) {
        if (s->func && s->func != func)
            drop_function(w, s);
        return NULL;
    }
    md->id = w->mds.count;
    VEC_PUSH(w->scratch, &w->mds, ((md_slot){md, func, 0}));
    if (md->kind == AIR_MD_NODE)
        return md;
    w->mds.at[md->id].order = ++w->module_mds.count;
    if (md->kind == AIR_MD_VALUE)
        enumerate_const(w, md->value);
    return NULL;
}

typedef struct md_walk {
    air_md *node;
    u32 next;
} md_walk;

static void enumerate_md(air_writer *w, u32 func, air_md *root) {
    VEC(md_walk) stack = {0};
    md_stack delayed = {0};
    if (visit_md(w, func, root))
        VEC_PUSH(w->scratch, &stack, ((md_walk){root, 0}));
    while (stack.count) {
        md_walk *top = &VEC_LAST(&stack);
        air_md *node = top->node, *op = NULL;
        while (top->next < node->n && !op)
            op = visit_md(w, func, node->ops[top->next++]);
        if (op && op->distinct && !node->distinct) {
            VEC_PUSH(w->scratch, &delayed, op);
            continue;
        }
        if (op) {
            VEC_PUSH(w->scratch, &stack, ((md_walk){op, 0}));
            continue;
        }
        stack.count--;
        slot_of(w, node)->order = ++w->module_mds.count;
        if (stack.count && !VEC_LAST(&stack).node->distinct)
            continue;
        for (u32 i = 0; i < delayed.count; i++)
            VEC_PUSH(w->scratch, &stack, ((md_walk){delayed.at[i], 0}));
        delayed.count = 0;
    }
}

static u32 md_rank(const air_md *md) {
    return md->kind == AIR_MD_STRING ? 0 : md->kind == AIR_MD_VALUE ? 1 : md->distinct ? 2 : 3;
}

static int by_place(const void *pa, const void *pb) {
    const md_slot *a = pa, *b = pb;
    if (a->func != b->func)
        return a->func < b->func ? -1 : 1;
    if (md_rank(a->md) != md_rank(b->md))
        return md_rank(a->md) < md_rank(b->md) ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void organize_md(air_writer *w) {
    w->module_mds = (md_range){0};
    w->func_mds = ARENA_ARRAY(w->scratch, md_range, w->m->funcs.count);
    if (w->mds.count)
        qsort(w->mds.at, w->mds.count, sizeof *w->mds.at, by_place);
    for (u32 i = 0; i < w->mds.count; i++) {
        const md_slot *s = &w->mds.at[i];
        md_range *range = s->func ? &w->func_mds[s->func - 1] : &w->module_mds;
        if (range->count == 0)
            range->first = i;
        s->md->id = (s->func ? w->module_mds.count : 0) + range->count++;
        range->strings += s->md->kind == AIR_MD_STRING;
        VEC_PUSH(w->scratch, &w->md_order, s->md);
    }
}

static int by_kind(const void *pa, const void *pb) {
    const air_attach *a = pa, *b = pb;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static void enumerate_inst_md(air_writer *w, u32 func, air_inst *i) {
    for (u32 k = 0; k < i->n_ops; k++)
        if (i->ops[k]->kind == AIR_V_MD)
            enumerate_md(w, func, ((air_md_ref *)i->ops[k])->md);
    if (i->n_attach > 1)
        qsort(i->attach, i->n_attach, sizeof *i->attach, by_kind);
    for (u32 k = 0; k < i->n_attach; k++)
        enumerate_md(w, func, i->attach[k].node);
}

void write_enumerate(air_writer *w) {
    const air_module *m = w->m;
    for (u32 i = 0; i < m->globals.count; i++)
        add_value(w, &m->globals.at[i]->v);
    for (u32 i = 0; i < m->funcs.count; i++)
        add_value(w, &m->funcs.at[i]->v);
    w->first_const = w->values.count;
    for (u32 i = 0; i < m->globals.count; i++)
        if (m->globals.at[i]->init)
            enumerate_const(w, m->globals.at[i]->init);
    for (u32 i = 0; i < m->named.count; i++)
        for (u32 k = 0; k < m->named.at[i].n; k++)
            enumerate_md(w, 0, m->named.at[i].ops[k]);
    for (u32 f = 0; f < m->funcs.count; f++)
        for (air_block *b = m->funcs.at[f]->first; b; b = b->next)
            for (air_inst *i = b->first; i; i = i->next)
                enumerate_inst_md(w, f + 1, i);
    sort_consts(w, w->first_const);
    w->n_module_values = w->values.count;
    organize_md(w);
}

void write_open_function(air_writer *w, const air_func *f) {
    for (u32 i = 0; i < f->n_args; i++)
        add_value(w, &f->args[i]);
    w->first_local_const = w->values.count;
    for (air_block *b = f->first; b; b = b->next)
        for (air_inst *i = b->first; i; i = i->next)
            for (u32 k = 0; k < i->n_ops; k++)
                if (as_const(i->ops[k]))
                    enumerate_const(w, i->ops[k]);
    sort_consts(w, w->first_local_const);
    w->n_local_consts_end = w->values.count;
    u32 n = 0;
    for (air_block *b = f->first; b; b = b->next) {
        b->id = n++;
        for (air_inst *i = b->first; i; i = i->next)
            if (i->v.type->kind != AIR_VOID)
                add_value(w, &i->v);
    }
}

void write_close_function(air_writer *w) { w->values.count = w->n_module_values; }
