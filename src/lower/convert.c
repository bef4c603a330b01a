/* SPDX-License-Identifier: MIT */
/* From one layout to another, by the cheapest way that the two maps allow: renaming registers, simd
 * shuffles, threadgroup memory (exchange.c). layout_convert_map and layout_shuffle_plan say where
 * values come from; where the register depends on lane or warp, an array is "turned": its index XORed
 * with a linear function of the thread, by one select per register and bit of the thread.
 * Shuffles are taken while they are cheap: one whose lane is a constant XOR costs about 2 cycles, one
 * with a computed lane about 30 (EVIDENCE: public M1 measurements), and a round trip through memory
 * with its barriers about 60 and a few per register. */
#include "lower/state.h"

enum { XOR_COST = 2, LANE_COST = 30, SELECT_COST = 1, TRIP_COST = 64, TRIP_REG_COST = 2 };

/* ---- Turning ------------------------------------------------------------------------------------- */

static ir_value *id_bit(lower *L, u32 bit, bool warp) { /* as i1 */
    spread s = {0};
    if (warp)
        s.warp[bit] = 1u << bit;
    else
        s.lane[bit] = 1u << bit;
    return ir_compare(&L->b, IR_arith_cmpi, 1, spread_value(L, &s), const_i32(L, 0)); /* ne */
}

/* values[i] becomes values[i ^ m(lane, warp)]; the lane's columns of m start at `first`. */
static ir_value **turn(lower *L, ir_value **values, u32 n, const gf2_map *m, u32 first) {
    for (u32 i = first; i < m->n_in; i++) {
        u32 flip = m->col[i], bit = i - first;
        if (!flip)
            continue;
        bool warp = bit >= LANE_BITS;
        ir_value *set = id_bit(L, warp ? bit - LANE_BITS : bit, warp);
        ir_value **turned = ARENA_ARRAY(L->a, ir_value *, n);
        for (u32 r = 0; r < n; r++)
            turned[r] = make_select(L, set, values[r ^ flip], values[r]);
        values = turned;
    }
    return values;
}

static u32 turn_count(const gf2_map *m, u32 first) {
    u32 n = 0;
    for (u32 i = first; i < m->n_in; i++)
        n += m->col[i] != 0;
    return n;
}

/* ---- Registers ----------------------------------------------------------------------------------- */

static gf2_map register_part(const gf2_map *m, u32 src_bits) {
    gf2_map r = {.n_in = m->n_in, .n_out = (u8)src_bits};
    for (u32 i = 0; i < m->n_in; i++)
        r.col[i] = m->col[i] & ((1u << src_bits) - 1);
    return r;
}

static tensor *by_registers(lower *L, tensor *src, const layout *to) {
    gf2_map m;
    if (!layout_convert_map(src->l, to, &m))
        return NULL;
    tensor_need_scalars(L, src);
    m = register_part(&m, src->l->in_bits[LAYOUT_REG]);
    tensor *t = tensor_make(L, to, src->elem);
    ir_value **turned = turn(L, src->s, src->n, &m, to->in_bits[LAYOUT_REG]);
    for (u32 r = 0; r < t->n; r++)
        t->s[r] = turned[gf2_apply(&m, r)];
    return t;
}

/* ---- Shuffles ------------------------------------------------------------------------------------ */

static bool shuffles_pay(const shuffle_plan *p, u32 src_regs, u32 dst_regs, u32 dst_bits) {
    u32 selects = turn_count(&p->send, dst_bits) * src_regs + turn_count(&p->pick, 0) * dst_regs;
    u32 cost = dst_regs * (p->xor_lanes ? XOR_COST : LANE_COST) + selects * SELECT_COST;
    return cost <= TRIP_COST + TRIP_REG_COST * (src_regs + dst_regs);
}

