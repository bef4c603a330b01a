/* SPDX-License-Identifier: MIT */
/* The decoder's own form of a kernel between AIR and bytecode: SSA values of one class each (vectors
 * and structs taken apart, calls inlined), blocks with phis, instructions that name a row of vops.def.
 * decode.c and the files it calls build it, shape.c finds what all lanes share and picks forms, products.c brings
 * matrix products together, slots.c assigns registers, encode.c writes the words. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "vgpu/code.h"

enum vcls { CLS_M, CLS_W, CLS_D, CLS_X };

typedef struct vinst {
    struct vinst *prev, *next;
    u16 op, x;
    u8 nd;
    bool dead, effect; /* effect: kept even when unused */
    u16 ns;
    u8 space, align; /* of a memory access: address space, log2 of the alignment promised */
    i32 imm;
    u32 site, block, pos;
    u32 *d, *s;        /* values; d then s in one array */
} vinst;

typedef struct vval {
    u8 cls;
    bool constant, divergent, scalar; /* scalar: lives in the scalar file as a shared value */
    bool param;
    u32 block, end_block;  /* where defined; NO when never */
    u64 bits;
    vinst *def;            /* NULL for constants, parameters and phis */
    i32 param_number;
    u32 uses;
    u32 start, end;        /* live interval */
    i32 slot, hint;
} vval;

typedef struct vedge { u32 pred, value; } vedge;
typedef struct vphi {
    u32 d;
    VEC(vedge) in;        /* one for each predecessor, in their order */
    const air_inst *air; /* resolved when the function is complete; NULL for return values */
    u32 comp;
} vphi;

enum vterm { TERM_NONE, TERM_BR, TERM_CBR, TERM_RET, TERM_RETM, TERM_TRAP };
typedef struct vblock {
    vinst *first, *last;
    VEC(vphi *) phis;
    VEC(u32) preds;
    u8 term;
    u32 cond, succ[2], site;
    const air_block *air;
    bool reached, in_region, is_meet;
    u32 order;            /* position in the final order, NO when unreachable */
    u32 ipdom;            /* block, NO for the exit */
    u32 region_end;       /* highest order of a region it lies in */
    u32 first_pos, last_pos, pc;
    u32 place;            /* of the copies it makes, among its successor's predecessors */
} vblock;
#define NO 0xFFFFFFFFu

typedef struct vbuild {
    tm_ctx *ctx;
    arena *a;             /* scratch: freed when the kernel is complete */
    air_module *m;
    vgpu_kernel *k;
    VEC(vval) vals;
    VEC(vblock *) blocks;
    u32 cur;              /* block being filled */
    map *consts[4];
    map *globals;         /* air_global -> address */
    map *shapes;          /* air_type -> vshape */
    VEC(u32) order;
    VEC(vsite) sites;
    u32 site;             /* of the AIR instruction being decoded */
    u32 align;            /* bytes, of the load or store being decoded; 0 natural */
    u64 budget;           /* work left: AIR instructions and their components, calls included */
    bool failed;
    const tm_constant_value *constants;
    u32 n_constants;
    const air_kernel *kernel;
    u32 lane;             /* the lane number, NO until asked for */
    u64 stack;            /* address of the top of the stack, 0 until asked for */
} vbuild;

u32 v_new(vbuild *b, u8 cls);
u32 v_const(vbuild *b, u8 cls, u64 bits);
static inline u32 v_w(vbuild *b, u32 x) { return v_const(b, CLS_W, x); }
static inline u32 v_dw(vbuild *b, u64 x) { return v_const(b, CLS_D, x); }
static inline vval *v_at(vbuild *b, u32 v) { return &b->vals.at[v]; }
static inline bool v_is(vbuild *b, u32 v, u64 bits) {
    return v_at(b, v)->constant && v_at(b, v)->bits == bits;
}
u32 v_block(vbuild *b, const air_block *from);
vinst *v_emit(vbuild *b, u16 op, u32 nd, const u32 *d, u32 ns, const u32 *s);
vinst *v_make(vbuild *b, u16 op, u32 nd, const u32 *d, u32 ns, const u32 *s); /* not placed */
void v_insert_before(vbuild *b, vinst *at, vinst *i, u32 block);
/* Pure operations; constants fold, identities vanish. The class of the result comes from the row. */
u32 v_op(vbuild *b, u16 op, u32 n, const u32 *s);
u32 v_op1(vbuild *b, u16 op, u32 a);
u32 v_op2(vbuild *b, u16 op, u32 x, u32 y);
static inline u32 v_add(vbuild *b, u32 x, u32 y) { return v_op2(b, VOP_add_d, x, y); }
static inline u32 v_mul(vbuild *b, u32 x, u32 y) { return v_op2(b, VOP_mul_d, x, y); }
u32 v_op3(vbuild *b, u16 op, u32 x, u32 y, u32 z);
u32 v_not(vbuild *b, u32 m);
void v_br(vbuild *b, u32 to);
void v_cbr(vbuild *b, u32 cond, u32 yes, u32 no);
void v_ret(vbuild *b);
/* 30xx */
void v_refuse(vbuild *b, const char *what);

