/* SPDX-License-Identifier: MIT */
/* Layout values: making them (blocked, matrix fragments, operands of a dot), asking them questions,
 * printing them. A layout is built by handing out the flat-index bits of its dimensions, low bits
 * first, to input bits; what remains goes to registers, so that every constructor covers the
 * tensor. */
#include "layout/layout.h"

layout layout_empty(u32 rank, const i64 *shape, u32 warp_bits) {
    TM_ASSERT(rank <= LAYOUT_MAX_RANK && warp_bits <= LAYOUT_MAX_WARP_BITS);
    layout l;
    memset(&l, 0, sizeof l); /* padding too: hashing and copying see defined bytes */
    l.rank = (u8)rank;
    for (u32 d = 0; d < rank; d++)
        l.dim_bits[d] = (u8)log2_u64((u64)shape[d]);
    l.in_bits[LAYOUT_LANE] = LAYOUT_LANE_BITS;
    l.in_bits[LAYOUT_WARP] = (u8)warp_bits;
    return l;
}

u32 layout_flat_bits(const layout *l) {
    u32 n = 0;
    for (u32 d = 0; d < l->rank; d++)
        n += l->dim_bits[d];
    return n;
}

u32 layout_regs(const layout *l) {
    return 1u << l->in_bits[LAYOUT_REG];
}

u32 layout_dim_shift(const layout *l, u32 d) {
    u32 n = 0;
    for (u32 i = d + 1; i < l->rank; i++)
        n += l->dim_bits[i];
    return n;
}

u32 layout_dim_mask(const layout *l, u32 d) {
    return ((1u << l->dim_bits[d]) - 1u) << layout_dim_shift(l, d);
}

static u32 sum_bases(const u32 *base, u32 x) {
    u32 y = 0;
    for (; x; x &= x - 1)
        y ^= base[__builtin_ctz(x)];
    return y;
}

u32 layout_index(const layout *l, u32 reg, u32 lane, u32 warp) {
    return sum_bases(l->base[LAYOUT_REG], reg) ^ sum_bases(l->base[LAYOUT_LANE], lane) ^
           sum_bases(l->base[LAYOUT_WARP], warp);
}

bool layout_same_shape(const layout *a, const layout *b) {
    return a->rank == b->rank && memcmp(a->dim_bits, b->dim_bits, a->rank) == 0;
}

bool layout_equal(const layout *a, const layout *b) {
    if (!layout_same_shape(a, b))
        return false;
    for (u32 in = 0; in < LAYOUT_INS; in++)
        if (a->in_bits[in] != b->in_bits[in] ||
            memcmp(a->base[in], b->base[in], a->in_bits[in] * sizeof(u32)) != 0)
            return false;
    return true;
}

u64 layout_hash(const layout *l) {
    u64 h = 0x51ED270B0A1F39C1ull;
#define MIX(x) h = (h ^ (u64)(x)) * 0x9E3779B97F4A7C15ull, h ^= h >> 32
    MIX(l->rank);
    for (u32 d = 0; d < l->rank; d++)
        MIX(l->dim_bits[d]);
    for (u32 in = 0; in < LAYOUT_INS; in++) {
        MIX(l->in_bits[in]);
        for (u32 i = 0; i < l->in_bits[in]; i++)
            MIX(l->base[in][i]);
    }
#undef MIX
    return h;
}

gf2_map layout_map(const layout *l) {
    gf2_map m = {.n_out = (u8)layout_flat_bits(l)};
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++) {
            TM_ASSERT(m.n_in < GF2_MAX);
            m.col[m.n_in++] = l->base[in][i];
        }
    return m;
}

gf2_map layout_part(const layout *l, enum layout_in in) {
    gf2_map m = {.n_in = l->in_bits[in], .n_out = (u8)layout_flat_bits(l)};
    memcpy(m.col, l->base[in], m.n_in * sizeof(u32));
    return m;
}

bool layout_covers(const layout *l) {
    gf2_map m = layout_map(l);
    return gf2_is_surjective(&m);
}

u32 layout_free_mask(const layout *l, enum layout_in in) {
    gf2_span s = {0};
    for (u32 k = 0; k < (u32)in; k++)
        for (u32 i = 0; i < l->in_bits[k]; i++)
            gf2_span_add(&s, l->base[k][i], 0);
    u32 mask = 0;
    for (u32 i = 0; i < l->in_bits[in]; i++)
        if (!gf2_span_add(&s, l->base[in][i], 0))
            mask |= 1u << i;
    return mask;
}

