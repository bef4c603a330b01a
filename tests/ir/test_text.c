/* SPDX-License-Identifier: MIT */
/* Judges the parser, printer and verifier on small texts: what is printed for them, and which
 * diagnostic, at which place, a wrong one gives. Upstream judges the rest (tests/python). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/pass.h"
#include "ir/text.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Texts that are wrong ---------------------------------------------------------------------------------- */

typedef struct wrong {
    int code;
    u32 line, column; /* 0: not judged */
    const char *text;
} wrong;

/* A function with some arguments around the case's ops: they are on line 2. */
#define IN_FUNC(body)                                                                              \
    "tt.func public @f(%a: i32, %b: f32, %p: !tt.ptr<f32>, %t: tensor<4xf32>, %m: tensor<4xi1>) {\n"  \
    body "\ntt.return\n}\n"

static const wrong parse_errors[] = {
    {1001, 2, 17, IN_FUNC("%0 = arith.addi , %a : i32")},
    {1001, 1, 8, "module }"},
    {1001, 1, 7, "cf.br ^bb1"}, /* story: a branch beside the functions crashed the parser */
    {1001, 0, 0, "tt.func @f() { %0 = arith.constant dense<\"0x00"}, /* story: the parser went on behind the end */
    {1002, 2, 6, IN_FUNC("%0 = arith.frob %a : i32")},
    {1003, 2, 17, IN_FUNC("%0 = arith.addi %x, %a : i32")},
    {1004, 2, 30, IN_FUNC("%0 = arith.addi %a, %a : i32 %0 = arith.addi %a, %a : i32")},
    {1004, 2, 1, IN_FUNC("%a = arith.addi %a, %a : i32")},
    {1005, 2, 21, IN_FUNC("%0 = arith.addi %a, %b : i32")},
    {1007, 2, 34, IN_FUNC("%0 = arith.addi %a, %a : i32 loc(#loc1)")},
    {1008, 2, 21, IN_FUNC("%0 = arith.constant 300 : i8")},
    {1008, 2, 21, IN_FUNC("%0 = arith.constant -129 : i8")},
    {1009, 2, 27, IN_FUNC("%0 = ub.poison : tensor<4xtensor<4xf32>>")},
    {1009, 0, 0, IN_FUNC("%0 = ub.poison : tensor<?xf32>")},
    {1009, 0, 0, IN_FUNC("%0 = ub.poison : !tt.ptr<f32, \"odd\">")},
    {1010, 2, 7, IN_FUNC("cf.br ^bb7")},
    {1011, 3, 1, "tt.func @f() {\n^a: cf.br ^b\n^a: cf.br ^b\n^b: tt.return }"},
    {1012, 2, 15, IN_FUNC("tt.assert %m, \"no end : tensor<4xi1>")},
    {1013, 2, 16, IN_FUNC("tt.assert %m, \"\\q\" : tensor<4xi1>")},
    {1014, 2, 21, IN_FUNC("%0 = arith.constant 1 : f32")},
    {1014, 2, 21, IN_FUNC("%0 = arith.constant 1.0 : i32")},
    {1015, 0, 0, IN_FUNC("%0 = arith.constant {x = #d.a<(]>} 1 : i32")},
    {1016, 1, 0, "#a = [#b]\n#b = [#a]\nmodule attributes {x = #a} {}"},
    {1018, 0, 0, IN_FUNC("%0 = ub.poison : tensor<4xf32, #ttg.linear<{register = [[4]], lane = [], "
                         "warp = [], block = []}>>")},
    {1019, 0, 0, IN_FUNC("%0 = arith.constant dense<[1, 2]> : tensor<3xi32>")},
    {1019, 0, 0, IN_FUNC("%0 = arith.constant dense<\"0x00\"> : tensor<3xi32>")},
    {1020, 2, 1, IN_FUNC("%0:70000 = arith.addi %a, %a : i32")},
    {1021, 0, 0, IN_FUNC("tt.print \"x\" {hex = false, isSigned = array<i32: 0>} : %a : i32, i32")},
    {1022, 2, 17, IN_FUNC("%0 = arith.cmpi lt, %a, %a : i32")},
    {1023, 2, 6, IN_FUNC("%0 = tt.load %b : f32")},
    {1024, 2, 17, IN_FUNC("%0 = arith.addi %a#1, %a : i32")},
    {1025, 2, 1, IN_FUNC("%0:2 = arith.addi %a, %a : i32")},
    {1026, 2, 1, "tt.func @f(%c: i1) {\n\"cf.cond_br\"(%c)[^a, ^a] : (i1) -> ()\n^a: tt.return }"},
    {1027, 2, 6, IN_FUNC("%0 = arith.constant \"x\"")},
    {1028, 1, 1, "tt.func @f(i32) { tt.return }"},
    {1029, 2, 6, IN_FUNC("%0 = tt.reduce %t : tensor<4xf32>")},
    {1030, 2, 1, "#a = 1 : i32\n#a = 2 : i32\nmodule {}"},
    {1031, 1, 1, ""},
    {1031, 2, 1, "// nothing\n"},
};

