/* SPDX-License-Identifier: MIT */
/* What a launch is made of, between run.c (many threadgroups, on threads) and group.c (one of them). */
#pragma once
#include "vgpu/check/check.h"
#include "vgpu/count/count.h"
#include <pthread.h>

/* A threadgroup's place in the grid and its own size: less than the launch's at a ragged edge. */
typedef struct group_at {
    u32 pos[3], size[3], threads, n_simd;
} group_at;
typedef struct vworker {
    struct vworker *next;
    vseg *segs;
    vctx *ctx;
    u32 n_ctx;
    u8 *tg;
    size_t tg_room;
    vcheck *check;        /* NULL without checks that need guards */
    group_at at;          /* the threadgroup that runs, */
    u64 number, turn;     /* which of the grid it is, and how many barriers it has passed */
} vworker;
typedef struct launch {
    tm_ctx *ctx;
    bool guards;          /* checks by guards */
    bool turns;           /* simdgroups take turns at each access */
    tm_status found;
    const vgpu_kernel *k;
    const tm_launch_params *p;
    vexec_fn exec;
    u64 total, max_steps, *buffers;  /* per parameter: pointer, for BUFFER and THREADGROUP */
    const vseg *segs;
    u64 tg_bytes;
    u32 n_simd, n_ctx, threads;
    u64 next;             /* atomic */
    u64 fault_group;      /* atomic; total when none */
    pthread_mutex_t lock;
    vfault fault;
    bool out_of_memory;
    tm_counters *counters; /* NULL: not asked for */
    count_foot *foot;
    u32 atomic_lock;      /* see vctx */
    vwatch watch;         /* what loops that wait for something look at */
} launch;

/* Runs threadgroup `number` on a worker. NULL, or what ended it. */
vfault *vgroup_run(const launch *l, vworker *w, u64 number);
/* The same in steps, for threadgroups that take turns too: each step gives all simdgroups a turn. The worker has a
 * set of registers for each of them. */
enum group_state { GROUP_MOVES, GROUP_DONE, GROUP_STUCK /* all wait for what others may change */ };
void vgroup_start(const launch *l, vworker *w, u64 number);
vfault *vgroup_step(const launch *l, vworker *w, enum group_state *state);
vfault *vgroup_stuck(vworker *w); /* nobody is left who could change anything */
