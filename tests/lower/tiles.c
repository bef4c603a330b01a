/* SPDX-License-Identifier: MIT */
/* Reference evaluator of tile IR: whole tensors, one op after the other, layouts ignored. It says what
 * a kernel means; threads.c says what the lowered kernel does. */
#include "base/arena.h"
#include "ir/format.h"
#include "scalar.h"

typedef struct tiles {
    arena *a;
    u64 **values; /* by mark: the elements in row-major order */
    u8 *memory;
    const char *error;
} tiles;

static u64 **slot(tiles *t, const ir_value *v) { return &t->values[v->mark]; }

static u64 *define(tiles *t, const ir_value *v) {
    return *slot(t, v) = ARENA_ARRAY(t->a, u64, ir_numel(v->type));
}

static u64 at(tiles *t, const ir_value *v, i64 i) { return (*slot(t, v))[ir_is_tensor(v->type) ? i : 0]; }

static void run_block(tiles *t, const ir_block *b);

/* Coordinates of a flat index, and back; dimensions of size 1 take any coordinate. */
static void unflatten(const ir_type *t, i64 i, i64 *c) {
    for (u32 d = t->rank; d-- > 0; i /= t->shape[d])
        c[d] = i % t->shape[d];
}
static i64 flatten(const ir_type *t, const i64 *c) {
    i64 i = 0;
    for (u32 d = 0; d < t->rank; d++)
        i = i * t->shape[d] + (t->shape[d] == 1 ? 0 : c[d]);
    return i;
}

static void run_elementwise(tiles *t, const ir_op *op) {
    const ir_value *r = ir_result(op, 0);
    u64 *out = define(t, r), in[4];
    const ir_type *types[4];
    for (i64 i = 0; i < ir_numel(r->type); i++) {
        for (u32 k = 0; k < op->n_operands && k < 4; k++) {
            in[k] = at(t, ir_operand(op, k), i);
            types[k] = ir_elem(ir_operand(op, k)->type);
        }
        if (!scalar_eval(op, ir_elem(r->type), types, in, &out[i])) {
            t->error = ir_ops[op->code].name;
            return;
        }
    }
}

static void run_broadcast(tiles *t, const ir_op *op) {
    const ir_value *r = ir_result(op, 0), *x = ir_operand(op, 0);
    u64 *out = define(t, r);
    for (i64 i = 0; i < ir_numel(r->type); i++) {
        i64 c[LAYOUT_MAX_RANK];
        unflatten(r->type, i, c);
        out[i] = at(t, x, flatten(x->type, c));
    }
}

static void run_trans(tiles *t, const ir_op *op) {
    const ir_value *r = ir_result(op, 0), *x = ir_operand(op, 0);
    const ir_attr *order = ir_attr_get(op, "order");
    u64 *out = define(t, r);
    for (i64 i = 0; i < ir_numel(r->type); i++) {
        i64 c[LAYOUT_MAX_RANK], from[LAYOUT_MAX_RANK];
        unflatten(r->type, i, c);
        for (u32 d = 0; d < r->type->rank; d++)
            from[order->ints[d]] = c[d];
        out[i] = at(t, x, flatten(x->type, from));
    }
}

static void run_reduce(tiles *t, const ir_op *op) {
    u32 axis = (u32)ir_attr_get_int(op, "axis", 0), n = op->n_operands;
    const ir_type *type = ir_operand(op, 0)->type;
    const ir_block *region = op->regions[0].first;
    i64 inner = 1, size = type->shape[axis];
    for (u32 d = axis + 1; d < type->rank; d++)
        inner *= type->shape[d];
    for (u32 k = 0; k < n; k++)
        define(t, ir_result(op, k));
    for (u32 k = 0; k < 2 * n; k++)
        define(t, region->args[k]);
    for (i64 o = 0; o < ir_numel(type) / size; o++)
        for (i64 j = 0; j < size; j++) {
            i64 i = (o / inner * size + j) * inner + o % inner;
            for (u32 k = 0; k < n; k++)
                (*slot(t, region->args[n + k]))[0] = at(t, ir_operand(op, k), i);
            if (j) {
                for (u32 k = 0; k < n; k++)
                    (*slot(t, region->args[k]))[0] = (*slot(t, ir_result(op, k)))[o];
                run_block(t, region);
            }
            for (u32 k = 0; k < n; k++)
                (*slot(t, ir_result(op, k)))[o] =
                    j ? at(t, ir_operand(region->last, k), 0) : (*slot(t, region->args[n + k]))[0];
        }
}

