/* SPDX-License-Identifier: MIT */
/* Checks that no result depends on the order of threadgroups and simdgroups, or on what Apple leaves open: after its
 * run with all other checks, the launch runs again from copies of what its buffers held, decoded without guards: in
 * reverse, round robin, with a seed also in the order made from it, or as decoded for other numerics; the results must
 * be the same. Where the first run can see that all accesses are ordered, no other order is tried. Between numerics,
 * and where the kernel has atomics, floats may differ: by 1/1000 of the value or of a hundredth of the buffer's
 * largest; f16 and bf16, which round when they are stored, by 1/250 and 1/30 of the largest. */
#include "vgpu/check/check.h"
#include <math.h>
#include <stdlib.h>

/* ---- Differences -------------------------------------------------------------------------------------------- */
/* A buffer that the kernel may write, as the first run left it and as another one did. */
typedef struct pair {
    const u8 *first, *other;
    size_t size, before; /* bytes; of them those in front of the pointer */
    const vparam *p;
    size_t differs;      /* the first element that does, or SIZE_MAX */
} pair;
/* The floats that an element of type "float", "half4", ... is made of. */
enum float_kind { NO_FLOAT, F32, F16, BF16 };
static enum float_kind floats_of(const vparam *p) {
    static const struct { const char *name; enum float_kind kind; u32 size; } kinds[] = {
        {"float", F32, 4}, {"half", F16, 2}, {"bfloat", BF16, 2}};
    for (u32 i = 0; p->type && i < COUNT_OF(kinds); i++) {
        size_t len = strlen(kinds[i].name);
        const char *lanes = p->type + len;
        if (strncmp(p->type, kinds[i].name, len) == 0 && (!*lanes || (*lanes >= '2' && *lanes <= '4' && !lanes[1])))
            return p->elem_size && p->elem_size % kinds[i].size == 0 ? kinds[i].kind : NO_FLOAT; /* metadata may lie */
    }
    return NO_FLOAT;
}
static float float_at(const u8 *p, enum float_kind kind) {
    u32 w = 0;
    memcpy(kind == BF16 ? (u8 *)&w + 2 : (u8 *)&w, p, kind == F32 ? 4 : 2);
    if (kind == F16) {
        int e = w >> 10 & 31, m = w & 1023;
        float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
        return w >> 15 ? -f : f;
    }
    float f;
    memcpy(&f, &w, 4);
    return f;
}
static size_t element_size(const pair *c) { return MAX(c->p->elem_size, 1u); }
static float largest(const pair *c, enum float_kind kind) {
    float top = 0;
    for (size_t i = 0, step = kind == F32 ? 4 : 2; i + step <= c->size; i += step) {
        float a = fabsf(float_at(c->first + i, kind));
        top = a > top && isfinite(a) ? a : top;
    }
    return top;
}
/* The first element that differs, or SIZE_MAX. */
static size_t first_difference(const pair *c, bool tolerant) {
    if (memcmp(c->first, c->other, c->size) == 0)
        return SIZE_MAX;
    enum float_kind kind = floats_of(c->p);
    size_t step = kind == NO_FLOAT ? element_size(c) : kind == F32 ? 4 : 2;
    float share = kind == F32 ? 1e-3f : kind == F16 ? 4e-3f : 3e-2f;
    float floor = kind == NO_FLOAT || !tolerant ? 0 : largest(c, kind) * (kind == F32 ? 0.01f : 1);
    for (size_t i = 0; i + step <= c->size; i += step) {
        if (memcmp(c->first + i, c->other + i, step) == 0)
            continue;
        if (kind == NO_FLOAT)
            return i / element_size(c);
        float a = float_at(c->first + i, kind), b = float_at(c->other + i, kind);
        if ((a != a && b != b) || a == b)
            continue;
        if (!tolerant || !(fabsf(a - b) <= share * fmaxf(fmaxf(fabsf(a), fabsf(b)), floor)))
            return i / element_size(c);
    }
    return SIZE_MAX;
}

