/* SPDX-License-Identifier: MIT */
/* Bytecode words from the decoder's form. Blocks follow in order; a branch to the next block is left
 * out; phis become copies at the end of the blocks before (parallel: a value is read before its
 * register is written). A run of matrix products becomes one instruction. */
#include "vgpu/decode/build.h"
#include "vgpu/count/count.h"
#include "vgpu/check/check.h"

typedef struct encoder {
    vbuild *b;
    VEC(vins) code;
    VEC(u32) sites;
    VEC(u32) fix;      /* words whose imm is a block */
    VEC(u32) fix_meet; /* second words of cbr: c.. holds a block in `meets` */
    VEC(u32) meets;
    u32 *readers;      /* per register: pending copies that read it */
    i32 *writer;       /* per register: pending copy that writes it */
    u32 n_access, n_branch; /* counted so far, in the order of count_plan.c */
} encoder;

static void put(encoder *e, vins i, u32 site) {
    VEC_PUSH(e->b->a, &e->code, i);
    VEC_PUSH(e->b->a, &e->sites, site);
}
static u16 reg(encoder *e, u32 v) { return (u16)v_at(e->b, v)->slot; }

static void put_memory(encoder *e, const vinst *i) {
    u16 group = (u16)((i->op - VOP_ld_b_s) % 10);
    bool store = group == 3 || group == 4 || group == 5 || group >= 8, with_off = group == 1 || group == 4;
    u32 first = with_off ? 2 : 1, n = store ? i->ns - first : i->nd;
    const u32 *r = store ? i->s + first : i->d;
    vins w = {.op = i->op, .d = reg(e, r[0]), .a = reg(e, i->s[0]), .x = i->x, .imm = i->imm,
              .b = with_off ? reg(e, i->s[1]) : 0, .c = (u16)(n > 1 ? n : 0)};
    put(e, w, i->site);
    for (u32 j = 1; j < n;) {
        u16 more[8] = {0};
        for (u32 k = 0; k < 8 && j < n; k++)
            more[k] = reg(e, r[j++]);
        vins ext;
        memcpy(&ext, more, sizeof ext);
        put(e, ext, i->site);
    }
}
/* Words that count, when the kernel was decoded to be counted. */
static void put_count(encoder *e, u16 op, u16 a, u32 number, u32 site) {
    if (e->b->k->count)
        put(e, (vins){.op = op, .a = a, .imm = (i32)number}, site);
}
/* The check that stands before an instruction, if one does. */
static void put_guard(encoder *e, const vinst *i) {
    const vgpu_checks *on = &e->b->k->checks;
    bool places = on->align || on->races || on->uninit, writes = places || on->progress, put_it = false;
    u16 guard = GUARD_ACCESS;
    if (i->op >= VOP_ld_b_s && i->op <= VOP_stl_d_p) {
        put_it = (i->nd ? places : writes) && (i->space == 1 || i->space == 3);
    } else if (i->op == VOP_atom_w || i->op == VOP_atom_d) {
        put_it = writes;
    } else if (i->op == VOP_xload || i->op == VOP_xstore || i->op == VOP_xmma || i->op == VOP_xmma_by) {
        guard = GUARD_MATRIX;
        put_it = on->lanes || (places && i->op == VOP_xload) || (writes && i->op == VOP_xstore);
    } else if (i->op == VOP_fence) {
        guard = GUARD_FENCE;
        put_it = on->races && i->x;
    } else if (i->op == VOP_barrier) {
        guard = GUARD_BARRIER;
        put_it = on->exits;
    }
    if (put_it)
        put(e, (vins){.op = VOP_guard, .x = guard, .a = i->align}, i->site);
}
/* Where simdgroups may take turns: before each access of memory that they share. */
static void put_turn(encoder *e, const vinst *i) {
    bool plain = i->op >= VOP_ld_b_s && i->op <= VOP_stl_d_p && (i->space == 1 || i->space == 3);
    bool other = i->op == VOP_atom_w || i->op == VOP_atom_d || i->op == VOP_xload || i->op == VOP_xstore;
    if ((e->b->k->checks.schedules || e->b->k->checks.turns) && (plain || other))
        put(e, (vins){.op = VOP_turn}, i->site);
}
static void put_inst(encoder *e, const vinst *i) {
    if (count_is_access(i->op))
        put_count(e, VOP_count_access, 0, e->n_access++, i->site);
    if (i->op >= VOP_ld_b_s && i->op <= VOP_stl_d_p) {
        put_memory(e, i);
        return;
    }
    vins w = {.op = i->op, .x = i->x, .imm = i->imm};
    u16 *field[] = {&w.a, &w.b, &w.c, &w.d};
    for (u32 s = 0; s < i->ns && s < 4; s++)
        *field[s] = reg(e, i->s[s]);
    if (i->nd)
        w.d = reg(e, i->d[0]);
    put(e, w, i->site);
}
/* Consecutive f32 products after one header. */
static vinst *put_products(encoder *e, vinst *i) {
    u32 n = 0;
    for (vinst *j = i; j && j->op == VOP_xmma && j->x == VMEM_W; j = j->next)
        n++;
    if (n < 2) {
        put_guard(e, i);
        put_inst(e, i);
        return i->next;
    }
    put_guard(e, i);
    put(e, (vins){.op = VOP_xmmas, .imm = (i32)n}, i->site);
    for (; n; n--, i = i->next)
        put_inst(e, i);
    return i;
}

