/* SPDX-License-Identifier: MIT */
/* What each op does to facts. Every rule chooses the contiguity of its result first and then takes the
 * operands' divisibility at the starts of runs of that length. Rules for division, remainder and
 * shifts use that values counting up from a multiple of r keep the same quotient by r for r steps; for
 * signed division this needs a dividend that is not negative (the divisor's sign does not matter).
 * Scalars divided by scalars are program ids and counts: counts are taken to be positive. */
#include "tile/axis.h"
#include "tile/edit.h"

static const axis_info *info(const axis_table *t, const ir_op *op, u32 i) {
    return &axis_fact(t, ir_operand(op, i))->i;
}

static u32 size_of(const ir_type *t, u32 d) {
    return t->kind == IR_TENSOR && d < t->rank ? (u32)MIN(t->shape[d], (i64)AXIS_MAX_POWER) : 1;
}

/* Shapes are powers of two; a dimension of another size (never lowered) has no long runs. */
static u32 run_of(u32 size) { return axis_power_of(size); }

/* What holds for every element. */
static u32 div_of_all(const axis_info *i) {
    u32 best = 1;
    for (u32 d = 0; d < i->rank; d++)
        best = MAX(best, axis_div_at(i, d, 1));
    return best;
}

static u32 times(u32 a, u32 b) { return (u32)MIN((u64)a * b, (u64)AXIS_MAX_POWER); }

static fact constant_fact(const ir_type *t, i64 value) {
    fact f = axis_unknown(t);
    f.nonneg = value >= 0;
    f.i.constant = true;
    f.i.value = value;
    for (u32 d = 0; d < f.i.rank; d++) {
        f.i.divisibility[d] = axis_power_of(value);
        f.i.constancy[d] = run_of(size_of(t, d));
    }
    return f;
}

static bool ranks_fit(const axis_table *t, const ir_op *op, u32 rank) {
    for (u32 i = 0; i < op->n_operands; i++)
        if (info(t, op, i)->rank != rank)
            return false;
    return true;
}

/* Elementwise: equal operands give equal results, nothing more. */
static fact any_elementwise(const axis_table *t, const ir_op *op) {
    fact f = axis_unknown(ir_result(op, 0)->type);
    if (op->n_operands == 0 || !ranks_fit(t, op, f.i.rank))
        return f;
    for (u32 d = 0; d < f.i.rank; d++) {
        f.i.constancy[d] = AXIS_MAX_POWER;
        for (u32 i = 0; i < op->n_operands; i++)
            f.i.constancy[d] = MIN(f.i.constancy[d], info(t, op, i)->constancy[d]);
    }
    return f;
}

/* ---- Two operands -------------------------------------------------------------------------------- */

/* Runs stay runs where the other side stands still. `scale` is the size of a step of y: pointers
 * count by element, and their divisibility is in bytes. */
static void add_rule(fact *f, const axis_info *x, const axis_info *y, bool minus, u32 scale) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 run = MIN(x->contiguity[d], y->constancy[d]);
        if (!minus)
            run = MAX(run, MIN(x->constancy[d], y->contiguity[d]));
        f->i.contiguity[d] = run;
        f->i.divisibility[d] = MIN(axis_div_at(x, d, run), times(axis_div_at(y, d, run), scale));
    }
}

static void mul_rule(fact *f, const axis_info *x, const axis_info *y) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 run = y->constant && y->value == 1   ? x->contiguity[d]
                  : x->constant && x->value == 1 ? y->contiguity[d]
                                                 : 1;
        f->i.contiguity[d] = run;
        f->i.divisibility[d] = times(axis_div_at(x, d, run), axis_div_at(y, d, run));
    }
}

/* How long x stays within one block of `block` values, block a power of two that y stands for along
 * runs of its constancy. */
static u32 steps_within(const axis_info *x, const axis_info *y, u32 d, u32 block) {
    return MIN(MIN(x->contiguity[d], x->divisibility[d]), MIN(block, y->constancy[d]));
}

