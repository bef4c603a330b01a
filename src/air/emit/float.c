/* SPDX-License-Identifier: MIT */
/* Floats. Arithmetic is the native instruction of the type and rounds to it; functions that Apple's
 * modules never show on half or bfloat are computed in float. exp, exp2 and rsqrt take the fast forms,
 * everything else the precise ones. Integer conversions are air.convert calls, as Apple never emits
 * sitofp and its kin. min and max follow MLIR: the "num" forms drop a NaN, the others keep it.
 * A bf16 without the bfloat type is an i16; it widens by a shift, and narrows by adding half a unit
 * (ties to even) below bit 16. */
#include "air/emit/emit_in.h"

#include <stdio.h>

enum { FCMP_OEQ = 1, FCMP_OGT = 2, FCMP_OGE = 3, FCMP_OLT = 4, FCMP_UNO = 8, ICMP_NE = 33 };

/* ---- Widening and narrowing ------------------------------------------------------------------- */

static bool is_bf16(const ir_type *t) { return t->kind == IR_FLOAT && t->float_kind == IR_BF16; }

static air_value *float_bits(emit *e, air_value *x) {
    return emit_cast(e, AIR_BITCAST, x, emit_int_type(e, 32));
}

static air_value *bits_float(emit *e, air_value *bits) {
    return emit_cast(e, AIR_BITCAST, bits, emit_f32(e));
}

air_value *emit_wide(emit *e, const ir_type *t, air_value *v) {
    if (v->type->kind == AIR_INT && is_bf16(t)) {
        air_value *bits = emit_cast(e, AIR_ZEXT, v, emit_int_type(e, 32));
        return bits_float(e, emit_bin(e, AIR_SHL, bits, emit_int(e, 32, 16)));
    }
    return emit_cast(e, AIR_FPEXT, v, emit_f32(e));
}

static air_value *high_half(emit *e, air_value *bits) {
    air_value *high = emit_bin(e, AIR_LSHR, bits, emit_int(e, 32, 16));
    return emit_cast(e, AIR_TRUNC, high, emit_int_type(e, 16));
}

air_value *emit_narrow(emit *e, const ir_type *t, air_value *v) {
    if (!is_bf16(t) || e->bfloat)
        return emit_cast(e, AIR_FPTRUNC, v, emit_type(e, t));
    air_value *bits = float_bits(e, v), *nan = emit_cmp(e, FCMP_UNO, v, v);
    air_value *odd = emit_bin(e, AIR_LSHR, bits, emit_int(e, 32, 16));
    odd = emit_bin(e, AIR_AND, odd, emit_int(e, 32, 1));
    air_value *sum = emit_bin(e, AIR_ADD, bits, emit_int(e, 32, 0x7FFF));
    sum = emit_bin(e, AIR_ADD, sum, odd);
    air_value *quiet = emit_bin(e, AIR_OR, bits, emit_int(e, 32, 0x400000));
    return high_half(e, emit_select(e, nan, quiet, sum));
}

/* Towards zero. bf16 drops bits; half rounds to nearest and steps back one unit where that went up,
 * which also turns an overflow to infinity into the largest number. */
static air_value *narrow_to_zero(emit *e, const ir_type *t, air_value *v) {
    if (is_bf16(t)) {
        air_value *bits = float_bits(e, v), *nan = emit_cmp(e, FCMP_UNO, v, v);
        air_value *quiet = emit_bin(e, AIR_OR, bits, emit_int(e, 32, 0x400000));
        air_value *half = high_half(e, emit_select(e, nan, quiet, bits));
        return emit_cast(e, AIR_BITCAST, half, emit_type(e, t));
    }
    air_value *near = emit_narrow(e, t, v), *back = emit_wide(e, t, near);
    air_value *a = emit_math(e, "air.fabs", 1, &back), *b = emit_math(e, "air.fabs", 1, &v);
    air_value *up = emit_cmp(e, FCMP_OGT, a, b);
    air_value *bits = emit_cast(e, AIR_BITCAST, near, emit_int_type(e, 16));
    air_value *less = emit_bin(e, AIR_SUB, bits, emit_int(e, 16, 1));
    return emit_cast(e, AIR_BITCAST, emit_select(e, up, less, bits), near->type);
}

