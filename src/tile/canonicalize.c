/* SPDX-License-Identifier: MIT */
/* Canonical form, by a work list: an op is looked at when it is new, when an operand of it changed, or
 * when a user of it went. Rules only ever shrink or move towards the form, so the list runs dry; a
 * budget of steps guards against a pair of rules that disagree.
 *
 * Constants live once each at the head of the entry block: equal constants are the same value, and
 * rules may compare pointers. Dead code goes first of all, so that no rule works for nothing.
 * op->mark is the op's state on the list. */
#include "tile/canonicalize.h"
#include "tile/fold.h"
#include "tile/tile.h"

enum { IDLE, QUEUED, DEAD };
enum { STEPS_PER_OP = 64, MAX_ROUNDS = 4 };

/* ---- Services for rules ------------------------------------------------------------------------- */

void canon_touch(canon *c, ir_op *op) {
    if (op->mark != IDLE || op->code == IR_tt_func)
        return;
    op->mark = QUEUED;
    VEC_PUSH(c->a, &c->list, op);
}

void canon_touch_uses(canon *c, ir_value *v) {
    for (ir_use *u = v->uses; u; u = u->next)
        canon_touch(c, u->owner);
}

static void touch_def(canon *c, const ir_value *v) {
    ir_op *op = v->op ? v->op : v->block->region->op;
    if (op)
        canon_touch(c, op);
}

static void bury(ir_op *op, void *data) {
    canon *c = data;
    for (u32 i = 0; i < op->n_operands; i++)
        touch_def(c, ir_operand(op, i));
    op->mark = DEAD;
}

static void forget_constant(canon *c, ir_op *op) {
    const ir_attr *value = ir_attr_get(op, "value");
    void **slot = value ? map_get(c->constants, MAP_KEY(value)) : NULL;
    if (slot && *slot == ir_result(op, 0))
        *slot = NULL;
    if (op == c->last_home)
        c->last_home = op->prev;
}

void canon_kill(canon *c, ir_op *op) {
    if (op->code == IR_arith_constant)
        forget_constant(c, op);
    ir_walk(op, bury, c);
    ir_erase(op);
}

bool canon_replace(canon *c, ir_op *op, u32 i, ir_value *v) {
    ir_value *old = ir_result(op, i);
    if (old == v)
        return false;
    canon_touch_uses(c, old);
    if (v->op)
        canon_touch(c, v->op);
    if (!v->name && v->op && v->op->code != IR_arith_constant)
        v->name = old->name;
    ir_replace_uses(old, v);
    canon_touch(c, op);
    return true;
}

bool canon_replace1(canon *c, ir_op *op, ir_value *v) {
    canon_replace(c, op, 0, v);
    if (op_is_removable(op))
        canon_kill(c, op);
    return true;
}

void canon_set(canon *c, ir_op *op, u32 i, ir_value *v) {
    touch_def(c, ir_operand(op, i));
    ir_set_operand(op, i, v);
    canon_touch(c, op);
}

static void pool_place(canon *c, ir_op *op) {
    ir_op *after = c->last_home ? c->last_home->next : c->home->first;
    if (after == op)
        after = op->next;
    ir_remove(op);
    ir_insert(&(ir_builder){.m = c->m, .block = c->home, .at = after}, op);
    c->last_home = op;
}

ir_value *canon_const(canon *c, const ir_type *t, i64 bits) {
    const ir_attr *value = ir_attr_constant(c->m, t, bits);
    void **slot = map_put(c->constants, MAP_KEY(value));
    if (*slot)
        return *slot;
    ir_op *after = c->last_home ? c->last_home->next : c->home->first;
    ir_builder b = {c->m, c->home, after, c->home->first ? c->home->first->loc : ir_loc_unknown(c->m)};
    ir_value *v = ir_build1(&b, IR_arith_constant, t, 0, NULL);
    ir_attr_set(c->m, v->op, "value", value);
    *slot = v;
    c->last_home = v->op;
    return v;
}

ir_op *canon_build(canon *c, ir_op *at, enum ir_code code, u32 n, ir_value *const *operands,
                   const ir_type *result) {
    ir_builder b = ir_before(c->m, at);
    ir_op *op = ir_build(&b, code, n, operands, 1, &result, 0);
    canon_touch(c, op);
    return op;
}

