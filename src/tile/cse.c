/* SPDX-License-Identifier: MIT */
/* Common subexpressions: one hash table of the pure ops that dominate the current point. Structured
 * control flow makes dominance lexical: what a region adds is taken out when it ends. The blocks of a
 * function that still branches are scopes of their own. Loads never merge: memory may change.
 * An op with a region (tt.reduce, tt.scan) merges when the regions are equal op by op. */
#include "base/map.h"
#include "base/vec.h"
#include "tile/edit.h"
#include "tile/tile.h"

typedef struct entry {
    u64 hash;
    ir_op *op;
    struct entry *next;
} entry;

typedef struct cse {
    arena *a;
    entry **buckets;
    u32 mask;
    VEC(entry *) added; /* newest last: undone in this order when a scope ends */
} cse;

static u64 hash_op(const ir_op *op) {
    u64 h = hash_u64(op->code, op->n_operands);
    for (u32 i = 0; i < op->n_attrs; i++)
        h = hash_u64(hash_u64(h, MAP_KEY(op->attrs[i].name)), MAP_KEY(op->attrs[i].value));
    for (u32 i = 0; i < op->n_results; i++)
        h = hash_u64(h, MAP_KEY(op->results[i].type));
    if (ir_has_trait(op, IR_COMMUTES) && op->n_operands == 2)
        return hash_u64(h, hash_u64(1, MAP_KEY(ir_operand(op, 0))) +
                               hash_u64(1, MAP_KEY(ir_operand(op, 1))));
    for (u32 i = 0; i < op->n_operands; i++)
        h = hash_u64(h, MAP_KEY(ir_operand(op, i)));
    return h;
}

static bool same_operands(const ir_op *a, const ir_op *b) {
    if (a->n_operands != b->n_operands)
        return false;
    bool same = true;
    for (u32 i = 0; i < a->n_operands; i++)
        same &= ir_operand(a, i) == ir_operand(b, i);
    if (!same && ir_has_trait(a, IR_COMMUTES) && a->n_operands == 2)
        return ir_operand(a, 0) == ir_operand(b, 1) && ir_operand(a, 1) == ir_operand(b, 0);
    return same;
}

static bool same_shape(const ir_op *a, const ir_op *b) {
    if (a->code != b->code || a->n_results != b->n_results || a->n_attrs != b->n_attrs ||
        a->n_regions != b->n_regions)
        return false;
    for (u32 i = 0; i < a->n_results; i++)
        if (a->results[i].type != b->results[i].type)
            return false;
    for (u32 i = 0; i < a->n_attrs; i++)
        if (a->attrs[i].name != b->attrs[i].name || a->attrs[i].value != b->attrs[i].value)
            return false;
    return true;
}

/* Equal operands, where values of the two blocks are equal when they stand at the same place: their
 * marks are numbered alike. */
static bool same_nested(const ir_op *x, const ir_op *y, const ir_block *bx, const ir_block *by) {
    if (!same_shape(x, y) || x->n_operands != y->n_operands || x->n_regions)
        return false;
    for (u32 i = 0; i < x->n_operands; i++) {
        const ir_value *v = ir_operand(x, i), *w = ir_operand(y, i);
        bool local = v->op ? v->op->block == bx : v->block == bx;
        bool local_too = w->op ? w->op->block == by : w->block == by;
        if (local != local_too || (local ? v->mark != w->mark : v != w))
            return false;
    }
    return true;
}

static void number_block(ir_block *b) {
    u32 n = 0;
    for (u32 i = 0; i < b->n_args; i++)
        b->args[i]->mark = n++;
    IR_FOR_EACH_OP(b, op)
        for (u32 i = 0; i < op->n_results; i++)
            op->results[i].mark = n++;
}

static bool same_regions(ir_op *a, ir_op *b) {
    for (u32 r = 0; r < a->n_regions; r++) {
        ir_block *x = op_block(a, r), *y = op_block(b, r);
        if (!x || !y || x->next || y->next || x->n_args != y->n_args)
            return false;
        for (u32 i = 0; i < x->n_args; i++)
            if (x->args[i]->type != y->args[i]->type)
                return false;
        number_block(x);
        number_block(y);
        ir_op *p = x->first, *q = y->first;
        for (; p && q; p = p->next, q = q->next)
            if (!same_nested(p, q, x, y))
                return false;
        if (p || q)
            return false;
    }
    return true;
}

static ir_op *find(const cse *c, u64 hash, ir_op *op) {
    for (entry *e = c->buckets[hash & c->mask]; e; e = e->next)
        if (e->hash == hash && same_shape(e->op, op) && same_operands(e->op, op) &&
            same_regions(e->op, op))
            return e->op;
    return NULL;
}

static void add(cse *c, u64 hash, ir_op *op) {
    entry *e = ARENA_NEW(c->a, entry);
    *e = (entry){hash, op, c->buckets[hash & c->mask]};
    c->buckets[hash & c->mask] = e;
    VEC_PUSH(c->a, &c->added, e);
}

static void leave(cse *c, u32 count) {
    while (c->added.count > count) {
        entry *e = VEC_POP(&c->added);
        c->buckets[e->hash & c->mask] = e->next;
    }
}

static bool can_merge(const ir_op *op) {
    return op->n_results && op_is_movable(op) &&
           (op->n_regions == 0 || op->code == IR_tt_reduce || op->code == IR_tt_scan);
}

/* Recurses over nested regions, whose depth the parser and structure bound. */
static void visit_block(cse *c, ir_block *b) {
    IR_FOR_EACH_OP_SAFE(b, op) {
        for (u32 r = 0; r < op->n_regions; r++)
            for (ir_block *inner = op->regions[r].first; inner; inner = inner->next) {
                u32 count = c->added.count;
                visit_block(c, inner);
                leave(c, count);
            }
        if (!can_merge(op))
            continue;
        u64 hash = hash_op(op);
        ir_op *same = find(c, hash, op);
        if (!same) {
            add(c, hash, op);
            continue;
        }
        for (u32 i = 0; i < op->n_results; i++)
            ir_replace_uses(ir_result(op, i), ir_result(same, i));
        ir_erase(op);
    }
}

static void count_op(ir_op *op, void *data) { ++*(u32 *)data; }

static tm_status visit(pass_run *run, ir_module *m, ir_op *func) {
    arena_mark mark = arena_save(run->scratch);
    u32 n = 0;
    ir_walk(func, count_op, &n);
    cse c = {.a = run->scratch, .mask = (2u << log2_u64(n)) - 1};
    c.buckets = ARENA_ARRAY(c.a, entry *, c.mask + 1);
    for (ir_block *b = func->regions[0].first; b; b = b->next) {
        visit_block(&c, b);
        leave(&c, 0);
    }
    arena_rewind(run->scratch, mark);
    return 0;
}

static tm_status run_cse(pass_run *run, ir_module *m) { return for_each_func(run, m, visit); }

const pass_info pass_cse = {"cse", "equal pure ops become one", run_cse};
