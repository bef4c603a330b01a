/* SPDX-License-Identifier: MIT */
/* What all lanes share. A value is shared when its operands are and every lane that will use it sees
 * the one copy: it is made outside of divergent regions (the blocks between a divergent branch and
 * its immediate post-dominator), or made and used within one block. Everything else has lanes. Then
 * each instruction gets its form, memory gets "shared base + lane offset" addresses where sums allow
 * it, and what nobody uses goes away.
 * A lane that returns early while the others go on together does not make a region: it is retired. */
#include "vgpu/decode/build.h"

/* ---- Order and post-dominators ---------------------------------------------------------------------- */
static u32 succ_count(const vblock *k) {
    return k->term == TERM_CBR ? 2 : k->term == TERM_BR || k->term == TERM_RETM ? 1 : 0;
}
/* A conditional branch to a block that only returns retires lanes instead. */
static void retire_early(vbuild *b) {
    for (u32 i = 0; i < b->blocks.count; i++) {
        vblock *k = b->blocks.at[i];
        if (!k->reached || k->term != TERM_CBR)
            continue;
        for (u32 s = 0; s < 2; s++) {
            vblock *to = b->blocks.at[k->succ[s]], *other = b->blocks.at[k->succ[!s]];
            if (to->first || to->term != TERM_RET || to->phis.count ||
                (!other->first && other->term == TERM_RET))
                continue;
            b->cur = i;
            if (s == 1)
                k->cond = v_not(b, k->cond);
            for (u32 p = 0; p < to->preds.count; p++)
                if (to->preds.at[p] == i)
                    to->preds.at[p] = to->preds.at[--to->preds.count];
            k->succ[0] = k->succ[!s];
            k->term = TERM_RETM;
            break;
        }
    }
}
void order_blocks(vbuild *b) {
    struct frame { u32 k, next; } *stack = ARENA_ARRAY(b->a, struct frame, b->blocks.count + 1);
    u32 *post = ARENA_ARRAY(b->a, u32, b->blocks.count + 1), n = 0, depth = 0;
    for (u32 i = 0; i < b->blocks.count; i++)
        b->blocks.at[i]->order = NO;
    b->blocks.at[0]->order = 0;
    stack[depth++] = (struct frame){0, 0};
    while (depth) {
        struct frame *top = &stack[depth - 1];
        vblock *k = b->blocks.at[top->k];
        u32 count = succ_count(k);
        if (top->next < count) {
            u32 to = k->succ[count - 1 - top->next++];
            if (b->blocks.at[to]->order == NO) {
                b->blocks.at[to]->order = 0;
                stack[depth++] = (struct frame){to, 0};
            }
            continue;
        }
        post[n++] = top->k;
        depth--;
    }
    b->order.count = 0;
    for (u32 i = 0; i < n; i++) {
        b->blocks.at[post[n - 1 - i]]->order = i;
        VEC_PUSH(b->a, &b->order, post[n - 1 - i]);
    }
}
/* Cooper, Harvey, Kennedy on the reversed graph; number n stands for the exit. */
static void post_dominators(vbuild *b) {
    u32 n = b->order.count, *rank = ARENA_ARRAY(b->a, u32, n + 1), *dom = ARENA_ARRAY(b->a, u32, n + 1);
    u32 *walk = ARENA_ARRAY(b->a, u32, n + 1), count = 0, depth = 0;
    struct frame { u32 k, next; } *stack = ARENA_ARRAY(b->a, struct frame, n + 2);
    u8 *ends = ARENA_ARRAY(b->a, u8, n + 1);
    for (u32 i = 0; i <= n; i++)
        rank[i] = dom[i] = NO;
    /* Postorder of the reversed graph, from each block that ends the thread; then from blocks that
     * retire lanes, last first, for loops that are left in no other way. */
    for (u32 i = 0; i < 2 * n; i++) {
        u32 r = i < n ? i : 2 * n - 1 - i;
        vblock *end = b->blocks.at[b->order.at[r]];
        if (rank[r] != NO || (i < n ? succ_count(end) != 0 : end->term != TERM_RETM))
            continue;
        ends[r] = 1;
        rank[r] = 0;
        stack[depth++] = (struct frame){r, 0};
        while (depth) {
            struct frame *top = &stack[depth - 1];
            vblock *k = b->blocks.at[b->order.at[top->k]];
            if (top->next < k->preds.count) {
                u32 p = b->blocks.at[k->preds.at[top->next++]]->order;
                if (p != NO && rank[p] == NO) {
                    rank[p] = 0;
                    stack[depth++] = (struct frame){p, 0};
                }
                continue;
            }
            rank[top->k] = count;
            walk[count++] = top->k;
            depth--;
        }
    }
    rank[n] = count;
    dom[n] = n;
    for (bool changed = true; changed;) {
        changed = false;
        for (u32 w = count; w-- > 0;) {
            vblock *k = b->blocks.at[b->order.at[walk[w]]];
            u32 s = succ_count(k), d = ends[walk[w]] ? n : NO;
            for (u32 i = 0; i < s && d != n; i++) {
                u32 to = b->blocks.at[k->succ[i]]->order;
                if (dom[to] == NO)
                    continue;
                u32 x = to, y = d;
                if (d == NO) {
                    d = to;
                    continue;
                }
                while (x != y) {
                    while (x != y && rank[x] < rank[y])
                        x = dom[x];
                    while (x != y && rank[y] < rank[x])
                        y = dom[y];
                }
                d = x;
            }
            if (d != dom[walk[w]]) {
                dom[walk[w]] = d;
                changed = true;
            }
        }
    }
    for (u32 i = 0; i < n; i++)
        b->blocks.at[b->order.at[i]]->ipdom = dom[i] >= n ? NO : b->order.at[dom[i]];
}

