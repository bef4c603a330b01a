/* SPDX-License-Identifier: MIT */
/* The pass: tile IR with layouts to one thread's program. One table goes from op code to lowering
 * function; an op outside the table is elementwise, or a scalar op that both levels share, or refused
 * by name. The function keeps its signature: its ops are moved to a block of their own, and lowered
 * one after the other into the emptied entry block. Every new op carries the location of the tile op
 * it comes from. */
#include "lower/lower.h"
#include "lower/state.h"

tm_status refuse(lower *L, const ir_op *op) { return ir_error(L->m, op, TM2201, ir_code_name(op)); }

static tm_status lower_nothing(lower *L, ir_op *op) { return 0; }

tm_status lower_barrier(lower *L, ir_op *op) {
    ir_op *barrier = ir_build(&L->b, IR_tm_barrier, 0, NULL, 0, NULL, 0);
    ir_attr_set(L->m, barrier, "flags", ir_attr_i32(L->m, 3));
    return 0;
}

/* ---- Elementwise --------------------------------------------------------------------------------- */

static void copy_attrs(lower *L, ir_op *to, const ir_op *from) {
    for (u32 i = 0; i < from->n_attrs; i++)
        ir_attr_set(L->m, to, from->attrs[i].name, from->attrs[i].value);
}

/* Registers by their operands: a register with the operands of an earlier one shares its result. */
typedef struct tuples {
    u32 *slots;       /* register + 1 */
    u32 mask, n;      /* n operands */
    ir_value ***in;   /* in[operand][register] */
} tuples;

static bool same_tuple(const tuples *t, u32 a, u32 b) {
    for (u32 i = 0; i < t->n; i++)
        if (t->in[i][a] != t->in[i][b])
            return false;
    return true;
}

/* The earlier register with the same operands, or `reg` itself, which is then remembered. */
static u32 find_tuple(tuples *t, u32 reg) {
    u64 h = t->n;
    for (u32 i = 0; i < t->n; i++)
        h = hash_u64(h, MAP_KEY(t->in[i][reg]));
    u32 s = (u32)h & t->mask;
    for (; t->slots[s]; s = (s + 1) & t->mask)
        if (same_tuple(t, t->slots[s] - 1, reg))
            return t->slots[s] - 1;
    t->slots[s] = reg + 1;
    return reg;
}

