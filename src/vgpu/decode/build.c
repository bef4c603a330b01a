/* SPDX-License-Identifier: MIT */
/* Building blocks of the decoder's form: values, constants, instructions. v_op folds integer
 * operations on constants, so that function constants decide branches while a kernel is decoded and
 * what they exclude is never built. */
#include "vgpu/decode/build.h"

const vop_info vops[VOP_COUNT] = {
#define OP1(n, sig, doc) {#n, sig, doc, 1, 0},
#define OV1 OP1
#define OP2(n, sig, doc) {#n, sig, doc, 2, 0}, {#n ".s", sig, doc, 2, 1},
#define OP4(n, sig, doc)                                                                           \
    {#n, sig, doc, 4, 0}, {#n ".sv", sig, doc, 4, 1}, {#n ".vs", sig, doc, 4, 2},                  \
        {#n ".ss", sig, doc, 4, 3},
#define OV4 OP4
#define OP8(n, sig, doc)                                                                           \
    {#n, sig, doc, 8, 0}, {#n ".svv", sig, doc, 8, 1}, {#n ".vsv", sig, doc, 8, 2},                \
        {#n ".ssv", sig, doc, 8, 3}, {#n ".vvs", sig, doc, 8, 4}, {#n ".svs", sig, doc, 8, 5},     \
        {#n ".vss", sig, doc, 8, 6}, {#n ".sss", sig, doc, 8, 7},
#include "vgpu/vops.def"
#undef OP1
#undef OV1
#undef OP2
#undef OP4
#undef OV4
#undef OP8
};

static u8 class_of(char c) {
    return c == 'M' ? CLS_M : c == 'D' ? CLS_D : c == 'X' ? CLS_X : CLS_W;
}
u32 v_new(vbuild *b, u8 cls) {
    vval v = {.cls = cls, .block = NO, .end_block = NO, .param_number = -1, .slot = -1, .hint = -1};
    VEC_PUSH(b->a, &b->vals, v);
    return b->vals.count - 1;
}
u32 v_const(vbuild *b, u8 cls, u64 bits) {
    if (cls == CLS_W || cls == CLS_M)
        bits = (u32)bits;
    void **at = map_put(b->consts[cls], bits);
    if (!*at) {
        u32 v = v_new(b, cls);
        v_at(b, v)->constant = true;
        v_at(b, v)->bits = bits;
        *at = (void *)(uintptr_t)(v + 1);
    }
    return (u32)(uintptr_t)*at - 1;
}
u32 v_block(vbuild *b, const air_block *from) {
    vblock *n = ARENA_NEW(b->a, vblock);
    n->air = from;
    n->succ[0] = n->succ[1] = n->order = n->ipdom = NO;
    VEC_PUSH(b->a, &b->blocks, n);
    return b->blocks.count - 1;
}
static u8 memory_class(u16 op) { return op >= VOP_ld_d_s && op <= VOP_stl_d_p ? CLS_D : CLS_W; }
/* Registers are found by class, so an operand of another class would be another register's bytes: names of
 * functions and metadata promise types that nothing else checks. S takes anything that has a shared form. */
static void check_operands(vbuild *b, u16 op, u32 ns, const u32 *s) {
    bool memory = op >= VOP_ld_b_s && op <= VOP_stl_d_p;
    const char *want = strchr(vops[op].sig, '=') + 1;
    for (u32 i = 0; i < ns && !b->failed; i++) {
        u8 cls = v_at(b, s[i])->cls;
        bool fits = memory           ? cls == (i ? memory_class(op) : CLS_D)
                    : *want == 'S'   ? cls == CLS_W || cls == CLS_D
                    : *want          ? cls == class_of(*want)
                                     : false;
        want += !memory && *want;
        if (!fits)
            v_refuse(b, arena_printf(b->a, "'%s' with operands of other types", vops[op].name));
    }
}
vinst *v_make(vbuild *b, u16 op, u32 nd, const u32 *d, u32 ns, const u32 *s) {
    vinst *i = ARENA_NEW(b->a, vinst);
    i->op = op;
    i->nd = (u8)nd;
    i->ns = (u16)ns;
    i->site = b->site;
    i->d = ARENA_ARRAY(b->a, u32, nd + ns + 1);
    i->s = i->d + nd;
    if (nd)
        memcpy(i->d, d, nd * sizeof(u32));
    if (ns)
        memcpy(i->s, s, ns * sizeof(u32));
    for (u32 j = 0; j < nd; j++)
        v_at(b, d[j])->def = i;
    return i;
}
vinst *v_emit(vbuild *b, u16 op, u32 nd, const u32 *d, u32 ns, const u32 *s) {
    vinst *i = v_make(b, op, nd, d, ns, s);
    vblock *k = b->blocks.at[b->cur];
    check_operands(b, op, ns, s);
    i->block = b->cur;
    i->prev = k->last;
    if (k->last)
        k->last->next = i;
    else
        k->first = i;
    k->last = i;
    for (u32 j = 0; j < nd; j++)
        v_at(b, d[j])->block = b->cur;
    return i;
}
void v_insert_before(vbuild *b, vinst *at, vinst *i, u32 block) {
    vblock *k = b->blocks.at[block];
    i->block = block;
    i->next = at;
    i->prev = at ? at->prev : k->last;
    if (i->prev)
        i->prev->next = i;
    else
        k->first = i;
    if (at)
        at->prev = i;
    else
        k->last = i;
    for (u32 j = 0; j < i->nd; j++)
        v_at(b, i->d[j])->block = block;
}

static bool fold_w(u16 op, u32 a, u32 c, u64 *r) {
    i32 p = (i32)a, q = (i32)c;
    switch (op) {
    case VOP_add_w: *r = a + c; return true;
    case VOP_sub_w: *r = a - c; return true;
    case VOP_mul_w: *r = a * c; return true;
    case VOP_and_w: *r = a & c; return true;
    case VOP_or_w: *r = a | c; return true;
    case VOP_xor_w: *r = a ^ c; return true;
    case VOP_shl_w: *r = c < 32 ? a << c : 0; return true;
    case VOP_lshr_w: *r = c < 32 ? a >> c : 0; return true;
    case VOP_ashr_w: *r = (u32)(p >> (c < 32 ? c : 31)); return true;
    case VOP_udiv_w: *r = c ? a / c : ~0u; return true;
    case VOP_urem_w: *r = c ? a % c : a; return true;
    case VOP_smin_w: *r = p < q ? a : c; return true;
    case VOP_smax_w: *r = p > q ? a : c; return true;
    case VOP_umin_w: *r = MIN(a, c); return true;
    case VOP_umax_w: *r = MAX(a, c); return true;
    case VOP_eq_w: *r = a == c ? ~0u : 0; return true;
    case VOP_ne_w: *r = a != c ? ~0u : 0; return true;
    case VOP_ult_w: *r = a < c ? ~0u : 0; return true;
    case VOP_ule_w: *r = a <= c ? ~0u : 0; return true;
    case VOP_slt_w: *r = p < q ? ~0u : 0; return true;
    case VOP_sle_w: *r = p <= q ? ~0u : 0; return true;
    case VOP_and_m: *r = a & c; return true;
    case VOP_or_m: *r = a | c; return true;
    case VOP_xor_m: *r = a ^ c; return true;
    default: return false;
    }
}
static bool fold_d(u16 op, u64 a, u64 c, u64 *r) {
    i64 p = (i64)a, q = (i64)c;
    switch (op) {
    case VOP_add_d: *r = a + c; return true;
    case VOP_sub_d: *r = a - c; return true;
    case VOP_mul_d: *r = a * c; return true;
    case VOP_and_d: *r = a & c; return true;
    case VOP_or_d: *r = a | c; return true;
    case VOP_xor_d: *r = a ^ c; return true;
    case VOP_shl_d: *r = c < 64 ? a << c : 0; return true;
    case VOP_lshr_d: *r = c < 64 ? a >> c : 0; return true;
    case VOP_ashr_d: *r = (u64)(p >> (c < 64 ? c : 63)); return true;
    case VOP_eq_d: *r = a == c ? ~0u : 0; return true;
    case VOP_ne_d: *r = a != c ? ~0u : 0; return true;
    case VOP_ult_d: *r = a < c ? ~0u : 0; return true;
    case VOP_ule_d: *r = a <= c ? ~0u : 0; return true;
    case VOP_slt_d: *r = p < q ? ~0u : 0; return true;
    case VOP_sle_d: *r = p <= q ? ~0u : 0; return true;
    default: return false;
    }
}
static bool fold_1(u16 op, u64 a, u64 *r) {
    switch (op) {
    case VOP_zext_d: *r = (u32)a; return true;
    case VOP_sext_d: *r = (u64)(i64)(i32)(u32)a; return true;
    case VOP_trunc_w: *r = (u32)a; return true;
    default: return false;
    }
}
/* A result that is shared has the class of the operand, and of a mask is 64 bits. */
static u8 result_class(u16 op) {
    const char *sig = vops[op].sig;
    return sig[0] != 'S' ? class_of(sig[0]) : sig[2] == 'W' ? CLS_W : CLS_D;
}
/* x op y = x or a constant, whatever x is. NO when nothing applies. */
static u32 identity_of(vbuild *b, u16 op, u32 x, u32 y) {
    if (!v_at(b, y)->constant)
        return NO;
    u64 k = v_at(b, y)->bits;
    switch (op) {
    case VOP_add_w: case VOP_sub_w: case VOP_or_w: case VOP_xor_w: case VOP_shl_w: case VOP_lshr_w:
    case VOP_ashr_w: case VOP_add_d: case VOP_sub_d: case VOP_or_d: case VOP_xor_d: case VOP_shl_d:
    case VOP_lshr_d: case VOP_ashr_d: case VOP_or_m: case VOP_xor_m:
        if (k == 0)
            return x;
        return op == VOP_or_m ? v_const(b, CLS_M, ~0u) : NO;
    case VOP_and_w: return k == 0 ? y : k == ~0u ? x : NO;
    case VOP_and_m: return k == 0 ? y : k == ~0u ? x : NO;
    case VOP_and_d: return k == 0 ? y : k == ~0ull ? x : NO;
    case VOP_mul_w:
        return k == 0 ? y : k == 1 ? x : is_pow2(k) ? v_op2(b, VOP_shl_w, x, v_w(b, log2_u64(k))) : NO;
    case VOP_mul_d:
        return k == 0 ? y : k == 1 ? x : is_pow2(k) ? v_op2(b, VOP_shl_d, x, v_dw(b, log2_u64(k))) : NO;
    case VOP_udiv_w:
        return k == 1 ? x : is_pow2(k) ? v_op2(b, VOP_lshr_w, x, v_w(b, log2_u64(k))) : NO;
    case VOP_udiv_d:
        return k == 1 ? x : is_pow2(k) ? v_op2(b, VOP_lshr_d, x, v_dw(b, log2_u64(k))) : NO;
    case VOP_urem_w: return is_pow2(k) ? v_op2(b, VOP_and_w, x, v_w(b, (u32)k - 1)) : NO;
    case VOP_urem_d: return is_pow2(k) ? v_op2(b, VOP_and_d, x, v_dw(b, k - 1)) : NO;
    default: return NO;
    }
}
static bool commutes(u16 op) {
    switch (op) {
    case VOP_add_w: case VOP_mul_w: case VOP_and_w: case VOP_or_w: case VOP_xor_w: case VOP_add_d:
    case VOP_mul_d: case VOP_and_d: case VOP_or_d: case VOP_xor_d: case VOP_and_m: case VOP_or_m:
    case VOP_xor_m: return true;
    default: return false;
    }
}
u32 v_op(vbuild *b, u16 op, u32 n, const u32 *s) {
    u64 r;
    u8 cls = result_class(op);
    check_operands(b, op, n, s);
    if (n == 1 && v_at(b, s[0])->constant && fold_1(op, v_at(b, s[0])->bits, &r))
        return v_const(b, cls, r);
    if (n == 2) {
        vval *x = v_at(b, s[0]), *y = v_at(b, s[1]);
        if (x->constant && y->constant) {
            bool ok = x->cls == CLS_D ? fold_d(op, x->bits, y->bits, &r)
                                      : fold_w(op, (u32)x->bits, (u32)y->bits, &r);
            if (ok)
                return v_const(b, cls, r);
        }
        u32 same = identity_of(b, op, s[0], s[1]);
        if (same == NO && commutes(op))
            same = identity_of(b, op, s[1], s[0]);
        if (same != NO)
            return same;
    }
    if (n == 3 && (op == VOP_sel_w || op == VOP_sel_d || op == VOP_sel_m || op == VOP_sel_x)) {
        if (s[1] == s[2])
            return s[1];
        if (v_at(b, s[0])->constant)
            return v_at(b, s[0])->bits ? s[1] : s[2];
    }
    u32 d = v_new(b, cls);
    v_emit(b, op, 1, &d, n, s);
    return d;
}
u32 v_op1(vbuild *b, u16 op, u32 a) { return v_op(b, op, 1, &a); }
u32 v_op2(vbuild *b, u16 op, u32 x, u32 y) {
    u32 s[2] = {x, y};
    return v_op(b, op, 2, s);
}
u32 v_op3(vbuild *b, u16 op, u32 x, u32 y, u32 z) {
    u32 s[3] = {x, y, z};
    return v_op(b, op, 3, s);
}
u32 v_not(vbuild *b, u32 m) { return v_op2(b, VOP_xor_m, m, v_const(b, CLS_M, ~0u)); }

static void add_edge(vbuild *b, u32 to) {
    vblock *t = b->blocks.at[to];
    VEC_PUSH(b->a, &t->preds, b->cur);
    t->reached = true;
}
void v_br(vbuild *b, u32 to) {
    vblock *k = b->blocks.at[b->cur];
    k->term = TERM_BR;
    k->succ[0] = to;
    add_edge(b, to);
}
void v_cbr(vbuild *b, u32 cond, u32 yes, u32 no) {
    vval *c = v_at(b, cond);
    if (c->cls != CLS_M)
        v_refuse(b, "a branch on what is no condition");
    if (yes == no || c->constant) {
        v_br(b, yes == no || c->bits ? yes : no);
        return;
    }
    vblock *k = b->blocks.at[b->cur];
    k->term = TERM_CBR;
    k->cond = cond;
    k->site = b->site;
    k->succ[0] = yes;
    k->succ[1] = no;
    add_edge(b, yes);
    add_edge(b, no);
}
void v_ret(vbuild *b) { b->blocks.at[b->cur]->term = TERM_RET; }

void v_refuse(vbuild *b, const char *what) {
    if (!b->failed)
        diag_at(b->ctx, b->sites.at[b->site].loc, TM3001, b->k->name, what);
    b->failed = true;
}
