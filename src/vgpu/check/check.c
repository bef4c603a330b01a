/* SPDX-License-Identifier: MIT */
/* Guards of memory accesses, matrices and barriers, and the records of what was found. A guard reads the
 * instruction behind it: 32 addresses, one act. The usual access is a row (lane after lane), or goes to
 * memory that nothing writes; both are known after a few additions. */
#include "vgpu/check/check.h"
#include "vgpu/exec/isa.h"
#include <stdlib.h>

static const u8 kind_bytes[VMEM_COUNT] = {1, 2, 2, 2, 4, 8};

vcheck *vcheck_new(const vgpu_kernel *k) {
    vcheck *v = calloc(1, sizeof *v);
    if (v) {
        v->k = k;
        v->granule = k->granule;
    }
    return v;
}
void vcheck_free(vcheck *v) {
    if (!v)
        return;
    shadow_free(v);
    free(v);
}
bool vcheck_begin(vcheck *v, const vseg *segs, const tm_launch_params *p, u64 groups) {
    v->segs = segs;
    v->n_records = v->n_dropped = 0;
    v->last_page = NULL;
    return shadow_begin(v, p, groups);
}
void vcheck_group(vcheck *v, u64 group) {
    v->group = group;
    v->epoch = v->clock = 0;
    v->watching = false;
    shadow_group(v);
}
void vcheck_round(vcheck *v) {
    v->epoch += v->epoch < 4095;
    v->tg_epoch++;
}

/* One record per kind and site; later ones are counted. NULL: nothing more to fill. */
vrecord *vcheck_record(vcheck *v, const vctx *c, u8 kind, u32 site, u32 lanes) {
    for (u32 i = 0; i < v->n_records; i++)
        if (v->records[i].kind == kind && v->records[i].site == site) {
            v->records[i].count++;
            return NULL;
        }
    if (v->n_records == MAX_RECORDS) {
        v->n_dropped++;
        return NULL;
    }
    vrecord *r = &v->records[v->n_records++];
    *r = (vrecord){.kind = kind, .site = site, .lanes = lanes, .simd = c->index, .group = v->group, .count = 1};
    return r;
}

/* ---- Accesses ------------------------------------------------------------------------------------------- */
/* The instruction a guard looks at: a word that counts may stand between. */
static const vins *guarded(const vins *ip) { return ip + (ip[1].op == VOP_count_access ? 2 : 1); }
static const u16 *more_registers(const vins *g) { return (const u16 *)(g + 1); }
static const u8 *wide_of(const vctx *c, u16 reg) { return c->wide + (size_t)reg * VGPU_SLOT; }

