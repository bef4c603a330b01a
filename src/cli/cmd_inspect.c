/* SPDX-License-Identifier: MIT */
/* list, dis, verify: what is in a metallib. Libraries may hold thousands of functions, which are read
 * one at a time; on a terminal a bar tells how far it is. */
#include "cli/cli.h"
#include <stdio.h>

/* ---- list ---------------------------------------------------------------------------------------- */
static void list_arg_json(text *out, const tm_arg_info *a) {
    text_puts(out, "{\"kind\": ");
    text_json(out, a->kind);
    text_puts(out, ", \"name\": ");
    text_json(out, a->name);
    text_puts(out, ", \"type\": ");
    text_json(out, a->type_name);
    text_puts(out, ", \"access\": ");
    text_json(out, a->access);
    text_printf(out, ", \"location\": %u, \"space\": %u, \"type_size\": %u}", a->location, a->space, a->type_size);
}

static void list_arg_text(text *out, const tm_arg_info *a) {
    text_printf(out, "    %-16s %3u  %-20s %-14s %s\n", a->kind ? a->kind : "-", a->location,
                a->name ? a->name : "-", a->type_name ? a->type_name : "-", a->access ? a->access : "");
}

static tm_status list_args(cli *c, tm_library *lib, u32 index, const tm_function_info *f, text *out) {
    for (u32 i = 0; i < f->n_args; i++) {
        tm_arg_info a;
        TRY(tm_function_arg(c->ctx, lib, index, i, &a));
        if (c->json && i)
            text_puts(out, ", ");
        (c->json ? list_arg_json : list_arg_text)(out, &a);
    }
    return 0;
}

static tm_status list_function(cli *c, tm_library *lib, u32 index, bool args, text *out) {
    tm_function_info f;
    TRY(tm_function_get(c->ctx, lib, index, &f));
    if (!c->json) {
        text_printf(out, "%-40s  AIR %u.%u  Metal %u.%u  %3u args  %2u constants  %7llu bytes\n", f.name,
                    f.air_major, f.air_minor, f.lang_major, f.lang_minor, f.n_args, f.n_constants,
                    (unsigned long long)f.bitcode_len);
        return args ? list_args(c, lib, index, &f, out) : 0;
    }
    text_puts(out, index ? ",\n {\"name\": " : " {\"name\": ");
    text_json(out, f.name);
    text_printf(out, ", \"air\": \"%u.%u\", \"metal\": \"%u.%u\", \"constants\": %u, \"bitcode_bytes\": %llu, \"args\": [",
                f.air_major, f.air_minor, f.lang_major, f.lang_minor, f.n_constants,
                (unsigned long long)f.bitcode_len);
    TRY(list_args(c, lib, index, &f, out));
    text_puts(out, "]}");
    return 0;
}

static int list_library(cli *c, const char *path, bool args) {
    tm_library *lib = library_open(c, path);
    if (!lib)
        return cli_fail(c);
    int status = 0;
    text out = {0};
    fputs(c->json ? "[\n" : "", stdout);
    u32 n = tm_library_count(lib);
    progress bar = progress_begin(n, true);
    for (u32 i = 0; i < n; i++) {
        out.len = 0;
        text_puts(&out, "");
        if (list_function(c, lib, i, args, &out) != 0) {
            progress_hide(&bar);
            cli_report(c, tm_library_name(lib, i));
            status = 1;
        } else {
            fputs(out.at, stdout);
        }
        progress_step(&bar);
    }
    progress_hide(&bar);
    fputs(c->json ? "\n]\n" : "", stdout);
    text_free(&out);
    tm_library_free(lib);
    return status;
}

static int run_list(cli *c, const command *self, int argc, char **argv) {
    bool args = false;
    const option options[] = {{"--args", OPT_FLAG, &args, NULL, "also each function's arguments"}};
    const char *path;
    u32 n;
    int parsed = options_parse(c, self, options, COUNT_OF(options), argc, argv, &path, 1, &n);
    if (parsed > 0)
        return 0;
    if (parsed == 0 && n == 0)
        parsed = diag_at(c->ctx->ctx, NULL, TM5914, "list", "FILE");
    return parsed < 0 ? cli_fail(c) : list_library(c, path, args);
}

