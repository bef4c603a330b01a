/* SPDX-License-Identifier: MIT */
/* AIR's instructions other than memory and calls, element by element. Integers narrower than their
 * class are kept zero-extended: results that may spill over are cut (norm), signed uses widen first
 * (sext_full). Half floats are kept as f32 and rounded after every operation. */
#include "vgpu/decode/build.h"
#include "vgpu/check/check.h"

u32 norm(vbuild *b, vtype t, u32 v) {
    if (t.cls == CLS_W && t.bits < 32)
        return v_op2(b, VOP_and_w, v, v_w(b, (1u << t.bits) - 1));
    if (t.cls == CLS_D && t.bits < 64)
        return v_op2(b, VOP_and_d, v, v_dw(b, (1ull << t.bits) - 1));
    return v;
}
u32 sext_full(vbuild *b, vtype t, u32 v) {
    if (t.cls == CLS_W && t.bits < 32) {
        u32 n = v_w(b, 32u - t.bits);
        return v_op2(b, VOP_ashr_w, v_op2(b, VOP_shl_w, v, n), n);
    }
    if (t.cls == CLS_D && t.bits < 64) {
        u32 n = v_dw(b, 64u - t.bits);
        return v_op2(b, VOP_ashr_d, v_op2(b, VOP_shl_d, v, n), n);
    }
    return v;
}
u32 round_fp(vbuild *b, vtype t, u32 v) {
    return t.fp == FP_HALF ? v_op1(b, VOP_r16, v) : t.fp == FP_BFLOAT ? v_op1(b, VOP_rbf, v) : v;
}

