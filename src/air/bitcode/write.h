/* SPDX-License-Identifier: MIT */
/* State of one run of the bitcode writer, shared by its files:
 *   write.c        blocks of the file and the module, symbol tables
 *   write_enum.c   numbers of values and metadata, in LLVM's order
 *   write_types.c  types and attributes
 *   write_consts.c constants and metadata
 *   write_func.c   function bodies */
#pragma once
#include "air/bitcode/bitcode.h"
#include "air/pools.h"

typedef struct value_slot {
    air_value *value;
    u32 uses;
} value_slot;

typedef struct md_slot {
    air_md *md;
    u32 func;  /* number + 1 of the only function that uses it, 0 = the module */
    u32 order; /* of first visit, 0 while its operands are being visited */
} md_slot;

typedef struct md_range {
    u32 first, count, strings; /* in md_order */
} md_range;

/* Abbreviations that BLOCKINFO defines, by use. */
enum info_abbrev {
    INFO_CONST_SETTYPE, INFO_CONST_INTEGER, INFO_CONST_CAST, INFO_CONST_NULL,
    INFO_LOAD, INFO_UNOP, INFO_UNOP_FLAGS, INFO_BINOP, INFO_BINOP_FLAGS, INFO_CAST,
    INFO_RET_VOID, INFO_RET_VALUE, INFO_UNREACHABLE, INFO_GEP,
    INFO_ABBREVS
};

typedef struct air_writer {
    const air_module *m;
    arena *scratch;
    bit_writer bits;
    text strtab;
    u32 type_bits;
    u32 info[INFO_ABBREVS];
    VEC(value_slot) values; /* the module's, then the current function's */
    u32 first_const;        /* module constants are [first_const, n_module_values) */
    u32 n_module_values, first_local_const, n_local_consts_end;
    VEC(md_slot) mds;
    VEC(air_md *) md_order;   /* in writing order; md->id is the number within its range */
    md_range module_mds, *func_mds; /* per function */
    u32 *name_at;             /* string table offsets: globals, then functions */
    VEC(u64) ops;             /* the record being built */
    u64 *func_word;           /* where each function's block begins, in words */
} air_writer;

/* Numbers. A number of a value or metadata is valid only in the function that is open. */
u32 write_value_id(const air_writer *w, const air_value *v);
u32 write_md_id(const air_writer *w, const air_md *md);
void write_enumerate(air_writer *w);
void write_open_function(air_writer *w, const air_func *f);
void write_close_function(air_writer *w);

void write_types(air_writer *w);
void write_attributes(air_writer *w);
void write_constants(air_writer *w, u32 from, u32 to, bool module_level);
void write_md_kinds(air_writer *w);
void write_module_metadata(air_writer *w);
void write_function_metadata(air_writer *w, u32 func);
void write_attachments(air_writer *w, const air_func *f);
void write_function(air_writer *w, u32 func);

#define PUT(w, value) VEC_PUSH((w)->scratch, &(w)->ops, (u64)(value))
/* Emits the record in w->ops and empties it. */
static inline void write_record(air_writer *w, u32 abbrev_id, u32 code) {
    bit_record(&w->bits, abbrev_id, code, w->ops.count, w->ops.at);
    w->ops.count = 0;
}
static inline u32 bits_for(u64 n) { return n <= 1 ? 0 : log2_u64(n - 1) + 1; } /* numbers < n */
