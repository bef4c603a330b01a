/* SPDX-License-Identifier: MIT */
/* From one layout to another: which way (registers, shuffles, threadgroup memory) and its plan.
 * Everything is solving S(x) = D(y) column by column; where there is a choice, the answer stays in
 * the own lane, and uses registers before lanes. The memory plan follows the idea of "swizzling by
 * subspaces": choose offset bits as vectors of the index space: first those that both sides hold in
 * registers (vector access), last (same bank, other row) those that no two lanes of one access
 * differ by, the banks in between. */
#include "layout/layout.h"

enum { BANK_ROW_LOG2 = 7 /* 32 banks of 4 bytes */, VECTOR_LOG2 = 4 /* 16 bytes */ };

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

/* A list of index-space vectors with what they span. */
typedef struct pool {
    u32 at[GF2_MAX], count;
    gf2_span span;
} pool;

static void pool_add(pool *p, u32 v) {
    if (p->count < GF2_MAX && gf2_span_add(&p->span, v, 0))
        p->at[p->count++] = v;
}

static void pool_add_in(pool *p, const layout *l, enum layout_in in) {
    for (u32 i = 0; i < l->in_bits[in]; i++)
        pool_add(p, l->base[in][i]);
}

/* Vectors that are registers of both sides. */
static void common_registers(const layout *src, const layout *dst, pool *out) {
    gf2_map both = layout_part(src, LAYOUT_REG);
    u32 n = both.n_in, basis[GF2_MAX];
    for (u32 i = 0; i < dst->in_bits[LAYOUT_REG] && both.n_in < GF2_MAX; i++)
        both.col[both.n_in++] = dst->base[LAYOUT_REG][i];
    u32 size = gf2_kernel(&both, basis);
    for (u32 i = 0; i < size; i++)
        pool_add(out, gf2_apply(&both, basis[i] & ((1u << n) - 1u)));
}

/* Moves vectors of `from` that keep `taken` independent into `to` until it has `want`. */
static void take(pool *to, gf2_span *taken, const pool *from, u32 want) {
    for (u32 i = 0; i < from->count && to->count < want; i++)
        if (gf2_span_add(taken, from->at[i], 0))
            to->at[to->count++] = from->at[i];
}

/* Adds the lane bits that move together in one cycle: as many lanes as fill one row of banks. */
static void pool_add_lanes(pool *p, const layout *l, u32 access_log2) {
    u32 lanes = access_log2 < 2 ? LAYOUT_LANE_BITS : (u32)BANK_ROW_LOG2 - access_log2;
    for (u32 i = 0; i < MIN(lanes, (u32)LAYOUT_LANE_BITS); i++)
        pool_add(p, l->base[LAYOUT_LANE][i]);
}

/* Vectors by which lanes of one access should not differ: same bank, other row. Accesses are of
 * 1 << store (src) and 1 << load (dst) bytes. */
static void choose_rows(const layout *src, const layout *dst, const pool *low, u32 store, u32 load,
                        u32 want, pool *rows) {
    pool a = *low, b = *low, rest = {0}, only_a = {0}, only_b = {0}, sums = {0};
    pool_add_lanes(&a, src, store);
    pool_add_lanes(&b, dst, load);
    gf2_span seen = a.span;
    for (u32 i = low->count; i < b.count; i++)
        if (gf2_span_add(&seen, b.at[i], 0))
            only_b.at[only_b.count++] = b.at[i];
    gf2_span reached = b.span;
    for (u32 i = low->count; i < a.count; i++)
        if (gf2_span_add(&reached, a.at[i], 0))
            only_a.at[only_a.count++] = a.at[i];
    rest.span = reached;
    pool_add_in(&rest, src, LAYOUT_WARP);
    pool_add_in(&rest, dst, LAYOUT_WARP);
    pool_add_in(&rest, src, LAYOUT_REG);
    pool_add_in(&rest, dst, LAYOUT_REG);
    for (u32 i = 0; i < layout_flat_bits(src); i++)
        pool_add(&rest, 1u << i);
    for (u32 i = 0; i < MIN(only_a.count, only_b.count); i++)
        sums.at[sums.count++] = only_a.at[i] ^ only_b.at[i];
    gf2_span taken = low->span;
    const pool *by_merit[] = {&rest, &sums, &only_a, &only_b, &a, &b};
    for (u32 i = 0; i < COUNT_OF(by_merit); i++)
        take(rows, &taken, by_merit[i], want);
}

/* The registers that move low offset bits; 0 when lanes or warps would disturb those bits. */
static u8 vector_registers(const layout *l, const gf2_map *offset, const pool *low, u32 limit,
                           gf2_map *out) {
    gf2_map regs = layout_part(l, LAYOUT_REG);
    gf2_span span = gf2_image(&regs);
    *out = (gf2_map){.n_out = regs.n_in};
    while (out->n_in < limit) {
        u32 combo = 0;
        if (gf2_span_reduce(&span, low->at[out->n_in], &combo) != 0)
            break;
        out->col[out->n_in++] = combo;
    }
    for (u32 in = LAYOUT_LANE; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            while (out->n_in && gf2_apply(offset, l->base[in][i]) & ((1u << out->n_in) - 1u))
                out->n_in--;
    return out->n_in;
}

void layout_memory_plan(const layout *src, const layout *dst, u32 elem_bytes_log2,
                        memory_plan *out) {
    u32 n = layout_flat_bits(src);
    u32 max_vec = elem_bytes_log2 < VECTOR_LOG2 ? VECTOR_LOG2 - elem_bytes_log2 : 0;
    u32 row_bits = MIN(n, BANK_ROW_LOG2 - MIN(elem_bytes_log2, (u32)BANK_ROW_LOG2));
    pool common = {0}, loads = {0}, low = {0}, rows = {0}, banks = {0}, near = {0};
    common_registers(src, dst, &common);
    pool_add_in(&loads, dst, LAYOUT_REG);
    take(&low, &low.span, &common, max_vec);
    u32 store = elem_bytes_log2 + low.count;
    take(&low, &low.span, &loads, max_vec);
    choose_rows(src, dst, &low, store, elem_bytes_log2 + low.count, n - MAX(row_bits, low.count),
                &rows);

    gf2_span taken = low.span;
    for (u32 i = 0; i < rows.count; i++)
        gf2_span_add(&taken, rows.at[i], 0);
    for (u32 in = LAYOUT_INS; in-- > 0;) { /* lanes and warps before registers */
        enum layout_in which = in == 2 ? LAYOUT_LANE : in == 1 ? LAYOUT_WARP : LAYOUT_REG;
        pool_add_in(&near, dst, which);
        pool_add_in(&near, src, which);
    }
    for (u32 i = 0; i < n; i++)
        pool_add(&near, 1u << i);
    take(&banks, &taken, &near, n - low.count - rows.count);

    gf2_map place = {.n_out = (u8)n}; /* offset bit -> index vector */
    const pool *parts[] = {&low, &banks, &rows};
    for (u32 p = 0; p < COUNT_OF(parts); p++)
        for (u32 i = 0; i < parts[p]->count; i++)
            place.col[place.n_in++] = parts[p]->at[i];
    bool invertible = gf2_right_inverse(&place, &out->offset);
    TM_ASSERT(invertible && place.n_in == n);
    (void)invertible;
    out->store_vec = vector_registers(src, &out->offset, &low, low.count, &out->store_reg);
    out->load_vec = vector_registers(dst, &out->offset, &low, low.count, &out->load_reg);
}
