/* SPDX-License-Identifier: MIT */
/* Calls that compute: conversions, mathematics, integers. */
#include "vgpu/decode/call.h"
#include "vgpu/check/check.h"
#include <math.h>

/* ---- Conversions ---------------------------------------------------------------------------------- */
static u32 saturated(vbuild *b, vtype t, bool ts, u32 v) {
    if (t.cls == CLS_D)
        return norm(b, t, v_op1(b, ts ? VOP_f2s_d : VOP_f2u_d, v));
    v = v_op1(b, ts ? VOP_f2s : VOP_f2u, v);
    if (t.bits == 32)
        return v;
    if (b->k->numerics.convert == VGPU_convert_wide)
        return norm(b, t, v);
    if (!ts)
        return v_op2(b, VOP_umin_w, v, v_w(b, (1u << t.bits) - 1));
    v = v_op2(b, VOP_smin_w, v, v_w(b, (1u << (t.bits - 1)) - 1));
    return norm(b, t, v_op2(b, VOP_smax_w, v, v_w(b, 0u - (1u << (t.bits - 1)))));
}
static u32 v_f32(vbuild *b, double x) {
    float f = (float)x;
    u32 bits;
    memcpy(&bits, &f, 4);
    return v_w(b, bits);
}
/* Whether the whole part of f32 v fits: its bounds are powers of two, but for the lower one of a signed type
 * that f32 can tell from the number before. */
static u32 fits_int(vbuild *b, vtype t, bool ts, u32 v) {
    double top = ldexp(1.0, t.bits - ts);
    u32 below = v_op2(b, VOP_folt, v, v_f32(b, top));
    u32 above = ts && t.bits > 16 ? v_op2(b, VOP_fole, v_f32(b, -top), v)
                                  : v_op2(b, VOP_folt, v_f32(b, ts ? -top - 1 : -1), v);
    return v_op2(b, VOP_and_m, below, above);
}
static u32 float_to_int(vbuild *b, vtype t, bool ts, u32 v) {
    bool wide = t.cls == CLS_D;
    u32 r;
    switch (b->k->numerics.convert) {
    case VGPU_convert_wrap: return norm(b, t, v_op1(b, wide ? VOP_f2w_d : VOP_f2w, v));
    case VGPU_convert_poison:
        r = norm(b, t, v_const(b, t.cls, wide ? 0xA5A5A5A5A5A5A5A5ull : 0xA5A5A5A5u));
        return v_op3(b, wide ? VOP_sel_d : VOP_sel_w, fits_int(b, t, ts, v), saturated(b, t, ts, v), r);
    default: return saturated(b, t, ts, v);
    }
}
u32 convert_value(vbuild *b, vtype f, bool fs, vtype t, bool ts, u32 v) {
    if (f.fp && t.fp)
        return round_fp(b, t, v);
    if (t.fp) {
        if (f.cls == CLS_M)
            return v_op3(b, VOP_sel_w, v, v_w(b, 0x3F800000), v_w(b, 0));
        if (fs)
            v = sext_full(b, f, v);
        u16 op = f.cls == CLS_D ? (fs ? VOP_s2f_d : VOP_u2f_d) : fs ? VOP_s2f : VOP_u2f;
        return round_fp(b, t, v_op1(b, op, v));
    }
    if (f.fp) {
        if (t.cls == CLS_M)
            return v_op2(b, VOP_fune, v, v_w(b, 0));
        if (b->k->checks.converts)
            guard_operands(b, GUARD_CONVERT, t, 1, &v, ts ? GUARD_SIGNED : 0);
        return float_to_int(b, t, ts, v);
    }
    if (t.cls == CLS_M)
        return v_op2(b, f.cls == CLS_D ? VOP_ne_d : VOP_ne_w, v, v_const(b, f.cls, 0));
    if (f.cls == CLS_M)
        return t.cls == CLS_D ? v_op3(b, VOP_sel_d, v, v_dw(b, 1), v_dw(b, 0))
                              : v_op3(b, VOP_sel_w, v, v_w(b, 1), v_w(b, 0));
    if (fs)
        v = sext_full(b, f, v);
    if (f.cls == CLS_W && t.cls == CLS_D)
        v = v_op1(b, fs ? VOP_sext_d : VOP_zext_d, v);
    if (f.cls == CLS_D && t.cls == CLS_W)
        v = v_op1(b, VOP_trunc_w, v);
    return norm(b, t, v);
}
/* ".f.f32.s.i32": destination kind and type, source kind and type */
static u32 do_convert(vbuild *b, vcall *k, u16 op) {
    bool ts = k->tail[0] && k->tail[1] == 's', fs = false;
    const char *p = k->tail[0] ? strchr(k->tail + 1, '.') : NULL;
    p = p ? strchr(p + 1, '.') : NULL;
    if (p)
        fs = p[1] == 's';
    return convert_value(b, type_comp(b, call_type(b, k, 0), k->c), fs, k->t, ts, arg(b, k, 0));
}

