/* SPDX-License-Identifier: MIT */
/* Public API: version, contexts and diagnostics. */
#include "build_id.h"
#include "compile/context.h"
#include <stdlib.h>

TM_API const char *tm_version(void) { return TM_VERSION "+" TM_BUILD_ID; }

TM_API tm_context *tm_context_new(void) {
    tm_context *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->ctx = ctx_new();
    if (!c->ctx) {
        free(c);
        return NULL;
    }
    return c;
}

TM_API void tm_context_free(tm_context *c) {
    if (!c)
        return;
    ctx_free(c->ctx);
    text_free(&c->shown);
    free(c);
}

TM_API uint32_t tm_diag_count(const tm_context *c) { return c->ctx->count; }

TM_API int tm_diag_get(const tm_context *c, uint32_t index, tm_diag *out) {
    const diag *d = c->ctx->first;
    while (d && index--)
        d = d->next;
    if (!d)
        return -1;
    *out = (tm_diag){.code = diag_number(d->code),
                     .level = (int)d->level,
                     .file = d->loc.file,
                     .line = d->loc.line,
                     .column = d->loc.column,
                     .message = d->message,
                     .note = d->note,
                     .help = diag_help(d->code)};
    return 0;
}

TM_API const char *tm_diag_text(tm_context *c, const char *source) {
    c->shown.len = 0;
    text_puts(&c->shown, "");
    for (const diag *d = c->ctx->first; d; d = d->next)
        diag_format(&c->shown, d, source);
    return c->shown.at;
}

TM_API void tm_diag_clear(tm_context *c) { ctx_clear(c->ctx); }