static void quotient_rule(fact *f, const axis_info *x, const axis_info *y, bool floors, i64 by) {
    for (u32 d = 0; d < f->i.rank; d++) {
        if (floors)
            f->i.constancy[d] = MAX(f->i.constancy[d], steps_within(x, y, d, axis_div_at(y, d, 1)));
        u32 all = axis_div_at(x, d, 1);
        if (by > 0 && is_pow2((u64)by) && (u64)by <= all)
            f->i.divisibility[d] = all / (u32)by;
        if (by == 1) {
            f->i.contiguity[d] = x->contiguity[d];
            f->i.divisibility[d] = x->divisibility[d];
        }
    }
}

static void remainder_rule(fact *f, const axis_info *x, const axis_info *y, bool floors) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 run = floors ? steps_within(x, y, d, axis_div_at(y, d, 1)) : 1;
        f->i.contiguity[d] = run;
        f->i.divisibility[d] = MIN(axis_div_at(x, d, run), axis_div_at(y, d, 1));
    }
}

/* A mask of low ones is a remainder, of high ones a rounding down. */
static void and_rule(fact *f, const axis_info *x, const axis_info *y) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 run = 1;
        if (y->constant && y->value != -1) {
            run = steps_within(x, y, d, axis_power_of(~y->value));
            f->i.constancy[d] = MAX(f->i.constancy[d], steps_within(x, y, d, axis_power_of(y->value)));
        } else if (y->constant) {
            run = x->contiguity[d];
        }
        f->i.contiguity[d] = run;
        f->i.divisibility[d] = MAX(axis_div_at(x, d, run), run == 1 ? axis_div_at(y, d, 1) : 1);
    }
}

/* Both sides of max and min are possible at every element. */
static void either_rule(fact *f, const axis_info *x, const axis_info *y) {
    for (u32 d = 0; d < f->i.rank; d++)
        f->i.divisibility[d] = MIN(axis_div_at(x, d, 1), axis_div_at(y, d, 1));
}

/* x counts within a block of values between two multiples; y is such a multiple: less and not-less
 * (for x left) hold for the whole block or for none of it. */
static void compare_rule(fact *f, const axis_info *x, const axis_info *y, i64 predicate) {
    bool left = predicate == 2 || predicate == 5 || predicate == 6 || predicate == 9;
    bool right = predicate == 4 || predicate == 3 || predicate == 8 || predicate == 7;
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 run = f->i.constancy[d];
        if (left)
            run = MAX(run, steps_within(x, y, d, axis_div_at(y, d, 1)));
        if (right)
            run = MAX(run, steps_within(y, x, d, axis_div_at(x, d, 1)));
        f->i.constancy[d] = run;
    }
}

static void select_rule(fact *f, const axis_info *c, const axis_info *x, const axis_info *y,
                        bool scalar) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 stays = scalar ? AXIS_MAX_POWER : c->constancy[d];
        u32 run = MIN(stays, MIN(x->contiguity[d], y->contiguity[d]));
        f->i.contiguity[d] = run;
        f->i.constancy[d] = MIN(stays, MIN(x->constancy[d], y->constancy[d]));
        f->i.divisibility[d] = MIN(axis_div_at(x, d, run), axis_div_at(y, d, run));
    }
}