/* ---- Divergence -------------------------------------------------------------------------------------- */
typedef struct flow {
    VEC(u32) work;        /* values to look at again */
    u8 *crosses;          /* value is used outside of its block, or by a phi */
    u32 *stamp, *stack;   /* by block, of the region walk */
    VEC(u32) seen;        /* blocks of the walk */
    u32 walk;
} flow;
typedef struct inst_list { vinst **at; u32 count, room; } inst_list;
typedef struct id_list { u32 *at; u32 count, room; } id_list;

static bool result_is_shared(u16 op) {
    switch (op) {
    case VOP_red_w: case VOP_red_d: case VOP_lane_w: case VOP_lane_d: case VOP_first_w: case VOP_first_d:
    case VOP_ballot: case VOP_any: case VOP_all: return true;
    default: return false;
    }
}
static bool always_lanes(u16 op) {
    switch (op) {
    case VOP_scan_w: case VOP_scan_d: case VOP_xget: case VOP_atom_w: case VOP_atom_d: case VOP_is_first: return true;
    default: return strncmp(vops[op].name, "ldl", 3) == 0;
    }
}
static bool inst_diverges(vbuild *b, const vinst *i) {
    if (always_lanes(i->op))
        return true;
    if (result_is_shared(i->op))
        return false;
    if (i->op == VOP_shuf_w || i->op == VOP_shuf_d)
        return v_at(b, i->s[1])->divergent && v_at(b, i->s[0])->divergent;
    for (u32 s = 0; s < i->ns; s++)
        if (v_at(b, i->s[s])->divergent)
            return true;
    return false;
}
static void mark(vbuild *b, flow *f, u32 v) {
    if (v_at(b, v)->divergent || v_at(b, v)->constant)
        return;
    v_at(b, v)->divergent = true;
    VEC_PUSH(b->a, &f->work, v);
}
/* Everything made in a block that lanes may be in at different times. */
static void mark_block(vbuild *b, flow *f, vblock *k) {
    for (u32 p = 0; p < k->phis.count; p++)
        mark(b, f, k->phis.at[p]->d);
    for (vinst *i = k->first; i; i = i->next)
        for (u32 d = 0; d < i->nd; d++)
            if (f->crosses[i->d[d]])
                mark(b, f, i->d[d]);
}
static void mark_region(vbuild *b, flow *f, u32 branch) {
    vblock *k = b->blocks.at[branch];
    u32 meet = k->ipdom, *stack = f->stack, depth = 0, last = k->order;
    f->seen.count = 0;
    f->walk++;
    for (u32 s = 0; s < 2; s++)
        if (k->succ[s] != meet && f->stamp[k->succ[s]] != f->walk) {
            f->stamp[k->succ[s]] = f->walk;
            stack[depth++] = k->succ[s];
        }
    while (depth) {
        u32 at = stack[--depth];
        vblock *r = b->blocks.at[at];
        VEC_PUSH(b->a, &f->seen, at);
        last = MAX(last, r->order);
        if (!r->in_region) {
            r->in_region = true;
            mark_block(b, f, r);
        }
        for (u32 s = 0; s < succ_count(r); s++)
            if (r->succ[s] != meet && f->stamp[r->succ[s]] != f->walk) {
                f->stamp[r->succ[s]] = f->walk;
                stack[depth++] = r->succ[s];
            }
    }
    for (u32 i = 0; i < f->seen.count; i++)
        b->blocks.at[f->seen.at[i]]->region_end = MAX(b->blocks.at[f->seen.at[i]]->region_end, last);
    if (meet != NO) {
        vblock *m = b->blocks.at[meet];
        m->is_meet = true;
        for (u32 p = 0; p < m->phis.count; p++)
            mark(b, f, m->phis.at[p]->d);
    }
}
static void find_divergence(vbuild *b) {
    u32 n = b->vals.count;
    flow f = {.crosses = ARENA_ARRAY(b->a, u8, n), .stamp = ARENA_ARRAY(b->a, u32, b->blocks.count),
              .stack = ARENA_ARRAY(b->a, u32, b->blocks.count)};
    inst_list *users = ARENA_ARRAY(b->a, inst_list, n);
    id_list *in_phis = ARENA_ARRAY(b->a, id_list, n);   /* phis that take the value */
    id_list *in_branch = ARENA_ARRAY(b->a, id_list, n); /* blocks that end on it */
    for (u32 o = 0; o < b->order.count; o++) {
        u32 at = b->order.at[o];
        vblock *k = b->blocks.at[at];
        for (u32 p = 0; p < k->phis.count; p++) {
            f.crosses[k->phis.at[p]->d] = 1;
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++) {
                u32 v = k->phis.at[p]->in.at[e].value;
                f.crosses[v] = 1;
                VEC_PUSH(b->a, &in_phis[v], k->phis.at[p]->d);
            }
        }
        for (vinst *i = k->first; i; i = i->next)
            for (u32 s = 0; s < i->ns; s++) {
                VEC_PUSH(b->a, &users[i->s[s]], i);
                if (v_at(b, i->s[s])->block != at)
                    f.crosses[i->s[s]] = 1;
            }
        if (k->term == TERM_CBR || k->term == TERM_RETM) {
            VEC_PUSH(b->a, &in_branch[k->cond], at);
            if (v_at(b, k->cond)->block != at)
                f.crosses[k->cond] = 1;
        }
    }
    for (u32 o = 0; o < b->order.count; o++)
        for (vinst *i = b->blocks.at[b->order.at[o]]->first; i; i = i->next)
            if (inst_diverges(b, i))
                for (u32 d = 0; d < i->nd; d++)
                    mark(b, &f, i->d[d]);
    for (u32 v = 0; v < n; v++)
        if (v_at(b, v)->param && v_at(b, v)->divergent)
            VEC_PUSH(b->a, &f.work, v);
    while (f.work.count) {
        u32 v = VEC_POP(&f.work);
        for (u32 u = 0; u < users[v].count; u++)
            if (inst_diverges(b, users[v].at[u]))
                for (u32 d = 0; d < users[v].at[u]->nd; d++)
                    mark(b, &f, users[v].at[u]->d[d]);
        for (u32 u = 0; u < in_phis[v].count; u++)
            mark(b, &f, in_phis[v].at[u]);
        for (u32 u = 0; u < in_branch[v].count; u++)
            if (b->blocks.at[in_branch[v].at[u]]->term == TERM_CBR)
                mark_region(b, &f, in_branch[v].at[u]);
    }
    for (u32 v = 0; v < n; v++) {
        vval *x = v_at(b, v);
        x->scalar = !x->divergent && x->cls != CLS_X;
    }
}

