/* SPDX-License-Identifier: MIT */
/* See random_kernel.h. A pool of tensors grows step by step, each step takes some and makes one; at the
 * end every tensor of the pool is stored, each in a layout of its own and to a place of its own. */
#include "random_kernel.h"
#include "base/vec.h"
#include "ir/format.h"

enum { IN_ELEMS = 2048, OUT_BYTES = 1 << 17, MAX_POOL = 24 };

typedef struct gen {
    ir_module *m;
    random_source *r;
    ir_builder b;
    u32 warp_bits;
    const ir_type *i1, *i8, *i32, *i64, *f16, *f32;
    ir_value *in, *out, *n;
    ir_value *pool[MAX_POOL];
    u32 count;
    i64 out_at; /* next free byte of out */
} gen;

u32 random_below(random_source *r, u32 n) {
    r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(r->state >> 33) % n;
}

static u32 below(gen *g, u32 n) { return random_below(g->r, n); }

/* ---- Layouts ------------------------------------------------------------------------------------- */

static layout some_layout(gen *g, u32 rank, const i64 *shape) {
    return random_layout(g->r, g->warp_bits, rank, shape);
}

static const ir_type *tensor_of(gen *g, u32 rank, const i64 *shape, const ir_type *elem, const layout *l) {
    return ir_type_tensor(g->m, rank, shape, elem, ir_attr_layout(g->m, l));
}

static const layout *layout_of(const ir_value *v) { return v->type->encoding->layout; }

static ir_value *convert_to(gen *g, ir_value *v, const layout *l) {
    if (layout_equal(layout_of(v), l))
        return v;
    const ir_type *t = tensor_of(g, v->type->rank, v->type->shape, v->type->elem, l);
    return ir_unary(&g->b, IR_ttg_convert_layout, t, v);
}

/* ---- Small pieces -------------------------------------------------------------------------------- */

static ir_value *splat(gen *g, ir_value *scalar, const ir_type *like) {
    return ir_unary(&g->b, IR_tt_splat, ir_type_with_elem(g->m, like, scalar->type), scalar);
}

static ir_value *constant(gen *g, const ir_type *t, i64 value) {
    if (ir_elem(t)->kind == IR_FLOAT)
        return ir_const_float(&g->b, t, (double)value);
    return ir_const_int(&g->b, t, value);
}

/* The coordinate of dimension d as a full i32 tensor of the shape and layout. */
static ir_value *coordinate(gen *g, u32 rank, const i64 *shape, const layout *l, u32 d) {
    i64 thin[4] = {1, 1, 1, 1}, line = shape[d];
    thin[d] = shape[d];
    layout projected = layout_project(l, thin), wide = layout_canonical(&projected);
    layout flat = layout_reshape(&wide, 1, &line);
    ir_value *v = ir_build1(&g->b, IR_tt_make_range, tensor_of(g, 1, &line, g->i32, &flat), 0, NULL);
    ir_attr_set(g->m, v->op, "start", ir_attr_i32(g->m, 0));
    ir_attr_set(g->m, v->op, "end", ir_attr_i32(g->m, line));
    if (rank > 1)
        v = ir_unary(&g->b, IR_tt_reshape, tensor_of(g, rank, thin, g->i32, &wide), v);
    if (rank > 1)
        v = ir_unary(&g->b, IR_tt_broadcast, tensor_of(g, rank, shape, g->i32, l), v);
    return v;
}

static ir_value *flat_index(gen *g, u32 rank, const i64 *shape, const layout *l) {
    ir_value *sum = NULL;
    i64 stride = 1;
    for (u32 d = rank; d-- > 0; stride *= shape[d]) {
        ir_value *v = coordinate(g, rank, shape, l, d);
        if (stride != 1)
            v = ir_binary(&g->b, IR_arith_muli, v, constant(g, v->type, stride));
        sum = sum ? ir_binary(&g->b, IR_arith_addi, sum, v) : v;
    }
    return sum;
}

