/* SPDX-License-Identifier: MIT */
/* AIR types and values in the decoder's form: a value is taken apart into numbers of one class each, a
 * constant becomes constants, globals and functions addresses. */
#include "vgpu/decode/build.h"

bool type_is_matrix(const air_type *t) {
    return t->kind == AIR_VECTOR && t->count == 64 &&
           (t->elem->kind == AIR_FLOAT || t->elem->kind == AIR_HALF || t->elem->kind == AIR_BFLOAT ||
            (t->elem->kind == AIR_INT && t->elem->bits == 32));
}
bool type_scalar(vbuild *b, const air_type *t, vtype *out) {
    *out = (vtype){CLS_W, 32, FP_NONE};
    switch ((enum air_type_kind)t->kind) {
    case AIR_INT:
        out->bits = (u8)MIN(t->bits, 64);
        out->cls = t->bits == 1 ? CLS_M : t->bits <= 32 ? CLS_W : CLS_D;
        if (t->bits <= 64)
            return true;
        v_refuse(b, "integers wider than 64 bits");
        return false;
    case AIR_HALF: *out = (vtype){CLS_W, 16, FP_HALF}; return true;
    case AIR_BFLOAT: *out = (vtype){CLS_W, 16, FP_BFLOAT}; return true;
    case AIR_FLOAT: *out = (vtype){CLS_W, 32, FP_FLOAT}; return true;
    case AIR_PTR: *out = (vtype){CLS_D, 64, FP_NONE}; return true;
    case AIR_VECTOR:
        if (type_is_matrix(t)) {
            *out = (vtype){CLS_X, 32,
                           t->elem->kind == AIR_HALF ? FP_HALF
                           : t->elem->kind == AIR_BFLOAT ? FP_BFLOAT : FP_FLOAT};
            return true;
        }
        break;
    case AIR_DOUBLE: v_refuse(b, "double"); return false;
    default: break;
    }
    v_refuse(b, "a value of this type");
    return false;
}

/* ---- Shapes ---------------------------------------------------------------------------------------
 * What a type is made of, found once per type. A file may declare types of any size: those that are used as
 * values are bounded here, which bounds every array of components. */
enum { MOST_PARTS = 4096, MOST_STEPS = 16384 };
typedef struct shaper {
    vbuild *b;
    VEC(vpart) parts;
    u32 steps;
} shaper;
static bool add_parts(shaper *s, const air_type *t, u64 at) {
    if (++s->steps > MOST_STEPS || s->parts.count > MOST_PARTS)
        return false;
    bool array = t->kind == AIR_VECTOR || t->kind == AIR_ARRAY;
    if ((!array && t->kind != AIR_STRUCT) || type_is_matrix(t)) {
        vpart p = {.offset = at};
        type_scalar(s->b, t, &p.t);
        VEC_PUSH(s->b->a, &s->parts, p);
        return true;
    }
    /* elements of a vector of odd integers lie closer than those of an array; nothing of them is in memory */
    for (u64 i = 0; array && i < t->count; i++)
        if (!add_parts(s, t->elem, at + i * air_size(t->elem)))
            return false;
    for (u32 f = 0; !array && f < t->n_fields; f++)
        if (!add_parts(s, t->fields[f], at + air_field_offset(t, f)))
            return false;
    return true;
}
const vshape *type_shape(vbuild *b, const air_type *t) {
    void **known = map_put(b->shapes, MAP_KEY(t));
    if (*known)
        return *known;
    vshape *shape = ARENA_NEW(b->a, vshape);
    shaper s = {.b = b};
    if (t->kind == AIR_VOID) {
        shape->n = 0;
    } else if (add_parts(&s, t, 0) && s.parts.count <= MOST_PARTS) {
        shape->n = s.parts.count;
        shape->at = s.parts.at;
    } else {
        v_refuse(b, "a value of more than 4096 numbers");
    }
    *map_put(b->shapes, MAP_KEY(t)) = shape;
    return shape;
}
u32 type_comps(vbuild *b, const air_type *t) { return type_shape(b, t)->n; }
vtype type_comp(vbuild *b, const air_type *t, u32 i) {
    const vshape *s = type_shape(b, t);
    return i < s->n ? s->at[i].t : (vtype){CLS_W, 32, FP_NONE};
}
bool comps_fit(vbuild *b, const air_type *t, const u32 *comps) {
    const vshape *s = type_shape(b, t);
    for (u32 i = 0; i < s->n && !b->failed; i++)
        if (comps[i] == NO || v_at(b, comps[i])->cls != s->at[i].t.cls)
            v_refuse(b, "a value that its type does not fit");
    return !b->failed;
}

