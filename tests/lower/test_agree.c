/* SPDX-License-Identifier: MIT */
/* Lowered kernels must do what their tile IR means: random kernels run on both reference evaluators
 * (tiles.c, threads.c) and must leave the same memory. A failure prints the seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "ir/text.h"
#include "lower/lower.h"
#include "random_kernel.h"
#include "scalar.h"
#include "tile/tile.h"

enum { IN_AT = 1 << 12, OUT_AT = 1 << 16 };

static const char *first_message(const tm_ctx *ctx) { return ctx->first ? ctx->first->message : "?"; }

static void fill(random_source *r, u8 *memory) {
    for (u32 i = 0; i < MEMORY_BYTES; i += 4) /* 3.0 where a float is read */
        memory_write(memory, i, 4, 0x40400000);
    for (u32 i = IN_AT; i < OUT_AT; i++)
        memory[i] = (u8)(random_below(r, 7) - 2);
}

/* Registers beyond the limit and the like are refusals, not errors. */
static bool is_refusal(const tm_ctx *ctx) { return ctx->first && ctx->first->code == TM2205; }

static void check_seed(u64 seed, u32 *lowered) {
    random_source r = {seed * 0x9E3779B97F4A7C15ull + 1};
    tm_ctx *ctx = ctx_new();
    arena *a = arena_new();
    ir_module *m = ir_module_new(ctx);
    u32 warp_bits = random_below(&r, 4), steps = 1 + random_below(&r, 8);
    ir_op *func = random_kernel(m, &r, warp_bits, steps);
    u8 *want = ARENA_ARRAY(a, u8, MEMORY_BYTES), *got = ARENA_ARRAY(a, u8, MEMORY_BYTES);
    fill(&r, want);
    memcpy(got, want, MEMORY_BYTES);
    const u64 args[KERNEL_ARGS] = {IN_AT, OUT_AT, random_below(&r, 80)};
    const char *error = run_tiles(a, func, args, want);
    if (error)
        fail_msg("seed %llu: tiles: %s", (unsigned long long)seed, error);
    pass_run run = {.ctx = ctx, .scratch = a};
    run.target.num_warps = 1u << warp_bits;
    run.target.threadgroup_bytes = random_below(&r, 3) ? 32768 : 2048;
    /* The clean-up that follows must change nothing either. */
    const pass_info *const passes[] = {&pass_lower, &pass_canonicalize, &pass_cse, &pass_licm, &pass_dce,
                                       NULL};
    u8 *before = arena_dup(a, got, MEMORY_BYTES);
    for (u32 k = 0; passes[k]; k++) {
        if (passes[k]->run(&run, m) != 0) {
            if (k || !is_refusal(ctx))
                fail_msg("seed %llu: %s: %s", (unsigned long long)seed, passes[k]->name, first_message(ctx));
            break;
        }
        *lowered += k == 0;
        if (k && passes[k + 1])
            continue;
        memcpy(got, before, MEMORY_BYTES);
        error = run_threads(a, func, args, 1u << warp_bits, got);
        if (error)
            fail_msg("seed %llu: after %s: %s", (unsigned long long)seed, passes[k]->name, error);
        for (u32 i = 0; i < DEVICE_BYTES; i++)
            if (want[i] != got[i])
                fail_msg("seed %llu: after %s byte %u of out is %u, not %u", (unsigned long long)seed,
                         passes[k]->name, i - OUT_AT, got[i], want[i]);
    }
    ir_module_free(m);
    arena_free(a);
    ctx_free(ctx);
}

/* TM_SEEDS=first:count runs others. */
static void lowered_kernels_do_what_tiles_mean(void **state) {
    unsigned long long first = 0, count = 300;
    u32 lowered = 0;
    const char *seeds = getenv("TM_SEEDS");
    if (seeds)
        sscanf(seeds, "%llu:%llu", &first, &count);
    for (u64 seed = first; seed < first + count; seed++)
        check_seed(seed, &lowered);
    assert_true(lowered * 10 >= count * 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lowered_kernels_do_what_tiles_mean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
