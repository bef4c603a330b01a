/* SPDX-License-Identifier: MIT */
/* sink: loads of threadgroup memory move down to their first use within their block, so that fragments
 * are live for as short as possible; vector elements taken from them follow. A load never passes a
 * barrier or a write that may touch its allocation. Passing a write to another allocation is fine for
 * meaning and lets several be filled before one barrier, but then both are live at once: allowed only
 * when all allocations of the kernel together fit into half of the memory. Ops that end at the same
 * place keep their order. */
#include "thread/facts.h"
#include "thread/thread.h"

typedef struct sinker {
    arena *a;
    const facts *f;
    bool apart;        /* may loads pass writes to other allocations? */
    u32 *next, *stamp; /* by root: position of the next write in the block being looked at */
    u32 block;         /* its number, for stamp */
    u32 next_any;      /* position of the next barrier or write to anywhere */
    u32 position;
} sinker;

typedef struct place {
    ir_op *op;         /* at this position */
    ir_op *cluster;    /* first of the ops already moved before it */
    u32 limit;         /* a load here may not go below this position */
} place;

static bool is_candidate(const ir_op *op) {
    if (op->code == IR_tm_vec_get)
        return true;
    return (op->code == IR_tm_load || op->code == IR_tm_matrix_load) &&
           ir_operand(op, 0)->type->space == IR_SPACE_THREADGROUP &&
           !ir_attr_get_int(op, "volatile", 0);
}

static void note_write(ir_op *op, void *data) {
    sinker *s = data;
    access a = access_of(s->f, op);
    bool writes = a.kind > ACCESS_READ && a.space == IR_SPACE_THREADGROUP;
    if (op->code == IR_tm_barrier || (writes && (!s->apart || a.root > s->f->n_roots))) {
        s->next_any = s->position;
    } else if (writes) {
        s->next[a.root] = s->position;
        s->stamp[a.root] = s->block;
    }
}

static u32 limit_of(const sinker *s, const ir_op *load) {
    u32 root = facts_root(s->f, ir_operand(load, 0));
    u32 limit = s->next_any;
    if (root <= s->f->n_roots)
        return s->stamp[root] == s->block ? MIN(limit, s->next[root]) : limit;
    for (u32 r = 1; r <= s->f->n_roots; r++)
        if (s->stamp[r] == s->block)
            limit = MIN(limit, s->next[r]);
    return limit;
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

static void find_limits(sinker *s, place *places, u32 n) {
    s->block++;
    s->next_any = n;
    for (u32 i = n; i-- > 0;) {
        ir_op *op = places[i].op;
        if (is_candidate(op))
            places[i].limit = op->code == IR_tm_vec_get ? n : limit_of(s, op);
        s->position = i;
        ir_walk(op, note_write, s);
    }
}

static void sink_block(sinker *s, ir_block *b) {
    u32 n = 0;
    bool any = false;
    IR_FOR_EACH_OP(b, op) {
        op->mark = n++;
        any |= is_candidate(op);
    }
    if (!any)
        return;
    place *places = ARENA_ARRAY(s->a, place, n);
    IR_FOR_EACH_OP(b, op)
        places[op->mark].op = op;
    find_limits(s, places, n);
    for (u32 i = n; i-- > 0;) {
        ir_op *op = places[i].op;
        if (!is_candidate(op) || !ir_has_uses(ir_result(op, 0)))
            continue;
        u32 to = MIN(first_use(op), places[i].limit);
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

static void sink_function(pass_run *run, ir_op *func) {
    sinker s = {.a = run->scratch, .f = facts_build(run->scratch, func)};
    u64 total = 0;
    for (u32 r = 0; r < s.f->n_roots; r++)
        if (s.f->roots[r]->op)
            total += (u64)ir_attr_get_int(s.f->roots[r]->op, "bytes", 0);
    s.apart = total <= run->target.threadgroup_bytes / 2;
    s.next = ARENA_ARRAY(s.a, u32, s.f->n_roots + 1);
    s.stamp = ARENA_ARRAY(s.a, u32, s.f->n_roots + 1);
    ir_walk(func, sink_regions, &s);
}

static tm_status run_sink(pass_run *run, ir_module *m) {
    IR_FOR_EACH_OP(ir_module_body(m), op)
        if (op->code == IR_tt_func)
            sink_function(run, op);
    return 0;
}

const pass_info pass_sink = {
    .name = "sink",
    .doc = "move loads of threadgroup memory down to their first use",
    .run = run_sink,
};
