/* SPDX-License-Identifier: MIT */
/* Judges plan and barriers together on random programs: random walks through the program (branches
 * taken by chance, loops run 0 to 3 times) must never meet two accesses to overlapping planned ranges
 * that need order without a barrier between. And none too many: without any one of the barriers some
 * walk must meet such a pair. The checker knows ranges and kinds, nothing of the passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/ir.h"
#include "thread/thread.h"

enum { N_ALLOCS = 4, MAX_TRACE = 4096, WALKS = 60, PROGRAMS = 300 };

typedef struct program {
    tm_ctx *ctx;
    ir_module *m;
    ir_op *func;
    ir_value *alloc[N_ALLOCS], *yes, *count, *lane_few;
    u32 seed;
} program;

static u32 chance(program *p, u32 n) {
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 8) % n;
}

/* ---- Random programs -------------------------------------------------------------------------- */

static void add_access(program *p, ir_builder *b, u32 kind, u32 a) {
    const ir_type *f32 = ir_type_float(p->m, IR_F32);
    if (kind == 0) {
        ir_build1(b, IR_tm_load, f32, 1, &p->alloc[a]);
        return;
    }
    ir_value *v = ir_const_float(b, f32, 1.0), *ops[] = {p->alloc[a], v};
    if (kind == 1)
        ir_build(b, IR_tm_store, 2, ops, 0, NULL, 0);
    else
        ir_build1(b, IR_tm_atomic_rmw, f32, 2, ops);
}

static void add_items(program *p, ir_block *block, u32 depth) {
    ir_builder b = ir_at_end(p->m, block);
    for (u32 n = 2 + chance(p, 5); n > 0; n--) {
        u32 what = chance(p, depth ? 10 : 6);
        if (what < 6) {
            add_access(p, &b, what < 3 ? 0 : what < 5 ? 1 : 2, chance(p, N_ALLOCS));
            continue;
        }
        if (what < 9) { /* a branch: uniform, or one that only some lanes take */
            ir_value *c = what < 8 ? p->yes : p->lane_few;
            ir_op *op = ir_build(&b, IR_scf_if, 1, &c, 0, NULL, 2);
            ir_block *then = ir_block_new(p->m, &op->regions[0]);
            ir_builder t = ir_at_end(p->m, then);
            if (c == p->lane_few)
                add_access(p, &t, chance(p, 3), chance(p, N_ALLOCS));
            else
                add_items(p, then, depth - 1);
            t = ir_at_end(p->m, then);
            ir_build(&t, IR_scf_yield, 0, NULL, 0, NULL, 0);
            continue;
        }
        ir_value *zero = ir_const_int(&b, p->count->type, 0), *one = ir_const_int(&b, p->count->type, 1);
        ir_value *bounds[] = {zero, p->count, one};
        ir_op *op = ir_build(&b, IR_scf_for, 3, bounds, 0, NULL, 1);
        ir_block *body = ir_block_new(p->m, &op->regions[0]);
        ir_block_arg(p->m, body, p->count->type, NULL);
        add_items(p, body, depth - 1);
        ir_builder t = ir_at_end(p->m, body);
        ir_build(&t, IR_scf_yield, 0, NULL, 0, NULL, 0);
    }
}

static void make_program(program *p, u32 seed) {
    p->ctx = ctx_new();
    p->m = ir_module_new(p->ctx);
    p->seed = seed;
    const ir_type *i32t = ir_type_int(p->m, 32), *i1t = ir_type_int(p->m, 1);
    const ir_type *params[] = {i1t, i32t};
    ir_builder b = ir_at_end(p->m, ir_module_body(p->m));
    p->func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(p->m, p->func, "sym_name", ir_attr_string(p->m, "k", 1));
    ir_attr_set(p->m, p->func, "function_type",
                ir_attr_type(p->m, ir_type_func(p->m, 2, params, 0, NULL)));
    ir_block *body = ir_block_new(p->m, &p->func->regions[0]);
    p->yes = ir_block_arg(p->m, body, i1t, NULL);
    p->count = ir_block_arg(p->m, body, i32t, NULL);
    b = ir_at_end(p->m, body);
    ir_value *lane = ir_build1(&b, IR_tm_lane_id, i32t, 0, NULL);
    p->lane_few = ir_compare(&b, IR_arith_cmpi, 2, lane, ir_const_int(&b, i32t, 3));
    const ir_type *ptr = ir_type_ptr(p->m, ir_type_float(p->m, IR_F32), IR_SPACE_THREADGROUP);
    for (u32 i = 0; i < N_ALLOCS; i++) {
        p->alloc[i] = ir_build1(&b, IR_tm_tg_alloc, ptr, 0, NULL);
        ir_attr_set(p->m, p->alloc[i]->op, "bytes", ir_attr_int(p->m, i32t, 16 << chance(p, 3)));
    }
    add_items(p, body, 3);
    b = ir_at_end(p->m, body);
    ir_build(&b, IR_tt_return, 0, NULL, 0, NULL, 0);
}

