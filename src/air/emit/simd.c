/* SPDX-License-Identifier: MIT */
/* Simdgroup functions: shuffles, reductions, 8x8 matrices. Shuffles exist for float and 32-bit
 * integers everywhere; narrower values travel in an i32, 64-bit ones as two. Reductions that Apple's
 * modules do not show (64 bits, and, or) are five shuffles. A matrix is a <64 x T> of which a lane
 * owns elements 0 and 1; load and store changed their signature with AIR 2.8. */
#include "air/emit/emit_in.h"

#include <stdio.h>
#include <stdlib.h>

enum reduce_kind { ADDF, MAXF, MINF, ADDI, MAXSI, MINSI, MAXUI, MINUI, ANDI, ORI, REDUCE_KINDS };

/* ---- Shuffles --------------------------------------------------------------------------------- */

static air_value *shuffle32(emit *e, bool is_xor, air_value *v, air_value *lane) {
    air_value *args[] = {v, lane};
    const char *name = is_xor ? (v->type->kind == AIR_FLOAT ? "air.simd_shuffle_xor.f32"
                                                            : "air.simd_shuffle_xor.u.i32")
                              : (v->type->kind == AIR_FLOAT ? "air.simd_shuffle.f32"
                                                            : "air.simd_shuffle.u.i32");
    return emit_call(e, name, EMIT_CONVERGENT, v->type, 2, args);
}

static air_value *shuffle64(emit *e, bool is_xor, air_value *v, air_value *lane) {
    air_value *pair = emit_cast(e, AIR_BITCAST, v, air_type_vector(e->m, emit_int_type(e, 32), 2));
    air_value *out = air_const_undef(e->m, pair->type);
    if (!is_xor) {
        air_value *args[] = {pair, lane};
        out = emit_call(e, "air.simd_shuffle.u.v2i32", EMIT_CONVERGENT, pair->type, 2, args);
    } else {
        for (u32 i = 0; i < 2; i++) {
            air_value *word = emit_extract(e, pair, i);
            out = emit_insert(e, out, shuffle32(e, true, word, lane), i);
        }
    }
    return emit_cast(e, AIR_BITCAST, out, v->type);
}

/* Any scalar; `lane` is an i16, the mask or the source lane. */
static air_value *shuffle(emit *e, bool is_xor, air_value *v, air_value *lane) {
    air_type *t = v->type, *i32t = emit_int_type(e, 32);
    if (t->kind == AIR_PTR) {
        air_value *address = emit_cast(e, AIR_PTRTOINT, v, emit_int_type(e, 64));
        return emit_pointer_of(e, shuffle64(e, is_xor, address, lane), t);
    }
    if (t->kind == AIR_FLOAT)
        return shuffle32(e, is_xor, v, lane);
    if (t->kind == AIR_INT && t->bits == 64)
        return shuffle64(e, is_xor, v, lane);
    if (t->kind == AIR_INT && t->bits == 32)
        return shuffle32(e, is_xor, v, lane);
    air_type *bits = t->kind == AIR_INT ? t : emit_int_type(e, 16);
    air_value *word = emit_cast(e, AIR_ZEXT, emit_cast(e, AIR_BITCAST, v, bits), i32t);
    air_value *moved = emit_cast(e, AIR_TRUNC, shuffle32(e, is_xor, word, lane), bits);
    return emit_cast(e, AIR_BITCAST, moved, t);
}

/* ---- Reductions ------------------------------------------------------------------------------- */

static const struct {
    const char *name;     /* of the 32-bit or half form; NULL: none */
    bool is_float, is_signed, is_max;
    u8 binop;             /* integers without a function */
} kinds[REDUCE_KINDS] = {
    [ADDF] = {"air.simd_sum", true, false, false, 0},
    [MAXF] = {"air.simd_max", true, false, true, 0},
    [MINF] = {"air.simd_min", true, false, false, 0},
    [ADDI] = {"air.simd_sum.s", false, true, false, AIR_ADD},
    [MAXSI] = {"air.simd_max.s", false, true, true, 0},
    [MINSI] = {"air.simd_min.s", false, true, false, 0},
    [MAXUI] = {"air.simd_max.u", false, false, true, 0},
    [MINUI] = {"air.simd_min.u", false, false, false, 0},
    [ANDI] = {NULL, false, false, false, AIR_AND},
    [ORI] = {NULL, false, false, false, AIR_OR},
};

static air_value *combine(emit *e, u32 kind, air_value *a, air_value *b) {
    air_value *args[] = {a, b};
    if (kind == ADDI || kind == ANDI || kind == ORI)
        return emit_bin(e, kinds[kind].binop, a, b);
    return emit_math(e, kinds[kind].is_max ? (kinds[kind].is_signed ? "air.max.s" : "air.max.u")
                                           : (kinds[kind].is_signed ? "air.min.s" : "air.min.u"),
                     2, args);
}

