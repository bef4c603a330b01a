/* SPDX-License-Identifier: MIT */
/* The pipeline is the table below, read from top to bottom; the reason for each line stands beside
 * it. Passes change one IR in place; three stages end where users like to look. What follows the
 * passes turns thread IR into AIR, checks it, and packs it. */
#include "compile/pipeline.h"
#include "air/emit/emit.h"
#include "air/metallib/metallib.h"
#include "compile/target.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "thread/thread.h"
#include "tile/tile.h"
#include <time.h>

typedef struct step {
    const pass_info *pass;
    enum stage stage; /* the stage this pass works towards */
} step;

static const step steps[] = {
    {&pass_inline, STAGE_TTIR},          /* one function: everything after is local */
    {&pass_canonicalize, STAGE_TTIR},    /* constexpr branches go before they are structured */
    {&pass_structure, STAGE_TTIR},       /* no cf branch from here on */
    {&pass_canonicalize, STAGE_TTIR},
    {&pass_cse, STAGE_TTIR},
    {&pass_licm, STAGE_TTIR},
    {&pass_canonicalize, STAGE_TTIR},    /* hoisting exposes foldable chains */
    {&pass_cse, STAGE_TTIR},
    {&pass_dce, STAGE_TTIR},
    {&pass_assign_layouts, STAGE_TTGIR},
    {&pass_cse, STAGE_TTGIR},            /* merges chains cloned for the same layout */
    {&pass_licm, STAGE_TTGIR},           /* conversions of invariants leave loops */
    {&pass_dce, STAGE_TTGIR},
    {&pass_lower, STAGE_TMIR},
    {&pass_canonicalize, STAGE_TMIR},    /* index arithmetic on register constants folds */
    {&pass_cse, STAGE_TMIR},
    {&pass_licm, STAGE_TMIR},
    {&pass_dce, STAGE_TMIR},
    {&pass_sink, STAGE_TMIR},            /* fragments are loaded where they are used: fewer registers */
    {&pass_plan, STAGE_TMIR},            /* before barriers: which accesses overlap is known after it */
    {&pass_barriers, STAGE_TMIR},
    {&pass_dce, STAGE_TMIR},
};
enum { N_PASSES = COUNT_OF(steps) };

enum { STEP_PARSE, STEP_PASSES, STEP_EMIT = STEP_PASSES + N_PASSES, STEP_RULES, STEP_BITCODE,
       STEP_METALLIB, STEP_COUNT };

u32 pipeline_step_count(void) { return STEP_COUNT; }

const char *pipeline_step_name(u32 index) {
    static const char *const last[] = {"emit", "rules", "bitcode", "metallib"};
    if (index == STEP_PARSE)
        return "parse";
    return index < STEP_EMIT ? steps[index - STEP_PASSES].pass->name : last[index - STEP_EMIT];
}

static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* The runner numbers dumps from 0 in each stage; users see one numbering. */
typedef struct dump_target {
    const tm_options *options;
    u32 base;
} dump_target;

static void forward_dump(void *data, u32 index, const char *pass, const char *at, size_t len) {
    const dump_target *d = data;
    d->options->on_dump(d->options->dump_data, d->base + index, pass, at, len);
}

static tm_status run_stage(compilation *c, enum stage stage, u32 *next) {
    const pass_info *passes[N_PASSES];
    u32 n = 0;
    while (*next + n < N_PASSES && steps[*next + n].stage == stage) {
        passes[n] = steps[*next + n].pass;
        n++;
    }
    dump_target dump = {c->options, *next};
    if (c->options->on_dump) {
        c->run.dump = forward_dump;
        c->run.dump_data = &dump;
    }
    c->run.time_ns = c->time_ns + STEP_PASSES + *next;
    TRY(pass_run_all(&c->run, c->ir, passes, n, &c->stopped));
    *next += n;
    if (c->options->keep_stages && !c->stopped)
        ir_print_module(&c->stage_text[stage], c->ir, IR_PRINT_LOCS);
    return 0;
}

static tm_status configure(compilation *c) {
    const tm_options *o = c->options;
    const tm_target_info *target = target_find(o->target);
    c->macos = o->macos ? o->macos : 15;
    u32 air_minor = target_air_minor(c->macos);
    u32 warps = o->num_warps ? o->num_warps : 4;
    if (!target)
        return diag_at(c->ctx, NULL, TM2901, o->target);
    if (!air_minor)
        return diag_at(c->ctx, NULL, TM2902, c->macos);
    if (!is_pow2(warps) || warps * target->simd_width > target->max_threads)
        return diag_at(c->ctx, NULL, TM2903, warps);
    if (o->stop_after) {
        bool known = false;
        for (u32 i = 0; i < STEP_COUNT; i++)
            known |= strcmp(pipeline_step_name(i), o->stop_after) == 0;
        if (!known)
            return diag_at(c->ctx, NULL, TM2904, o->stop_after);
    }
    c->run = (pass_run){
        .ctx = c->ctx,
        .scratch = arena_new(),
        .target = {.num_warps = warps,
                   .threadgroup_bytes = target->threadgroup_bytes,
                   .max_threads = target->max_threads,
                   .air_minor = air_minor,
                   .bf16_native = air_minor >= 6},
        .stop_after = o->stop_after,
        .verify = o->verify != 0,
        .dump_filter = o->dump,
    };
    c->time_ns = ARENA_ARRAY(c->ctx->arena, u64, STEP_COUNT);
    return 0;
}

/* Thread IR to a metallib. Each step's time goes to its row. */
static tm_status finish(compilation *c) {
    u64 t = now_ns(), end;
#define STEP_DONE(step) (end = now_ns(), c->time_ns[step] = end - t, t = end)
    c->air = air_emit(&c->run, c->ir, c->macos);
    if (!c->air)
        return -1;
    STEP_DONE(STEP_EMIT);
    TRY(air_verify(c->air));
    TRY(air_check_rules(c->air, c->run.target.air_minor));
    STEP_DONE(STEP_RULES);
    TRY(air_write_bitcode(c->air, &c->bitcode));
    STEP_DONE(STEP_BITCODE);
    TRY(metallib_write_kernel(c->ctx, c->kernel, c->macos, (const u8 *)c->bitcode.at,
                              c->bitcode.len, &c->metallib));
    STEP_DONE(STEP_METALLIB);
#undef STEP_DONE
    return 0;
}

tm_status pipeline_compile(compilation *c, const char *ttir, size_t len, const char *name) {
    TRY(configure(c));
    u64 start = now_ns();
    c->ir = ir_parse(c->ctx, ttir, len, name);
    if (!c->ir)
        return -1;
    TRY(ir_verify(c->ir));
    c->time_ns[STEP_PARSE] = now_ns() - start;
    const ir_op *func = ir_module_kernel(c->ir);
    if (!func)
        return -1;
    c->kernel = ir_attr_get(func, "sym_name")->text;
    u32 next = 0;
    for (enum stage s = STAGE_TTIR; s < STAGE_COUNT && !c->stopped; s++)
        TRY(run_stage(c, s, &next));
    return c->stopped ? 0 : finish(c);
}

void compilation_free(compilation *c) {
    for (u32 i = 0; i < STAGE_COUNT; i++)
        text_free(&c->stage_text[i]);
    text_free(&c->bitcode);
    text_free(&c->metallib);
    if (c->air)
        air_module_free(c->air);
    if (c->ir)
        ir_module_free(c->ir);
    arena_free(c->run.scratch);
}
