/* SPDX-License-Identifier: MIT */
/* The verifier: arity, regions and their terminators, what flows over the edges of control flow,
 * visibility of values (dominance across blocks and regions), functions and calls. Types of single ops
 * are judged in verify_types.c.
 *
 * Visibility is one walk: entering a block makes its arguments visible, passing an op its results,
 * leaving takes them back. Blocks are entered along the dominator tree, so "visible" is "dominates".
 * Code that cannot be reached may use any value of the regions around it, as in MLIR. */
#include "ir/verify/verify.h"
#include "base/map.h"
#include "base/vec.h"
#include "ir/dominance.h"
#include "ir/text.h"

typedef struct verifier {
    ir_module *m;
    arena *arena;
    strmap *functions;
    VEC(ir_value *) visible;
} verifier;

enum { HIDDEN, VISIBLE };

/* ---- Arity and regions ------------------------------------------------------------------------------------- */

static tm_status check_arity(verifier *v, const ir_op *op) {
    const ir_op_info *info = &ir_ops[op->code];
    if (info->ins >= 0 && op->n_operands != (u32)info->ins)
        return ir_error(v->m, op, TM1101, (int)info->ins, "operands", (int)op->n_operands);
    if (info->outs >= 0 && op->n_results != (u32)info->outs)
        return ir_error(v->m, op, TM1101, (int)info->outs, "results", (int)op->n_results);
    if (op->code != IR_unknown && op->n_regions != info->regions)
        return ir_error(v->m, op, TM1101, (int)info->regions, "regions", (int)op->n_regions);
    u32 succs = op->code == IR_cf_br ? 1 : op->code == IR_cf_cond_br ? 2 : op->n_succs;
    if (op->n_succs != succs || (op->n_succs && op->code != IR_cf_br && op->code != IR_cf_cond_br &&
                                 op->code != IR_unknown))
        return ir_error(v->m, op, TM1101, (int)succs, "successors", (int)op->n_succs);
    return 0;
}

/* The terminator that the region of an op ends in. */
static bool may_end(const ir_op *parent, u32 region, const ir_op *end) {
    switch (parent->code) {
    case IR_scf_for:
    case IR_scf_if: return end->code == IR_scf_yield;
    case IR_scf_while: return end->code == (region ? IR_scf_yield : IR_scf_condition);
    case IR_tt_reduce: return end->code == IR_tt_reduce_return;
    case IR_tt_scan: return end->code == IR_tt_scan_return;
    case IR_tt_map_elementwise:
        return end->code == IR_tt_map_elementwise_return || end->code == IR_cf_br ||
               end->code == IR_cf_cond_br;
    case IR_tt_func:
        return end->code == IR_tt_return || end->code == IR_cf_br || end->code == IR_cf_cond_br;
    default: return true;
    }
}

static bool one_block_only(const ir_op *op) {
    return op->code == IR_scf_for || op->code == IR_scf_if || op->code == IR_scf_while ||
           op->code == IR_tt_reduce || op->code == IR_tt_scan;
}

static tm_status check_block(verifier *v, const ir_op *parent, u32 region, const ir_block *b) {
    bool module = parent->code == IR_builtin_module;
    const ir_op *end = b->last;
    if (module || parent->code == IR_unknown)
        return 0;
    if (!end || !ir_has_trait(end, IR_TERMINATOR))
        return ir_error(v->m, end ? end : parent, TM1102);
    if (!may_end(parent, region, end))
        return ir_error(v->m, end, TM1103, ir_code_name(end), ir_code_name(parent));
    for (u32 i = 0; i < end->n_succs; i++) {
        const ir_succ *s = &end->succs[i];
        if (s->block->region != b->region)
            return ir_error(v->m, end, TM1104, "a branch leaves its region");
        if (!s->block->prev)
            return ir_error(v->m, end, TM1104, "a branch goes to the entry block");
        if (s->count != s->block->n_args || s->first + s->count > end->n_operands)
            return ir_error(v->m, end, TM1105, s->block->n_args, s->count);
        for (u32 k = 0; k < s->count; k++)
            if (ir_operand(end, s->first + k)->type != s->block->args[k]->type)
                return ir_error(v->m, end, TM1106, k);
    }
    return 0;
}

/* ---- What flows between an op and its regions ----------------------------------------------------------------- */

/* Types of n values must be those of other. */
typedef struct flow {
    const ir_op *op;
    u32 first, n; /* operands of op, or results when `results` */
    bool results;
} flow;

static const ir_type *flow_type(const flow *f, u32 i) {
    return f->results ? f->op->results[f->first + i].type : ir_operand(f->op, f->first + i)->type;
}

