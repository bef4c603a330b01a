/* SPDX-License-Identifier: MIT */
/* Memory of one simdgroup. An access makes 32 addresses, proves once that the lowest and the highest
 * lie in one segment (then all do), and moves the lanes without further checks; anything else goes
 * lane by lane and names the lanes that are wrong. Host addresses never enter a register. */
#pragma once
#include "vgpu/exec/math.h"

#define INLINE static inline __attribute__((always_inline))
#define WIDE_OF(c, r) ((c)->wide + (size_t)(r) * VGPU_SLOT)
#define LOW48 0xFFFFFFFFFFFFull

static const u8 kind_size[VMEM_COUNT] = {1, 2, 2, 2, 4, 8};

INLINE u8 *seg_host(const vseg *s, u64 offset) {
    return (u8 *)((uintptr_t)s->host + (uintptr_t)offset);
}
/* The segment when [addr, addr + size) lies in one and may be used so, else NULL. */
INLINE const vseg *seg_of(const vctx *c, u64 low, u64 high, u64 size, bool store) {
    u64 n = low >> 48;
    if (n >= c->k->n_segs || high >> 48 != n)
        return NULL;
    const vseg *s = &c->segs[n];
    u64 a = (low & LOW48) - s->lo, b = (high & LOW48) - s->lo;
    if (s->size < size || a > s->size - size || b > s->size - size || (store && s->read_only))
        return NULL;
    return s;
}

/* Records what is wrong with the lanes in `lanes`. True when checks are off: the access is dropped. */
static __attribute__((noinline, cold)) bool access_fault(vctx *c, const u64 *addr, u32 lanes,
                                                         u32 size, bool store) {
    vfault *f = &c->fault;
    u32 first = lanes ? (u32)__builtin_ctz(lanes) : 0;
    u64 n = addr[first] >> 48;
    f->address = addr[first];
    f->lanes = lanes;
    f->size = size;
    f->store = store;
    f->kind = VFAULT_BOUNDS;
    if (n == SEG_NULL || n >= c->k->n_segs)
        f->kind = VFAULT_NULL;
    else if (c->segs[n].unbound)
        f->kind = VFAULT_UNBOUND;
    else if (store && c->segs[n].read_only)
        f->kind = VFAULT_READ_ONLY;
    return (!c->k->checks.bounds && f->kind != VFAULT_READ_ONLY) || vgpu_fault_muted(c->k, f);
}
/* Lanes of mask whose own access is fine. */
static __attribute__((noinline, cold)) u32 lanes_ok(const vctx *c, const u64 *addr, u32 mask,
                                                    u32 size, bool store) {
    u32 ok = 0;
    for (u32 l = 0; l < VGPU_LANES; l++)
        if (mask >> l & 1 && seg_of(c, addr[l], addr[l], size, store))
            ok |= 1u << l;
    return ok;
}
INLINE u32 raw_load(const u8 *p, int kind) {
    u16 h;
    u32 w;
    switch (kind) {
    case VMEM_B: return *p;
    case VMEM_H: case VMEM_F: case VMEM_G: memcpy(&h, p, 2); return h;
    default: memcpy(&w, p, 4); return w;
    }
}
INLINE void raw_store(u8 *p, int kind, u32 v) {
    u16 h = (u16)v;
    switch (kind) {
    case VMEM_B: *p = (u8)v; break;
    case VMEM_H: case VMEM_F: case VMEM_G: memcpy(p, &h, 2); break;
    default: memcpy(p, &v, 4);
    }
}
/* Memory bits to register value and back, a chunk at a time. */
INLINE vu from_memory(vu v, int kind) {
    return kind == VMEM_F ? (vu)h2f_v(v) : kind == VMEM_G ? v << 16 : v;
}
INLINE vu to_memory(vu v, int kind) {
    return kind == VMEM_F ? f2h_v((vf)v) : kind == VMEM_G ? (vu)rbf_v((vf)v) >> 16 : v;
}
INLINE u32 from_memory_s(u32 v, int kind) {
    return kind == VMEM_F ? as_u(h2f_s(v)) : kind == VMEM_G ? v << 16 : v;
}
INLINE u32 to_memory_s(u32 v, int kind) {
    return kind == VMEM_F ? f2h_s(as_f(v)) : kind == VMEM_G ? as_u(rbf_s(as_f(v))) >> 16 : v;
}
INLINE void put_w(vctx *c, u16 reg, const u32 *t, u32 mask, int kind) {
    vu *d = (vu *)WIDE_OF(c, reg);
    if (mask == ~0u) {
        for (int i = 0; i < CW; i++)
            d[i] = from_memory(((const vu *)t)[i], kind);
    } else {
        for (int i = 0; i < CW; i++)
            d[i] = blend_w(mask, i, d[i], from_memory(((const vu *)t)[i], kind));
    }
}
INLINE u16 reg_at(const vins *ip, int j) { return j ? ((const u16 *)(ip + 1))[j - 1] : ip->d; }

