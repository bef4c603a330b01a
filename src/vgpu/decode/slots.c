/* SPDX-License-Identifier: MIT */
/* Registers by linear scan over the final block order. Each value holds its register from its first
 * to its last position, holes included. Three pools: single slots, pairs, scalars. A result may take
 * the register of an operand that ends there; phis and what flows into them prefer one register.
 * A value that all lanes share has one copy for lanes that are in different places, so it keeps its
 * register to the end of every divergent region its life touches. */
#include "vgpu/decode/build.h"

enum { POOL_W, POOL_D, POOL_S, POOLS };
typedef struct pool {
    VEC(u32) free;
    VEC(u8) used;
} pool;

static u32 pool_of(const vval *v) {
    if (v->scalar || v->cls == CLS_M)
        return POOL_S;
    return v->cls == CLS_W ? POOL_W : POOL_D;
}
static u32 succ_count(const vblock *k) {
    return k->term == TERM_CBR ? 2 : k->term == TERM_BR || k->term == TERM_RETM ? 1 : 0;
}
static void extend(vbuild *b, u32 v, u32 from, u32 to) {
    vval *x = v_at(b, v);
    x->start = MIN(x->start, from);
    x->end = MAX(x->end, to);
}
static void number(vbuild *b) {
    u32 pos = 2;
    for (u32 v = 0; v < b->vals.count; v++) {
        v_at(b, v)->start = NO;
        v_at(b, v)->end = 0;
    }
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        k->first_pos = pos;
        pos += 2;
        for (vinst *i = k->first; i; i = i->next, pos += 2)
            i->pos = pos;
        k->last_pos = pos;
        pos += 2;
    }
}

