/* SPDX-License-Identifier: MIT */
/* Counters. A kernel decoded with `count` has a `count` word at the head of each block, `count_access`
 * before each memory operation and `count_branch` before each branch that may split lanes; nothing
 * else differs, and a kernel decoded without has none of them. What a block holds is known when it is
 * decoded (count_plan.c), so running it adds one and its active lanes (count_run.c); totals, classes
 * and lines are worked out when asked for (count_sum.c, count_print.c).
 * All sums are of integers and commute: results do not depend on the number of host threads. */
#pragma once
#include "vgpu/code.h"

enum count_class {
#define COUNT_CLASS(id, label, pipe, cycles, trust, what) CC_##id,
#include "vgpu/count/class.def"
#undef COUNT_CLASS
    CC_COUNT
};
enum count_pipe { PIPE_FREE, PIPE_SIMPLE, PIPE_COMPLEX, PIPE_MATRIX, PIPE_MEMORY, PIPE_CONTROL, PIPE_COUNT };
typedef struct count_class_info {
    const char *label, *what;
    u8 pipe;
    char trust;
    double cycles;
} count_class_info;
extern const count_class_info count_classes[CC_COUNT];
u8 count_class_of(u16 op); /* CC_COUNT when vops.def's row has none */

enum count_total {
#define COUNT_TOTAL(name, what) CT_##name,
#include "vgpu/count/total.def"
#undef COUNT_TOTAL
    CT_COUNT
};
extern const struct count_total_info { const char *name, *what; } count_totals[CT_COUNT];

/* ---- What decode notes ------------------------------------------------------------------------- */
typedef struct count_mix { u32 block, site; u16 op; u8 cls; u32 n; } count_mix;
typedef struct count_site { u32 site; bool store, atomic; } count_site; /* one access */
typedef struct count_plan {
    u32 n_blocks, n_mix, n_access, n_branch;
    count_mix *mix;        /* in the order of blocks */
    count_site *access;
    u32 *branch;           /* site of each counted branch */
    u32 *branch_block;     /* blocks that end in a conditional branch, and where */
    u32 *branch_site, n_branch_block;
    u32 *block_weight;     /* cycles of a block, in sixteenths */
    bool *constant_seg;    /* segments that are constant address space */
    u32 halfregs;          /* 16-bit registers alive at once, a lower estimate */
} count_plan;

/* ---- What running adds ------------------------------------------------------------------------- */
typedef struct count_block { u64 runs, lanes; } count_block;
typedef struct count_access {
    u64 device, device_lanes, device_bytes, device_lines;
    u64 constant;
    u64 tg, tg_lanes, tg_bytes, tg_cycles, tg_ideal;
    u64 thread;
} count_access;
typedef struct count_group { u32 weight, lines; } count_group; /* of a threadgroup, for the trace */
enum { COUNT_GROUPS = 1 << 16, COUNT_LINE = 128 };

/* Lines touched in one launch: a bit each, [0] read, [1] written. */
typedef struct count_foot { u64 *bits[2]; u64 lines; } count_foot;

/* One worker's share of a launch. */
typedef struct count_tally {
    count_block *block;
    count_access *access;
    u64 *divergent;        /* per counted branch */
    count_foot *foot;      /* per segment, shared with the other workers */
    u64 groups, simdgroups, weight, lines;
    u32 banks, bank_bytes;
} count_tally;

struct tm_counters {
    const vgpu_kernel *k;
    count_tally sum;
    u64 launches, foot_lines[2];
    u64 largest_foot;      /* lines touched in one launch, the most of all launches */
    u32 grid[3], group[3]; /* of the last launch */
    u32 tg_bytes;
    count_group *group_of; /* of the last launch, in order; NULL when there were too many */
    u32 n_group_of;
};

/* count_plan.c: called by the encoder. */
struct vbuild;
struct vinst;
bool count_plan_kernel(struct vbuild *b);
bool count_is_access(u16 op);
/* count_run.c: called by the handlers and by launches. */
void vcount_block(vctx *c, u32 block, u32 mask);
void vcount_access(vctx *c, const vins *access, u32 mask, u32 number);
void vcount_branch(vctx *c, u32 yes, u32 mask, u32 number);
count_tally *count_begin(const vgpu_kernel *k, tm_counters *t, count_foot *foot); /* NULL: no memory */
void count_end(tm_counters *t, count_tally *w, const vgpu_kernel *k); /* t may be NULL */
count_foot *count_foot_new(const vgpu_kernel *k, const vseg *segs);
void count_foot_end(tm_counters *t, count_foot *foot, const vgpu_kernel *k);
void count_group_end(tm_counters *t, count_tally *w, u64 group, u64 weight, u64 lines);
tm_status count_launch(tm_counters *t, const tm_launch_params *p, u32 tg_bytes);

tm_counters *counters_new(const vgpu_kernel *k);
void counters_free(tm_counters *t);
void counters_reset(tm_counters *t);
/* count_sum.c */
void count_total_all(const tm_counters *t, u64 out[CT_COUNT]);
void count_class_all(const tm_counters *t, u64 runs[CC_COUNT], u64 lanes[CC_COUNT]);
typedef struct count_line {
    const char *file, *what; /* file is NULL for a row of one instruction */
    u32 line, order;
    u64 instructions, lanes, by_class[CC_COUNT];
    u64 branches, divergent, device_bytes, device_lines, tg_bytes, tg_cycles, conflicts;
    double cycles;
} count_line;
count_line *count_lines(const tm_counters *t, u32 *n); /* free() it; most cycles first */
/* count_print.c: "table", "json", "trace"; chip may be NULL. False when the form or chip is unknown. */
bool count_print(text *out, const tm_counters *t, const char *form, const char *chip);
