/* SPDX-License-Identifier: MIT */
/* The one place that knows instruction sets: vectors of the machine's width (never wider: compilers
 * scalarise those), lane masks, comparisons to bits, half floats. exec.c is compiled once per set;
 * VGPU_ISA_NAME and the compiler's own macros choose. Everything above is plain C on these types. */
#pragma once
#include "vgpu/code.h"
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VB 64
#elif defined(__AVX2__)
#define VB 32
#else
#define VB 16
#endif
/* Before a loop over a small array that must live in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define NW (VB / 4)           /* 32-bit lanes in a chunk */
#define ND (VB / 8)
#define CW (VGPU_LANES / NW)  /* chunks in a W register */
#define CD (VGPU_LANES / ND)

typedef u32 vu __attribute__((vector_size(VB), may_alias));
typedef i32 vi __attribute__((vector_size(VB), may_alias));
typedef float vf __attribute__((vector_size(VB), may_alias));
typedef u64 vU __attribute__((vector_size(VB), may_alias));
typedef i64 vI __attribute__((vector_size(VB), may_alias));
typedef u32 vhu __attribute__((vector_size(VB / 2), may_alias)); /* as many lanes as vU */
typedef i32 vhi __attribute__((vector_size(VB / 2), may_alias));

static inline vu splat_u(u32 x) { return x - (vu){0}; }
static inline vi splat_i(i32 x) { return x - (vi){0}; }
static inline vU splat_U(u64 x) { return x - (vU){0}; }
static inline vI splat_I(i64 x) { return x - (vI){0}; }
static inline float as_f(u32 x) {
    float f;
    memcpy(&f, &x, 4);
    return f;
}
static inline u32 as_u(float f) {
    u32 x;
    memcpy(&x, &f, 4);
    return x;
}
static inline vf splat_f(float x) { return (vf)splat_u(as_u(x)); }

/* Lane numbers 0..NW-1. */
#if VB == 64
#define IOTA_W ((vu){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define IOTA_D ((vU){0, 1, 2, 3, 4, 5, 6, 7})
#elif VB == 32
#define IOTA_W ((vu){0, 1, 2, 3, 4, 5, 6, 7})
#define IOTA_D ((vU){0, 1, 2, 3})
#else
#define IOTA_W ((vu){0, 1, 2, 3})
#define IOTA_D ((vU){0, 1})
#endif

/* new where the mask's lane of chunk i is set, else old */
static inline vu blend_w(u32 mask, int i, vu old, vu new) {
#if VB == 64
    return (vu)_mm512_mask_mov_epi32((__m512i)old, (__mmask16)(mask >> (16 * i)), (__m512i)new);
#else
    vu bits = (splat_u(mask >> (NW * i)) >> IOTA_W) & 1;
    vu keep = bits - 1;
    return (old & keep) | (new & ~keep);
#endif
}
static inline vU blend_d(u32 mask, int i, vU old, vU new) {
#if VB == 64
    return (vU)_mm512_mask_mov_epi64((__m512i)old, (__mmask8)(mask >> (8 * i)), (__m512i)new);
#else
    vU bits = (splat_U(mask >> (ND * i)) >> IOTA_D) & 1;
    vU keep = bits - 1;
    return (old & keep) | (new & ~keep);
#endif
}
/* Comparison result (all ones or zero per lane) to bits. */
static inline u32 bits_w(vu v) {
#if VB == 64
    return _mm512_movepi32_mask((__m512i)v);
#elif VB == 32
    return (u32)_mm256_movemask_ps((__m256)v);
#elif defined(__x86_64__)
    return (u32)_mm_movemask_ps((__m128)v);
#else
    vu w = v & ((vu){1, 2, 4, 8});
    return w[0] | w[1] | w[2] | w[3];
#endif
}
static inline u32 bits_d(vU v) {
#if VB == 64
    return _mm512_movepi64_mask((__m512i)v);
#elif VB == 32
    return (u32)_mm256_movemask_pd((__m256d)v);
#elif defined(__x86_64__)
    return (u32)_mm_movemask_pd((__m128d)v);
#else
    return (u32)((v[0] & 1) | (v[1] & 2));
#endif
}
static inline vu pick_w(vu cond, vu a, vu b) { return (a & cond) | (b & ~cond); }
static inline vf pick_f(vu cond, vf a, vf b) { return (vf)pick_w(cond, (vu)a, (vu)b); }

