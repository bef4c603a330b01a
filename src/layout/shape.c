/* SPDX-License-Identifier: MIT */
/* Layouts through shape operations. Since an element is its row-major flat index, each of them is a
 * relabelling of flat-index bits: a bit moves, or vanishes (its holders then hold equal copies). */
#include "layout/layout.h"

enum { BIT_GONE = 255 };

/* l with flat bit i moved to place[i]; shape becomes `rank`, `shape`. */
static layout relabel(const layout *l, u32 rank, const i64 *shape, const u8 place[GF2_MAX]) {
    layout r = layout_empty(rank, shape, l->in_bits[LAYOUT_WARP]);
    memcpy(r.in_bits, l->in_bits, sizeof r.in_bits);
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            for (u32 b = l->base[in][i]; b; b &= b - 1) {
                u8 to = place[__builtin_ctz(b)];
                if (to != BIT_GONE)
                    r.base[in][i] |= 1u << to;
            }
    return r;
}

static void shape_of(const layout *l, i64 shape[LAYOUT_MAX_RANK]) {
    for (u32 d = 0; d < l->rank; d++)
        shape[d] = (i64)1 << l->dim_bits[d];
}

static void keep_all(u8 place[GF2_MAX]) {
    for (u32 i = 0; i < GF2_MAX; i++)
        place[i] = (u8)i;
}

layout layout_reshape(const layout *l, u32 rank, const i64 *shape) {
    u8 place[GF2_MAX];
    keep_all(place);
    return relabel(l, rank, shape, place);
}

layout layout_trans(const layout *l, const u8 *order) {
    i64 from[LAYOUT_MAX_RANK], to[LAYOUT_MAX_RANK];
    shape_of(l, from);
    for (u32 d = 0; d < l->rank; d++)
        to[d] = from[order[d]];
    layout sized = layout_empty(l->rank, to, 0);
    u8 place[GF2_MAX] = {0};
    for (u32 d = 0; d < l->rank; d++)
        for (u32 i = 0; i < sized.dim_bits[d]; i++)
            place[layout_dim_shift(l, order[d]) + i] = (u8)(layout_dim_shift(&sized, d) + i);
    return relabel(l, l->rank, to, place);
}

layout layout_trans_back(const layout *l, const u8 *order) {
    u8 back[LAYOUT_MAX_RANK];
    for (u32 d = 0; d < l->rank; d++)
        back[order[d]] = (u8)d;
    return layout_trans(l, back);
}

layout layout_drop_dim(const layout *l, u32 dim) {
    TM_ASSERT(dim < l->rank);
    i64 from[LAYOUT_MAX_RANK], to[LAYOUT_MAX_RANK];
    shape_of(l, from);
    u32 rank = 0, shift = layout_dim_shift(l, dim), bits = l->dim_bits[dim];
    for (u32 d = 0; d < l->rank; d++)
        if (d != dim)
            to[rank++] = from[d];
    u8 place[GF2_MAX];
    for (u32 i = 0; i < GF2_MAX; i++)
        place[i] = i < shift ? (u8)i : i < shift + bits ? BIT_GONE : (u8)(i - bits);
    return relabel(l, rank, to, place);
}

layout layout_project(const layout *l, const i64 *shape) {
    layout sized = layout_empty(l->rank, shape, 0);
    u8 place[GF2_MAX];
    memset(place, BIT_GONE, sizeof place);
    for (u32 d = 0; d < l->rank; d++)
        for (u32 i = 0; i < MIN(sized.dim_bits[d], l->dim_bits[d]); i++)
            place[layout_dim_shift(l, d) + i] = (u8)(layout_dim_shift(&sized, d) + i);
    return relabel(l, l->rank, shape, place);
}

layout layout_canonical_kept(const layout *l, gf2_map *kept) {
    layout r = *l;
    gf2_span s = {0};
    gf2_map map = {.n_out = l->in_bits[LAYOUT_REG]};
    memset(r.base[LAYOUT_REG], 0, sizeof r.base[LAYOUT_REG]);
    for (u32 i = 0; i < l->in_bits[LAYOUT_REG]; i++)
        if (gf2_span_add(&s, l->base[LAYOUT_REG][i], 0)) {
            r.base[LAYOUT_REG][map.n_in] = l->base[LAYOUT_REG][i];
            map.col[map.n_in++] = 1u << i;
        }
    r.in_bits[LAYOUT_REG] = map.n_in;
    if (kept)
        *kept = map;
    return r;
}

layout layout_canonical(const layout *l) {
    return layout_canonical_kept(l, NULL);
}

bool layout_separates(const layout *l, u32 mask) {
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            if ((l->base[in][i] & mask) && (l->base[in][i] & ~mask))
                return false;
    return true;
}
