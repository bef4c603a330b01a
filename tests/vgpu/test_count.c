/* SPDX-License-Identifier: MIT */
/* Counters against numbers worked out by hand. */
#include "kit.h"
#include "vgpu/count/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct counted {
    u64 total[CT_COUNT], runs[CC_COUNT], lanes[CC_COUNT];
} counted;

static counted run_with(kit *k, u32 groups, u32 threads, u32 host_threads, u32 banks) {
    vgpu_checks on = {.bounds = true, .barriers = true, .count = true};
    vgpu_kernel *kernel = vgpu_decode(k->ctx, k->m, NULL, 0, on, (vgpu_numerics){0});
    assert_non_null(kernel);
    tm_counters *t = counters_new(kernel);
    t->sum.banks = banks;
    tm_launch_params p = {.grid = {groups, 1, 1}, .group = {threads, 1, 1}, .args = k->args,
                          .n_args = k->n_buffers, .threads = host_threads, .counters = t};
    assert_int_equal(vgpu_run(k->ctx, kernel, &p), 0);
    counted r;
    count_total_all(t, r.total);
    count_class_all(t, r.runs, r.lanes);
    counters_free(t);
    vgpu_kernel_free(kernel);
    return r;
}
static counted run_counted(kit *k, u32 groups, u32 threads) { return run_with(k, groups, threads, 1, 32); }
#define TOTAL(r, name) ((r).total[CT_##name])

static air_value *thread_index(kit *k, u32 threads) {
    air_value *base = kit_bin(k, AIR_MUL, k->group, kit_int(k, k->i32, threads));
    air_value *in = kit_bin(k, AIR_ADD, kit_bin(k, AIR_MUL, k->simd, kit_int(k, k->i32, 32)), k->lane);
    return kit_bin(k, AIR_ADD, base, in);
}

static void every_row_has_a_class(void **state) {
    for (u16 op = 0; op < VOP_COUNT; op++)
        if (op < VOP_br && op != VOP_xmmas && count_class_of(op) == CC_COUNT && strncmp(vops[op].name, "x", 1) != 0)
            fail_msg("vops.def row %s has no class in count_op.def", vops[op].name);
}

static void vector_add_moves_three_arrays(void **state) {
    enum { N = 1024 };
    static float a[N], b[N], c[N];
    kit k;
    kit_begin(&k, 3, NULL, kit_f32);
    air_value *i = thread_index(&k, 128);
    air_value *x = kit_load(&k, kit_at(&k, 0, i)), *y = kit_load(&k, kit_at(&k, 1, i));
    air_value *sum = kit_bin(&k, AIR_ADD, x, y);
    kit_store(&k, kit_at(&k, 2, i), sum);
    kit_ret(&k);
    for (u32 j = 0; j < N; j++)
        a[j] = (float)j, b[j] = 1;
    kit_bind(&k, 0, a, sizeof a);
    kit_bind(&k, 1, b, sizeof b);
    kit_bind(&k, 2, c, sizeof c);
    counted r = run_counted(&k, 8, 128);
    assert_true(c[1000] == 1001);
    assert_int_equal(TOTAL(r, threadgroups), 8);
    assert_int_equal(TOTAL(r, simdgroups), 32);
    assert_int_equal(TOTAL(r, device_read_bytes), 2 * N * 4);
    assert_int_equal(TOTAL(r, device_write_bytes), N * 4);
    assert_int_equal(TOTAL(r, device_loads), 2 * 32);
    assert_int_equal(TOTAL(r, device_stores), 32);
    assert_int_equal(TOTAL(r, device_read_lines), 2 * 32); /* 32 lanes of 4 bytes are one line */
    assert_int_equal(TOTAL(r, device_write_lines), 32);
    assert_int_equal(TOTAL(r, footprint_read_lines), 2 * 32);
    assert_int_equal(TOTAL(r, footprint_write_lines), 32);
    assert_int_equal(r.runs[CC_LOAD], 64);
    assert_int_equal(r.runs[CC_STORE], 32);
    assert_int_equal(TOTAL(r, lane_instructions), 32 * TOTAL(r, instructions));
    assert_int_equal(TOTAL(r, branches), 0);
    kit_end(&k);
}

