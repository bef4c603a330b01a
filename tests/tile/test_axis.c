/* SPDX-License-Identifier: MIT */
/* Judges the axis analysis by running programs: random index arithmetic over ranges, scalars with
 * divisibility hints, shapes, loops and branches is analysed, then evaluated element by element for
 * arguments that honour the hints (negative ones too). Every fact must hold for every value ever
 * computed. A second test says what must be found, so that knowing nothing does not pass. */
#include "tile/fold.h"
#include "tile/tile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static u64 seed = 0x9E3779B97F4A7C15ull;
static u64 random_u64(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}
static u32 below(u32 n) { return (u32)(random_u64() % n); }

enum { MAX_POOL = 96, MAX_ELEMS = 64, N_ARGS = 4, MAX_MARKS = 512 };
static const i64 LIMIT = (i64)1 << 40; /* beyond this, arithmetic counts as overflowed */

typedef struct program {
    tm_ctx *ctx;
    ir_module *m;
    ir_op *func;
    ir_block *body;
    ir_value *pool[MAX_POOL];
    u32 n;
    i64 hints[N_ARGS];
} program;

static const ir_type *tensor(program *p, u32 rank, i64 a, i64 b, const ir_type *elem) {
    return ir_type_tensor(p->m, rank, (i64[]){a, b}, elem, NULL);
}

static program new_program(void) {
    program p = {.ctx = ctx_new()};
    p.m = ir_module_new(p.ctx);
    ir_builder b = ir_at_end(p.m, ir_module_body(p.m));
    p.func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    p.body = ir_block_new(p.m, &p.func->regions[0]);
    for (u32 i = 0; i < N_ARGS; i++) {
        bool pointer = i == N_ARGS - 1;
        const ir_type *i64t = ir_type_int(p.m, 64);
        const ir_type *t = pointer ? ir_type_ptr(p.m, ir_type_int(p.m, 8u << below(3)), IR_SPACE_DEVICE) : i64t;
        ir_value *v = ir_block_arg(p.m, p.body, t, NULL);
        p.hints[i] = (i64)1 << below(6);
        ir_named_attr *a = ARENA_NEW(p.m->arena, ir_named_attr);
        *a = (ir_named_attr){ir_intern(p.m, "tt.divisibility", 15), ir_attr_i32(p.m, p.hints[i])};
        v->attrs = a;
        v->n_attrs = p.hints[i] > 1;
        p.pool[p.n++] = v;
    }
    return p;
}

static void close_program(program *p) {
    ir_module_free(p->m);
    ctx_free(p->ctx);
}

static ir_value *pick(program *p, const ir_type *t) {
    ir_value *found = NULL;
    u32 seen = 0;
    for (u32 i = 0; i < p->n; i++)
        if (p->pool[i]->type == t && below(++seen) == 0)
            found = p->pool[i];
    return found;
}

static void push(program *p, ir_value *v) {
    if (p->n < MAX_POOL)
        p->pool[p->n++] = v;
}

static ir_value *build_attr(program *p, ir_builder *b, enum ir_code code, const ir_type *t, ir_value *x,
                            const char *name, const ir_attr *a) {
    ir_value *v = ir_build1(b, code, t, x ? 1 : 0, &x);
    ir_attr_set(p->m, v->op, name, a);
    return v;
}