/* ---- Mathematics ---------------------------------------------------------------------------------- */
static u32 do_math1(vbuild *b, vcall *k, u16 op) { return round_fp(b, k->t, v_op1(b, op, arg(b, k, 0))); }
static u32 do_math2(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op2(b, op, arg(b, k, 0), arg(b, k, 1)));
}
static u32 do_fabs(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, VOP_and_w, arg(b, k, 0), v_w(b, 0x7FFFFFFF));
}
static u32 do_copysign(vbuild *b, vcall *k, u16 op) {
    u32 mag = v_op2(b, VOP_and_w, arg(b, k, 0), v_w(b, 0x7FFFFFFF));
    return v_op2(b, VOP_or_w, mag, v_op2(b, VOP_and_w, arg(b, k, 1), v_w(b, 0x80000000u)));
}
static u32 do_fma(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op3(b, VOP_ffma, arg(b, k, 0), arg(b, k, 1), arg(b, k, 2)));
}
static u32 do_fmuladd(vbuild *b, vcall *k, u16 op) {
    if (b->k->numerics.fmuladd == VGPU_fmuladd_fuse)
        return do_fma(b, k, op);
    u32 product = round_fp(b, k->t, v_op2(b, VOP_fmul, arg(b, k, 0), arg(b, k, 1)));
    return round_fp(b, k->t, v_op2(b, VOP_fadd, product, arg(b, k, 2)));
}
static u32 do_fma_fraction(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(b, k, 0), f = v_op2(b, VOP_fsub, x, v_op1(b, VOP_ffloor, x));
    u32 below_one = k->t.fp == FP_HALF ? 0x3F7FE000u : 0x3F7FFFFFu;
    return v_op2(b, VOP_fmin, round_fp(b, k->t, f), v_w(b, below_one));
}
static u32 do_saturate(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, VOP_fmin, v_op2(b, VOP_fmax, arg(b, k, 0), v_w(b, 0)), v_w(b, 0x3F800000));
}
static u32 do_next(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, k->t.fp == FP_HALF ? VOP_hnext : VOP_fnext, arg(b, k, 0), arg(b, k, 1));
}
static u32 do_ldexp(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op2(b, VOP_fldexp, arg(b, k, 0), arg(b, k, 1)));
}
static void do_sincos(vbuild *b, vcall *k, u16 op) {
    const air_type *p = call_type(b, k, 1);
    for (u32 c = 0; c < k->n; c++)
        k->out[c] = v_op1(b, VOP_fsin, call_at(b, k, 0, c));
    u32 *cosine = ARENA_ARRAY(b->a, u32, k->n + 1);
    for (u32 c = 0; c < k->n; c++)
        cosine[c] = v_op1(b, VOP_fcos, call_at(b, k, 0, c));
    store_value(b, k->i->v.type, call_at(b, k, 1, 0), p->space, cosine);
}
static void do_dot(vbuild *b, vcall *k, u16 op) {
    u32 n = type_comps(b, call_type(b, k, 0));
    u32 sum = round_fp(b, k->t, v_op2(b, VOP_fmul, call_at(b, k, 0, 0), call_at(b, k, 1, 0)));
    for (u32 c = 1; c < n; c++)
        sum = round_fp(b, k->t, v_op3(b, VOP_ffma, call_at(b, k, 0, c), call_at(b, k, 1, c), sum));
    k->out[0] = sum;
}

