/* SPDX-License-Identifier: MIT */
/* Control flow of a function: predecessors and dominators. Blocks are numbered by block->id. */
#pragma once
#include "air/air.h"

typedef struct air_flow {
    u32 n;
    air_block **blocks;
    u32 *first_pred, *preds; /* edges into block i: preds[first_pred[i] .. first_pred[i + 1]) */
    u32 *pre, *size;         /* preorder number and size of the dominator subtree; size 0 = not reached */
} air_flow;
/* Numbers the blocks. Every block must end in its only terminator. Memory from the arena. */
air_flow air_flow_of(arena *a, const air_func *f);
static inline bool air_flow_reached(const air_flow *w, u32 block) { return w->size[block] != 0; }
static inline bool air_flow_dominates(const air_flow *w, u32 a, u32 b) {
    return w->size[b] == 0 || (w->size[a] != 0 && w->pre[b] - w->pre[a] < w->size[a]);
}