static const wrong verify_errors[] = {
    {1101, 0, 0, IN_FUNC("%0 = \"arith.addi\"(%a) : (i32) -> i32")},
    {1102, 0, 0, "tt.func @f() {\n%0 = arith.constant 1 : i32 }"},
    {1102, 0, 0, "tt.func @f() {\ncf.br ^a\n^a:\n}"},
    {1103, 0, 0, "tt.func @f() {\nscf.yield }"},
    {1104, 0, 0, "tt.func @f() {\n^a: cf.br ^a }"},
    {1104, 0, 0, IN_FUNC("%c = arith.cmpi eq, %a, %a : i32\n%0 = scf.if %c -> (i32) { scf.yield %a : i32 }")},
    {1105, 0, 0, "tt.func @f() {\ncf.br ^a\n^a(%x: i32): tt.return }"},
    {1106, 0, 0, "tt.func @f(%x: i64) {\ncf.br ^a(%x : i64)\n^a(%y: i32): tt.return }"},
    {1107, 0, 0, IN_FUNC("%0 = scf.for %i = %a to %a step %a iter_args(%x = %b) -> (f32) : i32 { scf.yield }")},
    {1108, 0, 0, IN_FUNC("%0 = scf.for %i = %a to %a step %a iter_args(%x = %b) -> (f32) : i32 "
                         "{ scf.yield %a : i32 }")},
    {1109, 0, 0, IN_FUNC("%0 = arith.extsi %a : i32 to i8")},
    {1109, 0, 0, IN_FUNC("%0 = arith.addi %b, %b : f32")},
    {1109, 0, 0, IN_FUNC("%0 = tt.splat %a : i32 -> tensor<4xf32>")},
    {1109, 0, 0, IN_FUNC("%0 = tt.broadcast %t : tensor<4xf32> -> tensor<8xf32>")},
    {1109, 0, 0, IN_FUNC("%0 = tt.reshape %t : tensor<4xf32> -> tensor<2x4xf32>")},
    {1109, 0, 0, IN_FUNC("%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<4xi32>")},
    {1109, 0, 0, IN_FUNC("%0 = tt.trans %t {order = array<i32: 1>} : tensor<4xf32> -> tensor<4xf32>")},
    {1109, 0, 0, IN_FUNC("%0 = tt.dot %t, %t, %t : tensor<4xf32> * tensor<4xf32> -> tensor<4xf32>")},
    {1109, 0, 0, IN_FUNC("%0 = tm.load %p : (!tt.ptr<f32>) -> vector<4xi32>")},
    {1110, 0, 0, IN_FUNC("%0 = \"tt.reduce\"(%t) <{axis = 0 : i32}> ({\n^bb0(%x: f32):\n"
                         "tt.reduce.return %x : f32 }) : (tensor<4xf32>) -> f32")},
    {1109, 0, 0, IN_FUNC("%0 = tt.expand_dims %t : tensor<4xf32> -> tensor<4xf32>")},
    {1111, 0, 0, IN_FUNC("%0 = \"tt.trans\"(%t) : (tensor<4xf32>) -> tensor<4xf32>")},
    {1111, 0, 0, IN_FUNC("%0 = \"arith.cmpi\"(%a, %a) <{predicate = 99 : i64}> : (i32, i32) -> i1")},
    {1112, 0, 0, IN_FUNC("tt.call @g() : () -> ()")},
    {1107, 0, 0, IN_FUNC("tt.call @f() : () -> ()")},
    {1107, 0, 0, "tt.func @f() -> i32 {\ntt.return }"},
    {1113, 0, 0, "tt.func @f() { tt.return }\ntt.func @f() { tt.return }"},
    {1114, 0, 0, "tt.func @f() { tt.return tt.return }"},
    {1116, 0, 0, IN_FUNC("%0 = arith.addi %x, %a : i32\n%x = arith.constant 1 : i32")},
    {1116, 0, 0, "tt.func @f(%c: i1) {\ncf.cond_br %c, ^a, ^b\n^a:\n%x = arith.constant 1 : i32\n"
                 "cf.br ^b\n^b:\n%y = arith.addi %x, %x : i32\ntt.return }"},
    {1117, 0, 0, IN_FUNC("%0 = \"arith.addf\"(%b, %t) : (f32, tensor<4xf32>) -> f32")},
    {1118, 0, 0, IN_FUNC("%0 = arith.sitofp %m : tensor<4xi1> to tensor<8xf32>")},
};

