/* SPDX-License-Identifier: MIT */
/* Random layouts for random_kernel.c: blocked ones, fragments, and any linear map that covers the
 * shape, with replication, swizzles and bits in any order. */
#include "random_kernel.h"

static u32 below(random_source *r, u32 n) { return random_below(r, n); }

void random_order(random_source *r, u8 *bits, u32 n) {
    for (u32 i = n; i > 1; i--) {
        u32 j = below(r, i);
        u8 t = bits[i - 1];
        bits[i - 1] = bits[j];
        bits[j] = t;
    }
}

/* Any layout that covers the shape: bits go to lanes and warps at random (or these replicate), the
 * rest to registers; now and then bases are sums of bits. */
layout random_map(random_source *r, u32 warp_bits, u32 rank, const i64 *shape) {
    layout l = layout_empty(rank, shape, warp_bits);
    u32 n = layout_flat_bits(&l), next = 0;
    u8 bits[GF2_MAX];
    for (u32 i = 0; i < n; i++)
        bits[i] = (u8)i;
    if (below(r, 2))
        random_order(r, bits, n);
    bool registers_first = below(r, 2);
    u32 first = registers_first ? below(r, MIN(n, 3) + 1) : 0;
    for (u32 i = 0; i < first; i++)
        l.base[LAYOUT_REG][l.in_bits[LAYOUT_REG]++] = 1u << bits[next++];
    for (u32 in = LAYOUT_LANE; in <= LAYOUT_WARP; in++)
        for (u32 i = 0; i < l.in_bits[in]; i++)
            if (next < n && below(r, 8))
                l.base[in][i] = 1u << bits[next++];
    while (next < n)
        l.base[LAYOUT_REG][l.in_bits[LAYOUT_REG]++] = 1u << bits[next++];
    if (below(r, 4) == 0 && n > 1) /* swizzle: add one covered bit to others */
        for (u32 in = LAYOUT_LANE; in <= LAYOUT_WARP; in++)
            for (u32 i = 0; i < l.in_bits[in]; i++)
                if (l.in_bits[LAYOUT_REG] && below(r, 3) == 0)
                    l.base[in][i] ^= l.base[LAYOUT_REG][below(r, l.in_bits[LAYOUT_REG])];
    return layout_canonical(&l);
}

static bool fits_fragment(u32 rank, const i64 *shape) {
    return rank >= 2 && shape[rank - 1] >= 8 && shape[rank - 2] >= 8;
}

layout random_layout(random_source *r, u32 warp_bits, u32 rank, const i64 *shape) {
    u32 kind = below(r, 4);
    if (kind == 0 && fits_fragment(rank, shape)) {
        u32 rows = below(r, warp_bits + 1);
        layout l = layout_fragment(rank, shape, rows, warp_bits - rows, warp_bits);
        return layout_canonical(&l);
    }
    if (kind == 1) {
        u8 order[4], per_thread[4];
        for (u32 d = 0; d < rank; d++) {
            order[d] = (u8)(rank - 1 - d);
            per_thread[d] = (u8)below(r, 3);
        }
        if (below(r, 2))
            random_order(r, order, rank);
        layout l = layout_blocked(rank, shape, order, per_thread, warp_bits);
        return layout_canonical(&l);
    }
    return random_map(r, warp_bits, rank, shape);
}
