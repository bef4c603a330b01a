/* SPDX-License-Identifier: MIT */
/* A structure-aware mutator. A module is read, changed in one to six places and written by our own writer. A change
 * is blind but for types: an operand becomes another value of its type, an instruction another operation of its
 * shape, a new instruction takes whatever values stand before it. What breaks dominance or types the
 * verifier finds, and the change is tried again with other numbers from the same input: every input starts
 * as a module that verifies. Types, sizes and metadata are changed in place; reading recomputes what follows from them. */
#include "mutate.h"
#include "air/pools.h"
#include <stdlib.h>

enum { MOST_VALUES = 400, TRIES = 6 };

typedef struct mutator {
    air_module *m;
    u32 state;
    air_func *f;                   /* a function with a body, and an instruction of it */
    air_inst *at;
    air_value *values[MOST_VALUES]; /* what `at` may use, and constants */
    u32 n_values;
} mutator;

static u32 any(mutator *mu, u32 n) {
    mu->state ^= mu->state << 13;
    mu->state ^= mu->state >> 17;
    mu->state ^= mu->state << 5;
    return n ? (mu->state >> 3) % n : 0;
}
static u64 any_number(mutator *mu) {
    static const u64 special[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 1023, 1024, 4095, 4096,
                                  0x7FFF, 0x8000, 0xFFFF, 0x10000, 1u << 20, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1ull << 32,
                                  1ull << 46, (1ull << 46) + (1ull << 48), (1ull << 46) + (4ull << 48), (1ull << 46) + (5ull << 48),
                                  (1ull << 60) - 1, 1ull << 60, 1ull << 62, 1ull << 63, ~0ull, ~1ull, ~3ull, ~15ull, 0x7F800000, 0x7FC00000};
    u32 how = any(mu, 4);
    return how == 0 ? any(mu, 40) : how == 1 ? (u64)any(mu, ~0u) << 32 | any(mu, ~0u) : special[any(mu, COUNT_OF(special))];
}

/* ---- Choosing places and values ----------------------------------------------------------------------- */
static void add_value(mutator *mu, air_value *v) {
    if (mu->n_values < MOST_VALUES)
        mu->values[mu->n_values++] = v;
    else
        mu->values[any(mu, MOST_VALUES)] = v;
}
static void pick_place(mutator *mu) {
    u32 n = 0, insts = 0;
    mu->f = NULL;
    for (u32 i = 0; i < mu->m->funcs.count; i++)
        if (mu->m->funcs.at[i]->first && any(mu, ++n) == 0)
            mu->f = mu->m->funcs.at[i];
    mu->at = NULL;
    mu->n_values = 0;
    if (!mu->f)
        return;
    for (air_block *b = mu->f->first; b; b = b->next)
        for (air_inst *i = b->first; i; i = i->next)
            insts++;
    u32 want = any(mu, insts);
    for (u32 i = 0; i < mu->f->n_args; i++)
        add_value(mu, &mu->f->args[i]);
    for (u32 i = 0; i < mu->m->globals.count && i < 40; i++)
        add_value(mu, &mu->m->globals.at[i]->v);
    for (air_block *b = mu->f->first; b && !mu->at; b = b->next)
        for (air_inst *i = b->first; i; i = i->next) {
            for (u32 k = 0; k < i->n_ops; k++)
                if (i->ops[k]->kind == AIR_V_CONST)
                    add_value(mu, i->ops[k]);
            if (!want--) {
                mu->at = i;
                break;
            }
            if (i->v.type->kind != AIR_VOID)
                add_value(mu, &i->v);
        }
}
static air_value *any_const(mutator *mu, air_type *t) {
    air_module *m = mu->m;
    if (any(mu, 12) == 0)
        return any(mu, 2) ? air_const_undef(m, t) : air_const_null(m, t);
    if (t->kind == AIR_INT)
        return air_const_int(m, t, any_number(mu));
    if (type_is_float(t))
        return air_const_float(m, t, any_number(mu));
    if (t->kind == AIR_PTR)
        return air_const_cast(m, AIR_INTTOPTR, air_const_int(m, air_type_int(m, 64), any_number(mu)), t);
    if ((t->kind == AIR_VECTOR || t->kind == AIR_ARRAY) && t->count && t->count < 65 && t->elem->kind != AIR_STRUCT) {
        air_value *e[64];
        for (u32 i = 0; i < t->count; i++)
            e[i] = any_const(mu, t->elem);
        return air_const_aggregate(m, t, (u32)t->count, e);
    }
    return air_const_null(m, t);
}
/* A value of this type: one that stands before, or a constant. */
static air_value *any_value(mutator *mu, air_type *t) {
    air_value *found = NULL;
    u32 n = 0;
    for (u32 i = 0; i < mu->n_values; i++)
        if (mu->values[i]->type == t && any(mu, ++n) == 0)
            found = mu->values[i];
    return found && any(mu, 8) ? found : any_const(mu, t);
}
static air_value *any_before(mutator *mu) {
    return mu->n_values ? mu->values[any(mu, mu->n_values)] : air_const_int(mu->m, air_type_int(mu->m, 32), 1);
}
/* A value of a kind of type; NULL when there is none. */
static air_value *any_kind(mutator *mu, u32 kind) {
    air_value *found = NULL;
    u32 n = 0;
    for (u32 i = 0; i < mu->n_values; i++)
        if (mu->values[i]->type->kind == kind && any(mu, ++n) == 0)
            found = mu->values[i];
    return found;
}

