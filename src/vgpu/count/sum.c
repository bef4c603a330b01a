/* SPDX-License-Identifier: MIT */
/* Counts of blocks to counts of instructions: each block's runs times what is in it, in total, by class
 * and by source line. Lines are those the compiler noted; a kernel without them has one row for each
 * AIR instruction instead. */
#include "base/map.h"
#include "vgpu/count/count.h"
#include <stdlib.h>

void count_class_all(const tm_counters *t, u64 runs[CC_COUNT], u64 lanes[CC_COUNT]) {
    const count_plan *p = t->k->count;
    memset(runs, 0, CC_COUNT * sizeof *runs);
    memset(lanes, 0, CC_COUNT * sizeof *lanes);
    for (u32 i = 0; i < p->n_mix; i++) {
        const count_mix *m = &p->mix[i];
        runs[m->cls] += t->sum.block[m->block].runs * m->n;
        lanes[m->cls] += t->sum.block[m->block].lanes * m->n;
    }
}
static void add_access(const count_site *s, const count_access *a, u64 *out) {
    bool w = s->store;
    out[w ? CT_device_stores : CT_device_loads] += a->device;
    out[w ? CT_device_write_bytes : CT_device_read_bytes] += a->device_bytes;
    out[w ? CT_device_write_lines : CT_device_read_lines] += a->device_lines;
    out[w ? CT_threadgroup_stores : CT_threadgroup_loads] += a->tg;
    out[w ? CT_threadgroup_write_bytes : CT_threadgroup_read_bytes] += a->tg_bytes;
    out[CT_constant_loads] += a->constant;
    out[CT_threadgroup_cycles] += a->tg_cycles;
    out[CT_bank_conflict_cycles] += a->tg_cycles - a->tg_ideal;
    out[CT_thread_memory_accesses] += a->thread;
    if (s->atomic)
        out[CT_atomic_lanes] += a->device_lanes + a->tg_lanes;
}
void count_total_all(const tm_counters *t, u64 out[CT_COUNT]) {
    const count_plan *p = t->k->count;
    u64 runs[CC_COUNT], lanes[CC_COUNT];
    memset(out, 0, CT_COUNT * sizeof *out);
    count_class_all(t, runs, lanes);
    for (u32 c = 0; c < CC_COUNT; c++) {
        out[CT_instructions] += runs[c];
        out[CT_lane_instructions] += lanes[c];
    }
    out[CT_launches] = t->launches;
    out[CT_threadgroups] = t->sum.groups;
    out[CT_simdgroups] = t->sum.simdgroups;
    out[CT_branches] = runs[CC_BRANCH];
    out[CT_barriers] = runs[CC_BARRIER];
    out[CT_matrix_ops] = runs[CC_MATRIX];
    out[CT_atomics] = runs[CC_ATOMIC];
    out[CT_footprint_read_lines] = t->foot_lines[0];
    out[CT_footprint_write_lines] = t->foot_lines[1];
    for (u32 i = 0; i < p->n_branch; i++)
        out[CT_divergent_branches] += t->sum.divergent[i];
    for (u32 i = 0; i < p->n_access; i++)
        add_access(&p->access[i], &t->sum.access[i], out);
}

/* ---- Lines ------------------------------------------------------------------------------------- */
typedef struct rows { arena *a; map *by_site, *by_place; count_line *at; u32 n, room; const vgpu_kernel *k; } rows;
static bool same_place(const count_line *r, const src_loc *l) {
    return r->file && r->line == l->line && strcmp(r->file, l->file) == 0;
}
/* The row of a site: one for all sites of a source line. */
static count_line *row_of(rows *r, u32 site, u16 op) {
    void **at = map_put(r->by_site, site + 1);
    if (*at)
        return &r->at[(uintptr_t)*at - 1];
    const vsite *s = &r->k->site[site];
    const src_loc *loc = vgpu_loc(r->k, site);
    u64 key = 0;
    u32 n = r->n;
    if (loc && loc->file && loc->line) { /* lines of different files may share a key */
        for (const char *c = loc->file; *c; c++)
            key = key * 131 + (u8)*c;
        for (key = (key ^ (u64)loc->line * 0x9E3779B97F4A7C15ull) | 1;; key += 2) {
            void **place = map_put(r->by_place, key);
            if (!*place) {
                *place = (void *)(uintptr_t)(r->n + 1);
                break;
            }
            n = (u32)(uintptr_t)*place - 1;
            if (same_place(&r->at[n], loc))
                break;
            n = r->n;
        }
    }
    *at = (void *)(uintptr_t)(n + 1);
    if (n == r->n) {
        count_line *now = &r->at[r->n++];
        memset(now, 0, sizeof *now);
        now->order = site;
        now->what = s->what ? s->what : vops[op].name;
        if (loc && loc->file && loc->line) {
            now->file = loc->file;
            now->line = loc->line;
            now->what = NULL;
        }
    }
    return &r->at[n];
}
static int by_cost(const void *x, const void *y) {
    const count_line *a = x, *b = y;
    if (a->cycles != b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}
count_line *count_lines(const tm_counters *t, u32 *n) {
    const count_plan *p = t->k->count;
    arena *a = arena_new();
    rows r = {.a = a, .by_site = map_new(a), .by_place = map_new(a), .k = t->k};
    r.at = calloc(p->n_mix + p->n_access + p->n_branch + 1u, sizeof *r.at);
    *n = 0;
    if (!r.at) {
        arena_free(a);
        return NULL;
    }
    for (u32 i = 0; i < p->n_mix; i++) {
        const count_mix *m = &p->mix[i];
        const count_block *b = &t->sum.block[m->block];
        if (!b->runs)
            continue;
        count_line *l = row_of(&r, m->site, m->op);
        l->instructions += b->runs * m->n;
        l->lanes += b->lanes * m->n;
        l->by_class[m->cls] += b->runs * m->n;
        l->branches += m->cls == CC_BRANCH ? b->runs : 0;
        l->cycles += (double)(b->runs * m->n) * count_classes[m->cls].cycles;
    }
    for (u32 i = 0; i < p->n_branch; i++)
        if (t->sum.divergent[i])
            row_of(&r, p->branch[i], VOP_cbr)->divergent += t->sum.divergent[i];
    for (u32 i = 0; i < p->n_access; i++) {
        const count_access *x = &t->sum.access[i];
        if (!x->device && !x->tg)
            continue;
        count_line *l = row_of(&r, p->access[i].site, VOP_ld_w_p);
        l->device_bytes += x->device_bytes;
        l->device_lines += x->device_lines;
        l->tg_bytes += x->tg_bytes;
        l->tg_cycles += x->tg_cycles;
        l->conflicts += x->tg_cycles - x->tg_ideal;
        l->cycles += (double)x->device_lines * 2 + (double)(x->tg_cycles - x->tg_ideal);
    }
    qsort(r.at, r.n, sizeof *r.at, by_cost);
    *n = r.n;
    arena_free(a);
    return r.at;
}
