/* SPDX-License-Identifier: MIT */
/* The analysis behind facts.h: sweeps in program order until nothing changes. Both facts only ever
 * grow (no root, one root, any root; more bits), so the number of sweeps is bounded by how
 * deep loops feed each other, not by the size of the program.
 *
 * Dependent are the thread's ids, loads through dependent pointers, results of shuffles, reductions,
 * matrices and atomics, whatever is computed from those, and the results and carried values of control
 * flow that a dependent condition decides. Where a value is just some bits of an id (shifted right,
 * masked), only those bits count: `id` holds them in place, and the shift in its upper bits. A load through a uniform pointer is uniform: all threads read
 * one place, and pass_barriers keeps writers of the same program away until they all have. */
#include "thread/facts.h"

#include "base/vec.h"

typedef struct sweep {
    facts *f;
    bool changed;
} sweep;

static void add_root(sweep *s, const ir_value *to, u32 root) {
    u32 *slot = &s->f->root[to->mark];
    if (root == FACTS_NO_ROOT || *slot == root || *slot == FACTS_ANY_ROOT)
        return;
    *slot = *slot == FACTS_NO_ROOT ? root : FACTS_ANY_ROOT;
    s->changed = true;
}

static void add_depends(sweep *s, const ir_value *to, u32 bits) {
    u16 *slot = &s->f->depends[to->mark];
    if (!(bits & ~(u32)*slot))
        return;
    *slot |= (u16)bits;
    s->changed = true;
}

static void flow(sweep *s, const ir_value *to, const ir_value *from) {
    if (to->type->kind == IR_PTR)
        add_root(s, to, s->f->root[from->mark]);
    add_depends(s, to, s->f->depends[from->mark]);
}

/* A loop's exit test that varies makes what it carries vary: threads leave at different times. */
static void flow_for(sweep *s, ir_op *op) {
    ir_block *b = op->regions[0].first;
    u32 varies = 0;
    for (u32 i = 0; i < 3; i++)
        varies |= facts_depends(s->f, ir_operand(op, i));
    add_depends(s, b->args[0], varies);
    for (u32 i = 0; i < op->n_results; i++) {
        ir_value *result = ir_result(op, i);
        flow(s, b->args[i + 1], ir_operand(op, i + 3));
        flow(s, b->args[i + 1], ir_operand(b->last, i));
        flow(s, result, ir_operand(op, i + 3));
        flow(s, result, ir_operand(b->last, i));
        add_depends(s, result, varies);
        add_depends(s, b->args[i + 1], varies);
    }
}

static void flow_if(sweep *s, ir_op *op) {
    u32 varies = facts_depends(s->f, ir_operand(op, 0));
    for (u32 i = 0; i < op->n_results; i++) {
        for (u32 r = 0; r < op->n_regions; r++)
            if (op->regions[r].first)
                flow(s, ir_result(op, i), ir_operand(op->regions[r].first->last, i));
        add_depends(s, ir_result(op, i), varies);
    }
}

static void flow_while(sweep *s, ir_op *op) {
    ir_block *before = op->regions[0].first, *after = op->regions[1].first;
    ir_op *condition = before->last;
    u32 varies = facts_depends(s->f, ir_operand(condition, 0));
    for (u32 i = 0; i < op->n_operands; i++) {
        flow(s, before->args[i], ir_operand(op, i));
        flow(s, before->args[i], ir_operand(after->last, i));
        add_depends(s, before->args[i], varies);
    }
    for (u32 i = 0; i + 1 < condition->n_operands; i++) {
        flow(s, after->args[i], ir_operand(condition, i + 1));
        flow(s, ir_result(op, i), ir_operand(condition, i + 1));
        add_depends(s, ir_result(op, i), varies);
    }
}

static u32 makes_varying(const ir_op *op) {
    switch (op->code) {
    case IR_tm_lane_id: return FACTS_LANE;
    case IR_tm_warp_id: return FACTS_WARP;
    case IR_tm_shuffle:
    case IR_tm_shuffle_xor:
    case IR_tm_simd_reduce:
    case IR_tm_matrix_get:
    case IR_tm_atomic_rmw:
    case IR_tm_atomic_cas: return FACTS_ALL;
    default: return 0;
    }
}

/* The id bits that op's result consists of: id bits << 4 | shift, or 0. */
static u16 id_bits(const facts *f, const ir_op *op) {
    i64 c = 0;
    u32 in, bits, shift;
    if (op->code == IR_tm_lane_id)
        return FACTS_LANE << 4;
    if (op->code == IR_tm_warp_id)
        return (u16)(FACTS_WARP << 4);
    if (op->n_operands < 1 || op->n_operands > 2)
        return 0;
    in = f->id[ir_operand(op, 0)->mark];
    if (!in || (op->n_operands == 2 && (!ir_constant_bits(ir_operand(op, 1), &c) || c < 0)))
        return 0;
    bits = in >> 4;
    shift = in & 15;
    u32 base = bits & FACTS_WARP ? FACTS_WARP_SHIFT : 0; /* bit of the id at value bit 0: + shift */
    bool pow2 = c > 0 && is_pow2((u64)c);
    switch (op->code) {
    case IR_arith_extui:
    case IR_arith_extsi: return (u16)in;
    case IR_arith_remui:
    case IR_arith_remsi:
        if (!pow2)
            return 0;
        c -= 1;
        break;
    case IR_arith_andi: break;
    case IR_arith_divui:
    case IR_arith_divsi:
        if (!pow2)
            return 0;
        c = log2_u64((u64)c);
        /* fall through */
    case IR_arith_shrui:
    case IR_arith_shrsi:
        if (c + shift > 15)
            return 0;
        shift += (u32)c;
        c = -1;
        break;
    default: return 0;
    }
    u32 window = (u32)(c < 0 ? 0x1F : c & 0x1F) << shift & 0x1F;
    bits &= window << base;
    return bits ? (u16)(bits << 4 | shift) : 0;
}

