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
        v->races = k->checks.races;
        v->uninit = k->checks.uninit;
        v->looks = vgpu_checks_look(&k->checks);
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
    v->epoch = v->clock = v->released = v->n_unheard = 0;
    v->watch->on = false;
    shadow_group(v);
}
void vcheck_round(vcheck *v) {
    v->epoch += v->epoch < LAST_EPOCH;
    shadow_epoch(v);
}

/* One record per kind and site; later ones are counted. NULL: nothing more to fill. */
vrecord *vcheck_record(vcheck *v, const vctx *c, u8 kind, u32 site, u32 lanes) {
    if (vcheck_muted(v, kind))
        return NULL;
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
/* Does the store write, at [address, address + size), what is there already? */
bool vcheck_same(const vcheck *v, const vspan *s, u64 address, u32 size) {
    if (!s->g || s->act != ACT_STORE || s->g->op < VOP_ld_b_s || s->g->op > VOP_stl_d_p)
        return false;
    u32 bytes = kind_bytes[(u32)(s->g->op - VOP_ld_b_s) / 10];
    u64 start = s->address;
    u32 lane = s->lane_address ? VGPU_LANES : s->lane;
    for (u32 l = 0; s->lane_address && l < VGPU_LANES; l++) /* any lane that stores there */
        if (s->lanes >> l & 1 && address + size > s->lane_address[l] && address < s->lane_address[l] + s->per_lane)
            start = s->lane_address[l], lane = l;
    if (lane == VGPU_LANES)
        return false;
    u64 offset = address > start ? address - start : 0;
    if (!s->lane_address)
        lane += (u32)(offset / s->per_lane);
    u32 element = (u32)(offset % s->per_lane) / bytes;
    u32 skip = (u32)(offset % bytes); /* a granule may reach past the end of what is stored */
    u64 value = vcheck_value(s->c, s->g, element, lane);
    return memcmp((const u8 *)&value + skip, vcheck_host(v, start + offset), MIN(size, bytes - skip)) == 0;
}
/* Is [low, high + size) in bounds of its segment? If not, the bounds check speaks of it. */
static bool inside(const vcheck *v, u64 low, u64 high, u64 size) {
    const vseg *seg = &v->segs[low >> 48];
    u64 from = VCHECK_OFFSET(low) - seg->lo, to = VCHECK_OFFSET(high) - seg->lo;
    return low >> 48 == high >> 48 && from <= to && to <= seg->size && seg->size - to >= size;
}
static void touch(vcheck *v, vspan *s) {
    u64 last = s->address + (u64)s->stride * (s->rows - 1);
    if (inside(v, MIN(s->address, last), MAX(s->address, last), s->size))
        shadow_rows(v, s);
}
static bool cares(const vcheck *v, u64 seg) {
    if (seg == SEG_THREADGROUP)
        return v->tg.n_blocks != 0;
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
/* Where the lanes of an access go: all to one address, side by side, each behind the one before, or anywhere. */
enum vform { FORM_ONE, FORM_ROW, FORM_ASCENDING, FORM_ANY };
typedef struct vaccess {
    u64 addr[VGPU_LANES]; /* of ONE and ROW, the first until `spread` */
    u32 size, n, mask;    /* bytes per lane, elements per lane */
    enum vform form;
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
static void spread(vaccess *a) {
    u64 step = a->form == FORM_ROW ? a->size : 0;
    for (u32 l = 0; l < VGPU_LANES && a->form < FORM_ASCENDING; l++)
        a->addr[l] = a->addr[0] + l * step;
}
static void find_addresses(const vctx *c, const vins *g, vaccess *a) {
    u32 group = (u32)(g->op - VOP_ld_b_s) % 10;
    u64 imm = (u64)(i64)g->imm, differ = 0, wrong = 0;
    a->n = g->c > 1 ? g->c : 1;
    a->size = kind_bytes[(u32)(g->op - VOP_ld_b_s) / 10] * a->n;
    a->act = group >= 3 ? ACT_STORE : ACT_LOAD;
    a->form = group % 3 == 0 ? FORM_ONE : FORM_ANY;
    if (a->form == FORM_ONE) {
        a->addr[0] = c->scalar[g->a] + imm;
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
        if (a->mask == ~0u && is_row(c, g, a->size)) {
            a->addr[0] = base + ((g->x >> 15 ? off[0] : (u64)(i64)(i32)off[0]) << shift);
            a->form = FORM_ROW;
            return;
        }
        for (u32 l = 0; l < VGPU_LANES; l++)
            a->addr[l] = base + ((g->x >> 15 ? off[l] : (u64)(i64)(i32)off[l]) << shift);
    }
    for (u32 l = 1; l < VGPU_LANES; l++) {
        u64 gap = a->addr[l] - a->addr[l - 1] - a->size; /* its top bit tells when they go back */
        differ |= gap;
        wrong |= gap | (a->addr[l] ^ a->addr[0]) >> 48 << 63;
    }
    if (a->mask == ~0u && !(wrong >> 63))
        a->form = differ ? FORM_ASCENDING : FORM_ROW;
}
/* Lane pointers into one segment that nothing watches, all aligned. */
static bool plain_pointers(const vcheck *v, const vctx *c, const vins *g, u64 all) {
    const u64 *p = (const u64 *)wide_of(c, g->a);
    u64 differ = 0, low = 0, n = p[0] >> 48;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        differ |= p[l] ^ p[0];
        low |= p[l];
    }
    if (differ >> 48 || n >= v->k->n_segs || cares(v, n))
        return false;
    return !((low | (u64)(i64)g->imm | (uintptr_t)v->segs[n].host) & all);
}
/* The place is known without looking at lanes one by one, nothing watches it, and it is aligned. */
static bool is_plain(const vcheck *v, const vctx *c, const vins *ip) {
    const vins *g = guarded(ip);
    u32 group = (u32)(g->op - VOP_ld_b_s) % 10, align = v->k->checks.align ? ip->a : 0;
    u64 all = (1ull << align) - 1;
    if (v->watch->on)
        return false;
    if (group % 3 == 2)
        return plain_pointers(v, c, g, all);
    u64 base = c->scalar[g->a] + (u64)(i64)g->imm, n = base >> 48;
    if (n >= v->k->n_segs || cares(v, n) || (group % 3 == 1 && (g->x & 63u) < align))
        return false;
    return !(((uintptr_t)v->segs[n].host + VCHECK_OFFSET(base)) & all);
}
/* Lanes that are no row. True when two of them may name the same place. */
static bool guard_lanes(vcheck *v, vspan *s, const vaccess *a) {
    bool up = a->form == FORM_ASCENDING;
    u64 low = up ? a->addr[0] : ~0ull, high = up ? a->addr[VGPU_LANES - 1] : 0;
    for (u32 l = up ? 0 : a->mask; l; l &= l - 1) {
        u64 at = a->addr[__builtin_ctz(l)];
        low = MIN(low, at);
        high = MAX(high, at);
    }
    if (low >> 48 == high >> 48 && (low >> 48 >= v->k->n_segs || !cares(v, low >> 48)))
        return false;
    if (low >> 48 == high >> 48 && inside(v, low, high, a->size)) {
        s->lane_address = a->addr;
        return shadow_lanes(v, s, up);
    }
    s->size = a->size;
    for (u32 l = 0; l < VGPU_LANES; l++)
        if (a->mask >> l & 1 && a->addr[l] >> 48 < v->k->n_segs && cares(v, a->addr[l] >> 48)) {
            s->lane = l;
            s->lanes = 1u << l;
            s->address = a->addr[l];
            touch(v, s);
        }
    return true;
}
/* Is the place that a form of addresses begins at aligned, and with it all? */
static bool is_aligned(const vcheck *v, const vaccess *a, u32 align) {
    u64 n = a->addr[0] >> 48, all = (1ull << align) - 1;
    return a->form < FORM_ASCENDING && n < v->k->n_segs &&
           !(((a->form == FORM_ROW ? a->size : 0) | (uintptr_t)v->segs[n].host | a->addr[0]) & all);
}
static void guard_access(vcheck *v, vctx *c, const vins *ip, u32 mask) {
    const vins *g = guarded(ip);
    bool atomic = g->op == VOP_atom_w || g->op == VOP_atom_d;
    if (!atomic && is_plain(v, c, ip))
        return;
    vaccess a; /* its addresses are not cleared */
    a.mask = mask;
    if (atomic) {
        memcpy(a.addr, wide_of(c, g->a), sizeof a.addr);
        a.size = g->op == VOP_atom_d ? 8 : 4;
        a.n = 1;
        a.act = ACT_ATOMIC;
        a.form = FORM_ANY;
    } else {
        find_addresses(c, g, &a);
    }
    bool align = v->k->checks.align && !is_aligned(v, &a, ip->a);
    bool several = a.form == FORM_ONE && a.act == ACT_STORE && mask & (mask - 1);
    if (align || v->watch->on || several)
        spread(&a);
    if (align)
        check_alignment(v, c, ip, a.addr, mask, a.size, a.act);
    if (v->watch->on && a.act != ACT_LOAD)
        spin_note(v, c, g, a.addr, mask);
    if (atomic && v->races)
        message_pass(v, a.addr, mask, (u32)g->imm);
    vspan s = {.c = c, .g = g, .site = v->k->sites[ip - v->k->code], .lanes = mask, .per_lane = a.size, .rows = 1,
               .act = a.act, .address = a.addr[0], .size = a.size};
    if (a.form >= FORM_ASCENDING) {
        several = guard_lanes(v, &s, &a) && a.act == ACT_STORE;
    } else {
        s.size = a.form == FORM_ROW ? (u64)a.size * VGPU_LANES : a.size;
        s.lane = a.form == FORM_ROW ? 0 : (u32)__builtin_ctz(mask);
        if (a.addr[0] >> 48 < v->k->n_segs && cares(v, a.addr[0] >> 48))
            touch(v, &s);
        else
            several = false;
    }
    if (several && v->races)
        check_lanes(v, c, ip, a.addr, mask, a.n);
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
    const i64 far = 1ll << 40; /* strides that leave every buffer, and could wrap */
    if (base >> 48 >= v->k->n_segs || !cares(v, base >> 48) || x >= far || x <= -far || y >= far || y <= -far)
        return;
    v->watch->changes += store;
    vspan s = {.c = c, .site = site, .lanes = mask, .per_lane = (u32)size, .rows = 8, .stride = y * size,
               .size = (u64)size, .act = store ? ACT_STORE : ACT_LOAD};
    if (x == 1)
        s.size *= 8;
    for (i64 column = 0; column < (x == 1 ? 1 : 8); column++) {
        s.address = base + (u64)(column * x * size);
        if (s.address >> 48 == base >> 48)
            touch(v, &s);
    }
}
void vcheck_guard(vctx *c, const vins *ip, u32 mask) {
    vcheck *v = c->check;
    if (!(v->looks || v->watch->on) || !mask) /* a waiting loop must see what changes */
        return;
    switch ((enum vguard)ip->x) {
    case GUARD_ACCESS: guard_access(v, c, ip, mask); break;
    case GUARD_MATRIX: guard_matrix(v, c, ip, mask); break;
    case GUARD_FENCE: message_fence(v, guarded(ip)->x); break;
    case GUARD_BARRIER:
        if (mask != c->all && mask == c->live)
            vcheck_record(v, c, FOUND_BARRIER_ENDED, v->k->sites[ip - v->k->code], c->all & ~mask);
        break;
    default: check_operands(v, c, ip, mask);
    }
}