/* ---- Liveness of values that leave their block ------------------------------------------------------ */
typedef struct live { u64 *in, *out, *use, *def; u32 words; } live;
static u32 cross_number(vbuild *b, u32 *index, u32 **list) {
    u32 n = 0;
    for (u32 v = 0; v < b->vals.count; v++)
        index[v] = NO;
    *list = ARENA_ARRAY(b->a, u32, b->vals.count);
    for (u32 o = 0; o < b->order.count; o++) {
        u32 at = b->order.at[o];
        vblock *k = b->blocks.at[at];
#define CROSS(v)                                                                                   \
    do {                                                                                           \
        u32 cross_v = (v);                                                                         \
        if (!v_at(b, cross_v)->constant && index[cross_v] == NO) {                                 \
            (*list)[n] = cross_v;                                                                  \
            index[cross_v] = n++;                                                                  \
        }                                                                                          \
    } while (0)
        for (u32 p = 0; p < k->phis.count; p++) {
            CROSS(k->phis.at[p]->d);
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++)
                CROSS(k->phis.at[p]->in.at[e].value);
        }
        for (vinst *i = k->first; i; i = i->next)
            for (u32 s = 0; s < i->ns; s++)
                if (v_at(b, i->s[s])->block != at)
                    CROSS(i->s[s]);
        if ((k->term == TERM_CBR || k->term == TERM_RETM) && v_at(b, k->cond)->block != at)
            CROSS(k->cond);
#undef CROSS
    }
    return n;
}
#define BIT_SET(set, i) ((set)[(i) / 64] |= 1ull << ((i) % 64))
#define BIT_GET(set, i) ((set)[(i) / 64] >> ((i) % 64) & 1)
enum { MOST_LIVE_WORDS = 1 << 24 }; /* 128 MB, four times */
static bool find_live(vbuild *b, const u32 *index, u32 n, live *l) {
    u32 blocks = b->order.count, words = (n + 63) / 64;
    l->words = words;
    if ((u64)blocks * words > MOST_LIVE_WORDS) {
        v_refuse(b, "more code than it decodes (blocks times values that cross them)");
        return false;
    }
    l->in = ARENA_ARRAY(b->a, u64, (size_t)blocks * words + 1);
    l->out = ARENA_ARRAY(b->a, u64, (size_t)blocks * words + 1);
    l->use = ARENA_ARRAY(b->a, u64, (size_t)blocks * words + 1);
    l->def = ARENA_ARRAY(b->a, u64, (size_t)blocks * words + 1);
    for (u32 o = 0; o < blocks; o++) {
        u32 at = b->order.at[o];
        vblock *k = b->blocks.at[at];
        u64 *use = l->use + (size_t)o * words, *def = l->def + (size_t)o * words;
        for (u32 p = 0; p < k->phis.count; p++) {
            BIT_SET(def, index[k->phis.at[p]->d]);
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++) {
                u32 v = k->phis.at[p]->in.at[e].value;
                u32 from = b->blocks.at[k->phis.at[p]->in.at[e].pred]->order;
                if (!v_at(b, v)->constant && from != NO)
                    BIT_SET(l->out + (size_t)from * words, index[v]);
            }
        }
        for (vinst *i = k->first; i; i = i->next) {
            for (u32 s = 0; s < i->ns; s++)
                if (index[i->s[s]] != NO && v_at(b, i->s[s])->block != at)
                    BIT_SET(use, index[i->s[s]]);
            for (u32 d = 0; d < i->nd; d++)
                if (index[i->d[d]] != NO)
                    BIT_SET(def, index[i->d[d]]);
        }
        if ((k->term == TERM_CBR || k->term == TERM_RETM) && index[k->cond] != NO &&
            v_at(b, k->cond)->block != at)
            BIT_SET(use, index[k->cond]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (u32 o = blocks; o-- > 0;) {
            vblock *k = b->blocks.at[b->order.at[o]];
            u64 *in = l->in + (size_t)o * words, *out = l->out + (size_t)o * words;
            for (u32 s = 0; s < succ_count(k); s++) {
                const u64 *from = l->in + (size_t)b->blocks.at[k->succ[s]]->order * words;
                for (u32 w = 0; w < words; w++)
                    out[w] |= from[w];
            }
            for (u32 w = 0; w < words; w++) {
                u64 x = l->use[(size_t)o * words + w] | (out[w] & ~l->def[(size_t)o * words + w]);
                changed |= x != in[w];
                in[w] = x;
            }
        }
    }
    return true;
}
static bool find_intervals(vbuild *b) {
    u32 *index = ARENA_ARRAY(b->a, u32, b->vals.count), *list;
    live l;
    u32 n = cross_number(b, index, &list);
    number(b);
    if (!find_live(b, index, n, &l))
        return false;
    for (u32 o = 0; o < b->order.count; o++) {
        u32 at = b->order.at[o];
        vblock *k = b->blocks.at[at];
        for (u32 w = 0; w < l.words; w++) {
            u64 in = l.in[(size_t)o * l.words + w], out = l.out[(size_t)o * l.words + w];
            for (; in; in &= in - 1)
                extend(b, list[w * 64 + (u32)__builtin_ctzll(in)], k->first_pos, k->first_pos);
            for (; out; out &= out - 1)
                extend(b, list[w * 64 + (u32)__builtin_ctzll(out)], k->last_pos, k->last_pos);
        }
        for (u32 p = 0; p < k->phis.count; p++) {
            extend(b, k->phis.at[p]->d, k->first_pos, k->first_pos + 1);
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++) /* constants cross no block: seen here only */
                if (v_at(b, k->phis.at[p]->in.at[e].value)->constant)
                    extend(b, k->phis.at[p]->in.at[e].value, k->first_pos, k->first_pos);
        }
        for (vinst *i = k->first; i; i = i->next) {
            for (u32 s = 0; s < i->ns; s++)
                extend(b, i->s[s], i->pos, i->pos);
            for (u32 d = 0; d < i->nd; d++)
                extend(b, i->d[d], i->pos, i->pos + 1);
        }
        if (k->term == TERM_CBR || k->term == TERM_RETM)
            extend(b, k->cond, k->last_pos, k->last_pos);
    }
    for (u32 v = 0; v < b->vals.count; v++)
        if (v_at(b, v)->param && v_at(b, v)->end)
            v_at(b, v)->start = 0;
    /* shared values through regions */
    u32 *reach = ARENA_ARRAY(b->a, u32, b->order.count + 1), top = 0;
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        top = MAX(top, MAX(o, k->in_region ? k->region_end : o));
        reach[o] = MIN(top, b->order.count - 1);
    }
    u32 *block_at = ARENA_ARRAY(b->a, u32, b->blocks.at[b->order.at[b->order.count - 1]]->last_pos + 3);
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        for (u32 p = k->first_pos; p <= k->last_pos + 1; p++)
            block_at[p] = o;
    }
    for (u32 v = 0; v < b->vals.count; v++) {
        vval *x = v_at(b, v);
        if (!x->scalar || x->constant || !x->end || (index[v] == NO && !x->param))
            continue;
        for (u32 o = block_at[x->end];;) {
            u32 to = reach[o];
            if (to <= o)
                break;
            x->end = MAX(x->end, b->blocks.at[b->order.at[to]]->last_pos);
            o = to;
        }
    }
    return true;
}

