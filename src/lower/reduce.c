/* SPDX-License-Identifier: MIT */
/* tt.reduce: any axis, any region, any number of operands. Three steps, each over the axis bits of
 * one kind of holder: registers of the thread (a tree, neighbours along the axis first), lanes (XOR
 * shuffles, or one simd_reduce), simdgroups (partials through threadgroup memory, which every thread
 * then combines in the same order).
 *
 * Within a step the element with the lower index is the region's first operand. Across steps the
 * order follows the layout, so the region must be associative and commutative up to rounding, as
 * upstream demands; all holders of a result compute it from the same values in the same order and so
 * agree bit by bit.
 * A layout is `clean` when each base lies wholly inside or outside the axis, all nonzero bases are
 * independent and, where order counts, each axis base is one bit; another layout is converted to a
 * blocked one first. */
#include "lower/state.h"

typedef struct reduction {
    ir_op *op;
    u32 n;                 /* operands */
    const layout *l;       /* of the operands */
    u32 axis_mask;         /* flat-index bits of the axis */
    bool commutes;         /* every result is a commutative op of its own two arguments */
    i32 simd_kind;         /* tm.simd_reduce's, or -1 */
} reduction;

/* ---- What the region is -------------------------------------------------------------------------- */

static const struct { u16 code; u8 integer, kind; } simd_kinds[] = {
    {IR_arith_addf, 0, 0},  {IR_arith_maxnumf, 0, 1}, {IR_arith_minnumf, 0, 2}, {IR_arith_addi, 1, 3},
    {IR_arith_maxsi, 1, 4}, {IR_arith_minsi, 1, 5},   {IR_arith_maxui, 1, 6},   {IR_arith_minui, 1, 7},
    {IR_arith_andi, 1, 8},  {IR_arith_ori, 1, 9},
};

static const ir_block *region_of(const ir_op *op) { return op->regions[0].first; }

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

static void classify(reduction *r) {
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

/* out = region(x, y); the region's ops are lowered anew with its arguments bound to scalars. */
static tm_status combine(lower *L, const reduction *r, ir_value *const *x, ir_value *const *y,
                         ir_value **out) {
    ir_block *b = (ir_block *)region_of(r->op);
    for (u32 i = 0; i < r->n; i++) {
        tensor_bind_scalar(L, b->args[i], x[i]);
        tensor_bind_scalar(L, b->args[r->n + i], y[i]);
    }
    TRY(lower_block(L, b));
    for (u32 i = 0; i < r->n; i++)
        out[i] = scalar_get(L, ir_operand(b->last, i));
    return 0;
}

/* ---- Step 1: registers --------------------------------------------------------------------------- */

/* v[i] holds operand i's registers; those of the axis fold into the register with the bit clear. The
 * live registers afterwards are those of `kept`, in order. */
static tm_status reduce_registers(lower *L, const reduction *r, ir_value ***v, u32 *kept) {
    u32 bits = r->l->in_bits[LAYOUT_REG], done = 0, axis = 0;
    for (u32 i = 0; i < bits; i++)
        if (r->l->base[LAYOUT_REG][i] & r->axis_mask)
            axis |= 1u << i;
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    while (done != axis) {
        u32 best = GF2_MAX; /* the axis bit with the smallest step */
        for (u32 i = 0; i < bits; i++)
            if ((axis & ~done) >> i & 1 &&
                (best == GF2_MAX || r->l->base[LAYOUT_REG][i] < r->l->base[LAYOUT_REG][best]))
                best = i;
        done |= 1u << best;
        for (u32 reg = 0; reg < 1u << bits; reg++) {
            if (reg & done)
                continue;
            for (u32 i = 0; i < r->n; i++) {
                x[i] = v[i][reg];
                y[i] = v[i][reg | 1u << best];
            }
            TRY(combine(L, r, x, y, x));
            for (u32 i = 0; i < r->n; i++)
                v[i][reg] = x[i];
        }
    }
    u32 n = 0;
    for (u32 reg = 0; reg < 1u << bits; reg++)
        if (!(reg & axis))
            kept[n++] = reg;
    for (u32 i = 0; i < r->n; i++)
        for (u32 k = 0; k < n; k++)
            v[i][k] = v[i][kept[k]];
    return 0;
}

/* ---- Step 2: lanes ------------------------------------------------------------------------------- */

static ir_value *shuffle_xor(lower *L, ir_value *v, u32 mask) {
    const ir_type *t = v->type;
    if (t->kind == IR_PTR)
        v = to_memory(L, v);
    v = set_i32(L, make1(L, IR_tm_shuffle_xor, v->type, 1, &v), "mask", mask);
    return t->kind == IR_PTR ? from_memory(L, v, t) : v;
}

static ir_value *upper_lane(lower *L, u32 bit) { /* i1: this lane has the bit */
    spread s = {0};
    s.lane[bit] = 1u << bit;
    return ir_compare(&L->b, IR_arith_cmpi, 1, spread_value(L, &s), const_i32(L, 0)); /* ne */
}

static tm_status reduce_lane_bit(lower *L, const reduction *r, ir_value ***v, u32 n, u32 bit) {
    ir_value *upper = r->commutes ? NULL : upper_lane(L, bit);
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 k = 0; k < n; k++) {
        for (u32 i = 0; i < r->n; i++) {
            ir_value *mine = v[i][k], *other = shuffle_xor(L, mine, 1u << bit);
            x[i] = upper ? make_select(L, upper, other, mine) : mine;
            y[i] = upper ? make_select(L, upper, mine, other) : other;
        }
        TRY(combine(L, r, x, y, x));
        for (u32 i = 0; i < r->n; i++)
            v[i][k] = x[i];
    }
    return 0;
}

