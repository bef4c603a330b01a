/* SPDX-License-Identifier: MIT */
/* The interpreter loop of one simdgroup, compiled once per instruction set (VGPU_EXEC names the
 * function). Handlers jump to each other through a table of label addresses; with VGPU_SWITCH they
 * are cases of one switch instead, for fuzzing and other compilers. Two tables: when every lane that
 * still runs is active, handlers write whole registers; else those of the second half keep inactive
 * lanes. REBASE picks the half whenever the mask changes.
 * A register may be its own operand: handlers read a chunk before they write it, or copy first. */
#include "vgpu/count/count.h"
#include "vgpu/exec/atomic.h"
#include "vgpu/exec/matrix.h"
#include <stdlib.h>

#define WIDE(r) (R + (size_t)(r) * VGPU_SLOT)
#define CHW(r, i) (((vu *)WIDE(r))[i])
#define CHD(r, i) (((vU *)WIDE(r))[i])
#define CHHU(r, i) (((vhu *)WIDE(r))[i])
#define CHHI(r, i) (((vhi *)WIDE(r))[i])
#define LANE_u32(r, l) (((u32 *)WIDE(r))[l])
#define LANE_i32(r, l) (((i32 *)WIDE(r))[l])
#define LANE_float(r, l) (((float *)WIDE(r))[l])
#define LANE_D(r, l) (((u64 *)WIDE(r))[l])
#define SU(r) ((u32)S[r])
#define SI(r) ((i32)(u32)S[r])
#define SF(r) as_f((u32)S[r])
#define SD(r) (S[r])
#define SDI(r) ((i64)S[r])
#define SET_u32(v) (S[ip->d] = (u32)(v))
#define SET_i32(v) (S[ip->d] = (u32)(i32)(v))
#define SET_u64(v) (S[ip->d] = (v))
#define SET_float(v) (S[ip->d] = as_u(v))
#define SETM(v) (S[ip->d] = ((u32)S[ip->d] & ~mask) | ((v) & mask))
#define FIRST (mask ? __builtin_ctz(mask) : 0)
#define BITW(e) bits_w((vu)(e))
#define BITD(e) bits_d((vU)(e))

/* Row-major place of element 0 of each lane in an 8x8 matrix; element 1 follows it. */
#define AT(l) (((l) / 2 % 4 + 4 * ((l) / 16)) * 8 + 2 * ((l) % 2) + 4 * ((l) / 8 % 2))
static const u8 fragment_at[VGPU_LANES] = {
    AT(0),  AT(1),  AT(2),  AT(3),  AT(4),  AT(5),  AT(6),  AT(7),  AT(8),  AT(9),  AT(10),
    AT(11), AT(12), AT(13), AT(14), AT(15), AT(16), AT(17), AT(18), AT(19), AT(20), AT(21),
    AT(22), AT(23), AT(24), AT(25), AT(26), AT(27), AT(28), AT(29), AT(30), AT(31)};

