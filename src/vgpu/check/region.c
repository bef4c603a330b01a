/* SPDX-License-Identifier: MIT */
/* What the shadows stand for, launch by launch: which device memory is tracked (what an argument may be written
 * through, and whatever overlaps it), the threadgroup's memory, and when what they hold counts no more. */
#include "vgpu/check/check.h"
#include <stdlib.h>

static int by_start(const void *a, const void *b) {
    uintptr_t x = ((const vregion *)a)->from, y = ((const vregion *)b)->from;
    return x < y ? -1 : x > y;
}
/* In whole lines of 64 bytes: rows of memory are whole blocks of shadow then, and no two regions share one. */
static void region_of(const vseg *s, uintptr_t *from, uintptr_t *to) {
    uintptr_t start = (uintptr_t)s->host + (uintptr_t)s->lo;
    *from = start & ~(uintptr_t)63;
    *to = (start + (uintptr_t)s->size + 63) & ~(uintptr_t)63;
}
/* Memory that some argument may be written through, as disjoint regions; every argument that reaches into
 * one of them is tracked. */
static bool find_regions(vcheck *v) {
    u32 n = v->k->n_segs, m = 0;
    v->regions = calloc(n + 1, sizeof *v->regions);
    if (!v->regions)
        return false;
    for (u32 i = SEG_ARG0; i < n; i++)
        if (v->segs[i].size && !v->segs[i].read_only)
            region_of(&v->segs[i], &v->regions[m].from, &v->regions[m].to), m++;
    qsort(v->regions, m, sizeof *v->regions, by_start);
    for (u32 i = 0; i < m; i++) {
        vregion *last = v->n_regions ? &v->regions[v->n_regions - 1] : NULL;
        if (last && v->regions[i].from < last->to)
            last->to = MAX(last->to, v->regions[i].to);
        else
            v->regions[v->n_regions++] = v->regions[i];
    }
    for (u32 i = 0; i < v->n_regions; i++) {
        vregion *r = &v->regions[i];
        r->n_pages = (u32)((r->to - r->from) / ((uintptr_t)PAGE_GRANULES << v->granule)) + 1;
        r->pages = calloc(r->n_pages, sizeof *r->pages);
        if (!r->pages)
            return false;
    }
    for (u32 i = SEG_ARG0; i < n; i++) {
        uintptr_t from, to;
        region_of(&v->segs[i], &from, &to);
        for (u32 r = 0; r < v->n_regions; r++)
            v->tracked[i] |= from < v->regions[r].to && to > v->regions[r].from;
    }
    return true;
}
static void drop_launch(vcheck *v) {
    while (v->used) {
        vpage *p = v->used;
        v->used = p->next;
        p->next = v->spare;
        v->spare = p;
    }
    for (u32 i = 0; i < v->n_regions; i++)
        free(v->regions[i].pages);
    free(v->regions);
    v->regions = NULL;
    v->n_regions = 0;
    message_free(v);
}
static void map_free(vmap *m) {
    free(m->block);
    free(m->cell);
    free(m->split);
    *m = (vmap){0};
}
/* Shadow of the threadgroup memory of a launch. */
static bool tg_begin(vcheck *v) {
    u64 bytes = v->segs[SEG_THREADGROUP].size;
    u32 blocks = (u32)((bytes + ((u64)BLOCK_GRANULES << v->granule) - 1) >> v->granule) / BLOCK_GRANULES;
    if (blocks <= v->tg.n_blocks)
        return true;
    map_free(&v->tg);
    free(v->tg_written);
    v->tg.block = calloc(blocks, sizeof *v->tg.block);
    v->tg.split = calloc(blocks, 1);
    v->tg_written = calloc(blocks, 1);
    v->tg.n_blocks = blocks;
    return v->tg.block && v->tg.split && v->tg_written;
}
/* The next launch's number. When it comes around, pages forget what they hold. */
static void next_launch(vcheck *v) {
    if (++v->launch <= LAST_LAUNCH)
        return;
    v->launch = 1;
    for (vpage *p = v->spare; p; p = p->next) {
        memset(p->block, 0, sizeof p->block);
        memset(p->split, 0, sizeof p->split);
    }
}
bool shadow_begin(vcheck *v, const tm_launch_params *p, u64 groups) {
    const vgpu_kernel *k = v->k;
    drop_launch(v);
    next_launch(v);
    if (!v->tracked)
        v->tracked = calloc(k->n_segs, 1);
    if (!v->written)
        v->written = calloc(k->n_segs, sizeof *v->written);
    if (!v->tracked || !v->written)
        return false;
    memset(v->tracked, 0, k->n_segs);
    memset(v->written, 0, k->n_segs * sizeof *v->written);
    for (u32 i = 0; v->uninit && i < k->n_params; i++)
        for (u32 a = 0; k->params[i].kind == VPARAM_BUFFER && a < p->n_args; a++)
            if (p->args[a].kind == TM_ARG_BUFFER && p->args[a].index == k->params[i].location)
                v->written[k->params[i].seg] = p->args[a].written;
    if ((v->races || v->uninit) && !tg_begin(v))
        return false;
    if (!v->races)
        return true;
    return message_begin(v, groups) && find_regions(v);
}
void shadow_epoch(vcheck *v) {
    v->tg_when++;
    v->n_reads = 0;
}
void shadow_group(vcheck *v) {
    shadow_epoch(v);
    if (v->tg_written)
        memset(v->tg_written, 0, v->tg.n_blocks);
}
void shadow_free(vcheck *v) {
    drop_launch(v);
    for (vpage *p = v->spare, *next; p; p = next) {
        next = p->next;
        free(p->map.cell);
        free(p);
    }
    map_free(&v->tg);
    free(v->tg_written);
    free(v->tracked);
    free(v->written);
}
