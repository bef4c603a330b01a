/* SPDX-License-Identifier: MIT */
/* Diagnostics: the catalogue (diag.def), collecting, and printing with caret lines. */
#include "base/diag.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_KEPT = 100 };

static const struct row {
    u16 number;
    u8 level;
    const char *format, *help;
} rows[] = {
#define DIAG(code, level, format, help) {code, level, format, help},
#include "base/diag.def"
#undef DIAG
};
_Static_assert(COUNT_OF(rows) == DIAG_CODE_COUNT, "one row per code");

tm_ctx *ctx_new(void) {
    tm_ctx *ctx = calloc(1, sizeof *ctx);
    if (ctx)
        ctx->arena = arena_new();
    return ctx;
}

void ctx_free(tm_ctx *ctx) {
    if (!ctx)
        return;
    arena_free(ctx->arena);
    free(ctx);
}

void ctx_clear(tm_ctx *ctx) {
    ctx->first = ctx->last = NULL;
    ctx->errors = ctx->count = 0;
}

tm_status diag_at(tm_ctx *ctx, const src_loc *loc, enum diag_code code, ...) {
    va_list args;
    va_start(args, code);
    diag_at_v(ctx, loc, code, args);
    va_end(args);
    return -1;
}

tm_status diag_at_v(tm_ctx *ctx, const src_loc *loc, enum diag_code code, va_list args) {
    if (rows[code].level == DIAG_ERROR)
        ctx->errors++;
    if (ctx->count == MAX_KEPT)
        return -1;
    ctx->count++;
    diag *d = ARENA_NEW(ctx->arena, diag);
    d->code = code;
    d->level = rows[code].level;
    if (loc)
        d->loc = *loc;
    char message[2048];
    vsnprintf(message, sizeof message, rows[code].format, args);
    d->message = arena_str(ctx->arena, message, strlen(message));
    if (ctx->last)
        ctx->last->next = d;
    else
        ctx->first = d;
    ctx->last = d;
    return -1;
}

void diag_note(tm_ctx *ctx, const char *format, ...) {
    if (!ctx->last)
        return;
    char note[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    const char *old = ctx->last->note;
    ctx->last->note = old ? arena_printf(ctx->arena, "%s\n%s", old, note)
                          : arena_str(ctx->arena, note, strlen(note));
}

int diag_number(enum diag_code code) { return rows[code].number; }
const char *diag_help(enum diag_code code) { return rows[code].help; }

static void format_place(text *out, const src_loc *loc) {
    if (!loc->file)
        return;
    text_puts(out, loc->file);
    if (loc->line)
        text_printf(out, ":%u", loc->line);
    if (loc->column)
        text_printf(out, ":%u", loc->column);
    text_puts(out, ": ");
}

/* The source line and a caret under the column. */
static void format_caret(text *out, const src_loc *loc, const char *source) {
    if (!source || !loc->line)
        return;
    const char *line = source;
    for (u32 i = 1; i < loc->line; i++) {
        line = strchr(line, '\n');
        if (!line++)
            return;
    }
    int len = (int)MIN(strcspn(line, "\n"), (size_t)160);
    text_printf(out, "%5u | %.*s\n      | ", loc->line, len, line);
    for (u32 i = 1; i < loc->column && (int)i <= len; i++)
        text_putc(out, line[i - 1] == '\t' ? '\t' : ' ');
    text_puts(out, "^\n");
}

static const char *level_name(enum diag_level level) {
    static const char *const names[] = {"note", "warning", "error"};
    return names[level];
}

void diag_format(text *out, const diag *d, const char *source) {
    format_place(out, &d->loc);
    text_printf(out, "%s TM%04d: %s\n", level_name(d->level), diag_number(d->code), d->message);
    format_caret(out, &d->loc, source);
    for (const src_loc *c = d->loc.caller; c; c = c->caller) {
        text_puts(out, "  called from ");
        format_place(out, c);
        text_puts(out, "\n");
    }
    if (d->note)
        text_printf(out, "  note: %s\n", d->note);
    if (*diag_help(d->code))
        text_printf(out, "  help: %s\n", diag_help(d->code));
}

void diag_format_json(text *out, const diag *d) {
    text_printf(out, "{\"code\": \"TM%04d\", \"level\": \"%s\", \"file\": ", diag_number(d->code),
                level_name(d->level));
    text_json(out, d->loc.file);
    text_printf(out, ", \"line\": %u, \"column\": %u, \"message\": ", d->loc.line, d->loc.column);
    text_json(out, d->message);
    text_puts(out, ", \"note\": ");
    text_json(out, d->note);
    text_puts(out, ", \"help\": ");
    text_json(out, diag_help(d->code));
    text_puts(out, "}");
}

/* Recursion follows inlining depth, which the inliner bounds. */
static src_loc *copy_loc(arena *a, const src_loc *loc) {
    if (!loc)
        return NULL;
    src_loc *copy = arena_dup(a, loc, sizeof *loc);
    if (loc->file)
        copy->file = arena_str(a, loc->file, strlen(loc->file));
    copy->caller = copy_loc(a, loc->caller);
    return copy;
}

void diags_copy(tm_ctx *to, const tm_ctx *from) {
    for (const diag *d = from->first; d; d = d->next) {
        diag *copy = arena_dup(to->arena, d, sizeof *d);
        copy->loc = *copy_loc(to->arena, &d->loc);
        copy->message = arena_str(to->arena, d->message, strlen(d->message));
        copy->note = d->note ? arena_str(to->arena, d->note, strlen(d->note)) : NULL;
        copy->next = NULL;
        *(to->last ? &to->last->next : &to->first) = copy;
        to->last = copy;
        to->count++;
        to->errors += copy->level == DIAG_ERROR;
    }
}