/* The number of the last diagnostic for a text that must be wrong, and its place. */
static int diagnose(const char *source, bool verify, u32 *line, u32 *column) {
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "case");
    int number = 0;
    if (m && verify)
        assert_int_equal(ir_verify(m), -1);
    if (!m || verify) {
        assert_non_null(ctx->first);
        number = diag_number(ctx->first->code);
        *line = ctx->first->loc.line;
        *column = ctx->first->loc.column;
        assert_string_equal(ctx->first->loc.file, "case");
    }
    ir_module_free(m);
    ctx_free(ctx);
    return number;
}

static void judge(const wrong *cases, u32 n, bool verify) {
    text failures = {0};
    for (u32 i = 0; i < n; i++) {
        u32 line = 0, column = 0;
        int number = diagnose(cases[i].text, verify, &line, &column);
        if (number != cases[i].code || (cases[i].line && line != cases[i].line) ||
            (cases[i].column && column != cases[i].column))
            text_printf(&failures, "case %u gave TM%d at %u:%u, wanted TM%d at %u:%u:\n%s\n", i, number,
                        line, column, cases[i].code, cases[i].line, cases[i].column, cases[i].text);
    }
    if (failures.len)
        fail_msg("%s", failures.at);
    text_free(&failures);
}

static void wrong_text_is_diagnosed(void **state) {
    judge(parse_errors, COUNT_OF(parse_errors), false);
}

static void wrong_ir_is_diagnosed(void **state) {
    judge(verify_errors, COUNT_OF(verify_errors), true);
}

/* ---- Limits -------------------------------------------------------------------------------------------------- */

static char *repeat(const char *before, const char *part, u32 n, const char *after) {
    text s = {0};
    text_puts(&s, before);
    for (u32 i = 0; i < n; i++)
        text_puts(&s, part);
    text_puts(&s, after);
    return s.at;
}

static void nesting_is_bounded(void **state) {
    static const struct {
        const char *before, *part;
        int code;
    } cases[] = {
        {"module attributes {a = ", "[", 1006},
        {"module attributes {a = ", "{b = ", 1006},
        {"tt.func @f(%a: ", "(", 1006},
        {"tt.func @f(%a: ", "!tt.ptr<", 1006},
        {"tt.func @f(%a: i1) { ", "scf.if %a { ", 1006},
        {"tt.func @f(%a: i1) { tt.return loc(", "callsite(", 1006},
        {"\"a\"() ({ ", "\"a\"() ({ ", 1006},
    };
    for (u32 i = 0; i < COUNT_OF(cases); i++) {
        u32 line, column;
        char *source = repeat(cases[i].before, cases[i].part, 100000, "");
        assert_int_equal(diagnose(source, false, &line, &column), cases[i].code);
        free(source);
    }
}

