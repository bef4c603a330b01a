/* SPDX-License-Identifier: MIT */
/* Constant evaluation. Float operations are computed in double and rounded once to the type: doubles
 * carry more than twice the bits of f32, f16 and bf16, so this is the correctly rounded result for
 * + - * / and sqrt. Apple GPUs flush subnormal f32 (and bf16, which is computed as f32): whatever
 * touches one is left to the hardware, as is everything that gives a NaN. */
#include "tile/fold.h"
#include "ir/format.h"
#include <math.h>

i64 fold_wrap(i64 value, u32 width) {
    if (width == 0 || width >= 64)
        return value;
    if (width == 1)
        return value & 1;
    u32 shift = 64 - width;
    return (i64)((u64)value << shift) >> shift;
}

static u64 zext(i64 v, u32 width) { return width >= 64 ? (u64)v : (u64)v & ((1ull << width) - 1); }

/* i1 is stored as 0 or 1, but is 0 or -1 as a signed number. */
static i64 sext(i64 v, u32 width) { return width == 1 ? -(v & 1) : v; }

static i64 smallest(u32 width) { return (i64)(~0ull << (width - 1)); }

static bool compare_ints(i64 predicate, i64 a, i64 b, u32 width) {
    i64 sa = sext(a, width), sb = sext(b, width);
    u64 ua = zext(a, width), ub = zext(b, width);
    switch (predicate) {
    case 0: return ua == ub;
    case 1: return ua != ub;
    case 2: return sa < sb;
    case 3: return sa <= sb;
    case 4: return sa > sb;
    case 5: return sa >= sb;
    case 6: return ua < ub;
    case 7: return ua <= ub;
    case 8: return ua > ub;
    default: return ua >= ub;
    }
}

/* Outcomes that satisfy each predicate: 1 equal, 2 greater, 4 less, 8 unordered. */
static bool compare_floats(i64 predicate, double a, double b) {
    static const u8 outcomes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15};
    u32 is = isnan(a) || isnan(b) ? 8 : a == b ? 1 : a > b ? 2 : 4;
    return (outcomes[predicate & 15] & is) != 0;
}

