/* SPDX-License-Identifier: MIT */
/* Bitcode of any kind, run on the virtual GPU: what reads and verifies is decoded, and what decodes is
 * launched on a few small buffers. Each buffer is an allocation of its own, so that ASan sees whoever
 * leaves it; what the kernel may not write must be as it was. A hash of the input chooses checks, counting, sizes
 * and the grid, so an input always does the same.
 * Bytes that were changed one by one rarely read as a module. mutate.c changes modules instead. */
#include "mutate.h"
#include "vgpu/count/count.h"
#include <stdlib.h>

enum { MOST_ARGS = 12, MOST_THREAD_BYTES = 1 << 16, STEPS = 2000 };

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
size_t LLVMFuzzerMutate(u8 *data, size_t len, size_t room);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t len, size_t room, unsigned seed);

/* The choices of one input, a few bits at a time. */
typedef struct chooser { u64 state; } chooser;
static u32 choose(chooser *c, u32 n) {
    c->state = hash_u64(c->state, 0x5DEECE66D);
    return (u32)(c->state >> 33) % n;
}

typedef struct bound {
    tm_arg arg;
    u8 *memory, *copy; /* the allocation; what it held, when nobody may write it */
    size_t len;
} bound;

/* Numbers, and now and then a pointer as a kernel might have left it there. */
static void fill(chooser *c, u8 *at, size_t len) {
    static const u64 words[] = {0, 1, ~0ull, VGPU_PTR(SEG_ARG0, 0), VGPU_PTR(SEG_ARG0 + 1, 8), VGPU_PTR(SEG_THREAD, 1024),
                                VGPU_PTR(SEG_CONST, 0), VGPU_PTR(SEG_THREADGROUP, 16), 0x7FC000003F800000,
                                0x8000000000000000, 0x0000002000000003};
    for (size_t i = 0; i < len; i += 8) {
        u64 w = words[choose(c, COUNT_OF(words))] + choose(c, 3);
        memcpy(at + i, &w, MIN(len - i, 8));
    }
}
static bound bind_buffer(chooser *c, const air_arg *a) {
    static const u16 sizes[] = {0, 1, 4, 30, 64, 256, 260, 1024};
    bound b = {.arg = {.kind = TM_ARG_BUFFER, .index = a->location, .size = sizes[choose(c, COUNT_OF(sizes))]}};
    if (choose(c, 4) == 0)
        b.arg.before = choose(c, 20);
    b.len = b.arg.before + b.arg.size;
    b.memory = malloc(b.len);
    b.arg.data = b.memory + b.arg.before;
    fill(c, b.memory, b.len);
    if (a->space == 2 && choose(c, 2)) {
        b.arg.kind = TM_ARG_BYTES;
        b.arg.before = 0;
    }
    if (choose(c, 3) == 0)
        b.arg.written = calloc(b.arg.size + 1, 1);
    if (!a->writes || b.arg.kind == TM_ARG_BYTES) {
        b.copy = malloc(b.len + 1);
        memcpy(b.copy, b.memory, b.len);
    }
    return b;
}
static u32 bind_all(chooser *c, const air_kernel *k, bound *out) {
    u32 n = 0;
    for (u32 i = 0; i < k->n_args && n < MOST_ARGS; i++) {
        const air_arg *a = &k->args[i];
        bool taken = a->kind > AIR_ARG_INDIRECT_BUFFER || choose(c, 16) == 0;
        for (u32 j = 0; j < n; j++) /* one buffer for two arguments: the stricter one holds for the copy */
            taken |= out[j].arg.index == a->location;
        if (taken)
            continue;
        out[n++] = a->space == 3 ? (bound){.arg = {.kind = TM_ARG_THREADGROUP, .index = a->location, .size = choose(c, 600)}}
                                 : bind_buffer(c, a);
    }
    return n;
}
static bool may_write(const air_kernel *k, u32 location) {
    for (u32 i = 0; i < k->n_args; i++)
        if (k->args[i].location == location && k->args[i].writes)
            return true;
    return false;
}

static void launch(chooser *c, tm_ctx *ctx, const vgpu_kernel *g, const air_kernel *k) {
    bound b[MOST_ARGS];
    tm_arg args[MOST_ARGS];
    u32 n = bind_all(c, k, b);
    for (u32 i = 0; i < n; i++)
        args[i] = b[i].arg;
    tm_counters *counters = g->count ? counters_new(g) : NULL;
    tm_launch_params p = {.grid = {1 + choose(c, 2), 1 + choose(c, 2), 1}, .group = {1 + choose(c, 40), 1 + choose(c, 2), 1},
                          .args = args, .n_args = n, .threads = 1, .max_steps = STEPS, .order = choose(c, 4),
                          .seed = choose(c, 9), .counters = counters};
    if (choose(c, 4) == 0)
        p.grid_threads[0] = p.grid[0] * p.group[0] - choose(c, p.group[0]);
    vgpu_run(ctx, g, &p);
    counters_free(counters);
    for (u32 i = 0; i < n; i++) {
        if (b[i].copy && (b[i].arg.kind == TM_ARG_BYTES || !may_write(k, b[i].arg.index)) &&
            memcmp(b[i].copy, b[i].memory, b[i].len) != 0)
            abort();
        free(b[i].memory);
        free(b[i].copy);
        free(b[i].arg.written);
    }
}

static vgpu_checks choose_checks(chooser *c) {
    static const char *const lists[] = {NULL, "all", "none", "races,uninit,align", NULL, "lanes,progress,exits,bounds"};
    vgpu_checks on;
    const char *bad;
    int bad_len;
    if (!vgpu_checks_parse(lists[choose(c, COUNT_OF(lists))], &on, &bad, &bad_len))
        abort();
    on.count = choose(c, 4) == 0;
    return on;
}
static vgpu_numerics choose_numerics(chooser *c) {
    vgpu_numerics n = {0};
    if (choose(c, 3) == 0)
        n = (vgpu_numerics){.denormals = (u8)choose(c, 2), .fmuladd = (u8)choose(c, 2), .convert = (u8)choose(c, 4),
                            .matrix = (u8)choose(c, 4)};
    return n;
}
static void decode_and_run(chooser *c, tm_ctx *ctx, air_module *m, const air_kernel *k) {
    tm_constant_value given[4];
    u32 n = choose(c, 4) ? (u32)MIN(k->n_constants, COUNT_OF(given)) : 0;
    for (u32 i = 0; i < n; i++)
        given[i] = (tm_constant_value){.name = k->constants[i].name, .bits = choose(c, 4)};
    vgpu_kernel *g = vgpu_decode(ctx, m, given, n, choose_checks(c), choose_numerics(c));
    if (!g && !ctx->errors)
        abort();
    if (g && choose(c, 16) == 0) {
        text listing = {0};
        vgpu_print(&listing, g);
        text_free(&listing);
    }
    if (g && g->thread_bytes <= MOST_THREAD_BYTES)
        launch(c, ctx, g, k);
    vgpu_kernel_free(g);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len) {
    tm_ctx *ctx = ctx_new();
    chooser c = {hash_bytes(data, len, 1)};
    air_module *m = air_read_bitcode(ctx, data, len);
    air_kernel k;
    if (m && air_kernel_read(m, &k) == 0)
        decode_and_run(&c, ctx, m, &k);
    air_module_free(m);
    ctx_free(ctx);
    return 0;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t len, size_t room, unsigned seed) {
    size_t n = seed % 16 ? mutate_module(data, len, room, seed) : 0;
    return n ? n : LLVMFuzzerMutate(data, len, room);
}
