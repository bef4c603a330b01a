/* SPDX-License-Identifier: MIT */
/* Reads metallibs. A file is a header of section offsets, a list of functions as groups of tagged
 * fields, and sections of metadata and bitcode. Two styles exist: "classic" files measure a metadata
 * group without its own size word, "ld" files with it, and carry reflection data and a UUID; a group
 * is therefore read up to its ENDT and its size only bounds it. Tag order is remembered, everything
 * else is recomputed by the writer (metallib_write.c). */
#include "air/metallib/metallib.h"
#include "air/metallib/format.h"
#include "air/metallib/sha256.h"
#include "base/vec.h"

/* A range of the file being read; `at` moves. Reads past the end set bad and give zeros. */
typedef struct cursor {
    const u8 *data;
    u64 at, end;
    bool bad;
} cursor;

typedef struct lib_reader {
    tm_ctx *ctx;
    const u8 *data;
    u64 len;
    metallib *lib;
    u64 public_at, public_size, bitcode_at, bitcode_size;
    u64 reflection_at, reflection_size;
    u64 constants_left; /* functions may share a list, but not to cost more than the file */
} lib_reader;

typedef struct tag {
    u8 name[4];
    cursor body;
} tag;

static tm_status damaged(lib_reader *r, const char *what, u64 at) {
    return diag_at(r->ctx, NULL, TM4102, what, (unsigned long long)at);
}

static const u8 *take(cursor *c, u64 n) {
    static const u8 zeros[32];
    if (c->bad || n > c->end - c->at) {
        c->bad = true;
        return n <= sizeof zeros ? zeros : NULL;
    }
    c->at += n;
    return c->data + c->at - n;
}
static u16 take_u16(cursor *c) { return get_u16le(take(c, 2)); }
static u32 take_u32(cursor *c) { return get_u32le(take(c, 4)); }
static u64 take_u64(cursor *c) { return get_u64le(take(c, 8)); }

static bool tag_is(const tag *t, const char *name) { return memcmp(t->name, name, 4) == 0; }

/* Next tag of a group: 1, 0 at ENDT, -1 when damaged. */
static int next_tag(lib_reader *r, cursor *c, tag *out) {
    memcpy(out->name, take(c, 4), 4);
    if (c->bad)
        return damaged(r, "a list of tags does not end", c->at);
    if (tag_is(out, "ENDT"))
        return 0;
    bool wide = tag_is(out, "RBUF") || tag_is(out, "SBUF") || tag_is(out, "RBUZ");
    u64 n = wide ? take_u32(c) : take_u16(c);
    if (c->bad || n > c->end - c->at)
        return damaged(r, "a tag is longer than the part it is in", c->at);
    out->body = (cursor){c->data, c->at, c->at + n, false};
    c->at += n;
    return 1;
}

/* A NUL-terminated name; NULL when it does not end. */
static const char *take_name(cursor *c) {
    const u8 *from = c->data + c->at, *nul = c->at < c->end ? memchr(from, 0, c->end - c->at) : NULL;
    if (!nul)
        return NULL;
    c->at += (u64)(nul - from) + 1;
    return (const char *)from;
}

static tm_status section(lib_reader *r, u64 at, u64 size, cursor *out) {
    if (at > r->len || size > r->len - at)
        return damaged(r, "a section lies outside the file", at);
    *out = (cursor){r->data, at, at + size, false};
    return 0;
}

static tm_status read_constants(lib_reader *r, cursor c, metallib_func *f) {
    u32 n = take_u16(&c);
    if (n > (c.end - c.at) / 5)
        return damaged(r, "a list of function constants is cut short", c.at);
    if (n > r->constants_left)
        return damaged(r, "the lists of function constants overlap", c.at);
    r->constants_left -= n;
    metallib_constant *list = ARENA_ARRAY(r->ctx->arena, metallib_constant, n);
    for (u32 i = 0; i < n; i++) {
        list[i].name = take_name(&c);
        list[i].type = *take(&c, 1);
        list[i].index = take_u16(&c);
        list[i].active = *take(&c, 1);
        if (!list[i].name || c.bad)
            return damaged(r, "a list of function constants is cut short", c.at);
    }
    f->n_constants = n;
    f->constants = list;
    return 0;
}

