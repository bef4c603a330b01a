/* SPDX-License-Identifier: MIT */
/* Random functions of branching blocks (acyclic, block arguments, several returns, blocks that nothing
 * reaches) are run before and after structuring and cleaning: the same effects must happen in the same
 * order, with the same values, and the same values be returned. Loops through branches are refused. */
#include "tile/fold.h"
#include "tile/tile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static u64 seed = 0xD1B54A32D192ED03ull;
static u32 below(u32 n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (u32)(seed % n);
}

enum { MAX_BLOCKS = 14, MAX_SEEN = 64, MAX_TRACE = 256, N_PARAMS = 3, N_RESULTS = 2 };

typedef struct program {
    tm_ctx *ctx;
    ir_module *m;
    ir_op *func;
    ir_block *blocks[MAX_BLOCKS];
    u32 n;
    u32 dominators[MAX_BLOCKS]; /* bit sets of blocks; all ones when unreachable */
    u32 succs[MAX_BLOCKS][2], n_succs[MAX_BLOCKS];
    const ir_type *i32;
} program;

static void choose_graph(program *p, bool back) {
    for (u32 b = 0; b < p->n; b++) {
        p->dominators[b] = b ? ~0u : 1;
        p->n_succs[b] = b + 1 == p->n ? 0 : below(8) == 0 ? 0 : 1 + (below(3) > 0);
        for (u32 i = 0; i < p->n_succs[b]; i++)
            p->succs[b][i] = b + 1 + below(MIN(p->n - b - 1, 4u));
    }
    if (back) {
        p->n_succs[p->n - 2] = 1;
        p->succs[p->n - 2][0] = 1 + below(p->n - 2);
        for (u32 b = 0; b + 2 < p->n; b++) { /* every block is reached */
            p->n_succs[b] = MAX(p->n_succs[b], 1u);
            p->succs[b][0] = b + 1;
        }
    }
    for (u32 b = 0; b < p->n; b++)
        for (u32 i = 0; i < p->n_succs[b]; i++) {
            u32 s = p->succs[b][i];
            if (p->dominators[b] != ~0u && s > b)
                p->dominators[s] &= p->dominators[b] | 1u << s;
        }
}

/* A value that dominates the end of block b. */
static ir_value *visible(program *p, ir_builder *at, u32 b) {
    ir_value *seen[MAX_SEEN];
    u32 n = 0;
    for (u32 d = 0; d < p->n; d++) {
        if (d != b && (p->dominators[b] == ~0u || !(p->dominators[b] >> d & 1)))
            continue;
        for (u32 i = 0; i < p->blocks[d]->n_args && n < MAX_SEEN; i++)
            seen[n++] = p->blocks[d]->args[i];
        IR_FOR_EACH_OP(p->blocks[d], op) {
            if (op->n_results && op->results[0].type == p->i32 && n < MAX_SEEN)
                seen[n++] = ir_result(op, 0);
        }
    }
    return n && below(8) ? seen[below(n)] : ir_const_int(at, p->i32, below(9));
}

static void fill_block(program *p, u32 b) {
    ir_builder at = ir_at_end(p->m, p->blocks[b]);
    for (u32 i = 0; i < 1 + below(3); i++) {
        ir_value *v = ir_binary(&at, below(2) ? IR_arith_addi : IR_arith_xori, visible(p, &at, b), visible(p, &at, b));
        if (below(2))
            ir_build(&at, IR_tt_print, 1, &v, 0, NULL, 0);
    }
    ir_value *operands[16] = {0};
    ir_succ succs[2];
    u32 n = 0;
    if (p->n_succs[b] == 2)
        operands[n++] = ir_compare(&at, IR_arith_cmpi, below(10), visible(p, &at, b), visible(p, &at, b));
    for (u32 i = 0; i < p->n_succs[b]; i++) {
        ir_block *to = p->blocks[p->succs[b][i]];
        succs[i] = (ir_succ){to, n, to->n_args};
        for (u32 k = 0; k < to->n_args; k++)
            operands[n++] = visible(p, &at, b);
    }
    for (u32 i = 0; p->n_succs[b] == 0 && i < N_RESULTS; i++)
        operands[n++] = visible(p, &at, b);
    enum ir_code code = p->n_succs[b] == 2 ? IR_cf_cond_br : p->n_succs[b] ? IR_cf_br : IR_tt_return;
    ir_op *end = ir_build(&at, code, n, operands, 0, NULL, 0);
    end->n_succs = (u16)p->n_succs[b];
    if (end->n_succs)
        end->succs = arena_dup(p->m->arena, succs, end->n_succs * sizeof *succs);
}

