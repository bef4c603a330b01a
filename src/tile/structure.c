/* SPDX-License-Identifier: MIT */
/* Branches between blocks (early returns) become nested scf.if. The control flow graph is acyclic.
 *
 * A block's dominator subtree is emitted as one piece of straight code. It ends at exits: blocks
 * outside the subtree, or the return, each with the arguments it passes. When there are several, a
 * flag per exit tells which one was taken. Two-way branches emit both sides as the regions of an
 * scf.if that yields flags and arguments of the union of their exits. A block where paths meet is
 * emitted after the branch that dominates it: at once if it is the only exit left, else under an
 * scf.if on its flag. So every op appears exactly once, whatever the graph's shape.
 *
 * Values of blocks stay visible where they were: a block is emitted inside the scope of its
 * dominators. Arguments of exits not taken are ub.poison. */
#include "base/vec.h"
#include "tile/edit.h"
#include "tile/tile.h"

enum { MAX_DEPTH = 200 };

typedef struct node {
    ir_block *block;      /* NULL: the return */
    struct node *succ[2];
    u32 n_succ, edges_in;
    u32 order;            /* in reverse postorder; the return is last */
    struct node *idom;
    VEC(struct node *) merges; /* blocks with several predecessors that this one immediately dominates */
    u8 state;             /* of the depth-first search */
} node;

typedef struct exit_to {
    node *to;
    ir_value *flag;  /* NULL when it is the only exit, or the return */
    ir_value **args;
} exit_to;

typedef struct exits {
    u32 n;
    exit_to *at; /* by order of their targets */
} exits;

typedef struct structurer {
    ir_module *m;
    ir_op *func;
    arena *a;
    node *nodes, *ret;
    node **order;
    u32 n_order;
    u32 n_results;
    const ir_type *const *results;
    tm_status status;
} structurer;

/* ---- The graph ---------------------------------------------------------------------------------- */

/* The successor numbers that a terminator can take: a constant condition takes one. */
static u32 taken(const ir_op *end, u32 which[2]) {
    i64 bits;
    if (end->code == IR_cf_br || (end->code == IR_cf_cond_br && ir_constant_bits(ir_operand(end, 0), &bits))) {
        which[0] = end->code == IR_cf_cond_br && !bits;
        return 1;
    }
    which[0] = 0;
    which[1] = 1;
    return end->code == IR_cf_cond_br ? 2 : 0;
}

static tm_status find_successors(structurer *s, node *n) {
    ir_op *end = n->block->last;
    u32 which[2];
    if (!end || (end->code != IR_cf_br && end->code != IR_cf_cond_br && end->code != IR_tt_return))
        return ir_error(s->m, end ? end : s->func, TM2003);
    n->n_succ = taken(end, which);
    for (u32 i = 0; i < n->n_succ; i++)
        n->succ[i] = &s->nodes[end->succs[which[i]].block->mark];
    if (n->n_succ == 0)
        n->succ[n->n_succ++] = s->ret;
    return 0;
}

/* Depth-first from the entry with a stack of its own; fills s->order in postorder, then turns it. */
static tm_status order_nodes(structurer *s) {
    VEC(node *) stack = {0};
    VEC_PUSH(s->a, &stack, &s->nodes[0]);
    s->ret->state = 2;
    while (stack.count) {
        node *n = VEC_LAST(&stack);
        if (n->state == 0) {
            n->state = 1;
            TRY(find_successors(s, n));
            for (u32 i = n->n_succ; i-- > 0;) {
                if (n->succ[i]->state == 0)
                    VEC_PUSH(s->a, &stack, n->succ[i]);
            }
            continue;
        }
        (void)VEC_POP(&stack);
        if (n->state == 2)
            continue;
        for (u32 i = 0; i < n->n_succ; i++)
            if (n->succ[i]->state == 1) /* still open, perhaps n itself: a way back */
                return ir_error(s->m, n->block->last, TM2002);
        n->state = 2;
        s->order[s->n_order++] = n;
    }
    for (u32 i = 0; i < s->n_order / 2; i++) {
        node *t = s->order[i];
        s->order[i] = s->order[s->n_order - 1 - i];
        s->order[s->n_order - 1 - i] = t;
    }
    for (u32 i = 0; i < s->n_order; i++)
        s->order[i]->order = i;
    s->ret->order = s->n_order;
    return 0;
}

