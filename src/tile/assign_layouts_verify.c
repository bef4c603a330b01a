/* SPDX-License-Identifier: MIT */
/* Checks the invariants of tile IR with layouts for every op: each tensor has a canonical layout of
 * its own shape that covers it, and operands and results of each op hang together by its rules. */
#include "tile/assign_layouts.h"

typedef struct check {
    ir_module *m;
    bool failed;
} check;

static void fail(check *c, const ir_op *op, const char *what) {
    c->failed = true;
    ir_error(c->m, op, TM2103, what);
}

static void check_value(check *c, const ir_op *op, const ir_value *v) {
    const layout *l = layout_of(v);
    if (!is_tensor(v))
        return;
    if (!l) {
        fail(c, op, "a tensor has no layout");
        return;
    }
    layout canonical = layout_canonical(l);
    bool shaped = l->rank == v->type->rank;
    for (u32 d = 0; shaped && d < l->rank; d++)
        shaped = (i64)1 << l->dim_bits[d] == v->type->shape[d];
    if (!shaped)
        fail(c, op, "a layout has another shape than its tensor");
    else if (!layout_covers(l))
        fail(c, op, "a layout leaves out elements");
    else if (!layout_equal(&canonical, l))
        fail(c, op, "a layout holds an element twice in one thread");
}

static bool same(const ir_value *a, const ir_value *b) {
    const layout *x = layout_of(a), *y = layout_of(b);
    return x && y && layout_equal(x, y);
}

/* The op's layout: result 0's, or operand `at` of the ops whose operand decides. */
static const layout *layout_of_op(const ir_op *op) {
    const ir_value *v = rules_has_side(op) ? ir_operand(op, 0)
                        : op->n_results    ? ir_result(op, 0)
                                           : NULL;
    return v ? layout_of(v) : NULL;
}

static void check_operands(check *c, const ir_op *op, const layout *l) {
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_value *v = ir_operand(op, i), *to = carried_value(op, i);
        layout need;
        if (!is_tensor(v) || op->code == IR_ttg_convert_layout)
            continue;
        if (to && !same(v, to))
            fail(c, op, "a carried tensor changes its layout");
        if (!to && l && rules_operand(op, i, l, &need) && layout_of(v) &&
            !layout_equal(&need, layout_of(v)))
            fail(c, op, "the layouts of operand and result do not fit");
    }
}

static void check_results(check *c, const ir_op *op, const layout *l) {
    for (u32 i = 0; i < op->n_results; i++) {
        const ir_value *v = ir_result(op, i);
        layout want = rules_result(op, i, l);
        if (is_tensor(v) && layout_of(v) && !layout_equal(&want, layout_of(v)))
            fail(c, op, "the layouts of results do not fit");
    }
}

static void check_args(check *c, const ir_op *op) {
    for (u32 r = 0; r < op->n_regions; r++)
        for (const ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                check_value(c, op, b->args[i]);
    if (op->code == IR_scf_for)
        for (u32 i = 0; i < op->n_results; i++)
            if (is_tensor(ir_result(op, i)) &&
                !same(ir_result(op, i), op->regions[0].first->args[i + 1]))
                fail(c, op, "a carried tensor changes its layout");
    if (op->code == IR_scf_while)
        for (u32 i = 0; i < op->n_results; i++)
            if (is_tensor(ir_result(op, i)) &&
                !same(ir_result(op, i), op->regions[1].first->args[i]))
                fail(c, op, "a carried tensor changes its layout");
}

static void check_op(ir_op *op, void *data) {
    check *c = data;
    for (u32 i = 0; i < op->n_results; i++)
        check_value(c, op, ir_result(op, i));
    check_args(c, op);
    const layout *l = op->n_regions && !rules_has_side(op) ? NULL : layout_of_op(op);
    if (l && !rules_allow(op, l))
        fail(c, op, "the op cannot run in its layout");
    check_operands(c, op, l);
    if (l)
        check_results(c, op, l);
}

tm_status layouts_verify(ir_module *m) {
    check c = {.m = m};
    ir_walk(m->op, check_op, &c);
    return c.failed ? -1 : 0;
}
