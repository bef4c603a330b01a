/* SPDX-License-Identifier: MIT */
/* tt.atomic_rmw and tt.atomic_cas. Of several holders of an element only the owner acts; when the
 * old value is used and others hold copies, it travels to them through threadgroup memory.
 * Metal has atomics on 32-bit integers and f32 addition: exchange and compare of f32 go through the
 * integer form bit by bit, other types are refused. */
#include "lower/state.h"

enum { RMW_FADD = 5, RMW_EXCH = 10 }; /* tt.atomic_rmw's atomic_rmw_op */

typedef struct atomic {
    ir_op *op;
    enum ir_code code;    /* tm.atomic_rmw or tm.atomic_cas */
    u32 n_values;         /* besides the pointer */
    const tensor *ptr, *values[2], *mask;
    const ir_type *elem;
    bool as_int;          /* an f32 moved as its bits */
    i64 kind;             /* rmw */
} atomic;

static ir_value *bits_of(lower *L, const atomic *a, ir_value *v) {
    return a->as_int ? make1(L, IR_arith_bitcast, L->i32, 1, &v) : v;
}

static ir_value *atomic_one(lower *L, const atomic *a, u32 reg) {
    ir_value *in[3] = {tensor_at(a->ptr, reg)};
    if (a->as_int) {
        const ir_type *t = ir_type_ptr(L->m, L->i32, in[0]->type->space);
        in[0] = make1(L, IR_tt_bitcast, t, 1, &in[0]);
    }
    for (u32 i = 0; i < a->n_values; i++)
        in[1 + i] = bits_of(L, a, tensor_at(a->values[i], reg));
    ir_value *old = make1(L, a->code, a->as_int ? L->i32 : a->elem, 1 + a->n_values, in);
    if (a->code == IR_tm_atomic_rmw)
        set_i32(L, old, "op", a->kind);
    set_i32(L, old, "sem", ir_attr_get_int(a->op, "sem", 4));
    set_i32(L, old, "scope", ir_attr_get_int(a->op, "scope", 1));
    return a->as_int ? make1(L, IR_arith_bitcast, a->elem, 1, &old) : old;
}

/* The old value, or zero where the condition (NULL: true) does not hold. */
static ir_value *guarded_atomic(lower *L, const atomic *a, u32 reg, ir_value *cond) {
    if (!cond)
        return atomic_one(L, a, reg);
    ir_op *guard = if_open(L, cond, 1, &a->elem);
    ir_value *v = atomic_one(L, a, reg);
    make_yield(L, 1, &v);
    if_else(L, guard);
    v = zero_of(L, a->elem);
    make_yield(L, 1, &v);
    if_close(L, guard);
    return ir_result(guard, 0);
}

static ir_value *both(lower *L, ir_value *x, ir_value *y) {
    return x && y ? ir_binary(&L->b, IR_arith_andi, x, y) : x ? x : y;
}

/* One thread did it; the others read the result from threadgroup memory. */
static ir_value *share_scalar(lower *L, ir_value *v) {
    ir_value *at = make_alloc(L, v->type, 1);
    ir_op *guard = if_open(L, one_thread(L), 0, NULL);
    make_store(L, at, v, ir_type_bytes(v->type));
    if_close(L, guard);
    return make_load(L, v->type, at, ir_type_bytes(v->type));
}

static tm_status lower_atomic(lower *L, const atomic *a) {
    const ir_value *result = ir_result(a->op, 0);
    const layout *l = a->ptr->l;
    ir_value *owner = l ? owner_of(L, l) : one_thread(L);
    tensor *t = tensor_new(L, result->type);
    for (u32 r = 0; r < t->n; r++) {
        ir_value *mask = a->mask ? tensor_at(a->mask, r) : NULL;
        t->s[r] = guarded_atomic(L, a, r, both(L, mask, owner));
    }
    if (owner && ir_has_uses(result)) {
        if (l)
            t = exchange(L, t, l, false);
        else
            t->s[0] = share_scalar(L, t->s[0]);
    }
    tensor_here(L, t);
    tensor_bind(L, result, t);
    return 0;
}

/* True when the hardware has it; f32 exchange and compare become integer ones. */
static bool type_fits(lower *L, atomic *a) {
    bool f32 = a->elem == L->f32;
    if (a->code == IR_tm_atomic_rmw && a->kind == RMW_FADD)
        return f32;
    a->as_int = f32 && (a->code == IR_tm_atomic_cas || a->kind == RMW_EXCH);
    return a->as_int || ir_is_int(a->elem, 32);
}

static tm_status refuse_type(lower *L, const ir_op *op) { return ir_error(L->m, op, TM2212); }

tm_status lower_atomic_rmw(lower *L, ir_op *op) {
    atomic a = {.op = op, .code = IR_tm_atomic_rmw, .n_values = 1};
    a.elem = ir_elem(ir_result(op, 0)->type);
    a.kind = ir_attr_get_int(op, "atomic_rmw_op", 0);
    if (!type_fits(L, &a))
        return refuse_type(L, op);
    a.ptr = tensor_scalars(L, ir_operand(op, 0));
    a.values[0] = tensor_scalars(L, ir_operand(op, 1));
    if (op->n_operands > 2)
        a.mask = tensor_scalars(L, ir_operand(op, 2));
    return lower_atomic(L, &a);
}

tm_status lower_atomic_cas(lower *L, ir_op *op) {
    atomic a = {.op = op, .code = IR_tm_atomic_cas, .n_values = 2};
    a.elem = ir_elem(ir_result(op, 0)->type);
    if (!type_fits(L, &a))
        return refuse_type(L, op);
    a.ptr = tensor_scalars(L, ir_operand(op, 0));
    a.values[0] = tensor_scalars(L, ir_operand(op, 1));
    a.values[1] = tensor_scalars(L, ir_operand(op, 2));
    return lower_atomic(L, &a);
}
