/* SPDX-License-Identifier: MIT */
/* tt.dot. With fragment layouts and float operands of one type: a sum of 8x8 matrix products, k
 * outermost so that consecutive products do not wait for each other. Everything else (integers,
 * shapes below 8): a multiply-add per register and k, integers exact in the accumulator's type,
 * floats by fma in f32.
 *
 * An operand must hold, in each thread, the rows (columns) of that thread's accumulators and all of k
 * in registers (layout_dot_operand); one that comes in another layout is converted. Registers are then
 * found by the indices they contribute.
 * Reduced precision requests (inputPrecision) are computed as f32. */
#include "lower/state.h"

enum { MAX_PRODUCTS = 16384 };

typedef struct dot {
    ir_op *op;
    const layout *c;
    u32 rank, m, n, k;      /* log2 of the last two dimensions and of k */
    const ir_type *in, *out; /* element types of a (and b), and of c */
} dot;

/* A flat index of c taken apart: batch above, row, column. */
static u32 column_of(const dot *d, u32 f) { return f & ((1u << d->n) - 1); }
static u32 row_of(const dot *d, u32 f) { return f >> d->n & ((1u << d->m) - 1); }
static u32 batch_of(const dot *d, u32 f) { return f >> (d->n + d->m); }
static u32 a_index(const dot *d, u32 batch, u32 row, u32 k) {
    return (batch << d->m | row) << d->k | k;
}
static u32 b_index(const dot *d, u32 batch, u32 k, u32 column) {
    return (batch << d->k | k) << d->n | column;
}

/* Register of each index that registers alone contribute. */
static u32 *register_table(lower *L, const layout *l) {
    u32 *table = ARENA_ARRAY(L->a, u32, 1u << layout_flat_bits(l));
    for (u32 r = 0; r < layout_regs(l); r++)
        table[reg_index(l, r)] = r;
    return table;
}

/* The same threads hold the same elements, in registers of any order. */
static bool holds_same(lower *L, const layout *l, const layout *want, bool fragment) {
    if (memcmp(l->in_bits, want->in_bits, sizeof l->in_bits) != 0 ||
        memcmp(l->base[LAYOUT_LANE], want->base[LAYOUT_LANE], sizeof l->base[0]) != 0 ||
        memcmp(l->base[LAYOUT_WARP], want->base[LAYOUT_WARP], sizeof l->base[0]) != 0 ||
        (fragment && !layout_is_fragment(l)))
        return false;
    u32 *table = register_table(L, l);
    for (u32 r = 0; r < layout_regs(want); r++) {
        u32 f = reg_index(want, r);
        if (reg_index(l, table[f]) != f)
            return false;
    }
    return true;
}

static tensor *operand(lower *L, const dot *d, bool fragment, bool is_a) {
    const ir_value *v = ir_operand(d->op, is_a ? 0 : 1);
    layout l = layout_dot_operand(d->c, is_a ? 0 : 1, v->type->shape);
    const layout *want = keep_layout(L, &l);
    if (layout_regs(want) > MAX_REGS) {
        ir_error(L->m, d->op, TM2205, (long long)ir_numel(v->type), layout_regs(want),
                 (unsigned)MAX_REGS);
        return NULL;
    }
    tensor *t = tensor_get(L, v);
    if (!holds_same(L, t->l, want, fragment))
        t = convert(L, t, want, fragment);
    if (fragment)
        tensor_need_matrices(L, t);
    else
        tensor_need_scalars(L, t);
    return t;
}

/* ---- Conversions --------------------------------------------------------------------------------- */

static bool is_narrow_float(const ir_type *t) { return t->kind == IR_FLOAT && t->width < 32; }

static ir_value *widen(lower *L, ir_value *v, const ir_type *to) {
    if (v->type == to)
        return v;
    enum ir_code code = to->kind == IR_FLOAT ? IR_arith_extf : IR_arith_extsi;
    return make1(L, code, to, 1, &v);
}

/* The same registers with another element type, one conversion per distinct scalar in sequence. */
static tensor *cast_tensor(lower *L, tensor *t, enum ir_code code, const ir_type *to) {
    tensor_need_scalars(L, t);
    tensor *r = tensor_make(L, t->l, to);
    for (u32 i = 0; i < t->n; i++)
        r->s[i] = i && t->s[i] == t->s[i - 1] ? r->s[i - 1] : make1(L, code, to, 1, &t->s[i]);
    tensor_here(L, r);
    return r;
}

/* ---- Fragments ----------------------------------------------------------------------------------- */

