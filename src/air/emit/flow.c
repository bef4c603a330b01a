/* SPDX-License-Identifier: MIT */
/* Structured control flow to blocks and phis. Blocks are made in the order they run; a branch to a
 * block that does not exist yet is written once it does. A for loop is rotated: one test before it
 * (none when the bounds are constants that enter), one at its end, so that an iteration is one block
 * unless its body branches. Its results are phis behind it only where the test before it can fail. */
#include "air/emit/emit_in.h"

enum { MAX_DEPTH = 200 };

static const src_loc *location(emit *e, const ir_loc *loc) {
    if (!loc)
        return NULL;
    void **known = map_put(e->locs, MAP_KEY(loc));
    if (!*known) {
        src_loc *l = ARENA_NEW(e->m->arena, src_loc);
        *l = ir_loc_source(e->ir, loc);
        *known = l;
    }
    return *known;
}

tm_status emit_block(emit *e, ir_block *b) {
    IR_FOR_EACH_OP(b, op) {
        if (ir_has_trait(op, IR_TERMINATOR))
            return 0;
        e->op = op;
        e->loc = location(e, op->loc);
        TRY(op->n_regions ? emit_flow(e, op) : emit_op(e, op));
    }
    return 0;
}

static void yielded(emit *e, const ir_block *b, air_value **out) {
    const ir_op *last = b->last;
    for (u32 i = 0; last && i < last->n_operands; i++)
        out[i] = emit_operand(e, last, i);
}

/* Results of op as phis of two incoming edges, at the head of the current block. */
static void merge(emit *e, ir_op *op, air_value **a, air_block *from_a, air_value **b,
                  air_block *from_b) {
    air_block *from[] = {from_a, from_b};
    for (u32 i = 0; i < op->n_results; i++) {
        air_value *values[] = {a[i], b[i]};
        e->values[ir_result(op, i)->mark] =
            a[i] == b[i] ? a[i] : emit_phi(e, e->block, a[i]->type, 2, values, from);
    }
}

/* Does the region only pass values on? */
static bool is_empty(const ir_region *r) { return !r->first || r->first->first == r->first->last; }

/* Neither side computes anything: the results are choices. */
static void choose(emit *e, ir_op *op, air_value *c, air_value **a, air_value **b) {
    for (u32 i = 0; i < op->n_results; i++)
        e->values[ir_result(op, i)->mark] = emit_select(e, c, a[i], b[i]);
}

/* An empty side is an edge of the branch, not a block. */
static tm_status emit_if(emit *e, ir_op *op) {
    air_value *c = emit_operand(e, op, 0);
    air_block *head = e->block, *ends[2] = {head, head}, *starts[2] = {NULL, NULL};
    air_value **results[2];
    for (u32 r = 0; r < 2; r++) {
        ir_block *b = op->regions[r].first;
        results[r] = ARENA_ARRAY(e->a, air_value *, op->n_results + 1u);
        if (!is_empty(&op->regions[r])) {
            starts[r] = e->block = air_block_new(e->func);
            TRY(emit_block(e, b));
        }
        if (b)
            yielded(e, b, results[r]);
        ends[r] = e->block;
        e->block = head;
    }
    e->loc = location(e, op->loc);
    if (!starts[0] && !starts[1]) {
        choose(e, op, c, results[0], results[1]);
        return 0;
    }
    air_block *after = air_block_new(e->func);
    emit_cond_br(e, c, starts[0] ? starts[0] : after, starts[1] ? starts[1] : after);
    for (u32 r = 0; r < 2; r++) {
        e->block = ends[r];
        if (starts[r])
            emit_br(e, after);
    }
    e->block = after;
    merge(e, op, results[0], ends[0], results[1], ends[1]);
    return 0;
}

/* Does the loop run at least once? 1 yes, 0 no, -1 unknown. */
static int enters(const ir_op *op) {
    i64 lo, hi;
    if (!ir_constant_bits(ir_operand(op, 0), &lo) || !ir_constant_bits(ir_operand(op, 1), &hi))
        return -1;
    return ir_attr_get(op, "unsignedCmp") ? (u64)lo < (u64)hi : lo < hi;
}

