/* SPDX-License-Identifier: MIT */
/* Bitcode: what is written reads back equal, LLVM 14 agrees, and damaged files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "air/bitcode/bitcode.h"
#include "sample.h"
#include "tools.h"

static text written(air_module *m) {
    text out = {0};
    assert_int_equal(air_verify(m), 0);
    assert_int_equal(air_write_bitcode(m, &out), 0);
    return out;
}

static void bits_of_every_encoding_read_back(void **state) {
    text out = {0};
    arena *a = arena_new();
    bit_writer w = {.out = &out, .width = 2, .arena = a};
    bit_emit(&w, 0xDEC04342u, 32);
    bit_begin(&w, BLOCK_MODULE, 3);
    u32 id = bit_define(&w, 5, (abbrev_op[]){{0, 9}, {ABBREV_FIXED, 7}, {ABBREV_VBR, 6},
                                             {ABBREV_ARRAY, 0}, {ABBREV_CHAR6, 0}});
    u32 blob = bit_define(&w, 3, (abbrev_op[]){{0, 10}, {ABBREV_FIXED, 1}, {ABBREV_BLOB, 0}});
    bit_record(&w, id, 9, 5, (u64[]){100, UINT64_MAX, 'a', '_', '9'});
    bit_record_blob(&w, blob, 10, 1, (u64[]){1}, "blob!", 5);
    bit_record(&w, BC_UNABBREV, 11, 2, (u64[]){0, 1ull << 63});
    bit_finish(&w);

    tm_ctx *ctx = ctx_new();
    bit_reader r = {.data = (u8 *)out.at, .len = out.len, .at = 32, .end = out.len * 8, .ctx = ctx,
                    .arena = a, .info_block = BC_BLOCK_IDS};
    assert_int_equal(bit_take(&r, 2), BC_ENTER_BLOCK);
    assert_int_equal(bit_take_vbr(&r, 8), BLOCK_MODULE);
    assert_int_equal(bit_enter(&r, BLOCK_MODULE), 0);
    u32 sub;
    assert_int_equal(bit_next(&r, &sub), BIT_RECORD);
    assert_int_equal(r.code, 9);
    assert_int_equal(r.n_ops, 5);
    assert_true(r.ops[1] == UINT64_MAX && r.ops[2] == 'a' && r.ops[3] == '_' && r.ops[4] == '9');
    assert_int_equal(bit_next(&r, &sub), BIT_RECORD);
    assert_int_equal(r.blob_len, 5);
    assert_memory_equal(r.blob, "blob!", 5);
    assert_int_equal(bit_next(&r, &sub), BIT_RECORD);
    assert_true(r.ops[1] == 1ull << 63);
    assert_int_equal(bit_next(&r, &sub), BIT_END);
    ctx_free(ctx);
    text_free(&out);
    arena_free(a);
}

static void every_instruction_and_constant_round_trips(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_module(ctx);
    text out = written(m), why = {0};
    assert_int_equal(out.len % 16, 0);
    air_module *again = air_read_bitcode(ctx, (u8 *)out.at, out.len);
    assert_non_null(again);
    if (!air_equal(m, again, &why))
        fail_msg("%s", why.at);
    text twice = written(again);
    assert_int_equal(twice.len, out.len);
    assert_memory_equal(twice.at, out.at, out.len);
    air_module_free(again);
    air_module_free(m);
    text_free(&out);
    text_free(&twice);
    ctx_free(ctx);
}

static void equality_sees_one_changed_flag(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *a = sample_module(ctx), *b = sample_module(ctx);
    assert_true(air_equal(a, b, NULL));
    air_inst *i = b->funcs.at[1]->first->first->next;
    i->flags ^= AIR_NSW;
    text why = {0};
    assert_false(air_equal(a, b, &why));
    assert_string_equal(why.at, "function everything: block 0, instruction 1: flags differ");
    text_free(&why);
    i->flags ^= AIR_NSW;
    assert_true(air_equal(a, b, NULL));
    i->ops[1] = air_const_int(b, air_type_int(b, 32), 2);
    assert_false(air_equal(a, b, NULL));
    air_module_free(a);
    air_module_free(b);
    ctx_free(ctx);
}

static void llvm_takes_our_bitcode(void **state) {
    if (!have_tool("llvm-dis-14") || !have_tool("opt-14"))
        skip();
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_module(ctx);
    text out = written(m), theirs = {0}, ours = {0};
    assert_int_equal(run_tool("opt-14 -mtriple=x86_64 -passes=verify", "-o /dev/null", out.at,
                              out.len, NULL), 0);
    assert_int_equal(run_tool("llvm-dis-14", "-o -", out.at, out.len, &theirs), 0);
    air_print(&ours, m);
    /* The first line names the file. */
    assert_non_null(strchr(theirs.at, '\n'));
    assert_string_equal(strchr(theirs.at, '\n') + 1, ours.at);
    air_module_free(m);
    text_free(&out);
    text_free(&ours);
    text_free(&theirs);
    ctx_free(ctx);
}