static flow operands_of(const ir_op *op, u32 first) {
    return (flow){op, first, op->n_operands < first ? 0 : op->n_operands - first, false};
}
static flow results_of(const ir_op *op) { return (flow){op, 0, op->n_results, true}; }

static tm_status check_flow(verifier *v, const ir_op *at, const char *what, flow a, flow b) {
    if (a.n != b.n)
        return ir_error(v->m, at, TM1107, what, a.n, b.n);
    for (u32 i = 0; i < a.n; i++)
        if (flow_type(&a, i) != flow_type(&b, i))
            return ir_error(v->m, at, TM1108, what, i);
    return 0;
}

static tm_status check_args(verifier *v, const ir_op *at, const char *what, const ir_block *b,
                            u32 first, flow values) {
    if (b->n_args != first + values.n)
        return ir_error(v->m, at, TM1107, what, values.n, b->n_args - MIN(first, b->n_args));
    for (u32 i = 0; i < values.n; i++)
        if (b->args[first + i]->type != flow_type(&values, i))
            return ir_error(v->m, at, TM1108, what, i);
    return 0;
}

static tm_status check_for(verifier *v, const ir_op *op) {
    const ir_block *body = op->regions[0].first;
    if (op->n_operands < 3)
        return ir_error(v->m, op, TM1101, 3, "operands", (int)op->n_operands);
    const ir_type *t = ir_operand(op, 0)->type;
    if (ir_operand(op, 1)->type != t || ir_operand(op, 2)->type != t || !body->n_args ||
        body->args[0]->type != t || (t->kind != IR_INT && t->kind != IR_INDEX))
        return ir_error(v->m, op, TM1109, "bounds, step and counter of a loop are one integer type");
    TRY(check_flow(v, op, "carried values and results", operands_of(op, 3), results_of(op)));
    TRY(check_args(v, op, "carried values and arguments", body, 1, operands_of(op, 3)));
    return check_flow(v, body->last, "yielded values and results", operands_of(body->last, 0),
                      results_of(op));
}

static tm_status check_if(verifier *v, const ir_op *op) {
    if (op->n_results && !op->regions[1].first)
        return ir_error(v->m, op, TM1104, "a conditional with results has no else");
    for (u32 i = 0; i < 2; i++) {
        const ir_block *b = op->regions[i].first;
        if (b && b->n_args)
            return ir_error(v->m, op, TM1104, "a branch of a conditional has arguments");
        if (b)
            TRY(check_flow(v, b->last, "yielded values and results", operands_of(b->last, 0),
                           results_of(op)));
    }
    return 0;
}

static tm_status check_while(verifier *v, const ir_op *op) {
    const ir_block *before = op->regions[0].first, *after = op->regions[1].first;
    if (!after)
        return ir_error(v->m, op, TM1104, "a region is missing");
    if (!before->last->n_operands)
        return ir_error(v->m, before->last, TM1101, 1, "operands", 0);
    TRY(check_args(v, op, "initial values and arguments", before, 0, operands_of(op, 0)));
    TRY(check_flow(v, before->last, "passed values and results", operands_of(before->last, 1),
                   results_of(op)));
    TRY(check_args(v, op, "passed values and arguments", after, 0, results_of(op)));
    return check_flow(v, after->last, "yielded and initial values", operands_of(after->last, 0),
                      operands_of(op, 0));
}

/* The region of tt.reduce and tt.scan takes two tuples of elements and gives one. */
static tm_status check_combiner(verifier *v, const ir_op *op) {
    const ir_block *b = op->regions[0].first;
    u32 n = op->n_operands;
    if (!b || b->n_args != 2 * n || b->last->n_operands != n || op->n_results != n || n == 0)
        return ir_error(v->m, op, TM1110);
    for (u32 i = 0; i < n; i++) {
        const ir_type *elem = ir_elem(ir_operand(op, i)->type);
        if (!ir_is_tensor(ir_operand(op, i)->type) || b->args[i]->type != elem ||
            b->args[n + i]->type != elem || ir_operand(b->last, i)->type != elem)
            return ir_error(v->m, op, TM1110);
    }
    return 0;
}

static tm_status check_regions(verifier *v, const ir_op *op) {
    if (one_block_only(op))
        for (u32 i = 0; i < op->n_regions; i++)
            if (op->regions[i].first && op->regions[i].first->next)
                return ir_error(v->m, op, TM1104, "a region has more than one block");
    if (one_block_only(op) && !op->regions[0].first)
        return ir_error(v->m, op, TM1104, "a region is missing");
    switch (op->code) {
    case IR_scf_for: return check_for(v, op);
    case IR_scf_if: return check_if(v, op);
    case IR_scf_while: return check_while(v, op);
    case IR_tt_reduce:
    case IR_tt_scan: return check_combiner(v, op);
    default: return 0;
    }
}

