/* SPDX-License-Identifier: MIT */
/* Runs passes by name over a module, for golden tests: tm-opt PASS,PASS... [--locs] < in > out.
 * "none" is a pass that does nothing. --num-warps=N sets the target. --axis prints what the axis
 * analysis knows of each integer and pointer value of the result instead of the module. --time=N
 * repeats everything N times and prints the best time of each pass in microseconds, and op counts. */
#include "ir/text.h"
#include "lower/lower.h"
#include "thread/thread.h"
#include "tile/tile.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static tm_status run_none(pass_run *run, ir_module *m) { return 0; }
static const pass_info pass_none = {"none", "nothing", run_none};

static const pass_info *const known[] = {
    &pass_none,    &pass_inline, &pass_structure, &pass_canonicalize,
    &pass_cse,     &pass_licm,   &pass_dce,       &pass_assign_layouts,
    &pass_lower,   &pass_sink,   &pass_plan,      &pass_barriers,
};
enum { MAX_PASSES = 32 };

typedef struct options {
    const pass_info *passes[MAX_PASSES];
    u32 n, flags, repeat, num_warps;
    bool axis, verify;
} options;

static const pass_info *find_pass(const char *name, size_t len) {
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i]->name) == len && memcmp(known[i]->name, name, len) == 0)
            return known[i];
    return NULL;
}

static bool read_passes(options *o, const char *list) {
    while (*list) {
        size_t len = strcspn(list, ",");
        const pass_info *p = find_pass(list, len);
        if (!p || o->n == MAX_PASSES) {
            fprintf(stderr, "unknown pass '%.*s'\n", (int)len, list);
            return false;
        }
        o->passes[o->n++] = p;
        list += len + (list[len] == ',');
    }
    return true;
}

static bool read_options(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--locs") == 0)
            o->flags |= IR_PRINT_LOCS;
        else if (strcmp(argv[i], "--axis") == 0)
            o->axis = true;
        else if (strcmp(argv[i], "--no-verify") == 0)
            o->verify = false;
        else if (strncmp(argv[i], "--time=", 7) == 0)
            o->repeat = (u32)atoi(argv[i] + 7);
        else if (strncmp(argv[i], "--num-warps=", 12) == 0)
            o->num_warps = (u32)atoi(argv[i] + 12);
        else if (!read_passes(o, argv[i]))
            return false;
    }
    return true;
}

static void print_dims(const char *name, const u32 *v, u32 rank) {
    printf(" %s=", name);
    for (u32 d = 0; d < rank; d++)
        printf("%s%u", d ? "x" : "", v[d]);
}

typedef struct axis_print {
    const ir_module *m;
    const axis_table *t;
} axis_print;

static void print_axis(ir_op *op, void *data) {
    const axis_print *p = data;
    for (u32 i = 0; i < op->n_results; i++) {
        const ir_value *v = ir_result(op, i);
        const ir_type *e = ir_elem(v->type);
        if (e->kind != IR_INT && e->kind != IR_PTR)
            continue;
        const axis_info *a = axis_get(p->t, v);
        printf("%s#%u:", ir_code_name(op), i);
        print_dims("contiguity", a->contiguity, a->rank);
        print_dims("divisibility", a->divisibility, a->rank);
        print_dims("constancy", a->constancy, a->rank);
        if (a->constant)
            printf(" constant=%lld", (long long)a->value);
        printf("\n");
    }
}

static void count_op(ir_op *op, void *data) { ++*(u32 *)data; }

static u32 count_ops(const ir_module *m) {
    u32 n = 0;
    ir_walk(m->op, count_op, &n);
    return n;
}

static void print_result(const options *o, ir_module *m) {
    if (o->axis) {
        arena *a = arena_new();
        IR_FOR_EACH_OP(ir_module_body(m), func) {
            axis_print p = {m, axis_analyze(a, func)};
            ir_walk(func, print_axis, &p);
        }
        arena_free(a);
    } else if (!o->repeat) {
        text out = {0};
        ir_print_module(&out, m, o->flags | IR_PRINT_NAMES);
        fwrite(out.at, 1, out.len, stdout);
        text_free(&out);
    }
}

static tm_status run_one(const options *o, const text *in, u64 *best, u32 counts[2], bool last) {
    tm_ctx *ctx = ctx_new();
    u64 time_ns[MAX_PASSES] = {0};
    arena *scratch = arena_new();
    pass_run run = {.ctx = ctx, .scratch = scratch, .verify = o->verify && !o->repeat, .time_ns = time_ns};
    run.target = (pass_target){.num_warps = o->num_warps, .threadgroup_bytes = 32768,
                               .max_threads = 1024, .air_minor = 7, .bf16_native = true};
    ir_module *m = ir_parse(ctx, in->at, in->len, "<stdin>");
    counts[0] = m ? count_ops(m) : 0;
    tm_status status = m ? pass_run_all(&run, m, o->passes, o->n, NULL) : -1;
    if (status == 0 && last) {
        counts[1] = count_ops(m);
        print_result(o, m);
    }
    for (u32 i = 0; i < o->n; i++)
        best[i] = best[i] && best[i] < time_ns[i] ? best[i] : time_ns[i];
    text out = {0};
    for (const diag *d = ctx->first; d; d = d->next)
        diag_format(&out, d, NULL);
    fwrite(out.at ? out.at : "", 1, out.len, stderr);
    text_free(&out);
    ir_module_free(m);
    arena_free(scratch);
    ctx_free(ctx);
    return status;
}

int main(int argc, char **argv) {
    options o = {.num_warps = 4, .verify = true};
    if (!read_options(&o, argc, argv))
        return 2;
    text in = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0;)
        text_add(&in, part, n);
    u64 best[MAX_PASSES] = {0};
    u32 counts[2] = {0};
    tm_status status = 0;
    u32 n = MAX(o.repeat, 1u);
    for (u32 i = 0; i < n && status == 0; i++)
        status = run_one(&o, &in, best, counts, i + 1 == n);
    u64 total = 0;
    for (u32 i = 0; o.repeat && status == 0 && i < o.n; i++) {
        printf("%s %.1f\n", o.passes[i]->name, (double)best[i] / 1000);
        total += best[i];
    }
    if (o.repeat && status == 0)
        printf("total %.1f us, ops %u -> %u\n", (double)total / 1000, counts[0], counts[1]);
    text_free(&in);
    return status ? 1 : 0;
}
