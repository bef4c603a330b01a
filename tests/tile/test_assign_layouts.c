/* SPDX-License-Identifier: MIT */
/* Judges layout assignment on whole kernels (assign/NAME.WARPS.ttir, raw modules of the frontend):
 * all invariants hold for several numbers of simdgroups, and at the kernel's own number the
 * conversions are no more than the table says, by kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "ir/text.h"
#include "tile/tile.h"

/* Conversions found: by kind (CONVERT_NONE never stays), and where they stand or what they serve.
 */
typedef struct found {
    u32 kinds[4], inside_if, in_loop, not_for_dot;
} found;

typedef struct expected {
    const char *file;
    u32 warps;
    u32 registers, shuffle, threadgroup; /* conversions of each kind */
} expected;

#include "assign_expected.h"

static char *read_whole(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    char *at = malloc(*len + 1);
    *len = fread(at, 1, *len, f);
    at[*len] = 0;
    fclose(f);
    return at;
}

static void print_diags(tm_ctx *ctx, const char *source) {
    text t = {0};
    for (const diag *d = ctx->first; d; d = d->next)
        diag_format(&t, d, source);
    if (t.len)
        fprintf(stderr, "%s\n", t.at);
    text_free(&t);
}

static bool is_for_dot(const ir_op *op) {
    for (const ir_use *u = ir_result(op, 0)->uses; u; u = u->next)
        if (u->owner->code == IR_tt_dot && u - u->owner->operands < 2)
            return true;
    return false;
}

static bool stands_in(const ir_op *op, u32 code) {
    const ir_op *p = ir_parent(op);
    while (p && p->code != code)
        p = ir_parent(p);
    return p != NULL;
}

static void count_conversion(ir_op *op, void *data) {
    found *f = data;
    if (op->code != IR_ttg_convert_layout)
        return;
    f->not_for_dot += !is_for_dot(op);
    f->inside_if += stands_in(op, IR_scf_if);
    f->in_loop += stands_in(op, IR_scf_for);
    f->kinds[layout_convert_kind(ir_operand(op, 0)->type->encoding->layout,
                                 ir_result(op, 0)->type->encoding->layout)]++;
}

/* Runs the pipeline up to layouts and counts conversions by kind. */
static tm_status assign_file(const char *path, u32 warps, found *out, bool print) {
    static const pass_info *const passes[] = {
        &pass_inline, &pass_canonicalize, &pass_structure, &pass_canonicalize, &pass_cse,
        &pass_licm,   &pass_canonicalize, &pass_cse,       &pass_dce,          &pass_assign_layouts,
        &pass_cse,    &pass_licm,         &pass_dce,
    };
    size_t len;
    char *source = read_whole(path, &len);
    if (!source) {
        fprintf(stderr, "cannot read %s\n", path);
        return -1;
    }
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, len, path);
    pass_run run = {.ctx = ctx, .scratch = arena_new(), .target = {.num_warps = warps}};
    bool stopped;
    tm_status status = m ? pass_run_all(&run, m, passes, COUNT_OF(passes), &stopped) : -1;
    if (status == 0)
        status = layouts_verify(m);
    if (status == 0 && print) {
        text t = {0};
        ir_print_module(&t, m, 0);
        puts(t.at);
        text_free(&t);
    }
    *out = (found){0};
    if (status == 0)
        ir_walk(m->op, count_conversion, out);
    print_diags(ctx, source);
    arena_free(run.scratch);
    if (m)
        ir_module_free(m);
    ctx_free(ctx);
    free(source);
    return status;
}

/* Runs assign-layouts alone on a text; the number of the first diagnostic, 0 when it succeeds. */
static int assign_text(const char *source, u32 warps) {
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "test");
    assert_non_null(m);
    pass_run run = {.ctx = ctx, .scratch = arena_new(), .target = {.num_warps = warps}};
    tm_status status = pass_assign_layouts.run(&run, m);
    assert_int_equal(status != 0, ctx->errors != 0);
    int code = ctx->first ? diag_number(ctx->first->code) : 0;
    arena_free(run.scratch);
    ir_module_free(m);
    ctx_free(ctx);
    return code;
}

