/* SPDX-License-Identifier: MIT */
/* What the counting words of a kernel do while it runs. Each worker adds to a tally of its own; the
 * lines touched are bits that all workers set. An access is looked at before it happens, by the same
 * registers, and never changes anything: addresses that are out of bounds are left for the access
 * itself to report.
 * Lines are numbered from the start of each buffer's allocation, as if it began on a line (Metal's
 * do): counts do not depend on where the host put the memory.
 * Banks: word w of threadgroup memory lies in bank w mod banks; a cycle serves one word of each bank,
 * to any number of lanes. */
#include "vgpu/count/count.h"
#include <stdlib.h>

typedef struct span { u64 addr[VGPU_LANES]; u32 size, n, mask; } span; /* n elements of size per lane */

void vcount_block(vctx *c, u32 block, u32 mask) {
    count_block *b = &c->tally->block[block];
    b->runs++;
    b->lanes += (u32)__builtin_popcount(mask);
    c->tally->weight += c->k->count->block_weight[block];
}
void vcount_branch(vctx *c, u32 yes, u32 mask, u32 number) {
    c->tally->divergent[number] += (yes & mask) && (yes & mask) != mask;
}

/* ---- Addresses of an access -------------------------------------------------------------------- */
static const u64 *lanes_of(const vctx *c, u16 reg) { return (const u64 *)(c->wide + (size_t)reg * VGPU_SLOT); }
static void matrix_span(const vctx *c, const vins *i, span *s) {
    bool store = i->op == VOP_xstore;
    u64 base = c->scalar[store ? i->b : i->a] + (u64)(i64)i->imm;
    i64 x = (i64)c->scalar[store ? i->c : i->b], y = (i64)c->scalar[store ? i->d : i->c];
    s->size = i->x == VMEM_W ? 4 : 2;
    s->n = x == 1 ? 2 : 1;
    for (u32 l = 0; l < VGPU_LANES; l++) { /* where each lane's two elements lie */
        i64 row = l / 2 % 4 + 4 * (l / 16), col = 2 * (l % 2) + 4 * (l / 8 % 2);
        s->addr[l] = base + ((u64)col * (u64)x + (u64)row * (u64)y) * s->size;
    }
}
static void memory_span(const vctx *c, const vins *i, span *s) {
    static const u8 size[VMEM_COUNT] = {1, 2, 2, 2, 4, 8};
    u32 form = (u32)(i->op - VOP_ld_b_s) % 10, kind = (u32)(i->op - VOP_ld_b_s) / 10;
    u64 off = (u64)(i64)i->imm;
    s->size = size[kind];
    s->n = i->c > 1 ? i->c : 1;
    bool lanes = form == 2 || form == 5 || form == 7 || form == 9, sum = form == 1 || form == 4;
    const u32 *index = (const u32 *)(c->wide + (size_t)i->b * VGPU_SLOT);
    if (lanes) {
        const u64 *from = lanes_of(c, i->a);
        for (u32 l = 0; l < VGPU_LANES; l++)
            s->addr[l] = from[l] + off;
        return;
    }
    u64 base = c->scalar[i->a] + off;
    if (!sum) { /* one address: one lane asks */
        s->mask = s->mask & (0u - s->mask);
        s->addr[__builtin_ctz(s->mask)] = base;
        return;
    }
    u32 shift = i->x & 63u, sign = i->x >> 15 ? 0 : 0x80000000u;
    for (u32 l = 0; l < VGPU_LANES; l++)
        s->addr[l] = base + ((u64)((i64)(index[l] ^ sign) - (i64)sign) << shift);
}

