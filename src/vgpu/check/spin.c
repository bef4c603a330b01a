/* SPDX-License-Identifier: MIT */
/* Loops that cannot end. After some thousand rounds a simdgroup's whole state (registers, thread memory,
 * lanes) is kept at the head of a loop, at rounds that are powers of two; when it is the same again and
 * nothing was changed in memory since, the simdgroup waits for others. It then stands back; when all
 * others of its threadgroup wait too or have ended, nobody is left who could change what it waits for:
 * threadgroups that have not started need not start before it ends. */
#include "vgpu/check/check.h"
#include <stdlib.h>

enum { SPIN_AFTER = 2048 };

struct vsnap {
    u64 next, changes;
    u32 pc, mask, depth;
    size_t wide, scalar, thread;
    vwait stack[VGPU_STACK];
    u8 at[];
};
static bool same_state(const vctx *c, const struct vsnap *s, u32 pc) {
    const u8 *p = s->at;
    return s->pc == pc && s->mask == c->mask && s->depth == c->depth &&
           memcmp(s->stack, c->stack, c->depth * sizeof *s->stack) == 0 && memcmp(p, c->scalar, s->scalar) == 0 &&
           memcmp(p + s->scalar, c->wide, s->wide) == 0 &&
           memcmp(p + s->scalar + s->wide, c->thread, s->thread) == 0;
}
static void keep_state(const vctx *c, struct vsnap *s, u32 pc) {
    s->pc = pc;
    s->mask = c->mask;
    s->depth = c->depth;
    memcpy(s->stack, c->stack, c->depth * sizeof *s->stack);
    memcpy(s->at, c->scalar, s->scalar);
    memcpy(s->at + s->scalar, c->wide, s->wide);
    memcpy(s->at + s->scalar + s->wide, c->thread, s->thread);
}
/* The state of c is saved but for its place, which is ip. True when only others can help. */
bool vcheck_loop(vctx *c, const vins *ip) {
    vcheck *v = c->check;
    u32 pc = (u32)(ip - c->k->code);
    if (++c->rounds < SPIN_AFTER || vgpu_muted(c->k, 3407))
        return false;
    if (!c->snap) {
        size_t wide = (size_t)c->k->n_wide * VGPU_SLOT, scalar = c->k->n_scalar * sizeof(u64);
        size_t thread = (size_t)c->k->thread_bytes * VGPU_LANES;
        c->snap = calloc(1, sizeof *c->snap + wide + scalar + thread);
        if (!c->snap)
            return false;
        *c->snap = (struct vsnap){.wide = wide, .scalar = scalar, .thread = thread, .pc = ~0u};
    }
    if (c->rounds == SPIN_AFTER)
        c->snap->pc = ~0u, c->snap->next = SPIN_AFTER;
    v->watch->on = true;
    bool same = c->snap->changes == v->watch->changes;
    if (same && same_state(c, c->snap, pc))
        return true;
    if (c->rounds >= c->snap->next || !same) {
        keep_state(c, c->snap, pc);
        c->snap->next = c->rounds * 2;
        c->snap->changes = v->watch->changes;
    }
    return false;
}
static bool atomic_changes(const vctx *c, const vins *g, u64 old, u32 lane) {
    const u8 *b = c->wide + (size_t)g->b * VGPU_SLOT, *e = c->wide + (size_t)g->c * VGPU_SLOT;
    bool wide = g->op == VOP_atom_d;
    u64 x = wide ? ((const u64 *)b)[lane] : ((const u32 *)b)[lane];
    u64 y = wide ? ((const u64 *)e)[lane] : ((const u32 *)e)[lane];
    switch ((enum vatom)g->x) {
    case VATOM_LOAD: return false;
    case VATOM_STORE: case VATOM_XCHG: return x != old;
    case VATOM_CAS: return old == y && x != old;
    case VATOM_ADD: case VATOM_SUB: case VATOM_XOR: return x != 0;
    case VATOM_OR: return (old | x) != old;
    case VATOM_AND: return (old & x) != old;
    default: return true;
    }
}
static bool changes(const vcheck *v, const vctx *c, const vins *g, u64 address, u32 lane, u32 e, bool atomic) {
    static const u8 bytes[VMEM_COUNT] = {1, 2, 2, 2, 4, 8};
    u32 size = !atomic ? bytes[(g->op - VOP_ld_b_s) / 10] : g->op == VOP_atom_d ? 8 : 4;
    const vseg *s = &v->segs[address >> 48];
    u64 at = VCHECK_OFFSET(address) + (u64)e * size - s->lo, old = 0;
    if (at > s->size || s->size - at < size)
        return false; /* dropped, or the launch ends here */
    memcpy(&old, vcheck_host(v, address) + (size_t)e * size, size);
    return atomic ? atomic_changes(c, g, old, lane) : old != vcheck_value(c, g, e, lane);
}
/* A store or atomic while somebody may be spinning: does memory change? */
void spin_note(vcheck *v, vctx *c, const vins *g, const u64 *address, u32 mask) {
    bool atomic = g->op == VOP_atom_w || g->op == VOP_atom_d, found = false;
    u32 n = !atomic && g->c > 1 ? g->c : 1;
    for (; mask && !found; mask &= mask - 1) {
        u32 l = (u32)__builtin_ctz(mask);
        for (u32 e = 0; e < n && !found && address[l] >> 48 < c->k->n_segs; e++)
            found = changes(v, c, g, address[l], l, e, atomic);
    }
    v->watch->changes += found;
}
