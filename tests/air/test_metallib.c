/* SPDX-License-Identifier: MIT */
/* The metallib container: offsets of a one-kernel file, both styles rewritten byte for byte, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "air/metallib/metallib.h"

static const u8 blob[32] = {1, 2, 3};

static text kernel_file(const char *name, u32 macos) {
    tm_ctx *ctx = ctx_new();
    text out = {0};
    assert_int_equal(metallib_write_kernel(ctx, name, macos, blob, sizeof blob, &out), 0);
    ctx_free(ctx);
    return out;
}

/* Sizes as in Apple's files of one kernel: 118 + name for the list, 230 + name before the bitcode. */
static void a_kernel_file_has_apples_offsets(void **state) {
    text f = kernel_file("attention", 15);
    const u8 *p = (const u8 *)f.at;
    assert_int_equal(f.len, 230 + 9 + sizeof blob);
    assert_int_equal(get_u64le(p + 16), f.len);
    assert_int_equal(get_u64le(p + 24), 88);
    assert_int_equal(get_u64le(p + 32), 0x7F);
    assert_int_equal(get_u64le(p + 40), 0xDF);
    assert_int_equal(get_u64le(p + 72), 230 + 9);
    assert_int_equal(get_u64le(p + 80), sizeof blob);
    assert_memory_equal(p + 4, ((const u8[]){0x01, 0x80, 2, 0, 8, 0, 0, 0x81, 15, 0, 0, 0}), 12);
    text_free(&f);
}

static void each_macos_has_its_row(void **state) {
    const struct {
        u32 macos;
        u8 patch, air, major, minor;
    } rows[] = {{13, 7, 5, 3, 0}, {14, 7, 6, 3, 1}, {15, 8, 7, 3, 2}, {26, 9, 8, 4, 0}};
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        text f = kernel_file("k", rows[i].macos);
        tm_ctx *ctx = ctx_new();
        metallib *lib = metallib_read(ctx, (u8 *)f.at, f.len);
        assert_non_null(lib);
        assert_int_equal(lib->version[2], rows[i].patch);
        assert_int_equal(lib->os_major, rows[i].macos);
        assert_int_equal(lib->n_funcs, 1);
        const metallib_func *k = &lib->funcs[0];
        assert_string_equal(k->name, "k");
        assert_int_equal(k->type, 2);
        assert_int_equal(k->air_minor, rows[i].air);
        assert_int_equal(k->lang_major, rows[i].major);
        assert_int_equal(k->lang_minor, rows[i].minor);
        assert_int_equal(k->bitcode_len, sizeof blob);
        assert_memory_equal(k->bitcode, blob, sizeof blob);
        assert_int_equal(metallib_check_hash(ctx, k), 0);
        ctx_free(ctx);
        text_free(&f);
    }
    tm_ctx *ctx = ctx_new();
    text out = {0};
    assert_int_equal(metallib_write_kernel(ctx, "k", 12, blob, 16, &out), -1);
    assert_int_equal(diag_number(ctx->first->code), 2902);
    ctx_free(ctx);
}

static void the_hash_is_sha256(void **state) {
    tm_ctx *ctx = ctx_new();
    text out = {0};
    assert_int_equal(metallib_write_kernel(ctx, "k", 15, (const u8 *)"abc", 3, &out), 0);
    metallib *lib = metallib_read(ctx, (u8 *)out.at, out.len);
    const u8 expected[] = {0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA};
    assert_memory_equal(lib->funcs[0].hash, expected, sizeof expected);
    lib->funcs[0].hash[0] ^= 1;
    assert_int_equal(metallib_check_hash(ctx, &lib->funcs[0]), -1);
    assert_int_equal(diag_number(ctx->first->code), 4103);
    text_free(&out);
    ctx_free(ctx);
}

