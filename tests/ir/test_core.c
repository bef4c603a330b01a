/* SPDX-License-Identifier: MIT */
/* Judges the data structure: interning, use lists, edits in place, clone, walk, numbering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "ir/format.h"
#include "ir/ir.h"
#include <math.h>
#include <stdio.h>

typedef struct fixture {
    tm_ctx *ctx;
    ir_module *m;
    const ir_type *i1, *i32, *f32;
    ir_op *func;
    ir_block *body;
    ir_value *a, *b; /* i32 arguments */
} fixture;

static int setup(void **state) {
    static fixture f;
    f.ctx = ctx_new();
    f.m = ir_module_new(f.ctx);
    f.i1 = ir_type_int(f.m, 1);
    f.i32 = ir_type_int(f.m, 32);
    f.f32 = ir_type_float(f.m, IR_F32);
    ir_builder b = ir_at_end(f.m, ir_module_body(f.m));
    f.func = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(f.m, f.func, "sym_name", ir_attr_string(f.m, "f", 1));
    f.body = ir_block_new(f.m, &f.func->regions[0]);
    f.a = ir_block_arg(f.m, f.body, f.i32, ir_loc_unknown(f.m));
    f.b = ir_block_arg(f.m, f.body, f.i32, ir_loc_unknown(f.m));
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    ir_module_free(f->m);
    ctx_free(f->ctx);
    return 0;
}

static void types_are_interned(void **state) {
    fixture *f = *state;
    i64 shape[] = {16, 32};
    const ir_type *t = ir_type_tensor(f->m, 2, shape, f->f32, NULL);
    assert_ptr_equal(t, ir_type_tensor(f->m, 2, (i64[]){16, 32}, f->f32, NULL));
    assert_ptr_not_equal(t, ir_type_tensor(f->m, 2, (i64[]){32, 16}, f->f32, NULL));
    assert_ptr_not_equal(f->i32, ir_type_int_sign(f->m, 32, 'u'));
    assert_ptr_equal(ir_type_with_elem(f->m, t, f->i1)->elem, f->i1);
    assert_ptr_equal(ir_type_with_elem(f->m, f->f32, f->i1), f->i1);
    assert_int_equal(ir_numel(t), 512);
    assert_int_equal(ir_type_bytes(t), 2048);
    assert_int_equal(ir_type_bytes(f->i1), 1);
    for (i64 i = 1; i < 1000; i++) /* growth keeps what was interned */
        ir_type_tensor(f->m, 1, &i, f->f32, NULL);
    assert_ptr_equal(t, ir_type_tensor(f->m, 2, shape, f->f32, NULL));
    const ir_type *fn = ir_type_func(f->m, 1, &t, 1, &f->f32);
    assert_ptr_not_equal(fn, ir_type_func(f->m, 2, (const ir_type *[]){t, f->f32}, 0, NULL));
}

static void equal_integers_are_equal_attributes(void **state) {
    fixture *f = *state;
    assert_ptr_equal(ir_attr_i32(f->m, -1), ir_attr_i32(f->m, 0xFFFFFFFF));
    assert_ptr_equal(ir_attr_bool(f->m, true), ir_attr_int(f->m, f->i1, -1));
    assert_int_equal(ir_attr_bool(f->m, true)->i, 1);
    assert_int_equal(ir_attr_int(f->m, ir_type_int_sign(f->m, 8, 'u'), 255)->i, 255);
    assert_int_equal(ir_attr_int(f->m, ir_type_int(f->m, 8), 255)->i, -1);
    assert_ptr_equal(ir_attr_string(f->m, "a\0b", 3), ir_attr_string(f->m, "a\0b", 3));
    assert_ptr_not_equal(ir_attr_string(f->m, "a\0b", 3), ir_attr_string(f->m, "a", 1));
    assert_ptr_equal(ir_attr_string(f->m, "", 0), ir_attr_string(f->m, "", 0));
}

