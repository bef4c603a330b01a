/* SPDX-License-Identifier: MIT */
/* Modules that want out: each row builds one and says which diagnostic it gets. Buffers are allocations of exactly
 * their size, so AddressSanitizer sees whoever leaves them. All run on every instruction set, with the usual checks,
 * with all of them, and with none: then bad accesses are dropped, and the host is as safe. */
#include "kit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define I32(v) kit_int(k, k->i32, (u64)(v))
#define I64(v) kit_int(k, k->i64, (u64)(v))
enum { SIZE_A = 64, SIZE_B = 6 }; /* a: 16 words; b: a word and a half */
enum { DECODE = 1, ALWAYS, ENDLESS }; /* refused when decoded; found with no check on, too; then runs out of steps */

typedef struct row {
    const char *name;
    void (*build)(kit *k, const struct row *r);
    int code, when;         /* 0: it runs */
    u64 n, m;
    const char *what, *type;
} row;

/* ---- Calls whose types are not what their names say ----------------------------------------------------- */
static air_type *type_of(kit *k, char c) {
    switch (c) {
    case 'f': return k->f32;
    case 'h': return k->f16;
    case 'i': return k->i32;
    case 'c': return k->i8;
    case 'l': return k->i64;
    case 'b': return k->i1;
    case 'p': return air_type_ptr(k->m, k->i32, 1);
    case 'q': return air_type_ptr(k->m, k->f32, 1);
    case 't': return air_type_ptr(k->m, k->i32, 0);
    case 's': return air_type_ptr(k->m, air_type_struct(k->m, 2, (air_type *[]){k->i32, k->i32}, false, NULL), 1);
    case 'V': return air_type_vector(k->m, k->f32, 4);
    case 'B': return air_type_vector(k->m, k->i1, 4);
    case 'L': return air_type_vector(k->m, k->i64, 2);
    case 'X': return air_type_vector(k->m, k->f32, 64);
    case 'Y': return air_type_vector(k->m, k->i32, 64);
    default: return k->none;
    }
}
/* type: the result, then the arguments, a letter each. */
static void call(kit *k, const row *r) {
    air_value *args[8];
    u32 n = 0;
    for (const char *p = r->type + 1; *p; p++) {
        air_type *t = type_of(k, *p);
        args[n++] = t->kind == AIR_PTR ? kit_cast(k, AIR_BITCAST, k->buffer[0], t) : air_const_undef(k->m, t);
        if (t == k->i32)
            args[n - 1] = k->lane;
        if (t->kind == AIR_PTR && !t->space)
            args[n - 1] = air_const_null(k->m, t);
    }
    kit_call(k, r->what, type_of(k, r->type[0]), n, args);
}
static const row calls[] = {
    {"no arguments", call, 3001, DECODE, 0, 0, "air.fma.f32", "f"},
    {"too few arguments", call, 3001, DECODE, 0, 0, "air.fma.f32", "fff"},
    {"wide for narrow", call, 3001, DECODE, 0, 0, "air.fast_exp.f32", "fl"},
    {"wide result of narrow", call, 3001, DECODE, 0, 0, "air.fast_exp.f32", "lf"},
    {"vector of a scalar", call, 3001, DECODE, 0, 0, "air.fast_exp.v4f32", "Vf"},
    {"mask for a number", call, 3001, DECODE, 0, 0, "air.sqrt.f32", "fb"},
    {"matrix for a number", call, 3001, DECODE, 0, 0, "air.sqrt.f32", "fX"},
    {"matrix of numbers", call, 3001, DECODE, 0, 0, "air.sqrt.f32", "XX"},
    {"the widest saturation", call, 0, 0, 0, 0, "llvm.sadd.sat.i64", "lll"},
    {"no types in the name", call, 0, 0, 0, 0, "air.convert", "fi"},
    {"half a name", call, 0, 0, 0, 0, "air.convert.f", "fi"},
    {"convert nothing", call, 3001, DECODE, 0, 0, "air.convert.f.f32.s.i32", "f"},
    {"cosine to nowhere", call, 3001, DECODE, 0, 0, "air.sincos.f32", "ff"},
    {"cosine to a number", call, 3001, DECODE, 0, 0, "air.sincos.f32", "ffi"},
    {"short dot", call, 3001, DECODE, 0, 0, "air.dot.v4f32", "fVf"},
    {"dot of nothing", call, 3001, DECODE, 0, 0, "air.dot.v4f32", "f"},
    {"all of a number", call, 3001, DECODE, 0, 0, "air.all.v4i1", "bi"},
    {"rotate by nothing", call, 3001, DECODE, 0, 0, "air.rotate.i32", "ii"},
    {"shuffle without a lane", call, 3001, DECODE, 0, 0, "air.simd_shuffle.f32", "ff"},
    {"shuffle by a wide lane", call, 3001, DECODE, 0, 0, "air.simd_shuffle.f32", "ffl"},
    {"shuffle a matrix", call, 3001, DECODE, 0, 0, "air.simd_shuffle.v64f32", "XXi"},
    {"fill without a delta", call, 3001, DECODE, 0, 0, "air.simd_shuffle_and_fill_up.f32", "fff"},
    {"sum of a matrix", call, 3001, DECODE, 0, 0, "air.simd_sum.f32", "fX"},
    {"vote on a number", call, 3001, DECODE, 0, 0, "air.simd_all", "bi"},
    {"wide ballot", call, 3001, DECODE, 0, 0, "air.simd_ballot.i64", "lX"},
    {"matrix from nowhere", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", "X"},
    {"matrix that is none", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", "fqlLb"},
    {"matrix at a number", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", "XilLb"},
    {"matrix with a scalar origin", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", "Xqllb"},
    {"store of no matrix", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", "vfqlLb"},
    {"product that is none", call, 3001, DECODE, 0, 0,
     "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32", "fXXX"},
    {"product of two", call, 3001, DECODE, 0, 0,
     "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32", "XXX"},
    {"fill with a matrix", call, 3001, DECODE, 0, 0, "air.simdgroup_matrix_8x8_init_filled.v64f32.f32", "XX"},
    {"atomic on nothing", call, 3001, DECODE, 0, 0, "air.atomic.global.add.u.i32", "i"},
    {"atomic on a number", call, 3001, DECODE, 0, 0, "air.atomic.global.add.u.i32", "iii"},
    {"atomic on a structure", call, 3001, DECODE, 0, 0, "air.atomic.global.add.u.i32", "isi"},
    {"atomic with a wide operand", call, 3001, DECODE, 0, 0, "air.atomic.global.add.u.i32", "ipl"},
    {"atomic with a wide result", call, 3001, DECODE, 0, 0, "air.atomic.global.add.u.i32", "lpi"},
    {"exchange without expected", call, 3001, DECODE, 0, 0, "air.atomic.global.cmpxchg.weak.i32", "ip"},
    {"exchange at a number", call, 3001, DECODE, 0, 0, "air.atomic.global.cmpxchg.weak.i32", "ipii"},
    {"atomic without a name", call, 3001, DECODE, 0, 0, "air.atomic", "ipi"},
    {"load from a number", call, 3001, DECODE, 0, 0, "air.load.i32", "ii"},
    {"store to nowhere", call, 3001, DECODE, 0, 0, "air.store.i32", "vi"},
    {"copy of nothing", call, 3001, DECODE, 0, 0, "llvm.memcpy.p1i8.p1i8.i64", "v"},
    {"copy between numbers", call, 3001, DECODE, 0, 0, "llvm.memcpy.p1i8.p1i8.i64", "viii"},
    {"defined of nothing", call, 3001, DECODE, 0, 0, "air.is_function_constant_defined", "b"},
    {"defined as a number", call, 3001, DECODE, 0, 0, "air.is_function_constant_defined", "i"},
    {"barrier with a result", call, 3001, DECODE, 0, 0, "air.wg.barrier", "i"},
    {"a name that is a path", call, 3001, DECODE, 0, 0, "air.../../../etc/passwd", "i"},
};

/* ---- Pointers from numbers -------------------------------------------------------------------------------- */
static void touch(kit *k, air_value *p, u64 store) {
    if (store)
        kit_store(k, p, I32(0x41414141));
    else
        kit_store(k, kit_at(k, 0, I32(0)), kit_load(k, p));
}
static air_value *forged(kit *k, u64 address, u32 space) {
    air_value *bits = air_const_cast(k->m, AIR_INTTOPTR, I64(address), air_type_ptr(k->m, k->i32, space));
    return bits;
}
static void forge(kit *k, const row *r) { touch(k, forged(k, r->n, 1), r->m); }
static void forge_thread(kit *k, const row *r) { touch(k, forged(k, r->n, 0), r->m); }
/* The same through memory: the pointer is written to a buffer as a number and read back as a pointer. */
static void forge_stored(kit *k, const row *r) {
    air_value *at = kit_cast(k, AIR_BITCAST, k->buffer[0], air_type_ptr(k->m, k->i64, 1));
    kit_store(k, at, I64(r->n));
    air_value *there = kit_cast(k, AIR_BITCAST, at, air_type_ptr(k->m, air_type_ptr(k->m, k->i32, 1), 1));
    touch(k, kit_load(k, there), r->m);
}
/* Each lane its own pointer: lane * n. */
static void forge_lanes(kit *k, const row *r) {
    air_value *bits = kit_bin(k, AIR_MUL, kit_cast(k, AIR_ZEXT, k->lane, k->i64), I64(r->n));
    touch(k, kit_cast(k, AIR_INTTOPTR, bits, air_type_ptr(k->m, k->i32, 1)), r->m);
}
/* The same with words of 64 bits, and with two of 32 bits at once. */
static void forge_wide(kit *k, const row *r) {
    air_type *t = r->m ? k->i64 : air_type_vector(k->m, k->i32, 2);
    air_value *bits = kit_bin(k, AIR_MUL, kit_cast(k, AIR_ZEXT, k->lane, k->i64), I64(r->n));
    air_value *p = kit_cast(k, AIR_INTTOPTR, bits, air_type_ptr(k->m, t, 1));
    kit_store(k, p, kit_load(k, p));
}
#define ARG_A VGPU_PTR(SEG_ARG0, 0)
#define ARG_B VGPU_PTR(SEG_ARG0 + 1, 0)
static const row pointers[] = {
    {"null", forge, 3102, 0, 0, 0, 0, 0},
    {"a small number", forge, 3102, 0, 4096, 1, 0, 0},
    {"a host address", forge, 3102, 0, 0x7FFF12345678, 1, 0, 0},
    {"a segment that is not there", forge, 3102, 0, VGPU_PTR(99, 0), 1, 0, 0},
    {"the last segment there can be", forge, 3102, 0, VGPU_PTR(0xFFFF, 0), 0, 0, 0},
    {"all ones", forge, 3102, 0, ~0ull, 1, 0, 0},
    {"threadgroup memory that is none", forge, 3105, 0, VGPU_PTR(SEG_THREADGROUP, 0), 1, 0, 0},
    {"threadgroup memory far away", forge, 3105, 0, VGPU_PTR(SEG_THREADGROUP, 1u << 30), 0, 0, 0},
    {"thread memory as device memory", forge, 3105, 0, VGPU_PTR(SEG_THREAD, 1024), 1, 0, 0},
    {"constant memory", forge, 3104, ALWAYS, VGPU_PTR(SEG_CONST, 0), 1, 0, 0},
    {"in front of a", forge, 3101, 0, ARG_A - 4, 1, 0, 0},
    {"behind a", forge, 3101, 0, ARG_A + SIZE_A, 1, 0, 0},
    {"the last bytes of a", forge, 3101, 0, ARG_A + SIZE_A - 3, 0, 0, 0},
    {"half inside of b", forge, 3101, 0, ARG_B + 4, 1, 0, 0},
    {"half in front of b", forge, 3101, 0, ARG_B - 2, 1, 0, 0},
    {"the end of the segment", forge, 3101, 0, ARG_A + (1ull << 46) - 4, 1, 0, 0},
    {"the start of the segment", forge, 3101, 0, ARG_A - (1ull << 46), 1, 0, 0},
    {"inside, by its number", forge, 0, 0, ARG_A + 8, 1, 0, 0},
    {"thread memory of a device pointer", forge_thread, 3101, 0, ARG_A, 1, 0, 0},
    {"thread memory that is none", forge_thread, 3105, 0, VGPU_PTR(SEG_THREAD, 1 << 20), 1, 0, 0},
    {"null, from memory", forge_stored, 3102, 0, 0, 1, 0, 0},
    {"a host address, from memory", forge_stored, 3102, 0, 0x7FFF12345678, 0, 0, 0},
    {"behind a, from memory", forge_stored, 3101, 0, ARG_A + SIZE_A, 1, 0, 0},
    {"inside, from memory", forge_stored, 0, 0, ARG_A + 16, 1, 0, 0},
    {"each lane in another segment", forge_lanes, 3102, 0, 1ull << 48, 1, 0, 0},
    {"each lane in another segment, 64 bits", forge_wide, 3102, 0, 0xFFFFull << 48, 1, 0, 0},
    {"each lane in another segment, pairs", forge_wide, 3102, 0, 0x7FFFull << 48, 0, 0, 0},
    {"each lane a page further", forge_lanes, 3102, 0, 4096, 0, 0, 0},
};

/* ---- Indices, lengths, strides ------------------------------------------------------------------------------ */
static void index_a(kit *k, const row *r) {
    air_value *at = kit_bin(k, AIR_MUL, kit_cast(k, AIR_ZEXT, k->lane, k->i64), I64(r->n));
    air_inst *p = kit_add(k, AIR_GEP, k->buffer[0]->type, 2, (air_value *[]){k->buffer[0], at});
    p->aux = k->i32;
    touch(k, &p->v, r->m);
}
static air_value *stack(kit *k, air_type *t, u64 count) {
    air_value *n = I64(count);
    air_inst *i = kit_add(k, AIR_ALLOCA, air_type_ptr(k->m, t, 0), 1, &n);
    i->aux = t;
    return &i->v;
}
static void index_stack(kit *k, const row *r) {
    air_value *room = stack(k, k->i32, 4), *n = kit_cast(k, AIR_ZEXT, k->lane, k->i64);
    n = kit_bin(k, AIR_ADD, kit_bin(k, AIR_MUL, n, I64(r->m)), I64(r->n));
    air_inst *p = kit_add(k, AIR_GEP, room->type, 2, (air_value *[]){room, n});
    p->aux = k->i32;
    kit_store(k, &p->v, I32(7));
    kit_store(k, kit_at(k, 0, k->lane), kit_load(k, &p->v));
}
static void allocate(kit *k, const row *r) {
    air_type *t = r->m > 1 ? air_type_array(k->m, k->i8, r->m) : k->i32;
    kit_store(k, kit_cast(k, AIR_BITCAST, stack(k, t, r->n), air_type_ptr(k->m, k->i32, 0)), I32(1));
}
static void copy(kit *k, const row *r) {
    air_type *bytes = air_type_ptr(k->m, k->i8, 1);
    air_value *a = kit_cast(k, AIR_BITCAST, k->buffer[0], bytes), *b = kit_cast(k, AIR_BITCAST, k->buffer[1], bytes);
    air_value *args[] = {r->m ? a : b, r->m ? b : a, I64(r->n), kit_int(k, k->i1, 0)};
    kit_call(k, "llvm.memcpy.p1i8.p1i8.i64", k->none, 4, args);
}
static air_value *pair(kit *k, u64 x, u64 y) {
    return air_const_aggregate(k->m, air_type_vector(k->m, k->i64, 2), 2, (air_value *[]){I64(x), I64(y)});
}
/* n, m: strides of a row and a column, as the newer form of the call has them. */
static void matrix(kit *k, const row *r) {
    air_type *t = air_type_vector(k->m, k->f32, 64);
    air_value *p = kit_cast(k, AIR_BITCAST, k->buffer[0], air_type_ptr(k->m, k->f32, 1));
    air_value *args[] = {p, pair(k, 8, 8), pair(k, r->n, r->m), pair(k, 0, 0)};
    air_value *x = kit_call(k, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", t, 4, args);
    air_value *more[] = {x, p, pair(k, 8, 8), pair(k, r->n, r->m), pair(k, 0, 0)};
    kit_call(k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k->none, 5, more);
}
static void shuffle(kit *k, const row *r) {
    air_value *lane = kit_bin(k, AIR_MUL, k->lane, I32(r->n)), *at = kit_bin(k, AIR_AND, k->lane, I32(15));
    kit_store(k, kit_at(k, 0, at), kit_call(k, r->what, k->i32, 2, (air_value *[]){k->lane, lane}));
}
/* An atomic at n bytes into b; m of them are inside. */
static void atomic(kit *k, const row *r) {
    air_value *p = kit_cast(k, AIR_BITCAST, k->buffer[1], air_type_ptr(k->m, k->i8, 1)), *n = I64(r->n);
    air_inst *at = kit_add(k, AIR_GEP, p->type, 2, (air_value *[]){p, n});
    at->aux = k->i8;
    bool wide = strstr(r->what, "i64") != NULL;
    air_type *t = wide ? k->i64 : k->i32;
    air_value *args[] = {kit_cast(k, AIR_BITCAST, &at->v, air_type_ptr(k->m, t, 1)), kit_int(k, t, 0x4242424242424242),
                         I32(0), I32(2), kit_int(k, k->i1, 1)};
    kit_call(k, r->what, wide ? k->none : t, 5, args);
}
/* Sixteen words of 64 bits for each lane at lane * n bytes, while bytes are watched one by one. */
static void wide_lanes(kit *k, const row *r) {
    air_type *t = air_type_array(k->m, k->i64, 16), *bytes = air_type_ptr(k->m, k->i8, 1);
    air_value *p = kit_cast(k, AIR_BITCAST, k->buffer[0], bytes);
    kit_store(k, p, kit_int(k, k->i8, 1));
    air_value *n = kit_bin(k, AIR_MUL, kit_cast(k, AIR_ZEXT, kit_bin(k, AIR_XOR, k->lane, I32(5)), k->i64), I64(r->n));
    air_inst *at = kit_add(k, AIR_GEP, bytes, 2, (air_value *[]){p, n});
    at->aux = k->i8;
    p = kit_cast(k, AIR_BITCAST, &at->v, air_type_ptr(k->m, t, 1));
    kit_store(k, p, kit_load(k, p));
}
static const row places[] = {
    {"index that wraps to the front", index_a, 3101, 0, ~0ull, 1, 0, 0},
    {"index that wraps around", index_a, 0, 0, 1ull << 62, 1, 0, 0},
    {"index that wraps halfway", index_a, 3102, 0, 1ull << 61, 1, 0, 0},
    {"index by half a segment", index_a, 3101, 0, 1ull << 44, 0, 0, 0},
    {"index that is far", index_a, 3101, 0, 1u << 20, 0, 0, 0},
    {"stack behind its end", index_stack, 3105, 0, 1000000, 0, 0, 0},
    {"stack before its start", index_stack, 3105, 0, (u64)-1000000, 0, 0, 0},
    {"stack, other lanes elsewhere", index_stack, 3105, 0, 0, 100000, 0, 0},
    {"stack, wrapping", index_stack, 3102, 0, 1ull << 61, 1ull << 61, 0, 0},
    {"stack of 4 GB", allocate, 3001, DECODE, 1u << 30, 1, 0, 0},
    {"stack whose size wraps to 0", allocate, 3001, DECODE, 1ull << 62, 1, 0, 0},
    {"stack whose type's size wraps to 0", allocate, 3001, DECODE, 16, 1ull << 60, 0, 0},
    {"stack of all memory", allocate, 3001, DECODE, ~0ull, ~0ull, 0, 0},
    {"copy too much from a", copy, 3101, 0, 65536, 0, 0, 0},
    {"copy too much to a", copy, 3101, 0, SIZE_A + 1, 1, 0, 0},
    {"copy of 2^40 bytes", copy, 3101, ENDLESS, 1ull << 40, 0, 0, 0},
    {"matrix larger than a", matrix, 3101, 0, 1, 8, 0, 0},
    {"matrix whose corners wrap", matrix, 3101, 0, 658812288346769701, 0, 0, 0},
    {"matrix whose corners wrap twice", matrix, 3101, 0, 658812288346769701, -658812288346769701ull, 0, 0},
    {"matrix with the smallest stride", matrix, 3101, 0, 1ull << 63, 1ull << 63, 0, 0},
    {"matrix that wraps to its start", matrix, 3101, 0, 1ull << 62, 0, 0, 0},
    {"matrix in one place", matrix, 0, 0, 0, 0, 0, 0},
    {"shuffle from far lanes", shuffle, 0, 0, 0x01010101, 0, "air.simd_shuffle_down.u.i32", 0},
    {"shuffle from negative lanes", shuffle, 0, 0, 0xFFFFFFFF, 0, "air.simd_shuffle_xor.u.i32", 0},
    {"shuffle up from far lanes", shuffle, 0, 0, 0x80000000, 0, "air.simd_shuffle_up.u.i32", 0},
    {"atomic at the edge of b", atomic, 0, 0, 4, 2, "air.atomic.global.xchg.i32", 0},
    {"atomic behind b", atomic, 3101, 0, 8, 0, "air.atomic.global.xchg.i32", 0},
    {"atomic before b", atomic, 3101, 0, (u64)-4, 0, "air.atomic.global.xchg.i32", 0},
    {"misaligned atomic in b", atomic, 0, 0, 1, 4, "air.atomic.global.xchg.i32", 0},
    {"misaligned atomic over the edge", atomic, 3101, 0, 3, 0, "air.atomic.global.xchg.i32", 0},
    {"wide atomic in b", atomic, 3101, 0, 0, 0, "air.atomic.global.max.u.i64", 0},
    {"wide lanes over each other", wide_lanes, 3101, 0, 131, 0, 0, 0},
};

/* ---- Shapes that are too large, or lie ------------------------------------------------------------------------ */
static void load_type(kit *k, air_type *t) {
    kit_load(k, kit_cast(k, AIR_BITCAST, k->buffer[0], air_type_ptr(k->m, t, 1)));
}
static void big_value(kit *k, const row *r) { load_type(k, air_type_array(k->m, k->i32, r->n)); }
/* A structure of two structures of two ...: 2^n numbers, or parts that hold none. */
static void nested_value(kit *k, const row *r) {
    air_type *t = r->m ? air_type_struct(k->m, 0, NULL, false, "empty") : k->i32;
    for (u64 i = 0; i < r->n; i++)
        t = air_type_struct(k->m, 2, (air_type *[]){t, t}, false, "s");
    load_type(k, t);
}
static void matrix_inside(kit *k, const row *r) {
    load_type(k, air_type_struct(k->m, 2, (air_type *[]){air_type_vector(k->m, k->f32, 64), k->i32}, false, NULL));
}
static void compare_matrix(kit *k, const row *r) {
    air_value *x = air_const_null(k->m, air_type_vector(k->m, k->f32, 64));
    air_inst *i = kit_add(k, AIR_CMP, air_type_vector(k->m, k->i1, 64), 2, (air_value *[]){x, x});
    i->sub = 1;
}
static void narrow_matrix(kit *k, const row *r) {
    air_value *x = air_const_null(k->m, air_type_vector(k->m, k->i32, 64));
    kit_cast(k, AIR_TRUNC, x, air_type_vector(k->m, k->i8, 64));
}
static void odd_bitcast(kit *k, const row *r) {
    air_value *x = air_const_null(k->m, air_type_vector(k->m, air_type_int(k->m, 48), 4));
    kit_cast(k, AIR_BITCAST, x, air_type_vector(k->m, k->i64, 3));
}
static void recursive(kit *k, const row *r) {
    air_func *f = air_func_new(k->m, "f", air_type_func(k->m, k->none, 0, NULL, false));
    air_block *kernel = k->at;
    k->at = air_block_new(f);
    for (u64 i = 0; i < r->n; i++)
        kit_call(k, "f", k->none, 0, NULL);
    kit_ret(k);
    k->at = kernel;
    kit_call(k, "f", k->none, 0, NULL);
}
/* Twenty functions, each of which calls the next twice: a million calls. */
static void doubling(kit *k, const row *r) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "l", "m",
                                        "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y"};
    air_block *kernel = k->at;
    for (u32 i = 0; i < r->n; i++) {
        air_func *f = air_func_new(k->m, names[i], air_type_func(k->m, k->none, 0, NULL, false));
        k->at = air_block_new(f);
        for (u32 c = 0; c < 2 && i; c++)
            kit_call(k, names[i - 1], k->none, 0, NULL);
        kit_store(k, forged(k, ARG_A, 1), I32(i));
        kit_ret(k);
    }
    k->at = kernel;
    kit_call(k, names[r->n - 1], k->none, 0, NULL);
}
/* A function with n blocks that nothing reaches, and n calls of it. */
static void dead_weight(kit *k, const row *r) {
    air_func *f = air_func_new(k->m, "f", air_type_func(k->m, k->none, 0, NULL, false));
    air_block *kernel = k->at;
    for (u64 i = 0; i < r->n; i++) {
        k->at = air_block_new(f);
        kit_ret(k);
    }
    k->at = kernel;
    for (u64 i = 0; i < r->n; i++)
        kit_call(k, "f", k->none, 0, NULL);
}
static void many_blocks(kit *k, const row *r) {
    for (u64 i = 0; i < r->n; i++) {
        air_block *yes = air_block_new(k->f), *after = air_block_new(k->f);
        kit_cbr(k, kit_cmp(k, 32, k->lane, I32(i)), yes, after);
        k->at = yes;
        kit_br(k, after);
        k->at = after;
    }
}
/* A constant whose bits lie closer than its elements would: read back whole. */
static void bits_global(kit *k, const row *r) {
    air_value *e[64];
    air_type *t = air_type_vector(k->m, air_type_int(k->m, (u32)r->m), r->n);
    for (u32 i = 0; i < r->n; i++)
        e[i] = air_const_int(k->m, t->elem, i % 3);
    air_global *g = air_global_new(k->m, "g", t, 2);
    g->init = air_const_aggregate(k->m, t, (u32)r->n, e);
    g->constant = true;
    g->linkage = AIR_INTERNAL;
    kit_load(k, kit_cast(k, AIR_BITCAST, &g->v, air_type_ptr(k->m, k->i32, 2)));
}
static void phi_at_entry(kit *k, const row *r) { kit_add(k, AIR_PHI, k->i32, 0, NULL); }
static void huge_global(kit *k, const row *r) {
    air_global *g = air_global_new(k->m, "g", air_type_array(k->m, k->i8, r->n), (u32)r->m);
    air_value *p = kit_cast(k, AIR_BITCAST, &g->v, air_type_ptr(k->m, k->i32, (u32)r->m));
    touch(k, p, 0);
}
static const row shapes[] = {
    {"a value of 4097 numbers", big_value, 3001, DECODE, 4097, 0, 0, 0},
    {"a value of 2^63 numbers", big_value, 3001, DECODE, 1ull << 63, 0, 0, 0},
    {"a value of 2^64 - 1 numbers", big_value, 3001, DECODE, ~0ull, 0, 0, 0},
    {"a value of 2^100 numbers", nested_value, 3001, DECODE, 100, 0, 0, 0},
    {"a value of 2^100 times nothing", nested_value, 3001, DECODE, 100, 1, 0, 0},
    {"a matrix within a structure", matrix_inside, 3001, DECODE, 0, 0, 0, 0},
    {"matrices compared", compare_matrix, 3001, DECODE, 0, 0, 0, 0},
    {"a matrix cut to bytes", narrow_matrix, 3001, DECODE, 0, 0, 0, 0},
    {"elements that do not divide", odd_bitcast, 3001, DECODE, 0, 0, 0, 0},
    {"recursion", recursive, 3408, ALWAYS, 1, 0, 0, 0},
    {"recursion, twice at a time", recursive, 3408, ALWAYS, 2, 0, 0, 0},
    {"more calls than there is time for", doubling, 3001, DECODE, 24, 0, 0, 0},
    {"calls of a function that is mostly dead", dead_weight, 3001, DECODE, 3000, 0, 0, 0},
    {"too many blocks", many_blocks, 3001, DECODE, 9000, 0, 0, 0},
    {"bits in constant memory", bits_global, 0, 0, 64, 1, 0, 0},
    {"odd integers in constant memory", bits_global, 0, 0, 5, 24, 0, 0},
    {"a phi at the entry", phi_at_entry, 4010, DECODE, 0, 0, 0, 0},
    {"threadgroup memory of 2^40 bytes", huge_global, 3001, DECODE, 1ull << 40, 3, 0, 0},
    {"constant memory of 2^60 bytes", huge_global, 3001, DECODE, 1ull << 60, 2, 0, 0},
    {"constant memory of 2^64 bytes", huge_global, 3001, DECODE, ~0ull, 2, 0, 0},
};

/* ---- All of them --------------------------------------------------------------------------------------------- */
static void run_row(const row *r, const char *checks) {
    kit k;
    const char *bad;
    int bad_len;
    kit_begin(&k, 2, NULL, kit_i32);
    assert_true(vgpu_checks_parse(checks, &k.checks, &bad, &bad_len));
    r->build(&k, r);
    kit_ret(&k);
    u8 *a = calloc(1, SIZE_A), *b = calloc(1, SIZE_B);
    kit_bind(&k, 0, a, SIZE_A);
    kit_bind(&k, 1, b, SIZE_B);
    kit_run(&k, 1, 32);
    bool none = checks && strcmp(checks, "none") == 0;
    int code = 0, want = none && r->when == ENDLESS ? 3401 : none && !r->when ? 0 : r->code;
    for (const diag *d = k.ctx->first; d && !code; d = d->next) /* what other checks say is not meant here */
        code = diag_number(d->code) == want ? want : 0;
    if (code != want || (!want && (!checks || strcmp(checks, "all") != 0) && k.ctx->errors))
        fail_msg("%s, %s checks, on %s: %d expected: %s", r->name, checks ? checks : "usual", vgpu_isa(), want,
                 k.ctx->first ? k.ctx->first->message : "nothing found");
    free(a);
    free(b);
    kit_end(&k);
}
static void run_rows(const row *r, size_t n) {
    static const char *const checks[] = {NULL, "all", "none"};
    for (size_t i = 0; i < n; i++)
        for (u32 c = 0; c < COUNT_OF(checks); c++)
            run_row(&r[i], checks[c]);
}
static void all_calls(void) { run_rows(calls, COUNT_OF(calls)); }
static void all_pointers(void) { run_rows(pointers, COUNT_OF(pointers)); }
static void all_places(void) { run_rows(places, COUNT_OF(places)); }
static void all_shapes(void) { run_rows(shapes, COUNT_OF(shapes)); }
static void test_calls(void **state) { kit_each_isa(all_calls); }
static void test_pointers(void **state) { kit_each_isa(all_pointers); }
static void test_places(void **state) { kit_each_isa(all_places); }
static void test_shapes(void **state) { kit_each_isa(all_shapes); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_pointers),
                                       cmocka_unit_test(test_places), cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
