/* SPDX-License-Identifier: MIT */
/* The bitstream reader. All reads go through one window load that refuses to pass the end of the
 * current block; a block must end exactly where its header says. Memory per record is bounded by the
 * bits that encode it: arrays of elements without bits are refused. */
#include "air/bitcode/bitcode.h"

tm_status bit_fail(bit_reader *r, const char *what) {
    if (!r->failed)
        diag_at(r->ctx, NULL, TM4002, what, (unsigned long long)(r->at / 8));
    r->failed = true;
    return -1;
}

u64 bit_take(bit_reader *r, u32 width) {
    if (width > r->end - r->at) {
        bit_fail(r, "it ends in the middle of a number");
        return 0;
    }
    const u8 *p = r->data + r->at / 8;
    u64 window = 0;
    if (r->len - r->at / 8 >= 8)
        window = get_u64le(p);
    else
        for (u64 i = 0, left = r->len - r->at / 8; i < left; i++)
            window |= (u64)p[i] << (8 * i);
    window >>= r->at % 8;
    r->at += width;
    return width == 0 ? 0 : window & (~0ull >> (64 - width));
}

u64 bit_take_vbr(bit_reader *r, u32 width) {
    u64 high = 1ull << (width - 1), value = 0;
    for (u32 shift = 0;; shift += width - 1) {
        u64 piece = bit_take(r, width);
        u64 low = piece & (high - 1);
        if (shift < 64)
            value |= low << shift;
        if (!(piece & high))
            return value;
        if (shift >= 64 || r->failed) {
            bit_fail(r, "a number is longer than 64 bits");
            return 0;
        }
    }
}

static void push_op(bit_reader *r, u64 value) {
    if (r->n_ops == r->room)
        vec_grow(r->arena, (void **)&r->ops, &r->room, sizeof *r->ops);
    r->ops[r->n_ops++] = value;
}

static u64 take_scalar(bit_reader *r, const abbrev_op *op) {
    static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    switch (op->kind) {
    case ABBREV_LITERAL: return op->value;
    case ABBREV_FIXED: return bit_take(r, (u32)op->value);
    case ABBREV_VBR: return bit_take_vbr(r, (u32)op->value);
    case ABBREV_CHAR6: return (u8)char6[bit_take(r, 6)];
    }
    bit_fail(r, "an abbreviation nests arrays");
    return 0;
}

static void align32(bit_reader *r) {
    u64 at = (r->at + 31) & ~31ull;
    if (at > r->end)
        bit_fail(r, "it ends in the middle of a word");
    else
        r->at = at;
}

static void take_array(bit_reader *r, const abbrev_op *element) {
    u64 n = bit_take_vbr(r, 6);
    if (element->kind == ABBREV_LITERAL || n > r->end - r->at) {
        bit_fail(r, "an array is longer than its block");
        return;
    }
    for (u64 i = 0; i < n && !r->failed; i++)
        push_op(r, take_scalar(r, element));
}

static void take_blob(bit_reader *r) {
    u64 n = bit_take_vbr(r, 6);
    align32(r);
    if (r->failed)
        return;
    if (n > (r->end - r->at) / 8) {
        bit_fail(r, "a blob is longer than its block");
        return;
    }
    r->blob = r->data + r->at / 8;
    r->blob_len = n;
    r->at += n * 8;
    align32(r);
}

static tm_status take_abbreviated(bit_reader *r, u32 id) {
    const bit_scope *s = &r->scopes[r->depth - 1];
    u32 i = id - BC_FIRST_ABBREV;
    if (i >= s->n_shared + s->own.count)
        return bit_fail(r, "an abbreviation is used that was never defined");
    const abbrev *a = i < s->n_shared ? &s->shared[i] : &s->own.at[i - s->n_shared];
    r->n_ops = 0;
    r->blob = NULL;
    r->blob_len = 0;
    r->code = (u32)take_scalar(r, &a->ops[0]);
    for (u32 k = 1; k < a->n && !r->failed; k++) {
        if (a->ops[k].kind == ABBREV_ARRAY)
            take_array(r, &a->ops[++k]);
        else if (a->ops[k].kind == ABBREV_BLOB)
            take_blob(r);
        else
            push_op(r, take_scalar(r, &a->ops[k]));
    }
    return r->failed ? -1 : 0;
}

static tm_status take_unabbreviated(bit_reader *r) {
    r->n_ops = 0;
    r->blob = NULL;
    r->blob_len = 0;
    r->code = (u32)bit_take_vbr(r, 6);
    u64 n = bit_take_vbr(r, 6);
    if (n > (r->end - r->at) / 6)
        return bit_fail(r, "a record is longer than its block");
    for (u64 i = 0; i < n && !r->failed; i++)
        push_op(r, bit_take_vbr(r, 6));
    return r->failed ? -1 : 0;
}

