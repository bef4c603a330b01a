/* SPDX-License-Identifier: MIT */
/* Types, constants, the verifier, the rules, kernel metadata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sample.h"

static void types_have_airs_layout(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = air_module_new(ctx, "t");
    air_type *f = air_type_simple(m, AIR_FLOAT), *h = air_type_simple(m, AIR_HALF);
    air_type *i8_ = air_type_int(m, 8), *i64_ = air_type_int(m, 64);
    const struct {
        air_type *t;
        u64 size, align;
    } rows[] = {
        {air_type_int(m, 1), 1, 1},
        {air_type_int(m, 63), 8, 8},
        {h, 2, 2},
        {air_type_vector(m, f, 3), 16, 16},
        {air_type_vector(m, f, 8), 32, 32},
        {air_type_vector(m, f, 64), 256, 256},
        {air_type_vector(m, h, 3), 8, 8},
        {air_type_vector(m, i8_, 3), 4, 4},
        {air_type_array(m, f, 3), 12, 4},
        {air_type_ptr(m, f, 3), 8, 8},
        {air_type_struct(m, 3, (air_type *[]){i8_, i64_, h}, false, NULL), 24, 8},
        {air_type_struct(m, 3, (air_type *[]){i8_, i64_, h}, true, "packed"), 11, 1},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(air_size(rows[i].t), rows[i].size);
        assert_int_equal(air_align(rows[i].t), rows[i].align);
    }
    assert_int_equal(air_field_offset(rows[10].t, 2), 16);
    assert_int_equal(air_field_offset(rows[11].t, 2), 9);
    assert_ptr_equal(air_type_vector(m, f, 3), rows[3].t);
    assert_ptr_not_equal(air_type_struct(m, 0, NULL, false, "packed"), rows[11].t);
    air_module_free(m);
    ctx_free(ctx);
}

static void constants_have_one_form(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = air_module_new(ctx, "t");
    air_type *i32_ = air_type_int(m, 32), *v2 = air_type_vector(m, i32_, 2);
    air_value *zero = air_const_int(m, i32_, 0), *one = air_const_int(m, i32_, 1ull << 32 | 1);
    assert_ptr_equal(zero, air_const_null(m, i32_));
    assert_ptr_equal(one, air_const_int(m, i32_, 1));
    assert_ptr_equal(air_const_aggregate(m, v2, 2, (air_value *[]){zero, zero}),
                     air_const_null(m, v2));
    assert_ptr_equal(air_const_aggregate(m, v2, 2, (air_value *[]){one, zero}),
                     air_const_data(m, v2, (const u32[]){1, 0}, 8, false));
    air_value *undef = air_const_undef(m, i32_), *poison = air_const_poison(m, i32_);
    assert_ptr_equal(air_const_aggregate(m, v2, 2, (air_value *[]){undef, undef}),
                     air_const_undef(m, v2));
    air_value *mixed = air_const_aggregate(m, v2, 2, (air_value *[]){undef, poison});
    assert_int_equal(((air_const *)mixed)->kind, AIR_C_AGGREGATE);
    air_module_free(m);
    ctx_free(ctx);
}

typedef void (*breaker)(air_module *m);

static air_inst *inst(air_module *m, u32 n) {
    air_inst *i = m->funcs.at[0]->first->first;
    while (n--)
        i = i->next;
    return i;
}

/* The sample is: zext, getelementptr, store, ret. */
static void no_terminator(air_module *m) {
    air_block *b = m->funcs.at[0]->first;
    b->last = b->last->prev;
    b->last->next = NULL;
}
static void use_before_definition(air_module *m) { inst(m, 0)->ops[0] = &inst(m, 1)->v; }
static void wrong_store(air_module *m) { inst(m, 2)->ops[1] = inst(m, 1)->ops[1]; }
static void wrong_cast(air_module *m) { inst(m, 0)->sub = AIR_TRUNC; }
static void wrong_gep(air_module *m) { inst(m, 1)->aux = air_type_int(m, 32); }

static void the_verifier_finds_what_is_broken(void **state) {
    const breaker breakers[] = {no_terminator, use_before_definition, wrong_store, wrong_cast,
                                wrong_gep};
    for (u32 i = 0; i < COUNT_OF(breakers); i++) {
        tm_ctx *ctx = ctx_new();
        air_module *m = sample_kernel(ctx);
        assert_int_equal(air_verify(m), 0);
        breakers[i](m);
        assert_int_equal(air_verify(m), -1);
        assert_int_equal(diag_number(ctx->first->code), 4010);
        air_module_free(m);
        ctx_free(ctx);
    }
}