static void llvm_assembles_our_text(void **state) {
    if (!have_tool("llvm-as-14"))
        skip();
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_module(ctx);
    text ours = {0};
    air_print(&ours, m);
    assert_int_equal(run_tool("llvm-as-14", "-o /dev/null", ours.at, ours.len, NULL), 0);
    air_module_free(m);
    text_free(&ours);
    ctx_free(ctx);
}

static void refused_with(const void *data, size_t len, int code) {
    tm_ctx *ctx = ctx_new();
    assert_null(air_read_bitcode(ctx, data, len));
    assert_non_null(ctx->first);
    assert_int_equal(diag_number(ctx->first->code), code);
    ctx_free(ctx);
}

static void what_is_no_bitcode_is_refused(void **state) {
    refused_with("", 0, 4001);
    refused_with("MTLB", 4, 4001);
    u8 wrapper[20] = {0xDE, 0xC0, 0x17, 0x0B, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0};
    refused_with(wrapper, sizeof wrapper, 4001);
    refused_with("BC\xC0\xDE", 4, 4004); /* no module */
}

static void every_truncation_is_refused(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_module(ctx);
    text out = written(m);
    for (size_t raw = 4; raw + 24 < out.len; raw += 4) {
        tm_ctx *mine = ctx_new();
        air_module *got = air_read_bitcode(mine, (u8 *)out.at + 20, raw);
        /* The symbol table at the very end is not needed, names are. */
        assert_true(got != NULL || mine->errors > 0);
        if (raw + 200 < out.len)
            assert_null(got);
        air_module_free(got);
        ctx_free(mine);
    }
    air_module_free(m);
    text_free(&out);
    ctx_free(ctx);
}

/* Whatever a flipped bit makes of a file: it is refused, or it reads and then writes and prints. */
static void flipped_bits_do_no_harm(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_module(ctx);
    text out = written(m);
    u32 refused = 0, taken = 0;
    for (size_t bit = 20 * 8; bit < out.len * 8; bit += 5) {
        out.at[bit / 8] ^= (char)(1 << bit % 8);
        tm_ctx *mine = ctx_new();
        air_module *got = air_read_bitcode(mine, (u8 *)out.at, out.len);
        if (got && air_verify(got) == 0) {
            text t = {0};
            air_print(&t, got);
            air_write_bitcode(got, &t);
            text_free(&t);
            taken++;
        }
        refused += !got;
        air_module_free(got);
        ctx_free(mine);
        out.at[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(refused > 100 && taken > 100);
    air_module_free(m);
    text_free(&out);
    ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_every_encoding_read_back),
        cmocka_unit_test(every_instruction_and_constant_round_trips),
        cmocka_unit_test(equality_sees_one_changed_flag),
        cmocka_unit_test(llvm_takes_our_bitcode),
        cmocka_unit_test(llvm_assembles_our_text),
        cmocka_unit_test(what_is_no_bitcode_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(flipped_bits_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
