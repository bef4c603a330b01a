/* SPDX-License-Identifier: MIT */
/* Atomics. Native on 32-bit words, and float addition in device memory; other floats and 8- and
 * 16-bit values go through a compare-and-swap loop on the word that holds them. 64 bits: unsigned
 * maximum and minimum in device memory whose old value nobody reads, as that is all AIR has.
 *
 * Every operation is relaxed, as in all of Apple's modules. Acquire and release are fences around it
 * from AIR 2.7 on; before, AIR has no fence, and the barriers of the kernel are what orders memory.
 * An old value that nobody reads acquires nothing; a kernel whose only effect on memory is one atomic
 * operation has nothing to release.
 *
 * cmpxchg is called weak, and Apple's own library takes "returned value equals expected" as success:
 * there is nothing else to test, so a single call is the compare-and-swap. */
#include "air/emit/emit_in.h"

#include <stdio.h>

#include "thread/facts.h"

enum rmw { RMW_AND = 1, RMW_OR, RMW_XOR, RMW_ADD, RMW_FADD, RMW_MAX, RMW_MIN, RMW_UMAX, RMW_UMIN,
           RMW_EXCH, RMW_COUNT };
enum { SEM_RELAXED = 1, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL };
enum { ICMP_EQ = 32 };

static const char *const rmw_names[RMW_COUNT] = {
    [RMW_AND] = "and.u.i32",  [RMW_OR] = "or.u.i32",     [RMW_XOR] = "xor.u.i32",
    [RMW_ADD] = "add.u.i32",  [RMW_FADD] = "add.f32",    [RMW_MAX] = "max.s.i32",
    [RMW_MIN] = "min.s.i32",  [RMW_UMAX] = "max.u.i32",  [RMW_UMIN] = "min.u.i32",
    [RMW_EXCH] = "xchg.i32",
};

static const char *space_name(const air_value *pointer) {
    return pointer->type->space == IR_SPACE_THREADGROUP ? "local" : "global";
}

/* order relaxed, scope, volatile: the last arguments of every atomic */
static u32 tail_args(emit *e, const air_value *pointer, air_value **args) {
    args[0] = emit_int(e, 32, 0);
    args[1] = emit_int(e, 32, pointer->type->space == IR_SPACE_THREADGROUP ? 1 : 2);
    args[2] = emit_int(e, 1, 1);
    return 3;
}

static air_value *call_rmw(emit *e, const char *name, air_type *result, air_value *pointer,
                           air_value *value) {
    char full[64];
    air_value *args[5] = {pointer, value};
    snprintf(full, sizeof full, "air.atomic.%s.%s", space_name(pointer), name);
    u32 n = 2 + tail_args(e, pointer, args + 2);
    return emit_call(e, full, EMIT_ATOMIC, result, n, args);
}

air_value *emit_atomic_load(emit *e, air_value *pointer) {
    char full[64];
    air_value *args[4] = {pointer};
    snprintf(full, sizeof full, "air.atomic.%s.load.%s", space_name(pointer),
             emit_suffix(pointer->type->elem));
    u32 n = 1 + tail_args(e, pointer, args + 1);
    return emit_call(e, full, EMIT_ATOMIC, pointer->type->elem, n, args);
}

static air_value *call_cas(emit *e, air_value *pointer, air_value *expected, air_value *desired) {
    char full[64];
    air_value *slot = emit_slot(e, expected->type);
    emit_store(e, slot, expected, 4, false);
    air_value *args[7] = {pointer, slot, desired, emit_int(e, 32, 0)};
    snprintf(full, sizeof full, "air.atomic.%s.cmpxchg.weak.i32", space_name(pointer));
    u32 n = 4 + tail_args(e, pointer, args + 4);
    return emit_call(e, full, EMIT_ATOMIC, expected->type, n, args);
}

static void fence(emit *e, const ir_op *op) {
    if (e->target->minor < 7)
        return;
    bool system = ir_attr_get_int(op, "scope", 1) == 3;
    air_value *args[3];
    args[0] = emit_int(e, 32, 1);              /* device memory */
    args[1] = emit_int(e, 32, 5);              /* sequentially consistent */
    args[2] = emit_int(e, 32, system ? 3 : 2); /* system or device */
    emit_call(e, "air.atomic.fence", EMIT_FENCE, air_type_simple(e->m, AIR_VOID), 3, args);
}

/* ---- Loops over the word ---------------------------------------------------------------------- */

typedef struct field { /* where a value lies in its 32-bit word */
    air_value *word;   /* i32 pointer */
    air_value *shift;  /* NULL: the value is the word */
    u32 bits;
} field;