/* ---- Forms -------------------------------------------------------------------------------------------- */
static bool shared(vbuild *b, u32 v) { return v_at(b, v)->scalar || v_at(b, v)->constant; }
static u32 new_like(vbuild *b, u8 cls, bool scalar) {
    u32 v = v_new(b, cls);
    v_at(b, v)->scalar = scalar;
    v_at(b, v)->divergent = !scalar;
    return v;
}
static u32 insert1(vbuild *b, vinst *at, u16 op, u8 cls, bool scalar, u32 s) {
    u32 d = new_like(b, cls, scalar);
    b->site = at->site;
    v_insert_before(b, at, v_make(b, op, 1, &d, 1, &s), at->block);
    return d;
}
static u32 need_lanes(vbuild *b, vinst *i, u32 v) {
    u8 cls = v_at(b, v)->cls;
    if (!shared(b, v) || cls == CLS_M || cls == CLS_X)
        return v;
    return insert1(b, i, cls == CLS_D ? VOP_splat_d : VOP_splat_w, cls, false, v);
}
static u32 need_shared(vbuild *b, vinst *i, u32 v) {
    u8 cls = v_at(b, v)->cls;
    if (shared(b, v))
        return v;
    return insert1(b, i, cls == CLS_D ? VOP_first_d : VOP_first_w, cls, true, v);
}
/* The instruction makes a shared value, but its result has lanes: a copy follows. */
static void spread_result(vbuild *b, vinst *i, u32 r) {
    u32 d = i->d[r];
    u8 cls = v_at(b, d)->cls;
    if (cls == CLS_X || v_at(b, d)->scalar)
        return;
    u32 t = new_like(b, cls, true);
    i->d[r] = t;
    v_at(b, t)->def = i;
    v_at(b, t)->block = i->block;
    u16 op = cls == CLS_M ? VOP_mov_m : cls == CLS_D ? VOP_splat_d : VOP_splat_w;
    b->site = i->site;
    vinst *copy = v_make(b, op, 1, &d, 1, &t);
    v_insert_before(b, i->next, copy, i->block);
}
static void pick_form(vbuild *b, vinst *i) {
    u32 forms = vops[i->op].forms, skip = strchr(vops[i->op].sig, 'M') == vops[i->op].sig + 2 ? 1 : 0;
    u32 all = forms - 1, bits = 0;
    for (u32 s = skip; s < i->ns; s++)
        if (shared(b, i->s[s]))
            bits |= 1u << (s - skip);
    bool select = i->op == VOP_sel_w || i->op == VOP_sel_d;
    if (select && bits == all && shared(b, i->s[0])) {
        i->op = VOP_sel_s;
        spread_result(b, i, 0);
        return;
    }
    i->op = (u16)(i->op + bits);
    if (!select && bits == all)
        spread_result(b, i, 0);
}

