/* SPDX-License-Identifier: MIT */
/* Loop-invariant code motion: pure ops whose operands come from outside leave the loop, innermost
 * loops first, so that an op climbs as far as its operands allow. Nothing here can trap on Apple GPUs
 * (integer division by zero gives some value), so running an op that might not have run is safe. */
#include "base/vec.h"
#include "tile/edit.h"
#include "tile/tile.h"

typedef struct loops {
    arena *a;
    VEC(ir_op *) at; /* parents first */
} loops;

static void collect(ir_op *op, void *data) {
    loops *l = data;
    if (op->code == IR_scf_for || op->code == IR_scf_while)
        VEC_PUSH(l->a, &l->at, op);
}

typedef struct check {
    const ir_op *loop, *op;
    bool invariant;
} check;

static void check_op(ir_op *nested, void *data) {
    check *c = data;
    for (u32 i = 0; i < nested->n_operands && c->invariant; i++) {
        const ir_value *v = ir_operand(nested, i);
        c->invariant = defined_outside(v, c->loop) || (nested != c->op && !defined_outside(v, c->op));
    }
}

static bool is_invariant(ir_op *op, const ir_op *loop) {
    if (!op_is_movable(op) || ir_has_trait(op, IR_CONVERGENT))
        return false;
    check c = {loop, op, true};
    if (op->n_regions)
        ir_walk(op, check_op, &c);
    else
        check_op(op, &c);
    return c.invariant;
}

static tm_status visit(pass_run *run, ir_module *m, ir_op *func) {
    loops l = {.a = run->scratch};
    ir_walk(func, collect, &l);
    for (u32 i = l.at.count; i-- > 0;) {
        ir_op *loop = l.at.at[i];
        for (u32 r = 0; r < loop->n_regions; r++) {
            if (!op_block(loop, r))
                continue;
            IR_FOR_EACH_OP_SAFE(op_block(loop, r), op) {
                if (is_invariant(op, loop))
                    ir_move_before(op, loop);
            }
        }
    }
    return 0;
}

static tm_status run_licm(pass_run *run, ir_module *m) { return for_each_func(run, m, visit); }

const pass_info pass_licm = {"licm", "pure ops with operands from outside leave loops", run_licm};