static field find_field(emit *e, air_value *pointer, u32 bits) {
    air_type *i32t = emit_int_type(e, 32);
    air_type *word = air_type_ptr(e->m, i32t, pointer->type->space);
    if (bits == 32)
        return (field){emit_cast(e, AIR_BITCAST, pointer, word), NULL, 32};
    air_value *address = emit_cast(e, AIR_PTRTOINT, pointer, emit_int_type(e, 64));
    air_value *byte = emit_bin(e, AIR_AND, address, emit_int(e, 64, 3));
    air_type *bytes = air_type_ptr(e->m, emit_int_type(e, 8), pointer->type->space);
    air_value *base = emit_cast(e, AIR_BITCAST, pointer, bytes);
    base = emit_gep(e, base, emit_bin(e, AIR_SUB, emit_int(e, 64, 0), byte));
    air_value *shift = emit_cast(e, AIR_TRUNC, byte, i32t);
    shift = emit_bin(e, AIR_SHL, shift, emit_int(e, 32, 3));
    return (field){emit_cast(e, AIR_BITCAST, base, word), shift, bits};
}

static air_value *take_field(emit *e, const field *f, air_value *word, air_type *t) {
    if (f->shift)
        word = emit_bin(e, AIR_LSHR, word, f->shift);
    word = emit_cast(e, AIR_TRUNC, word, emit_int_type(e, f->bits));
    return emit_cast(e, AIR_BITCAST, word, t);
}

static air_value *put_field(emit *e, const field *f, air_value *word, air_value *v) {
    air_value *bits = emit_cast(e, AIR_BITCAST, v, emit_int_type(e, f->bits));
    if (!f->shift)
        return bits;
    air_value *mask = emit_bin(e, AIR_SHL, emit_int(e, 32, (1u << f->bits) - 1), f->shift);
    mask = emit_bin(e, AIR_XOR, mask, emit_int(e, 32, 0xFFFFFFFFu));
    bits = emit_cast(e, AIR_ZEXT, bits, emit_int_type(e, 32));
    bits = emit_bin(e, AIR_SHL, bits, f->shift);
    return emit_bin(e, AIR_OR, emit_bin(e, AIR_AND, word, mask), bits);
}

static air_value *apply(emit *e, const ir_type *t, u32 kind, air_value *old, air_value *v) {
    static const u8 binops[] = {[RMW_AND] = AIR_AND, [RMW_OR] = AIR_OR, [RMW_XOR] = AIR_XOR,
                                [RMW_ADD] = AIR_ADD};
    air_value *args[] = {old, v};
    switch (kind) {
    case RMW_AND: case RMW_OR: case RMW_XOR: case RMW_ADD: return emit_bin(e, binops[kind], old, v);
    case RMW_FADD: {
        air_value *x = emit_wide(e, t, old), *y = emit_wide(e, t, v);
        return emit_narrow(e, t, emit_bin(e, AIR_ADD, x, y));
    }
    case RMW_EXCH: return v;
    default: break;
    }
    if (t->kind == IR_FLOAT)
        return emit_minmax(e, t, kind == RMW_MAX || kind == RMW_UMAX, false, old, v);
    return emit_math(e, kind == RMW_MAX    ? "air.max.s"
                        : kind == RMW_MIN  ? "air.min.s"
                        : kind == RMW_UMAX ? "air.max.u"
                                           : "air.min.u", 2, args);
}

static air_value *rmw_loop(emit *e, const ir_type *t, u32 kind, air_value *pointer, air_value *v) {
    field f = find_field(e, pointer, t->width);
    air_value *first = emit_atomic_load(e, f.word);
    air_block *head = e->block, *loop = air_block_new(e->func), *from[] = {head, head};
    emit_br(e, loop);
    e->block = loop;
    air_value *both[] = {first, first}, *old = emit_phi(e, loop, first->type, 2, both, from);
    air_value *value = take_field(e, &f, old, v->type);
    air_value *next = put_field(e, &f, old, apply(e, t, kind, value, v));
    air_value *seen = call_cas(e, f.word, old, next);
    air_value *done = emit_cmp(e, ICMP_EQ, seen, old);
    emit_phi_set(e, old, 1, seen, e->block);
    air_block *latch = e->block, *after = air_block_new(e->func);
    e->block = latch;
    emit_cond_br(e, done, after, loop);
    e->block = after;
    return value;
}

/* ---- The operations --------------------------------------------------------------------------- */

static air_value *rmw64(emit *e, const ir_op *op, u32 kind, air_value *p, air_value *v) {
    bool can = (kind == RMW_UMAX || kind == RMW_UMIN) && p->type->space == IR_SPACE_DEVICE &&
               !value_observed(ir_result(op, 0));
    if (!can)
        return emit_refuse(e, TM4307, "a 64-bit atomic");
    call_rmw(e, kind == RMW_UMAX ? "max.u.i64" : "min.u.i64", air_type_simple(e->m, AIR_VOID), p, v);
    return air_const_undef(e->m, v->type);
}