static ir_value *pointers(gen *g, ir_value *base, const ir_type *elem, ir_value *index) {
    ir_value *p = ir_unary(&g->b, IR_tt_bitcast, ir_type_ptr(g->m, elem, IR_SPACE_DEVICE), base);
    ir_value *in[] = {splat(g, p, index->type), index};
    return ir_build1(&g->b, IR_tt_addptr, in[0]->type, 2, in);
}

static ir_value *pick(gen *g) { return g->pool[below(g, g->count)]; }

static void add(gen *g, ir_value *v) {
    if (g->count < MAX_POOL)
        g->pool[g->count++] = v;
    else
        g->pool[below(g, MAX_POOL)] = v;
}

/* ---- Steps --------------------------------------------------------------------------------------- */

/* A tensor of small integers: loaded bytes, masked now and then, in some element type. */
static ir_value *load(gen *g, u32 rank, const i64 *shape, const ir_type *elem, const layout *l) {
    ir_value *index = flat_index(g, rank, shape, l), *in[3];
    u32 n = 1;
    ir_value *start = constant(g, index->type, below(g, 8) * 16);
    in[0] = pointers(g, g->in, g->i8, ir_binary(&g->b, IR_arith_addi, index, start));
    if (below(g, 6) == 0) { /* pointers travel too */
        layout other = some_layout(g, rank, shape);
        in[0] = convert_to(g, convert_to(g, in[0], &other), l);
    }
    if (below(g, 2)) {
        in[n++] = ir_compare(&g->b, IR_arith_cmpi, 2, below(g, 2) ? index : coordinate(g, rank, shape, l, 0),
                             splat(g, g->n, index->type));
        if (below(g, 2))
            in[n++] = constant(g, ir_type_with_elem(g->m, index->type, g->i8), 3);
    }
    const ir_type *t = ir_type_with_elem(g->m, index->type, g->i8);
    ir_value *v = ir_build1(&g->b, IR_tt_load, t, n, in);
    t = ir_type_with_elem(g->m, t, elem);
    if (elem->kind == IR_FLOAT)
        return ir_unary(&g->b, IR_arith_sitofp, t, v);
    if (elem == g->i1)
        return ir_unary(&g->b, IR_arith_trunci, t, v);
    return elem == g->i8 ? v : ir_unary(&g->b, IR_arith_extsi, t, v);
}

static const ir_type *some_elem(gen *g) {
    const ir_type *all[] = {g->i8, g->i32, g->i64, g->f16, g->f32, g->i1, g->f32, g->i32};
    return all[below(g, COUNT_OF(all))];
}

static void some_shape(gen *g, u32 *rank, i64 *shape) {
    *rank = 1 + below(g, 3);
    u32 left = 3 + below(g, 8);
    for (u32 d = 0; d < *rank; d++) {
        u32 bits = d + 1 == *rank ? left : below(g, left + 1);
        shape[d] = (i64)1 << bits;
        left -= bits;
    }
}

static void step_load(gen *g) {
    u32 rank;
    i64 shape[4];
    some_shape(g, &rank, shape);
    layout l = some_layout(g, rank, shape);
    add(g, load(g, rank, shape, some_elem(g), &l));
}

static void step_convert(gen *g) {
    ir_value *v = pick(g);
    layout l = some_layout(g, v->type->rank, v->type->shape);
    add(g, convert_to(g, v, &l));
}

static void step_elementwise(gen *g) {
    ir_value *v = pick(g), *w = v;
    for (u32 i = 0; i < 4; i++) {
        ir_value *other = pick(g);
        if (other != v && other->type->rank == v->type->rank && other->type->elem == v->type->elem &&
            layout_same_shape(layout_of(other), layout_of(v)))
            w = convert_to(g, other, layout_of(v));
    }
    enum ir_code code = v->type->elem->kind == IR_FLOAT ? IR_arith_maxnumf
                        : v->type->elem == g->i1        ? IR_arith_xori
                                                        : IR_arith_addi;
    add(g, ir_binary(&g->b, code, v, w));
}

