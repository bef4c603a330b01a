/* SPDX-License-Identifier: MIT */
/* NumPy's .npy format, versions 1 to 3, as its documentation gives it: "\x93NUMPY", version, header
 * length, a Python dict as text, data. An array is kept as the file's own bytes, so that writing it
 * back keeps its header. bfloat16 is stored as ml_dtypes stores it, as 2-byte records. */
#include "cli/cli.h"
#include "ir/format.h"
#include <stdio.h>
#include <stdlib.h>

static const npy_type types[] = {
    {"bool", "|b1", 1, NPY_BOOL},      {"int8", "|i1", 1, NPY_SIGNED},    {"int16", "<i2", 2, NPY_SIGNED},
    {"int32", "<i4", 4, NPY_SIGNED},   {"int64", "<i8", 8, NPY_SIGNED},   {"uint8", "|u1", 1, NPY_UNSIGNED},
    {"uint16", "<u2", 2, NPY_UNSIGNED}, {"uint32", "<u4", 4, NPY_UNSIGNED}, {"uint64", "<u8", 8, NPY_UNSIGNED},
    {"float16", "<f2", 2, IR_F16},     {"bfloat16", "<V2", 2, IR_BF16},   {"float32", "<f4", 4, IR_F32},
    {"float64", "<f8", 8, IR_F64},
};

const npy_type *npy_type_find(const char *name, size_t len) {
    for (u32 i = 0; i < COUNT_OF(types); i++)
        if (strlen(types[i].name) == len && memcmp(types[i].name, name, len) == 0)
            return &types[i];
    return NULL;
}

/* Size in bytes of a descr such as "<f4"; 0 when it is not a plain little endian type. */
static size_t descr_size(const char *descr, size_t len) {
    if (len < 3 || !strchr("<|", descr[0]) || !strchr("biufcV", descr[1]))
        return 0;
    size_t size = strtoul(descr + 2, NULL, 10);
    return size <= 16 ? size : 0;
}

/* The text after 'key': in the header, or NULL. */
static const char *header_value(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " :");
}

/* Bytes the header describes; 0 and a reason when it cannot be used. */
static size_t described_bytes(const char *header, const char **why) {
    const char *descr = header_value(header, "'descr'"), *order = header_value(header, "'fortran_order'");
    const char *shape = header_value(header, "'shape'");
    *why = "its header is damaged";
    if (!descr || !order || !shape || *descr != '\'' || *shape != '(')
        return 0;
    *why = "its type is not a little endian number";
    u64 size = descr_size(descr + 1, strcspn(descr + 1, "'"));
    if (!size)
        return 0;
    *why = "it is in Fortran order";
    if (strncmp(order, "False", 5) != 0)
        return 0;
    *why = NULL;
    for (shape++; *shape && *shape != ')';) {
        char *end;
        u64 extent = strtoull(shape, &end, 10);
        if (end == shape || (extent && size > SIZE_MAX / 2 / extent)) {
            *why = "its shape is damaged";
            return 0;
        }
        size *= extent;
        shape = end + strspn(end, "L, ");
    }
    return size;
}

tm_status npy_read(cli *c, const char *path, npy *out) {
    *out = (npy){0};
    out->file = file_read(c, path, &out->file_len);
    if (!out->file)
        return -1;
    const u8 *f = (const u8 *)out->file;
    const char *why = "it does not start with NumPy's magic";
    if (out->file_len >= 12 && memcmp(f, "\x93NUMPY", 6) == 0) {
        size_t start = f[6] == 1 ? 10 : 12, len = f[6] == 1 ? get_u16le(f + 8) : get_u32le(f + 8);
        why = "it is cut short";
        if (start + len <= out->file_len) {
            char *header = arena_str(c->ctx->ctx->arena, out->file + start, len);
            out->size = described_bytes(header, &why);
            out->data = out->file + start + len;
            if (!why && out->size > out->file_len - start - len)
                why = "it is cut short";
        }
    }
    if (!why)
        return 0;
    free(out->file);
    out->file = NULL;
    return diag_at(c->ctx->ctx, NULL, TM5920, path, why);
}

tm_status npy_make(cli *c, const char *spec, npy *out) {
    *out = (npy){0};
    size_t name_len = strcspn(spec, "[");
    const npy_type *type = npy_type_find(spec, name_len);
    size_t len = strlen(spec);
    if (!type || len < name_len + 3 || spec[len - 1] != ']')
        return diag_at(c->ctx->ctx, NULL, TM5921, spec, "no type and shape such as float32[16,16]");
    char *dims = arena_str(c->ctx->ctx->arena, spec + name_len + 1, len - name_len - 2);
    char *header = arena_printf(c->ctx->ctx->arena, "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }",
                                type->descr, dims);
    const char *why;
    out->size = described_bytes(header, &why);
    if (why)
        return diag_at(c->ctx->ctx, NULL, TM5921, spec, why);
    size_t used = strlen(header) + 1, padded = (10 + used + 63) / 64 * 64;
    if (padded > 65535)
        return diag_at(c->ctx->ctx, NULL, TM5921, spec, "too many dimensions");
    out->file_len = padded + out->size;
    out->file = calloc(1, out->file_len ? out->file_len : 1);
    if (!out->file)
        return diag_at(c->ctx->ctx, NULL, TM9002, spec);
    size_t field = padded - 10;
    memcpy(out->file, "\x93NUMPY\x01\x00", 8);
    out->file[8] = (char)(field & 255);
    out->file[9] = (char)(field >> 8);
    memset(out->file + 10, ' ', field);
    memcpy(out->file + 10, header, used - 1);
    out->file[padded - 1] = '\n';
    out->data = out->file + padded;
    return 0;
}

tm_status npy_write(cli *c, const char *path, const npy *array) {
    return file_write(c, path, array->file, array->file_len);
}