static fact binary(const axis_table *t, const ir_op *op) {
    fact f = any_elementwise(t, op);
    if (!ranks_fit(t, op, f.i.rank))
        return f;
    const fact *fx = axis_fact(t, ir_operand(op, 0)), *fy = axis_fact(t, ir_operand(op, 1));
    const axis_info *x = &fx->i, *y = &fy->i;
    bool nonneg = fx->nonneg && fy->nonneg;
    i64 k = y->constant ? y->value : 0;
    axis_info step;
    switch (op->code) {
    case IR_arith_addi: add_rule(&f, x, y, false, 1); f.nonneg = nonneg; break;
    case IR_arith_subi: add_rule(&f, x, y, true, 1); break;
    case IR_tt_addptr: add_rule(&f, x, y, false, f.i.step); break;
    case IR_arith_muli: mul_rule(&f, x, y); f.nonneg = nonneg; break;
    case IR_arith_divsi:
        quotient_rule(&f, x, y, fx->nonneg, k);
        f.nonneg = nonneg || (fx->nonneg && !y->constant && !ir_is_tensor(ir_result(op, 0)->type));
        break;
    case IR_arith_divui: quotient_rule(&f, x, y, true, k); f.nonneg = nonneg; break;
    case IR_arith_remsi: remainder_rule(&f, x, y, fx->nonneg); f.nonneg = fx->nonneg; break;
    case IR_arith_remui: remainder_rule(&f, x, y, true); f.nonneg = nonneg; break;
    case IR_arith_andi: and_rule(&f, x, y); f.nonneg = fx->nonneg || fy->nonneg; break;
    case IR_arith_ori:
    case IR_arith_xori:
    case IR_arith_minsi:
    case IR_arith_minui:
    case IR_arith_maxui: either_rule(&f, x, y); f.nonneg = nonneg; break;
    case IR_arith_maxsi: either_rule(&f, x, y); f.nonneg = fx->nonneg || fy->nonneg; break;
    case IR_arith_shli:
    case IR_arith_shrsi:
    case IR_arith_shrui:
        f.nonneg = fx->nonneg;
        if (op->code == IR_arith_shli) /* at least what x has, whatever the distance */
            for (u32 d = 0; d < f.i.rank; d++)
                f.i.divisibility[d] = axis_div_at(x, d, 1);
        if (!y->constant || k < 0 || k > 30)
            break;
        step = constant_fact(ir_operand(op, 1)->type, (i64)1 << k).i;
        if (op->code == IR_arith_shli)
            mul_rule(&f, x, &step);
        else
            quotient_rule(&f, x, &step, true, (i64)1 << k);
        break;
    case IR_arith_cmpi: compare_rule(&f, x, y, ir_attr_get_int(op, "predicate", 0)); break;
    default: break;
    }
    return f;
}

/* ---- Shapes -------------------------------------------------------------------------------------- */

static fact make_range(const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    fact f = axis_unknown(t);
    i64 start = ir_attr_get_int(op, "start", 0);
    f.i.contiguity[0] = run_of(size_of(t, 0));
    f.i.divisibility[0] = axis_power_of(start);
    f.nonneg = start >= 0;
    return f;
}

static fact splat(const axis_table *t, const ir_op *op) {
    const ir_type *type = ir_result(op, 0)->type;
    fact f = *axis_fact(t, ir_operand(op, 0)), out = axis_unknown(type);
    out.nonneg = f.nonneg;
    out.i.constant = f.i.constant;
    out.i.value = f.i.value;
    for (u32 d = 0; d < out.i.rank; d++) {
        out.i.divisibility[d] = axis_div_at(&f.i, 0, 1);
        out.i.constancy[d] = run_of(size_of(type, d));
    }
    return out;
}

static void copy_dim(fact *to, u32 d, const axis_info *from, u32 e) {
    to->i.contiguity[d] = from->contiguity[e];
    to->i.divisibility[d] = from->divisibility[e];
    to->i.constancy[d] = from->constancy[e];
}

static fact like_source(const axis_table *t, const ir_op *op) {
    const fact *x = axis_fact(t, ir_operand(op, 0));
    fact f = axis_unknown(ir_result(op, 0)->type);
    f.nonneg = x->nonneg;
    f.i.constant = x->i.constant;
    f.i.value = x->i.value;
    return f;
}

static fact broadcast(const axis_table *t, const ir_op *op) {
    fact f = like_source(t, op);
    const axis_info *x = info(t, op, 0);
    const ir_type *from = ir_operand(op, 0)->type, *to = ir_result(op, 0)->type;
    for (u32 d = 0; d < f.i.rank && d < x->rank; d++) {
        copy_dim(&f, d, x, d);
        if (size_of(from, d) == 1 && size_of(to, d) > 1)
            f.i.constancy[d] = run_of(size_of(to, d));
    }
    return f;
}