static void step_trans(gen *g) {
    ir_value *v = pick(g);
    u32 rank = v->type->rank;
    u8 order[4] = {0, 1, 2, 3};
    random_order(g->r, order, rank);
    i64 shape[4], wide[4];
    for (u32 d = 0; d < rank; d++) {
        shape[d] = v->type->shape[order[d]];
        wide[d] = order[d];
    }
    layout l = layout_trans(layout_of(v), order);
    ir_value *t = ir_unary(&g->b, IR_tt_trans, tensor_of(g, rank, shape, v->type->elem, &l), v);
    ir_attr_set(g->m, t->op, "order", ir_attr_ints(g->m, g->i32, rank, wide));
    add(g, t);
}

static void step_reshape(gen *g) {
    ir_value *v = pick(g);
    u32 rank = 1 + below(g, 3), left = layout_flat_bits(layout_of(v));
    i64 shape[4];
    for (u32 d = 0; d < rank; d++) {
        u32 bits = d + 1 == rank ? left : below(g, left + 1);
        shape[d] = (i64)1 << bits;
        left -= bits;
    }
    layout l = layout_reshape(layout_of(v), rank, shape);
    add(g, ir_unary(&g->b, IR_tt_reshape, tensor_of(g, rank, shape, v->type->elem, &l), v));
}

static void step_join(gen *g) {
    ir_value *v = pick(g), *w = v;
    u32 rank = v->type->rank;
    if (ir_numel(v->type) > 1024 || rank > 3)
        return;
    i64 shape[4];
    memcpy(shape, v->type->shape, rank * sizeof(i64));
    shape[rank] = 2;
    layout l = layout_empty(rank + 1, shape, g->warp_bits);
    l.base[LAYOUT_REG][l.in_bits[LAYOUT_REG]++] = 1;
    const layout *from = layout_of(v);
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < from->in_bits[in]; i++)
            if (in == LAYOUT_REG)
                l.base[in][l.in_bits[in]++] = from->base[in][i] << 1;
            else
                l.base[in][i] = from->base[in][i] << 1;
    if (below(g, 3) == 0)
        l = some_layout(g, rank + 1, shape);
    ir_value *j = ir_build1(&g->b, IR_tt_join, tensor_of(g, rank + 1, shape, v->type->elem, &l), 2,
                            (ir_value *[]){v, w});
    if (below(g, 2)) {
        layout half = some_layout(g, rank, v->type->shape);
        const ir_type *t = tensor_of(g, rank, v->type->shape, v->type->elem, &half);
        ir_op *s = ir_build(&g->b, IR_tt_split, 1, &j, 2, (const ir_type *[]){t, t}, 0);
        add(g, ir_result(s, 1));
    } else if (rank < 3) {
        add(g, j);
    }
}

/* Regions: sum, maximum, first, last; argmax (value, index; ties to the lower index). f16 sums would
 * round, so their sum is the maximum. */
static void fill_region(gen *g, ir_op *op, u32 n, u32 kind) {
    ir_block *block = ir_block_new(g->m, &op->regions[0]);
    ir_builder b = ir_at_end(g->m, block);
    ir_value *x[4], *out[2];
    for (u32 i = 0; i < 2 * n; i++)
        x[i] = ir_block_arg(g->m, block, ir_elem(ir_operand(op, i % n)->type), NULL);
    bool is_float = x[0]->type->kind == IR_FLOAT;
    if (n == 1) {
        static const u16 codes[2][2] = {{IR_arith_addi, IR_arith_maxsi}, {IR_arith_addf, IR_arith_maxnumf}};
        u32 which = x[0]->type == g->f16 ? 1 : kind & 1;
        out[0] = kind < 2 ? ir_binary(&b, codes[is_float][which], x[0], x[1]) : x[kind - 2];
    } else {
        enum ir_code compare = is_float ? IR_arith_cmpf : IR_arith_cmpi;
        ir_value *more = ir_compare(&b, compare, is_float ? 2 : 4, x[0], x[2]);
        ir_value *same = ir_compare(&b, compare, is_float ? 1 : 0, x[0], x[2]);
        ir_value *lower = ir_compare(&b, IR_arith_cmpi, 2, x[1], x[3]);
        ir_value *first = ir_binary(&b, IR_arith_ori, more, ir_binary(&b, IR_arith_andi, same, lower));
        for (u32 i = 0; i < 2; i++)
            out[i] = ir_build1(&b, IR_arith_select, x[i]->type, 3, (ir_value *[]){first, x[i], x[2 + i]});
    }
    ir_build(&b, IR_tt_reduce_return, n, out, 0, NULL, 0);
}

