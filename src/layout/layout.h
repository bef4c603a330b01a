/* SPDX-License-Identifier: MIT */
/* Linear layouts: how a tensor spreads over registers, lanes and simdgroups ("warps").
 * All tensor dimensions are powers of two, so an element's row-major flat index is a bit vector, and
 * a layout is a GF(2)-linear map from (register, lane, warp) bits to flat-index bits: the index of a
 * holder is the XOR of the bases of its set bits. One flat index means reshape and expand_dims are
 * the identity, trans is a bit permutation, broadcast drops or adds bits.
 * A zero base means "these holders hold the same element" (replication). Bases never overlap
 * partially by accident: the algebra below works for any linear map all the same. */
#pragma once
#include "base/base.h"
#include "base/text.h"

enum { GF2_MAX = 32 }; /* bits on either side of a map */

/* y = XOR of col[i] for the set bits i of x; x has n_in bits, y has n_out. */
typedef struct gf2_map {
    u8 n_in, n_out;
    u32 col[GF2_MAX];
} gf2_map;

u32 gf2_apply(const gf2_map *m, u32 x);
gf2_map gf2_identity(u8 bits);
gf2_map gf2_compose(const gf2_map *outer, const gf2_map *inner); /* outer(inner(x)) */
u32 gf2_rank(const gf2_map *m);
bool gf2_is_injective(const gf2_map *m);
bool gf2_is_surjective(const gf2_map *m);
/* Smallest x (by bit order: low inputs preferred) with m(x) = y for each basis y. False when m is
 * not onto; *out then holds what could be inverted (zero columns elsewhere). */
bool gf2_right_inverse(const gf2_map *m, gf2_map *out);
/* Basis of the kernel {x : m(x) = 0}; returns its size. */
u32 gf2_kernel(const gf2_map *m, u32 basis[GF2_MAX]);
/* Solves a(x) = b(y) for all y: out = a^-1 o b; false when some b(y) is outside a's image. */
bool gf2_divide_left(const gf2_map *a, const gf2_map *b, gf2_map *out);

enum layout_in { LAYOUT_REG, LAYOUT_LANE, LAYOUT_WARP, LAYOUT_INS };
enum { LAYOUT_MAX_RANK = 16, LAYOUT_MAX_BITS = 20 };

/* A value type: compare with layout_equal, copy freely. Shape is part of it. */
typedef struct layout {
    u8 rank;
    u8 dim_bits[LAYOUT_MAX_RANK];     /* log2 of each dimension, dimension 0 outermost */
    u8 in_bits[LAYOUT_INS];           /* registers, lanes (always 5), warps */
    u32 base[LAYOUT_INS][GF2_MAX];    /* flat-index bits of each input bit */
} layout;

layout layout_empty(u32 rank, const i64 *shape, u32 warp_bits); /* no registers, all bases zero */
u32 layout_flat_bits(const layout *l);        /* log2 of the number of elements */
u32 layout_regs(const layout *l);             /* registers per thread, 1 << in_bits[REG] */
u32 layout_index(const layout *l, u32 reg, u32 lane, u32 warp); /* flat index */
bool layout_equal(const layout *a, const layout *b);
u64 layout_hash(const layout *l);
gf2_map layout_map(const layout *l);          /* inputs in order register, lane, warp from bit 0 */
bool layout_covers(const layout *l);          /* onto: every element is held somewhere */
u32 layout_free_mask(const layout *l, enum layout_in in); /* input bits whose base is dependent on
                                                  earlier (register, lane, warp) ones: replication */
/* Bit position in the flat index where dimension d starts. */
u32 layout_dim_shift(const layout *l, u32 d);

/* Blocked: each thread holds `per_thread` (log2) consecutive elements of the dimensions in `order`
 * (fastest first), then lanes, then warps follow in the same order; what is left over wraps into
 * registers; what is too much replicates. Covers the tensor always. */
layout layout_blocked(u32 rank, const i64 *shape, const u8 *order, const u8 *per_thread_log2,
                      u32 warp_bits);
/* 8x8 simdgroup-matrix fragments of the last two dimensions (lane l, element e hold row
 * (l/2)%4 + 4*(l/16), column 2*(l%2) + 4*((l/8)%2) + e), register bit 0 = e, then registers over
 * column tiles, row tiles, leading dimensions; warps: `row_warps` bits over row tiles (innermost
 * first), the rest over column tiles, then leading dimensions, what is too much replicates.
 * EVIDENCE: Apple-compiled matrix kernels read exactly elements 0 and 1 of this map. */
layout layout_fragment(u32 rank, const i64 *shape, u32 row_warp_bits, u32 col_warp_bits,
                       u32 warp_bits);

/* Layouts through shape ops. "result from source" and back; all total. */
layout layout_reshape(const layout *l, u32 rank, const i64 *shape);
layout layout_trans(const layout *l, const u8 *order);          /* result dim i = source dim order[i] */
layout layout_trans_back(const layout *l, const u8 *order);     /* source layout from the result's */
layout layout_drop_dim(const layout *l, u32 dim);               /* reduce: bits of dim vanish */
layout layout_project(const layout *l, const i64 *shape);       /* same rank; dims of size 1 in shape
                                                  lose their bits: broadcast's source */
/* Registers that repeat another register of the same thread are dropped; *kept (may be NULL) maps
 * new registers to old ones. Every lowered tensor uses only layouts without such registers. */
layout layout_canonical(const layout *l);

/* How to turn values held as src into values held as dst. */
enum convert_kind { CONVERT_NONE, CONVERT_REGISTERS, CONVERT_SHUFFLE, CONVERT_THREADGROUP };
enum convert_kind layout_convert_kind(const layout *src, const layout *dst);
/* For REGISTERS and SHUFFLE: dst register r of lane l in warp w is src register
 * apply(reg part) in lane l ^ ..., given as one map (dst reg, lane) -> (src reg, lane). */
bool layout_convert_map(const layout *src, const layout *dst, gf2_map *out);

void layout_print(text *out, const layout *l); /* {register = [[0, 1]], lane = [...], warp = [...]} */
