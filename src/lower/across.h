/* SPDX-License-Identifier: MIT */
/* What tt.reduce and tt.scan share: the op taken apart, its region applied to scalars, and partial
 * values that simdgroups hand to each other. */
#pragma once
#include "lower/state.h"

typedef struct across {
    ir_op *op;
    u32 n;                 /* operands */
    u32 axis, axis_mask;   /* dimension, and its flat-index bits */
    const layout *l;       /* in which the operands are worked on; clean, see across.c */
    bool commutes;         /* every result is a commutative op of its own two arguments */
    i32 simd_kind;         /* tm.simd_reduce's, or -1 */
    ir_value ***v;         /* v[operand][register], to be changed at will */
} across;

/* Takes op apart and brings its operands to a clean layout; with `in_order` one whose axis bases are
 * single bits, as they also are when the region does not commute. */
tm_status across_start(lower *L, ir_op *op, bool in_order, across *r);
/* out = region(x, y): the region's ops are lowered anew with its arguments bound to scalars. */
tm_status across_combine(lower *L, const across *r, ir_value *const *x, ir_value *const *y,
                         ir_value **out);
ir_value *across_shuffle(lower *L, ir_value *v, u32 mask); /* of lane ^ mask, any scalar type */
ir_value *across_upper(lower *L, u32 bit);                 /* i1: this lane has the bit */

/* Places of partial values: [k][axis part of the warp][other warp bits][lane bits], counting only lane
 * and warp bits that hold different elements. */
typedef struct slots {
    spread write, read;       /* with and without the axis part */
    spread part;              /* the axis part alone */
    u32 lane_free, warp_free; /* threads with these bits hold copies and do not write */
    u32 bits;                 /* log2 of the slots of one part */
    u32 axis_bits;            /* log2 of the parts */
} slots;

slots across_slots(const across *r);
/* How many of `n` values per thread and operand may be handed over at once; 0: not even one. */
u32 across_chunk(lower *L, const across *r, const slots *s, u32 n);
/* Each simdgroup publishes v[operand][0 .. n-1]; from[operand] is then where to read. */
void across_publish(lower *L, const across *r, const slots *s, ir_value *const *const *v, u32 n,
                    ir_value **from);
/* Part `part` of value k of all operands, whose types are those of `like`. */
void across_read(lower *L, const across *r, const slots *s, ir_value *const *from, u32 k, u32 part,
                 ir_value *const *like, ir_value **out);