static tm_status read_public(lib_reader *r, u64 offset, metallib_func *f) {
    cursor c;
    TRY(section(r, r->public_at, r->public_size, &c));
    if (offset > r->public_size)
        return damaged(r, "a function's metadata lies outside its section", offset);
    c.at += offset;
    take_u32(&c);
    tag t;
    int more;
    while ((more = next_tag(r, &c, &t)) > 0)
        if (tag_is(&t, "CNST"))
            TRY(read_constants(r, t.body, f));
    return more;
}

static tm_status read_reflection(lib_reader *r, u64 offset, metallib_func *f) {
    cursor c;
    TRY(section(r, r->reflection_at, r->reflection_size, &c));
    if (offset > r->reflection_size)
        return damaged(r, "a function's reflection lies outside its section", offset);
    c.at += offset;
    take_u32(&c);
    tag t;
    int more;
    while ((more = next_tag(r, &c, &t)) > 0) {
        if (!tag_is(&t, "RBUF"))
            continue;
        /* The payload proper begins at a multiple of 16 of the file. */
        u64 from = align_up(t.body.at, METALLIB_REFLECTION_ALIGN);
        if (from > t.body.end)
            return damaged(r, "a reflection buffer is cut short", t.body.at);
        f->reflection = r->data + from;
        f->reflection_len = t.body.end - from;
    }
    return more;
}

static tm_status read_func_tag(lib_reader *r, const tag *t, metallib_func *f, u64 offsets[4],
                               bool *reflected) {
    cursor c = t->body;
    if (tag_is(t, "NAME")) {
        f->name = take_name(&c);
        c.bad = !f->name;
    } else if (tag_is(t, "TYPE")) {
        f->type = *take(&c, 1);
    } else if (tag_is(t, "HASH")) {
        memcpy(f->hash, take(&c, 32), 32);
    } else if (tag_is(t, "OFFT")) {
        for (u32 i = 0; i < 3; i++)
            offsets[i] = take_u64(&c);
    } else if (tag_is(t, "VERS")) {
        f->air_major = take_u16(&c);
        f->air_minor = take_u16(&c);
        f->lang_major = take_u16(&c);
        f->lang_minor = take_u16(&c);
    } else if (tag_is(t, "MDSZ")) {
        f->bitcode_len = take_u64(&c);
    } else if (tag_is(t, "RFLT")) {
        offsets[3] = take_u64(&c);
        *reflected = true;
    } else {
        return 0; /* tags of debug builds and graphics functions say nothing of kernels */
    }
    if (c.bad)
        return damaged(r, "a function's tag is cut short", t->body.at);
    if (f->n_tags == COUNT_OF(f->tags))
        return damaged(r, "a function has too many tags", t->body.at);
    memcpy(f->tags[f->n_tags++], t->name, 4);
    return 0;
}

static bool has_tag(const metallib_func *f, const char *name) {
    for (u32 i = 0; i < f->n_tags; i++)
        if (memcmp(f->tags[i], name, 4) == 0)
            return true;
    return false;
}

static tm_status read_function(lib_reader *r, cursor *list, metallib_func *f) {
    u64 start = list->at;
    u32 size = take_u32(list);
    if (list->bad || size < 8 || size - 4 > list->end - list->at)
        return damaged(r, "the function list is cut short", start);
    cursor c = {r->data, list->at, start + size, false};
    list->at = start + size;
    u64 offsets[4] = {0};
    bool reflected = false;
    tag t;
    int more;
    while ((more = next_tag(r, &c, &t)) > 0)
        TRY(read_func_tag(r, &t, f, offsets, &reflected));
    TRY(more);
    if (!f->name)
        return damaged(r, "a function has no name", start);
    if (!has_tag(f, "OFFT"))
        return damaged(r, "a function does not say where it lies", start);
    if (offsets[2] > r->bitcode_size || f->bitcode_len > r->bitcode_size - offsets[2])
        return damaged(r, "a function's bitcode lies outside its section", start);
    f->bitcode = r->data + r->bitcode_at + offsets[2];
    TRY(read_public(r, offsets[0], f));
    return reflected ? read_reflection(r, offsets[3], f) : 0;
}

