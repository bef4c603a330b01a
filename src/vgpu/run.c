/* SPDX-License-Identifier: MIT */
/* Launches. A worker owns registers, thread and threadgroup memory and runs one threadgroup at a time;
 * workers are kept with the kernel, so a launch allocates nothing once it is warm. Threadgroups start
 * in order from one counter. The calling thread works alone at first: helper threads are only started
 * for launches that turn out to be long. The error reported is that of the lowest threadgroup: all
 * before it have started, and finish.
 * A simdgroup runs until it ends or waits at a barrier; kernels without barriers, and threadgroups of
 * one simdgroup, need one set of registers only. */
#include "vgpu/launch.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

u64 vexec_flush(bool on);
void vexec_restore(u64 old);

enum { HELPERS_AFTER_NS = 150000, MAX_THREADS = 64, DEFAULT_STEPS = 1000000000, TOGETHER = 4, MOST_TG_BYTES = 1 << 26 };

struct vpool {
    pthread_mutex_t lock;
    vworker *idle;
};
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
static vworker *worker_get(launch *l) {
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
    if (w->check)
        w->check->watch = &l->watch;
    for (u32 i = 0; i < w->n_ctx; i++) {
        w->ctx[i].segs = w->segs;
        w->ctx[i].check = w->check;
        w->ctx[i].turns = l->turns;
        w->ctx[i].tally = NULL;
        w->ctx[i].atomic_lock = &l->atomic_lock;
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

/* ---- Many --------------------------------------------------------------------------------------------- */
static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}
static void keep_fault(launch *l, const vworker *w, const vfault *f, u64 g) {
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
/* Some threadgroups at the same time, on one host thread: each in turn gives its simdgroups a turn. */
static void work_in_turns(launch *l) {
    vworker *w[TOGETHER];
    bool busy[TOGETHER] = {0};
    u32 n = 0, running;
    while (n < MIN(l->total, TOGETHER) && (w[n] = worker_get(l)))
        n++;
    l->out_of_memory = n < MIN(l->total, TOGETHER);
    u64 flags = vexec_flush(l->k->numerics.denormals == VGPU_denormals_flush);
    do {
        u64 changes = l->watch.changes;
        vworker *last = NULL;
        vfault *f = NULL;
        bool moved = false;
        running = 0;
        for (u32 i = 0; i < n && !f; i++) {
            enum group_state state = GROUP_DONE;
            if (!busy[i] && l->next == l->total)
                continue;
            if (!busy[i])
                vgroup_start(l, w[i], l->next++);
            last = w[i];
            f = vgroup_step(l, last, &state);
            busy[i] = state != GROUP_DONE;
            moved |= state != GROUP_STUCK;
            running++;
        }
        if (!f && running && !moved && changes == l->watch.changes)
            f = vgroup_stuck(last);
        if (f)
            keep_fault(l, last, f, last->number);
    } while (running && l->fault_group == l->total && !l->out_of_memory);
    vexec_restore(flags);
    while (n)
        worker_put(l, w[--n]);
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
        w->ctx[i].tally = tally;
    u64 flags = vexec_flush(l->k->numerics.denormals == VGPU_denormals_flush);
    for (;;) {
        u64 g = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        if (g >= l->total || g > __atomic_load_n(&l->fault_group, __ATOMIC_RELAXED))
            break;
        u64 weight = tally ? tally->weight : 0, lines = tally ? tally->lines : 0;
        u64 number = vgpu_order(l->p->order, l->p->seed, g, l->total);
        vfault *f = vgroup_run(l, w, number);
        if (tally) {
            tally->simdgroups += w->at.n_simd;
            count_group_end(l->counters, tally, number, weight, lines);
        }
        if (f)
            keep_fault(l, w, f, g);
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
    if (p->order > TM_ORDER_ROUND_ROBIN)
        return "there is no such order";
    if (p->order == TM_ORDER_ROUND_ROBIN && !k->checks.schedules && !k->checks.turns)
        return "simdgroups take turns in kernels with the check \"schedules\" only";
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
    l.turns = p->order == TM_ORDER_ROUND_ROBIN;
    l.n_ctx = k->n_barriers || k->checks.progress || l.turns ? l.n_simd : 1;
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
    if (l.turns && !k->count && !vgpu_checks_look(&k->checks))
        work_in_turns(&l);
    else
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
