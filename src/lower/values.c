/* SPDX-License-Identifier: MIT */
/* What tile values become: tables from value to tensor, the two views of fragments, constants.
 *
 * A view is made once, right after the tensor's definition: a loop that uses a tensor from outside
 * as matrices finds them made outside. Constants live in the function's head, one per type and
 * bits; equal scalars of a tensor stay one value, so that nothing is computed twice. */
#include "lower/state.h"

static ir_builder after_definition(lower *L, const tensor *t) {
    ir_builder b = t->after ? ir_after(L->m, t->after) : ir_at_end(L->m, t->block);
    if (!t->after)
        b.at = t->block->first;
    b.loc = L->b.loc;
    return b;
}

/* ---- Types ------------------------------------------------------------------------------------ */

static bool is_refused_float(const ir_type *e) { return e->kind == IR_FLOAT && e->float_kind > IR_F32; }

static bool is_scalar_type(const ir_type *e) {
    if (e->kind == IR_INT)
        return e->width == 1 || e->width == 8 || e->width == 16 || e->width == 32 || e->width == 64;
    return e->kind == IR_PTR || e->kind == IR_INDEX || (e->kind == IR_FLOAT && !is_refused_float(e));
}

tm_status lower_check_type(lower *L, const ir_op *op, const ir_type *t) {
    const ir_type *e = ir_elem(t);
    if (e->kind == IR_FLOAT && e->float_kind == IR_F64)
        return ir_error(L->m, op, TM2202, ir_code_name(op));
    if (is_refused_float(e))
        return ir_error(L->m, op, TM2203, ir_code_name(op));
    if (!is_scalar_type(e))
        return ir_error(L->m, op, TM2204, ir_code_name(op));
    if (!ir_is_tensor(t))
        return 0;
    if (!t->encoding || t->encoding->kind != IR_ATTR_LAYOUT)
        return ir_error(L->m, op, TM2206, ir_code_name(op));
    const layout *l = t->encoding->layout;
    if (l->in_bits[LAYOUT_WARP] != L->warp_bits || l->in_bits[LAYOUT_LANE] != LANE_BITS)
        return ir_error(L->m, op, TM2207, ir_code_name(op), 1u << l->in_bits[LAYOUT_WARP],
                        1u << L->warp_bits);
    if (layout_regs(l) > MAX_REGS)
        return ir_error(L->m, op, TM2205, (long long)ir_numel(t), layout_regs(l), (unsigned)MAX_REGS);
    return 0;
}

/* ---- Tensors ----------------------------------------------------------------------------------- */

const layout *keep_layout(lower *L, const layout *l) { return arena_dup(L->a, l, sizeof *l); }

const layout *blocked_layout(lower *L, const ir_type *t) {
    u8 order[LAYOUT_MAX_RANK], per_thread[LAYOUT_MAX_RANK] = {0};
    for (u32 d = 0; d < t->rank; d++)
        order[d] = (u8)(t->rank - 1 - d);
    layout b = layout_blocked(t->rank, t->shape, order, per_thread, L->warp_bits);
    b = layout_canonical(&b);
    return keep_layout(L, &b);
}

tensor *tensor_make(lower *L, const layout *l, const ir_type *elem) {
    tensor *t = ARENA_NEW(L->a, tensor);
    t->l = l;
    t->elem = elem;
    t->n = l ? layout_regs(l) : 1;
    t->s = ARENA_ARRAY(L->a, ir_value *, t->n);
    return t;
}

tensor *tensor_new(lower *L, const ir_type *type) {
    return tensor_make(L, ir_is_tensor(type) ? type->encoding->layout : NULL, ir_elem(type));
}

void tensor_here(lower *L, tensor *t) {
    t->block = L->b.block;
    t->after = L->b.block->last;
}

void tensor_bind(lower *L, const ir_value *v, tensor *t) {
    if (!t->block)
        tensor_here(L, t);
    *map_put(L->values, MAP_KEY(v)) = t;
}

void tensor_bind_scalar(lower *L, const ir_value *v, ir_value *s) {
    tensor *t = tensor_make(L, NULL, v->type);
    t->s[0] = s;
    tensor_bind(L, v, t);
}