/* Dimensions whose low bits are handed out one by one. */
typedef struct dealer {
    layout l;
    u8 used[LAYOUT_MAX_RANK];
} dealer;

static bool dim_left(const dealer *d, u32 dim) {
    return d->used[dim] < d->l.dim_bits[dim];
}

/* Gives input `in` its next bit: the next bit of `dim`, or a zero base when there is none. */
static void deal(dealer *d, enum layout_in in, u8 *next, u32 dim) {
    u32 base = 0;
    if (dim < d->l.rank && dim_left(d, dim))
        base = 1u << (layout_dim_shift(&d->l, dim) + d->used[dim]++);
    d->l.base[in][(*next)++] = base;
}

/* The first dimension in `order` that has bits left; rank when none has. */
static u32 first_left(const dealer *d, const u8 *order) {
    for (u32 i = 0; i < d->l.rank; i++)
        if (dim_left(d, order[i]))
            return order[i];
    return d->l.rank;
}

static void deal_rest_to_registers(dealer *d, const u8 *order) {
    for (u32 dim; (dim = first_left(d, order)) < d->l.rank;)
        deal(d, LAYOUT_REG, &d->l.in_bits[LAYOUT_REG], dim);
}

layout layout_blocked(u32 rank, const i64 *shape, const u8 *order, const u8 *per_thread_log2,
                      u32 warp_bits) {
    dealer d = {.l = layout_empty(rank, shape, warp_bits)};
    for (u32 i = 0; i < rank; i++)
        for (u32 k = 0; k < per_thread_log2[order[i]] && dim_left(&d, order[i]); k++)
            deal(&d, LAYOUT_REG, &d.l.in_bits[LAYOUT_REG], order[i]);
    for (u8 lane = 0; lane < LAYOUT_LANE_BITS;)
        deal(&d, LAYOUT_LANE, &lane, first_left(&d, order));
    for (u8 warp = 0; warp < warp_bits;)
        deal(&d, LAYOUT_WARP, &warp, first_left(&d, order));
    deal_rest_to_registers(&d, order);
    return d.l;
}

/* Registers and lanes of one 8x8 tile; dimensions shorter than 8 replicate. */
static void deal_tile(dealer *d) {
    u32 row = d->l.rank - 2u, column = d->l.rank - 1u;
    u8 lane = 0;
    if (dim_left(d, column))
        deal(d, LAYOUT_REG, &d->l.in_bits[LAYOUT_REG], column);
    const u32 dims[LAYOUT_LANE_BITS] = {column, row, row, column, row};
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        deal(d, LAYOUT_LANE, &lane, dims[i]);
}

/* Columns, rows, then leading dimensions from the inside out. */
static void tile_order(u32 rank, u8 order[LAYOUT_MAX_RANK]) {
    for (u32 i = 0; i < rank; i++)
        order[i] = (u8)(rank - 1 - i);
}

/* The innermost leading dimension with bits left; rank when none has. */
static u32 leading_left(const dealer *d) {
    for (u32 i = d->l.rank - 2u; i-- > 0;)
        if (dim_left(d, i))
            return i;
    return d->l.rank;
}

layout layout_fragment(u32 rank, const i64 *shape, u32 row_warp_bits, u32 col_warp_bits,
                       u32 warp_bits) {
    TM_ASSERT(rank >= 2 && row_warp_bits + col_warp_bits <= warp_bits);
    dealer d = {.l = layout_empty(rank, shape, warp_bits)};
    u8 order[LAYOUT_MAX_RANK], warp = 0;
    tile_order(rank, order);
    deal_tile(&d);
    while (warp < row_warp_bits)
        deal(&d, LAYOUT_WARP, &warp, rank - 2);
    while (warp < row_warp_bits + col_warp_bits)
        deal(&d, LAYOUT_WARP, &warp, rank - 1);
    while (warp < warp_bits)
        deal(&d, LAYOUT_WARP, &warp, leading_left(&d));
    deal_rest_to_registers(&d, order);
    return d.l;
}

