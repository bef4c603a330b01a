/* SPDX-License-Identifier: MIT */
/* Integers, comparisons, constants, ids, pointers: operations without memory or regions. Integer
 * arithmetic is native at every width from i1 to i64, as in Apple's modules; what has no instruction
 * (the high half of a product, ceiling and floor division) is expanded here. emit_op tries the tables
 * below, then the files for floats, memory, simdgroups and atomics; what none knows is refused. */
/* Code is written in the order of C statements, never in that of a call's arguments, which compilers
 * choose: the output must not depend on who compiled us. */
#include "air/emit/emit_in.h"

static const struct {
    u16 code;
    u8 sub;
} int_binary[] = {
    {IR_arith_addi, AIR_ADD},    {IR_arith_subi, AIR_SUB},    {IR_arith_muli, AIR_MUL},
    {IR_arith_divsi, AIR_SDIV},  {IR_arith_divui, AIR_UDIV},  {IR_arith_remsi, AIR_SREM},
    {IR_arith_remui, AIR_UREM},  {IR_arith_andi, AIR_AND},    {IR_arith_ori, AIR_OR},
    {IR_arith_xori, AIR_XOR},    {IR_arith_shli, AIR_SHL},    {IR_arith_shrsi, AIR_ASHR},
    {IR_arith_shrui, AIR_LSHR},
};

/* LLVM's icmp numbers for arith.cmpi's predicates. */
static const u8 icmp[] = {32, 33, 40, 41, 38, 39, 36, 37, 34, 35};

enum { ICMP_EQ = 32, ICMP_NE = 33, ICMP_UGT = 34, ICMP_ULT = 36, ICMP_SGT = 38, ICMP_SLT = 40 };

static air_value *constant(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    air_type *type = emit_type(e, t);
    i64 bits = 0;
    if (!type)
        return NULL;
    if (!ir_constant_bits(ir_result(op, 0), &bits))
        return emit_refuse(e, TM4301, "a constant of this kind");
    if (emit_is_float(type))
        return air_const_float(e->m, type, (u64)bits & (type->kind == AIR_FLOAT ? 0xFFFFFFFFu : 0xFFFFu));
    if (type->kind == AIR_INT)
        return emit_int_of(e, type, (u64)bits);
    return air_const_null(e->m, type);
}

/* air.min.s.i32 and its kin; on i1, where -1 < 0, min and max are and, or. */
static air_value *int_minmax(emit *e, air_value *a, air_value *b, bool max, bool is_signed) {
    if (a->type->bits == 1)
        return emit_bin(e, max != is_signed ? AIR_OR : AIR_AND, a, b);
    air_value *args[] = {a, b};
    return emit_math(e, max ? (is_signed ? "air.max.s" : "air.max.u")
                            : (is_signed ? "air.min.s" : "air.min.u"), 2, args);
}

air_value *emit_mulhi(emit *e, air_value *a, air_value *b, bool is_signed) {
    u32 bits = a->type->bits;
    enum air_cast extend = is_signed ? AIR_SEXT : AIR_ZEXT;
    if (bits < 64) {
        air_type *wide = emit_int_type(e, bits * 2);
        air_value *x = emit_cast(e, extend, a, wide), *y = emit_cast(e, extend, b, wide);
        air_value *p = emit_bin(e, AIR_MUL, x, y);
        return emit_cast(e, AIR_TRUNC, emit_bin(e, AIR_LSHR, p, emit_int_of(e, wide, bits)), a->type);
    }
    /* Halves of 32 bits: a = ah * 2^32 + al. The high parts carry the sign. */
    air_value *low = emit_int(e, 64, 0xFFFFFFFFu), *half = emit_int(e, 64, 32);
    enum air_binop shift = is_signed ? AIR_ASHR : AIR_LSHR;
    air_value *al = emit_bin(e, AIR_AND, a, low), *ah = emit_bin(e, shift, a, half);
    air_value *bl = emit_bin(e, AIR_AND, b, low), *bh = emit_bin(e, shift, b, half);
    air_value *carry = emit_bin(e, AIR_LSHR, emit_bin(e, AIR_MUL, al, bl), half);
    air_value *m1 = emit_bin(e, AIR_ADD, emit_bin(e, AIR_MUL, ah, bl), carry);
    air_value *m1_low = emit_bin(e, AIR_AND, m1, low), *m1_high = emit_bin(e, shift, m1, half);
    air_value *m2 = emit_bin(e, AIR_ADD, emit_bin(e, AIR_MUL, al, bh), m1_low);
    air_value *top = emit_bin(e, AIR_ADD, emit_bin(e, AIR_MUL, ah, bh), m1_high);
    return emit_bin(e, AIR_ADD, top, emit_bin(e, shift, m2, half));
}