#define STORE_RANGE(n)                                                                             \
    "module {\n  tt.func public @k(%p: !tt.ptr<i32>) {\n"                                          \
    "    %0 = tt.make_range {end = " n " : i32, start = 0 : i32} : tensor<" n "xi32>\n"            \
    "    %1 = tt.splat %p : !tt.ptr<i32> -> tensor<" n "x!tt.ptr<i32>>\n"                          \
    "    tt.store %1, %0 : tensor<" n "x!tt.ptr<i32>>\n    tt.return\n  }\n}\n"

static void what_has_no_layout_is_refused(void **state) {
    assert_int_equal(assign_text(STORE_RANGE("64"), 4), 0);
    assert_int_equal(assign_text(STORE_RANGE("96"), 4), 2101);
    assert_int_equal(assign_text(STORE_RANGE("2097152"), 4), 2101);
    assert_int_equal(assign_text(STORE_RANGE("64"), 3), 2102);
    assert_int_equal(assign_text(STORE_RANGE("64"), 64), 2102);
    assert_int_equal(
        assign_text("module {\n  tt.func public @k(%p: tensor<64xi32>) {\n    tt.return\n"
                    "  }\n}\n",
                    4),
        2101);
}

static const char *in_folder(char *buffer, size_t size, const char *file) {
    snprintf(buffer, size, "%s/%s", getenv("ASSIGN_DIR") ? getenv("ASSIGN_DIR") : "assign", file);
    return buffer;
}

static void conversions_are_few(void **state) {
    char path[1024];
    found f;
    bool good = true;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const expected *e = &table[i];
        assert_int_equal(assign_file(in_folder(path, sizeof path, e->file), e->warps, &f, false),
                         0);
        if (f.kinds[CONVERT_REGISTERS] != e->registers || f.kinds[CONVERT_SHUFFLE] != e->shuffle ||
            f.kinds[CONVERT_THREADGROUP] != e->threadgroup) {
            fprintf(stderr, "    {\"%s\", %u, %u, %u, %u},\n", e->file, e->warps,
                    f.kinds[CONVERT_REGISTERS], f.kinds[CONVERT_SHUFFLE],
                    f.kinds[CONVERT_THREADGROUP]);
            good = false;
        }
    }
    assert_true(good);
}

static void conversions_stand_where_they_run_least(void **state) {
    char path[1024];
    found f;
    assert_int_equal(
        assign_file(in_folder(path, sizeof path, "rare_transpose.4.ttir"), 4, &f, false), 0);
    assert_int_equal(f.inside_if, 1); /* only the branch that stores transposed pays */
    assert_int_equal(assign_file(in_folder(path, sizeof path, "attention.4.ttir"), 4, &f, false),
                     0);
    assert_int_equal(f.in_loop, 2);     /* k and v; q before the loop */
    assert_int_equal(f.not_for_dot, 0); /* none for p's row statistics */
}

static void layouts_fit_for_any_number_of_simdgroups(void **state) {
    char path[1024];
    found f;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        for (u32 warps = 1; warps <= 32; warps *= 4)
            assert_int_equal(
                assign_file(in_folder(path, sizeof path, table[i].file), warps, &f, false), 0);
}

int main(int argc, char **argv) {
    found f;
    if (argc >
        2) { /* test_assign_layouts WARPS FILE...: conversions of each file; one file: its IR too */
        int bad = 0;
        for (int i = 2; i < argc; i++) {
            bad |= assign_file(argv[i], (u32)atoi(argv[1]), &f, argc == 3) != 0;
            printf("%s: registers %u, shuffle %u, threadgroup %u, not for dots %u\n", argv[i],
                   f.kinds[1], f.kinds[2], f.kinds[3], f.not_for_dot);
        }
        return bad;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_are_few),
        cmocka_unit_test(conversions_stand_where_they_run_least),
        cmocka_unit_test(layouts_fit_for_any_number_of_simdgroups),
        cmocka_unit_test(what_has_no_layout_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
