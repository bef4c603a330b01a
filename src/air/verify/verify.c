/* SPDX-License-Identifier: MIT */
/* What an executor or writer relies on: each block ends in its only terminator, phis come first and
 * match the edges, operands have the types their instruction needs, every use is dominated by its
 * definition. The checks per operation are inst.c's. The first fault of a function ends it. */
#include "air/verify/verify.h"

tm_status verify_fail(air_verifier *v, const char *what) {
    u32 block = 0, inst = 0;
    const src_loc *loc = NULL;
    if (v->at) {
        for (const air_block *b = v->at->block->prev; b; b = b->prev)
            block++;
        for (const air_inst *i = v->at->prev; i; i = i->prev)
            inst++;
        loc = v->at->loc;
        what = arena_printf(v->m->ctx->arena, "%s (block %u, instruction %u)", what, block, inst);
    }
    return diag_at(v->m->ctx, loc, TM4010, v->func ? v->func->v.name : v->m->source_name, what);
}

static bool is_terminator(const air_inst *i) {
    return i->op == AIR_BR || i->op == AIR_SWITCH || i->op == AIR_RET || i->op == AIR_UNREACHABLE;
}

/* Shape of blocks; numbers the instructions. */
static tm_status check_blocks(air_verifier *v) {
    u32 n = 0;
    for (air_block *b = v->func->first; b; b = b->next) {
        v->at = NULL;
        if (b->func != v->func || !b->first)
            return verify_fail(v, "a block is empty or belongs to another function");
        bool phis = true;
        for (air_inst *i = b->first; i; i = i->next) {
            v->at = i;
            i->v.id = n++;
            phis = phis && i->op == AIR_PHI;
            if (i->block != b)
                return verify_fail(v, "an instruction is listed in a block that is not its own");
            if (i->op == AIR_PHI && !phis)
                return verify_fail(v, "a phi stands behind another instruction");
            if (is_terminator(i) != (i == b->last))
                return verify_fail(v, "a block must end in its only terminator");
            for (u32 k = 0; k < i->n_blocks; k++)
                if (!i->blocks[k] || i->blocks[k]->func != v->func)
                    return verify_fail(v, "a target block belongs to another function");
            if (i == b->last)
                for (u32 k = 0; k < i->n_blocks; k++)
                    if (i->blocks[k] == v->func->first)
                        return verify_fail(v, "the entry block has a predecessor");
        }
    }
    return 0;
}

static tm_status check_operand(air_verifier *v, const air_inst *i, const air_value *op) {
    if (!op || !op->type)
        return verify_fail(v, "an operand is missing");
    if (op->kind == AIR_V_INST && ((const air_inst *)op)->block->func != v->func)
        return verify_fail(v, "an operand is defined in another function");
    if (op->kind == AIR_V_ARG && (op < v->func->args || op >= v->func->args + v->func->n_args))
        return verify_fail(v, "an operand is another function's argument");
    if (op->type->kind == AIR_VOID)
        return verify_fail(v, "an operand has no value");
    (void)i;
    return 0;
}

/* A phi's operand must be there at the end of its incoming block, others before the instruction. */
static tm_status check_dominance(air_verifier *v, const air_flow *flow, const air_inst *i, u32 k) {
    if (i->ops[k]->kind != AIR_V_INST)
        return 0;
    const air_inst *def = (const air_inst *)i->ops[k];
    u32 use = i->op == AIR_PHI ? i->blocks[k]->id : i->block->id;
    if (!air_flow_reached(flow, use))
        return 0;
    bool ok = i->op != AIR_PHI && def->block == i->block
                  ? def->v.id < i->v.id
                  : air_flow_dominates(flow, def->block->id, use);
    return ok ? 0 : verify_fail(v, "an operand's definition does not dominate its use");
}

/* Incoming blocks are exactly the predecessors, counted per edge. `seen` is zero before and after. */
static tm_status check_phi(air_verifier *v, const air_flow *flow, const air_inst *phi, u32 *seen) {
    u32 from = flow->first_pred[phi->block->id], to = flow->first_pred[phi->block->id + 1];
    if (!phi->n_ops || phi->n_ops != phi->n_blocks || phi->n_blocks != to - from)
        return verify_fail(v, "a phi does not have one value per predecessor");
    bool same = true;
    for (u32 k = from; k < to; k++)
        seen[flow->preds[k]]++;
    for (u32 k = 0; k < phi->n_blocks; k++)
        same = same && seen[phi->blocks[k]->id]-- > 0;
    for (u32 k = from; k < to; k++)
        seen[flow->preds[k]] = 0;
    for (u32 k = 0; k < phi->n_blocks; k++)
        seen[phi->blocks[k]->id] = 0;
    return same ? 0 : verify_fail(v, "a phi's incoming block is no predecessor");
}

static tm_status check_func(air_verifier *v) {
    TRY(check_blocks(v));
    arena_mark mark = arena_save(v->scratch);
    air_flow flow = air_flow_of(v->scratch, v->func);
    u32 *seen = ARENA_ARRAY(v->scratch, u32, flow.n);
    tm_status status = 0;
    for (air_block *b = v->func->first; b && !status; b = b->next)
        for (air_inst *i = b->first; i && !status; i = i->next) {
            v->at = i;
            for (u32 k = 0; k < i->n_ops && !status; k++)
                status = check_operand(v, i, i->ops[k]);
            if (!status && i->op == AIR_PHI)
                status = check_phi(v, &flow, i, seen);
            for (u32 k = 0; k < i->n_ops && !status; k++)
                status = check_dominance(v, &flow, i, k);
            if (!status)
                status = verify_inst(v, i);
        }
    arena_rewind(v->scratch, mark);
    return status;
}

tm_status air_verify(air_module *m) {
    air_verifier v = {.m = m, .scratch = arena_new()};
    tm_status status = 0;
    for (u32 i = 0; i < m->globals.count; i++) {
        const air_global *g = m->globals.at[i];
        if (g->init && g->init->type != g->value_type)
            status = verify_fail(&v, "a global's initial value has another type");
        if (g->section > m->sections.count || g->attrs > m->attr_lists.count)
            status = verify_fail(&v, "a global's section or attributes are not there");
    }
    for (u32 i = 0; i < m->funcs.count; i++) {
        v.func = m->funcs.at[i];
        v.at = NULL;
        if (v.func->attrs > m->attr_lists.count || v.func->section > m->sections.count)
            status = verify_fail(&v, "the function's section or attributes are not there");
        if (v.func->first && check_func(&v))
            status = -1;
    }
    arena_free(v.scratch);
    return status;
}
