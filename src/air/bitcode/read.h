/* SPDX-License-Identifier: MIT */
/* State of one run of the bitcode reader, shared by its files:
 *   read.c         blocks of the file and the module, globals, functions, names
 *   read_types.c   types and attributes
 *   read_consts.c  constants: collected first, built in order of dependence
 *   read_md.c      metadata: nodes made first, operands filled at the end of the block
 *   read_func.c    function bodies: operands, forward references, block structure
 *   read_inst.c    one handler per instruction record */
#pragma once
#include "air/bitcode/bitcode.h"
#include "air/pools.h"

typedef struct pending_init {
    air_global *global;
    u64 value;
} pending_init;

typedef struct air_reader {
    tm_ctx *ctx;
    air_module *m;
    arena *scratch;
    bit_reader bits;
    u64 budget; /* units of memory the file may still cause beyond its own size */
    const u8 *strtab;
    u64 strtab_len;
    VEC(air_type *) types;
    map *group_at; /* attribute group id -> position + 1 */
    VEC(air_value *) values;
    VEC(air_md *) mds;
    VEC(pending_init) inits;
    VEC(air_func *) bodies;
    u32 next_body;
    bool version_seen;
    /* the function being read */
    air_func *func;
    air_block **blocks;
    air_block *block; /* receives the next instruction */
    VEC(air_inst *) insts;
    VEC(air_inst *) forward; /* instructions with placeholder operands */
} air_reader;

tm_status bc_fail(air_reader *r, const char *what);
tm_status read_unsupported(air_reader *r, const char *block);
tm_status read_spend(air_reader *r, u64 units);
/* Types by number. NULL after a diagnostic. */
air_type *bc_type(air_reader *r, u64 id);
/* The record's operands from `from` on as text in the module's arena. */
const char *read_chars(air_reader *r, u32 from);
tm_status bc_need(air_reader *r, u32 n); /* the record has at least n operands */

tm_status read_type_block(air_reader *r);
tm_status read_attr_groups(air_reader *r);
tm_status read_attr_lists(air_reader *r);
tm_status read_constants(air_reader *r);
tm_status read_metadata(air_reader *r);
tm_status read_md_kinds(air_reader *r);
tm_status read_attachments(air_reader *r);
tm_status read_function_body(air_reader *r);
tm_status read_instruction(air_reader *r);

/* Walks the records of a block: body runs for each record, nested blocks run `nested`. */
#define FOR_RECORDS(r, sub)                                                                        \
    for (enum bit_entry entry_; (entry_ = bit_next(&(r)->bits, (sub))) != BIT_END;)                \
        if (entry_ == BIT_ERROR)                                                                   \
            return -1;                                                                             \
        else if (entry_ == BIT_BLOCK)                                                              \
            TRY(bit_skip(&(r)->bits));                                                             \
        else