static tm_status lower_elementwise(lower *L, ir_op *op) {
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    u32 size = 4;
    while (size < t->n * 2)
        size *= 2;
    tuples memo = {.slots = ARENA_ARRAY(L->a, u32, size), .mask = size - 1, .n = op->n_operands,
                   .in = ARENA_ARRAY(L->a, ir_value **, op->n_operands)};
    for (u32 i = 0; i < op->n_operands; i++) {
        tensor *x = tensor_scalars(L, ir_operand(op, i));
        if (t->l && x->l && !layout_equal(t->l, x->l)) {
            x = convert(L, x, t->l, false);
            tensor_need_scalars(L, x);
        }
        memo.in[i] = x->s;
        if (t->l && !x->l) { /* a scalar condition of a select */
            memo.in[i] = ARENA_ARRAY(L->a, ir_value *, t->n);
            for (u32 r = 0; r < t->n; r++)
                memo.in[i][r] = x->s[0];
        }
    }
    ir_value **operands = ARENA_ARRAY(L->a, ir_value *, op->n_operands);
    for (u32 r = 0; r < t->n; r++) {
        u32 same = find_tuple(&memo, r);
        if (same != r) {
            t->s[r] = t->s[same];
            continue;
        }
        for (u32 i = 0; i < op->n_operands; i++)
            operands[i] = memo.in[i][r];
        t->s[r] = make1(L, op->code, t->elem, op->n_operands, operands);
        copy_attrs(L, t->s[r]->op, op);
    }
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------------ */

static lower_fn *const table[IR_CODE_COUNT] = {
    [IR_arith_constant] = lower_constant,
    [IR_ub_poison] = lower_poison,
    [IR_llvm_assume] = lower_nothing,
    [IR_tt_get_program_id] = lower_elementwise, /* scalars: one register */
    [IR_tt_get_num_programs] = lower_elementwise,
    [IR_tt_make_range] = lower_make_range,
    [IR_tt_splat] = lower_splat,
    [IR_tt_unsplat] = lower_unsplat,
    [IR_tt_broadcast] = lower_broadcast,
    [IR_tt_expand_dims] = lower_shape,
    [IR_tt_reshape] = lower_shape,
    [IR_tt_trans] = lower_shape,
    [IR_tt_join] = lower_join,
    [IR_tt_split] = lower_split,
    [IR_tt_load] = lower_load,
    [IR_tt_store] = lower_store,
    [IR_tt_atomic_rmw] = lower_atomic_rmw,
    [IR_tt_atomic_cas] = lower_atomic_cas,
    [IR_tt_reduce] = lower_reduce,
    [IR_tt_scan] = lower_scan,
    [IR_tt_gather] = lower_gather,
    [IR_tt_histogram] = lower_histogram,
    [IR_tt_dot] = lower_dot,
    [IR_ttg_convert_layout] = lower_convert,
    [IR_ttg_barrier] = lower_barrier,
    [IR_scf_for] = lower_for,
    [IR_scf_if] = lower_if,
    [IR_scf_while] = lower_while,
    [IR_tt_return] = lower_return,
};

static lower_fn *handler(const ir_op *op) {
    if (table[op->code])
        return table[op->code];
    bool known = ir_has_trait(op, IR_ELEMENTWISE) && ir_has_trait(op, IR_LOWERED);
    return known && op->n_results == 1 && op->n_regions == 0 ? lower_elementwise : NULL;
}

static tm_status lower_op(lower *L, ir_op *op) {
    lower_fn *act = handler(op);
    if (!act)
        return refuse(L, op);
    for (u32 i = 0; i < op->n_operands; i++)
        TRY(lower_check_type(L, op, ir_operand(op, i)->type));
    for (u32 i = 0; i < op->n_results; i++)
        TRY(lower_check_type(L, op, ir_result(op, i)->type));
    L->op = op;
    L->b.loc = op->loc;
    return act(L, op);
}

tm_status lower_block(lower *L, ir_block *from) {
    IR_FOR_EACH_OP(from, op) {
        if (ir_has_trait(op, IR_TERMINATOR)) {
            L->b.loc = op->loc;
            break;
        }
        TRY(lower_op(L, op));
    }
    return 0;
}

/* ---- The function --------------------------------------------------------------------------------- */

static void start_head(lower *L, const ir_op *func, ir_block *entry) {
    L->b = ir_at_end(L->m, entry);
    L->b.loc = func->loc;
    L->lane = make1(L, IR_tm_lane_id, L->i32, 0, NULL);
    L->warp = make1(L, IR_tm_warp_id, L->i32, 0, NULL);
    L->head_last = L->warp->op;
}

static tm_status lower_func(lower *L, ir_op *func) {
    ir_block *entry = func->regions[0].first;
    if (!entry || entry->next)
        return ir_error(L->m, func, TM2214);
    L->axis = axis_analyze(L->a, func);
    ir_region aside = {0};
    ir_block *old = ir_block_new(L->m, &aside);
    ir_splice(old, entry);
    start_head(L, func, entry);
    for (u32 i = 0; i < entry->n_args; i++) {
        TRY(lower_check_type(L, func, entry->args[i]->type));
        tensor_bind_scalar(L, entry->args[i], entry->args[i]);
    }
    TRY(lower_block(L, old));
    TRY(lower_return(L, old->last));
    while (old->last)
        ir_erase(old->last);
    return 0;
}

static tm_status run_lower(pass_run *run, ir_module *m) {
    IR_FOR_EACH_OP(ir_module_body(m), func) {
        if (func->code != IR_tt_func)
            continue;
        lower L = {.m = m, .run = run, .a = run->scratch};
        L.warp_bits = log2_u64(MAX(run->target.num_warps, 1u));
        L.values = map_new(L.a);
        L.constants = strmap_new(L.a);
        L.spreads = strmap_new(L.a);
        L.owners = map_new(L.a);
        L.carried = map_new(L.a);
        L.i1 = ir_type_int(m, 1);
        L.i8 = ir_type_int(m, 8);
        L.i32 = ir_type_int(m, 32);
        L.i64 = ir_type_int(m, 64);
        L.f32 = ir_type_float(m, IR_F32);
        TRY(lower_func(&L, func));
    }
    return 0;
}

const pass_info pass_lower = {
    .name = "lower",
    .doc = "tile IR with layouts becomes one thread's program",
    .run = run_lower,
};
