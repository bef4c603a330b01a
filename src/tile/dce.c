/* SPDX-License-Identifier: MIT */
/* Dead code, by marking what lives: effects are the roots, and an op keeps alive its operands and the
 * ops around it. Values that structured control flow carries live position by position: a carried
 * value that only computes itself is never marked and goes, whatever the cycle's length. A store into
 * an allocation lives when something else lives that uses the allocation.
 * Marks: op->mark and value->mark are 1 when live. */
#include "base/vec.h"
#include "tile/edit.h"
#include "tile/tile.h"

typedef struct dce {
    arena *a;
    VEC(ir_value *) work;
    VEC(ir_op *) ops; /* all, parents first */
} dce;

static void mark_value(dce *d, ir_value *v) {
    if (v->mark)
        return;
    v->mark = 1;
    VEC_PUSH(d->a, &d->work, v);
}

static void mark_operands(dce *d, ir_op *op, u32 first, u32 end) {
    for (u32 i = first; i < end; i++)
        mark_value(d, ir_operand(op, i));
}

static void mark_terminators(dce *d, ir_op *op) {
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next) {
            ir_op *end = b->last;
            if (!end || end->mark || !ir_has_trait(end, IR_TERMINATOR))
                continue;
            end->mark = 1;
            if (end->code == IR_scf_condition)
                mark_operands(d, end, 0, 1);
            else if (end->code != IR_scf_yield)
                mark_operands(d, end, 0, end->n_operands);
        }
}

/* The operands that op needs whatever happens to the values it carries. */
static u32 control_operands(const ir_op *op) {
    switch (op->code) {
    case IR_scf_for: return 3;
    case IR_scf_if: return 1;
    case IR_scf_while:
    case IR_scf_yield: return 0;
    case IR_scf_condition: return 1;
    default: return op->n_operands;
    }
}

static void mark_op(dce *d, ir_op *op) {
    for (; op && !op->mark; op = ir_parent(op)) {
        op->mark = 1;
        mark_operands(d, op, 0, control_operands(op));
        mark_terminators(d, op);
    }
}

static void mark_yield(dce *d, ir_op *op, u32 region, u32 i) {
    ir_op *end = region_end(op, region);
    if (end && i < end->n_operands)
        mark_value(d, ir_operand(end, i));
}

static bool moves_pointer(const ir_op *op) {
    return op->code == IR_tt_addptr || op->code == IR_tt_bitcast;
}

/* All that is stored into a live allocation, through any chain of such ops. */
static void mark_stores(dce *d, ir_value *alloc) {
    VEC(ir_value *) pointers = {0};
    VEC_PUSH(d->a, &pointers, alloc);
    while (pointers.count) {
        ir_value *p = VEC_POP(&pointers);
        for (ir_use *u = p->uses; u; u = u->next) {
            if (u->owner->code == IR_tm_store)
                mark_op(d, u->owner);
            else if (moves_pointer(u->owner))
                VEC_PUSH(d->a, &pointers, ir_result(u->owner, 0));
        }
    }
}

static void live_result(dce *d, ir_value *v) {
    ir_op *op = v->op;
    mark_op(d, op);
    switch (op->code) {
    case IR_tm_tg_alloc: mark_stores(d, v); break;
    case IR_scf_for:
        mark_value(d, op_block(op, 0)->args[v->index + 1]);
        mark_value(d, ir_operand(op, v->index + 3));
        mark_yield(d, op, 0, v->index);
        break;
    case IR_scf_if:
        mark_yield(d, op, 0, v->index);
        mark_yield(d, op, 1, v->index);
        break;
    case IR_scf_while:
        mark_yield(d, op, 0, v->index + 1);
        mark_value(d, op_block(op, 1)->args[v->index]);
        break;
    default: break;
    }
}

static void live_argument(dce *d, ir_value *v) {
    ir_op *op = v->block->region->op;
    if (op->code == IR_scf_for && v->index > 0)
        mark_value(d, ir_result(op, v->index - 1));
    if (op->code != IR_scf_while)
        return;
    if (v->block == op_block(op, 0)) {
        mark_value(d, ir_operand(op, v->index));
        mark_yield(d, op, 1, v->index);
    } else {
        mark_value(d, ir_result(op, v->index));
    }
}

/* The allocation that a store writes to, reached by moves_pointer's ops alone; or NULL. */
static ir_op *stored_alloc(const ir_op *op) {
    if (op->code != IR_tm_store)
        return NULL;
    ir_op *def = ir_operand(op, 0)->op;
    while (def && moves_pointer(def))
        def = ir_operand(def, 0)->op;
    return def && def->code == IR_tm_tg_alloc ? def : NULL;
}