/* An array must be the last but one operand, a blob the last; the record code must be a number. */
static bool abbrev_is_sound(const abbrev_op *ops, u32 n) {
    if (n == 0 || ops[0].kind == ABBREV_ARRAY || ops[0].kind == ABBREV_BLOB)
        return false;
    for (u32 i = 0; i < n; i++) {
        bool sized = ops[i].kind == ABBREV_FIXED || ops[i].kind == ABBREV_VBR;
        if (sized && (ops[i].value > 32 || (ops[i].kind == ABBREV_VBR && ops[i].value < 2)))
            return false;
        if (ops[i].kind == ABBREV_ARRAY && i + 2 != n)
            return false;
        if (ops[i].kind == ABBREV_BLOB && i + 1 != n)
            return false;
    }
    return n < 2 || ops[n - 2].kind != ABBREV_ARRAY ||
           (ops[n - 1].kind != ABBREV_BLOB && ops[n - 1].kind != ABBREV_LITERAL);
}

static tm_status take_definition(bit_reader *r, abbrev_list *into) {
    u64 n = bit_take_vbr(r, 5);
    if (r->failed || n > (r->end - r->at) / 2)
        return bit_fail(r, "an abbreviation is longer than its block");
    abbrev_op *ops = ARENA_ARRAY(r->arena, abbrev_op, n);
    for (u64 i = 0; i < n && !r->failed; i++) {
        if (bit_take(r, 1)) {
            ops[i].value = bit_take_vbr(r, 8);
            continue;
        }
        ops[i].kind = (u8)bit_take(r, 3);
        if (ops[i].kind == 0 || ops[i].kind > ABBREV_BLOB)
            return bit_fail(r, "an abbreviation has an unknown encoding");
        if (ops[i].kind == ABBREV_FIXED || ops[i].kind == ABBREV_VBR)
            ops[i].value = bit_take_vbr(r, 5);
        /* Numbers of no bits are zero. */
        if (ops[i].value == 0 && ops[i].kind <= ABBREV_VBR)
            ops[i].kind = ABBREV_LITERAL;
    }
    if (r->failed || !abbrev_is_sound(ops, (u32)n))
        return bit_fail(r, "an abbreviation makes no sense");
    VEC_PUSH(r->arena, into, ((abbrev){(u32)n, ops}));
    return 0;
}

tm_status bit_enter(bit_reader *r, u32 block) {
    if (r->depth == BC_MAX_NESTING)
        return bit_fail(r, "blocks nest too deep");
    u32 width = (u32)bit_take_vbr(r, 4);
    align32(r);
    u64 words = bit_take(r, 32);
    if (r->failed || width < 2 || width > 32 || words > (r->end - r->at) / 32)
        return bit_fail(r, "a block's header is wrong");
    bit_scope *s = &r->scopes[r->depth++];
    *s = (bit_scope){.end = r->end, .block = block, .width = width};
    if (block < BC_BLOCK_IDS) {
        s->shared = r->info[block].at;
        s->n_shared = r->info[block].count;
    }
    r->end = r->at + words * 32;
    return 0;
}

tm_status bit_skip(bit_reader *r) {
    bit_take_vbr(r, 4);
    align32(r);
    u64 words = bit_take(r, 32);
    if (r->failed || words > (r->end - r->at) / 32)
        return bit_fail(r, "a block is longer than the one around it");
    r->at += words * 32;
    return 0;
}

static enum bit_entry leave(bit_reader *r) {
    align32(r);
    if (r->failed || r->at != r->end) {
        bit_fail(r, "a block ends where it should not");
        return BIT_ERROR;
    }
    r->end = r->scopes[--r->depth].end;
    return BIT_END;
}

enum bit_entry bit_next(bit_reader *r, u32 *block) {
    for (;;) {
        bit_scope *s = &r->scopes[r->depth - 1];
        u32 id = (u32)bit_take(r, s->width);
        if (r->failed)
            return BIT_ERROR;
        switch (id) {
        case BC_END_BLOCK: return leave(r);
        case BC_ENTER_BLOCK:
            *block = (u32)bit_take_vbr(r, 8);
            return r->failed ? BIT_ERROR : BIT_BLOCK;
        case BC_DEFINE_ABBREV:
            if (s->block == BLOCK_INFO && r->info_block >= BC_BLOCK_IDS) {
                bit_fail(r, "a shared abbreviation belongs to no block");
                return BIT_ERROR;
            }
            if (take_definition(r, s->block == BLOCK_INFO ? &r->info[r->info_block] : &s->own))
                return BIT_ERROR;
            continue;
        case BC_UNABBREV: return take_unabbreviated(r) ? BIT_ERROR : BIT_RECORD;
        default: return take_abbreviated(r, id) ? BIT_ERROR : BIT_RECORD;
        }
    }
}

tm_status bit_read_blockinfo(bit_reader *r) {
    TRY(bit_enter(r, BLOCK_INFO));
    r->info_block = BC_BLOCK_IDS;
    for (u32 block = 0;;) {
        switch (bit_next(r, &block)) {
        case BIT_ERROR: return -1;
        case BIT_END: return 0;
        case BIT_BLOCK: TRY(bit_skip(r)); break;
        case BIT_RECORD:
            if (r->code == INFO_SETBID)
                r->info_block = r->n_ops && r->ops[0] < BC_BLOCK_IDS ? (u32)r->ops[0] : BC_BLOCK_IDS;
            break;
        }
    }
}