/* In reverse postorder every predecessor of a block is final before the block is reached. */
static void find_dominators(structurer *s) {
    for (u32 i = 0; i < s->n_order; i++) {
        node *n = s->order[i];
        if (n->edges_in > 1)
            VEC_PUSH(s->a, &n->idom->merges, n);
        for (u32 k = 0; k < n->n_succ; k++) {
            node *to = n->succ[k], *other = n;
            if (to->edges_in++ == 0) {
                to->idom = n;
                continue;
            }
            while (to->idom != other) {
                if (to->idom->order > other->order)
                    to->idom = to->idom->idom;
                else
                    other = other->idom;
            }
        }
    }
}

/* ---- Emission ----------------------------------------------------------------------------------- */

static u32 arg_count(const structurer *s, const node *to) {
    return to->block ? to->block->n_args : s->n_results;
}

static const ir_type *arg_type(const structurer *s, const node *to, u32 i) {
    return to->block ? to->block->args[i]->type : s->results[i];
}

static exits one_exit(structurer *s, node *to, ir_value **args) {
    exits e = {1, ARENA_NEW(s->a, exit_to)};
    e.at[0] = (exit_to){to, NULL, args};
    return e;
}

static const exit_to *find_exit(const exits *e, const node *to) {
    for (u32 i = 0; i < e->n; i++)
        if (e->at[i].to == to)
            return &e->at[i];
    return NULL;
}

static exits without(structurer *s, const exits *e, const node *to) {
    exits rest = {0, ARENA_ARRAY(s->a, exit_to, e->n)};
    for (u32 i = 0; i < e->n; i++)
        if (e->at[i].to != to)
            rest.at[rest.n++] = e->at[i];
    if (rest.n == 1)
        rest.at[0].flag = NULL;
    return rest;
}

static exits unite(structurer *s, const exits *x, const exits *y) {
    exits u = {0, ARENA_ARRAY(s->a, exit_to, x->n + y->n)};
    for (u32 i = 0, j = 0; i < x->n || j < y->n;) {
        u32 a = i < x->n ? x->at[i].to->order : UINT32_MAX;
        u32 b = j < y->n ? y->at[j].to->order : UINT32_MAX;
        u.at[u.n++] = (exit_to){.to = a <= b ? x->at[i].to : y->at[j].to};
        i += a <= b;
        j += b <= a;
    }
    return u;
}

static bool has_flag(const exits *u, const exit_to *e) { return u->n > 1 && e->to->block; }

/* Ends a region with the values for every exit of the union that its own exits give. */
static void yield_exits(structurer *s, ir_block *block, const ir_loc *loc, const exits *u,
                        const exits *own) {
    ir_builder b = ir_at_end(s->m, block);
    b.loc = loc;
    VEC(ir_value *) values = {0};
    for (u32 i = 0; i < u->n; i++) {
        const exit_to *e = find_exit(own, u->at[i].to);
        if (has_flag(u, &u->at[i]))
            VEC_PUSH(s->a, &values,
                     e && e->flag ? e->flag : ir_const_int(&b, ir_type_int(s->m, 1), e != NULL));
        for (u32 k = 0; k < arg_count(s, u->at[i].to); k++)
            VEC_PUSH(s->a, &values,
                     e ? e->args[k]
                       : ir_build1(&b, IR_ub_poison, arg_type(s, u->at[i].to, k), 0, NULL));
    }
    ir_build(&b, IR_scf_yield, values.count, values.at, 0, NULL, 0);
}