static void bad_triple(air_module *m) { m->triple = "x86_64-linux"; }
static void bad_layout(air_module *m) { m->datalayout = "e"; }
static void other_name(air_module *m) { m->source_name = "other"; }
static void no_ident(air_module *m) { m->named.count--; }
static void index_i32(air_module *m) {
    inst(m, 1)->ops[1] = &m->funcs.at[0]->args[1];
}
static void call_llvm_sin(air_module *m) {
    air_type *f = air_type_simple(m, AIR_FLOAT);
    air_func *sine = air_func_new(m, "llvm.sin.f32", air_type_func(m, f, 1, &f, false));
    air_block *b = m->funcs.at[0]->first;
    air_inst *ret = b->last;
    b->last = ret->prev;
    b->last->next = NULL;
    air_inst *c = air_inst_new(m, b, AIR_CALL, f, 2,
                               (air_value *[]){&sine->v, air_const_null(m, f)});
    c->aux = sine->func_type;
    c->next = ret;
    ret->prev = c;
    b->last = ret;
}
static void convert_by_cast(air_module *m) {
    inst(m, 0)->sub = AIR_UITOFP;
    inst(m, 0)->v.type = air_type_simple(m, AIR_FLOAT);
}
static void alloca_bool_store(air_module *m) {
    inst(m, 2)->ops[1] = air_const_int(m, air_type_int(m, 1), 1);
}

static void the_rules_find_what_apple_never_does(void **state) {
    const struct {
        breaker broken;
        const char *rule;
    } rows[] = {
        {bad_triple, "version"},        {bad_layout, "datalayout"},
        {other_name, "one_kernel"},     {no_ident, "ident"},
        {index_i32, "gep_index"},       {call_llvm_sin, "llvm_intrinsic"},
        {convert_by_cast, "int_float_cast"}, {alloca_bool_store, "memory_bool"},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        tm_ctx *ctx = ctx_new();
        air_module *m = sample_kernel(ctx);
        assert_int_equal(air_check_rules(m, 7), 0);
        rows[i].broken(m);
        assert_int_equal(air_check_rules(m, 7), -1);
        assert_int_equal(diag_number(ctx->first->code), 4201);
        char expected[60] = "AIR rule ";
        strcat(strcat(expected, rows[i].rule), " ");
        assert_memory_equal(ctx->first->message, expected, strlen(expected));
        air_module_free(m);
        ctx_free(ctx);
    }
}

static void intrinsics_are_known_by_name_and_type(void **state) {
    const struct {
        const char *name;
        bool two_params;
        int code; /* 0: nothing to say */
    } rows[] = {{"air.sin.f32", false, 0}, {"air.sin.f32", true, 4203}, {"air.sine.f32", false, 4202}};
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        tm_ctx *ctx = ctx_new();
        air_module *m = sample_kernel(ctx);
        air_type *f = air_type_simple(m, AIR_FLOAT), *params[] = {f, f};
        air_func_new(m, rows[i].name, air_type_func(m, f, 1 + rows[i].two_params, params, false));
        assert_int_equal(air_check_rules(m, 7), rows[i].code == 4203 ? -1 : 0);
        assert_int_equal(ctx->first ? diag_number(ctx->first->code) : 0, rows[i].code);
        air_module_free(m);
        ctx_free(ctx);
    }
}

static void kernel_metadata_is_read(void **state) {
    tm_ctx *ctx = ctx_new();
    air_module *m = sample_kernel(ctx);
    air_kernel k;
    assert_int_equal(air_kernel_read(m, &k), 0);
    assert_string_equal(k.name, "store_seven");
    assert_int_equal(k.n_args, 2);
    assert_int_equal(k.args[0].kind, AIR_ARG_BUFFER);
    assert_true(k.args[0].writes);
    assert_int_equal(k.args[0].space, 1);
    assert_int_equal(k.args[0].type_size, 4);
    assert_string_equal(k.args[0].name, "out");
    assert_int_equal(k.args[1].kind, AIR_ARG_SYSTEM);
    assert_string_equal(k.args[1].system, "thread_position_in_grid");
    assert_int_equal(k.max_threads, 128);
    assert_int_equal(k.air_minor, 7);
    assert_int_equal(k.lang_major, 3);
    m->named.at[0].n = 0;
    assert_int_equal(air_kernel_read(m, &k), -1);
    assert_int_equal(diag_number(ctx->first->code), 4006);
    air_module_free(m);
    ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_airs_layout),
        cmocka_unit_test(constants_have_one_form),
        cmocka_unit_test(the_verifier_finds_what_is_broken),
        cmocka_unit_test(the_rules_find_what_apple_never_does),
        cmocka_unit_test(intrinsics_are_known_by_name_and_type),
        cmocka_unit_test(kernel_metadata_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
