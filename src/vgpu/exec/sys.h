/* SPDX-License-Identifier: MIT */
/* Handlers that see the mask themselves: masks, memory, matrices, control. Included once. */

HB(sel_s) {
    S[ip->d] = (u32)S[ip->a] & mask ? S[ip->b] : S[ip->c];
    NEXT;
}
HB(sel_m) {
    u32 yes = (u32)S[ip->a];
    SETM(((u32)S[ip->b] & yes) | ((u32)S[ip->c] & ~yes));
    NEXT;
}
HB(sel_x) {
    memmove(WIDE(ip->d), (u32)S[ip->a] & mask ? WIDE(ip->b) : WIDE(ip->c), 256);
    NEXT;
}
HB(and_m) { SETM((u32)S[ip->a] & (u32)S[ip->b]); NEXT; }
HB(or_m) { SETM((u32)S[ip->a] | (u32)S[ip->b]); NEXT; }
HB(xor_m) { SETM((u32)S[ip->a] ^ (u32)S[ip->b]); NEXT; }
HB(mov_m) { SETM((u32)S[ip->a]); NEXT; }
HB(mov_s) { S[ip->d] = S[ip->a]; NEXT; }
HB(mov_x) {
    memmove(WIDE(ip->d), WIDE(ip->a), 256);
    NEXT;
}
HB(lane_w) { S[ip->d] = LANE_u32(ip->a, S[ip->b] & 31); NEXT; }
HB(lane_d) { S[ip->d] = LANE_D(ip->a, S[ip->b] & 31); NEXT; }
HB(first_w) { S[ip->d] = LANE_u32(ip->a, FIRST); NEXT; }
HB(first_d) { S[ip->d] = LANE_D(ip->a, FIRST); NEXT; }
HB(red_w) { S[ip->d] = reduce_lanes(&LANE_u32(ip->a, 0), mask, ip->x); NEXT; }
HB(red_d) { S[ip->d] = reduce_lanes_d(&LANE_D(ip->a, 0), mask, ip->x); NEXT; }
HB(ballot) { S[ip->d] = (u32)S[ip->a] & mask; NEXT; }
HB(any) { S[ip->d] = (u32)S[ip->a] & mask ? ~0u : 0; NEXT; }
HB(all) { S[ip->d] = ((u32)S[ip->a] & mask) == mask ? ~0u : 0; NEXT; }
HB(is_first) { SETM(mask & -mask); NEXT; }

/* ---- Memory ---- */
#define TRY_ACCESS(call)                                                                           \
    {                                                                                              \
        if (!(call))                                                                               \
            goto fault;                                                                            \
        if (__builtin_expect(ip->c > 1, 0))                                                        \
            ip += (ip->c + 6) / 8;                                                                 \
        NEXT;                                                                                      \
    }
