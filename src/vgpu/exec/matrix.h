/* SPDX-License-Identifier: MIT */
/* 8x8 matrices: 64 f32 row by row, whatever the element type in memory. A product sums k = 0..7 in
 * order with FMA; where a run of products shares the left operand, two go side by side in wide
 * registers, with the same sums. Other orders are for comparison: plain loops. */
#pragma once
#include "vgpu/exec/mem.h"

/* Element kinds F, G, W; element (r, col) at base + (col * x + r * y) * size. Corners prove the rest only while
 * nothing wraps: strides past 2^40 leave every buffer. */
INLINE bool matrix_access(vctx *c, u64 base, i64 x, i64 y, u16 reg, int kind, bool store) {
    float *m = (float *)WIDE_OF(c, reg);
    u32 size = kind_size[kind];
    u64 low = base, high = base;
    const i64 far = 1ll << 40;
    bool near = x < far && x > -far && y < far && y > -far;
    if (near) {
        *(x < 0 ? &low : &high) += (u64)(x * 7 * (i64)size);
        *(y < 0 ? &low : &high) += (u64)(y * 7 * (i64)size);
    }
    const vseg *s = near ? seg_of(c, low, high, size, store) : NULL;
    if (!s) {
        u64 addr[2] = {low, high};
        bool low_ok = seg_of(c, low, low, size, store) != NULL;
        if (!access_fault(c, &addr[low_ok ? 1 : 0], 1, size, store)) {
            c->fault.lanes = c->mask;
            return false;
        }
        if (!store)
            memset(m, 0, 256);
        return true;
    }
    u8 *p = seg_host(s, base & LOW48);
    if (x == 1 && kind == VMEM_W) {
        UNROLL
        for (int r = 0; r < 8; r++) {
            u8 *q = p + (i64)r * y * 4;
            if (store)
                memcpy(q, m + r * 8, 32);
            else
                memcpy(m + r * 8, q, 32);
        }
        return true;
    }
#if VB >= 32
    if (x == 1 && !store) {
        UNROLL
        for (int r = 0; r < 8; r++) {
            __m128i h = _mm_loadu_si128((const __m128i *)(p + (i64)r * y * 2));
            __m256i v = kind == VMEM_F ? (__m256i)_mm256_cvtph_ps(h)
                                       : _mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
            _mm256_store_si256((__m256i *)(m + r * 8), v);
        }
        return true;
    }
#endif
    if (x == 1 && !store) {
        u32 t[64] __attribute__((aligned(64)));
        for (int r = 0; r < 8; r++) {
            u16 h[8];
            memcpy(h, p + (i64)r * y * 2, 16);
            for (int i = 0; i < 8; i++)
                t[r * 8 + i] = h[i];
        }
        for (int i = 0; i < 64 / NW; i++)
            ((vu *)m)[i] = from_memory(((vu *)t)[i], kind);
        return true;
    }
    for (int r = 0; r < 8; r++)
        for (int col = 0; col < 8; col++) {
            u8 *q = p + ((i64)col * x + (i64)r * y) * (i64)size;
            if (store)
                raw_store(q, kind, to_memory_s(as_u(m[r * 8 + col]), kind));
            else
                m[r * 8 + col] = as_f(from_memory_s(raw_load(q, kind), kind));
        }
    return true;
}
/* d = a * b + c, k = 0..7 in order; d may be any of the operands. */
INLINE void matrix_mma(float *d, const float *a, const float *b, const float *c) {
#if VB >= 32
    __m256 acc[8];
    UNROLL
    for (int i = 0; i < 8; i++)
        acc[i] = _mm256_load_ps(c + i * 8);
    UNROLL
    for (int k = 0; k < 8; k++) {
        __m256 row = _mm256_load_ps(b + k * 8);
        UNROLL
        for (int i = 0; i < 8; i++)
            acc[i] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + i * 8 + k), row, acc[i]);
    }
    UNROLL
    for (int i = 0; i < 8; i++)
        _mm256_store_ps(d + i * 8, acc[i]);
#else
    vf acc[8][8 / NW];
    UNROLL
    for (int i = 0; i < 8; i++)
        UNROLL
        for (int j = 0; j < 8 / NW; j++) {
            vf s = ((const vf *)(c + i * 8))[j];
            UNROLL
            for (int k = 0; k < 8; k++)
                s = fma_v(splat_f(a[i * 8 + k]), ((const vf *)(b + k * 8))[j], s);
            acc[i][j] = s;
        }
    memcpy(d, acc, 256);
#endif
}
INLINE float round_to(float x, int kind) { return kind == VMEM_F ? r16_s(x) : kind == VMEM_G ? rbf_s(x) : x; }
/* One element in another order than that of matrix_mma: a row of a, a column of b. */
INLINE float matrix_element(const float *a, const float *b, float c, int order, int kind) {
    float p[8];
    double wide = c;
    switch (order) {
    case VGPU_matrix_stepwise:
        for (int k = 0; k < 8; k++)
            c = round_to(fma_s(a[k], b[k * 8], c), kind);
        return c;
    case VGPU_matrix_pairwise:
        for (int k = 0; k < 8; k++)
            p[k] = a[k] * b[k * 8];
        return (((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))) + c;
    default:
        for (int k = 0; k < 8; k++)
            wide += (double)a[k] * (double)b[k * 8];
        return (float)wide;
    }
}
static __attribute__((noinline)) void matrix_mma_by(float *d, const float *a, const float *b, const float *c,
                                                    int order, int kind) {
    float r[64];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            r[i * 8 + j] = round_to(matrix_element(a + i * 8, b + j, c[i * 8 + j], order, kind), kind);
    memcpy(d, r, sizeof r);
}
#if VB == 64
/* Two products with the same a: their rows side by side. Neither reads what the other writes. */
INLINE void matrix_mma2(float *d0, float *d1, const float *a, const float *b0, const float *b1,
                        const float *c0, const float *c1) {
    __m512 acc[8];
#define PAIR(p, q)                                                                                 \
    (__m512)_mm512_insertf64x4(_mm512_castpd256_pd512((__m256d)_mm256_load_ps(p)),                 \
                               (__m256d)_mm256_load_ps(q), 1)
    UNROLL
    for (int i = 0; i < 8; i++)
        acc[i] = PAIR(c0 + i * 8, c1 + i * 8);
    UNROLL
    for (int k = 0; k < 8; k++) {
        __m512 row = PAIR(b0 + k * 8, b1 + k * 8);
        UNROLL
        for (int i = 0; i < 8; i++)
            acc[i] = _mm512_fmadd_ps(_mm512_set1_ps(a[i * 8 + k]), row, acc[i]);
    }
#undef PAIR
    UNROLL
    for (int i = 0; i < 8; i++) {
        _mm256_store_ps(d0 + i * 8, _mm512_castps512_ps256(acc[i]));
        _mm256_store_ps(d1 + i * 8, (__m256)_mm512_extractf64x4_pd((__m512d)acc[i], 1));
    }
}
#endif
