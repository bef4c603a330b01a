/* SPDX-License-Identifier: MIT */
/* Layout assignment: every tensor gets a #ttg.linear encoding, and ttg.convert_layout stands where
 * a producer and a consumer differ. Preferences and homes are settled first (assign_layouts_*.c);
 * this file groups carried values, and rewrites from the end of the function to its start: each op
 * asks its operands for layouts, and when a definition is reached all requests for it are known.
 * Cheap definitions are cloned per layout; others get one conversion per further layout, right
 * after the definition, or inside the scf.if that alone needs it. */
#include "tile/assign_layouts.h"

enum { MAX_TENSOR_BITS = LAYOUT_MAX_BITS };

typedef struct request {
    ir_op *op;
    u32 operand;
    const ir_attr *layout;
    struct request *next;
} request;

const ir_attr *layout_attr(assign *s, const layout *l) {
    return ir_attr_layout(s->m, l);
}

/* ---- Groups of carried values ---- */

u32 group_of(assign *s, const ir_value *v) {
    u32 g = v->mark;
    while (s->parent[g] != g)
        g = s->parent[g] = s->parent[s->parent[g]];
    return g;
}

static void join_groups(assign *s, const ir_value *a, const ir_value *b) {
    u32 x = group_of(s, a), y = group_of(s, b);
    if (x == y)
        return;
    s->parent[MAX(x, y)] = MIN(x, y);
    u32 t = s->next[x]; /* two circles become one */
    s->next[x] = s->next[y];
    s->next[y] = t;
}

static void group_carried(assign *s, const ir_op *op) {
    if (op->code == IR_scf_for)
        for (u32 i = 0; i < op->n_results; i++)
            join_groups(s, ir_result(op, i), op->regions[0].first->args[i + 1]);
    if (op->code == IR_scf_while)
        for (u32 i = 0; i < op->n_results; i++)
            join_groups(s, ir_result(op, i), op->regions[1].first->args[i]);
}

/* ---- Collecting the function ---- */

static void find_depth(assign *s, const ir_op *op) {
    const ir_op *parent = ir_parent(op);
    if (!parent || parent == s->func)
        return;
    bool loop = parent->code == IR_scf_for || parent->code == IR_scf_while;
    s->depth[op->mark] = (u8)MIN(s->depth[parent->mark] + loop, 255);
}

static void collect_value(assign *s, ir_value *v) {
    s->values[v->mark] = v;
}

static void collect_op(ir_op *op, void *data) {
    assign *s = data;
    if (op == s->func)
        return;
    op->mark = s->n_ops++;
    if (s->ops)
        s->ops[op->mark] = op;
}

static void collect_values(ir_op *op, void *data) {
    for (u32 i = 0; i < op->n_results; i++)
        collect_value(data, ir_result(op, i));
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                collect_value(data, b->args[i]);
}

static void collect(assign *s) {
    ir_walk(s->func, collect_op, s); /* counts */
    s->ops = ARENA_ARRAY(s->a, ir_op *, s->n_ops);
    s->n_ops = 0;
    ir_walk(s->func, collect_op, s);
    s->n_values = ir_number(s->func);
    s->values = ARENA_ARRAY(s->a, ir_value *, s->n_values);
    ir_walk(s->func, collect_values, s);
    s->parent = ARENA_ARRAY(s->a, u32, s->n_values);
    s->next = ARENA_ARRAY(s->a, u32, s->n_values);
    for (u32 i = 0; i < s->n_values; i++)
        s->parent[i] = s->next[i] = i;
    s->flags = ARENA_ARRAY(s->a, u8, s->n_values);
    s->pref = ARENA_ARRAY(s->a, choice, s->n_values);
    s->home = ARENA_ARRAY(s->a, choice, s->n_values);
    s->side = ARENA_ARRAY(s->a, choice, s->n_ops);
    s->vectors = map_new(s->a);
    s->first_slot = ARENA_ARRAY(s->a, u32, s->n_ops);
    u32 slots = 0;
    for (u32 i = 0; i < s->n_ops; i++) {
        s->first_slot[i] = slots;
        slots += s->ops[i]->n_operands;
    }
    s->asked = ARENA_ARRAY(s->a, struct asked, slots);
    s->depth = ARENA_ARRAY(s->a, u8, s->n_ops);
    for (u32 i = 0; i < s->n_ops; i++) {
        group_carried(s, s->ops[i]);
        find_depth(s, s->ops[i]);
    }
}