/* ---- Functions and calls -------------------------------------------------------------------------------------- */

static const ir_type *func_type(const ir_op *func) {
    const ir_attr *a = ir_attr_get(func, "function_type");
    return a && a->kind == IR_ATTR_TYPE && a->type->kind == IR_FUNC ? a->type : NULL;
}

static tm_status check_func(verifier *v, const ir_op *op) {
    const ir_type *t = func_type(op);
    const ir_attr *name = ir_attr_get(op, "sym_name");
    if (!t || !name || name->kind != IR_ATTR_STRING)
        return ir_error(v->m, op, TM1111, t ? "sym_name" : "function_type");
    const ir_attr *visible = ir_attr_get(op, "sym_visibility");
    if (visible && (visible->kind != IR_ATTR_STRING ||
                    (strcmp(visible->text, "public") != 0 && strcmp(visible->text, "private") != 0 &&
                     strcmp(visible->text, "nested") != 0)))
        return ir_error(v->m, op, TM1111, "sym_visibility");
    const ir_block *entry = op->regions[0].first;
    if (!entry)
        return 0;
    if (entry->n_args != t->n_params)
        return ir_error(v->m, op, TM1107, "parameters and arguments", t->n_params, entry->n_args);
    for (u32 i = 0; i < t->n_params; i++)
        if (entry->args[i]->type != t->list[i])
            return ir_error(v->m, op, TM1108, "parameters and arguments", i);
    return 0;
}

static tm_status check_return(verifier *v, const ir_op *op) {
    const ir_op *func = ir_parent(op);
    const ir_type *t = func && func->code == IR_tt_func ? func_type(func) : NULL;
    if (!t)
        return ir_error(v->m, op, TM1103, "tt.return", func ? ir_code_name(func) : "nothing");
    u32 n = t->n_list - t->n_params;
    if (op->n_operands != n)
        return ir_error(v->m, op, TM1107, "returned values and results", op->n_operands, n);
    for (u32 i = 0; i < n; i++)
        if (ir_operand(op, i)->type != t->list[t->n_params + i])
            return ir_error(v->m, op, TM1108, "returned values and results", i);
    return 0;
}

static tm_status check_call(verifier *v, const ir_op *op) {
    const ir_attr *callee = ir_attr_get(op, "callee");
    if (!callee || callee->kind != IR_ATTR_SYMBOL)
        return ir_error(v->m, op, TM1111, "callee");
    void **found = strmap_get(v->functions, callee->text, callee->count);
    if (!found)
        return ir_error(v->m, op, TM1112, callee->text);
    const ir_type *t = func_type(*found);
    u32 n_results = t->n_list - t->n_params;
    if (op->n_operands != t->n_params)
        return ir_error(v->m, op, TM1107, "operands and parameters", op->n_operands, t->n_params);
    if (op->n_results != n_results)
        return ir_error(v->m, op, TM1107, "results of call and callee", op->n_results, n_results);
    for (u32 i = 0; i < t->n_params; i++)
        if (ir_operand(op, i)->type != t->list[i])
            return ir_error(v->m, op, TM1108, "operands and parameters", i);
    for (u32 i = 0; i < n_results; i++)
        if (op->results[i].type != t->list[t->n_params + i])
            return ir_error(v->m, op, TM1108, "results of call and callee", i);
    return 0;
}

static tm_status list_functions(verifier *v) {
    IR_FOR_EACH_OP(ir_module_body(v->m), op) {
        if (op->code != IR_tt_func)
            continue;
        TRY(check_arity(v, op));
        TRY(check_func(v, op));
        const ir_attr *name = ir_attr_get(op, "sym_name");
        void **slot = strmap_put(v->functions, name->text, name->count, NULL);
        if (*slot)
            return ir_error(v->m, op, TM1113, name->text);
        *slot = op;
    }
    return 0;
}

/* ---- The walk --------------------------------------------------------------------------------------------------- */

static tm_status check_op(verifier *v, ir_op *op);

static void show(verifier *v, ir_value *value) {
    value->mark = VISIBLE;
    VEC_PUSH(v->arena, &v->visible, value);
}

static void hide(verifier *v, u32 mark) {
    while (v->visible.count > mark)
        VEC_POP(&v->visible)->mark = HIDDEN;
}