static void attributes_of_an_op_can_change(void **state) {
    fixture *f = *state;
    char name[8];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "a%d", i);
        ir_attr_set(f->m, f->func, name, ir_attr_i32(f->m, i));
    }
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(ir_attr_get_int(f->func, name, -1), i);
    }
    ir_attr_remove(f->func, "a3");
    ir_attr_set(f->m, f->func, "a4", ir_attr_i32(f->m, 44));
    assert_null(ir_attr_get(f->func, "a3"));
    assert_int_equal(ir_attr_get_int(f->func, "a4", -1), 44);
    assert_int_equal(ir_attr_get_int(f->func, "a19", -1), 19);
    assert_int_equal(f->func->n_attrs, 20); /* sym_name and 19 */
}

static u32 count_uses(const ir_value *v) {
    u32 n = 0;
    for (const ir_use *u = v->uses; u; u = u->next)
        n++;
    return n;
}

static void uses_follow_edits(void **state) {
    fixture *f = *state;
    ir_builder b = ir_at_end(f->m, f->body);
    ir_value *x = ir_binary(&b, IR_arith_addi, f->a, f->a);
    ir_value *y = ir_binary(&b, IR_arith_muli, x, f->b);
    assert_int_equal(count_uses(f->a), 2);
    assert_true(ir_has_one_use(x));
    ir_set_operand(x->op, 1, f->b);
    assert_int_equal(count_uses(f->a), 1);
    ir_replace_uses(f->b, y); /* y uses itself now: only the lists matter here */
    assert_false(ir_has_uses(f->b));
    assert_int_equal(count_uses(y), 2);
    ir_replace_uses(y, f->a);
    ir_set_operands(f->m, y->op, 3, (ir_value *[]){f->a, f->b, x});
    assert_int_equal(count_uses(f->a), 3);
    assert_int_equal(y->op->n_operands, 3);
    ir_set_operands(f->m, y->op, 1, &x);
    assert_int_equal(count_uses(x), 1);
    ir_erase(y->op);
    assert_false(ir_has_uses(x));
    ir_erase(x->op);
    assert_false(ir_has_uses(f->a));
    assert_null(f->body->first);
    assert_null(f->body->last);
}

static void order_of(ir_block *b, char *out) {
    char *p = out;
    IR_FOR_EACH_OP(b, op)
        *p++ = (char)('0' + ir_attr_get_int(op, "value", 0));
    *p = 0;
    p = out + strlen(out);
    for (ir_op *op = b->last; op; op = op->prev) /* the list reads the same from behind */
        assert_int_equal(*--p, '0' + ir_attr_get_int(op, "value", 0));
}

static void ops_move(void **state) {
    fixture *f = *state;
    ir_builder b = ir_at_end(f->m, f->body);
    ir_op *op[4];
    char s[16];
    for (int i = 0; i < 4; i++)
        op[i] = ir_const_int(&b, f->i32, i)->op;
    ir_move_before(op[3], op[0]);
    order_of(f->body, s);
    assert_string_equal(s, "3012");
    ir_remove(op[0]);
    ir_builder at = ir_after(f->m, op[2]);
    ir_insert(&at, op[0]);
    order_of(f->body, s);
    assert_string_equal(s, "3120");
    at = ir_after_def(f->m, f->a);
    ir_const_int(&at, f->i32, 7);
    order_of(f->body, s);
    assert_string_equal(s, "73120");
    ir_block *other = ir_block_new(f->m, &f->func->regions[0]);
    b = ir_at_end(f->m, other);
    ir_const_int(&b, f->i32, 9);
    ir_splice(other, f->body);
    order_of(other, s);
    assert_string_equal(s, "973120");
    assert_null(f->body->first);
    assert_ptr_equal(op[1]->block, other);
}

/* if (c) { x = a + a; yield x } else { yield a } */
static ir_op *make_if(fixture *f) {
    ir_builder b = ir_at_end(f->m, f->body);
    ir_value *c = ir_compare(&b, IR_arith_cmpi, 2, f->a, f->b);
    ir_op *op = ir_build(&b, IR_scf_if, 1, &c, 1, &f->i32, 2);
    ir_builder in = ir_at_end(f->m, ir_block_new(f->m, &op->regions[0]));
    ir_value *x = ir_binary(&in, IR_arith_addi, f->a, f->a);
    ir_build(&in, IR_scf_yield, 1, &x, 0, NULL, 0);
    in = ir_at_end(f->m, ir_block_new(f->m, &op->regions[1]));
    ir_build(&in, IR_scf_yield, 1, &f->a, 0, NULL, 0);
    return op;
}

