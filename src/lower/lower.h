/* SPDX-License-Identifier: MIT */
/* Tile IR with layouts to thread IR: one thread's program. Tensors become registers (scalars,
 * vectors, matrices), movement between threads becomes shuffles and threadgroup memory. */
#pragma once
#include "ir/pass.h"

extern const pass_info pass_lower; /* tensors gone, see docs/ir.md for the thread level */