/* -- value.c: AIR types and values */
typedef struct vtype { u8 cls; u8 bits; u8 fp; /* 0 int or pointer, 16 half, 17 bfloat, 32 float */ } vtype;
enum { FP_NONE = 0, FP_HALF = 16, FP_BFLOAT = 17, FP_FLOAT = 32 };
bool type_scalar(vbuild *b, const air_type *t, vtype *out); /* refuses what has no class */
bool type_is_matrix(const air_type *t);
typedef struct vpart { vtype t; u64 offset; } vpart; /* a number, a pointer or a matrix, and its place in memory */
typedef struct vshape { u32 n; vpart *at; } vshape;
const vshape *type_shape(vbuild *b, const air_type *t); /* refuses types of too many parts */
u32 type_comps(vbuild *b, const air_type *t);
vtype type_comp(vbuild *b, const air_type *t, u32 i);
bool comps_fit(vbuild *b, const air_type *t, const u32 *comps); /* refuses values of other classes than the type's */

typedef struct vinstance { /* one function being decoded: the kernel or an inlined call */
    struct vinstance *parent;
    const air_func *f;
    u32 **vals;           /* by air_value.id: components */
    u32 *block_of;        /* by air_block.id: first vblock */
    u32 *from_at;         /* by air_block.id: where a phi names it, to be checked */
    u32 exit;             /* continuation of an inlined call, NO in the kernel */
    vphi **returns;
    bool is_kernel;
} vinstance;
u32 *value_of(vbuild *b, vinstance *in, air_value *v);
u32 value1(vbuild *b, vinstance *in, air_value *v);
void value_set(vbuild *b, vinstance *in, air_inst *i, u32 *comps);
/* -- ops.c */
void decode_inst(vbuild *b, vinstance *in, air_inst *i);
u32 norm(vbuild *b, vtype t, u32 v);       /* cuts an integer to its width */
u32 sext_full(vbuild *b, vtype t, u32 v);  /* narrow integer to its class's width, signed */
u32 round_fp(vbuild *b, vtype t, u32 v);
void guard_operands(vbuild *b, u16 guard, vtype t, u32 n, const u32 *s, u32 flags);
/* -- mem.c */
void decode_load(vbuild *b, vinstance *in, air_inst *i);
void decode_store(vbuild *b, vinstance *in, air_inst *i);
void decode_alloca(vbuild *b, vinstance *in, air_inst *i);
void decode_gep(vbuild *b, vinstance *in, air_inst *i);
u32 *load_value(vbuild *b, const air_type *t, u32 ptr, u32 space);
void store_value(vbuild *b, const air_type *t, u32 ptr, u32 space, const u32 *comps);
u32 const_address(vbuild *b, air_value *v, u64 *address); /* 1 when v is a constant pointer */
const tm_constant_value *constant_given(const vbuild *b, const air_constant *c); /* NULL when it is not */
bool globals_place(vbuild *b);
void move_out(vbuild *b, u32 kind, u32 space, u32 ptr, u32 k, const u32 *out); /* memory to at most 4 values */
void move_in(vbuild *b, u32 kind, u32 space, u32 ptr, u32 k, const u32 *values);
u64 thread_place(vbuild *b, u64 size, u64 align); /* the address of new thread memory; 0 when there is not so much */
/* -- stack.c */
u32 stack_take(vbuild *b, u32 n, u64 size, u64 align); /* the address of n times size bytes */
u32 stack_top(vbuild *b);
void stack_set_top(vbuild *b, u32 top);
/* -- copy.c */
typedef struct vcopy {
    u32 to, to_space, from, from_space;
    bool fills, overlaps; /* fills: from is a byte */
} vcopy;
typedef struct vtile { u32 row, width, height; } vtile; /* elements; row: from one to the one below */
void copy_bytes(vbuild *b, const vcopy *c, u32 len);
void copy_tile(vbuild *b, const vcopy *c, const vtile *to, const vtile *from, u64 size); /* up to 16 bytes each */
/* -- call.c, call_math.c */
void decode_call(vbuild *b, vinstance *in, air_inst *i);
u32 convert_value(vbuild *b, vtype from, bool from_signed, vtype to, bool to_signed, u32 v);
/* -- decode.c */
bool decode_function(vbuild *b, vinstance *in);
bool decode_inline(vbuild *b, vinstance *in, air_inst *i, air_func *f);
bool spend(vbuild *b, u64 work); /* false: more than one kernel may ask for */
u32 number_function(air_func *f); /* ids of its values and blocks; how many values */
/* -- kernel.c */
u32 lane_id(vbuild *b);

bool shape_kernel(vbuild *b);
void gather_products(vbuild *b);
bool slots_kernel(vbuild *b);
bool encode_kernel(vbuild *b);
void order_blocks(vbuild *b);
