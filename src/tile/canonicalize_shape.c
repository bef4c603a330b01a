/* SPDX-License-Identifier: MIT */
/* Ops that only arrange elements: what fills a tensor with one value is a splat or a constant of the
 * final shape, chains of arrangements are one, and identities vanish. Encodings of result types are
 * kept, so the rules hold before and after layout assignment. The thread level's vectors and matrix
 * fragments, which arrange in the same sense, are here too. */
#include "tile/canonicalize.h"

/* f(splat x) and f(constant) of the result's type. */
static bool fill(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0);
    const ir_type *t = ir_result(op, 0)->type;
    i64 bits;
    if (is_const(x, &bits))
        return canon_replace1(c, op, canon_const(c, t, bits));
    if (op->code == IR_tt_splat)
        return false;
    ir_op *splat = def_of(x, IR_tt_splat);
    return splat && canon_replace1(c, op, canon_unary(c, op, IR_tt_splat, t, ir_operand(splat, 0)));
}

static bool canon_trans(canon *c, ir_op *op) {
    const ir_attr *order = ir_attr_get(op, "order");
    ir_op *inner = def_of(ir_operand(op, 0), IR_tt_trans);
    const ir_type *t = ir_result(op, 0)->type;
    if (!order || order->kind != IR_ATTR_INTS)
        return false;
    bool identity = true;
    for (u32 i = 0; i < order->count; i++)
        identity &= order->ints[i] == i;
    if (identity && ir_operand(op, 0)->type == t)
        return canon_replace1(c, op, ir_operand(op, 0));
    const ir_attr *first = inner ? ir_attr_get(inner, "order") : NULL;
    if (!first || first->kind != IR_ATTR_INTS || first->count != order->count || order->count > 16)
        return false;
    i64 both[16];
    for (u32 i = 0; i < order->count; i++)
        both[i] = first->ints[order->ints[i]];
    ir_attr_set(c->m, op, "order", ir_attr_ints(c->m, order->type, order->count, both));
    canon_set(c, op, 0, ir_operand(inner, 0));
    return true;
}

static bool reorders(const ir_op *op) { return ir_attr_get(op, "allow_reorder") != NULL; }

/* Reshapes see only the row-major order, which expand_dims keeps too. */
static bool canon_reshape(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0);
    if (x->type == ir_result(op, 0)->type)
        return canon_replace1(c, op, x);
    if (!x->op || reorders(op))
        return false;
    bool looks_through = (x->op->code == IR_tt_reshape && !reorders(x->op)) ||
                         (x->op->code == IR_tt_expand_dims && !x->type->encoding);
    if (looks_through)
        canon_set(c, op, 0, ir_operand(x->op, 0));
    return looks_through;
}

/* What upstream's descriptor rewriting leaves: same elements, fewer dimensions. */
static bool canon_cast(canon *c, ir_op *op) {
    if (op->n_operands != 1 || op->n_results != 1)
        return false;
    ir_value *x = ir_operand(op, 0);
    const ir_type *t = ir_result(op, 0)->type;
    if (x->type == t)
        return canon_replace1(c, op, x);
    if (!ir_is_tensor(t) || !ir_is_tensor(x->type) || ir_numel(t) != ir_numel(x->type) ||
        t->elem != x->type->elem)
        return false;
    return canon_replace1(c, op, canon_unary(c, op, IR_tt_reshape, t, x));
}

static bool canon_join(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0), *y = ir_operand(op, 1);
    ir_op *split = def_of(x, IR_tt_split);
    if (split && x == ir_result(split, 0) && y == ir_result(split, 1) &&
        ir_operand(split, 0)->type == ir_result(op, 0)->type)
        return canon_replace1(c, op, ir_operand(split, 0));
    return x == y && fill(c, op);
}

static bool canon_split(canon *c, ir_op *op) {
    ir_op *join = def_of(ir_operand(op, 0), IR_tt_join);
    if (!join || ir_operand(join, 0)->type != ir_result(op, 0)->type)
        return false;
    canon_replace(c, op, 0, ir_operand(join, 0));
    canon_replace(c, op, 1, ir_operand(join, 1));
    canon_kill(c, op);
    return true;
}

/* tt.cat leaves the order of elements free; the first operand's come first here: the operands become
 * the rows of a new first dimension, which then joins theirs. */