/* Quotient rounded down (or up): the truncated one, corrected when the signs say that truncation went
 * the wrong way and there is a remainder. */
static air_value *round_div(emit *e, air_value *a, air_value *b, bool up) {
    air_value *zero = emit_int_of(e, a->type, 0);
    air_value *q = emit_bin(e, AIR_SDIV, a, b), *r = emit_bin(e, AIR_SREM, a, b);
    air_value *inexact = emit_cmp(e, ICMP_NE, r, zero);
    air_value *opposite = emit_cmp(e, ICMP_SLT, emit_bin(e, AIR_XOR, a, b), zero);
    if (up)
        opposite = emit_bin(e, AIR_XOR, opposite, emit_int(e, 1, 1));
    air_value *fix = emit_cast(e, AIR_ZEXT, emit_bin(e, AIR_AND, inexact, opposite), a->type);
    return emit_bin(e, up ? AIR_ADD : AIR_SUB, q, fix);
}

static air_value *ceil_div_unsigned(emit *e, air_value *a, air_value *b) {
    air_value *zero = emit_int_of(e, a->type, 0);
    air_value *r = emit_bin(e, AIR_UREM, a, b);
    air_value *more = emit_cast(e, AIR_ZEXT, emit_cmp(e, ICMP_NE, r, zero), a->type);
    return emit_bin(e, AIR_ADD, emit_bin(e, AIR_UDIV, a, b), more);
}

static air_value *int_cast(emit *e, const ir_op *op, enum air_cast extend) {
    air_value *v = emit_operand(e, op, 0);
    air_type *t = emit_type(e, ir_result(op, 0)->type);
    if (!t)
        return NULL;
    return emit_cast(e, t->bits < v->type->bits ? AIR_TRUNC : extend, v, t);
}

/* Same bits, another type: between pointers, and between numbers of one width. */
static air_value *bitcast(emit *e, const ir_op *op) {
    air_type *t = emit_type(e, ir_result(op, 0)->type);
    return t ? emit_cast(e, AIR_BITCAST, emit_operand(e, op, 0), t) : NULL;
}

static air_value *grid_value(emit *e, const ir_op *op, enum emit_system s) {
    air_value *v = e->system[s];
    return e->wide_ids ? emit_extract(e, v, (u32)ir_attr_get_int(op, "axis", 0)) : v;
}

static air_value *add_pointer_offset(emit *e, const ir_op *op) {
    air_value *p = emit_operand(e, op, 0), *offset = emit_operand(e, op, 1);
    return emit_gep(e, p, offset);
}

air_value *emit_pointer_of(emit *e, air_value *address, air_type *pointer) {
    /* Apple's modules never use inttoptr: the bits go through a thread-local slot. */
    air_value *slot = emit_slot(e, emit_int_type(e, 64));
    emit_store(e, slot, address, 8, false);
    air_value *typed = emit_cast(e, AIR_BITCAST, slot, air_type_ptr(e->m, pointer, 0));
    return emit_load(e, typed, 8, false);
}

