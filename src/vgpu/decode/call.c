/* SPDX-License-Identifier: MIT */
/* Calls: functions with bodies are inlined, air.* and llvm.* are looked up by the part of their name
 * before the types ("air.fast_exp.v4f32" is "exp"), everything else is refused by name. One table row
 * per family; vectors are done element by element. */
#include "vgpu/decode/build.h"
#include "vgpu/check/check.h"
#include <math.h>

typedef struct vcall { /* one call while it is decoded */
    vinstance *in;
    air_inst *i;
    const char *tail;     /* what follows the family name: ".s.i32" */
    u32 n;                /* components of the result */
    u32 *out, *a[4];      /* components of the first arguments */
    vtype t;              /* of component c of the result, or of argument 0 for void */
    u32 c;
    bool is_signed;
} vcall;
typedef u32 (*comp_fn)(vbuild *b, vcall *k, u16 op);
typedef struct family { const char *name; u8 kind; u16 op; comp_fn fn; } family;
enum { PER_COMP, WHOLE, NOTHING, TRUE_MASK };

static u32 arg(vcall *k, u32 n) { return k->a[n][k->c]; }
static u32 signed_arg(vbuild *b, vcall *k, u32 n) {
    return k->is_signed ? sext_full(b, k->t, arg(k, n)) : arg(k, n);
}
static bool is_d(vcall *k) { return k->t.cls == CLS_D; }

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
    bool ts = k->tail[1] == 's', fs = false;
    const char *p = strchr(k->tail + 1, '.');
    p = p ? strchr(p + 1, '.') : NULL;
    if (p)
        fs = p[1] == 's';
    return convert_value(b, type_comp(b, k->i->ops[1]->type, k->c), fs, k->t, ts, arg(k, 0));
}

