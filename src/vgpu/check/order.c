/* SPDX-License-Identifier: MIT */
/* The order in which threadgroups start and simdgroups take turns, and the check that no result depends
 * on it: the launch runs again, from copies of what its buffers held, in other orders; the buffers keep
 * what the first run left: in reverse, and with a seed also in the order made from it. Floats may differ where the kernel adds them by atomics: by 1/1000 of the
 * value or of a hundredth of the buffer's largest. */
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

typedef struct copy { u8 *host, *before, *after; size_t size, before_bytes; const vparam *p; } copy;
static float element(const u8 *p, const char *type) {
    u16 h;
    u32 w;
    float f;
    if (strcmp(type, "float") == 0) {
        memcpy(&f, p, 4);
        return f;
    }
    memcpy(&h, p, 2);
    if (strcmp(type, "bfloat") == 0) {
        w = (u32)h << 16;
        memcpy(&f, &w, 4);
        return f;
    }
    int e = h >> 10 & 31, m = h & 1023;
    f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
    return h >> 15 ? -f : f;
}
static bool is_float_type(const char *t, size_t size) { /* both are the metadata's word */
    return t && (strcmp(t, "float") == 0 ? size == 4 : size == 2 && (strcmp(t, "half") == 0 || strcmp(t, "bfloat") == 0));
}
/* The first element that differs, or the number of elements. */
static size_t first_difference(const copy *c, bool tolerant) {
    size_t size = c->p->elem_size ? c->p->elem_size : 1, n = c->size / size;
    if (memcmp(c->host, c->after, c->size) == 0)
        return n;
    bool floats = is_float_type(c->p->type, size);
    float top = 0;
    for (size_t i = 0; i < n && floats && tolerant; i++) {
        float a = fabsf(element(c->after + i * size, c->p->type));
        top = a > top && isfinite(a) ? a : top;
    }
    for (size_t i = 0; i < n; i++) {
        if (memcmp(c->host + i * size, c->after + i * size, size) == 0)
            continue;
        if (!floats)
            return i;
        float a = element(c->host + i * size, c->p->type), b = element(c->after + i * size, c->p->type);
        if ((a != a && b != b) || a == b)
            continue;
        if (!tolerant || !(fabsf(a - b) <= 1e-3f * fmaxf(fmaxf(fabsf(a), fabsf(b)), 0.01f * top)))
            return i;
    }
    return n;
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
static const struct { const char *name; u32 order; } others[] = {
    {"in reverse order", TM_ORDER_REVERSE}, {"in an order made from a seed", TM_ORDER_SEEDED}};

tm_status vgpu_run_orders(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p) {
    u32 n = 0;
    copy *c = copies_make(k, p, &n);
    if (!c)
        return diag_at(ctx, NULL, TM9002, "copies of the buffers");
    tm_status status = vgpu_run_once(ctx, k, p, false);
    for (u32 i = 0; i < n; i++)
        memcpy(c[i].after, c[i].host, c[i].size);
    for (u32 o = 0; o < COUNT_OF(others) && status == 0; o++) {
        tm_launch_params q = *p;
        if (others[o].order == TM_ORDER_SEEDED && !p->seed)
            break;
        q.order = others[o].order;
        for (u32 i = 0; i < n; i++)
            memcpy(c[i].host, c[i].before, c[i].size);
        status = vgpu_run_once(ctx, k, &q, true);
        for (u32 i = 0; i < n; i++) {
            size_t at = first_difference(&c[i], k->n_atomics != 0), size = MAX(c[i].p->elem_size, 1u);
            if (status == 0 && at < c[i].size / size && !vgpu_muted(k, 3501))
                status = diag_at(ctx, NULL, TM3501, k->name, c[i].p->name,
                                 (long long)at - (long long)(c[i].before_bytes / size), others[o].name);
        }
    }
    for (u32 i = 0; i < n; i++)
        memcpy(c[i].host, c[i].after, c[i].size);
    copies_free(c, n);
    return status;
}
