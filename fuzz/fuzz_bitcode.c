/* SPDX-License-Identifier: MIT */
/* Bitcode of any kind is refused, or prints, and comes back equal from our writer when it verifies. */
#include "air/air.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void round_trip(tm_ctx *ctx, air_module *m) {
    text out = {0};
    air_print(&out, m);
    out.len = 0;
    air_write_bitcode(m, &out);
    air_module *again = air_read_bitcode(ctx, (const u8 *)out.at, out.len);
    if (!again || !air_equal(m, again, NULL))
        abort();
    air_module_free(again);
    text_free(&out);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len) {
    tm_ctx *ctx = ctx_new();
    air_module *m = air_read_bitcode(ctx, data, len);
    if (!m && !ctx->errors)
        abort();
    air_kernel kernel;
    if (m) { /* the tool shows modules that do not verify */
        text shown = {0};
        air_print(&shown, m);
        text_free(&shown);
    }
    if (m && air_verify(m) == 0) {
        if (air_kernel_read(m, &kernel) == 0)
            air_check_rules(m, kernel.air_minor);
        round_trip(ctx, m);
    }
    air_module_free(m);
    ctx_free(ctx);
    return 0;
}
