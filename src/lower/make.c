/* SPDX-License-Identifier: MIT */
/* Short names for the ops this room builds, always at the current position. */
#include "lower/state.h"

ir_value *make1(lower *L, enum ir_code code, const ir_type *t, u32 n, ir_value *const *operands) {
    return ir_build1(&L->b, code, t, n, operands);
}

ir_value *make_addptr(lower *L, ir_value *ptr, ir_value *offset) {
    return make1(L, IR_tt_addptr, ptr->type, 2, (ir_value *[]){ptr, offset});
}

ir_value *set_i32(lower *L, ir_value *v, const char *attr, i64 value) {
    ir_attr_set(L->m, v->op, attr, ir_attr_i32(L->m, value));
    return v;
}

ir_value *make_load(lower *L, const ir_type *t, ir_value *ptr, u32 align) {
    return set_i32(L, make1(L, IR_tm_load, t, 1, &ptr), "align", align);
}

void make_store(lower *L, ir_value *ptr, ir_value *value, u32 align) {
    ir_op *op = ir_build(&L->b, IR_tm_store, 2, (ir_value *[]){ptr, value}, 0, NULL, 0);
    ir_attr_set(L->m, op, "align", ir_attr_i32(L->m, align));
}

ir_value *make_select(lower *L, ir_value *c, ir_value *x, ir_value *y) {
    if (x == y)
        return x;
    return make1(L, IR_arith_select, x->type, 3, (ir_value *[]){c, x, y});
}

ir_value *make_vector(lower *L, u32 n, ir_value *const *scalars) {
    if (n == 1)
        return scalars[0];
    return make1(L, IR_tm_vec_make, ir_type_vector(L->m, n, scalars[0]->type), n, scalars);
}

void split_vector(lower *L, ir_value *v, u32 n, ir_value **scalars) {
    if (n == 1) {
        scalars[0] = v;
        return;
    }
    for (u32 i = 0; i < n; i++)
        scalars[i] = set_i32(L, make1(L, IR_tm_vec_get, ir_elem(v->type), 1, &v), "index", i);
}

/* ---- Control flow ------------------------------------------------------------------------------ */

/* An scf.if; what is built next goes into its then region. */
ir_op *if_open(lower *L, ir_value *cond, u32 n_results, const ir_type *const *types) {
    ir_op *op = ir_build(&L->b, IR_scf_if, 1, &cond, n_results, types, 2);
    L->b.block = ir_block_new(L->m, &op->regions[0]);
    return op;
}

void if_else(lower *L, ir_op *op) { L->b.block = ir_block_new(L->m, &op->regions[1]); }

void if_close(lower *L, ir_op *op) {
    if (op->n_results == 0)
        make_yield(L, 0, NULL);
    L->b.block = op->block;
}

void make_yield(lower *L, u32 n, ir_value *const *values) {
    ir_build(&L->b, IR_scf_yield, n, values, 0, NULL, 0);
}

/* ---- Memory forms ------------------------------------------------------------------------------ */

const ir_type *memory_type(lower *L, const ir_type *t) {
    if (ir_is_int(t, 1))
        return L->i8;
    return t->kind == IR_PTR || t->kind == IR_INDEX ? L->i64 : t;
}

ir_value *to_memory(lower *L, ir_value *v) {
    if (ir_is_int(v->type, 1))
        return make1(L, IR_arith_extui, L->i8, 1, &v);
    if (v->type->kind == IR_PTR)
        return make1(L, IR_tt_ptr_to_int, L->i64, 1, &v);
    return v->type->kind == IR_INDEX ? make1(L, IR_arith_index_cast, L->i64, 1, &v) : v;
}

ir_value *from_memory(lower *L, ir_value *v, const ir_type *t) {
    if (ir_is_int(t, 1)) /* ne */
        return ir_compare(&L->b, IR_arith_cmpi, 1, v, const_bits(L, L->i8, 0));
    if (t->kind == IR_PTR)
        return make1(L, IR_tt_int_to_ptr, t, 1, &v);
    return t->kind == IR_INDEX ? make1(L, IR_arith_index_cast, t, 1, &v) : v;
}
