/* SPDX-License-Identifier: MIT */
/* Scalar semantics of the reference evaluators; see scalar.h. */
#include "scalar.h"
#include "ir/format.h"
#include <math.h>

u64 scalar_mask(const ir_type *t, u64 bits) {
    return t->kind == IR_PTR || t->width >= 64 ? bits : bits & ((1ull << t->width) - 1);
}

i64 scalar_signed(const ir_type *t, u64 bits) {
    u32 w = t->kind == IR_PTR ? 64 : t->width;
    return w >= 64 ? (i64)bits : (i64)(bits << (64 - w)) >> (64 - w);
}

u64 memory_read(const u8 *memory, u64 address, u32 bytes) {
    u64 v = 0;
    memcpy(&v, memory + address, bytes);
    return v;
}

void memory_write(u8 *memory, u64 address, u32 bytes, u64 bits) { memcpy(memory + address, &bits, bytes); }

u64 atomic_apply(i64 kind, u64 old, u64 value) {
    float a, b;
    switch (kind) {
    case 1: return old & value;
    case 2: return old | value;
    case 3: return old ^ value;
    case 4: return (u32)(old + value);
    case 5:
        memcpy(&a, &old, 4);
        memcpy(&b, &value, 4);
        a += b;
        memcpy(&old, &a, 4);
        return old;
    case 6: return (i32)old > (i32)value ? old : value;
    case 7: return (i32)old < (i32)value ? old : value;
    case 8: return old > value ? old : value;
    case 9: return old < value ? old : value;
    default: return value;
    }
}

static bool compare_ints(i64 predicate, i64 a, i64 b) {
    u64 x = (u64)a, y = (u64)b;
    switch (predicate) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    case 5: return a >= b;
    case 6: return x < y;
    case 7: return x <= y;
    case 8: return x > y;
    default: return x >= y;
    }
}

static bool compare_floats(i64 predicate, double a, double b) {
    switch (predicate) {
    case 1: return a == b;
    case 2: return a > b;
    case 3: return a >= b;
    case 4: return a < b;
    case 5: return a <= b;
    default: return a != b;
    }
}

static bool eval_float(const ir_op *op, const ir_type *t, const u64 *in, u64 *out) {
    double x[3] = {0}, r;
    for (u32 i = 0; i < op->n_operands && i < 3; i++)
        x[i] = ir_float_decode(t->float_kind, in[i]);
    switch (op->code) {
    case IR_arith_addf: r = x[0] + x[1]; break;
    case IR_arith_subf: r = x[0] - x[1]; break;
    case IR_arith_mulf: r = x[0] * x[1]; break;
    case IR_arith_maxnumf: r = x[0] > x[1] ? x[0] : x[1]; break;
    case IR_arith_minnumf: r = x[0] < x[1] ? x[0] : x[1]; break;
    case IR_math_fma: r = x[0] * x[1] + x[2]; break;
    case IR_arith_negf: r = -x[0]; break;
    default: return false;
    }
    *out = ir_float_encode(t->float_kind, r);
    return true;
}

static bool eval_int(const ir_op *op, const ir_type *t, const u64 *in, u64 *out) {
    i64 a = scalar_signed(t, in[0]), b = op->n_operands > 1 ? scalar_signed(t, in[1]) : 0;
    u64 r;
    switch (op->code) {
    case IR_arith_addi: r = in[0] + in[1]; break;
    case IR_arith_subi: r = in[0] - in[1]; break;
    case IR_arith_muli: r = in[0] * in[1]; break;
    case IR_arith_andi: r = in[0] & in[1]; break;
    case IR_arith_ori: r = in[0] | in[1]; break;
    case IR_arith_xori: r = in[0] ^ in[1]; break;
    case IR_arith_shli: r = in[0] << (in[1] & 63); break;
    case IR_arith_shrui: r = in[0] >> (in[1] & 63); break;
    case IR_arith_shrsi: r = (u64)(a >> (in[1] & 63)); break;
    case IR_arith_maxsi: r = (u64)(a > b ? a : b); break;
    case IR_arith_minsi: r = (u64)(a < b ? a : b); break;
    case IR_arith_maxui: r = in[0] > in[1] ? in[0] : in[1]; break;
    case IR_arith_minui: r = in[0] < in[1] ? in[0] : in[1]; break;
    default: return false;
    }
    *out = scalar_mask(t, r);
    return true;
}

static bool eval_cast(const ir_op *op, const ir_type *to, const ir_type *from, u64 in, u64 *out) {
    switch (op->code) {
    case IR_arith_extsi: *out = scalar_mask(to, (u64)scalar_signed(from, in)); return true;
    case IR_arith_extui:
    case IR_arith_bitcast:
    case IR_tt_bitcast:
    case IR_tt_int_to_ptr:
    case IR_tt_ptr_to_int: *out = in; return true;
    case IR_arith_trunci: *out = scalar_mask(to, in); return true;
    case IR_arith_extf:
    case IR_arith_truncf:
        *out = ir_float_encode(to->float_kind, ir_float_decode(from->float_kind, in));
        return true;
    case IR_arith_sitofp:
        *out = ir_float_encode(to->float_kind, (double)scalar_signed(from, in));
        return true;
    case IR_arith_fptosi:
        *out = scalar_mask(to, (u64)(i64)ir_float_decode(from->float_kind, in));
        return true;
    default: return false;
    }
}

bool scalar_eval(const ir_op *op, const ir_type *result, const ir_type *const *types, const u64 *in,
                 u64 *out) {
    i64 bits;
    switch (op->code) {
    case IR_arith_constant:
        if (!ir_constant_bits(ir_result(op, 0), &bits))
            return false;
        *out = scalar_mask(result, (u64)bits);
        return true;
    case IR_arith_select: *out = in[0] ? in[1] : in[2]; return true;
    case IR_arith_cmpi:
        bits = ir_attr_get_int(op, "predicate", 0);
        if (bits >= 6)
            *out = compare_ints(bits, (i64)in[0], (i64)in[1]);
        else
            *out = compare_ints(bits, scalar_signed(types[0], in[0]), scalar_signed(types[1], in[1]));
        return true;
    case IR_arith_cmpf:
        *out = compare_floats(ir_attr_get_int(op, "predicate", 0),
                              ir_float_decode(types[0]->float_kind, in[0]),
                              ir_float_decode(types[1]->float_kind, in[1]));
        return true;
    case IR_tt_addptr:
        *out = in[0] + (u64)(scalar_signed(types[1], in[1]) * (i64)ir_type_bytes(result->elem));
        return true;
    default: break;
    }
    if (op->n_operands == 1 && eval_cast(op, result, types[0], in[0], out))
        return true;
    if (op->n_operands && types[0]->kind == IR_FLOAT)
        return eval_float(op, types[0], in, out);
    return op->n_operands && types[0]->kind == IR_INT && eval_int(op, types[0], in, out);
}
