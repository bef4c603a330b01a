/* SPDX-License-Identifier: MIT */
/* Building ops. An op is one piece of memory: the op, its operand slots, results, regions behind each
 * other; only attribute lists and grown operand lists live elsewhere. */
#include "base/vec.h"
#include "ir/format.h"

ir_builder ir_at_end(ir_module *m, ir_block *b) {
    return (ir_builder){.m = m, .block = b, .loc = ir_loc_unknown(m)};
}

ir_builder ir_before(ir_module *m, ir_op *op) {
    return (ir_builder){.m = m, .block = op->block, .at = op, .loc = op->loc};
}

ir_builder ir_after(ir_module *m, ir_op *op) {
    return (ir_builder){.m = m, .block = op->block, .at = op->next, .loc = op->loc};
}

ir_builder ir_after_def(ir_module *m, ir_value *v) {
    if (v->op)
        return ir_after(m, v->op);
    return (ir_builder){.m = m,
                        .block = v->block,
                        .at = v->block->first,
                        .loc = v->loc ? v->loc : ir_loc_unknown(m)};
}

static void use_link(ir_use *u, ir_value *v, ir_op *owner) {
    u->value = v;
    u->owner = owner;
    u->next = v->uses;
    u->link = &v->uses;
    if (v->uses)
        v->uses->link = &u->next;
    v->uses = u;
}

static void use_unlink(ir_use *u) {
    if (!u->link)
        return;
    *u->link = u->next;
    if (u->next)
        u->next->link = u->link;
    u->link = NULL;
}

void ir_set_operand(ir_op *op, u32 i, ir_value *v) {
    use_unlink(&op->operands[i]);
    use_link(&op->operands[i], v, op);
}

void ir_set_operands(ir_module *m, ir_op *op, u32 n, ir_value *const *values) {
    TM_ASSERT(n <= UINT16_MAX);
    for (u32 i = 0; i < op->n_operands; i++)
        use_unlink(&op->operands[i]);
    if (n > op->n_operands)
        op->operands = ARENA_ARRAY(m->arena, ir_use, n);
    op->n_operands = (u16)n;
    for (u32 i = 0; i < n; i++)
        use_link(&op->operands[i], values[i], op);
}

void ir_drop_operands(ir_op *op) {
    for (u32 i = 0; i < op->n_operands; i++)
        use_unlink(&op->operands[i]);
}

void ir_replace_uses(ir_value *from, ir_value *to) {
    if (from == to)
        return;
    while (from->uses)
        ir_set_operand(from->uses->owner, (u32)(from->uses - from->uses->owner->operands), to);
}

bool ir_has_uses(const ir_value *v) { return v->uses != NULL; }
bool ir_has_one_use(const ir_value *v) { return v->uses && !v->uses->next; }

void ir_insert(const ir_builder *b, ir_op *op) {
    TM_ASSERT(!op->block);
    ir_block *block = b->block;
    op->block = block;
    op->next = b->at;
    op->prev = b->at ? b->at->prev : block->last;
    *(op->prev ? &op->prev->next : &block->first) = op;
    *(op->next ? &op->next->prev : &block->last) = op;
}

void ir_remove(ir_op *op) {
    if (!op->block)
        return;
    *(op->prev ? &op->prev->next : &op->block->first) = op->next;
    *(op->next ? &op->next->prev : &op->block->last) = op->prev;
    op->prev = op->next = NULL;
    op->block = NULL;
}

ir_op *ir_build(ir_builder *b, enum ir_code code, u32 n_operands, ir_value *const *operands,
                u32 n_results, const ir_type *const *results, u32 n_regions) {
    TM_ASSERT(n_operands <= UINT16_MAX && n_results <= UINT16_MAX);
    size_t size = sizeof(ir_op) + n_operands * sizeof(ir_use) + n_results * sizeof(ir_value) +
                  n_regions * sizeof(ir_region);
    ir_op *op = arena_zalloc(b->m->arena, size);
    op->code = (u16)code;
    op->n_operands = (u16)n_operands;
    op->n_results = (u16)n_results;
    op->n_regions = (u16)n_regions;
    op->operands = (ir_use *)(op + 1);
    op->results = (ir_value *)(op->operands + n_operands);
    op->regions = (ir_region *)(op->results + n_results);
    op->loc = b->loc;
    for (u32 i = 0; i < n_operands; i++)
        use_link(&op->operands[i], operands[i], op);
    for (u32 i = 0; i < n_results; i++)
        op->results[i] = (ir_value){.type = results[i], .op = op, .index = i};
    for (u32 i = 0; i < n_regions; i++)
        op->regions[i].op = op;
    if (b->block)
        ir_insert(b, op);
    return op;
}

ir_value *ir_build1(ir_builder *b, enum ir_code code, const ir_type *result, u32 n_operands,
                    ir_value *const *operands) {
    return ir_result(ir_build(b, code, n_operands, operands, 1, &result, 0), 0);
}

ir_value *ir_unary(ir_builder *b, enum ir_code code, const ir_type *result, ir_value *x) {
    return ir_build1(b, code, result, 1, &x);
}

ir_value *ir_binary(ir_builder *b, enum ir_code code, ir_value *x, ir_value *y) {
    return ir_build1(b, code, x->type, 2, (ir_value *[]){x, y});
}

static ir_value *constant(ir_builder *b, const ir_type *t, i64 bits) {
    ir_value *v = ir_build1(b, IR_arith_constant, t, 0, NULL);
    ir_attr_set(b->m, v->op, "value", ir_attr_constant(b->m, t, bits));
    return v;
}

ir_value *ir_const_int(ir_builder *b, const ir_type *t, i64 value) { return constant(b, t, value); }

ir_value *ir_const_float(ir_builder *b, const ir_type *t, double value) {
    return constant(b, t, (i64)ir_float_encode(ir_elem(t)->float_kind, value));
}

ir_value *ir_compare(ir_builder *b, enum ir_code code, u32 predicate, ir_value *x, ir_value *y) {
    const ir_type *t = ir_type_with_elem(b->m, x->type, ir_type_int(b->m, 1));
    ir_value *v = ir_build1(b, code, t, 2, (ir_value *[]){x, y});
    ir_attr_set(b->m, v->op, "predicate", ir_attr_int(b->m, ir_type_int(b->m, 64), predicate));
    return v;
}

/* ---- Blocks -------------------------------------------------------------------------------------- */

ir_block *ir_block_new(ir_module *m, ir_region *region) {
    ir_block *b = ARENA_NEW(m->arena, ir_block);
    b->region = region;
    b->prev = region->last;
    *(region->last ? &region->last->next : &region->first) = b;
    region->last = b;
    return b;
}

ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *t, const ir_loc *loc) {
    ir_value *v = ARENA_NEW(m->arena, ir_value);
    v->type = t;
    v->block = b;
    v->index = b->n_args;
    v->loc = loc;
    if (b->n_args == b->args_room)
        vec_grow(m->arena, (void **)&b->args, &b->args_room, sizeof *b->args);
    b->args[b->n_args++] = v;
    return v;
}

void ir_block_arg_erase(ir_block *b, u32 index) {
    TM_ASSERT(index < b->n_args && !b->args[index]->uses);
    b->n_args--;
    for (u32 i = index; i < b->n_args; i++) {
        b->args[i] = b->args[i + 1];
        b->args[i]->index = i;
    }
}
