/* SPDX-License-Identifier: MIT */
/* Structured control flow whose path is known becomes straight code; values that it passes through
 * unchanged are used directly. Dead results and carried values are left to dce_func, which sees
 * cycles; it runs after these rules until both are done. */
#include "tile/canonicalize.h"

/* Moves the ops of region r before op; its terminator is detached from its operands by the caller. */
static void inline_region(canon *c, ir_op *op, u32 r) {
    ir_block *b = op_block(op, r);
    while (b->first != b->last) {
        ir_op *moved = b->first;
        ir_move_before(moved, op);
        canon_touch(c, moved);
    }
}

/* Results of op become the given values, and op goes. */
static bool finish(canon *c, ir_op *op, ir_value *const *values) {
    for (u32 i = 0; i < op->n_results; i++)
        canon_replace(c, op, i, values[i]);
    canon_kill(c, op);
    return true;
}

static ir_value **values_of(canon *c, const ir_op *op, u32 first) {
    ir_value **list = ARENA_ARRAY(c->a, ir_value *, op->n_operands + 1u);
    for (u32 i = first; i < op->n_operands; i++)
        list[i - first] = ir_operand(op, i);
    return list;
}

static void replace_arg(canon *c, ir_value *arg, ir_value *v) {
    canon_touch_uses(c, arg);
    ir_replace_uses(arg, v);
}

/* ---- scf.if -------------------------------------------------------------------------------------- */

static bool take_branch(canon *c, ir_op *op, u32 r) {
    ir_op *end = region_end(op, r);
    ir_value **values = end ? values_of(c, end, 0) : NULL;
    if (end)
        inline_region(c, op, r);
    return finish(c, op, values);
}

static bool is_empty(const ir_op *op, u32 r) {
    ir_block *b = op_block(op, r);
    return !b || b->first == b->last;
}

/* Inside a branch the condition is known. Looks at few uses only, to stay linear. */
static bool spread_condition(canon *c, ir_op *op) {
    enum { MAX_USES = 16 };
    ir_value *cond = ir_operand(op, 0);
    bool changed = false;
    ir_use *next;
    u32 n = 0;
    for (ir_use *u = cond->uses; u && n < MAX_USES; u = next, n++) {
        next = u->next;
        ir_op *at = u->owner;
        if (at == op)
            continue;
        while (at && at->block && at->block->region->op != op)
            at = ir_parent(at);
        if (!at || !at->block)
            continue;
        bool is_then = at->block->region == &op->regions[0];
        ir_op *owner = u->owner;
        ir_set_operand(owner, (u32)(u - owner->operands), canon_const(c, cond->type, is_then));
        canon_touch(c, owner);
        changed = true;
    }
    return changed;
}

static bool usable_outside(const ir_value *v, const ir_op *op) { return defined_outside(v, op); }

/* A result both branches agree on, or that only tells which branch ran. */
static ir_value *known_result(canon *c, ir_op *op, u32 i) {
    ir_value *x = ir_operand(region_end(op, 0), i), *y = ir_operand(region_end(op, 1), i);
    ir_value *cond = ir_operand(op, 0);
    i64 a, b;
    if (x == y && usable_outside(x, op))
        return x;
    if (def_of(x, IR_ub_poison) && usable_outside(y, op))
        return y;
    if (def_of(y, IR_ub_poison) && usable_outside(x, op))
        return x;
    if (x->type == cond->type && is_const(x, &a) && is_const(y, &b) && a && !b)
        return cond;
    return NULL;
}

/* An empty branch pair that only chooses scalars is a select. */
static bool to_select(canon *c, ir_op *op) {
    if (op->n_results == 0 || !is_empty(op, 0) || !is_empty(op, 1))
        return false;
    for (u32 i = 0; i < op->n_results; i++) {
        const ir_type *t = ir_result(op, i)->type;
        if (t->kind != IR_INT && t->kind != IR_FLOAT && t->kind != IR_INDEX && t->kind != IR_PTR)
            return false;
    }
    ir_value **values = ARENA_ARRAY(c->a, ir_value *, op->n_results);
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *x = ir_operand(region_end(op, 0), i), *y = ir_operand(region_end(op, 1), i);
        values[i] = ir_result(canon_build(c, op, IR_arith_select, 3,
                                          (ir_value *[]){ir_operand(op, 0), x, y}, x->type), 0);
    }
    return finish(c, op, values);
}

