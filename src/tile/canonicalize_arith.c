/* SPDX-License-Identifier: MIT */
/* Canonical integer arithmetic, compares, select and casts. Constants stand on the right when these
 * rules run, and an op whose operands are all constant has been folded before. */
#include "tile/canonicalize.h"
#include "tile/fold.h"

static u32 width_of(const ir_value *v) {
    const ir_type *e = ir_elem(v->type);
    return e->kind == IR_INT ? e->width : 64;
}

/* x op k -> other op other k, in place */
static bool become(canon *c, ir_op *op, enum ir_code code, ir_value *x, ir_value *y) {
    ir_op *made = canon_build(c, op, code, 2, (ir_value *[]){x, y}, ir_result(op, 0)->type);
    attrs_copy(c->m, made, op, true);
    return canon_replace1(c, op, ir_result(made, 0));
}

/* (x op k1) op k2 -> x op (k1 op k2) for associative ops whose arithmetic wraps. */
static bool reassociate(canon *c, ir_op *op, i64 k) {
    ir_op *inner = def_of(ir_operand(op, 0), op->code);
    i64 in[2] = {0, k}, out;
    if (!inner || !is_const(ir_operand(inner, 1), &in[0]) || !fold_op(op, in, &out))
        return false;
    canon_set(c, op, 1, canon_const(c, ir_operand(op, 1)->type, out));
    canon_set(c, op, 0, ir_operand(inner, 0));
    return true;
}

static bool with_constant(canon *c, ir_op *op, ir_value *x, ir_value *y, i64 k) {
    const ir_type *t = ir_result(op, 0)->type;
    u32 w = width_of(x);
    u64 u = w >= 64 ? (u64)k : (u64)k & ((1ull << w) - 1);
    bool ones = fold_wrap(-1, w) == k, power = is_pow2(u);
    switch (op->code) {
    case IR_arith_addi:
        return k == 0 ? canon_replace1(c, op, x) : reassociate(c, op, k);
    case IR_arith_subi: /* one form for both */
        return k == 0 ? canon_replace1(c, op, x)
                      : become(c, op, IR_arith_addi, x, canon_const(c, t, fold_wrap((i64)(0 - u), w)));
    case IR_arith_muli:
        return k == 0   ? canon_replace1(c, op, y)
               : k == 1 ? canon_replace1(c, op, x)
                        : reassociate(c, op, k);
    case IR_arith_andi:
        return k == 0  ? canon_replace1(c, op, y)
               : ones ? canon_replace1(c, op, x)
                       : reassociate(c, op, k);
    case IR_arith_ori:
        return k == 0  ? canon_replace1(c, op, x)
               : ones ? canon_replace1(c, op, y)
                       : reassociate(c, op, k);
    case IR_arith_xori: return k == 0 ? canon_replace1(c, op, x) : reassociate(c, op, k);
    case IR_arith_shli:
    case IR_arith_shrsi:
    case IR_arith_shrui: return k == 0 && canon_replace1(c, op, x);
    case IR_arith_divsi:
    case IR_arith_ceildivsi:
    case IR_arith_ceildivui:
    case IR_arith_floordivsi: return k == 1 && w > 1 && canon_replace1(c, op, x);
    case IR_arith_remsi:
        return k == 1 && w > 1 && canon_replace1(c, op, canon_const(c, t, 0));
    case IR_arith_divui:
        return power && (k == 1 ? canon_replace1(c, op, x)
                                : become(c, op, IR_arith_shrui, x, canon_const(c, t, log2_u64(u))));
    case IR_arith_remui:
        return power && become(c, op, IR_arith_andi, x, canon_const(c, t, (i64)(u - 1)));
    default: return false;
    }
}

static bool with_itself(canon *c, ir_op *op, ir_value *x) {
    switch (op->code) {
    case IR_arith_subi:
    case IR_arith_xori: return canon_replace1(c, op, canon_const(c, x->type, 0));
    case IR_arith_andi:
    case IR_arith_ori:
    case IR_arith_minsi:
    case IR_arith_minui:
    case IR_arith_maxsi:
    case IR_arith_maxui: return canon_replace1(c, op, x);
    default: return false;
    }
}

/* ---- Compares ------------------------------------------------------------------------------------ */

enum { EQ, NE, SLT, SLE, SGT, SGE, ULT, ULE, UGT, UGE };

static void set_predicate(canon *c, ir_op *op, i64 predicate) {
    ir_attr_set(c->m, op, "predicate", ir_attr_int(c->m, ir_attr_get(op, "predicate")->type, predicate));
    canon_touch_uses(c, ir_result(op, 0));
    canon_touch(c, op);
}

/* The smallest and largest value in the predicate's order. */
static void limits(i64 predicate, u32 w, i64 *low, i64 *high) {
    bool is_signed = predicate < ULT;
    *low = is_signed ? (i64)(~0ull << (w - 1)) : 0;
    *high = is_signed ? ~*low : fold_wrap(-1, w);
}