/* ---- Copies ------------------------------------------------------------------------------------------------- */
/* Memory that something may be written to, and whatever argument reaches into it. */
typedef struct stretch {
    u8 *from, *to;       /* of the caller */
    void *room[2];       /* of copies: what was there, and the one that a run works on */
    u8 *before, *work;
} stretch;
typedef struct again {
    tm_ctx *ctx;
    const vgpu_kernel *k;
    const tm_launch_params *p;
    stretch *stretches;
    tm_arg *args;        /* of a run on copies */
    pair *pairs;
    u32 n_stretches, n_pairs, runs_left;
} again;
static bool is_memory(const tm_arg *a) { return a->kind == TM_ARG_BUFFER && a->data; }
static u8 *start_of(const tm_arg *a) { return (u8 *)a->data - a->before; }
static u8 *end_of(const tm_arg *a) { return (u8 *)a->data + a->size; }
/* The parameter that may be written through this argument; NULL when none is. */
static const vparam *written_by(const vgpu_kernel *k, const tm_arg *a) {
    for (u32 i = 0; is_memory(a) && i < k->n_params; i++)
        if (k->params[i].kind == VPARAM_BUFFER && k->params[i].writes && k->params[i].location == a->index)
            return &k->params[i];
    return NULL;
}
static int by_place(const void *a, const void *b) {
    const u8 *x = ((const stretch *)a)->from, *y = ((const stretch *)b)->from;
    return x < y ? -1 : x > y;
}
/* A copy of `data`, which is as long as the stretch, at the same place in a cache line. NULL out of memory. */
static u8 *copy_of(const stretch *s, const u8 *data, void **room) {
    size_t size = (size_t)(s->to - s->from), skew = (uintptr_t)s->from % 64;
    if (posix_memalign(room, 64, size + 64) != 0)
        return *room = NULL;
    return memcpy((u8 *)*room + skew, data, size);
}
static void find_stretches(again *g) {
    const tm_launch_params *p = g->p;
    stretch *s = g->stretches;
    u32 n = 0;
    for (u32 i = 0; i < p->n_args; i++)
        if (written_by(g->k, &p->args[i]))
            s[n++] = (stretch){.from = start_of(&p->args[i]), .to = end_of(&p->args[i])};
    for (u32 i = 0; i < p->n_args; i++)
        for (u32 j = 0; is_memory(&p->args[i]) && j < n; j++)
            if (start_of(&p->args[i]) < s[j].to && end_of(&p->args[i]) > s[j].from) {
                s[j].from = MIN(s[j].from, start_of(&p->args[i]));
                s[j].to = MAX(s[j].to, end_of(&p->args[i]));
            }
    qsort(s, n, sizeof *s, by_place);
    for (u32 i = 0; i < n; i++)
        if (g->n_stretches && s[i].from < s[g->n_stretches - 1].to)
            s[g->n_stretches - 1].to = MAX(s[g->n_stretches - 1].to, s[i].to);
        else
            s[g->n_stretches++] = s[i];
}
static bool again_begin(again *g) {
    size_t n = g->p->n_args + 1;
    g->stretches = calloc(n, sizeof *g->stretches);
    g->args = calloc(n, sizeof *g->args);
    g->pairs = calloc(n, sizeof *g->pairs);
    if (!g->stretches || !g->args || !g->pairs)
        return false;
    find_stretches(g);
    for (u32 i = 0; i < g->n_stretches; i++)
        if (!(g->stretches[i].before = copy_of(&g->stretches[i], g->stretches[i].from, &g->stretches[i].room[0])))
            return false;
    return true;
}
static void again_end(again *g) {
    for (u32 i = 0; i < g->n_stretches; i++) {
        free(g->stretches[i].room[0]);
        free(g->stretches[i].room[1]);
    }
    free(g->stretches);
    free(g->args);
    free(g->pairs);
}
/* The arguments of the next run: the last one may spoil what was kept. */
static bool bind_copies(again *g) {
    bool last = --g->runs_left == 0;
    for (u32 i = 0; i < g->n_stretches; i++) {
        stretch *s = &g->stretches[i];
        free(s->room[1]);
        s->room[1] = NULL;
        s->work = last ? s->before : copy_of(s, s->before, &s->room[1]);
        if (!s->work)
            return false;
    }
    g->n_pairs = 0;
    for (u32 i = 0; i < g->p->n_args; i++) {
        tm_arg *a = &g->args[i];
        *a = g->p->args[i];
        for (u32 j = 0; is_memory(a) && j < g->n_stretches; j++) {
            stretch *s = &g->stretches[j];
            u8 *start = start_of(a);
            if (start < s->from || end_of(a) > s->to)
                continue;
            const vparam *p = written_by(g->k, a);
            if (p)
                g->pairs[g->n_pairs++] = (pair){.first = start, .other = s->work + (start - s->from),
                                                .size = a->before + a->size, .before = a->before, .p = p};
            a->data = s->work + ((u8 *)a->data - s->from);
            break;
        }
    }
    return true;
}

