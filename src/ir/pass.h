/* SPDX-License-Identifier: MIT */
/* Passes as data, and the runner: order, timing, dumps in input syntax, verification after each pass,
 * stop-after for bisecting. A pass changes the module in place and returns 0, or -1 with a
 * diagnostic. Scratch memory comes from run->scratch, which the runner rewinds after each pass. */
#pragma once
#include "ir/ir.h"

typedef struct pass_run pass_run;
typedef struct pass_info {
    const char *name;   /* "canonicalize" */
    const char *doc;    /* one line */
    tm_status (*run)(pass_run *run, ir_module *m);
} pass_info;

/* What passes need to know about the target and the launch; filled by the compile entry. */
typedef struct pass_target {
    u32 num_warps;        /* 1..32 */
    u32 threadgroup_bytes; /* limit */
    u32 max_threads;      /* per threadgroup */
    u32 air_minor;        /* 5..8 for AIR 2.5..2.8 */
    bool bf16_native;     /* AIR >= 2.6 */
} pass_target;

struct pass_run {
    tm_ctx *ctx;
    arena *scratch;
    pass_target target;
    /* results passes leave for the emitter and the launcher */
    u32 threadgroup_bytes; /* used, from threadgroup planning */
    /* options */
    const char *stop_after;             /* NULL or a pass name */
    bool verify;                        /* after each pass */
    /* Called after each pass that `dump_filter` (NULL none, "all", or comma list) selects. */
    const char *dump_filter;
    void (*dump)(void *data, u32 index, const char *pass, const char *text, size_t len);
    void *dump_data;
    /* nanoseconds per pass, filled by the runner; room for `n` rows */
    u64 *time_ns;
};

/* Runs the table in order. 0, or -1 with a diagnostic that names the failing pass where it is a
 * verifier failure. *stopped (may be NULL) tells whether stop_after ended the run. */
tm_status pass_run_all(pass_run *run, ir_module *m, const pass_info *const *passes, u32 n,
                       bool *stopped);