static inline u32 reverse_bits(u32 x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
    return __builtin_bswap32(x);
}
INLINE void permute_w(u32 *d, const u32 *a, const u32 *index) {
#if VB == 64
    __m512i lo = _mm512_load_si512(a), hi = _mm512_load_si512(a + 16);
    for (int i = 0; i < 2; i++)
        _mm512_store_si512(d + 16 * i, _mm512_permutex2var_epi32(
                                           lo, _mm512_load_si512(index + 16 * i), hi));
#else
    for (int l = 0; l < VGPU_LANES; l++)
        d[l] = a[index[l] & 31];
#endif
}
INLINE u32 combine(u32 a, u32 b, int kind) {
    float x = as_f(a), y = as_f(b);
    switch ((enum vred)kind) {
    case VRED_FADD: return as_u(x + y);
    case VRED_FMUL: return as_u(x * y);
    case VRED_FMIN: return as_u(fmin_s(x, y));
    case VRED_FMAX: return as_u(fmax_s(x, y));
    case VRED_ADD: return a + b;
    case VRED_MUL: return a * b;
    case VRED_SMIN: return (i32)a < (i32)b ? a : b;
    case VRED_SMAX: return (i32)a > (i32)b ? a : b;
    case VRED_UMIN: return a < b ? a : b;
    case VRED_UMAX: return a > b ? a : b;
    case VRED_AND: return a & b;
    case VRED_OR: return a | b;
    case VRED_XOR: return a ^ b;
    }
    return a;
}
static inline u32 identity(int kind) {
    switch ((enum vred)kind) {
    case VRED_FADD: case VRED_ADD: case VRED_OR: case VRED_XOR: case VRED_UMAX: return 0;
    case VRED_FMUL: return as_u(1.0f);
    case VRED_FMIN: case VRED_FMAX: return 0x7FC00000;
    case VRED_MUL: return 1;
    case VRED_SMIN: return 0x7FFFFFFF;
    case VRED_SMAX: return 0x80000000u;
    case VRED_UMIN: case VRED_AND: return ~0u;
    }
    return 0;
}
INLINE vu combine_v(vu a, vu b, int kind) {
    vf x = (vf)a, y = (vf)b;
    vi p = (vi)a, q = (vi)b;
    switch ((enum vred)kind) {
    case VRED_FADD: return (vu)(x + y);
    case VRED_FMUL: return (vu)(x * y);
    case VRED_FMIN: return (vu)fmin_v(x, y);
    case VRED_FMAX: return (vu)fmax_v(x, y);
    case VRED_ADD: return a + b;
    case VRED_MUL: return a * b;
    case VRED_SMIN: return pick_w((vu)(p < q), a, b);
    case VRED_SMAX: return pick_w((vu)(p > q), a, b);
    case VRED_UMIN: return pick_w((vu)(a < b), a, b);
    case VRED_UMAX: return pick_w((vu)(a > b), a, b);
    case VRED_AND: return a & b;
    case VRED_OR: return a | b;
    case VRED_XOR: return a ^ b;
    }
    return a;
}
/* A tree: lane l with l + 16, then + 8, + 4, + 2, + 1; the same on every instruction set. */
INLINE u32 reduce_kind(const u32 *a, u32 mask, int kind) {
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    if (mask == ~0u) {
        for (int i = 0; i < CW; i++)
            ((vu *)t)[i] = ((const vu *)a)[i];
    } else {
        vu id = splat_u(identity(kind));
        for (int i = 0; i < CW; i++)
            ((vu *)t)[i] = blend_w(mask, i, id, ((const vu *)a)[i]);
    }
    int n = CW;
    for (; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++)
            ((vu *)t)[i] = combine_v(((vu *)t)[i], ((vu *)t)[i + n / 2], kind);
    for (int w = NW / 2; w; w /= 2)
        for (int i = 0; i < w; i++)
            t[i] = combine(t[i], t[i + w], kind);
    return t[0];
}
static u32 reduce_lanes(const u32 *a, u32 mask, int kind) {
    switch ((enum vred)kind) {
    case VRED_FADD: return reduce_kind(a, mask, VRED_FADD);
    case VRED_FMAX: return reduce_kind(a, mask, VRED_FMAX);
    case VRED_FMIN: return reduce_kind(a, mask, VRED_FMIN);
    case VRED_ADD: return reduce_kind(a, mask, VRED_ADD);
    default: return reduce_kind(a, mask, kind);
    }
}
static void scan_lanes(u32 *d, const u32 *a, u32 mask, int kind, bool exclusive) {
    u32 sum = identity(kind == VRED_FMIN || kind == VRED_FMAX ? VRED_ADD : kind);
    bool first = true;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(mask >> l & 1)) {
            d[l] = 0;
            continue;
        }
        u32 before = sum;
        u32 alone = kind == VRED_FADD || kind == VRED_FMUL ? as_u(flushed_s(as_f(a[l]))) : a[l];
        sum = first ? alone : combine(sum, a[l], kind);
        first = false;
        d[l] = exclusive ? before : sum;
    }
}
/* The same of 64 bits, which only integers have. */
static u64 combine_d(u64 a, u64 b, int kind) {
    switch (kind) {
    case VRED_MUL: return a * b;
    case VRED_SMIN: return (i64)a < (i64)b ? a : b;
    case VRED_SMAX: return (i64)a > (i64)b ? a : b;
    case VRED_UMIN: return MIN(a, b);
    case VRED_UMAX: return MAX(a, b);
    case VRED_AND: return a & b;
    case VRED_OR: return a | b;
    case VRED_XOR: return a ^ b;
    default: return a + b;
    }
}
static u64 reduce_lanes_d(const u64 *a, u32 mask, int kind) {
    u64 sum = a[__builtin_ctz(mask)];
    for (u32 rest = mask & (mask - 1); rest; rest &= rest - 1)
        sum = combine_d(sum, a[__builtin_ctz(rest)], kind);
    return sum;
}
static void scan_lanes_d(u64 *d, const u64 *a, u32 mask, int kind, bool exclusive) {
    u64 sum = kind == VRED_MUL;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        bool on = mask >> l & 1;
        u64 before = sum;
        sum = on ? combine_d(sum, a[l], kind) : sum;
        d[l] = exclusive ? before : sum;
    }
}

