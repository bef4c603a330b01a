/* SPDX-License-Identifier: MIT */
/* AIR functions to the decoder's form: the walk over blocks, phis, calls inlined in place.
 * Blocks are visited in reverse postorder and only when a branch that remains reaches them, so code
 * that function constants exclude is not decoded. Phis are filled in when all values exist. */
#include "vgpu/decode/build.h"

static const src_loc *inst_loc(const air_inst *i) { return i->loc; }
static void set_site(vbuild *b, const vinstance *in, const air_inst *i) {
    const char *what = i->op == AIR_LOAD ? "load" : i->op == AIR_STORE ? "store" : NULL;
    if (i->op == AIR_CALL && i->ops[0]->name)
        what = i->ops[0]->name;
    vsite s = {inst_loc(i), what ? arena_str(b->k->arena, what, strlen(what)) : NULL,
               in->is_kernel ? i->v.id - in->f->n_args : VGPU_NO_BLOCK};
    if (s.loc)
        s.loc = arena_dup(b->k->arena, s.loc, sizeof *s.loc);
    if (s.loc && s.loc->file)
        ((src_loc *)s.loc)->file = arena_str(b->k->arena, s.loc->file, strlen(s.loc->file));
    if (s.loc)
        ((src_loc *)s.loc)->caller = NULL;
    VEC_PUSH(b->a, &b->sites, s);
    b->site = b->sites.count - 1;
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
        u32 n = type_comps(i->ops[0]->type), *v = value_of(b, in, i->ops[0]);
        for (u32 c = 0; c < n; c++)
            VEC_PUSH(b->a, &in->returns[c]->in, ((vedge){b->cur, v[c]}));
    }
    v_br(b, in->exit);
}
static void decode_phi(vbuild *b, vinstance *in, air_inst *i) {
    u32 n = type_comps(i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
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
        if (!b->budget--) {
            v_refuse(b, "a kernel of this size (2 million instructions after inlining)");
            return;
        }
        set_site(b, in, i);
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
        for (u32 e = 0; e < k->preds.count; e++) {
            const air_block *from = b->blocks.at[k->preds.at[e]]->air;
            const air_inst *a = phi->air;
            u32 j = 0;
            while (j < a->n_blocks && a->blocks[j] != from)
                j++;
            if (j == a->n_blocks) {
                v_refuse(b, "a phi that misses a predecessor");
                return;
            }
            b->cur = k->preds.at[e]; /* a zero matrix is made there */
            u32 *v = value_of(b, in, a->ops[j]);
            VEC_PUSH(b->a, &phi->in, ((vedge){k->preds.at[e], v[phi->comp]}));
        }
    }
}
bool decode_function(vbuild *b, vinstance *in) {
    air_func *f = (air_func *)in->f;
    air_block **order = ARENA_ARRAY(b->a, air_block *, f->n_blocks);
    u32 n = block_order(b, f, order);
    in->block_of = ARENA_ARRAY(b->a, u32, f->n_blocks);
    for (u32 i = 0; i < n; i++)
        in->block_of[order[i]->id] = v_block(b, order[i]);
    u32 entry = in->block_of[f->first->id];
    if (in->is_kernel) {
        b->blocks.at[entry]->reached = true;
    } else {
        v_br(b, entry);
    }
    bool *done = ARENA_ARRAY(b->a, bool, n);
    for (bool again = true; again && !b->failed;) {
        again = false;
        for (u32 i = 0; i < n && !b->failed; i++) {
            if (done[i] || !b->blocks.at[in->block_of[order[i]->id]]->reached)
                continue;
            done[i] = again = true;
            decode_block(b, in, order[i]);
        }
    }
    for (u32 i = 0; i < n && !b->failed; i++)
        if (done[i])
            resolve_phis(b, in, in->block_of[order[i]->id]);
    return !b->failed;
}

/* A call of a function with a body: its blocks in place of the call. */
bool decode_inline(vbuild *b, vinstance *in, air_inst *i, air_func *f) {
    u32 depth = 0;
    for (vinstance *p = in; p; p = p->parent)
        depth++;
    if (depth > 24) {
        v_refuse(b, "calls nested deeper than 24 (recursion)");
        return false;
    }
    u32 caller_site = b->site, n_vals = 0;
    for (air_block *k = f->last; k && !n_vals; k = k->prev)
        if (k->last)
            n_vals = k->last->v.id + 1;
    vinstance sub = {.parent = in, .f = f, .vals = ARENA_ARRAY(b->a, u32 *, n_vals + 1)};
    for (u32 a = 0; a < f->n_args; a++)
        sub.vals[f->args[a].id] = value_of(b, in, i->ops[a + 1]);
    sub.exit = v_block(b, b->blocks.at[b->cur]->air);
    u32 n = type_comps(i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
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
    value_set(b, in, i, comps);
    return true;
}