static air_value *call_reduce(emit *e, u32 kind, air_value *v) {
    char name[48];
    snprintf(name, sizeof name, "%s.%s", kinds[kind].name, emit_suffix(v->type));
    return emit_call(e, name, EMIT_CONVERGENT, v->type, 1, &v);
}

static air_value *reduce(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    i64 kind = ir_attr_get_int(op, "kind", -1);
    air_value *v = emit_operand(e, op, 0);
    if (kind < 0 || kind >= REDUCE_KINDS || kinds[kind].is_float != (t->kind == IR_FLOAT))
        return emit_refuse(e, TM4301, "this reduction");
    if (kinds[kind].is_float) {
        if (v->type->kind == AIR_FLOAT || v->type->kind == AIR_HALF)
            return call_reduce(e, (u32)kind, v);
        return emit_narrow(e, t, call_reduce(e, (u32)kind, emit_wide(e, t, v)));
    }
    air_type *own = v->type, *word = emit_int_type(e, 32);
    if (own->bits < 32)
        v = emit_cast(e, kinds[kind].is_signed ? AIR_SEXT : AIR_ZEXT, v, word);
    if (kinds[kind].name && v->type->bits == 32)
        return emit_cast(e, AIR_TRUNC, call_reduce(e, (u32)kind, v), own);
    for (u32 mask = 1; mask < 32; mask *= 2) {
        air_value *other = shuffle(e, true, v, emit_int(e, 16, mask));
        v = combine(e, (u32)kind, v, other);
    }
    return emit_cast(e, AIR_TRUNC, v, own);
}

/* ---- Matrices --------------------------------------------------------------------------------- */

static air_value *matrix_make(emit *e, air_type *matrix, air_value *a, air_value *b) {
    air_value *mask[64];
    air_type *pair = air_type_vector(e->m, matrix->elem, 2);
    air_value *two = emit_insert(e, air_const_undef(e->m, pair), a, 0);
    two = emit_insert(e, two, b, 1);
    for (u32 i = 0; i < 64; i++)
        mask[i] = i < 2 ? emit_int(e, 32, i) : air_const_undef(e->m, emit_int_type(e, 32));
    air_type *mask_type = air_type_vector(e->m, emit_int_type(e, 32), 64);
    air_value *ops[] = {two, air_const_undef(e->m, pair),
                        air_const_aggregate(e->m, mask_type, 64, mask)};
    return emit_inst(e, AIR_SHUFFLE, 0, matrix, 3, ops);
}

/* An element as the matrix holds it: bf16 without bfloat is float there. */
static air_value *matrix_element(emit *e, const ir_op *op, u32 i) {
    air_value *v = emit_operand(e, op, i);
    return emit_is_float(v->type) ? v : emit_wide(e, ir_operand(op, i)->type, v);
}

static air_value *matrix_fill(emit *e, const ir_op *op, air_type *matrix) {
    air_value *v = matrix_element(e, op, 0);
    if (v->type->kind != AIR_FLOAT || e->target->minor < 6)
        return matrix_make(e, matrix, v, v);
    return emit_call(e, "air.simdgroup_matrix_8x8_init_filled.v64f32.f32", EMIT_CONVERGENT, matrix,
                     1, &v);
}

static air_value *matrix_get(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    air_value *m = emit_operand(e, op, 0);
    air_value *v = emit_extract(e, m, (u32)ir_attr_get_int(op, "index", 0));
    return v->type == emit_type(e, t) ? v : emit_narrow(e, t, v);
}

static air_value *i64_pair(emit *e, u64 a, u64 b) {
    u64 words[2] = {a, b};
    u8 bytes[16];
    for (u32 i = 0; i < 16; i++)
        bytes[i] = (u8)(words[i / 8] >> (8 * (i % 8)));
    air_type *t = air_type_vector(e->m, emit_int_type(e, 64), 2);
    return a || b ? air_const_data(e->m, t, bytes, sizeof bytes, false) : air_const_null(e->m, t);
}

/* What follows the pointer in matrix load and store; returns how many. */
static u32 matrix_shape(emit *e, const ir_op *op, air_value *args[3]) {
    u64 stride = (u64)ir_attr_get_int(op, "stride", 8);
    bool transposed = ir_attr_get_int(op, "transposed", 0) != 0;
    if (e->target->minor >= 8) {
        args[0] = transposed ? i64_pair(e, 8, stride) : i64_pair(e, stride, 8);
        args[1] = transposed ? i64_pair(e, stride, 1) : i64_pair(e, 1, stride);
        args[2] = i64_pair(e, 0, 0);
    } else {
        args[0] = emit_int(e, 64, stride);
        args[1] = i64_pair(e, 0, 0);
        args[2] = emit_int(e, 1, transposed);
    }
    return 3;
}