static program new_program(u32 n, bool back) {
    program p = {.ctx = ctx_new(), .n = n};
    p.m = ir_module_new(p.ctx);
    p.i32 = ir_type_int(p.m, 32);
    ir_builder b = ir_at_end(p.m, ir_module_body(p.m));
    p.func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    const ir_type *types[] = {p.i32, p.i32, p.i32};
    ir_attr_set(p.m, p.func, "function_type", ir_attr_type(p.m, ir_type_func(p.m, N_PARAMS, types, N_RESULTS, types)));
    choose_graph(&p, back);
    for (u32 i = 0; i < n; i++) {
        p.blocks[i] = ir_block_new(p.m, &p.func->regions[0]);
        for (u32 k = i ? below(3) : N_PARAMS; k > 0; k--)
            ir_block_arg(p.m, p.blocks[i], p.i32, NULL);
    }
    for (u32 i = 0; i < n; i++)
        fill_block(&p, i);
    return p;
}

static void close_program(program *p) {
    ir_module_free(p->m);
    ctx_free(p->ctx);
}

/* ---- Running --------------------------------------------------------------------------------------- */

typedef struct trace {
    i64 at[MAX_TRACE];
    u32 n;
} trace;

typedef struct machine {
    i64 *value;
    trace out;
} machine;

static i64 get(const machine *k, const ir_op *op, u32 i) { return k->value[ir_operand(op, i)->mark]; }

static void emit(machine *k, i64 v) {
    assert_true(k->out.n < MAX_TRACE);
    k->out.at[k->out.n++] = v;
}

/* Runs to the terminator and returns it. */
static ir_op *run_block(machine *k, ir_block *b) {
    IR_FOR_EACH_OP(b, op) {
        if (ir_has_trait(op, IR_TERMINATOR))
            return op;
        i64 in[3] = {0};
        for (u32 i = 0; i < op->n_operands && i < 3; i++)
            in[i] = get(k, op, i);
        if (op->code == IR_scf_if) {
            ir_block *taken = op->regions[!in[0]].first;
            ir_op *end = taken ? run_block(k, taken) : NULL;
            for (u32 i = 0; i < op->n_results; i++)
                k->value[op->results[i].mark] = get(k, end, i);
        } else if (op->code == IR_tt_print) {
            emit(k, in[0]);
        } else if (op->code == IR_arith_constant) {
            ir_constant_bits(ir_result(op, 0), &k->value[op->results[0].mark]);
        } else if (op->code == IR_ub_poison) {
            k->value[op->results[0].mark] = (i32)below(1u << 31); /* any value must do */
        } else {
            assert_true(fold_op(op, in, &k->value[op->results[0].mark]));
        }
    }
    fail();
    return NULL;
}

static trace run_program(program *p, const i64 *params) {
    machine k = {.value = calloc(ir_number(p->func) + 1, sizeof(i64))};
    ir_block *b = p->func->regions[0].first;
    for (u32 i = 0; i < N_PARAMS; i++)
        k.value[b->args[i]->mark] = params[i];
    ir_op *end;
    while ((end = run_block(&k, b))->code != IR_tt_return) {
        const ir_succ *to = &end->succs[end->code == IR_cf_cond_br && !get(&k, end, 0)];
        i64 passed[8];
        for (u32 i = 0; i < to->count; i++)
            passed[i] = get(&k, end, to->first + i);
        b = to->block;
        for (u32 i = 0; i < to->count; i++)
            k.value[b->args[i]->mark] = passed[i];
    }
    for (u32 i = 0; i < N_RESULTS; i++)
        emit(&k, get(&k, end, i));
    free(k.value);
    return k.out;
}

static tm_status run_passes(program *p, const pass_info *const *passes, u32 n) {
    pass_run run = {.ctx = p->ctx, .scratch = arena_new()};
    tm_status status = 0;
    for (u32 i = 0; i < n && status == 0; i++)
        status = passes[i]->run(&run, p->m);
    arena_free(run.scratch);
    return status;
}

