/* SPDX-License-Identifier: MIT */
/* Indices from lane and warp ids. Every index a thread needs is a linear map over GF(2) of register,
 * lane and warp bits: a constant for the register XOR a value that depends on the thread only. That
 * value (a `spread`) is computed once in the function's head with shifts, masks and adds: bits that
 * move by the same distance move together. Where the register's bits are disjoint from the spread's,
 * XOR is written as an add of a constant, so that later passes and the address modes see "base plus
 * constant". */
#include "lower/state.h"

u32 spread_bits(const spread *s) {
    u32 bits = 0;
    for (u32 i = 0; i < LANE_BITS; i++)
        bits |= s->lane[i];
    for (u32 i = 0; i < WARP_BITS_MAX; i++)
        bits |= s->warp[i];
    return bits;
}

spread spread_of(const layout *l) {
    spread s = {0};
    memcpy(s.lane, l->base[LAYOUT_LANE], sizeof s.lane);
    memcpy(s.warp, l->base[LAYOUT_WARP], sizeof(u32) * l->in_bits[LAYOUT_WARP]);
    return s;
}

u32 reg_index(const layout *l, u32 reg) {
    u32 x = 0;
    for (u32 i = 0; i < l->in_bits[LAYOUT_REG]; i++)
        if (reg >> i & 1)
            x ^= l->base[LAYOUT_REG][i];
    return x;
}

u32 spread_bits_of(u32 x, const u8 *bits, u32 n) {
    u32 y = 0;
    for (u32 i = 0; i < n; i++)
        y |= (x >> i & 1) << bits[i];
    return y;
}

u32 register_run(const layout *l, u32 shift, u32 max, u8 *bits) {
    u32 n = 0;
    for (; n < max; n++) {
        u32 bit = 1u << (shift + n), found = GF2_MAX, touched = 0;
        for (u32 in = 0; in < LAYOUT_INS; in++)
            for (u32 i = 0; i < l->in_bits[in]; i++)
                if (l->base[in][i] & bit) {
                    touched++;
                    if (in == LAYOUT_REG && l->base[in][i] == bit)
                        found = i;
                }
        if (touched != 1 || found == GF2_MAX)
            break;
        bits[n] = (u8)found;
    }
    return n;
}

/* ---- Spreads ----------------------------------------------------------------------------------- */

/* Builds in the head; `sum` grows by the bits of `id` that `base` moves, `used` tells which output
 * bits the sum may already set. */
static ir_value *add_terms(lower *L, ir_builder *b, ir_value *id, u32 n, const u32 *base, ir_value *sum,
                           u32 *used) {
    for (i32 delta = -(i32)LANE_BITS; delta < 32; delta++) {
        u32 mask = 0, out = 0;
        for (u32 i = 0; i < n; i++) {
            i32 to = (i32)i + delta;
            if (to >= 0 && to < 32 && base[i] >> to & 1) {
                mask |= 1u << i;
                out |= 1u << to;
            }
        }
        if (!mask)
            continue;
        ir_value *x = id;
        u32 all = (1u << n) - 1, kept = delta < 0 ? all & ~((1u << -delta) - 1) : all;
        if (mask != kept)
            x = ir_binary(b, IR_arith_andi, x, const_i32(L, mask));
        if (delta > 0)
            x = ir_binary(b, IR_arith_shli, x, const_i32(L, delta));
        else if (delta < 0)
            x = ir_binary(b, IR_arith_shrui, x, const_i32(L, -delta));
        if (sum)
            sum = ir_binary(b, *used & out ? IR_arith_xori : IR_arith_addi, sum, x);
        else
            sum = x;
        *used |= out;
    }
    return sum;
}

/* Constants that ops of the head need go to the head's end, so they are asked for before the ops
 * are placed there: the terms are built in a block of their own and then moved. */
ir_value *spread_value(lower *L, const spread *s) {
    if (!spread_bits(s))
        return NULL;
    void **slot = strmap_put(L->spreads, (const char *)s, sizeof *s, NULL);
    if (*slot)
        return *slot;
    ir_region region = {0};
    ir_block *block = ir_block_new(L->m, &region);
    ir_builder b = ir_at_end(L->m, block);
    b.loc = L->b.loc;
    u32 used = 0;
    ir_value *v = add_terms(L, &b, L->lane, LANE_BITS, s->lane, NULL, &used);
    v = add_terms(L, &b, L->warp, L->warp_bits, s->warp, v, &used);
    while (block->first) {
        ir_op *op = block->first;
        ir_remove(op);
        ir_builder head = ir_after(L->m, L->head_last);
        ir_insert(&head, op);
        L->head_last = op;
    }
    return *slot = v;
}

ir_value *index_value(lower *L, ir_value *lw, u32 bits, u32 reg, i64 start) {
    if (!lw)
        return const_i32(L, start + reg);
    if (reg & bits)
        lw = ir_binary(&L->b, IR_arith_xori, lw, const_i32(L, reg & bits));
    i64 rest = start + (reg & ~bits);
    return rest ? ir_binary(&L->b, IR_arith_addi, lw, const_i32(L, rest)) : lw;
}

/* ---- Owners ------------------------------------------------------------------------------------ */

/* True in the threads whose lane and warp ids have none of the bits: of several holders of one
 * element, the one that acts. */
ir_value *owner_predicate(lower *L, u32 lane_mask, u32 warp_mask) {
    if (!lane_mask && !warp_mask)
        return NULL;
    void **slot = map_put(L->owners, (u64)warp_mask << 32 | lane_mask);
    if (*slot)
        return *slot;
    /* The masked ids in different bits, so that their sum is zero only when both are. */
    spread s = {0};
    for (u32 i = 0; i < LANE_BITS; i++)
        s.lane[i] = lane_mask & 1u << i;
    for (u32 i = 0; i < L->warp_bits; i++)
        s.warp[i] = (warp_mask & 1u << i) << LANE_BITS;
    ir_value *zero = const_i32(L, 0), *v = spread_value(L, &s);
    ir_builder b = ir_after(L->m, L->head_last);
    b.loc = L->b.loc;
    ir_value *p = ir_compare(&b, IR_arith_cmpi, 0, v, zero); /* eq */
    L->head_last = p->op;
    return *slot = p;
}

ir_value *owner_of(lower *L, const layout *l) {
    return owner_predicate(L, layout_free_mask(l, LAYOUT_LANE), layout_free_mask(l, LAYOUT_WARP));
}

ir_value *one_thread(lower *L) {
    return owner_predicate(L, (1u << LANE_BITS) - 1, (1u << L->warp_bits) - 1);
}