static void add_shape_op(program *p, ir_builder *b) {
    ir_value *x = p->pool[below(p->n)];
    const ir_type *t = x->type, *e = ir_elem(t);
    i64 size = 4 << below(3);
    switch (below(7)) {
    case 0: {
        i64 start = below(2) ? 0 : below(2) ? (i64)below(40) - 8 : ((i64)below(5) - 3) * 8;
        ir_value *v = build_attr(p, b, IR_tt_make_range, tensor(p, 1, size, 0, ir_type_int(p->m, 32)),
                                 NULL, "start", ir_attr_i32(p->m, start));
        ir_attr_set(p->m, v->op, "end", ir_attr_i32(p->m, start + size));
        push(p, ir_unary(b, IR_arith_extsi, tensor(p, 1, size, 0, ir_type_int(p->m, 64)), v));
        break;
    }
    case 1:
        if (!ir_is_tensor(t))
            push(p, ir_unary(b, IR_tt_splat, tensor(p, 1, size, 0, e), x));
        break;
    case 2:
        if (ir_is_tensor(t) && t->rank == 1) {
            i64 axis = below(2);
            push(p, build_attr(p, b, IR_tt_expand_dims, tensor(p, 2, axis ? t->shape[0] : 1, axis ? 1 : t->shape[0], e),
                               x, "axis", ir_attr_i32(p->m, axis)));
        }
        break;
    case 3:
        if (ir_is_tensor(t) && t->rank == 2) {
            i64 r = t->shape[0] == 1 ? 4 : t->shape[0], q = t->shape[1] == 1 ? 8 : t->shape[1];
            if (r * q <= MAX_ELEMS)
                push(p, ir_unary(b, IR_tt_broadcast, tensor(p, 2, r, q, e), x));
        }
        break;
    case 4:
        if (ir_is_tensor(t) && t->rank == 2)
            push(p, build_attr(p, b, IR_tt_trans, tensor(p, 2, t->shape[1], t->shape[0], e), x, "order",
                               ir_attr_ints(p->m, ir_type_int(p->m, 32), 2, (i64[]){1, 0})));
        break;
    case 5:
        if (ir_is_tensor(t)) {
            i64 n = ir_numel(t), cols = (i64)1 << below(4);
            if (cols <= n)
                push(p, ir_unary(b, IR_tt_reshape, below(3) ? tensor(p, 2, n / cols, cols, e) : tensor(p, 1, n, 0, e), x));
        }
        break;
    default:
        if (ir_is_tensor(t) && t->rank == 1 && t->shape[0] * 2 <= MAX_ELEMS)
            push(p, ir_build1(b, IR_tt_join, tensor(p, 2, t->shape[0], 2, e), 2, (ir_value *[]){x, pick(p, t)}));
        break;
    }
}

static void add_arith_op(program *p, ir_builder *b) {
    static const enum ir_code codes[] = {
        IR_arith_addi,  IR_arith_addi,  IR_arith_subi,  IR_arith_muli,  IR_arith_divsi, IR_arith_remsi,
        IR_arith_divui, IR_arith_remui, IR_arith_andi,  IR_arith_ori,   IR_arith_xori,  IR_arith_shli,
        IR_arith_shrsi, IR_arith_shrui, IR_arith_minsi, IR_arith_maxsi};
    static const i64 values[] = {0, 1, 2, 4, 8, 4, 16, 8, 3, 5, 12, 7, 15, -1, -4, -8, 6, 24};
    ir_value *x = p->pool[below(2) ? below(p->n) : p->n - 1 - below(MIN(p->n, 6u))];
    const ir_type *t = x->type, *e = ir_elem(t), *i1 = ir_type_int(p->m, 1), *i64t = ir_type_int(p->m, 64);
    const ir_type *ints = ir_type_with_elem(p->m, t, i64t);
    ir_value *y = below(2) ? pick(p, ints) : NULL;
    if (!y)
        y = ir_const_int(b, ints, values[below(COUNT_OF(values))]);
    if (e->kind == IR_PTR) {
        push(p, ir_build1(b, IR_tt_addptr, t, 2, (ir_value *[]){x, y}));
        return;
    }
    if (e->width == 1)
        return;
    switch (below(8)) {
    case 0: push(p, ir_compare(b, IR_arith_cmpi, below(10), x, y)); break;
    case 1: {
        ir_value *c = pick(p, ir_type_with_elem(p->m, t, i1));
        c = c && below(4) ? c : pick(p, i1);
        if (c)
            push(p, ir_build1(b, IR_arith_select, t, 3, (ir_value *[]){c, x, y}));
        break;
    }
    case 2: { /* both arms of one kind, so that something can be known of the choice */
        ir_value *c = pick(p, ir_type_with_elem(p->m, t, i1)), *z = pick(p, t);
        if (c)
            push(p, ir_build1(b, IR_arith_select, t, 3, (ir_value *[]){c, x, ir_binary(b, IR_arith_addi, z, ir_const_int(b, t, 8))}));
        break;
    }
    default: push(p, ir_binary(b, codes[below(COUNT_OF(codes))], x, y)); break;
    }
}

static void add_ops(program *p, ir_block *block, u32 count, u32 depth);