/* ---- Addresses ----------------------------------------------------------------------------------------- */
typedef struct address { u32 base[8], n, off, off_def; u32 shift; bool zext, has_off; i64 imm; } address;
static bool add_term(vbuild *b, address *a, u32 v) {
    vval *x = v_at(b, v);
    u32 shift = 0;
    if (x->constant) {
        a->imm = (i64)((u64)a->imm + x->bits);
        return true;
    }
    if (x->scalar) {
        if (a->n == 8)
            return false;
        a->base[a->n++] = v;
        return true;
    }
    vinst *def = x->def;
    if (def && def->op >= VOP_shl_d && def->op <= VOP_shl_d_ss && v_at(b, def->s[1])->constant) {
        shift = (u32)v_at(b, def->s[1])->bits;
        def = v_at(b, def->s[0])->def;
    }
    if (!def || a->has_off || shift > 31 || (def->op != VOP_sext_d && def->op != VOP_zext_d) ||
        shared(b, def->s[0]))
        return false;
    a->has_off = true;
    a->off = def->s[0];
    a->shift = shift;
    a->zext = def->op == VOP_zext_d;
    return true;
}
static bool add_terms(vbuild *b, address *a, u32 v) {
    for (u32 depth = 0; depth < 12; depth++) {
        vval *x = v_at(b, v);
        if (x->scalar || x->constant || !x->def || x->def->op < VOP_add_d ||
            x->def->op > VOP_add_d_ss)
            return add_term(b, a, v);
        u32 l = x->def->s[0], r = x->def->s[1];
        bool left_deep = v_at(b, l)->def && v_at(b, l)->def->op >= VOP_add_d &&
                         v_at(b, l)->def->op <= VOP_add_d_ss && !shared(b, l);
        if (!add_term(b, a, left_deep ? r : l))
            return false;
        v = left_deep ? l : r;
    }
    return false;
}
static bool is_memory(u16 op) { return op >= VOP_ld_b_s && op <= VOP_stl_d_p; }
static bool fits_imm(i64 x) { return x >= INT32_MIN && x <= INT32_MAX; }
static void pick_address(vbuild *b, vinst *i) {
    u16 group = (u16)((i->op - VOP_ld_b_s) % 10), row = (u16)(i->op - group);
    bool local = group >= 6, store = group == 5 || group == 9;
    u32 p = i->s[0], imm_base = p;
    i64 imm = 0;
    vval *x = v_at(b, p);
    /* shared pointer */
    for (vinst *d = x->def; d && d->op >= VOP_add_d && d->op <= VOP_add_d_ss &&
                            v_at(b, d->s[1])->constant;
         d = v_at(b, imm_base)->def) {
        i64 more = (i64)((u64)imm + v_at(b, d->s[1])->bits);
        if (!fits_imm(more))
            break;
        imm = more;
        imm_base = d->s[0];
    }
    u32 sources = i->ns;
    if (shared(b, p)) {
        i->op = (u16)(row + (local ? (store ? 8 : 6) : store ? 3 : 0));
        if (shared(b, imm_base)) {
            i->s[0] = imm_base;
            i->imm = (i32)imm;
        }
        for (u32 d = 0; d < i->nd; d++)
            if (!local)
                spread_result(b, i, d);
    } else {
        address a = {0};
        i->op = (u16)(row + (local ? (store ? 9 : 7) : store ? 5 : 2));
        if (!local && add_terms(b, &a, p) && a.has_off && (a.n == 0 || fits_imm(a.imm))) {
            u32 base = a.n ? a.base[0] : v_dw(b, (u64)a.imm);
            a.imm = a.n ? a.imm : 0;
            for (u32 t = 1; t < a.n; t++) {
                u32 s[2] = {base, a.base[t]}, d = new_like(b, CLS_D, true);
                b->site = i->site;
                v_insert_before(b, i, v_make(b, VOP_add_d_ss, 1, &d, 2, s), i->block);
                base = d;
            }
            i->op = (u16)(row + (store ? 4 : 1));
            u32 *s = ARENA_ARRAY(b->a, u32, sources + 2);
            memcpy(s + 2, i->s + 1, (sources - 1) * sizeof *s);
            s[0] = base;
            s[1] = a.off;
            i->s = s;
            i->ns++;
            i->x = (u16)(a.shift | (a.zext ? 0x8000u : 0));
            i->imm = (i32)a.imm;
        } else if (!shared(b, imm_base)) {
            i->s[0] = imm_base;
            i->imm = (i32)imm;
        }
    }
    if (store)
        for (u32 s = i->ns - (sources - 1); s < i->ns; s++)
            i->s[s] = need_lanes(b, i, i->s[s]);
}
/* Constant parts of a matrix's address go into the instruction. */
static void fold_matrix_address(vbuild *b, vinst *i) {
    u32 at = i->op == VOP_xstore ? 1 : 0;
    i64 imm = 0;
    for (vinst *d = v_at(b, i->s[at])->def; d && d->op >= VOP_add_d && d->op <= VOP_add_d_ss &&
                                            v_at(b, d->s[1])->constant;
         d = v_at(b, i->s[at])->def) {
        imm = (i64)((u64)imm + v_at(b, d->s[1])->bits);
        if (!fits_imm(imm))
            return;
        i->s[at] = d->s[0];
        i->imm = (i32)imm;
    }
}
static void shape_inst(vbuild *b, vinst *i) {
    const char *sig = vops[i->op].sig;
    if (i->op == VOP_xload || i->op == VOP_xstore)
        fold_matrix_address(b, i);
    if (is_memory(i->op)) {
        pick_address(b, i);
        return;
    }
    if (i->op == VOP_shuf_w || i->op == VOP_shuf_d) {
        if (shared(b, i->s[0])) {
            i->op = VOP_mov_s;
            i->ns = 1;
            spread_result(b, i, 0);
            return;
        }
        if (shared(b, i->s[1])) {
            i->op = i->op == VOP_shuf_w ? VOP_lane_w : VOP_lane_d;
            spread_result(b, i, 0);
            return;
        }
    }
    if (vops[i->op].forms > 1) {
        pick_form(b, i);
        return;
    }
    const char *want = strchr(sig, '=') + 1;
    for (u32 s = 0; s < i->ns && want[s]; s++) {
        if (want[s] == 'W' || want[s] == 'D')
            i->s[s] = need_lanes(b, i, i->s[s]);
        else if (want[s] == 'S')
            i->s[s] = need_shared(b, i, i->s[s]);
    }
    if (sig[0] == 'S' || result_is_shared(i->op))
        for (u32 d = 0; d < i->nd; d++)
            spread_result(b, i, d);
}

