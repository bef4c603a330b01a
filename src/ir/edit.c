/* SPDX-License-Identifier: MIT */
/* Edits of whole pieces of IR: erase, move, splice, clone, and the walks. Nested ops are reached by
 * stepping along parent links, so that deep nesting costs no stack. */
#include "base/map.h"
#include "ir/format.h"

ir_op *ir_parent(const ir_op *op) { return op->block ? op->block->region->op : NULL; }

bool ir_is_inside(const ir_op *op, const ir_op *ancestor) {
    for (; op; op = ir_parent(op))
        if (op == ancestor)
            return true;
    return false;
}

static ir_op *first_op_from(ir_block *b) {
    while (b && !b->first)
        b = b->next;
    return b ? b->first : NULL;
}

static ir_op *first_op_of_regions(ir_op *op, u32 from) {
    for (u32 i = from; i < op->n_regions; i++) {
        ir_op *found = first_op_from(op->regions[i].first);
        if (found)
            return found;
    }
    return NULL;
}

/* The op that follows op and its nested ops, within root. */
static ir_op *next_after(ir_op *op, ir_op *root) {
    while (op != root) {
        if (op->next)
            return op->next;
        ir_op *found = first_op_from(op->block->next);
        ir_op *parent = op->block->region->op;
        if (!found)
            found = first_op_of_regions(parent, (u32)(op->block->region - parent->regions) + 1);
        if (found)
            return found;
        op = parent;
    }
    return NULL;
}

/* The next op in parents-first order. */
static ir_op *next_inside(ir_op *op, ir_op *root) {
    ir_op *child = first_op_of_regions(op, 0);
    return child ? child : next_after(op, root);
}

void ir_walk(ir_op *op, ir_visit *visit, void *data) {
    bool attached = op->block != NULL;
    visit(op, data);
    if (attached && !op->block)
        return;
    for (ir_op *at = first_op_of_regions(op, 0); at;) {
        ir_op *after = next_after(at, op);
        visit(at, data);
        at = at->block ? next_inside(at, op) : after;
    }
}

void ir_erase(ir_op *op) {
    for (ir_op *at = op; at; at = next_inside(at, op))
        ir_drop_operands(at);
    for (u32 i = 0; i < op->n_results; i++)
        TM_ASSERT(!op->results[i].uses);
    for (ir_op *at = first_op_of_regions(op, 0); at;) {
        ir_op *next = next_inside(at, op);
        at->n_operands = 0;
        at = next;
    }
    op->n_operands = 0;
    ir_remove(op);
}

void ir_move_before(ir_op *op, ir_op *where) {
    if (op == where)
        return;
    ir_remove(op);
    ir_insert(&(ir_builder){.block = where->block, .at = where}, op);
}

void ir_splice(ir_block *to, ir_block *from) {
    if (!from->first || to == from)
        return;
    IR_FOR_EACH_OP(from, op)
        op->block = to;
    from->first->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = from->first;
    to->last = from->last;
    from->first = from->last = NULL;
}

/* ---- Clone --------------------------------------------------------------------------------------- */

static ir_value *mapped(map *seen, ir_value *v) {
    void **to = map_get(seen, MAP_KEY(v));
    return to && *to ? *to : v;
}

/* One op without its nested ops. Operands are mapped now where they can be, and again in fix_operands
 * for values that are defined later in the text than they are used. */
static ir_op *clone_op(ir_builder *b, const ir_op *op, map *seen) {
    arena *a = b->m->arena;
    ir_value **operands = arena_alloc(a, (op->n_operands + 1u) * sizeof *operands);
    const ir_type **types = arena_alloc(a, (op->n_results + 1u) * sizeof *types);
    for (u32 i = 0; i < op->n_operands; i++)
        operands[i] = mapped(seen, op->operands[i].value);
    for (u32 i = 0; i < op->n_results; i++)
        types[i] = op->results[i].type;
    ir_op *copy =
        ir_build(b, op->code, op->n_operands, operands, op->n_results, types, op->n_regions);
    copy->loc = op->loc;
    copy->other_name = op->other_name;
    copy->n_attrs = op->n_attrs;
    copy->attrs = ARENA_ARRAY(a, ir_named_attr, attrs_room(op->n_attrs));
    if (op->n_attrs)
        memcpy(copy->attrs, op->attrs, op->n_attrs * sizeof *op->attrs);
    copy->n_succs = op->n_succs;
    if (op->n_succs)
        copy->succs = arena_dup(a, op->succs, op->n_succs * sizeof *op->succs);
    for (u32 i = 0; i < op->n_results; i++) {
        copy->results[i].name = op->results[i].name;
        *map_put(seen, MAP_KEY(&op->results[i])) = &copy->results[i];
    }
    return copy;
}

static void clone_args(ir_module *m, ir_block *to, const ir_block *from, map *seen) {
    for (u32 i = 0; i < from->n_args; i++) {
        const ir_value *arg = from->args[i];
        ir_value *copy = ir_block_arg(m, to, arg->type, arg->loc);
        copy->name = arg->name;
        copy->attrs = arg->attrs;
        copy->n_attrs = arg->n_attrs;
        *map_put(seen, MAP_KEY(arg)) = copy;
    }
}

/* Blocks and ops of op's regions into copy's. Recurses over ops with regions; the parser bounds their
 * nesting. Tells whether some region has several blocks. */
static bool clone_regions(ir_module *m, ir_op *copy, const ir_op *op, map *seen) {
    bool branches = false;
    for (u32 r = 0; r < op->n_regions; r++) {
        for (const ir_block *from = op->regions[r].first; from; from = from->next) {
            ir_block *to = ir_block_new(m, &copy->regions[r]);
            clone_args(m, to, from, seen);
            *map_put(seen, MAP_KEY(from)) = to;
            branches |= from->next != NULL;
        }
        for (const ir_block *from = op->regions[r].first; from; from = from->next) {
            ir_builder b = ir_at_end(m, *map_get(seen, MAP_KEY(from)));
            IR_FOR_EACH_OP(from, nested) {
                ir_op *made = clone_op(&b, nested, seen);
                if (nested->n_regions)
                    branches |= clone_regions(m, made, nested, seen);
            }
        }
    }
    return branches;
}

/* Operands and successors that named something cloned after them. */
static void fix_later(ir_op *op, void *data) {
    map *seen = data;
    for (u32 i = 0; i < op->n_operands; i++) {
        ir_value *to = mapped(seen, op->operands[i].value);
        if (to != op->operands[i].value)
            ir_set_operand(op, i, to);
    }
    for (u32 i = 0; i < op->n_succs; i++) {
        void **to = map_get(seen, MAP_KEY(op->succs[i].block));
        if (to)
            op->succs[i].block = *to;
    }
}

ir_op *ir_clone(ir_builder *b, const ir_op *op, map *seen) {
    ir_op *copy = clone_op(b, op, seen);
    if (clone_regions(b->m, copy, op, seen))
        ir_walk(copy, fix_later, seen);
    return copy;
}

/* ---- Numbering ----------------------------------------------------------------------------------- */

static void number_op(ir_op *op, void *data) {
    u32 *next = data;
    for (u32 i = 0; i < op->n_results; i++)
        op->results[i].mark = (*next)++;
    for (u32 r = 0; r < op->n_regions; r++)
        for (ir_block *b = op->regions[r].first; b; b = b->next)
            for (u32 i = 0; i < b->n_args; i++)
                b->args[i]->mark = (*next)++;
}

u32 ir_number(ir_op *func) {
    u32 next = 0;
    ir_walk(func, number_op, &next);
    return next;
}