u64 vcheck_value(const vctx *c, const vins *g, u32 element, u32 lane) {
    u32 kind = (u32)(g->op - VOP_ld_b_s) / 10;
    const u8 *r = wide_of(c, element ? more_registers(g)[element - 1] : g->d);
    if (kind == VMEM_D)
        return ((const u64 *)r)[lane];
    u32 w = ((const u32 *)r)[lane];
    return kind == VMEM_B ? (u8)w : kind == VMEM_H ? (u16)w : kind == VMEM_F ? f2h_s(as_f(w))
           : kind == VMEM_G ? as_u(rbf_s(as_f(w))) >> 16 : w;
}
/* Does the store write what is there already? The bytes lie `offset` behind the span's start. */
bool vcheck_same(const vspan *s, const u8 *at, u64 offset, u32 size) {
    if (!s->g || s->act != ACT_STORE || s->g->op < VOP_ld_b_s || s->g->op > VOP_stl_d_p)
        return false;
    u32 bytes = kind_bytes[(u32)(s->g->op - VOP_ld_b_s) / 10];
    u32 lane = s->lane + (u32)(offset / s->per_lane), element = (u32)(offset % s->per_lane) / bytes;
    u64 v = vcheck_value(s->c, s->g, element, lane);
    return memcmp((const u8 *)&v + offset % bytes, at, MIN(size, bytes)) == 0;
}
static void touch(vcheck *v, const vspan *s) {
    u64 n = s->address >> 48;
    const vseg *seg = &v->segs[n];
    u64 at = VCHECK_OFFSET(s->address) - seg->lo;
    if (at > seg->size || seg->size - at < s->size)
        return; /* the bounds check speaks of it */
    if (n == SEG_THREADGROUP)
        shadow_threadgroup(v, s);
    else
        shadow_device(v, s);
}
static bool cares(const vcheck *v, u64 seg) {
    if (seg == SEG_THREADGROUP)
        return v->tg != NULL;
    return seg >= SEG_ARG0 && seg < v->k->n_segs && (v->tracked[seg] || v->written[seg]);
}
static void check_alignment(vcheck *v, vctx *c, const vins *ip, const u64 *addr, u32 mask, u32 size, u8 act) {
    u64 all = (1ull << ip->a) - 1, bad = 0;
    u32 lanes = 0, first = (u32)__builtin_ctz(mask);
    u64 low = 0, differ = 0, at = addr[first] >> 48;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        low |= addr[l];
        differ |= addr[l] ^ addr[0];
    }
    if (!(differ >> 48) && at < v->k->n_segs && !((low | (uintptr_t)v->segs[at].host) & all))
        return;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        u64 n = addr[l] >> 48;
        u64 off = n < v->k->n_segs ? ((uintptr_t)v->segs[n].host + VCHECK_OFFSET(addr[l])) & all : 0;
        if (off && mask >> l & 1) {
            first = lanes ? first : l;
            lanes |= 1u << l;
            bad |= off;
        }
    }
    vrecord *r = bad ? vcheck_record(v, c, FOUND_MISALIGNED, v->k->sites[ip - v->k->code], lanes) : NULL;
    if (r) {
        r->address = addr[first];
        r->size = size;
        r->align = 1u << ip->a;
        r->act = act;
    }
}
/* Two lanes of one store that name the same place with different values. */
static void check_lanes(vcheck *v, vctx *c, const vins *ip, const u64 *addr, u32 mask, u32 n) {
    u64 key[64];
    u8 who[64] = {0};
    const vins *g = guarded(ip);
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        u32 h = (u32)((addr[l] * 0x9E3779B97F4A7C15ull) >> 58);
        while (who[h] && key[h] != addr[l])
            h = (h + 1) & 63;
        for (u32 e = 0; who[h] && e < n; e++)
            if (vcheck_value(c, g, e, l) != vcheck_value(c, g, e, who[h] - 1u)) {
                vrecord *r = vcheck_record(v, c, FOUND_LANES, v->k->sites[ip - v->k->code],
                                           1u << l | 1u << (who[h] - 1));
                if (r) {
                    r->address = addr[l];
                    r->size = n * kind_bytes[(u32)(g->op - VOP_ld_b_s) / 10];
                }
                return;
            }
        key[h] = addr[l];
        who[h] = (u8)(l + 1);
    }
}
typedef struct vaccess {
    u64 addr[VGPU_LANES];
    u32 size, n, mask; /* bytes per lane, elements per lane */
    bool row, shared, one; /* one: the first address stands for all */
    u8 act;
} vaccess;
/* Form a: do the lanes' offsets make one row of memory? */
static bool is_row(const vctx *c, const vins *g, u32 size) {
    const u32 *off = (const u32 *)wide_of(c, g->b);
    u32 shift = g->x & 63, step = size >> shift;
    if (step << shift != size || (g->x >> 15 ? off[31] < off[0] : (i32)off[31] < (i32)off[0]))
        return false;
    vu same = splat_u(~0u), want = splat_u(off[0]) + IOTA_W * step;
    for (u32 i = 0; i < CW; i++, want += splat_u(NW * step))
        same &= (vu)(((const vu *)off)[i] == want);
    return bits_w(same) == (u32)((1ull << NW) - 1);
}
/* Of a row, lazily, the first address only. */
static void find_addresses(const vctx *c, const vins *g, vaccess *a, bool lazy) {
    u32 group = (u32)(g->op - VOP_ld_b_s) % 10;
    a->n = g->c > 1 ? g->c : 1;
    a->size = kind_bytes[(u32)(g->op - VOP_ld_b_s) / 10] * a->n;
    a->act = group >= 3 ? ACT_STORE : ACT_LOAD;
    a->shared = group % 3 == 0;
    u64 imm = (u64)(i64)g->imm;
    if (a->shared && lazy && (a->act == ACT_LOAD || !(a->mask & (a->mask - 1)))) {
        a->addr[0] = a->addr[__builtin_ctz(a->mask)] = c->scalar[g->a] + imm;
        a->one = true;
        return;
    }
    if (group % 3 == 1 && a->mask == ~0u && is_row(c, g, a->size)) {
        u64 off = *(const u32 *)wide_of(c, g->b);
        a->addr[0] = c->scalar[g->a] + imm + ((g->x >> 15 ? off : (u64)(i64)(i32)off) << (g->x & 63));
        a->row = true;
        if (lazy)
            return;
        for (u32 l = 1; l < VGPU_LANES; l++)
            a->addr[l] = a->addr[0] + (u64)l * a->size;
        return;
    }
    if (group % 3 == 2) {
        const u64 *p = (const u64 *)wide_of(c, g->a);
        for (u32 l = 0; l < VGPU_LANES; l++)
            a->addr[l] = p[l] + imm;
    } else {
        u64 base = c->scalar[g->a] + imm;
        const u32 *off = (const u32 *)wide_of(c, g->b);
        u32 shift = g->x & 63;
        if (a->shared)
            for (u32 l = 0; l < VGPU_LANES; l++)
                a->addr[l] = base;
        else if (g->x >> 15)
            for (u32 l = 0; l < VGPU_LANES; l++)
                a->addr[l] = base + ((u64)off[l] << shift);
        else
            for (u32 l = 0; l < VGPU_LANES; l++)
                a->addr[l] = base + ((u64)(i64)(i32)off[l] << shift);
    }
    u64 differ = 0;
    for (u32 l = 0; l < VGPU_LANES; l++)
        differ |= a->addr[l] ^ (a->addr[0] + (u64)l * a->size);
    a->row = a->mask == ~0u && !differ;
}
/* The place is known without looking at lanes, nothing writes there, and it is aligned. */
static bool is_plain(const vcheck *v, const vctx *c, const vins *ip) {
    const vins *g = guarded(ip);
    u32 group = (u32)(g->op - VOP_ld_b_s) % 10, align = ip->a;
    if (group % 3 == 2 || v->watching)
        return false;
    u64 base = c->scalar[g->a] + (u64)(i64)g->imm, n = base >> 48;
    if (n >= v->k->n_segs || cares(v, n))
        return false;
    bool lanes_aligned = group % 3 == 0 || (g->x & 63u) >= align;
    u64 host = (uintptr_t)v->segs[n].host + VCHECK_OFFSET(base);
    return !v->k->checks.align || (lanes_aligned && !(host & ((1ull << align) - 1)));
}
static void guard_access(vcheck *v, vctx *c, const vins *ip, u32 mask) {
    const vins *g = guarded(ip);
    u32 site = v->k->sites[ip - v->k->code];
    vaccess a = {.mask = mask};
    bool atomic = g->op == VOP_atom_w || g->op == VOP_atom_d, align = v->k->checks.align;
    if (atomic) {
        memcpy(a.addr, wide_of(c, g->a), sizeof a.addr);
        a.size = g->op == VOP_atom_d ? 8 : 4;
        a.n = 1;
        a.act = ACT_ATOMIC;
    } else {
        if (is_plain(v, c, ip))
            return;
        u64 all = (1ull << ip->a) - 1;
        find_addresses(c, g, &a, true);
        u64 n = a.addr[0] >> 48;
        bool aligned = (a.row || a.one) && n < v->k->n_segs && !(((a.row ? a.size : 0) | (uintptr_t)v->segs[n].host | a.addr[0]) & all);
        align &= !aligned;
        if ((a.row || a.one) && (align || v->watching))
            find_addresses(c, g, &a, false);
    }
    if (align)
        check_alignment(v, c, ip, a.addr, mask, a.size, a.act);
    if (v->watching && a.act != ACT_LOAD)
        spin_note(v, c, g, a.addr, mask);
    if (atomic && v->k->checks.races)
        shadow_message(v, c, a.addr, mask);
    vspan s = {.c = c, .g = g, .site = site, .lanes = mask, .per_lane = a.size, .act = a.act};
    if (a.row || a.one || (a.shared && a.act == ACT_LOAD)) {
        s.address = a.addr[0];
        s.size = a.row ? (u64)a.size * VGPU_LANES : a.size;
        s.lane = a.row ? 0 : (u32)__builtin_ctz(mask);
        if (cares(v, s.address >> 48))
            touch(v, &s);
        return;
    }
    u64 differ = 0;
    for (u32 l = 0; l < VGPU_LANES; l++)
        differ |= a.addr[l] ^ a.addr[0];
    if (!(differ >> 48) && !cares(v, a.addr[0] >> 48))
        return;
    if (a.act == ACT_STORE && v->k->checks.races && (mask & (mask - 1)))
        check_lanes(v, c, ip, a.addr, mask, a.n);
    s.size = a.size;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(mask >> l & 1) || !cares(v, a.addr[l] >> 48))
            continue;
        s.lane = l;
        s.lanes = 1u << l;
        s.address = a.addr[l];
        touch(v, &s);
    }
}

