/* SPDX-License-Identifier: MIT */
/* Addresses, loads, stores, thread memory, globals. A pointer is 64 bits: segment and offset (code.h).
 * Every access is first written with one lane pointer; shape.c turns that into a shared base and a
 * lane offset where it can. Loads of the constant segment at a known place fold to their bytes: this
 * is how function constants reach the code. */
#include "vgpu/decode/build.h"

/* Thread memory begins with room for the negative indices that Apple's own kernels use in lanes past
 * the end of a row (they never read what they write there). */
enum { THREAD_SLACK = 1024, MOST_THREAD_BYTES = 1 << 18 };

/* ---- Globals -------------------------------------------------------------------------------------- */
static void put_bits(u8 *at, u64 first, u32 n, u64 value) {
    for (u64 i = 0; i < MIN(n, 64); i++)
        at[(first + i) / 8] |= (u8)((value >> i & 1) << ((first + i) % 8));
}
/* The bytes of a constant. Elements of a vector lie side by side, bits within bytes. */
static void image_of(vbuild *b, const air_const *c, u8 *at) {
    const air_type *t = c->v.type;
    u64 address;
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_INT: case AIR_C_FLOAT: memcpy(at, &c->wide, MIN(air_size(t), 8)); break;
    case AIR_C_DATA: memcpy(at, c->data, c->data_len); break;
    case AIR_C_AGGREGATE:
        if (t->kind == AIR_VECTOR && t->elem->kind == AIR_INT && (t->elem->bits < 8 || !is_pow2(t->elem->bits))) {
            for (u32 i = 0; i < c->n_elems; i++)
                put_bits(at, (u64)i * t->elem->bits, t->elem->bits, ((const air_const *)c->elems[i])->wide);
            break;
        }
        for (u32 i = 0; i < c->n_elems; i++) {
            u64 offset = t->kind == AIR_STRUCT ? air_field_offset(t, i) : i * air_size(t->elem);
            if (c->elems[i]->kind == AIR_V_CONST)
                image_of(b, (const air_const *)c->elems[i], at + offset);
            else if (const_address(b, c->elems[i], &address))
                memcpy(at + offset, &address, MIN(air_size(c->elems[i]->type), 8));
        }
        break;
    case AIR_C_CAST: case AIR_C_GEP:
        if (const_address(b, (air_value *)c, &address))
            memcpy(at, &address, MIN(air_size(t), 8));
        break;
    default: break; /* zeros */
    }
}
const tm_constant_value *constant_given(const vbuild *b, const air_constant *c) {
    for (u32 i = 0; i < b->n_constants; i++) {
        const tm_constant_value *v = &b->constants[i];
        if (v->name ? strcmp(v->name, c->name) == 0 : v->index == c->index)
            return v;
    }
    return NULL;
}
/* Addresses for all globals, then the bytes of the constant ones. */
bool globals_place(vbuild *b) {
    vgpu_kernel *k = b->k;
    u64 tg = 0, data = 0;
    for (u32 i = 0; i < b->m->globals.count; i++) {
        air_global *g = b->m->globals.at[i];
        if (g->space != 3 && g->space != 2 && g->space != 0)
            continue;
        if (g->v.name && strncmp(g->v.name, "llvm.", 5) == 0)
            continue;
        u64 align = g->align ? g->align : air_align(g->value_type), size = air_size(g->value_type);
        u64 *top = g->space == 3 ? &tg : &data;
        *top = align_up(*top, align ? align : 1);
        *map_put(b->globals, MAP_KEY(g)) =
            (void *)(uintptr_t)VGPU_PTR(g->space == 3 ? SEG_THREADGROUP : SEG_CONST, *top);
        *top += size;
        if (*top > 1u << 26) {
            v_refuse(b, "globals of more than 64 MB");
            return false;
        }
    }
    k->tg_bytes = (u32)align_up(tg, 16);
    if (k->const_data) /* left by the initialisers */
        return true;
    k->const_size = data;
    k->const_data = arena_zalloc(k->arena, data + 8);
    for (u32 i = 0; i < b->m->globals.count; i++) {
        air_global *g = b->m->globals.at[i];
        void **at = map_get(b->globals, MAP_KEY(g));
        u64 address = at ? (u64)(uintptr_t)*at : 0;
        if (at && address >> 48 == SEG_CONST && g->init && g->init->kind == AIR_V_CONST)
            image_of(b, (const air_const *)g->init, k->const_data + (address - VGPU_PTR(SEG_CONST, 0)));
    }
    air_kernel ak;
    if (air_kernel_read(b->m, &ak) != 0)
        return false;
    for (u32 i = 0; i < ak.n_constants; i++) {
        const tm_constant_value *v = constant_given(b, &ak.constants[i]);
        void **at = ak.constants[i].global ? map_get(b->globals, MAP_KEY(ak.constants[i].global)) : NULL;
        u64 address = at ? (u64)(uintptr_t)*at : 0;
        if (v && address >> 48 == SEG_CONST)
            memcpy(k->const_data + (address - VGPU_PTR(SEG_CONST, 0)), &v->bits,
                   MIN(air_size(ak.constants[i].global->value_type), 8));
    }
    return true;
}
static bool const_gep(vbuild *b, const air_const *c, u64 *address) {
    if (!c->n_elems || !const_address(b, c->elems[0], address))
        return false;
    const air_type *t = c->aux;
    for (u32 i = 1; i < c->n_elems; i++) {
        const air_const *k = (const air_const *)c->elems[i];
        if (k->v.kind != AIR_V_CONST || (k->kind != AIR_C_INT && k->kind != AIR_C_NULL))
            return false;
        u64 n = k->kind == AIR_C_NULL ? 0 : k->wide;
        if (k->v.type->kind == AIR_INT && k->v.type->bits < 64 && n >> (k->v.type->bits - 1) & 1)
            n |= ~0ull << k->v.type->bits;
        if (i == 1) {
            *address += n * air_size(t);
        } else if (t->kind == AIR_STRUCT) {
            if (n >= t->n_fields)
                return false;
            *address += air_field_offset(t, (u32)n);
            t = t->fields[n];
        } else {
            if (!t->elem)
                return false;
            t = t->elem;
            *address += n * air_size(t);
        }
    }
    return true;
}
u32 const_address(vbuild *b, air_value *v, u64 *address) {
    *address = 0;
    if (v->kind == AIR_V_GLOBAL) {
        void **at = map_get(b->globals, MAP_KEY(v));
        if (at)
            *address = (u64)(uintptr_t)*at;
        return at != NULL;
    }
    if (v->kind != AIR_V_CONST)
        return 0;
    const air_const *c = (const air_const *)v;
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_NULL: case AIR_C_UNDEF: case AIR_C_POISON: return 1;
    case AIR_C_CAST:
        return c->n_elems && (c->op == AIR_BITCAST || c->op == AIR_ADDRSPACECAST ||
                              c->op == AIR_PTRTOINT || c->op == AIR_INTTOPTR) &&
               const_address(b, c->elems[0], address);
    case AIR_C_GEP: return const_gep(b, c, address);
    case AIR_C_INT: *address = c->wide; return 1;
    default: return 0;
    }
}