/* ---- The checker ------------------------------------------------------------------------------ */

typedef struct event {
    i64 at, end;
    u32 alloc, kind, branch; /* branch: number of the divergent branch it runs in, 0 none */
} event;

typedef struct trace {
    event at[MAX_TRACE]; /* since the last barrier */
    u32 n, branches, steps, seed;
    const ir_op *ignored;
    bool conflict;
} trace;

static u32 trace_chance(trace *t, u32 n) {
    t->seed = t->seed * 1664525u + 1013904223u;
    return (t->seed >> 8) % n;
}

static bool needs_order(const event *x, const event *y) {
    bool overlap = x->at < y->end && y->at < x->end;
    bool both_read = x->kind == 0 && y->kind == 0, both_atomic = x->kind == 2 && y->kind == 2;
    bool filling = x->kind == 1 && y->kind == 1 && x->alloc == y->alloc;
    bool same_branch = x->branch && x->branch == y->branch && x->alloc == y->alloc;
    return overlap && !both_read && !both_atomic && !filling && !same_branch;
}

static void trace_access(trace *t, const ir_op *op, u32 branch) {
    const ir_op *alloc = ir_operand(op, 0)->op;
    i64 at = ir_attr_get_int(alloc, "offset", -1);
    event e = {at, at + ir_attr_get_int(alloc, "bytes", 0), ir_operand(op, 0)->mark,
               op->code == IR_tm_load ? 0 : op->code == IR_tm_store ? 1 : 2, branch};
    for (u32 i = 0; i < t->n; i++)
        t->conflict |= needs_order(&t->at[i], &e);
    if (t->n < MAX_TRACE)
        t->at[t->n++] = e;
}

static void walk(trace *t, const ir_block *b, u32 branch) {
    IR_FOR_EACH_OP(b, op) {
        if (++t->steps > 20000 || t->conflict)
            return;
        switch (op->code) {
        case IR_tm_barrier:
            assert_int_equal(branch, 0); /* never where threads part */
            if (op != t->ignored && (ir_attr_get_int(op, "flags", 0) & 2))
                t->n = 0;
            break;
        case IR_scf_if: {
            const ir_value *c = ir_operand(op, 0);
            bool divergent = c->op != NULL;
            if (divergent || trace_chance(t, 2))
                walk(t, op->regions[0].first, divergent ? ++t->branches : branch);
            break;
        }
        case IR_scf_for:
            for (u32 n = trace_chance(t, 4); n > 0; n--)
                walk(t, op->regions[0].first, branch);
            break;
        case IR_tm_load: case IR_tm_store: case IR_tm_atomic_rmw: trace_access(t, op, branch); break;
        default: break;
        }
    }
}

static bool finds_conflict(program *p, const ir_op *ignored, u32 walks) {
    static trace t; /* large, one thread */
    for (u32 i = 0; i < walks; i++) {
        t.n = t.branches = t.steps = 0;
        t.conflict = false;
        t.ignored = ignored;
        t.seed = i * 7919u + 1;
        walk(&t, p->func->regions[0].first, 0);
        if (t.conflict)
            return true;
    }
    return false;
}

typedef struct barrier_list {
    ir_op *at[512];
    u32 n;
} barrier_list;

static void collect(ir_op *op, void *data) {
    barrier_list *l = data;
    if (op->code == IR_tm_barrier && l->n < COUNT_OF(l->at))
        l->at[l->n++] = op;
}

static u32 run_one(u32 seed, u32 *redundant) {
    program p;
    make_program(&p, seed);
    pass_run run = {.ctx = p.ctx, .scratch = arena_new(),
                    .target = {.num_warps = 4, .threadgroup_bytes = 32768, .air_minor = 7}};
    assert_int_equal(pass_plan.run(&run, p.m), 0);
    assert_int_equal(pass_barriers.run(&run, p.m), 0);
    ir_number(p.func);
    if (finds_conflict(&p, NULL, WALKS))
        fail_msg("program %u: two accesses without a barrier between", seed);
    barrier_list l = {.n = 0};
    ir_walk(p.func, collect, &l);
    for (u32 i = 0; i < l.n; i++)
        *redundant += !finds_conflict(&p, l.at[i], 10 * WALKS);
    u32 n = l.n;
    ir_module_free(p.m);
    arena_free(run.scratch);
    ctx_free(p.ctx);
    return n;
}

static void conflicts_have_barriers_and_none_is_spare(void **state) {
    (void)state;
    u32 barriers = 0, redundant = 0;
    for (u32 seed = 1; seed <= PROGRAMS; seed++)
        barriers += run_one(seed, &redundant);
    print_message("%u barriers in %u programs, %u without need\n", barriers, PROGRAMS, redundant);
    assert_true(barriers > PROGRAMS);
    assert_true(redundant * 50 <= barriers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(conflicts_have_barriers_and_none_is_spare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