/* ---- Refusals ---- */

static const char *shape_problem(const ir_type *t) {
    u32 bits = 0;
    if (t->rank == 0 || t->rank > LAYOUT_MAX_RANK)
        return "its rank is not 1 to 16";
    for (u32 d = 0; d < t->rank; d++) {
        if (t->shape[d] < 1 || !is_pow2((u64)t->shape[d]))
            return "a dimension is not a power of two";
        bits += log2_u64((u64)t->shape[d]);
    }
    return bits > MAX_TENSOR_BITS ? "it has more than 1048576 elements" : NULL;
}

static tm_status check_shapes(assign *s) {
    for (u32 i = 0; i < s->n_values; i++) {
        const ir_value *v = s->values[i];
        const char *problem = v && is_tensor(v) ? shape_problem(v->type) : NULL;
        const ir_op *op = !problem ? NULL : v->op ? v->op : v->block->region->op;
        if (problem)
            return ir_error(s->m, op, TM2101, problem);
        if (v && is_tensor(v) && !v->op && v->block->region->op == s->func)
            return ir_error(s->m, s->func, TM2101, "it is an argument of the kernel");
    }
    return 0;
}

/* ---- Rewriting ---- */

typedef struct rewrite {
    assign *s;
    request **requests; /* by value->mark */
} rewrite;

static void set_layout(assign *s, ir_value *v, const ir_attr *want) {
    v->type = ir_type_with_encoding(s->m, v->type, want);
    if (v->op && v->op->code == IR_arith_constant) {
        const ir_attr *old = ir_attr_get(v->op, "value");
        ir_attr typed = *old;
        typed.type = v->type;
        ir_attr_set(s->m, v->op, "value", ir_attr_intern(s->m, &typed));
    }
}

static void ask(rewrite *w, ir_op *op, u32 i, const ir_attr *want) {
    request *r = arena_alloc(w->s->a, sizeof *r);
    u32 v = ir_operand(op, i)->mark;
    *r = (request){op, i, want, w->requests[v]};
    w->requests[v] = r;
}

/* Requests for all operands of op when it runs in layout l (NULL: it has none of its own). */
static void ask_operands(rewrite *w, ir_op *op, const ir_attr *l) {
    assign *s = w->s;
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_value *v = ir_operand(op, i), *to = carried_value(op, i);
        const ir_attr *need = NULL;
        if (!is_tensor(v))
            continue;
        if (to)
            need = s->home[group_of(s, to)].layout;
        else if (l)
            need = operand_attr(s, op, i, l);
        ask(w, op, i, need ? need : s->home[group_of(s, v)].layout);
    }
}

/* Takes the requests for `want` out of the list, pointing them at v. Returns the others. */
static request *serve(request *list, const ir_attr *want, ir_value *v) {
    request *rest = NULL, **tail = &rest;
    for (request *r = list, *next; r; r = next) {
        next = r->next;
        if (r->layout == want) {
            ir_set_operand(r->op, r->operand, v);
        } else {
            *tail = r;
            tail = &r->next;
        }
    }
    *tail = NULL;
    return rest;
}

/* The op of block b that is or holds `op`; NULL when it is elsewhere. */
static ir_op *ancestor_in(ir_op *op, const ir_block *b) {
    while (op && op->block != b)
        op = ir_parent(op);
    return op;
}

/* The one region of the one scf.if in b that holds all requests for `want`, or NULL. */
static ir_block *only_branch(const request *list, const ir_attr *want, const ir_block *b) {
    ir_block *branch = NULL;
    for (const request *r = list; r; r = r->next) {
        if (r->layout != want)
            continue;
        ir_op *top = ancestor_in(r->op, b);
        if (!top || top->code != IR_scf_if || top == r->op)
            return NULL;
        ir_block *then = top->regions[0].first;
        ir_block *in = ancestor_in(r->op, then) ? then : top->regions[1].first;
        if (branch && branch != in)
            return NULL;
        branch = in;
    }
    return branch;
}

