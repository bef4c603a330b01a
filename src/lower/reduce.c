/* SPDX-License-Identifier: MIT */
/* tt.reduce: any axis, any region, any number of operands. Three steps, each over the axis bits of
 * one kind of holder: registers of the thread (a tree, neighbours along the axis first), lanes (XOR
 * shuffles, or one simd_reduce), simdgroups (partials through threadgroup memory, which every thread
 * then combines in the same order).
 *
 * Within a step the element with the lower index is the region's first operand. Across steps the
 * order follows the layout, so the region must be associative and commutative up to rounding, as
 * upstream demands; all holders of a result compute it from the same values in the same order and so
 * agree bit by bit. */
#include "lower/across.h"

/* The bit of `bits` whose base is the smallest step along the axis. */
static u32 smallest_step(const across *r, enum layout_in in, u32 bits) {
    u32 best = GF2_MAX;
    for (u32 i = 0; i < r->l->in_bits[in]; i++)
        if (bits >> i & 1 && (best == GF2_MAX || r->l->base[in][i] < r->l->base[in][best]))
            best = i;
    return best;
}

static u32 axis_bits(const across *r, enum layout_in in) {
    u32 bits = 0;
    for (u32 i = 0; i < r->l->in_bits[in]; i++)
        if (r->l->base[in][i] & r->axis_mask)
            bits |= 1u << i;
    return bits;
}

/* ---- Registers ----------------------------------------------------------------------------------- */

static tm_status fold_pair(lower *L, const across *r, u32 to, u32 from) {
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 i = 0; i < r->n; i++) {
        x[i] = r->v[i][to];
        y[i] = r->v[i][from];
    }
    TRY(across_combine(L, r, x, y, x));
    for (u32 i = 0; i < r->n; i++)
        r->v[i][to] = x[i];
    return 0;
}

/* Registers of the axis fold into the register with the bit clear; those that remain close ranks.
 * *left is their number. */
static tm_status reduce_registers(lower *L, const across *r, u32 *left) {
    u32 axis = axis_bits(r, LAYOUT_REG), done = 0, regs = layout_regs(r->l), n = 0;
    while (done != axis) {
        u32 bit = 1u << smallest_step(r, LAYOUT_REG, axis & ~done);
        done |= bit;
        for (u32 reg = 0; reg < regs; reg++)
            if (!(reg & done))
                TRY(fold_pair(L, r, reg, reg | bit));
    }
    for (u32 reg = 0; reg < regs; reg++) {
        if (reg & axis)
            continue;
        for (u32 i = 0; i < r->n; i++)
            r->v[i][n] = r->v[i][reg];
        n++;
    }
    *left = n;
    return 0;
}

/* ---- Lanes --------------------------------------------------------------------------------------- */

static tm_status reduce_lane_bit(lower *L, const across *r, u32 n, u32 bit) {
    ir_value *upper = r->commutes ? NULL : across_upper(L, bit);
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 k = 0; k < n; k++) {
        for (u32 i = 0; i < r->n; i++) {
            ir_value *mine = r->v[i][k], *other = across_shuffle(L, mine, 1u << bit);
            x[i] = upper ? make_select(L, upper, other, mine) : mine;
            y[i] = upper ? make_select(L, upper, mine, other) : other;
        }
        TRY(across_combine(L, r, x, y, x));
        for (u32 i = 0; i < r->n; i++)
            r->v[i][k] = x[i];
    }
    return 0;
}

static tm_status reduce_lanes(lower *L, const across *r, u32 n) {
    u32 lanes = axis_bits(r, LAYOUT_LANE);
    if (lanes == 31 && r->simd_kind >= 0) {
        for (u32 k = 0; k < n; k++) {
            ir_value *v = r->v[0][k];
            r->v[0][k] = set_i32(L, make1(L, IR_tm_simd_reduce, v->type, 1, &v), "kind", r->simd_kind);
        }
        return 0;
    }
    while (lanes) {
        u32 bit = smallest_step(r, LAYOUT_LANE, lanes);
        lanes &= ~(1u << bit);
        TRY(reduce_lane_bit(L, r, n, bit));
    }
    return 0;
}

/* ---- Simdgroups ---------------------------------------------------------------------------------- */

static tm_status reduce_chunk(lower *L, const across *r, const slots *s, u32 first, u32 n) {
    ir_value **from = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value ***v = ARENA_ARRAY(L->a, ir_value **, r->n);
    for (u32 i = 0; i < r->n; i++)
        v[i] = r->v[i] + first;
    across_publish(L, r, s, (ir_value *const *const *)v, n, from);
    for (u32 k = 0; k < n; k++) {
        for (u32 i = 0; i < r->n; i++)
            x[i] = v[i][k];
        ir_value **like = arena_dup(L->a, x, sizeof *x * r->n);
        across_read(L, r, s, from, k, 0, like, x);
        for (u32 part = 1; part < 1u << s->axis_bits; part++) {
            across_read(L, r, s, from, k, part, like, y);
            TRY(across_combine(L, r, x, y, x));
        }
        for (u32 i = 0; i < r->n; i++)
            v[i][k] = x[i];
    }
    return 0;
}

static tm_status reduce_warps(lower *L, const across *r, u32 n) {
    slots s = across_slots(r);
    if (!s.axis_bits)
        return 0;
    u32 chunk = across_chunk(L, r, &s, n);
    if (!chunk)
        return ir_error(L->m, r->op, TM2209, r->n);
    for (u32 first = 0; first < n; first += chunk)
        TRY(reduce_chunk(L, r, &s, first, chunk));
    return 0;
}

/* The layout in which the result's registers are found: the axis bits vanish, register by register. */
static const layout *result_layout(lower *L, const across *r) {
    layout dropped = layout_drop_dim(r->l, r->axis), l = layout_canonical(&dropped);
    return keep_layout(L, &l);
}

static void bind_results(lower *L, const across *r) {
    for (u32 i = 0; i < r->n; i++) {
        const ir_value *result = ir_result(r->op, i);
        if (!ir_is_tensor(result->type)) {
            tensor_bind_scalar(L, result, r->v[i][0]);
            continue;
        }
        tensor *t = tensor_make(L, result_layout(L, r), ir_elem(result->type));
        memcpy(t->s, r->v[i], sizeof *t->s * t->n);
        tensor_here(L, t);
        tensor_bind(L, result, convert(L, t, result->type->encoding->layout, false));
    }
}

tm_status lower_reduce(lower *L, ir_op *op) {
    across r;
    u32 n;
    TRY(across_start(L, op, false, &r));
    TRY(reduce_registers(L, &r, &n));
    TRY(reduce_lanes(L, &r, n));
    TRY(reduce_warps(L, &r, n));
    bind_results(L, &r);
    return 0;
}
