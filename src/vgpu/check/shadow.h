/* SPDX-License-Identifier: MIT */
/* Shadow memory. A granule (the smallest access of the kernel, 1 to 4 bytes) has a cell: its last writer and
 * reader. Eight granules in a row make a block, which has one cell while all its granules are in the same
 * state: whole rows of memory cost a step per block. An access to a part of a block splits it.
 *
 * A word says who and when: when 47 | simdgroup 5 | clock 10 | flags 2. `when` is, in threadgroup memory, a
 * number of the barriers passed so far; in device memory launch 8 | threadgroup 22 | barriers passed 17. */
#pragma once
#include "base/base.h"

enum { BLOCK_GRANULES = 8, ALL_GRANULES = 255, PAGE_BLOCKS = 512, PAGE_GRANULES = PAGE_BLOCKS * BLOCK_GRANULES };

#define WORD_ATOMIC (1ull << 1)  /* of a writer: by an atomic */
#define WORD_GROUPS (1ull << 1)  /* of a reader: by several threadgroups */
#define WORD_SIMDS (1ull << 0)   /* by several simdgroups at the same `when` */
#define WORD_WHEN(w) ((w) >> 17)
#define WORD_SIMD(w) ((u32)((w) >> 12) & 31)
#define WORD_CLOCK(w) ((u32)((w) >> 2) & 1023)
#define SAME_SIMD(differ) ((differ) >> 12 == 0)  /* of two words' XOR: the same simdgroup, and when */
#define SAME_GROUP(differ) ((differ) >> 34 == 0) /* of device memory: the same threadgroup of the launch */
#define WORD_LAUNCH(w) ((u32)((w) >> 56)) /* of device memory, as the next two */
#define WORD_GROUP(w) ((u32)((w) >> 34) & LAST_GROUP)
#define WORD_EPOCH(w) ((u32)((w) >> 17) & 0x1FFFF)
enum { LAST_EPOCH = 0x1FFFF, LAST_CLOCK = 1023, LAST_LAUNCH = 255, LAST_GROUP = 0x3FFFFF };

typedef struct vcell {
    u64 write, read;
    u32 write_site, read_site;
} vcell;
typedef struct vmap {
    vcell *block;
    vcell *cell;   /* of split blocks; NULL until one is */
    u8 *split;     /* by block */
    u32 n_blocks;
} vmap;