/* a * b + c with one rounding; without FMA hardware through f64, which rounds twice in about one of
 * 2^29 cases. */
static inline float fma_s(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * (double)b + (double)c);
#endif
}
static inline vf fma_v(vf a, vf b, vf c) {
#if VB == 64
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VB == 32
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__x86_64__)
    __m128 x = (__m128)a, y = (__m128)b, z = (__m128)c;
    __m128d lo = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(x), _mm_cvtps_pd(y)), _mm_cvtps_pd(z));
    __m128d hi = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(x, x)),
                                       _mm_cvtps_pd(_mm_movehl_ps(y, y))),
                            _mm_cvtps_pd(_mm_movehl_ps(z, z)));
    return (vf)_mm_movelh_ps(_mm_cvtpd_ps(lo), _mm_cvtpd_ps(hi));
#else
    vf r;
    for (int i = 0; i < NW; i++)
        r[i] = fma_s(a[i], b[i], c[i]);
    return r;
#endif
}
static inline vf sqrt_v(vf a) {
#if VB == 64
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif VB == 32
    return (vf)_mm256_sqrt_ps((__m256)a);
#elif defined(__x86_64__)
    return (vf)_mm_sqrt_ps((__m128)a);
#elif defined(__aarch64__)
    return (vf)vsqrtq_f32((float32x4_t)a);
#endif
}
/* Signed 32-bit to float and back with truncation; out of range is not defined here. */
static inline vf s2f_v(vi a) { return __builtin_convertvector(a, vf); }
static inline vi f2s_v(vf a) { return __builtin_convertvector(a, vi); }

/* f16 bits (in the low half) to f32 and back, nearest even. */
static inline float h2f_s(u32 h) {
#if defined(__F16C__)
    return _cvtsh_ss((u16)h);
#else
    u32 sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
    if (e == 31)
        return as_f(sign | 0x7F800000 | m << 13 | (m ? 0x400000 : 0));
    if (e)
        return as_f(sign | (e + 112) << 23 | m << 13);
    /* subnormal: m * 2^-24 is a normal f32 */
    return as_f(sign | as_u((float)m * 0x1p-24f));
#endif
}
static inline u32 f2h_s(float f) {
#if defined(__F16C__)
    return _cvtss_sh(f, 0);
#else
    u32 x = as_u(f), sign = x >> 16 & 0x8000;
    x &= 0x7FFFFFFF;
    if (x > 0x7F800000)
        return sign | 0x7E00 | (x >> 13 & 0x3FF);
    if (x >= 0x477FF000)
        return sign | 0x7C00;
    if (x < 0x38800000) { /* below 2^-14: adding 0.5 rounds at 2^-24 */
        float r = as_f(x) + 0.5f;
        return sign | (as_u(r) - 0x3F000000);
    }
    x += 0xC8000FFF + (x >> 13 & 1);
    return sign | x >> 13;
#endif
}
static inline vf h2f_v(vu h) {
#if VB == 64
    return (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)h));
#elif VB == 32
    __m256i p = _mm256_packus_epi32((__m256i)(h & 0xFFFF), (__m256i)(h & 0xFFFF));
    p = _mm256_permute4x64_epi64(p, 0x08);
    return (vf)_mm256_cvtph_ps(_mm256_castsi256_si128(p));
#elif defined(__aarch64__)
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)h)));
#else
    vu sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
    vu normal = (e + 112) << 23 | m << 13;
    vu sub = (vu)(s2f_v((vi)m) * 0x1p-24f);
    vu special = 0x7F800000 | m << 13 | ((vu)(m != 0) & 0x400000);
    vu r = pick_w((vu)(e == 0), sub, pick_w((vu)(e == 31), special, normal));
    return (vf)(sign | r);
#endif
}
static inline vu f2h_v(vf f) {
#if VB == 64
    return (vu)_mm512_cvtepu16_epi32(_mm512_cvtps_ph((__m512)f, 0));
#elif VB == 32
    return (vu)_mm256_cvtepu16_epi32(_mm256_cvtps_ph((__m256)f, 0));
#elif defined(__aarch64__)
    return (vu)vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)f)));
