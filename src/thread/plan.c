/* SPDX-License-Identifier: MIT */
/* plan: each tm.tg_alloc gets an offset. An allocation is live from its first to its last access in
 * program order; when an access lies in a loop that does not hold the allocation, what is stored may
 * be read in the next iteration, so the interval covers the whole loop. Allocations whose intervals
 * do not meet may share memory; the lowest gap that fits is taken in order of start. The accesses of
 * shared memory stay in order because pass_barriers looks at the planned ranges.
 * Sharing costs a barrier where one use follows the other, which in a loop is paid every turn. So the
 * first plan lets what lies in a loop live as long as the loop: nothing there shares, and writing one
 * allocation needs not wait for the readers of another. It is taken when it fits into half of the
 * memory (two threadgroups can then be resident); else the exact intervals decide. */
#include <stdlib.h>

#include "base/vec.h"
#include "thread/facts.h"
#include "thread/thread.h"

enum { ALIGN = 16 };

typedef struct interval {
    ir_op *alloc;
    u32 first, last; /* positions; first > last: never accessed */
    u32 loop_first, loop_last; /* the same, with the loop around it */
    u32 bytes, offset, align;
} interval;

typedef struct planner {
    const facts *f;
    interval *at;   /* by root number */
    u32 position;
} planner;

static void number_op(ir_op *op, void *data) {
    planner *p = data;
    op->mark = p->position++;
}

/* Last position inside op, found by walking down its last regions. */
static u32 last_inside(const ir_op *op) {
    for (;;) {
        const ir_op *last = NULL;
        for (u32 r = 0; r < op->n_regions; r++)
            if (op->regions[r].last && op->regions[r].last->last)
                last = op->regions[r].last->last;
        if (!last)
            return op->mark;
        op = last;
    }
}

static void extend(interval *v, u32 first, u32 last) {
    v->first = MIN(v->first, first);
    v->last = MAX(v->last, last);
}

static bool is_loop(const ir_op *op) {
    return op->code == IR_scf_for || op->code == IR_scf_while;
}

static void note_access_to(interval *v, const ir_op *op) {
    const ir_op *outer = op, *p = ir_parent(op);
    for (; p && !ir_is_inside(v->alloc, p); p = ir_parent(p))
        if (is_loop(p))
            outer = p;
    extend(v, outer->mark, outer == op ? op->mark : last_inside(outer));
    while (p && !is_loop(p))
        p = ir_parent(p);
    const ir_op *around = p ? p : outer;
    v->loop_first = MIN(v->loop_first, around->mark);
    v->loop_last = MAX(v->loop_last, around == op ? op->mark : last_inside(around));
}

static void note_access(ir_op *op, void *data) {
    planner *p = data;
    access a = access_of(p->f, op);
    if (a.kind == ACCESS_NONE || a.space != IR_SPACE_THREADGROUP)
        return;
    if (a.root != FACTS_ANY_ROOT) {
        note_access_to(&p->at[a.root], op);
        return;
    }
    for (u32 r = 1; r <= p->f->n_roots; r++)
        if (p->at[r].alloc)
            note_access_to(&p->at[r], op);
}

static int by_start(const void *a, const void *b) {
    const interval *x = *(interval *const *)a, *y = *(interval *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->alloc->mark < y->alloc->mark ? -1 : x->alloc->mark > y->alloc->mark;
}

/* `live` is sorted by offset; drops what has ended, finds the lowest gap, inserts. */
static void place_one(interval **live, u32 *n, interval *v) {
    u32 kept = 0;
    for (u32 i = 0; i < *n; i++)
        if (live[i]->last >= v->first)
            live[kept++] = live[i];
    u32 at = 0, where = kept;
    for (u32 i = 0; i < kept; i++) {
        if (live[i]->offset >= at && live[i]->offset - at >= v->bytes) {
            where = i;
            break;
        }
        at = MAX(at, (u32)align_up(live[i]->offset + live[i]->bytes, v->align));
    }
    v->offset = at;
    for (u32 i = kept; i > where; i--)
        live[i] = live[i - 1];
    live[where] = v;
    *n = kept + 1;
}

/* Offsets for all; returns the bytes needed. */
static u32 place_all(arena *a, interval **order, u32 n) {
    u32 n_live = 0, total = 0;
    interval **live = ARENA_ARRAY(a, interval *, n + 1);
    qsort(order, n, sizeof *order, by_start);
    for (u32 i = 0; i < n; i++) {
        order[i]->offset = 0;
        if (order[i]->first > order[i]->last)
            continue;
        place_one(live, &n_live, order[i]);
        total = MAX(total, order[i]->offset + order[i]->bytes);
    }
    return total;
}

static void swap_intervals(interval **order, u32 n) {
    for (u32 i = 0; i < n; i++) {
        u32 first = order[i]->first, last = order[i]->last;
        order[i]->first = order[i]->loop_first;
        order[i]->last = order[i]->loop_last;
        order[i]->loop_first = first;
        order[i]->loop_last = last;
    }
}

static tm_status plan_function(pass_run *run, ir_module *m, ir_op *func) {
    arena *a = run->scratch;
    planner p = {.f = facts_build(a, func)};
    u32 n = 0;
    ir_walk(func, number_op, &p);
    p.at = ARENA_ARRAY(a, interval, p.f->n_roots + 1);
    interval **order = ARENA_ARRAY(a, interval *, p.f->n_roots + 1);
    for (u32 r = 1; r <= p.f->n_roots; r++) {
        ir_op *op = p.f->roots[r - 1]->op;
        if (!op)
            continue;
        u32 align = (u32)MAX(ir_attr_get_int(op, "align", ALIGN), ALIGN);
        u32 bytes = (u32)align_up((u64)ir_attr_get_int(op, "bytes", 0), ALIGN);
        p.at[r] = (interval){op, UINT32_MAX, 0, UINT32_MAX, 0, bytes, 0, align};
        order[n++] = &p.at[r];
    }
    if (!n)
        return 0;
    ir_walk(func, note_access, &p);
    swap_intervals(order, n);
    u32 total = place_all(a, order, n);
    if (total > run->target.threadgroup_bytes / 2) {
        swap_intervals(order, n);
        total = place_all(a, order, n);
    }
    for (u32 i = 0; i < n; i++)
        ir_attr_set(m, order[i]->alloc, "offset",
                    ir_attr_int(m, ir_type_int(m, 32), order[i]->offset));
    run->threadgroup_bytes = MAX(run->threadgroup_bytes, total);
    if (total > run->target.threadgroup_bytes)
        return diag_at(run->ctx, NULL, TM2301, total, run->target.threadgroup_bytes);
    return 0;
}

static tm_status run_plan(pass_run *run, ir_module *m) {
    run->threadgroup_bytes = 0;
    IR_FOR_EACH_OP(ir_module_body(m), op)
        if (op->code == IR_tt_func)
            TRY(plan_function(run, m, op));
    return 0;
}

const pass_info pass_plan = {
    .name = "plan",
    .doc = "give threadgroup allocations offsets; those never live at the same time share memory",
    .run = run_plan,
};