static air_value *rmw(emit *e, const ir_op *op) {
    const ir_type *t = ir_operand(op, 1)->type;
    i64 kind = ir_attr_get_int(op, "atomic_rmw_op", ir_attr_get_int(op, "op", 0));
    air_value *p = emit_operand(e, op, 0), *v = emit_operand(e, op, 1);
    if (kind < RMW_AND || kind >= RMW_COUNT)
        return emit_refuse(e, TM4301, "this atomic operation");
    if (t->kind != IR_INT && t->kind != IR_FLOAT)
        return emit_refuse(e, TM4307, "an atomic on a pointer");
    if (t->width == 64)
        return rmw64(e, op, (u32)kind, p, v);
    if (t->width == 1)
        return emit_refuse(e, TM4307, "an atomic on a boolean");
    if (t->width == 32 && t->kind == IR_INT)
        return call_rmw(e, rmw_names[kind], v->type, p, v);
    if (t->width == 32 && kind == RMW_FADD && p->type->space == IR_SPACE_DEVICE)
        return call_rmw(e, rmw_names[kind], v->type, p, v);
    if (t->width == 32 && kind == RMW_EXCH) {
        field f = find_field(e, p, 32);
        air_value *bits = emit_cast(e, AIR_BITCAST, v, emit_int_type(e, 32));
        bits = call_rmw(e, rmw_names[kind], bits->type, f.word, bits);
        return emit_cast(e, AIR_BITCAST, bits, v->type);
    }
    return rmw_loop(e, t, (u32)kind, p, v);
}

/* A narrow compare-and-swap fails at once when its field differs, and repeats when another part of
 * the word changed under it. */
static air_value *cas_narrow(emit *e, const ir_type *t, air_value *p, air_value *expected,
                             air_value *desired) {
    field f = find_field(e, p, t->width);
    air_type *bits = emit_int_type(e, t->width);
    air_value *want = emit_cast(e, AIR_BITCAST, expected, bits);
    air_value *first = emit_atomic_load(e, f.word);
    air_block *head = e->block, *loop = air_block_new(e->func), *from[] = {head, head};
    emit_br(e, loop);
    e->block = loop;
    air_value *both[] = {first, first}, *old = emit_phi(e, loop, first->type, 2, both, from);
    air_value *value = take_field(e, &f, old, bits);
    air_value *same = emit_cmp(e, ICMP_EQ, value, want);
    air_block *swap = e->block = air_block_new(e->func);
    air_value *next = put_field(e, &f, old, desired);
    air_value *seen = call_cas(e, f.word, old, next);
    air_value *done = emit_cmp(e, ICMP_EQ, seen, old);
    emit_phi_set(e, old, 1, seen, swap);
    air_block *after = air_block_new(e->func);
    emit_cond_br(e, done, after, loop);
    e->block = loop;
    emit_cond_br(e, same, swap, after);
    e->block = after;
    return emit_cast(e, AIR_BITCAST, value, expected->type);
}

static air_value *cas(emit *e, const ir_op *op) {
    const ir_type *t = ir_operand(op, 1)->type;
    air_value *p = emit_operand(e, op, 0), *expected = emit_operand(e, op, 1);
    air_value *desired = emit_operand(e, op, 2);
    if ((t->kind != IR_INT && t->kind != IR_FLOAT) || t->width == 64 || t->width == 1)
        return emit_refuse(e, TM4307, "a compare-and-swap of this width");
    if (t->width < 32)
        return cas_narrow(e, t, p, expected, desired);
    field f = find_field(e, p, 32);
    air_type *word = emit_int_type(e, 32);
    air_value *x = emit_cast(e, AIR_BITCAST, expected, word);
    air_value *y = emit_cast(e, AIR_BITCAST, desired, word);
    return emit_cast(e, AIR_BITCAST, call_cas(e, f.word, x, y), expected->type);
}

bool emit_atomic_op(emit *e, ir_op *op, air_value **out) {
    if (op->code != IR_tm_atomic_rmw && op->code != IR_tm_atomic_cas)
        return false;
    i64 sem = ir_attr_get_int(op, "sem", SEM_ACQ_REL);
    bool device = ir_operand(op, 0)->type->space == IR_SPACE_DEVICE;
    if (device && e->releases && (sem == SEM_RELEASE || sem == SEM_ACQ_REL))
        fence(e, op);
    *out = op->code == IR_tm_atomic_rmw ? rmw(e, op) : cas(e, op);
    bool observed = value_observed(ir_result(op, 0));
    if (device && observed && (sem == SEM_ACQUIRE || sem == SEM_ACQ_REL))
        fence(e, op);
    return true;
}