static void step_reduce(gen *g) {
    ir_value *v = pick(g), *in[2] = {v, NULL};
    if (below(g, 3) == 0) { /* whole rows in the lanes */
        i64 rows[2] = {(i64)1 << below(g, 4), (i64)32 << below(g, 4)};
        layout row = layout_blocked(2, rows, (u8[]){1, 0}, (u8[]){0, (u8)below(g, 3)}, g->warp_bits);
        row = layout_canonical(&row);
        v = in[0] = load(g, 2, rows, below(g, 2) ? g->i32 : g->f32, &row);
    }
    if (v->type->elem == g->i1 || v->type->elem == g->i8)
        return;
    u32 rank = v->type->rank, axis = below(g, rank), n = 1 + below(g, 2);
    if (n == 2)
        in[1] = coordinate(g, rank, v->type->shape, layout_of(v), axis);
    i64 shape[4];
    u32 left = 0;
    for (u32 d = 0; d < rank; d++)
        if (d != axis)
            shape[left++] = v->type->shape[d];
    layout dropped = layout_drop_dim(layout_of(v), axis), l = layout_canonical(&dropped);
    const ir_type *types[2];
    for (u32 i = 0; i < n; i++)
        types[i] = rank == 1 ? in[i]->type->elem : tensor_of(g, rank - 1, shape, in[i]->type->elem, &l);
    ir_op *op = ir_build(&g->b, IR_tt_reduce, n, in, n, types, 1);
    ir_attr_set(g->m, op, "axis", ir_attr_i32(g->m, axis));
    fill_region(g, op, n, below(g, 4));
    ir_value *r = ir_result(op, n - 1);
    if (rank == 1) {
        i64 size = (i64)8 << below(g, 4);
        layout to = some_layout(g, 1, &size);
        const ir_type *t = tensor_of(g, 1, &size, r->type, &to);
        r = ir_unary(&g->b, IR_tt_splat, t, r);
    }
    add(g, r);
}

static ir_value *dot_operand(gen *g, const layout *c, u32 which, u32 rank, const i64 *shape,
                             const ir_type *elem) {
    layout l = layout_dot_operand(c, which, shape), from = some_layout(g, rank, shape);
    ir_value *v = load(g, rank, shape, elem, below(g, 3) ? &from : &l);
    return below(g, 6) ? convert_to(g, v, &l) : v;
}

static void step_dot(gen *g) {
    bool integer = below(g, 3) == 0;
    u32 rank = 2 + (below(g, 4) == 0), low = integer ? 1 : 3, more = integer ? 3 : 2;
    i64 a[3], b[3], c[3];
    i64 *mnk[3] = {&a[rank - 2], &b[rank - 1], &a[rank - 1]};
    for (u32 i = 0; i < 3; i++)
        *mnk[i] = (i64)1 << (low + below(g, more));
    b[rank - 2] = a[rank - 1];
    if (rank == 3)
        a[0] = b[0] = 2;
    memcpy(c, a, sizeof c);
    c[rank - 1] = b[rank - 1];
    u32 rows = below(g, g->warp_bits + 1);
    layout l = integer ? some_layout(g, rank, c)
                       : layout_fragment(rank, c, rows, g->warp_bits - rows, g->warp_bits);
    l = layout_canonical(&l);
    if (integer && layout_is_fragment(&l))
        l = random_map(g->r, g->warp_bits, rank, c);
    const ir_type *in = integer ? g->i8 : below(g, 2) ? g->f16 : g->f32;
    const ir_type *sum = integer ? g->i32 : below(g, 4) ? g->f32 : g->f16;
    ir_value *x[3];
    x[0] = dot_operand(g, &l, 0, rank, a, in);
    x[1] = dot_operand(g, &l, 1, rank, b, in);
    const ir_type *t = tensor_of(g, rank, c, sum, &l);
    x[2] = below(g, 2) ? constant(g, t, below(g, 3)) : load(g, rank, c, sum, &l);
    add(g, ir_build1(&g->b, IR_tt_dot, t, 3, x));
}

