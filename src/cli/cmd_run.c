/* SPDX-License-Identifier: MIT */
/* run: one kernel of a metallib on the virtual GPU. Buffers come from .npy files or start as zeros,
 * constant blocks are written as typed scalars, and --out saves a buffer after the run. */
#include "cli/cli.h"
#include "ir/format.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ARGS = 64 };

typedef struct run_request {
    const char *path, *name, *checks, *numerics, *chip, *trace;
    u32 grid[3], group[3], banks[3], threads;
    option_list args, outs, threadgroup, constants;
    bool time, counters;
} run_request;

typedef struct run_state {
    cli *c;
    tm_library *lib;
    u32 index;
    tm_arg args[MAX_ARGS];
    npy arrays[MAX_ARGS];      /* of args[i] when it came from a file or a shape */
    u32 n;
    tm_constant_value constants[MAX_ARGS];
    u32 n_constants;
} run_state;

static const char *copy(run_state *s, const char *at, size_t len) {
    return arena_str(s->c->ctx->ctx->arena, at, len);
}

/* The buffer index of "3" or of an argument's name. */
static int find_buffer(run_state *s, const char *name) {
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    if (*name && !*end && number < 1000)
        return (int)number;
    tm_function_info f;
    if (tm_function_get(s->c->ctx, s->lib, s->index, &f) != 0)
        return -1;
    for (u32 i = 0; i < f.n_args; i++) {
        tm_arg_info a;
        if (tm_function_arg(s->c->ctx, s->lib, s->index, i, &a) != 0)
            return -1;
        if (a.name && strcmp(a.name, name) == 0)
            return (int)a.location;
    }
    return diag_at(s->c->ctx->ctx, NULL, TM5922, name);
}

/* "int32:5" appended to the block at its natural alignment. */
static tm_status add_scalar(run_state *s, text *block, const char *spec, size_t len) {
    const char *colon = memchr(spec, ':', len);
    const npy_type *type = colon ? npy_type_find(spec, (size_t)(colon - spec)) : NULL;
    if (!type)
        return diag_at(s->c->ctx->ctx, NULL, TM5921, copy(s, spec, len), "no TYPE:VALUE");
    const char *value = copy(s, colon + 1, len - (size_t)(colon + 1 - spec));
    char *end;
    errno = 0;
    u64 bits;
    if (type->kind == NPY_BOOL)
        bits = strcmp(value, "true") == 0 || strcmp(value, "1") == 0, end = (char *)value + strlen(value);
    else if (type->kind == NPY_SIGNED)
        bits = (u64)strtoll(value, &end, 0);
    else if (type->kind == NPY_UNSIGNED)
        bits = strtoull(value, &end, 0);
    else
        bits = ir_float_encode(type->kind, strtod(value, &end));
    i64 shifted = type->size < 8 ? (i64)bits >> (8 * type->size - (type->kind == NPY_SIGNED)) : 0;
    if (!*value || *end || errno == ERANGE || (type->kind >= NPY_SIGNED && shifted != 0 && shifted != -1))
        return diag_at(s->c->ctx->ctx, NULL, TM5921, copy(s, spec, len), "the value does not fit the type");
    while (block->len % type->size)
        text_u8(block, 0);
    for (u32 i = 0; i < type->size; i++)
        text_u8(block, (u8)(bits >> (8 * i)));
    return 0;
}

