/* SPDX-License-Identifier: MIT */
/* The bitstream under bitcode: blocks, records, abbreviations. The reader hands out one entry at a
 * time and checks every length against the block it is in; the writer is told records and encodes
 * them with an abbreviation when one is named. */
#pragma once
#include "air/air.h"

enum bc_block {
#define BLOCK(name, id) BLOCK_##name = id,
#include "air/bitcode/bitcode.def"
};
enum bc_record {
#define RECORD(block, name, code) block##_##name = code,
#include "air/bitcode/bitcode.def"
};
enum { BC_END_BLOCK, BC_ENTER_BLOCK, BC_DEFINE_ABBREV, BC_UNABBREV, BC_FIRST_ABBREV };
enum abbrev_kind { ABBREV_LITERAL, ABBREV_FIXED, ABBREV_VBR, ABBREV_ARRAY, ABBREV_CHAR6, ABBREV_BLOB };
#define BC_WRAPPER_MAGIC 0x0B17C0DEu
#define BC_RAW_MAGIC 0xDEC04342u

typedef struct abbrev_op {
    u8 kind; /* the numbers of the file format */
    u64 value;
} abbrev_op;
typedef struct abbrev {
    u32 n;
    const abbrev_op *ops;
} abbrev;
typedef VEC(abbrev) abbrev_list;

/* ---- Reading ---------------------------------------------------------------------------------- */
typedef struct bit_scope {
    u64 end;   /* bit position behind the block */
    u32 block, width;
    const abbrev *shared; /* from BLOCKINFO, as known on entry */
    u32 n_shared;
    abbrev_list own;
} bit_scope;

enum { BC_MAX_NESTING = 16, BC_BLOCK_IDS = 64 };
typedef struct bit_reader {
    const u8 *data;
    u64 len, at, end; /* bytes; bit positions */
    tm_ctx *ctx;
    arena *arena;
    bool failed;
    u32 depth, info_block;
    bit_scope scopes[BC_MAX_NESTING];
    abbrev_list info[BC_BLOCK_IDS];
    /* the current record */
    u32 code;
    u64 *ops;
    u32 n_ops, room;
    const u8 *blob; /* NULL when the record has none */
    u64 blob_len;
} bit_reader;

enum bit_entry { BIT_ERROR, BIT_END, BIT_BLOCK, BIT_RECORD };
/* Next entry of the current block; *block gets the id of a sub-block that starts. Definitions of
 * abbreviations are taken in silently. */
enum bit_entry bit_next(bit_reader *r, u32 *block);
tm_status bit_enter(bit_reader *r, u32 block);
tm_status bit_skip(bit_reader *r);
tm_status bit_fail(bit_reader *r, const char *what);
/* Number of a fixed width, 0 past the end (which marks the reader failed). */
u64 bit_take(bit_reader *r, u32 width);
u64 bit_take_vbr(bit_reader *r, u32 width);
tm_status bit_read_blockinfo(bit_reader *r);

/* ---- Writing ---------------------------------------------------------------------------------- */
typedef struct bit_writer {
    text *out;
    size_t base; /* offset of the raw magic in out */
    u64 pending;
    u32 n_pending, width, depth;
    arena *arena;
    struct {
        size_t size_at;
        u32 width, block;
        abbrev_list own;
    } scopes[BC_MAX_NESTING];
    abbrev_list info[BC_BLOCK_IDS];
} bit_writer;

void bit_emit(bit_writer *w, u64 value, u32 width);
void bit_emit_vbr(bit_writer *w, u64 value, u32 width);
u64 bit_position(const bit_writer *w); /* from the magic */
void bit_begin(bit_writer *w, u32 block, u32 width);
void bit_finish(bit_writer *w);
/* Both return the number to name the abbreviation by. */
u32 bit_define(bit_writer *w, u32 n, const abbrev_op *ops);
u32 bit_define_info(bit_writer *w, u32 block, u32 n, const abbrev_op *ops);
void bit_record(bit_writer *w, u32 abbrev_id, u32 code, u32 n, const u64 *ops);
void bit_record_blob(bit_writer *w, u32 abbrev_id, u32 code, u32 n, const u64 *ops,
                     const void *blob, size_t len);
void bit_record_chars(bit_writer *w, u32 abbrev_id, u32 code, const char *s, size_t len);
/* Overwrites 32 bits, which must have been written out, at a bit position that need not be on a byte.
 * Bits of the unfinished word are patched where they wait. */
void bit_patch32(bit_writer *w, u64 at, u32 value);