/* A sum, or the composition of x -> a * x + b, whose order counts. */
static void step_scan(gen *g) {
    ir_value *v = pick(g);
    if (below(g, 2)) { /* a whole block, where simdgroups take part */
        i64 shape[2] = {(i64)1 << below(g, 3), (i64)64 << below(g, 4)};
        layout l = some_layout(g, 2, shape);
        v = load(g, 2, shape, g->i32, &l);
    }
    if (v->type->elem != g->i32 && v->type->elem != g->f32)
        return;
    u32 n = v->type->elem == g->i32 ? 1 + below(g, 2) : 1;
    ir_value *in[2] = {v, v};
    if (n == 2)
        in[1] = coordinate(g, v->type->rank, v->type->shape, layout_of(v), below(g, v->type->rank));
    const ir_type *types[2] = {v->type, in[1]->type};
    ir_op *op = ir_build(&g->b, IR_tt_scan, n, in, n, types, 1);
    ir_attr_set(g->m, op, "axis", ir_attr_i32(g->m, below(g, v->type->rank)));
    ir_attr_set(g->m, op, "reverse", ir_attr_bool(g->m, below(g, 2)));
    ir_block *block = ir_block_new(g->m, &op->regions[0]);
    ir_builder b = ir_at_end(g->m, block);
    ir_value *x[4], *out[2];
    for (u32 i = 0; i < 2 * n; i++)
        x[i] = ir_block_arg(g->m, block, types[i % n]->elem, NULL);
    if (n == 2) {
        out[0] = ir_binary(&b, IR_arith_muli, x[0], x[2]);
        out[1] = ir_binary(&b, IR_arith_addi, ir_binary(&b, IR_arith_muli, x[2], x[1]), x[3]);
    } else {
        out[0] = ir_binary(&b, v->type->elem == g->i32 ? IR_arith_addi : IR_arith_addf, x[0], x[1]);
    }
    ir_build(&b, IR_tt_scan_return, n, out, 0, NULL, 0);
    add(g, ir_result(op, n - 1));
}

static void step_gather(gen *g) {
    ir_value *v = pick(g);
    u32 rank = v->type->rank, axis = below(g, rank);
    i64 shape[4];
    memcpy(shape, v->type->shape, sizeof *shape * rank);
    shape[axis] = (i64)1 << below(g, 5);
    if (ir_numel(v->type) * ir_type_bytes(v->type->elem) > 2048)
        return;
    layout l = some_layout(g, rank, shape);
    bool narrow = below(g, 2) && v->type->shape[axis] <= 128;
    ir_value *index = load(g, rank, shape, narrow ? g->i8 : g->i32, &l);
    index = ir_binary(&g->b, IR_arith_andi, index, constant(g, index->type, v->type->shape[axis] - 1));
    ir_value *r = ir_build1(&g->b, IR_tt_gather, ir_type_with_elem(g->m, index->type, v->type->elem), 2,
                            (ir_value *[]){v, index});
    ir_attr_set(g->m, r->op, "axis", ir_attr_i32(g->m, axis));
    add(g, r);
}

static void step_histogram(gen *g) {
    ir_value *v = pick(g), *in[2] = {v};
    if (v->type->rank != 1 || (v->type->elem != g->i32 && v->type->elem != g->i8))
        return;
    u32 n = 1;
    if (below(g, 2))
        in[n++] = ir_compare(&g->b, IR_arith_cmpi, 2, flat_index(g, 1, v->type->shape, layout_of(v)),
                             splat(g, g->n, ir_type_with_elem(g->m, v->type, g->i32)));
    i64 bins = (i64)1 << below(g, 7);
    layout l = some_layout(g, 1, &bins);
    add(g, ir_build1(&g->b, IR_tt_histogram, tensor_of(g, 1, &bins, g->i32, &l), n, in));
}