#if VB >= 32
/* n elements of 16 or 32 bits of each lane stand side by side at base + addr[lane]: whole rows are
 * moved and transposed, eight or four lanes at a time. */
INLINE __m128i row_get(const u8 *p, u32 bytes) {
    i32 w;
    if (bytes == 16)
        return _mm_loadu_si128((const __m128i *)p);
    if (bytes == 8)
        return _mm_loadl_epi64((const __m128i *)p);
    memcpy(&w, p, 4);
    return _mm_cvtsi32_si128(w);
}
INLINE void row_put(u8 *p, __m128i v, u32 bytes) {
    i32 w = _mm_cvtsi128_si32(v);
    if (bytes == 16)
        _mm_storeu_si128((__m128i *)p, v);
    else if (bytes == 8)
        _mm_storel_epi64((__m128i *)p, v);
    else
        memcpy(p, &w, 4);
}
INLINE void transpose_h(__m128i *r) {
    __m128i a[8], b[8];
    UNROLL
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm_unpacklo_epi64(b[i], b[i + 4]);
        r[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[i + 4]);
    }
}
INLINE void rows_h(vctx *c, const vins *ip, u8 *base, const u64 *addr, int kind, int n, bool store) {
    for (int l = 0; l < VGPU_LANES; l += 8) {
        __m128i r[8];
        if (store) {
            UNROLL
            for (int j = 0; j < 8; j++) {
                if (j >= n) {
                    r[j] = _mm_setzero_si128();
                    continue;
                }
                const float *q = (const float *)WIDE_OF(c, reg_at(ip, j)) + l;
                __m256i v = _mm256_load_si256((const __m256i *)q);
                if (kind == VMEM_F) {
                    r[j] = _mm256_cvtps_ph((__m256)v, 0);
                    continue;
                }
                if (kind == VMEM_G) {
                    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(v, 16), _mm256_set1_epi32(1));
                    __m256i up = _mm256_add_epi32(v, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
                    __m256 nan = _mm256_cmp_ps((__m256)v, (__m256)v, _CMP_UNORD_Q);
                    __m256i quiet = _mm256_or_si256(v, _mm256_set1_epi32(0x400000));
                    v = _mm256_srli_epi32((__m256i)_mm256_blendv_ps((__m256)up, (__m256)quiet, nan), 16);
                }
                v = _mm256_and_si256(v, _mm256_set1_epi32(0xFFFF));
                r[j] = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
            }
            transpose_h(r);
            UNROLL
            for (int i = 0; i < 8; i++)
                row_put(base + (addr[l + i] & LOW48), r[i], (u32)n * 2);
            continue;
        }
        UNROLL
        for (int i = 0; i < 8; i++)
            r[i] = row_get(base + (addr[l + i] & LOW48), (u32)n * 2);
        transpose_h(r);
        UNROLL
        for (int j = 0; j < n; j++) {
            __m256i v = _mm256_cvtepu16_epi32(r[j]);
            if (kind == VMEM_F)
                v = (__m256i)_mm256_cvtph_ps(r[j]);
            else if (kind == VMEM_G)
                v = _mm256_slli_epi32(v, 16);
            _mm256_store_si256((__m256i *)((u32 *)WIDE_OF(c, reg_at(ip, j)) + l), v);
        }
    }
}
INLINE void rows_4(vctx *c, const vins *ip, u8 *base, const u64 *addr, int n, bool store) {
    for (int l = 0; l < VGPU_LANES; l += 4) {
        __m128 r[4];
        if (store) {
            UNROLL
            for (int j = 0; j < 4; j++)
                r[j] = j < n ? _mm_load_ps((float *)WIDE_OF(c, reg_at(ip, j)) + l) : _mm_setzero_ps();
            _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
            UNROLL
            for (int i = 0; i < 4; i++)
                row_put(base + (addr[l + i] & LOW48), (__m128i)r[i], (u32)n * 4);
            continue;
        }
        UNROLL
        for (int i = 0; i < 4; i++)
            r[i] = (__m128)row_get(base + (addr[l + i] & LOW48), (u32)n * 4);
        _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
        UNROLL
        for (int j = 0; j < n; j++)
            _mm_store_ps((float *)WIDE_OF(c, reg_at(ip, j)) + l, r[j]);
    }
}
/* False when it does not do this shape. */
INLINE bool rows_move(vctx *c, const vins *ip, u8 *base, const u64 *addr, int kind, int n, bool store) {
    if (kind == VMEM_W && (n == 4 || n == 2)) {
        if (n == 4)
            rows_4(c, ip, base, addr, 4, store);
        else
            rows_4(c, ip, base, addr, 2, store);
        return true;
    }
    if (kind_size[kind] != 2 || (n != 8 && n != 4 && n != 2))
        return false;
    if (n == 8)
        rows_h(c, ip, base, addr, kind, 8, store);
    else if (n == 4)
        rows_h(c, ip, base, addr, kind, 4, store);
    else
        rows_h(c, ip, base, addr, kind, 2, store);
    return true;
}
#else
INLINE bool rows_move(vctx *c, const vins *ip, u8 *base, const u64 *addr, int kind, int n, bool store) {
    return false;
}
#endif

