/* SPDX-License-Identifier: MIT */
/* scf.for, scf.if, scf.while: the same structure, each carried tensor as its scalars or matrices.
 * A carried tensor is held as matrices when a dot makes the value that is yielded, or a dot takes the
 * argument as its accumulator: the loop then has no conversion inside.
 * A carried integer or pointer tensor that only grows by a step which is one scalar for all elements
 * is carried as that scalar's sum: each element is then its initial value plus the sum, and a tile of
 * pointers costs one register in the loop instead of two per element. */
#include "lower/state.h"

typedef VEC(ir_value *) value_list;
typedef VEC(const ir_type *) type_list;

/* How one tile value is carried. */
enum carry_kind { CARRY_VALUES, CARRY_MATRICES, CARRY_SUM };

/* ---- Matrices or scalars? ------------------------------------------------------------------------ */

static bool carried_as_matrices(lower *L, const ir_op *loop, u32 i) {
    void **slot = map_put(L->carried, MAP_KEY(ir_result(loop, i)));
    if (*slot)
        return *slot == L;
    *slot = L->carried; /* no, while it is being decided */
    ir_block *body = loop->regions[0].first;
    bool yes = is_matrix_value(L, ir_operand(body->last, i));
    for (const ir_use *u = body->args[i + 1]->uses; u && !yes; u = u->next)
        yes = u->owner->code == IR_tt_dot && u == &u->owner->operands[2] &&
              ir_elem(u->value->type) == L->f32;
    *map_put(L->carried, MAP_KEY(ir_result(loop, i))) = yes ? (void *)L : (void *)L->carried;
    return yes;
}

static bool chosen_as_matrices(lower *L, const ir_op *op, u32 i) {
    void **slot = map_put(L->carried, MAP_KEY(ir_result(op, i)));
    if (*slot)
        return *slot == L;
    *slot = L->carried;
    bool yes = false;
    for (u32 k = 0; k < 2 && !yes; k++)
        if (op->regions[k].first)
            yes = is_matrix_value(L, ir_operand(op->regions[k].first->last, i));
    *map_put(L->carried, MAP_KEY(ir_result(op, i))) = yes ? (void *)L : (void *)L->carried;
    return yes;
}

bool is_matrix_value(lower *L, const ir_value *v) {
    if (!ir_is_tensor(v->type) || v->type->elem != L->f32 ||
        !layout_is_fragment(v->type->encoding->layout))
        return false;
    if (!v->op) {
        const ir_op *loop = v->block->region->op;
        return loop && loop->code == IR_scf_for && v->index > 0 &&
               carried_as_matrices(L, loop, v->index - 1);
    }
    switch (v->op->code) {
    case IR_tt_dot: return true;
    case IR_scf_for: return carried_as_matrices(L, v->op, v->index);
    case IR_scf_if: return chosen_as_matrices(L, v->op, v->index);
    default: return false;
    }
}

/* ---- Lists of scalars ----------------------------------------------------------------------------- */

static u32 slot_count(const ir_type *t, enum carry_kind kind) {
    u32 n = ir_is_tensor(t) ? layout_regs(t->encoding->layout) : 1;
    return kind == CARRY_SUM ? 1 : kind == CARRY_MATRICES ? n / 2 : n;
}

/* Sums of pointers are in elements, in 64 bits as the pointers would add them. */
static const ir_type *sum_type(const lower *L, const ir_type *t) {
    return ir_is_int(ir_elem(t), 32) ? L->i32 : L->i64;
}

static void push_types(lower *L, type_list *list, const ir_type *t, enum carry_kind kind) {
    const ir_type *e = kind == CARRY_SUM        ? sum_type(L, t)
                       : kind == CARRY_MATRICES ? ir_type_matrix(L->m, ir_elem(t))
                                                : ir_elem(t);
    for (u32 i = 0; i < slot_count(t, kind); i++)
        VEC_PUSH(L->a, list, e);
}

