/* SPDX-License-Identifier: MIT */
/* Axis analysis: forward over structured control flow. Loops are entered with what is known before
 * them and repeated until the carried values stop changing; facts only ever get weaker on the way, by
 * powers of two, and after a few rounds a carried value that still changes is unknown. Results do not
 * depend on the order of rounds.
 *
 * A run is an aligned group of positions along one dimension. contiguity c: each run of c counts up by
 * 1. divisibility: the value at the start of each such run is a multiple. What holds at the starts of
 * shorter runs follows (axis_div_at); confusing the two gives wrong alignment, and wrong results. */
#include "tile/axis.h"
#include "tile/edit.h"

enum { ROUNDS_BEFORE_GIVING_UP = 6 };

static u32 rank_of(const ir_type *t) {
    return t->kind == IR_TENSOR && t->rank >= 1 && t->rank <= AXIS_MAX_RANK ? t->rank : 1;
}

fact axis_unknown(const ir_type *t) {
    const ir_type *e = ir_elem(t);
    u32 bytes = e->kind == IR_PTR ? ir_type_bytes(e->elem) : 0;
    fact f = {.i = {.rank = (u8)rank_of(t), .step = bytes ? axis_power_of(bytes) : 1}, .visited = true};
    for (u32 d = 0; d < AXIS_MAX_RANK; d++)
        f.i.contiguity[d] = f.i.divisibility[d] = f.i.constancy[d] = 1;
    return f;
}

u32 axis_power_of(i64 value) {
    u64 low = (u64)value & (0 - (u64)value);
    return value == 0 || low > AXIS_MAX_POWER ? AXIS_MAX_POWER : (u32)low;
}

u32 axis_div_at(const axis_info *i, u32 d, u32 run) {
    u64 apart = (u64)run * i->step;
    return run >= i->contiguity[d] || apart >= i->divisibility[d] ? i->divisibility[d] : (u32)apart;
}

fact axis_join(const fact *a, const fact *b) {
    if (!a->visited || !b->visited)
        return a->visited ? *a : *b;
    fact f = *a;
    f.nonneg = a->nonneg && b->nonneg;
    f.i.constant = a->i.constant && b->i.constant && a->i.value == b->i.value;
    for (u32 d = 0; d < f.i.rank; d++) {
        u32 run = MIN(a->i.contiguity[d], b->i.contiguity[d]);
        f.i.contiguity[d] = run;
        f.i.constancy[d] = MIN(a->i.constancy[d], b->i.constancy[d]);
        f.i.divisibility[d] = MIN(axis_div_at(&a->i, d, run), axis_div_at(&b->i, d, run));
    }
    return f;
}

static const fact nothing_known = {
    .i = {.rank = 1, .step = 1, .contiguity = {1}, .divisibility = {1}, .constancy = {1}}, .visited = true};

const fact *axis_fact(const axis_table *t, const ir_value *v) {
    void **found = map_get(t->facts, MAP_KEY(v));
    return found && *found ? *found : &nothing_known;
}

static bool same_fact(const fact *a, const fact *b) {
    if (a->nonneg != b->nonneg || a->i.constant != b->i.constant || a->i.value != b->i.value)
        return false;
    for (u32 d = 0; d < a->i.rank; d++)
        if (a->i.contiguity[d] != b->i.contiguity[d] || a->i.divisibility[d] != b->i.divisibility[d] ||
            a->i.constancy[d] != b->i.constancy[d])
            return false;
    return true;
}

static void set_fact(axis_table *t, const ir_value *v, fact f) {
    void **slot = map_put(t->facts, MAP_KEY(v));
    if (*slot && same_fact(*slot, &f))
        return;
    *slot = arena_dup(t->a, &f, sizeof f);
    t->changed = true;
}

/* ---- Hints --------------------------------------------------------------------------------------- */

