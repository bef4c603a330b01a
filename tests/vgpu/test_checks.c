/* SPDX-License-Identifier: MIT */
/* Checks of what Triton cannot express: barriers that some threads miss, threadgroup memory without barriers or
 * read before it is written, shuffles from lanes that are away, matrices with lanes missing, pointers out of
 * nothing. Each broken kernel has a correct twin, made by the same function, on which all checks are silent.
 * TM_TEST_WITHOUT=-3301 adds this word to each list of checks: then a test must fail (tests/checks/mutations.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "kit.h"

static u32 out[256], data[256];

static tm_status run_with(kit *k, const char *checks, u32 groups, u32 threads) {
    vgpu_checks on;
    const char *bad;
    int len;
    char list[80];
    const char *without = getenv("TM_TEST_WITHOUT");
    snprintf(list, sizeof list, "%s,%s", checks, without ? without : "none");
    assert_true(vgpu_checks_parse(list, &on, &bad, &len));
    vgpu_kernel *g = vgpu_decode(k->ctx, k->m, NULL, 0, on, (vgpu_numerics){0});
    assert_non_null(g);
    tm_launch_params p = {.grid = {groups, 1, 1}, .group = {threads, 1, 1}, .args = k->args,
                          .n_args = k->n_buffers, .max_steps = 100000};
    tm_status s = vgpu_run(k->ctx, g, &p);
    vgpu_kernel_free(g);
    return s;
}
static bool has_code(const kit *k, int code) {
    for (const diag *d = k->ctx->first; d; d = d->next)
        if (diag_number(d->code) == code)
            return true;
    return false;
}
typedef void (*build_fn)(kit *k, bool broken);
/* The check finds the broken kernel alone and among all; all are silent on the twin; without it (NULL: it is
 * always on) so is the rest, and so are all but this one report. */
static void judge(build_fn build, const char *check, int code, u32 groups, u32 threads, const char *without) {
    char but[16];
    snprintf(but, sizeof but, "all,-%d", code);
    const char *lists[] = {check, "all", "all", without, code == 3401 ? NULL : but};
    for (u32 i = 0; i < COUNT_OF(lists); i++) {
        kit k;
        if (!lists[i])
            continue;
        build(&k, i != 2);
        tm_status s = run_with(&k, lists[i], groups, threads);
        if (i < 2 && (s == 0 || !has_code(&k, code)))
            fail_msg("%s does not find TM%d, but %d: %s", lists[i], code, kit_code(&k), k.ctx->first->message);
        if (i == 2 && s != 0)
            fail_msg("the twin is not silent: %s", k.ctx->first ? k.ctx->first->message : "?");
        if (i > 2)
            assert_false(has_code(&k, code));
        kit_end(&k);
    }
}
static void begin_tg(kit *k) {
    const u32 spaces[] = {1, 3};
    kit_begin(k, 2, spaces, kit_i32);
    kit_bind(k, 0, out, sizeof out);
    kit_bind(k, 1, NULL, 1024);
    k->args[1].index = 1;
}
static air_value *thread_number(kit *k) {
    return kit_bin(k, AIR_ADD, kit_bin(k, AIR_SHL, k->simd, kit_int(k, k->i32, 5)), k->lane);
}
static void barrier(kit *k) {
    air_value *args[] = {kit_int(k, k->i32, 2), kit_int(k, k->i32, 1)};
    kit_call(k, "air.wg.barrier", k->none, 2, args);
}

/* Neighbours' values through threadgroup memory, with and without a barrier. */
static void build_exchange(kit *k, bool broken) {
    begin_tg(k);
    air_value *t = thread_number(k);
    kit_store(k, kit_at(k, 1, t), t);
    if (!broken)
        barrier(k);
    air_value *other = kit_bin(k, AIR_XOR, t, kit_int(k, k->i32, 32));
    air_value *v = kit_load(k, kit_at(k, 1, other));
    if (broken)
        barrier(k);
    kit_store(k, kit_at(k, 0, t), v);
    kit_ret(k);
}
static void test_threadgroup_race(void **state) { judge(build_exchange, "races", 3301, 2, 64, "bounds,barriers"); }