/* ---- Mathematics ---------------------------------------------------------------------------------- */
static u32 do_math1(vbuild *b, vcall *k, u16 op) { return round_fp(b, k->t, v_op1(b, op, arg(k, 0))); }
static u32 do_math2(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op2(b, op, arg(k, 0), arg(k, 1)));
}
static u32 do_fabs(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, VOP_and_w, arg(k, 0), v_w(b, 0x7FFFFFFF));
}
static u32 do_copysign(vbuild *b, vcall *k, u16 op) {
    u32 mag = v_op2(b, VOP_and_w, arg(k, 0), v_w(b, 0x7FFFFFFF));
    return v_op2(b, VOP_or_w, mag, v_op2(b, VOP_and_w, arg(k, 1), v_w(b, 0x80000000u)));
}
static u32 do_fma(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op3(b, VOP_ffma, arg(k, 0), arg(k, 1), arg(k, 2)));
}
static u32 do_fmuladd(vbuild *b, vcall *k, u16 op) {
    if (b->k->numerics.fmuladd == VGPU_fmuladd_fuse)
        return do_fma(b, k, op);
    u32 product = round_fp(b, k->t, v_op2(b, VOP_fmul, arg(k, 0), arg(k, 1)));
    return round_fp(b, k->t, v_op2(b, VOP_fadd, product, arg(k, 2)));
}
static u32 do_fma_fraction(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(k, 0), f = v_op2(b, VOP_fsub, x, v_op1(b, VOP_ffloor, x));
    u32 below_one = k->t.fp == FP_HALF ? 0x3F7FE000u : 0x3F7FFFFFu;
    return v_op2(b, VOP_fmin, round_fp(b, k->t, f), v_w(b, below_one));
}
static u32 do_saturate(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, VOP_fmin, v_op2(b, VOP_fmax, arg(k, 0), v_w(b, 0)), v_w(b, 0x3F800000));
}
static u32 do_next(vbuild *b, vcall *k, u16 op) {
    return v_op2(b, k->t.fp == FP_HALF ? VOP_hnext : VOP_fnext, arg(k, 0), arg(k, 1));
}
static u32 do_ldexp(vbuild *b, vcall *k, u16 op) {
    return round_fp(b, k->t, v_op2(b, VOP_fldexp, arg(k, 0), arg(k, 1)));
}
static void do_sincos(vbuild *b, vcall *k) {
    const air_type *p = k->i->ops[2]->type;
    for (u32 c = 0; c < k->n; c++)
        k->out[c] = v_op1(b, VOP_fsin, k->a[0][c]);
    u32 *cosine = ARENA_ARRAY(b->a, u32, k->n + 1);
    for (u32 c = 0; c < k->n; c++)
        cosine[c] = v_op1(b, VOP_fcos, k->a[0][c]);
    store_value(b, k->i->v.type, k->a[1][0], p->space, cosine);
}
static void do_dot(vbuild *b, vcall *k) {
    u32 n = type_comps(k->i->ops[1]->type);
    u32 sum = round_fp(b, k->t, v_op2(b, VOP_fmul, k->a[0][0], k->a[1][0]));
    for (u32 c = 1; c < n; c++)
        sum = round_fp(b, k->t, v_op3(b, VOP_ffma, k->a[0][c], k->a[1][c], sum));
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
static u32 do_min(vbuild *b, vcall *k, u16 op) { return min_max(b, k, op, arg(k, 0), arg(k, 1)); }
static u32 do_min3(vbuild *b, vcall *k, u16 op) {
    return min_max(b, k, op, arg(k, 0), min_max(b, k, op, arg(k, 1), arg(k, 2)));
}
static u32 do_median3(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(k, 0), y = arg(k, 1), z = arg(k, 2);
    u32 low = min_max(b, k, false, x, y), high = min_max(b, k, true, x, y);
    return min_max(b, k, true, low, min_max(b, k, false, high, z));
}
static u32 do_clamp(vbuild *b, vcall *k, u16 op) {
    return min_max(b, k, false, min_max(b, k, true, arg(k, 0), arg(k, 1)), arg(k, 2));
}
static u32 do_abs(vbuild *b, vcall *k, u16 op) {
    if (k->t.fp)
        return do_fabs(b, k, op);
    if (!k->is_signed)
        return arg(k, 0);
    u32 x = signed_arg(b, k, 0), zero = v_const(b, k->t.cls, 0);
    u32 neg = v_op2(b, is_d(k) ? VOP_sub_d : VOP_sub_w, zero, x);
    return norm(b, k->t, v_op2(b, is_d(k) ? VOP_smax_d : VOP_smax_w, x, neg));
}
static u32 do_count(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(k, 0), bits = k->t.bits, width = is_d(k) ? 64 : 32;
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
    if (is_d(k)) {
        v_refuse(b, "air.reverse_bits of 64 bits");
        return arg(k, 0);
    }
    return v_op2(b, VOP_lshr_w, v_op1(b, VOP_rev_w, arg(k, 0)), v_w(b, 32u - k->t.bits));
}
static u32 do_mul_hi(vbuild *b, vcall *k, u16 op) {
    if (k->t.bits == 64 || k->t.bits == 32)
        return v_op2(b, is_d(k) ? (k->is_signed ? VOP_smulhi_d : VOP_umulhi_d)
                                : k->is_signed ? VOP_smulhi_w : VOP_umulhi_w, arg(k, 0), arg(k, 1));
    u32 p = v_op2(b, VOP_mul_w, signed_arg(b, k, 0), signed_arg(b, k, 1));
    return norm(b, k->t, v_op2(b, VOP_lshr_w, p, v_w(b, k->t.bits)));
}
/* Funnel shifts: op 0 left, 1 right */
static u32 do_funnel(vbuild *b, vcall *k, u16 op) {
    bool d = is_d(k);
    u8 cls = k->t.cls;
    u32 width = v_const(b, cls, k->t.bits);
    u32 s = v_op2(b, d ? VOP_urem_d : VOP_urem_w, arg(k, 2), width);
    u32 other = v_op2(b, d ? VOP_sub_d : VOP_sub_w, width, s); /* a shift by the full width gives 0 */
    u32 left = v_op2(b, d ? VOP_shl_d : VOP_shl_w, arg(k, 0), op ? other : s);
    u32 right = v_op2(b, d ? VOP_lshr_d : VOP_lshr_w, arg(k, 1), op ? s : other);
    return norm(b, k->t, v_op2(b, d ? VOP_or_d : VOP_or_w, left, right));
}
static u32 do_rotate(vbuild *b, vcall *k, u16 op) {
    k->a[2] = k->a[1];
    k->a[1] = k->a[0];
    u32 r = do_funnel(b, k, 0);
    k->a[1] = k->a[2];
    return r;
}
/* Saturating: op 0 uadd 1 usub 2 sadd 3 ssub */
static u32 do_saturating(vbuild *b, vcall *k, u16 op) {
    u32 x = arg(k, 0), y = arg(k, 1);
    bool d = is_d(k);
    if (op == 1)
        return v_op2(b, d ? VOP_sub_d : VOP_sub_w, v_op2(b, d ? VOP_umax_d : VOP_umax_w, x, y), y);
    if (op == 0) {
        u32 top = v_const(b, k->t.cls, k->t.bits == 64 ? ~0ull : (1ull << k->t.bits) - 1);
        u32 room = v_op2(b, d ? VOP_sub_d : VOP_sub_w, top, x);
        return v_op2(b, d ? VOP_add_d : VOP_add_w, x, v_op2(b, d ? VOP_umin_d : VOP_umin_w, y, room));
    }
    if (d || k->t.bits > 32) {
        v_refuse(b, "signed saturating arithmetic of 64 bits");
        return x;
    }
    u32 wx = v_op1(b, VOP_sext_d, sext_full(b, k->t, x)), wy = v_op1(b, VOP_sext_d, sext_full(b, k->t, y));
    u32 r = v_op2(b, op == 2 ? VOP_add_d : VOP_sub_d, wx, wy);
    i64 top = (i64)(1ull << (k->t.bits - 1)) - 1;
    r = v_op2(b, VOP_smin_d, r, v_dw(b, (u64)top));
    r = v_op2(b, VOP_smax_d, r, v_dw(b, (u64)(-top - 1)));
    return norm(b, k->t, v_op1(b, VOP_trunc_w, r));
}
/* op 0 all, 1 any */
static void do_all(vbuild *b, vcall *k, bool any) {
    u32 n = type_comps(k->i->ops[1]->type), r = k->a[0][0];
    for (u32 c = 1; c < n; c++)
        r = v_op2(b, any ? VOP_or_m : VOP_and_m, r, k->a[0][c]);
    k->out[0] = r;
}
static u32 do_normalize(vbuild *b, vcall *k, u16 op) {
    u32 m = v_op2(b, VOP_ne_w, arg(k, 0), v_w(b, 0));
    return v_op3(b, VOP_sel_w, m, v_w(b, 1), v_w(b, 0));
}
static u32 do_first_arg(vbuild *b, vcall *k, u16 op) { return arg(k, 0); }

/* ---- Across lanes ----------------------------------------------------------------------------------- */
static u32 shuffle(vbuild *b, u32 v, u32 index) {
    u8 cls = v_at(b, v)->cls;
    if (cls == CLS_M) {
        u32 w = v_op3(b, VOP_sel_w, v, v_w(b, 1), v_w(b, 0));
        return v_op2(b, VOP_ne_w, v_op2(b, VOP_shuf_w, w, index), v_w(b, 0));
    }
    return v_op2(b, cls == CLS_D ? VOP_shuf_d : VOP_shuf_w, v, index);
}
static u32 keep_inside(vbuild *b, u32 index) {
    return v_op3(b, VOP_sel_w, v_op2(b, VOP_ult_w, index, v_w(b, 32)), index, lane_id(b));
}
enum { SHUF_AT, SHUF_XOR, SHUF_DOWN, SHUF_UP, SHUF_ROTATE_DOWN, SHUF_ROTATE_UP, QUAD_AT, QUAD_XOR,
       QUAD_DOWN, QUAD_UP };
static u32 do_shuffle(vbuild *b, vcall *k, u16 op) {
    u32 lane = lane_id(b), x = k->a[1][0], index = x;
    u32 quad = v_op2(b, VOP_and_w, lane, v_w(b, ~3u));
    switch (op) {
    case SHUF_XOR: case QUAD_XOR: index = v_op2(b, VOP_xor_w, lane, x); break;
    case SHUF_DOWN: index = keep_inside(b, v_op2(b, VOP_add_w, lane, x)); break;
    case SHUF_UP: index = keep_inside(b, v_op2(b, VOP_sub_w, lane, x)); break;
    case SHUF_ROTATE_DOWN: index = v_op2(b, VOP_add_w, lane, x); break;
    case SHUF_ROTATE_UP: index = v_op2(b, VOP_sub_w, lane, x); break;
    case QUAD_AT: index = v_op2(b, VOP_or_w, quad, v_op2(b, VOP_and_w, x, v_w(b, 3))); break;
    case QUAD_DOWN: case QUAD_UP: {
        u32 to = v_op2(b, op == QUAD_DOWN ? VOP_add_w : VOP_sub_w, lane, x);
        u32 same = v_op2(b, VOP_eq_w, v_op2(b, VOP_and_w, to, v_w(b, ~3u)), quad);
        index = v_op3(b, VOP_sel_w, same, to, lane);
        break;
    }
    default: break;
    }
    if (b->k->checks.lanes)
        guard_operands(b, GUARD_SHUFFLE, (vtype){CLS_W, 32, FP_NONE}, 1, &index, op == SHUF_AT ? 0 : GUARD_WRAPS);
    return shuffle(b, arg(k, 0), index);
}
/* (data, filling, delta, modulo): lanes whose source leaves the segment take from filling. */
static u32 do_fill(vbuild *b, vcall *k, u16 up) {
    u32 lane = lane_id(b), delta = k->a[2][0];
    u32 modulo = k->i->n_ops > 4 ? k->a[3][0] : v_w(b, 32);
    u32 at = v_op2(b, VOP_urem_w, lane, modulo);
    u32 inside, to = v_op2(b, up ? VOP_sub_w : VOP_add_w, lane, delta), wrap;
    if (up) {
        inside = v_op2(b, VOP_ule_w, delta, at);
        wrap = v_op2(b, VOP_add_w, to, modulo);
    } else {
        inside = v_op2(b, VOP_ult_w, v_op2(b, VOP_add_w, at, delta), modulo);
        wrap = v_op2(b, VOP_sub_w, to, modulo);
    }
    u32 data = shuffle(b, arg(k, 0), to), fill = shuffle(b, arg(k, 1), wrap);
    u8 cls = v_at(b, data)->cls;
    if (cls == CLS_M)
        return v_op3(b, VOP_sel_m, inside, data, fill);
    return v_op3(b, cls == CLS_D ? VOP_sel_d : VOP_sel_w, inside, data, fill);
}
static u32 do_first_lane(vbuild *b, vcall *k, u16 op) {
    return v_op1(b, is_d(k) ? VOP_first_d : VOP_first_w, arg(k, 0));
}
enum { RED_SUM, RED_PRODUCT, RED_MIN, RED_MAX, RED_AND, RED_OR, RED_XOR };
static u16 red_kind(vcall *k, u16 red) {
    static const u8 f[] = {VRED_FADD, VRED_FMUL, VRED_FMIN, VRED_FMAX, VRED_AND, VRED_OR, VRED_XOR};
    static const u8 s[] = {VRED_ADD, VRED_MUL, VRED_SMIN, VRED_SMAX, VRED_AND, VRED_OR, VRED_XOR};
    static const u8 u[] = {VRED_ADD, VRED_MUL, VRED_UMIN, VRED_UMAX, VRED_AND, VRED_OR, VRED_XOR};
    return k->t.fp ? f[red] : k->is_signed ? s[red] : u[red];
}
static u32 finish_reduction(vbuild *b, vcall *k, u32 r) {
    return k->t.fp ? round_fp(b, k->t, r) : norm(b, k->t, r);
}
static u32 do_reduce(vbuild *b, vcall *k, u16 red) {
    if (k->t.cls != CLS_W) {
        v_refuse(b, "a simdgroup reduction of 64 bits");
        return arg(k, 0);
    }
    u32 r = v_op1(b, VOP_red_w, k->t.fp ? arg(k, 0) : signed_arg(b, k, 0));
    v_at(b, r)->def->x = red_kind(k, red);
    return finish_reduction(b, k, r);
}
static u32 do_prefix(vbuild *b, vcall *k, u16 op) { /* op = red * 2 + exclusive */
    if (k->t.cls != CLS_W) {
        v_refuse(b, "a simdgroup prefix of 64 bits");
        return arg(k, 0);
    }
    u32 r = v_op1(b, VOP_scan_w, k->t.fp ? arg(k, 0) : signed_arg(b, k, 0));
    v_at(b, r)->def->x = red_kind(k, op / 2);
    v_at(b, r)->def->imm = op & 1;
    return finish_reduction(b, k, r);
}
static u32 do_quad_reduce(vbuild *b, vcall *k, u16 red) {
    u32 v = k->t.fp ? arg(k, 0) : signed_arg(b, k, 0), lane = lane_id(b);
    if (k->t.cls != CLS_W) {
        v_refuse(b, "a quad reduction of 64 bits");
        return v;
    }
    static const u16 f[] = {VOP_fadd, VOP_fmul, VOP_fmin, VOP_fmax, VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 s[] = {VOP_add_w, VOP_mul_w, VOP_smin_w, VOP_smax_w, VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 u[] = {VOP_add_w, VOP_mul_w, VOP_umin_w, VOP_umax_w, VOP_and_w, VOP_or_w, VOP_xor_w};
    u16 op = k->t.fp ? f[red] : k->is_signed ? s[red] : u[red];
    for (u32 d = 1; d <= 2; d++)
        v = v_op2(b, op, v, shuffle(b, v, v_op2(b, VOP_xor_w, lane, v_w(b, d))));
    return finish_reduction(b, k, v);
}
static void do_vote(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op1(b, op, k->a[0][0]); }
static void do_is_first(vbuild *b, vcall *k) { k->out[0] = v_op(b, VOP_is_first, 0, NULL); }
static void do_active(vbuild *b, vcall *k) {
    u32 all = v_const(b, CLS_M, ~0u);
    k->out[0] = v_op1(b, VOP_ballot, all);
}

/* ---- Matrices --------------------------------------------------------------------------------------- */
static u32 element_kind(const air_type *matrix) {
    return matrix->elem->kind == AIR_HALF ? VMEM_F : matrix->elem->kind == AIR_BFLOAT ? VMEM_G : VMEM_W;
}
static u32 add(vbuild *b, u32 x, u32 y) { return v_op2(b, VOP_add_d, x, y); }
static u32 mul(vbuild *b, u32 x, u32 y) { return v_op2(b, VOP_mul_d, x, y); }
/* at: position of the pointer among the arguments; both signature forms (rules.md C10). */
static void do_matrix_memory(vbuild *b, vcall *k, bool store) {
    u32 at = store ? 1 : 0;
    const air_type *matrix = store ? k->i->ops[1]->type : k->i->v.type;
    u32 p = value1(b, k->in, k->i->ops[at + 1]), x, y, from;
    u32 *q = value_of(b, k->in, k->i->ops[at + 2]);
    u32 kind = element_kind(matrix), size = kind == VMEM_W ? 4 : 2;
    if (k->i->n_ops < at + 5) {
        v_refuse(b, "a matrix access of this form");
        return;
    }
    if (k->i->ops[at + 2]->type->kind == AIR_VECTOR) { /* dims, strides, origin */
        u32 *s = value_of(b, k->in, k->i->ops[at + 3]), *o = value_of(b, k->in, k->i->ops[at + 4]);
        x = s[0];
        y = s[1];
        from = add(b, mul(b, o[0], x), mul(b, o[1], y));
    } else { /* elements per row, origin, transpose */
        u32 *o = value_of(b, k->in, k->i->ops[at + 3]), flip = value1(b, k->in, k->i->ops[at + 4]);
        from = add(b, mul(b, o[1], q[0]), o[0]);
        x = v_op3(b, VOP_sel_d, flip, q[0], v_dw(b, 1));
        y = v_op3(b, VOP_sel_d, flip, v_dw(b, 1), q[0]);
    }
    p = add(b, p, mul(b, from, v_dw(b, size)));
    vinst *i;
    if (store) {
        u32 s[4] = {k->a[0][0], p, x, y};
        i = v_emit(b, VOP_xstore, 0, NULL, 4, s);
    } else {
        u32 s[3] = {p, x, y}, d = v_new(b, CLS_X);
        i = v_emit(b, VOP_xload, 1, &d, 3, s);
        k->out[0] = d;
    }
    i->x = (u16)kind;
    i->effect = true;
    b->k->granule = MIN(b->k->granule, log2_u64(size));
    i->align = (u8)log2_u64(size);
}
static void do_mma(vbuild *b, vcall *k) {
    u8 order = b->k->numerics.matrix;
    k->out[0] = v_op3(b, order == VGPU_matrix_sequential ? VOP_xmma : VOP_xmma_by, k->a[0][0], k->a[1][0],
                      k->a[2][0]);
    vinst *i = v_at(b, k->out[0])->def;
    i->x = (u16)element_kind(k->i->v.type);
    i->imm = order;
}
static void do_matrix_fill(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op1(b, op, k->a[0][0]); }

/* ---- Atomics, memory -------------------------------------------------------------------------------- */
static const struct { const char *name; u8 atom, is_float; } atoms[] = {
    {"load", VATOM_LOAD, VATOM_LOAD}, {"store", VATOM_STORE, VATOM_STORE},
    {"xchg", VATOM_XCHG, VATOM_XCHG}, {"cmpxchg", VATOM_CAS, VATOM_CAS},
    {"add", VATOM_ADD, VATOM_FADD},   {"sub", VATOM_SUB, VATOM_FSUB},
    {"and", VATOM_AND, VATOM_AND},    {"or", VATOM_OR, VATOM_OR},
    {"xor", VATOM_XOR, VATOM_XOR},    {"min", VATOM_SMIN, VATOM_FMIN},
    {"max", VATOM_SMAX, VATOM_FMAX},
};
static void do_atomic(vbuild *b, vcall *k) {
    const char *p = k->tail; /* ".global.max.u.i64" */
    if (strncmp(p, ".fence", 6) == 0)
        return;
    bool local = strncmp(p, ".local.", 7) == 0;
    p += local ? 7 : strncmp(p, ".global.", 8) == 0 ? 8 : strlen(p);
    size_t len = strcspn(p, ".");
    u32 a = 0;
    while (a < COUNT_OF(atoms) && (strlen(atoms[a].name) != len || strncmp(p, atoms[a].name, len) != 0))
        a++;
    const air_type *pt = k->i->ops[1]->type;
    if (a == COUNT_OF(atoms) || pt->kind != AIR_PTR || !pt->elem) {
        v_refuse(b, k->i->ops[0]->name);
        return;
    }
    vtype t = type_comp(b, pt->elem, 0);
    if ((t.cls != CLS_W && t.cls != CLS_D) || t.bits < 32) {
        v_refuse(b, k->i->ops[0]->name);
        return;
    }
    u32 kind = t.fp ? atoms[a].is_float : atoms[a].atom, zero = v_const(b, t.cls, 0);
    if (k->is_signed == false && strstr(p, ".u.") && (kind == VATOM_SMIN || kind == VATOM_SMAX))
        kind += VATOM_UMIN - VATOM_SMIN;
    u32 s[3] = {k->a[0][0], zero, zero}, expected_at = NO;
    if (kind == VATOM_CAS) {
        expected_at = k->a[1][0];
        s[2] = load_value(b, pt->elem, expected_at, k->i->ops[2]->type->space)[0];
        s[1] = k->a[2][0];
    } else if (kind != VATOM_LOAD) {
        s[1] = k->a[1][0];
    }
    u32 d = v_new(b, t.cls);
    vinst *i = v_emit(b, t.cls == CLS_D ? VOP_atom_d : VOP_atom_w, 1, &d, 3, s);
    i->x = (u16)kind;
    i->effect = true;
    i->align = t.cls == CLS_D ? 3 : 2;
    b->k->n_atomics++;
    if (expected_at != NO)
        store_value(b, pt->elem, expected_at, k->i->ops[2]->type->space, &d);
    if (k->n)
        k->out[0] = d;
}
static void do_plain_load(vbuild *b, vcall *k) {
    k->out = load_value(b, k->i->v.type, k->a[0][0], k->i->ops[1]->type->space);
}
static void do_plain_store(vbuild *b, vcall *k) {
    store_value(b, k->i->ops[1]->type, k->a[1][0], k->i->ops[2]->type->space, k->a[0]);
}
static void do_barrier(vbuild *b) {
    vinst *i = v_emit(b, VOP_barrier, 0, NULL, 0, NULL);
    i->x = (u16)b->k->n_barriers++;
    i->effect = true;
}
static void do_defined(vbuild *b, vcall *k) {
    bool given = false;
    for (u32 c = 0; b->kernel && c < b->kernel->n_constants; c++) {
        const air_constant *fc = &b->kernel->constants[c];
        for (u32 j = 0; (air_value *)fc->global == k->i->ops[1] && j < b->n_constants; j++)
            given |= b->constants[j].name ? strcmp(b->constants[j].name, fc->name) == 0
                                          : b->constants[j].index == fc->index;
    }
    k->out[0] = v_const(b, CLS_M, given ? ~0u : 0);
}

/* ---- The table --------------------------------------------------------------------------------------- */
enum { W_SINCOS, W_DOT, W_ALL, W_ANY, W_SIMD_ALL, W_SIMD_ANY, W_BALLOT, W_IS_FIRST, W_ACTIVE, W_MLOAD,
       W_MSTORE, W_MMA, W_MFILL, W_MDIAG, W_ATOMIC, W_LOAD, W_STORE, W_BARRIER, W_DEFINED, W_COPY,
       W_SET, W_SIZE, W_LANE };
static const family families[] = {
    {"convert", PER_COMP, 0, do_convert},
    {"exp", PER_COMP, VOP_fexp, do_math1},       {"exp2", PER_COMP, VOP_fexp2, do_math1},
    {"exp10", PER_COMP, VOP_fexp10, do_math1},   {"log", PER_COMP, VOP_flog, do_math1},
    {"log2", PER_COMP, VOP_flog2, do_math1},     {"log10", PER_COMP, VOP_flog10, do_math1},
    {"sin", PER_COMP, VOP_fsin, do_math1},       {"cos", PER_COMP, VOP_fcos, do_math1},
    {"tan", PER_COMP, VOP_ftan, do_math1},       {"sinpi", PER_COMP, VOP_fsinpi, do_math1},
    {"cospi", PER_COMP, VOP_fcospi, do_math1},   {"asin", PER_COMP, VOP_fasin, do_math1},
    {"acos", PER_COMP, VOP_facos, do_math1},     {"atan", PER_COMP, VOP_fatan, do_math1},
    {"sinh", PER_COMP, VOP_fsinh, do_math1},     {"cosh", PER_COMP, VOP_fcosh, do_math1},
    {"tanh", PER_COMP, VOP_ftanh, do_math1},     {"asinh", PER_COMP, VOP_fasinh, do_math1},
    {"acosh", PER_COMP, VOP_facosh, do_math1},   {"atanh", PER_COMP, VOP_fatanh, do_math1},
    {"sqrt", PER_COMP, VOP_fsqrt, do_math1},     {"rsqrt", PER_COMP, VOP_frsqrt, do_math1},
    {"floor", PER_COMP, VOP_ffloor, do_math1},   {"ceil", PER_COMP, VOP_fceil, do_math1},
    {"rint", PER_COMP, VOP_frint, do_math1},     {"round", PER_COMP, VOP_fround, do_math1},
    {"trunc", PER_COMP, VOP_ftrunc, do_math1},   {"fabs", PER_COMP, 0, do_fabs},
    {"copysign", PER_COMP, 0, do_copysign},      {"pow", PER_COMP, VOP_fpow, do_math2},
    {"powr", PER_COMP, VOP_fpow, do_math2},      {"atan2", PER_COMP, VOP_fatan2, do_math2},
    {"fmod", PER_COMP, VOP_fmod, do_math2},      {"nextafter", PER_COMP, 0, do_next},
    {"ldexp", PER_COMP, 0, do_ldexp},            {"fma", PER_COMP, 0, do_fma},
    {"fmuladd", PER_COMP, 0, do_fmuladd},            {"fract", PER_COMP, 0, do_fma_fraction},
    {"saturate", PER_COMP, 0, do_saturate},      {"sincos", WHOLE, W_SINCOS, NULL},
    {"dot", WHOLE, W_DOT, NULL},
    {"fmin", PER_COMP, 0, do_min},               {"fmax", PER_COMP, 1, do_min},
    {"min", PER_COMP, 0, do_min},                {"max", PER_COMP, 1, do_min},
    {"smin", PER_COMP, 0, do_min},               {"smax", PER_COMP, 1, do_min},
    {"umin", PER_COMP, 0, do_min},               {"umax", PER_COMP, 1, do_min},
    {"minnum", PER_COMP, 0, do_min},             {"maxnum", PER_COMP, 1, do_min},
    {"fmin3", PER_COMP, 0, do_min3},             {"fmax3", PER_COMP, 1, do_min3},
    {"min3", PER_COMP, 0, do_min3},              {"max3", PER_COMP, 1, do_min3},
    {"fmedian3", PER_COMP, 0, do_median3},       {"median3", PER_COMP, 0, do_median3},
    {"clamp", PER_COMP, 0, do_clamp},            {"abs", PER_COMP, 0, do_abs},
    {"clz", PER_COMP, VOP_clz_w, do_count},      {"ctz", PER_COMP, VOP_ctz_w, do_count},
    {"popcount", PER_COMP, VOP_popc_w, do_count}, {"ctlz", PER_COMP, VOP_clz_w, do_count},
    {"cttz", PER_COMP, VOP_ctz_w, do_count},     {"ctpop", PER_COMP, VOP_popc_w, do_count},
    {"reverse_bits", PER_COMP, 0, do_reverse},   {"bitreverse", PER_COMP, 0, do_reverse},
    {"mul_hi", PER_COMP, 0, do_mul_hi},          {"rotate", PER_COMP, 0, do_rotate},
    {"fshl", PER_COMP, 0, do_funnel},            {"fshr", PER_COMP, 1, do_funnel},
    {"uadd", PER_COMP, 0, do_saturating},        {"usub", PER_COMP, 1, do_saturating},
    {"sadd", PER_COMP, 2, do_saturating},        {"ssub", PER_COMP, 3, do_saturating},
    {"all", WHOLE, W_ALL, NULL},                 {"any", WHOLE, W_ANY, NULL},
    {"normalize_function_constant_predicate", PER_COMP, 0, do_normalize},
    {"is_function_constant_defined", WHOLE, W_DEFINED, NULL},
    {"is_uniform", TRUE_MASK, 0, NULL},          {"expect", PER_COMP, 0, do_first_arg},
    {"simd_shuffle", PER_COMP, SHUF_AT, do_shuffle},
    {"simd_broadcast", PER_COMP, SHUF_AT, do_shuffle},
    {"simd_shuffle_xor", PER_COMP, SHUF_XOR, do_shuffle},
    {"simd_shuffle_down", PER_COMP, SHUF_DOWN, do_shuffle},
    {"simd_shuffle_up", PER_COMP, SHUF_UP, do_shuffle},
    {"simd_shuffle_rotate_down", PER_COMP, SHUF_ROTATE_DOWN, do_shuffle},
    {"simd_shuffle_rotate_up", PER_COMP, SHUF_ROTATE_UP, do_shuffle},
    {"simd_shuffle_and_fill_up", PER_COMP, 1, do_fill},
    {"simd_shuffle_and_fill_down", PER_COMP, 0, do_fill},
    {"simd_broadcast_first", PER_COMP, 0, do_first_lane},
    {"quad_shuffle", PER_COMP, QUAD_AT, do_shuffle},
    {"quad_broadcast", PER_COMP, QUAD_AT, do_shuffle},
    {"quad_shuffle_xor", PER_COMP, QUAD_XOR, do_shuffle},
    {"quad_shuffle_down", PER_COMP, QUAD_DOWN, do_shuffle},
    {"quad_shuffle_up", PER_COMP, QUAD_UP, do_shuffle},
    {"simd_sum", PER_COMP, RED_SUM, do_reduce},  {"simd_product", PER_COMP, RED_PRODUCT, do_reduce},
    {"simd_min", PER_COMP, RED_MIN, do_reduce},  {"simd_max", PER_COMP, RED_MAX, do_reduce},
    {"simd_and", PER_COMP, RED_AND, do_reduce},  {"simd_or", PER_COMP, RED_OR, do_reduce},
    {"simd_xor", PER_COMP, RED_XOR, do_reduce},
    {"quad_sum", PER_COMP, RED_SUM, do_quad_reduce}, {"quad_product", PER_COMP, RED_PRODUCT, do_quad_reduce},
    {"quad_min", PER_COMP, RED_MIN, do_quad_reduce}, {"quad_max", PER_COMP, RED_MAX, do_quad_reduce},
    {"quad_and", PER_COMP, RED_AND, do_quad_reduce}, {"quad_or", PER_COMP, RED_OR, do_quad_reduce},
    {"quad_xor", PER_COMP, RED_XOR, do_quad_reduce},
    {"simd_prefix_inclusive_sum", PER_COMP, RED_SUM * 2, do_prefix},
    {"simd_prefix_exclusive_sum", PER_COMP, RED_SUM * 2 + 1, do_prefix},
    {"simd_prefix_inclusive_product", PER_COMP, RED_PRODUCT * 2, do_prefix},
    {"simd_prefix_exclusive_product", PER_COMP, RED_PRODUCT * 2 + 1, do_prefix},
    {"simd_all", WHOLE, W_SIMD_ALL, NULL},       {"simd_any", WHOLE, W_SIMD_ANY, NULL},
    {"simd_ballot", WHOLE, W_BALLOT, NULL},      {"simd_is_first", WHOLE, W_IS_FIRST, NULL},
    {"simd_active_threads_mask", WHOLE, W_ACTIVE, NULL},
    {"get_simdgroup_size", WHOLE, W_SIZE, NULL}, {"get_threads_per_simdgroup", WHOLE, W_SIZE, NULL},
    {"get_thread_index_in_simdgroup", WHOLE, W_LANE, NULL},
    {"simdgroup_matrix_8x8_load", WHOLE, W_MLOAD, NULL},
    {"simdgroup_matrix_8x8_store", WHOLE, W_MSTORE, NULL},
    {"simdgroup_matrix_8x8_multiply_accumulate", WHOLE, W_MMA, NULL},
    {"simdgroup_matrix_8x8_init_filled", WHOLE, W_MFILL, NULL},
    {"simdgroup_matrix_8x8_init_diag", WHOLE, W_MDIAG, NULL},
    {"atomic", WHOLE, W_ATOMIC, NULL},           {"load", WHOLE, W_LOAD, NULL},
    {"store", WHOLE, W_STORE, NULL},             {"wg", WHOLE, W_BARRIER, NULL},
    {"simdgroup", NOTHING, 0, NULL},             {"lifetime", NOTHING, 0, NULL},
    {"assume", NOTHING, 0, NULL},                {"dbg", NOTHING, 0, NULL},
    {"memcpy", WHOLE, W_COPY, NULL},             {"memmove", WHOLE, W_COPY, NULL},
    {"memset", WHOLE, W_SET, NULL},
};
static void decode_whole(vbuild *b, vcall *k, u16 what) {
    switch (what) {
    case W_SINCOS: do_sincos(b, k); break;
    case W_DOT: do_dot(b, k); break;
    case W_ALL: do_all(b, k, false); break;
    case W_ANY: do_all(b, k, true); break;
    case W_SIMD_ALL: do_vote(b, k, VOP_all); break;
    case W_SIMD_ANY: do_vote(b, k, VOP_any); break;
    case W_BALLOT: do_vote(b, k, VOP_ballot); break;
    case W_IS_FIRST: do_is_first(b, k); break;
    case W_ACTIVE: do_active(b, k); break;
    case W_MLOAD: do_matrix_memory(b, k, false); break;
    case W_MSTORE: do_matrix_memory(b, k, true); break;
    case W_MMA: do_mma(b, k); break;
    case W_MFILL: do_matrix_fill(b, k, VOP_xfill); break;
    case W_MDIAG: do_matrix_fill(b, k, VOP_xdiag); break;
    case W_ATOMIC: do_atomic(b, k); break;
    case W_LOAD: do_plain_load(b, k); break;
    case W_STORE: do_plain_store(b, k); break;
    case W_BARRIER: do_barrier(b); break;
    case W_DEFINED: do_defined(b, k); break;
    case W_COPY: decode_copy(b, k->in, k->i, false); break;
    case W_SET: decode_copy(b, k->in, k->i, true); break;
    case W_SIZE: k->out[0] = v_w(b, 32); break;
    case W_LANE: k->out[0] = lane_id(b); break;
    default: break;
    }
}
static const family *find_family(const char *name, const char **tail) {
    if (strncmp(name, "air.", 4) == 0)
        name += 4;
    else if (strncmp(name, "llvm.", 5) == 0)
        name += 5;
    else
        return NULL;
    if (strncmp(name, "fast_", 5) == 0)
        name += 5;
    else if (strncmp(name, "precise_", 8) == 0)
        name += 8;
    size_t len = strcspn(name, ".");
    *tail = name + len;
    for (u32 i = 0; i < COUNT_OF(families); i++)
        if (strlen(families[i].name) == len && memcmp(families[i].name, name, len) == 0)
            return &families[i];
    return NULL;
}
void decode_call(vbuild *b, vinstance *in, air_inst *i) {
    air_func *f = (air_func *)i->ops[0];
    if (f->v.kind != AIR_V_FUNC || !f->v.name) {
        v_refuse(b, "an indirect call");
        return;
    }
    if (f->first) {
        decode_inline(b, in, i, f);
        return;
    }
    vcall k = {.in = in, .i = i, .tail = "", .n = type_comps(i->v.type)};
    const family *fam = find_family(f->v.name, &k.tail);
    if (!fam) {
        v_refuse(b, arena_printf(b->k->arena, "%s", f->v.name));
        return;
    }
    if (fam->kind == NOTHING)
        return;
    k.out = ARENA_ARRAY(b->a, u32, k.n + 1);
    bool barrier_like = fam->kind == WHOLE && (fam->op == W_BARRIER || fam->op == W_DEFINED ||
                                               fam->op == W_COPY || fam->op == W_SET);
    for (u32 a = 0; a < 4 && a + 1 < i->n_ops && !barrier_like; a++)
        k.a[a] = value_of(b, in, i->ops[a + 1]);
    k.is_signed = strncmp(k.tail, ".s.", 3) == 0 || strstr(f->v.name, "llvm.smin") ||
                  strstr(f->v.name, "llvm.smax") || strstr(f->v.name, "llvm.abs");
    if (fam->kind == TRUE_MASK) {
        k.out[0] = v_const(b, CLS_M, ~0u);
    } else if (fam->kind == WHOLE) {
        if (k.n)
            k.t = type_comp(b, i->v.type, 0);
        decode_whole(b, &k, fam->op);
    } else {
        for (k.c = 0; k.c < k.n && !b->failed; k.c++) {
            k.t = type_comp(b, i->v.type, k.c);
            k.out[k.c] = fam->fn(b, &k, fam->op);
        }
    }
    if (k.n)
        value_set(b, in, i, k.out);
}