static void clone_maps_nested_values(void **state) {
    fixture *f = *state;
    ir_op *op = make_if(f);
    map *seen = map_new(f->m->arena);
    *map_put(seen, MAP_KEY(f->a)) = f->b;
    ir_builder b = ir_at_end(f->m, f->body);
    ir_op *copy = ir_clone(&b, op, seen);
    ir_op *add = copy->regions[0].first->first;
    assert_int_equal(add->code, IR_arith_addi);
    assert_ptr_equal(ir_operand(add, 0), f->b);
    assert_ptr_equal(ir_operand(add->next, 0), ir_result(add, 0));
    assert_ptr_equal(ir_operand(copy, 0), ir_operand(op, 0));
    assert_ptr_equal(*map_get(seen, MAP_KEY(ir_result(op, 0))), ir_result(copy, 0));
    assert_ptr_equal(ir_parent(add), copy);
    assert_true(ir_is_inside(add, f->func));
    assert_false(ir_is_inside(add, op));
    ir_erase(copy);
    assert_int_equal(count_uses(f->b), 1);
}

static void clone_follows_branches(void **state) {
    fixture *f = *state;
    ir_block *next = ir_block_new(f->m, &f->func->regions[0]);
    ir_value *arg = ir_block_arg(f->m, next, f->i32, ir_loc_unknown(f->m));
    ir_builder b = ir_at_end(f->m, f->body);
    ir_op *br = ir_build(&b, IR_cf_br, 1, &f->a, 0, NULL, 0);
    br->n_succs = 1;
    br->succs = ARENA_NEW(f->m->arena, ir_succ);
    *br->succs = (ir_succ){next, 0, 1};
    b = ir_at_end(f->m, next);
    ir_build(&b, IR_tt_return, 1, &arg, 0, NULL, 0);
    b = ir_at_end(f->m, ir_module_body(f->m));
    ir_op *copy = ir_clone(&b, f->func, map_new(f->m->arena));
    ir_block *first = copy->regions[0].first;
    assert_ptr_equal(first->last->succs[0].block, first->next);
    assert_ptr_equal(ir_operand(first->last, 0), first->args[0]);
    assert_ptr_equal(ir_operand(first->next->first, 0), first->next->args[0]);
    assert_ptr_equal(br->succs[0].block, next);
}

static void trace(ir_op *op, void *data) {
    char *s = data;
    snprintf(s + strlen(s), 200 - strlen(s), "%s ", ir_ops[op->code].name);
}

static void erase_ifs(ir_op *op, void *data) {
    trace(op, data);
    if (op->code == IR_scf_if)
        ir_erase(op);
}

static void walk_goes_parents_first(void **state) {
    fixture *f = *state;
    make_if(f);
    char s[200] = "";
    ir_walk(f->func, trace, s);
    assert_string_equal(s, "tt.func arith.cmpi scf.if arith.addi scf.yield scf.yield ");
    ir_builder b = ir_at_end(f->m, f->body);
    ir_build(&b, IR_tt_return, 0, NULL, 0, NULL, 0);
    s[0] = 0;
    ir_walk(f->func, erase_ifs, s);
    assert_string_equal(s, "tt.func arith.cmpi scf.if tt.return ");
    assert_int_equal(f->body->last->prev->code, IR_arith_cmpi);
}

static void numbers_are_dense(void **state) {
    fixture *f = *state;
    ir_op *op = make_if(f);
    assert_int_equal(ir_number(f->func), 5);
    assert_int_equal(f->a->mark, 0);
    assert_int_equal(f->b->mark, 1);
    assert_int_equal(ir_result(op, 0)->mark, 3);
    assert_int_equal(ir_result(op->regions[0].first->first, 0)->mark, 4);
}

static void constants_give_their_bits(void **state) {
    fixture *f = *state;
    ir_builder b = ir_at_end(f->m, f->body);
    i64 bits, shape = 8;
    assert_true(ir_constant_bits(ir_const_int(&b, f->i32, -5), &bits));
    assert_int_equal(bits, -5);
    const ir_type *t = ir_type_tensor(f->m, 1, &shape, ir_type_float(f->m, IR_F16), NULL);
    assert_true(ir_constant_bits(ir_const_float(&b, t, 1.5), &bits));
    assert_int_equal(bits, 0x3E00);
    assert_false(ir_constant_bits(f->a, &bits));
}