tensor *tensor_get(lower *L, const ir_value *v) {
    void **slot = map_get(L->values, MAP_KEY(v));
    TM_ASSERT(slot);
    return *slot;
}

tensor *tensor_scalars(lower *L, const ir_value *v) {
    tensor *t = tensor_get(L, v);
    tensor_need_scalars(L, t);
    return t;
}

ir_value *scalar_get(lower *L, const ir_value *v) { return tensor_get(L, v)->s[0]; }

/* ---- Views ------------------------------------------------------------------------------------- */

bool is_matrix_elem(const ir_type *t) { return t->kind == IR_FLOAT && t->float_kind <= IR_F32; }

void tensor_need_scalars(lower *L, tensor *t) {
    if (t->s)
        return;
    t->s = ARENA_ARRAY(L->a, ir_value *, t->n);
    ir_builder b = after_definition(L, t);
    for (u32 p = 0; p < t->n / 2; p++)
        for (u32 e = 0; e < 2; e++) {
            if (p && t->mat[p] == t->mat[0]) {
                t->s[2 * p + e] = t->s[e];
                continue;
            }
            ir_value *v = ir_build1(&b, IR_tm_matrix_get, t->elem, 1, &t->mat[p]);
            t->s[2 * p + e] = set_i32(L, v, "index", e);
        }
}

static bool is_constant(const ir_value *v) {
    i64 bits;
    return ir_constant_bits(v, &bits);
}

void tensor_need_matrices(lower *L, tensor *t) {
    if (t->mat)
        return;
    TM_ASSERT(layout_is_fragment(t->l) && is_matrix_elem(t->elem));
    t->mat = ARENA_ARRAY(L->a, ir_value *, t->n / 2);
    const ir_type *type = ir_type_matrix(L->m, t->elem);
    ir_builder b = after_definition(L, t);
    for (u32 p = 0; p < t->n / 2; p++) {
        ir_value **pair = &t->s[2 * p];
        if (p && pair[0] == t->s[0] && pair[1] == t->s[1])
            t->mat[p] = t->mat[0];
        else if (pair[0] == pair[1] && is_constant(pair[0]))
            t->mat[p] = ir_build1(&b, IR_tm_matrix_fill, type, 1, pair);
        else
            t->mat[p] = ir_build1(&b, IR_tm_matrix_make, type, 2, pair);
    }
}

/* ---- Constants --------------------------------------------------------------------------------- */

ir_value *const_bits(lower *L, const ir_type *t, i64 bits) {
    struct { u64 type; i64 bits; } key = {MAP_KEY(t), bits};
    void **slot = strmap_put(L->constants, (const char *)&key, sizeof key, NULL);
    if (!*slot) {
        ir_builder b = ir_after(L->m, L->head_last);
        b.loc = L->b.loc;
        ir_op *op = ir_build(&b, IR_arith_constant, 0, NULL, 1, &t, 0);
        ir_attr_set(L->m, op, "value", ir_attr_constant(L->m, t, bits));
        L->head_last = op;
        *slot = ir_result(op, 0);
    }
    return *slot;
}

ir_value *const_i32(lower *L, i64 value) { return const_bits(L, L->i32, (i32)value); }

ir_value *zero_of(lower *L, const ir_type *t) {
    if (t->kind != IR_PTR)
        return const_bits(L, t, 0);
    ir_value *zero = const_bits(L, L->i64, 0);
    return make1(L, IR_tt_int_to_ptr, t, 1, &zero);
}

tm_status lower_constant(lower *L, ir_op *op) {
    i64 bits;
    if (!ir_constant_bits(ir_result(op, 0), &bits))
        return ir_error(L->m, op, TM2208);
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    ir_value *c = const_bits(L, t->elem, bits);
    for (u32 i = 0; i < t->n; i++)
        t->s[i] = c;
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

tm_status lower_poison(lower *L, ir_op *op) {
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    ir_value *c = zero_of(L, t->elem);
    for (u32 i = 0; i < t->n; i++)
        t->s[i] = c;
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}
