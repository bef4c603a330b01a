/* SPDX-License-Identifier: MIT */
/* Edits that several tile passes share: the functions of a module, regions that change owners, and
 * the positions of values that structured control flow carries. */
#pragma once
#include "ir/pass.h"

/* Runs `visit` on every tt.func of the module. */
typedef tm_status func_visit(pass_run *run, ir_module *m, ir_op *func);
tm_status for_each_func(pass_run *run, ir_module *m, func_visit *visit);

static inline ir_block *op_block(const ir_op *op, u32 region) { return op->regions[region].first; }
/* The terminator of the one block of a region; NULL when the region is empty. */
static inline ir_op *region_end(const ir_op *op, u32 region) {
    return op->regions[region].first ? op->regions[region].first->last : NULL;
}

/* Moves all blocks of `from` to the end of `to`. */
void region_take(ir_region *to, ir_region *from);
/* Copies the attributes of `from`; hints about values (tt.divisibility and its like) only on demand. */
void attrs_copy(ir_module *m, ir_op *to, const ir_op *from, bool hints);
bool attr_is_hint(const char *name);
bool has_hints(const ir_op *op);

/* Takes results, operands and block arguments out where drop[i] is set. What goes must be unused. */
void drop_results(ir_op *op, const bool *drop);
void drop_operands(ir_module *m, ir_op *op, u32 first, const bool *drop);
void drop_args(ir_block *b, u32 first, const bool *drop);

/* Defined outside op and its regions? */
bool defined_outside(const ir_value *v, const ir_op *op);
/* May move to another place or merge with an equal op: depends on its operands only. */
bool op_is_movable(const ir_op *op);
/* May go when its results are unused. */
bool op_is_removable(const ir_op *op);

/* dce.c: removes what no effect depends on; tells whether scf ops lost carried values or results. */
bool dce_func(ir_module *m, ir_op *func, arena *scratch);
/* structure.c: one block per region afterwards. */
tm_status structure_func(pass_run *run, ir_module *m, ir_op *func);