/* A loop or a branch that carries one value; what its body computes is dropped from the pool after. */
static void add_control_op(program *p, ir_block *block, u32 depth) {
    ir_builder b = ir_at_end(p->m, block);
    ir_value *carried = p->pool[below(p->n)];
    const ir_type *t = carried->type, *i64t = ir_type_int(p->m, 64);
    u32 saved = p->n;
    bool loop = below(2);
    ir_value *cond = loop ? NULL : pick(p, ir_type_int(p->m, 1));
    if (!loop && !cond)
        return;
    ir_value *operands[4] = {cond};
    if (loop) {
        operands[0] = below(2) ? ir_const_int(&b, i64t, below(9)) : p->pool[below(N_ARGS - 1)];
        operands[1] = ir_const_int(&b, i64t, 40);
        operands[2] = ir_const_int(&b, i64t, 1 << below(5));
        operands[3] = carried;
    }
    ir_op *op = ir_build(&b, loop ? IR_scf_for : IR_scf_if, loop ? 4 : 1, operands, 1, &t, loop ? 1 : 2);
    for (u32 r = 0; r < op->n_regions; r++) {
        ir_block *body = ir_block_new(p->m, &op->regions[r]);
        p->n = saved;
        if (loop) {
            push(p, ir_block_arg(p->m, body, i64t, NULL));
            push(p, ir_block_arg(p->m, body, t, NULL));
        }
        add_ops(p, body, 3 + below(5), depth + 1);
        ir_value *v = p->n ? pick(p, t) : carried;
        ir_builder end = ir_at_end(p->m, body);
        ir_build(&end, IR_scf_yield, 1, &v, 0, NULL, 0);
    }
    p->n = saved;
    push(p, ir_result(op, 0));
}

static void add_ops(program *p, ir_block *block, u32 count, u32 depth) {
    for (u32 i = 0; i < count; i++) {
        ir_builder b = ir_at_end(p->m, block);
        u32 kind = below(16);
        if (kind == 0 && depth < 2)
            add_control_op(p, block, depth);
        else if (kind < 7)
            add_shape_op(p, &b);
        else
            add_arith_op(p, &b);
    }
}

/* ---- Evaluation and checking ---------------------------------------------------------------------- */

typedef struct tensor_value {
    bool ok; /* false: poison or overflowed somewhere; says nothing */
    i64 at[MAX_ELEMS];
} tensor_value;

typedef struct machine {
    const program *p;
    const axis_table *t;
    tensor_value values[MAX_MARKS];
    u32 checked, steps;
} machine;

static i64 dim_of(const ir_type *t, u32 d) { return ir_is_tensor(t) ? t->shape[d] : 1; }

static void check_dim(const axis_info *a, const tensor_value *x, u32 d, i64 size, i64 stride, i64 base) {
    for (i64 i = 0; i < size; i++) {
        i64 v = x->at[base + i * stride], before = i ? x->at[base + (i - 1) * stride] : 0;
        if (i % a->contiguity[d])
            assert_int_equal(v, before + a->step);
        else
            assert_int_equal(v % (i64)a->divisibility[d], 0);
        if (i % a->constancy[d])
            assert_int_equal(v, before);
    }
}

static void check_value(machine *k, const ir_value *v) {
    const axis_info *a = axis_get(k->t, v);
    const tensor_value *x = &k->values[v->mark];
    u32 rank = ir_is_tensor(v->type) ? v->type->rank : 1;
    assert_int_equal(a->rank, rank);
    if (!x->ok)
        return;
    i64 rows = rank == 2 ? dim_of(v->type, 0) : 1, cols = dim_of(v->type, rank - 1);
    for (i64 r = 0; r < rows; r++)
        check_dim(a, x, rank - 1, cols, 1, r * cols);
    for (i64 c = 0; rank == 2 && c < cols; c++)
        check_dim(a, x, 0, rows, cols, c);
    for (i64 i = 0; a->constant && i < rows * cols; i++)
        assert_int_equal(x->at[i], a->value);
    k->checked++;
}

static i64 wrap(const ir_type *t, i64 v) {
    return ir_elem(t)->kind == IR_INT ? fold_wrap(v, ir_elem(t)->width) : v;
}

/* Element of the source that result element i of a shape op shows. */
static i64 source_index(const ir_op *op, i64 i) {
    const ir_type *to = ir_result(op, 0)->type, *from = ir_operand(op, 0)->type;
    i64 cols = to->rank == 2 ? to->shape[1] : 1;
    switch (op->code) {
    case IR_tt_splat: return 0;
    case IR_tt_trans: return i % cols * from->shape[1] + i / cols;
    case IR_tt_broadcast:
        return (from->shape[0] == 1 ? 0 : i / cols) * from->shape[1] + (from->shape[1] == 1 ? 0 : i % cols);
    case IR_tt_join: return i / 2;
    default: return i;
    }
}

