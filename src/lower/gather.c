/* SPDX-License-Identifier: MIT */
/* Ops whose data movement depends on values: tt.gather reads the source from threadgroup memory at
 * computed places, tt.histogram counts with atomics in threadgroup memory. */
#include "lower/state.h"

enum { RMW_ADD = 4, SEM_RELAXED = 1, SCOPE_GPU = 1, ULT = 6 };

/* Any integer as i32: the low bits, or zero-extended. */
static ir_value *as_i32(lower *L, ir_value *v) {
    if (v->type == L->i32)
        return v;
    enum ir_code code = v->type->width > 32 ? IR_arith_trunci : IR_arith_extui;
    return make1(L, code, L->i32, 1, &v);
}

/* ---- Gather -------------------------------------------------------------------------------------- */

/* A flat index of the result as one of the source, with axis coordinate 0. */
static u32 source_index(const layout *result, const layout *source, u32 axis, u32 flat) {
    u32 s = 0;
    for (u32 d = 0; d < result->rank; d++)
        if (d != axis)
            s |= (flat & layout_dim_mask(result, d)) >> layout_dim_shift(result, d)
                 << layout_dim_shift(source, d);
    return s;
}

static spread source_spread(const layout *result, const layout *source, u32 axis) {
    spread s = spread_of(result);
    for (u32 i = 0; i < LANE_BITS; i++)
        s.lane[i] = source_index(result, source, axis, s.lane[i]);
    for (u32 i = 0; i < WARP_BITS_MAX; i++)
        s.warp[i] = source_index(result, source, axis, s.warp[i]);
    return s;
}

/* Offset along the axis; the index is kept inside the source whatever its value. */
static ir_value *axis_offset(lower *L, ir_value *index, const layout *source, u32 axis) {
    u32 size = 1u << source->dim_bits[axis];
    if (index->type->width < 32)
        index = make1(L, IR_arith_extsi, L->i32, 1, &index);
    index = ir_binary(&L->b, IR_arith_andi, as_i32(L, index), const_i32(L, size - 1));
    u32 shift = layout_dim_shift(source, axis);
    return shift ? ir_binary(&L->b, IR_arith_shli, index, const_i32(L, shift)) : index;
}

tm_status lower_gather(lower *L, ir_op *op) {
    u32 axis = (u32)ir_attr_get_int(op, "axis", 0);
    tensor *src = tensor_get(L, ir_operand(op, 0)), *index = tensor_get(L, ir_operand(op, 1));
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    if (axis >= t->l->rank || src->l->rank != t->l->rank || index->elem->kind != IR_INT)
        return refuse(L, op);
    const ir_type *memory = memory_type(L, src->elem);
    u32 bytes = ir_type_bytes(memory);
    if ((u64)bytes << layout_flat_bits(src->l) > threadgroup_limit(L))
        return ir_error(L->m, op, TM2215, bytes << layout_flat_bits(src->l), threadgroup_limit(L));
    index = convert(L, index, t->l, false);
    tensor_need_scalars(L, index);
    ir_value *at = publish(L, src);
    spread s = source_spread(t->l, src->l, axis);
    ir_value *lw = spread_value(L, &s);
    for (u32 r = 0; r < t->n; r++) {
        u32 flat = source_index(t->l, src->l, axis, reg_index(t->l, r));
        ir_value *place = index_value(L, lw, spread_bits(&s), flat, 0);
        place = ir_binary(&L->b, IR_arith_addi, place, axis_offset(L, index->s[r], src->l, axis));
        ir_value *v = make_load(L, memory, make_addptr(L, at, place), bytes);
        t->s[r] = from_memory(L, v, src->elem);
    }
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

/* ---- Histogram ----------------------------------------------------------------------------------- */

static ir_value *both(lower *L, ir_value *x, ir_value *y) {
    return x ? ir_binary(&L->b, IR_arith_andi, x, y) : y;
}

static void count_one(lower *L, ir_value *counts, ir_value *value, ir_value *cond) {
    ir_op *guard = if_open(L, cond, 0, NULL);
    ir_value *at = make_addptr(L, counts, as_i32(L, value));
    ir_value *old = make1(L, IR_tm_atomic_rmw, L->i32, 2, (ir_value *[]){at, const_i32(L, 1)});
    set_i32(L, old, "op", RMW_ADD);
    set_i32(L, old, "sem", SEM_RELAXED);
    set_i32(L, old, "scope", SCOPE_GPU);
    if_close(L, guard);
}

/* Values outside 0 .. bins - 1 count nowhere. */
tm_status lower_histogram(lower *L, ir_op *op) {
    const ir_type *type = ir_result(op, 0)->type;
    tensor *src = tensor_scalars(L, ir_operand(op, 0)), *t = tensor_new(L, type), *mask = NULL;
    if (type->elem != L->i32 || src->elem->kind != IR_INT)
        return refuse(L, op);
    u64 bins = (u64)ir_numel(type);
    if (bins * 4 > threadgroup_limit(L))
        return ir_error(L->m, op, TM2215, (u32)bins * 4, threadgroup_limit(L));
    if (op->n_operands > 1) {
        mask = convert(L, tensor_get(L, ir_operand(op, 1)), src->l, false);
        tensor_need_scalars(L, mask);
    }
    for (u32 r = 0; r < t->n; r++)
        t->s[r] = const_i32(L, 0);
    ir_value *counts = publish(L, t), *owner = owner_of(L, src->l);
    bool all_fit = src->elem->width < 32 && bins >> src->elem->width;
    for (u32 r = 0; r < src->n; r++) {
        ir_value *fits = all_fit ? const_bits(L, L->i1, 1)
                                 : ir_compare(&L->b, IR_arith_cmpi, ULT, src->s[r],
                                              const_bits(L, src->elem, (i64)bins));
        ir_value *cond = both(L, owner, fits);
        count_one(L, counts, src->s[r], mask ? both(L, mask->s[r], cond) : cond);
    }
    spread s = spread_of(t->l);
    ir_value *lw = spread_value(L, &s);
    for (u32 r = 0; r < t->n; r++) {
        ir_value *place = index_value(L, lw, spread_bits(&s), reg_index(t->l, r), 0);
        t->s[r] = make_load(L, L->i32, make_addptr(L, counts, place), 4);
    }
    tensor_here(L, t);
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}