ir_value *canon_unary(canon *c, ir_op *at, enum ir_code code, const ir_type *t, ir_value *x) {
    return ir_result(canon_build(c, at, code, 1, &x, t), 0);
}

ir_value *canon_binary(canon *c, ir_op *at, enum ir_code code, ir_value *x, ir_value *y) {
    return ir_result(canon_build(c, at, code, 2, (ir_value *[]){x, y}, x->type), 0);
}

ir_value *canon_splat_scalar(canon *c, ir_value *v) {
    i64 bits;
    if (def_of(v, IR_tt_splat))
        return ir_operand(v->op, 0);
    if (v->type->kind == IR_TENSOR && is_const(v, &bits) && v->type->elem->kind != IR_PTR)
        return canon_const(c, v->type->elem, bits);
    return NULL;
}

/* ---- Rules for every elementwise op -------------------------------------------------------------- */

static bool fold_constants(canon *c, ir_op *op) {
    i64 in[3], out;
    if (op->n_operands == 0 || op->n_operands > 3)
        return false;
    for (u32 i = 0; i < op->n_operands; i++)
        if (!is_const(ir_operand(op, i), &in[i]))
            return false;
    return fold_op(op, in, &out) && canon_replace1(c, op, canon_const(c, ir_result(op, 0)->type, out));
}

/* Predicates after operands swap. */
static i64 swapped(i64 predicate) {
    static const u8 to[] = {0, 1, 4, 5, 2, 3, 8, 9, 6, 7};
    return to[predicate];
}

static bool constant_to_the_right(canon *c, ir_op *op) {
    i64 bits;
    bool compare = op->code == IR_arith_cmpi;
    if (op->n_operands != 2 || !(compare || ir_has_trait(op, IR_COMMUTES)))
        return false;
    ir_value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    if (!is_const(x, &bits) || is_const(y, &bits))
        return false;
    ir_set_operand(op, 0, y);
    ir_set_operand(op, 1, x);
    if (compare)
        ir_attr_set(c->m, op, "predicate",
                    ir_attr_int(c->m, ir_attr_get(op, "predicate")->type,
                                swapped(ir_attr_get_int(op, "predicate", 0))));
    canon_touch_uses(c, ir_result(op, 0));
    canon_touch(c, op);
    return true;
}

static ir_op *like(canon *c, ir_op *op, u32 n, ir_value *const *operands, const ir_type *result) {
    ir_op *made = canon_build(c, op, op->code, n, operands, result);
    attrs_copy(c->m, made, op, false);
    made->other_name = op->other_name;
    return made;
}

/* op(splat a, splat b) -> splat(op(a, b)): once per program instead of once per element. */
static bool lift_splat(canon *c, ir_op *op) {
    enum { MAX = 4 };
    ir_value *scalars[MAX];
    bool lifts = false;
    if (op->n_operands == 0 || op->n_operands > MAX || !ir_is_tensor(ir_result(op, 0)->type) || has_hints(op))
        return false;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *v = ir_operand(op, i);
        i64 bits;
        if (ir_is_tensor(v->type) && !def_of(v, IR_tt_splat) && !is_const(v, &bits))
            return false;
        lifts |= ir_is_tensor(v->type) && def_of(v, IR_tt_splat);
    }
    if (!lifts)
        return false;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *v = ir_operand(op, i);
        scalars[i] = ir_is_tensor(v->type) ? canon_splat_scalar(c, v) : v;
        if (!scalars[i])
            return false;
    }
    const ir_type *t = ir_result(op, 0)->type;
    ir_op *scalar = like(c, op, op->n_operands, scalars, ir_elem(t));
    return canon_replace1(c, op, canon_unary(c, op, IR_tt_splat, t, ir_result(scalar, 0)));
}

