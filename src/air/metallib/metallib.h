/* SPDX-License-Identifier: MIT */
/* The metallib container: functions with their bitcode blobs. Reads both styles Apple makes
 * ("classic" and "ld"), writes classic for what we compile, and rewrites either byte for byte from
 * its logical content. */
#pragma once
#include "base/arena.h"
#include "base/diag.h"
#include "base/text.h"

typedef struct metallib_constant { const char *name; u8 type; u16 index; u8 active; } metallib_constant;

typedef struct metallib_func {
    const char *name;
    u8 type;                       /* 2 = kernel */
    u8 hash[32];                   /* SHA-256 of the blob */
    u16 air_major, air_minor, lang_major, lang_minor;
    const u8 *bitcode;             /* the wrapped, padded blob; points into the file */
    u64 bitcode_len;
    u32 n_constants;
    const metallib_constant *constants;
    const u8 *reflection;          /* RLST flatbuffer (ld style) or NULL */
    u64 reflection_len;
    u8 tags[12][4];                /* tag order as read, for byte-exact rewriting */
    u32 n_tags;
} metallib_func;

typedef struct metallib {
    u16 version[3];                /* 0x8001, 2, 7|8|9 */
    u8 file_type, platform, os_minor, os_patch;
    u16 os_major;
    bool ld_style;
    bool has_uuid;
    u8 uuid[16];
    const u8 *hdyn, *hsrp;         /* payloads or NULL */
    u64 hdyn_len, hsrp_len;
    u32 n_funcs;
    metallib_func *funcs;
} metallib;

/* Points into `data`, which must outlive the result (in ctx->arena). NULL with a 41xx. */
metallib *metallib_read(tm_ctx *ctx, const u8 *data, size_t len);
tm_status metallib_write(tm_ctx *ctx, const metallib *lib, text *out);
/* A classic one-kernel library for macOS 13, 14, 15 or 26. Fills hash and sizes. */
tm_status metallib_write_kernel(tm_ctx *ctx, const char *name, u32 macos, const u8 *blob, size_t len,
                                text *out);
/* Whether the stored hash is the bitcode's; metallib_read does not look. -1 with a 4103. */
tm_status metallib_check_hash(tm_ctx *ctx, const metallib_func *f);
