/* SPDX-License-Identifier: MIT */
/* tt.scan, inclusive, along any axis. The axis bits are taken from the lowest to the highest, whoever
 * holds them: after bit k, each aligned block of 2^(k+1) elements is scanned, and `total` holds its
 * combination. Joining two blocks combines the first one's total with each element of the second:
 * for a register bit this is plain code, for a lane bit an XOR shuffle of the total and a select, and
 * all simdgroup bits are taken at once through threadgroup memory.
 * Elements that come first are always the region's first operand, so the region need not commute. The
 * layout must hold the axis in single bits, those of simdgroups next to each other and above those of
 * lanes; another is converted to a blocked one. `reverse` swaps first and second everywhere. */
#include "lower/across.h"

typedef struct scan {
    across r;
    bool reverse;
    u32 regs, done;      /* registers; register bits behind us */
    bool only_registers; /* so far */
    ir_value ***total;   /* [operand][register]: of the register's block */
} scan;

typedef struct axis_bit { /* one bit of the axis and who holds it */
    u32 base;
    u8 in, bit;
} axis_bit;

static u32 list_bits(const across *r, axis_bit *out) {
    u32 n = 0;
    for (u32 d = 0; d < layout_flat_bits(r->l); d++) {
        u32 base = 1u << d;
        if (!(base & r->axis_mask))
            continue;
        for (u32 in = 0; in < LAYOUT_INS; in++)
            for (u32 i = 0; i < r->l->in_bits[in]; i++)
                if (r->l->base[in][i] == base)
                    out[n++] = (axis_bit){base, (u8)in, (u8)i};
    }
    return n;
}

/* Simdgroup bits next to each other, and no lane bit above them: then one total per simdgroup says it
 * all. */
static bool warps_fit(const axis_bit *bits, u32 n) {
    u32 runs = 0;
    for (u32 i = 0; i < n; i++) {
        runs += bits[i].in == LAYOUT_WARP && (i == 0 || bits[i - 1].in != LAYOUT_WARP);
        if (bits[i].in == LAYOUT_LANE && runs)
            return false;
    }
    return runs <= 1;
}

/* v[reg] = region(first, v[reg]), kept only where `where` (NULL: everywhere) holds. */
static tm_status prepend(lower *L, const scan *s, ir_value *const *first, u32 reg, ir_value *where) {
    const across *r = &s->r;
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 i = 0; i < r->n; i++)
        x[i] = r->v[i][reg];
    TRY(across_combine(L, r, first, x, x));
    for (u32 i = 0; i < r->n; i++)
        r->v[i][reg] = where ? make_select(L, where, x[i], r->v[i][reg]) : x[i];
    return 0;
}

static void totals_of(const scan *s, u32 reg, ir_value **out) {
    for (u32 i = 0; i < s->r.n; i++)
        out[i] = s->total[i][reg];
}

/* All registers of a block share the total that its first one (no done bits) was given. */
static void spread_totals(const scan *s) {
    for (u32 i = 0; i < s->r.n; i++)
        for (u32 reg = 0; reg < s->regs; reg++)
            s->total[i][reg] = s->total[i][reg & ~s->done];
}

static ir_value *pick_side(lower *L, const scan *s, ir_value *upper, ir_value *in_upper,
                           ir_value *in_lower) {
    return s->reverse ? make_select(L, upper, in_lower, in_upper)
                      : make_select(L, upper, in_upper, in_lower);
}

/* ---- One bit ------------------------------------------------------------------------------------- */