static void check_no_branch(ir_op *op, void *data) {
    assert_true(op->code != IR_cf_br && op->code != IR_cf_cond_br);
    for (u32 i = 0; i < op->n_regions; i++)
        assert_true(!op->regions[i].first || !op->regions[i].first->next);
}

static void structured_functions_do_the_same(void **state) {
    enum { PROGRAMS = 2500, INPUTS = 6 };
    static const pass_info *const passes[] = {&pass_canonicalize, &pass_structure, &pass_canonicalize,
                                              &pass_cse, &pass_canonicalize, &pass_dce};
    for (u32 n = 0; n < PROGRAMS; n++) {
        program p = new_program(2 + n % (MAX_BLOCKS - 2), false);
        i64 params[INPUTS][N_PARAMS];
        trace want[INPUTS];
        for (u32 i = 0; i < INPUTS; i++) {
            for (u32 k = 0; k < N_PARAMS; k++)
                params[i][k] = below(9);
            want[i] = run_program(&p, params[i]);
        }
        u32 first = n % 2; /* with and without canonicalize before */
        assert_int_equal(run_passes(&p, passes + first, (n % 3 ? COUNT_OF(passes) : 2u) - first), 0);
        check_no_branch(p.func, NULL);
        ir_walk(p.func, check_no_branch, NULL);
        for (u32 i = 0; i < INPUTS; i++) {
            trace got = run_program(&p, params[i]);
            assert_int_equal(got.n, want[i].n);
            assert_memory_equal(got.at, want[i].at, got.n * sizeof *got.at);
        }
        close_program(&p);
    }
}

/* A chain of early returns nests; past a limit it is refused. */
static tm_status structure_chain(u32 count, int *code) {
    program p = {.ctx = ctx_new()};
    p.m = ir_module_new(p.ctx);
    p.i32 = ir_type_int(p.m, 32);
    ir_builder b = ir_at_end(p.m, ir_module_body(p.m));
    p.func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(p.m, p.func, "function_type", ir_attr_type(p.m, ir_type_func(p.m, 1, &p.i32, 1, &p.i32)));
    ir_block *at = ir_block_new(p.m, &p.func->regions[0]);
    ir_value *x = ir_block_arg(p.m, at, p.i32, NULL);
    for (u32 i = 0; i < count; i++) {
        ir_block *leave = ir_block_new(p.m, &p.func->regions[0]);
        ir_block *next = ir_block_new(p.m, &p.func->regions[0]);
        ir_builder in = ir_at_end(p.m, at), out = ir_at_end(p.m, leave);
        ir_value *k = ir_const_int(&in, p.i32, i), *c = ir_compare(&in, IR_arith_cmpi, 0, x, k);
        ir_op *end = ir_build(&in, IR_cf_cond_br, 1, &c, 0, NULL, 0);
        end->n_succs = 2;
        end->succs = arena_dup(p.m->arena, (ir_succ[]){{leave, 1, 0}, {next, 1, 0}}, 2 * sizeof(ir_succ));
        ir_build(&out, IR_tt_return, 1, &k, 0, NULL, 0);
        at = next;
    }
    b = ir_at_end(p.m, at);
    ir_build(&b, IR_tt_return, 1, &x, 0, NULL, 0);
    tm_status status = run_passes(&p, (const pass_info *[]){&pass_structure}, 1);
    if (status == 0)
        ir_walk(p.func, check_no_branch, NULL);
    *code = p.ctx->first ? diag_number(p.ctx->first->code) : 0;
    close_program(&p);
    return status;
}

static void long_chains_of_returns_have_a_limit(void **state) {
    int code;
    assert_int_equal(structure_chain(150, &code), 0);
    assert_int_equal(structure_chain(5000, &code), -1);
    assert_int_equal(code, 2004);
}

static void loops_through_branches_are_refused(void **state) {
    for (u32 n = 0; n < 100; n++) {
        program p = new_program(4 + n % 8, true);
        assert_int_equal(run_passes(&p, (const pass_info *[]){&pass_structure}, 1), -1);
        assert_int_equal(diag_number(p.ctx->first->code), 2002);
        close_program(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_functions_do_the_same),
        cmocka_unit_test(long_chains_of_returns_have_a_limit),
        cmocka_unit_test(loops_through_branches_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
