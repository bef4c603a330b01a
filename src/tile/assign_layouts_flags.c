/* SPDX-License-Identifier: MIT */
/* Facts about values that the choice of layouts rests on, found by sweeps over the function:
 * which values are cheap to compute again in another layout, which dots feed other dots or are
 * reduced along their columns (so that their rows must stay within a simdgroup), and which values
 * come from a dot. */
#include "tile/assign_layouts.h"

enum { SMALL_LOAD = 4 /* elements per thread */, SMALL_SHARE = 4 };

static bool has_flag(assign *s, const ir_value *v, u32 flag) {
    return (s->flags[group_of(s, v)] & flag) != 0;
}

static void set_flag(assign *s, const ir_value *v, u32 flag) {
    u8 *f = &s->flags[group_of(s, v)];
    s->changed |= (*f & flag) != flag;
    *f |= (u8)flag;
}

static bool all_operands(assign *s, const ir_op *op, u32 flag) {
    for (u32 i = 0; i < op->n_operands; i++)
        if (is_tensor(ir_operand(op, i)) && !has_flag(s, ir_operand(op, i), flag))
            return false;
    return true;
}

/* Ops a GPU does in a cycle or few per element: worth less than moving their result. */
static bool is_simple(const ir_op *op) {
    switch (op->code) {
    case IR_arith_divf:
    case IR_arith_remf:
    case IR_tt_precise_divf:
    case IR_tt_precise_sqrt:
    case IR_tt_extern_elementwise: return false;
    default:
        return ir_has_trait(op, IR_ELEMENTWISE) && op->n_results == 1 &&
               (strncmp(ir_ops[op->code].name, "arith.", 6) == 0 ||
                strncmp(ir_ops[op->code].name, "tt.", 3) == 0);
    }
}

/* A load of few elements along one dimension. */
static bool is_small_load(assign *s, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    i64 numel = ir_numel(t);
    for (u32 d = 0; d < t->rank; d++)
        if (t->shape[d] != 1 && t->shape[d] != numel)
            return false;
    return numel <= (i64)SMALL_LOAD * 32 << s->warp_bits && !ir_attr_get_int(op, "isVolatile", 0);
}

static void find_cheap(assign *s, const ir_op *op) {
    u32 flags = 0;
    if (op->n_results != 1 || op->n_regions || !is_tensor(ir_result(op, 0)))
        return;
    const ir_value *r = ir_result(op, 0);
    switch (op->code) {
    case IR_arith_constant:
    case IR_ub_poison:
    case IR_tt_make_range:
    case IR_tt_splat: flags = VALUE_MOBILE | VALUE_CHEAP; break;
    case IR_tt_expand_dims:
        flags = VALUE_MOBILE;
        if (all_operands(s, op, VALUE_CHEAP))
            flags |= VALUE_CHEAP;
        break;
    case IR_tt_broadcast:
        flags = VALUE_MOBILE;
        if (all_operands(s, op, VALUE_CHEAP) ||
            ir_numel(ir_operand(op, 0)->type) * SMALL_SHARE <= ir_numel(r->type))
            flags |= VALUE_CHEAP;
        break;
    case IR_tt_load:
        if (is_small_load(s, op))
            flags = all_operands(s, op, VALUE_CHEAP) ? VALUE_SMALL | VALUE_MOBILE | VALUE_CHEAP
                                                     : VALUE_SMALL;
        break;
    case IR_tt_reshape:
    case IR_tt_trans:
        if (all_operands(s, op, VALUE_CHEAP))
            flags = VALUE_MOBILE | VALUE_CHEAP;
        break;
    default:
        if (is_simple(op) && all_operands(s, op, VALUE_CHEAP))
            flags = VALUE_MOBILE | VALUE_CHEAP;
    }
    set_flag(s, r, flags);
}

static bool wants_rows(assign *s, const ir_op *op, u32 i) {
    const ir_value *to = carried_value(op, i);
    if (to)
        return has_flag(s, to, VALUE_ROWS);
    if (op->code == IR_tt_dot)
        return i == 0 || (i == 2 && has_flag(s, ir_result(op, 0), VALUE_ROWS));
    if (op->code == IR_tt_reduce || op->code == IR_tt_scan)
        return reduce_axis(op) + 1 == ir_operand(op, i)->type->rank;
    return ir_has_trait(op, IR_ELEMENTWISE) && op->n_results &&
           has_flag(s, ir_result(op, 0), VALUE_ROWS);
}

static void find_rows(assign *s, const ir_op *op) {
    for (u32 i = 0; i < op->n_operands; i++)
        if (is_tensor(ir_operand(op, i)) && wants_rows(s, op, i))
            set_flag(s, ir_operand(op, i), VALUE_ROWS);
}

/* What comes from a dot, forward through elementwise ops and loops. Dots whose results meet share
 * one placement: when one keeps its rows together (because its operand a comes from a dot), so do
 * all. */
static void find_from_dot(assign *s, const ir_op *op) {
    u32 flags = op->code == IR_tt_dot ? VALUE_FROM_DOT : 0;
    if (op->code == IR_tt_dot && has_flag(s, ir_operand(op, 0), VALUE_FROM_DOT))
        flags |= VALUE_ROWS;
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_value *v = ir_operand(op, i), *to = carried_value(op, i);
        if (!is_tensor(v) || !has_flag(s, v, VALUE_FROM_DOT))
            continue;
        u32 flow = s->flags[group_of(s, v)] & (VALUE_FROM_DOT | VALUE_ROWS);
        if (ir_has_trait(op, IR_ELEMENTWISE) || (op->code == IR_tt_dot && i == 2))
            flags |= flow;
        if (to)
            set_flag(s, to, flow);
    }
    for (u32 i = 0; flags && i < op->n_results; i++)
        if (is_tensor(ir_result(op, i)))
            set_flag(s, ir_result(op, i), flags);
}

void flag_all(assign *s) {
    for (u32 i = 0; i < s->n_ops; i++)
        find_cheap(s, s->ops[i]);
    do {
        s->changed = false;
        for (u32 i = s->n_ops; i-- > 0;)
            find_rows(s, s->ops[i]);
        for (u32 i = 0; i < s->n_ops; i++)
            find_from_dot(s, s->ops[i]);
    } while (s->changed);
}