static tm_status scan_register(lower *L, scan *s, u32 bit, bool last) {
    const across *r = &s->r;
    u32 mask = 1u << bit;
    ir_value **x = ARENA_ARRAY(L->a, ir_value *, r->n), **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 reg = 0; reg < s->regs; reg++) {
        bool second = !(reg & mask) == s->reverse;
        totals_of(s, reg ^ mask, x);
        if (second)
            TRY(prepend(L, s, x, reg, NULL));
    }
    s->done |= mask;
    for (u32 reg = 0; reg < s->regs && !last; reg++) {
        if (reg & s->done)
            continue;
        u32 end = s->reverse ? reg : reg | s->done; /* the last element of the joined block */
        totals_of(s, s->reverse ? reg | mask : reg, x);
        totals_of(s, s->reverse ? reg : reg | mask, y);
        if (!s->only_registers)
            TRY(across_combine(L, r, x, y, x));
        for (u32 i = 0; i < r->n; i++)
            s->total[i][reg] = s->only_registers ? r->v[i][end] : x[i];
    }
    spread_totals(s);
    return 0;
}

static tm_status scan_lane(lower *L, scan *s, u32 bit, bool last) {
    const across *r = &s->r;
    ir_value *upper = across_upper(L, bit);
    ir_value **first = ARENA_ARRAY(L->a, ir_value *, r->n), **second = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value **other = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value *yes = const_bits(L, L->i1, 1), *no = const_bits(L, L->i1, 0);
    ir_value *where = s->reverse ? make_select(L, upper, no, yes) : upper;
    for (u32 block = 0; block < s->regs; block++) {
        if (block & s->done)
            continue;
        for (u32 i = 0; i < r->n; i++)
            other[i] = across_shuffle(L, s->total[i][block], 1u << bit);
        for (u32 reg = block; reg < s->regs; reg++)
            if ((reg & ~s->done) == block)
                TRY(prepend(L, s, other, reg, where));
        if (last)
            continue;
        for (u32 i = 0; i < r->n; i++) {
            first[i] = pick_side(L, s, upper, other[i], s->total[i][block]);
            second[i] = pick_side(L, s, upper, s->total[i][block], other[i]);
        }
        TRY(across_combine(L, r, first, second, first));
        for (u32 i = 0; i < r->n; i++)
            s->total[i][block] = first[i];
    }
    s->only_registers = false;
    spread_totals(s);
    return 0;
}

/* ---- Simdgroups ---------------------------------------------------------------------------------- */

/* Combination of the parts before this simdgroup's (of any, where there is none), and of all. */
static tm_status gather_parts(lower *L, const scan *s, const slots *sl, ir_value *const *from, u32 k,
                              ir_value *const *like, ir_value **before, ir_value **all) {
    const across *r = &s->r;
    u32 parts = 1u << sl->axis_bits;
    ir_value *mine = spread_value(L, &sl->part);
    ir_value **y = ARENA_ARRAY(L->a, ir_value *, r->n);
    across_read(L, r, sl, from, k, s->reverse ? parts - 1 : 0, like, all);
    memcpy(before, all, sizeof *all * r->n);
    for (u32 i = 1; i < parts; i++) {
        u32 part = s->reverse ? parts - 1 - i : i;
        if (i > 1) { /* `all` now combines the parts before this one */
            ir_value *is_mine = ir_compare(&L->b, IR_arith_cmpi, 0, mine, const_i32(L, part)); /* eq */
            for (u32 o = 0; o < r->n; o++)
                before[o] = make_select(L, is_mine, all[o], before[o]);
        }
        across_read(L, r, sl, from, k, part, like, y);
        TRY(across_combine(L, r, all, y, all));
    }
    return 0;
}