static bool is_root(const ir_op *op) {
    if (stored_alloc(op))
        return false;
    switch (op->code) {
    case IR_scf_for:
    case IR_scf_if:
    case IR_scf_while: return false;
    case IR_tt_return:
    case IR_cf_br:
    case IR_cf_cond_br: return true;
    default:
        if (ir_has_trait(op, IR_TERMINATOR))
            return false;
        return !op_is_removable(op);
    }
}

static void reset(ir_op *op, void *data) {
    dce *d = data;
    op->mark = 0;
    for (u32 i = 0; i < op->n_results; i++)
        op->results[i].mark = 0;
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                b->args[i]->mark = 0;
    VEC_PUSH(d->a, &d->ops, op);
}

static bool any(const bool *drop, u32 n) {
    for (u32 i = 0; i < n; i++)
        if (drop[i])
            return true;
    return false;
}

static bool *dead_values(dce *d, ir_value *const *args, u32 first, u32 n, const ir_op *op) {
    bool *drop = ARENA_ARRAY(d->a, bool, n + 1);
    for (u32 i = 0; i < n; i++)
        drop[i] = args ? !args[first + i]->mark : !op->results[i].mark;
    return drop;
}

/* Dead positions of one scf op. Operands go in a first round over all ops, arguments and results in a
 * second one, when nothing uses them any more. */
static bool drop_positions(dce *d, ir_module *m, ir_op *op, bool operands) {
    if (op->code != IR_scf_for && op->code != IR_scf_if && op->code != IR_scf_while)
        return false;
    u32 n = op->n_results, n_before = op->code == IR_scf_while ? op_block(op, 0)->n_args : 0;
    bool *drop = dead_values(d, NULL, 0, n, op);
    bool *before = n_before ? dead_values(d, op_block(op, 0)->args, 0, n_before, op) : NULL;
    if (!any(drop, n) && !any(before, n_before))
        return false;
    if (operands && op->code == IR_scf_while) {
        drop_operands(m, region_end(op, 0), 1, drop);
        if (n_before) {
            drop_operands(m, region_end(op, 1), 0, before);
            drop_operands(m, op, 0, before);
        }
    } else if (operands) {
        for (u32 r = 0; r < op->n_regions; r++)
            if (region_end(op, r))
                drop_operands(m, region_end(op, r), 0, drop);
        if (op->code == IR_scf_for)
            drop_operands(m, op, 3, drop);
    } else {
        if (op->code == IR_scf_for)
            drop_args(op_block(op, 0), 1, drop);
        if (op->code == IR_scf_while)
            drop_args(op_block(op, 1), 0, drop);
        if (n_before)
            drop_args(op_block(op, 0), 0, before);
        drop_results(op, drop);
    }
    return true;
}

static bool sweep(dce *d, ir_module *m) {
    bool dropped = false;
    for (u32 i = 0; i < d->ops.count; i++)
        if (!d->ops.at[i]->mark)
            ir_set_operands(m, d->ops.at[i], 0, NULL);
    for (u32 i = 0; i < d->ops.count; i++)
        if (d->ops.at[i]->mark)
            dropped |= drop_positions(d, m, d->ops.at[i], true);
    for (u32 i = 0; dropped && i < d->ops.count; i++)
        if (d->ops.at[i]->mark)
            drop_positions(d, m, d->ops.at[i], false);
    for (u32 i = 0; i < d->ops.count; i++) {
        ir_op *op = d->ops.at[i], *parent = ir_parent(op);
        if (!op->mark && parent && parent->mark)
            ir_erase(op);
    }
    return dropped;
}

bool dce_func(ir_module *m, ir_op *func, arena *scratch) {
    dce d = {.a = scratch};
    ir_walk(func, reset, &d);
    func->mark = 1;
    for (u32 i = 1; i < d.ops.count; i++)
        if (is_root(d.ops.at[i]))
            mark_op(&d, d.ops.at[i]);
    while (d.work.count) {
        ir_value *v = VEC_POP(&d.work);
        if (v->op)
            live_result(&d, v);
        else
            live_argument(&d, v);
    }
    return sweep(&d, m);
}

static tm_status visit(pass_run *run, ir_module *m, ir_op *func) {
    arena_mark mark = arena_save(run->scratch);
    dce_func(m, func, run->scratch);
    arena_rewind(run->scratch, mark);
    return 0;
}

static tm_status run_dce(pass_run *run, ir_module *m) { return for_each_func(run, m, visit); }

const pass_info pass_dce = {"dce", "removes ops and carried values that no effect depends on", run_dce};