/* for: a sum, an accumulating dot and a moving pointer are carried. */
static void step_loop(gen *g) {
    ir_value *v = pick(g);
    bool has_sum = v->type->elem->kind == IR_INT && v->type->elem != g->i1;
    i64 shape[2] = {16, 16}, line = 32;
    u32 rows = below(g, g->warp_bits + 1);
    layout c = layout_fragment(2, shape, rows, g->warp_bits - rows, g->warp_bits);
    c = layout_canonical(&c);
    layout l = some_layout(g, 1, &line);
    ir_value *index = flat_index(g, 1, &line, &l);
    ir_value *zero = ir_const_int(&g->b, g->i32, 0), *three = ir_const_int(&g->b, g->i32, 3);
    ir_value *one = ir_const_int(&g->b, g->i32, 1);
    const ir_type *acc = tensor_of(g, 2, shape, g->f32, &c);
    ir_value *in[7] = {zero, three, one, constant(g, acc, 1), pointers(g, g->in, g->i8, index), index, v};
    const ir_type *types[4] = {in[3]->type, in[4]->type, in[5]->type, v->type};
    u32 n = has_sum ? 4 : 3;
    ir_op *loop = ir_build(&g->b, IR_scf_for, 3 + n, in, n, types, 1);
    ir_block *body = ir_block_new(g->m, &loop->regions[0]);
    ir_value *i = ir_block_arg(g->m, body, g->i32, NULL), *arg[4];
    for (u32 k = 0; k < n; k++)
        arg[k] = ir_block_arg(g->m, body, types[k], NULL);
    ir_builder outside = g->b;
    g->b = ir_at_end(g->m, body);
    ir_value *x[3] = {dot_operand(g, &c, 0, 2, shape, g->f16), dot_operand(g, &c, 1, 2, shape, g->f16),
                      arg[0]};
    ir_value *out[4];
    out[0] = ir_build1(&g->b, IR_tt_dot, acc, 3, x);
    ir_value *bytes = ir_build1(&g->b, IR_tt_load, ir_type_with_elem(g->m, index->type, g->i8), 1, &arg[1]);
    ir_value *wide = ir_unary(&g->b, IR_arith_extsi, index->type, bytes);
    ir_value *step = below(g, 2) ? constant(g, index->type, 16) : splat(g, i, index->type);
    out[1] = ir_build1(&g->b, IR_tt_addptr, arg[1]->type, 2, (ir_value *[]){arg[1], step});
    ir_value *grown[4][2] = {{arg[2], wide}, {arg[2], step}, {step, arg[2]}, {index, step}};
    u32 how = below(g, 4);
    out[2] = ir_binary(&g->b, IR_arith_addi, grown[how][0], grown[how][1]);
    if (has_sum)
        out[3] = ir_binary(&g->b, IR_arith_addi, arg[3],
                           below(g, 2) ? arg[3] : splat(g, constant(g, v->type->elem, 2), v->type));
    ir_build(&g->b, IR_scf_yield, n, out, 0, NULL, 0);
    g->b = outside;
    add(g, ir_result(loop, 0));
    add(g, ir_result(loop, 2));
    if (has_sum)
        add(g, ir_result(loop, 3));
    ir_value *last = ir_result(loop, 1);
    add(g, ir_build1(&g->b, IR_tt_load, ir_type_with_elem(g->m, index->type, g->i8), 1, &last));
}