/* A check of operands that stand for themselves: constants that pass are not checked. */
void guard_operands(vbuild *b, u16 guard, vtype t, u32 n, const u32 *s, u32 flags) {
    bool wide = v_at(b, s[0])->cls == CLS_D;
    vinst *i = v_emit(b, wide ? VOP_guard_d : VOP_guard_w, 0, NULL, n, s);
    i->x = guard;
    i->imm = (i32)(t.bits | flags | (wide ? GUARD_DOUBLE : 0));
    i->effect = true;
}
static void guard_binop(vbuild *b, vtype t, u8 sub, u32 x, u32 y) {
    const vval *k = v_at(b, y);
    u32 s[2] = {x, y};
    bool is_signed = sub == AIR_SDIV || sub == AIR_SREM;
    if (sub >= AIR_SHL && sub <= AIR_ASHR && b->k->checks.shifts && !(k->constant && k->bits < t.bits))
        guard_operands(b, GUARD_SHIFT, t, 1, &s[1], 0);
    else if (sub >= AIR_UDIV && sub <= AIR_SREM && b->k->checks.divides &&
             !(k->constant && k->bits && (!is_signed || !v_is(b, y, t.bits == 64 ? ~0ull : (1ull << t.bits) - 1))))
        guard_operands(b, GUARD_DIVIDE, t, 2, s, is_signed ? GUARD_SIGNED : 0);
}
static u32 binop_float(vbuild *b, vtype t, u8 sub, u32 x, u32 y) {
    switch (sub) {
    case AIR_ADD: return round_fp(b, t, v_op2(b, VOP_fadd, x, y));
    case AIR_SUB: return round_fp(b, t, v_op2(b, VOP_fsub, x, y));
    case AIR_MUL: return round_fp(b, t, v_op2(b, VOP_fmul, x, y));
    case AIR_SDIV: case AIR_UDIV: return round_fp(b, t, v_op2(b, VOP_fdiv, x, y));
    case AIR_SREM: case AIR_UREM: return round_fp(b, t, v_op2(b, VOP_fmod, x, y));
    default: v_refuse(b, "a float operation"); return x;
    }
}
static u32 binop_int(vbuild *b, vtype t, u8 sub, u32 x, u32 y) {
    static const u16 wops[] = {VOP_add_w, VOP_sub_w, VOP_mul_w, VOP_udiv_w, VOP_sdiv_w,
                               VOP_urem_w, VOP_srem_w, VOP_shl_w, VOP_lshr_w, VOP_ashr_w,
                               VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 dops[] = {VOP_add_d, VOP_sub_d, VOP_mul_d, VOP_udiv_d, VOP_sdiv_d,
                               VOP_urem_d, VOP_srem_d, VOP_shl_d, VOP_lshr_d, VOP_ashr_d,
                               VOP_and_d, VOP_or_d, VOP_xor_d};
    if (sub > AIR_XOR) {
        v_refuse(b, "an integer operation");
        return x;
    }
    if (t.cls == CLS_M) {
        switch (sub) {
        case AIR_ADD: case AIR_SUB: case AIR_XOR: return v_op2(b, VOP_xor_m, x, y);
        case AIR_MUL: case AIR_AND: return v_op2(b, VOP_and_m, x, y);
        case AIR_OR: return v_op2(b, VOP_or_m, x, y);
        default: return x; /* shifts by 0, divisions by 1 */
        }
    }
    guard_binop(b, t, sub, x, y);
    if (sub == AIR_SDIV || sub == AIR_SREM) {
        x = sext_full(b, t, x);
        y = sext_full(b, t, y);
    } else if (sub == AIR_ASHR) {
        x = sext_full(b, t, x);
    }
    u32 r = v_op2(b, t.cls == CLS_D ? dops[sub] : wops[sub], x, y);
    bool exact = sub == AIR_UDIV || sub == AIR_UREM || sub == AIR_LSHR || sub >= AIR_AND;
    return exact ? r : norm(b, t, r);
}
static u32 compare_int(vbuild *b, vtype t, u32 pred, u32 x, u32 y) {
    if (t.cls == CLS_M) {
        u32 differ = v_op2(b, VOP_xor_m, x, y);
        switch (pred) {
        case 32: return v_not(b, differ);
        case 33: return differ;
        case 34: case 40: { /* ugt; slt, where true is -1 */
            return v_op2(b, VOP_and_m, x, v_not(b, y));
        }
        case 36: case 38: return v_op2(b, VOP_and_m, v_not(b, x), y);
        case 35: case 41: return v_op2(b, VOP_or_m, x, v_not(b, y));
        default: return v_op2(b, VOP_or_m, v_not(b, x), y);
        }
    }
    bool d = t.cls == CLS_D, is_signed = pred >= 38;
    if (is_signed) {
        x = sext_full(b, t, x);
        y = sext_full(b, t, y);
    }
    switch (pred) {
    case 32: return v_op2(b, d ? VOP_eq_d : VOP_eq_w, x, y);
    case 33: return v_op2(b, d ? VOP_ne_d : VOP_ne_w, x, y);
    case 34: return v_op2(b, d ? VOP_ult_d : VOP_ult_w, y, x);
    case 35: return v_op2(b, d ? VOP_ule_d : VOP_ule_w, y, x);
    case 36: return v_op2(b, d ? VOP_ult_d : VOP_ult_w, x, y);
    case 37: return v_op2(b, d ? VOP_ule_d : VOP_ule_w, x, y);
    case 38: return v_op2(b, d ? VOP_slt_d : VOP_slt_w, y, x);
    case 39: return v_op2(b, d ? VOP_sle_d : VOP_sle_w, y, x);
    case 40: return v_op2(b, d ? VOP_slt_d : VOP_slt_w, x, y);
    default: return v_op2(b, d ? VOP_sle_d : VOP_sle_w, x, y);
    }
}
static u32 compare_float(vbuild *b, u32 pred, u32 x, u32 y) {
    static const struct { u16 op; bool swap; } map_of[16] = {
        {0, 0},        {VOP_foeq, 0}, {VOP_folt, 1}, {VOP_fole, 1}, {VOP_folt, 0}, {VOP_fole, 0},
        {VOP_fone, 0}, {VOP_ford, 0}, {VOP_funo, 0}, {VOP_fueq, 0}, {VOP_fult, 1}, {VOP_fule, 1},
        {VOP_fult, 0}, {VOP_fule, 0}, {VOP_fune, 0}, {0, 0}};
    if (pred == 0 || pred >= 15)
        return v_const(b, CLS_M, pred ? ~0u : 0);
    return map_of[pred].swap ? v_op2(b, map_of[pred].op, y, x) : v_op2(b, map_of[pred].op, x, y);
}
static u32 select_comp(vbuild *b, u8 cls, u32 c, u32 x, u32 y) {
    if (cls == CLS_M) {
        if (v_is(b, y, 0))
            return v_op2(b, VOP_and_m, c, x);
        if (v_is(b, x, ~0u))
            return v_op2(b, VOP_or_m, c, y);
        return v_op3(b, VOP_sel_m, c, x, y);
    }
    return v_op3(b, cls == CLS_D ? VOP_sel_d : cls == CLS_X ? VOP_sel_x : VOP_sel_w, c, x, y);
}

/* Integer bits of one element as W or D, and back. */
static u32 to_bits(vbuild *b, vtype t, u32 v) {
    if (t.fp == FP_HALF)
        return v_op1(b, VOP_f2h, v);
    if (t.fp == FP_BFLOAT)
        return v_op2(b, VOP_lshr_w, v, v_w(b, 16));
    if (t.cls == CLS_M)
        return v_op3(b, VOP_sel_w, v, v_w(b, 1), v_w(b, 0));
    return v;
}
static u32 from_bits(vbuild *b, vtype t, u32 v) {
    if (t.fp == FP_HALF)
        return v_op1(b, VOP_h2f, v);
    if (t.fp == FP_BFLOAT)
        return v_op2(b, VOP_shl_w, v, v_w(b, 16));
    if (t.cls == CLS_M)
        return v_op2(b, VOP_ne_w, v_op2(b, VOP_and_w, v, v_w(b, 1)), v_w(b, 0));
    return v;
}
static u32 as_d(vbuild *b, vtype t, u32 v) { return t.cls == CLS_D ? v : v_op1(b, VOP_zext_d, v); }
/* Elements of one width to elements of another, least significant first. */
static u32 *bitcast(vbuild *b, const air_type *from, const air_type *to, u32 *v) {
    u32 n = type_comps(b, from), m = type_comps(b, to);
    if (n == 0 || m == 0)
        return v;
    vtype f = type_comp(b, from, 0), t = type_comp(b, to, 0);
    u32 *out = ARENA_ARRAY(b->a, u32, m + 1);
    if (f.cls == CLS_X || t.cls == CLS_X) {
        if (f.cls != t.cls)
            v_refuse(b, "a bitcast between a matrix and another type");
        return v;
    }
    if ((u32)f.bits * n != (u32)t.bits * m || (n % m && m % n)) {
        v_refuse(b, "a bitcast between types of different size");
        return v;
    }
    for (u32 i = 0; i < m; i++) {
        if (n == m) {
            bool same = f.fp == t.fp || (f.bits >= 32);
            out[i] = same ? v[i] : from_bits(b, t, to_bits(b, f, v[i]));
        } else if (n > m) { /* join k elements */
            u32 k = n / m, r = NO;
            for (u32 j = 0; j < k; j++) {
                u32 e = to_bits(b, f, v[i * k + j]);
                if (t.cls == CLS_D) {
                    e = v_op2(b, VOP_shl_d, as_d(b, f, e), v_dw(b, j * f.bits));
                    r = r == NO ? e : v_op2(b, VOP_or_d, r, e);
                } else {
                    e = v_op2(b, VOP_shl_w, e, v_w(b, j * f.bits));
                    r = r == NO ? e : v_op2(b, VOP_or_w, r, e);
                }
            }
            out[i] = from_bits(b, t, r);
        } else {
            u32 k = m / n, e = to_bits(b, f, v[i / k]), at = i % k * t.bits;
            if (f.cls == CLS_D)
                e = v_op1(b, VOP_trunc_w, v_op2(b, VOP_lshr_d, e, v_dw(b, at)));
            else
                e = v_op2(b, VOP_lshr_w, e, v_w(b, at));
            if (t.bits < 32)
                e = v_op2(b, VOP_and_w, e, v_w(b, (1u << t.bits) - 1));
            out[i] = from_bits(b, t, e);
        }
    }
    return out;
}
static u32 cast_comp(vbuild *b, u8 op, vtype f, vtype t, u32 v) {
    switch (op) {
    case AIR_TRUNC:
        if (t.cls == CLS_M) {
            if (f.cls == CLS_D)
                v = v_op1(b, VOP_trunc_w, v);
            return v_op2(b, VOP_ne_w, v_op2(b, VOP_and_w, v, v_w(b, 1)), v_w(b, 0));
        }
        if (f.cls == CLS_D && t.cls == CLS_W)
            v = v_op1(b, VOP_trunc_w, v);
        return norm(b, t, v);
    case AIR_ZEXT:
        if (f.cls == CLS_M)
            return t.cls == CLS_D ? v_op3(b, VOP_sel_d, v, v_dw(b, 1), v_dw(b, 0))
                                  : v_op3(b, VOP_sel_w, v, v_w(b, 1), v_w(b, 0));
        return f.cls != t.cls ? v_op1(b, VOP_zext_d, v) : v;
    case AIR_SEXT:
        if (f.cls == CLS_M)
            return norm(b, t, t.cls == CLS_D ? v_op3(b, VOP_sel_d, v, v_dw(b, ~0ull), v_dw(b, 0))
                                             : v_op3(b, VOP_sel_w, v, v_w(b, ~0u), v_w(b, 0)));
        v = sext_full(b, f, v);
        if (f.cls != t.cls)
            v = v_op1(b, VOP_sext_d, v);
        return norm(b, t, v);
    case AIR_FPTRUNC: return round_fp(b, t, v);
    case AIR_FPEXT: case AIR_ADDRSPACECAST: return v;
    case AIR_PTRTOINT: return t.cls == CLS_W ? norm(b, t, v_op1(b, VOP_trunc_w, v)) : v;
    case AIR_INTTOPTR: return f.cls == CLS_W ? v_op1(b, VOP_zext_d, v) : v;
    case AIR_FPTOUI: case AIR_FPTOSI: return convert_value(b, f, true, t, op == AIR_FPTOSI, v);
    case AIR_UITOFP: case AIR_SITOFP: return convert_value(b, f, op == AIR_SITOFP, t, true, v);
    default: v_refuse(b, "a cast"); return v;
    }
}
static u32 matrix_element(vbuild *b, u32 x, i32 k) {
    u32 r = v_op1(b, VOP_xget, x);
    v_at(b, r)->def->imm = k;
    return r;
}
/* Elements 0 and 1 of a matrix are each lane's own; an index that is not constant is one of them. */
static bool own_element(vbuild *b, u32 index) {
    if (!v_at(b, index)->constant || v_at(b, index)->bits <= 1)
        return true;
    v_refuse(b, "matrix elements other than 0 and 1");
    return false;
}
static u32 is_second(vbuild *b, u32 index) {
    u8 cls = v_at(b, index)->cls;
    return v_op2(b, cls == CLS_D ? VOP_eq_d : VOP_eq_w, index, v_const(b, cls, 1));
}
static u32 *decode_extract(vbuild *b, vinstance *in, air_inst *i) {
    u32 *v = value_of(b, in, i->ops[0]), *out = ARENA_ARRAY(b->a, u32, 1);
    const air_type *vt = i->ops[0]->type;
    u32 index = value1(b, in, i->ops[1]);
    bool matrix = type_is_matrix(vt);
    u64 k = v_at(b, index)->bits;
    if (matrix && !own_element(b, index))
        return v;
    if (matrix) {
        out[0] = select_comp(b, CLS_W, is_second(b, index), matrix_element(b, v[0], 1), matrix_element(b, v[0], 0));
        return out;
    }
    if (v_at(b, index)->constant) {
        out[0] = v[k < vt->count ? k : 0];
        return out;
    }
    u8 cls = v_at(b, v[0])->cls;
    u32 r = v[0], eq = v_at(b, index)->cls == CLS_D ? VOP_eq_d : VOP_eq_w;
    for (u32 e = 1; e < vt->count; e++)
        r = select_comp(b, cls, v_op2(b, (u16)eq, index, v_const(b, v_at(b, index)->cls, e)), v[e], r);
    out[0] = r;
    return out;
}
static u32 *decode_insert(vbuild *b, vinstance *in, air_inst *i) {
    u32 *v = value_of(b, in, i->ops[0]), e = value1(b, in, i->ops[1]);
    u32 index = value1(b, in, i->ops[2]);
    const air_type *vt = i->v.type;
    u32 n = type_comps(b, vt), *out = ARENA_ARRAY(b->a, u32, n);
    u64 k = v_at(b, index)->bits;
    if (type_is_matrix(vt) && !own_element(b, index))
        return v;
    if (type_is_matrix(vt)) {
        u32 second = is_second(b, index), old[2] = {matrix_element(b, v[0], 0), matrix_element(b, v[0], 1)};
        out[0] = v_op2(b, VOP_xmake, select_comp(b, CLS_W, second, old[0], e), select_comp(b, CLS_W, second, e, old[1]));
        return out;
    }
    u32 eq = v_at(b, index)->cls == CLS_D ? VOP_eq_d : VOP_eq_w;
    for (u32 j = 0; j < n; j++) {
        if (v_at(b, index)->constant)
            out[j] = j == k ? e : v[j];
        else
            out[j] = select_comp(b, v_at(b, v[j])->cls,
                                 v_op2(b, (u16)eq, index, v_const(b, v_at(b, index)->cls, j)), e, v[j]);
    }
    return out;
}
/* Entry k of a shuffle's mask; undefined entries take element 0. A mask of 64 has a matrix's type, so it
 * is read as a constant and never becomes a value. */
static u64 mask_entry(const air_value *mask, u32 k) {
    const air_const *c = (const air_const *)mask;
    if (c->kind == AIR_C_DATA) {
        u32 bits = 0;
        memcpy(&bits, c->data + (size_t)k * 4, 4);
        return bits;
    }
    const air_const *e = c->kind == AIR_C_AGGREGATE ? (const air_const *)c->elems[k] : c;
    return e->kind == AIR_C_INT ? e->wide : 0;
}
static u32 *decode_shuffle(vbuild *b, vinstance *in, air_inst *i) {
    u32 *v[2] = {value_of(b, in, i->ops[0]), value_of(b, in, i->ops[1])};
    u64 n_in = i->ops[0]->type->count, n = i->v.type->count;
    bool from = type_is_matrix(i->ops[0]->type), to = type_is_matrix(i->v.type);
    u32 *out = ARENA_ARRAY(b->a, u32, n + 1), use = to ? 2 : (u32)n;
    u32 *e = ARENA_ARRAY(b->a, u32, use + 1);
    if (!n_in || n < use || i->ops[2]->kind != AIR_V_CONST) {
        v_refuse(b, "a shuffle");
        return out;
    }
    u64 first = mask_entry(i->ops[2], 0);
    if (from && to && mask_entry(i->ops[2], 1) == first + 1 && first % n_in == 0) {
        out[0] = v[first >= n_in][0]; /* the elements this lane owns come from one operand */
        return out;
    }
    for (u32 j = 0; j < use; j++) {
        u64 k = mask_entry(i->ops[2], j);
        u32 *src = v[k >= n_in];
        k %= n_in;
        if (from && k > 1) {
            v_refuse(b, "matrix elements other than 0 and 1");
            return out;
        }
        e[j] = from ? matrix_element(b, src[0], (i32)k) : src[k];
    }
    if (to)
        out[0] = v_op2(b, VOP_xmake, e[0], e[1]);
    return to ? out : e;
}
/* First component and type of a member. */
static u32 member_of(vbuild *b, const air_type *t, u32 n, const u32 *indices, const air_type **member) {
    u32 at = 0;
    for (u32 i = 0; i < n; i++) {
        if (t->kind == AIR_STRUCT) {
            for (u32 f = 0; f < indices[i] && f < t->n_fields; f++)
                at += type_comps(b, t->fields[f]);
            t = t->fields[MIN(indices[i], t->n_fields - 1)];
        } else {
            at += indices[i] * type_comps(b, t->elem);
            t = t->elem;
        }
    }
    *member = t;
    return at;
}

void decode_inst(vbuild *b, vinstance *in, air_inst *i) {
    u32 n = type_comps(b, i->v.type), *out = n ? ARENA_ARRAY(b->a, u32, n) : NULL;
    u32 *x = NULL, *y = NULL;
    const air_type *member;
    if (i->op <= AIR_SELECT)
        x = value_of(b, in, i->ops[0]);
    if (i->op <= AIR_CMP && !(i->op == AIR_CAST && i->sub == AIR_BITCAST) && type_comps(b, i->ops[0]->type) != n) {
        v_refuse(b, "an operation on a matrix"); /* 64 results, or 64 operands */
        return;
    }
    switch ((enum air_op)i->op) {
    case AIR_BINOP:
        y = value_of(b, in, i->ops[1]);
        for (u32 c = 0; c < n; c++) {
            vtype t = type_comp(b, i->v.type, c);
            out[c] = t.fp ? binop_float(b, t, i->sub, x[c], y[c])
                          : binop_int(b, t, i->sub, x[c], y[c]);
        }
        break;
    case AIR_FNEG:
        for (u32 c = 0; c < n; c++)
            out[c] = v_at(b, x[c])->cls == CLS_X ? v_op1(b, VOP_xneg, x[c])
                                                 : v_op2(b, VOP_xor_w, x[c], v_w(b, 0x80000000u));
        break;
    case AIR_CAST:
        if (i->sub == AIR_BITCAST) {
            out = bitcast(b, i->ops[0]->type, i->v.type, x);
            break;
        }
        for (u32 c = 0; c < n; c++)
            out[c] = cast_comp(b, i->sub, type_comp(b, i->ops[0]->type, c),
                               type_comp(b, i->v.type, c), x[c]);
        break;
    case AIR_CMP:
        y = value_of(b, in, i->ops[1]);
        for (u32 c = 0; c < n; c++) {
            vtype t = type_comp(b, i->ops[0]->type, c);
            out[c] = i->sub < 32 ? compare_float(b, i->sub, x[c], y[c])
                                 : compare_int(b, t, i->sub, x[c], y[c]);
        }
        break;
    case AIR_SELECT: {
        u32 *p = value_of(b, in, i->ops[1]), *q = value_of(b, in, i->ops[2]);
        bool vector = i->ops[0]->type->kind == AIR_VECTOR;
        for (u32 c = 0; c < n; c++)
            out[c] = select_comp(b, type_comp(b, i->v.type, c).cls, x[vector ? c : 0], p[c], q[c]);
        break;
    }
    case AIR_EXTRACTELT: out = decode_extract(b, in, i); break;
    case AIR_INSERTELT: out = decode_insert(b, in, i); break;
    case AIR_SHUFFLE: out = decode_shuffle(b, in, i); break;
    case AIR_EXTRACTVAL:
        out = value_of(b, in, i->ops[0]) + member_of(b, i->ops[0]->type, i->n_indices, i->indices, &member);
        break;
    case AIR_INSERTVAL: {
        u32 at = member_of(b, i->v.type, i->n_indices, i->indices, &member);
        memcpy(out, value_of(b, in, i->ops[0]), n * sizeof *out);
        memcpy(out + at, value_of(b, in, i->ops[1]), type_comps(b, member) * sizeof *out);
        break;
    }
    case AIR_FREEZE: out = value_of(b, in, i->ops[0]); break;
    case AIR_GEP: decode_gep(b, in, i); return;
    case AIR_LOAD: decode_load(b, in, i); return;
    case AIR_STORE: decode_store(b, in, i); return;
    case AIR_ALLOCA: decode_alloca(b, in, i); return;
    case AIR_CALL: decode_call(b, in, i); return;
    default: v_refuse(b, "an instruction"); return;
    }
    value_set(b, in, i, out);
}