static void push_values(lower *L, value_list *list, const ir_value *v, const ir_type *t,
                        enum carry_kind kind) {
    tensor *x = tensor_get(L, v);
    if (ir_is_tensor(t))
        x = convert(L, x, t->encoding->layout, kind == CARRY_MATRICES);
    if (kind == CARRY_MATRICES)
        tensor_need_matrices(L, x);
    else
        tensor_need_scalars(L, x);
    for (u32 i = 0; i < slot_count(t, kind); i++)
        VEC_PUSH(L->a, list, kind == CARRY_MATRICES ? x->mat[i] : x->s[i]);
}

/* Binds tile value v to slots that start at *next of an op's results (op != NULL) or block's args. */
static void bind_slots(lower *L, const ir_value *v, enum carry_kind kind, ir_op *op, ir_block *block,
                       u32 *next) {
    tensor *t = tensor_new(L, v->type);
    ir_value **slots = t->s;
    if (kind == CARRY_MATRICES) {
        t->s = NULL;
        slots = t->mat = ARENA_ARRAY(L->a, ir_value *, t->n / 2);
    }
    for (u32 i = 0; i < slot_count(v->type, kind); i++, (*next)++)
        slots[i] = op ? ir_result(op, *next) : block->args[*next];
    tensor_bind(L, v, t);
}

static ir_block *block_with_args(lower *L, ir_region *region, const ir_type *first,
                                 const type_list *types) {
    ir_block *b = ir_block_new(L->m, region);
    if (first)
        ir_block_arg(L->m, b, first, L->b.loc);
    for (u32 i = 0; i < types->count; i++)
        ir_block_arg(L->m, b, types->at[i], L->b.loc);
    return b;
}

static tm_status enter(lower *L, const ir_op *op) {
    if (++L->depth > MAX_DEPTH)
        return ir_error(L->m, op, TM2213, (unsigned)MAX_DEPTH);
    return 0;
}

static tm_status check_block(lower *L, const ir_op *op, const ir_block *b) {
    for (u32 i = 0; i < b->n_args; i++)
        TRY(lower_check_type(L, op, b->args[i]->type));
    return 0;
}

/* ---- Sums ---------------------------------------------------------------------------------------- */

static bool is_defined_in(const ir_value *v, const ir_block *body) {
    return v->op ? v->op->block == body : v->block == body;
}

/* When carried tensor i only grows by one scalar: that scalar as a tile value (a splat's operand or a
 * splat constant), else NULL. Narrow integers keep their own arithmetic: only i32, i64 and pointers. */
static const ir_value *uniform_step(const ir_op *loop, u32 i) {
    const ir_block *body = loop->regions[0].first;
    const ir_value *arg = body->args[i + 1], *yield = ir_operand(body->last, i);
    const ir_type *e = ir_elem(arg->type);
    if (!ir_is_tensor(arg->type) || !yield->op || !is_defined_in(yield, body))
        return NULL;
    bool pointer = e->kind == IR_PTR && yield->op->code == IR_tt_addptr;
    bool integer = (ir_is_int(e, 32) || ir_is_int(e, 64)) && yield->op->code == IR_arith_addi;
    if (!pointer && !integer)
        return NULL;
    const ir_value *x = ir_operand(yield->op, 0), *step = ir_operand(yield->op, 1);
    if (integer && step == arg) {
        const ir_value *swap = x;
        x = step;
        step = swap;
    }
    i64 bits;
    if (x != arg || step == arg)
        return NULL;
    if (ir_constant_bits(step, &bits))
        return step;
    while (step->op && (step->op->code == IR_tt_broadcast || step->op->code == IR_tt_expand_dims))
        step = ir_operand(step->op, 0);
    return step->op && step->op->code == IR_tt_splat ? ir_operand(step->op, 0) : NULL;
}

/* init + sum, element by element; equal initial values stay one value. */
static void bind_sum(lower *L, const ir_value *v, const ir_value *init, ir_value *sum) {
    const tensor *x = tensor_scalars(L, init);
    tensor *t = tensor_new(L, v->type);
    for (u32 i = 0; i < t->n; i++) {
        if (i && x->s[i] == x->s[i - 1])
            t->s[i] = t->s[i - 1];
        else if (t->elem->kind == IR_PTR)
            t->s[i] = make_addptr(L, x->s[i], sum);
        else
            t->s[i] = ir_binary(&L->b, IR_arith_addi, x->s[i], sum);
    }
    tensor_bind(L, v, t);
}