/* The next round's store comes before the last one's load: a barrier is missing at the loop's end. */
static void build_reuse(kit *k, bool broken) {
    begin_tg(k);
    air_value *t = thread_number(k), *other = kit_bin(k, AIR_XOR, t, kit_int(k, k->i32, 32));
    for (u32 round = 0; round < 2; round++) {
        kit_store(k, kit_at(k, 1, t), kit_bin(k, AIR_ADD, t, kit_int(k, k->i32, round)));
        barrier(k);
        kit_store(k, kit_at(k, 0, t), kit_load(k, kit_at(k, 1, other)));
        if (!broken)
            barrier(k);
    }
    kit_ret(k);
}
static void test_write_after_read(void **state) { judge(build_reuse, "races", 3301, 1, 64, "bounds,barriers"); }

static void build_unwritten(kit *k, bool broken) {
    begin_tg(k);
    air_value *t = thread_number(k);
    if (!broken)
        kit_store(k, kit_at(k, 1, t), t);
    barrier(k);
    kit_store(k, kit_at(k, 0, t), kit_load(k, kit_at(k, 1, t)));
    kit_ret(k);
}
static void test_unwritten_threadgroup_memory(void **state) {
    judge(build_unwritten, "uninit", 3107, 2, 64, "bounds,barriers,races");
}

/* Half of the lanes (or the first simdgroup only) come to the barrier. */
static void build_branch(kit *k, bool broken, bool lanes) {
    begin_tg(k);
    air_block *yes = air_block_new(k->f), *after = air_block_new(k->f);
    air_value *c = kit_cmp(k, 36, broken ? lanes ? k->lane : k->simd : k->group,
                           kit_int(k, k->i32, !broken ? 100 : lanes ? 16 : 1));
    kit_cbr(k, c, yes, after);
    k->at = yes;
    barrier(k);
    kit_br(k, after);
    k->at = after;
    kit_store(k, kit_at(k, 0, thread_number(k)), k->lane);
    kit_ret(k);
}
static void build_some_lanes(kit *k, bool broken) { build_branch(k, broken, true); }
static void build_some_simdgroups(kit *k, bool broken) { build_branch(k, broken, false); }
static void test_barrier_of_some_lanes(void **state) {
    judge(build_some_lanes, "barriers", 3201, 1, 64, "bounds");
}
static void test_barrier_of_some_simdgroups(void **state) {
    judge(build_some_simdgroups, "barriers", 3202, 1, 64, "bounds");
}

/* Odd lanes return before the barrier. */
static void build_early(kit *k, bool broken) {
    begin_tg(k);
    air_block *end = air_block_new(k->f), *on = air_block_new(k->f);
    air_value *odd = kit_bin(k, AIR_AND, k->lane, kit_int(k, k->i32, broken ? 1 : 32));
    kit_cbr(k, kit_cmp(k, 33, odd, kit_int(k, k->i32, 0)), end, on);
    k->at = end;
    kit_ret(k);
    k->at = on;
    barrier(k);
    kit_store(k, kit_at(k, 0, thread_number(k)), k->lane);
    kit_ret(k);
}
static void test_lanes_that_ended_before_a_barrier(void **state) {
    judge(build_early, "exits", 3205, 1, 64, "bounds,barriers");
}

/* A shuffle inside of a branch takes values from lanes outside of it. */
static void build_shuffle(kit *k, bool broken) {
    begin_tg(k);
    air_block *yes = air_block_new(k->f), *after = air_block_new(k->f);
    kit_cbr(k, kit_cmp(k, 36, k->lane, kit_int(k, k->i32, 16)), yes, after);
    k->at = yes;
    air_value *args[] = {k->lane, kit_int(k, k->i16, broken ? 16 : 8)};
    air_value *v = kit_call(k, "air.simd_shuffle_xor.s.i32", k->i32, 2, args);
    kit_store(k, kit_at(k, 0, k->lane), v);
    kit_br(k, after);
    k->at = after;
    kit_ret(k);
}
static void test_shuffle_from_inactive_lanes(void **state) {
    judge(build_shuffle, "lanes", 3206, 1, 32, "bounds,barriers");
}

