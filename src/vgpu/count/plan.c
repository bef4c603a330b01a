/* SPDX-License-Identifier: MIT */
/* What counting needs to know of a kernel before it runs: the instructions of each block by class and
 * place in the source, which words are memory accesses, and how many registers are alive at once.
 * The instructions are those left after constants folded and dead code went, since the GPU's own
 * compiler drops those too; sums that became part of an address are free as they are there.
 * Half floats: the virtual GPU computes in f32 and rounds; both together are one f16 instruction. */
#include "vgpu/decode/build.h"
#include "vgpu/count/count.h"

const count_class_info count_classes[CC_COUNT] = {
#define COUNT_CLASS(id, label, pipe, cycles, trust, what) {label, what, PIPE_##pipe, trust, cycles},
#include "vgpu/count/class.def"
#undef COUNT_CLASS
};
const struct count_total_info count_totals[CT_COUNT] = {
#define COUNT_TOTAL(name, what) {#name, what},
#include "vgpu/count/total.def"
#undef COUNT_TOTAL
};
u8 count_class_of(u16 op) {
    static const u8 of_row[VOP_COUNT] = {
#define OP_CLASS(row, cls) [VOP_##row] = CC_##cls + 1,
#include "vgpu/count/op.def"
#undef OP_CLASS
    };
    u16 row = op - vops[op].form;
    return of_row[row] ? of_row[row] - 1 : CC_COUNT;
}
bool count_is_access(u16 op) {
    return (op >= VOP_ld_b_s && op <= VOP_stl_d_p) || op == VOP_atom_w || op == VOP_atom_d ||
           op == VOP_xload || op == VOP_xstore;
}

/* ---- Classes of one block ---------------------------------------------------------------------- */
static bool rounds(u16 op) { return op == VOP_r16 || op == VOP_r16_s || op == VOP_rbf || op == VOP_rbf_s; }
/* The instruction whose result `i` only rounds, when it was made for the same AIR instruction. */
static vinst *rounded_by(vbuild *b, const vinst *i) {
    vinst *def = rounds(i->op) ? v_at(b, i->s[0])->def : NULL;
    return def && def->site == i->site && def->block == i->block ? def : NULL;
}
static bool shifts_little(vbuild *b, const vinst *i) {
    u16 row = i ? i->op - vops[i->op].form : 0;
    const vval *by = row == VOP_shl_w || row == VOP_shl_d ? v_at(b, i->s[1]) : NULL;
    return by && by->constant && by->bits >= 1 && by->bits <= 4;
}
static bool adds(u16 op) {
    u16 row = op - vops[op].form;
    return row == VOP_add_w || row == VOP_sub_w || row == VOP_add_d || row == VOP_sub_d;
}
/* Shifts by 1 to 4 whose every use is a sum: the GPU's adds shift an operand for free. Marks what they
 * make. */
static bool *fused_shifts(vbuild *b) {
    u32 *uses = ARENA_ARRAY(b->a, u32, b->vals.count + 1), *sums = ARENA_ARRAY(b->a, u32, b->vals.count + 1);
    bool *fused = ARENA_ARRAY(b->a, bool, b->vals.count + 1);
    for (u32 o = 0; o < b->order.count; o++) {
        vblock *k = b->blocks.at[b->order.at[o]];
        for (vinst *i = k->first; i; i = i->next)
            for (u32 s = 0; s < i->ns; s++) {
                uses[i->s[s]]++;
                sums[i->s[s]] += adds(i->op);
            }
        for (u32 p = 0; p < k->phis.count; p++)
            for (u32 e = 0; e < k->phis.at[p]->in.count; e++)
                uses[k->phis.at[p]->in.at[e].value]++;
    }
    for (u32 v = 0; v < b->vals.count; v++)
        fused[v] = uses[v] && uses[v] == sums[v] && v_at(b, v)->def && shifts_little(b, v_at(b, v)->def);
    return fused;
}
static u8 class_of(vbuild *b, const vinst *i, const bool *fused) {
    const char *what = b->sites.at[i->site].what;
    u8 cls = count_class_of(i->op);
    if (cls == CC_SHUFFLE && what && (strncmp(what, "air.simd_shuffle.", 17) == 0 ||
                                      strncmp(what, "air.quad_shuffle.", 17) == 0))
        return CC_PERMUTE;
    if (i->nd && fused[i->d[0]])
        return CC_FREE;
    if (i->op == VOP_xor_m && v_is(b, i->s[1], ~0u)) /* branches and selects take either sense */
        return CC_FREE;
    if (rounds(i->op) && rounded_by(b, i))
        return CC_FREE;
    if (cls == CC_ALU32 && i->next && rounds(i->next->op) && rounded_by(b, i->next) == i)
        return CC_ALU16;
    return cls == CC_COUNT ? CC_FREE : cls;
}
typedef struct planner {
    vbuild *b;
    arena *a;
    VEC(count_mix) mix;
    VEC(count_site) access;
    VEC(u32) branch, branch_block, branch_site;
    const bool *fused;
    double pipe[PIPE_COUNT];
} planner;
static void add(planner *p, u32 block, u32 site, u16 op, u8 cls) {
    p->pipe[count_classes[cls].pipe] += count_classes[cls].cycles;
    if (cls == CC_FREE)
        return;
    count_mix *last = p->mix.count ? &VEC_LAST(&p->mix) : NULL;
    if (last && last->block == block && last->site == site && last->cls == cls) {
        last->n++;
        return;
    }
    VEC_PUSH(p->a, &p->mix, ((count_mix){block, site, op, cls, 1}));
}
static u32 plan_block(planner *p, u32 order) {
    vbuild *b = p->b;
    vblock *k = b->blocks.at[b->order.at[order]];
    memset(p->pipe, 0, sizeof p->pipe);
    for (vinst *i = k->first; i; i = i->next) {
        add(p, order, i->site, i->op, class_of(b, i, p->fused));
        if (count_is_access(i->op)) {
            bool atomic = i->op == VOP_atom_w || i->op == VOP_atom_d;
            u16 group = (u16)((i->op - VOP_ld_b_s) % 10);
            bool store = atomic || i->op == VOP_xstore ||
                         (i->op != VOP_xload && ((group >= 3 && group <= 5) || group >= 8));
            VEC_PUSH(p->a, &p->access, ((count_site){i->site, store, atomic}));
        }
    }
    if (k->term == TERM_CBR || k->term == TERM_RETM) {
        add(p, order, k->site, VOP_cbr, CC_BRANCH);
        VEC_PUSH(p->a, &p->branch_block, order);
        VEC_PUSH(p->a, &p->branch_site, k->site);
        if (v_at(b, k->cond)->divergent)
            VEC_PUSH(p->a, &p->branch, k->site);
    }
    double simple = p->pipe[PIPE_SIMPLE] + p->pipe[PIPE_MATRIX] + p->pipe[PIPE_MEMORY] + p->pipe[PIPE_CONTROL];
    return (u32)(MAX(simple, p->pipe[PIPE_COMPLEX]) * 16);
}

