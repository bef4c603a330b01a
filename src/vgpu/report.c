/* SPDX-License-Identifier: MIT */
/* What went wrong, for people: the argument's name, the place in it, who did it. */
#include "vgpu/code.h"

static const char *access_name(const vgpu_kernel *k, const vfault *f) {
    const vsite *s = &k->site[k->sites[f->pc]];
    if (s->what && strncmp(s->what, "air.", 4) == 0)
        return s->what;
    return f->store ? "store" : "load";
}
static const vparam *param_of(const vgpu_kernel *k, u64 seg) {
    for (u32 i = 0; i < k->n_params; i++)
        if (k->params[i].kind == VPARAM_BUFFER && k->params[i].seg == seg)
            return &k->params[i];
    return NULL;
}
bool vgpu_fault_muted(const vgpu_kernel *k, const vfault *f) {
    static const u16 codes[] = {[VFAULT_NULL] = 3102, [VFAULT_UNBOUND] = 3103, [VFAULT_READ_ONLY] = 3104};
    return vgpu_muted(k, f->kind != VFAULT_BOUNDS ? codes[f->kind] : param_of(k, f->address >> 48) ? 3101 : 3105);
}
static tm_status report_bounds(tm_ctx *ctx, const vgpu_kernel *k, const vseg *segs, const vfault *f,
                               const src_loc *loc) {
    u64 seg = f->address >> 48;
    long long offset = (long long)((f->address & 0xFFFFFFFFFFFFull) - VGPU_BIAS);
    const vparam *p = param_of(k, seg);
    const char *what = access_name(k, f), *name = p ? p->name : "?";
    switch (f->kind) {
    case VFAULT_NULL:
        return diag_at(ctx, loc, TM3102, k->name, what, (unsigned long long)f->address);
    case VFAULT_UNBOUND: return diag_at(ctx, loc, TM3103, k->name, what, name);
    case VFAULT_READ_ONLY:
        return diag_at(ctx, loc, TM3104, k->name, f->size, p ? name : "constant memory", offset);
    default: break;
    }
    if (!p) {
        const char *memory = seg == SEG_THREADGROUP ? "threadgroup" : seg == SEG_THREAD ? "thread" : "constant";
        long long size = seg == SEG_THREAD ? k->thread_bytes : (long long)segs[seg].size;
        return diag_at(ctx, loc, TM3105, k->name, what, f->size, memory, offset, size);
    }
    long long before = (long long)(VGPU_BIAS - segs[seg].lo);
    return diag_at(ctx, loc, TM3101, k->name, what, f->size, name, offset, -before,
                   (long long)segs[seg].size - before - 1);
}
static void note_lanes(text *t, u32 lanes) {
    bool first = true;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(lanes >> l & 1))
            continue;
        u32 end = l;
        while (end + 1 < VGPU_LANES && lanes >> (end + 1) & 1)
            end++;
        text_printf(t, end > l ? "%s%u-%u" : "%s%u", first ? "" : ",", l, end);
        first = false;
        l = end;
    }
}
tm_status vgpu_report(tm_ctx *ctx, const vgpu_kernel *k, const vseg *segs, const vfault *f,
                      const u32 group[3]) {
    const src_loc *loc = f->pc < k->n_code ? vgpu_loc(k, k->sites[f->pc]) : NULL;
    u32 before = ctx->errors;
    for (u32 pc = f->pc; !loc && pc-- > 0 && (f->kind == VFAULT_STUCK || f->kind == VFAULT_STEPS);)
        loc = vgpu_loc(k, k->sites[pc]); /* a loop's branch is no operation of the source */
    switch ((enum vfault_kind)f->kind) {
    case VFAULT_STEPS: diag_at(ctx, loc, TM3401, k->name, (unsigned long long)f->address); break;
    case VFAULT_BARRIER_DIVERGENT: diag_at(ctx, loc, TM3201, k->name); break;
    case VFAULT_BARRIER_MISMATCH: diag_at(ctx, loc, TM3202, k->name); break;
    case VFAULT_MATRIX_DIVERGENT: diag_at(ctx, loc, TM3203, k->name); break;
    case VFAULT_UNREACHABLE: diag_at(ctx, loc, TM3402, k->name); break;
    case VFAULT_DEPTH: diag_at(ctx, loc, TM3408, k->name, VGPU_RECURSION); break;
    case VFAULT_STUCK: diag_at(ctx, loc, TM3407, k->name); break;
    default: report_bounds(ctx, k, segs, f, loc);
    }
    if (ctx->errors == before)
        return -1;
    text t = {0};
    note_lanes(&t, f->lanes);
    diag_note(ctx, "threadgroup (%u, %u, %u), simdgroup %u, lanes %s", group[0], group[1], group[2],
              f->simdgroup, t.at ? t.at : "none");
    text_free(&t);
    return -1;
}
