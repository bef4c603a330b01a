/* SPDX-License-Identifier: MIT */
/* Meaning of scalar ops, shared by the two reference evaluators (tiles.c, threads.c). Values are bits
 * in a u64: integers zero-extended to their width, floats in their own encoding, pointers as addresses
 * in the evaluator's memory. */
#pragma once
#include "ir/ir.h"

/* Device buffers lie at their addresses in `memory`; threadgroup memory (threads.c) above them. */
enum { MEMORY_BYTES = 1 << 20, DEVICE_BYTES = 1 << 18 };

u64 scalar_mask(const ir_type *t, u64 bits);  /* to the type's width */
i64 scalar_signed(const ir_type *t, u64 bits);
/* False when the op is not one of these. `types` are the operands' (elements'). */
bool scalar_eval(const ir_op *op, const ir_type *result, const ir_type *const *types, const u64 *in,
                 u64 *out);
u64 memory_read(const u8 *memory, u64 address, u32 bytes);
void memory_write(u8 *memory, u64 address, u32 bytes, u64 bits);
/* tt.atomic_rmw's operation on 32 bits. */
u64 atomic_apply(i64 kind, u64 old, u64 value);

/* Runs the kernel on the memory, arguments given as bits; scratch and the answer live in `a`. NULL, or
 * why it could not. */
const char *run_tiles(arena *a, ir_op *func, const u64 *args, u8 *memory);
const char *run_threads(arena *a, ir_op *func, const u64 *args, u32 warps, u8 *memory);