/* ---- Addresses ------------------------------------------------------------------------------------ */
void decode_gep(vbuild *b, vinstance *in, air_inst *i) {
    u32 *out = ARENA_ARRAY(b->a, u32, 1), p = value1(b, in, i->ops[0]);
    const air_type *t = i->aux;
    u64 fixed = 0;
    if (i->v.type->kind == AIR_VECTOR)
        v_refuse(b, "vectors of pointers");
    for (u32 k = 1; k < i->n_ops && !b->failed; k++) {
        u32 n = value1(b, in, i->ops[k]);
        vtype nt = type_comp(b, i->ops[k]->type, 0);
        bool constant = v_at(b, n)->constant;
        u64 bits = v_at(b, n)->bits, step;
        if (constant && nt.bits < 64 && bits >> (nt.bits - 1) & 1)
            bits |= ~0ull << nt.bits;
        if (k > 1 && t->kind == AIR_STRUCT) {
            if (!constant || bits >= t->n_fields) {
                v_refuse(b, "a member that does not exist");
                break;
            }
            fixed += air_field_offset(t, (u32)bits);
            t = t->fields[bits];
            continue;
        }
        if (k > 1) {
            if (!t->elem) {
                v_refuse(b, "an index into something without elements");
                break;
            }
            t = t->elem;
        }
        step = air_size(t);
        if (constant) {
            fixed += bits * step;
            continue;
        }
        n = sext_full(b, nt, n);
        if (nt.cls == CLS_W)
            n = v_op1(b, VOP_sext_d, n);
        p = v_add(b, p, v_mul(b, n, v_dw(b, step)));
    }
    out[0] = v_add(b, p, v_dw(b, fixed));
    value_set(b, in, i, out);
}
/* The address of new thread memory; 0 when there is not so much. */
u64 thread_place(vbuild *b, u64 size, u64 align) {
    vgpu_kernel *k = b->k;
    u64 at = align_up(k->thread_bytes ? k->thread_bytes : THREAD_SLACK, MAX(align, 4));
    if (align > MOST_THREAD_BYTES || size > MOST_THREAD_BYTES || at + size > MOST_THREAD_BYTES) {
        v_refuse(b, "more than 256 KB of memory per thread");
        return 0;
    }
    k->thread_bytes = (u32)align_up(at + size, 8);
    return VGPU_PTR(SEG_THREAD, at);
}
void decode_alloca(vbuild *b, vinstance *in, air_inst *i) {
    u32 n = value1(b, in, i->ops[0]), *out = ARENA_ARRAY(b->a, u32, 1);
    u64 count = v_at(b, n)->bits, size = air_size(i->aux), align = MAX(i->align, air_align(i->aux));
    if (!v_at(b, n)->constant)
        out[0] = stack_take(b, n, size, align);
    else
        out[0] = v_dw(b, thread_place(b, size && count > MOST_THREAD_BYTES / size ? ~0ull : size * count, align));
    value_set(b, in, i, out);
}

