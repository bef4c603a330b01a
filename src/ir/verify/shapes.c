/* SPDX-License-Identifier: MIT */
/* Types of ops that change shapes, access memory or multiply matrices, and of the thread level's ops.
 * Encodings are judged where layout algebra says what they must be. */
#include "ir/verify/verify.h"

static tm_status wrong(ir_module *m, const ir_op *op, const char *why) {
    return ir_error(m, op, TM1109, why);
}

static const ir_type *in(const ir_op *op, u32 i) { return ir_operand(op, i)->type; }
static const ir_type *out(const ir_op *op, u32 i) { return op->results[i].type; }

static const layout *layout_of(const ir_type *t) {
    return t->encoding && t->encoding->kind == IR_ATTR_LAYOUT ? t->encoding->layout : NULL;
}

/* Both have layouts, and b's is not the one that follows from a's. */
static bool layout_differs(const ir_type *b, const layout *wanted) {
    return layout_of(b) && !layout_equal(layout_of(b), wanted);
}

static bool same_elem(const ir_op *op) { return ir_elem(in(op, 0)) == ir_elem(out(op, 0)); }

static bool same_shape(const ir_type *a, const ir_type *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

static bool same_frame(const ir_type *a, const ir_type *b) {
    return a->kind == IR_TENSOR && b->kind == IR_TENSOR ? same_shape(a, b) && a->encoding == b->encoding
                                                        : a->kind != IR_TENSOR && b->kind != IR_TENSOR;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------ */

static tm_status check_make_range(ir_module *m, const ir_op *op) {
    const ir_type *t = out(op, 0);
    const ir_attr *start = ir_attr_get(op, "start"), *end = ir_attr_get(op, "end");
    if (!start || start->kind != IR_ATTR_INT || !end || end->kind != IR_ATTR_INT)
        return ir_error(m, op, TM1111, start ? "end" : "start");
    if (!ir_is_tensor(t) || t->rank != 1 || !ir_is_int(t->elem, 32) ||
        end->i - start->i != t->shape[0])
        return wrong(m, op, "the result is a tensor of end - start i32");
    return 0;
}

static tm_status check_splat(ir_module *m, const ir_op *op) {
    bool up = op->code == IR_tt_splat;
    const ir_type *scalar = up ? in(op, 0) : out(op, 0), *t = up ? out(op, 0) : in(op, 0);
    if (!ir_is_tensor(t) || t->elem != scalar)
        return wrong(m, op, "a scalar and a tensor of its type are needed");
    return up || ir_numel(t) == 1 ? 0 : wrong(m, op, "the tensor has more than one element");
}

static tm_status check_broadcast(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    bool fits = ir_is_tensor(a) && ir_is_tensor(b) && a->rank == b->rank && same_elem(op);
    for (u32 i = 0; fits && i < a->rank; i++)
        fits = a->shape[i] == b->shape[i] || a->shape[i] == 1;
    if (!fits)
        return wrong(m, op, "dimensions of size 1 grow, all others stay");
    if (layout_of(b)) {
        layout wanted = layout_project(layout_of(b), a->shape);
        wanted = layout_canonical(&wanted);
        if (layout_differs(a, &wanted))
            return wrong(m, op, "the operand's layout is not the result's without the repeats");
    }
    return 0;
}

static tm_status check_reshape(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    if (!ir_is_tensor(a) || !ir_is_tensor(b) || !same_elem(op) || ir_numel(a) != ir_numel(b))
        return wrong(m, op, "both are tensors of as many elements of one type");
    if (layout_of(a)) {
        layout wanted = layout_reshape(layout_of(a), b->rank, b->shape);
        if (layout_differs(b, &wanted))
            return wrong(m, op, "the layouts are not one map");
    }
    return 0;
}

static tm_status check_expand_dims(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    i64 axis = ir_attr_get_int(op, "axis", -1);
    if (!ir_is_tensor(a) || !ir_is_tensor(b) || b->rank != a->rank + 1 || axis < 0 ||
        axis >= b->rank || b->shape[axis] != 1)
        return wrong(m, op, "the result has one more dimension, of size 1, at axis");
    for (u32 i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i + (i >= axis)])
            return wrong(m, op, "the other dimensions stay");
    return check_reshape(m, op);
}

static tm_status check_trans(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    const ir_attr *order = ir_attr_get(op, "order");
    if (!order || order->kind != IR_ATTR_INTS || !ir_is_tensor(a) || order->count != a->rank)
        return ir_error(m, op, TM1111, "order");
    u8 places[LAYOUT_MAX_RANK];
    u32 seen = 0;
    bool fits = ir_is_tensor(b) && b->rank == a->rank && same_elem(op);
    for (u32 i = 0; fits && i < a->rank; i++) {
        i64 from = order->ints[i];
        fits = from >= 0 && from < a->rank && !(seen >> from & 1) && b->shape[i] == a->shape[from];
        seen |= fits ? 1u << from : 0;
        places[i] = (u8)from;
    }
    if (!fits)
        return wrong(m, op, "the result's dimensions are the operand's in `order`");
    if (layout_of(a)) {
        layout wanted = layout_trans(layout_of(a), places);
        if (layout_differs(b, &wanted))
            return wrong(m, op, "the result's layout is not the operand's, permuted");
    }
    return 0;
}

static tm_status check_join(ir_module *m, const ir_op *op) {
    bool join = op->code == IR_tt_join;
    const ir_type *half = join ? in(op, 0) : out(op, 0), *full = join ? out(op, 0) : in(op, 0);
    const ir_type *other = join ? in(op, 1) : out(op, 1);
    if (!ir_is_tensor(half) || !ir_is_tensor(full) || other != half || full->elem != half->elem ||
        full->rank != half->rank + 1 || full->shape[half->rank] != 2 ||
        (half->rank && memcmp(full->shape, half->shape, half->rank * sizeof(i64)) != 0))
        return wrong(m, op, "two tensors of one type, and one with a last dimension of 2");
    return 0;
}

static tm_status check_cat(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    if (!ir_is_tensor(a) || in(op, 1) != a || !ir_is_tensor(b) || !same_elem(op) ||
        ir_numel(b) != 2 * ir_numel(a))
        return wrong(m, op, "the result has the elements of both operands");
    return 0;
}

static tm_status check_gather(ir_module *m, const ir_op *op) {
    const ir_type *src = in(op, 0), *index = in(op, 1), *t = out(op, 0);
    i64 axis = ir_attr_get_int(op, "axis", -1);
    if (!ir_is_tensor(src) || !ir_is_tensor(index) || index->elem->kind != IR_INT || !ir_is_tensor(t) ||
        !same_elem(op) || !same_shape(index, t) || src->rank != t->rank || axis < 0 ||
        axis >= src->rank)
        return wrong(m, op, "the result has the source's elements and the indices' shape");
    return 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------------- */

/* An access of `value` through pointers `ptr`. */
static bool accesses(const ir_type *ptr, const ir_type *value) {
    return ir_elem(ptr)->kind == IR_PTR && same_frame(ptr, value) &&
           ir_elem(ptr)->elem == ir_elem(value);
}

static bool masks(const ir_type *mask, const ir_type *ptr) {
    return ir_is_int(ir_elem(mask), 1) && same_frame(mask, ptr);
}

static tm_status check_load(ir_module *m, const ir_op *op) {
    if (op->n_operands < 1 || op->n_operands > 3)
        return ir_error(m, op, TM1101, 1, "operands", (int)op->n_operands);
    if (!accesses(in(op, 0), out(op, 0)))
        return wrong(m, op, "the result is what the pointers point to");
    if (op->n_operands > 1 && !masks(in(op, 1), in(op, 0)))
        return wrong(m, op, "the mask is i1 of the pointers' shape");
    return op->n_operands < 3 || in(op, 2) == out(op, 0)
               ? 0
               : wrong(m, op, "the other value has the result's type");
}

static tm_status check_store(ir_module *m, const ir_op *op, bool result) {
    if (op->n_operands < 2 || op->n_operands > 3)
        return ir_error(m, op, TM1101, 2, "operands", (int)op->n_operands);
    if (!accesses(in(op, 0), in(op, 1)))
        return wrong(m, op, "the value is what the pointers point to");
    if (op->n_operands > 2 && !masks(in(op, 2), in(op, 0)))
        return wrong(m, op, "the mask is i1 of the pointers' shape");
    return !result || out(op, 0) == in(op, 1) ? 0 : wrong(m, op, "the result has the value's type");
}

static tm_status check_cas(ir_module *m, const ir_op *op) {
    if (!accesses(in(op, 0), in(op, 1)) || in(op, 2) != in(op, 1) || out(op, 0) != in(op, 1))
        return wrong(m, op, "both values and the result are what the pointers point to");
    return 0;
}

static tm_status check_pointer_cast(ir_module *m, const ir_op *op) {
    const ir_type *a = ir_elem(in(op, 0)), *b = ir_elem(out(op, 0));
    bool fits = op->code == IR_tt_int_to_ptr   ? ir_is_int(a, 64) && b->kind == IR_PTR
                : op->code == IR_tt_ptr_to_int ? a->kind == IR_PTR && ir_is_int(b, 64)
                : a->kind == IR_PTR            ? b->kind == IR_PTR
                                    : b->kind != IR_PTR && a->width == b->width;
    return fits ? 0 : wrong(m, op, "the element types do not suit this conversion");
}

static tm_status check_addptr(ir_module *m, const ir_op *op) {
    if (ir_elem(in(op, 0))->kind != IR_PTR || in(op, 0) != out(op, 0) ||
        ir_elem(in(op, 1))->kind != IR_INT)
        return wrong(m, op, "pointers of one type and an integer offset are needed");
    return 0;
}

/* ---- Dot and reductions --------------------------------------------------------------------------------------- */

static tm_status check_dot(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = in(op, 1), *c = in(op, 2);
    if (!ir_is_tensor(a) || !ir_is_tensor(b) || !ir_is_tensor(c) || c != out(op, 0))
        return wrong(m, op, "operands are tensors, the result has the accumulator's type");
    u32 r = a->rank;
    if (r < 2 || b->rank != r || c->rank != r || a->shape[r - 1] != b->shape[r - 2] ||
        c->shape[r - 2] != a->shape[r - 2] || c->shape[r - 1] != b->shape[r - 1])
        return wrong(m, op, "shapes are [batch x] MxK, KxN and MxN");
    for (u32 i = 0; i + 2 < r; i++)
        if (a->shape[i] != b->shape[i] || a->shape[i] != c->shape[i])
            return wrong(m, op, "batch dimensions differ");
    return 0;
}

static tm_status check_reduce(ir_module *m, const ir_op *op) {
    i64 axis = ir_attr_get_int(op, "axis", -1);
    for (u32 i = 0; i < op->n_operands && i < op->n_results; i++) {
        const ir_type *a = in(op, i), *b = out(op, i);
        if (!ir_is_tensor(a) || axis < 0 || axis >= a->rank)
            return ir_error(m, op, TM1111, "axis");
        if (!same_frame(a, in(op, 0)))
            return ir_error(m, op, TM1118, i);
        if (op->code == IR_tt_scan) {
            if (a != b)
                return wrong(m, op, "a scan keeps the type");
            continue;
        }
        bool fits = a->rank == 1 ? b == a->elem
                                 : ir_is_tensor(b) && b->rank == a->rank - 1 && b->elem == a->elem;
        for (u32 d = 0; fits && a->rank > 1 && d < b->rank; d++)
            fits = b->shape[d] == a->shape[d + (d >= axis)];
        if (!fits)
            return wrong(m, op, "the result is the operand without the axis");
        if (layout_of(a) && ir_is_tensor(b)) {
            layout wanted = layout_drop_dim(layout_of(a), (u32)axis);
            wanted = layout_canonical(&wanted);
            if (layout_differs(b, &wanted))
                return wrong(m, op, "the result's layout is not the operand's without the axis");
        }
    }
    return 0;
}

static tm_status check_convert(ir_module *m, const ir_op *op) {
    const ir_type *a = in(op, 0), *b = out(op, 0);
    return ir_is_tensor(a) && ir_is_tensor(b) && same_elem(op) && same_shape(a, b)
               ? 0
               : wrong(m, op, "only the encoding changes");
}

static tm_status check_axis(ir_module *m, const ir_op *op) {
    i64 axis = ir_attr_get_int(op, "axis", -1);
    if (axis < 0 || axis > 2)
        return ir_error(m, op, TM1111, "axis");
    return ir_is_int(out(op, 0), 32) ? 0 : wrong(m, op, "the result is i32");
}

/* Which of a, b, c, a_scale, b_scale are there. */
static tm_status check_dot_scaled(ir_module *m, const ir_op *op) {
    const ir_attr *sizes = ir_attr_get(op, "operandSegmentSizes");
    i64 total = 0;
    bool fits = sizes && sizes->kind == IR_ATTR_INTS && sizes->count == 5;
    for (u32 i = 0; fits && i < 5; i++) {
        fits = sizes->ints[i] == 1 || (i > 2 && sizes->ints[i] == 0);
        total += sizes->ints[i];
    }
    if (!fits || total != op->n_operands)
        return ir_error(m, op, TM1111, "operandSegmentSizes");
    return in(op, 2) == out(op, 0) ? 0 : wrong(m, op, "the result has the accumulator's type");
}

static tm_status check_make_descriptor(ir_module *m, const ir_op *op) {
    if (op->n_operands < 3 || op->n_operands % 2 == 0)
        return ir_error(m, op, TM1101, 3, "operands", (int)op->n_operands);
    if (in(op, 0)->kind != IR_PTR || out(op, 0)->kind != IR_TENSORDESC)
        return wrong(m, op, "a pointer gives a descriptor");
    for (u32 i = 1; i < op->n_operands; i++)
        if (!ir_is_int(in(op, i), i <= op->n_operands / 2u ? 32 : 64))
            return wrong(m, op, "the shape is i32, the strides are i64");
    return 0;
}

/* desc, [src,] i32 indices */
static tm_status check_descriptor_access(ir_module *m, const ir_op *op, u32 first_index) {
    if (op->n_operands < first_index || in(op, 0)->kind != IR_TENSORDESC)
        return wrong(m, op, "the first operand is a descriptor");
    for (u32 i = first_index; i < op->n_operands; i++)
        if (!ir_is_int(in(op, i), 32))
            return wrong(m, op, "indices are i32");
    return 0;
}

static tm_status check_histogram(ir_module *m, const ir_op *op) {
    if (op->n_operands < 1 || op->n_operands > 2)
        return ir_error(m, op, TM1101, 1, "operands", (int)op->n_operands);
    if (op->n_operands == 2 && !masks(in(op, 1), in(op, 0)))
        return wrong(m, op, "the mask is i1 of the operand's shape");
    return 0;
}

tm_status verify_shape_op(ir_module *m, const ir_op *op) {
    switch (op->code) {
    case IR_tt_get_program_id:
    case IR_tt_get_num_programs: return check_axis(m, op);
    case IR_tt_make_range: return check_make_range(m, op);
    case IR_tt_splat:
    case IR_tt_unsplat: return check_splat(m, op);
    case IR_tt_broadcast: return check_broadcast(m, op);
    case IR_tt_reshape: return check_reshape(m, op);
    case IR_tt_expand_dims: return check_expand_dims(m, op);
    case IR_tt_trans: return check_trans(m, op);
    case IR_tt_join:
    case IR_tt_split: return check_join(m, op);
    case IR_tt_cat: return check_cat(m, op);
    case IR_tt_gather: return check_gather(m, op);
    case IR_tt_load: return check_load(m, op);
    case IR_tt_store:
    case IR_tt_atomic_store: return check_store(m, op, false);
    case IR_tt_atomic_rmw: return check_store(m, op, true);
    case IR_tt_dot_scaled: return check_dot_scaled(m, op);
    case IR_tt_make_tensor_descriptor: return check_make_descriptor(m, op);
    case IR_tt_descriptor_load: return check_descriptor_access(m, op, 1);
    case IR_tt_descriptor_store:
    case IR_tt_descriptor_reduce: return check_descriptor_access(m, op, 2);
    case IR_tt_histogram: return check_histogram(m, op);
    case IR_tt_atomic_cas: return check_cas(m, op);
    case IR_tt_bitcast:
    case IR_tt_int_to_ptr:
    case IR_tt_ptr_to_int: return check_pointer_cast(m, op);
    case IR_tt_addptr: return check_addptr(m, op);
    case IR_tt_dot: return check_dot(m, op);
    case IR_tt_reduce:
    case IR_tt_scan: return check_reduce(m, op);
    case IR_ttg_convert_layout: return check_convert(m, op);
    default: return 0;
    }
}

/* ---- Thread level --------------------------------------------------------------------------------------------- */

/* What a thread loads or stores at once: a scalar of the pointee's type, or a vector of them. */
static bool moves(const ir_type *ptr, const ir_type *value) {
    return ptr->kind == IR_PTR && ir_elem(value) == ptr->elem && value->kind != IR_TENSOR;
}

static bool is_matrix(const ir_type *t, const ir_type *elem) {
    return t->kind == IR_MATRIX && (!elem || t->elem == elem);
}

tm_status verify_thread_op(ir_module *m, const ir_op *op) {
    bool fits = true;
    switch (op->code) {
    case IR_tm_lane_id:
    case IR_tm_warp_id: fits = ir_is_int(out(op, 0), 32); break;
    case IR_tm_load: fits = moves(in(op, 0), out(op, 0)); break;
    case IR_tm_store: fits = moves(in(op, 0), in(op, 1)); break;
    case IR_tm_vec_make:
        fits = out(op, 0)->kind == IR_VECTOR && out(op, 0)->shape[0] == op->n_operands;
        for (u32 i = 0; fits && i < op->n_operands; i++)
            fits = in(op, i) == out(op, 0)->elem;
        break;
    case IR_tm_vec_get:
        fits = in(op, 0)->kind == IR_VECTOR && out(op, 0) == in(op, 0)->elem &&
               ir_attr_get_int(op, "index", -1) >= 0 &&
               ir_attr_get_int(op, "index", -1) < in(op, 0)->shape[0];
        break;
    case IR_tm_tg_alloc:
        fits = out(op, 0)->kind == IR_PTR && out(op, 0)->space == IR_SPACE_THREADGROUP;
        break;
    case IR_tm_shuffle: fits = in(op, 0) == out(op, 0) && in(op, 1)->kind == IR_INT; break;
    case IR_tm_shuffle_xor:
    case IR_tm_simd_reduce: fits = in(op, 0) == out(op, 0); break;
    case IR_tm_matrix_fill: fits = is_matrix(out(op, 0), in(op, 0)); break;
    case IR_tm_matrix_make: fits = in(op, 0) == in(op, 1) && is_matrix(out(op, 0), in(op, 0)); break;
    case IR_tm_matrix_get: fits = is_matrix(in(op, 0), out(op, 0)); break;
    case IR_tm_matrix_load:
        fits = in(op, 0)->kind == IR_PTR && is_matrix(out(op, 0), in(op, 0)->elem);
        break;
    case IR_tm_matrix_store:
        fits = in(op, 0)->kind == IR_PTR && is_matrix(in(op, 1), in(op, 0)->elem);
        break;
    case IR_tm_matrix_mma:
        fits = is_matrix(in(op, 0), NULL) && is_matrix(in(op, 1), NULL) &&
               is_matrix(in(op, 2), NULL) && in(op, 2) == out(op, 0);
        break;
    case IR_tm_atomic_rmw: fits = moves(in(op, 0), in(op, 1)) && out(op, 0) == in(op, 1); break;
    case IR_tm_atomic_cas:
        fits = moves(in(op, 0), in(op, 1)) && in(op, 2) == in(op, 1) && out(op, 0) == in(op, 1);
        break;
    default: break;
    }
    return fits ? 0 : wrong(m, op, "operand and result types do not fit the operation");
}