static fact expand_dims(const axis_table *t, const ir_op *op) {
    fact f = like_source(t, op);
    const axis_info *x = info(t, op, 0);
    u32 axis = (u32)ir_attr_get_int(op, "axis", 0);
    for (u32 d = 0; d < f.i.rank; d++) {
        if (d == axis)
            f.i.divisibility[d] = div_of_all(x);
        else if (d - (d > axis) < x->rank)
            copy_dim(&f, d, x, d - (d > axis));
    }
    return f;
}

/* The last dimension's runs stay, cut to the new size; other dimensions keep what all elements have.
 * A dimension of size 1 is looked through. */
static fact reshape(const axis_table *t, const ir_op *op) {
    fact f = like_source(t, op);
    const axis_info *x = info(t, op, 0);
    const ir_type *from = ir_operand(op, 0)->type, *to = ir_result(op, 0)->type;
    if (ir_attr_get(op, "allow_reorder") || from->kind != IR_TENSOR || from->rank == 0 || from->rank > AXIS_MAX_RANK ||
        f.i.rank != to->rank)
        return axis_unknown(to);
    u32 all = div_of_all(x);
    for (u32 d = 0; d < f.i.rank; d++) {
        f.i.divisibility[d] = all;
        if (f.i.constant)
            f.i.constancy[d] = run_of(size_of(to, d));
    }
    u32 s = from->rank, d = to->rank;
    while (s > 1 && size_of(from, s - 1) == 1)
        s--;
    while (d > 1 && size_of(to, d - 1) == 1)
        d--;
    u32 run = MIN(x->contiguity[s - 1], run_of(size_of(to, d - 1)));
    f.i.contiguity[d - 1] = run;
    f.i.divisibility[d - 1] = MAX(run == 1 ? all : 1, axis_div_at(x, s - 1, run));
    f.i.constancy[d - 1] = MAX(f.i.constancy[d - 1],
                               MIN(x->constancy[s - 1], run_of(size_of(to, d - 1))));
    return f;
}

static fact trans(const axis_table *t, const ir_op *op) {
    const ir_attr *order = ir_attr_get(op, "order");
    fact f = like_source(t, op);
    if (!order || order->kind != IR_ATTR_INTS || order->count != f.i.rank)
        return axis_unknown(ir_result(op, 0)->type);
    for (u32 d = 0; d < f.i.rank; d++)
        copy_dim(&f, d, info(t, op, 0), (u32)order->ints[d] % AXIS_MAX_RANK);
    return f;
}

static fact join(const axis_table *t, const ir_op *op) {
    const fact *x = axis_fact(t, ir_operand(op, 0)), *y = axis_fact(t, ir_operand(op, 1));
    fact f = axis_unknown(ir_result(op, 0)->type), both = axis_join(x, y);
    f.nonneg = both.nonneg;
    for (u32 d = 0; d < both.i.rank && d + 1 < f.i.rank; d++)
        copy_dim(&f, d, &both.i, d);
    f.i.divisibility[f.i.rank - 1] = MIN(div_of_all(&x->i), div_of_all(&y->i));
    return f;
}

static fact split(const axis_table *t, const ir_op *op, u32 r) {
    fact f = like_source(t, op);
    f.i.constant = false;
    for (u32 d = 0; d < f.i.rank && d < info(t, op, 0)->rank; d++)
        copy_dim(&f, d, info(t, op, 0), d);
    return f;
}

/* ---- Casts --------------------------------------------------------------------------------------- */

