/* SPDX-License-Identifier: MIT */
/* Constant evaluation of scalar arithmetic, on bits as ir_constant_bits gives them: integers
 * sign-extended (i1: 0 or 1), floats in their own encoding. */
#pragma once
#include "ir/ir.h"

/* Computes op's only result from its operands' bits. False when the op does not fold: the result would
 * be poison or a NaN, depends on the target (subnormals that hardware flushes), or is not exact. */
bool fold_op(const ir_op *op, const i64 *in, i64 *out);
/* value brought into the form above for an integer type of `width` bits */
i64 fold_wrap(i64 value, u32 width);
