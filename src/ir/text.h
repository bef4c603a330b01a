/* SPDX-License-Identifier: MIT */
/* Text in and out. parse(print(m)) == m, and for upstream Triton's text print(parse(t)) equals what
 * upstream prints for its own parse of t. */
#pragma once
#include "base/text.h"
#include "ir/ir.h"

/* Parses a module. NULL on error, with diagnostics (10xx) that point into the text; `name` is the
 * file name they show. Bad input never crashes, hangs or recurses without bound. */
ir_module *ir_parse(tm_ctx *ctx, const char *text, size_t len, const char *name);

enum ir_print_flags { IR_PRINT_LOCS = 1, IR_PRINT_NAMES = 2 };
void ir_print_module(text *out, const ir_module *m, u32 flags);
void ir_print_op(text *out, const ir_module *m, const ir_op *op, u32 flags); /* with regions */
void ir_print_op_line(text *out, const ir_module *m, const ir_op *op);       /* first line only */
void ir_print_type(text *out, const ir_module *m, const ir_type *t);
void ir_print_attr(text *out, const ir_module *m, const ir_attr *a);
const char *ir_code_name(const ir_op *op);

/* Structure, arity, types, dominance, terminators, traits (11xx). 0 or -1 with diagnostics. */
tm_status ir_verify(ir_module *m);