/* ---- Dead code ------------------------------------------------------------------------------------------ */
static void count_uses(vbuild *b) {
    for (u32 v = 0; v < b->vals.count; v++)
        v_at(b, v)->uses = 0;
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        for (u32 p = 0; p < k->phis.count; p++)
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++)
                v_at(b, k->phis.at[p]->in.at[e].value)->uses++;
        for (vinst *i = k->first; i; i = i->next)
            for (u32 s = 0; s < i->ns; s++)
                v_at(b, i->s[s])->uses++;
        if (k->term == TERM_CBR || k->term == TERM_RETM)
            v_at(b, k->cond)->uses++;
    }
}
/* Backwards, so that one pass frees most chains; phis that only feed each other stay. */
static void drop_dead(vbuild *b) {
    count_uses(b);
    for (bool again = true; again;) {
        again = false;
        for (u32 o = b->order.count; o-- > 0;) {
            vblock *k = b->blocks.at[b->order.at[o]];
            for (vinst *i = k->last, *prev; i; i = prev) {
                prev = i->prev;
                bool used = i->effect;
                for (u32 d = 0; d < i->nd; d++)
                    used |= v_at(b, i->d[d])->uses != 0;
                if (used)
                    continue;
                for (u32 s = 0; s < i->ns; s++)
                    v_at(b, i->s[s])->uses--;
                if (i->prev)
                    i->prev->next = i->next;
                else
                    k->first = i->next;
                if (i->next)
                    i->next->prev = i->prev;
                else
                    k->last = i->prev;
            }
            for (u32 p = 0; p < k->phis.count; p++) {
                vphi *phi = k->phis.at[p];
                if (v_at(b, phi->d)->uses)
                    continue;
                for (u32 e = 0; e < phi->in.count; e++)
                    v_at(b, phi->in.at[e].value)->uses--;
                k->phis.at[p--] = k->phis.at[--k->phis.count];
                again = true;
            }
        }
    }
}