#define SAVE                                                                                       \
    (c->pc = (u32)(ip - code), c->mask = mask, c->live = live, c->rpc = rpc, c->depth = depth,     \
     c->steps = steps)
#define FAULT(what)                                                                                \
    do {                                                                                           \
        c->fault.kind = (what);                                                                    \
        c->fault.lanes = mask;                                                                     \
        goto fault;                                                                                \
    } while (0)

#ifdef VGPU_SWITCH
#define DISPATCH goto dispatch
#define REBASE (half = mask == live ? 0 : VOP_COUNT)
#define H2(n, m) case VOP_##n + (m) * VOP_COUNT:
#define HB(n) case VOP_##n: case VOP_##n + VOP_COUNT:
#else
#define DISPATCH goto *table[ip->op]
#define REBASE (table = mask == live ? labels : labels + VOP_COUNT)
#define H3(n, m) L##m##_##n:
#define H2(n, m) H3(n, m)
#define HB(n) L0_##n:
#endif
#define H(n) H2(n, MASKED)
#define NEXT                                                                                       \
    do {                                                                                           \
        ip++;                                                                                      \
        DISPATCH;                                                                                  \
    } while (0)

enum vstop VGPU_EXEC(vctx *c);
enum vstop VGPU_EXEC(vctx *c) {
#ifndef VGPU_SWITCH
    static const void *const labels[2 * VOP_COUNT] = {
#define OP1(n, sig, doc) &&L0_##n,
#define OV1 OP1
#define OP2(n, sig, doc) &&L0_##n, &&L0_##n##_s,
#define OP4(n, sig, doc) &&L0_##n, &&L0_##n##_sv, &&L0_##n##_vs, &&L0_##n##_ss,
#define OV4 OP4
#define OP8(n, sig, doc)                                                                           \
    &&L0_##n, &&L0_##n##_svv, &&L0_##n##_vsv, &&L0_##n##_ssv, &&L0_##n##_vvs, &&L0_##n##_svs,      \
        &&L0_##n##_vss, &&L0_##n##_sss,
#include "vgpu/vops.def"
#undef OV1
#undef OP2
#undef OP4
#undef OV4
#undef OP8
#define OV1(n, sig, doc) &&L1_##n,
#define OP2(n, sig, doc) &&L1_##n, &&L0_##n##_s,
#define OP4(n, sig, doc) &&L1_##n, &&L1_##n##_sv, &&L1_##n##_vs, &&L0_##n##_ss,
#define OV4(n, sig, doc) &&L1_##n, &&L1_##n##_sv, &&L1_##n##_vs, &&L1_##n##_ss,
#define OP8(n, sig, doc)                                                                           \
    &&L1_##n, &&L1_##n##_svv, &&L1_##n##_vsv, &&L1_##n##_ssv, &&L1_##n##_vvs, &&L1_##n##_svs,      \
        &&L1_##n##_vss, &&L0_##n##_sss,
#include "vgpu/vops.def"
#undef OP1
#undef OV1
#undef OP2
#undef OP4
#undef OV4
#undef OP8
    };
    const void *const *table;
#else
    u32 half;
#endif
    const vins *code = c->k->code, *ip = code + c->pc;
    u32 mask = c->mask, live = c->live, rpc = c->rpc, depth = c->depth;
    u64 steps = c->steps;
    u64 *const S = c->scalar;
    u8 *const R = c->wide;
    REBASE;
#ifdef VGPU_SWITCH
dispatch:
    switch (ip->op + half) {
#else
    DISPATCH;
#endif
#define MASKED 0
#include "vgpu/exec/alu.h"
#undef MASKED
#define MASKED 1
#include "vgpu/exec/alu.h"
#undef MASKED
#include "vgpu/exec/sys.h"
#ifdef VGPU_SWITCH
    default: FAULT(VFAULT_UNREACHABLE);
    }
#endif
fault:
    c->fault.pc = (u32)(ip - code);
    SAVE;
    return VSTOP_FAULT;
}
