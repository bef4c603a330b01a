/* SPDX-License-Identifier: MIT */
/* Test tool: reads thread IR text, runs named passes, and prints the IR, or with --macos the AIR
 * module as LLVM assembly, or with --bitcode its bitcode. Diagnostics go to stderr, exit status 1.
 *   tm-emit [--passes=sink,plan,barriers] [--warps=4] [--limit=32768] [--macos=15] [--bitcode] file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "air/emit/emit.h"
#include "ir/text.h"
#include "thread/thread.h"

static const pass_info *const known[] = {&pass_sink, &pass_plan, &pass_barriers};

typedef struct options {
    const char *passes, *file;
    u32 warps, limit, macos;
    bool bitcode;
} options;

static const char *after(const char *arg, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(arg, prefix, n) == 0 ? arg + n : NULL;
}

static options read_options(int argc, char **argv) {
    options o = {.passes = "", .warps = 4, .limit = 32768};
    for (int i = 1; i < argc; i++) {
        const char *v;
        if ((v = after(argv[i], "--passes=")))
            o.passes = v;
        else if ((v = after(argv[i], "--warps=")))
            o.warps = (u32)atoi(v);
        else if ((v = after(argv[i], "--limit=")))
            o.limit = (u32)atoi(v);
        else if ((v = after(argv[i], "--macos=")))
            o.macos = (u32)atoi(v);
        else if (strcmp(argv[i], "--bitcode") == 0)
            o.bitcode = true;
        else
            o.file = argv[i];
    }
    return o;
}

static bool read_file(const char *name, text *out) {
    FILE *f = fopen(name, "rb");
    char chunk[4096];
    size_t n;
    if (!f)
        return false;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        text_add(out, chunk, n);
    fclose(f);
    return true;
}

static tm_status run_passes(pass_run *run, ir_module *m, const char *names) {
    while (*names) {
        size_t len = strcspn(names, ",");
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (strlen(known[i]->name) == len && memcmp(known[i]->name, names, len) == 0)
                TRY(known[i]->run(run, m));
        names += len + (names[len] == ',');
    }
    return 0;
}

static tm_status emit(pass_run *run, ir_module *m, const options *o, text *out) {
    air_module *air = air_emit(run, m, o->macos);
    if (!air)
        return -1;
    tm_status status = air_verify(air);
    if (status == 0)
        status = air_check_rules(air, run->target.air_minor);
    if (status == 0 && o->bitcode)
        status = air_write_bitcode(air, out);
    else if (status == 0)
        air_print(out, air);
    air_module_free(air);
    return status;
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    text in = {0}, out = {0};
    tm_ctx *ctx = ctx_new();
    if (!o.file || !read_file(o.file, &in)) {
        fprintf(stderr, "tm-emit: cannot read %s\n", o.file ? o.file : "(no file)");
        return 2;
    }
    u32 minor = o.macos == 13 ? 5 : o.macos == 14 ? 6 : o.macos == 26 ? 8 : 7;
    pass_run run = {.ctx = ctx, .scratch = arena_new(),
                    .target = {o.warps, o.limit, 1024, minor, minor >= 6}};
    ir_module *m = ir_parse(ctx, in.at, in.len, o.file);
    tm_status status = m ? ir_verify(m) : -1;
    if (status == 0)
        status = run_passes(&run, m, o.passes);
    if (status == 0)
        status = ir_verify(m);
    if (status == 0 && o.macos)
        status = emit(&run, m, &o, &out);
    else if (status == 0)
        ir_print_module(&out, m, 0);
    if (out.len)
        fwrite(out.at, 1, out.len, stdout);
    text diags = {0};
    for (const diag *d = ctx->first; d; d = d->next)
        diag_format(&diags, d, NULL);
    if (diags.len)
        fputs(diags.at, stderr);
    text_free(&diags);
    text_free(&in);
    text_free(&out);
    if (m)
        ir_module_free(m);
    arena_free(run.scratch);
    ctx_free(ctx);
    return status == 0 ? 0 : 1;
}