/* Without bfloat: each lane reads its two elements and widens them (layout_fragment's map). */
static air_value *matrix_load_wide(emit *e, const ir_op *op, air_type *matrix, air_value *pointer) {
    u64 stride = (u64)ir_attr_get_int(op, "stride", 8);
    bool transposed = ir_attr_get_int(op, "transposed", 0) != 0;
    static const struct {
        u8 bit, row, column;
    } bits[] = {{0, 0, 2}, {1, 1, 0}, {2, 2, 0}, {3, 0, 4}, {4, 4, 0}};
    air_value *at = emit_int(e, 32, 0), *element[2];
    for (u32 i = 0; i < COUNT_OF(bits); i++) {
        u64 step = transposed ? bits[i].column * stride + bits[i].row
                              : bits[i].row * stride + bits[i].column;
        air_value *bit = emit_bin(e, AIR_LSHR, e->system[EMIT_LANE], emit_int(e, 32, bits[i].bit));
        bit = emit_bin(e, AIR_AND, bit, emit_int(e, 32, 1));
        bit = emit_bin(e, AIR_MUL, bit, emit_int(e, 32, step));
        at = emit_bin(e, AIR_ADD, at, bit);
    }
    const ir_type *t = ir_result(op, 0)->type->elem;
    for (u32 i = 0; i < 2; i++) {
        air_value *p = emit_gep(e, pointer, at);
        if (i)
            p = emit_gep(e, p, emit_int(e, 64, transposed ? stride : 1));
        element[i] = emit_wide(e, t, emit_load(e, p, 2, false));
    }
    return matrix_make(e, matrix, element[0], element[1]);
}

static air_value *matrix_load(emit *e, const ir_op *op, air_type *matrix) {
    air_value *args[4] = {emit_operand(e, op, 0)};
    air_type *elem = args[0]->type->elem;
    if (elem != matrix->elem)
        return matrix_load_wide(e, op, matrix, args[0]);
    u32 n = 1 + matrix_shape(e, op, args + 1);
    char name[80];
    snprintf(name, sizeof name, "air.simdgroup_matrix_8x8_load.v64%s.p%u%s", emit_suffix(elem),
             args[0]->type->space, emit_suffix(elem));
    return emit_call(e, name, EMIT_MATRIX_LOAD, matrix, n, args);
}

static void matrix_store(emit *e, const ir_op *op) {
    air_value *p = emit_operand(e, op, 0), *m = emit_operand(e, op, 1);
    air_value *args[5] = {m, p};
    if (m->type->elem != p->type->elem) {
        emit_refuse(e, TM4306, "a store of a bf16 matrix");
        return;
    }
    u32 n = 2 + matrix_shape(e, op, args + 2);
    char name[80];
    snprintf(name, sizeof name, "air.simdgroup_matrix_8x8_store.v64%s.p%u%s",
             emit_suffix(m->type->elem), p->type->space, emit_suffix(p->type->elem));
    emit_call(e, name, EMIT_MATRIX_STORE, air_type_simple(e->m, AIR_VOID), n, args);
}

static air_value *matrix_mma(emit *e, const ir_op *op) {
    air_value *args[] = {emit_operand(e, op, 0), emit_operand(e, op, 1), emit_operand(e, op, 2)};
    char name[120];
    snprintf(name, sizeof name,
             "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64%s.v64%s.v64f32",
             emit_suffix(args[0]->type->elem), emit_suffix(args[1]->type->elem));
    return emit_call(e, name, EMIT_CONVERGENT, args[2]->type, 3, args);
}

static air_value *matrix_op(emit *e, ir_op *op) {
    air_type *t = emit_type(e, ir_result(op, 0)->type);
    air_value *a, *b;
    if (!t)
        return NULL;
    switch (op->code) {
    case IR_tm_matrix_fill: return matrix_fill(e, op, t);
    case IR_tm_matrix_make:
        a = matrix_element(e, op, 0);
        b = matrix_element(e, op, 1);
        return matrix_make(e, t, a, b);
    case IR_tm_matrix_get: return matrix_get(e, op);
    case IR_tm_matrix_load: return matrix_load(e, op, t);
    default: return matrix_mma(e, op);
    }
}

bool emit_simd_op(emit *e, ir_op *op, air_value **out) {
    air_value *v, *lane;
    switch (op->code) {
    case IR_tm_shuffle_xor:
        lane = emit_int(e, 16, (u64)ir_attr_get_int(op, "mask", 0));
        *out = shuffle(e, true, emit_operand(e, op, 0), lane);
        return true;
    case IR_tm_shuffle:
        v = emit_operand(e, op, 0);
        lane = emit_cast(e, AIR_TRUNC, emit_operand(e, op, 1), emit_int_type(e, 16));
        *out = shuffle(e, false, v, lane);
        return true;
    case IR_tm_simd_reduce: *out = reduce(e, op); return true;
    case IR_tm_matrix_fill:
    case IR_tm_matrix_make:
    case IR_tm_matrix_get:
    case IR_tm_matrix_load:
    case IR_tm_matrix_mma: *out = matrix_op(e, op); return true;
    case IR_tm_matrix_store: matrix_store(e, op); return true;
    default: return false;
    }
}