/* ---- Matrices and barriers ---------------------------------------------------------------------------------- */
static void guard_matrix(vcheck *v, vctx *c, const vins *ip, u32 mask) {
    const vins *g = guarded(ip);
    u32 site = v->k->sites[ip - v->k->code];
    if (mask != ~0u && v->k->checks.lanes)
        vcheck_record(v, c, FOUND_MATRIX_LANES, site, mask);
    if (g->op != VOP_xload && g->op != VOP_xstore)
        return;
    bool store = g->op == VOP_xstore;
    u64 base = c->scalar[store ? g->b : g->a] + (u64)(i64)g->imm;
    i64 x = (i64)c->scalar[store ? g->c : g->b], y = (i64)c->scalar[store ? g->d : g->c];
    i64 size = kind_bytes[g->x];
    u64 n = base >> 48, low = n < v->k->n_segs ? (uintptr_t)v->segs[n].host + VCHECK_OFFSET(base) : 0;
    if (v->k->checks.align && low & (u64)(size - 1)) {
        u64 addr[VGPU_LANES];
        for (u32 l = 0; l < VGPU_LANES; l++)
            addr[l] = base;
        check_alignment(v, c, ip, addr, mask & -mask, (u32)size, store ? ACT_STORE : ACT_LOAD);
    }
    if (base >> 48 >= v->k->n_segs || !cares(v, base >> 48))
        return;
    vspan s = {.c = c, .site = site, .lanes = mask, .per_lane = (u32)size, .act = store ? ACT_STORE : ACT_LOAD};
    if (store)
        v->changes++;
    for (i64 r = 0; r < 8; r++) {
        s.size = (u64)(x == 1 ? 8 * size : size);
        for (i64 col = 0; col < (x == 1 ? 1 : 8); col++) {
            s.address = base + (u64)((col * x + r * y) * size);
            if (s.address >> 48 == base >> 48)
                touch(v, &s);
        }
    }
}
void vcheck_guard(vctx *c, const vins *ip, u32 mask) {
    vcheck *v = c->check;
    if ((v->quiet && !v->watching) || !mask) /* a waiting loop must see what changes */
        return;
    switch ((enum vguard)ip->x) {
    case GUARD_ACCESS: guard_access(v, c, ip, mask); break;
    case GUARD_MATRIX: guard_matrix(v, c, ip, mask); break;
    case GUARD_BARRIER:
        if (mask != c->all && mask == c->live)
            vcheck_record(v, c, FOUND_BARRIER_ENDED, v->k->sites[ip - v->k->code], c->all & ~mask);
        break;
    default: check_operands(v, c, ip, mask);
    }
}
