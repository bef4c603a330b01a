/* SPDX-License-Identifier: MIT */
/* Judges the checker of tile IR with layouts: it accepts a right module and refuses each way of
 * being wrong: no layout, holes, doubled registers, another shape, operands that do not fit, a
 * dot's operands, carried tensors that change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tile/tile.h"

typedef struct fixture {
    tm_ctx *ctx;
    ir_module *m;
    ir_builder b;
} fixture;

static fixture start(void) {
    fixture f = {.ctx = ctx_new()};
    f.m = ir_module_new(f.ctx);
    ir_builder top = ir_at_end(f.m, ir_module_body(f.m));
    ir_op *func = ir_build(&top, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(f.m, func, "sym_name", ir_attr_string(f.m, "k", 1));
    f.b = ir_at_end(f.m, ir_block_new(f.m, &func->regions[0]));
    return f;
}

static tm_status finish(fixture *f) {
    ir_build(&f->b, IR_tt_return, 0, NULL, 0, NULL, 0);
    tm_status status = layouts_verify(f->m);
    assert_int_equal(status != 0, f->ctx->errors != 0);
    ir_module_free(f->m);
    ctx_free(f->ctx);
    return status;
}

static layout rows_of(u32 rank, const i64 *shape, u32 vector_log2) {
    u8 order[3], per[3] = {0};
    for (u32 i = 0; i < rank; i++)
        order[i] = (u8)(rank - 1 - i);
    per[rank - 1] = (u8)vector_log2;
    return layout_blocked(rank, shape, order, per, 2);
}

static const ir_type *tensor(fixture *f, u32 rank, const i64 *shape, const ir_type *elem,
                             const layout *l) {
    return ir_type_tensor(f->m, rank, shape, elem, l ? ir_attr_layout(f->m, l) : NULL);
}

static ir_value *constant(fixture *f, const ir_type *t) {
    return ir_const_float(&f->b, t, 1.0);
}

static const i64 square[] = {64, 64};

static void a_right_module_passes(void **state) {
    fixture f = start();
    const ir_type *f32 = ir_type_float(f.m, IR_F32), *f16 = ir_type_float(f.m, IR_F16);
    layout c = layout_fragment(2, square, 1, 1, 2);
    layout a = layout_dot_operand(&c, 0, square), b = layout_dot_operand(&c, 1, square);
    ir_value *in[] = {constant(&f, tensor(&f, 2, square, f16, &a)),
                      constant(&f, tensor(&f, 2, square, f16, &b)),
                      constant(&f, tensor(&f, 2, square, f32, &c))};
    ir_value *dot = ir_build1(&f.b, IR_tt_dot, in[2]->type, 3, in);
    ir_binary(&f.b, IR_arith_addf, dot, in[2]);
    assert_int_equal(finish(&f), 0);
}

static void missing_and_broken_layouts_are_refused(void **state) {
    layout good = rows_of(2, square, 2), holes = good, twice = good, shape = good;
    holes.base[LAYOUT_LANE][0] = 0;
    twice.base[LAYOUT_REG][twice.in_bits[LAYOUT_REG]++] = twice.base[LAYOUT_REG][0];
    shape.dim_bits[0]--;
    shape.dim_bits[1]++;
    const layout *bad[] = {NULL, &holes, &twice, &shape};
    for (u32 i = 0; i < COUNT_OF(bad); i++) {
        fixture f = start();
        constant(&f, tensor(&f, 2, square, ir_type_float(f.m, IR_F32), bad[i]));
        assert_int_equal(finish(&f), -1);
    }
}

static void operands_must_fit(void **state) {
    fixture f = start();
    const ir_type *f32 = ir_type_float(f.m, IR_F32);
    layout x = rows_of(2, square, 2), y = rows_of(2, square, 3);
    ir_value *in[] = {constant(&f, tensor(&f, 2, square, f32, &x)),
                      constant(&f, tensor(&f, 2, square, f32, &y))};
    ir_build1(&f.b, IR_arith_addf, in[0]->type, 2, in);
    assert_int_equal(finish(&f), -1);

    f = start();
    f32 = ir_type_float(f.m, IR_F32);
    const i64 row[] = {1, 64};
    layout source = rows_of(2, row, 1), result = rows_of(2, square, 2);
    ir_value *r = constant(&f, tensor(&f, 2, row, f32, &source));
    ir_unary(&f.b, IR_tt_broadcast, tensor(&f, 2, square, f32, &result), r);
    assert_int_equal(finish(&f), -1);
}

static void dot_operands_must_follow_the_result(void **state) {
    for (u32 wrong = 0; wrong < 3; wrong++) {
        fixture f = start();
        const ir_type *f32 = ir_type_float(f.m, IR_F32), *f16 = ir_type_float(f.m, IR_F16);
        layout c = layout_fragment(2, square, 1, 1, 2), blocked = rows_of(2, square, 2);
        layout l[] = {layout_dot_operand(&c, 0, square), layout_dot_operand(&c, 1, square), c};
        l[wrong] = wrong == 2 ? blocked : c;
        ir_value *in[] = {constant(&f, tensor(&f, 2, square, f16, &l[0])),
                          constant(&f, tensor(&f, 2, square, f16, &l[1])),
                          constant(&f, tensor(&f, 2, square, f32, &l[2]))};
        ir_build1(&f.b, IR_tt_dot, in[2]->type, 3, in);
        assert_int_equal(finish(&f), -1);
    }
}

static void carried_tensors_must_keep_their_layout(void **state) {
    for (u32 wrong = 0; wrong < 2; wrong++) {
        fixture f = start();
        const ir_type *f32 = ir_type_float(f.m, IR_F32), *i32_type = ir_type_int(f.m, 32);
        layout x = rows_of(2, square, 2), y = rows_of(2, square, 3);
        const ir_type *tx = tensor(&f, 2, square, f32, &x), *ty = tensor(&f, 2, square, f32, &y);
        ir_value *zero = ir_const_int(&f.b, i32_type, 0), *one = ir_const_int(&f.b, i32_type, 1);
        ir_value *in[] = {zero, one, one, constant(&f, wrong ? ty : tx)};
        ir_op *loop = ir_build(&f.b, IR_scf_for, 4, in, 1, &tx, 1);
        ir_block *body = ir_block_new(f.m, &loop->regions[0]);
        ir_block_arg(f.m, body, i32_type, NULL);
        ir_value *arg = ir_block_arg(f.m, body, tx, NULL);
        ir_builder inside = ir_at_end(f.m, body);
        ir_build(&inside, IR_scf_yield, 1, &arg, 0, NULL, 0);
        assert_int_equal(finish(&f), wrong ? -1 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_module_passes),
        cmocka_unit_test(missing_and_broken_layouts_are_refused),
        cmocka_unit_test(operands_must_fit),
        cmocka_unit_test(dot_operands_must_follow_the_result),
        cmocka_unit_test(carried_tensors_must_keep_their_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