static tm_status scan_warps_chunk(lower *L, scan *s, const slots *sl, const u32 *blocks, u32 n) {
    const across *r = &s->r;
    ir_value **from = ARENA_ARRAY(L->a, ir_value *, r->n), ***v = ARENA_ARRAY(L->a, ir_value **, r->n);
    for (u32 i = 0; i < r->n; i++) {
        v[i] = ARENA_ARRAY(L->a, ir_value *, n);
        for (u32 k = 0; k < n; k++)
            v[i][k] = s->total[i][blocks[k]];
    }
    across_publish(L, r, sl, (ir_value *const *const *)v, n, from);
    u32 first_part = s->reverse ? (1u << sl->axis_bits) - 1 : 0;
    ir_value *has_before = ir_compare(&L->b, IR_arith_cmpi, 1, spread_value(L, &sl->part),
                                      const_i32(L, first_part)); /* ne */
    ir_value **before = ARENA_ARRAY(L->a, ir_value *, r->n), **all = ARENA_ARRAY(L->a, ir_value *, r->n);
    ir_value **like = ARENA_ARRAY(L->a, ir_value *, r->n);
    for (u32 k = 0; k < n; k++) {
        totals_of(s, blocks[k], like);
        TRY(gather_parts(L, s, sl, from, k, like, before, all));
        for (u32 reg = blocks[k]; reg < s->regs; reg++)
            if ((reg & ~s->done) == blocks[k])
                TRY(prepend(L, s, before, reg, has_before));
        for (u32 i = 0; i < r->n; i++)
            s->total[i][blocks[k]] = all[i];
    }
    return 0;
}

static tm_status scan_warps(lower *L, scan *s) {
    slots sl = across_slots(&s->r);
    u32 *blocks = ARENA_ARRAY(L->a, u32, s->regs), n = 0;
    for (u32 reg = 0; reg < s->regs; reg++)
        if (!(reg & s->done))
            blocks[n++] = reg;
    u32 chunk = across_chunk(L, &s->r, &sl, n);
    if (!chunk)
        return ir_error(L->m, s->r.op, TM2209, s->r.n);
    for (u32 first = 0; first < n; first += chunk)
        TRY(scan_warps_chunk(L, s, &sl, blocks + first, chunk));
    s->only_registers = false;
    spread_totals(s);
    return 0;
}

/* ---- The whole ----------------------------------------------------------------------------------- */

static tm_status scan_bits(lower *L, scan *s, const axis_bit *bits, u32 n) {
    for (u32 i = 0; i < n; i++) {
        bool last = i + 1 == n;
        if (bits[i].in == LAYOUT_REG)
            TRY(scan_register(L, s, bits[i].bit, last));
        else if (bits[i].in == LAYOUT_LANE)
            TRY(scan_lane(L, s, bits[i].bit, last));
        else if (i == 0 || bits[i - 1].in != LAYOUT_WARP)
            TRY(scan_warps(L, s));
    }
    return 0;
}

/* The operands again, in the plain layout, which holds lanes below simdgroups below registers. */
static void to_plain(lower *L, across *r) {
    const layout *from = r->l;
    r->l = blocked_layout(L, ir_operand(r->op, 0)->type);
    for (u32 i = 0; i < r->n; i++) {
        tensor *t = tensor_make(L, from, ir_elem(ir_operand(r->op, i)->type));
        t->s = r->v[i];
        tensor_here(L, t);
        t = convert(L, t, r->l, false);
        r->v[i] = arena_dup(L->a, t->s, sizeof *t->s * t->n);
    }
}

tm_status lower_scan(lower *L, ir_op *op) {
    scan s = {.reverse = ir_attr_get_int(op, "reverse", 0) != 0, .only_registers = true};
    axis_bit bits[GF2_MAX];
    TRY(across_start(L, op, true, &s.r));
    u32 n = list_bits(&s.r, bits);
    if (!warps_fit(bits, n)) {
        to_plain(L, &s.r);
        n = list_bits(&s.r, bits);
    }
    s.regs = layout_regs(s.r.l);
    s.total = ARENA_ARRAY(L->a, ir_value **, s.r.n);
    for (u32 i = 0; i < s.r.n; i++)
        s.total[i] = arena_dup(L->a, s.r.v[i], sizeof(ir_value *) * s.regs);
    TRY(scan_bits(L, &s, bits, n));
    for (u32 i = 0; i < s.r.n; i++) {
        const ir_value *result = ir_result(op, i);
        tensor *t = tensor_make(L, s.r.l, ir_elem(result->type));
        t->s = s.r.v[i];
        tensor_here(L, t);
        tensor_bind(L, result, convert(L, t, result->type->encoding->layout, false));
    }
    return 0;
}