/* Finishes an scf.if whose regions hold code without terminators. Returns the exits after it. */
static exits join(structurer *s, ir_op *op, const exits *then_exits, const exits *else_exits) {
    exits u = unite(s, then_exits, else_exits);
    yield_exits(s, op_block(op, 0), op->loc, &u, then_exits);
    yield_exits(s, op_block(op, 1), op->loc, &u, else_exits);
    VEC(const ir_type *) types = {0};
    for (u32 i = 0; i < u.n; i++) {
        if (has_flag(&u, &u.at[i]))
            VEC_PUSH(s->a, &types, ir_type_int(s->m, 1));
        for (u32 k = 0; k < arg_count(s, u.at[i].to); k++)
            VEC_PUSH(s->a, &types, arg_type(s, u.at[i].to, k));
    }
    ir_value *condition = ir_operand(op, 0);
    ir_builder b = ir_before(s->m, op);
    ir_op *made = ir_build(&b, IR_scf_if, 1, &condition, types.count, types.at, 2);
    region_take(&made->regions[0], &op->regions[0]);
    if (types.count || op_block(op, 1)->first != op_block(op, 1)->last)
        region_take(&made->regions[1], &op->regions[1]);
    ir_erase(op);
    u32 next = 0;
    for (u32 i = 0; i < u.n; i++) {
        if (has_flag(&u, &u.at[i]))
            u.at[i].flag = ir_result(made, next++);
        u32 n = arg_count(s, u.at[i].to);
        u.at[i].args = ARENA_ARRAY(s->a, ir_value *, n);
        for (u32 k = 0; k < n; k++)
            u.at[i].args[k] = ir_result(made, next++);
    }
    return u;
}

static ir_op *open_if(structurer *s, ir_block *out, ir_value *condition, const ir_loc *loc) {
    ir_builder b = ir_at_end(s->m, out);
    b.loc = loc;
    ir_op *op = ir_build(&b, IR_scf_if, 1, &condition, 0, NULL, 2);
    ir_block_new(s->m, &op->regions[0]);
    ir_block_new(s->m, &op->regions[1]);
    return op;
}

static ir_value **operand_list(structurer *s, const ir_op *op, u32 first, u32 n) {
    ir_value **list = ARENA_ARRAY(s->a, ir_value *, n);
    for (u32 i = 0; i < n; i++)
        list[i] = ir_operand(op, first + i);
    return list;
}

static exits emit_tree(structurer *s, node *n, ir_block *out, ir_value **args, u32 depth);

/* Follows an edge: into the subtree, or out of it when other paths meet there. */
static exits emit_edge(structurer *s, node *to, ir_block *out, ir_value **args, u32 depth) {
    return to->edges_in > 1 || !to->block ? one_exit(s, to, args) : emit_tree(s, to, out, args, depth);
}

static exits emit_branch(structurer *s, node *n, ir_op *end, ir_block *out, u32 depth) {
    u32 which[2], count = taken(end, which);
    if (count == 0)
        return one_exit(s, s->ret, operand_list(s, end, 0, end->n_operands));
    const ir_succ *to = &end->succs[which[0]];
    if (count == 1)
        return emit_edge(s, n->succ[0], out, operand_list(s, end, to->first, to->count), depth);
    ir_op *op = open_if(s, out, ir_operand(end, 0), end->loc);
    exits e[2];
    for (u32 i = 0; i < 2; i++) {
        to = &end->succs[i];
        e[i] = emit_edge(s, n->succ[i], op_block(op, i),
                         operand_list(s, end, to->first, to->count), depth + 1);
    }
    return s->status ? e[0] : join(s, op, &e[0], &e[1]);
}