/* ---- Constants ------------------------------------------------------------------------------------ */
static u64 float_as_f32(vbuild *b, vtype t, u64 bits) {
    if (t.fp == FP_BFLOAT)
        return (u32)bits << 16;
    if (t.fp != FP_HALF)
        return bits;
    u32 h = (u32)bits, sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, r;
    if (e == 31)
        return sign | 0x7F800000 | m << 13 | (m ? 0x400000 : 0);
    if (e)
        return sign | (e + 112) << 23 | m << 13;
    if (!m)
        return sign;
    float f = (float)m * 0x1p-24f;
    memcpy(&r, &f, 4);
    return sign | r;
}
static u32 scalar_const(vbuild *b, vtype t, u64 bits) {
    if (t.cls == CLS_M)
        return v_const(b, CLS_M, bits & 1 ? ~0u : 0);
    if (t.fp)
        bits = float_as_f32(b, t, bits);
    else if (t.bits < 64)
        bits &= (1ull << t.bits) - 1;
    return v_const(b, t.cls, bits);
}
static void zeros_of(vbuild *b, const air_type *t, u32 *out) {
    u32 n = type_comps(b, t);
    for (u32 i = 0; i < n; i++) {
        vtype c = type_comp(b, t, i);
        if (c.cls == CLS_X) {
            u32 zero = v_w(b, 0);
            out[i] = v_new(b, CLS_X);
            v_emit(b, VOP_xfill, 1, &out[i], 1, &zero);
        } else {
            out[i] = v_const(b, c.cls, 0);
        }
    }
}
static u32 const_comps(vbuild *b, const air_const *c, u32 *out) {
    const air_type *t = c->v.type;
    u32 n = type_comps(b, t);
    u64 address;
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_NULL: case AIR_C_UNDEF: case AIR_C_POISON: zeros_of(b, t, out); return n;
    case AIR_C_INT: case AIR_C_FLOAT: out[0] = scalar_const(b, type_comp(b, t, 0), c->wide); return 1;
    case AIR_C_AGGREGATE:
        if (type_is_matrix(t)) { /* elements 0 and 1 are each lane's own; the rest is not looked at */
            u32 own[2] = {0};
            const_comps(b, (const air_const *)c->elems[0], &own[0]);
            const_comps(b, (const air_const *)c->elems[1], &own[1]);
            out[0] = v_op2(b, VOP_xmake, own[0], own[1]);
            return 1;
        }
        n = 0;
        for (u32 i = 0; i < c->n_elems; i++) {
            air_value *e = c->elems[i];
            if (e->kind == AIR_V_CONST)
                n += const_comps(b, (const air_const *)e, out + n);
            else if (const_address(b, e, &address))
                out[n++] = v_dw(b, address);
            else
                v_refuse(b, "an address in a constant");
        }
        return n;
    case AIR_C_DATA: {
        u32 size = (u32)(c->data_len / (t->count ? t->count : 1)), own[2];
        bool matrix = type_is_matrix(t);
        u32 *to = matrix ? own : out, count = matrix ? 2 : n;
        for (u32 i = 0; i < count; i++) {
            u64 bits = 0;
            memcpy(&bits, c->data + (size_t)i * size, MIN(size, 8));
            to[i] = scalar_const(b, type_comp(b, matrix ? t->elem : t, i), bits);
        }
        if (matrix)
            out[0] = v_op2(b, VOP_xmake, own[0], own[1]);
        return n;
    }
    case AIR_C_CAST: case AIR_C_GEP:
        if ((t->kind == AIR_PTR || t->kind == AIR_INT) && const_address(b, (air_value *)c, &address)) {
            out[0] = scalar_const(b, type_comp(b, t, 0), address);
            return 1;
        }
        v_refuse(b, "a constant expression");
        zeros_of(b, t, out);
        return n;
    }
    return n;
}

/* ---- Values --------------------------------------------------------------------------------------- */
u32 *value_of(vbuild *b, vinstance *in, air_value *v) {
    u64 address;
    switch ((enum air_value_kind)v->kind) {
    case AIR_V_CONST: {
        u32 *out = ARENA_ARRAY(b->a, u32, type_comps(b, v->type) + 1);
        const_comps(b, (const air_const *)v, out);
        return out;
    }
    case AIR_V_GLOBAL: case AIR_V_FUNC: {
        u32 *out = ARENA_ARRAY(b->a, u32, 1);
        if (const_address(b, v, &address))
            out[0] = v_dw(b, address);
        else
            v_refuse(b, "the address of a function or foreign global");
        return out;
    }
    case AIR_V_ARG: case AIR_V_INST:
        if (in->vals[v->id])
            return in->vals[v->id];
        break;
    case AIR_V_MD: break;
    }
    /* Not defined on any path that remains: any value will do. */
    u32 *out = ARENA_ARRAY(b->a, u32, type_comps(b, v->type) + 1);
    zeros_of(b, v->type, out);
    return out;
}
u32 value1(vbuild *b, vinstance *in, air_value *v) { return value_of(b, in, v)[0]; }
void value_set(vbuild *b, vinstance *in, air_inst *i, u32 *comps) {
    if (comps_fit(b, i->v.type, comps))
        in->vals[i->v.id] = comps;
}
