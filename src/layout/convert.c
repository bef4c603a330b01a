/* SPDX-License-Identifier: MIT */
/* From one layout to another: which way (registers, shuffles, threadgroup memory) and the plan for shuffles.
 * Everything is solving S(x) = D(y) column by column; where there is a choice, the answer stays in
 * the own lane, and uses registers before lanes. */
#include "layout/layout.h"

bool layout_convert_map(const layout *src, const layout *dst, gf2_map *out) {
    u32 regs = src->in_bits[LAYOUT_REG];
    gf2_span reg_span = {0};
    for (u32 i = 0; i < regs; i++)
        gf2_span_add(&reg_span, src->base[LAYOUT_REG][i], 1u << i);
    gf2_span all = reg_span;
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        gf2_span_add(&all, src->base[LAYOUT_LANE][i], 1u << (regs + i));
    gf2_map m = {.n_out = (u8)(regs + LAYOUT_LANE_BITS)};
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < dst->in_bits[in]; i++) {
            u32 target = dst->base[in][i], own = in == LAYOUT_LANE ? 1u << (regs + i) : 0;
            u32 here = in == LAYOUT_REG ? 0 : src->base[in][i];
            u32 x = own;
            if (gf2_span_reduce(&reg_span, target ^ here, &x) != 0) {
                x = 0;
                if (gf2_span_reduce(&all, in == LAYOUT_WARP ? target ^ here : target, &x) != 0)
                    return false;
            }
            m.col[m.n_in++] = x;
        }
    *out = m;
    return true;
}

/* Splits the map: source register and source lane of (dst register, lane, warp). */
static void split_map(const gf2_map *m, u32 regs, gf2_map *reg, gf2_map *lane) {
    *reg = (gf2_map){.n_in = m->n_in, .n_out = (u8)regs};
    *lane = (gf2_map){.n_in = m->n_in, .n_out = LAYOUT_LANE_BITS};
    for (u32 i = 0; i < m->n_in; i++) {
        reg->col[i] = m->col[i] & ((1u << regs) - 1u);
        lane->col[i] = m->col[i] >> regs;
    }
}

/* Lane bit i of the inputs starts at `first`; lanes keep their place, nothing else moves them. */
static bool lanes_stay(const gf2_map *lane, u32 first) {
    for (u32 i = 0; i < lane->n_in; i++) {
        bool is_lane = i >= first && i < first + LAYOUT_LANE_BITS;
        if (lane->col[i] != (is_lane ? 1u << (i - first) : 0))
            return false;
    }
    return true;
}

/* Makes the register a lane offers a function of that lane: where several lanes would read
 * different registers of one lane, they take turns with dst registers that come from other lanes.
 */
static bool take_turns(gf2_map *reg, gf2_map *lane, u32 dst_regs, gf2_map *pick) {
    gf2_span reached = {0}, done = {0};
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        gf2_span_add(&reached, lane->col[dst_regs + i], 0);
    *pick = (gf2_map){.n_in = LAYOUT_LANE_BITS, .n_out = (u8)dst_regs};
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++) {
        u32 at = dst_regs + i, combo = 1u << at;
        if (gf2_span_reduce(&done, lane->col[at], &combo) == 0 && gf2_apply(reg, combo) != 0) {
            u32 j = 0;
            while (j < dst_regs && gf2_span_has(&reached, lane->col[j]))
                j++;
            if (j == dst_regs)
                return false;
            gf2_span_add(&reached, lane->col[j], 0);
            pick->col[i] = 1u << j;
            lane->col[at] ^= lane->col[j];
            reg->col[at] ^= reg->col[j];
        }
        gf2_span_add(&done, lane->col[at], 1u << at);
    }
    return true;
}

bool layout_shuffle_plan(const layout *src, const layout *dst, shuffle_plan *out) {
    gf2_map m, reg;
    u32 dst_regs = dst->in_bits[LAYOUT_REG];
    if (!layout_convert_map(src, dst, &m))
        return false;
    split_map(&m, src->in_bits[LAYOUT_REG], &reg, &out->from);
    if (lanes_stay(&out->from, dst_regs) || !take_turns(&reg, &out->from, dst_regs, &out->pick))
        return false;
    /* The reader's register, seen from the lane that offers it: g(lane) with g(from(l)) = reg(l).
     */
    gf2_span lanes = {0};
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        gf2_span_add(&lanes, out->from.col[dst_regs + i], reg.col[dst_regs + i]);
    gf2_map g = {.n_in = LAYOUT_LANE_BITS, .n_out = reg.n_out};
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        gf2_span_add(&lanes, 1u << i, 0); /* lanes that nobody reads offer anything */
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        gf2_span_reduce(&lanes, 1u << i, &g.col[i]);
    out->send = reg;
    out->xor_lanes = true;
    for (u32 i = 0; i < m.n_in; i++) {
        bool is_lane = i >= dst_regs && i < dst_regs + LAYOUT_LANE_BITS;
        if (is_lane) {
            out->send.col[i] = g.col[i - dst_regs];
            out->xor_lanes &= out->from.col[i] == 1u << (i - dst_regs);
        } else {
            out->send.col[i] ^= gf2_apply(&g, out->from.col[i]);
            out->xor_lanes &= i < dst_regs || out->from.col[i] == 0;
        }
    }
    return true;
}

enum convert_kind layout_convert_kind(const layout *src, const layout *dst) {
    gf2_map m, reg, lane;
    shuffle_plan plan;
    if (layout_equal(src, dst))
        return CONVERT_NONE;
    if (!layout_convert_map(src, dst, &m))
        return CONVERT_THREADGROUP;
    split_map(&m, src->in_bits[LAYOUT_REG], &reg, &lane);
    if (lanes_stay(&lane, dst->in_bits[LAYOUT_REG]))
        return CONVERT_REGISTERS;
    return layout_shuffle_plan(src, dst, &plan) ? CONVERT_SHUFFLE : CONVERT_THREADGROUP;
}
