/* SPDX-License-Identifier: MIT */
/* Canonical float arithmetic: only identities that hold for every value, NaNs, infinities and signed
 * zeros included. x + 0 is not x (for -0), x * 0 is not 0, x - x is not 0. */
#include "ir/format.h"
#include "tile/canonicalize.h"
#include <math.h>

static bool float_const(const ir_value *v, double *k) {
    i64 bits;
    const ir_type *t = ir_elem(v->type);
    if (t->kind != IR_FLOAT || !is_const(v, &bits))
        return false;
    *k = ir_float_decode(t->float_kind, (u64)bits);
    return true;
}

static ir_value *constant(canon *c, const ir_type *t, double v) {
    return canon_const(c, t, (i64)ir_float_encode(ir_elem(t)->float_kind, v));
}

/* x / 2^k is x * 2^-k exactly, when 2^-k is a normal number of the type. */
static bool divide_by_power(canon *c, ir_op *op, ir_value *x, ir_value *y, double k) {
    int exponent;
    double inverse = 1 / k;
    const ir_type *t = ir_elem(x->type);
    if (fabs(frexp(k, &exponent)) != 0.5 || ir_float_is_special(t->float_kind, ir_float_encode(t->float_kind, inverse)))
        return false;
    double smallest = t->float_kind == IR_F16 ? 0x1p-14 : t->float_kind == IR_F64 ? 0x1p-1022 : 0x1p-126;
    if (fabs(inverse) < smallest)
        return false;
    return canon_replace1(c, op, canon_binary(c, op, IR_arith_mulf, x, constant(c, y->type, inverse)));
}

static bool with_constant(canon *c, ir_op *op, ir_value *x, ir_value *y, double k) {
    switch (op->code) {
    case IR_arith_addf: return k == 0 && signbit(k) && canon_replace1(c, op, x);
    case IR_arith_subf: return k == 0 && !signbit(k) && canon_replace1(c, op, x);
    case IR_arith_mulf:
        return k == 1    ? canon_replace1(c, op, x)
               : k == -1 ? canon_replace1(c, op, canon_unary(c, op, IR_arith_negf, x->type, x))
                         : false;
    case IR_arith_divf:
    case IR_tt_precise_divf:
        return k == 1 ? canon_replace1(c, op, x)
                      : isfinite(k) && k != 0 && divide_by_power(c, op, x, y, k);
    default: return false;
    }
}

/* a * b + 0 then + d: the product is accumulated into d at once, as upstream does. */
static bool add_into_dot(canon *c, ir_op *op, u32 side) {
    ir_op *dot = def_of(ir_operand(op, side), IR_tt_dot);
    ir_value *d = ir_operand(op, 1 - side);
    double zero;
    i64 bits;
    if (!dot || !ir_has_one_use(ir_result(dot, 0)) || ir_attr_get_int(dot, "maxNumImpreciseAcc", 0))
        return false;
    ir_value *acc = ir_operand(dot, 2);
    if (!(float_const(acc, &zero) ? zero == 0 : is_const(acc, &bits) && bits == 0))
        return false;
    ir_op *made = canon_build(c, op, IR_tt_dot, 3,
                              (ir_value *[]){ir_operand(dot, 0), ir_operand(dot, 1), d}, d->type);
    attrs_copy(c->m, made, dot, true);
    made->loc = dot->loc;
    return canon_replace1(c, op, ir_result(made, 0));
}

static bool canon_unary_float(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0);
    ir_op *inner = x->op;
    if (!inner)
        return false;
    switch (op->code) {
    case IR_arith_negf:
        return inner->code == IR_arith_negf && canon_replace1(c, op, ir_operand(inner, 0));
    case IR_math_absf:
        if (inner->code == IR_math_absf)
            return canon_replace1(c, op, x);
        if (inner->code != IR_arith_negf)
            return false;
        canon_set(c, op, 0, ir_operand(inner, 0));
        return true;
    case IR_arith_truncf:
    case IR_tt_fp_to_fp:
        return inner->code == IR_arith_extf && ir_operand(inner, 0)->type == ir_result(op, 0)->type &&
               canon_replace1(c, op, ir_operand(inner, 0));
    case IR_arith_extf:
        if (inner->code != IR_arith_extf)
            return false;
        canon_set(c, op, 0, ir_operand(inner, 0));
        return true;
    default: return false;
    }
}

bool canon_float(canon *c, ir_op *op) {
    double k;
    switch (op->code) {
    case IR_arith_negf:
    case IR_math_absf:
    case IR_arith_truncf:
    case IR_arith_extf:
    case IR_tt_fp_to_fp: return canon_unary_float(c, op);
    case IR_arith_maxnumf:
    case IR_arith_minnumf:
    case IR_arith_maximumf:
    case IR_arith_minimumf:
        return ir_operand(op, 0) == ir_operand(op, 1) && canon_replace1(c, op, ir_operand(op, 0));
    case IR_arith_addi:
    case IR_arith_addf:
        if (add_into_dot(c, op, 0) || add_into_dot(c, op, 1))
            return true;
        break;
    case IR_arith_subf:
    case IR_arith_mulf:
    case IR_arith_divf:
    case IR_tt_precise_divf: break;
    default: return false;
    }
    return float_const(ir_operand(op, 1), &k) && with_constant(c, op, ir_operand(op, 0), ir_operand(op, 1), k);
}
