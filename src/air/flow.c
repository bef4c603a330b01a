/* SPDX-License-Identifier: MIT */
/* Dominators after Lengauer and Tarjan with path compression, O(edges * log blocks) and without
 * recursion; then preorder intervals of the dominator tree answer queries in constant time. */
#include "air/flow.h"

enum { NONE = UINT32_MAX };

typedef struct dominators {
    air_flow *w;
    u32 reached;
    u32 *vertex; /* by depth-first number */
    u32 *number; /* of a block, NONE when not reached */
    /* by depth-first number */
    u32 *parent, *semi, *ancestor, *label, *dom, *bucket, *bucket_next, *path;
} dominators;

static void list_preds(arena *a, air_flow *w) {
    w->first_pred = ARENA_ARRAY(a, u32, w->n + 2);
    for (u32 i = 0; i < w->n; i++)
        for (u32 k = 0; k < w->blocks[i]->last->n_blocks; k++)
            w->first_pred[w->blocks[i]->last->blocks[k]->id + 2]++;
    for (u32 i = 2; i < w->n + 2; i++)
        w->first_pred[i] += w->first_pred[i - 1];
    w->preds = ARENA_ARRAY(a, u32, w->first_pred[w->n + 1]);
    for (u32 i = 0; i < w->n; i++)
        for (u32 k = 0; k < w->blocks[i]->last->n_blocks; k++)
            w->preds[w->first_pred[w->blocks[i]->last->blocks[k]->id + 1]++] = i;
}

static void depth_first(dominators *d, u32 *stack, u32 *next) {
    air_flow *w = d->w;
    u32 depth = 1;
    stack[0] = 0;
    d->number[0] = 0;
    d->vertex[d->reached++] = 0;
    while (depth) {
        u32 block = stack[depth - 1];
        const air_inst *end = w->blocks[block]->last;
        if (next[block] == end->n_blocks) {
            depth--;
            continue;
        }
        u32 to = end->blocks[next[block]++]->id;
        if (d->number[to] != NONE)
            continue;
        d->number[to] = d->reached;
        d->parent[d->reached] = d->number[block];
        d->vertex[d->reached++] = to;
        stack[depth++] = to;
    }
}

/* The vertex of least semidominator on the path to the root of v's tree. */
static u32 eval(dominators *d, u32 v) {
    if (d->ancestor[v] == NONE)
        return v;
    u32 depth = 0;
    for (u32 x = v; d->ancestor[d->ancestor[x]] != NONE; x = d->ancestor[x])
        d->path[depth++] = x;
    while (depth) {
        u32 x = d->path[--depth], up = d->ancestor[x];
        if (d->semi[d->label[up]] < d->semi[d->label[x]])
            d->label[x] = d->label[up];
        d->ancestor[x] = d->ancestor[up];
    }
    return d->label[v];
}

static void find_dominators(dominators *d) {
    air_flow *w = d->w;
    for (u32 v = d->reached; v-- > 1;) {
        u32 block = d->vertex[v];
        for (u32 k = w->first_pred[block]; k < w->first_pred[block + 1]; k++) {
            u32 p = d->number[w->preds[k]];
            if (p != NONE)
                d->semi[v] = MIN(d->semi[v], d->semi[eval(d, p)]);
        }
        d->bucket_next[v] = d->bucket[d->semi[v]];
        d->bucket[d->semi[v]] = v;
        u32 parent = d->parent[v];
        d->ancestor[v] = parent;
        for (u32 x = d->bucket[parent]; x != NONE; x = d->bucket_next[x]) {
            u32 u = eval(d, x);
            d->dom[x] = d->semi[u] < d->semi[x] ? u : parent;
        }
        d->bucket[parent] = NONE;
    }
    for (u32 v = 1; v < d->reached; v++)
        if (d->dom[v] != d->semi[v])
            d->dom[v] = d->dom[d->dom[v]];
}

static void number_tree(arena *a, dominators *d) {
    air_flow *w = d->w;
    u32 *pre = ARENA_ARRAY(a, u32, d->reached), *size = ARENA_ARRAY(a, u32, d->reached);
    u32 *next = ARENA_ARRAY(a, u32, d->reached);
    for (u32 v = d->reached; v-- > 0;) {
        size[v]++;
        if (v)
            size[d->dom[v]] += size[v];
    }
    for (u32 v = 0; v < d->reached; v++) {
        if (v) {
            pre[v] = next[d->dom[v]];
            next[d->dom[v]] += size[v];
        }
        next[v] = pre[v] + 1;
        w->pre[d->vertex[v]] = pre[v];
        w->size[d->vertex[v]] = size[v];
    }
}

air_flow air_flow_of(arena *a, const air_func *f) {
    air_flow w = {.n = 0};
    for (air_block *b = f->first; b; b = b->next)
        b->id = w.n++;
    w.blocks = ARENA_ARRAY(a, air_block *, w.n);
    for (air_block *b = f->first; b; b = b->next)
        w.blocks[b->id] = b;
    list_preds(a, &w);
    w.pre = ARENA_ARRAY(a, u32, w.n);
    w.size = ARENA_ARRAY(a, u32, w.n);
    dominators d = {.w = &w};
    u32 **arrays[] = {&d.vertex, &d.number, &d.parent, &d.semi, &d.ancestor, &d.label, &d.dom,
                      &d.bucket, &d.bucket_next, &d.path};
    for (u32 i = 0; i < COUNT_OF(arrays); i++)
        *arrays[i] = ARENA_ARRAY(a, u32, w.n);
    for (u32 i = 0; i < w.n; i++) {
        d.number[i] = d.ancestor[i] = d.bucket[i] = NONE;
        d.semi[i] = d.label[i] = i;
    }
    depth_first(&d, ARENA_ARRAY(a, u32, w.n), ARENA_ARRAY(a, u32, w.n));
    find_dominators(&d);
    number_tree(a, &d);
    return w;
}