static void eval_element(machine *k, ir_op *op, tensor_value *out, i64 i) {
    i64 in[3] = {0};
    bool elementwise = ir_has_trait(op, IR_ELEMENTWISE);
    for (u32 o = 0; o < op->n_operands; o++) {
        const ir_value *v = ir_operand(op, o);
        in[o] = k->values[v->mark].at[!elementwise ? source_index(op, i) : ir_is_tensor(v->type) ? i : 0];
        out->ok &= k->values[v->mark].ok;
    }
    if (op->code == IR_arith_constant)
        ir_constant_bits(ir_result(op, 0), &out->at[i]);
    else if (op->code == IR_tt_make_range)
        out->at[i] = ir_attr_get_int(op, "start", 0) + i;
    else if (op->code == IR_tt_addptr)
        out->at[i] = (i64)((u64)in[0] + (u64)in[1] * ir_type_bytes(ir_elem(ir_result(op, 0)->type)->elem));
    else if (!elementwise)
        out->at[i] = op->code == IR_tt_join ? in[i % 2] : in[0];
    else
        out->ok &= fold_op(op, in, &out->at[i]);
    if (op->code == IR_arith_divsi && !ir_is_tensor(ir_result(op, 0)->type))
        out->ok &= in[1] > 0; /* the analysis takes scalar divisors for counts */
    out->at[i] = wrap(ir_result(op, 0)->type, out->at[i]);
    out->ok &= out->at[i] < LIMIT && out->at[i] > -LIMIT;
}

static void assign(machine *k, const ir_value *to, const ir_value *from) {
    tensor_value copy = k->values[from->mark];
    k->values[to->mark] = copy;
    check_value(k, to);
}

static void eval_block(machine *k, ir_block *b);

static void eval_for(machine *k, ir_op *op) {
    ir_block *b = op->regions[0].first;
    i64 low = k->values[ir_operand(op, 0)->mark].at[0];
    i64 high = k->values[ir_operand(op, 1)->mark].at[0], step = k->values[ir_operand(op, 2)->mark].at[0];
    const ir_value *carried = ir_operand(op, 3);
    for (i64 iv = low; iv < high && k->steps++ < 400; iv += step) {
        k->values[b->args[0]->mark] = (tensor_value){.ok = k->values[ir_operand(op, 0)->mark].ok, .at = {iv}};
        check_value(k, b->args[0]);
        assign(k, b->args[1], carried);
        eval_block(k, b);
        carried = ir_operand(b->last, 0);
    }
    assign(k, ir_result(op, 0), carried);
}

static void eval_block(machine *k, ir_block *b) {
    for (ir_op *op = b->first; op && op->code != IR_scf_yield; op = op->next) {
        if (op->code == IR_scf_for) {
            eval_for(k, op);
        } else if (op->code == IR_scf_if) {
            ir_block *taken = op->regions[!k->values[ir_operand(op, 0)->mark].at[0]].first;
            eval_block(k, taken);
            assign(k, ir_result(op, 0), ir_operand(taken->last, 0));
        } else {
            ir_value *v = ir_result(op, 0);
            tensor_value out = {.ok = true};
            for (i64 i = 0; i < ir_numel(v->type); i++)
                eval_element(k, op, &out, i);
            k->values[v->mark] = out;
            check_value(k, v);
        }
    }
}

static void facts_hold_for_all_values(void **state) {
    enum { PROGRAMS = 4000, RUNS = 2 };
    static machine k;
    u64 checked = 0;
    for (u32 n = 0; n < PROGRAMS; n++) {
        program p = new_program();
        add_ops(&p, p.body, 12 + n % 30, 0);
        arena *a = arena_new();
        k = (machine){.p = &p, .t = axis_analyze(a, p.func)};
        if (ir_number(p.func) <= MAX_MARKS)
            for (u32 r = 0; r < RUNS; r++) {
                for (u32 i = 0; i < N_ARGS; i++)
                    k.values[p.body->args[i]->mark] =
                        (tensor_value){.ok = true, .at = {((i64)below(40) - (i == N_ARGS - 1 ? 0 : 20)) * p.hints[i]}};
                k.steps = 0;
                eval_block(&k, p.body);
            }
        checked += k.checked;
        arena_free(a);
        close_program(&p);
    }
    assert_true(checked > PROGRAMS * 20);
}