/* Loads or stores n elements per lane at addr[]. Inactive lanes' addresses are ignored. */
INLINE bool lanes_access(vctx *c, const vins *ip, u32 mask, u64 *addr, int kind, bool store) {
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind], bytes = size * (u32)n;
    if (!mask)
        return true;
    u64 first = addr[__builtin_ctz(mask)];
    if (mask != ~0u)
        for (u32 l = 0; l < VGPU_LANES; l++)
            addr[l] = mask >> l & 1 ? addr[l] : first;
    u64 low = first, high = first;
    for (int l = 0; l < VGPU_LANES; l++) {
        low = addr[l] < low ? addr[l] : low;
        high = addr[l] > high ? addr[l] : high;
    }
    const vseg *s = seg_of(c, low, high, bytes, store);
    u32 act = mask;
    if (__builtin_expect(!s, 0)) {
        act = lanes_ok(c, addr, mask, bytes, store);
        if (act != mask && !access_fault(c, addr, mask & ~act, bytes, store))
            return false;
    }
    if (s && act == ~0u && n > 1 && rows_move(c, ip, seg_host(s, 0), addr, kind, n, store))
        return true;
    for (int j = 0; j < n; j++) {
        u16 reg = reg_at(ip, j);
        u64 at = (u64)j * size;
        if (kind == VMEM_D) {
            u64 *v = (u64 *)WIDE_OF(c, reg);
            for (int l = 0; l < VGPU_LANES; l++) {
                if (!(act >> l & 1)) {
                    if (!store && mask >> l & 1)
                        v[l] = 0;
                    continue;
                }
                const vseg *q = s ? s : &c->segs[addr[l] >> 48];
                u8 *p = seg_host(q, (addr[l] & LOW48) + at);
                if (store)
                    memcpy(p, &v[l], 8);
                else
                    memcpy(&v[l], p, 8);
            }
            continue;
        }
        u32 t[VGPU_LANES] __attribute__((aligned(64)));
        if (store)
            for (int i = 0; i < CW; i++)
                ((vu *)t)[i] = to_memory(((vu *)WIDE_OF(c, reg))[i], kind);
        if (s && act == ~0u) {
            u8 *base = seg_host(s, at);
            for (int l = 0; l < VGPU_LANES; l++) {
                u8 *p = base + (addr[l] & LOW48);
                if (store)
                    raw_store(p, kind, t[l]);
                else
                    t[l] = raw_load(p, kind);
            }
        } else {
            for (int l = 0; l < VGPU_LANES; l++) {
                if (!(act >> l & 1)) {
                    if (!store)
                        t[l] = 0;
                    continue;
                }
                const vseg *q = s ? s : &c->segs[addr[l] >> 48];
                u8 *p = seg_host(q, (addr[l] & LOW48) + at);
                if (store)
                    raw_store(p, kind, t[l]);
                else
                    t[l] = raw_load(p, kind);
            }
        }
        if (!store)
            put_w(c, reg, t, mask, kind);
    }
    return true;
}