/* A hint is an integer, or a tensor of one integer per dimension. */
static bool hint_value(const ir_attr *a, u32 d, u32 *out) {
    i64 v = 0;
    if (!a)
        return false;
    if (a->kind == IR_ATTR_INT)
        v = a->i;
    else if (a->kind == IR_ATTR_DENSE && a->count)
        v = a->ints[a->splat ? 0 : MIN(d, a->count - 1)];
    *out = v > 0 ? axis_power_of(v) : 1;
    return v > 0;
}

static void apply_hints(fact *f, const ir_attr *contiguity, const ir_attr *divisibility,
                        const ir_attr *constancy) {
    for (u32 d = 0; d < f->i.rank; d++) {
        u32 v, run = f->i.contiguity[d];
        if (hint_value(contiguity, d, &v) && v > run) {
            f->i.divisibility[d] = axis_div_at(&f->i, d, v);
            f->i.contiguity[d] = v;
        }
        if (hint_value(constancy, d, &v))
            f->i.constancy[d] = MAX(f->i.constancy[d], v);
        if (hint_value(divisibility, d, &v))
            f->i.divisibility[d] = MAX(f->i.divisibility[d], v);
    }
}

static const ir_attr *named(const ir_named_attr *attrs, u32 n, const char *name) {
    for (u32 i = 0; i < n; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return attrs[i].value;
    return NULL;
}

/* Loops carry hints for their arguments under the argument's number: tt.divisibility_arg1. */
static void argument_hints(axis_table *t, fact *f, const ir_op *op, u32 index) {
    if (op->n_attrs == 0)
        return;
    const ir_attr *hints[3];
    static const char *const names[] = {"contiguity", "divisibility", "constancy"};
    arena_mark mark = arena_save(t->a);
    for (u32 i = 0; i < 3; i++)
        hints[i] = named(op->attrs, op->n_attrs, arena_printf(t->a, "tt.%s_arg%u", names[i], index));
    arena_rewind(t->a, mark);
    apply_hints(f, hints[0], hints[1], hints[2]);
}

static void op_hints(fact *f, const ir_op *op) {
    if (has_hints(op))
        apply_hints(f, ir_attr_get(op, "tt.contiguity"), ir_attr_get(op, "tt.divisibility"),
                    ir_attr_get(op, "tt.constancy"));
}

/* ---- Control flow -------------------------------------------------------------------------------- */

static void visit_block(axis_table *t, ir_block *b);

static void join_into(axis_table *t, ir_value *v, const fact *f, u32 round) {
    void **slot = map_get(t->facts, MAP_KEY(v));
    fact joined = slot && *slot ? axis_join(*slot, f) : *f;
    if (round >= ROUNDS_BEFORE_GIVING_UP && slot && *slot && !same_fact(*slot, &joined))
        joined = axis_unknown(v->type);
    set_fact(t, v, joined);
}

static void visit_for(axis_table *t, ir_op *op) {
    ir_block *b = op_block(op, 0);
    const fact *low = axis_fact(t, ir_operand(op, 0)), *step = axis_fact(t, ir_operand(op, 2));
    fact iv = axis_unknown(b->args[0]->type);
    iv.i.divisibility[0] = MIN(axis_div_at(&low->i, 0, 1), axis_div_at(&step->i, 0, 1));
    iv.nonneg = low->nonneg && step->nonneg;
    argument_hints(t, &iv, op, 0);
    set_fact(t, b->args[0], iv);
    for (u32 i = 1; i < b->n_args; i++) {
        fact f = *axis_fact(t, ir_operand(op, i + 2));
        argument_hints(t, &f, op, i);
        set_fact(t, b->args[i], f);
    }
    for (u32 round = 0;; round++) {
        visit_block(t, b);
        bool outer = t->changed;
        t->changed = false;
        for (u32 i = 1; i < b->n_args; i++) {
            fact f = *axis_fact(t, ir_operand(b->last, i - 1));
            argument_hints(t, &f, op, i);
            join_into(t, b->args[i], &f, round);
        }
        bool again = t->changed;
        t->changed |= outer;
        if (!again)
            break;
    }
    /* No trip leaves the initial values; arguments cover those too. */
    for (u32 i = 0; i < op->n_results; i++)
        set_fact(t, ir_result(op, i), *axis_fact(t, b->args[i + 1]));
}

static void visit_while(axis_table *t, ir_op *op) {
    ir_block *before = op_block(op, 0), *after = op_block(op, 1);
    for (u32 i = 0; i < before->n_args; i++)
        set_fact(t, before->args[i], *axis_fact(t, ir_operand(op, i)));
    for (u32 round = 0;; round++) {
        visit_block(t, before);
        for (u32 i = 0; i < after->n_args; i++) {
            const fact *f = axis_fact(t, ir_operand(before->last, i + 1));
            set_fact(t, after->args[i], *f);
            set_fact(t, ir_result(op, i), *f);
        }
        visit_block(t, after);
        bool outer = t->changed;
        t->changed = false;
        for (u32 i = 0; i < before->n_args; i++)
            join_into(t, before->args[i], axis_fact(t, ir_operand(after->last, i)), round);
        bool again = t->changed;
        t->changed |= outer;
        if (!again)
            break;
    }
}

static void visit_if(axis_table *t, ir_op *op) {
    for (u32 r = 0; r < op->n_regions; r++)
        if (op_block(op, r))
            visit_block(t, op_block(op, r));
    for (u32 i = 0; i < op->n_results; i++) {
        fact f = axis_join(axis_fact(t, ir_operand(region_end(op, 0), i)),
                           axis_fact(t, ir_operand(region_end(op, 1), i)));
        set_fact(t, ir_result(op, i), f);
    }
}

/* Regions of other ops (combine regions of reductions) see single elements: nothing is known. */
static void visit_block(axis_table *t, ir_block *b) {
    IR_FOR_EACH_OP(b, op) {
        switch (op->code) {
        case IR_scf_for: visit_for(t, op); break;
        case IR_scf_while: visit_while(t, op); break;
        case IR_scf_if: visit_if(t, op); break;
        default:
            for (u32 i = 0; i < op->n_results; i++) {
                fact f = op->n_regions ? axis_unknown(ir_result(op, i)->type) : axis_rule(t, op, i);
                op_hints(&f, op);
                set_fact(t, ir_result(op, i), f);
            }
        }
    }
}

axis_table *axis_analyze(arena *a, ir_op *func) {
    axis_table *t = ARENA_NEW(a, axis_table);
    t->a = a;
    t->facts = map_new(a);
    ir_block *b = func->regions[0].first;
    for (u32 i = 0; i < b->n_args; i++) {
        const ir_value *v = b->args[i];
        fact f = axis_unknown(v->type);
        apply_hints(&f, named(v->attrs, v->n_attrs, "tt.contiguity"),
                    named(v->attrs, v->n_attrs, "tt.divisibility"),
                    named(v->attrs, v->n_attrs, "tt.constancy"));
        set_fact(t, v, f);
    }
    for (; b; b = b->next)
        visit_block(t, b);
    return t;
}

const axis_info *axis_get(const axis_table *t, const ir_value *v) {
    const fact *f = axis_fact(t, v);
    if (f->i.rank == rank_of(v->type))
        return &f->i;
    fact *unknown = arena_alloc(t->a, sizeof *unknown);
    *unknown = axis_unknown(v->type);
    return &unknown->i;
}

u32 axis_vector(const axis_table *t, const ir_value *ptr, const ir_value *mask, u32 d) {
    enum { MAX_BYTES = 16 };
    const axis_info *p = axis_get(t, ptr);
    const ir_type *pointer = ir_elem(ptr->type);
    u32 bytes = pointer->kind == IR_PTR ? ir_type_bytes(pointer->elem) : 0;
    if (bytes == 0 || d >= p->rank)
        return 1;
    u32 n = MIN(p->contiguity[d], MIN(p->divisibility[d], (u32)MAX_BYTES) / bytes);
    if (mask) {
        const axis_info *m = axis_get(t, mask);
        if (d < m->rank)
            n = MIN(n, m->constancy[d]);
    }
    return n ? n : 1;
}
