/* SPDX-License-Identifier: MIT */
/* Writes metallibs: sections are built one by one, then offsets are patched into the header. The
 * order of everything is the one Apple's files have, so that what metallib_read took in comes out
 * byte for byte. */
#include "air/metallib/metallib.h"
#include "air/metallib/format.h"
#include "air/metallib/sha256.h"
#include "base/vec.h"

typedef struct func_offsets {
    u64 public_at, private_at, bitcode_at, reflection_at;
} func_offsets;

static void put_tag(text *out, const char *name, u64 len) {
    text_add(out, name, 4);
    text_u16le(out, (u16)len);
}

static void put_end(text *out) { text_add(out, "ENDT", 4); }

/* Ends a metadata group that began at `start`: classic files leave the size word out of the size. */
static void end_metadata_group(text *out, size_t start, bool ld_style) {
    put_end(out);
    text_patch_u32le(out, start, (u32)(out->len - start - (ld_style ? 0 : 4)));
}

static void put_constants(text *out, const metallib_func *f) {
    size_t at = out->len;
    put_tag(out, "CNST", 0);
    text_u16le(out, (u16)f->n_constants);
    for (u32 i = 0; i < f->n_constants; i++) {
        const metallib_constant *c = &f->constants[i];
        text_add(out, c->name, strlen(c->name) + 1);
        text_u8(out, c->type);
        text_u16le(out, c->index);
        text_u8(out, c->active);
    }
    u32 len = (u32)(out->len - at - 6);
    out->at[at + 4] = (char)len;
    out->at[at + 5] = (char)(len >> 8);
}

static void put_func_tag(text *out, const u8 name[4], const metallib_func *f,
                         const func_offsets *at) {
    size_t len = strlen(f->name) + 1;
    if (memcmp(name, "NAME", 4) == 0) {
        put_tag(out, "NAME", len);
        text_add(out, f->name, len);
    } else if (memcmp(name, "TYPE", 4) == 0) {
        put_tag(out, "TYPE", 1);
        text_u8(out, f->type);
    } else if (memcmp(name, "HASH", 4) == 0) {
        put_tag(out, "HASH", 32);
        text_add(out, f->hash, 32);
    } else if (memcmp(name, "OFFT", 4) == 0) {
        put_tag(out, "OFFT", 24);
        text_u64le(out, at->public_at);
        text_u64le(out, at->private_at);
        text_u64le(out, at->bitcode_at);
    } else if (memcmp(name, "VERS", 4) == 0) {
        put_tag(out, "VERS", 8);
        text_u16le(out, f->air_major);
        text_u16le(out, f->air_minor);
        text_u16le(out, f->lang_major);
        text_u16le(out, f->lang_minor);
    } else if (memcmp(name, "MDSZ", 4) == 0) {
        put_tag(out, "MDSZ", 8);
        text_u64le(out, f->bitcode_len);
    } else if (memcmp(name, "RFLT", 4) == 0) {
        put_tag(out, "RFLT", 8);
        text_u64le(out, at->reflection_at);
    }
}

static tm_status check_limits(tm_ctx *ctx, const metallib *lib) {
    for (u32 i = 0; i < lib->n_funcs; i++) {
        const metallib_func *f = &lib->funcs[i];
        u64 constants = 2;
        for (u32 k = 0; k < f->n_constants; k++)
            constants += strlen(f->constants[k].name) + 5;
        if (strlen(f->name) >= UINT16_MAX)
            return diag_at(ctx, NULL, TM4104, "a function's name is longer than 65534 bytes");
        if (constants > UINT16_MAX)
            return diag_at(ctx, NULL, TM4104, "a function has too many function constants");
    }
    return 0;
}

/* Sizes of the reflection groups, without padding, decide their offsets only once the section's
 * place is known: the offsets are therefore patched into the list afterwards. */
static void put_reflection(text *out, const metallib *lib, const u64 *patch_at) {
    size_t section = out->len;
    text_u32le(out, lib->n_funcs);
    for (u32 i = 0; i < lib->n_funcs; i++) {
        const metallib_func *f = &lib->funcs[i];
        size_t start = out->len;
        if (patch_at[i])
            text_patch_u64le(out, patch_at[i], start - section);
        text_u32le(out, 0);
        if (f->reflection) {
            size_t body = start + 4 + 8;
            size_t pad = align_up(body, METALLIB_REFLECTION_ALIGN) - body;
            text_add(out, "RBUF", 4);
            text_u32le(out, (u32)(pad + f->reflection_len));
            text_add(out, (const char[METALLIB_REFLECTION_ALIGN]){0}, pad);
            text_add(out, f->reflection, f->reflection_len);
        }
        put_end(out);
        text_patch_u32le(out, start, (u32)(out->len - start));
    }
}

static void put_header(text *out, const metallib *lib) {
    text_add(out, "MTLB", 4);
    for (u32 i = 0; i < 3; i++)
        text_u16le(out, lib->version[i]);
    text_u8(out, lib->file_type);
    text_u8(out, lib->platform);
    text_u16le(out, lib->os_major);
    text_u8(out, lib->os_minor);
    text_u8(out, lib->os_patch);
    while (out->len < METALLIB_HEADER)
        text_u8(out, 0);
}

/* The extension's tags name places that are not known yet; *at gets where to patch them. */
static size_t put_place(text *out, const char *name) {
    put_tag(out, name, 16);
    text_u64le(out, 0);
    text_u64le(out, 0);
    return out->len - 16;
}

static void patch_place(text *out, size_t place, u64 at, u64 size) {
    text_patch_u64le(out, place, at);
    text_patch_u64le(out, place + 8, size);
}

