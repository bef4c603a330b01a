/* SPDX-License-Identifier: MIT */
/* Random kernels in tile IR with layouts: chains of loads, shape changes, conversions, reductions,
 * dots, loops and stores over random linear layouts. Values are small integers in every type, so that
 * results are exact whatever the order of sums. */
#pragma once
#include "ir/ir.h"

enum { KERNEL_ARGS = 3 }; /* in, out: pointers; n: i32 */

typedef struct random_source { u64 state; } random_source;
u32 random_below(random_source *r, u32 n);

void random_order(random_source *r, u8 *bits, u32 n);
layout random_map(random_source *r, u32 warp_bits, u32 rank, const i64 *shape); /* any linear map */
layout random_layout(random_source *r, u32 warp_bits, u32 rank, const i64 *shape); /* any kind */

/* Builds tt.func @kernel into the module. Reads bytes [0, IN_BYTES) of `in`; writes `out`. */
ir_op *random_kernel(ir_module *m, random_source *r, u32 warp_bits, u32 steps);
