/* SPDX-License-Identifier: MIT */
/* A growing text or byte buffer (malloc'ed, freed by text_free). Used by printers and writers;
 * the integer writers are the only way bytes of a binary format are made (little endian). */
#pragma once
#include "base/base.h"

typedef struct text {
    char *at; /* NUL-terminated while it holds text */
    size_t len, room;
} text;

void text_free(text *t);
void text_add(text *t, const void *data, size_t len);
void text_puts(text *t, const char *s);
void text_putc(text *t, char c);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_int(text *t, i64 value);
void text_json(text *t, const char *s); /* a JSON string; null for NULL */
void text_u8(text *t, u8 v);
void text_u16le(text *t, u16 v);
void text_u32le(text *t, u32 v);
void text_u64le(text *t, u64 v);
void text_patch_u32le(text *t, size_t offset, u32 v);
void text_patch_u64le(text *t, size_t offset, u64 v);

static inline u16 get_u16le(const u8 *p) { return (u16)(p[0] | p[1] << 8); }
static inline u32 get_u32le(const u8 *p) { return (u32)get_u16le(p) | (u32)get_u16le(p + 2) << 16; }
static inline u64 get_u64le(const u8 *p) { return get_u32le(p) | (u64)get_u32le(p + 4) << 32; }