static bool canon_if(canon *c, ir_op *op) {
    i64 k;
    if (is_const(ir_operand(op, 0), &k))
        return take_branch(c, op, k ? 0 : 1);
    if (op->n_results == 0 && is_empty(op, 0) && is_empty(op, 1)) {
        canon_kill(c, op);
        return true;
    }
    if (op->n_results == 0 && is_empty(op, 0)) { /* the branch that does something comes first */
        ir_value *cond = ir_operand(op, 0);
        canon_set(c, op, 0, canon_binary(c, op, IR_arith_xori, cond, canon_const(c, cond->type, 1)));
        canon_kill(c, region_end(op, 0));
        op->regions[0] = (ir_region){.op = op};
        region_take(&op->regions[0], &op->regions[1]);
        return true;
    }
    bool changed = spread_condition(c, op);
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *v = ir_has_uses(ir_result(op, i)) ? known_result(c, op, i) : NULL;
        changed |= v && canon_replace(c, op, i, v);
    }
    return to_select(c, op) || changed;
}

/* ---- scf.for ------------------------------------------------------------------------------------- */

enum { LOOP_BOUNDS = 3 };

/* Trips of a loop with constant bounds, at most 2 (many); -1 when not known. */
static int trips(const ir_op *op) {
    i64 low, high, step;
    bool same = ir_operand(op, 0) == ir_operand(op, 1);
    bool known = is_const(ir_operand(op, 0), &low) && is_const(ir_operand(op, 1), &high);
    if (ir_attr_get(op, "unsignedCmp"))
        return -1;
    if (same || (known && low >= high))
        return 0;
    if (!known || !is_const(ir_operand(op, 2), &step) || step <= 0)
        return -1;
    return (u64)high - (u64)low <= (u64)step ? 1 : 2;
}

static bool run_once(canon *c, ir_op *op) {
    ir_block *b = op_block(op, 0);
    replace_arg(c, b->args[0], ir_operand(op, 0));
    for (u32 i = 1; i < b->n_args; i++)
        replace_arg(c, b->args[i], ir_operand(op, i + 2));
    ir_value **values = values_of(c, region_end(op, 0), 0);
    inline_region(c, op, 0);
    return finish(c, op, values);
}

static bool canon_for(canon *c, ir_op *op) {
    int n = trips(op);
    if (n == 0)
        return finish(c, op, values_of(c, op, LOOP_BOUNDS));
    if (n == 1)
        return run_once(c, op);
    ir_block *b = op_block(op, 0);
    ir_op *end = b->last;
    bool changed = false;
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *arg = b->args[i + 1], *init = ir_operand(op, i + LOOP_BOUNDS);
        ir_value *next = ir_operand(end, i);
        if (next != arg && next != init)
            continue;
        bool used = next == arg ? !ir_has_one_use(arg) : ir_has_uses(arg);
        if (!used && !ir_has_uses(ir_result(op, i)))
            continue; /* dce_func takes it */
        replace_arg(c, arg, init);
        canon_replace(c, op, i, init);
        changed = true;
    }
    return changed;
}

/* ---- scf.while ----------------------------------------------------------------------------------- */

/* Values of the loop head that never change, and results that come from outside. */
static bool canon_while(canon *c, ir_op *op) {
    ir_block *before = op_block(op, 0), *after = op_block(op, 1);
    ir_op *condition = before->last, *end = after->last;
    bool changed = false;
    i64 k;
    if (is_const(ir_operand(condition, 0), &k) && !k) {
        for (u32 i = 0; i < before->n_args; i++)
            replace_arg(c, before->args[i], ir_operand(op, i));
        ir_value **values = values_of(c, condition, 1);
        inline_region(c, op, 0);
        return finish(c, op, values);
    }
    for (u32 i = 0; i < before->n_args; i++) {
        ir_value *arg = before->args[i], *init = ir_operand(op, i), *next = ir_operand(end, i);
        bool same = next == init || next == arg;
        if (!next->op && next->block == after)
            same |= ir_operand(condition, next->index + 1) == arg;
        if (!same || !ir_has_uses(arg))
            continue;
        replace_arg(c, arg, init);
        changed = true;
    }
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *v = ir_operand(condition, i + 1);
        if (!defined_outside(v, op))
            continue;
        if (ir_has_uses(after->args[i])) {
            replace_arg(c, after->args[i], v);
            changed = true;
        }
        changed |= ir_has_uses(ir_result(op, i)) && canon_replace(c, op, i, v);
    }
    return changed;
}

bool canon_control(canon *c, ir_op *op) {
    switch (op->code) {
    case IR_scf_if: return canon_if(c, op);
    case IR_scf_for: return canon_for(c, op);
    case IR_scf_while: return canon_while(c, op);
    case IR_scf_yield:
    case IR_scf_condition: canon_touch(c, ir_parent(op)); return false;
    default: return false;
    }
}
