/* SPDX-License-Identifier: MIT */
/* compile: TTIR text to a metallib or to any form on the way. */
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct compile_request {
    const char *output, *emit, *dump_dir;
    bool times, verify;
    tm_options options;
} compile_request;

typedef struct dump_sink {
    cli *c;
    const char *dir;
    bool failed;
} dump_sink;

static void dump(void *data, uint32_t index, const char *pass, const char *at, size_t len) {
    dump_sink *sink = data;
    if (!sink->dir) {
        fprintf(stderr, "// ---- %02u after %s\n%.*s\n", index, pass, (int)len, at);
        return;
    }
    text path = {0};
    text_printf(&path, "%s/%02u-%s.ir", sink->dir, index, pass);
    sink->failed |= file_write(sink->c, path.at, at, len) != 0;
    text_free(&path);
}

static void print_times(cli *c, const tm_artifact *a) {
    text out = {0};
    if (c->json)
        text_puts(&out, "[");
    bool first = true;
    for (u32 i = 0; i < tm_pass_count(); i++) {
        double us = (double)tm_artifact_pass_ns(a, i) / 1000;
        if (c->json)
            text_printf(&out, "%s{\"pass\": \"%s\", \"us\": %.1f}", first ? "" : ", ", tm_pass_name(i), us);
        else
            text_printf(&out, "%-16s %9.1f us\n", tm_pass_name(i), us);
        first = false;
    }
    text_puts(&out, c->json ? "]\n" : "");
    fputs(out.at, stderr);
    text_free(&out);
}

/* "dir/add.ttir" gives "dir/add.metallib". */
static char *default_output(cli *c, const char *input, const char *form) {
    if (strcmp(input, "-") == 0)
        return arena_printf(c->ctx->ctx->arena, "-");
    const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - input) : strlen(input);
    return arena_printf(c->ctx->ctx->arena, "%.*s.%s", (int)stem, input, form);
}

static bool is_text_form(const char *form) {
    return strcmp(form, "metallib") != 0 && strcmp(form, "air") != 0;
}

static int write_result(cli *c, const compile_request *r, const char *input, tm_artifact *a) {
    size_t len;
    const void *data = tm_artifact_get(a, r->emit, &len);
    if (!data) {
        diag_at(c->ctx->ctx, NULL, TM5919, r->emit);
        return cli_fail(c);
    }
    const char *path = r->output ? r->output : is_text_form(r->emit) ? "-" : default_output(c, input, r->emit);
    if (file_write(c, path, data, len) != 0)
        return cli_fail(c);
    if (r->times)
        print_times(c, a);
    if (c->json && strcmp(path, "-") != 0) {
        tm_kernel_info k;
        tm_artifact_info(a, &k);
        text out = {0};
        text_puts(&out, "{\"name\": ");
        text_json(&out, k.name);
        text_puts(&out, ", \"output\": ");
        text_json(&out, path);
        text_printf(&out, ", \"threads\": %u, \"threadgroup_bytes\": %u, \"pointers\": %u, \"scalar_bytes\": %u}\n",
                    k.threads, k.threadgroup_bytes, k.n_pointers, k.scalar_bytes);
        fputs(out.at, stdout);
        text_free(&out);
    }
    return 0;
}

static int compile_file(cli *c, compile_request *r, const char *input) {
    size_t len;
    char *ttir = file_read(c, input, &len);
    if (!ttir)
        return cli_fail(c);
    dump_sink sink = {.c = c, .dir = r->dump_dir};
    if (r->dump_dir && !r->options.dump)
        r->options.dump = "all";
    if (r->options.dump) {
        r->options.on_dump = dump;
        r->options.dump_data = &sink;
    }
    r->options.keep_stages = is_text_form(r->emit);
    if (r->options.stop_after && strcmp(r->emit, "metallib") == 0)
        r->emit = "ir";
    c->source = ttir;
    c->source_name = input;
    tm_artifact *a = tm_compile(c->ctx, ttir, len, input, &r->options);
    int status = a && !sink.failed ? write_result(c, r, input, a) : cli_fail(c);
    tm_artifact_free(a);
    free(ttir);
    return status;
}

static int list_passes(void) {
    for (u32 i = 0; i < tm_pass_count(); i++)
        printf("%02u %s\n", i, tm_pass_name(i));
    return 0;
}

static int run_compile(cli *c, const command *self, int argc, char **argv) {
    compile_request r = {.emit = "metallib"};
    bool passes = false;
    const option options[] = {
        {"-o", OPT_TEXT, &r.output, "FILE", "where to write; '-' is stdout (text forms go there by default)"},
        {"--emit", OPT_TEXT, &r.emit, "FORM", "metallib, air, ll, tmir, ttgir, ttir, or ir (where it stopped)"},
        {"--target", OPT_TEXT, &r.options.target, "FAMILY", "apple7 (M1), apple8 (M2), apple9 (M3, M4), apple10 (M5)"},
        {"--macos", OPT_NUMBER, &r.options.macos, "VERSION", "13, 14, 15 or 26"},
        {"--num-warps", OPT_NUMBER, &r.options.num_warps, "N", "simdgroups per threadgroup, 4 if not given"},
        {"--stop-after", OPT_TEXT, &r.options.stop_after, "PASS", "end here and write the IR reached"},
        {"--dump", OPT_TEXT, &r.options.dump, "PASS", "print the IR after a pass, a comma list, or all, on stderr"},
        {"--dump-dir", OPT_TEXT, &r.dump_dir, "DIR", "dumps as files NN-pass.ir instead"},
        {"--verify", OPT_FLAG, &r.verify, NULL, "check the IR after each pass"},
        {"--times", OPT_FLAG, &r.times, NULL, "print each step's time on stderr"},
        {"--passes", OPT_FLAG, &passes, NULL, "print the steps in order and end"},
    };
    const char *input = NULL;
    u32 n;
    int parsed = options_parse(c, self, options, COUNT_OF(options), argc, argv, &input, 1, &n);
    if (parsed > 0)
        return 0;
    if (passes && parsed == 0)
        return list_passes();
    if (parsed == 0 && n == 0)
        parsed = diag_at(c->ctx->ctx, NULL, TM5914, "compile", "FILE");
    r.options.verify = r.verify;
    return parsed < 0 ? cli_fail(c) : compile_file(c, &r, input);
}

const command cmd_compile = {"compile", "FILE.ttir [-o FILE.metallib] [options]",
                             "Compiles one Triton kernel for an Apple GPU.", run_compile};
