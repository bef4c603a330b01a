/* SPDX-License-Identifier: MIT */
/* Launches. A worker owns registers, thread and threadgroup memory and runs one threadgroup at a time;
 * workers are kept with the kernel, so a launch allocates nothing once it is warm. Threadgroups start
 * in order from one counter. The calling thread works alone at first: helper threads are only started
 * for launches that turn out to be long. The error reported is that of the lowest threadgroup: all
 * before it have started, and finish.
 * A simdgroup runs until it ends or waits at a barrier; kernels without barriers, and threadgroups of
 * one simdgroup, need one set of registers only. */
#include "vgpu/count/count.h"
#include "vgpu/check/check.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

u64 vexec_flush(bool on);
void vexec_restore(u64 old);

enum { HELPERS_AFTER_NS = 150000, MAX_THREADS = 64, DEFAULT_STEPS = 1000000000, MOST_TG_BYTES = 1 << 26 };

typedef struct vworker {
    struct vworker *next;
    vseg *segs;
    vctx *ctx;
    u32 n_ctx;
    u8 *tg;
    size_t tg_room;
    vcheck *check;        /* NULL without checks that need guards */
} vworker;
struct vpool {
    pthread_mutex_t lock;
    vworker *idle;
};
typedef struct launch {
    tm_ctx *ctx;
    bool guards;          /* checks by guards */
    tm_status found;
    const vgpu_kernel *k;
    const tm_launch_params *p;
    vexec_fn exec;
    u64 total, max_steps, *buffers;  /* per parameter: pointer, for BUFFER and THREADGROUP */
    const vseg *segs;
    u64 tg_bytes;
    u32 n_simd, n_ctx, threads;
    u64 next;             /* atomic */
    u64 fault_group;      /* atomic; total when none */
    pthread_mutex_t lock;
    vfault fault;
    bool out_of_memory;
    tm_counters *counters; /* NULL: not asked for */
    count_foot *foot;
    u32 atomic_lock;      /* see vctx */
} launch;

/* ---- Workers ------------------------------------------------------------------------------------------ */
static void *aligned(size_t n) {
    void *p = NULL;
    return posix_memalign(&p, 64, n ? (n + 63) / 64 * 64 : 64) == 0 ? p : NULL;
}
static void ctx_release(vctx *c) {
    free(c->wide);
    free(c->scalar);
    free(c->thread);
    free(c->snap);
}
static void worker_free(vworker *w) {
    for (u32 i = 0; i < w->n_ctx; i++)
        ctx_release(&w->ctx[i]);
    free(w->ctx);
    vcheck_free(w->check);
    free(w->segs);
    free(w->tg);
    free(w);
}
static bool worker_grow(const vgpu_kernel *k, vworker *w, u32 n_ctx, size_t tg_bytes) {
    if (tg_bytes > w->tg_room || !w->tg) {
        free(w->tg);
        w->tg_room = tg_bytes;
        w->tg = aligned(tg_bytes);
        if (!w->tg)
            return false;
        for (size_t i = 0; i < tg_bytes / 4; i++) /* a NaN in f32, f16 and bf16 */
            ((u32 *)w->tg)[i] = 0xFFFA5A5A;
    }
    if (n_ctx <= w->n_ctx)
        return true;
    vctx *now = realloc(w->ctx, n_ctx * sizeof *now);
    if (!now)
        return false;
    w->ctx = now;
    while (w->n_ctx < n_ctx) {
        vctx *c = &w->ctx[w->n_ctx];
        size_t wide = (size_t)k->n_wide * VGPU_SLOT, thread = (size_t)k->thread_bytes * VGPU_LANES;
        memset(c, 0, sizeof *c);
        c->k = k;
        c->wide = aligned(wide);
        c->scalar = aligned(k->n_scalar * sizeof(u64));
        c->thread = aligned(thread);
        w->n_ctx++;
        if (!c->wide || !c->scalar || !c->thread)
            return false;
        memset(c->wide, 0, wide);
        memset(c->thread, 0, thread);
        memset(c->scalar, 0, k->n_scalar * sizeof(u64));
        memcpy(c->scalar, k->scalar_consts, k->n_scalar_consts * sizeof(u64));
    }
    return true;
}
static vworker *worker_get(const launch *l) {
    struct vpool *pool = l->k->pool;
    pthread_mutex_lock(&pool->lock);
    vworker *w = pool->idle;
    if (w)
        pool->idle = w->next;
    pthread_mutex_unlock(&pool->lock);
    if (!w) {
        w = calloc(1, sizeof *w);
        if (w)
            w->segs = calloc(l->k->n_segs, sizeof(vseg));
    }
    if (!w || !w->segs || !worker_grow(l->k, w, l->n_ctx, l->tg_bytes)) {
        if (w)
            worker_free(w);
        return NULL;
    }
    memcpy(w->segs, l->segs, l->k->n_segs * sizeof(vseg));
    w->segs[SEG_THREADGROUP].host = (u8 *)((uintptr_t)w->tg - (uintptr_t)VGPU_BIAS);
    if (l->guards && !w->check)
        w->check = vcheck_new(l->k);
    if (l->guards && (!w->check || !vcheck_begin(w->check, w->segs, l->p, l->total))) {
        worker_free(w);
        return NULL;
    }
    for (u32 i = 0; i < w->n_ctx; i++) {
        w->ctx[i].segs = w->segs;
        w->ctx[i].check = w->check;
    }
    return w;
}
static void worker_put(const launch *l, vworker *w) {
    struct vpool *pool = l->k->pool;
    pthread_mutex_lock(&pool->lock);
    w->next = pool->idle;
    pool->idle = w;
    pthread_mutex_unlock(&pool->lock);
}
bool vpool_new(vgpu_kernel *k) {
    k->pool = calloc(1, sizeof *k->pool);
    return k->pool && pthread_mutex_init(&k->pool->lock, NULL) == 0;
}
void vpool_free(vgpu_kernel *k) {
    if (!k->pool)
        return;
    for (vworker *w = k->pool->idle, *next; w; w = next) {
        next = w->next;
        worker_free(w);
    }
    pthread_mutex_destroy(&k->pool->lock);
    free(k->pool);
}

