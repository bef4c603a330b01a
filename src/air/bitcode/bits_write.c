/* SPDX-License-Identifier: MIT */
/* The bitstream writer: bits collect in a 64-bit word and leave as bytes; a block's length is patched
 * in when it ends. A record either names an abbreviation, which must fit its operands, or is written
 * plain. */
#include "air/bitcode/bitcode.h"

void bit_emit(bit_writer *w, u64 value, u32 width) {
    TM_ASSERT(width <= 32 && (width == 0 || value >> width == 0));
    w->pending |= value << w->n_pending;
    w->n_pending += width;
    if (w->n_pending >= 32) {
        text_u32le(w->out, (u32)w->pending);
        w->pending >>= 32;
        w->n_pending -= 32;
    }
}

void bit_emit_vbr(bit_writer *w, u64 value, u32 width) {
    u64 high = 1ull << (width - 1);
    for (; value >= high; value >>= width - 1)
        bit_emit(w, (value & (high - 1)) | high, width);
    bit_emit(w, value, width);
}

u64 bit_position(const bit_writer *w) { return (w->out->len - w->base) * 8 + w->n_pending; }

static void align32(bit_writer *w) {
    if (w->n_pending)
        bit_emit(w, 0, 32 - w->n_pending);
}

void bit_begin(bit_writer *w, u32 block, u32 width) {
    TM_ASSERT(w->depth < BC_MAX_NESTING);
    bit_emit(w, BC_ENTER_BLOCK, w->width);
    bit_emit_vbr(w, block, 8);
    bit_emit_vbr(w, width, 4);
    align32(w);
    w->scopes[w->depth].size_at = w->out->len;
    w->scopes[w->depth].width = w->width;
    w->scopes[w->depth].block = block;
    w->scopes[w->depth].own = (abbrev_list){0};
    w->depth++;
    text_u32le(w->out, 0);
    w->width = width;
}

void bit_finish(bit_writer *w) {
    bit_emit(w, BC_END_BLOCK, w->width);
    align32(w);
    w->depth--;
    size_t at = w->scopes[w->depth].size_at;
    text_patch_u32le(w->out, at, (u32)((w->out->len - at - 4) / 4));
    w->width = w->scopes[w->depth].width;
}

static void emit_definition(bit_writer *w, u32 n, const abbrev_op *ops) {
    bit_emit(w, BC_DEFINE_ABBREV, w->width);
    bit_emit_vbr(w, n, 5);
    for (u32 i = 0; i < n; i++) {
        bit_emit(w, ops[i].kind == ABBREV_LITERAL, 1);
        if (ops[i].kind == ABBREV_LITERAL) {
            bit_emit_vbr(w, ops[i].value, 8);
            continue;
        }
        bit_emit(w, ops[i].kind, 3);
        if (ops[i].kind <= ABBREV_VBR)
            bit_emit_vbr(w, ops[i].value, 5);
    }
}

u32 bit_define(bit_writer *w, u32 n, const abbrev_op *ops) {
    emit_definition(w, n, ops);
    u32 block = w->scopes[w->depth - 1].block;
    abbrev_list *own = &w->scopes[w->depth - 1].own;
    VEC_PUSH(w->arena, own, ((abbrev){n, arena_dup(w->arena, ops, n * sizeof *ops)}));
    return BC_FIRST_ABBREV + w->info[block].count + own->count - 1;
}

u32 bit_define_info(bit_writer *w, u32 block, u32 n, const abbrev_op *ops) {
    emit_definition(w, n, ops);
    VEC_PUSH(w->arena, &w->info[block], ((abbrev){n, arena_dup(w->arena, ops, n * sizeof *ops)}));
    return BC_FIRST_ABBREV + w->info[block].count - 1;
}

static const abbrev *find_abbrev(const bit_writer *w, u32 id) {
    const abbrev_list *info = &w->info[w->scopes[w->depth - 1].block];
    u32 i = id - BC_FIRST_ABBREV;
    return i < info->count ? &info->at[i] : &w->scopes[w->depth - 1].own.at[i - info->count];
}

static u32 char6(u8 c) {
    return c >= 'a' && c <= 'z'   ? c - 'a' + 0u
           : c >= 'A' && c <= 'Z' ? c - 'A' + 26u
           : c >= '0' && c <= '9' ? c - '0' + 52u
                                  : c == '.' ? 62 : 63;
}

static void emit_scalar(bit_writer *w, const abbrev_op *op, u64 value) {
    if (op->kind == ABBREV_FIXED)
        bit_emit(w, value, (u32)op->value);
    else if (op->kind == ABBREV_VBR)
        bit_emit_vbr(w, value, (u32)op->value);
    else if (op->kind == ABBREV_CHAR6)
        bit_emit(w, char6((u8)value), 6);
    else
        TM_ASSERT(op->value == value);
}

static void emit_blob(bit_writer *w, const void *blob, size_t len) {
    bit_emit_vbr(w, len, 6);
    align32(w);
    text_add(w->out, blob, len);
    while ((w->out->len - w->base) % 4)
        text_u8(w->out, 0);
}

void bit_record_blob(bit_writer *w, u32 abbrev_id, u32 code, u32 n, const u64 *ops,
                     const void *blob, size_t len) {
    bit_emit(w, abbrev_id, w->width);
    if (abbrev_id == BC_UNABBREV) {
        bit_emit_vbr(w, code, 6);
        bit_emit_vbr(w, n, 6);
        for (u32 i = 0; i < n; i++)
            bit_emit_vbr(w, ops[i], 6);
        return;
    }
    const abbrev *a = find_abbrev(w, abbrev_id);
    emit_scalar(w, &a->ops[0], code);
    u32 next = 0;
    for (u32 k = 1; k < a->n; k++) {
        if (a->ops[k].kind == ABBREV_BLOB) {
            emit_blob(w, blob, len);
        } else if (a->ops[k].kind == ABBREV_ARRAY) {
            bit_emit_vbr(w, n - next, 6);
            k++;
            while (next < n)
                emit_scalar(w, &a->ops[k], ops[next++]);
        } else {
            emit_scalar(w, &a->ops[k], ops[next++]);
        }
    }
    TM_ASSERT(next == n);
}

void bit_record(bit_writer *w, u32 abbrev_id, u32 code, u32 n, const u64 *ops) {
    bit_record_blob(w, abbrev_id, code, n, ops, NULL, 0);
}

void bit_record_chars(bit_writer *w, u32 abbrev_id, u32 code, const char *s, size_t len) {
    arena_mark mark = arena_save(w->arena);
    u64 *ops = arena_alloc(w->arena, len * sizeof *ops);
    for (size_t i = 0; i < len; i++)
        ops[i] = (u8)s[i];
    bit_record(w, abbrev_id, code, (u32)len, ops);
    arena_rewind(w->arena, mark);
}

void bit_patch32(bit_writer *w, u64 at, u32 value) {
    u64 written = (w->out->len - w->base) * 8;
    for (u32 i = 0; i < 32; i++, at++) {
        u64 bit = value >> i & 1;
        if (at >= written) {
            w->pending = (w->pending & ~(1ull << (at - written))) | bit << (at - written);
            continue;
        }
        u8 *p = (u8 *)w->out->at + w->base + at / 8;
        *p = (u8)((*p & ~(1u << at % 8)) | bit << at % 8);
    }
}