static tm_status walk_block(verifier *v, ir_block *b) {
    for (u32 i = 0; i < b->n_args; i++)
        show(v, b->args[i]);
    IR_FOR_EACH_OP(b, op) {
        if (op->next && ir_has_trait(op, IR_TERMINATOR))
            return ir_error(v->m, op, TM1114);
        TRY(check_op(v, op));
        for (u32 i = 0; i < op->n_results; i++)
            show(v, &op->results[i]);
    }
    return 0;
}

/* Blocks that cannot be reached: whatever their region and the regions around it define is visible. */
static tm_status walk_unreachable(verifier *v, const ir_region *region) {
    u32 mark = v->visible.count;
    for (ir_block *b = region->first; b; b = b->next) {
        for (u32 i = 0; i < b->n_args; i++)
            show(v, b->args[i]);
        IR_FOR_EACH_OP(b, op)
            for (u32 i = 0; i < op->n_results; i++)
                show(v, &op->results[i]);
    }
    for (ir_block *b = region->first; b; b = b->next)
        if (b->mark == 0)
            IR_FOR_EACH_OP(b, op) {
                if (op->next && ir_has_trait(op, IR_TERMINATOR))
                    return ir_error(v->m, op, TM1114);
                TRY(check_op(v, op));
            }
    hide(v, mark);
    return 0;
}

/* Blocks in preorder of the dominator tree; leaving a subtree hides what it showed. */
static tm_status walk_blocks(verifier *v, const ir_region *region) {
    ir_dominance d = ir_dominators(v->arena, region);
    u32 *first_child = ARENA_ARRAY(v->arena, u32, d.n + 1);
    u32 *sibling = ARENA_ARRAY(v->arena, u32, d.n + 1);
    for (u32 i = d.n; i-- > 1;) {
        sibling[i] = first_child[d.idom[i]];
        first_child[d.idom[i]] = i;
    }
    struct {
        u32 next, mark;
    } *stack = arena_alloc(v->arena, (d.n + 1) * sizeof *stack);
    u32 depth = 0;
    for (u32 at = 0;;) {
        stack[depth].mark = v->visible.count;
        stack[depth++].next = first_child[at];
        TRY(walk_block(v, d.blocks[at]));
        while (depth && stack[depth - 1].next == 0)
            hide(v, stack[--depth].mark);
        if (!depth)
            break;
        at = stack[depth - 1].next;
        stack[depth - 1].next = sibling[at];
    }
    return walk_unreachable(v, region);
}

static tm_status walk_region(verifier *v, const ir_op *op, u32 index) {
    const ir_region *region = &op->regions[index];
    if (!region->first)
        return 0;
    for (const ir_block *b = region->first; b; b = b->next)
        TRY(check_block(v, op, index, b));
    u32 mark = v->visible.count;
    if (region->first->next)
        return walk_blocks(v, region);
    TRY(walk_block(v, region->first));
    hide(v, mark);
    return 0;
}

static tm_status check_operands(verifier *v, const ir_op *op) {
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_value *value = ir_operand(op, i);
        if (!value || op->operands[i].owner != op)
            return ir_error(v->m, op, TM1115, i);
        if (value->mark != VISIBLE)
            return ir_error(v->m, op, TM1116, i);
    }
    return 0;
}

static tm_status check_op(verifier *v, ir_op *op) {
    TRY(check_arity(v, op));
    TRY(check_operands(v, op));
    TRY(verify_op_types(v->m, op));
    if (op->code == IR_tt_call)
        TRY(check_call(v, op));
    if (op->code == IR_tt_return)
        TRY(check_return(v, op));
    if (op->code == IR_tt_func && ir_parent(op) != v->m->op)
        return ir_error(v->m, op, TM1104, "a function is inside of another operation");
    for (u32 i = 0; i < op->n_regions; i++)
        TRY(walk_region(v, op, i));
    return check_regions(v, op);
}

static void hide_all(ir_op *op, void *data) {
    for (u32 i = 0; i < op->n_results; i++)
        op->results[i].mark = HIDDEN;
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                b->args[i]->mark = HIDDEN;
}

/* Each function is judged for itself, so that one text shows the first mistake of each. */
tm_status ir_verify(ir_module *m) {
    verifier v = {.m = m, .arena = arena_new()};
    v.functions = strmap_new(v.arena);
    ir_walk(m->op, hide_all, NULL);
    tm_status status = list_functions(&v);
    if (status == 0)
        IR_FOR_EACH_OP(ir_module_body(m), op) {
            hide(&v, 0);
            if (check_op(&v, op) != 0)
                status = -1;
        }
    arena_free(v.arena);
    return status;
}
