/* SPDX-License-Identifier: MIT */
/* The ways in which one kernel is decoded: by checks, numerics, and whether it counts. Each is made when a launch
 * first wants it and kept with the kernel. */
#include "core.h"
#include <stdlib.h>

static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }
static void decoding_free(decoding *d) {
    if (!d)
        return;
    tm_kernel_free(d->kernel);
    free(d->checks);
    free(d->numerics);
    free(d);
}
static decoding *decode(tm_context *ctx, const kernel_object *k, const char *checks, const char *numerics,
                        bool count) {
    decoding *d = calloc(1, sizeof *d);
    if (!d || (checks && !(d->checks = strdup(checks))) || !(d->numerics = strdup(numerics))) {
        decoding_free(d);
        PyErr_NoMemory();
        return NULL;
    }
    tm_kernel_options options = {.constants = k->constants, .n_constants = k->n_constants, .checks = checks,
                                 .numerics = numerics, .counting = count};
    d->counting = count;
    d->kernel = tm_kernel_new(ctx, library_of(k->library), k->index, &options);
    if (!d->kernel || (k->lines && tm_kernel_set_lines(ctx, d->kernel, k->lines, k->lines_len) != 0)) {
        decoding_free(d);
        return NULL;
    }
    return d;
}
decoding *kernel_decoding(tm_context *ctx, kernel_object *k, const char *checks, const char *numerics, bool count) {
    numerics = numerics ? numerics : "";
    for (decoding *d = k->decodings; d; d = d->next)
        if (d->counting == count && same(d->checks, checks) && same(d->numerics, numerics))
            return d;
    decoding *d = decode(ctx, k, checks, numerics, count);
    if (d) {
        d->next = k->decodings;
        k->decodings = d;
    }
    return d;
}
tm_kernel *kernel_now(core_state *st, tm_context *ctx, kernel_object *k, bool count) {
    const char *checks = st->checks ? PyUnicode_AsUTF8AndSize(st->checks, NULL) : k->own->checks;
    const char *more = st->numerics ? PyUnicode_AsUTF8AndSize(st->numerics, NULL) : "";
    if (PyErr_Occurred())
        return NULL;
    text numerics = {0}; /* the last word counts */
    text_printf(&numerics, "%s%s%s", k->own->numerics, *k->own->numerics && *more ? "," : "", more);
    decoding *d = kernel_decoding(ctx, k, checks, numerics.at, count);
    text_free(&numerics);
    return d ? d->kernel : NULL;
}
int kernel_prepare(core_state *st, tm_context *ctx, kernel_object *k, const char *lines, size_t len) {
    if (lines && !k->lines) {
        k->lines = malloc(len + 1);
        if (!k->lines)
            return PyErr_NoMemory(), -1;
        memcpy(k->lines, lines, len);
        k->lines_len = len;
        for (decoding *d = k->decodings; d; d = d->next)
            TRY(tm_kernel_set_lines(ctx, d->kernel, lines, len));
    }
    if (k->setting == st->setting)
        return 0;
    tm_kernel *now = kernel_now(st, ctx, k, k->own->counting);
    if (!now)
        return -1;
    k->kernel = now;
    k->setting = st->setting;
    return 0;
}
void kernel_release(kernel_object *k) {
    for (decoding *d = k->decodings, *next; d; d = next) {
        next = d->next;
        decoding_free(d);
    }
    free(k->constants);
    free(k->lines);
    Py_XDECREF(k->names);
    Py_XDECREF(k->library);
}