/* ---- Copies ------------------------------------------------------------------------------------------- */
typedef struct move { u16 op, d, s; bool wide_d, wide_s, done; u8 cls; } move;
static u32 place(encoder *e, bool wide, u16 r) { return wide ? r : e->b->k->n_wide + r; }
static void put_move(encoder *e, const move *m) { put(e, (vins){.op = m->op, .d = m->d, .a = m->s}, 0); }
static move move_of(encoder *e, u32 d, u32 s) {
    vval *x = v_at(e->b, d), *y = v_at(e->b, s);
    bool shared = y->scalar || y->constant;
    move m = {.d = (u16)x->slot, .s = (u16)y->slot, .cls = x->cls};
    m.wide_d = x->cls == CLS_X || (!x->scalar && x->cls != CLS_M);
    m.wide_s = y->cls == CLS_X || (!shared && y->cls != CLS_M);
    if (x->cls == CLS_M)
        m.op = x->scalar ? VOP_mov_s : VOP_mov_m;
    else if (x->cls == CLS_X)
        m.op = VOP_mov_x;
    else if (x->scalar)
        m.op = VOP_mov_s;
    else if (shared)
        m.op = x->cls == CLS_D ? VOP_splat_d : VOP_splat_w;
    else
        m.op = x->cls == CLS_D ? VOP_mov_d : VOP_mov_w;
    return m;
}
static void put_copies(encoder *e, u32 from, const vblock *to) {
    vbuild *b = e->b;
    u32 n = 0;
    move *m = ARENA_ARRAY(b->a, move, to->phis.count + 1);
    for (u32 p = 0; p < to->phis.count; p++) {
        vphi *phi = to->phis.at[p];
        const vedge *in = &phi->in.at[b->blocks.at[from]->place];
        TM_ASSERT(in->pred == from);
        move x = move_of(e, phi->d, in->value);
        if (v_at(b, phi->d)->slot >= 0 && (x.wide_d != x.wide_s || x.d != x.s))
            m[n++] = x;
    }
    VEC(u32) ready = {0};
    for (u32 i = 0; i < n; i++) {
        e->readers[place(e, m[i].wide_s, m[i].s)]++;
        e->writer[place(e, m[i].wide_d, m[i].d)] = (i32)i;
    }
    for (u32 i = 0; i < n; i++)
        if (!e->readers[place(e, m[i].wide_d, m[i].d)])
            VEC_PUSH(b->a, &ready, i);
    for (u32 left = n, at = 0; left;) {
        if (!ready.count) { /* a cycle: one source moves to the spare register */
            while (m[at].done)
                at++;
            move t = m[at];
            u16 spare = !m[at].wide_s ? b->k->spare_s : t.cls == CLS_W ? b->k->spare_w : b->k->spare_d;
            t.d = spare;
            t.op = !m[at].wide_s ? VOP_mov_s : t.cls == CLS_X ? VOP_mov_x : t.cls == CLS_D ? VOP_mov_d : VOP_mov_w;
            put_move(e, &t);
            u32 freed = place(e, m[at].wide_s, m[at].s);
            m[at].s = spare;
            e->readers[place(e, m[at].wide_s, spare)]++;
            if (!--e->readers[freed] && e->writer[freed] >= 0)
                VEC_PUSH(b->a, &ready, (u32)e->writer[freed]);
            continue;
        }
        u32 i = VEC_POP(&ready), src = place(e, m[i].wide_s, m[i].s);
        put_move(e, &m[i]);
        m[i].done = true;
        e->writer[place(e, m[i].wide_d, m[i].d)] = -1;
        left--;
        if (!--e->readers[src] && e->writer[src] >= 0)
            VEC_PUSH(b->a, &ready, (u32)e->writer[src]);
    }
}