/* ---- Runs --------------------------------------------------------------------------------------------------- */
/* The first pair that differs after one more run, in *pair; NULL when none does. */
static tm_status run_other(again *g, const vgpu_kernel *k, u32 order, bool tolerant, const pair **differs) {
    *differs = NULL;
    if (!bind_copies(g))
        return diag_at(g->ctx, NULL, TM9002, "copies of the buffers");
    tm_launch_params p = *g->p;
    p.args = g->args;
    p.order = order;
    p.counters = NULL;
    TRY(vgpu_run_once(g->ctx, k, &p));
    for (u32 i = 0; i < g->n_pairs && !*differs; i++) {
        g->pairs[i].differs = first_difference(&g->pairs[i], tolerant);
        if (g->pairs[i].differs != SIZE_MAX)
            *differs = &g->pairs[i];
    }
    return 0;
}
static long long element_number(const pair *c) {
    return (long long)c->differs - (long long)(c->before / element_size(c));
}
static const struct { const char *name; u32 order; } orders[] = {
    {"one after the other", TM_ORDER_FORWARD}, {"in reverse order", TM_ORDER_REVERSE},
    {"round robin", TM_ORDER_ROUND_ROBIN}, {"in an order made from a seed", TM_ORDER_SEEDED}};
static bool is_other(const tm_launch_params *p, u32 order) {
    return order != p->order && (order != TM_ORDER_SEEDED || p->seed);
}
static tm_status run_orders(again *g) {
    const pair *d;
    for (u32 o = 0; o < COUNT_OF(orders); o++) {
        if (!is_other(g->p, orders[o].order))
            continue;
        TRY(run_other(g, g->k->plain, orders[o].order, g->k->n_atomics != 0, &d));
        if (d && !vgpu_muted(g->k, 3501))
            return diag_at(g->ctx, NULL, TM3501, g->k->name, d->p->name, element_number(d), orders[o].name);
    }
    return 0;
}
/* Each choice that matters, in the first buffer where it does. */
static tm_status run_twins(again *g) {
    tm_status status = 0;
    const pair *d;
    for (u32 t = 0; t < g->k->n_twins; t++) {
        const vgpu_choice *choice = g->k->twins[t].choice;
        TRY(run_other(g, g->k->twins[t].k, g->p->order, true, &d));
        if (d && !vgpu_muted(g->k, 3502))
            status = diag_at(g->ctx, NULL, TM3502, g->k->name, d->p->name, element_number(d),
                             vgpu_options[choice->option].name, choice->name);
    }
    return status;
}
/* Races and memory that nobody wrote are looked for, and there are no atomics: then a launch in which nothing is
 * found gives the same in every order. */
static bool orders_matter(const vgpu_kernel *k, const tm_launch_params *p) {
    const vgpu_checks *on = &k->checks;
    bool seen = on->races && on->uninit && !on->muted && !k->n_atomics;
    return on->schedules && !(seen && (u64)p->grid[0] * p->grid[1] * p->grid[2] <= LAST_GROUP);
}
tm_status vgpu_run_again(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p) {
    again g = {.ctx = ctx, .k = k, .p = p, .runs_left = k->n_twins};
    bool try_orders = orders_matter(k, p);
    for (u32 o = 0; o < COUNT_OF(orders) && try_orders; o++)
        g.runs_left += is_other(p, orders[o].order);
    if (!g.runs_left)
        return vgpu_run_once(ctx, k, p);
    tm_status status = again_begin(&g) ? vgpu_run_once(ctx, k, p) : diag_at(ctx, NULL, TM9002, "copies of the buffers");
    if (status == 0 && try_orders)
        status = run_orders(&g);
    if (status == 0)
        status = run_twins(&g);
    again_end(&g);
    return status;
}
