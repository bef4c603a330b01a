/* SPDX-License-Identifier: MIT */
/* Judges the base room: arenas keep what they hand out, maps behave like a slow reference under random
 * use, text and bytes are exact, diagnostics carry place, caret and advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"

static void arena_keeps_data(void **state) {
    (void)state;
    arena *a = arena_new();
    u8 *at[400];
    for (u32 i = 0; i < 400; i++) {
        at[i] = arena_alloc(a, i * 37);
        assert_int_equal((uintptr_t)at[i] % 16, 0);
        memset(at[i], (int)(i & 255), i * 37);
    }
    for (u32 i = 0; i < 400; i++)
        for (u32 k = 0; k < i * 37; k++)
            assert_int_equal(at[i][k], i & 255);
    assert_true(arena_bytes(a) >= 399 * 400 / 2 * 37);
    arena_free(a);
}

static void arena_rewinds(void **state) {
    (void)state;
    arena *a = arena_new();
    char *kept = arena_printf(a, "%s-%d", "kept", 7);
    arena_mark mark = arena_save(a);
    size_t before = arena_bytes(a);
    for (u32 i = 0; i < 100; i++)
        arena_zalloc(a, 10000);
    arena_rewind(a, mark);
    assert_int_equal(arena_bytes(a), before);
    assert_string_equal(kept, "kept-7");
    arena_free(a);
}

static void map_matches_reference(void **state) {
    (void)state;
    enum { KEYS = 512 };
    arena *a = arena_new();
    map *m = map_new(a);
    u64 value[KEYS] = {0};
    bool present[KEYS] = {0};
    u32 live = 0;
    srand(1);
    for (u32 step = 1; step < 20000; step++) {
        u32 k = (u32)rand() % KEYS;
        u64 key = k * 0x9E3779B97F4A7C15ull; /* odd: injective */
        if (rand() % 3 == 0) {
            assert_int_equal(map_remove(m, key), present[k]);
            live -= present[k];
            present[k] = false;
        } else if (rand() % 2) {
            *map_put(m, key) = (void *)(uintptr_t)step;
            live += !present[k];
            present[k] = true;
            value[k] = step;
        }
        void **found = map_get(m, key);
        assert_int_equal(found != NULL, present[k]);
        if (found)
            assert_int_equal((uintptr_t)*found, value[k]);
        assert_int_equal(map_count(m), live);
    }
    arena_free(a);
}

static void strmap_interns(void **state) {
    (void)state;
    arena *a = arena_new();
    strmap *m = strmap_new(a);
    const char *first, *again;
    for (u32 i = 0; i < 1000; i++) {
        char key[16];
        int len = snprintf(key, sizeof key, "k%u", i);
        *strmap_put(m, key, (size_t)len, &first) = (void *)(uintptr_t)i;
        strmap_put(m, key, (size_t)len, &again);
        assert_ptr_equal(first, again);
    }
    assert_int_equal((uintptr_t)*strmap_get(m, "k999", 4), 999);
    assert_null(strmap_get(m, "k99x", 4));
    assert_null(strmap_get(m, "k9990", 5));
    assert_non_null(strmap_put(m, "", 0, NULL));
    arena_free(a);
}

static void vec_grows(void **state) {
    (void)state;
    arena *a = arena_new();
    VEC(u32) v = {0};
    for (u32 i = 0; i < 1000; i++)
        VEC_PUSH(a, &v, i * 3);
    assert_int_equal(v.count, 1000);
    for (u32 i = 0; i < 1000; i++)
        assert_int_equal(v.at[i], i * 3);
    assert_int_equal(VEC_POP(&v), 999 * 3);
    assert_int_equal(VEC_LAST(&v), 998 * 3);
    arena_free(a);
}

static void text_is_exact(void **state) {
    (void)state;
    text t = {0};
    text_int(&t, INT64_MIN);
    text_putc(&t, ' ');
    text_int(&t, 0);
    text_printf(&t, " %s", "x");
    assert_string_equal(t.at, "-9223372036854775808 0 x");
    t.len = 0;
    text_u8(&t, 0xAB);
    text_u32le(&t, 0x01020304);
    text_u64le(&t, 0x1122334455667788ull);
    text_patch_u32le(&t, 1, 0xCAFEBABE);
    const u8 *p = (const u8 *)t.at;
    assert_int_equal(t.len, 13);
    assert_int_equal(get_u32le(p + 1), 0xCAFEBABE);
    assert_int_equal(get_u64le(p + 5), 0x1122334455667788ull);
    text_free(&t);
}

static void diag_shows_place_and_advice(void **state) {
    (void)state;
    tm_ctx *ctx = ctx_new();
    src_loc caller = {.file = "main.py", .line = 9};
    src_loc loc = {.file = "k.py", .line = 2, .column = 5, .caller = &caller};
    assert_int_equal(diag_at(ctx, &loc, TM9001, "boom"), -1);
    diag_note(ctx, "seen in %s", "op");
    tm_ctx *copy = ctx_new();
    diags_copy(copy, ctx);
    ctx_free(ctx);
    text t = {0};
    diag_format(&t, copy->first, "line one\n    x = 1\n");
    assert_string_equal(t.at, "k.py:2:5: error TM9001: internal error: boom\n"
                              "    2 |     x = 1\n"
                              "      |     ^\n"
                              "  called from main.py:9: \n"
                              "  note: seen in op\n"
                              "  help: This is a bug in triton-metal; please report it with the "
                              "kernel.\n");
    text_free(&t);
    diag_format_json(&t, copy->first);
    assert_non_null(strstr(t.at, "\"code\": \"TM9001\", \"level\": \"error\", \"file\": \"k.py\", \"line\": 2"));
    text_free(&t);
    ctx_free(copy);
}

static void diag_keeps_at_most_100(void **state) {
    (void)state;
    tm_ctx *ctx = ctx_new();
    for (u32 i = 0; i < 250; i++)
        diag_at(ctx, NULL, TM9001, "again");
    assert_int_equal(ctx->errors, 250);
    assert_int_equal(ctx->count, 100);
    ctx_clear(ctx);
    assert_null(ctx->first);
    assert_int_equal(ctx->errors, 0);
    ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_keeps_data),   cmocka_unit_test(arena_rewinds),
        cmocka_unit_test(map_matches_reference), cmocka_unit_test(strmap_interns),
        cmocka_unit_test(vec_grows),          cmocka_unit_test(text_is_exact),
        cmocka_unit_test(diag_shows_place_and_advice), cmocka_unit_test(diag_keeps_at_most_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
