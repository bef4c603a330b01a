/* SPDX-License-Identifier: MIT */
/* See across.h. A layout is `clean` when each base lies wholly inside or outside the axis, all nonzero
 * bases are independent and, where order counts, each axis base is one bit; operands in another
 * layout are converted to a blocked one first. */
#include "lower/across.h"

/* ---- What the region is -------------------------------------------------------------------------- */

static const struct { u16 code; u8 integer, kind; } simd_kinds[] = {
    {IR_arith_addf, 0, 0},  {IR_arith_maxnumf, 0, 1}, {IR_arith_minnumf, 0, 2}, {IR_arith_addi, 1, 3},
    {IR_arith_maxsi, 1, 4}, {IR_arith_minsi, 1, 5},   {IR_arith_maxui, 1, 6},   {IR_arith_minui, 1, 7},
    {IR_arith_andi, 1, 8},  {IR_arith_ori, 1, 9},
};

static ir_block *region_of(const ir_op *op) { return op->regions[0].first; }

/* The op that combines argument i of both sides and nothing else, or NULL. */
static const ir_op *simple_combiner(const ir_op *op, u32 i) {
    const ir_block *b = region_of(op);
    const ir_op *def = ir_operand(b->last, i)->op;
    if (!def || def->block != b || def->n_operands != 2 || !ir_has_trait(def, IR_COMMUTES))
        return NULL;
    const ir_value *x = ir_operand(def, 0), *y = ir_operand(def, 1);
    const ir_value *a = b->args[i], *c = b->args[b->n_args / 2 + i];
    return (x == a && y == c) || (x == c && y == a) ? def : NULL;
}

static void classify(across *r) {
    r->commutes = true;
    r->simd_kind = -1;
    const ir_op *def = NULL;
    for (u32 i = 0; i < r->n; i++) {
        def = simple_combiner(r->op, i);
        r->commutes &= def != NULL;
    }
    if (r->n != 1 || !def)
        return;
    const ir_type *t = ir_elem(ir_operand(r->op, 0)->type);
    bool f32 = t->kind == IR_FLOAT && t->float_kind == IR_F32;
    for (u32 i = 0; i < COUNT_OF(simd_kinds); i++)
        if (simd_kinds[i].code == def->code && (simd_kinds[i].integer ? ir_is_int(t, 32) : f32))
            r->simd_kind = simd_kinds[i].kind;
}

static bool is_clean(const layout *l, u32 axis_mask, bool in_order) {
    if (!layout_covers(l) || !layout_separates(l, axis_mask))
        return false;
    u32 nonzero = 0;
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++) {
            u32 base = l->base[in][i];
            if (in_order && (base & axis_mask) && !is_pow2(base))
                return false;
            nonzero += base != 0;
        }
    return nonzero == layout_flat_bits(l); /* onto with that many: independent */
}

tm_status across_start(lower *L, ir_op *op, bool in_order, across *r) {
    const ir_type *type = ir_operand(op, 0)->type;
    *r = (across){.op = op, .n = op->n_operands, .axis = (u32)ir_attr_get_int(op, "axis", 0)};
    if (!ir_is_tensor(type) || r->axis >= type->rank || !region_of(op) ||
        region_of(op)->n_args != 2 * r->n || region_of(op)->last->n_operands != r->n)
        return refuse(L, op);
    r->l = type->encoding->layout;
    r->axis_mask = layout_dim_mask(r->l, r->axis);
    classify(r);
    if (!is_clean(r->l, r->axis_mask, in_order || !r->commutes))
        r->l = blocked_layout(L, type);
    u32 regs = layout_regs(r->l);
    if (regs > MAX_REGS)
        return ir_error(L->m, op, TM2205, (long long)ir_numel(type), regs, (unsigned)MAX_REGS);
    r->v = ARENA_ARRAY(L->a, ir_value **, r->n);
    for (u32 i = 0; i < r->n; i++) {
        tensor *t = convert(L, tensor_get(L, ir_operand(op, i)), r->l, false);
        tensor_need_scalars(L, t);
        r->v[i] = arena_dup(L->a, t->s, sizeof *t->s * regs);
    }
    return 0;
}

tm_status across_combine(lower *L, const across *r, ir_value *const *x, ir_value *const *y,
                         ir_value **out) {
    ir_block *b = region_of(r->op);
    for (u32 i = 0; i < r->n; i++) {
        tensor_bind_scalar(L, b->args[i], x[i]);
        tensor_bind_scalar(L, b->args[r->n + i], y[i]);
    }
    TRY(lower_block(L, b));
    for (u32 i = 0; i < r->n; i++)
        out[i] = scalar_get(L, ir_operand(b->last, i));
    return 0;
}