/* 32 elements in a row at p. */
INLINE void row_load(vctx *c, u16 reg, const u8 *p, int kind) {
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    if (kind == VMEM_W || kind == VMEM_D) {
        memcpy(WIDE_OF(c, reg), p, kind == VMEM_W ? 128 : 256);
        return;
    }
    if (kind == VMEM_B) {
        for (int l = 0; l < VGPU_LANES; l++)
            t[l] = p[l];
    } else {
        u16 h[VGPU_LANES] __attribute__((aligned(64)));
        memcpy(h, p, 64);
        for (int l = 0; l < VGPU_LANES; l++)
            t[l] = h[l];
    }
    put_w(c, reg, t, ~0u, kind);
}
INLINE void row_store(vctx *c, u16 reg, u8 *p, int kind) {
    if (kind == VMEM_W || kind == VMEM_D) {
        memcpy(p, WIDE_OF(c, reg), kind == VMEM_W ? 128 : 256);
        return;
    }
    u32 t[VGPU_LANES] __attribute__((aligned(64)));
    for (int i = 0; i < CW; i++)
        ((vu *)t)[i] = to_memory(((vu *)WIDE_OF(c, reg))[i], kind);
    if (kind == VMEM_B) {
        for (int l = 0; l < VGPU_LANES; l++)
            p[l] = (u8)t[l];
    } else {
        u16 h[VGPU_LANES] __attribute__((aligned(64)));
        for (int l = 0; l < VGPU_LANES; l++)
            h[l] = (u16)t[l];
        memcpy(p, h, 64);
    }
}
/* n = 2 or 4 words per lane, lane after lane: registers are the columns of a 32 x n table. */
INLINE void rows_w(vctx *c, const vins *ip, u8 *p, int n, bool store) {
    u32 *r[4];
    for (int j = 0; j < n; j++)
        r[j] = (u32 *)WIDE_OF(c, reg_at(ip, j));
#if VB >= 32
    if (n == 4) {
        for (int l = 0; l < VGPU_LANES; l += 4) {
            if (store) {
                __m128 a = _mm_load_ps((float *)r[0] + l), b = _mm_load_ps((float *)r[1] + l),
                       e = _mm_load_ps((float *)r[2] + l), f = _mm_load_ps((float *)r[3] + l);
                _MM_TRANSPOSE4_PS(a, b, e, f);
                float *q = (float *)(p + l * 16);
                _mm_storeu_ps(q, a);
                _mm_storeu_ps(q + 4, b);
                _mm_storeu_ps(q + 8, e);
                _mm_storeu_ps(q + 12, f);
            } else {
                const float *q = (const float *)(p + l * 16);
                __m128 a = _mm_loadu_ps(q), b = _mm_loadu_ps(q + 4), e = _mm_loadu_ps(q + 8),
                       f = _mm_loadu_ps(q + 12);
                _MM_TRANSPOSE4_PS(a, b, e, f);
                _mm_store_ps((float *)r[0] + l, a);
                _mm_store_ps((float *)r[1] + l, b);
                _mm_store_ps((float *)r[2] + l, e);
                _mm_store_ps((float *)r[3] + l, f);
            }
        }
        return;
    }
#endif
    for (int l = 0; l < VGPU_LANES; l++)
        for (int j = 0; j < n; j++) {
            if (store)
                memcpy(p + (l * n + j) * 4, &r[j][l], 4);
            else
                memcpy(&r[j][l], p + (l * n + j) * 4, 4);
        }
}

