/* SPDX-License-Identifier: MIT */
/* Preference: what anchors want, carried forward. Memory ops want coalesced access: the dimension
 * in which addresses count up comes first, as many elements per thread as one access takes;
 * accesses of the same shape and order agree on that number, so that tensors of different element
 * types meet in one layout. Dots want 8x8 fragments with the simdgroups over rows and columns.
 * Elementwise ops, shape ops, reductions and loops pass preferences on; a stronger one replaces a
 * weaker one, so the sweeps end. Broadcasts pass nothing: their users know better. */
#include "tile/assign_layouts.h"

enum { ACCESS_BYTES = 16, WIDE_BYTES = 32, ACCESS_RUN_BYTES = 16 };

static void prefer(assign *s, const ir_value *v, choice c) {
    choice *p = &s->pref[group_of(s, v)];
    if (c.strength > p->strength) {
        *p = c;
        s->changed = true;
    }
}

static choice pref_of(assign *s, const ir_value *v) {
    return s->pref[group_of(s, v)];
}

/* ---- Coalesced layouts ---- */

static u32 elem_bytes(const ir_value *ptr) {
    return ir_type_bytes(ir_elem(ptr->type)->elem);
}

/* Dimensions by falling contiguity of `ptr` (NULL: unknown), the last dimension first among equals.
 */
static void contiguity_order(assign *s, const ir_value *ptr, const ir_type *t, u8 *order) {
    const axis_info *info = ptr ? axis_get(s->axis, ptr) : NULL;
    u32 run[LAYOUT_MAX_RANK];
    for (u32 d = 0; d < t->rank; d++)
        run[d] = info && d < info->rank ? MIN(info->contiguity[d], (u32)t->shape[d]) : 1;
    for (u32 i = 0; i < t->rank; i++) {
        u32 d = t->rank - 1 - i, at = i;
        for (; at > 0 && run[order[at - 1]] < run[d]; at--)
            order[at] = order[at - 1];
        order[at] = (u8)d;
    }
}

static u64 vector_key(const ir_type *t, const u8 *order) {
    u64 h = t->rank;
    for (u32 d = 0; d < t->rank; d++)
        h = hash_u64(hash_u64(h, (u64)t->shape[d]), order[d]);
    return h | 1;
}

/* Elements per access (low half) and bytes of the widest element (high half) under a key. */
static void note_vector(assign *s, const ir_type *t, const u8 *order, u32 vector, u32 bytes) {
    void **slot = map_put(s->vectors, vector_key(t, order));
    u64 old = (u64)(uintptr_t)*slot;
    u64 v = MAX((u32)old, vector), b = MAX((u32)(old >> 32), bytes);
    *slot = (void *)(uintptr_t)(b << 32 | v);
}

static layout coalesced(assign *s, const ir_value *ptr, const ir_type *t) {
    u8 order[LAYOUT_MAX_RANK], per[LAYOUT_MAX_RANK] = {0};
    u64 threads = (u64)32 << s->warp_bits, numel = (u64)ir_numel(t);
    u32 vector = MAX(1u, (u32)ACCESS_BYTES / MAX(1u, ir_type_bytes(t->elem)));
    contiguity_order(s, ptr, t, order);
    void **slot = map_get(s->vectors, vector_key(t, order));
    if (slot) {
        u64 known = (u64)(uintptr_t)*slot;
        vector = MIN((u32)known, MAX(1u, WIDE_BYTES / (u32)(known >> 32)));
    }
    per[order[0]] = (u8)log2_u64(MIN((u64)vector, MAX((u64)1, numel / threads)));
    return layout_blocked(t->rank, t->shape, order, per, s->warp_bits);
}

layout default_layout(assign *s, const ir_type *t) {
    return coalesced(s, NULL, t);
}

/* Consecutive elements of dimension d held by the registers and lanes of a simdgroup (log2). */
static u32 run_bits(const layout *l, u32 d) {
    u32 shift = layout_dim_shift(l, d), n = 0;
    for (; n < l->dim_bits[d]; n++) {
        bool found = false;
        for (u32 in = LAYOUT_REG; in <= LAYOUT_LANE && !found; in++)
            for (u32 i = 0; i < l->in_bits[in] && !found; i++)
                found = l->base[in][i] == 1u << (shift + n);
        if (!found)
            break;
    }
    return n;
}