/* A block of its own on each edge that needs phi copies and leaves a block with a choice. */
static void split_edges(vbuild *b) {
    u32 n = b->order.count;
    for (u32 o = 0; o < n; o++) {
        u32 to = b->order.at[o];
        vblock *t = b->blocks.at[to];
        for (u32 e = 0; e < t->preds.count && t->phis.count; e++) {
            vblock *k = b->blocks.at[t->preds.at[e]];
            if (k->order == NO || (k->term != TERM_CBR && k->term != TERM_RETM))
                continue;
            u32 mid = v_block(b, NULL);
            vblock *m = b->blocks.at[mid];
            m->reached = true;
            m->term = TERM_BR;
            m->succ[0] = to;
            m->in_region = k->term == TERM_CBR && (v_at(b, k->cond)->divergent || k->in_region);
            m->region_end = k->region_end;
            VEC_PUSH(b->a, &m->preds, t->preds.at[e]);
            k->succ[k->succ[0] != to] = mid;
            t->preds.at[e] = mid;
            for (u32 p = 0; p < t->phis.count; p++)
                t->phis.at[p]->in.at[e].pred = mid;
        }
    }
    order_blocks(b);
}

enum { MOST_BLOCKS = 1 << 14 }; /* what follows may take time by their square */
bool shape_kernel(vbuild *b) {
    retire_early(b);
    order_blocks(b);
    if (b->order.count > MOST_BLOCKS) {
        v_refuse(b, "more than 16384 blocks of code");
        return false;
    }
    drop_dead(b);
    split_edges(b);
    post_dominators(b);
    find_divergence(b);
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        for (vinst *i = k->first, *next; i; i = next) {
            next = i->next;
            shape_inst(b, i);
        }
    }
    drop_dead(b);
    return !b->failed;
}