#else
    vu x = (vu)f, sign = x >> 16 & 0x8000;
    x &= 0x7FFFFFFF;
    vu nan = 0x7E00 | (x >> 13 & 0x3FF);
    vu small = (vu)((vf)x + splat_f(0.5f)) - 0x3F000000;
    vu normal = (x + 0xC8000FFF + (x >> 13 & 1)) >> 13;
    vu r = pick_w((vu)(x < 0x38800000), small, normal);
    r = pick_w((vu)(x >= 0x477FF000), splat_u(0x7C00), r);
    r = pick_w((vu)(x > 0x7F800000), nan, r);
    return sign | r;
#endif
}
/* f32 rounded to the nearest value with eight significant bits; a NaN stays a quiet NaN. */
static inline float rbf_s(float f) {
    u32 x = as_u(f);
    if ((x & 0x7FFFFFFF) > 0x7F800000)
        return as_f((x | 0x400000) & 0xFFFF0000);
    return as_f((x + 0x7FFF + (x >> 16 & 1)) & 0xFFFF0000);
}
static inline vf rbf_v(vf f) {
    vu x = (vu)f;
    vu r = x + 0x7FFF + (x >> 16 & 1);
    r = pick_w((vu)((x & 0x7FFFFFFF) > 0x7F800000), x | 0x400000, r);
    return (vf)(r & 0xFFFF0000);
}
static inline float r16_s(float f) { return h2f_s(f2h_s(f)); }
static inline vf r16_v(vf f) {
#if VB == 64
    return (vf)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)f, 0));
#elif VB == 32
    return (vf)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)f, 0));
#else
    return h2f_v(f2h_v(f));
#endif
}

/* Rounding modes of f32 as floats; large values, infinities and NaNs come back as they are. */
static inline vf round_v(vf a, int mode) {
#if VB == 64
    switch (mode) {
    case 0: return (vf)_mm512_roundscale_ps((__m512)a, 0x08);
    case 1: return (vf)_mm512_roundscale_ps((__m512)a, 0x09);
    case 2: return (vf)_mm512_roundscale_ps((__m512)a, 0x0A);
    default: return (vf)_mm512_roundscale_ps((__m512)a, 0x0B);
    }
#elif VB == 32
    switch (mode) {
    case 0: return (vf)_mm256_round_ps((__m256)a, 0x08);
    case 1: return (vf)_mm256_round_ps((__m256)a, 0x09);
    case 2: return (vf)_mm256_round_ps((__m256)a, 0x0A);
    default: return (vf)_mm256_round_ps((__m256)a, 0x0B);
    }
#else
    vu sign = (vu)a & 0x80000000u, mag = (vu)a & 0x7FFFFFFF;
    vf big = splat_f(0x1p23f), m = (vf)mag, r;
    if (mode == 3) {
        r = s2f_v(f2s_v((vf)pick_w((vu)(m < big), mag, splat_u(0))));
    } else {
        r = (m + big) - big; /* nearest even */
        vf s = (vf)((vu)r | sign), x = (vf)(mag | sign);
        if (mode == 1)
            r = (vf)((vu)(s - (vf)((vu)(s > x) & as_u(1.0f))));
        else if (mode == 2)
            r = (vf)((vu)(s + (vf)((vu)(s < x) & as_u(1.0f))));
        r = (vf)((vu)r & 0x7FFFFFFF);
    }
    r = (vf)((vu)r | sign);
    return pick_f((vu)(m < big), r, a);
#endif
}

/* f32 subnormals as zero while a kernel runs; returns what to restore. */
static inline u64 flush_on(bool on) {
#if defined(__x86_64__)
    u32 old = _mm_getcsr();
    if (on)
        _mm_setcsr(old | 0x8040);
    else
        _mm_setcsr(old & ~0x8040u);
    return old;
#elif defined(__aarch64__)
    u64 old;
    __asm__ volatile("mrs %0, fpcr" : "=r"(old));
    u64 now = on ? old | 1u << 24 : old & ~(1ull << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(now));
    return old;
#else
    return 0;
#endif
}
static inline void flush_restore(u64 old) {
#if defined(__x86_64__)
    _mm_setcsr((u32)old);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(old));
#endif
}