/* ---- Loads and stores ----------------------------------------------------------------------------- */
static u32 kind_of(vbuild *b, vtype t) {
    if (t.fp == FP_HALF)
        return VMEM_F;
    if (t.fp == FP_BFLOAT)
        return VMEM_G;
    if (t.cls == CLS_M || t.bits == 8)
        return VMEM_B;
    if (t.bits == 16)
        return VMEM_H;
    if (t.bits == 32)
        return VMEM_W;
    if (t.bits == 64)
        return VMEM_D;
    v_refuse(b, "integers of an odd width in memory");
    return VMEM_B;
}
static u16 access_op(u32 kind, u32 space, bool store) {
    static const u16 ops[VMEM_COUNT][4] = {
#define ROW(k) {VOP_ld_##k##_p, VOP_st_##k##_p, VOP_ldl_##k##_p, VOP_stl_##k##_p}
        ROW(b), ROW(h), ROW(f), ROW(g), ROW(w), ROW(d),
#undef ROW
    };
    return ops[kind][(space == 0 ? 2 : 0) + (store ? 1 : 0)];
}
static u64 kind_bytes(u32 kind) { return kind == VMEM_D ? 8 : kind == VMEM_W ? 4 : kind == VMEM_B ? 1 : 2; }

/* Numbers of a type with their place in memory. Of a matrix each lane holds the first two. */
static const vshape *memory_shape(vbuild *b, const air_type *t) {
    const vshape *s = type_shape(b, t);
    for (u32 i = 0; i < s->n && !type_is_matrix(t); i++)
        if (s->at[i].t.cls == CLS_X)
            v_refuse(b, "a matrix within another value in memory");
    if (!type_is_matrix(t))
        return s;
    vshape *two = ARENA_NEW(b->a, vshape);
    vtype e = s->at[0].t;
    e.cls = CLS_W;
    e.bits = e.fp == FP_FLOAT ? 32 : 16;
    *two = (vshape){2, ARENA_ARRAY(b->a, vpart, 2)};
    two->at[0] = (vpart){e, 0};
    two->at[1] = (vpart){e, e.bits / 8u};
    return two;
}
static bool known_constant(vbuild *b, u32 ptr, u64 offset, u64 size, u64 *bits) {
    vval *p = v_at(b, ptr);
    u64 a = p->bits + offset - VGPU_PTR(SEG_CONST, 0);
    if (!p->constant || (p->bits + offset) >> 48 != SEG_CONST || b->k->const_writable ||
        a > b->k->const_size || b->k->const_size - a < size)
        return false;
    *bits = 0;
    memcpy(bits, b->k->const_data + a, size);
    return true;
}
static u32 const_of_bits(vbuild *b, vtype t, u64 bits) {
    u32 w = v_const(b, t.cls == CLS_D ? CLS_D : CLS_W, bits);
    if (t.fp == FP_HALF)
        return v_op1(b, VOP_h2f, w);
    if (t.fp == FP_BFLOAT)
        return v_op2(b, VOP_shl_w, w, v_w(b, 16));
    return t.cls == CLS_M ? v_const(b, CLS_M, bits & 1 ? ~0u : 0) : w;
}
/* How many of the pieces from p on are one run of elements that one instruction can move. */
static u32 run_length(vbuild *b, const vpart *p, u32 n) {
    u32 kind = kind_of(b, p[0].t), k = 1;
    u64 size = kind_bytes(kind);
    while (k < n && k < 16 && kind_of(b, p[k].t) == kind && p[k].offset == p[0].offset + k * size)
        k++;
    return k;
}
/* What the checks want to know of an access. */
static vinst *note_access(vbuild *b, vinst *i, u32 kind, u32 space) {
    u64 bytes = kind_bytes(kind);
    i->space = (u8)space;
    i->align = (u8)log2_u64(b->align ? b->align : bytes);
    if (space == 1 || space == 3)
        b->k->granule = MIN(b->k->granule, log2_u64(bytes));
    return i;
}
u32 *load_value(vbuild *b, const air_type *t, u32 ptr, u32 space) {
    const vshape *shape = memory_shape(b, t);
    const vpart *p = shape->at;
    u32 n = shape->n, *out = ARENA_ARRAY(b->a, u32, n + 2);
    for (u32 i = 0, k; i < n && !b->failed; i += k) {
        u64 bits;
        u32 kind = kind_of(b, p[i].t);
        k = run_length(b, p + i, n - i);
        if (known_constant(b, ptr, p[i].offset, kind_bytes(kind), &bits)) {
            out[i] = const_of_bits(b, p[i].t, bits);
            k = 1;
            continue;
        }
        u32 at = v_add(b, ptr, v_dw(b, p[i].offset));
        for (u32 j = 0; j < k; j++)
            out[i + j] = v_new(b, kind == VMEM_D ? CLS_D : CLS_W);
        note_access(b, v_emit(b, access_op(kind, space, false), k, out + i, 1, &at), kind, space);
        for (u32 j = 0; j < k; j++)
            if (p[i + j].t.cls == CLS_M)
                out[i + j] = v_op2(b, VOP_ne_w, out[i + j], v_w(b, 0));
    }
    if (type_is_matrix(t) && !b->failed)
        out[0] = v_op2(b, VOP_xmake, out[0], out[1]);
    return out;
}
void store_value(vbuild *b, const air_type *t, u32 ptr, u32 space, const u32 *comps) {
    const vshape *shape = memory_shape(b, t);
    const vpart *p = shape->at;
    u32 n = shape->n, own[2];
    if (type_is_matrix(t)) {
        for (i32 e = 0; e < 2; e++) {
            own[e] = v_op1(b, VOP_xget, comps[0]);
            v_at(b, own[e])->def->imm = e;
        }
        comps = own;
    }
    for (u32 i = 0, k; i < n && !b->failed; i += k) {
        u32 kind = kind_of(b, p[i].t), s[17];
        k = run_length(b, p + i, n - i);
        s[0] = v_add(b, ptr, v_dw(b, p[i].offset));
        for (u32 j = 0; j < k; j++)
            s[1 + j] = p[i + j].t.cls == CLS_M
                           ? v_op3(b, VOP_sel_w, comps[i + j], v_w(b, 1), v_w(b, 0)) : comps[i + j];
        note_access(b, v_emit(b, access_op(kind, space, true), 0, NULL, k + 1, s), kind, space)->effect = true;
    }
}
void decode_load(vbuild *b, vinstance *in, air_inst *i) {
    b->align = i->align;
    value_set(b, in, i, load_value(b, i->v.type, value1(b, in, i->ops[0]), i->ops[0]->type->space));
    b->align = 0;
}
void decode_store(vbuild *b, vinstance *in, air_inst *i) {
    b->align = i->align;
    store_value(b, i->ops[1]->type, value1(b, in, i->ops[0]), i->ops[0]->type->space,
                value_of(b, in, i->ops[1]));
    b->align = 0;
}

/* Moves of k units without a promise of alignment, between memory and values of 32 bits. */
void move_out(vbuild *b, u32 kind, u32 space, u32 ptr, u32 k, const u32 *out) {
    note_access(b, v_emit(b, access_op(kind, space, false), k, out, 1, &ptr), kind, space)->align = 0;
}
void move_in(vbuild *b, u32 kind, u32 space, u32 ptr, u32 k, const u32 *values) {
    u32 s[5] = {ptr};
    memcpy(s + 1, values, MIN(k, 4) * sizeof *s);
    vinst *i = note_access(b, v_emit(b, access_op(kind, space, true), 0, NULL, k + 1, s), kind, space);
    i->align = 0;
    i->effect = true;
}