static exits emit_tree(structurer *s, node *n, ir_block *out, ir_value **args, u32 depth) {
    for (;;) {
        ir_op *end = n->block->last;
        if (depth > MAX_DEPTH) {
            s->status = s->status ? s->status : ir_error(s->m, end, TM2004, MAX_DEPTH);
            return one_exit(s, s->ret, ARENA_ARRAY(s->a, ir_value *, s->n_results));
        }
        for (u32 i = 0; n != s->order[0] && i < n->block->n_args; i++)
            ir_replace_uses(n->block->args[i], args[i]);
        ir_splice(out, n->block);
        ir_remove(end);
        exits e;
        u32 which[2];
        bool straight = taken(end, which) == 1 && n->succ[0]->edges_in == 1 && n->succ[0]->block;
        if (straight)
            args = operand_list(s, end, end->succs[which[0]].first, end->succs[which[0]].count);
        else
            e = emit_branch(s, n, end, out, depth);
        ir_set_operands(s->m, end, 0, NULL);
        if (s->status)
            return one_exit(s, s->ret, ARENA_ARRAY(s->a, ir_value *, s->n_results));
        if (straight) { /* nothing else hangs below n */
            n = n->succ[0];
            continue;
        }
        node *last = NULL;
        for (u32 i = 0; i < n->merges.count && !last && !s->status; i++) {
            node *to = n->merges.at[i];
            const exit_to *x = find_exit(&e, to);
            if (e.n == 1 && i + 1 == n->merges.count) {
                last = to;
                args = x->args;
            } else if (e.n == 1) {
                e = emit_tree(s, to, out, x->args, depth + 1);
            } else {
                ir_op *op = open_if(s, out, x->flag, end->loc);
                exits rest = without(s, &e, to);
                exits got = emit_tree(s, to, op_block(op, 0), x->args, depth + 1);
                if (!s->status)
                    e = join(s, op, &got, &rest);
            }
        }
        if (!last || s->status)
            return e;
        n = last;
    }
}

/* Blocks that nothing reaches may name values of blocks that stay. */
static void drop_uses(ir_op *op, void *data) { ir_set_operands(data, op, 0, NULL); }

static void drop_unreachable(structurer *s) {
    for (ir_block *b = s->func->regions[0].first; b; b = b->next) {
        if (s->nodes[b->mark].state)
            continue;
        IR_FOR_EACH_OP(b, op)
            ir_walk(op, drop_uses, s->m);
        b->first = b->last = NULL;
    }
}

tm_status structure_func(pass_run *run, ir_module *m, ir_op *func) {
    ir_region *body = &func->regions[0];
    if (!body->first || !body->first->next)
        return 0;
    const ir_attr *type = ir_attr_get(func, "function_type");
    if (!type || type->kind != IR_ATTR_TYPE || type->type->kind != IR_FUNC)
        return ir_error(m, func, TM2003);
    structurer s = {.m = m, .func = func, .a = run->scratch};
    s.n_results = type->type->n_list - type->type->n_params;
    s.results = type->type->list + type->type->n_params;
    u32 n = 0;
    for (ir_block *b = body->first; b; b = b->next)
        b->mark = n++;
    s.nodes = ARENA_ARRAY(s.a, node, n + 1);
    s.order = ARENA_ARRAY(s.a, node *, n + 1);
    s.ret = &s.nodes[n];
    for (ir_block *b = body->first; b; b = b->next)
        s.nodes[b->mark].block = b;
    TRY(order_nodes(&s));
    find_dominators(&s);
    drop_unreachable(&s);
    const ir_loc *loc = body->first->last->loc;
    exits e = emit_tree(&s, s.order[0], body->first, NULL, 0);
    if (s.status)
        return s.status;
    body->first->next = NULL;
    body->last = body->first;
    ir_builder b = ir_at_end(m, body->first);
    b.loc = loc;
    ir_build(&b, IR_tt_return, s.n_results, e.at[0].args, 0, NULL, 0);
    return 0;
}

static tm_status visit(pass_run *run, ir_module *m, ir_op *func) {
    arena_mark mark = arena_save(run->scratch);
    tm_status status = structure_func(run, m, func);
    arena_rewind(run->scratch, mark);
    return status;
}

static tm_status run_structure(pass_run *run, ir_module *m) { return for_each_func(run, m, visit); }

const pass_info pass_structure = {"structure", "branches of early returns become scf.if", run_structure};