static bool canon_cat(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0), *both[] = {x, ir_operand(op, 1)};
    const ir_type *half = x->type, *t = ir_result(op, 0)->type;
    if (half->rank != 1 || t->rank != 1 || half->encoding)
        return false;
    const i64 pairs[] = {half->shape[0], 2}, rows[] = {2, half->shape[0]}, order[] = {1, 0};
    ir_op *join = canon_build(c, op, IR_tt_join, 2, both,
                              ir_type_tensor(c->m, 2, pairs, half->elem, NULL));
    ir_value *joined = ir_result(join, 0);
    ir_op *trans = canon_build(c, op, IR_tt_trans, 1, &joined,
                               ir_type_tensor(c->m, 2, rows, half->elem, NULL));
    ir_attr_set(c->m, trans, "order", ir_attr_ints(c->m, ir_type_int(c->m, 32), 2, order));
    return canon_replace1(c, op, canon_unary(c, op, IR_tt_reshape, t, ir_result(trans, 0)));
}

static bool canon_unsplat(canon *c, ir_op *op) {
    ir_value *scalar = canon_splat_scalar(c, ir_operand(op, 0));
    return scalar && canon_replace1(c, op, scalar);
}

/* broadcast(broadcast x) and convert(convert x) in one step; same type: nothing. */
static bool canon_repeat(canon *c, ir_op *op) {
    ir_value *x = ir_operand(op, 0);
    if (x->type == ir_result(op, 0)->type)
        return canon_replace1(c, op, x);
    if (fill(c, op))
        return true;
    if (!def_of(x, (enum ir_code)op->code) || (op->code == IR_tt_broadcast && x->type->encoding))
        return false;
    canon_set(c, op, 0, ir_operand(x->op, 0));
    return true;
}

/* ---- Thread level --------------------------------------------------------------------------------- */

static bool canon_vec_get(canon *c, ir_op *op) {
    ir_op *make = def_of(ir_operand(op, 0), IR_tm_vec_make);
    u64 i = (u64)ir_attr_get_int(op, "index", 0);
    return make && i < make->n_operands && canon_replace1(c, op, ir_operand(make, (u32)i));
}

static bool canon_matrix_get(canon *c, ir_op *op) {
    ir_op *from = ir_operand(op, 0)->op;
    if (!from || (from->code != IR_tm_matrix_make && from->code != IR_tm_matrix_fill))
        return false;
    u32 i = from->code == IR_tm_matrix_make ? (u32)ir_attr_get_int(op, "index", 0) & 1 : 0;
    return canon_replace1(c, op, ir_operand(from, i));
}

/* The pieces of one vector or matrix, all of them in order, are that vector or matrix. */
static bool canon_make(canon *c, ir_op *op, enum ir_code get) {
    const ir_value *whole = NULL;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_op *part = def_of(ir_operand(op, i), get);
        if (!part || ir_attr_get_int(part, "index", 0) != i || (whole && ir_operand(part, 0) != whole))
            return false;
        whole = ir_operand(part, 0);
    }
    if (!whole || whole->type != ir_result(op, 0)->type)
        return false;
    return canon_replace1(c, op, ir_operand(ir_operand(op, 0)->op, 0));
}

bool canon_shape(canon *c, ir_op *op) {
    switch (op->code) {
    case IR_tt_splat: return fill(c, op);
    case IR_tt_expand_dims: return fill(c, op);
    case IR_tt_broadcast:
    case IR_ttg_convert_layout: return canon_repeat(c, op);
    case IR_tt_reshape: return fill(c, op) || canon_reshape(c, op);
    case IR_tt_trans: return fill(c, op) || canon_trans(c, op);
    case IR_tt_join: return canon_join(c, op);
    case IR_tt_split: return canon_split(c, op);
    case IR_tt_unsplat: return canon_unsplat(c, op);
    case IR_tt_cat: return canon_cat(c, op);
    case IR_builtin_unrealized_cast: return canon_cast(c, op);
    case IR_tm_vec_get: return canon_vec_get(c, op);
    case IR_tm_vec_make: return canon_make(c, op, IR_tm_vec_get);
    case IR_tm_matrix_get: return canon_matrix_get(c, op);
    case IR_tm_matrix_make: return canon_make(c, op, IR_tm_matrix_get);
    default: return false;
    }
}