/* A matrix of a simdgroup that has 16 threads. */
static void build_matrix(kit *k, bool broken) {
    const u32 spaces[] = {1, 1};
    kit_begin(k, 2, spaces, kit_f32);
    kit_bind(k, 0, out, sizeof out);
    kit_bind(k, 1, data, sizeof data);
    air_type *matrix = air_type_vector(k->m, k->f32, 64), *pair = air_type_vector(k->m, k->i64, 2);
    const u64 origin[2] = {0, 0};
    air_value *load[] = {k->buffer[1], kit_int(k, k->i64, 8), air_const_data(k->m, pair, origin, 16, false),
                         kit_int(k, k->i1, 0)};
    air_value *m = kit_call(k, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", matrix, 4, load);
    air_value *store[] = {m, k->buffer[0], load[1], load[2], load[3]};
    kit_call(k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k->none, 5, store);
    kit_ret(k);
}
static void test_matrix_with_missing_lanes(void **state) {
    kit k;
    build_matrix(&k, true);
    assert_int_not_equal(run_with(&k, "lanes", 1, 16), 0);
    assert_true(has_code(&k, 3204));
    kit_end(&k);
    build_matrix(&k, false);
    assert_int_equal(run_with(&k, "all", 1, 32), 0);
    kit_end(&k);
}
static void build_matrix_branch(kit *k, bool broken) {
    const u32 spaces[] = {1};
    kit_begin(k, 1, spaces, kit_f32);
    kit_bind(k, 0, out, sizeof out);
    air_block *yes = air_block_new(k->f), *after = air_block_new(k->f);
    air_type *matrix = air_type_vector(k->m, k->f32, 64), *pair = air_type_vector(k->m, k->i64, 2);
    const u64 origin[2] = {0, 0};
    air_value *value[] = {kit_cast(k, AIR_UITOFP, k->group, k->f32)};
    kit_cbr(k, kit_cmp(k, 36, broken ? k->lane : k->group, kit_int(k, k->i32, 16)), yes, after);
    k->at = yes;
    air_value *m = kit_call(k, "air.simdgroup_matrix_8x8_init_filled.v64f32.f32", matrix, 1, value);
    air_value *store[] = {m, k->buffer[0], kit_int(k, k->i64, 8), air_const_data(k->m, pair, origin, 16, false),
                          kit_int(k, k->i1, 0)};
    kit_call(k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k->none, 5, store);
    kit_br(k, after);
    k->at = after; /* lanes wait here; were there nothing to do, they would have ended */
    kit_store(k, kit_at(k, 0, kit_bin(k, AIR_ADD, k->lane, kit_int(k, k->i32, 64))), value[0]);
    kit_ret(k);
}
static void test_matrix_of_some_lanes(void **state) { judge(build_matrix_branch, "lanes", 3203, 1, 32, NULL); }

/* Two threadgroups store matrices to one place; the values differ between them. */
static void build_matrix_race(kit *k, bool broken) {
    const u32 spaces[] = {1};
    kit_begin(k, 1, spaces, kit_f32);
    kit_bind(k, 0, out, sizeof out);
    air_type *matrix = air_type_vector(k->m, k->f32, 64), *pair = air_type_vector(k->m, k->i64, 2);
    const u64 origin[2] = {0, 0};
    air_value *value[] = {kit_cast(k, AIR_UITOFP, k->group, k->f32)};
    air_value *m = kit_call(k, "air.simdgroup_matrix_8x8_init_filled.v64f32.f32", matrix, 1, value);
    air_value *place = kit_bin(k, AIR_MUL, k->group, kit_int(k, k->i32, broken ? 0 : 64));
    air_value *store[] = {m, kit_at(k, 0, place), kit_int(k, k->i64, 8),
                          air_const_data(k->m, pair, origin, 16, false), kit_int(k, k->i1, 0)};
    kit_call(k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k->none, 5, store);
    kit_ret(k);
}
static void test_matrix_race(void **state) { judge(build_matrix_race, "races", 3301, 3, 32, "bounds,barriers"); }

/* One simdgroup waits for a flag that the other sets: it goes on when they take turns. */
static void build_flag(kit *k, bool broken) {
    begin_tg(k);
    air_block *set = air_block_new(k->f), *loop = air_block_new(k->f), *after = air_block_new(k->f);
    air_value *zero = kit_int(k, k->i32, 0), *one = kit_int(k, k->i32, 1);
    memset(out, 0, sizeof out);
    kit_cbr(k, kit_cmp(k, 32, k->simd, one), set, loop);
    k->at = set;
    air_value *flag = k->buffer[0];
    air_value *args[] = {flag, broken ? zero : one, zero, kit_int(k, k->i32, 2), kit_int(k, k->i1, 1)};
    kit_call(k, "air.atomic.global.xchg.i32", k->i32, 5, args);
    kit_br(k, after);
    k->at = loop;
    air_value *load[] = {flag, zero, kit_int(k, k->i32, 2), kit_int(k, k->i1, 1)};
    air_value *seen = kit_call(k, "air.atomic.global.load.i32", k->i32, 4, load);
    kit_cbr(k, kit_cmp(k, 32, seen, zero), loop, after);
    k->at = after;
    kit_ret(k);
}
static void test_flag_between_simdgroups(void **state) { judge(build_flag, "progress", 3407, 1, 64, NULL); }

/* Two threadgroups add to the same words; between them goes a message: a counter that each reads before and adds to
 * after. What orders them is the atomics' own order, or fences around relaxed ones. */
typedef struct ordering {
    u32 minor;             /* of AIR 2 */
    u32 load, add;         /* memory orders: 0 relaxed, 2 acquire, 3 release, 4 both, 5 sequentially consistent */
    u32 after, before;     /* of fences after the load and before the add; 0 none */
    u32 scope;             /* of the fences: 1 threadgroup, 2 device */
    bool races;
} ordering;
static void ordered_fence(kit *k, const ordering *o, u32 order) {
    if (order)
        kit_call(k, "air.atomic.fence", k->none, 3,
                 (air_value *[]){kit_int(k, k->i32, 1), kit_int(k, k->i32, order), kit_int(k, k->i32, o->scope)});
}
static bool is_race(const ordering *o) {
    kit k;
    kit_begin(&k, 2, NULL, kit_i32);
    memset(out, 0, sizeof out);
    memset(data, 0, sizeof data);
    kit_bind(&k, 0, out, sizeof out);
    kit_bind(&k, 1, data, sizeof data);
    air_md *version[] = {air_md_i32(k.m, 2), air_md_i32(k.m, o->minor), air_md_i32(k.m, 0)};
    air_named_md_add(k.m, "air.version", air_md_node(k.m, 3, version));
    air_value *one = kit_int(&k, k.i32, 1), *device = kit_int(&k, k.i32, 2), *yes = kit_int(&k, k.i1, 1);
    kit_call(&k, "air.atomic.global.load.i32", k.i32, 4,
             (air_value *[]){k.buffer[1], kit_int(&k, k.i32, o->load), device, yes});
    ordered_fence(&k, o, o->after);
    air_value *p = kit_at(&k, 0, k.lane);
    kit_store(&k, p, kit_bin(&k, AIR_ADD, kit_load(&k, p), one));
    ordered_fence(&k, o, o->before);
    kit_call(&k, "air.atomic.global.add.u.i32", k.i32, 5,
             (air_value *[]){k.buffer[1], one, kit_int(&k, k.i32, o->add), device, yes});
    kit_ret(&k);
    bool found = run_with(&k, "races", 2, 32) != 0;
    assert_true(found == has_code(&k, 3301));
    kit_end(&k);
    return found;
}
static void test_orders_of_atomics(void **state) {
    static const ordering table[] = {
        {6, 0, 0, 0, 0, 2, false}, /* AIR had no fences yet */
        {7, 0, 0, 0, 0, 2, true},  {7, 0, 0, 5, 5, 2, false}, {7, 0, 0, 2, 3, 2, false}, {7, 0, 0, 3, 2, 2, true},
        {7, 0, 0, 0, 3, 2, true},  {7, 0, 0, 2, 0, 2, true},  {7, 0, 0, 5, 5, 1, true},  {7, 0, 0, 5, 5, 3, false},
        {7, 2, 3, 0, 0, 2, false}, {7, 5, 5, 0, 0, 2, false}, {7, 2, 0, 0, 0, 2, true},  {7, 0, 3, 0, 0, 2, true},
        {7, 0, 3, 2, 0, 2, false}, {7, 2, 0, 0, 3, 2, false}, {8, 4, 4, 0, 0, 2, false}, {8, 0, 0, 0, 0, 2, true},
    };
    for (u32 i = 0; i < COUNT_OF(table); i++)
        if (is_race(&table[i]) != table[i].races)
            fail_msg("row %u: %s", i, table[i].races ? "no race is found" : "a race is found");
}

/* ---- Bounds, of all kinds of memory ---- */
static void build_begin(kit *k) {
    const u32 spaces[] = {1, 2, 3};
    kit_begin(k, 3, spaces, kit_i32);
    memset(out, 0, sizeof out);
    kit_bind(k, 0, out, sizeof out);
    kit_bind(k, 1, data, sizeof data);
    kit_bind(k, 2, NULL, 256);
}
static void build_past(kit *k, bool broken) {
    build_begin(k);
    kit_store(k, kit_at(k, 0, kit_bin(k, AIR_ADD, k->lane, kit_int(k, k->i32, broken ? 230 : 224))), k->lane);
    kit_ret(k);
}
static void build_null(kit *k, bool broken) {
    build_begin(k);
    air_value *number = kit_cast(k, AIR_ZEXT, k->lane, k->i64);
    air_value *p = broken ? kit_cast(k, AIR_INTTOPTR, number, k->buffer[0]->type) : kit_at(k, 0, k->lane);
    kit_store(k, p, k->lane);
    kit_ret(k);
}
static void build_unbound(kit *k, bool broken) {
    build_begin(k);
    kit_store(k, kit_at(k, 0, k->lane), k->lane);
    kit_ret(k);
    if (broken)
        k->args[0].kind = TM_ARG_UNBOUND;
}
static void build_read_only(kit *k, bool broken) {
    build_begin(k);
    kit_store(k, kit_at(k, broken ? 1 : 0, k->lane), k->lane);
    kit_ret(k);
}
static void build_past_threadgroup(kit *k, bool broken) {
    build_begin(k);
    kit_store(k, kit_at(k, 2, kit_bin(k, AIR_ADD, k->lane, kit_int(k, k->i32, broken ? 40 : 32))), k->lane);
    kit_ret(k);
}
static void build_past_thread(kit *k, bool broken) {
    build_begin(k);
    air_type *table = air_type_array(k->m, k->i32, 4);
    air_value *one = kit_int(k, k->i32, 1);
    air_inst *a = kit_add(k, AIR_ALLOCA, air_type_ptr(k->m, table, 0), 1, &one);
    a->aux = table;
    air_value *at = kit_cast(k, AIR_ZEXT, kit_bin(k, AIR_AND, k->lane, kit_int(k, k->i32, broken ? 7 : 3)), k->i64);
    air_inst *g = kit_add(k, AIR_GEP, air_type_ptr(k->m, k->i32, 0), 3,
                          (air_value *[]){&a->v, kit_int(k, k->i64, 0), at});
    g->aux = table;
    kit_store(k, &g->v, k->lane);
    kit_store(k, kit_at(k, 0, k->lane), kit_load(k, &g->v));
    kit_ret(k);
}
static void test_past_a_buffer(void **state) { judge(build_past, "bounds", 3101, 1, 32, "barriers"); }
static void test_through_null(void **state) { judge(build_null, "bounds", 3102, 1, 32, "barriers"); }
static void test_unbound_argument(void **state) { judge(build_unbound, "bounds", 3103, 1, 32, "barriers"); }
static void test_read_only_argument(void **state) { judge(build_read_only, "bounds", 3104, 1, 32, NULL); }
static void test_past_threadgroup_memory(void **state) {
    judge(build_past_threadgroup, "bounds", 3105, 1, 32, "barriers");
}
static void test_past_thread_memory(void **state) { judge(build_past_thread, "bounds", 3105, 1, 32, "barriers"); }

/* Adds 2 until 100 is reached, from 1 or from 0. */
static void build_endless(kit *k, bool broken) {
    build_begin(k);
    for (u32 l = 0; l < 32; l++)
        out[l] = broken;
    air_block *loop = air_block_new(k->f), *after = air_block_new(k->f);
    kit_br(k, loop);
    k->at = loop;
    air_value *p = kit_at(k, 0, k->lane), *v = kit_bin(k, AIR_ADD, kit_load(k, p), kit_int(k, k->i32, 2));
    kit_store(k, p, v);
    kit_cbr(k, kit_cmp(k, 33, v, kit_int(k, k->i32, 100)), loop, after);
    k->at = after;
    kit_ret(k);
}
static void test_endless_loop(void **state) { judge(build_endless, "none", 3401, 1, 32, NULL); }

static void test_lists_of_checks(void **state) {
    static const char *const refused[] = {"rases", "-3402", "-33", "-all", "3301", "all,-", "-3301x"};
    vgpu_checks on;
    const char *bad;
    int len;
    for (u32 i = 0; i < COUNT_OF(refused); i++)
        assert_false(vgpu_checks_parse(refused[i], &on, &bad, &len));
    assert_true(vgpu_checks_parse("all,-races,-3107", &on, &bad, &len));
    assert_true(on.bounds && on.uninit && !on.races && on.muted);
    assert_true(vgpu_checks_parse("", &on, &bad, &len) && !on.bounds && !on.muted);
    assert_true(vgpu_checks_parse(NULL, &on, &bad, &len) && on.bounds && on.barriers && !on.muted);
}
/* Each simdgroup adds 1 in two steps: one after the other all of them count, in any order, but not in turns. */
static void build_count(kit *k, bool broken, bool atomic) {
    build_begin(k);
    air_value *zero = kit_int(k, k->i32, 0), *one = kit_int(k, k->i32, 1), *device = kit_int(k, k->i32, 2);
    air_value *yes = kit_int(k, k->i1, 1), *p = k->buffer[0];
    air_block *first = air_block_new(k->f), *end = air_block_new(k->f);
    kit_cbr(k, kit_cmp(k, 32, k->lane, zero), first, end);
    k->at = first;
    if (!broken) {
        kit_call(k, "air.atomic.global.add.u.i32", k->i32, 5, (air_value *[]){p, one, zero, device, yes});
    } else if (atomic) {
        air_value *v = kit_call(k, "air.atomic.global.load.i32", k->i32, 4, (air_value *[]){p, zero, device, yes});
        kit_call(k, "air.atomic.global.store.i32", k->none, 5,
                 (air_value *[]){p, kit_bin(k, AIR_ADD, v, one), zero, device, yes});
    } else {
        kit_store(k, p, kit_bin(k, AIR_ADD, kit_load(k, p), one));
    }
    kit_br(k, end);
    k->at = end;
    kit_ret(k);
}
static void build_atomic_count(kit *k, bool broken) { build_count(k, broken, true); }
static void test_simdgroups_in_turns(void **state) {
    judge(build_atomic_count, "schedules", 3501, 1, 128, "bounds,barriers,races");
}
static void test_threadgroups_in_turns(void **state) {
    judge(build_atomic_count, "schedules", 3501, 7, 32, "bounds,barriers,races");
}
static u32 run_in(u32 order, u32 groups, u32 threads) {
    kit k;
    build_count(&k, true, false);
    vgpu_kernel *g = vgpu_decode(k.ctx, k.m, NULL, 0, (vgpu_checks){.bounds = true, .schedules = true}, (vgpu_numerics){0});
    tm_launch_params p = {.grid = {groups, 1, 1}, .group = {threads, 1, 1}, .args = k.args, .n_args = 3, .order = order};
    vgpu_run(k.ctx, g, &p); /* reports that orders differ */
    assert_true(has_code(&k, 3501));
    vgpu_kernel_free(g);
    kit_end(&k);
    return out[0];
}
/* The missing barrier or atomic that only turns show. */
static void test_what_turns_do(void **state) {
    assert_int_equal(run_in(TM_ORDER_FORWARD, 1, 128), 4);
    assert_int_equal(run_in(TM_ORDER_REVERSE, 1, 128), 4);
    assert_int_equal(run_in(TM_ORDER_ROUND_ROBIN, 1, 128), 1);
    assert_int_equal(run_in(TM_ORDER_REVERSE, 7, 32), 7);
    assert_in_range(run_in(TM_ORDER_ROUND_ROBIN, 7, 32), 1, 6);
}
static void test_turns_need_their_words(void **state) {
    kit k;
    build_exchange(&k, false);
    vgpu_kernel *g = kit_decode(&k);
    tm_launch_params p = {.grid = {1, 1, 1}, .group = {64, 1, 1}, .args = k.args, .n_args = 2, .order = TM_ORDER_ROUND_ROBIN};
    assert_int_equal(vgpu_run(k.ctx, g, &p), -1);
    assert_int_equal(kit_code(&k), 5001);
    vgpu_kernel_free(g);
    kit_end(&k);
}
static void test_each_order_runs_all(void **state) {
    u64 vgpu_order(u32 order, u64 seed, u64 i, u64 n);
    for (u64 n = 1; n < 70; n++)
        for (u32 order = 0; order <= TM_ORDER_ROUND_ROBIN; order++) {
            u8 seen[70] = {0};
            for (u64 i = 0; i < n; i++)
                seen[vgpu_order(order, n * 7, i, n)]++;
            for (u64 i = 0; i < n; i++)
                assert_int_equal(seen[i], 1);
        }
}
static void test_lines_are_read_with_care(void **state) {
    static const char *const bad[] = {"", "lines 1 ", "lines 1 1 1\n", "lines 1 0 1\n5 0:1:1\n", "lines 1 1 1\nf\n5 1:1:1\n",
                                      "lines 1 1 2\nf\n5 0:1:1\n", "lines 1 1 1\nf\n5 0:1\n", "lines 1 9 9\nf\n"};
    kit k;
    build_exchange(&k, false);
    vgpu_kernel *g = kit_decode(&k);
    for (u32 i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(vgpu_set_lines(g, bad[i], strlen(bad[i])), -1);
    const char *good = "lines 1 1 2\na.py\n3 -\n900 0:14:2 0:20:1\n";
    assert_int_equal(vgpu_set_lines(g, good, strlen(good)), 0);
    vgpu_kernel_free(g);
    kit_end(&k);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threadgroup_race),
        cmocka_unit_test(test_write_after_read),
        cmocka_unit_test(test_unwritten_threadgroup_memory),
        cmocka_unit_test(test_barrier_of_some_lanes),
        cmocka_unit_test(test_barrier_of_some_simdgroups),
        cmocka_unit_test(test_lanes_that_ended_before_a_barrier),
        cmocka_unit_test(test_shuffle_from_inactive_lanes),
        cmocka_unit_test(test_matrix_with_missing_lanes),
        cmocka_unit_test(test_matrix_of_some_lanes),
        cmocka_unit_test(test_matrix_race),
        cmocka_unit_test(test_orders_of_atomics),
        cmocka_unit_test(test_past_a_buffer),
        cmocka_unit_test(test_through_null),
        cmocka_unit_test(test_unbound_argument),
        cmocka_unit_test(test_read_only_argument),
        cmocka_unit_test(test_past_threadgroup_memory),
        cmocka_unit_test(test_past_thread_memory),
        cmocka_unit_test(test_endless_loop),
        cmocka_unit_test(test_lists_of_checks),
        cmocka_unit_test(test_flag_between_simdgroups),
        cmocka_unit_test(test_simdgroups_in_turns),
        cmocka_unit_test(test_threadgroups_in_turns),
        cmocka_unit_test(test_what_turns_do),
        cmocka_unit_test(test_turns_need_their_words),
        cmocka_unit_test(test_each_order_runs_all),
        cmocka_unit_test(test_lines_are_read_with_care),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
