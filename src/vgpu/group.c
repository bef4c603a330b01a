/* SPDX-License-Identifier: MIT */
/* One threadgroup: its values of the grid, and its simdgroups' turns. A simdgroup runs until it ends or waits at a
 * barrier; in a launch with turns (round robin) it also stops before each access of shared memory. One that
 * waits in a loop (check "progress") is taken up again while others move or change memory. */
#include "vgpu/launch.h"

static group_at place_of(const launch *l, u64 number) {
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
    c->done = c->waits = false;
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
/* All simdgroups wait for each other: at the same barrier? Then they go on. */
static vfault *pass_barrier(const launch *l, vworker *w, enum group_state *state) {
    bool all_must_come = l->k->checks.barriers && !vgpu_muted(l->k, 3202);
    u32 n = w->at.n_simd, done = 0;
    vctx *waiting = NULL;
    for (u32 s = 0; s < n; s++) {
        vctx *c = &w->ctx[s];
        done += c->done;
        if (!c->done && waiting && waiting->barrier != c->barrier && all_must_come)
            return fault_at(c, VFAULT_BARRIER_MISMATCH);
        if (!c->done)
            waiting = c;
    }
    if (done && done < n && all_must_come)
        return fault_at(waiting, VFAULT_BARRIER_MISMATCH);
    *state = done == n ? GROUP_DONE : GROUP_MOVES;
    w->turn++;
    for (u32 s = 0; s < n; s++)
        w->ctx[s].waits = w->ctx[s].done;
    if (w->check && done < n)
        vcheck_round(w->check);
    return NULL;
}
static void begin(const launch *l, vworker *w, u64 number) {
    w->at = place_of(l, number);
    w->number = number;
    w->turn = 0;
    if (w->check)
        vcheck_group(w->check, number);
}
void vgroup_start(const launch *l, vworker *w, u64 number) {
    begin(l, w, number);
    for (u32 s = 0; s < w->at.n_simd; s++)
        ctx_start(l, &w->ctx[s], &w->at, s);
}
vfault *vgroup_step(const launch *l, vworker *w, enum group_state *state) {
    bool moved = false, open = false;
    vctx *stuck = NULL;
    u64 changes = l->watch.changes;
    for (u32 i = 0; i < w->at.n_simd; i++) {
        vctx *c = &w->ctx[vgpu_order(l->p->order, l->p->seed + w->turn, i, w->at.n_simd)];
        if (c->waits)
            continue;
        enum vstop stop = l->exec(c);
        if (stop == VSTOP_FAULT)
            return &c->fault;
        if (stop == VSTOP_STUCK) {
            stuck = c;
            continue;
        }
        moved = true;
        if (stop == VSTOP_TURN) {
            open = true;
            continue;
        }
        c->waits = true;
        c->done = stop == VSTOP_DONE;
    }
    if (!open && !stuck)
        return pass_barrier(l, w, state);
    *state = moved || changes != l->watch.changes ? GROUP_MOVES : GROUP_STUCK;
    return NULL;
}
vfault *vgroup_stuck(vworker *w) {
    for (u32 s = 0; s < w->at.n_simd; s++)
        if (!w->ctx[s].waits) {
            w->ctx[s].fault.pc = w->ctx[s].pc;
            return fault_at(&w->ctx[s], VFAULT_STUCK);
        }
    return NULL;
}
vfault *vgroup_run(const launch *l, vworker *w, u64 number) {
    if (l->n_ctx > 1 || l->k->checks.progress) {
        enum group_state state = GROUP_MOVES;
        vfault *f = NULL;
        vgroup_start(l, w, number);
        while (!f && state == GROUP_MOVES)
            f = vgroup_step(l, w, &state);
        return !f && state == GROUP_STUCK ? vgroup_stuck(w) : f;
    }
    begin(l, w, number);
    for (u32 s = 0; s < w->at.n_simd; s++) { /* nothing makes them wait: one set of registers */
        vctx *c = &w->ctx[0];
        ctx_start(l, c, &w->at, (u32)vgpu_order(l->p->order, l->p->seed, s, w->at.n_simd));
        enum vstop stop;
        while ((stop = l->exec(c)) == VSTOP_BARRIER)
            ;
        if (stop == VSTOP_FAULT)
            return &c->fault;
    }
    return NULL;
}