/* ---- scf.for ------------------------------------------------------------------------------------- */

static void choose_carries(lower *L, const ir_op *op, u8 *kinds) {
    for (u32 i = 0; i < op->n_results; i++) {
        kinds[i] = CARRY_VALUES;
        if (carried_as_matrices(L, op, i))
            kinds[i] = CARRY_MATRICES;
        else if (uniform_step(op, i) &&
                 layout_equal(ir_operand(op, i + 3)->type->encoding->layout,
                              ir_result(op, i)->type->encoding->layout))
            kinds[i] = CARRY_SUM;
    }
}

static void push_step(lower *L, value_list *out, const ir_op *op, u32 i, ir_value *sum) {
    ir_value *step = tensor_scalars(L, uniform_step(op, i))->s[0];
    if (step->type != sum->type)
        step = make1(L, IR_arith_extsi, sum->type, 1, &step);
    VEC_PUSH(L->a, out, ir_binary(&L->b, IR_arith_addi, sum, step));
}

static tm_status for_body(lower *L, ir_op *op, const u8 *kinds, ir_block *body) {
    ir_block *from = op->regions[0].first, *outside = L->b.block;
    L->b.block = body;
    u32 next = 1;
    ir_value **sums = ARENA_ARRAY(L->a, ir_value *, op->n_results);
    tensor_bind_scalar(L, from->args[0], body->args[0]);
    for (u32 i = 0; i < op->n_results; i++) {
        if (kinds[i] != CARRY_SUM) {
            tensor *t;
            bind_slots(L, from->args[i + 1], kinds[i], NULL, body, &next);
            t = tensor_get(L, from->args[i + 1]);
            t->block = body;
            t->after = NULL;
            continue;
        }
        sums[i] = body->args[next++];
        bind_sum(L, from->args[i + 1], ir_operand(op, i + 3), sums[i]);
    }
    TRY(lower_block(L, from));
    value_list out = {0};
    for (u32 i = 0; i < op->n_results; i++)
        if (kinds[i] == CARRY_SUM)
            push_step(L, &out, op, i, sums[i]);
        else
            push_values(L, &out, ir_operand(from->last, i), from->args[i + 1]->type, kinds[i]);
    make_yield(L, out.count, out.at);
    L->b.block = outside;
    return 0;
}

tm_status lower_for(lower *L, ir_op *op) {
    TRY(enter(L, op));
    TRY(check_block(L, op, op->regions[0].first));
    u8 *kinds = ARENA_ARRAY(L->a, u8, op->n_results);
    choose_carries(L, op, kinds);
    value_list in = {0};
    type_list types = {0};
    for (u32 i = 0; i < 3; i++)
        VEC_PUSH(L->a, &in, scalar_get(L, ir_operand(op, i)));
    for (u32 i = 0; i < op->n_results; i++) {
        push_types(L, &types, ir_result(op, i)->type, kinds[i]);
        if (kinds[i] == CARRY_SUM)
            VEC_PUSH(L->a, &in, const_bits(L, types.at[types.count - 1], 0));
        else
            push_values(L, &in, ir_operand(op, i + 3), ir_result(op, i)->type, kinds[i]);
    }
    ir_op *loop = ir_build(&L->b, IR_scf_for, in.count, in.at, types.count, types.at, 1);
    for (u32 i = 0; i < op->n_attrs; i++)
        ir_attr_set(L->m, loop, op->attrs[i].name, op->attrs[i].value);
    ir_block *body = block_with_args(L, &loop->regions[0], in.at[0]->type, &types);
    TRY(for_body(L, op, kinds, body));
    u32 next = 0;
    for (u32 i = 0; i < op->n_results; i++)
        if (kinds[i] == CARRY_SUM)
            bind_sum(L, ir_result(op, i), ir_operand(op, i + 3), ir_result(loop, next++));
        else
            bind_slots(L, ir_result(op, i), kinds[i], loop, NULL, &next);
    L->depth--;
    return 0;
}

