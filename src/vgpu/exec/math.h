/* SPDX-License-Identifier: MIT */
/* f32 functions on chunks: own polynomials, from range reduction and minimax fits; the accuracy each
 * states is measured by test_math against libm in f64. Scalar forms call the chunk form so that a
 * shared value never differs from the same value in lanes. */
#pragma once
#include "vgpu/exec/isa.h"

/* A subnormal as zero of its sign where the launch flushes them, which shows in comparisons: for operands and
 * results of functions that work on bits. */
static inline float flushed_s(float x) {
    u32 bits = as_u(x);
    return as_f(x == 0.0f ? bits & 0x80000000u : bits);
}
/* 2^n for integral n in [-252, 252], by two exponent fields. */
static inline vf scale2_v(vf x, vi n) {
    vi half = n >> 1;
    vf a = (vf)((half + 127) << 23), b = (vf)((n - half + 127) << 23);
    return x * a * b;
}
/* e^r for |r| <= 0.35 */
static inline vf exp_poly(vf r) {
    vf p = splat_f(1.9875691500e-4f);
    p = fma_v(p, r, splat_f(1.3981999507e-3f));
    p = fma_v(p, r, splat_f(8.3334519073e-3f));
    p = fma_v(p, r, splat_f(4.1665795894e-2f));
    p = fma_v(p, r, splat_f(1.6666665459e-1f));
    p = fma_v(p, r, splat_f(5.0000001201e-1f));
    return fma_v(p * r, r, r) + splat_f(1.0f);
}
static inline vf fexp_v(vf x) {
    vf lo = splat_f(-110.0f), hi = splat_f(100.0f);
    vf c = pick_f((vu)(x < lo), lo, pick_f((vu)(x > hi), hi, x)); /* a NaN stays */
    vf n = round_v(c * splat_f(1.44269504088896341f), 0);
    vf r = fma_v(n, splat_f(-0.693359375f), c);
    r = fma_v(n, splat_f(2.12194440e-4f), r);
    vi e = f2s_v((vf)pick_w((vu)(x == x), (vu)n, splat_u(0)));
    vf y = scale2_v(exp_poly(r), e);
    return pick_f((vu)(x == x), y, x);
}
static inline vf fexp2_v(vf x) {
    vf lo = splat_f(-160.0f), hi = splat_f(140.0f);
    vf c = pick_f((vu)(x < lo), lo, pick_f((vu)(x > hi), hi, x));
    vf n = round_v(c, 0);
    vf r = (c - n) * splat_f(0.69314718055994531f);
    vi e = f2s_v((vf)pick_w((vu)(x == x), (vu)n, splat_u(0)));
    vf y = scale2_v(exp_poly(r), e);
    return pick_f((vu)(x == x), y, x);
}
/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); f = m - 1. Subnormals are scaled first. */
static inline vf log_split(vf x, vf *e) {
    vu small = (vu)((vu)x < 0x00800000u);
    vf y = pick_f(small, s2f_v((vi)((vu)x & 0x007FFFFF)) * splat_f(0x1p-23f), x);
    vi ex = (vi)((vu)y - 0x3F3504F3u) >> 23;
    vf m = (vf)((vu)y - ((vu)ex << 23));
    *e = s2f_v(ex) + (vf)(small & as_u(-126.0f));
    return m - splat_f(1.0f);
}
/* log(1 + f) - f + f^2/2, over f^3 */
static inline vf log_poly(vf f) {
    vf p = splat_f(7.0376836292e-2f);
    p = fma_v(p, f, splat_f(-1.1514610310e-1f));
    p = fma_v(p, f, splat_f(1.1676998740e-1f));
    p = fma_v(p, f, splat_f(-1.2420140846e-1f));
    p = fma_v(p, f, splat_f(1.4249322787e-1f));
    p = fma_v(p, f, splat_f(-1.6668057665e-1f));
    p = fma_v(p, f, splat_f(2.0000714765e-1f));
    p = fma_v(p, f, splat_f(-2.4999993993e-1f));
    return fma_v(p, f, splat_f(3.3333331174e-1f));
}
/* Zero (a subnormal too where they are flushed), negative, infinite and NaN operands of a logarithm. */
static inline vf log_edges(vf x, vf y) {
    y = pick_f((vu)(x == splat_f(INFINITY)), x, y);
    y = pick_f((vu)(x == splat_f(0.0f)), splat_f(-INFINITY), y);
    y = pick_f((vu)(x < splat_f(0.0f)), splat_f(NAN), y);
    return pick_f((vu)(x == x), y, x);
}
static inline vf flog_v(vf x) {
    vf e, f = log_split(x, &e), z = f * f;
    vf y = log_poly(f) * f * z;
    y = fma_v(e, splat_f(-2.12194440e-4f), y);
    y = fma_v(splat_f(-0.5f), z, y);
    y = f + y;
    return log_edges(x, fma_v(e, splat_f(0.693359375f), y));
}
static inline vf flog2_v(vf x) {
    vf e, f = log_split(x, &e), z = f * f;
    vf y = fma_v(splat_f(-0.5f), z, log_poly(f) * f * z); /* log(1 + f) = f + y */
    vf l2ea = splat_f(0.44269504088896341f);              /* log2(e) - 1 */
    vf s = y * l2ea;
    s = fma_v(f, l2ea, s);
    s = s + y;
    s = s + f;
    return log_edges(x, s + e);
}
/* x - q * pi/2 in three parts; q = nearest multiple. Exact enough for |x| < 8192. */
static inline vf trig_reduce(vf x, vi *q) {
    vf n = round_v(x * splat_f(0.63661977236758134f), 0);
    *q = f2s_v(n);
    vf r = fma_v(n, splat_f(-1.5703125f), x);
    r = fma_v(n, splat_f(-4.837512969970703125e-4f), r);
    return fma_v(n, splat_f(-7.54978995489188216e-8f), r);
}
static inline vf sin_poly(vf r) {
    vf z = r * r, p = splat_f(-1.9515295891e-4f);
    p = fma_v(p, z, splat_f(8.3321608736e-3f));
    p = fma_v(p, z, splat_f(-1.6666654611e-1f));
    return fma_v(p * z, r, r);
}
static inline vf cos_poly(vf r) {
    vf z = r * r, p = splat_f(2.443315711809948e-5f);
    p = fma_v(p, z, splat_f(-1.388731625493765e-3f));
    p = fma_v(p, z, splat_f(4.166664568298827e-2f));
    return fma_v(p * z, z, fma_v(splat_f(-0.5f), z, splat_f(1.0f)));
}
/* Lanes beyond the reduction's range take libm. */
static inline vf trig_v(vf x, int cosine) {
    vu far = (vu)(((vu)x & 0x7FFFFFFF) >= as_u(8192.0f));
    vi q;
    vf r = trig_reduce((vf)((vu)x & ~far), &q);
    q += cosine;
    vf s = sin_poly(r), c = cos_poly(r);
    vf y = pick_f((vu)((q & 1) != 0), c, s);
    y = (vf)((vu)y ^ (((vu)q & 2) << 30));
    u32 lanes = bits_w(far);
    for (int i = 0; lanes; i++, lanes >>= 1)
        if (lanes & 1)
            y[i] = cosine ? cosf(x[i]) : sinf(x[i]);
    return y;
}
static inline vf fsin_v(vf x) { return trig_v(x, 0); }
static inline vf fcos_v(vf x) { return trig_v(x, 1); }
static inline vf ftanh_v(vf x) {
    vf a = (vf)((vu)x & 0x7FFFFFFF);
    /* |x| < 0.625: odd polynomial; else 1 - 2 / (e^2|x| + 1) */
    vf z = x * x, p = splat_f(-5.70498872745e-3f);
    p = fma_v(p, z, splat_f(2.06390887954e-2f));
    p = fma_v(p, z, splat_f(-5.37397155531e-2f));
    p = fma_v(p, z, splat_f(1.33314422036e-1f));
    p = fma_v(p, z, splat_f(-3.33332819422e-1f));
    vf small = fma_v(p * z, x, x);
    vf big = splat_f(1.0f) - splat_f(2.0f) / (fexp_v(a + a) + splat_f(1.0f));
    big = (vf)((vu)big | ((vu)x & 0x80000000u));
    vf y = pick_f((vu)(a < splat_f(0.625f)), small, big);
    return pick_f((vu)(x == x), y, x);
}
static inline vf frsqrt_v(vf x) { return splat_f(1.0f) / sqrt_v(x); }
static inline vf ffloor_v(vf x) { return round_v(x, 1); }
static inline vf fceil_v(vf x) { return round_v(x, 2); }
static inline vf frint_v(vf x) { return round_v(x, 0); }
static inline vf ftrunc_v(vf x) { return round_v(x, 3); }
static inline vf fround_v(vf x) {
    /* trunc(x + copysign(pred(0.5), x)) rounds halves away */
    vf h = (vf)(as_u(0x1.fffffep-2f) | ((vu)x & 0x80000000u));
    vf y = round_v(x + h, 3);
    y = (vf)((vu)y | ((vu)x & 0x80000000u));
    return pick_f((vu)(((vu)x & 0x7FFFFFFF) < as_u(0x1p23f)), y, x);
}
static inline vf fmin_v(vf a, vf b) {
    vf m = pick_f((vu)(a < b), a, b);        /* b when either is a NaN or they are equal */
    return pick_f((vu)(b == b), m, a);
}
static inline vf fmax_v(vf a, vf b) {
    vf m = pick_f((vu)(a > b), a, b);
    return pick_f((vu)(b == b), m, a);
}
/* Minimum and maximum move bits: written on integers, because the host's own flush what they choose. */
static inline float pick_s(u32 first, float a, float b) {
    return as_f((as_u(a) & (0 - first)) | (as_u(b) & (first - 1)));
}
static inline float fmin_s(float a, float b) { return pick_s((u32)(a < b) | (u32)(b != b), a, b); }
static inline float fmax_s(float a, float b) { return pick_s((u32)(a > b) | (u32)(b != b), a, b); }
/* The whole part's low bits; 0 for what has none. */
static inline u64 f2wrap_s(float x) {
    u32 e = as_u(x) >> 23 & 255;
    u64 m = (as_u(x) & 0x7FFFFF) | 0x800000;
    u64 whole = e < 127 || e > 213 ? 0 : e < 150 ? m >> (150 - e) : m << (e - 150);
    return x < 0 ? 0 - whole : whole;
}
/* Saturating float to int; NaN gives 0. */
static inline i32 f2s_s(float x) {
    return x >= 0x1p31f ? INT32_MAX : x >= -0x1p31f ? (i32)x : x != x ? 0 : INT32_MIN;
}
static inline u32 f2u_s(float x) { return x >= 0x1p32f ? UINT32_MAX : x > 0 ? (u32)x : 0; }
static inline i64 f2s64_s(float x) {
    return x >= 0x1p63f ? INT64_MAX : x >= -0x1p63f ? (i64)x : x != x ? 0 : INT64_MIN;
}
static inline u64 f2u64_s(float x) { return x >= 0x1p64f ? UINT64_MAX : x > 0 ? (u64)x : 0; }
static inline vi f2ssat_v(vf x) {
    vu over = (vu)(x >= splat_f(0x1p31f)), under = (vu)(x < splat_f(-0x1p31f)), nan = (vu)(x != x);
    vi y = f2s_v((vf)pick_w(over | under | nan, splat_u(0), (vu)x));
    y = (vi)pick_w(over, splat_u(0x7FFFFFFF), (vu)y);
    return (vi)pick_w(under, splat_u(0x80000000u), (vu)y);
}
static inline vu f2usat_v(vf x) {
    vu over = (vu)(x >= splat_f(0x1p32f)), ok = (vu)(x > splat_f(0.0f)) & ~over;
    vu high = (vu)(x >= splat_f(0x1p31f)) & ok;
    vf y = (vf)((vu)x & ok);
    y = pick_f(high, y - splat_f(0x1p31f), y);
    vu r = (vu)f2s_v(y) ^ (high & 0x80000000u);
    return r | over;
}
static inline vf u2f_v(vu a) {
#if VB == 64
    return (vf)_mm512_cvtepu32_ps((__m512i)a);
#else
    vf r;
    for (int i = 0; i < NW; i++)
        r[i] = (float)a[i];
    return r;
#endif
}
/* e^x and friends for one value, through the chunk form. */
#define VIA_CHUNK(f, x) (f(splat_f(x))[0])
static inline float sinpi_s(float x) {
    double r = fmod((double)x, 2.0);
    return (float)sin(r * 3.14159265358979323846);
}
static inline float cospi_s(float x) {
    double r = fmod((double)x, 2.0);
    return (float)cos(r * 3.14159265358979323846);
}
static inline float exp10_s(float x) { return (float)pow(10.0, (double)x); }
/* The f16 after a towards b; both are f16 values kept as f32. */
static inline float hnext_s(float a, float b) {
    if (a != a || b != b)
        return NAN;
    if (a == b)
        return b;
    u32 h = f2h_s(a);
    if ((h & 0x7FFF) == 0)
        return h2f_s((b < 0 ? 0x8000u : 0) | 1);
    bool away = (a < b) == !(h & 0x8000);
    return h2f_s(away ? h + 1 : h - 1);
}