/* ---- Lines and banks --------------------------------------------------------------------------- */
static void touch(count_foot *f, bool store, u64 line) {
    if (!f->bits[store] || line >= f->lines)
        return;
    u64 bit = 1ull << (line & 63), *at = &f->bits[store][line >> 6];
    if (!(__atomic_load_n(at, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(at, bit, __ATOMIC_RELAXED);
}
/* All lanes within 63 lines of one buffer: a bit for each line. 0 when they are not. */
static u32 near_lines(const vctx *c, const span *s, bool store) {
    u64 low = ~0ull, high = 0, bits = 0, bytes = (u64)s->size * s->n;
    for (u32 m = s->mask; m; m &= m - 1) {
        u64 a = s->addr[__builtin_ctz(m)];
        low = MIN(low, a);
        high = MAX(high, a);
    }
    u64 seg = low >> 48, from = low - ((seg << 48) + c->segs[seg].lo);
    u64 first = from / COUNT_LINE, into = from % COUNT_LINE;
    if (high - low + into + bytes > 63 * COUNT_LINE)
        return 0;
    for (u32 m = s->mask; m; m &= m - 1) {
        u64 at = s->addr[__builtin_ctz(m)] - low + into;
        bits |= (2ull << ((at + bytes - 1) / COUNT_LINE)) - (1ull << (at / COUNT_LINE));
    }
    for (u64 m = bits; m; m &= m - 1)
        touch(&c->tally->foot[seg], store, first + (u64)__builtin_ctzll(m));
    return (u32)__builtin_popcountll(bits);
}
static u32 device_lines(const vctx *c, const span *s, bool store) {
    u32 near = near_lines(c, s, store);
    if (near)
        return near;
    u64 seen[2 * VGPU_LANES], most = 0; /* the highest: above it a line is new without a search */
    u32 n = 0, bytes = s->size * s->n;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(s->mask >> l & 1))
            continue;
        u64 seg = s->addr[l] >> 48, at = (s->addr[l] & 0xFFFFFFFFFFFFull) - c->segs[seg].lo;
        for (u64 line = at / COUNT_LINE; line <= (at + bytes - 1) / COUNT_LINE; line++) {
            u64 key = seg << 48 | (line & 0xFFFFFFFFFFFFull);
            u32 j = key > most ? 0 : n;
            while (j && seen[j - 1] != key)
                j--;
            if (j || n == 2 * VGPU_LANES)
                continue;
            seen[n++] = key;
            most = MAX(most, key);
            touch(&c->tally->foot[seg], store, line);
        }
    }
    return n;
}
/* Cycles in which the banks serve the words starting at `words`, one for each lane of mask. */
static u32 bank_cycles(const count_tally *t, const u64 *words, u32 mask) {
    u64 seen[VGPU_LANES], high = 0;
    u8 load[256];
    u32 n = 0, most = 0;
    u32 next = 1;
    while (next < VGPU_LANES && words[next] == words[0] + next)
        next++;
    if (next == VGPU_LANES && t->banks >= VGPU_LANES)
        return 1;
    memset(load, 0, t->banks);
    for (u32 l = 0; l < VGPU_LANES; l++) {
        u32 j = n && words[l] <= high ? n : 0;
        if (!(mask >> l & 1))
            continue;
        while (j && seen[j - 1] != words[l])
            j--;
        if (j)
            continue;
        seen[n++] = words[l];
        high = MAX(high, words[l]);
        u32 now = ++load[words[l] & (t->banks - 1)];
        most = MAX(most, now);
    }
    return most;
}
static void threadgroup_access(const count_tally *t, const span *s, count_access *a) {
    u64 words[VGPU_LANES];
    u32 unit = MIN(s->size, t->bank_bytes), parts = s->size * s->n / unit;
    u32 active = (u32)__builtin_popcount(s->mask), shift = (u32)__builtin_ctz(t->bank_bytes);
    a->tg++;
    a->tg_lanes += active;
    a->tg_bytes += (u64)active * s->size * s->n;
    for (u32 p = 0; p < parts; p++) {
        for (u32 l = 0; l < VGPU_LANES; l++)
            words[l] = ((s->addr[l] & 0xFFFFFFFFFFFFull) - VGPU_BIAS + (u64)p * unit) >> shift;
        a->tg_cycles += bank_cycles(t, words, s->mask);
        a->tg_ideal++;
    }
}
void vcount_access(vctx *c, const vins *i, u32 mask, u32 number) {
    span s = {.mask = mask};
    count_tally *t = c->tally;
    count_access *a = &t->access[number];
    bool store = c->k->count->access[number].store, atomic = false;
    if (!mask)
        return;
    if (i->op == VOP_xload || i->op == VOP_xstore) {
        matrix_span(c, i, &s);
    } else if (i->op == VOP_atom_w || i->op == VOP_atom_d) {
        atomic = true;
        memcpy(s.addr, lanes_of(c, i->a), sizeof s.addr);
        s.size = i->op == VOP_atom_d ? 8 : 4;
        s.n = 1;
        store = i->x != VATOM_LOAD;
    } else {
        memory_span(c, i, &s);
    }
    u64 seg = s.addr[__builtin_ctz(s.mask)] >> 48, end = c->k->n_segs;
    if (seg >= end)
        return;
    for (u32 m = s.mask & (s.mask - 1); m; m &= m - 1) { /* lanes may name different buffers, but one kind of memory */
        u32 l = (u32)__builtin_ctz(m);
        u64 own = s.addr[l] >> 48;
        if (own != seg && (own >= end || seg < SEG_ARG0 || own < SEG_ARG0))
            s.mask &= ~(1u << l);
    }
    if (seg == SEG_THREAD) {
        a->thread++;
    } else if (seg == SEG_THREADGROUP) {
        threadgroup_access(t, &s, a);
    } else if (c->k->count->constant_seg[seg]) {
        a->constant++;
    } else {
        u32 active = (u32)__builtin_popcount(s.mask), lines = device_lines(c, &s, store);
        if (atomic && store)
            for (u32 l = 0; l < VGPU_LANES; l++) /* they read too */
                if (s.mask >> l & 1 && s.addr[l] >> 48 == seg)
                    touch(&t->foot[seg], false,
                          ((s.addr[l] & 0xFFFFFFFFFFFFull) - c->segs[seg].lo) / COUNT_LINE);
        a->device++;
        a->device_lanes += active;
        a->device_bytes += (u64)active * s.size * s.n;
        a->device_lines += lines;
        t->lines += lines;
    }
}

/* ---- Launches ---------------------------------------------------------------------------------- */
static bool tally_new(count_tally *t, const count_plan *p) {
    t->block = calloc(p->n_blocks + 1, sizeof *t->block);
    t->access = calloc(p->n_access + 1, sizeof *t->access);
    t->divergent = calloc(p->n_branch + 1, sizeof *t->divergent);
    return t->block && t->access && t->divergent;
}
static void tally_free(count_tally *t) {
    free(t->block);
    free(t->access);
    free(t->divergent);
}
count_tally *count_begin(const vgpu_kernel *k, tm_counters *t, count_foot *foot) {
    count_tally *w = calloc(1, sizeof *w);
    if (!w || !tally_new(w, k->count)) {
        if (w)
            tally_free(w);
        free(w);
        return NULL;
    }
    w->foot = foot;
    w->banks = t ? t->sum.banks : 32;
    w->bank_bytes = t ? t->sum.bank_bytes : 4;
    return w;
}
void count_end(tm_counters *t, count_tally *w, const vgpu_kernel *k) {
    const count_plan *p = k->count;
    for (u32 i = 0; t && i < p->n_blocks; i++) {
        t->sum.block[i].runs += w->block[i].runs;
        t->sum.block[i].lanes += w->block[i].lanes;
    }
    for (u32 i = 0; t && i < p->n_access; i++) {
        u64 *to = (u64 *)&t->sum.access[i], *from = (u64 *)&w->access[i];
        for (u32 f = 0; f < sizeof(count_access) / sizeof(u64); f++)
            to[f] += from[f];
    }
    for (u32 i = 0; t && i < p->n_branch; i++)
        t->sum.divergent[i] += w->divergent[i];
    if (t) {
        t->sum.groups += w->groups;
        t->sum.simdgroups += w->simdgroups;
        t->sum.weight += w->weight;
        t->sum.lines += w->lines;
    }
    tally_free(w);
    free(w);
}
count_foot *count_foot_new(const vgpu_kernel *k, const vseg *segs) {
    count_foot *f = calloc(k->n_segs + 1, sizeof *f);
    for (u32 i = SEG_ARG0; f && i < k->n_segs; i++) {
        if (segs[i].unbound || k->count->constant_seg[i] || !segs[i].host)
            continue;
        f[i].lines = (segs[i].size + COUNT_LINE - 1) / COUNT_LINE;
        for (u32 s = 0; s < 2; s++) /* without memory the footprint is not counted */
            f[i].bits[s] = calloc((size_t)(f[i].lines / 64 + 1), sizeof(u64));
    }
    return f;
}
void count_foot_end(tm_counters *t, count_foot *f, const vgpu_kernel *k) {
    u64 touched = 0;
    for (u32 i = 0; f && i < k->n_segs; i++) {
        for (u64 w = 0; f[i].bits[0] && f[i].bits[1] && t && w <= f[i].lines / 64; w++) {
            t->foot_lines[0] += (u32)__builtin_popcountll(f[i].bits[0][w]);
            t->foot_lines[1] += (u32)__builtin_popcountll(f[i].bits[1][w]);
            touched += (u32)__builtin_popcountll(f[i].bits[0][w] | f[i].bits[1][w]);
        }
        free(f[i].bits[0]);
        free(f[i].bits[1]);
    }
    if (t)
        t->largest_foot = MAX(t->largest_foot, touched);
    free(f);
}
void count_group_end(tm_counters *t, count_tally *w, u64 group, u64 weight, u64 lines) {
    w->groups++;
    if (t && t->group_of && group < t->n_group_of)
        t->group_of[group] = (count_group){(u32)MIN(w->weight - weight, 0xFFFFFFFFu),
                                           (u32)MIN(w->lines - lines, 0xFFFFFFFFu)};
}
tm_status count_launch(tm_counters *t, const tm_launch_params *p, u32 tg_bytes) {
    u64 n = (u64)p->grid[0] * p->grid[1] * p->grid[2];
    t->launches++;
    memcpy(t->grid, p->grid, sizeof t->grid);
    memcpy(t->group, p->group, sizeof t->group);
    t->tg_bytes = tg_bytes;
    t->n_group_of = n <= COUNT_GROUPS ? (u32)n : 0;
    free(t->group_of);
    t->group_of = t->n_group_of ? calloc(t->n_group_of, sizeof *t->group_of) : NULL;
    return t->n_group_of && !t->group_of ? -1 : 0;
}

tm_counters *counters_new(const vgpu_kernel *k) {
    tm_counters *t = calloc(1, sizeof *t);
    if (!t || !tally_new(&t->sum, k->count)) {
        counters_free(t);
        return NULL;
    }
    t->k = k;
    t->sum.banks = 32;
    t->sum.bank_bytes = 4;
    return t;
}
void counters_free(tm_counters *t) {
    if (!t)
        return;
    tally_free(&t->sum);
    free(t->group_of);
    free(t);
}
void counters_reset(tm_counters *t) {
    const count_plan *p = t->k->count;
    memset(t->sum.block, 0, p->n_blocks * sizeof *t->sum.block);
    memset(t->sum.access, 0, p->n_access * sizeof *t->sum.access);
    memset(t->sum.divergent, 0, p->n_branch * sizeof *t->sum.divergent);
    t->sum.groups = t->sum.simdgroups = t->sum.weight = t->sum.lines = 0;
    t->launches = t->foot_lines[0] = t->foot_lines[1] = t->largest_foot = 0;
}