/* Runs start at multiples of their length where it matters, and do not wrap inside. */
static fact int_cast(const axis_table *t, const ir_op *op) {
    const fact *x = axis_fact(t, ir_operand(op, 0));
    const ir_type *to = ir_result(op, 0)->type;
    if (x->i.rank != axis_unknown(to).i.rank || ir_elem(ir_operand(op, 0)->type)->width == 1)
        return any_elementwise(t, op);
    fact f = *x;
    f.i.constant = x->i.constant && (op->code == IR_arith_extsi || x->i.value >= 0);
    f.nonneg = op->code == IR_arith_extui || (x->nonneg && op->code != IR_arith_trunci);
    if (op->code == IR_arith_trunci && f.i.constant) {
        u32 w = ir_elem(to)->width;
        f.i.constant = w >= 64 || (x->i.value >> (w - 1)) == 0;
        f.nonneg = f.i.constant;
    }
    return f;
}

/* Same address or same integer: divisibility is in bytes on both sides, counting is not the same. */
static fact address_cast(const axis_table *t, const ir_op *op) {
    fact f = any_elementwise(t, op);
    const axis_info *x = info(t, op, 0);
    const ir_type *from = ir_elem(ir_operand(op, 0)->type), *to = ir_elem(ir_result(op, 0)->type);
    bool keeps = (from->kind == IR_PTR) == (to->kind == IR_PTR) &&
                 (from->kind != IR_PTR || ir_type_bytes(from->elem) == ir_type_bytes(to->elem));
    bool values = from->kind == to->kind || from->kind == IR_PTR || to->kind == IR_PTR;
    for (u32 d = 0; values && d < f.i.rank && f.i.rank == x->rank; d++) {
        f.i.contiguity[d] = keeps ? x->contiguity[d] : 1;
        f.i.divisibility[d] = keeps ? x->divisibility[d] : axis_div_at(x, d, 1);
    }
    return f;
}

fact axis_rule(const axis_table *t, const ir_op *op, u32 r) {
    const ir_type *type = ir_result(op, r)->type;
    i64 bits;
    switch (op->code) {
    case IR_arith_constant:
        if (ir_elem(type)->kind == IR_INT && ir_constant_bits(ir_result(op, 0), &bits))
            return constant_fact(type, bits);
        if (ir_constant_bits(ir_result(op, 0), &bits)) { /* a float: the same everywhere */
            fact f = constant_fact(type, 1);
            f.i.constant = f.nonneg = false;
            return f;
        }
        return axis_unknown(type);
    case IR_tt_get_program_id:
    case IR_tt_get_num_programs: {
        fact f = axis_unknown(type);
        f.nonneg = true;
        return f;
    }
    case IR_tt_make_range: return make_range(op);
    case IR_tt_splat: return splat(t, op);
    case IR_tt_broadcast: return broadcast(t, op);
    case IR_tt_expand_dims: return expand_dims(t, op);
    case IR_tt_reshape: return reshape(t, op);
    case IR_tt_trans: return trans(t, op);
    case IR_tt_join: return join(t, op);
    case IR_tt_split: return split(t, op, r);
    case IR_ttg_convert_layout: return *axis_fact(t, ir_operand(op, 0));
    case IR_arith_extsi:
    case IR_arith_extui:
    case IR_arith_trunci: return int_cast(t, op);
    case IR_tt_bitcast:
    case IR_arith_bitcast:
    case IR_tt_int_to_ptr:
    case IR_tt_ptr_to_int: return address_cast(t, op);
    case IR_arith_select: {
        fact f = axis_unknown(type);
        const fact *x = axis_fact(t, ir_operand(op, 1)), *y = axis_fact(t, ir_operand(op, 2));
        bool scalar = !ir_is_tensor(ir_operand(op, 0)->type);
        if (x->i.rank == f.i.rank && y->i.rank == f.i.rank) {
            select_rule(&f, info(t, op, 0), &x->i, &y->i, scalar);
            f.nonneg = x->nonneg && y->nonneg;
        }
        return f;
    }
    default: break;
    }
    if (op->n_operands == 2 && ir_has_trait(op, IR_ELEMENTWISE))
        return binary(t, op);
    return ir_has_trait(op, IR_ELEMENTWISE) && op_is_movable(op) ? any_elementwise(t, op)
                                                                 : axis_unknown(type);
}