/* #a0 = [#a1, #a1], #a1 = [#a2, #a2] ... doubles with each line. */
static void aliases_cannot_explode(void **state) {
    text s = {0};
    u32 line, column;
    for (int i = 0; i < 60; i++)
        text_printf(&s, "#a%d = [#a%d, #a%d]\n", i, i + 1, i + 1);
    text_puts(&s, "#a60 = 1 : i32\nmodule attributes {x = #a0} {}\n");
    assert_int_equal(diagnose(s.at, false, &line, &column), 1017);
    text_free(&s);
}

/* ---- Printing ------------------------------------------------------------------------------------------------- */

static char *print_again(const char *source, u32 flags) {
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "case");
    if (!m) {
        text out = {0};
        diag_format(&out, ctx->first, source);
        fail_msg("%s", out.at);
    }
    text out = {0};
    ir_print_module(&out, m, flags);
    ir_module_free(m);
    ctx_free(ctx);
    return out.at;
}

static void thread_level_text_reads_back(void **state) {
    static const char source[] =
        "module {\n"
        "  tt.func public @k(%arg0: !tt.ptr<f32, \"constant\">, %arg1: !tt.ptr<f16, 3>) attributes {noinline = false} {\n"
        "    %0 = tm.lane_id : () -> i32\n"
        "    %1 = tm.tg_alloc {align = 16 : i32, bytes = 512 : i32} : () -> !tt.ptr<i8, 3>\n"
        "    %2 = tm.load %arg0 {align = 16 : i32} : (!tt.ptr<f32, \"constant\">) -> vector<4xf32>\n"
        "    %3 = tm.vec_get %2 {index = 1 : i32} : (vector<4xf32>) -> f32\n"
        "    tm.barrier {flags = 2 : i32} : () -> ()\n"
        "    %4 = tm.matrix_load %arg1 {stride = 8 : i32, transposed = false} : (!tt.ptr<f16, 3>) -> !tm.matrix<f16>\n"
        "    %5 = tm.matrix_fill %3 : (f32) -> !tm.matrix<f32>\n"
        "    %6 = tm.matrix_mma %4, %4, %5 : (!tm.matrix<f16>, !tm.matrix<f16>, !tm.matrix<f32>) -> !tm.matrix<f32>\n"
        "    tt.return\n"
        "  }\n"
        "}\n";
    char *out = print_again(source, 0);
    assert_string_equal(out, source);
    free(out);
}

/* The same bases mean another map for another shape; both read back, under aliases of their own. */
static void layouts_read_back(void **state) {
    static const char source[] =
        "#linear = #ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0], [2, 0], [4, 0], [0, 0]], "
        "warp = [], block = []}>\n"
        "module {\n"
        "  tt.func public @k(%arg0: tensor<8x4xf32, #linear>) {\n"
        "    %0 = arith.negf %arg0 : tensor<8x4xf32, #linear>\n"
        "    tt.return\n"
        "  }\n"
        "}\n";
    char *out = print_again(source, 0);
    assert_string_equal(out, source);
    free(out);
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "case");
    const ir_type *t = ir_module_body(m)->first->regions[0].first->args[0]->type;
    assert_int_equal(t->encoding->kind, IR_ATTR_LAYOUT);
    assert_int_equal(layout_index(t->encoding->layout, 1, 0, 0), 1);
    assert_int_equal(layout_index(t->encoding->layout, 0, 3, 0), 2 + 4);
    assert_int_equal(layout_index(t->encoding->layout, 1, 8, 0), 16 + 1);
    ir_module_free(m);
    ctx_free(ctx);
}

static void unknown_ops_are_kept(void **state) {
    static const char source[] =
        "module {\n"
        "  tt.func public @k(%arg0: !odd.type<a, [b]>) {\n"
        "    %0:2 = \"odd.op\"(%arg0) <{b = #odd.x<y>, c}> ({\n"
        "    ^bb0(%arg1: i32):\n"
        "      \"odd.end\"(%arg1) : (i32) -> ()\n"
        "    }) {a = 1 : i32} : (!odd.type<a, [b]>) -> (i32, f32)\n"
        "    tt.return\n"
        "  }\n"
        "}\n";
    char *out = print_again(source, 0);
    assert_string_equal(out, source);
    free(out);
}