/* Form a: shared pointer + lane offset << shift. */
INLINE bool access_a(vctx *c, const vins *ip, u32 mask, u16 base_reg, u16 off_reg, int kind,
                     bool store) {
    u64 base = c->scalar[base_reg] + (u64)(i64)ip->imm;
    const u32 *off = (const u32 *)WIDE_OF(c, off_reg);
    u32 shift = ip->x & 63;
    bool zext = ip->x >> 15;
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind];
    if (mask == ~0u && (n == 1 || (kind == VMEM_W && n <= 4 && n != 3))) {
        u32 step = (size * (u32)n) >> shift;
        if (step << shift == size * (u32)n) {
            vu same = splat_u(~0u), want = splat_u(off[0]) + IOTA_W * step;
            for (int i = 0; i < CW; i++) {
                same &= (vu)(((const vu *)off)[i] == want);
                want += splat_u(NW * step);
            }
            bool grows = zext ? off[31] >= off[0] : (i32)off[31] >= (i32)off[0];
            if (grows && bits_w(same) == (u32)((1ull << NW) - 1)) {
                u64 a = base + ((zext ? (u64)off[0] : (u64)(i64)(i32)off[0]) << shift);
                const vseg *s = seg_of(c, a, a, (u64)size * (u32)n * 32, store);
                if (s) {
                    u8 *p = seg_host(s, a & LOW48);
                    if (n > 1)
                        rows_w(c, ip, p, n, store);
                    else if (store)
                        row_store(c, ip->d, p, kind);
                    else
                        row_load(c, ip->d, p, kind);
                    return true;
                }
            }
        }
    }
    u64 addr[VGPU_LANES] __attribute__((aligned(64)));
    for (int i = 0; i < CD; i++) {
        vU o = zext ? __builtin_convertvector(((const vhu *)off)[i], vU)
                    : (vU)__builtin_convertvector(((const vhi *)off)[i], vI);
        ((vU *)addr)[i] = (o << shift) + base;
    }
    return lanes_access(c, ip, mask, addr, kind, store);
}
INLINE bool access_p(vctx *c, const vins *ip, u32 mask, u16 reg, int kind, bool store) {
    u64 addr[VGPU_LANES] __attribute__((aligned(64)));
    const vU *p = (const vU *)WIDE_OF(c, reg);
    u64 imm = (u64)(i64)ip->imm;
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind];
    vU same = splat_U(~0ull), want = splat_U(((const u64 *)p)[0] + imm) + IOTA_D * (size * (u32)n);
    for (int i = 0; i < CD; i++) {
        vU a = p[i] + imm;
        same &= (vU)(a == want);
        want += splat_U((u64)size * (u32)n * ND);
        ((vU *)addr)[i] = a;
    }
    if (mask == ~0u && (n == 1 || (kind == VMEM_W && n <= 4 && n != 3)) &&
        bits_d(same) == (1u << ND) - 1) {
        const vseg *s = seg_of(c, addr[0], addr[0], (u64)size * (u32)n * 32, store);
        if (s) {
            u8 *q = seg_host(s, addr[0] & LOW48);
            if (n > 1)
                rows_w(c, ip, q, n, store);
            else if (store)
                row_store(c, ip->d, q, kind);
            else
                row_load(c, ip->d, q, kind);
            return true;
        }
    }
    return lanes_access(c, ip, mask, addr, kind, store);
}
/* Form s: a shared pointer. A load gives shared values; of a store the highest active lane stays. */
INLINE bool access_s(vctx *c, const vins *ip, u32 mask, u16 reg, int kind, bool store) {
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind];
    u64 a = c->scalar[reg] + (u64)(i64)ip->imm;
    const vseg *s = seg_of(c, a, a, (u64)size * (u32)n, store);
    if (!s) {
        if (!access_fault(c, &a, 1, size * (u32)n, store)) {
            c->fault.lanes = mask;
            return false;
        }
        for (int j = 0; j < n && !store; j++)
            c->scalar[reg_at(ip, j)] = 0;
        return true;
    }
    u8 *p = seg_host(s, a & LOW48);
    u32 last = 31u - (u32)__builtin_clz(mask | 1);
    for (int j = 0; j < n; j++, p += size) {
        u16 r = reg_at(ip, j);
        if (store && kind == VMEM_D)
            memcpy(p, (u64 *)WIDE_OF(c, r) + last, 8);
        else if (store)
            raw_store(p, kind, to_memory_s(((u32 *)WIDE_OF(c, r))[last], kind));
        else if (kind == VMEM_D)
            memcpy(&c->scalar[r], p, 8);
        else
            c->scalar[r] = from_memory_s(raw_load(p, kind), kind);
    }
    return true;
}

