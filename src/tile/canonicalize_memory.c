/* SPDX-License-Identifier: MIT */
/* Pointers and masks: steps of zero vanish, constant steps add up, masks that are always true go, and
 * accesses that never happen go. */
#include "tile/canonicalize.h"
#include "tile/fold.h"

static bool canon_addptr(canon *c, ir_op *op) {
    ir_value *p = ir_operand(op, 0), *offset = ir_operand(op, 1);
    i64 a, b, sum;
    if (!is_const(offset, &b) || has_hints(op))
        return false;
    if (b == 0 && p->type == ir_result(op, 0)->type)
        return canon_replace1(c, op, p);
    ir_op *inner = def_of(p, IR_tt_addptr);
    if (!inner || has_hints(inner) || ir_operand(inner, 1)->type != offset->type ||
        !is_const(ir_operand(inner, 1), &a) || __builtin_add_overflow(a, b, &sum) ||
        fold_wrap(sum, ir_elem(offset->type)->width) != sum)
        return false;
    canon_set(c, op, 1, canon_const(c, offset->type, sum));
    canon_set(c, op, 0, ir_operand(inner, 0));
    return true;
}

/* Zero, for what a load gives where its mask is false and no other value is named. */
static ir_value *nothing(canon *c, const ir_type *t) {
    const ir_type *e = ir_elem(t);
    return e->kind == IR_INT || e->kind == IR_FLOAT ? canon_const(c, t, 0) : NULL;
}

static void keep_operands(canon *c, ir_op *op, u32 n) {
    ir_value *kept[3];
    for (u32 i = 0; i < op->n_operands; i++)
        if (i < n)
            kept[i] = ir_operand(op, i);
        else if (ir_operand(op, i)->op)
            canon_touch(c, ir_operand(op, i)->op);
    ir_set_operands(c->m, op, n, kept);
}

/* The mask is operand `at`, when there is one. */
static bool canon_mask(canon *c, ir_op *op, u32 at) {
    i64 k;
    if (op->n_operands <= at || ir_elem(ir_operand(op, at)->type)->width != 1 ||
        !is_const(ir_operand(op, at), &k))
        return false;
    if (k) {
        keep_operands(c, op, at);
        return true;
    }
    if (op->code == IR_tt_store || (op->n_results == 1 && !ir_has_uses(ir_result(op, 0)))) {
        canon_kill(c, op);
        return true;
    }
    if (op->code != IR_tt_load || ir_attr_get_int(op, "isVolatile", 0))
        return false;
    ir_value *v = op->n_operands > 2 ? ir_operand(op, 2) : nothing(c, ir_result(op, 0)->type);
    return v && canon_replace1(c, op, v);
}

/* A condition that is promised says nothing that is used here; a true assertion neither. */
static bool canon_promise(canon *c, ir_op *op) {
    if (op->code == IR_tt_assert && !is_const_value(ir_operand(op, 0), 1))
        return false;
    canon_kill(c, op);
    return true;
}

bool canon_memory(canon *c, ir_op *op) {
    switch (op->code) {
    case IR_tt_addptr: return canon_addptr(c, op);
    case IR_tt_load: return canon_mask(c, op, 1);
    case IR_tt_store: return canon_mask(c, op, 2);
    case IR_tt_atomic_rmw: return canon_mask(c, op, 2);
    case IR_tt_assert:
    case IR_llvm_assume: return canon_promise(c, op);
    default: return false;
    }
}
