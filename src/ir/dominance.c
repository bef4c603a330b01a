/* SPDX-License-Identifier: MIT */
/* See dominance.h. Everything is by depth-first number; no step recurses, so that a function of a hundred
 * thousand blocks is as safe as one of three. */
#include "ir/dominance.h"
#include "base/vec.h"

typedef struct work {
    arena *a;
    ir_dominance *d;
    u32 *parent, *semi, *ancestor, *best; /* best: vertex of least semi on the compressed path */
    u32 *bucket_first, *bucket_next;
} work;

enum { NONE = UINT32_MAX };

static u32 succ_count(const ir_block *b) { return b->last ? b->last->n_succs : 0; }

static void number_blocks(work *w, const ir_region *region) {
    u32 total = 0;
    for (ir_block *b = region->first; b; b = b->next) {
        b->mark = 0;
        total++;
    }
    w->d->blocks = ARENA_ARRAY(w->a, ir_block *, total + 1);
    w->parent = ARENA_ARRAY(w->a, u32, total + 1);
    struct {
        ir_block *block;
        u32 next;
    } *stack = arena_alloc(w->a, (total + 1) * sizeof *stack);
    u32 depth = 0;
    if (region->first) {
        region->first->mark = 1;
        w->d->blocks[w->d->n++] = region->first;
        stack[depth].block = region->first;
        stack[depth++].next = 0;
    }
    while (depth) {
        ir_block *b = stack[depth - 1].block;
        if (stack[depth - 1].next == succ_count(b)) {
            depth--;
            continue;
        }
        ir_block *to = b->last->succs[stack[depth - 1].next++].block;
        if (to->mark || to->region != region)
            continue;
        w->parent[w->d->n] = b->mark - 1;
        w->d->blocks[w->d->n] = to;
        to->mark = ++w->d->n;
        stack[depth].block = to;
        stack[depth++].next = 0;
    }
}

/* The vertex of least semidominator on the path from v up to its root in the forest. */
static u32 evaluate(work *w, u32 v, u32 *path) {
    if (w->ancestor[v] == NONE)
        return v;
    u32 n = 0;
    for (u32 u = v; w->ancestor[w->ancestor[u]] != NONE; u = w->ancestor[u])
        path[n++] = u;
    while (n) {
        u32 u = path[--n], up = w->ancestor[u];
        if (w->semi[w->best[up]] < w->semi[w->best[u]])
            w->best[u] = w->best[up];
        w->ancestor[u] = w->ancestor[up];
    }
    return w->best[v];
}

/* Predecessors as an array of edges sorted by target. */
static void list_predecessors(work *w, u32 **start, u32 **preds) {
    u32 n = w->d->n;
    *start = ARENA_ARRAY(w->a, u32, n + 2);
    for (u32 i = 0; i < n; i++)
        for (u32 s = 0; s < succ_count(w->d->blocks[i]); s++)
            (*start)[w->d->blocks[i]->last->succs[s].block->mark + 1]++;
    for (u32 i = 1; i < n + 2; i++)
        (*start)[i] += (*start)[i - 1];
    *preds = ARENA_ARRAY(w->a, u32, (*start)[n + 1] + 1);
    u32 *at = arena_dup(w->a, *start, (n + 2) * sizeof *at);
    for (u32 i = 0; i < n; i++)
        for (u32 s = 0; s < succ_count(w->d->blocks[i]); s++)
            (*preds)[at[w->d->blocks[i]->last->succs[s].block->mark]++] = i;
}

ir_dominance ir_dominators(arena *a, const ir_region *region) {
    ir_dominance d = {0};
    work w = {.a = a, .d = &d};
    number_blocks(&w, region);
    u32 n = d.n, *start, *preds, *path = ARENA_ARRAY(a, u32, n + 1);
    list_predecessors(&w, &start, &preds);
    d.idom = ARENA_ARRAY(a, u32, n + 1);
    w.semi = ARENA_ARRAY(a, u32, n + 1);
    w.ancestor = ARENA_ARRAY(a, u32, n + 1);
    w.best = ARENA_ARRAY(a, u32, n + 1);
    w.bucket_first = ARENA_ARRAY(a, u32, n + 1);
    w.bucket_next = ARENA_ARRAY(a, u32, n + 1);
    for (u32 i = 0; i < n; i++) {
        w.semi[i] = w.best[i] = i;
        w.ancestor[i] = w.bucket_first[i] = NONE;
    }
    for (u32 v = n; v-- > 1;) {
        for (u32 e = start[v + 1]; e < start[v + 2]; e++)
            w.semi[v] = MIN(w.semi[v], w.semi[evaluate(&w, preds[e], path)]);
        w.bucket_next[v] = w.bucket_first[w.semi[v]];
        w.bucket_first[w.semi[v]] = v;
        u32 up = w.parent[v];
        w.ancestor[v] = up;
        for (u32 u = w.bucket_first[up]; u != NONE; u = w.bucket_next[u]) {
            u32 best = evaluate(&w, u, path);
            d.idom[u] = w.semi[best] < w.semi[u] ? best : up;
        }
        w.bucket_first[up] = NONE;
    }
    for (u32 v = 1; v < n; v++)
        if (d.idom[v] != w.semi[v])
            d.idom[v] = d.idom[d.idom[v]];
    return d;
}