static ir_builder place_conversion(assign *s, ir_value *v, const request *list,
                                   const ir_attr *want) {
    ir_block *b = v->op ? v->op->block : v->block, *in = b;
    for (ir_block *deeper; (deeper = only_branch(list, want, in));)
        in = deeper;
    ir_builder at = ir_after_def(s->m, v);
    if (in != b) {
        const ir_loc *loc = at.loc;
        at = ir_before(s->m, in->first);
        at.loc = loc;
    }
    return at;
}

static void rewrite_value(rewrite *w, ir_value *v) {
    assign *s = w->s;
    if (!is_tensor(v))
        return;
    const ir_attr *home = s->home[group_of(s, v)].layout;
    set_layout(s, v, home);
    request *list = serve(w->requests[v->mark], home, v);
    while (list) {
        const ir_attr *want = list->layout;
        ir_builder at = place_conversion(s, v, list, want);
        const ir_type *t = ir_type_with_encoding(s->m, v->type, want);
        list = serve(list, want, ir_unary(&at, IR_ttg_convert_layout, t, v));
    }
}

static bool is_asked(const request *list, const ir_attr *want) {
    while (list && list->layout != want)
        list = list->next;
    return list != NULL;
}

/* A cheap op: itself in the first layout asked for, clones in the others. */
static void rewrite_mobile(rewrite *w, ir_op *op) {
    assign *s = w->s;
    ir_value *v = ir_result(op, 0);
    request *list = w->requests[v->mark];
    const ir_attr *first = s->home[group_of(s, v)].layout;
    if (list && !is_asked(list, first))
        first = list->layout;
    list = serve(list, first, v);
    while (list) {
        const ir_attr *want = list->layout;
        ir_builder at = ir_after(s->m, op);
        at.loc = op->loc;
        ir_op *copy = ir_clone(&at, op, map_new(s->a));
        copy->mark = op->mark;
        set_layout(s, ir_result(copy, 0), want);
        list = serve(list, want, ir_result(copy, 0));
        ask_operands(w, copy, want);
    }
    set_layout(s, v, first);
    ask_operands(w, op, first);
}

static void rewrite_op(rewrite *w, ir_op *op) {
    assign *s = w->s;
    if (op->n_results == 1 && is_tensor(ir_result(op, 0)) &&
        (s->flags[group_of(s, ir_result(op, 0))] & VALUE_MOBILE)) {
        rewrite_mobile(w, op);
        return;
    }
    for (u32 i = 0; i < op->n_results; i++)
        rewrite_value(w, ir_result(op, i));
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                rewrite_value(w, b->args[i]);
    ask_operands(w, op, op_choice(s, op).layout);
}

static tm_status run_assign(pass_run *run, ir_module *m) {
    ir_op *func = ir_module_kernel(m);
    if (!func)
        return -1;
    if (!is_pow2(run->target.num_warps) || run->target.num_warps > 32)
        return ir_error(m, func, TM2102, run->target.num_warps);
    assign s = {.run = run, .m = m, .a = run->scratch, .func = func};
    s.warp_bits = log2_u64(run->target.num_warps);
    collect(&s);
    TRY(check_shapes(&s));
    s.axis = axis_analyze(s.a, func);
    for (u32 i = 0; i < s.n_ops; i++) /* the analysis may use the scratch marks */
        s.ops[i]->mark = i;
    ir_number(func);
    flag_all(&s);
    prefer_all(&s);
    home_all(&s);
    rewrite w = {&s, ARENA_ARRAY(s.a, request *, s.n_values)};
    for (u32 i = s.n_ops; i-- > 0;)
        rewrite_op(&w, s.ops[i]);
    return 0;
}

const pass_info pass_assign_layouts = {
    .name = "assign-layouts",
    .doc = "give every tensor a layout, convert where producer and consumer differ",
    .run = run_assign,
};