/* ---- Arithmetic ------------------------------------------------------------------------------- */

static bool is_emulated(const air_value *v) { return v->type->kind == AIR_INT; }

static air_value *float_bin(emit *e, const ir_type *t, enum air_binop sub, air_value *a,
                            air_value *b) {
    if (!is_emulated(a))
        return emit_bin(e, sub, a, b);
    air_value *x = emit_wide(e, t, a), *y = emit_wide(e, t, b);
    return emit_narrow(e, t, emit_bin(e, sub, x, y));
}

/* Functions: in float unless `native` says that the type has its own. */
static air_value *function(emit *e, const ir_type *t, const char *stem, bool half_native, u32 n,
                           air_value *const *args) {
    air_value *wide[4];
    if (args[0]->type->kind == AIR_FLOAT || (args[0]->type->kind == AIR_HALF && half_native))
        return emit_math(e, stem, n, args);
    for (u32 i = 0; i < n; i++)
        wide[i] = emit_wide(e, t, args[i]);
    return emit_narrow(e, t, emit_math(e, stem, n, wide));
}

air_value *emit_minmax(emit *e, const ir_type *t, bool max, bool nan_wins, air_value *a,
                       air_value *b) {
    bool through_float = a->type->kind == AIR_BFLOAT || is_emulated(a);
    air_value *args[] = {a, b};
    if (through_float) {
        args[0] = emit_wide(e, t, a);
        args[1] = emit_wide(e, t, b);
    }
    air_value *r = emit_math(e, max ? "air.fmax" : "air.fmin", 2, args);
    if (nan_wins) {
        air_value *nan = emit_cmp(e, FCMP_UNO, args[0], args[1]);
        u64 bits = r->type->kind == AIR_HALF ? 0x7E00 : 0x7FC00000;
        r = emit_select(e, nan, air_const_float(e->m, r->type, bits), r);
    }
    return through_float ? emit_narrow(e, t, r) : r;
}

static air_value *clamp(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    air_value *x = emit_operand(e, op, 0), *lo = emit_operand(e, op, 1);
    air_value *hi = emit_operand(e, op, 2);
    bool all = ir_attr_get_int(op, "propagateNan", 0) != 0;
    air_value *low = emit_minmax(e, t, true, all, x, lo);
    return emit_minmax(e, t, false, all, low, hi);
}

/* The sign bit, on the bits where the value is not a native half or float. */
static air_value *sign_op(emit *e, const ir_type *t, bool negate, air_value *x) {
    if (negate && !is_emulated(x))
        return emit_inst(e, AIR_FNEG, 0, x->type, 1, &x);
    if (!is_bf16(t))
        return emit_math(e, "air.fabs", 1, &x);
    air_value *bits = emit_cast(e, AIR_BITCAST, x, emit_int_type(e, 16));
    bits = negate ? emit_bin(e, AIR_XOR, bits, emit_int(e, 16, 0x8000))
                  : emit_bin(e, AIR_AND, bits, emit_int(e, 16, 0x7FFF));
    return emit_cast(e, AIR_BITCAST, bits, x->type);
}

air_value *emit_horner(emit *e, const double *c, u32 n, air_value *x) {
    air_value *r = emit_float(e, c[n - 1]);
    for (u32 i = n - 1; i-- > 0;) {
        air_value *args[] = {r, x, emit_float(e, c[i])};
        r = emit_math(e, "air.fma", 3, args);
    }
    return r;
}

/* erf. Both parts are own least-maximum fits (Lawson iteration over Chebyshev points, double
 * precision): |x| < 1: x + x * p(x * x), relative error 1.2e-9; else 1 - exp(q(|x|)), where q fits
 * log(erfc) on [1, 4], error 1.1e-9 of the result. erf(4) is 1 in float. */