/* ---- Changing an instruction --------------------------------------------------------------------------- */
static void change_operand(mutator *mu) {
    air_inst *i = mu->at;
    u32 from = i->op == AIR_CALL ? 1 : 0;
    if (i->n_ops > from) {
        u32 k = from + any(mu, i->n_ops - from);
        bool is_case = i->op == AIR_SWITCH && k;
        i->ops[k] = is_case || any(mu, 3) == 0 ? any_const(mu, i->ops[k]->type) : any_value(mu, i->ops[k]->type);
    }
}
static void change_operation(mutator *mu) {
    air_inst *i = mu->at;
    bool floats = i->n_ops && type_is_float(type_scalar(i->ops[0]->type));
    switch ((enum air_op)i->op) {
    case AIR_BINOP: i->sub = (u8)any(mu, AIR_XOR + 1); break;
    case AIR_CMP: i->sub = (u8)(floats ? any(mu, 16) : 32 + any(mu, 10)); break;
    case AIR_CAST: i->sub = (u8)any(mu, AIR_ADDRSPACECAST + 1); break;
    case AIR_LOAD: case AIR_STORE: i->align = 1u << any(mu, 8); break;
    case AIR_ALLOCA: i->ops[0] = any_const(mu, i->ops[0]->type); break;
    case AIR_EXTRACTVAL: case AIR_INSERTVAL: i->indices[any(mu, i->n_indices)] = any(mu, 5); break;
    default: i->flags ^= (u16)(1u << any(mu, 16)); break;
    }
}
static void change_target(mutator *mu) {
    air_inst *i = mu->f->last->last;
    for (air_block *b = mu->f->first; b; b = b->next)
        if (b->last && b->last->n_blocks && any(mu, 3) == 0)
            i = b->last;
    if (!i || !i->n_blocks)
        return;
    u32 want = any(mu, mu->f->n_blocks);
    air_block *to = mu->f->first;
    while (want-- && to->next)
        to = to->next;
    i->blocks[any(mu, i->n_blocks)] = to;
}
static void unlink_inst(air_inst *i) {
    *(i->prev ? &i->prev->next : &i->block->first) = i->next;
    *(i->next ? &i->next->prev : &i->block->last) = i->prev;
}
static void put_before(air_inst *i, air_inst *at) {
    i->block = at->block;
    i->prev = at->prev;
    i->next = at;
    *(at->prev ? &at->prev->next : &at->block->first) = i;
    at->prev = i;
}
static void remove_inst(mutator *mu) {
    air_inst *i = mu->at;
    if (i->next)
        unlink_inst(i);
    for (air_block *b = mu->f->first; b; b = b->next)
        for (air_inst *j = b->first; j; j = j->next)
            for (u32 k = 0; k < j->n_ops; k++)
                if (j->ops[k] == &i->v)
                    j->ops[k] = any_const(mu, i->v.type);
}
/* A branch whose sides meet again: the rest of the block becomes a block of its own. */
static void split_block(mutator *mu) {
    air_block *from = mu->at->block;
    air_value *cond = any_value(mu, air_type_int(mu->m, 1));
    if (mu->at->op == AIR_PHI || !cond)
        return;
    air_block *side = air_block_new(mu->f), *rest = air_block_new(mu->f);
    rest->first = mu->at;
    rest->last = from->last;
    from->last = mu->at->prev;
    *(from->last ? &from->last->next : &from->first) = NULL;
    mu->at->prev = NULL;
    for (air_inst *i = rest->first; i; i = i->next)
        i->block = rest;
    for (air_block *b = mu->f->first; b; b = b->next) /* phis name the block they come from */
        for (air_inst *i = b->first; i && i->op == AIR_PHI; i = i->next)
            for (u32 k = 0; k < i->n_blocks; k++)
                if (i->blocks[k] == from)
                    i->blocks[k] = rest;
    air_type *none = air_type_simple(mu->m, AIR_VOID);
    air_inst *br = air_inst_new(mu->m, from, AIR_BR, none, 1, &cond);
    br->n_blocks = 2;
    br->blocks = ARENA_ARRAY(mu->m->arena, air_block *, 2);
    br->blocks[0] = side;
    br->blocks[1] = rest;
    u32 how = any(mu, 8); /* mostly on to the rest; else an end, or a loop */
    air_inst *end = air_inst_new(mu->m, side, how == 7 && mu->f->func_type->elem->kind == AIR_VOID ? AIR_RET : AIR_BR, none, 0, NULL);
    if (end->op == AIR_BR) {
        end->n_blocks = 1;
        end->blocks = ARENA_ARRAY(mu->m->arena, air_block *, 1);
        end->blocks[0] = how == 6 ? side : rest;
    }
}

