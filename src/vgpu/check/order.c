/* SPDX-License-Identifier: MIT */
/* The order in which threadgroups start and simdgroups take turns, and the checks that no result depends on it,
 * or on what Apple leaves open: the launch runs again, from copies of what its buffers held, in reverse, with a
 * seed also in the order made from it, or as decoded for other numerics; the buffers keep what the first run
 * left. Between numerics, and where the kernel has atomics, floats may differ: by 1/1000 of the value or of a
 * hundredth of the buffer's largest; f16 and bf16, which round when they are stored, by 1/250 and 1/30 of the
 * largest. */
#include "vgpu/check/check.h"
#include <math.h>
#include <stdlib.h>

static u64 gcd(u64 a, u64 b) {
    while (b) {
        u64 r = a % b;
        a = b;
        b = r;
    }
    return a;
}
static u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}
/* The i-th of n to run. Seeded: a step coprime to n walks through all. */
u64 vgpu_order(u32 order, u64 seed, u64 i, u64 n) {
    if (order == TM_ORDER_REVERSE)
        return n - 1 - i;
    if (order != TM_ORDER_SEEDED || n < 2)
        return i;
    u64 step = mix(seed + 1) % n;
    while (gcd(step, n) != 1)
        step = step + 1 < n ? step + 1 : 1;
    return (u64)(((unsigned __int128)step * i + mix(seed + 2)) % n);
}

typedef struct copy {
    u8 *host, *before, *after;
    size_t size, before_bytes;
    const vparam *p;
    size_t differs; /* the first element that does, or SIZE_MAX */
} copy;
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
static size_t element_size(const copy *c) { return MAX(c->p->elem_size, 1u); }
static float largest(const copy *c, enum float_kind kind) {
    float top = 0;
    for (size_t i = 0, step = kind == F32 ? 4 : 2; i + step <= c->size; i += step) {
        float a = fabsf(float_at(c->after + i, kind));
        top = a > top && isfinite(a) ? a : top;
    }
    return top;
}
/* The first element that differs, or SIZE_MAX. */
static size_t first_difference(const copy *c, bool tolerant) {
    if (memcmp(c->host, c->after, c->size) == 0)
        return SIZE_MAX;
    enum float_kind kind = floats_of(c->p);
    size_t step = kind == NO_FLOAT ? element_size(c) : kind == F32 ? 4 : 2;
    float share = kind == F32 ? 1e-3f : kind == F16 ? 4e-3f : 3e-2f;
    float floor = kind == NO_FLOAT || !tolerant ? 0 : largest(c, kind) * (kind == F32 ? 0.01f : 1);
    for (size_t i = 0; i + step <= c->size; i += step) {
        if (memcmp(c->host + i, c->after + i, step) == 0)
            continue;
        if (kind == NO_FLOAT)
            return i / element_size(c);
        float a = float_at(c->host + i, kind), b = float_at(c->after + i, kind);
        if ((a != a && b != b) || a == b)
            continue;
        if (!tolerant || !(fabsf(a - b) <= share * fmaxf(fmaxf(fabsf(a), fabsf(b)), floor)))
            return i / element_size(c);
    }
    return SIZE_MAX;
}
static void copies_free(copy *c, u32 n) {
    for (u32 i = 0; i < n; i++) {
        free(c[i].before);
        free(c[i].after);
    }
    free(c);
}
static copy *copies_make(const vgpu_kernel *k, const tm_launch_params *p, u32 *n) {
    copy *c = calloc(k->n_params + 1, sizeof *c);
    for (u32 i = 0; c && i < k->n_params; i++)
        for (u32 a = 0; a < p->n_args; a++) {
            const vparam *v = &k->params[i];
            const tm_arg *arg = &p->args[a];
            if (v->kind != VPARAM_BUFFER || !v->writes || arg->kind != TM_ARG_BUFFER ||
                arg->index != v->location || !arg->data)
                continue;
            copy *x = &c[(*n)++];
            *x = (copy){(u8 *)arg->data - arg->before, malloc(arg->size + arg->before + 1),
                        malloc(arg->size + arg->before + 1), arg->size + arg->before, arg->before, v};
            if (!x->before || !x->after) {
                copies_free(c, *n);
                return NULL;
            }
            memcpy(x->before, x->host, x->size);
            break;
        }
    return c;
}
/* One more run, which must leave what the first one left. */
static tm_status run_other(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p, copy *c, u32 n, bool tolerant) {
    for (u32 i = 0; i < n; i++)
        memcpy(c[i].host, c[i].before, c[i].size);
    TRY(vgpu_run_once(ctx, k, p, true));
    for (u32 i = 0; i < n; i++)
        c[i].differs = first_difference(&c[i], tolerant);
    return 0;
}
static long long element_number(const copy *c) {
    return (long long)c->differs - (long long)(c->before_bytes / element_size(c));
}
static tm_status run_orders(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p, copy *c, u32 n) {
    static const struct { const char *name; u32 order; } others[] = {
        {"in reverse order", TM_ORDER_REVERSE}, {"in an order made from a seed", TM_ORDER_SEEDED}};
    for (u32 o = 0; o < (p->seed ? 2u : 1u); o++) {
        tm_launch_params q = *p;
        q.order = others[o].order;
        q.counters = NULL;
        TRY(run_other(ctx, k, &q, c, n, k->n_atomics != 0));
        for (u32 i = 0; i < n; i++)
            if (c[i].differs != SIZE_MAX && !vgpu_muted(k, 3501))
                return diag_at(ctx, NULL, TM3501, k->name, c[i].p->name, element_number(&c[i]), others[o].name);
    }
    return 0;
}
/* Each choice that matters, in the first buffer where it does. */
static tm_status run_twins(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p, copy *c, u32 n) {
    tm_status status = 0;
    for (u32 t = 0; t < k->n_twins; t++) {
        const vgpu_choice *choice = k->twins[t].choice;
        tm_launch_params q = *p;
        u32 i = 0;
        q.counters = NULL;
        TRY(run_other(ctx, k->twins[t].k, &q, c, n, true));
        while (i < n && c[i].differs == SIZE_MAX)
            i++;
        if (i < n && !vgpu_muted(k, 3502))
            status = diag_at(ctx, NULL, TM3502, k->name, c[i].p->name, element_number(&c[i]),
                             vgpu_options[choice->option].name, choice->name);
    }
    return status;
}
tm_status vgpu_run_again(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p) {
    u32 n = 0;
    copy *c = copies_make(k, p, &n);
    if (!c)
        return diag_at(ctx, NULL, TM9002, "copies of the buffers");
    tm_status status = vgpu_run_once(ctx, k, p, false);
    for (u32 i = 0; i < n; i++)
        memcpy(c[i].after, c[i].host, c[i].size);
    if (status == 0 && k->checks.schedules)
        status = run_orders(ctx, k, p, c, n);
    if (status == 0)
        status = run_twins(ctx, k, p, c, n);
    for (u32 i = 0; i < n; i++)
        memcpy(c[i].host, c[i].after, c[i].size);
    copies_free(c, n);
    return status;
}
