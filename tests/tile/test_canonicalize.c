/* SPDX-License-Identifier: MIT */
/* Random integer expressions over one unknown and constants: whatever canonicalize, cse, licm and dce
 * do to them, they must give the same value. The expression is evaluated before and after, by a small
 * evaluator that steps through the block, for many values of the unknown. */
#include "tile/fold.h"
#include "tile/tile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static u64 seed = 0x2545F4914F6CDD1Dull;
static u64 random_u64(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

enum { N_UNKNOWN = 3, MAX_VALUES = 64 };

typedef struct program {
    tm_ctx *ctx;
    ir_module *m;
    ir_op *func;
    ir_block *body;
    ir_value *pool[MAX_VALUES];
    u32 n;
} program;

/* A function of N_UNKNOWN integers of one type with an empty body. */
static program new_program(u32 width) {
    program p = {.ctx = ctx_new()};
    p.m = ir_module_new(p.ctx);
    ir_builder b = ir_at_end(p.m, ir_module_body(p.m));
    p.func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    p.body = ir_block_new(p.m, &p.func->regions[0]);
    for (u32 i = 0; i < N_UNKNOWN; i++)
        p.pool[p.n++] = ir_block_arg(p.m, p.body, ir_type_int(p.m, width), NULL);
    return p;
}

static ir_value *pick(program *p, const ir_type *t) {
    for (u32 tries = 0; tries < 50; tries++) {
        ir_value *v = p->pool[random_u64() % p->n];
        if (v->type == t)
            return v;
    }
    ir_builder b = ir_at_end(p->m, p->body);
    static const i64 values[] = {0, 1, -1, 2, 3, 4, 7, 8, 255, 16, -2};
    return ir_const_int(&b, t, values[random_u64() % COUNT_OF(values)]);
}

static const ir_type *random_type(program *p) {
    static const u32 widths[] = {1, 8, 16, 32, 64};
    return ir_type_int(p->m, widths[random_u64() % COUNT_OF(widths)]);
}

static void add_cast(program *p, ir_builder *b) {
    ir_value *x = p->pool[random_u64() % p->n];
    const ir_type *to = random_type(p);
    if (to->width == x->type->width)
        return;
    enum ir_code code = to->width < x->type->width ? IR_arith_trunci
                        : random_u64() & 1         ? IR_arith_extsi
                                                   : IR_arith_extui;
    p->pool[p->n++] = ir_unary(b, code, to, x);
}

/* Chains of casts, compared: what index promotion leaves in real kernels. */
static void add_extended_compare(program *p, ir_builder *b) {
    ir_value *x = pick(p, ir_type_int(p->m, 8)), *y = pick(p, ir_type_int(p->m, 8));
    enum ir_code code = random_u64() & 1 ? IR_arith_extsi : IR_arith_extui;
    const ir_type *wide = ir_type_int(p->m, 32);
    ir_value *left = ir_unary(b, code, wide, x);
    ir_value *right = random_u64() & 1 ? ir_unary(b, code, wide, y)
                                       : ir_const_int(b, wide, (i64)(random_u64() % 600) - 300);
    p->pool[p->n++] = ir_compare(b, IR_arith_cmpi, random_u64() % 10, left, right);
    p->pool[p->n++] = ir_unary(b, IR_arith_trunci, ir_type_int(p->m, 16), left);
}

static void add_op(program *p) {
    static const enum ir_code codes[] = {
        IR_arith_addi, IR_arith_subi, IR_arith_muli, IR_arith_andi, IR_arith_ori,  IR_arith_xori,
        IR_arith_minsi, IR_arith_maxsi, IR_arith_minui, IR_arith_maxui, IR_arith_divui, IR_arith_remui,
        IR_arith_divsi, IR_arith_remsi, IR_arith_shli, IR_arith_shrsi, IR_arith_shrui};
    ir_builder b = ir_at_end(p->m, p->body);
    const ir_type *t = p->pool[random_u64() % p->n]->type;
    u32 kind = random_u64() % 8;
    if (random_u64() % 4 == 0)
        p->pool[p->n++] = ir_const_int(&b, t, (i64)(random_u64() % 5) - 1);
    else if (kind == 0)
        add_cast(p, &b);
    else if (kind == 1)
        p->pool[p->n++] = ir_compare(&b, IR_arith_cmpi, random_u64() % 10, pick(p, t), pick(p, t));
    else if (kind == 2)
        add_extended_compare(p, &b);
    else if (kind == 3)
        p->pool[p->n++] = ir_build1(&b, IR_arith_select, t, 3,
                                    (ir_value *[]){pick(p, ir_type_int(p->m, 1)), pick(p, t), pick(p, t)});
    else
        p->pool[p->n++] = ir_binary(&b, codes[random_u64() % COUNT_OF(codes)], pick(p, t), pick(p, t));
}

/* Steps through the block. False when the returned value is poison (a division by zero, a shift by
 * too much); poison spreads through ops, but select passes only the chosen arm on. */
static bool evaluate(program *p, const i64 *unknown, i64 *out) {
    u32 n = ir_number(p->func);
    i64 *value = calloc(n + 1, sizeof *value);
    bool *ok = calloc(n + 1, sizeof *ok), result = false;
    for (u32 i = 0; i < p->body->n_args; i++) {
        value[p->body->args[i]->mark] = fold_wrap(unknown[i], p->body->args[i]->type->width);
        ok[p->body->args[i]->mark] = true;
    }
    IR_FOR_EACH_OP(p->body, op) {
        i64 in[3];
        bool all = true;
        for (u32 i = 0; i < op->n_operands && i < 3; i++) {
            in[i] = value[ir_operand(op, i)->mark];
            all &= ok[ir_operand(op, i)->mark];
        }
        if (op->code == IR_tt_return) {
            *out = in[0];
            result = all;
            break;
        }
        ir_value *v = ir_result(op, 0);
        if (op->code == IR_arith_constant)
            ok[v->mark] = ir_constant_bits(v, &value[v->mark]);
        else if (op->code == IR_arith_select && ok[ir_operand(op, 0)->mark]) {
            u32 arm = in[0] ? 1 : 2;
            value[v->mark] = in[arm];
            ok[v->mark] = ok[ir_operand(op, arm)->mark];
        } else
            ok[v->mark] = all && fold_op(op, in, &value[v->mark]);
    }
    free(value);
    free(ok);
    return result;
}

static void run_passes(program *p) {
    const pass_info *const passes[] = {&pass_canonicalize, &pass_cse, &pass_licm, &pass_canonicalize,
                                       &pass_dce};
    pass_run run = {.ctx = p->ctx, .scratch = arena_new()};
    for (u32 i = 0; i < COUNT_OF(passes); i++)
        assert_int_equal(passes[i]->run(&run, p->m), 0);
    arena_free(run.scratch);
}

static u32 count_ops(const program *p) {
    u32 n = 0;
    IR_FOR_EACH_OP(p->body, op)
        n++;
    return n;
}

static void random_expressions_keep_their_value(void **state) {
    enum { PROGRAMS = 1500, INPUTS = 12 };
    static const u32 widths[] = {8, 16, 32, 64, 1};
    u32 compared = 0, before_ops = 0, after_ops = 0;
    for (u32 k = 0; k < PROGRAMS; k++) {
        program p = new_program(widths[k % COUNT_OF(widths)]);
        while (p.n < 8 + k % 40)
            add_op(&p);
        ir_builder b = ir_at_end(p.m, p.body);
        ir_build(&b, IR_tt_return, 1, &p.pool[p.n - 1], 0, NULL, 0);
        i64 inputs[INPUTS][N_UNKNOWN], want[INPUTS];
        bool defined[INPUTS];
        for (u32 i = 0; i < INPUTS; i++) {
            for (u32 u = 0; u < N_UNKNOWN; u++)
                inputs[i][u] = i % 2 ? (i64)random_u64() : (i64)(random_u64() % 9) - 4;
            defined[i] = evaluate(&p, inputs[i], &want[i]);
        }
        before_ops += count_ops(&p);
        run_passes(&p);
        after_ops += count_ops(&p);
        for (u32 i = 0; i < INPUTS; i++) {
            i64 got = 0;
            if (!defined[i])
                continue;
            assert_true(evaluate(&p, inputs[i], &got));
            assert_int_equal(got, want[i]);
            compared++;
        }
        ir_module_free(p.m);
        ctx_free(p.ctx);
    }
    assert_true(compared > PROGRAMS * 4);
    assert_true(after_ops * 2 < before_ops);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_expressions_keep_their_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
