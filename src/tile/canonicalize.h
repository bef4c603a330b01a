/* SPDX-License-Identifier: MIT */
/* The rewriter behind pass_canonicalize: a work list of ops and the pool of constants. Each rule file
 * offers one function that looks at one op and returns true when it changed or replaced it. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "tile/edit.h"

typedef struct canon {
    ir_module *m;
    arena *a;
    VEC(ir_op *) list;
    map *constants;   /* value attribute -> ir_value*, all in the entry block */
    ir_block *home;   /* the entry block */
    ir_op *last_home; /* the last pooled constant; new ones follow it */
} canon;

bool canon_arith(canon *c, ir_op *op);   /* integers, compares, select, casts */
bool canon_float(canon *c, ir_op *op);
bool canon_shape(canon *c, ir_op *op);   /* splat, broadcast, reshape... and thread-level vectors */
bool canon_memory(canon *c, ir_op *op);  /* pointers, masks */
bool canon_control(canon *c, ir_op *op); /* scf */

/* Puts op (back) on the list. */
void canon_touch(canon *c, ir_op *op);
void canon_touch_uses(canon *c, ir_value *v);
/* Users of result i of op get v; op goes when nothing uses it. Always true. */
bool canon_replace(canon *c, ir_op *op, u32 i, ir_value *v);
bool canon_replace1(canon *c, ir_op *op, ir_value *v);
void canon_set(canon *c, ir_op *op, u32 i, ir_value *v); /* operand i becomes v */
void canon_kill(canon *c, ir_op *op);                    /* erases an unused op */
ir_value *canon_const(canon *c, const ir_type *t, i64 bits);
/* A new op before `at`, on the list. */
ir_op *canon_build(canon *c, ir_op *at, enum ir_code code, u32 n, ir_value *const *operands,
                   const ir_type *result);
ir_value *canon_unary(canon *c, ir_op *at, enum ir_code code, const ir_type *t, ir_value *x);
ir_value *canon_binary(canon *c, ir_op *at, enum ir_code code, ir_value *x, ir_value *y);

/* The defining op of v when it has this code, else NULL. */
static inline ir_op *def_of(const ir_value *v, enum ir_code code) {
    return v->op && v->op->code == code ? v->op : NULL;
}
static inline bool is_const(const ir_value *v, i64 *bits) { return ir_constant_bits(v, bits); }
static inline bool is_const_value(const ir_value *v, i64 bits) {
    i64 got;
    return ir_constant_bits(v, &got) && got == bits;
}
/* The scalar that fills v, as a value: of tt.splat, or of a splat constant. NULL else. */
ir_value *canon_splat_scalar(canon *c, ir_value *v);
