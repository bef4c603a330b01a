/* SPDX-License-Identifier: MIT */
/* tt.atomic_rmw and tt.atomic_cas. Of several holders of an element only the owner acts; when the
 * old value is used and others hold copies, it travels to them through threadgroup memory. An unused
 * old value leaves nothing behind, so that forms without result remain possible. Which types and
 * operations exist is emission's knowledge: it refuses what AIR cannot do. */
#include "lower/state.h"

typedef struct atomic {
    ir_op *op;
    enum ir_code code;    /* tm.atomic_rmw or tm.atomic_cas */
    u32 n_values;         /* besides the pointer */
    const tensor *ptr, *values[2], *mask;
    const ir_type *elem;
    bool used;            /* the old value */
} atomic;

static ir_value *atomic_one(lower *L, const atomic *a, u32 reg) {
    ir_value *in[3] = {tensor_at(a->ptr, reg)};
    for (u32 i = 0; i < a->n_values; i++)
        in[1 + i] = tensor_at(a->values[i], reg);
    ir_value *old = make1(L, a->code, a->elem, 1 + a->n_values, in);
    if (a->code == IR_tm_atomic_rmw)
        set_i32(L, old, "op", ir_attr_get_int(a->op, "atomic_rmw_op", 0));
    set_i32(L, old, "sem", ir_attr_get_int(a->op, "sem", 4));
    return set_i32(L, old, "scope", ir_attr_get_int(a->op, "scope", 1));
}

/* The old value, or zero where the condition (NULL: true) does not hold. NULL when nobody asks. */
static ir_value *guarded_atomic(lower *L, const atomic *a, u32 reg, ir_value *cond) {
    if (!cond)
        return atomic_one(L, a, reg);
    ir_op *guard = if_open(L, cond, a->used, &a->elem);
    ir_value *v = atomic_one(L, a, reg);
    if (a->used) {
        make_yield(L, 1, &v);
        if_else(L, guard);
        v = zero_of(L, a->elem);
        make_yield(L, 1, &v);
    }
    if_close(L, guard);
    return a->used ? ir_result(guard, 0) : NULL;
}

static ir_value *both(lower *L, ir_value *x, ir_value *y) {
    return x && y ? ir_binary(&L->b, IR_arith_andi, x, y) : x ? x : y;
}

/* One thread did it; the others read the result from threadgroup memory. */
static ir_value *share_scalar(lower *L, ir_value *v) {
    ir_value *at = make_alloc(L, memory_type(L, v->type), 1);
    ir_op *guard = if_open(L, one_thread(L), 0, NULL);
    ir_value *m = to_memory(L, v);
    make_store(L, at, m, ir_type_bytes(m->type));
    if_close(L, guard);
    return from_memory(L, make_load(L, m->type, at, ir_type_bytes(m->type)), v->type);
}

static tm_status lower_atomic(lower *L, atomic *a) {
    const ir_value *result = ir_result(a->op, 0);
    const layout *l = a->ptr->l;
    a->elem = ir_elem(result->type);
    a->used = ir_has_uses(result);
    ir_value *owner = l ? owner_of(L, l) : one_thread(L);
    tensor *t = tensor_new(L, result->type);
    for (u32 r = 0; r < t->n; r++) {
        ir_value *mask = a->mask ? tensor_at(a->mask, r) : NULL;
        t->s[r] = guarded_atomic(L, a, r, both(L, mask, owner));
    }
    if (owner && a->used) {
        if (l)
            t = exchange(L, t, l, false);
        else
            t->s[0] = share_scalar(L, t->s[0]);
    }
    tensor_here(L, t);
    tensor_bind(L, result, t);
    return 0;
}

tm_status lower_atomic_rmw(lower *L, ir_op *op) {
    atomic a = {.op = op, .code = IR_tm_atomic_rmw, .n_values = 1};
    a.ptr = tensor_scalars(L, ir_operand(op, 0));
    a.values[0] = tensor_scalars(L, ir_operand(op, 1));
    if (op->n_operands > 2)
        a.mask = tensor_scalars(L, ir_operand(op, 2));
    return lower_atomic(L, &a);
}

tm_status lower_atomic_cas(lower *L, ir_op *op) {
    atomic a = {.op = op, .code = IR_tm_atomic_cas, .n_values = 2};
    a.ptr = tensor_scalars(L, ir_operand(op, 0));
    a.values[0] = tensor_scalars(L, ir_operand(op, 1));
    a.values[1] = tensor_scalars(L, ir_operand(op, 2));
    return lower_atomic(L, &a);
}