static tm_status reduce_lanes(lower *L, const reduction *r, ir_value ***v, u32 n) {
    u32 lanes = 0;
    for (u32 i = 0; i < LANE_BITS; i++)
        if (r->l->base[LAYOUT_LANE][i] & r->axis_mask)
            lanes |= 1u << i;
    if (lanes == 31 && r->simd_kind >= 0) {
        for (u32 k = 0; k < n; k++)
            v[0][k] = set_i32(L, make1(L, IR_tm_simd_reduce, v[0][k]->type, 1, &v[0][k]), "kind",
                              r->simd_kind);
        return 0;
    }
    while (lanes) { /* smallest step along the axis first */
        u32 best = GF2_MAX;
        for (u32 i = 0; i < LANE_BITS; i++)
            if (lanes >> i & 1 && (best == GF2_MAX || r->l->base[LAYOUT_LANE][i] <
                                                          r->l->base[LAYOUT_LANE][best]))
                best = i;
        lanes &= ~(1u << best);
        TRY(reduce_lane_bit(L, r, v, n, best));
    }
    return 0;
}

/* ---- Step 3: simdgroups --------------------------------------------------------------------------- */

/* Slots of the partials: [register of the chunk][axis part of the warp][other warp bits][lane bits],
 * counting only lane and warp bits that hold different elements. */
typedef struct slots {
    spread write, read;    /* with and without the axis part */
    u32 lane_free, warp_free; /* threads with these bits hold copies and do not write */
    u32 bits;              /* log2 of the slots of one axis part */
    u32 axis_bits;         /* log2 of the partials of one element */
} slots;

static slots plan_slots(const reduction *r) {
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
        s.write.warp[i] = 1u << (s.bits + rank);
        s.axis_bits++;
    }
    return s;
}

static ir_value *offset_pointer(lower *L, ir_value *p, u32 constant) {
    return constant ? make_addptr(L, p, const_i32(L, constant)) : p;
}

static ir_value *spread_pointer(lower *L, ir_value *p, const spread *s) {
    ir_value *v = spread_value(L, s);
    return v ? make_addptr(L, p, v) : p;
}

/* Registers [first, first + n) of all operands. */
static tm_status reduce_chunk(lower *L, const reduction *r, const slots *s, ir_value ***v, u32 first,
                              u32 n) {
    u32 parts = 1u << s->axis_bits, row = 1u << s->bits;
    ir_value **allocs = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 i = 0; i < r->n; i++)
        allocs[i] = make_alloc(L, memory_type(L, v[i][first]->type), n * parts * row);
    ir_value *owner = owner_predicate(L, s->lane_free, s->warp_free);
    ir_op *guard = owner ? if_open(L, owner, 0, NULL) : NULL;
    for (u32 i = 0; i < r->n; i++) {
        ir_value *base = spread_pointer(L, allocs[i], &s->write);
        for (u32 k = 0; k < n; k++) {
            ir_value *m = to_memory(L, v[i][first + k]);
            make_store(L, offset_pointer(L, base, k * parts * row), m, ir_type_bytes(m->type));
        }
    }
    if (guard)
        if_close(L, guard);
    for (u32 i = 0; i < r->n; i++)
        allocs[i] = spread_pointer(L, allocs[i], &s->read);
    for (u32 k = 0; k < n; k++)
        for (u32 part = 0; part < parts; part++) {
            for (u32 i = 0; i < r->n; i++) {
                const ir_type *t = v[i][first + k]->type, *m = memory_type(L, t);
                ir_value *at = offset_pointer(L, allocs[i], (k * parts + part) * row);
                y[i] = from_memory(L, make_load(L, m, at, ir_type_bytes(m)), t);
            }
            if (part)
                TRY(combine(L, r, x, y, x));
            else
                memcpy(x, y, sizeof *x * r->n);
            if (part + 1 == parts)
                for (u32 i = 0; i < r->n; i++)
                    v[i][first + k] = x[i];
        }
    return 0;
}

