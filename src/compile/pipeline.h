/* SPDX-License-Identifier: MIT */
/* The way of a kernel: TTIR text to a metallib, as one table of passes and four closing steps. */
#pragma once
#include "air/air.h"
#include "base/text.h"
#include "ir/pass.h"
#include "tritonmetal.h"

enum stage { STAGE_TTIR, STAGE_TTGIR, STAGE_TMIR, STAGE_COUNT };

typedef struct compilation {
    tm_ctx *ctx;
    const tm_options *options;
    pass_run run;
    u32 macos;
    ir_module *ir;
    air_module *air;            /* NULL when stopped before emission */
    text stage_text[STAGE_COUNT];
    text bitcode, metallib;
    const char *kernel;         /* the function's name */
    u64 *time_ns;               /* one per pipeline_step_name */
    bool stopped;               /* by stop_after */
} compilation;

u32 pipeline_step_count(void);
const char *pipeline_step_name(u32 index); /* "parse", the passes in order, "emit", "rules", ... */
/* Fills c->ir and, unless stopped, everything down to c->metallib. */
tm_status pipeline_compile(compilation *c, const char *ttir, size_t len, const char *name);
/* The source line of each instruction of the kernel, as text. */
void lines_print(text *out, const air_module *m, const char *kernel);
void compilation_free(compilation *c);
