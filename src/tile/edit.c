/* SPDX-License-Identifier: MIT */
/* Edits that several tile passes share. Results, operands and block arguments are dropped in place:
 * later ones move up, so that an op keeps its identity while it loses positions. */
#include "tile/edit.h"

tm_status for_each_func(pass_run *run, ir_module *m, func_visit *visit) {
    IR_FOR_EACH_OP_SAFE(ir_module_body(m), op) {
        if (op->code == IR_tt_func && op->regions[0].first)
            TRY(visit(run, m, op));
    }
    return 0;
}

void region_take(ir_region *to, ir_region *from) {
    if (!from->first)
        return;
    for (ir_block *b = from->first; b; b = b->next)
        b->region = to;
    from->first->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = from->first;
    to->last = from->last;
    from->first = from->last = NULL;
}

bool attr_is_hint(const char *name) {
    return strncmp(name, "tt.", 3) == 0 &&
           (strncmp(name + 3, "divisibility", 12) == 0 || strncmp(name + 3, "contiguity", 10) == 0 ||
            strncmp(name + 3, "constancy", 9) == 0);
}

bool has_hints(const ir_op *op) {
    for (u32 i = 0; i < op->n_attrs; i++)
        if (attr_is_hint(op->attrs[i].name))
            return true;
    return false;
}

void attrs_copy(ir_module *m, ir_op *to, const ir_op *from, bool hints) {
    for (u32 i = 0; i < from->n_attrs; i++)
        if (hints || !attr_is_hint(from->attrs[i].name))
            ir_attr_set(m, to, from->attrs[i].name, from->attrs[i].value);
}

void drop_results(ir_op *op, const bool *drop) {
    u32 n = 0;
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *v = ir_result(op, i), *to = ir_result(op, n);
        if (drop[i])
            continue;
        if (to != v) {
            to->type = v->type;
            to->name = v->name;
            to->mark = v->mark;
            ir_replace_uses(v, to);
        }
        n++;
    }
    op->n_results = (u16)n;
}

/* The kept values slide to the front, in place; the list then shrinks. */
void drop_operands(ir_module *m, ir_op *op, u32 first, const bool *drop) {
    u32 n = first;
    for (u32 i = first; i < op->n_operands; i++) {
        if (drop[i - first])
            continue;
        if (n != i)
            ir_set_operand(op, n, ir_operand(op, i));
        n++;
    }
    if (n == op->n_operands)
        return;
    ir_value **kept = arena_alloc(m->arena, (n + 1) * sizeof *kept);
    for (u32 i = 0; i < n; i++)
        kept[i] = ir_operand(op, i);
    ir_set_operands(m, op, n, kept);
}

void drop_args(ir_block *b, u32 first, const bool *drop) {
    for (u32 i = b->n_args; i-- > first;)
        if (drop[i - first])
            ir_block_arg_erase(b, i);
}

bool defined_outside(const ir_value *v, const ir_op *op) {
    const ir_op *at = v->op ? v->op : v->block->region->op;
    return !ir_is_inside(at, op);
}

/* Threadgroup memory is an object of its own; two allocations are never the same one. */
bool op_is_movable(const ir_op *op) {
    return ir_has_trait(op, IR_PURE) && op->code != IR_tm_tg_alloc &&
           !(op->code == IR_tt_extern_elementwise && !ir_attr_get_int(op, "pure", 1));
}

bool op_is_removable(const ir_op *op) {
    if (op->n_results == 0 || ir_has_trait(op, IR_WRITES | IR_TERMINATOR))
        return false;
    if (ir_has_trait(op, IR_READS))
        return !ir_attr_get_int(op, "isVolatile", 0) && !ir_attr_get(op, "volatile");
    return true;
}
