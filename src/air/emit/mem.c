/* SPDX-License-Identifier: MIT */
/* Memory: loads and stores of scalars and vectors, threadgroup memory, barriers. A vector access goes
 * through a bitcast of the scalar pointer and states its alignment. i1 lives in memory as an i8 of 0
 * or 1, pointers as i64. A volatile load of a word of device memory is an atomic one: Apple's modules
 * have no volatile loads there. All of a kernel's threadgroup memory is one array of floats; tm.tg_alloc is a
 * constant offset into it, which pass_plan chose. */
#include "air/emit/emit_in.h"

enum { ICMP_NE = 33 };

air_value *emit_to_memory(emit *e, const ir_type *t, air_value *v) {
    if (ir_is_int(t, 1))
        return emit_cast(e, AIR_ZEXT, v, emit_int_type(e, 8));
    if (t->kind == IR_PTR)
        return emit_cast(e, AIR_PTRTOINT, v, emit_int_type(e, 64));
    return v;
}

air_value *emit_from_memory(emit *e, const ir_type *t, air_value *v) {
    if (ir_is_int(t, 1))
        return emit_cmp(e, ICMP_NE, v, emit_int(e, 8, 0));
    if (t->kind == IR_PTR)
        return emit_pointer_of(e, v, emit_type(e, t));
    return v;
}

/* The pointer with the access's type as pointee. */
static air_value *access_pointer(emit *e, air_value *p, air_type *access) {
    return emit_cast(e, AIR_BITCAST, p, air_type_ptr(e->m, access, p->type->space));
}

static u32 access_align(const ir_op *op, const air_value *pointer) {
    u32 natural = (u32)air_align(pointer->type->elem);
    return (u32)ir_attr_get_int(op, "align", natural);
}

static bool is_volatile(const ir_op *op) { return ir_attr_get_int(op, "volatile", 0) != 0; }

static air_value *load(emit *e, const ir_op *op) {
    const ir_type *t = ir_result(op, 0)->type;
    air_value *p = emit_operand(e, op, 0);
    air_type *access = emit_memory_type(e, t);
    if (!access)
        return NULL;
    u32 align = access_align(op, p);
    p = access_pointer(e, p, access);
    bool word = access->kind == AIR_FLOAT || (access->kind == AIR_INT && access->bits == 32);
    if (word && is_volatile(op) && p->type->space == IR_SPACE_DEVICE)
        return emit_from_memory(e, t, emit_atomic_load(e, p));
    return emit_from_memory(e, t, emit_load(e, p, align, is_volatile(op)));
}

static void store(emit *e, const ir_op *op) {
    const ir_type *t = ir_operand(op, 1)->type;
    air_value *p = emit_operand(e, op, 0), *v = emit_to_memory(e, t, emit_operand(e, op, 1));
    u32 align = access_align(op, p);
    emit_store(e, access_pointer(e, p, v->type), v, align, is_volatile(op));
}

static air_value *vector_make(emit *e, const ir_op *op) {
    air_type *t = emit_type(e, ir_result(op, 0)->type);
    if (!t)
        return NULL;
    air_value *v = air_const_undef(e->m, t);
    for (u32 i = 0; i < op->n_operands; i++) {
        air_value *element = emit_to_memory(e, ir_operand(op, i)->type, emit_operand(e, op, i));
        v = emit_insert(e, v, element, i);
    }
    return v;
}

static air_value *vector_get(emit *e, const ir_op *op) {
    air_value *v = emit_extract(e, emit_operand(e, op, 0), (u32)ir_attr_get_int(op, "index", 0));
    return emit_from_memory(e, ir_result(op, 0)->type, v);
}

static air_value *threadgroup_alloc(emit *e, const ir_op *op) {
    i64 offset = ir_attr_get_int(op, "offset", -1);
    if (offset < 0 || offset % 4 || !e->shared)
        return emit_refuse(e, TM9001, "threadgroup memory without a planned offset");
    air_type *words = e->shared->type->elem;
    air_type *word = air_type_ptr(e->m, words->elem, IR_SPACE_THREADGROUP);
    air_value *ops[] = {e->shared, emit_int(e, 64, 0), emit_int(e, 64, (u64)offset / 4)};
    air_value *at = emit_inst(e, AIR_GEP, 0, word, 3, ops);
    ((air_inst *)at)->aux = words;
    ((air_inst *)at)->flags = AIR_INBOUNDS;
    air_type *result = emit_type(e, ir_result(op, 0)->type);
    return result ? emit_cast(e, AIR_BITCAST, at, result) : NULL;
}

static void barrier(emit *e, const ir_op *op) {
    air_value *args[2];
    args[0] = emit_int(e, 32, (u64)ir_attr_get_int(op, "flags", 3));
    args[1] = emit_int(e, 32, 1); /* scope: threadgroup */
    emit_call(e, "air.wg.barrier", EMIT_CONVERGENT, air_type_simple(e->m, AIR_VOID), 2, args);
}

bool emit_memory_op(emit *e, ir_op *op, air_value **out) {
    switch (op->code) {
    case IR_tm_load: *out = load(e, op); return true;
    case IR_tm_store: store(e, op); return true;
    case IR_tm_vec_make: *out = vector_make(e, op); return true;
    case IR_tm_vec_get: *out = vector_get(e, op); return true;
    case IR_tm_tg_alloc: *out = threadgroup_alloc(e, op); return true;
    case IR_tm_barrier: barrier(e, op); return true;
    default: return false;
    }
}
