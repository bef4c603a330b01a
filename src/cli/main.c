/* SPDX-License-Identifier: MIT */
/* triton-metal: the command line tool. One file per group of commands; this one finds the command and
 * prints diagnostics. Exit status: 0 when all went well, 1 otherwise. */
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>

static const command *const commands[] = {&cmd_compile, &cmd_list, &cmd_dis, &cmd_verify, &cmd_run};

static void print_usage(FILE *to) {
    fputs("usage: triton-metal COMMAND ...\n\n"
          "Compiles Triton IR for Apple GPUs, inspects metallibs, runs kernels on a virtual GPU.\n\n",
          to);
    for (u32 i = 0; i < COUNT_OF(commands); i++)
        fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->help);
    fputs("\ntriton-metal COMMAND --help tells its options; --version prints version and build.\n", to);
}

/* The source goes along only when the first diagnostic points into it. */
static const char *caret_source(cli *c) {
    tm_diag d;
    if (!c->source || tm_diag_get(c->ctx, 0, &d) != 0 || !d.file || strcmp(d.file, c->source_name) != 0)
        return NULL;
    return c->source;
}

void cli_report(cli *c, const char *about) {
    if (c->json) {
        text out = {0};
        for (const diag *d = c->ctx->ctx->first; d; d = d->next) {
            diag_format_json(&out, d);
            text_putc(&out, '\n');
        }
        if (out.at)
            fputs(out.at, stderr);
        text_free(&out);
    } else {
        if (about && tm_diag_count(c->ctx))
            fprintf(stderr, "%s: ", about);
        fputs(tm_diag_text(c->ctx, caret_source(c)), stderr);
    }
    tm_diag_clear(c->ctx);
}

int cli_fail(cli *c) {
    cli_report(c, NULL);
    return 1;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--version") == 0) {
        printf("triton-metal %s (%s)\n", tm_version(), tm_isa());
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || !*name) {
        print_usage(*name ? stdout : stderr);
        return *name ? 0 : 1;
    }
    cli c = {.ctx = tm_context_new()};
    if (!c.ctx) {
        fputs("error TM9002: out of memory\n", stderr);
        return 1;
    }
    for (int i = 2; i < argc; i++) /* before any option can be wrong */
        c.json |= strcmp(argv[i], "--json") == 0;
    int status = 1;
    const command *found = NULL;
    for (u32 i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            found = commands[i];
    if (found) {
        status = found->run(&c, found, argc - 2, argv + 2);
    } else {
        diag_at(c.ctx->ctx, NULL, TM5918, name);
        cli_fail(&c);
    }
    tm_context_free(c.ctx);
    if (fflush(stdout) != 0)
        status = 1;
    return status;
}