/* ---- New instructions ------------------------------------------------------------------------------------ */
static air_inst *make_inst(mutator *mu, enum air_op op, air_type *t, u32 n, air_value *const *ops) {
    air_inst *i = air_inst_new(mu->m, mu->at->block, op, t, n, ops);
    unlink_inst(i);
    put_before(i, mu->at);
    if (t->kind != AIR_VOID)
        add_value(mu, &i->v);
    return i;
}
/* A pointer of this type: one that stands before, as it is or cast. */
static air_value *any_pointer(mutator *mu, air_type *t) {
    air_value *found = NULL;
    u32 n = 0;
    for (u32 i = 0; i < mu->n_values; i++)
        if (mu->values[i]->type->kind == AIR_PTR && mu->values[i]->type->space == t->space && any(mu, ++n) == 0)
            found = mu->values[i];
    if (!found || found->type == t || found->kind == AIR_V_FUNC || any(mu, 8) == 0)
        return found && found->type == t ? found : any_value(mu, t);
    air_inst *c = make_inst(mu, AIR_CAST, t, 1, &found);
    c->sub = AIR_BITCAST;
    return &c->v;
}
static void make_call(mutator *mu, air_func *f) {
    air_value *ops[20];
    u32 n = f->func_type->n_fields;
    if (n > 18)
        return;
    ops[0] = &f->v;
    for (u32 i = 0; i < n; i++)
        ops[i + 1] = f->func_type->fields[i]->kind == AIR_PTR ? any_pointer(mu, f->func_type->fields[i])
                                                              : any_value(mu, f->func_type->fields[i]);
    make_inst(mu, AIR_CALL, f->func_type->elem, n + 1, ops)->aux = f->func_type;
}
static air_type *any_type(mutator *mu) {
    air_module *m = mu->m;
    static const u8 bits[] = {1, 8, 16, 32, 64, 7, 24, 33, 48};
    switch (any(mu, 12)) {
    case 0: return air_type_simple(m, AIR_HALF);
    case 1: return air_type_simple(m, AIR_BFLOAT);
    case 2: return air_type_simple(m, AIR_FLOAT);
    case 3: return air_type_vector(m, air_type_int(m, bits[any(mu, COUNT_OF(bits))]), 1 + any(mu, 9));
    case 4: return air_type_vector(m, air_type_simple(m, AIR_HALF + any(mu, 3)), any(mu, 4) ? 1 + any(mu, 5) : 64);
    case 5: return air_type_array(m, air_type_int(m, bits[any(mu, COUNT_OF(bits))]), any(mu, 20));
    case 6: return any_before(mu)->type;
    default: return air_type_int(m, bits[any(mu, COUNT_OF(bits))]);
    }
}
/* Names of the families of the decoder; the type follows from whatever arguments are at hand. */
static const char *const families[] = {
    "air.convert.f.f32.s.i32", "air.convert.u.i8.f.f32", "air.convert", "air.fast_exp.f32", "air.sincos.f32", "air.dot.v4f32", "air.fma.f32",
    "air.clamp.s.i32", "air.abs.s.i64", "air.clz.i8", "air.popcount.i64", "air.reverse_bits.i16", "air.mul_hi.s.i32", "air.rotate.i32",
    "llvm.fshl.i32", "llvm.usub.sat.i8", "llvm.sadd.sat.i32", "air.all.v4i1", "air.any.v2i1", "air.simd_shuffle.f32",
    "air.simd_shuffle_xor.u.i64", "air.simd_shuffle_down.i32", "air.simd_shuffle_rotate_up.i32", "air.simd_shuffle_and_fill_up.f32",
    "air.simd_broadcast_first.i64", "air.quad_shuffle_up.f32", "air.simd_sum.f32", "air.simd_max.s.i8", "air.quad_min.u.i32",
    "air.simd_prefix_exclusive_sum.f32", "air.simd_all", "air.simd_ballot.i64", "air.simd_is_first", "air.simd_active_threads_mask",
    "air.simdgroup_matrix_8x8_load.v64f32.p1f32", "air.simdgroup_matrix_8x8_store.v64f32.p1f32", "air.simdgroup_matrix_8x8_load.v64f16.p3f16",
    "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32", "air.simdgroup_matrix_8x8_init_filled.v64f32.f32",
    "air.simdgroup_matrix_8x8_init_diag.v64f32.f32", "air.atomic.global.add.u.i32", "air.atomic.local.max.s.i32", "air.atomic.global.cmpxchg.weak.i32",
    "air.atomic.global.load.i32", "air.atomic.global.max.u.i64", "air.atomic.global.add.f32", "air.load.i32", "air.store.i32", "air.wg.barrier", "llvm.memcpy.p1i8.p1i8.i64",
    "llvm.memset.p0i8.i64", "air.is_function_constant_defined", "air.normalize_function_constant_predicate.i32", "air.median3.f32",
    "air.simdgroup_async_copy_2d.p3i8.p1i8", "air.wait_simdgroup_events", "llvm.memmove.p1i8.p1i8.i64", "air.atomic.fence",
    "air.fract.f16", "air.ldexp.f32", "air.nextafter.f32", "air.get_thread_index_in_simdgroup", "llvm.ctlz.i32", "air.saturate.f32",
};
static void rename_call(mutator *mu) {
    u32 n = 0;
    air_func *f = NULL;
    for (u32 i = 0; i < mu->m->funcs.count; i++)
        if (!mu->m->funcs.at[i]->first && any(mu, ++n) == 0)
            f = mu->m->funcs.at[i];
    if (f)
        f->v.name = families[any(mu, COUNT_OF(families))];
}
static void new_family_call(mutator *mu) {
    air_type *params[6];
    u32 n = any(mu, 6);
    for (u32 i = 0; i < n; i++)
        params[i] = any(mu, 4) ? any_before(mu)->type : any_type(mu);
    for (u32 i = 0; i < n; i++)
        if (!type_is_first_class(params[i]) || params[i]->kind == AIR_METADATA || params[i]->kind == AIR_LABEL)
            return;
    air_type *result = any(mu, 3) == 0 || !n ? any_type(mu) : any(mu, 6) == 0 ? air_type_simple(mu->m, AIR_VOID) : params[any(mu, n)];
    air_func *f = air_func_find(mu->m, families[any(mu, COUNT_OF(families))]);
    if (!f) {
        const char *name = families[any(mu, COUNT_OF(families))];
        if (!air_func_find(mu->m, name))
            f = air_func_new(mu->m, name, air_type_func(mu->m, result, n, params, false));
    }
    if (f)
        make_call(mu, f);
}
/* A type as intrinsics.def writes it; NULL for what only Apple's headers name. */
static air_type *read_type(air_module *m, const char **p) {
    static const struct { const char *name; u8 kind; } simple[] = {
        {"void", AIR_VOID}, {"float", AIR_FLOAT}, {"half", AIR_HALF}, {"bfloat", AIR_BFLOAT}};
    air_type *t = NULL;
    char *end;
    for (u32 i = 0; i < COUNT_OF(simple) && !t; i++)
        if (strncmp(*p, simple[i].name, strlen(simple[i].name)) == 0) {
            *p += strlen(simple[i].name);
            t = air_type_simple(m, simple[i].kind);
        }
    if (!t && **p == 'i') {
        t = air_type_int(m, (u32)strtoul(*p + 1, &end, 10));
        *p = end;
    } else if (!t && **p == '<') {
        u64 count = strtoul(*p + 1, &end, 10);
        *p = end + 3;
        air_type *elem = read_type(m, p);
        t = elem ? air_type_vector(m, elem, count) : NULL;
        *p += 1;
    }
    while (t && (**p == '*' || strncmp(*p, " addrspace(", 11) == 0)) {
        u32 number = **p == '*' ? 0 : (u32)strtoul(*p + 11, &end, 10);
        *p = **p == '*' ? *p + 1 : end + 2;
        t = air_type_ptr(m, t, number);
    }
    return t;
}
/* A call of a function as Apple's compiler declares it. */
static void new_known_call(mutator *mu) {
    static const struct { const char *name, *type; } known[] = {
#define INTRINSIC(name, type) {name, type},
#include "air/intrinsics.def"
#undef INTRINSIC
    };
    u32 row = any(mu, COUNT_OF(known)), n = 0;
    const char *p = known[row].type;
    air_type *result = read_type(mu->m, &p), *params[16];
    for (p += 1; result && n < 16 && *p == (n ? ',' : '(') && p[1] != ')'; n++) {
        p += n ? 2 : 1;
        if (!(params[n] = read_type(mu->m, &p)))
            return;
    }
    air_func *f = air_func_find(mu->m, known[row].name);
    if (!f && result && (*p == ')' || strcmp(p, "()") == 0))
        f = air_func_new(mu->m, known[row].name, air_type_func(mu->m, result, n, params, false));
    if (f)
        make_call(mu, f);
}
static void new_memory(mutator *mu) {
    air_value *p = any_kind(mu, AIR_PTR);
    air_module *m = mu->m;
    if (!p || p->type->elem->kind == AIR_FUNC)
        return;
    if (any(mu, 3)) { /* somewhere else from there */
        air_value *ops[2] = {p, any_value(mu, air_type_int(m, any(mu, 2) ? 32 : 64))};
        air_inst *g = make_inst(mu, AIR_GEP, p->type, 2, ops);
        g->aux = p->type->elem;
        p = &g->v;
    }
    if (any(mu, 4) == 0) {
        air_inst *c = make_inst(mu, AIR_CAST, air_type_ptr(m, any_type(mu), p->type->space), 1, &p);
        c->sub = AIR_BITCAST;
        p = &c->v;
    }
    if (any(mu, 2)) {
        make_inst(mu, AIR_LOAD, p->type->elem, 1, &p)->align = 1u << any(mu, 5);
        return;
    }
    air_value *ops[2] = {p, any_value(mu, p->type->elem)};
    make_inst(mu, AIR_STORE, air_type_simple(m, AIR_VOID), 2, ops)->align = 1u << any(mu, 5);
}
static void new_inst(mutator *mu) {
    air_module *m = mu->m;
    if (mu->at->op == AIR_PHI)
        return;
    air_value *x = any_before(mu), *y = any_value(mu, x->type), *z = any_value(mu, x->type), *pair[3] = {x, y, z};
    air_type *t = any_type(mu), *i1 = air_type_int(m, 1), *i32t = air_type_int(m, 32), *v;
    switch (any(mu, 18)) {
    case 14: case 15: case 16: case 17: new_known_call(mu); break;
    case 0: make_inst(mu, AIR_BINOP, x->type, 2, pair)->sub = (u8)any(mu, 13); break;
    case 1:
        v = x->type->kind == AIR_VECTOR ? air_type_vector(m, i1, x->type->count) : i1;
        make_inst(mu, AIR_CMP, v, 2, pair)->sub = (u8)(type_is_float(type_scalar(x->type)) ? any(mu, 16) : 32 + any(mu, 10));
        break;
    case 2:
        make_inst(mu, AIR_SELECT, y->type, 3, (air_value *[]){any_value(mu, i1), y, z});
        break;
    case 3: make_inst(mu, AIR_CAST, t, 1, &x)->sub = (u8)any(mu, 13); break;
    case 4:
        x = any_kind(mu, AIR_VECTOR);
        if (x)
            make_inst(mu, AIR_EXTRACTELT, x->type->elem, 2, (air_value *[]){x, any_value(mu, i32t)});
        break;
    case 5:
        v = air_type_vector(m, y->type, 1 + any(mu, 8));
        if (y->type->kind == AIR_INT || type_is_float(y->type))
            make_inst(mu, AIR_INSERTELT, v, 3, (air_value *[]){any_value(mu, v), y, any_value(mu, i32t)});
        break;
    case 6:
        x = any_kind(mu, AIR_VECTOR);
        v = air_type_vector(m, i32t, any(mu, 8) ? 1 + any(mu, 10) : 64);
        if (x)
            make_inst(mu, AIR_SHUFFLE, air_type_vector(m, x->type->elem, v->count), 3,
                      (air_value *[]){x, any_value(mu, x->type), any_const(mu, v)});
        break;
    case 7: {
        air_value *n = air_const_int(m, i32t, any(mu, 4) ? 1 + any(mu, 20) : any_number(mu));
        make_inst(mu, AIR_ALLOCA, air_type_ptr(m, t, 0), 1, &n)->aux = t;
        break;
    }
    case 8: case 9: new_memory(mu); break;
    case 10: case 11: new_family_call(mu); break;
    case 12: split_block(mu); break;
    default:
        if (m->funcs.count)
            make_call(mu, m->funcs.at[any(mu, m->funcs.count)]);
    }
}