static air_value *int_op(emit *e, ir_op *op) {
    air_value *a = op->n_operands > 0 ? emit_operand(e, op, 0) : NULL;
    air_value *b = op->n_operands > 1 ? emit_operand(e, op, 1) : NULL;
    for (size_t i = 0; i < COUNT_OF(int_binary); i++)
        if (int_binary[i].code == op->code)
            return emit_bin(e, int_binary[i].sub, a, b);
    switch (op->code) {
    case IR_arith_minsi: return int_minmax(e, a, b, false, true);
    case IR_arith_minui: return int_minmax(e, a, b, false, false);
    case IR_arith_maxsi: return int_minmax(e, a, b, true, true);
    case IR_arith_maxui: return int_minmax(e, a, b, true, false);
    case IR_arith_ceildivsi: return round_div(e, a, b, true);
    case IR_arith_floordivsi: return round_div(e, a, b, false);
    case IR_arith_ceildivui: return ceil_div_unsigned(e, a, b);
    case IR_tt_mulhiui: return emit_mulhi(e, a, b, false);
    case IR_math_absi: return a->type->bits == 1 ? a : emit_math(e, "air.abs.s", 1, &a);
    case IR_arith_cmpi: {
        i64 predicate = ir_attr_get_int(op, "predicate", 0);
        return predicate >= 0 && predicate < (i64)sizeof icmp
                   ? emit_cmp(e, icmp[predicate], a, b)
                   : emit_refuse(e, TM4301, "this comparison");
    }
    case IR_arith_select: return emit_select(e, a, b, emit_operand(e, op, 2));
    case IR_arith_extsi: return int_cast(e, op, AIR_SEXT);
    case IR_arith_extui: return int_cast(e, op, AIR_ZEXT);
    case IR_arith_trunci: return int_cast(e, op, AIR_TRUNC);
    case IR_arith_index_cast: return int_cast(e, op, AIR_SEXT);
    case IR_arith_bitcast:
    case IR_tt_bitcast: return bitcast(e, op);
    default: return NULL;
    }
}

static air_value *other_op(emit *e, ir_op *op) {
    air_type *t;
    switch (op->code) {
    case IR_arith_constant: return constant(e, op);
    case IR_ub_poison:
        t = emit_type(e, ir_result(op, 0)->type);
        return t ? air_const_undef(e->m, t) : NULL;
    case IR_tt_get_program_id: return grid_value(e, op, EMIT_GROUP_ID);
    case IR_tt_get_num_programs: return grid_value(e, op, EMIT_GROUPS);
    case IR_tm_lane_id: return e->system[EMIT_LANE];
    case IR_tm_warp_id: return e->system[EMIT_WARP];
    case IR_tt_addptr: return add_pointer_offset(e, op);
    case IR_tt_ptr_to_int:
        return emit_cast(e, AIR_PTRTOINT, emit_operand(e, op, 0), emit_int_type(e, 64));
    case IR_tt_int_to_ptr:
        t = emit_type(e, ir_result(op, 0)->type);
        return t ? emit_pointer_of(e, emit_operand(e, op, 0), t) : NULL;
    case IR_tt_extern_elementwise: return emit_extern(e, op);
    default: return NULL;
    }
}

tm_status emit_op(emit *e, ir_op *op) {
    air_value *out = NULL;
    if (op->code == IR_llvm_assume)
        return 0;
    bool known = emit_float_op(e, op, &out) || emit_memory_op(e, op, &out) ||
                 emit_simd_op(e, op, &out) || emit_atomic_op(e, op, &out);
    if (!known) {
        out = other_op(e, op);
        if (!out && !e->failed)
            out = int_op(e, op);
        known = out != NULL;
    }
    if (!known && !e->failed)
        emit_refuse(e, TM4301, op->other_name ? op->other_name : ir_ops[op->code].name);
    if (e->failed)
        return -1;
    if (op->n_results)
        e->values[ir_result(op, 0)->mark] = out;
    return 0;
}