/* pid * 128 + range(128): the index pattern of nearly every kernel. */
static void the_usual_index_is_found(void **state) {
    program p = new_program();
    ir_builder b = ir_at_end(p.m, p.body);
    const ir_type *i32t = ir_type_int(p.m, 32), *t = tensor(&p, 1, 128, 0, i32t);
    ir_value *pid = build_attr(&p, &b, IR_tt_get_program_id, i32t, NULL, "axis", ir_attr_i32(p.m, 0));
    ir_value *start = ir_binary(&b, IR_arith_muli, pid, ir_const_int(&b, i32t, 128));
    ir_value *range = build_attr(&p, &b, IR_tt_make_range, t, NULL, "start", ir_attr_i32(p.m, 0));
    ir_value *offs = ir_binary(&b, IR_arith_addi, ir_unary(&b, IR_tt_splat, t, start), range);
    const ir_type *ptr = ir_type_ptr(p.m, ir_type_float(p.m, IR_F32), IR_SPACE_DEVICE);
    ir_value *arg = ir_block_arg(p.m, p.body, ptr, NULL), *n = ir_block_arg(p.m, p.body, i32t, NULL);
    ir_named_attr hint = {ir_intern(p.m, "tt.divisibility", 15), ir_attr_i32(p.m, 16)};
    arg->attrs = n->attrs = &hint;
    arg->n_attrs = n->n_attrs = 1;
    const ir_type *ptrs = tensor(&p, 1, 128, 0, ptr);
    ir_value *at = ir_build1(&b, IR_tt_addptr, ptrs, 2, (ir_value *[]){ir_unary(&b, IR_tt_splat, ptrs, arg), offs});
    ir_value *mask = ir_compare(&b, IR_arith_cmpi, 2, offs, ir_unary(&b, IR_tt_splat, t, n));
    ir_value *row = ir_binary(&b, IR_arith_divsi, offs, ir_const_int(&b, t, 32));
    ir_value *col = ir_binary(&b, IR_arith_remsi, offs, ir_const_int(&b, t, 32));
    arena *a = arena_new();
    axis_table *table = axis_analyze(a, p.func);
    assert_int_equal(axis_get(table, offs)->contiguity[0], 128);
    assert_int_equal(axis_get(table, offs)->divisibility[0], 128);
    assert_int_equal(axis_get(table, at)->divisibility[0], 16);
    assert_int_equal(axis_get(table, mask)->constancy[0], 16);
    assert_int_equal(axis_get(table, row)->constancy[0], 32);
    assert_int_equal(axis_get(table, col)->contiguity[0], 32);
    assert_int_equal(axis_vector(table, at, mask, 0), 4);
    assert_int_equal(axis_vector(table, at, NULL, 0), 4);
    arg->n_attrs = 0; /* alignment of the base unknown */
    assert_int_equal(axis_vector(axis_analyze(a, p.func), at, mask, 0), 1);
    arena_free(a);
    close_program(&p);
}

/* A pointer that a loop moves by a multiple keeps its alignment; by an odd step it does not. */
static void carried_pointers_keep_what_every_step_keeps(void **state) {
    for (u32 odd = 0; odd < 2; odd++) {
        program p = new_program();
        ir_builder b = ir_at_end(p.m, p.body);
        const ir_type *i32t = ir_type_int(p.m, 32);
        const ir_type *ptr = ir_type_ptr(p.m, ir_type_int(p.m, 16), IR_SPACE_DEVICE);
        ir_value *arg = ir_block_arg(p.m, p.body, ptr, NULL);
        ir_named_attr hint = {ir_intern(p.m, "tt.divisibility", 15), ir_attr_i32(p.m, 16)};
        arg->attrs = &hint;
        arg->n_attrs = 1;
        ir_value *zero = ir_const_int(&b, i32t, 0), *end = ir_const_int(&b, i32t, 64);
        ir_op *loop = ir_build(&b, IR_scf_for, 4, (ir_value *[]){zero, end, ir_const_int(&b, i32t, 8), arg}, 1, &ptr, 1);
        ir_block *body = ir_block_new(p.m, &loop->regions[0]);
        ir_value *iv = ir_block_arg(p.m, body, i32t, NULL), *q = ir_block_arg(p.m, body, ptr, NULL);
        ir_builder in = ir_at_end(p.m, body);
        ir_value *next = ir_build1(&in, IR_tt_addptr, ptr, 2, (ir_value *[]){q, ir_const_int(&in, i32t, odd ? 3 : 64)});
        ir_build(&in, IR_scf_yield, 1, &next, 0, NULL, 0);
        arena *a = arena_new();
        axis_table *table = axis_analyze(a, p.func);
        assert_int_equal(axis_get(table, q)->divisibility[0], odd ? 2 : 16);
        assert_int_equal(axis_get(table, ir_result(loop, 0))->divisibility[0], odd ? 2 : 16);
        assert_int_equal(axis_get(table, iv)->divisibility[0], 8);
        arena_free(a);
        close_program(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_hold_for_all_values),
        cmocka_unit_test(the_usual_index_is_found),
        cmocka_unit_test(carried_pointers_keep_what_every_step_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