/* ---- Changing what instructions refer to ----------------------------------------------------------------- */
/* A type that a constant is written in stays as it is: the constant would no longer fit. */
static void keep_type(bool *keep, const air_type *t) {
    for (; t && !keep[t->id]; t = t->kind == AIR_ARRAY || t->kind == AIR_VECTOR ? t->elem : NULL)
        keep[t->id] = true;
}
static void keep_types_of(bool *keep, const air_value *v, u32 depth) {
    const air_const *c = v ? as_const(v) : NULL;
    if (!c || depth > 8 || c->kind == AIR_C_NULL || c->kind == AIR_C_UNDEF || c->kind == AIR_C_POISON)
        return;
    keep_type(keep, v->type);
    keep_type(keep, c->aux);
    for (u32 i = 0; i < c->n_elems; i++)
        keep_types_of(keep, c->elems[i], depth + 1);
}
static void change_type(mutator *mu) {
    air_type *t = mu->m->types.at[any(mu, mu->m->types.count)];
    bool *keep = ARENA_ARRAY(mu->m->arena, bool, mu->m->types.count);
    for (u32 i = 0; i < mu->m->globals.count; i++)
        keep_types_of(keep, mu->m->globals.at[i]->init, 0);
    for (u32 i = 0; i < mu->m->funcs.count; i++)
        for (air_block *b = mu->m->funcs.at[i]->first; b; b = b->next)
            for (air_inst *j = b->first; j; j = j->next)
                for (u32 k = 0; k < j->n_ops; k++)
                    keep_types_of(keep, j->ops[k], 0);
    for (u32 i = 0; i < mu->m->mds.count; i++)
        for (u32 k = 0; mu->m->mds.at[i]->kind == AIR_MD_NODE && k < mu->m->mds.at[i]->n; k++)
            if (mu->m->mds.at[i]->ops[k] && mu->m->mds.at[i]->ops[k]->kind == AIR_MD_VALUE)
                keep_types_of(keep, mu->m->mds.at[i]->ops[k]->value, 0);
    if (keep[t->id])
        return;
    if (t->kind == AIR_ARRAY || t->kind == AIR_VECTOR)
        t->count = any(mu, 3) ? any(mu, 70) : any_number(mu);
    else if (t->kind == AIR_INT)
        t->bits = 1 + any(mu, 64);
    else if (t->kind == AIR_PTR)
        t->space = any(mu, 4);
    else if (t->kind >= AIR_HALF && t->kind <= AIR_FLOAT)
        t->kind = (u8)(AIR_HALF + any(mu, 4));
}
static void change_global(mutator *mu) {
    if (!mu->m->globals.count)
        return;
    air_global *g = mu->m->globals.at[any(mu, mu->m->globals.count)];
    if (any(mu, 2))
        g->init = any(mu, 3) ? any_const(mu, g->value_type) : NULL;
    else
        g->align = 1u << any(mu, 30);
}
/* A number that metadata holds: argument numbers, sizes, spaces, versions. */
static void change_metadata(mutator *mu) {
    if (!mu->m->mds.count)
        return;
    air_md *node = mu->m->mds.at[any(mu, mu->m->mds.count)];
    for (u32 tries = 0; tries < 8 && node->kind == AIR_MD_NODE && node->n; tries++) {
        air_md *md = node->ops[any(mu, node->n)];
        if (!md || md->kind != AIR_MD_VALUE || md->value->type->kind != AIR_INT)
            continue;
        u64 now = any(mu, 2) ? any(mu, 8) : any_number(mu);
        for (u32 i = 0; i < node->n; i++)
            if (node->ops[i] == md)
                node->ops[i] = air_md_value(mu->m, air_const_int(mu->m, md->value->type, now));
        return;
    }
}

static void mutate_once(mutator *mu) {
    static void (*const changes[])(mutator *) = {
        change_operand, change_operand, change_operand, change_operation, change_operation, change_target, remove_inst,
        new_inst, new_inst, new_inst, new_inst, change_type, change_global, change_metadata, rename_call,
    };
    pick_place(mu);
    if (mu->at)
        changes[any(mu, COUNT_OF(changes))](mu);
}

size_t mutate_module(u8 *data, size_t len, size_t room, u32 seed) {
    size_t n = 0;
    mutator mu = {.state = seed * 2654435761u | 1};
    for (u32 tries = 0; tries < TRIES && !n; tries++) {
        tm_ctx *ctx = ctx_new();
        text out = {0};
        mu.m = air_read_bitcode(ctx, data, len);
        for (u32 k = any(&mu, 6) + 1; mu.m && k; k--)
            mutate_once(&mu);
        if (mu.m && air_verify(mu.m) == 0 && air_write_bitcode(mu.m, &out) == 0 && out.len <= room) {
            memcpy(data, out.at, out.len);
            n = out.len;
        }
        tries = mu.m ? tries : TRIES;
        text_free(&out);
        air_module_free(mu.m);
        ctx_free(ctx);
    }
    return n;
}