/* Lanes with stride 16 floats: a line holds two of them, so 32 lanes touch 16 lines. */
static void strided_loads_touch_many_lines(void **state) {
    static float a[1024], c[32];
    kit k;
    kit_begin(&k, 2, NULL, kit_f32);
    air_value *x = kit_load(&k, kit_at(&k, 0, kit_bin(&k, AIR_MUL, k.lane, kit_int(&k, k.i32, 16))));
    kit_store(&k, kit_at(&k, 1, k.lane), x);
    kit_ret(&k);
    kit_bind(&k, 0, a, sizeof a);
    kit_bind(&k, 1, c, sizeof c);
    counted r = run_counted(&k, 1, 32);
    assert_int_equal(TOTAL(r, device_read_lines), 16);
    assert_int_equal(TOTAL(r, device_read_bytes), 128);
    kit_end(&k);
}

/* Threadgroup word lane * stride, stored and loaded: with 32 banks the lanes that meet in one bank are
 * gcd(stride, 32), and each takes a cycle. */
static counted bank_pattern(u32 stride, u32 banks) {
    static float out[32];
    kit k;
    kit_begin(&k, 2, (u32[]){1, 3}, kit_f32);
    air_value *at = kit_at(&k, 1, kit_bin(&k, AIR_MUL, k.lane, kit_int(&k, k.i32, stride)));
    kit_store(&k, at, kit_cast(&k, AIR_UITOFP, k.lane, k.f32));
    kit_store(&k, kit_at(&k, 0, k.lane), kit_load(&k, at));
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    k.args[1] = (tm_arg){.kind = TM_ARG_THREADGROUP, .index = 1, .size = 32 * 32 * 4};
    counted r = run_with(&k, 1, 32, 1, banks);
    kit_end(&k);
    return r;
}
static void bank_conflicts_follow_the_stride(void **state) {
    for (u32 stride = 1; stride <= 32; stride *= 2) {
        counted r = bank_pattern(stride, 32);
        assert_int_equal(TOTAL(r, threadgroup_cycles), 2 * stride);
        assert_int_equal(TOTAL(r, bank_conflict_cycles), 2 * (stride - 1));
        assert_int_equal(TOTAL(r, threadgroup_read_bytes), 128);
    }
    counted odd = bank_pattern(17, 32), few = bank_pattern(1, 16);
    assert_int_equal(TOTAL(odd, bank_conflict_cycles), 0);
    assert_int_equal(TOTAL(few, bank_conflict_cycles), 2);
}

/* lane < 8 takes a branch of one store; with `cut` 32 nobody splits. */
static counted branch_at(u32 cut) {
    static float out[32];
    kit k;
    kit_begin(&k, 1, NULL, kit_f32);
    air_block *yes = air_block_new(k.f), *end = air_block_new(k.f);
    kit_cbr(&k, kit_cmp(&k, 36, k.lane, kit_int(&k, k.i32, cut)), yes, end);
    k.at = yes;
    kit_store(&k, kit_at(&k, 0, k.lane), kit_cast(&k, AIR_UITOFP, k.lane, k.f32));
    kit_br(&k, end);
    k.at = end;
    kit_store(&k, kit_at(&k, 0, kit_bin(&k, AIR_XOR, k.lane, kit_int(&k, k.i32, 31))),
              kit_cast(&k, AIR_UITOFP, k.group, k.f32));
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    counted r = run_counted(&k, 4, 32);
    kit_end(&k);
    return r;
}
static void divergence_of_a_known_branch(void **state) {
    counted split = branch_at(8), whole = branch_at(32);
    assert_int_equal(TOTAL(split, branches), 4);
    assert_int_equal(TOTAL(split, divergent_branches), 4);
    assert_int_equal(TOTAL(split, device_write_bytes), 4 * 4 * (8 + 32));
    assert_int_equal(split.lanes[CC_STORE], 4 * (8 + 32));
    assert_int_equal(TOTAL(whole, branches), 4);
    assert_int_equal(TOTAL(whole, divergent_branches), 0);
    assert_int_equal(whole.lanes[CC_STORE], 4 * 64);
}