/* slt and sge (ult, uge) are the forms: x <= k becomes x < k + 1. */
static bool compare_with_constant(canon *c, ir_op *op, ir_value *x, i64 k) {
    i64 predicate = ir_attr_get_int(op, "predicate", 0), low, high;
    u32 w = width_of(x);
    const ir_type *t = x->type, *bool_type = ir_result(op, 0)->type;
    if (ir_elem(t)->kind != IR_INT)
        return false;
    if (w == 1) {
        bool same = predicate == (k ? EQ : NE), flip = predicate == (k ? NE : EQ);
        return same   ? canon_replace1(c, op, x)
               : flip ? canon_replace1(c, op, canon_binary(c, op, IR_arith_xori, x, canon_const(c, t, 1)))
                      : false;
    }
    limits(predicate, w, &low, &high);
    switch (predicate) {
    case SLE:
    case ULE:
    case SGT:
    case UGT: {
        bool upper = predicate == SLE || predicate == ULE;
        if (k == high)
            return canon_replace1(c, op, canon_const(c, bool_type, upper));
        ir_set_operand(op, 1, canon_const(c, t, fold_wrap(k + 1, w)));
        set_predicate(c, op, upper ? predicate - 1 : predicate + 1);
        return true;
    }
    case SLT:
    case ULT: return k == low && canon_replace1(c, op, canon_const(c, bool_type, 0));
    case SGE:
    case UGE: return k == low && canon_replace1(c, op, canon_const(c, bool_type, 1));
    default: return false;
    }
}

/* Compares of extended values are compares of the narrow ones. */
static bool compare_extended(canon *c, ir_op *op, ir_value *x, ir_value *y) {
    i64 predicate = ir_attr_get_int(op, "predicate", 0), k = 0;
    ir_op *a = def_of(x, IR_arith_extsi) ? x->op : def_of(x, IR_arith_extui);
    if (!a)
        return false;
    ir_value *narrow = ir_operand(a, 0), *other;
    bool is_signed = a->code == IR_arith_extsi;
    u32 w = width_of(narrow);
    ir_op *b = def_of(y, a->code);
    if (b && ir_operand(b, 0)->type == narrow->type) {
        other = ir_operand(b, 0);
    } else if (is_const(y, &k)) {
        if (w == 1 || (is_signed ? k != fold_wrap(k, w) : k < 0 || (u64)k >> w != 0))
            return false;
        other = canon_const(c, narrow->type, fold_wrap(k, w));
    } else {
        return false;
    }
    if (w == 1 && predicate != EQ && predicate != NE)
        return false;
    if (!is_signed && predicate >= SLT && predicate < ULT)
        set_predicate(c, op, predicate + (ULT - SLT));
    canon_set(c, op, 0, narrow);
    canon_set(c, op, 1, other);
    return true;
}

static bool canon_cmpi(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    i64 k, predicate = ir_attr_get_int(op, "predicate", 0);
    if (x == y) {
        bool holds = predicate == EQ || predicate == SLE || predicate == SGE || predicate == ULE ||
                     predicate == UGE;
        return canon_replace1(c, op, canon_const(c, ir_result(op, 0)->type, holds));
    }
    return (is_const(y, &k) && compare_with_constant(c, op, x, k)) || compare_extended(c, op, x, y);
}

/* not(compare) -> compare. Float predicates are ordered so that inverses sum up to 14. */
static bool canon_not(canon *c, ir_op *op) {
    static const u8 inverse[] = {NE, EQ, SGE, SGT, SLE, SLT, UGE, UGT, ULE, ULT};
    enum { CMPF_FALSE = 0, CMPF_TRUE = 15 };
    ir_value *x = ir_operand(op, 0);
    if (width_of(x) != 1 || !is_const_value(ir_operand(op, 1), 1) || !x->op)
        return false;
    i64 p = ir_attr_get_int(x->op, "predicate", 0);
    bool floats = x->op->code == IR_arith_cmpf;
    if ((x->op->code != IR_arith_cmpi && !floats) || (floats && (p == CMPF_FALSE || p == CMPF_TRUE)))
        return false;
    ir_op *made = canon_build(c, op, x->op->code, 2,
                              (ir_value *[]){ir_operand(x->op, 0), ir_operand(x->op, 1)}, x->type);
    attrs_copy(c->m, made, x->op, false);
    set_predicate(c, made, floats ? 14 - p : inverse[p]);
    return canon_replace1(c, op, ir_result(made, 0));
}

/* ---- Select -------------------------------------------------------------------------------------- */

/* select(c, x, false) stays: `c & x` would use x, perhaps poison, where c is false. */
static bool select_bools(canon *c, ir_op *op, ir_value *cond, ir_value *x, ir_value *y) {
    i64 kx, ky;
    if (cond->type != x->type || width_of(x) != 1 || !is_const(x, &kx) || !is_const(y, &ky))
        return false;
    /* equal arms are gone already */
    return canon_replace1(
        c, op, kx ? cond : canon_binary(c, op, IR_arith_xori, cond, canon_const(c, x->type, 1)));
}