bool layout_is_fragment(const layout *l) {
    if (l->rank < 2)
        return false;
    u32 row = layout_dim_shift(l, l->rank - 2u), column = 0;
    if (l->dim_bits[l->rank - 2] < LAYOUT_TILE_BITS || l->dim_bits[l->rank - 1] < LAYOUT_TILE_BITS)
        return false;
    const u32 tile[LAYOUT_LANE_BITS] = {2u << column, 1u << row, 2u << row, 4u << column,
                                        4u << row};
    if (memcmp(l->base[LAYOUT_LANE], tile, sizeof tile) != 0 || l->in_bits[LAYOUT_REG] == 0 ||
        l->base[LAYOUT_REG][0] != 1u << column)
        return false;
    u32 inside = 7u << row | 7u << column, others = 0;
    for (u32 i = 1; i < l->in_bits[LAYOUT_REG]; i++)
        others |= l->base[LAYOUT_REG][i];
    for (u32 i = 0; i < l->in_bits[LAYOUT_WARP]; i++)
        others |= l->base[LAYOUT_WARP][i];
    return (others & inside) == 0;
}

/* Where c's flat bits go in an operand that shares all dimensions with c but `lost`. */
static u32 operand_bits(const layout *c, const layout *o, u32 lost, u32 flat) {
    u32 y = 0;
    for (u32 d = 0; d < c->rank; d++)
        if (d != lost)
            y |= (flat & layout_dim_mask(c, d)) >> layout_dim_shift(c, d) << layout_dim_shift(o, d);
    return y;
}

layout layout_dot_operand(const layout *c, u32 operand, const i64 *shape) {
    TM_ASSERT(c->rank >= 2 && operand < 2);
    layout o = layout_empty(c->rank, shape, c->in_bits[LAYOUT_WARP]);
    bool tiles = layout_is_fragment(c);
    u32 k_dim = c->rank - 1u - operand,
        lost = k_dim; /* a: the last dimension is K; b: the one before */
    u32 k_shift = layout_dim_shift(&o, k_dim), k_bits = o.dim_bits[k_dim];
    u8 *regs = &o.in_bits[LAYOUT_REG];
    for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
        o.base[LAYOUT_LANE][i] = operand_bits(c, &o, lost, c->base[LAYOUT_LANE][i]);
    for (u32 i = 0; i < c->in_bits[LAYOUT_WARP]; i++)
        o.base[LAYOUT_WARP][i] = operand_bits(c, &o, lost, c->base[LAYOUT_WARP][i]);
    u32 from = 0; /* K bits that the lanes hold come from the tile */
    if (tiles) {
        const u32 a_lane[LAYOUT_LANE_BITS] = {2, 0, 0, 4, 0},
                  b_lane[LAYOUT_LANE_BITS] = {0, 1, 2, 0, 4};
        for (u32 i = 0; i < LAYOUT_LANE_BITS; i++)
            o.base[LAYOUT_LANE][i] |= (operand == 0 ? a_lane[i] : b_lane[i]) << k_shift;
        from = LAYOUT_TILE_BITS;
    }
    if (operand == 0) {
        if (tiles)
            o.base[LAYOUT_REG][(*regs)++] = 1u << k_shift;
        for (u32 i = from; i < k_bits; i++)
            o.base[LAYOUT_REG][(*regs)++] = 1u << (k_shift + i);
    }
    for (u32 i = 0; i < c->in_bits[LAYOUT_REG]; i++)
        o.base[LAYOUT_REG][(*regs)++] = operand_bits(c, &o, lost, c->base[LAYOUT_REG][i]);
    if (operand == 1)
        for (u32 i = from; i < k_bits; i++)
            o.base[LAYOUT_REG][(*regs)++] = 1u << (k_shift + i);
    return layout_canonical(&o);
}

static void print_bases(text *out, const layout *l, enum layout_in in) {
    text_putc(out, '[');
    for (u32 i = 0; i < l->in_bits[in]; i++) {
        text_puts(out, i ? ", [" : "[");
        for (u32 d = 0; d < l->rank; d++) {
            if (d)
                text_puts(out, ", ");
            text_int(out, (l->base[in][i] & layout_dim_mask(l, d)) >> layout_dim_shift(l, d));
        }
        text_putc(out, ']');
    }
    text_putc(out, ']');
}

void layout_print(text *out, const layout *l) {
    text_puts(out, "{register = ");
    print_bases(out, l, LAYOUT_REG);
    text_puts(out, ", lane = ");
    print_bases(out, l, LAYOUT_LANE);
    text_puts(out, ", warp = ");
    print_bases(out, l, LAYOUT_WARP);
    text_puts(out, ", block = []}");
}
