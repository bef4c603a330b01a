/* SPDX-License-Identifier: MIT */
/* Errors at an op: the place comes from its location, the op's own line of text goes along as a note. */
#include "ir/text.h"

tm_status ir_error(ir_module *m, const ir_op *op, enum diag_code code, ...) {
    src_loc at = ir_loc_source(m, op->loc);
    va_list args;
    va_start(args, code);
    diag_at_v(m->ctx, &at, code, args);
    va_end(args);
    text line = {0};
    ir_print_op_line(&line, m, op);
    diag_note(m->ctx, "%.*s", (int)MIN(line.len, (size_t)1000), line.at ? line.at : "");
    text_free(&line);
    return -1;
}
