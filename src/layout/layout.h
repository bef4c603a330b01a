/* SPDX-License-Identifier: MIT */
/* Linear layouts: how a tensor spreads over registers, lanes and simdgroups ("warps").
 * All tensor dimensions are powers of two, so an element's row-major flat index is a bit vector,
 * and a layout is a GF(2)-linear map from (register, lane, warp) bits to flat-index bits: the index
 * of a holder is the XOR of the bases of its set bits. One flat index means reshape and expand_dims
 * are the identity, trans is a bit permutation, broadcast drops or adds bits. A zero base means
 * "these holders hold the same element" (replication). Bases never overlap partially by accident:
 * the algebra below works for any linear map all the same. */
#pragma once
#include "base/base.h"
#include "base/text.h"

enum { GF2_MAX = 32 }; /* bits on either side of a map */

/* y = XOR of col[i] for the set bits i of x; x has n_in bits, y has n_out. */
typedef struct gf2_map {
    u8 n_in, n_out;
    u32 col[GF2_MAX];
} gf2_map;

/* A growing subspace: vectors in echelon form by leading bit, each with the inputs that make it. */
typedef struct gf2_span {
    u32 vec[GF2_MAX], combo[GF2_MAX];
    u32 size; /* dimension */
} gf2_span;

bool gf2_span_add(gf2_span *s, u32 v, u32 combo); /* false when v was inside already */
bool gf2_span_has(const gf2_span *s, u32 v);
/* What is left of v (0 when inside); *combo collects (XOR) the inputs that were used. */
u32 gf2_span_reduce(const gf2_span *s, u32 v, u32 *combo);
gf2_span gf2_image(const gf2_map *m);

u32 gf2_apply(const gf2_map *m, u32 x);
u32 gf2_rank(const gf2_map *m);
bool gf2_is_surjective(const gf2_map *m);

enum layout_in { LAYOUT_REG, LAYOUT_LANE, LAYOUT_WARP, LAYOUT_INS };
enum {
    LAYOUT_MAX_RANK = 16,
    LAYOUT_MAX_BITS = 20,
    LAYOUT_LANE_BITS = 5,
    LAYOUT_MAX_WARP_BITS = 5,
    LAYOUT_TILE_BITS = 3 /* 8x8 matrices */
};

/* A value type: compare with layout_equal, copy freely. Shape is part of it. */
typedef struct layout {
    u8 rank;
    u8 dim_bits[LAYOUT_MAX_RANK];  /* log2 of each dimension, dimension 0 outermost */
    u8 in_bits[LAYOUT_INS];        /* registers, lanes (always 5), warps */
    u32 base[LAYOUT_INS][GF2_MAX]; /* flat-index bits of each input bit */
} layout;

layout layout_empty(u32 rank, const i64 *shape, u32 warp_bits); /* no registers, all bases zero */
u32 layout_flat_bits(const layout *l);                          /* log2 of the number of elements */
u32 layout_regs(const layout *l); /* registers per thread, 1 << in_bits[REG] */
u32 layout_index(const layout *l, u32 reg, u32 lane, u32 warp); /* flat index */
bool layout_equal(const layout *a, const layout *b);
u64 layout_hash(const layout *l);
gf2_map layout_map(const layout *l); /* inputs in order register, lane, warp from bit 0 */
bool layout_covers(const layout *l); /* onto: every element is held somewhere */
/* Input bits whose base depends on earlier (register, lane, warp) ones: replication. */
u32 layout_free_mask(const layout *l, enum layout_in in);
/* Bit position in the flat index where dimension d starts, and the mask of its bits. */
u32 layout_dim_shift(const layout *l, u32 d);
u32 layout_dim_mask(const layout *l, u32 d);
bool layout_same_shape(const layout *a, const layout *b);
gf2_map layout_part(const layout *l, enum layout_in in); /* register, lane or warp inputs alone */
/* Every base of `in` touches either only bits of `mask` or none of them: what reduce needs. */
bool layout_separates(const layout *l, u32 mask);

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
/* Whether l maps registers and lanes as layout_fragment does (any placement of whole tiles). A dot
 * whose result is a fragment runs on the matrix unit, any other is a scalar dot. */
bool layout_is_fragment(const layout *l);
/* The layout that operand 0 (a, ..xMxK) or 1 (b, ..xKxN) of a dot has when its result has layout c:
 * c without the other operand's dimension, all of K in registers (fragment c: K within a tile as
 * the tile maps it). */
layout layout_dot_operand(const layout *c, u32 operand, const i64 *shape);

/* Layouts through shape ops. "result from source" and back; all total. */
layout layout_reshape(const layout *l, u32 rank, const i64 *shape);
layout layout_trans(const layout *l, const u8 *order);      /* result dim i = source dim order[i] */
layout layout_trans_back(const layout *l, const u8 *order); /* source layout from the result's */
layout layout_drop_dim(const layout *l, u32 dim);           /* reduce: bits of dim vanish */
layout layout_project(const layout *l, const i64 *shape);   /* same rank; dims of size 1 in shape
                                              lose their bits: broadcast's source */
/* Registers that repeat another register of the same thread are dropped; *kept (may be NULL) maps
 * new registers (bits) to old ones. Lowered tensors use only layouts without such registers. */
layout layout_canonical(const layout *l);
layout layout_canonical_kept(const layout *l, gf2_map *kept);

/* How to turn values held as src into values held as dst. */
enum convert_kind { CONVERT_NONE, CONVERT_REGISTERS, CONVERT_SHUFFLE, CONVERT_THREADGROUP };
enum convert_kind layout_convert_kind(const layout *src, const layout *dst);
/* For NONE, REGISTERS and SHUFFLE (else false): where dst's values come from within the simdgroup.
 * Inputs: dst register bits, then 5 lane bits, then warp bits. Outputs: src register bits, then 5
 * source lane bits. For REGISTERS the source lane is the own lane. The source register may depend
 * on lane and warp: then it is picked with selects. */
bool layout_convert_map(const layout *src, const layout *dst, gf2_map *out);

/* The same map made ready for shuffles; true exactly for kind SHUFFLE. The recipe, where a register
 * array is "turned" by XORing its index with a linear function of lane and warp (for each input bit
 * with column m != 0: new[i] = bit ? old[i ^ m] : old[i]; log-many selects per register):
 *   x[s] = src[s ^ send(0, lane, warp)]                        for all src registers s
 *   t[r] = shuffle of x[send(r, 0, 0)] from lane from(r, lane, warp)   for all dst registers r
 *   dst[r] = t[r ^ pick(lane)]                                 for all r
 * xor_lanes: from(r, lane, warp) = lane ^ from(r, 0, 0), so tm.shuffle_xor serves (and nothing at
 * all where the mask is 0); else tm.shuffle with a lane computed once, ^ a constant of r. */
typedef struct shuffle_plan {
    gf2_map send; /* (dst register, lane, warp) -> src register */
    gf2_map from; /* (dst register, lane, warp) -> lane */
    gf2_map pick; /* lane -> dst register */
    bool xor_lanes;
} shuffle_plan;
bool layout_shuffle_plan(const layout *src, const layout *dst, shuffle_plan *out);

void layout_print(text *out, const layout *l); /* {register = [[0, 1]], lane = [...], warp = [...],
                                                   block = []} */
