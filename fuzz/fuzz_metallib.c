/* SPDX-License-Identifier: MIT */
/* A metallib of any kind is refused, or what is written of it reads back the same. */
#include "air/metallib/metallib.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

/* Functions may share their bitcode, so writing can cost far more than the file. */
static bool is_small(const metallib *lib) {
    u64 total = 0;
    for (u32 i = 0; i < lib->n_funcs; i++)
        total += lib->funcs[i].bitcode_len + lib->funcs[i].reflection_len;
    return total < 1 << 20;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len) {
    tm_ctx *ctx = ctx_new();
    metallib *lib = metallib_read(ctx, data, len);
    if (!lib && !ctx->errors)
        abort();
    text once = {0}, twice = {0};
    if (lib && is_small(lib) && metallib_write(ctx, lib, &once) == 0) {
        for (u32 i = 0; i < lib->n_funcs; i++)
            if (lib->funcs[i].bitcode_len)
                metallib_check_hash(ctx, &lib->funcs[i]);
        metallib *again = metallib_read(ctx, (const u8 *)once.at, once.len);
        if (!again || metallib_write(ctx, again, &twice) || once.len != twice.len ||
            memcmp(once.at, twice.at, once.len) != 0)
            abort();
    }
    text_free(&once);
    text_free(&twice);
    ctx_free(ctx);
    return 0;
}
