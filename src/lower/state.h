/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the state of one lowering and what a tile value became.
 *
 * A tensor is an array of per-thread scalars, one per register of its layout, or for fragment layouts
 * an array of simdgroup matrices, one per register pair, or both: each view is made from the other
 * when first asked for, right after the definition, so that it dominates every later use.
 * The old ops are moved aside and stay intact while the new ones are built; new ops always go to the
 * end of the current block, or into the function's head (lane and warp arithmetic, constants), which
 * dominates everything. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "tile/tile.h"

enum { LANE_BITS = 5, WARP_BITS_MAX = 5, MAX_REGS = 512, MAX_DEPTH = 128 };

typedef struct tensor {
    const layout *l;      /* NULL for scalars */
    const ir_type *elem;
    u32 n;                /* registers; 1 for scalars */
    ir_value **s;         /* n scalars, or NULL while there are only matrices */
    ir_value **mat;       /* n / 2 matrices, or NULL */
    ir_block *block;      /* where it was defined: the views go after `after`, */
    ir_op *after;         /* or to the head of `block` when that is NULL */
} tensor;

typedef struct lower {
    ir_module *m;
    pass_run *run;
    arena *a;             /* scratch: dies with the pass */
    ir_builder b;         /* at the end of the current block */
    ir_op *op;            /* the tile op being lowered, for diagnostics */
    ir_op *head_last;     /* last op of the function's head */
    ir_value *lane, *warp; /* i32 */
    u32 warp_bits;
    u32 depth;
    axis_table *axis;
    map *values;          /* tile value -> tensor */
    strmap *constants;    /* (type, bits) -> value in the head */
    strmap *spreads;      /* spread -> value in the head */
    map *owners;          /* free lane and warp bits -> predicate in the head */
    map *carried;         /* result or argument of scf.for and scf.if -> carried as matrices? */
    const ir_type *i1, *i8, *i32, *i64, *f32;
} lower;

typedef tm_status lower_fn(lower *L, ir_op *op);

/* What the bits of lane and warp id contribute to an index; see index.c. */
typedef struct spread {
    u32 lane[LANE_BITS], warp[WARP_BITS_MAX];
} spread;

/* values.c */
tm_status lower_check_type(lower *L, const ir_op *op, const ir_type *t);
/* A tensor of the type with unset scalars; NULL (with a diagnostic) when it cannot be held. */
tensor *tensor_new(lower *L, const ir_type *type);
tensor *tensor_make(lower *L, const layout *l, const ir_type *elem);
void tensor_bind(lower *L, const ir_value *v, tensor *t); /* definition point: here */
void tensor_bind_scalar(lower *L, const ir_value *v, ir_value *s);
void tensor_here(lower *L, tensor *t);
tensor *tensor_get(lower *L, const ir_value *v);   /* scalars not yet made */
tensor *tensor_scalars(lower *L, const ir_value *v); /* with scalars */
void tensor_need_scalars(lower *L, tensor *t);
void tensor_need_matrices(lower *L, tensor *t);
static inline ir_value *tensor_at(const tensor *t, u32 reg) { return t->s[t->l ? reg : 0]; }
ir_value *scalar_get(lower *L, const ir_value *v); /* of a scalar tile value */
ir_value *const_bits(lower *L, const ir_type *t, i64 bits); /* in the head, one per value */
ir_value *const_i32(lower *L, i64 value);
ir_value *zero_of(lower *L, const ir_type *t);
bool is_matrix_elem(const ir_type *t); /* f16, bf16, f32 */
const layout *keep_layout(lower *L, const layout *l);
const layout *blocked_layout(lower *L, const ir_type *t); /* a plain one for the shape */

/* Small builders at the current position. */
ir_value *make1(lower *L, enum ir_code code, const ir_type *t, u32 n, ir_value *const *operands);
ir_value *make_addptr(lower *L, ir_value *ptr, ir_value *offset);
ir_value *make_load(lower *L, const ir_type *t, ir_value *ptr, u32 align);
void make_store(lower *L, ir_value *ptr, ir_value *value, u32 align);
ir_value *make_select(lower *L, ir_value *c, ir_value *x, ir_value *y);
ir_value *make_vector(lower *L, u32 n, ir_value *const *scalars); /* n == 1: the scalar */
void split_vector(lower *L, ir_value *v, u32 n, ir_value **scalars);
ir_value *set_i32(lower *L, ir_value *v, const char *attr, i64 value); /* on v's op; returns v */
ir_op *if_open(lower *L, ir_value *cond, u32 n_results, const ir_type *const *types);
void if_else(lower *L, ir_op *op);
void if_close(lower *L, ir_op *op);
void make_yield(lower *L, u32 n, ir_value *const *values);
/* Values as they lie in memory or travel: i1 as i8 (memory only), pointers as i64. */
const ir_type *memory_type(lower *L, const ir_type *t);
ir_value *to_memory(lower *L, ir_value *v);
ir_value *from_memory(lower *L, ir_value *v, const ir_type *t);

/* index.c */
ir_value *spread_value(lower *L, const spread *s); /* i32 in the head; NULL when it is always 0 */
u32 spread_bits(const spread *s);                  /* OR of all contributions */
spread spread_of(const layout *l);
/* Value of index `reg` XOR the spread: `lw` is spread_value's, `bits` spread_bits'. */
ir_value *index_value(lower *L, ir_value *lw, u32 bits, u32 reg, i64 start);
u32 reg_index(const layout *l, u32 reg);
ir_value *owner_predicate(lower *L, u32 lane_mask, u32 warp_mask); /* NULL: everybody */
ir_value *owner_of(lower *L, const layout *l);
ir_value *one_thread(lower *L);
/* Register bits that hold consecutive flat-index bits from `shift` on, at most `max`, touched by
 * nothing else; returns how many. */
u32 register_run(const layout *l, u32 shift, u32 max, u8 *bits);
u32 spread_bits_of(u32 x, const u8 *bits, u32 n); /* bit i of x goes to bit bits[i] */

/* lower.c */
tm_status lower_block(lower *L, ir_block *from); /* all ops but the terminator, to the end of L->b */
tm_status refuse(lower *L, const ir_op *op);

/* convert.c, exchange.c */
tensor *convert(lower *L, tensor *t, const layout *to, bool as_matrices);
/* Through threadgroup memory, also where the layouts are equal and only owners hold the values. */
tensor *exchange(lower *L, tensor *t, const layout *to, bool as_matrices);
/* Puts a tensor into threadgroup memory in row-major order (i1 as i8, pointers as i64); it must fit
 * threadgroup_limit. Returns the pointer to its first element. */
ir_value *publish(lower *L, tensor *t);
u32 threadgroup_limit(const lower *L);
ir_value *make_alloc(lower *L, const ir_type *elem, u32 count); /* ptr<elem, 3> */

/* control.c */
bool is_matrix_value(lower *L, const ir_value *v); /* will be held as matrices */

lower_fn lower_shape, lower_splat, lower_make_range, lower_broadcast, lower_join, lower_split,
    lower_constant, lower_poison, lower_unsplat;
lower_fn lower_load, lower_store, lower_atomic_rmw, lower_atomic_cas;
lower_fn lower_reduce, lower_scan, lower_gather, lower_histogram, lower_dot, lower_convert;
lower_fn lower_for, lower_if, lower_while, lower_return, lower_barrier;