air_value *emit_erf(emit *e, air_value *x) {
    static const double p[] = {0.12837916612625122,    -0.3761262595653534,  0.1128358542919159,
                               -0.026853810995817184,  0.005188327748328447, -0.0008010192541405559,
                               7.853857823647559e-05};
    static const double q[] = {-0.00034151258296333253, -1.127089262008667,   -0.6381447315216064,
                               -0.10310681909322739,    0.021838096901774406, -0.0029476669151335955,
                               0.0001863800862338394};
    air_value *square = emit_bin(e, AIR_MUL, x, x);
    air_value *near_args[] = {x, emit_horner(e, p, COUNT_OF(p), square), x};
    air_value *near = emit_math(e, "air.fma", 3, near_args);
    air_value *a = emit_math(e, "air.fabs", 1, &x);
    air_value *capped_args[] = {a, emit_float(e, 4)};
    air_value *capped = emit_math(e, "air.fmin", 2, capped_args);
    air_value *log_tail = emit_horner(e, q, COUNT_OF(q), capped);
    air_value *tail = emit_math(e, "air.exp", 1, &log_tail);
    air_value *far = emit_bin(e, AIR_SUB, emit_float(e, 1), tail);
    air_value *minus = emit_inst(e, AIR_FNEG, 0, far->type, 1, &far);
    air_value *negative = emit_cmp(e, FCMP_OLT, x, emit_float(e, 0));
    air_value *signed_far = emit_select(e, negative, minus, far);
    air_value *is_far = emit_cmp(e, FCMP_OGE, a, emit_float(e, 1)); /* false for NaN */
    return emit_select(e, is_far, signed_far, near);
}

/* ---- Conversions ------------------------------------------------------------------------------ */

static air_value *convert(emit *e, char to_kind, air_type *to, char from_kind, air_value *v) {
    char name[64];
    snprintf(name, sizeof name, "air.convert.%c.%s.%c.%s", to_kind, emit_suffix(to), from_kind,
             emit_suffix(v->type));
    return emit_call(e, name, EMIT_PURE, to, 1, &v);
}

static air_value *int_to_float(emit *e, const ir_op *op, bool is_signed) {
    const ir_type *t = ir_result(op, 0)->type;
    air_type *type = emit_type(e, t);
    if (!type)
        return NULL;
    air_value *v = emit_operand(e, op, 0);
    air_type *to = emit_is_float(type) ? type : emit_f32(e);
    air_value *r;
    if (v->type->bits == 1 && is_signed) {
        r = emit_select(e, v, emit_float(e, -1), emit_float(e, 0));
        return emit_narrow(e, t, r);
    }
    r = convert(e, 'f', to, is_signed ? 's' : 'u', v);
    return to == type ? r : emit_narrow(e, t, r);
}

static air_value *float_to_int(emit *e, const ir_op *op, bool is_signed) {
    air_type *to = emit_type(e, ir_result(op, 0)->type);
    if (!to)
        return NULL;
    air_value *v = emit_operand(e, op, 0);
    if (!emit_is_float(v->type))
        v = emit_wide(e, ir_operand(op, 0)->type, v);
    if (to->bits > 1)
        return convert(e, is_signed ? 's' : 'u', to, 'f', v);
    v = convert(e, 's', emit_int_type(e, 32), 'f', v); /* toward zero first: 0.5 is false */
    return emit_cmp(e, ICMP_NE, v, emit_int(e, 32, 0));
}

static air_value *float_to_float(emit *e, const ir_op *op, bool to_zero) {
    const ir_type *from = ir_operand(op, 0)->type, *to = ir_result(op, 0)->type;
    if (!emit_type(e, to) || !emit_type(e, from))
        return NULL;
    air_value *v = emit_operand(e, op, 0);
    if (from == to)
        return v;
    v = emit_wide(e, from, v);
    if (to->float_kind == IR_F32)
        return v;
    return to_zero ? narrow_to_zero(e, to, v) : emit_narrow(e, to, v);
}

static air_value *compare(emit *e, const ir_op *op) {
    static const u8 fcmp[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15};
    const ir_type *t = ir_operand(op, 0)->type;
    i64 predicate = ir_attr_get_int(op, "predicate", 0);
    air_value *a = emit_operand(e, op, 0), *b = emit_operand(e, op, 1);
    if (predicate < 0 || predicate > 15)
        return emit_refuse(e, TM4301, "this comparison");
    if (predicate == 0 || predicate == 15)
        return emit_int(e, 1, predicate == 15);
    if (is_emulated(a)) {
        a = emit_wide(e, t, a);
        b = emit_wide(e, t, b);
    }
    return emit_cmp(e, fcmp[predicate], a, b);
}

