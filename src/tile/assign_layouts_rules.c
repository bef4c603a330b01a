/* SPDX-License-Identifier: MIT */
/* How the layouts around one op hang together, as pure functions of the op and a layout. An op's
 * layout is that of its first result, except for the ops whose operand decides (reduce, scan,
 * split, store): those have a "side" layout. Elementwise ops, memory ops and everything not named
 * here take the same layout for all operands of the same shape. */
#include "tile/assign_layouts.h"

enum { MIN_TILE = 8 };

const layout *layout_of(const ir_value *v) {
    const ir_attr *e = v->type->kind == IR_TENSOR ? v->type->encoding : NULL;
    return e && e->kind == IR_ATTR_LAYOUT ? e->layout : NULL;
}

u32 reduce_axis(const ir_op *op) {
    return (u32)ir_attr_get_int(op, "axis", 0);
}

void trans_order(const ir_op *op, u8 order[LAYOUT_MAX_RANK]) {
    const ir_attr *a = ir_attr_get(op, "order");
    u32 rank = ir_operand(op, 0)->type->rank;
    for (u32 d = 0; d < rank; d++)
        order[d] = a && d < a->count ? (u8)a->ints[d] : (u8)(rank - 1 - d);
}

static bool matrix_elem(const ir_type *t) {
    const ir_type *e = ir_elem(t);
    return e->kind == IR_FLOAT &&
           (e->float_kind == IR_F16 || e->float_kind == IR_BF16 || e->float_kind == IR_F32);
}

bool dot_fits_matrix(const ir_op *op) {
    for (u32 i = 0; i < 3; i++) {
        const ir_type *t = ir_operand(op, i)->type;
        if (!matrix_elem(t) || t->rank < 2 || t->shape[t->rank - 2] < MIN_TILE ||
            t->shape[t->rank - 1] < MIN_TILE)
            return false;
    }
    return true;
}

bool rules_has_side(const ir_op *op) {
    return op->code == IR_tt_reduce || op->code == IR_tt_scan || op->code == IR_tt_split ||
           op->code == IR_tt_store;
}

/* A last dimension of two that is one register bit of its own. */
static bool last_is_register(const layout *l) {
    u32 found = 0;
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            if (l->base[in][i] & 1) {
                if (in != LAYOUT_REG || l->base[in][i] != 1)
                    return false;
                found++;
            }
    return found == 1;
}

layout join_layout(const layout *l, const ir_type *t) {
    layout r = layout_empty(t->rank, t->shape, l->in_bits[LAYOUT_WARP]);
    memcpy(r.in_bits, l->in_bits, sizeof r.in_bits);
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            r.base[in][i + (in == LAYOUT_REG)] = l->base[in][i] << 1;
    r.base[LAYOUT_REG][0] = 1;
    r.in_bits[LAYOUT_REG]++;
    return r;
}

bool rules_allow(const ir_op *op, const layout *l) {
    switch (op->code) {
    case IR_tt_reduce:
    case IR_tt_scan: return layout_separates(l, layout_dim_mask(l, reduce_axis(op)));
    case IR_tt_join:
    case IR_tt_split: return last_is_register(l);
    case IR_tt_dot: return dot_fits_matrix(op) == layout_is_fragment(l);
    default: return true;
    }
}

bool rules_keep(const ir_op *op, u32 i) {
    switch (op->code) {
    case IR_tt_expand_dims:
    case IR_tt_reshape:
    case IR_builtin_unrealized_cast:
    case IR_tt_trans:
    case IR_tt_broadcast:
    case IR_tt_join:
    case IR_tt_dot:
    case IR_tt_gather:
    case IR_tt_cat:
    case IR_tt_histogram:
    case IR_tt_unsplat:
    case IR_tt_print:
    case IR_tt_assert:
    case IR_tt_dot_scaled: return op->code == IR_tt_dot && i == 2;
    default: return true;
    }
}

bool rules_operand(const ir_op *op, u32 i, const layout *l, layout *out) {
    const ir_type *t = ir_operand(op, i)->type;
    u8 order[LAYOUT_MAX_RANK];
    if (t->kind != IR_TENSOR)
        return false;
    if (rules_keep(op, i)) {
        *out = *l;
        return t->rank == l->rank;
    }
    switch (op->code) {
    case IR_tt_expand_dims:
    case IR_tt_reshape:
    case IR_builtin_unrealized_cast: *out = layout_reshape(l, t->rank, t->shape); return true;
    case IR_tt_trans:
        trans_order(op, order);
        *out = layout_trans_back(l, order);
        return true;
    case IR_tt_broadcast:
        *out = layout_project(l, t->shape);
        *out = layout_canonical(out);
        return true;
    case IR_tt_join:
        *out = layout_drop_dim(l, l->rank - 1u);
        *out = layout_canonical(out);
        return true;
    case IR_tt_dot: *out = layout_dot_operand(l, i, t->shape); return true;
    case IR_tt_gather: *out = *l; return i == 1;
    default: return false; /* any layout does */
    }
}

layout rules_result(const ir_op *op, u32 i, const layout *l) {
    layout r = *l;
    (void)i;
    if (op->code == IR_tt_reduce)
        r = layout_drop_dim(l, reduce_axis(op));
    else if (op->code == IR_tt_split)
        r = layout_drop_dim(l, l->rank - 1u);
    return layout_canonical(&r);
}

static ir_value *yielded_value(const ir_op *yield, u32 i) {
    ir_op *parent = ir_parent(yield);
    if (!parent)
        return NULL;
    if (parent->code == IR_scf_while) {
        ir_block *before = parent->regions[0].first;
        return i < before->n_args ? before->args[i] : NULL;
    }
    return i < parent->n_results ? ir_result(parent, i) : NULL;
}

ir_value *carried_value(const ir_op *op, u32 i) {
    ir_op *parent;
    switch (op->code) {
    case IR_scf_for: return i >= 3 && i - 3 < op->n_results ? ir_result(op, i - 3) : NULL;
    case IR_scf_while:
        return i < op->regions[0].first->n_args ? op->regions[0].first->args[i] : NULL;
    case IR_scf_condition:
        parent = ir_parent(op);
        return parent && i >= 1 && i - 1 < parent->n_results ? ir_result(parent, i - 1) : NULL;
    case IR_scf_yield: return yielded_value(op, i);
    default: return NULL;
    }
}