static tm_status emit_for(emit *e, ir_op *op) {
    ir_block *body = op->regions[0].first;
    u32 n = op->n_results;
    int enter = enters(op);
    air_value **init = ARENA_ARRAY(e->a, air_value *, n + 1u);
    air_value **next = ARENA_ARRAY(e->a, air_value *, n + 1u);
    for (u32 i = 0; i < n; i++)
        e->values[ir_result(op, i)->mark] = init[i] = emit_operand(e, op, 3 + i);
    if (enter == 0)
        return 0;
    air_value *lo = emit_operand(e, op, 0), *hi = emit_operand(e, op, 1);
    air_value *step = emit_operand(e, op, 2);
    bool is_unsigned = ir_attr_get(op, "unsignedCmp") != NULL;
    u32 less = is_unsigned ? 36 : 40; /* ult, slt */
    air_block *head = e->block;
    air_value *guard = enter == 1 ? NULL : emit_cmp(e, less, lo, hi);
    air_block *loop = e->block = air_block_new(e->func);
    air_value **phis = ARENA_ARRAY(e->a, air_value *, n + 1u);
    air_block *from[] = {head, head};
    for (u32 i = 0; i <= n; i++) {
        air_value *start = i ? init[i - 1] : lo, *both[] = {start, start};
        phis[i] = emit_phi(e, loop, start->type, 2, both, from);
        e->values[body->args[i]->mark] = phis[i];
    }
    TRY(emit_block(e, body));
    e->loc = location(e, op->loc);
    yielded(e, body, next);
    air_value *i_next = emit_bin(e, AIR_ADD, phis[0], step);
    air_value *again = emit_cmp(e, less, i_next, hi);
    air_block *latch = e->block;
    emit_phi_set(e, phis[0], 1, i_next, latch);
    for (u32 i = 0; i < n; i++)
        emit_phi_set(e, phis[i + 1], 1, next[i], latch);
    air_block *after = air_block_new(e->func);
    emit_cond_br(e, again, loop, after);
    e->block = head;
    if (guard)
        emit_cond_br(e, guard, loop, after);
    else
        emit_br(e, loop);
    e->block = after;
    if (guard)
        merge(e, op, init, head, next, latch);
    else
        for (u32 i = 0; i < n; i++)
            e->values[ir_result(op, i)->mark] = next[i];
    return 0;
}

static tm_status emit_while(emit *e, ir_op *op) {
    ir_block *before = op->regions[0].first, *after = op->regions[1].first;
    u32 n = op->n_operands;
    air_value **phis = ARENA_ARRAY(e->a, air_value *, n + 1u);
    air_value **next = ARENA_ARRAY(e->a, air_value *, n + 1u);
    air_block *head = e->block, *test = air_block_new(e->func), *from[] = {head, head};
    emit_br(e, test);
    e->block = test;
    for (u32 i = 0; i < n; i++) {
        air_value *init = emit_operand(e, op, i), *both[] = {init, init};
        phis[i] = emit_phi(e, test, init->type, 2, both, from);
        e->values[before->args[i]->mark] = phis[i];
    }
    TRY(emit_block(e, before));
    ir_op *condition = before->last;
    air_block *decide = e->block, *body = e->block = air_block_new(e->func);
    for (u32 i = 1; i < condition->n_operands; i++) {
        air_value *v = emit_operand(e, condition, i);
        e->values[after->args[i - 1]->mark] = v;
        e->values[ir_result(op, i - 1)->mark] = v;
    }
    TRY(emit_block(e, after));
    yielded(e, after, next);
    e->loc = location(e, op->loc);
    emit_br(e, test);
    for (u32 i = 0; i < n; i++)
        emit_phi_set(e, phis[i], 1, next[i], e->block);
    air_block *exit = air_block_new(e->func);
    e->block = decide;
    emit_cond_br(e, emit_operand(e, condition, 0), body, exit);
    e->block = exit;
    return 0;
}

tm_status emit_flow(emit *e, ir_op *op) {
    tm_status status;
    if (e->depth >= MAX_DEPTH) {
        emit_refuse(e, TM4305, "control flow");
        return -1;
    }
    e->depth++;
    switch (op->code) {
    case IR_scf_for: status = emit_for(e, op); break;
    case IR_scf_if: status = emit_if(e, op); break;
    case IR_scf_while: status = emit_while(e, op); break;
    default:
        emit_refuse(e, TM4301, ir_ops[op->code].name);
        status = -1;
    }
    e->depth--;
    return status;
}