static tm_status bind_scalars(run_state *s, tm_arg *a, const char *spec) {
    text block = {0};
    tm_status status = 0;
    while (*spec && status == 0) {
        size_t len = strcspn(spec, ",");
        status = add_scalar(s, &block, spec, len);
        spec += len + (spec[len] == ',');
    }
    a->kind = TM_ARG_BYTES;
    a->size = block.len;
    a->data = arena_dup(s->c->ctx->ctx->arena, block.at ? block.at : "", block.len);
    text_free(&block);
    return status;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static tm_status bind_arg(run_state *s, const char *spec) {
    const char *equal = strchr(spec, '=');
    if (!equal)
        return diag_at(s->c->ctx->ctx, NULL, TM5921, spec, "no '='");
    int index = find_buffer(s, copy(s, spec, (size_t)(equal - spec)));
    if (index < 0)
        return -1;
    if (s->n == MAX_ARGS)
        return diag_at(s->c->ctx->ctx, NULL, TM5921, spec, "more than 64 arguments");
    tm_arg *a = &s->args[s->n];
    npy *array = &s->arrays[s->n];
    s->n++;
    a->index = (u32)index;
    const char *value = equal + 1;
    if (strchr(value, ':') && !ends_with(value, ".npy"))
        return bind_scalars(s, a, value);
    TRY(strchr(value, '[') && !ends_with(value, ".npy") ? npy_make(s->c, value, array)
                                                        : npy_read(s->c, value, array));
    a->kind = TM_ARG_BUFFER;
    a->data = array->data;
    a->size = array->size;
    return 0;
}

static tm_status bind_threadgroup(run_state *s, const char *spec) {
    char *end;
    unsigned long index = strtoul(spec, &end, 10);
    unsigned long bytes = *end == '=' ? strtoul(end + 1, &end, 10) : 0;
    if (*end || !bytes || s->n == MAX_ARGS)
        return diag_at(s->c->ctx->ctx, NULL, TM5911, "--threadgroup", spec, "INDEX=BYTES");
    s->args[s->n++] = (tm_arg){.kind = TM_ARG_THREADGROUP, .index = (u32)index, .size = bytes};
    return 0;
}

static tm_status add_constant(run_state *s, const char *spec) {
    const char *equal = strchr(spec, '=');
    text value = {0};
    if (!equal || s->n_constants == MAX_ARGS)
        return diag_at(s->c->ctx->ctx, NULL, TM5911, "--constant", spec, "NAME=TYPE:VALUE");
    tm_status status = add_scalar(s, &value, equal + 1, strlen(equal + 1));
    tm_constant_value *k = &s->constants[s->n_constants++];
    const char *name = copy(s, spec, (size_t)(equal - spec));
    char *end;
    k->index = (u32)strtoul(name, &end, 10);
    k->name = *end ? name : NULL;
    if (status == 0)
        memcpy(&k->bits, value.at, value.len);
    text_free(&value);
    return status;
}

static tm_status save_out(run_state *s, const char *spec) {
    const char *equal = strchr(spec, '=');
    if (!equal)
        return diag_at(s->c->ctx->ctx, NULL, TM5911, "--out", spec, "NAME=FILE.npy");
    const char *name = copy(s, spec, (size_t)(equal - spec));
    int index = find_buffer(s, name);
    if (index < 0)
        return -1;
    for (u32 i = 0; i < s->n; i++)
        if (s->args[i].index == (u32)index && s->arrays[i].file)
            return npy_write(s->c, equal + 1, &s->arrays[i]);
    return diag_at(s->c->ctx->ctx, NULL, TM5923, name);
}

static tm_status prepare(run_state *s, run_request *r) {
    s->lib = library_open(s->c, r->path);
    int index = s->lib ? library_pick(s->c, s->lib, r->path, r->name) : -1;
    if (index < 0)
        return -1;
    s->index = (u32)index;
    for (u32 i = 0; i < r->args.n; i++)
        TRY(bind_arg(s, r->args.at[i]));
    for (u32 i = 0; i < r->threadgroup.n; i++)
        TRY(bind_threadgroup(s, r->threadgroup.at[i]));
    for (u32 i = 0; i < r->constants.n; i++)
        TRY(add_constant(s, r->constants.at[i]));
    return 0;
}

/* What the launch counted, to where it was asked for. */
static tm_status show_counters(run_state *s, const run_request *r, const tm_counters *counters) {
    const char *str;
    if (r->counters) {
        if (!(str = tm_counters_text(s->c->ctx, counters, s->c->json ? "json" : "table", r->chip)))
            return -1;
        fputs(str, stdout);
    }
    if (!r->trace)
        return 0;
    str = tm_counters_text(s->c->ctx, counters, "trace", r->chip);
    return str ? file_write(s->c, r->trace, str, strlen(str)) : -1;
}

static tm_status execute(run_state *s, run_request *r) {
    TRY(prepare(s, r));
    bool count = r->counters || r->trace;
    tm_kernel_options options = {.constants = s->constants, .n_constants = s->n_constants, .checks = r->checks,
                                 .numerics = r->numerics, .counting = count};
    tm_kernel *k = tm_kernel_new(s->c->ctx, s->lib, s->index, &options);
    if (!k)
        return -1;
    tm_counters *counters = count ? tm_counters_new(s->c->ctx, k) : NULL;
    if (counters && tm_counters_banks(s->c->ctx, counters, r->banks[0], r->banks[1]) != 0) {
        tm_counters_free(counters);
        counters = NULL;
    }
    tm_launch_params p = {.args = s->args, .n_args = s->n, .threads = r->threads, .counters = counters};
    memcpy(p.grid, r->grid, sizeof p.grid);
    memcpy(p.group, r->group, sizeof p.group);
    double start = cli_seconds();
    tm_status status = count && !counters ? -1 : tm_launch(s->c->ctx, k, &p);
    double taken = cli_seconds() - start;
    if (count && status == 0)
        status = show_counters(s, r, counters);
    tm_counters_free(counters);
    tm_kernel_free(k);
    TRY(status);
    if (r->time)
        fprintf(stderr, s->c->json ? "{\"seconds\": %.6f}\n" : "%.6f s\n", taken);
    for (u32 i = 0; i < r->outs.n; i++)
        TRY(save_out(s, r->outs.at[i]));
    return 0;
}

static int run_kernel(cli *c, run_request *r) {
    run_state *s = calloc(1, sizeof *s);
    if (!s)
        return 1;
    s->c = c;
    int status = execute(s, r) == 0 ? 0 : cli_fail(c);
    for (u32 i = 0; i < s->n; i++)
        free(s->arrays[i].file);
    tm_library_free(s->lib);
    free(s);
    return status;
}

static int run_run(cli *c, const command *self, int argc, char **argv) {
    run_request r = {.grid = {1, 1, 1}, .group = {128, 1, 1}, .banks = {32, 4, 1}};
    option_list *lists[] = {&r.args, &r.outs, &r.threadgroup, &r.constants};
    for (u32 i = 0; i < COUNT_OF(lists); i++)
        lists[i]->at = ARENA_ARRAY(c->ctx->ctx->arena, const char *, argc + 1);
    const option options[] = {
        {"--grid", OPT_TRIPLE, r.grid, "X,Y,Z", "threadgroups, 1,1,1 if not given"},
        {"--group", OPT_TRIPLE, r.group, "X,Y,Z", "threads per threadgroup, 128,1,1 if not given (32 * num_warps)"},
        {"--arg", OPT_LIST, &r.args, "NAME=VALUE", "a buffer: FILE.npy, or float32[16,16] for zeros; or scalars"},
        {"", OPT_LIST, &r.args, NULL, "packed into one block: int32:5,float32:0.5; NAME may be a number"},
        {"--out", OPT_LIST, &r.outs, "NAME=FILE.npy", "where to write a buffer after the run"},
        {"--threadgroup", OPT_LIST, &r.threadgroup, "INDEX=BYTES", "size of a threadgroup buffer"},
        {"--constant", OPT_LIST, &r.constants, "NAME=TYPE:VALUE", "a function constant, by name or number"},
        {"--check", OPT_TEXT, &r.checks, "LIST", "checks: bounds,barriers if not given; all, none; see docs/checks.md"},
        {"--numerics", OPT_TEXT, &r.numerics, "LIST", "what Apple leaves open of arithmetic; the first choices if not given:"},
#define NUMERIC(option, what, evidence)
#define CHOICE(option, choice, meaning) {"  " #option "=" #choice, OPT_TEXT, &r.numerics, NULL, meaning},
#include "vgpu/numerics.def"
#undef NUMERIC
#undef CHOICE
        {"--threads", OPT_NUMBER, &r.threads, "N", "host threads; all cores if not given"},
        {"--counters", OPT_FLAG, &r.counters, NULL, "print counts and model times (with --json, all of them as JSON)"},
        {"--chip", OPT_TEXT, &r.chip, "NAME", "the chip of the model: m1, m2-pro, ...; all if not given"},
        {"--banks", OPT_TRIPLE, r.banks, "N,BYTES", "the bank model of threadgroup memory, 32,4 if not given"},
        {"--trace", OPT_TEXT, &r.trace, "FILE", "write a trace of threadgroups on cores for Perfetto"},
        {"--time", OPT_FLAG, &r.time, NULL, "print the run's time on stderr"},
    };
    const char *words[2] = {0};
    u32 n;
    int parsed = options_parse(c, self, options, COUNT_OF(options), argc, argv, words, 2, &n);
    if (parsed > 0)
        return 0;
    if (parsed == 0 && n == 0)
        parsed = diag_at(c->ctx->ctx, NULL, TM5914, "run", "FILE");
    if (parsed < 0)
        return cli_fail(c);
    r.path = words[0];
    r.name = words[1];
    return run_kernel(c, &r);
}

const command cmd_run = {"run", "FILE.metallib [NAME] [options]", "Runs a kernel on the virtual GPU.", run_run};