static tm_status reduce_warps(lower *L, const reduction *r, ir_value ***v, u32 n) {
    slots s = plan_slots(r);
    if (!s.axis_bits)
        return 0;
    u32 limit = L->run->target.threadgroup_bytes ? L->run->target.threadgroup_bytes : 32768, bytes = 0;
    for (u32 i = 0; i < r->n; i++)
        bytes += ir_type_bytes(memory_type(L, v[i][0]->type));
    u32 chunk = n;
    while (chunk > 1 && (u64)bytes * chunk << (s.bits + s.axis_bits) > limit)
        chunk /= 2;
    if ((u64)bytes * chunk << (s.bits + s.axis_bits) > limit)
        return ir_error(L->m, r->op, TM2209, r->n);
    for (u32 first = 0; first < n; first += chunk)
        TRY(reduce_chunk(L, r, &s, v, first, chunk));
    return 0;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

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

/* The layout in which the result's registers are found: the axis bits vanish, register by register. */
static const layout *result_layout(lower *L, const reduction *r, u32 axis) {
    layout dropped = layout_drop_dim(r->l, axis), l = layout_canonical(&dropped);
    return keep_layout(L, &l);
}

static tm_status bind_results(lower *L, const reduction *r, ir_value ***v, u32 axis) {
    for (u32 i = 0; i < r->n; i++) {
        const ir_value *result = ir_result(r->op, i);
        if (!ir_is_tensor(result->type)) {
            tensor_bind_scalar(L, result, v[i][0]);
            continue;
        }
        tensor *t = tensor_make(L, result_layout(L, r, axis), ir_elem(result->type));
        memcpy(t->s, v[i], sizeof *t->s * t->n);
        tensor_here(L, t);
        tensor_bind(L, result, convert(L, t, result->type->encoding->layout, false));
    }
    return 0;
}

tm_status lower_reduce(lower *L, ir_op *op) {
    const ir_type *type = ir_operand(op, 0)->type;
    u32 axis = (u32)ir_attr_get_int(op, "axis", 0);
    if (axis >= type->rank || !region_of(op) || region_of(op)->n_args != 2u * op->n_operands)
        return refuse(L, op);
    reduction r = {.op = op, .n = op->n_operands, .l = type->encoding->layout};
    r.axis_mask = layout_dim_mask(r.l, axis);
    classify(&r);
    if (!is_clean(r.l, r.axis_mask, !r.commutes))
        r.l = blocked_layout(L, type);
    ir_value ***v = ARENA_ARRAY(L->a, ir_value **, r.n);
    u32 regs = layout_regs(r.l), n = regs;
    if (regs > MAX_REGS)
        return ir_error(L->m, op, TM2205, (long long)ir_numel(type), regs, (unsigned)MAX_REGS);
    for (u32 i = 0; i < r.n; i++) {
        tensor *t = convert(L, tensor_get(L, ir_operand(op, i)), r.l, false);
        tensor_need_scalars(L, t);
        v[i] = arena_dup(L->a, t->s, sizeof *t->s * regs);
    }
    u32 *kept = ARENA_ARRAY(L->a, u32, regs);
    TRY(reduce_registers(L, &r, v, kept));
    for (u32 i = 0; i < r.l->in_bits[LAYOUT_REG]; i++)
        if (r.l->base[LAYOUT_REG][i] & r.axis_mask)
            n /= 2;
    TRY(reduce_lanes(L, &r, v, n));
    TRY(reduce_warps(L, &r, v, n));
    return bind_results(L, &r, v, axis);
}