/* ---- Blocks ------------------------------------------------------------------------------------------- */
static void put_jump(encoder *e, u32 order, u32 to) {
    if (e->b->blocks.at[to]->order == order + 1)
        return;
    VEC_PUSH(e->b->a, &e->fix, e->code.count);
    put(e, (vins){.op = VOP_br, .imm = (i32)to}, 0);
}
static void put_block(encoder *e, u32 order) {
    vbuild *b = e->b;
    u32 at = b->order.at[order];
    vblock *k = b->blocks.at[at];
    k->pc = e->code.count;
    if (k->is_meet)
        put(e, (vins){.op = VOP_join}, 0);
    put_count(e, VOP_count, 0, order, 0);
    for (vinst *i = k->first; i;) {
        if (i->op == VOP_xmma && i->x == VMEM_W) {
            i = put_products(e, i);
            continue;
        }
        put_turn(e, i);
        put_guard(e, i);
        put_inst(e, i);
        i = i->next;
    }
    bool back = false;
    for (u32 s = 0; s < (k->term == TERM_CBR ? 2u : k->term == TERM_BR || k->term == TERM_RETM ? 1u : 0u); s++)
        back |= b->blocks.at[k->succ[s]]->order <= order;
    if (back && b->k->checks.progress)
        put(e, (vins){.op = VOP_guard_br}, k->site ? k->site : k->last ? k->last->site : 0);
    switch ((enum vterm)k->term) {
    case TERM_BR:
        put_copies(e, at, b->blocks.at[k->succ[0]]);
        put_jump(e, order, k->succ[0]);
        break;
    case TERM_CBR: {
        u32 meet = v_at(b, k->cond)->divergent ? k->ipdom : NO;
        if (v_at(b, k->cond)->divergent)
            put_count(e, VOP_count_branch, reg(e, k->cond), e->n_branch++, k->site);
        VEC_PUSH(b->a, &e->fix, e->code.count);
        put(e, (vins){.op = VOP_cbr, .a = reg(e, k->cond), .imm = (i32)k->succ[0]}, k->site);
        VEC_PUSH(b->a, &e->fix, e->code.count);
        VEC_PUSH(b->a, &e->fix_meet, e->code.count);
        VEC_PUSH(b->a, &e->meets, meet);
        put(e, (vins){.imm = (i32)k->succ[1]}, k->site);
        break;
    }
    case TERM_RETM:
        if (v_at(b, k->cond)->divergent)
            put_count(e, VOP_count_branch, reg(e, k->cond), e->n_branch++, k->site);
        put(e, (vins){.op = VOP_retm, .a = reg(e, k->cond)}, 0);
        put_jump(e, order, k->succ[0]);
        break;
    case TERM_RET: put(e, (vins){.op = VOP_ret}, 0); break;
    case TERM_NONE: case TERM_TRAP: put(e, (vins){.op = VOP_trap}, 0); break;
    }
}
bool encode_kernel(vbuild *b) {
    vgpu_kernel *k = b->k;
    encoder e = {.b = b};
    if (k->checks.count && !count_plan_kernel(b))
        return false;
    u32 places = k->n_wide + k->n_scalar + 1;
    e.readers = ARENA_ARRAY(b->a, u32, places);
    e.writer = ARENA_ARRAY(b->a, i32, places);
    memset(e.writer, 0xFF, places * sizeof *e.writer);
    for (u32 o = 0; o < b->order.count; o++) {
        const vblock *t = b->blocks.at[b->order.at[o]];
        for (u32 p = 0; p < t->preds.count && t->phis.count; p++)
            b->blocks.at[t->preds.at[p]]->place = p;
    }
    for (u32 o = 0; o < b->order.count; o++)
        put_block(&e, o);
    for (u32 f = 0; f < e.fix.count; f++)
        e.code.at[e.fix.at[f]].imm = (i32)b->blocks.at[(u32)e.code.at[e.fix.at[f]].imm]->pc;
    for (u32 f = 0; f < e.fix_meet.count; f++) {
        u32 m = e.meets.at[f], pc = m == NO ? VGPU_NO_BLOCK : b->blocks.at[m]->pc;
        e.code.at[e.fix_meet.at[f]].a = (u16)pc;
        e.code.at[e.fix_meet.at[f]].b = (u16)(pc >> 16);
    }
    k->n_code = e.code.count;
    k->code = arena_dup(k->arena, e.code.at, e.code.count * sizeof(vins));
    k->sites = arena_dup(k->arena, e.sites.at, e.sites.count * sizeof(u32));
    k->n_sites = b->sites.count;
    k->site = arena_dup(k->arena, b->sites.at, b->sites.count * sizeof(vsite));
    return true;
}
