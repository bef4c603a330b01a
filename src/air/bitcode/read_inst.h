/* SPDX-License-Identifier: MIT */
/* Operands of instruction records, for read_inst.c; see read_func.c. */
#pragma once
#include "air/bitcode/read.h"

enum { AIR_V_FORWARD = 0xFF }; /* a placeholder: v.id is the number that will be defined */

/* Each takes operands of the record at *at. NULL after a diagnostic. */
air_value *take_value(air_reader *r, u32 *at, air_type *type); /* relative number, type known */
air_value *take_pair(air_reader *r, u32 *at);                  /* type follows a forward number */
air_value *take_signed(air_reader *r, u32 *at, air_type *type); /* phi */
air_value *value_at(air_reader *r, u64 id, air_type *type);    /* absolute number */
air_block *block_at(air_reader *r, u64 id);
/* Appends to the current block and gives the result its number. NULL after a diagnostic. */
air_inst *add_inst(air_reader *r, enum air_op op, air_type *type, u32 n, air_value *const *ops);
/* As add_inst for an instruction that ends its block. */
air_inst *add_terminator(air_reader *r, enum air_op op, u32 n, air_value *const *ops, u32 n_blocks,
                         air_block *const *blocks);