/* ---- scf.if, scf.while --------------------------------------------------------------------------- */

tm_status lower_if(lower *L, ir_op *op) {
    TRY(enter(L, op));
    u8 *kinds = ARENA_ARRAY(L->a, u8, op->n_results);
    type_list types = {0};
    for (u32 i = 0; i < op->n_results; i++) {
        kinds[i] = chosen_as_matrices(L, op, i) ? CARRY_MATRICES : CARRY_VALUES;
        push_types(L, &types, ir_result(op, i)->type, kinds[i]);
    }
    ir_op *made = if_open(L, scalar_get(L, ir_operand(op, 0)), types.count, types.at);
    for (u32 k = 0; k < 2; k++) {
        ir_block *from = op->regions[k].first;
        if (!from)
            continue;
        if (k)
            if_else(L, made);
        TRY(lower_block(L, from));
        value_list out = {0};
        for (u32 i = 0; i < op->n_results; i++)
            push_values(L, &out, ir_operand(from->last, i), ir_result(op, i)->type, kinds[i]);
        make_yield(L, out.count, out.at);
    }
    L->b.block = made->block;
    u32 next = 0;
    for (u32 i = 0; i < op->n_results; i++)
        bind_slots(L, ir_result(op, i), kinds[i], made, NULL, &next);
    L->depth--;
    return 0;
}

/* One region of a while: binds its arguments, lowers it, ends it with the values the terminator
 * carries (from operand `skip` on) as `types` say. */
static tm_status while_region(lower *L, ir_block *from, ir_block *to, enum ir_code end, u32 skip,
                              const ir_value *expect) {
    L->b.block = to;
    u32 next = 0;
    for (u32 i = 0; i < from->n_args; i++) {
        bind_slots(L, from->args[i], CARRY_VALUES, NULL, to, &next);
        tensor *t = tensor_get(L, from->args[i]);
        t->block = to;
        t->after = NULL;
    }
    TRY(lower_block(L, from));
    value_list out = {0};
    for (u32 i = 0; i < from->last->n_operands; i++) {
        const ir_value *v = ir_operand(from->last, i);
        push_values(L, &out, v, i < skip || !expect ? v->type : expect[i - skip].type, CARRY_VALUES);
    }
    ir_build(&L->b, end, out.count, out.at, 0, NULL, 0);
    return 0;
}

tm_status lower_while(lower *L, ir_op *op) {
    TRY(enter(L, op));
    ir_block *before = op->regions[0].first, *after = op->regions[1].first, *outside = L->b.block;
    TRY(check_block(L, op, before));
    TRY(check_block(L, op, after));
    value_list in = {0};
    type_list carried = {0}, results = {0};
    for (u32 i = 0; i < op->n_operands; i++) {
        push_types(L, &carried, before->args[i]->type, CARRY_VALUES);
        push_values(L, &in, ir_operand(op, i), before->args[i]->type, CARRY_VALUES);
    }
    for (u32 i = 0; i < op->n_results; i++)
        push_types(L, &results, ir_result(op, i)->type, CARRY_VALUES);
    ir_op *loop = ir_build(&L->b, IR_scf_while, in.count, in.at, results.count, results.at, 2);
    ir_block *first = block_with_args(L, &loop->regions[0], NULL, &carried);
    ir_block *second = block_with_args(L, &loop->regions[1], NULL, &results);
    TRY(while_region(L, before, first, IR_scf_condition, 1, op->results));
    TRY(while_region(L, after, second, IR_scf_yield, 0, NULL));
    L->b.block = outside;
    u32 next = 0;
    for (u32 i = 0; i < op->n_results; i++)
        bind_slots(L, ir_result(op, i), CARRY_VALUES, loop, NULL, &next);
    L->depth--;
    return 0;
}

tm_status lower_return(lower *L, ir_op *op) {
    value_list out = {0};
    for (u32 i = 0; i < op->n_operands; i++)
        push_values(L, &out, ir_operand(op, i), ir_operand(op, i)->type, CARRY_VALUES);
    ir_build(&L->b, IR_tt_return, out.count, out.at, 0, NULL, 0);
    return 0;
}
