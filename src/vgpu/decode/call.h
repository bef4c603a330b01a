/* SPDX-License-Identifier: MIT */
/* Calls of air.* and llvm.* functions, by families. A declared function has the type that the module gives
 * it, whatever its name says: arguments are only taken through call_at and call_type, which refuse what is
 * not there, and classes are checked where instructions are made. */
#pragma once
#include "vgpu/decode/build.h"

enum { CALL_ARGS = 12 };
typedef struct vcall { /* one call while it is decoded */
    vinstance *in;
    air_inst *i;
    const char *tail;     /* what follows the family name: ".s.i32" */
    u32 n;                /* components of the result */
    u32 *out, *a[CALL_ARGS]; /* components: of the result; of arguments, when call_at has been asked for them */
    vtype t;              /* of component c of the result; of the first one for `whole` */
    u32 c;
    bool is_signed;
} vcall;
/* One family: made element by element, or as a whole, or nothing at all. */
typedef struct family {
    const char *name;
    u16 op;
    u32 (*each)(vbuild *b, vcall *k, u16 op);
    void (*whole)(vbuild *b, vcall *k, u16 op);
} family;
extern const family math_families[], lane_families[], memory_families[]; /* each ends without a name */

/* Component c of argument n, and its type. */
u32 call_at(vbuild *b, vcall *k, u32 n, u32 c);
const air_type *call_type(vbuild *b, vcall *k, u32 n);
static inline u32 arg(vbuild *b, vcall *k, u32 n) { return call_at(b, k, n, k->c); }
static inline u32 signed_arg(vbuild *b, vcall *k, u32 n) {
    return k->is_signed ? sext_full(b, k->t, arg(b, k, n)) : arg(b, k, n);
}
static inline bool is_d(const vcall *k) { return k->t.cls == CLS_D; }
