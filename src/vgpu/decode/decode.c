/* SPDX-License-Identifier: MIT */
/* AIR functions to the decoder's form: the walk over blocks, phis, calls inlined in place.
 * Blocks are visited in reverse postorder and only when a branch that remains reaches them, so code
 * that function constants exclude is not decoded. Phis are filled in when all values exist. */
#include "vgpu/decode/build.h"

enum { MOST_NAME = 120 };
static void set_site(vbuild *b, const vinstance *in, const air_inst *i) {
    const char *what = i->op == AIR_LOAD ? "load" : i->op == AIR_STORE ? "store" : NULL;
    if (i->op == AIR_CALL && i->ops[0]->name)
        what = i->ops[0]->name;
    vsite s = {i->loc, what ? arena_str(b->k->arena, what, strnlen(what, MOST_NAME)) : NULL,
               in->is_kernel ? i->v.id - in->f->n_args : VGPU_NO_BLOCK};
    if (s.loc) {
        src_loc *own = arena_dup(b->k->arena, s.loc, sizeof *s.loc);
        own->file = own->file ? arena_str(b->k->arena, own->file, strlen(own->file)) : NULL;
        own->caller = NULL;
        s.loc = own;
    }
    VEC_PUSH(b->a, &b->sites, s);
    b->site = b->sites.count - 1;
}
bool spend(vbuild *b, u64 work) {
    if (work > b->budget)
        v_refuse(b, "more code than it decodes (functions that are called count each time)");
    b->budget -= MIN(work, b->budget);
    return !b->failed;
}
/* Pays for an instruction, and refuses types that have too many parts, before anything looks at them. */
static bool afford(vbuild *b, const air_inst *i) {
    u64 work = 1 + (u64)type_comps(b, i->v.type) * (i->op == AIR_PHI ? i->n_ops : 1);
    for (u32 k = 0; k < i->n_ops; k++)
        if (i->ops[k]->kind != AIR_V_MD)
            work += type_comps(b, i->ops[k]->type);
    return spend(b, work);
}
u32 number_function(air_func *f) {
    u32 id = 0, block = 0;
    for (u32 i = 0; i < f->n_args; i++)
        f->args[i].id = id++;
    for (air_block *k = f->first; k; k = k->next) {
        k->id = block++;
        for (air_inst *i = k->first; i; i = i->next)
            i->v.id = id++;
    }
    return id;
}
/* Reverse postorder, without recursion. */
static u32 block_order(vbuild *b, const air_func *f, air_block **out) {
    struct frame { air_block *k; u32 next; } *stack = ARENA_ARRAY(b->a, struct frame, f->n_blocks + 1);
    bool *seen = ARENA_ARRAY(b->a, bool, f->n_blocks);
    air_block **post = ARENA_ARRAY(b->a, air_block *, f->n_blocks);
    u32 n = 0, depth = 0;
    stack[depth++] = (struct frame){f->first, 0};
    seen[f->first->id] = true;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        air_inst *t = top->k->last;
        u32 count = t ? t->n_blocks : 0;
        if (top->next < count) {
            air_block *to = t->blocks[count - 1 - top->next++];
            if (!seen[to->id]) {
                seen[to->id] = true;
                stack[depth++] = (struct frame){to, 0};
            }
            continue;
        }
        post[n++] = top->k;
        depth--;
    }
    for (u32 i = 0; i < n; i++)
        out[i] = post[n - 1 - i];
    return n;
}
static void decode_switch(vbuild *b, vinstance *in, air_inst *i) {
    u32 v = value1(b, in, i->ops[0]);
    const air_block *from = b->blocks.at[b->cur]->air;
    for (u32 c = 1; c < i->n_ops; c++) {
        u32 k = value1(b, in, i->ops[c]);
        u32 eq = v_op2(b, v_at(b, v)->cls == CLS_D ? VOP_eq_d : VOP_eq_w, v, k);
        u32 next = v_block(b, from);
        v_cbr(b, eq, in->block_of[i->blocks[c]->id], next);
        if (!b->blocks.at[next]->reached)
            return;
        b->cur = next;
    }
    v_br(b, in->block_of[i->blocks[0]->id]);
}
static void decode_ret(vbuild *b, vinstance *in, air_inst *i) {
    if (in->is_kernel) {
        v_ret(b);
        return;
    }
    if (i->n_ops) {
        u32 n = type_comps(b, i->ops[0]->type), *v = value_of(b, in, i->ops[0]);
        for (u32 c = 0; c < n; c++)
            VEC_PUSH(b->a, &in->returns[c]->in, ((vedge){b->cur, v[c]}));
    }
    v_br(b, in->exit);
}
static void decode_phi(vbuild *b, vinstance *in, air_inst *i) {
    u32 n = type_comps(b, i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
    for (u32 c = 0; c < n; c++) {
        vphi *p = ARENA_NEW(b->a, vphi);
        comps[c] = p->d = v_new(b, type_comp(b, i->v.type, c).cls);
        v_at(b, p->d)->block = b->cur;
        p->air = i;
        p->comp = c;
        VEC_PUSH(b->a, &b->blocks.at[b->cur]->phis, p);
    }
    value_set(b, in, i, comps);
}
static void decode_block(vbuild *b, vinstance *in, air_block *k) {
    b->cur = in->block_of[k->id];
    for (air_inst *i = k->first; i && !b->failed; i = i->next) {
        set_site(b, in, i);
        if (!afford(b, i))
            return;
        switch (i->op) {
        case AIR_PHI: decode_phi(b, in, i); break;
        case AIR_BR:
            if (i->n_ops)
                v_cbr(b, value1(b, in, i->ops[0]), in->block_of[i->blocks[0]->id],
                      in->block_of[i->blocks[1]->id]);
            else
                v_br(b, in->block_of[i->blocks[0]->id]);
            break;
        case AIR_SWITCH: decode_switch(b, in, i); break;
        case AIR_RET: decode_ret(b, in, i); break;
        case AIR_UNREACHABLE: b->blocks.at[b->cur]->term = TERM_TRAP; break;
        default: decode_inst(b, in, i);
        }
    }
}
/* Incoming values of the phis of one AIR block, per edge that remains. */
static void resolve_phis(vbuild *b, vinstance *in, u32 block) {
    vblock *k = b->blocks.at[block];
    for (u32 p = 0; p < k->phis.count; p++) {
        vphi *phi = k->phis.at[p];
        if (!phi->air)
            continue;
        for (u32 j = 0; j < phi->air->n_blocks; j++)
            in->from_at[phi->air->blocks[j]->id] = j;
        for (u32 e = 0; e < k->preds.count; e++) {
            const air_block *from = b->blocks.at[k->preds.at[e]]->air;
            const air_inst *a = phi->air;
            u32 j = from && from->func == in->f ? in->from_at[from->id] : a->n_blocks;
            if (j >= a->n_blocks || a->blocks[j] != from) {
                v_refuse(b, "a phi that misses a predecessor");
                return;
            }
            b->cur = k->preds.at[e]; /* a zero matrix is made there */
            u32 v = value_of(b, in, a->ops[j])[phi->comp];
            if (v_at(b, v)->cls != v_at(b, phi->d)->cls)
                v_refuse(b, "a value that its type does not fit");
            VEC_PUSH(b->a, &phi->in, ((vedge){k->preds.at[e], v}));
        }
    }
}
/* Blocks that wait, first in reverse postorder on top: a binary heap. */
typedef VEC(u32) heap;
static void heap_push(vbuild *b, heap *h, u32 x) {
    VEC_PUSH(b->a, h, x);
    for (u32 i = h->count - 1; i && h->at[(i - 1) / 2] > x; i = (i - 1) / 2) {
        h->at[i] = h->at[(i - 1) / 2];
        h->at[(i - 1) / 2] = x;
    }
}
static u32 heap_pop(heap *h) {
    u32 top = h->at[0], last = VEC_POP(h);
    for (u32 i = 0, c; h->count && (c = 2 * i + 1) < h->count + 1; i = c) {
        if (c + 1 < h->count && h->at[c + 1] < h->at[c])
            c++;
        if (c >= h->count || h->at[c] >= last) {
            h->at[i] = last;
            break;
        }
        h->at[i] = h->at[c];
        h->at[c] = last;
    }
    return top;
}
bool decode_function(vbuild *b, vinstance *in) {
    air_func *f = (air_func *)in->f;
    if (!spend(b, f->n_blocks))
        return false;
    air_block **order = ARENA_ARRAY(b->a, air_block *, f->n_blocks);
    u32 n = block_order(b, f, order), *place = ARENA_ARRAY(b->a, u32, f->n_blocks);
    in->block_of = ARENA_ARRAY(b->a, u32, f->n_blocks);
    in->from_at = ARENA_ARRAY(b->a, u32, f->n_blocks);
    for (u32 i = 0; i < n; i++) {
        in->block_of[order[i]->id] = v_block(b, order[i]);
        place[order[i]->id] = i;
    }
    u32 entry = in->block_of[f->first->id];
    if (in->is_kernel)
        b->blocks.at[entry]->reached = true;
    else
        v_br(b, entry);
    bool *queued = ARENA_ARRAY(b->a, bool, n);
    heap waiting = {0};
    heap_push(b, &waiting, 0);
    queued[0] = true;
    while (waiting.count && !b->failed) {
        air_block *k = order[heap_pop(&waiting)];
        decode_block(b, in, k);
        for (u32 t = 0; k->last && t < k->last->n_blocks; t++) {
            u32 at = place[k->last->blocks[t]->id];
            if (!queued[at] && b->blocks.at[in->block_of[order[at]->id]]->reached) {
                queued[at] = true;
                heap_push(b, &waiting, at);
            }
        }
    }
    for (u32 i = 0; i < n && !b->failed; i++)
        if (queued[i])
            resolve_phis(b, in, in->block_of[order[i]->id]);
    return !b->failed;
}

static bool too_deep(vbuild *b, const vinstance *in, const air_func *f) {
    u32 depth = 0, same = 0;
    for (const vinstance *p = in; p; p = p->parent) {
        depth++;
        same += p->f == f;
    }
    if (depth > 100)
        v_refuse(b, "calls nested deeper than 100");
    return depth > 100 || same > VGPU_RECURSION;
}
/* Whether it may take thread memory of a size that is not constant, which its caller gives back. */
static bool takes_stack(const air_func *f) {
    for (const air_block *k = f->first; k; k = k->next)
        for (const air_inst *i = k->first; i; i = i->next)
            if (i->op == AIR_ALLOCA && i->ops[0]->kind != AIR_V_CONST)
                return true;
    return false;
}
/* A call of a function with a body: its blocks in place of the call. Recursion is unrolled to a depth
 * that no kernel known reaches; lanes that go deeper end the launch. */
bool decode_inline(vbuild *b, vinstance *in, air_inst *i, air_func *f) {
    if (too_deep(b, in, f)) {
        vinst *trap = v_emit(b, VOP_trap, 0, NULL, 0, NULL);
        trap->x = 1;
        trap->effect = true;
        return !b->failed;
    }
    u32 caller_site = b->site, n_vals = 0;
    for (air_block *k = f->last; k && !n_vals; k = k->prev)
        if (k->last)
            n_vals = k->last->v.id + 1;
    if (!spend(b, n_vals))
        return false;
    bool stack = takes_stack(f);
    u32 top = stack ? stack_top(b) : NO;
    vinstance sub = {.parent = in, .f = f, .vals = ARENA_ARRAY(b->a, u32 *, n_vals + 1)};
    for (u32 a = 0; a < f->n_args; a++)
        sub.vals[f->args[a].id] = value_of(b, in, i->ops[a + 1]);
    sub.exit = v_block(b, b->blocks.at[b->cur]->air);
    u32 n = type_comps(b, i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
    sub.returns = ARENA_ARRAY(b->a, vphi *, n + 1);
    for (u32 c = 0; c < n; c++) {
        vphi *p = ARENA_NEW(b->a, vphi);
        comps[c] = p->d = v_new(b, type_comp(b, i->v.type, c).cls);
        v_at(b, p->d)->block = sub.exit;
        sub.returns[c] = p;
        VEC_PUSH(b->a, &b->blocks.at[sub.exit]->phis, p);
    }
    if (!decode_function(b, &sub))
        return false;
    b->cur = sub.exit;
    b->site = caller_site;
    if (stack)
        stack_set_top(b, top);
    value_set(b, in, i, comps);
    return true;
}
