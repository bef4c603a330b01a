/* SPDX-License-Identifier: MIT */
/* tm-ir: reads a module from standard input or a file and prints it: what the tests that compare us with
 * upstream run. Options: --no-locs, --names, --verify, --ops (the op table as Markdown), --time N (prints
 * the mean CPU microseconds of N rounds of parsing and printing). Exit: 0, 1 with diagnostics, 2 for usage. */
#include "ir/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct options {
    const char *file;
    bool no_locs, names, verify, ops;
    int rounds;
} options;

static int parse_options(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-locs") == 0)
            o->no_locs = true;
        else if (strcmp(argv[i], "--names") == 0)
            o->names = true;
        else if (strcmp(argv[i], "--verify") == 0)
            o->verify = true;
        else if (strcmp(argv[i], "--ops") == 0)
            o->ops = true;
        else if (strcmp(argv[i], "--time") == 0 && i + 1 < argc)
            o->rounds = atoi(argv[++i]);
        else if (argv[i][0] != '-' && !o->file)
            o->file = argv[i];
        else
            return -1;
    }
    return 0;
}

static bool read_all(const char *file, text *out) {
    FILE *f = file ? fopen(file, "rb") : stdin;
    if (!f)
        return false;
    char chunk[1 << 16];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        text_add(out, chunk, n);
    bool ok = !ferror(f);
    if (file)
        fclose(f);
    return ok;
}

static void print_op_table(text *out) {
    static const struct {
        u32 trait;
        const char *name;
    } traits[] = {{IR_PURE, "pure"}, {IR_COMMUTES, "commutes"}, {IR_ELEMENTWISE, "elementwise"},
                  {IR_READS, "reads"}, {IR_WRITES, "effect"}, {IR_TERMINATOR, "terminator"},
                  {IR_CONVERGENT, "convergent"}, {IR_LOWERED, "compiled"}};
    text_puts(out, "# Operations\n\nMade from `src/ir/ops.def` by `tm-ir --ops`. An operation that is not "
                   "\"compiled\" is read, and refused by name.\n\n"
                   "| operation | operands | results | traits | meaning |\n|---|---|---|---|---|\n");
    for (u32 i = 1; i < IR_CODE_COUNT; i++) {
        const ir_op_info *info = &ir_ops[i];
        text_printf(out, "| `%s` | ", info->name);
        text_puts(out, info->ins < 0 ? "any" : (char[]){(char)('0' + info->ins), 0});
        text_puts(out, " | ");
        text_puts(out, info->outs < 0 ? "any" : (char[]){(char)('0' + info->outs), 0});
        text_puts(out, " | ");
        bool any = false;
        for (u32 t = 0; t < COUNT_OF(traits); t++)
            if (info->traits & traits[t].trait) {
                text_printf(out, any ? ", %s" : "%s", traits[t].name);
                any = true;
            }
        text_puts(out, " | ");
        for (const char *s = info->doc; *s; s++)
            text_puts(out, *s == '|' ? "\\|" : *s == '<' ? "&lt;" : (char[]){*s, 0});
        text_puts(out, " |\n");
    }
}

static int complain(tm_ctx *ctx, const char *source) {
    text out = {0};
    for (const diag *d = ctx->first; d; d = d->next)
        diag_format(&out, d, source);
    if (out.at)
        fputs(out.at, stderr);
    text_free(&out);
    return 1;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void measure(const text *in, const char *name, u32 flags, int rounds) {
    double parse = 0, print = 0;
    for (int i = 0; i < rounds; i++) {
        tm_ctx *ctx = ctx_new();
        double t0 = seconds();
        ir_module *m = ir_parse(ctx, in->at, in->len, name);
        double t1 = seconds();
        text out = {0};
        if (m)
            ir_print_module(&out, m, flags);
        double t2 = seconds();
        parse += t1 - t0;
        print += t2 - t1;
        text_free(&out);
        ir_module_free(m);
        ctx_free(ctx);
    }
    printf("parse %.1f us, print %.1f us, %zu bytes\n", parse / rounds * 1e6, print / rounds * 1e6,
           in->len);
}

static int run(const options *o, const text *in) {
    const char *name = o->file ? o->file : "<stdin>";
    u32 flags = o->no_locs ? 0 : IR_PRINT_LOCS | IR_PRINT_NAMES;
    if (o->names)
        flags |= IR_PRINT_NAMES;
    if (o->rounds > 0) {
        measure(in, name, flags, o->rounds);
        return 0;
    }
    tm_ctx *ctx = ctx_new();
    int status = 0;
    ir_module *m = ir_parse(ctx, in->at ? in->at : "", in->len, name);
    if (!m || (o->verify && ir_verify(m) != 0)) {
        status = complain(ctx, in->at);
    } else {
        text out = {0};
        ir_print_module(&out, m, flags);
        fwrite(out.at, 1, out.len, stdout);
        text_free(&out);
    }
    ir_module_free(m);
    ctx_free(ctx);
    return status;
}

int main(int argc, char **argv) {
    options o = {0};
    text in = {0};
    int status;
    if (parse_options(argc, argv, &o) != 0) {
        fputs("usage: tm-ir [--no-locs] [--names] [--verify] [--time N] [--ops] [FILE]\n", stderr);
        return 2;
    }
    if (o.ops) {
        print_op_table(&in);
        fwrite(in.at, 1, in.len, stdout);
        status = 0;
    } else if (!read_all(o.file, &in)) {
        perror(o.file ? o.file : "stdin");
        status = 2;
    } else {
        status = run(&o, &in);
    }
    text_free(&in);
    return status;
}