/* The lane to read from, without the part that the register decides; NULL when XOR serves. */
static ir_value *source_lane(lower *L, const shuffle_plan *p, u32 dst_bits) {
    if (p->xor_lanes)
        return NULL;
    spread s = {0};
    for (u32 i = dst_bits; i < p->from.n_in; i++)
        if (i - dst_bits < LANE_BITS)
            s.lane[i - dst_bits] = p->from.col[i];
        else
            s.warp[i - dst_bits - LANE_BITS] = p->from.col[i];
    ir_value *v = spread_value(L, &s);
    return v ? v : const_i32(L, 0);
}

static ir_value *shuffle_one(lower *L, ir_value *v, u32 lanes, ir_value *from) {
    const ir_type *type = v->type;
    if (type->kind == IR_PTR)
        v = to_memory(L, v);
    if (from) {
        if (lanes)
            from = ir_binary(&L->b, IR_arith_xori, from, const_i32(L, lanes));
        v = make1(L, IR_tm_shuffle, v->type, 2, (ir_value *[]){v, from});
    } else if (lanes) {
        v = set_i32(L, make1(L, IR_tm_shuffle_xor, v->type, 1, &v), "mask", lanes);
    }
    return type->kind == IR_PTR ? from_memory(L, v, type) : v;
}

static tensor *by_shuffles(lower *L, tensor *src, const layout *to) {
    shuffle_plan p;
    u32 bits = to->in_bits[LAYOUT_REG];
    if (!layout_shuffle_plan(src->l, to, &p) || !shuffles_pay(&p, src->n, layout_regs(to), bits))
        return NULL;
    tensor_need_scalars(L, src);
    tensor *t = tensor_make(L, to, src->elem);
    ir_value **x = turn(L, src->s, src->n, &p.send, bits), *from = source_lane(L, &p, bits);
    for (u32 r = 0; r < t->n; r++)
        t->s[r] = shuffle_one(L, x[gf2_apply(&p.send, r)], gf2_apply(&p.from, r), from);
    t->s = turn(L, t->s, t->n, &p.pick, 0);
    return t;
}

/* ---- Converting ---------------------------------------------------------------------------------- */

/* True when all registers hold one value: then every layout holds it. The value must be the same in
 * all threads, which constants are. */
static bool is_uniform(const tensor *t) {
    i64 bits;
    if (!t->s)
        return false;
    for (u32 i = 1; i < t->n; i++)
        if (t->s[i] != t->s[0])
            return false;
    return ir_constant_bits(t->s[0], &bits);
}

tensor *convert(lower *L, tensor *src, const layout *to, bool as_matrices) {
    if (layout_equal(src->l, to))
        return src;
    tensor *t = NULL;
    enum convert_kind kind = layout_convert_kind(src->l, to);
    if (is_uniform(src)) {
        t = tensor_make(L, to, src->elem);
        for (u32 r = 0; r < t->n; r++)
            t->s[r] = src->s[0];
    } else if (kind == CONVERT_NONE || kind == CONVERT_REGISTERS) {
        t = by_registers(L, src, to);
    } else if (kind == CONVERT_SHUFFLE) {
        t = by_shuffles(L, src, to);
    }
    if (!t)
        t = exchange(L, src, to, as_matrices);
    tensor_here(L, t);
    return t;
}

/* Only dots ask for matrices: the loads then put fragments where the unit wants them. */
static bool used_as_matrices(lower *L, const ir_value *v) {
    const ir_type *e = ir_elem(v->type);
    if (!layout_is_fragment(v->type->encoding->layout) || !is_matrix_elem(e))
        return false;
    for (const ir_use *u = v->uses; u; u = u->next) {
        if (u->owner->code != IR_tt_dot)
            continue;
        bool accumulator = u == &u->owner->operands[2];
        if (!accumulator || e->float_kind == IR_F32)
            return true;
    }
    return false;
}

tm_status lower_convert(lower *L, ir_op *op) {
    const ir_value *to = ir_result(op, 0);
    tensor *t = convert(L, tensor_get(L, ir_operand(op, 0)), to->type->encoding->layout,
                        used_as_matrices(L, to));
    tensor_bind(L, to, t);
    return 0;
}
