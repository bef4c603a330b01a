/* SPDX-License-Identifier: MIT */
/* The truth: libraries that Apple's compiler made (.ci/test-data fetches MLX's from its wheels into
 * $TM_TEST_DATA). Each library is rewritten byte for byte; each kernel reads, verifies, breaks no rule,
 * and comes back equal from our writer; for a few, llvm-dis 14 prints the same text of Apple's bitcode
 * and of ours, and our printer prints that text too. One kernel in STEP is looked at, all of them with
 * TM_TEST_FULL set. Without libraries the tests skip, but not where CI is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "air/air.h"
#include "air/metallib/metallib.h"
#include "tools.h"
#include <glob.h>

enum { STEP = 23, DIS_SAMPLES = 8 };

static text read_file(const char *path) {
    text out = {0};
    char buffer[65536];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        text_add(&out, buffer, n);
    fclose(f);
    return out;
}

typedef void (*library_check)(const char *path, tm_ctx *ctx, const text *file, const metallib *lib);

static void for_each_library(library_check check) {
    const char *folder = getenv("TM_TEST_DATA");
    char pattern[1000];
    snprintf(pattern, sizeof pattern, "%s/*.metallib", folder ? folder : "");
    glob_t found = {0};
    if (!folder || glob(pattern, 0, NULL, &found) != 0) {
        if (getenv("CI"))
            fail_msg("no libraries in TM_TEST_DATA: run .ci/test-data");
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        text file = read_file(found.gl_pathv[i]);
        tm_ctx *ctx = ctx_new();
        metallib *lib = metallib_read(ctx, (const u8 *)file.at, file.len);
        if (!lib)
            fail_msg("%s: %s", found.gl_pathv[i], ctx->first->message);
        check(found.gl_pathv[i], ctx, &file, lib);
        ctx_free(ctx);
        text_free(&file);
    }
    globfree(&found);
}

static void check_container(const char *path, tm_ctx *ctx, const text *file, const metallib *lib) {
    text out = {0};
    assert_int_equal(metallib_write(ctx, lib, &out), 0);
    if (out.len != file->len || memcmp(out.at, file->at, out.len) != 0)
        fail_msg("%s is rewritten differently", path);
    assert_true(lib->n_funcs > 1000);
    text_free(&out);
}

static void check_kernel(tm_ctx *ctx, const metallib_func *f) {
    air_module *m = air_read_bitcode(ctx, f->bitcode, f->bitcode_len);
    air_kernel k;
    text out = {0}, why = {0};
    if (!m || air_verify(m) || air_kernel_read(m, &k) || air_check_rules(m, f->air_minor))
        fail_msg("%s: %s", f->name, ctx->first->message);
    assert_string_equal(k.name, f->name);
    assert_int_equal(k.n_constants, f->n_constants);
    assert_int_equal(k.air_minor, f->air_minor);
    assert_int_equal(air_write_bitcode(m, &out), 0);
    air_module *again = air_read_bitcode(ctx, (const u8 *)out.at, out.len);
    if (!again || !air_equal(m, again, &why))
        fail_msg("%s comes back different: %s", f->name, why.at ? why.at : "it does not read");
    air_module_free(again);
    air_module_free(m);
    text_free(&out);
}

static void check_kernels(const char *path, tm_ctx *ctx, const text *file, const metallib *lib) {
    u32 step = getenv("TM_TEST_FULL") ? 1 : STEP;
    for (u32 i = 0; i < lib->n_funcs; i += step) {
        assert_int_equal(metallib_check_hash(ctx, &lib->funcs[i]), 0);
        check_kernel(ctx, &lib->funcs[i]);
    }
}

/* LLVM 14 gives its intrinsics the attributes it knows and forgets one that came later. */
static void drop_later_attributes(text *t) {
    static const char word[] = "nocallback ";
    size_t to = 0, len = strlen(word);
    for (size_t at = 0; at < t->len;)
        if (t->len - at >= len && memcmp(t->at + at, word, len) == 0)
            at += len;
        else
            t->at[to++] = t->at[at++];
    t->len = to;
    t->at[to] = 0;
}

static text disassembled(const void *data, size_t len) {
    text out = {0};
    assert_int_equal(run_tool("llvm-dis-14", "-o - | tail -n +2", data, len, &out), 0);
    assert_true(out.len > 100);
    return out;
}

static void check_text(const char *path, tm_ctx *ctx, const text *file, const metallib *lib) {
    for (u32 i = 0; i < lib->n_funcs; i += lib->n_funcs / DIS_SAMPLES) {
        const metallib_func *f = &lib->funcs[i];
        air_module *m = air_read_bitcode(ctx, f->bitcode, f->bitcode_len);
        assert_non_null(m);
        text bitcode = {0}, printed = {0};
        air_write_bitcode(m, &bitcode);
        air_print(&printed, m);
        text apple = disassembled(f->bitcode, f->bitcode_len);
        text ours = disassembled(bitcode.at, bitcode.len);
        assert_string_equal(apple.at, ours.at);
        drop_later_attributes(&printed);
        assert_string_equal(apple.at, printed.at);
        air_module_free(m);
        text_free(&bitcode);
        text_free(&printed);
        text_free(&apple);
        text_free(&ours);
    }
}

static void libraries_are_rewritten_byte_for_byte(void **state) { for_each_library(check_container); }
static void kernels_read_and_come_back_equal(void **state) { for_each_library(check_kernels); }
static void llvm_reads_the_same_from_both(void **state) {
    if (!have_tool("llvm-dis-14"))
        skip();
    for_each_library(check_text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_rewritten_byte_for_byte),
        cmocka_unit_test(kernels_read_and_come_back_equal),
        cmocka_unit_test(llvm_reads_the_same_from_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