/* out[i] = region(out[i - 1], in[i]) along the axis, from its end when reversed. */
static void run_scan(tiles *t, const ir_op *op) {
    u32 axis = (u32)ir_attr_get_int(op, "axis", 0), n = op->n_operands;
    const ir_type *type = ir_operand(op, 0)->type;
    const ir_block *region = op->regions[0].first;
    bool reverse = ir_attr_get_int(op, "reverse", 0) != 0;
    i64 inner = 1, size = type->shape[axis];
    for (u32 d = axis + 1; d < type->rank; d++)
        inner *= type->shape[d];
    for (u32 k = 0; k < n; k++)
        define(t, ir_result(op, k));
    for (u32 k = 0; k < 2 * n; k++)
        define(t, region->args[k]);
    for (i64 o = 0; o < ir_numel(type) / size; o++)
        for (i64 j = 0; j < size; j++) {
            i64 step = reverse ? size - 1 - j : j, before = reverse ? step + 1 : step - 1;
            i64 i = (o / inner * size + step) * inner + o % inner;
            i64 p = (o / inner * size + before) * inner + o % inner;
            for (u32 k = 0; k < n; k++) {
                (*slot(t, region->args[n + k]))[0] = at(t, ir_operand(op, k), i);
                if (j)
                    (*slot(t, region->args[k]))[0] = (*slot(t, ir_result(op, k)))[p];
            }
            if (j)
                run_block(t, region);
            for (u32 k = 0; k < n; k++)
                (*slot(t, ir_result(op, k)))[i] =
                    j ? at(t, ir_operand(region->last, k), 0) : at(t, ir_operand(op, k), i);
        }
}

static void run_gather(tiles *t, const ir_op *op) {
    const ir_value *r = ir_result(op, 0), *src = ir_operand(op, 0), *index = ir_operand(op, 1);
    u64 *out = define(t, r);
    for (i64 i = 0; i < ir_numel(r->type); i++) {
        i64 c[LAYOUT_MAX_RANK];
        unflatten(r->type, i, c);
        c[ir_attr_get_int(op, "axis", 0)] = scalar_signed(index->type->elem, at(t, index, i));
        out[i] = at(t, src, flatten(src->type, c));
    }
}

static void run_histogram(tiles *t, const ir_op *op) {
    const ir_value *r = ir_result(op, 0), *src = ir_operand(op, 0);
    u64 *out = define(t, r);
    for (i64 i = 0; i < ir_numel(src->type); i++)
        if ((op->n_operands < 2 || at(t, ir_operand(op, 1), i)) &&
            at(t, src, i) < (u64)ir_numel(r->type))
            out[at(t, src, i)]++;
}

static double number(const ir_type *t, u64 bits) {
    return t->kind == IR_FLOAT ? ir_float_decode(t->float_kind, bits) : (double)scalar_signed(t, bits);
}

static void run_dot(tiles *t, const ir_op *op) {
    const ir_value *a = ir_operand(op, 0), *b = ir_operand(op, 1), *r = ir_result(op, 0);
    u32 rank = r->type->rank;
    i64 m = r->type->shape[rank - 2], n = r->type->shape[rank - 1], kk = a->type->shape[rank - 1];
    u64 *out = define(t, r);
    for (i64 i = 0; i < ir_numel(r->type); i++) {
        i64 batch = i / (m * n), row = i / n % m, column = i % n;
        double sum = number(r->type->elem, at(t, ir_operand(op, 2), i));
        for (i64 k = 0; k < kk; k++)
            sum += number(a->type->elem, at(t, a, (batch * m + row) * kk + k)) *
                   number(b->type->elem, at(t, b, (batch * kk + k) * n + column));
        const ir_type *e = r->type->elem;
        out[i] = e->kind == IR_FLOAT ? ir_float_encode(e->float_kind, sum)
                                     : scalar_mask(e, (u64)(i64)sum);
    }
}

static void run_memory(tiles *t, const ir_op *op) {
    const ir_value *p = ir_operand(op, 0);
    u32 bytes = ir_type_bytes(ir_elem(p->type)->elem);
    bool load = op->code == IR_tt_load, atomic = op->code == IR_tt_atomic_rmw;
    bool cas = op->code == IR_tt_atomic_cas;
    const ir_value *mask = cas ? NULL : load ? (op->n_operands > 1 ? ir_operand(op, 1) : NULL)
                                      : (op->n_operands > 2 ? ir_operand(op, 2) : NULL);
    u64 *out = op->n_results ? define(t, ir_result(op, 0)) : NULL;
    for (i64 i = 0; i < ir_numel(p->type); i++) {
        u64 address = at(t, p, i);
        if (mask && !at(t, mask, i)) {
            if (load)
                out[i] = op->n_operands > 2 ? at(t, ir_operand(op, 2), i) : 0;
            continue;
        }
        if (address + bytes > DEVICE_BYTES) {
            t->error = "access outside device memory";
            return;
        }
        u64 old = memory_read(t->memory, address, bytes), v = load ? 0 : at(t, ir_operand(op, 1), i);
        if (out)
            out[i] = old;
        if (atomic)
            v = atomic_apply(ir_attr_get_int(op, "atomic_rmw_op", 0), old, v);
        else if (cas)
            v = old == v ? at(t, ir_operand(op, 2), i) : old;
        if (!load)
            memory_write(t->memory, address, bytes, v);
    }
}

static void copy_value(tiles *t, const ir_value *to, const ir_value *from) {
    u64 *v = arena_dup(t->a, *slot(t, from), sizeof(u64) * (size_t)ir_numel(from->type));
    *slot(t, to) = v;
}