static bool canon_select(canon *c, ir_op *op) {
    ir_value *cond = ir_operand(op, 0), *x = ir_operand(op, 1), *y = ir_operand(op, 2);
    i64 k;
    if (x == y || def_of(y, IR_ub_poison))
        return canon_replace1(c, op, x);
    if (def_of(x, IR_ub_poison))
        return canon_replace1(c, op, y);
    if (is_const(cond, &k))
        return canon_replace1(c, op, k ? x : y);
    ir_op *not = def_of(cond, IR_arith_xori);
    if (not && is_const_value(ir_operand(not, 1), 1)) {
        ir_set_operand(op, 1, y);
        ir_set_operand(op, 2, x);
        canon_set(c, op, 0, ir_operand(not, 0));
        return true;
    }
    ir_op *inner = def_of(x, IR_arith_select);
    if (inner && ir_operand(inner, 0) == cond) {
        canon_set(c, op, 1, ir_operand(inner, 1));
        return true;
    }
    inner = def_of(y, IR_arith_select);
    if (inner && ir_operand(inner, 0) == cond) {
        canon_set(c, op, 2, ir_operand(inner, 2));
        return true;
    }
    return select_bools(c, op, cond, x, y);
}

/* ---- Casts --------------------------------------------------------------------------------------- */

/* ext(ext x) in one step; a zero-extended value is not negative. */
static bool canon_ext(canon *c, ir_op *op) {
    ir_op *inner = ir_operand(op, 0)->op;
    if (!inner)
        return false;
    if (inner->code == IR_arith_extui)
        return canon_replace1(c, op, canon_unary(c, op, IR_arith_extui, ir_result(op, 0)->type,
                                                 ir_operand(inner, 0)));
    if (inner->code != IR_arith_extsi || op->code != IR_arith_extsi)
        return false;
    canon_set(c, op, 0, ir_operand(inner, 0));
    return true;
}

static bool canon_trunci(canon *c, ir_op *op) {
    ir_op *inner = ir_operand(op, 0)->op;
    if (!inner)
        return false;
    if (inner->code == IR_arith_trunci) {
        canon_set(c, op, 0, ir_operand(inner, 0));
        return true;
    }
    if (inner->code != IR_arith_extsi && inner->code != IR_arith_extui)
        return false;
    ir_value *x = ir_operand(inner, 0);
    const ir_type *t = ir_result(op, 0)->type;
    if (x->type == t)
        return canon_replace1(c, op, x);
    enum ir_code code = width_of(x) > ir_elem(t)->width ? IR_arith_trunci : (enum ir_code)inner->code;
    return canon_replace1(c, op, canon_unary(c, op, code, t, x));
}

/* Casts that lose nothing come back as what they were. */
static bool canon_bits(canon *c, ir_op *op) {
    static const struct { u16 outer, inner; } pairs[] = {
        {IR_arith_bitcast, IR_arith_bitcast},
        {IR_tt_bitcast, IR_tt_bitcast},
        {IR_arith_index_cast, IR_arith_index_cast},
        {IR_tt_int_to_ptr, IR_tt_ptr_to_int},
        {IR_tt_ptr_to_int, IR_tt_int_to_ptr},
    };
    ir_value *x = ir_operand(op, 0);
    const ir_type *t = ir_result(op, 0)->type;
    if (x->type == t && op->code != IR_arith_index_cast)
        return canon_replace1(c, op, x);
    for (u32 i = 0; x->op && i < COUNT_OF(pairs); i++) {
        if (op->code != pairs[i].outer || x->op->code != pairs[i].inner)
            continue;
        ir_value *from = ir_operand(x->op, 0);
        if (from->type == t)
            return canon_replace1(c, op, from);
        if (op->code == IR_arith_bitcast || op->code == IR_tt_bitcast) {
            canon_set(c, op, 0, from);
            return true;
        }
    }
    return false;
}

bool canon_arith(canon *c, ir_op *op) {
    i64 k;
    switch (op->code) {
    case IR_arith_cmpi: return canon_cmpi(c, op);
    case IR_arith_select: return canon_select(c, op);
    case IR_arith_extsi:
    case IR_arith_extui: return canon_ext(c, op);
    case IR_arith_trunci: return canon_trunci(c, op);
    case IR_arith_bitcast:
    case IR_tt_bitcast:
    case IR_arith_index_cast:
    case IR_tt_int_to_ptr:
    case IR_tt_ptr_to_int: return canon_bits(c, op);
    case IR_arith_addi:
    case IR_arith_subi:
    case IR_arith_muli:
    case IR_arith_divsi:
    case IR_arith_divui:
    case IR_arith_remsi:
    case IR_arith_remui:
    case IR_arith_ceildivsi:
    case IR_arith_ceildivui:
    case IR_arith_floordivsi:
    case IR_arith_andi:
    case IR_arith_ori:
    case IR_arith_xori:
    case IR_arith_shli:
    case IR_arith_shrsi:
    case IR_arith_shrui:
    case IR_arith_minsi:
    case IR_arith_minui:
    case IR_arith_maxsi:
    case IR_arith_maxui: break;
    default: return false;
    }
    ir_value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    if (x == y)
        return with_itself(c, op, x);
    if (op->code == IR_arith_xori && canon_not(c, op))
        return true;
    return is_const(y, &k) && with_constant(c, op, x, y, k);
}
