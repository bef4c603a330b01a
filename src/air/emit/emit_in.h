/* SPDX-License-Identifier: MIT */
/* What the files of the emitter share: its state and the small builders they write code with.
 * emit.c makes the module around the kernel, flow.c turns regions into blocks, ops.c,
 * float.c, extern.c, mem.c and atomic.c write single operations.
 *
 * Values: an i1 is an AIR i1 in registers and an i8 in memory, vectors of i1 are vectors of i8, index
 * is i64, a pointer in memory is an i64. Where AIR has no bfloat (2.5), a bf16 is an i16 holding its
 * bits, and arithmetic goes through float (emit_wide, emit_narrow). */
#pragma once
#include "air/air.h"
#include "air/emit/emit.h"
#include "base/map.h"
#include "ir/pass.h"

/* What declarations and calls carry, as in Apple's modules (intrinsics.md, general rules). */
enum emit_effect {
    EMIT_PURE,         /* mathematics */
    EMIT_CONVERGENT,   /* barriers, simdgroup functions, matrix arithmetic */
    EMIT_MATRIX_LOAD,
    EMIT_MATRIX_STORE,
    EMIT_ATOMIC,       /* first argument is the pointer */
    EMIT_FENCE,
};

typedef struct emit_target {
    u32 macos, minor, lang_major, lang_minor;
    const char *triple;
} emit_target;

enum emit_system { EMIT_GROUP_ID, EMIT_GROUPS, EMIT_LANE, EMIT_WARP, EMIT_SYSTEMS };

typedef struct emit {
    pass_run *run;
    tm_ctx *ctx;
    ir_module *ir;
    ir_op *kernel;
    air_module *m;
    arena *a;                /* scratch */
    const emit_target *target;
    bool bfloat;             /* the AIR version has the type */
    air_func *func;
    air_block *entry, *block;
    air_inst *entry_end;     /* allocas go before it; NULL while the entry block is empty */
    air_value **values;      /* by ir_value mark */
    air_value *system[EMIT_SYSTEMS];
    bool wide_ids;           /* the grid parameters are <3 x i32> */
    bool releases;           /* the kernel has something for an atomic to release */
    bool convergent;         /* something convergent was emitted */
    air_value *shared;       /* the threadgroup memory, or NULL */
    u32 shared_words;
    const src_loc *loc;      /* given to new instructions */
    map *locs;               /* ir_loc* -> src_loc* */
    strmap *decls;           /* name -> emit_decl* */
    strmap *lists;           /* attribute list text -> number */
    map *indices;            /* air_value* -> the last sext of it */
    map *slots;              /* air_type* -> alloca in the entry block */
    const ir_op *op;         /* being emitted, for diagnostics */
    u32 depth;
    bool failed;
} emit;

/* ---- emit.c */
air_type *emit_type(emit *e, const ir_type *t);          /* in registers; NULL with a diagnostic */
air_type *emit_memory_type(emit *e, const ir_type *t);   /* in memory */
u32 emit_attrs(emit *e, const char *text);               /* attribute list number, see attr.c */
air_value *emit_refuse(emit *e, enum diag_code code, const char *what); /* NULL, once per op */
air_value *emit_get(emit *e, const ir_value *v);
static inline air_value *emit_operand(emit *e, const ir_op *op, u32 i) {
    return emit_get(e, ir_operand(op, i));
}

/* ---- build.c: one instruction each, appended to e->block */
air_value *emit_inst(emit *e, enum air_op op, u32 sub, air_type *t, u32 n, air_value *const *ops);
air_value *emit_bin(emit *e, enum air_binop sub, air_value *a, air_value *b);
air_value *emit_cmp(emit *e, u32 predicate, air_value *a, air_value *b);
air_value *emit_select(emit *e, air_value *c, air_value *a, air_value *b);
air_value *emit_cast(emit *e, enum air_cast cast, air_value *v, air_type *to); /* no-op when equal */
air_value *emit_extract(emit *e, air_value *vector, u32 index);
air_value *emit_insert(emit *e, air_value *vector, air_value *element, u32 index);
air_value *emit_gep(emit *e, air_value *pointer, air_value *index); /* in elements of the pointee */
air_value *emit_load(emit *e, air_value *pointer, u32 align, bool is_volatile);
void emit_store(emit *e, air_value *pointer, air_value *value, u32 align, bool is_volatile);
air_value *emit_phi(emit *e, air_block *b, air_type *t, u32 n, air_value *const *values,
                    air_block *const *from); /* put before the other instructions of b */
void emit_phi_set(emit *e, air_value *phi, u32 i, air_value *v, air_block *from);
void emit_br(emit *e, air_block *to);
void emit_cond_br(emit *e, air_value *c, air_block *yes, air_block *no);
air_value *emit_slot(emit *e, air_type *t); /* an alloca of the entry block, one per type */
air_value *emit_call(emit *e, const char *name, enum emit_effect effect, air_type *result, u32 n,
                     air_value *const *args);
/* Calls stem.suffix of the type: "air.fabs" on a half is air.fabs.f16. */
air_value *emit_math(emit *e, const char *stem, u32 n, air_value *const *args);
const char *emit_suffix(const air_type *t); /* "f32", "bf16", "i16", "v2i32" */

air_type *emit_f32(emit *e);
air_type *emit_int_type(emit *e, u32 bits);
air_value *emit_int(emit *e, u32 bits, u64 value);
air_value *emit_int_of(emit *e, air_type *t, u64 value);
air_value *emit_float(emit *e, double value);            /* a float constant */
bool emit_is_float(const air_type *t);

/* ---- float.c */
/* Any float value as float, and back; t is the IR type (f16, bf16, f32). */
air_value *emit_wide(emit *e, const ir_type *t, air_value *v);
air_value *emit_narrow(emit *e, const ir_type *t, air_value *v);
air_value *emit_erf(emit *e, air_value *x);
/* c[0] + c[1] * x + ..., in fused steps */
air_value *emit_horner(emit *e, const double *c, u32 n, air_value *x);
bool emit_float_op(emit *e, ir_op *op, air_value **out); /* false: not one of its ops */
air_value *emit_minmax(emit *e, const ir_type *t, bool max, bool nan_wins, air_value *a,
                       air_value *b);

/* ---- extern.c */
air_value *emit_extern(emit *e, ir_op *op);

/* ---- ops.c */
tm_status emit_op(emit *e, ir_op *op); /* anything without regions */
air_value *emit_mulhi(emit *e, air_value *a, air_value *b, bool is_signed);

/* ---- mem.c, atomic.c, simd.c */
bool emit_memory_op(emit *e, ir_op *op, air_value **out);
bool emit_simd_op(emit *e, ir_op *op, air_value **out);
air_value *emit_atomic_load(emit *e, air_value *pointer); /* i32 or float, relaxed */
bool emit_atomic_op(emit *e, ir_op *op, air_value **out);
air_value *emit_pointer_of(emit *e, air_value *address, air_type *pointer); /* from an i64 */
air_value *emit_to_memory(emit *e, const ir_type *t, air_value *v);   /* i1 to i8, pointer to i64 */
air_value *emit_from_memory(emit *e, const ir_type *t, air_value *v);

/* ---- flow.c */
tm_status emit_block(emit *e, ir_block *b); /* up to its terminator */
tm_status emit_flow(emit *e, ir_op *op);