/* Instructions of one source line are one row, wherever they are; those without a line one each. */
static void lines_gather_their_instructions(void **state) {
    static float a[32];
    static const src_loc line = {.file = "k.py", .line = 7}, other = {.file = "k.py", .line = 9};
    kit k;
    kit_begin(&k, 1, NULL, kit_f32);
    air_value *p = kit_at(&k, 0, k.lane), *x = kit_load(&k, p);
    air_value *y = kit_bin(&k, AIR_MUL, x, x), *z = kit_bin(&k, AIR_ADD, y, x);
    kit_store(&k, p, z);
    kit_ret(&k);
    ((air_inst *)x)->loc = ((air_inst *)z)->loc = &line;
    ((air_inst *)y)->loc = &other;
    kit_bind(&k, 0, a, sizeof a);
    vgpu_checks on = {.bounds = true, .barriers = true, .count = true};
    vgpu_kernel *kernel = vgpu_decode(k.ctx, k.m, NULL, 0, on, (vgpu_numerics){0});
    tm_counters *t = counters_new(kernel);
    tm_launch_params p1 = {.grid = {3, 1, 1}, .group = {32, 1, 1}, .args = k.args, .n_args = 1, .counters = t};
    assert_int_equal(vgpu_run(k.ctx, kernel, &p1), 0);
    u32 n, found = 0;
    count_line *l = count_lines(t, &n);
    for (u32 i = 0; i < n; i++) {
        if (l[i].file && l[i].line == 7) {
            found++;
            assert_int_equal(l[i].instructions, 2 * 3);
            assert_int_equal(l[i].by_class[CC_LOAD], 3);
            assert_int_equal(l[i].device_bytes, 3 * 128);
        } else if (l[i].file) {
            found++;
            assert_int_equal(l[i].line, 9);
            assert_int_equal(l[i].instructions, 3);
        }
    }
    assert_int_equal(found, 2);
    free(l);
    counters_free(t);
    vgpu_kernel_free(kernel);
    kit_end(&k);
}

/* A gather far apart and one close by, with lanes on the same lines. */
static void lines_are_counted_near_and_far(void **state) {
    static float a[32 * 1024];
    static u32 at[2][32];
    static float out[32];
    for (u32 l = 0; l < 32; l++) {
        at[0][l] = (31 - l) * 1000 / 2 * 2; /* every lane a line of its own */
        at[1][l] = (l * 7) % 32;            /* all on one */
    }
    for (u32 round = 0; round < 2; round++) {
        kit k;
        kit_begin(&k, 3, NULL, kit_i32);
        air_value *i = kit_load(&k, kit_at(&k, 1, k.lane));
        kit_store(&k, kit_at(&k, 2, k.lane), kit_load(&k, kit_at(&k, 0, i)));
        kit_ret(&k);
        kit_bind(&k, 0, a, sizeof a);
        kit_bind(&k, 1, at[round], sizeof at[round]);
        kit_bind(&k, 2, out, sizeof out);
        counted r = run_counted(&k, 1, 32);
        assert_int_equal(TOTAL(r, device_read_lines), 1 + (round ? 1 : 32));
        assert_int_equal(TOTAL(r, footprint_read_lines), 1 + (round ? 1 : 32));
        kit_end(&k);
    }
}

static void barriers_count_each_simdgroup(void **state) {
    static float out[128];
    kit k;
    kit_begin(&k, 1, NULL, kit_f32);
    air_value *two[] = {kit_int(&k, k.i32, 2), kit_int(&k, k.i32, 1)};
    kit_call(&k, "air.wg.barrier", k.none, 2, two);
    kit_store(&k, kit_at(&k, 0, thread_index(&k, 128)), kit_cast(&k, AIR_UITOFP, k.lane, k.f32));
    kit_call(&k, "air.wg.barrier", k.none, 2, two);
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    counted r = run_counted(&k, 1, 128);
    assert_int_equal(TOTAL(r, barriers), 8);
    kit_end(&k);
}

/* Every sum is the same with one host thread and with several. */
static void threads_do_not_change_counts(void **state) {
    enum { N = 64 * 1024 };
    static float a[N];
    counted r[2];
    for (u32 round = 0; round < 2; round++) {
        kit k;
        kit_begin(&k, 1, NULL, kit_f32);
        air_value *p = kit_at(&k, 0, thread_index(&k, 64)), *x = kit_load(&k, p);
        air_block *more = air_block_new(k.f), *end = air_block_new(k.f);
        kit_cbr(&k, kit_cmp(&k, 36, k.group, kit_int(&k, k.i32, 300)), more, end);
        k.at = more;
        kit_store(&k, p, kit_bin(&k, AIR_MUL, x, x));
        kit_br(&k, end);
        k.at = end;
        kit_ret(&k);
        kit_bind(&k, 0, a, sizeof a);
        r[round] = run_with(&k, N / 64, 64, round ? 8 : 1, 32);
        kit_end(&k);
    }
    assert_memory_equal(&r[0], &r[1], sizeof r[0]);
    assert_int_equal(TOTAL(r[0], device_write_bytes), 300 * 64 * 4);
}

