/* SPDX-License-Identifier: MIT */
/* Immediate dominators of the blocks of one region (Lengauer and Tarjan, with path compression). */
#pragma once
#include "ir/ir.h"

typedef struct ir_dominance {
    u32 n;             /* reachable blocks */
    ir_block **blocks; /* in depth-first preorder; the entry is 0 */
    u32 *idom;         /* number of the immediate dominator; the entry's is 0 */
} ir_dominance;

/* Sets block->mark to the block's number + 1, 0 for blocks that cannot be reached. */
ir_dominance ir_dominators(arena *a, const ir_region *region);