static void flow_plain(sweep *s, ir_op *op) {
    u32 varies = makes_varying(op);
    for (u32 i = 0; i < op->n_operands; i++)
        varies |= facts_depends(s->f, ir_operand(op, i));
    if (op->n_results == 1) {
        u16 id = id_bits(s->f, op);
        s->f->id[ir_result(op, 0)->mark] = id;
        if (id)
            varies = id >> 4;
    }
    for (u32 r = 0; r < op->n_results; r++) {
        ir_value *result = ir_result(op, r);
        add_depends(s, result, varies);
        if (result->type->kind != IR_PTR || op->code == IR_tm_tg_alloc)
            continue;
        if (op->code == IR_tt_addptr || op->code == IR_tt_bitcast)
            add_root(s, result, facts_root(s->f, ir_operand(op, 0)));
        else if (op->code == IR_arith_select)
            for (u32 i = 1; i < 3; i++)
                add_root(s, result, facts_root(s->f, ir_operand(op, i)));
        else
            add_root(s, result, FACTS_ANY_ROOT);
    }
}

/* Control flow is looked at before its regions (what enters) and at the end of each (what leaves), so
 * that one sweep settles everything but the back edges of loops. */
static void visit(ir_op *op, void *data) {
    sweep *s = data;
    if (op->code == IR_scf_yield || op->code == IR_scf_condition)
        op = ir_parent(op);
    switch (op->code) {
    case IR_tt_func: break;
    case IR_scf_for: flow_for(s, op); break;
    case IR_scf_if: flow_if(s, op); break;
    case IR_scf_while: flow_while(s, op); break;
    default: flow_plain(s, op);
    }
}

static void count_roots(ir_op *op, void *data) {
    facts *f = data;
    f->n_roots += op->code == IR_tm_tg_alloc;
}

static void add_alloc(ir_op *op, void *data) {
    facts *f = data;
    if (op->code != IR_tm_tg_alloc)
        return;
    f->roots[f->n_roots++] = ir_result(op, 0);
    f->root[ir_result(op, 0)->mark] = f->n_roots;
}

static void note_writes(ir_op *op, void *data) {
    facts *f = data;
    access a = access_of(f, op);
    if (a.kind != ACCESS_WRITE && a.kind != ACCESS_ATOMIC)
        return;
    if (a.root <= f->n_roots)
        f->written[a.root] = true;
    else if (a.space != IR_SPACE_THREADGROUP)
        f->any_written = true;
}

facts *facts_build(arena *a, ir_op *func) {
    facts *f = ARENA_NEW(a, facts);
    ir_block *b = func->regions[0].first;
    f->n_values = ir_number(func);
    f->root = ARENA_ARRAY(a, u32, f->n_values + 1);
    f->depends = ARENA_ARRAY(a, u16, f->n_values + 1);
    f->id = ARENA_ARRAY(a, u16, f->n_values + 1);
    ir_walk(func, count_roots, f);
    f->roots = ARENA_ARRAY(a, const ir_value *, f->n_roots + b->n_args + 1);
    f->n_roots = 0;
    for (u32 i = 0; i < b->n_args; i++)
        if (b->args[i]->type->kind == IR_PTR) {
            f->roots[f->n_roots++] = b->args[i];
            f->root[b->args[i]->mark] = f->n_roots;
        }
    ir_walk(func, add_alloc, f);
    f->written = ARENA_ARRAY(a, bool, f->n_roots + 1);
    sweep s = {f, true};
    while (s.changed) {
        s.changed = false;
        ir_walk(func, visit, &s);
    }
    ir_walk(func, note_writes, f);
    return f;
}

bool facts_written(const facts *f, const ir_value *argument) {
    return f->any_written || f->written[f->root[argument->mark]];
}

access access_of(const facts *f, const ir_op *op) {
    access a = {0};
    switch (op->code) {
    case IR_tm_load:
    case IR_tm_matrix_load: a.kind = ACCESS_READ; break;
    case IR_tm_store:
    case IR_tm_matrix_store: a.kind = ACCESS_WRITE; break;
    case IR_tm_atomic_rmw:
    case IR_tm_atomic_cas: a.kind = ACCESS_ATOMIC; break;
    default: return a;
    }
    a.pointer = ir_operand(op, 0);
    a.space = a.pointer->type->space;
    a.root = facts_root(f, a.pointer);
    return a;
}

bool value_observed(const ir_value *v) {
    for (u32 depth = 0; depth < 64; depth++) {
        const ir_use *use = v->uses;
        if (!use)
            return false;
        const ir_op *parent = ir_parent(use->owner);
        if (use->next || use->owner->code != IR_scf_yield || parent->code != IR_scf_if)
            return true;
        v = ir_result(parent, (u32)(use - use->owner->operands));
    }
    return true;
}
