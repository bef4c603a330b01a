/* SPDX-License-Identifier: MIT */
/* The command line tool: shared parts of its commands. A command gets what its option table filled;
 * it prints results on stdout, diagnostics on stderr, and returns the exit status, 0 or 1. */
#pragma once
#include "base/text.h"
#include "compile/context.h"

typedef struct cli {
    tm_context *ctx;
    bool json;
    const char *source;      /* text that diagnostics may point into, and the name it goes by */
    const char *source_name;
} cli;

/* ---- options.c */
enum option_kind { OPT_FLAG, OPT_TEXT, OPT_NUMBER, OPT_TRIPLE, OPT_LIST };
typedef struct option_list {
    const char **at;
    u32 n;
} option_list;
typedef struct option {
    const char *name;        /* "--target"; short names are "-o" */
    enum option_kind kind;
    void *slot;              /* bool, const char *, u32, u32[3], option_list */
    const char *value, *help; /* value: how help shows it, "NAME" */
} option;
typedef struct command {
    const char *name, *arguments, *help;
    int (*run)(cli *c, const struct command *self, int argc, char **argv);
} command;

/* Fills the slots; what is no option goes to words, at most max of them. -1 after printing an error,
 * 1 when help was asked for and printed. */
int options_parse(cli *c, const command *cmd, const option *options, u32 n, int argc, char **argv,
                  const char **words, u32 max, u32 *n_words);

/* ---- main.c */
int cli_fail(cli *c);        /* prints the context's diagnostics; returns 1 */
/* Prints and forgets the diagnostics, the same way, prefixed with the name of what they are about. */
void cli_report(cli *c, const char *about);

/* ---- files.c */
/* The whole file ("-": stdin), NUL-terminated, malloc'ed; NULL with a diagnostic. */
char *file_read(cli *c, const char *path, size_t *len);
tm_status file_write(cli *c, const char *path, const void *data, size_t len); /* "-": stdout */
tm_library *library_open(cli *c, const char *path);
/* The function's index by name; with no name the only one. -1 with a diagnostic. */
int library_pick(cli *c, tm_library *lib, const char *path, const char *name);

/* ---- progress.c */
typedef struct progress {
    bool on, drawn;
    u32 all, done;
    double start, next;      /* next: when the bar is drawn again */
} progress;
double cli_seconds(void);    /* of a clock that only goes forward */
progress progress_begin(u32 all, bool prints); /* prints: one result after the other on stdout */
void progress_step(progress *p);               /* one more is done */
void progress_hide(progress *p);               /* before anything else is printed, and at the end */

/* ---- npy.c: NumPy's file format, little endian and C order */
typedef struct npy {
    char *file;              /* malloc'ed; header and data */
    size_t file_len;
    char *data;
    size_t size;
} npy;
tm_status npy_read(cli *c, const char *path, npy *out);
/* Zeros of a type and shape given as "float32[4,8]". */
tm_status npy_make(cli *c, const char *spec, npy *out);
tm_status npy_write(cli *c, const char *path, const npy *array);
typedef struct npy_type {
    const char *name, *descr;
    u8 size, kind;           /* kind: an ir_float_kind, or NPY_SIGNED, NPY_UNSIGNED, NPY_BOOL */
} npy_type;
enum { NPY_SIGNED = 100, NPY_UNSIGNED, NPY_BOOL };
const npy_type *npy_type_find(const char *name, size_t len);

extern const command cmd_compile, cmd_list, cmd_dis, cmd_verify, cmd_run;