/* ---- Tables ----------------------------------------------------------------------------------- */

static const struct {
    u16 code;
    u8 args;
    bool half_native;
    const char *stem;
} functions[] = {
    {IR_math_ceil, 1, true, "air.ceil"},         {IR_math_floor, 1, true, "air.floor"},
    {IR_math_cos, 1, false, "air.cos"},          {IR_math_sin, 1, false, "air.sin"},
    {IR_math_exp, 1, false, "air.fast_exp"},     {IR_math_exp2, 1, false, "air.fast_exp2"},
    {IR_math_log, 1, false, "air.log"},          {IR_math_log2, 1, false, "air.log2"},
    {IR_math_sqrt, 1, false, "air.sqrt"},        {IR_math_rsqrt, 1, false, "air.fast_rsqrt"},
    {IR_math_tanh, 1, false, "air.tanh"},        {IR_math_fma, 3, true, "air.fma"},
    {IR_arith_remf, 2, true, "air.fmod"},        {IR_tt_precise_sqrt, 1, false, "air.sqrt"},
};

static bool table_op(emit *e, ir_op *op, air_value **out) {
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (functions[i].code != op->code)
            continue;
        air_value *args[3];
        for (u32 k = 0; k < functions[i].args; k++)
            args[k] = emit_operand(e, op, k);
        *out = function(e, ir_result(op, 0)->type, functions[i].stem, functions[i].half_native,
                        functions[i].args, args);
        return true;
    }
    return false;
}

static air_value *erf_op(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    return emit_narrow(e, t, emit_erf(e, emit_wide(e, t, emit_operand(e, op, 0))));
}

static bool rounds_to_zero(const ir_op *op) {
    /* arith.truncf: roundingmode as MLIR's enum, to nearest even 0, toward zero 3 */
    if (op->code == IR_arith_truncf)
        return ir_attr_get_int(op, "roundingmode", 0) == 3;
    return ir_attr_get_int(op, "rounding", 1) == 0;
}

bool emit_float_op(emit *e, ir_op *op, air_value **out) {
    if (table_op(e, op, out))
        return true;
    const ir_type *t = op->n_results ? ir_result(op, 0)->type : NULL;
    air_value *a = op->n_operands > 0 && !op->n_regions ? emit_operand(e, op, 0) : NULL;
    air_value *b = op->n_operands > 1 ? emit_operand(e, op, 1) : NULL;
    switch (op->code) {
    case IR_arith_addf: *out = float_bin(e, t, AIR_ADD, a, b); return true;
    case IR_arith_subf: *out = float_bin(e, t, AIR_SUB, a, b); return true;
    case IR_arith_mulf: *out = float_bin(e, t, AIR_MUL, a, b); return true;
    case IR_arith_divf:
    case IR_tt_precise_divf: *out = float_bin(e, t, AIR_SDIV, a, b); return true;
    case IR_arith_maxnumf: *out = emit_minmax(e, t, true, false, a, b); return true;
    case IR_arith_minnumf: *out = emit_minmax(e, t, false, false, a, b); return true;
    case IR_arith_maximumf: *out = emit_minmax(e, t, true, true, a, b); return true;
    case IR_arith_minimumf: *out = emit_minmax(e, t, false, true, a, b); return true;
    case IR_arith_negf: *out = sign_op(e, t, true, a); return true;
    case IR_math_absf: *out = sign_op(e, t, false, a); return true;
    case IR_tt_clampf: *out = clamp(e, op); return true;
    case IR_math_erf: *out = erf_op(e, op); return true;
    case IR_arith_cmpf: *out = compare(e, op); return true;
    case IR_arith_sitofp: *out = int_to_float(e, op, true); return true;
    case IR_arith_uitofp: *out = int_to_float(e, op, false); return true;
    case IR_arith_fptosi: *out = float_to_int(e, op, true); return true;
    case IR_arith_fptoui: *out = float_to_int(e, op, false); return true;
    case IR_arith_extf: *out = float_to_float(e, op, false); return true;
    case IR_arith_truncf:
    case IR_tt_fp_to_fp: *out = float_to_float(e, op, rounds_to_zero(op)); return true;
    default: return false;
    }
}