static void kernels_not_counted_have_no_words_for_it(void **state) {
    kit k;
    kit_begin(&k, 1, NULL, kit_f32);
    kit_store(&k, kit_at(&k, 0, k.lane), kit_cast(&k, AIR_UITOFP, k.lane, k.f32));
    kit_ret(&k);
    vgpu_kernel *plain = kit_decode(&k);
    vgpu_checks on = {.bounds = true, .barriers = true, .count = true};
    vgpu_kernel *counting = vgpu_decode(k.ctx, k.m, NULL, 0, on, (vgpu_numerics){0});
    u32 words = 0;
    for (u32 i = 0; i < plain->n_code; i++)
        assert_true(plain->code[i].op < VOP_count);
    for (u32 i = 0; i < counting->n_code; i++)
        words += counting->code[i].op >= VOP_count;
    assert_null(plain->count);
    assert_true(words > 0);
    assert_int_equal(counting->n_code, plain->n_code + words);
    vgpu_kernel_free(plain);
    vgpu_kernel_free(counting);
    kit_end(&k);
}

/* The public table of Apple7: registers of 16 bits to threads, which Metal caps at 1024. */
static void occupancy_agrees_with_the_public_table(void **state) {
    static const u32 rows[][2] = {{104, 1024}, {112, 896}, {128, 832}, {136, 768}, {144, 704},
                                  {160, 640},  {184, 576}, {208, 512}, {232, 448}, {256, 384}};
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(MIN(model_resident_threads(rows[i][0]), 1024u), rows[i][1]);
    assert_int_equal(model_resident_threads(8), 3072);
}
static void model_is_a_range_on_every_chip(void **state) {
    static float a[4096];
    kit k;
    kit_begin(&k, 1, NULL, kit_f32);
    air_value *p = kit_at(&k, 0, thread_index(&k, 128));
    kit_store(&k, p, kit_bin(&k, AIR_ADD, kit_load(&k, p), kit_load(&k, p)));
    kit_ret(&k);
    kit_bind(&k, 0, a, sizeof a);
    vgpu_checks on = {.bounds = true, .barriers = true, .count = true};
    vgpu_kernel *kernel = vgpu_decode(k.ctx, k.m, NULL, 0, on, (vgpu_numerics){0});
    tm_counters *t = counters_new(kernel);
    tm_launch_params p1 = {.grid = {32, 1, 1}, .group = {128, 1, 1}, .args = k.args, .n_args = 1, .counters = t};
    assert_int_equal(vgpu_run(k.ctx, kernel, &p1), 0);
    for (u32 c = 0; c < model_chip_count(); c++) {
        model_estimate e, again;
        model_run(t, model_chip_at(c), &e);
        model_run(t, model_chip_at(c), &again);
        assert_memory_equal(&e, &again, sizeof e);
        assert_non_null(e.family);
        assert_true(e.us[0] > 0 && e.us[0] <= e.us[1]);
        assert_true(e.occupancy[0] <= e.occupancy[1] && e.occupancy[1] <= 1);
    }
    static const char *forms[] = {"table", "json", "trace"};
    for (u32 f = 0; f < 3; f++) {
        text out = {0};
        assert_true(count_print(&out, t, forms[f], "m2"));
        assert_true(out.len > 100);
        text_free(&out);
    }
    text none = {0};
    assert_false(count_print(&none, t, "json", "m99"));
    assert_false(count_print(&none, t, "poem", NULL));
    counters_free(t);
    vgpu_kernel_free(kernel);
    kit_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_class),
        cmocka_unit_test(vector_add_moves_three_arrays),
        cmocka_unit_test(strided_loads_touch_many_lines),
        cmocka_unit_test(bank_conflicts_follow_the_stride),
        cmocka_unit_test(divergence_of_a_known_branch),
        cmocka_unit_test(lines_gather_their_instructions),
        cmocka_unit_test(lines_are_counted_near_and_far),
        cmocka_unit_test(barriers_count_each_simdgroup),
        cmocka_unit_test(threads_do_not_change_counts),
        cmocka_unit_test(kernels_not_counted_have_no_words_for_it),
        cmocka_unit_test(occupancy_agrees_with_the_public_table),
        cmocka_unit_test(model_is_a_range_on_every_chip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