static void an_error_shows_the_op(void **state) {
    const char *source = "tt.func @f(%x: f32) {\n  %0 = arith.addi %x, %x : f32\n tt.return }";
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "case");
    assert_int_equal(ir_verify(m), -1);
    assert_int_equal(ctx->first->loc.line, 2);
    assert_int_equal(ctx->first->loc.column, 8);
    assert_string_equal(ctx->first->note, "%0 = arith.addi %arg0, %arg0 : f32");
    ir_module_free(m);
    ctx_free(ctx);
}

/* ---- Passes ---------------------------------------------------------------------------------------------------- */

static tm_status add_one(pass_run *run, ir_module *m) {
    ir_builder b = ir_before(m, ir_module_body(m)->first->regions[0].first->last);
    arena_alloc(run->scratch, 1000);
    ir_const_int(&b, ir_type_int(m, 32), 1);
    return 0;
}

static tm_status break_it(pass_run *run, ir_module *m) {
    ir_erase(ir_module_body(m)->first->regions[0].first->last);
    return 0;
}

static const pass_info pass_add = {"add", "adds a constant", add_one};
static const pass_info pass_break = {"break", "erases the terminator", break_it};

static void note_dump(void *data, u32 index, const char *pass, const char *at, size_t len) {
    char *s = data;
    tm_ctx *ctx = ctx_new();
    ir_module *again = ir_parse(ctx, at, len, pass);
    assert_non_null(again); /* a dump reads back */
    ir_module_free(again);
    ctx_free(ctx);
    snprintf(s + strlen(s), 100 - strlen(s), "%u:%s ", index, pass);
}

typedef struct ran {
    tm_status status;
    bool stopped;
    int code;        /* of the last diagnostic */
    char dumps[100];
    u64 times[3];
} ran;

static ran run_passes(const pass_info *const *passes, u32 n, const char *stop, const char *filter) {
    const char *source = "tt.func @f() { tt.return }";
    ran r = {0};
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, source, strlen(source), "case");
    pass_run run = {.ctx = ctx, .scratch = arena_new(), .stop_after = stop, .verify = true,
                    .dump_filter = filter, .dump = note_dump, .dump_data = r.dumps,
                    .time_ns = r.times};
    size_t before = arena_bytes(run.scratch);
    r.status = pass_run_all(&run, m, passes, n, &r.stopped);
    assert_int_equal(arena_bytes(run.scratch), before);
    r.code = ctx->last ? diag_number(ctx->last->code) : 0;
    arena_free(run.scratch);
    ir_module_free(m);
    ctx_free(ctx);
    return r;
}

static void passes_run_in_order(void **state) {
    const pass_info *passes[] = {&pass_add, &pass_add, &pass_break};
    ran r = run_passes(passes, 2, NULL, "all");
    assert_int_equal(r.status, 0);
    assert_false(r.stopped);
    assert_string_equal(r.dumps, "0:add 1:add ");
    assert_true(r.times[0] > 0 && r.times[1] > 0 && r.times[2] == 0);
    r = run_passes(passes, 3, "add", "break,add");
    assert_true(r.stopped);
    assert_string_equal(r.dumps, "0:add ");
    r = run_passes(passes, 3, NULL, "ad");
    assert_int_equal(r.status, -1);
    assert_int_equal(r.code, 1182);
    assert_string_equal(r.dumps, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_text_is_diagnosed),
        cmocka_unit_test(wrong_ir_is_diagnosed),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(aliases_cannot_explode),
        cmocka_unit_test(thread_level_text_reads_back),
        cmocka_unit_test(layouts_read_back),
        cmocka_unit_test(unknown_ops_are_kept),
        cmocka_unit_test(an_error_shows_the_op),
        cmocka_unit_test(passes_run_in_order),
    };
    return cmocka_run_group_tests_name("ir text", tests, NULL, NULL);
}