/* ---- Integers and min/max --------------------------------------------------------------------------- */
static u32 min_max(vbuild *b, vcall *k, bool max, u32 x, u32 y) {
    u16 op;
    if (k->t.fp)
        return v_op2(b, max ? VOP_fmax : VOP_fmin, x, y);
    if (k->t.cls == CLS_M)
        return v_op2(b, max != k->is_signed ? VOP_or_m : VOP_and_m, x, y);
    if (k->is_signed) {
        x = sext_full(b, k->t, x);
        y = sext_full(b, k->t, y);
        op = is_d(k) ? (max ? VOP_smax_d : VOP_smin_d) : max ? VOP_smax_w : VOP_smin_w;
    } else {
        op = is_d(k) ? (max ? VOP_umax_d : VOP_umin_d) : max ? VOP_umax_w : VOP_umin_w;
    }
    return norm(b, k->t, v_op2(b, op, x, y));
}
static u32 do_min(vbuild *b, vcall *k, u16 op) { return min_max(b, k, op, arg(b, k, 0), arg(b, k, 1)); }
static u32 do_min3(vbuild *b, vcall *k, u16 op) {
    return min_max(b, k, op, arg(b, k, 0), min_max(b, k, op, arg(b, k, 1), arg(b, k, 2)));
}
static u32 do_median3(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(b, k, 0), y = arg(b, k, 1), z = arg(b, k, 2);
    u32 low = min_max(b, k, false, x, y), high = min_max(b, k, true, x, y);
    return min_max(b, k, true, low, min_max(b, k, false, high, z));
}
static u32 do_clamp(vbuild *b, vcall *k, u16 op) {
    return min_max(b, k, false, min_max(b, k, true, arg(b, k, 0), arg(b, k, 1)), arg(b, k, 2));
}
static u32 do_abs(vbuild *b, vcall *k, u16 op) {
    if (k->t.fp)
        return do_fabs(b, k, op);
    if (!k->is_signed)
        return arg(b, k, 0);
    u32 x = signed_arg(b, k, 0), zero = v_const(b, k->t.cls, 0);
    u32 neg = v_op2(b, is_d(k) ? VOP_sub_d : VOP_sub_w, zero, x);
    return norm(b, k->t, v_op2(b, is_d(k) ? VOP_smax_d : VOP_smax_w, x, neg));
}
static u32 do_count(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(b, k, 0), bits = k->t.bits, width = is_d(k) ? 64 : 32;
    u16 wide = op == VOP_popc_w ? VOP_popc_d : op == VOP_clz_w ? VOP_clz_d : VOP_ctz_d;
    if (op == VOP_clz_w && bits < width) /* moves the top bit to the top, ones below stop the count */
        x = v_op2(b, is_d(k) ? VOP_or_d : VOP_or_w,
                  v_op2(b, is_d(k) ? VOP_shl_d : VOP_shl_w, x, v_const(b, k->t.cls, width - bits)),
                  v_const(b, k->t.cls, (1ull << (width - bits - 1))));
    if (op == VOP_ctz_w && bits < width)
        x = v_op2(b, is_d(k) ? VOP_or_d : VOP_or_w, x, v_const(b, k->t.cls, 1ull << bits));
    return v_op1(b, is_d(k) ? wide : op, x);
}
static u32 do_reverse(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(b, k, 0);
    if (!is_d(k))
        return v_op2(b, VOP_lshr_w, v_op1(b, VOP_rev_w, x), v_w(b, 32u - k->t.bits));
    u32 low = v_op1(b, VOP_trunc_w, x), high = v_op1(b, VOP_trunc_w, v_op2(b, VOP_lshr_d, x, v_dw(b, 32)));
    u32 top = v_op2(b, VOP_shl_d, v_op1(b, VOP_zext_d, v_op1(b, VOP_rev_w, low)), v_dw(b, 32));
    u32 all = v_op2(b, VOP_or_d, top, v_op1(b, VOP_zext_d, v_op1(b, VOP_rev_w, high)));
    return v_op2(b, VOP_lshr_d, all, v_dw(b, 64u - k->t.bits));
}
static u32 do_mul_hi(vbuild *b, vcall *k, u16 op) {
    if (k->t.bits == 64 || k->t.bits == 32)
        return v_op2(b, is_d(k) ? (k->is_signed ? VOP_smulhi_d : VOP_umulhi_d)
                                : k->is_signed ? VOP_smulhi_w : VOP_umulhi_w, arg(b, k, 0), arg(b, k, 1));
    u32 p = v_op2(b, VOP_mul_w, signed_arg(b, k, 0), signed_arg(b, k, 1));
    return norm(b, k->t, v_op2(b, VOP_lshr_w, p, v_w(b, k->t.bits)));
}
/* Bits of x, then of y, shifted; op 0 left, 1 right. */
static u32 funnel(vbuild *b, vcall *k, u32 x, u32 y, u32 by, u16 op) {
    bool d = is_d(k);
    u32 width = v_const(b, k->t.cls, k->t.bits);
    u32 s = v_op2(b, d ? VOP_urem_d : VOP_urem_w, by, width);
    u32 other = v_op2(b, d ? VOP_sub_d : VOP_sub_w, width, s); /* a shift by the full width gives 0 */
    u32 left = v_op2(b, d ? VOP_shl_d : VOP_shl_w, x, op ? other : s);
    u32 right = v_op2(b, d ? VOP_lshr_d : VOP_lshr_w, y, op ? s : other);
    return norm(b, k->t, v_op2(b, d ? VOP_or_d : VOP_or_w, left, right));
}
static u32 do_funnel(vbuild *b, vcall *k, u16 op) {
    return funnel(b, k, arg(b, k, 0), arg(b, k, 1), arg(b, k, 2), op);
}
static u32 do_rotate(vbuild *b, vcall *k, u16 op) {
    return funnel(b, k, arg(b, k, 0), arg(b, k, 0), arg(b, k, 1), 0);
}
/* Saturating: op 0 uadd 1 usub 2 sadd 3 ssub */
static u32 do_saturating(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(b, k, 0), y = arg(b, k, 1);
    bool d = is_d(k);
    if (op == 1)
        return v_op2(b, d ? VOP_sub_d : VOP_sub_w, v_op2(b, d ? VOP_umax_d : VOP_umax_w, x, y), y);
    if (op == 0) {
        u32 top = v_const(b, k->t.cls, k->t.bits == 64 ? ~0ull : (1ull << k->t.bits) - 1);
        u32 room = v_op2(b, d ? VOP_sub_d : VOP_sub_w, top, x);
        return v_op2(b, d ? VOP_add_d : VOP_add_w, x, v_op2(b, d ? VOP_umin_d : VOP_umin_w, y, room));
    }
    x = sext_full(b, k->t, x);
    y = sext_full(b, k->t, y);
    if (!d) {
        x = v_op1(b, VOP_sext_d, x);
        y = v_op1(b, VOP_sext_d, y);
    }
    u32 r = v_op2(b, op == 2 ? VOP_add_d : VOP_sub_d, x, y);
    i64 top = (i64)((1ull << (k->t.bits - 1)) - 1);
    if (k->t.bits == 64) { /* too far when the result has another sign than both, or than x and -y */
        u32 other = op == 2 ? v_op2(b, VOP_xor_d, y, r) : v_op2(b, VOP_xor_d, x, y);
        u32 wrapped = v_op2(b, VOP_and_d, v_op2(b, VOP_xor_d, x, r), other);
        u32 limit = v_op2(b, VOP_xor_d, v_op2(b, VOP_ashr_d, x, v_dw(b, 63)), v_dw(b, (u64)top));
        return v_op3(b, VOP_sel_d, v_op2(b, VOP_slt_d, wrapped, v_dw(b, 0)), limit, r);
    }
    r = v_op2(b, VOP_smin_d, r, v_dw(b, (u64)top));
    r = v_op2(b, VOP_smax_d, r, v_dw(b, (u64)(-top - 1)));
    return norm(b, k->t, d ? r : v_op1(b, VOP_trunc_w, r));
}
/* op 0 all, 1 any */
static void do_all(vbuild *b, vcall *k, u16 any) {
    u32 n = type_comps(b, call_type(b, k, 0)), r = call_at(b, k, 0, 0);
    for (u32 c = 1; c < n; c++)
        r = v_op2(b, any ? VOP_or_m : VOP_and_m, r, call_at(b, k, 0, c));
    k->out[0] = r;
}
static u32 do_normalize(vbuild *b, vcall *k, u16 op) {
    u32 m = v_op2(b, VOP_ne_w, arg(b, k, 0), v_w(b, 0));
    return v_op3(b, VOP_sel_w, m, v_w(b, 1), v_w(b, 0));
}
static u32 do_first_arg(vbuild *b, vcall *k, u16 op) { return arg(b, k, 0); }
static void do_true(vbuild *b, vcall *k, u16 op) { k->out[0] = v_const(b, CLS_M, ~0u); }

