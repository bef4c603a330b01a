/* SPDX-License-Identifier: MIT */
/* Diagnostics: a stable code, a place, a message, what to do. Rows live in diag.def; a context
 * collects them and the front ends (CLI, Python) print them. The library never prints. */
#pragma once
#include "base/arena.h"
#include "base/text.h"
#include <stdarg.h>

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

enum diag_code {
#define DIAG(code, level, format, help) TM##code,
#include "base/diag.def"
#undef DIAG
    DIAG_CODE_COUNT
};

/* A place in a source file; NULL file = unknown. Line and column count from 1, 0 = unknown. */
typedef struct src_loc {
    const char *file;
    u32 line, column;
    const struct src_loc *caller; /* the call site, for inlined code; NULL otherwise */
} src_loc;

typedef struct diag {
    enum diag_code code;
    enum diag_level level;
    src_loc loc;
    const char *message;
    const char *note; /* NULL or one more line, such as the op's text */
    struct diag *next;
} diag;

/* One compilation, load or launch session. Not shared between threads at the same time. */
typedef struct tm_ctx {
    arena *arena; /* lives as long as the context */
    diag *first, *last;
    u32 errors, count;
} tm_ctx;

tm_ctx *ctx_new(void);
void ctx_free(tm_ctx *ctx);
void ctx_clear(tm_ctx *ctx); /* forgets diagnostics, keeps memory */

/* Records a diagnostic; loc may be NULL; the row's format takes the arguments. Returns -1 so that
 * callers can `return diag_at(...)`. At most 100 are kept. */
tm_status diag_at(tm_ctx *ctx, const src_loc *loc, enum diag_code code, ...);
tm_status diag_at_v(tm_ctx *ctx, const src_loc *loc, enum diag_code code, va_list args);
/* Adds a note to the last diagnostic. */
void diag_note(tm_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies every diagnostic of `from` with its texts, so that `from` may be freed. */
void diags_copy(tm_ctx *to, const tm_ctx *from);

int diag_number(enum diag_code code);        /* 1203 for TM1203 */
const char *diag_help(enum diag_code code);  /* the row's advice, never NULL */
/* Appends "file:line: error TM1203: message", caret lines when `source` (may be NULL) is the text
 * the locations point into, notes and advice. */
void diag_format(text *out, const diag *d, const char *source);
void diag_format_json(text *out, const diag *d);