static tm_status blob(lib_reader *r, const tag *t, const u8 **out, u64 *len) {
    cursor c = t->body, where;
    u64 at = take_u64(&c), size = take_u64(&c);
    TRY(c.bad ? damaged(r, "the header extension is cut short", c.at) : 0);
    TRY(section(r, at, size, &where));
    *out = r->data + at;
    *len = size;
    return 0;
}

static tm_status read_extension(lib_reader *r, cursor c) {
    metallib *lib = r->lib;
    tag t;
    int more;
    while ((more = next_tag(r, &c, &t)) > 0) {
        const u8 *at;
        if (tag_is(&t, "RLST")) {
            lib->ld_style = true;
            TRY(blob(r, &t, &at, &r->reflection_size));
            r->reflection_at = (u64)(at - r->data);
        } else if (tag_is(&t, "UUID")) {
            lib->has_uuid = true;
            memcpy(lib->uuid, take(&t.body, 16), 16);
        } else if (tag_is(&t, "HDYN")) {
            TRY(blob(r, &t, &lib->hdyn, &lib->hdyn_len));
        } else if (tag_is(&t, "HSRP")) {
            TRY(blob(r, &t, &lib->hsrp, &lib->hsrp_len));
        }
    }
    return more;
}

static tm_status read_header(lib_reader *r, cursor *list, cursor *extension) {
    metallib *lib = r->lib;
    if (r->len < METALLIB_HEADER || memcmp(r->data, "MTLB", 4) != 0)
        return diag_at(r->ctx, NULL, TM4101, "the magic number is missing");
    cursor c = {r->data, 4, METALLIB_HEADER, false};
    for (u32 i = 0; i < 3; i++)
        lib->version[i] = take_u16(&c);
    lib->file_type = *take(&c, 1);
    lib->platform = *take(&c, 1);
    lib->os_major = take_u16(&c);
    lib->os_minor = *take(&c, 1);
    lib->os_patch = *take(&c, 1);
    if (take_u64(&c) != r->len)
        return diag_at(r->ctx, NULL, TM4101, "the file is longer or shorter than it says");
    u64 list_at = take_u64(&c), list_size = take_u64(&c);
    r->public_at = take_u64(&c);
    r->public_size = take_u64(&c);
    take_u64(&c); /* private metadata: of debug builds only */
    take_u64(&c);
    r->bitcode_at = take_u64(&c);
    r->bitcode_size = take_u64(&c);
    cursor bitcode;
    TRY(section(r, r->bitcode_at, r->bitcode_size, &bitcode));
    /* The list's size leaves out the count that begins it. */
    if (list_size > r->len || list_at > r->len)
        return damaged(r, "a section lies outside the file", list_at);
    TRY(section(r, list_at, list_size + 4, list));
    return section(r, list->end, r->len - list->end, extension);
}

metallib *metallib_read(tm_ctx *ctx, const u8 *data, size_t len) {
    lib_reader r = {.ctx = ctx, .data = data, .len = len, .constants_left = len,
                    .lib = ARENA_NEW(ctx->arena, metallib)};
    cursor list = {0}, extension = {0};
    if (read_header(&r, &list, &extension) || read_extension(&r, extension))
        return NULL;
    u32 n = take_u32(&list);
    if (n > (list.end - list.at) / 8) {
        damaged(&r, "the function list is cut short", list.at);
        return NULL;
    }
    r.lib->funcs = ARENA_ARRAY(ctx->arena, metallib_func, n);
    for (; r.lib->n_funcs < n; r.lib->n_funcs++)
        if (read_function(&r, &list, &r.lib->funcs[r.lib->n_funcs]))
            return NULL;
    return r.lib;
}

tm_status metallib_check_hash(tm_ctx *ctx, const metallib_func *f) {
    u8 hash[32];
    air_sha256(f->bitcode, f->bitcode_len, hash);
    return memcmp(hash, f->hash, 32) == 0 ? 0 : diag_at(ctx, NULL, TM4103, f->name);
}
