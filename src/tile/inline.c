/* SPDX-License-Identifier: MIT */
/* Every tt.call is replaced by a copy of its callee's body. Callees come first (postorder of the call
 * graph), so each body is complete when it is copied; callees that branch are structured before, so
 * that a body is one block and fits anywhere, also inside loops and combine regions. Copies are
 * located at callsite(callee at caller). Private functions then have no callers and go. */
#include "base/map.h"
#include "base/vec.h"
#include "tile/edit.h"
#include "tile/tile.h"

typedef struct func_node {
    ir_op *func;
    VEC(ir_op *) calls;
    u32 next;
    enum { NEW, OPEN, DONE } state;
} func_node;

typedef struct inliner {
    pass_run *run;
    ir_module *m;
    arena *a;
    strmap *names; /* of functions, to func_node */
    func_node *current;
} inliner;

static void collect_call(ir_op *op, void *data) {
    inliner *in = data;
    if (op->code == IR_tt_call)
        VEC_PUSH(in->a, &in->current->calls, op);
}

static const char *text_of(const ir_op *op, const char *attr) {
    const ir_attr *a = ir_attr_get(op, attr);
    return a && (a->kind == IR_ATTR_STRING || a->kind == IR_ATTR_SYMBOL) ? a->text : "";
}

static void add_functions(inliner *in) {
    IR_FOR_EACH_OP(ir_module_body(in->m), op) {
        if (op->code != IR_tt_func)
            continue;
        func_node *n = ARENA_NEW(in->a, func_node);
        n->func = op;
        const char *name = text_of(op, "sym_name");
        *strmap_put(in->names, name, strlen(name), NULL) = n;
        in->current = n;
        ir_walk(op, collect_call, in);
    }
}

typedef struct relocation {
    ir_module *m;
    const ir_loc *caller;
} relocation;

static void relocate(ir_op *op, void *data) {
    const relocation *r = data;
    op->loc = ir_loc_call(r->m, op->loc, r->caller);
}

static func_node *callee_of(const inliner *in, const ir_op *call) {
    const char *name = text_of(call, "callee");
    void **found = strmap_get(in->names, name, strlen(name));
    return found ? *found : NULL;
}

/* The callee is one block that ends in tt.return. */
static tm_status inline_call(inliner *in, ir_op *call, const func_node *callee) {
    ir_block *body = callee->func->regions[0].first;
    ir_op *end = body->last;
    if (!end || end->code != IR_tt_return || end->n_operands != call->n_results ||
        body->n_args != call->n_operands)
        return ir_error(in->m, call, TM2005, text_of(call, "callee"));
    map *values = map_new(in->a);
    for (u32 i = 0; i < body->n_args; i++)
        *map_put(values, MAP_KEY(body->args[i])) = ir_operand(call, i);
    ir_builder b = ir_before(in->m, call);
    relocation r = {in->m, call->loc};
    for (const ir_op *op = body->first; op != end; op = op->next)
        ir_walk(ir_clone(&b, op, values), relocate, &r);
    for (u32 i = 0; i < call->n_results; i++) {
        void **copy = map_get(values, MAP_KEY(ir_operand(end, i)));
        ir_replace_uses(ir_result(call, i), copy ? *copy : ir_operand(end, i));
    }
    ir_erase(call);
    return 0;
}

static tm_status finish(inliner *in, func_node *n) {
    for (u32 i = 0; i < n->calls.count; i++) {
        arena_mark mark = arena_save(in->a);
        TRY(inline_call(in, n->calls.at[i], callee_of(in, n->calls.at[i])));
        arena_rewind(in->a, mark);
    }
    n->state = DONE;
    return strcmp(text_of(n->func, "sym_visibility"), "private") == 0
               ? structure_func(in->run, in->m, n->func)
               : 0;
}

/* Depth-first over the call graph with a stack of its own. */
static tm_status inline_into(inliner *in, func_node *root) {
    VEC(func_node *) stack = {0};
    VEC_PUSH(in->a, &stack, root);
    root->state = OPEN;
    while (stack.count) {
        func_node *n = VEC_LAST(&stack);
        if (n->next == n->calls.count) {
            TRY(finish(in, n));
            (void)VEC_POP(&stack);
            continue;
        }
        ir_op *call = n->calls.at[n->next++];
        func_node *callee = callee_of(in, call);
        if (!callee || !callee->func->regions[0].first)
            return ir_error(in->m, call, TM2006, text_of(call, "callee"));
        if (callee->state == OPEN)
            return ir_error(in->m, call, TM2001, text_of(call, "callee"));
        if (callee->state == NEW) {
            callee->state = OPEN;
            VEC_PUSH(in->a, &stack, callee);
        }
    }
    return 0;
}

static tm_status run_inline(pass_run *run, ir_module *m) {
    ir_op *kernel = ir_module_kernel(m);
    if (!kernel)
        return -1;
    inliner in = {.run = run, .m = m, .a = run->scratch};
    in.names = strmap_new(in.a);
    add_functions(&in);
    const char *name = text_of(kernel, "sym_name");
    TRY(inline_into(&in, *strmap_get(in.names, name, strlen(name))));
    IR_FOR_EACH_OP_SAFE(ir_module_body(m), op) {
        if (op->code == IR_tt_func && op != kernel)
            ir_erase(op);
    }
    return 0;
}

const pass_info pass_inline = {"inline", "calls become copies of their callees", run_inline};