/* ---- Lanes --------------------------------------------------------------------------------------- */

ir_value *across_shuffle(lower *L, ir_value *v, u32 mask) {
    const ir_type *t = v->type;
    if (t->kind == IR_PTR)
        v = to_memory(L, v);
    v = set_i32(L, make1(L, IR_tm_shuffle_xor, v->type, 1, &v), "mask", mask);
    return t->kind == IR_PTR ? from_memory(L, v, t) : v;
}

ir_value *across_upper(lower *L, u32 bit) {
    spread s = {0};
    s.lane[bit] = 1u << bit;
    return ir_compare(&L->b, IR_arith_cmpi, 1, spread_value(L, &s), const_i32(L, 0)); /* ne */
}

/* ---- Simdgroups ---------------------------------------------------------------------------------- */

slots across_slots(const across *r) {
    slots s = {0};
    for (u32 i = 0; i < LANE_BITS; i++) {
        u32 base = r->l->base[LAYOUT_LANE][i];
        if (base && !(base & r->axis_mask))
            s.read.lane[i] = 1u << s.bits++;
        else
            s.lane_free |= 1u << i;
    }
    u32 warps = r->l->in_bits[LAYOUT_WARP];
    for (u32 i = 0; i < warps; i++) {
        u32 base = r->l->base[LAYOUT_WARP][i];
        if (base && !(base & r->axis_mask))
            s.read.warp[i] = 1u << s.bits++;
        else if (!base)
            s.warp_free |= 1u << i;
    }
    s.write = s.read;
    for (u32 i = 0; i < warps; i++) {
        u32 base = r->l->base[LAYOUT_WARP][i];
        if (!(base & r->axis_mask))
            continue;
        u32 rank = 0; /* parts in the order of the axis */
        for (u32 k = 0; k < warps; k++)
            rank += (r->l->base[LAYOUT_WARP][k] & r->axis_mask) && r->l->base[LAYOUT_WARP][k] < base;
        s.part.warp[i] = 1u << rank;
        s.write.warp[i] = 1u << (s.bits + rank);
        s.axis_bits++;
    }
    return s;
}

u32 across_chunk(lower *L, const across *r, const slots *s, u32 n) {
    u32 limit = threadgroup_limit(L), bytes = 0;
    for (u32 i = 0; i < r->n; i++)
        bytes += ir_type_bytes(memory_type(L, r->v[i][0]->type));
    while (n && (u64)bytes * n << (s->bits + s->axis_bits) > limit)
        n /= 2;
    return n;
}

static ir_value *offset_pointer(lower *L, ir_value *p, u32 constant) {
    return constant ? make_addptr(L, p, const_i32(L, constant)) : p;
}

static ir_value *spread_pointer(lower *L, ir_value *p, const spread *s) {
    ir_value *v = spread_value(L, s);
    return v ? make_addptr(L, p, v) : p;
}

void across_publish(lower *L, const across *r, const slots *s, ir_value *const *const *v, u32 n,
                    ir_value **from) {
    u32 size = 1u << (s->bits + s->axis_bits); /* of one value */
    for (u32 i = 0; i < r->n; i++)
        from[i] = make_alloc(L, memory_type(L, v[i][0]->type), n * size);
    ir_value *owner = owner_predicate(L, s->lane_free, s->warp_free);
    ir_op *guard = owner ? if_open(L, owner, 0, NULL) : NULL;
    for (u32 i = 0; i < r->n; i++) {
        ir_value *base = spread_pointer(L, from[i], &s->write);
        for (u32 k = 0; k < n; k++) {
            ir_value *m = to_memory(L, v[i][k]);
            make_store(L, offset_pointer(L, base, k * size), m, ir_type_bytes(m->type));
        }
    }
    if (guard)
        if_close(L, guard);
    for (u32 i = 0; i < r->n; i++)
        from[i] = spread_pointer(L, from[i], &s->read);
}

void across_read(lower *L, const across *r, const slots *s, ir_value *const *from, u32 k, u32 part,
                 ir_value *const *like, ir_value **out) {
    u32 offset = (k << s->axis_bits | part) << s->bits;
    for (u32 i = 0; i < r->n; i++) {
        const ir_type *t = like[i]->type, *m = memory_type(L, t);
        ir_value *at = offset_pointer(L, from[i], offset);
        out[i] = from_memory(L, make_load(L, m, at, ir_type_bytes(m)), t);
    }
}
