/* SPDX-License-Identifier: MIT */
/* The C API from end to end: compile Triton IR to a metallib, load it, launch its kernel on the virtual
 * GPU, read what the launch counted and what the model makes of it, and see how a mistake is reported.
 *
 *     cc examples/launch.c -Iinclude -Lbuild/src/compile -ltritonmetal -o launch && ./launch
 *
 * `./launch FILE.metallib NAME` runs a kernel of another library with the same arguments. */
#include "tritonmetal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, BLOCK = 256, GROUPS = (N + BLOCK - 1) / BLOCK };

static const char add_kernel[] =
    "module {\n"
    "  tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {\n"
    "    %block = arith.constant 256 : i32\n"
    "    %program = tt.get_program_id x : i32\n"
    "    %start = arith.muli %program, %block : i32\n"
    "    %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>\n"
    "    %starts = tt.splat %start : i32 -> tensor<256xi32>\n"
    "    %at = arith.addi %starts, %range : tensor<256xi32>\n"
    "    %ns = tt.splat %n : i32 -> tensor<256xi32>\n"
    "    %mask = arith.cmpi slt, %at, %ns : tensor<256xi32>\n"
    "    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>\n"
    "    %xp = tt.addptr %xs, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>\n"
    "    %a = tt.load %xp, %mask : tensor<256x!tt.ptr<f32>>\n"
    "    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>\n"
    "    %yp = tt.addptr %ys, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>\n"
    "    %b = tt.load %yp, %mask : tensor<256x!tt.ptr<f32>>\n"
    "    %sum = arith.addf %a, %b : tensor<256xf32>\n"
    "    %os = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>\n"
    "    %op = tt.addptr %os, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>\n"
    "    tt.store %op, %sum, %mask : tensor<256x!tt.ptr<f32>>\n"
    "    tt.return\n"
    "  }\n"
    "}\n";

static int fail(tm_context *ctx, const char *what) {
    fprintf(stderr, "%s failed\n%s", what, tm_diag_text(ctx, NULL));
    return 1;
}

static tm_library *compile_and_load(tm_context *ctx) {
    tm_options options = {.num_warps = 4, .target = "apple7"};
    tm_artifact *a = tm_compile(ctx, add_kernel, strlen(add_kernel), "add.ttir", &options);
    if (!a)
        return NULL;
    size_t len;
    const void *metallib = tm_artifact_get(a, "metallib", &len);
    tm_library *lib = tm_library_load(ctx, metallib, len); /* copies it */
    tm_artifact_free(a);
    return lib;
}

static tm_library *read_library(tm_context *ctx, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    static char data[1 << 24];
    size_t len = fread(data, 1, sizeof data, f);
    fclose(f);
    return tm_library_load(ctx, data, len);
}

static int launch(tm_context *ctx, const tm_kernel *k, tm_counters *counters, float *x, float *y, float *out,
                  size_t out_elements) {
    int32_t n = N;
    tm_arg args[] = {{.kind = TM_ARG_BUFFER, .index = 0, .data = x, .size = N * sizeof *x},
                     {.kind = TM_ARG_BUFFER, .index = 1, .data = y, .size = N * sizeof *y},
                     {.kind = TM_ARG_BUFFER, .index = 2, .data = out, .size = out_elements * sizeof *out},
                     {.kind = TM_ARG_BYTES, .index = 3, .data = &n, .size = sizeof n}};
    tm_launch_params params = {.grid = {GROUPS, 1, 1}, .group = {128, 1, 1}, .args = args, .n_args = 4,
                               .counters = counters};
    return tm_launch(ctx, k, &params);
}

static int show_counters(tm_context *ctx, const tm_counters *c) {
    printf("%llu instructions, %llu bytes read in %llu lines of 128 bytes, %llu written\n",
           (unsigned long long)tm_counters_value(c, "instructions"),
           (unsigned long long)tm_counters_value(c, "device_read_bytes"),
           (unsigned long long)tm_counters_value(c, "device_read_lines"),
           (unsigned long long)tm_counters_value(c, "device_write_bytes"));
    for (uint32_t i = 0; tm_chip_name(i); i++) {
        tm_estimate e;
        if (tm_counters_estimate(ctx, c, tm_chip_name(i), &e) != 0)
            return fail(ctx, "the estimate");
        printf("%-10s %6.2f to %6.2f us, bound by %s\n", tm_chip_name(i), e.low_us, e.high_us, e.bound);
    }
    return tm_counters_value(c, "device_write_bytes") == N * sizeof(float) ? 0 : 1;
}

static int run(tm_context *ctx, tm_library *lib, const char *name) {
    int index = tm_library_find(lib, name);
    tm_kernel_options options = {.counting = 1};
    tm_kernel *k = index < 0 ? NULL : tm_kernel_new(ctx, lib, (uint32_t)index, &options);
    tm_counters *counters = k ? tm_counters_new(ctx, k) : NULL;
    if (!counters)
        return fail(ctx, "decoding the kernel");
    static float x[N], y[N], out[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 0.5f;
    int status = launch(ctx, k, counters, x, y, out, N) == 0 ? 0 : fail(ctx, "the launch");
    for (int i = 0; status == 0 && i < N; i++)
        status = out[i] != x[i] + y[i];
    if (status == 0)
        status = show_counters(ctx, counters);

    /* A buffer that is too short: memory outside of it stays as it is, and the report says who wrote. */
    out[N / 2] = -1;
    if (status == 0 && launch(ctx, k, NULL, x, y, out, N / 2) == 0)
        status = 1;
    tm_diag first;
    if (status == 0 && tm_diag_get(ctx, 0, &first) == 0)
        printf("\nTM%d: %s\n%s\n", first.code, first.message, first.note ? first.note : "");
    status |= out[N / 2] != -1;
    tm_counters_free(counters);
    tm_kernel_free(k);
    return status;
}

int main(int argc, char **argv) {
    tm_context *ctx = tm_context_new();
    if (!ctx)
        return 1;
    tm_library *lib = argc > 2 ? read_library(ctx, argv[1]) : compile_and_load(ctx);
    int status = lib ? run(ctx, lib, argc > 2 ? argv[2] : "add") : fail(ctx, "loading");
    tm_library_free(lib);
    tm_context_free(ctx);
    return status;
}