static i64 floor_div(i64 a, i64 b) {
    i64 q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool fold_division(u32 code, i64 a, i64 b, u32 w, i64 *out) {
    i64 sa = sext(a, w), sb = sext(b, w);
    u64 ua = zext(a, w), ub = zext(b, w);
    if (ub == 0)
        return false;
    bool is_signed = code == IR_arith_divsi || code == IR_arith_remsi ||
                     code == IR_arith_ceildivsi || code == IR_arith_floordivsi;
    if (is_signed && sb == -1 && sa == smallest(w))
        return false;
    switch (code) {
    case IR_arith_divsi: *out = sa / sb; return true;
    case IR_arith_divui: *out = (i64)(ua / ub); return true;
    case IR_arith_remsi: *out = sa % sb; return true;
    case IR_arith_remui: *out = (i64)(ua % ub); return true;
    case IR_arith_ceildivsi: *out = floor_div(sa, sb) + (sa % sb != 0); return true;
    case IR_arith_ceildivui: *out = (i64)(ua / ub + (ua % ub != 0)); return true;
    case IR_arith_floordivsi: *out = floor_div(sa, sb); return true;
    default: return false;
    }
}

static bool fold_int_binary(u32 code, i64 a, i64 b, u32 w, i64 *out) {
    u64 ua = zext(a, w), ub = zext(b, w);
    i64 sa = sext(a, w), sb = sext(b, w);
    switch (code) {
    case IR_arith_addi: *out = (i64)(ua + ub); return true;
    case IR_arith_subi: *out = (i64)(ua - ub); return true;
    case IR_arith_muli: *out = (i64)(ua * ub); return true;
    case IR_arith_andi: *out = a & b; return true;
    case IR_arith_ori: *out = a | b; return true;
    case IR_arith_xori: *out = a ^ b; return true;
    case IR_arith_shli: *out = ub < w ? (i64)(ua << ub) : 0; return ub < w;
    case IR_arith_shrui: *out = ub < w ? (i64)(ua >> ub) : 0; return ub < w;
    case IR_arith_shrsi: *out = ub < w ? sa >> ub : 0; return ub < w;
    case IR_arith_minsi: *out = sa < sb ? a : b; return true;
    case IR_arith_maxsi: *out = sa > sb ? a : b; return true;
    case IR_arith_minui: *out = ua < ub ? a : b; return true;
    case IR_arith_maxui: *out = ua > ub ? a : b; return true;
    case IR_tt_mulhiui: *out = (i64)(u64)((unsigned __int128)ua * ub >> w); return true;
    default: return fold_division(code, a, b, w, out);
    }
}

/* ---- Floats ------------------------------------------------------------------------------------- */

static bool is_arithmetic_float(const ir_type *t) { return t->kind == IR_FLOAT && t->float_kind <= IR_F64; }

/* Subnormals that the hardware flushes. */
static bool is_flushed(const ir_type *t, double v) {
    return (t->float_kind == IR_F32 || t->float_kind == IR_BF16) && v != 0 && fabs(v) < 0x1p-126;
}

static bool read_float(const ir_type *t, i64 bits, double *v) {
    if (!is_arithmetic_float(t))
        return false;
    *v = ir_float_decode(t->float_kind, (u64)bits);
    return !is_flushed(t, *v);
}

static bool write_float(const ir_type *t, double v, i64 *out) {
    if (!is_arithmetic_float(t) || isnan(v))
        return false;
    *out = (i64)ir_float_encode(t->float_kind, v);
    return !is_flushed(t, ir_float_decode(t->float_kind, (u64)*out)) && !is_flushed(t, v);
}

static double min_or_max(bool max, double a, double b) {
    if (a == b) /* +0 is above -0 */
        return signbit(a) == max ? b : a;
    return (a < b) == max ? b : a;
}

static bool fold_float_binary(u32 code, const ir_type *t, double a, double b, i64 *out) {
    bool number = code == IR_arith_maxnumf || code == IR_arith_minnumf;
    if (isnan(a) || isnan(b)) {
        if (!number || (isnan(a) && isnan(b)))
            return false;
        return write_float(t, isnan(a) ? b : a, out);
    }
    switch (code) {
    case IR_arith_addf: return write_float(t, a + b, out);
    case IR_arith_subf: return write_float(t, a - b, out);
    case IR_arith_mulf: return write_float(t, a * b, out);
    case IR_arith_divf:
    case IR_tt_precise_divf: return write_float(t, a / b, out);
    case IR_arith_remf: return write_float(t, fmod(a, b), out);
    case IR_arith_maxnumf:
    case IR_arith_maximumf: return write_float(t, min_or_max(true, a, b), out);
    case IR_arith_minnumf:
    case IR_arith_minimumf: return write_float(t, min_or_max(false, a, b), out);
    default: return false;
    }
}

static bool fold_float_unary(u32 code, const ir_type *t, double a, i64 *out) {
    switch (code) {
    case IR_math_ceil: return write_float(t, ceil(a), out);
    case IR_math_floor: return write_float(t, floor(a), out);
    case IR_math_sqrt:
    case IR_tt_precise_sqrt: return a >= 0 && write_float(t, sqrt(a), out);
    default: return false;
    }
}

/* Sign changes touch one bit and are exact for every value, subnormals and NaNs too. */
static bool fold_sign(u32 code, const ir_type *t, i64 a, i64 *out) {
    if (t->kind != IR_FLOAT || t->float_kind > IR_F64)
        return false;
    u64 sign = 1ull << (t->width - 1);
    *out = code == IR_arith_negf ? (i64)((u64)a ^ sign) : (i64)((u64)a & ~sign);
    return true;
}

/* One rounding in the type: only where the C function does that. */
static bool fold_fma(const ir_type *t, const double v[3], i64 *out) {
    if (t->float_kind == IR_F64)
        return write_float(t, fma(v[0], v[1], v[2]), out);
    return t->float_kind == IR_F32 &&
           write_float(t, (double)fmaf((float)v[0], (float)v[1], (float)v[2]), out);
}

/* ---- Casts -------------------------------------------------------------------------------------- */

/* Integers beyond 2^53 would round twice. */
static bool fold_int_to_float(i64 a, u32 w, bool is_signed, const ir_type *to, i64 *out) {
    i64 s = sext(a, w);
    u64 u = zext(a, w), magnitude = is_signed && s < 0 ? 0 - (u64)s : is_signed ? (u64)s : u;
    if (magnitude > 1ull << 53)
        return false;
    return write_float(to, is_signed ? (double)s : (double)u, out);
}

/* Out of range is poison. */
static bool fold_float_to_int(double a, const ir_type *to, bool is_signed, i64 *out) {
    double t = trunc(a);
    double end = ldexp(1, (int)to->width - is_signed), low = is_signed ? -end : 0;
    if (to->kind != IR_INT || !(t >= low && t < end))
        return false;
    *out = is_signed || t < 0x1p63 ? (i64)t : (i64)(u64)t;
    return true;
}

static bool fold_cast(const ir_op *op, const ir_type *from, const ir_type *to, i64 a, i64 *out) {
    double v;
    switch (op->code) {
    case IR_arith_extsi: *out = sext(a, from->width); return true;
    case IR_arith_extui: *out = (i64)zext(a, from->width); return true;
    case IR_arith_trunci: *out = a; return true;
    case IR_arith_index_cast: *out = a; return true;
    case IR_arith_bitcast:
    case IR_tt_bitcast: *out = a; return to->kind != IR_PTR && from->kind != IR_PTR;
    case IR_arith_extf: return read_float(from, a, &v) && write_float(to, v, out);
    case IR_arith_truncf:
        return !ir_attr_get(op, "roundingmode") && read_float(from, a, &v) && write_float(to, v, out);
    case IR_arith_sitofp: return fold_int_to_float(a, from->width, true, to, out);
    case IR_arith_uitofp: return fold_int_to_float(a, from->width, false, to, out);
    case IR_arith_fptosi: return read_float(from, a, &v) && fold_float_to_int(v, to, true, out);
    case IR_arith_fptoui: return read_float(from, a, &v) && fold_float_to_int(v, to, false, out);
    default: return false;
    }
}

static bool fold_bits(const ir_op *op, const ir_type *t, const ir_type *to, const i64 *in, i64 *out) {
    double v[3];
    switch (op->code) {
    case IR_arith_select: *out = in[0] ? in[1] : in[2]; return true;
    case IR_arith_negf:
    case IR_math_absf: return fold_sign(op->code, t, in[0], out);
    case IR_math_absi: {
        i64 a = sext(in[0], t->width);
        *out = a < 0 ? (i64)(0 - (u64)a) : a;
        return true;
    }
    case IR_arith_cmpi:
        *out = compare_ints(ir_attr_get_int(op, "predicate", 0), in[0], in[1], t->width ? t->width : 64);
        return t->kind == IR_INT || t->kind == IR_INDEX;
    case IR_arith_cmpf:
        if (!is_arithmetic_float(t) || !read_float(t, in[0], &v[0]) || !read_float(t, in[1], &v[1]))
            return false;
        *out = compare_floats(ir_attr_get_int(op, "predicate", 0), v[0], v[1]);
        return true;
    default: break;
    }
    if (op->n_operands == 1 && t != to)
        return fold_cast(op, t, to, in[0], out);
    if (t->kind == IR_FLOAT && op->n_operands <= 3) {
        for (u32 i = 0; i < op->n_operands; i++)
            if (!read_float(t, in[i], &v[i]))
                return false;
        return op->code == IR_math_fma     ? fold_fma(t, v, out)
               : op->n_operands == 1 ? fold_float_unary(op->code, t, v[0], out)
                                     : fold_float_binary(op->code, t, v[0], v[1], out);
    }
    if ((t->kind == IR_INT || t->kind == IR_INDEX) && op->n_operands == 2)
        return fold_int_binary(op->code, in[0], in[1], t->width ? t->width : 64, out);
    return false;
}

bool fold_op(const ir_op *op, const i64 *in, i64 *out) {
    if (op->n_results != 1 || op->n_operands == 0 || op->n_operands > 3 ||
        !ir_has_trait(op, IR_ELEMENTWISE))
        return false;
    const ir_type *t = ir_elem(ir_operand(op, 0)->type), *to = ir_elem(ir_result(op, 0)->type);
    if (!fold_bits(op, t, to, in, out))
        return false;
    if (to->kind == IR_INT)
        *out = fold_wrap(*out, to->width);
    return true;
}