static void step_if(gen *g) {
    ir_value *v = pick(g), *w = pick(g);
    ir_value *c = ir_compare(&g->b, IR_arith_cmpi, 2 + below(g, 4), g->n, ir_const_int(&g->b, g->i32, 40));
    bool same = w->type->rank == v->type->rank && w->type->elem == v->type->elem &&
                layout_same_shape(layout_of(w), layout_of(v));
    ir_op *op = ir_build(&g->b, IR_scf_if, 1, &c, 1, &v->type, 2);
    for (u32 k = 0; k < 2; k++) {
        ir_builder b = ir_at_end(g->m, ir_block_new(g->m, &op->regions[k]));
        ir_builder outside = g->b;
        g->b = b;
        ir_value *y = k && same ? convert_to(g, w, layout_of(v)) : v;
        ir_build(&g->b, IR_scf_yield, 1, &y, 0, NULL, 0);
        g->b = outside;
    }
    add(g, ir_result(op, 0));
}

/* while (i < n / 16): i += 1, sum += v. */
static void step_while(gen *g) {
    ir_value *v = pick(g);
    if (v->type->elem != g->i32)
        return;
    ir_value *zero = ir_const_int(&g->b, g->i32, 0), *in[2] = {zero, v};
    const ir_type *types[2] = {g->i32, v->type};
    ir_op *loop = ir_build(&g->b, IR_scf_while, 2, in, 2, types, 2);
    for (u32 k = 0; k < 2; k++) {
        ir_block *block = ir_block_new(g->m, &loop->regions[k]);
        ir_builder b = ir_at_end(g->m, block);
        ir_value *x[3];
        for (u32 i = 0; i < 2; i++)
            x[1 + i] = ir_block_arg(g->m, block, types[i], NULL);
        if (k == 0) {
            ir_value *end = ir_binary(&b, IR_arith_shrui, g->n, ir_const_int(&b, g->i32, 4));
            x[0] = ir_compare(&b, IR_arith_cmpi, 2, x[1], end);
            ir_build(&b, IR_scf_condition, 3, x, 0, NULL, 0);
        } else {
            x[1] = ir_binary(&b, IR_arith_addi, x[1], ir_const_int(&b, g->i32, 1));
            x[2] = ir_binary(&b, IR_arith_addi, x[2], v);
            ir_build(&b, IR_scf_yield, 2, &x[1], 0, NULL, 0);
        }
    }
    add(g, ir_result(loop, 1));
}

/* Read-modify-writes of places of their own (the old values count), and of one scalar place. */
static void step_atomic(gen *g) {
    i64 size = (i64)4 << below(g, 8);
    if (g->out_at + size * 4 + 16 > OUT_BYTES)
        return;
    layout l = some_layout(g, 1, &size);
    ir_value *index = flat_index(g, 1, &size, &l), *in[3];
    bool is_float = below(g, 3) == 0, cas = below(g, 4) == 0;
    const ir_type *e = is_float ? g->f32 : g->i32, *t = ir_type_with_elem(g->m, index->type, e);
    ir_value *at = ir_binary(&g->b, IR_arith_addi, index, constant(g, index->type, g->out_at / 4));
    in[0] = pointers(g, g->out, e, at);
    in[1] = is_float ? constant(g, t, 2) : index;
    in[2] = cas ? constant(g, t, 5) : ir_compare(&g->b, IR_arith_cmpi, 2, index, splat(g, g->n, index->type));
    ir_op *op = ir_build(&g->b, cas ? IR_tt_atomic_cas : IR_tt_atomic_rmw, cas || below(g, 2) ? 3 : 2, in, 1,
                         &t, 0);
    ir_attr_set(g->m, op, "atomic_rmw_op", ir_attr_i32(g->m, is_float ? 10 - 5 * below(g, 2) : 1 + below(g, 4)));
    if (op->n_operands == 2 || cas)
        add(g, ir_result(op, 0));
    g->out_at += size * 4;
    ir_value *scalar = ir_unary(&g->b, IR_tt_bitcast, ir_type_ptr(g->m, g->i32, IR_SPACE_DEVICE), g->out);
    in[0] = ir_build1(&g->b, IR_tt_addptr, scalar->type, 2,
                      (ir_value *[]){scalar, ir_const_int(&g->b, g->i32, g->out_at / 4)});
    in[1] = g->n;
    ir_value *old = ir_build1(&g->b, IR_tt_atomic_rmw, g->i32, 2, in);
    ir_attr_set(g->m, old->op, "atomic_rmw_op", ir_attr_i32(g->m, 4));
    if (below(g, 2))
        add(g, splat(g, old, index->type));
    else
        ir_build(&g->b, IR_tt_store, 2, (ir_value *[]){in[0], g->n}, 0, NULL, 0);
    g->out_at += 16;
}