static void floats_round_to_even(void **state) {
    assert_int_equal(ir_float_encode(IR_BF16, 1.00390625), 0x3F80);  /* tie, to even */
    assert_int_equal(ir_float_encode(IR_BF16, 1.01171875), 0x3F82);  /* tie, to even */
    assert_int_equal(ir_float_encode(IR_F16, 65519.0), 0x7BFF);
    assert_int_equal(ir_float_encode(IR_F16, 65520.0), 0x7C00);      /* overflow */
    assert_int_equal(ir_float_encode(IR_F16, 0x1p-24), 1);           /* smallest subnormal */
    assert_int_equal(ir_float_encode(IR_F16, 0x1p-25), 0);
    assert_int_equal(ir_float_encode(IR_F32, -0.0), 0x80000000);
    assert_int_equal(ir_float_encode(IR_F32, 0x1.fffffep127), 0x7F7FFFFF);
    assert_int_equal(ir_float_encode(IR_F8E4M3FN, 448), 0x7E);
    assert_int_equal(ir_float_encode(IR_F8E4M3FN, INFINITY), 0x7F);
    assert_int_equal(ir_float_encode(IR_F8E5M2FNUZ, NAN), 0x80);
    for (u32 kind = IR_F16; kind <= IR_F8E4M3B15; kind++)
        for (u32 bits = 0; bits < 1u << MIN(ir_float_width(kind), 16u); bits++)
            if (ir_float_width(kind) <= 16 && !ir_float_is_special(kind, bits))
                assert_int_equal(ir_float_encode(kind, ir_float_decode(kind, bits)), bits);
    float x = 0.1f;
    u32 bits;
    memcpy(&bits, &x, 4);
    assert_int_equal(ir_float_encode(IR_F32, 0.1), bits);
    assert_true(ir_float_decode(IR_F32, bits) == (double)x);
}

static void the_kernel_is_the_one_public_function(void **state) {
    fixture *f = *state;
    assert_ptr_equal(ir_module_kernel(f->m), f->func);
    assert_ptr_equal(ir_module_func(f->m, "f"), f->func);
    assert_null(ir_module_func(f->m, "g"));
    ir_builder b = ir_at_end(f->m, ir_module_body(f->m));
    ir_op *g = ir_build(&b, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(f->m, g, "sym_name", ir_attr_string(f->m, "g", 1));
    assert_null(ir_module_kernel(f->m));
    assert_int_equal(diag_number(f->ctx->last->code), 1181);
    ir_attr_set(f->m, g, "sym_visibility", ir_attr_string(f->m, "private", 7));
    assert_ptr_equal(ir_module_kernel(f->m), f->func);
    ir_erase(f->func);
    assert_null(ir_module_kernel(f->m));
    assert_int_equal(diag_number(f->ctx->last->code), 1180);
}

static void a_source_place_knows_its_callers(void **state) {
    fixture *f = *state;
    const ir_loc *in = ir_loc_file(f->m, "a.py", 3, 7), *out = ir_loc_file(f->m, "b.py", 9, 1);
    src_loc at = ir_loc_source(f->m, ir_loc_call(f->m, in, out));
    assert_string_equal(at.file, "a.py");
    assert_int_equal(at.line, 3);
    assert_string_equal(at.caller->file, "b.py");
    assert_null(at.caller->caller);
    assert_null(ir_loc_source(f->m, ir_loc_unknown(f->m)).file);
    assert_ptr_equal(in, ir_loc_file(f->m, "a.py", 3, 7));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(types_are_interned),
        TEST(equal_integers_are_equal_attributes),
        TEST(attributes_of_an_op_can_change),
        TEST(uses_follow_edits),
        TEST(ops_move),
        TEST(clone_maps_nested_values),
        TEST(clone_follows_branches),
        TEST(walk_goes_parents_first),
        TEST(numbers_are_dense),
        TEST(constants_give_their_bits),
        TEST(floats_round_to_even),
        TEST(the_kernel_is_the_one_public_function),
        TEST(a_source_place_knows_its_callers),
    };
    return cmocka_run_group_tests_name("ir core", tests, NULL, NULL);
}