static u32 default_tags(const metallib *lib, const u8 (**out)[4]) {
    static const u8 classic[][4] = {"NAME", "TYPE", "HASH", "MDSZ", "OFFT", "VERS"};
    static const u8 ld[][4] = {"NAME", "TYPE", "HASH", "OFFT", "VERS", "MDSZ", "RFLT"};
    *out = lib->ld_style ? ld : classic;
    return lib->ld_style ? COUNT_OF(ld) : COUNT_OF(classic);
}

static void put_functions(text *out, const metallib *lib, const func_offsets *at, u64 *patch_at) {
    text_u32le(out, lib->n_funcs);
    for (u32 i = 0; i < lib->n_funcs; i++) {
        const metallib_func *f = &lib->funcs[i];
        const u8(*tags)[4] = f->tags;
        u32 n = f->n_tags ? f->n_tags : default_tags(lib, &tags);
        size_t start = out->len;
        text_u32le(out, 0);
        for (u32 k = 0; k < n; k++) {
            put_func_tag(out, tags[k], f, &at[i]);
            if (memcmp(tags[k], "RFLT", 4) == 0)
                patch_at[i] = out->len - 8;
        }
        put_end(out);
        text_patch_u32le(out, start, (u32)(out->len - start));
    }
}

static void put_metadata(const metallib *lib, text *public, text *private, func_offsets *at) {
    u64 bitcode = 0;
    for (u32 i = 0; i < lib->n_funcs; i++) {
        const metallib_func *f = &lib->funcs[i];
        at[i] = (func_offsets){public->len, private->len, bitcode, 0};
        bitcode += f->bitcode_len;
        text_u32le(public, 0);
        if (f->constants)
            put_constants(public, f);
        end_metadata_group(public, at[i].public_at, lib->ld_style);
        text_u32le(private, 0);
        end_metadata_group(private, at[i].private_at, lib->ld_style);
    }
}

static void patch_section(text *out, u32 number, u64 at, u64 size) {
    patch_place(out, 24 + 16 * number, at, size);
}

tm_status metallib_write(tm_ctx *ctx, const metallib *lib, text *out) {
    TRY(check_limits(ctx, lib));
    text file = {0}, public = {0}, private = {0};
    arena *scratch = arena_new();
    func_offsets *at = ARENA_ARRAY(scratch, func_offsets, lib->n_funcs);
    u64 *patch_at = ARENA_ARRAY(scratch, u64, lib->n_funcs);
    put_metadata(lib, &public, &private, at);
    put_header(&file, lib);
    put_functions(&file, lib, at, patch_at);
    /* The list's size leaves out the count that begins it. */
    patch_section(&file, 0, METALLIB_HEADER, file.len - METALLIB_HEADER - 4);
    size_t hsrp = lib->hsrp ? put_place(&file, "HSRP") : 0;
    size_t hdyn = lib->hdyn ? put_place(&file, "HDYN") : 0;
    size_t rlst = lib->ld_style ? put_place(&file, "RLST") : 0;
    if (lib->has_uuid) {
        put_tag(&file, "UUID", 16);
        text_add(&file, lib->uuid, 16);
    }
    put_end(&file);
    patch_section(&file, 1, file.len, public.len);
    text_add(&file, public.at, public.len);
    patch_section(&file, 2, file.len, private.len);
    text_add(&file, private.at, private.len);
    size_t bitcode = file.len;
    for (u32 i = 0; i < lib->n_funcs; i++)
        text_add(&file, lib->funcs[i].bitcode, lib->funcs[i].bitcode_len);
    patch_section(&file, 3, bitcode, file.len - bitcode);
    if (hsrp) {
        patch_place(&file, hsrp, file.len, lib->hsrp_len);
        text_add(&file, lib->hsrp, lib->hsrp_len);
    }
    if (hdyn) {
        patch_place(&file, hdyn, file.len, lib->hdyn_len);
        text_add(&file, lib->hdyn, lib->hdyn_len);
    }
    if (rlst) {
        size_t section = file.len;
        put_reflection(&file, lib, patch_at);
        patch_place(&file, rlst, section, file.len - section);
    }
    text_patch_u64le(&file, 16, file.len);
    text_add(out, file.at, file.len);
    text_free(&file);
    text_free(&public);
    text_free(&private);
    arena_free(scratch);
    return 0;
}

static const struct os_row {
    u32 macos;
    u8 file_patch, air_minor, lang_major, lang_minor;
} os_rows[] = {
    {13, 7, 5, 3, 0},
    {14, 7, 6, 3, 1},
    {15, 8, 7, 3, 2},
    {26, 9, 8, 4, 0},
};

tm_status metallib_write_kernel(tm_ctx *ctx, const char *name, u32 macos, const u8 *blob, size_t len,
                                text *out) {
    const struct os_row *row = NULL;
    for (u32 i = 0; i < COUNT_OF(os_rows); i++)
        if (os_rows[i].macos == macos)
            row = &os_rows[i];
    if (!row)
        return diag_at(ctx, NULL, TM2902, macos);
    metallib_func f = {.name = name, .type = 2, .air_major = 2, .air_minor = row->air_minor,
                       .lang_major = row->lang_major, .lang_minor = row->lang_minor,
                       .bitcode = blob, .bitcode_len = len};
    air_sha256(blob, len, f.hash);
    metallib lib = {.version = {0x8001, 2, row->file_patch}, .platform = 0x81,
                    .os_major = (u16)macos, .n_funcs = 1, .funcs = &f};
    return metallib_write(ctx, &lib, out);
}