/* ---- One threadgroup ----------------------------------------------------------------------------------- */
/* A threadgroup's place in the grid and its own size: less than the launch's at a ragged edge. */
typedef struct group_at {
    u32 pos[3], size[3], threads, n_simd;
} group_at;
static group_at group_of(const launch *l, u64 number) {
    const tm_launch_params *p = l->p;
    u32 gx = p->grid[0], gy = p->grid[1];
    group_at at = {{(u32)(number % gx), (u32)(number / gx % gy), (u32)(number / gx / gy)}, {0}, 1, 0};
    for (u32 i = 0; i < 3; i++) {
        at.size[i] = p->group[i];
        if (p->grid_threads[i])
            at.size[i] = MIN(at.size[i], p->grid_threads[i] - at.pos[i] * p->group[i]);
        at.threads *= at.size[i];
    }
    at.n_simd = (at.threads + VGPU_LANES - 1) / VGPU_LANES;
    return at;
}
static u32 system_value(const launch *l, const vparam *p, const group_at *at, u32 simd) {
    const tm_launch_params *lp = l->p;
    switch ((enum vsystem)p->system) {
    case VSYS_TG_POS: return at->pos[p->axis];
    case VSYS_TG_COUNT: return lp->grid[p->axis];
    case VSYS_TG_SIZE: return at->size[p->axis];
    case VSYS_GRID_SIZE:
        return lp->grid_threads[p->axis] ? lp->grid_threads[p->axis] : lp->grid[p->axis] * lp->group[p->axis];
    case VSYS_SG_INDEX: return simd;
    case VSYS_SG_COUNT: return at->n_simd;
    case VSYS_SG_SIZE: return VGPU_LANES;
    case VSYS_QUAD_COUNT: return (at->threads + 3) / 4;
    default: return 0;
    }
}
static void lane_values(const launch *l, const vparam *p, const group_at *at, u32 simd, u32 *out) {
    const u32 *g = at->size;
    for (u32 lane = 0; lane < VGPU_LANES; lane++) {
        u32 t = simd * VGPU_LANES + lane;
        u32 pos[3] = {t, 0, 0};
        if (at->threads != g[0]) {
            pos[0] = t % g[0];
            pos[1] = t / g[0] % g[1];
            pos[2] = t / g[0] / g[1];
        }
        switch ((enum vsystem)p->system) {
        case VSYS_POS_IN_GRID: out[lane] = at->pos[p->axis] * l->p->group[p->axis] + pos[p->axis]; break;
        case VSYS_POS_IN_TG: out[lane] = pos[p->axis]; break;
        case VSYS_INDEX_IN_TG: out[lane] = t; break;
        case VSYS_LANE: out[lane] = lane; break;
        case VSYS_QUAD_LANE: out[lane] = lane & 3; break;
        case VSYS_QUAD_INDEX: out[lane] = t / 4; break;
        default: out[lane] = 0;
        }
    }
}
static void ctx_start(const launch *l, vctx *c, const group_at *at, u32 simd) {
    const vgpu_kernel *k = l->k;
    u32 left = at->threads - simd * VGPU_LANES;
    c->pc = 0;
    c->mask = c->live = c->all = left >= VGPU_LANES ? ~0u : (1u << left) - 1;
    c->rpc = VGPU_NO_BLOCK;
    c->depth = 0;
    c->rounds = 0;
    c->index = simd;
    c->done = false;
    c->steps = l->max_steps;
    c->fault.kind = VFAULT_NONE;
    for (u32 i = 0; i < k->n_params; i++) {
        const vparam *p = &k->params[i];
        if (p->reg < 0)
            continue;
        if (p->kind == VPARAM_LANES)
            lane_values(l, p, at, simd, (u32 *)(c->wide + (size_t)p->reg * VGPU_SLOT));
        else
            c->scalar[p->reg] = p->kind == VPARAM_SCALAR ? system_value(l, p, at, simd) : l->buffers[i];
    }
}
static vfault *fault_at(vctx *c, u8 kind) {
    c->fault.kind = kind;
    c->fault.lanes = c->mask;
    return &c->fault;
}
/* Every simdgroup up to its next barrier. One that waits in a loop (check "progress") is taken up again while
 * others move or change memory. */
