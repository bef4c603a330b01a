/* SPDX-License-Identifier: MIT */
/* One kernel, launched by several host threads at the same time, each launch with helper threads of its own:
 * what is shared (workers, counters of a launch, device atomics, the fault that is reported) is the same
 * as with one. ThreadSanitizer sees the accesses here (.ci/test tsan). */
#include "kit.h"
#include "vgpu/count/count.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LAUNCHERS = 3, ROUNDS = 3, GROUPS = 2000, THREADS = 64, FIRST_BAD = 700 };
typedef struct result {
    const vgpu_kernel *kernel;
    u32 *shared, *out;    /* an atomic counter of all launches; an element per thread */
    size_t room;
    tm_counters *counters;
    char *said;           /* of the first launch that failed */
    u32 failed;
} result;

/* out[thread] = the number of its neighbour in the other simdgroup, through threadgroup memory. */
static void build(kit *k) {
    const u32 spaces[] = {1, 1, 3};
    kit_begin(k, 3, spaces, kit_i32);
    air_value *in = kit_bin(k, AIR_ADD, kit_bin(k, AIR_SHL, k->simd, kit_int(k, k->i32, 5)), k->lane);
    air_value *first = kit_bin(k, AIR_MUL, k->group, kit_int(k, k->i32, THREADS));
    air_value *zero = kit_int(k, k->i32, 0), *device = kit_int(k, k->i32, 2), *yes = kit_int(k, k->i1, 1);
    kit_store(k, kit_at(k, 2, in), kit_bin(k, AIR_ADD, first, in));
    kit_call(k, "air.wg.barrier", k->none, 2, (air_value *[]){device, kit_int(k, k->i32, 1)});
    air_value *other = kit_load(k, kit_at(k, 2, kit_bin(k, AIR_XOR, in, kit_int(k, k->i32, 32))));
    kit_call(k, "air.atomic.global.add.u.i32", k->i32, 5,
             (air_value *[]){k->buffer[0], kit_int(k, k->i32, 1), zero, device, yes});
    kit_store(k, kit_at(k, 1, kit_bin(k, AIR_ADD, first, in)), other);
    kit_ret(k);
}
static void *launch_some(void *data) {
    result *r = data;
    kit own;
    build(&own); /* reading and decoding share nothing either */
    vgpu_kernel_free(kit_decode(&own));
    kit_end(&own);
    for (u32 round = 0; round < ROUNDS; round++) {
        tm_ctx *ctx = ctx_new();
        tm_arg args[] = {{TM_ARG_BUFFER, 0, r->shared, 4, 0}, {TM_ARG_BUFFER, 1, r->out, r->room, 0},
                         {TM_ARG_THREADGROUP, 2, NULL, THREADS * 4, 0}};
        tm_launch_params p = {.grid = {GROUPS, 1, 1}, .group = {THREADS, 1, 1}, .args = args, .n_args = 3,
                              .threads = 3, .counters = r->counters};
        if (vgpu_run(ctx, r->kernel, &p) != 0 && !r->failed++)
            r->said = strdup(ctx->first->note ? ctx->first->note : "");
        ctx_free(ctx);
    }
    return NULL;
}
static u64 together(kit *k, vgpu_checks checks, u32 groups_of_room, result *r) {
    u32 shared = 0;
    pthread_t ids[LAUNCHERS];
    vgpu_kernel *kernel = vgpu_decode(k->ctx, k->m, NULL, 0, checks, (vgpu_numerics){0});
    assert_non_null(kernel);
    for (u32 i = 0; i < LAUNCHERS; i++) {
        r[i] = (result){.kernel = kernel, .shared = &shared, .room = (size_t)groups_of_room * THREADS * 4};
        r[i].out = calloc(GROUPS * THREADS, 4);
        r[i].counters = checks.count ? counters_new(kernel) : NULL;
        assert_int_equal(pthread_create(&ids[i], NULL, launch_some, &r[i]), 0);
    }
    for (u32 i = 0; i < LAUNCHERS; i++)
        pthread_join(ids[i], NULL);
    for (u32 i = 0; i < LAUNCHERS; i++) {
        for (u32 t = 0; t < groups_of_room * THREADS && !r[i].failed; t++)
            if (r[i].out[t] != (t ^ 32))
                fail_msg("thread %u has %u", t, r[i].out[t]);
        free(r[i].out);
    }
    for (u32 i = 0; i < LAUNCHERS && checks.count; i++) {
        u64 total[CT_COUNT];
        count_total_all(r[i].counters, total);
        assert_int_equal(total[CT_device_write_bytes], (u64)ROUNDS * GROUPS * THREADS * 8); /* atomics too */
        counters_free(r[i].counters);
    }
    vgpu_kernel_free(kernel);
    return shared;
}
static void test_launches_at_the_same_time(void **state) {
    const vgpu_checks plain = {.bounds = true, .barriers = true}, counting = {.bounds = true, .count = true};
    vgpu_checks all;
    const char *bad;
    int len;
    assert_true(vgpu_checks_parse("bounds,races,uninit,progress", &all, &bad, &len));
    const vgpu_checks how[] = {plain, counting, all};
    for (u32 i = 0; i < COUNT_OF(how); i++) {
        kit k;
        result r[LAUNCHERS];
        build(&k);
        u64 shared = together(&k, how[i], GROUPS, r);
        for (u32 l = 0; l < LAUNCHERS; l++)
            assert_int_equal(r[l].failed, 0);
        assert_int_equal(shared, LAUNCHERS * ROUNDS * GROUPS * THREADS);
        kit_end(&k);
    }
}
/* Whichever thread comes to a bad threadgroup first, the lowest is reported. */
static void test_the_lowest_fault_is_reported(void **state) {
    kit k;
    result r[LAUNCHERS];
    build(&k);
    together(&k, (vgpu_checks){.bounds = true, .barriers = true}, FIRST_BAD, r);
    for (u32 i = 0; i < LAUNCHERS; i++) {
        assert_int_equal(r[i].failed, ROUNDS);
        assert_string_equal(r[i].said, "threadgroup (700, 0, 0), simdgroup 0, lanes 0-31");
        free(r[i].said);
    }
    kit_end(&k);
}
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches_at_the_same_time),
                                       cmocka_unit_test(test_the_lowest_fault_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
