/* SPDX-License-Identifier: MIT */
/* Atomics, lane after lane. On device memory they are real ones, compare-and-swap loops where the host
 * has no instruction; on threadgroup memory, which one host thread runs, plain reads and writes. */
#pragma once
#include "vgpu/exec/mem.h"

INLINE u64 atom_new(int op, u64 old, u64 v, bool wide) {
    u32 a = (u32)old, b = (u32)v;
    switch ((enum vatom)op) {
    case VATOM_LOAD: return old;
    case VATOM_STORE: case VATOM_XCHG: case VATOM_CAS: return v;
    case VATOM_ADD: return old + v;
    case VATOM_SUB: return old - v;
    case VATOM_AND: return old & v;
    case VATOM_OR: return old | v;
    case VATOM_XOR: return old ^ v;
    case VATOM_UMIN: return wide ? MIN(old, v) : MIN(a, b);
    case VATOM_UMAX: return wide ? MAX(old, v) : MAX(a, b);
    case VATOM_SMIN: return wide ? ((i64)old < (i64)v ? old : v) : ((i32)a < (i32)b ? a : b);
    case VATOM_SMAX: return wide ? ((i64)old > (i64)v ? old : v) : ((i32)a > (i32)b ? a : b);
    case VATOM_FADD: return as_u(as_f(a) + as_f(b));
    case VATOM_FSUB: return as_u(as_f(a) - as_f(b));
    case VATOM_FMIN: return as_f(b) == as_f(b) && !(as_f(a) < as_f(b)) ? b : a;
    case VATOM_FMAX: return as_f(b) == as_f(b) && !(as_f(a) > as_f(b)) ? b : a;
    }
    return old;
}
INLINE u64 atom_one(u8 *p, int op, u64 v, u64 expected, bool wide, bool shared) {
    if (wide) {
        u64 old = __atomic_load_n((u64 *)p, __ATOMIC_RELAXED);
        for (;;) {
            if (op == VATOM_LOAD || (op == VATOM_CAS && old != expected))
                return old;
            u64 now = atom_new(op, old, v, true);
            if (__atomic_compare_exchange_n((u64 *)p, &old, now, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
                return old;
        }
    }
    u32 old = __atomic_load_n((u32 *)p, __ATOMIC_RELAXED);
    for (;;) {
        if (op == VATOM_LOAD || (op == VATOM_CAS && old != (u32)expected))
            return old;
        u32 now = (u32)atom_new(op, old, v, false);
        if (!shared) {
            memcpy(p, &now, 4);
            return old;
        }
        if (__atomic_compare_exchange_n((u32 *)p, &old, now, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return old;
    }
}
/* Lanes whose atomic is fine. Atomics on 8 and 16 bits work on the aligned word around the value: of a word at a
 * buffer's edge the bytes inside take part, and those outside read as 0. */
static __attribute__((noinline, cold)) u32 atomic_lanes(const vctx *c, const u64 *addr, u32 mask, u32 ok,
                                                        u32 size, bool store) {
    for (u32 l = 0; l < VGPU_LANES && size == 4; l++) {
        u64 a = addr[l], end = a + 3;
        if (!((mask & ~ok) >> l & 1))
            continue;
        const vseg *s = seg_of(c, a, a, 1, store);
        s = s ? s : seg_of(c, end, end, 1, store);
        if (s && !((uintptr_t)seg_host(s, a & LOW48) & 3))
            ok |= 1u << l;
    }
    return ok;
}
/* What the host has no atomic for, words at an edge and misaligned ones: byte by byte, under the launch's lock. */
static __attribute__((noinline, cold)) u64 atom_bytes(const vctx *c, u64 address, u32 size, int op, u64 v,
                                                      u64 expected, bool store) {
    u8 *at[8], bytes[8] = {0};
    u64 old, now;
    for (u32 i = 0; i < size; i++) {
        const vseg *s = seg_of(c, address + i, address + i, 1, store);
        at[i] = s ? seg_host(s, (address + i) & LOW48) : NULL;
    }
    while (__atomic_exchange_n(c->atomic_lock, 1, __ATOMIC_ACQUIRE))
        ;
    for (u32 i = 0; i < size; i++)
        bytes[i] = at[i] ? *at[i] : 0;
    memcpy(&old, bytes, 8);
    now = op == VATOM_CAS && old != (size == 8 ? expected : (u32)expected) ? old : atom_new(op, old, v, size == 8);
    memcpy(bytes, &now, 8);
    for (u32 i = 0; i < size && store; i++)
        if (at[i])
            *at[i] = bytes[i];
    __atomic_store_n(c->atomic_lock, 0, __ATOMIC_RELEASE);
    return old;
}
/* Lane after lane. Atomics on device memory are real ones; on threadgroup memory one host thread
 * runs the whole threadgroup. */
static bool atomics(vctx *c, const vins *ip, u32 mask, bool wide) {
    const u64 *addr = (const u64 *)WIDE_OF(c, ip->a);
    u8 *v = WIDE_OF(c, ip->b), *e = WIDE_OF(c, ip->c), *d = WIDE_OF(c, ip->d);
    u32 size = wide ? 8 : 4;
    bool store = ip->x != VATOM_LOAD;
    u32 whole = lanes_ok(c, addr, mask, size, store), ok = whole;
    if (whole != mask)
        ok = atomic_lanes(c, addr, mask, whole, size, store);
    if (ok != mask && !access_fault(c, addr, mask & ~ok, size, store))
        return false;
    for (u32 l = 0; l < VGPU_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        u64 old = 0;
        if (ok >> l & 1) {
            u64 n = addr[l] >> 48;
            u8 *p = whole >> l & 1 ? seg_host(&c->segs[n], addr[l] & LOW48) : NULL;
            u64 x = wide ? ((u64 *)v)[l] : ((u32 *)v)[l];
            u64 y = wide ? ((u64 *)e)[l] : ((u32 *)e)[l];
            if (!p || (uintptr_t)p & (size - 1))
                old = atom_bytes(c, addr[l], size, ip->x, x, y, store);
            else
                old = atom_one(p, ip->x, x, y, wide, n != SEG_THREADGROUP);
        }
        if (wide)
            ((u64 *)d)[l] = old;
        else
            ((u32 *)d)[l] = (u32)old;
    }
    return true;
}