/* ---- Thread memory ------------------------------------------------------------------------------ */
INLINE u8 *thread_byte(vctx *c, u64 o, u32 lane) {
    return c->thread + (o >> 2) * VGPU_SLOT + lane * 4 + (o & 3);
}
INLINE void thread_copy(vctx *c, u64 o, u32 lane, void *v, u32 size, bool store) {
    u8 *b = v;
    for (u32 i = 0; i < size; i++) {
        u8 *p = thread_byte(c, o + i, lane);
        if (store)
            *p = b[i];
        else
            b[i] = *p;
    }
}
INLINE bool local_lane(vctx *c, const vins *ip, u32 mask, const u64 *addr, int kind, bool store) {
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind], bytes = size * (u32)n, bad = 0;
    u64 room = c->k->thread_bytes;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        u64 o = addr[l] - VGPU_PTR(SEG_THREAD, 0);
        if (mask >> l & 1 && (o > room || room - o < bytes))
            bad |= 1u << l;
    }
    if (bad && !access_fault(c, addr, bad, bytes, store))
        return false;
    for (int j = 0; j < n; j++) {
        u8 *reg = WIDE_OF(c, reg_at(ip, j));
        u32 t[VGPU_LANES] __attribute__((aligned(64)));
        if (store && kind != VMEM_D)
            for (int i = 0; i < CW; i++)
                ((vu *)t)[i] = to_memory(((vu *)reg)[i], kind);
        for (u32 l = 0; l < VGPU_LANES; l++) {
            if (!((mask & ~bad) >> l & 1)) {
                if (!store && kind != VMEM_D)
                    t[l] = 0;
                continue;
            }
            u64 o = addr[l] - VGPU_PTR(SEG_THREAD, 0) + (u64)j * size;
            if (kind == VMEM_D) {
                thread_copy(c, o, l, (u64 *)reg + l, 8, store);
            } else if ((o & (size - 1)) == 0) {
                if (store)
                    raw_store(thread_byte(c, o, l), kind, t[l]);
                else
                    t[l] = raw_load(thread_byte(c, o, l), kind);
            } else {
                if (!store)
                    t[l] = 0;
                thread_copy(c, o, l, &t[l], size, store);
            }
        }
        if (!store && kind != VMEM_D)
            put_w(c, reg_at(ip, j), t, mask, kind);
    }
    return true;
}
INLINE bool local_p(vctx *c, const vins *ip, u32 mask, u16 reg, int kind, bool store) {
    u64 addr[VGPU_LANES];
    const u64 *p = (const u64 *)WIDE_OF(c, reg);
    for (int l = 0; l < VGPU_LANES; l++)
        addr[l] = p[l] + (u64)(i64)ip->imm;
    return local_lane(c, ip, mask, addr, kind, store);
}
INLINE bool local_s(vctx *c, const vins *ip, u32 mask, u16 pointer, int kind, bool store) {
    int n = ip->c > 1 ? ip->c : 1;
    u32 size = kind_size[kind], bytes = size * (u32)n;
    u64 a = c->scalar[pointer] + (u64)(i64)ip->imm, o = a - VGPU_PTR(SEG_THREAD, 0);
    u64 room = c->k->thread_bytes;
    u32 align = size > 4 ? 4 : size;
    if (o > room || room - o < bytes || (o & (align - 1))) {
        u64 addr[VGPU_LANES];
        for (int l = 0; l < VGPU_LANES; l++)
            addr[l] = a;
        return local_lane(c, ip, mask, addr, kind, store);
    }
    for (int j = 0; j < n; j++, o += size) {
        vu *row = (vu *)(c->thread + (o >> 2) * VGPU_SLOT);
        u8 *reg = WIDE_OF(c, reg_at(ip, j));
        u32 bit = (u32)(o & 3) * 8;
        if (kind == VMEM_D) {
            u32 *lo = (u32 *)row, *hi = lo + 32;
            u64 *v = (u64 *)reg;
            for (u32 l = 0; l < VGPU_LANES; l++)
                if (mask >> l & 1) {
                    if (store) {
                        lo[l] = (u32)v[l];
                        hi[l] = (u32)(v[l] >> 32);
                    } else {
                        v[l] = lo[l] | (u64)hi[l] << 32;
                    }
                }
            continue;
        }
        vu keep = splat_u(size == 4 ? 0 : ~((size == 1 ? 0xFFu : 0xFFFFu) << bit));
        for (int i = 0; i < CW; i++) {
            vu *v = (vu *)reg + i;
            if (store) {
                vu now = (row[i] & keep) | ((to_memory(*v, kind) << bit) & ~keep);
                row[i] = mask == ~0u ? now : blend_w(mask, i, row[i], now);
            } else {
                vu now = from_memory((row[i] & ~keep) >> bit, kind);
                *v = mask == ~0u ? now : blend_w(mask, i, *v, now);
            }
        }
    }
    return true;
}