static vfault *run_round(const launch *l, vworker *w, const group_at *at, u64 turn) {
    for (u32 s = 0; s < at->n_simd; s++)
        w->ctx[s].waits = w->ctx[s].done;
    for (;;) {
        bool moved = false;
        vctx *stuck = NULL;
        u64 changes = w->check ? w->check->changes : 0;
        for (u32 i = 0; i < at->n_simd; i++) {
            vctx *c = &w->ctx[vgpu_order(l->p->order, l->p->seed + turn, i, at->n_simd)];
            if (c->waits)
                continue;
            enum vstop stop = l->exec(c);
            if (stop == VSTOP_FAULT)
                return &c->fault;
            if (stop == VSTOP_STUCK) {
                stuck = c;
                continue;
            }
            c->waits = moved = true;
            c->done = stop == VSTOP_DONE;
        }
        if (!stuck)
            return NULL;
        if (!moved && changes == w->check->changes) {
            stuck->fault.pc = stuck->pc;
            return fault_at(stuck, VFAULT_STUCK);
        }
    }
}
/* The rounds between barriers, when several simdgroups may wait for each other. */
static vfault *run_rounds(const launch *l, vworker *w, const group_at *at) {
    for (u32 s = 0; s < at->n_simd; s++)
        ctx_start(l, &w->ctx[s], at, s);
    bool all_must_come = l->k->checks.barriers && !vgpu_muted(l->k, 3202);
    for (u64 turn = 0;; turn++) {
        u32 done = 0;
        vctx *waiting = NULL;
        vfault *f = run_round(l, w, at, turn);
        if (f)
            return f;
        for (u32 s = 0; s < at->n_simd; s++) {
            vctx *c = &w->ctx[s];
            done += c->done;
            if (!c->done && waiting && waiting->barrier != c->barrier && all_must_come)
                return fault_at(c, VFAULT_BARRIER_MISMATCH);
            if (!c->done)
                waiting = c;
        }
        if (done == at->n_simd)
            return NULL;
        if (done && all_must_come)
            return fault_at(waiting, VFAULT_BARRIER_MISMATCH);
        if (w->check)
            vcheck_round(w->check);
    }
}
static vfault *run_group(const launch *l, vworker *w, u64 number) {
    group_at at = group_of(l, number);
    if (w->check)
        vcheck_group(w->check, number);
    if (l->n_ctx > 1 || l->k->checks.progress)
        return run_rounds(l, w, &at);
    for (u32 s = 0; s < at.n_simd; s++) {
        vctx *c = &w->ctx[0];
        ctx_start(l, c, &at, (u32)vgpu_order(l->p->order, l->p->seed, s, at.n_simd));
        enum vstop stop;
        while ((stop = l->exec(c)) == VSTOP_BARRIER)
            ;
        if (stop == VSTOP_FAULT)
            return &c->fault;
    }
    return NULL;
}