/* ---- The scan ------------------------------------------------------------------------------------------ */
static i32 take(vbuild *b, pool *p, i32 hint, i32 second) {
    if (hint < 0 || (u32)hint >= p->used.count || p->used.at[hint])
        hint = second;
    if (hint >= 0 && (u32)hint < p->used.count && !p->used.at[hint]) {
        p->used.at[hint] = 1;
        return hint;
    }
    while (p->free.count) {
        u32 s = VEC_POP(&p->free);
        if (!p->used.at[s]) {
            p->used.at[s] = 1;
            return (i32)s;
        }
    }
    VEC_PUSH(b->a, &p->used, 1);
    return (i32)p->used.count - 1;
}
static void link_phis(vbuild *b, i32 *partner) {
    for (u32 v = 0; v < b->vals.count; v++)
        partner[v] = -1;
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        for (u32 p = 0; p < k->phis.count; p++)
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++) {
                u32 v = k->phis.at[p]->in.at[e].value, d = k->phis.at[p]->d;
                if (v_at(b, v)->constant || pool_of(v_at(b, v)) != pool_of(v_at(b, d)))
                    continue;
                partner[v] = (i32)d;
                if (partner[d] < 0)
                    partner[d] = (i32)v;
            }
    }
}
bool slots_kernel(vbuild *b) {
    vgpu_kernel *k = b->k;
    pool pools[POOLS] = {0};
    if (!find_intervals(b))
        return false;
    u32 positions = b->blocks.at[b->order.at[b->order.count - 1]]->last_pos + 4;
    u32 *starts = ARENA_ARRAY(b->a, u32, positions), *ends = ARENA_ARRAY(b->a, u32, positions);
    u32 *next_start = ARENA_ARRAY(b->a, u32, b->vals.count), *next_end = ARENA_ARRAY(b->a, u32, b->vals.count);
    i32 *partner = ARENA_ARRAY(b->a, i32, b->vals.count);
    link_phis(b, partner);
    memset(starts, 0xFF, positions * sizeof *starts);
    memset(ends, 0xFF, positions * sizeof *ends);
    VEC(u64) consts = {0};
    for (u32 v = b->vals.count; v-- > 0;) {
        vval *x = v_at(b, v);
        if (x->constant || !x->end)
            continue;
        next_start[v] = starts[x->start];
        starts[x->start] = v;
        next_end[v] = ends[x->end];
        ends[x->end] = v;
    }
    for (u32 pos = 0; pos < positions; pos++) {
        for (u32 v = ends[pos]; v != NO; v = next_end[v]) {
            pool *p = &pools[pool_of(v_at(b, v))];
            p->used.at[v_at(b, v)->slot] = 0;
            VEC_PUSH(b->a, &p->free, (u32)v_at(b, v)->slot);
        }
        for (u32 v = starts[pos]; v != NO; v = next_start[v]) {
            i32 hint = partner[v] >= 0 ? v_at(b, (u32)partner[v])->slot : -1;
            const vinst *def = v_at(b, v)->def;
            i32 second = def && def->op == VOP_xmma ? v_at(b, def->s[2])->slot : -1; /* sums stay */
            v_at(b, v)->slot = take(b, &pools[pool_of(v_at(b, v))], hint, second);
        }
    }
    for (u32 v = 0; v < b->vals.count; v++)
        if (v_at(b, v)->constant && v_at(b, v)->end) {
            v_at(b, v)->slot = (i32)consts.count;
            VEC_PUSH(b->a, &consts, v_at(b, v)->bits);
        }
    /* files: wide = single slots, one spare, pairs, one spare pair; scalar = constants, rest, spare */
    u32 w = pools[POOL_W].used.count, d = pools[POOL_D].used.count, s = pools[POOL_S].used.count;
    k->n_wide = w + 1 + 2 * (d + 1);
    k->n_scalar_consts = consts.count;
    k->n_scalar = consts.count + s + 1;
    if (k->n_wide > 65000 || k->n_scalar > 65000) {
        diag_at(b->ctx, NULL, TM3002, k->name, k->n_wide > 65000 ? "more than 65000 lane" : "more than 65000 shared");
        b->failed = true;
        return false;
    }
    for (u32 v = 0; v < b->vals.count; v++) {
        vval *x = v_at(b, v);
        if (x->slot < 0 || x->constant)
            continue;
        u32 p = pool_of(x);
        x->slot = p == POOL_S ? x->slot + (i32)consts.count : p == POOL_D ? (i32)(w + 1) + 2 * x->slot : x->slot;
    }
    k->scalar_consts = ARENA_ARRAY(k->arena, u64, consts.count + 1);
    if (consts.count)
        memcpy(k->scalar_consts, consts.at, consts.count * sizeof(u64));
    for (u32 v = 0; v < b->vals.count; v++)
        if (v_at(b, v)->param && v_at(b, v)->slot >= 0)
            k->params[v_at(b, v)->param_number].reg = v_at(b, v)->slot;
    k->spare_w = (u16)w;
    k->spare_d = (u16)(w + 1 + 2 * d);
    k->spare_s = (u16)(k->n_scalar - 1);
    return true;
}