#define MEM(k, K)                                                                                  \
    HB(ld_##k##_s) TRY_ACCESS(access_s(c, ip, mask, ip->a, K, false))                              \
    HB(ld_##k##_a) TRY_ACCESS(access_a(c, ip, mask, ip->a, ip->b, K, false))                       \
    HB(ld_##k##_p) TRY_ACCESS(access_p(c, ip, mask, ip->a, K, false))                              \
    HB(st_##k##_s) TRY_ACCESS(access_s(c, ip, mask, ip->a, K, true))                               \
    HB(st_##k##_a) TRY_ACCESS(access_a(c, ip, mask, ip->a, ip->b, K, true))                        \
    HB(st_##k##_p) TRY_ACCESS(access_p(c, ip, mask, ip->a, K, true))                               \
    HB(ldl_##k##_s) TRY_ACCESS(local_s(c, ip, mask, ip->a, K, false))                              \
    HB(ldl_##k##_p) TRY_ACCESS(local_p(c, ip, mask, ip->a, K, false))                              \
    HB(stl_##k##_s) TRY_ACCESS(local_s(c, ip, mask, ip->a, K, true))                               \
    HB(stl_##k##_p) TRY_ACCESS(local_p(c, ip, mask, ip->a, K, true))
MEM(b, VMEM_B)
MEM(h, VMEM_H)
MEM(f, VMEM_F)
MEM(g, VMEM_G)
MEM(w, VMEM_W)
MEM(d, VMEM_D)
#undef MEM
HB(atom_w) {
    if (!atomics(c, ip, mask, false))
        goto fault;
    NEXT;
}
HB(atom_d) {
    if (!atomics(c, ip, mask, true))
        goto fault;
    NEXT;
}
HB(fence) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    NEXT;
}

/* ---- Matrices: every lane that still runs must arrive ---- */
#define NEED_ALL                                                                                   \
    if (__builtin_expect(mask != live, 0) && !vgpu_muted(c->k, 3203))                              \
        FAULT(VFAULT_MATRIX_DIVERGENT)
HB(xfill) {
    for (int i = 0; i < 64 / NW; i++)
        ((vu *)WIDE(ip->d))[i] = splat_u(SU(ip->a));
    NEXT;
}
HB(xdiag) {
    float *m = (float *)WIDE(ip->d), x = SF(ip->a);
    for (int i = 0; i < 64; i++)
        m[i] = i % 9 == 0 ? x : 0;
    NEXT;
}
#define MATRIX(base, sx, sy, reg, store)                                                           \
    (ip->x == VMEM_W   ? matrix_access(c, base, sx, sy, reg, VMEM_W, store)                        \
     : ip->x == VMEM_F ? matrix_access(c, base, sx, sy, reg, VMEM_F, store)                        \
                       : matrix_access(c, base, sx, sy, reg, VMEM_G, store))
HB(xload) {
    NEED_ALL;
    if (!MATRIX(S[ip->a] + (u64)(i64)ip->imm, (i64)S[ip->b], (i64)S[ip->c], ip->d, false))
        goto fault;
    NEXT;
}
HB(xstore) {
    NEED_ALL;
    if (!MATRIX(S[ip->b] + (u64)(i64)ip->imm, (i64)S[ip->c], (i64)S[ip->d], ip->a, true))
        goto fault;
    NEXT;
}
HB(xmma) {
    NEED_ALL;
    float *d = (float *)WIDE(ip->d);
    matrix_mma(d, (float *)WIDE(ip->a), (float *)WIDE(ip->b), (float *)WIDE(ip->c));
    if (ip->x != VMEM_W)
        for (int i = 0; i < 64 / NW; i++)
            ((vf *)d)[i] = ip->x == VMEM_F ? r16_v(((vf *)d)[i]) : rbf_v(((vf *)d)[i]);
    NEXT;
}
HB(xmma_by) {
    NEED_ALL;
    matrix_mma_by((float *)WIDE(ip->d), (float *)WIDE(ip->a), (float *)WIDE(ip->b), (float *)WIDE(ip->c), ip->imm,
                  ip->x);
    NEXT;
}
HB(xmmas) {
    NEED_ALL;
    for (int n = ip->imm; n > 0; n--) {
        ip++;
#if VB == 64
        if (n > 1 && ip[1].a == ip->a && ip[1].a != ip->d && ip[1].b != ip->d && ip[1].c != ip->d) {
            matrix_mma2((float *)WIDE(ip->d), (float *)WIDE(ip[1].d), (float *)WIDE(ip->a),
                        (float *)WIDE(ip->b), (float *)WIDE(ip[1].b), (float *)WIDE(ip->c),
                        (float *)WIDE(ip[1].c));
            ip++;
            n--;
            continue;
        }
#endif
        matrix_mma((float *)WIDE(ip->d), (float *)WIDE(ip->a), (float *)WIDE(ip->b),
                   (float *)WIDE(ip->c));
    }
    NEXT;
}
HB(xmake) {
    const float *a = (const float *)WIDE(ip->a), *b = (const float *)WIDE(ip->b);
    float *m = (float *)WIDE(ip->d);
    for (int l = 0; l < VGPU_LANES; l++) {
        m[fragment_at[l]] = a[l];
        m[fragment_at[l] + 1] = b[l];
    }
    NEXT;
}
HB(xneg) {
    for (int i = 0; i < 64 / NW; i++)
        ((vu *)WIDE(ip->d))[i] = ((vu *)WIDE(ip->a))[i] ^ 0x80000000u;
    NEXT;
}

/* ---- Checks ---- */
HB(guard) {
    c->live = live;
    vcheck_guard(c, ip, mask);
    NEXT;
}
HB(guard_w) {
    vcheck_guard(c, ip, mask);
    NEXT;
}
HB(guard_d) {
    vcheck_guard(c, ip, mask);
    NEXT;
}
HB(turn) {
    if (__builtin_expect(c->turns, 0)) {
        ip++;
        SAVE;
        return VSTOP_TURN;
    }
    NEXT;
}
HB(guard_br) {
    SAVE;
    if (__builtin_expect(vcheck_loop(c, ip), 0))
        return VSTOP_STUCK;
    NEXT;
}

/* ---- Control ---- */
/* Takes the next lanes that wait for the current meeting place. */
#define POP                                                                                        \
    do {                                                                                           \
        if (!depth) {                                                                              \
            SAVE;                                                                                  \
            return VSTOP_DONE;                                                                     \
        }                                                                                          \
        depth--;                                                                                   \
        mask = c->stack[depth].mask & live;                                                        \
        rpc = c->stack[depth].rpc;                                                                 \
        ip = code + c->stack[depth].pc;                                                            \
    } while (!mask);                                                                               \
    REBASE
HB(br) {
    if (__builtin_expect(steps-- == 0, 0))
        FAULT(VFAULT_STEPS);
    ip = code + ip->imm;
    DISPATCH;
}
HB(cbr) {
    const u32 yes = (u32)S[ip->a] & mask;
    if (__builtin_expect(steps-- == 0, 0))
        FAULT(VFAULT_STEPS);
    if (yes == mask) {
        ip = code + ip->imm;
        DISPATCH;
    }
    if (!yes) {
        ip = code + ip[1].imm;
        DISPATCH;
    }
    u32 meet = ip[1].a | (u32)ip[1].b << 16;
    u32 tpc = (u32)ip->imm, fpc = (u32)ip[1].imm, no = mask & ~yes;
    if (meet != rpc && meet != VGPU_NO_BLOCK) { /* everyone goes on together there */
        c->stack[depth++] = (vwait){meet, rpc, mask};
        rpc = meet;
    }
    if (depth > VGPU_STACK - 2)
        FAULT(VFAULT_UNREACHABLE);
    if (tpc == meet) {
        mask = no;
        ip = code + fpc;
    } else {
        if (fpc != meet)
            c->stack[depth++] = (vwait){fpc, rpc, no};
        mask = yes;
        ip = code + tpc;
    }
    REBASE;
    DISPATCH;
}
HB(join) {
    if (rpc == (u32)(ip - code)) {
        POP;
        DISPATCH;
    }
    NEXT;
}
HB(ret) {
    live &= ~mask;
    if (!live) {
        depth = 0;
        SAVE;
        return VSTOP_DONE;
    }
    POP;
    DISPATCH;
}
HB(retm) {
    u32 gone = (u32)S[ip->a] & mask;
    live &= ~gone;
    mask &= ~gone;
    if (!live) {
        depth = 0;
        SAVE;
        return VSTOP_DONE;
    }
    if (!mask) {
        POP;
        DISPATCH;
    }
    REBASE;
    NEXT;
}
HB(barrier) {
    if (mask != live && c->k->checks.barriers && !vgpu_muted(c->k, 3201))
        FAULT(VFAULT_BARRIER_DIVERGENT);
    c->barrier = ip->x;
    c->fault.pc = (u32)(ip - code);
    ip++;
    SAVE;
    return VSTOP_BARRIER;
}
HB(trap) { FAULT(ip->x ? VFAULT_DEPTH : VFAULT_UNREACHABLE); }
HB(count) {
    vcount_block(c, (u32)ip->imm, mask);
    NEXT;
}
HB(count_access) {
    vcount_access(c, ip + 1, mask, (u32)ip->imm);
    NEXT;
}
HB(count_branch) {
    vcount_branch(c, (u32)S[ip->a], mask, (u32)ip->imm);
    NEXT;
}
