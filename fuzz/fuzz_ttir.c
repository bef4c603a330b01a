/* SPDX-License-Identifier: MIT */
/* Any bytes as Triton IR: reading never crashes; what reads prints, reads back, and prints the same; the
 * verifier takes whatever reads. */
#include "ir/text.h"
#include <stdlib.h>

static ir_module *print_and_read(tm_ctx *ctx, ir_module *m, text *out) {
    ir_print_module(out, m, IR_PRINT_LOCS | IR_PRINT_NAMES);
    return ir_parse(ctx, out->at, out->len, "again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tm_ctx *ctx = ctx_new();
    ir_module *m = ir_parse(ctx, (const char *)data, size, "fuzz");
    if (m && ir_verify(m) == 0) {
        text first = {0}, second = {0};
        ir_module *again = print_and_read(ctx, m, &first);
        if (!again)
            abort();
        ir_print_module(&second, again, IR_PRINT_LOCS | IR_PRINT_NAMES);
        if (first.len != second.len || memcmp(first.at, second.at, first.len) != 0)
            abort();
        text_free(&first);
        text_free(&second);
        ir_module_free(again);
    } else if (m) {
        text out = {0};
        ir_print_module(&out, m, IR_PRINT_LOCS | IR_PRINT_NAMES);
        text_free(&out);
    }
    ir_module_free(m);
    ctx_free(ctx);
    return 0;
}