static void store(gen *g, ir_value *v) {
    u32 rank = v->type->rank, bytes = ir_type_bytes(v->type->elem);
    i64 size = (i64)align_up((u64)(ir_numel(v->type) * bytes), 16);
    if (g->out_at + size > OUT_BYTES)
        return;
    layout l = some_layout(g, rank, v->type->shape);
    if (below(g, 2))
        l = *layout_of(v);
    v = convert_to(g, v, &l);
    ir_value *index = flat_index(g, rank, v->type->shape, &l), *in[3];
    in[0] = pointers(g, g->out, v->type->elem,
                     ir_binary(&g->b, IR_arith_addi, index, constant(g, index->type, g->out_at / bytes)));
    in[1] = v;
    u32 n = 2;
    if (below(g, 3) == 0)
        in[n++] = ir_compare(&g->b, IR_arith_cmpi, 2, index, splat(g, g->n, index->type));
    ir_build(&g->b, IR_tt_store, n, in, 0, NULL, 0);
    g->out_at += size;
}

ir_op *random_kernel(ir_module *m, random_source *r, u32 warp_bits, u32 steps) {
    gen g = {.m = m, .r = r, .warp_bits = warp_bits};
    g.i1 = ir_type_int(m, 1);
    g.i8 = ir_type_int(m, 8);
    g.i32 = ir_type_int(m, 32);
    g.i64 = ir_type_int(m, 64);
    g.f16 = ir_type_float(m, IR_F16);
    g.f32 = ir_type_float(m, IR_F32);
    const ir_type *p = ir_type_ptr(m, g.i8, IR_SPACE_DEVICE), *args[] = {p, p, g.i32};
    g.b = ir_at_end(m, ir_module_body(m));
    ir_op *func = ir_build(&g.b, IR_tt_func, 0, NULL, 0, NULL, 1);
    ir_attr_set(m, func, "sym_name", ir_attr_string(m, "kernel", 6));
    ir_attr_set(m, func, "function_type", ir_attr_type(m, ir_type_func(m, 3, args, 0, NULL)));
    ir_attr_set(m, func, "sym_visibility", ir_attr_string(m, "public", 6));
    ir_block *entry = ir_block_new(m, &func->regions[0]);
    g.in = ir_block_arg(m, entry, p, NULL);
    g.out = ir_block_arg(m, entry, p, NULL);
    g.n = ir_block_arg(m, entry, g.i32, NULL);
    for (u32 i = 0; i < 2; i++) { /* the buffers' alignment, as the frontend states it */
        ir_named_attr *a = ARENA_NEW(m->arena, ir_named_attr);
        *a = (ir_named_attr){ir_intern(m, "tt.divisibility", 15), ir_attr_i32(m, 16)};
        entry->args[i]->attrs = a;
        entry->args[i]->n_attrs = 1;
    }
    g.b = ir_at_end(m, entry);
    typedef void step(gen *);
    step *const all[] = {step_load,   step_convert, step_convert, step_elementwise, step_trans, step_reshape,
                         step_join,   step_reduce,  step_reduce,  step_dot,         step_loop,  step_if,
                         step_while,  step_atomic,  step_scan,        step_gather, step_histogram};
    step_load(&g);
    for (u32 i = 0; i < steps; i++)
        all[below(&g, COUNT_OF(all))](&g);
    for (u32 i = 0; i < g.count; i++)
        store(&g, g.pool[i]);
    ir_build(&g.b, IR_tt_return, 0, NULL, 0, NULL, 0);
    return func;
}