bool access_is_good(assign *s, const ir_value *ptr, const layout *l) {
    const ir_type *t = ptr->type;
    const axis_info *info = axis_get(s->axis, ptr);
    u8 order[LAYOUT_MAX_RANK];
    if (!info || (u64)ir_numel(t) <= (u64)64 << s->warp_bits)
        return true;
    contiguity_order(s, ptr, t, order);
    u32 reach = MIN(info->contiguity[order[0]], (u32)t->shape[order[0]]);
    u32 want = MIN(reach, MAX(1u, ACCESS_RUN_BYTES / elem_bytes(ptr)));
    return 1u << run_bits(l, order[0]) >= want;
}

/* ---- Anchors ---- */

static const ir_value *mask_of(const ir_op *op) {
    u32 at = op->code == IR_tt_load ? 1 : op->code == IR_tt_atomic_cas ? 3 : 2;
    return op->n_operands > at ? ir_operand(op, at) : NULL;
}

static bool is_memory(const ir_op *op) {
    return op->code == IR_tt_load || op->code == IR_tt_store || op->code == IR_tt_atomic_rmw ||
           op->code == IR_tt_atomic_cas;
}

static void collect_vectors(assign *s) {
    u8 order[LAYOUT_MAX_RANK];
    for (u32 i = 0; i < s->n_ops; i++) {
        const ir_op *op = s->ops[i];
        if (!is_memory(op) || !is_tensor(ir_operand(op, 0)))
            continue;
        const ir_value *ptr = ir_operand(op, 0);
        contiguity_order(s, ptr, ptr->type, order);
        const ir_value *mask = mask_of(op);
        bool masked = mask && is_tensor(mask);
        u32 vector = axis_vector(s->axis, ptr, masked ? mask : NULL, order[0]);
        note_vector(s, ptr->type, order, MAX(vector, 1u), elem_bytes(ptr));
    }
}

/* The first of value's and pointer's preference that accesses memory well, else coalesced. */
static choice memory_choice(assign *s, const ir_op *op, u32 n_candidates, const u32 *candidates) {
    const ir_value *ptr = ir_operand(op, 0);
    choice best = {0};
    for (u32 i = 0; i < n_candidates; i++) {
        const ir_value *v = ir_operand(op, candidates[i]);
        choice c = pref_of(s, v);
        bool adapts = s->flags[group_of(s, v)] & VALUE_MOBILE;
        if (c.strength > best.strength && !adapts && access_is_good(s, ptr, c.layout->layout))
            best = c;
    }
    if (best.strength == WANT_NONE) {
        layout l = coalesced(s, ptr, ptr->type);
        best = (choice){layout_attr(s, &l), WANT_LOAD};
    }
    return best;
}

static void prefer_memory(assign *s, const ir_op *op) {
    const u32 ptr_only[] = {0}, both[] = {1, 0};
    if (!is_tensor(ir_operand(op, 0)))
        return;
    if (op->code == IR_tt_load) {
        bool small = s->flags[group_of(s, ir_result(op, 0))] & VALUE_SMALL;
        choice c = memory_choice(s, op, 1, ptr_only);
        c.strength = small ? WANT_WEAK : WANT_LOAD;
        prefer(s, ir_result(op, 0), c);
    } else if (op->code == IR_tt_store) {
        s->side[op->mark] = memory_choice(s, op, 2, both);
    } else {
        prefer(s, ir_result(op, 0), memory_choice(s, op, 2, both));
    }
}

/* Simdgroups over the result of a dot: one bit at a time to the dimension whose share is longer. */
static layout dot_fragment(assign *s, const ir_op *op, bool rows_first) {
    const ir_type *t = ir_result(op, 0)->type;
    u32 left = s->warp_bits, rows = 0, columns = 0, leading = 0;
    u32 row_tiles = log2_u64((u64)t->shape[t->rank - 2]) - LAYOUT_TILE_BITS;
    u32 column_tiles = log2_u64((u64)t->shape[t->rank - 1]) - LAYOUT_TILE_BITS;
    for (u32 d = 0; d + 2 < t->rank; d++)
        leading += log2_u64((u64)t->shape[d]);
    left -= MIN(left, leading);
    while (left > 0 && (rows < row_tiles || columns < column_tiles)) {
        bool longer = row_tiles - rows >= column_tiles - columns;
        if (rows < row_tiles && (rows_first || longer || columns == column_tiles))
            rows++;
        else
            columns++;
        left--;
    }
    return layout_fragment(t->rank, t->shape, rows, columns, s->warp_bits);
}