static bool same_extent(const ir_type *a, const ir_type *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* op(broadcast a, broadcast b or splat) -> broadcast(op(a, b)): before layouts only, where types do
 * not yet say who holds what. */
static bool sink_broadcast(canon *c, ir_op *op) {
    enum { MAX = 4 };
    ir_value *small[MAX];
    const ir_type *result = ir_result(op, 0)->type, *source = NULL;
    i64 bits;
    if (op->n_operands == 0 || op->n_operands > MAX || !ir_is_tensor(result) || result->encoding || has_hints(op))
        return false;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *v = ir_operand(op, i);
        ir_op *b = def_of(v, IR_tt_broadcast);
        if (!ir_is_tensor(v->type) || (!b && !def_of(v, IR_tt_splat) && !is_const(v, &bits)))
            return false;
        if (b && source && !same_extent(source, ir_operand(b, 0)->type))
            return false;
        if (b)
            source = ir_operand(b, 0)->type;
    }
    if (!source)
        return false;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *v = ir_operand(op, i);
        const ir_type *t = ir_type_with_elem(c->m, source, v->type->elem);
        if (def_of(v, IR_tt_broadcast))
            small[i] = ir_operand(v->op, 0);
        else if (def_of(v, IR_tt_splat))
            small[i] = canon_unary(c, op, IR_tt_splat, t, ir_operand(v->op, 0));
        else if (is_const(v, &bits))
            small[i] = canon_const(c, t, bits);
    }
    ir_op *made = like(c, op, op->n_operands, small, ir_type_with_elem(c->m, source, result->elem));
    return canon_replace1(c, op, canon_unary(c, op, IR_tt_broadcast, result, ir_result(made, 0)));
}

static bool visit_op(canon *c, ir_op *op) {
    if (op->n_results == 1 && ir_has_trait(op, IR_ELEMENTWISE) && op_is_movable(op) &&
        op->code != IR_arith_constant &&
        (fold_constants(c, op) || constant_to_the_right(c, op) || lift_splat(c, op) ||
         sink_broadcast(c, op)))
        return true;
    return canon_arith(c, op) || canon_float(c, op) || canon_shape(c, op) || canon_memory(c, op) ||
           canon_control(c, op);
}

/* ---- The work list ------------------------------------------------------------------------------- */

static bool is_dead(const ir_op *op) {
    if (!op_is_removable(op))
        return false;
    for (u32 i = 0; i < op->n_results; i++)
        if (ir_has_uses(ir_result(op, i)))
            return false;
    return true;
}

static void collect(ir_op *op, void *data) {
    canon *c = data;
    op->mark = QUEUED;
    if (op->code != IR_tt_func)
        VEC_PUSH(c->a, &c->list, op);
}

/* Equal constants become one, at the head of the entry block. */
static void pool_constant(canon *c, ir_op *op) {
    const ir_attr *value = ir_attr_get(op, "value");
    if (!value || op->n_attrs != 1 || !op->block)
        return;
    void **slot = map_put(c->constants, MAP_KEY(value));
    if (*slot) {
        ir_replace_uses(ir_result(op, 0), *slot);
        op->mark = DEAD;
        ir_erase(op);
        return;
    }
    ir_result(op, 0)->name = NULL; /* it stands for every use of the value, whatever it is called there */
    while (op->loc && op->loc->kind == IR_LOC_NAME && op->loc->a)
        op->loc = op->loc->a;
    *slot = ir_result(op, 0);
    pool_place(c, op);
}

static void drain(canon *c) {
    size_t budget = (size_t)STEPS_PER_OP * (c->list.count + 64);
    for (u32 i = 0; i < c->list.count && budget; i++, budget--) {
        ir_op *op = c->list.at[i];
        if (op->mark == DEAD)
            continue;
        op->mark = IDLE;
        if (is_dead(op))
            canon_kill(c, op);
        else
            visit_op(c, op);
    }
}

static tm_status visit(pass_run *run, ir_module *m, ir_op *func) {
    for (u32 round = 0; round < MAX_ROUNDS; round++) {
        arena_mark mark = arena_save(run->scratch);
        canon c = {.m = m, .a = run->scratch, .home = func->regions[0].first};
        c.constants = map_new(c.a);
        ir_walk(func, collect, &c);
        for (u32 i = 0; i < c.list.count; i++)
            if (c.list.at[i]->code == IR_arith_constant)
                pool_constant(&c, c.list.at[i]);
        drain(&c);
        bool again = dce_func(m, func, run->scratch);
        arena_rewind(run->scratch, mark);
        if (!again)
            break;
    }
    return 0;
}

static tm_status run_canonicalize(pass_run *run, ir_module *m) { return for_each_func(run, m, visit); }

const pass_info pass_canonicalize = {"canonicalize", "folds, brings ops into one form, drops dead code",
                                     run_canonicalize};
