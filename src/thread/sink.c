/* SPDX-License-Identifier: MIT */
/* sink: loads of threadgroup memory move down to their first use within their block, so that fragments
 * are live for as short as possible; vector elements taken from them follow. A load never passes a
 * write to threadgroup memory, a barrier, or an op whose regions hold one, so no order that matters
 * changes. Ops that end at the same place keep their order. */
#include "thread/thread.h"

typedef struct place {
    ir_op *op;        /* at this position */
    ir_op *cluster;   /* first of the ops already moved before it */
    u32 limit;        /* position of the next op after it that writes threadgroup memory */
} place;

static bool writes_threadgroup(const ir_op *op) {
    switch (op->code) {
    case IR_tm_barrier: return true;
    case IR_tm_store:
    case IR_tm_matrix_store:
    case IR_tm_atomic_rmw:
    case IR_tm_atomic_cas: return ir_operand(op, 0)->type->space == IR_SPACE_THREADGROUP;
    default: return false;
    }
}

static void note_write(ir_op *op, void *data) {
    bool *found = data;
    *found |= writes_threadgroup(op);
}

static bool is_candidate(const ir_op *op) {
    if (op->code == IR_tm_vec_get)
        return true;
    return (op->code == IR_tm_load || op->code == IR_tm_matrix_load) &&
           ir_operand(op, 0)->type->space == IR_SPACE_THREADGROUP &&
           !ir_attr_get_int(op, "volatile", 0);
}

/* Position in block b of the op that holds the use. */
static u32 use_position(const ir_op *user, const ir_block *b) {
    while (user->block != b)
        user = ir_parent(user);
    return user->mark;
}

static u32 first_use(const ir_op *op) {
    u32 first = UINT32_MAX;
    for (const ir_use *u = ir_result(op, 0)->uses; u; u = u->next)
        first = MIN(first, use_position(u->owner, op->block));
    return first;
}

static void sink_block(arena *a, ir_block *b) {
    u32 n = 0;
    IR_FOR_EACH_OP(b, op)
        op->mark = n++;
    place *places = ARENA_ARRAY(a, place, n + 1);
    IR_FOR_EACH_OP(b, op)
        places[op->mark].op = op;
    u32 limit = n;
    for (u32 i = n; i-- > 0;) {
        bool writes = false;
        ir_walk(places[i].op, note_write, &writes);
        places[i].limit = limit;
        if (writes)
            limit = i;
    }
    for (u32 i = n; i-- > 0;) {
        ir_op *op = places[i].op;
        if (!is_candidate(op) || !ir_has_uses(ir_result(op, 0)))
            continue;
        u32 to = first_use(op);
        if (op->code != IR_tm_vec_get)
            to = MIN(to, places[i].limit);
        if (to >= n || to <= i)
            continue;
        place *target = &places[to];
        ir_op *before = target->cluster ? target->cluster : target->op;
        if (op->next != before)
            ir_move_before(op, before);
        target->cluster = op;
        op->mark = to;
    }
}

static void sink_regions(ir_op *op, void *data) {
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            sink_block(data, b);
}

static tm_status run(pass_run *pass, ir_module *m) {
    ir_walk(m->op, sink_regions, pass->scratch);
    return 0;
}

const pass_info pass_sink = {
    .name = "sink",
    .doc = "move loads of threadgroup memory down to their first use",
    .run = run,
};