/* A near-square block of the result per thread, so that operands are used often. */
static layout dot_blocked(assign *s, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    u8 order[LAYOUT_MAX_RANK], per[LAYOUT_MAX_RANK] = {0};
    u64 threads = (u64)32 << s->warp_bits;
    u32 share = log2_u64(MAX((u64)1, (u64)ir_numel(t) / threads));
    for (u32 i = 0; i < t->rank; i++)
        order[i] = (u8)(t->rank - 1 - i);
    per[t->rank - 1] = (u8)MIN(share / 2, 2u);
    per[t->rank - 2] = (u8)MIN(share / 2, 2u);
    return layout_blocked(t->rank, t->shape, order, per, s->warp_bits);
}

static void prefer_dot(assign *s, const ir_op *op) {
    const ir_value *r = ir_result(op, 0);
    bool rows = s->flags[group_of(s, r)] & VALUE_ROWS;
    layout l = dot_fits_matrix(op) ? dot_fragment(s, op, rows) : dot_blocked(s, op);
    prefer(s, r, (choice){layout_attr(s, &l), WANT_DOT});
}

/* ---- Forward ---- */

static choice best_operand(assign *s, const ir_op *op) {
    choice best = {0};
    for (u32 i = 0; i < op->n_operands; i++) {
        if (!is_tensor(ir_operand(op, i)))
            continue;
        choice c = pref_of(s, ir_operand(op, i));
        if (c.strength > best.strength)
            best = c;
    }
    return best;
}

/* Ops whose operand decides. Without a usable preference they start one. */
static void prefer_side(assign *s, const ir_op *op) {
    choice c = best_operand(s, op);
    if (c.strength == WANT_NONE || !rules_allow(op, c.layout->layout)) {
        layout l = default_layout(s, ir_operand(op, 0)->type);
        if (op->code == IR_tt_split) { /* the pair into one thread, whatever held it before */
            const ir_type *t = ir_operand(op, 0)->type;
            layout inner = c.strength ? *c.layout->layout : l;
            inner = layout_drop_dim(&inner, t->rank - 1);
            inner = layout_canonical(&inner);
            l = join_layout(&inner, t);
        }
        c = (choice){layout_attr(s, &l), MAX(c.strength, (u8)WANT_WEAK)};
    }
    s->side[op->mark] = c;
    for (u32 i = 0; i < op->n_results; i++) {
        if (!is_tensor(ir_result(op, i)))
            continue;
        layout r = rules_result(op, i, c.layout->layout);
        prefer(s, ir_result(op, i), (choice){layout_attr(s, &r), c.strength});
    }
}

static void prefer_shape(assign *s, const ir_op *op) {
    choice c = best_operand(s, op);
    const ir_type *t = ir_result(op, 0)->type;
    u8 order[LAYOUT_MAX_RANK];
    if (c.strength == WANT_NONE)
        return;
    layout l = *c.layout->layout;
    if (op->code == IR_tt_trans) {
        trans_order(op, order);
        l = layout_trans(&l, order);
    } else if (op->code == IR_tt_join) {
        l = join_layout(&l, t);
    } else {
        l = layout_reshape(&l, t->rank, t->shape);
    }
    prefer(s, ir_result(op, 0), (choice){layout_attr(s, &l), c.strength});
}

static void prefer_op(assign *s, const ir_op *op) {
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *to = carried_value(op, i);
        if (to && is_tensor(to))
            prefer(s, to, pref_of(s, ir_operand(op, i)));
    }
    switch (op->code) {
    case IR_tt_load:
    case IR_tt_store:
    case IR_tt_atomic_rmw:
    case IR_tt_atomic_cas: prefer_memory(s, op); break;
    case IR_tt_dot: prefer_dot(s, op); break;
    case IR_tt_reduce:
    case IR_tt_scan:
    case IR_tt_split: prefer_side(s, op); break;
    case IR_tt_expand_dims:
    case IR_tt_reshape:
    case IR_tt_trans:
    case IR_tt_join:
    case IR_builtin_unrealized_cast: prefer_shape(s, op); break;
    default:
        if (ir_has_trait(op, IR_ELEMENTWISE) || op->code == IR_tt_elementwise_inline_asm)
            for (u32 i = 0; i < op->n_results; i++)
                if (is_tensor(ir_result(op, i)))
                    prefer(s, ir_result(op, i), best_operand(s, op));
    }
}

void prefer_all(assign *s) {
    collect_vectors(s);
    do {
        s->changed = false;
        for (u32 i = 0; i < s->n_ops; i++)
            prefer_op(s, s->ops[i]);
    } while (s->changed);
}