static metallib library(bool ld_style) {
    static const metallib_constant constants[] = {{"align_N", 53, 201, 1}, {"count", 29, 7, 1}};
    static const u8 reflection[] = "....AIRR";
    static metallib_func funcs[2];
    for (u32 i = 0; i < 2; i++)
        funcs[i] = (metallib_func){.name = i ? "second" : "first", .type = 2, .air_major = 2,
                                   .air_minor = 7, .lang_major = 3, .lang_minor = 2,
                                   .bitcode = blob, .bitcode_len = 16};
    funcs[1].constants = constants;
    funcs[1].n_constants = 2;
    metallib lib = {.version = {0x8001, 2, 8}, .platform = 0x81, .os_major = 15,
                    .ld_style = ld_style, .n_funcs = 2, .funcs = funcs};
    if (ld_style) {
        funcs[0].reflection = funcs[1].reflection = reflection;
        funcs[0].reflection_len = funcs[1].reflection_len = 8;
        lib.has_uuid = true;
        lib.hdyn = blob;
        lib.hdyn_len = 12;
    }
    return lib;
}

static void both_styles_come_back_byte_for_byte(void **state) {
    for (u32 style = 0; style < 2; style++) {
        tm_ctx *ctx = ctx_new();
        metallib lib = library(style);
        text a = {0}, b = {0};
        assert_int_equal(metallib_write(ctx, &lib, &a), 0);
        metallib *got = metallib_read(ctx, (u8 *)a.at, a.len);
        assert_non_null(got);
        assert_int_equal(got->ld_style, style);
        assert_int_equal(got->funcs[1].n_constants, 2);
        assert_string_equal(got->funcs[1].constants[0].name, "align_N");
        assert_int_equal(got->funcs[1].constants[0].index, 201);
        if (style)
            assert_memory_equal(got->funcs[1].reflection, "....AIRR", 8);
        assert_int_equal(metallib_write(ctx, got, &b), 0);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.at, b.at, a.len);
        text_free(&a);
        text_free(&b);
        ctx_free(ctx);
    }
}

/* Story: a second function without its place took the first one's bitcode, and another after rewriting. */
static void a_function_without_a_place_is_refused(void **state) {
    tm_ctx *ctx = ctx_new();
    metallib lib = library(false);
    text f = {0};
    assert_int_equal(metallib_write(ctx, &lib, &f), 0);
    u32 last = 0;
    for (u32 i = 0; i + 4 <= f.len; i++)
        if (memcmp(f.at + i, "OFFT", 4) == 0)
            last = i;
    assert_true(last > 0);
    memcpy(f.at + last, "XFFT", 4);
    assert_null(metallib_read(ctx, (u8 *)f.at, f.len));
    assert_int_equal(diag_number(ctx->first->code), 4102);
    text_free(&f);
    ctx_free(ctx);
}

static void damage_is_refused(void **state) {
    tm_ctx *ctx = ctx_new();
    metallib lib = library(true);
    text f = {0};
    assert_int_equal(metallib_write(ctx, &lib, &f), 0);
    u32 refused = 0;
    for (size_t bit = 0; bit < f.len * 8; bit++) {
        f.at[bit / 8] ^= (char)(1 << bit % 8);
        tm_ctx *mine = ctx_new();
        metallib *got = metallib_read(mine, (u8 *)f.at, f.len);
        refused += !got;
        assert_true(got || mine->errors);
        if (got && got->n_funcs)
            metallib_check_hash(mine, &got->funcs[0]);
        ctx_free(mine);
        f.at[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(refused > 300);
    for (size_t len = 0; len < f.len; len++) {
        tm_ctx *mine = ctx_new();
        assert_null(metallib_read(mine, (u8 *)f.at, len));
        assert_int_equal(diag_number(mine->first->code), 4101);
        ctx_free(mine);
    }
    text_free(&f);
    ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_file_has_apples_offsets),
        cmocka_unit_test(each_macos_has_its_row),
        cmocka_unit_test(the_hash_is_sha256),
        cmocka_unit_test(both_styles_come_back_byte_for_byte),
        cmocka_unit_test(a_function_without_a_place_is_refused),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
