/* SPDX-License-Identifier: MIT */
/* The virtual GPU: decodes one AIR kernel to lane bytecode and runs it. Knows AIR only, nothing of
 * the compiler. The public API (tritonmetal.h) is a thin layer over this. */
#pragma once
#include "air/air.h"
#include "vgpu/numerics.h"
#include "tritonmetal.h"

typedef struct vgpu_kernel vgpu_kernel;
/* Without `bounds` bad accesses are dropped; without `barriers` a simdgroup waits when some of its lanes
 * do, at whatever barrier, and one that has ended counts as waiting. `count`: see count.h. `turns`: with places for round robin. */
typedef struct vgpu_checks {
    bool bounds, align, races, uninit, barriers, exits, lanes, shifts, divides, converts, progress, schedules,
        numerics, count, turns;
    u32 muted; /* reports that are not made: bits of the codes in check/report.c */
} vgpu_checks;
/* A comma list of names; -NAME takes a check out again, -CODE (-3302) one report. Without a list bounds and
 * barriers. False: `bad` is none. */
bool vgpu_checks_parse(const char *list, vgpu_checks *out, const char **bad, int *bad_len);

/* Does not keep the module. NULL with 30xx diagnostics (unsupported intrinsic by name, texture, ...). */
vgpu_kernel *vgpu_decode(tm_ctx *ctx, air_module *m, const tm_constant_value *constants,
                         u32 n_constants, vgpu_checks checks, vgpu_numerics numerics);
void vgpu_kernel_free(vgpu_kernel *k);
tm_status vgpu_run(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *params);
/* Source lines of its instructions (lines.c says how they are written). Not while it runs. */
tm_status vgpu_set_lines(vgpu_kernel *k, const char *table, size_t len);
void vgpu_print(text *out, const vgpu_kernel *k); /* the bytecode listing */
const char *vgpu_isa(void);                       /* "avx512", "avx2", "neon" or "base"; "none": see isa.c */