/* ---- Registers --------------------------------------------------------------------------------- */
static u32 halfregs_of(vbuild *b, const vval *x) {
    switch (x->cls) {
    case CLS_M: return 1;
    case CLS_D: case CLS_X: return 4;
    default: {
        u16 op = x->def ? x->def->op : VOP_mov_w;
        bool half = x->def && (rounds(op) || (op >= VOP_ld_h_s && op <= VOP_ld_g_p));
        return half ? 1 : 2;
    }
    }
}
/* The most 16-bit registers alive at one place, by the intervals that registers were given for.
 * Arguments are in uniform registers, which are apart. */
static u32 most_alive(vbuild *b) {
    u32 positions = b->blocks.at[b->order.at[b->order.count - 1]]->last_pos + 4;
    i32 *change = ARENA_ARRAY(b->a, i32, positions + 2), now = 0, most = 0;
    for (u32 v = 0; v < b->vals.count; v++) {
        vval *x = v_at(b, v);
        if (x->constant || !x->end || (x->param && !x->divergent))
            continue;
        i32 n = (i32)halfregs_of(b, x);
        change[x->start] += n;
        change[MIN(x->end, positions)] -= n;
    }
    for (u32 i = 0; i < positions; i++) {
        now += change[i];
        most = MAX(most, now);
    }
    return (u32)most;
}

bool count_plan_kernel(vbuild *b) {
    vgpu_kernel *k = b->k;
    planner p = {.b = b, .a = b->a, .fused = fused_shifts(b)};
    count_plan *plan = ARENA_NEW(k->arena, count_plan);
    plan->n_blocks = b->order.count;
    plan->block_weight = ARENA_ARRAY(k->arena, u32, b->order.count);
    for (u32 o = 0; o < b->order.count; o++)
        plan->block_weight[o] = plan_block(&p, o);
    plan->n_mix = p.mix.count;
    plan->mix = arena_dup(k->arena, p.mix.at, p.mix.count * sizeof *p.mix.at);
    plan->n_access = p.access.count;
    plan->access = arena_dup(k->arena, p.access.at, p.access.count * sizeof *p.access.at);
    plan->n_branch = p.branch.count;
    plan->branch = arena_dup(k->arena, p.branch.at, p.branch.count * sizeof(u32));
    plan->n_branch_block = p.branch_block.count;
    plan->branch_block = arena_dup(k->arena, p.branch_block.at, p.branch_block.count * sizeof(u32));
    plan->branch_site = arena_dup(k->arena, p.branch_site.at, p.branch_site.count * sizeof(u32));
    plan->constant_seg = ARENA_ARRAY(k->arena, bool, k->n_segs + 1);
    plan->constant_seg[SEG_CONST] = true;
    for (u32 i = 0; i < k->n_params; i++)
        if (k->params[i].kind == VPARAM_BUFFER && k->params[i].space == 2)
            plan->constant_seg[k->params[i].seg] = true;
    plan->halfregs = most_alive(b);
    k->count = plan;
    return true;
}