static void run_for(tiles *t, const ir_op *op) {
    const ir_block *body = op->regions[0].first;
    const ir_type *type = ir_operand(op, 0)->type;
    i64 i = scalar_signed(type, at(t, ir_operand(op, 0), 0));
    i64 end = scalar_signed(type, at(t, ir_operand(op, 1), 0));
    i64 step = scalar_signed(type, at(t, ir_operand(op, 2), 0));
    for (u32 k = 0; k < op->n_results; k++)
        copy_value(t, ir_result(op, k), ir_operand(op, k + 3));
    for (; i < end && !t->error; i += step) {
        define(t, body->args[0])[0] = scalar_mask(type, (u64)i);
        for (u32 k = 0; k < op->n_results; k++)
            copy_value(t, body->args[k + 1], ir_result(op, k));
        run_block(t, body);
        for (u32 k = 0; k < op->n_results; k++)
            copy_value(t, ir_result(op, k), ir_operand(body->last, k));
    }
}

static void run_while(tiles *t, const ir_op *op) {
    const ir_block *before = op->regions[0].first, *after = op->regions[1].first;
    for (u32 k = 0; k < op->n_operands; k++)
        copy_value(t, before->args[k], ir_operand(op, k));
    while (!t->error) {
        run_block(t, before);
        for (u32 k = 0; k < op->n_results; k++)
            copy_value(t, ir_result(op, k), ir_operand(before->last, k + 1));
        if (!at(t, ir_operand(before->last, 0), 0))
            return;
        for (u32 k = 0; k < op->n_results; k++)
            copy_value(t, after->args[k], ir_result(op, k));
        run_block(t, after);
        for (u32 k = 0; k < op->n_operands; k++)
            copy_value(t, before->args[k], ir_operand(after->last, k));
    }
}

static void run_if(tiles *t, const ir_op *op) {
    const ir_block *b = op->regions[at(t, ir_operand(op, 0), 0) ? 0 : 1].first;
    if (!b)
        return;
    run_block(t, b);
    for (u32 k = 0; k < op->n_results; k++)
        copy_value(t, ir_result(op, k), ir_operand(b->last, k));
}

static void run_pair(tiles *t, const ir_op *op) { /* join, split */
    bool join = op->code == IR_tt_join;
    u64 *whole = join ? define(t, ir_result(op, 0)) : *slot(t, ir_operand(op, 0));
    for (u32 side = 0; side < 2; side++) {
        const ir_value *half = join ? ir_operand(op, side) : ir_result(op, side);
        u64 *v = join ? *slot(t, half) : define(t, half);
        for (i64 i = 0; i < ir_numel(half->type); i++)
            *(join ? &whole[2 * i + side] : &v[i]) = join ? v[i] : whole[2 * i + side];
    }
}

static void run_op(tiles *t, const ir_op *op) {
    u64 *out;
    switch (op->code) {
    case IR_tt_make_range:
        out = define(t, ir_result(op, 0));
        for (i64 i = 0; i < ir_numel(ir_result(op, 0)->type); i++)
            out[i] = (u32)(ir_attr_get_int(op, "start", 0) + i);
        break;
    case IR_tt_splat:
    case IR_tt_unsplat:
        out = define(t, ir_result(op, 0));
        for (i64 i = 0; i < ir_numel(ir_result(op, 0)->type); i++)
            out[i] = at(t, ir_operand(op, 0), 0);
        break;
    case IR_tt_broadcast: run_broadcast(t, op); break;
    case IR_tt_trans: run_trans(t, op); break;
    case IR_tt_expand_dims:
    case IR_tt_reshape:
    case IR_ttg_convert_layout: *slot(t, ir_result(op, 0)) = *slot(t, ir_operand(op, 0)); break;
    case IR_tt_join:
    case IR_tt_split: run_pair(t, op); break;
    case IR_tt_reduce: run_reduce(t, op); break;
    case IR_tt_scan: run_scan(t, op); break;
    case IR_tt_gather: run_gather(t, op); break;
    case IR_tt_histogram: run_histogram(t, op); break;
    case IR_tt_dot: run_dot(t, op); break;
    case IR_tt_load:
    case IR_tt_store:
    case IR_tt_atomic_rmw:
    case IR_tt_atomic_cas: run_memory(t, op); break;
    case IR_scf_for: run_for(t, op); break;
    case IR_scf_while: run_while(t, op); break;
    case IR_scf_if: run_if(t, op); break;
    default: run_elementwise(t, op); break;
    }
}

static void run_block(tiles *t, const ir_block *b) {
    IR_FOR_EACH_OP(b, op)
        if (!ir_has_trait(op, IR_TERMINATOR) && !t->error)
            run_op(t, op);
}

const char *run_tiles(arena *a, ir_op *func, const u64 *args, u8 *memory) {
    tiles t = {.a = a, .values = ARENA_ARRAY(a, u64 *, ir_number(func)), .memory = memory};
    const ir_block *entry = func->regions[0].first;
    for (u32 i = 0; i < entry->n_args; i++)
        define(&t, entry->args[i])[0] = args[i];
    run_block(&t, entry);
    return t.error;
}
