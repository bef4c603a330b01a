/* SPDX-License-Identifier: MIT */
/* Ops that only rename elements: they rearrange arrays and build nothing, except that an operand
 * whose layout is not the one that makes it free is converted first. */
#include "lower/state.h"

static const layout *type_layout(const ir_value *v) { return v->type->encoding->layout; }

tm_status lower_splat(lower *L, ir_op *op) {
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    ir_value *s = scalar_get(L, ir_operand(op, 0));
    for (u32 i = 0; i < t->n; i++)
        t->s[i] = s;
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

tm_status lower_unsplat(lower *L, ir_op *op) {
    tensor_bind_scalar(L, ir_result(op, 0), tensor_scalars(L, ir_operand(op, 0))->s[0]);
    return 0;
}

tm_status lower_make_range(lower *L, ir_op *op) {
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    i64 start = ir_attr_get_int(op, "start", 0);
    spread s = spread_of(t->l);
    ir_value *lw = spread_value(L, &s);
    for (u32 i = 0; i < t->n; i++)
        t->s[i] = index_value(L, lw, spread_bits(&s), reg_index(t->l, i), start);
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

/* expand_dims, reshape, trans: register r of the result is register r of the operand, held in the
 * layout that the result's asks for. */
tm_status lower_shape(lower *L, ir_op *op) {
    const ir_value *from = ir_operand(op, 0), *to = ir_result(op, 0);
    if (!ir_is_tensor(from->type)) {
        tensor_bind_scalar(L, to, scalar_get(L, from));
        return 0;
    }
    const layout *result = type_layout(to);
    layout want;
    if (op->code == IR_tt_trans) {
        const ir_attr *order = ir_attr_get(op, "order");
        u8 dims[LAYOUT_MAX_RANK];
        for (u32 i = 0; i < order->count; i++)
            dims[i] = (u8)order->ints[i];
        want = layout_trans_back(result, dims);
    } else {
        want = layout_reshape(result, from->type->rank, from->type->shape);
    }
    tensor *x = convert(L, tensor_get(L, from), keep_layout(L, &want), false);
    tensor_need_scalars(L, x);
    tensor *t = ARENA_NEW(L->a, tensor);
    *t = (tensor){.l = result, .elem = x->elem, .n = x->n, .s = x->s};
    tensor_bind(L, to, t);
    return 0;
}

/* Each result register reads the source register with the same bits in the dimensions that exist
 * there: the registers of the projected layout are looked up by the index they contribute. */
tm_status lower_broadcast(lower *L, ir_op *op) {
    const ir_value *from = ir_operand(op, 0);
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    layout projected = layout_project(t->l, from->type->shape);
    layout want = layout_canonical(&projected);
    tensor *x = convert(L, tensor_get(L, from), keep_layout(L, &want), false);
    tensor_need_scalars(L, x);
    map *registers = map_new(L->a);
    for (u32 i = 0; i < x->n; i++)
        *map_put(registers, reg_index(&want, i)) = x->s[i];
    for (u32 i = 0; i < t->n; i++)
        t->s[i] = *map_get(registers, reg_index(&projected, i));
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

/* ---- Join and split ----------------------------------------------------------------------------- */

/* The register bit that alone holds flat-index bit 0, or GF2_MAX. */
static u32 last_bit_register(const layout *l) {
    u8 bit;
    return register_run(l, 0, 1, &bit) ? bit : GF2_MAX;
}

/* Removes register bit `bit` (which holds flat bit 0) and shifts the rest down by one. */
static layout without_last_bit(const layout *l, u32 bit, const ir_type *half) {
    layout r = layout_empty(half->rank, half->shape, l->in_bits[LAYOUT_WARP]);
    for (u32 in = 0; in < LAYOUT_INS; in++) {
        r.in_bits[in] = 0;
        for (u32 i = 0; i < l->in_bits[in]; i++)
            if (in != LAYOUT_REG || i != bit)
                r.base[in][r.in_bits[in]++] = l->base[in][i] >> 1;
    }
    return r;
}

/* The opposite, with the new bit as register bit 0. */
static layout with_last_bit(const layout *l, const ir_type *whole) {
    layout r = layout_empty(whole->rank, whole->shape, l->in_bits[LAYOUT_WARP]);
    memcpy(r.in_bits, l->in_bits, sizeof r.in_bits);
    r.in_bits[LAYOUT_REG]++;
    r.base[LAYOUT_REG][0] = 1;
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            r.base[in][i + (in == LAYOUT_REG)] = l->base[in][i] << 1;
    return r;
}

static u32 insert_bit(u32 x, u32 bit, u32 value) {
    u32 low = x & ((1u << bit) - 1);
    return (x >> bit) << (bit + 1) | value << bit | low;
}

tm_status lower_join(lower *L, ir_op *op) {
    const ir_value *half = ir_operand(op, 0), *whole = ir_result(op, 0);
    const layout *result = type_layout(whole);
    layout joined = *result, part;
    u32 bit = last_bit_register(result);
    if (bit == GF2_MAX) { /* join elsewhere, then move */
        joined = with_last_bit(type_layout(half), whole->type);
        bit = 0;
    }
    part = without_last_bit(&joined, bit, half->type);
    const layout *want = keep_layout(L, &part);
    tensor *t = tensor_make(L, keep_layout(L, &joined), ir_elem(whole->type));
    for (u32 side = 0; side < 2; side++) {
        tensor *x = convert(L, tensor_get(L, ir_operand(op, side)), want, false);
        tensor_need_scalars(L, x);
        for (u32 i = 0; i < x->n; i++)
            t->s[insert_bit(i, bit, side)] = x->s[i];
    }
    tensor_here(L, t);
    tensor_bind(L, whole, convert(L, t, result, false));
    return 0;
}

tm_status lower_split(lower *L, ir_op *op) {
    const ir_value *whole = ir_operand(op, 0), *half = ir_result(op, 0);
    const layout *source = type_layout(whole), *result = type_layout(half);
    u32 bit = last_bit_register(source);
    layout part;
    if (bit != GF2_MAX)
        part = without_last_bit(source, bit, half->type);
    if (bit == GF2_MAX || !layout_equal(&part, result)) {
        layout want = with_last_bit(result, whole->type);
        source = keep_layout(L, &want);
        bit = 0;
    }
    tensor *x = convert(L, tensor_get(L, whole), source, false);
    tensor_need_scalars(L, x);
    for (u32 side = 0; side < 2; side++) {
        tensor *t = tensor_new(L, half->type);
        for (u32 i = 0; i < t->n; i++)
            t->s[i] = x->s[insert_bit(i, bit, side)];
        tensor_bind(L, ir_result(op, side), t);
    }
    return 0;
}