const family math_families[] = {
    {"convert", 0, do_convert, NULL}, {"exp", VOP_fexp, do_math1, NULL}, {"exp2", VOP_fexp2, do_math1, NULL},
    {"exp10", VOP_fexp10, do_math1, NULL}, {"log", VOP_flog, do_math1, NULL},
    {"log2", VOP_flog2, do_math1, NULL}, {"log10", VOP_flog10, do_math1, NULL},
    {"sin", VOP_fsin, do_math1, NULL}, {"cos", VOP_fcos, do_math1, NULL}, {"tan", VOP_ftan, do_math1, NULL},
    {"sinpi", VOP_fsinpi, do_math1, NULL}, {"cospi", VOP_fcospi, do_math1, NULL},
    {"asin", VOP_fasin, do_math1, NULL}, {"acos", VOP_facos, do_math1, NULL},
    {"atan", VOP_fatan, do_math1, NULL}, {"sinh", VOP_fsinh, do_math1, NULL},
    {"cosh", VOP_fcosh, do_math1, NULL}, {"tanh", VOP_ftanh, do_math1, NULL},
    {"asinh", VOP_fasinh, do_math1, NULL}, {"acosh", VOP_facosh, do_math1, NULL},
    {"atanh", VOP_fatanh, do_math1, NULL}, {"sqrt", VOP_fsqrt, do_math1, NULL},
    {"rsqrt", VOP_frsqrt, do_math1, NULL}, {"floor", VOP_ffloor, do_math1, NULL},
    {"ceil", VOP_fceil, do_math1, NULL}, {"rint", VOP_frint, do_math1, NULL},
    {"round", VOP_fround, do_math1, NULL}, {"trunc", VOP_ftrunc, do_math1, NULL}, {"fabs", 0, do_fabs, NULL},
    {"copysign", 0, do_copysign, NULL}, {"pow", VOP_fpow, do_math2, NULL},
    {"powr", VOP_fpow, do_math2, NULL}, {"atan2", VOP_fatan2, do_math2, NULL},
    {"fmod", VOP_fmod, do_math2, NULL}, {"nextafter", 0, do_next, NULL}, {"ldexp", 0, do_ldexp, NULL},
    {"fma", 0, do_fma, NULL}, {"fmuladd", 0, do_fmuladd, NULL}, {"fract", 0, do_fma_fraction, NULL},
    {"saturate", 0, do_saturate, NULL}, {"sincos", 0, NULL, do_sincos}, {"dot", 0, NULL, do_dot},
    {"fmin", 0, do_min, NULL}, {"fmax", 1, do_min, NULL}, {"min", 0, do_min, NULL}, {"max", 1, do_min, NULL},
    {"smin", 0, do_min, NULL}, {"smax", 1, do_min, NULL}, {"umin", 0, do_min, NULL},
    {"umax", 1, do_min, NULL}, {"minnum", 0, do_min, NULL}, {"maxnum", 1, do_min, NULL},
    {"fmin3", 0, do_min3, NULL}, {"fmax3", 1, do_min3, NULL}, {"min3", 0, do_min3, NULL},
    {"max3", 1, do_min3, NULL}, {"fmedian3", 0, do_median3, NULL}, {"median3", 0, do_median3, NULL},
    {"clamp", 0, do_clamp, NULL}, {"abs", 0, do_abs, NULL}, {"clz", VOP_clz_w, do_count, NULL},
    {"ctz", VOP_ctz_w, do_count, NULL}, {"popcount", VOP_popc_w, do_count, NULL},
    {"ctlz", VOP_clz_w, do_count, NULL}, {"cttz", VOP_ctz_w, do_count, NULL},
    {"ctpop", VOP_popc_w, do_count, NULL}, {"reverse_bits", 0, do_reverse, NULL},
    {"bitreverse", 0, do_reverse, NULL}, {"mul_hi", 0, do_mul_hi, NULL}, {"rotate", 0, do_rotate, NULL},
    {"fshl", 0, do_funnel, NULL}, {"fshr", 1, do_funnel, NULL}, {"uadd", 0, do_saturating, NULL},
    {"usub", 1, do_saturating, NULL}, {"sadd", 2, do_saturating, NULL}, {"ssub", 3, do_saturating, NULL},
    {"all", 0, NULL, do_all}, {"any", 1, NULL, do_all},
    {"normalize_function_constant_predicate", 0, do_normalize, NULL}, {"is_uniform", 0, NULL, do_true},
    {"expect", 0, do_first_arg, NULL},
    {NULL, 0, NULL, NULL}};
