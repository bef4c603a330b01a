/* SPDX-License-Identifier: MIT */
/* The performance model: counters of one launch and a chip's numbers (model_chip.def) to a range of
 * times. Deterministic: integers from the counters, then the same arithmetic each time. */
#pragma once
#include "vgpu/count/count.h"

typedef struct model_chip { const char *name; u8 family; u32 cores; double ghz[2], dram, slc_mb; char trust; } model_chip;
typedef struct model_family { u8 family; double coissue, half_rate; const char *confidence; } model_family;

enum model_part { PART_SIMPLE, PART_COMPLEX, PART_MATRIX, PART_L1, PART_TG, PART_L2, PART_DRAM, PART_LATENCY,
                  PART_LAUNCH, PART_COUNT };
extern const char *const model_part_names[PART_COUNT];

typedef struct model_estimate {
    const model_chip *chip;
    const model_family *family;
    double us[2];             /* everything overlaps; nothing does */
    double part[PART_COUNT][2];
    enum model_part bound[2]; /* the longest part at each end */
    u32 halfregs[2];          /* registers of a thread: estimate, and with room for the allocator; above
                               * 256, which is all there are, a kernel spills */
    u32 groups_per_core[2];   /* with fewer and with more registers */
    double occupancy[2];      /* of 3072 threads per core: low, high */
} model_estimate;

u32 model_chip_count(void);
const model_chip *model_chip_at(u32 i);
const model_chip *model_chip_find(const char *name); /* NULL: unknown; a NULL name is "m1" */
u32 model_resident_threads(u32 halfregs); /* on a core, with that many 16-bit registers each */
void model_run(const tm_counters *t, const model_chip *chip, model_estimate *out);