/* ---- dis, verify --------------------------------------------------------------------------------- */
typedef int function_action(cli *c, tm_library *lib, u32 index);

static int print_function(cli *c, tm_library *lib, u32 index) {
    const char *ll = tm_function_text(c->ctx, lib, index);
    if (ll)
        fputs(ll, stdout);
    return ll ? 0 : -1;
}

static int print_bytecode(cli *c, tm_library *lib, u32 index) {
    tm_kernel *k = tm_kernel_new(c->ctx, lib, index, NULL);
    const char *listing = NULL;
    if (k)
        tm_kernel_listing(c->ctx, k, &listing);
    if (listing)
        fputs(listing, stdout);
    tm_kernel_free(k);
    return listing ? 0 : -1;
}

static int verify_function(cli *c, tm_library *lib, u32 index) {
    return tm_function_verify(c->ctx, lib, index);
}

/* Applies the action to the named function, or to all; counts the failures. -1 when none was found. */
static int for_functions(cli *c, const char *path, const char *name, function_action *action, bool prints,
                         u32 *done) {
    tm_library *lib = library_open(c, path);
    int first = lib && name ? library_pick(c, lib, path, name) : 0;
    if (!lib || first < 0) {
        tm_library_free(lib);
        return -1;
    }
    u32 end = name ? (u32)first + 1 : tm_library_count(lib);
    int failures = 0;
    progress bar = progress_begin(end - (u32)first, prints);
    for (u32 i = (u32)first; i < end; i++) {
        if (action(c, lib, i) != 0) {
            progress_hide(&bar);
            cli_report(c, tm_library_name(lib, i));
            failures++;
        }
        progress_step(&bar);
    }
    progress_hide(&bar);
    *done = end - (u32)first;
    tm_library_free(lib);
    return failures;
}

static int run_dis(cli *c, const command *self, int argc, char **argv) {
    bool bytecode = false;
    const option options[] = {
        {"--bytecode", OPT_FLAG, &bytecode, NULL, "the virtual GPU's bytecode instead of AIR"}};
    const char *words[2] = {0};
    u32 n, done;
    int parsed = options_parse(c, self, options, COUNT_OF(options), argc, argv, words, 2, &n);
    if (parsed > 0)
        return 0;
    if (parsed == 0 && n == 0)
        parsed = diag_at(c->ctx->ctx, NULL, TM5914, "dis", "FILE");
    if (parsed == 0)
        parsed = for_functions(c, words[0], words[1], bytecode ? print_bytecode : print_function, true, &done);
    return parsed < 0 ? cli_fail(c) : parsed != 0;
}

static int run_verify(cli *c, const command *self, int argc, char **argv) {
    const char *words[2] = {0};
    u32 n, done = 0;
    int parsed = options_parse(c, self, NULL, 0, argc, argv, words, 2, &n);
    if (parsed > 0)
        return 0;
    if (parsed == 0 && n == 0)
        parsed = diag_at(c->ctx->ctx, NULL, TM5914, "verify", "FILE");
    if (parsed == 0)
        parsed = for_functions(c, words[0], words[1], verify_function, false, &done);
    if (parsed < 0)
        return cli_fail(c);
    if (c->json)
        printf("{\"functions\": %u, \"failed\": %d}\n", done, parsed);
    else
        printf("%u function%s verified, %d failed\n", done, done == 1 ? "" : "s", parsed);
    return parsed != 0;
}

const command cmd_list = {"list", "FILE.metallib [options]", "Lists the functions of a metallib.", run_list};
const command cmd_dis = {"dis", "FILE.metallib [NAME] [options]",
                         "Prints functions of a metallib (or bare bitcode) as LLVM text.", run_dis};
const command cmd_verify = {"verify", "FILE.metallib [NAME]",
                            "Checks functions against AIR's structure and emission rules.", run_verify};