/* ---- Many --------------------------------------------------------------------------------------------- */
static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}
static void work(launch *l, bool may_stop, bool *stopped) {
    u64 begin = may_stop ? now_ns() : 0;
    vworker *w = worker_get(l);
    if (!w) {
        __atomic_store_n(&l->out_of_memory, true, __ATOMIC_RELAXED);
        return;
    }
    count_tally *tally = l->k->count ? count_begin(l->k, l->counters, l->foot) : NULL;
    if (l->k->count && !tally) {
        __atomic_store_n(&l->out_of_memory, true, __ATOMIC_RELAXED);
        worker_put(l, w);
        return;
    }
    for (u32 i = 0; i < w->n_ctx; i++)
        w->ctx[i].tally = tally, w->ctx[i].atomic_lock = &l->atomic_lock;
    u64 flags = vexec_flush(l->k->numerics.denormals == VGPU_denormals_flush);
    for (;;) {
        u64 g = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        if (g >= l->total || g > __atomic_load_n(&l->fault_group, __ATOMIC_RELAXED))
            break;
        u64 weight = tally ? tally->weight : 0, lines = tally ? tally->lines : 0;
        u64 number = vgpu_order(l->p->order, l->p->seed, g, l->total);
        vfault *f = run_group(l, w, number);
        if (tally) {
            tally->simdgroups += group_of(l, number).n_simd;
            count_group_end(l->counters, tally, number, weight, lines);
        }
        if (f) {
            pthread_mutex_lock(&l->lock);
            if (g < l->fault_group) {
                __atomic_store_n(&l->fault_group, g, __ATOMIC_RELAXED);
                l->fault = *f;
                for (u32 i = 0; i < w->n_ctx; i++)
                    if (&w->ctx[i].fault == f)
                        l->fault.simdgroup = w->ctx[i].index;
            }
            pthread_mutex_unlock(&l->lock);
        }
        if (may_stop && l->total - g > 2 && now_ns() - begin > HELPERS_AFTER_NS) {
            *stopped = true;
            break;
        }
    }
    vexec_restore(flags);
    if (l->guards)
        l->found = vcheck_end(w->check, l->ctx, l->p);
    worker_put(l, w);
    if (tally) {
        pthread_mutex_lock(&l->lock);
        count_end(l->counters, tally, l->k);
        pthread_mutex_unlock(&l->lock);
    }
}
static void *helper(void *data) {
    bool stopped;
    work(data, false, &stopped);
    return NULL;
}
static void run_all(launch *l) {
    bool stopped = false;
    work(l, l->threads > 1 && l->total > 1, &stopped);
    if (!stopped)
        return;
    pthread_t ids[MAX_THREADS];
    u32 n = 0, want = (u32)MIN(l->threads - 1, l->total - 1);
    for (; n < want && n < MAX_THREADS; n++)
        if (pthread_create(&ids[n], NULL, helper, l) != 0)
            break;
    work(l, false, &stopped);
    for (u32 i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
}

/* ---- Arguments ------------------------------------------------------------------------------------------ */
static const u8 zero_bytes[4096];
static const tm_arg *arg_of(const tm_launch_params *p, const vparam *v) {
    for (u32 i = 0; i < p->n_args; i++) {
        const tm_arg *a = &p->args[i];
        if (a->index == v->location && (a->kind == TM_ARG_THREADGROUP) == (v->kind == VPARAM_THREADGROUP) &&
            a->kind != TM_ARG_UNBOUND)
            return a;
    }
    return NULL;
}
static void bind(launch *l, vseg *segs) {
    const vgpu_kernel *k = l->k;
    segs[SEG_CONST] = (vseg){(u8 *)((uintptr_t)k->const_data - (uintptr_t)VGPU_BIAS), VGPU_BIAS,
                             k->const_size, !k->const_writable, false};
    for (u32 i = 0; i < k->n_params; i++) {
        const vparam *v = &k->params[i];
        if (v->kind != VPARAM_BUFFER && v->kind != VPARAM_THREADGROUP)
            continue;
        const tm_arg *a = arg_of(l->p, v);
        if (v->kind == VPARAM_THREADGROUP) {
            l->buffers[i] = VGPU_PTR(SEG_THREADGROUP, l->tg_bytes);
            l->tg_bytes += a ? align_up(MIN(a->size, 1u << 24), 16) : 0;
            continue;
        }
        vseg *s = &segs[v->seg];
        l->buffers[i] = VGPU_PTR(v->seg, 0);
        if (a) {
            bool bytes = a->kind == TM_ARG_BYTES;
            u64 before = bytes ? 0 : MIN(a->before, VGPU_BIAS / 2);
            *s = (vseg){(u8 *)((uintptr_t)a->data - (uintptr_t)VGPU_BIAS), VGPU_BIAS - before,
                        MIN(a->size, VGPU_BIAS) + before, bytes || !v->writes, a->data == NULL};
            if (!a->data)
                s->size = 0;
        } else if (v->gated) { /* Apple's kernels read these before they know (rules F1) */
            *s = (vseg){(u8 *)((uintptr_t)zero_bytes - (uintptr_t)VGPU_BIAS), VGPU_BIAS,
                        sizeof zero_bytes, true, false};
        } else {
            *s = (vseg){.unbound = true};
        }
    }
    segs[SEG_THREADGROUP] = (vseg){NULL, VGPU_BIAS, l->tg_bytes, false, false};
}
static const char *check_params(const vgpu_kernel *k, const tm_launch_params *p) {
    u64 threads = 1;
    for (u32 i = 0; i < 3; i++) {
        u64 most = (u64)p->grid[i] * p->group[i], exact = p->grid_threads[i];
        if (exact && (exact > most || exact + p->group[i] <= most))
            return "the threadgroups do not cover the threads of the grid";
        if (p->group[i] == 0 || p->group[i] > 1024)
            return "a threadgroup has from 1 to 1024 threads";
        threads *= p->group[i];
    }
    if (threads > 1024)
        return "a threadgroup has from 1 to 1024 threads";
    if (k->max_threads && threads > k->max_threads)
        return "the threadgroup is larger than the kernel was compiled for";
    return NULL;
}
tm_status vgpu_run(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p) {
    return k->plain ? vgpu_run_again(ctx, k, p) : vgpu_run_once(ctx, k, p);
}
tm_status vgpu_run_once(tm_ctx *ctx, const vgpu_kernel *k, const tm_launch_params *p) {
    vseg small_segs[40] = {0};
    u64 small_buffers[64];
    const char *wrong = check_params(k, p);
    if (wrong)
        return diag_at(ctx, NULL, TM5001, k->name, wrong);
    const char *isa;
    launch l = {.ctx = ctx, .k = k, .p = p, .guards = vgpu_checks_guard(&k->checks),
                .exec = vexec_choose(&isa), .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!l.exec)
        return diag_at(ctx, NULL, TM5925, isa);
    l.total = (u64)p->grid[0] * p->grid[1] * p->grid[2];
    if (!l.total)
        return 0;
    vseg *segs = k->n_segs <= 40 ? small_segs : calloc(k->n_segs, sizeof *segs);
    l.buffers = k->n_params <= 64 ? small_buffers : calloc(k->n_params, sizeof(u64));
    tm_status status = 0;
    if (!segs || !l.buffers) {
        status = diag_at(ctx, NULL, TM9002, "launch");
        goto out;
    }
    l.segs = segs;
    l.fault_group = l.total;
    l.max_steps = vgpu_muted(k, 3401) ? UINT64_MAX : p->max_steps ? p->max_steps : DEFAULT_STEPS;
    l.tg_bytes = k->tg_bytes;
    l.n_simd = (p->group[0] * p->group[1] * p->group[2] + VGPU_LANES - 1) / VGPU_LANES;
    l.n_ctx = k->n_barriers || k->checks.progress ? l.n_simd : 1;
    l.threads = p->threads ? p->threads : (u32)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    l.threads = l.guards || p->order ? 1 : MIN(l.threads, MAX_THREADS); /* the same report every time */
    bind(&l, segs);
    if (l.tg_bytes > MOST_TG_BYTES) {
        status = diag_at(ctx, NULL, TM5001, k->name, "the arguments take more than 64 MB of threadgroup memory");
        goto out;
    }
    l.counters = k->count ? p->counters : NULL;
    if (k->count) {
        l.foot = count_foot_new(k, segs);
        if (!l.foot || (l.counters && count_launch(l.counters, p, (u32)l.tg_bytes) != 0)) {
            status = diag_at(ctx, NULL, TM9002, "launch");
            goto out;
        }
    }
    run_all(&l);
    if (l.out_of_memory)
        status = diag_at(ctx, NULL, TM9002, "launch");
    else if (l.fault_group < l.total) {
        u64 g = vgpu_order(p->order, p->seed, l.fault_group, l.total);
        if (l.fault.kind == VFAULT_STEPS)
            l.fault.address = l.max_steps;
        u32 at[3] = {(u32)(g % p->grid[0]), (u32)(g / p->grid[0] % p->grid[1]),
                     (u32)(g / p->grid[0] / p->grid[1])};
        status = vgpu_report(ctx, k, segs, &l.fault, at);
    }
    if (l.found != 0)
        status = -1;
out:
    if (k->count)
        count_foot_end(l.counters, l.foot, k);
    if (segs != small_segs)
        free(segs);
    if (l.buffers != small_buffers)
        free(l.buffers);
    return status;
}
