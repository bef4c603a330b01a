/* SPDX-License-Identifier: MIT */
/* Tile-level passes: from the frontend's raw module to one function of clean tile IR whose tensors
 * carry layouts. */
#pragma once
#include "ir/pass.h"

extern const pass_info pass_inline;         /* tt.call gone, one public function */
extern const pass_info pass_structure;      /* cf branches of early returns become scf */
extern const pass_info pass_canonicalize;   /* folding, canonical forms, dead code, to a fixpoint */
extern const pass_info pass_cse;            /* dominance-scoped; also serves thread IR */
extern const pass_info pass_licm;           /* pure ops leave loops; also serves thread IR */
extern const pass_info pass_dce;            /* unused pure ops and loop-carried values go */
extern const pass_info pass_assign_layouts; /* every tensor type gets a #ttg.linear encoding */
/* The invariants of tile IR with layouts, op by op (21xx). 0 or -1 with diagnostics. */
tm_status layouts_verify(ir_module *m);

/* Axis analysis: what is known of integer and pointer tensors (and scalars), per dimension. */
enum { AXIS_MAX_RANK = 16 };
typedef struct axis_info {
    u8 rank;                        /* 1 for scalars */
    u32 contiguity[AXIS_MAX_RANK];  /* aligned runs of this length count up by 1 (pointers: by one element) */
    u32 divisibility[AXIS_MAX_RANK];/* the first element of each such run is a multiple of this (pointers: bytes); power of 2 */
    u32 constancy[AXIS_MAX_RANK];   /* aligned runs of this length are equal */
    u32 step;                       /* of counting up: 1; for pointers the bytes of an element */
    bool constant;
    i64 value;                      /* when constant: every element */
} axis_info;
typedef struct axis_table axis_table;
/* Analyses a function; results stay valid until it changes. In `a`. */
axis_table *axis_analyze(arena *a, ir_op *func);
const axis_info *axis_get(const axis_table *t, const ir_value *v);
/* Largest power of two of elements that one thread may access at once along dimension d through
 * pointer tensor `ptr` (with mask, or NULL), at most 16 bytes, alignment proven. */
u32 axis_vector(const axis_table *t, const ir_value *ptr, const ir_value *mask, u32 d);
