/* SPDX-License-Identifier: MIT */
/* Command line options from a table: long and short names, "--name value" and "--name=value", help
 * printed from the same rows. Nothing is abbreviated and nothing unknown is accepted. */
#include "cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void print_help(const command *cmd, const option *options, u32 n) {
    printf("usage: triton-metal %s %s\n\n%s\n\noptions:\n", cmd->name, cmd->arguments, cmd->help);
    for (u32 i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", options[i].name, options[i].value ? " " : "",
                 options[i].value ? options[i].value : "");
        printf("  %-26s %s\n", left, options[i].help);
    }
    printf("  %-26s %s\n", "--json", "results and diagnostics as JSON");
    printf("  %-26s %s\n", "--help", "this text");
}

static bool parse_number(const char *s, u32 *out) {
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    *out = (u32)v;
    return *s >= '0' && *s <= '9' && *end == 0 && errno == 0 && v <= UINT32_MAX;
}

/* "8", "8,4" or "8,4,1"; what is not given is 1. */
static bool parse_triple(const char *s, u32 out[3]) {
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char part[16];
        size_t len = strcspn(s, ",");
        if (len == 0 || len >= sizeof part)
            return false;
        memcpy(part, s, len);
        part[len] = 0;
        if (!parse_number(part, &out[i]))
            return false;
        if (!s[len])
            return true;
        s += len + 1;
    }
    return false;
}

static tm_status store(cli *c, const option *o, const char *value) {
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)o->slot = true;
        return 0;
    case OPT_TEXT:
        *(const char **)o->slot = value;
        return 0;
    case OPT_NUMBER:
        return parse_number(value, o->slot) ? 0
                                            : diag_at(c->ctx->ctx, NULL, TM5911, o->name, value, "a number");
    case OPT_TRIPLE:
        return parse_triple(value, o->slot) ? 0
                                            : diag_at(c->ctx->ctx, NULL, TM5911, o->name, value, "x,y,z");
    case OPT_LIST: {
        option_list *list = o->slot; /* has room for every word of the command line */
        list->at[list->n++] = value;
        return 0;
    }
    }
    return -1;
}

static const option *find(const option *options, u32 n, const char *arg, size_t len) {
    for (u32 i = 0; i < n; i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, arg, len) == 0)
            return &options[i];
    return NULL;
}

int options_parse(cli *c, const command *cmd, const option *options, u32 n, int argc, char **argv,
                  const char **words, u32 max, u32 *n_words) {
    *n_words = 0;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(cmd, options, n);
            return 1;
        }
        if (strcmp(arg, "--json") == 0)
            continue; /* main has seen it */
        if (arg[0] != '-' || !arg[1]) {
            if (*n_words == max)
                return diag_at(c->ctx->ctx, NULL, TM5912, arg);
            words[(*n_words)++] = arg;
            continue;
        }
        size_t len = strcspn(arg, "=");
        const option *o = find(options, n, arg, len);
        if (!o || (o->kind == OPT_FLAG && arg[len]))
            return diag_at(c->ctx->ctx, NULL, TM5913, arg);
        const char *value = arg[len] ? arg + len + 1 : NULL;
        if (!value && o->kind != OPT_FLAG) {
            if (++i == argc)
                return diag_at(c->ctx->ctx, NULL, TM5914, arg, o->value);
            value = argv[i];
        }
        TRY(store(c, o, value));
    }
    return 0;
}
