/* SPDX-License-Identifier: MIT */
/* Text and byte buffers; see text.h. */
#include "base/text.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void reserve(text *t, size_t more) {
    if (t->len + more + 1 <= t->room)
        return;
    size_t room = MAX(t->room * 2, (size_t)256);
    while (room < t->len + more + 1)
        room *= 2;
    char *at = realloc(t->at, room);
    if (!at) {
        fputs("triton-metal: out of memory\n", stderr);
        abort();
    }
    t->at = at;
    t->room = room;
}

void text_free(text *t) {
    free(t->at);
    *t = (text){0};
}

void text_add(text *t, const void *data, size_t len) {
    reserve(t, len);
    if (len)
        memcpy(t->at + t->len, data, len);
    t->len += len;
    t->at[t->len] = 0;
}

void text_puts(text *t, const char *s) { text_add(t, s, strlen(s)); }
void text_putc(text *t, char c) { text_add(t, &c, 1); }

void text_printf(text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len > 0) {
        reserve(t, (size_t)len);
        vsnprintf(t->at + t->len, (size_t)len + 1, format, again);
        t->len += (size_t)len;
    }
    va_end(args);
    va_end(again);
}

void text_int(text *t, i64 value) {
    char digits[24];
    char *end = digits + sizeof digits, *p = end;
    u64 v = value < 0 ? 0 - (u64)value : (u64)value;
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    if (value < 0)
        *--p = '-';
    text_add(t, p, (size_t)(end - p));
}

void text_u8(text *t, u8 v) { text_add(t, &v, 1); }
void text_u16le(text *t, u16 v) { text_add(t, (u8[]){(u8)v, (u8)(v >> 8)}, 2); }
void text_u32le(text *t, u32 v) {
    text_u16le(t, (u16)v);
    text_u16le(t, (u16)(v >> 16));
}
void text_u64le(text *t, u64 v) {
    text_u32le(t, (u32)v);
    text_u32le(t, (u32)(v >> 32));
}

void text_patch_u32le(text *t, size_t offset, u32 v) {
    TM_ASSERT(offset + 4 <= t->len);
    for (u32 i = 0; i < 4; i++)
        t->at[offset + i] = (char)(v >> (8 * i));
}

void text_patch_u64le(text *t, size_t offset, u64 v) {
    text_patch_u32le(t, offset, (u32)v);
    text_patch_u32le(t, offset + 4, (u32)(v >> 32));
}

void text_json(text *t, const char *s) {
    if (!s) {
        text_puts(t, "null");
        return;
    }
    text_putc(t, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_printf(t, "\\%c", *s);
        else if ((u8)*s < 32)
            text_printf(t, "\\u%04x", (u8)*s);
        else
            text_putc(t, *s);
    }
    text_putc(t, '"');
}