static tm_status dot_matrices(lower *L, const dot *d) {
    tensor *a = operand(L, d, true, true), *b = a ? operand(L, d, true, false) : NULL;
    if (!b)
        return -1;
    tensor *c = convert(L, tensor_get(L, ir_operand(d->op, 2)), d->c, true);
    if (is_narrow_float(d->out))
        c = cast_tensor(L, c, IR_arith_extf, L->f32);
    tensor_need_matrices(L, c);
    u32 *a_regs = register_table(L, a->l), *b_regs = register_table(L, b->l);
    tensor *r = tensor_make(L, d->c, L->f32);
    r->s = NULL;
    r->mat = arena_dup(L->a, c->mat, sizeof *c->mat * (c->n / 2));
    const ir_type *type = ir_type_matrix(L->m, L->f32);
    for (u32 k = 0; k < 1u << d->k; k += 8)
        for (u32 p = 0; p < r->n / 2; p++) {
            u32 f = reg_index(d->c, 2 * p), batch = batch_of(d, f);
            ir_value *x = a->mat[a_regs[a_index(d, batch, row_of(d, f), k)] / 2];
            ir_value *y = b->mat[b_regs[b_index(d, batch, k, column_of(d, f))] / 2];
            r->mat[p] = make1(L, IR_tm_matrix_mma, type, 3, (ir_value *[]){x, y, r->mat[p]});
        }
    tensor_here(L, r);
    if (is_narrow_float(d->out))
        r = cast_tensor(L, r, IR_arith_truncf, d->out);
    tensor_bind(L, ir_result(d->op, 0), r);
    return 0;
}

/* ---- Scalars ------------------------------------------------------------------------------------- */

static ir_value *multiply_add(lower *L, ir_value *a, ir_value *b, ir_value *acc) {
    if (acc->type->kind == IR_FLOAT)
        return make1(L, IR_math_fma, acc->type, 3, (ir_value *[]){a, b, acc});
    return ir_binary(&L->b, IR_arith_addi, acc, ir_binary(&L->b, IR_arith_muli, a, b));
}

static tm_status dot_scalars(lower *L, dot *d) {
    if (layout_is_fragment(d->c))
        d->c = blocked_layout(L, ir_result(d->op, 0)->type);
    u32 regs = layout_regs(d->c);
    if ((u64)regs << d->k > MAX_PRODUCTS)
        return ir_error(L->m, d->op, TM2210, (unsigned)(regs << d->k), (unsigned)MAX_PRODUCTS);
    tensor *a = operand(L, d, false, true), *b = a ? operand(L, d, false, false) : NULL;
    if (!b)
        return -1;
    const ir_type *sum = d->out->kind == IR_FLOAT ? L->f32 : d->out;
    if (a->elem != sum)
        a = cast_tensor(L, a, sum->kind == IR_FLOAT ? IR_arith_extf : IR_arith_extsi, sum);
    if (b->elem != sum)
        b = cast_tensor(L, b, sum->kind == IR_FLOAT ? IR_arith_extf : IR_arith_extsi, sum);
    tensor *c = convert(L, tensor_get(L, ir_operand(d->op, 2)), d->c, false);
    tensor_need_scalars(L, c);
    tensor *r = tensor_make(L, d->c, d->out);
    u32 *a_regs = register_table(L, a->l), *b_regs = register_table(L, b->l);
    for (u32 i = 0; i < regs; i++) {
        u32 f = reg_index(d->c, i), batch = batch_of(d, f);
        ir_value *acc = widen(L, c->s[i], sum);
        for (u32 k = 0; k < 1u << d->k; k++) {
            ir_value *x = a->s[a_regs[a_index(d, batch, row_of(d, f), k)]];
            ir_value *y = b->s[b_regs[b_index(d, batch, k, column_of(d, f))]];
            acc = multiply_add(L, x, y, acc);
        }
        r->s[i] = acc->type == d->out ? acc : make1(L, IR_arith_truncf, d->out, 1, &acc);
    }
    tensor_here(L, r);
    r = convert(L, r, ir_result(d->op, 0)->type->encoding->layout, false);
    tensor_bind(L, ir_result(d->op, 0), r);
    return 0;
}

static bool types_fit(const dot *d, const ir_type *b) {
    if (d->out->kind == IR_FLOAT) /* f64 and f8 are refused before */
        return d->in->kind == IR_FLOAT && b->kind == IR_FLOAT;
    return d->out->kind == IR_INT && d->in->kind == IR_INT && b->kind == IR_INT &&
           d->in->width <= d->out->width && b->width <= d->out->width;
}

tm_status lower_dot(lower *L, ir_op *op) {
    const ir_type *ta = ir_operand(op, 0)->type, *tb = ir_operand(op, 1)->type;
    const ir_type *tc = ir_result(op, 0)->type;
    dot d = {.op = op, .c = tc->encoding->layout, .rank = tc->rank, .in = ta->elem, .out = tc->elem};
    if (!types_fit(&d, tb->elem))
        return ir_error(L->m, op, TM2211);
    d.m = d.c->dim_bits[d.rank - 2];
    d.n = d.c->dim_bits[d.rank - 1];
    d.k = log2_u64((u64)ta->shape[ta->rank - 1]);
    bool fragment = layout_is_fragment(d.c) && is_matrix_elem(d.in) && ta->elem == tb->elem && d.k >= 3 &&
                    is_matrix_elem(d.out);
    return fragment ? dot_matrices(L, &d) : dot_scalars(L, &d);
}
