/* SPDX-License-Identifier: MIT */
/* Builders of single instructions for the emitter. Each appends to e->block and gives the instruction
 * the source position of the operation being emitted. Declarations of intrinsics are made at the
 * first call, with the attributes Apple's modules show for their kind. GEP indices are i64, vector
 * indices are i64 constants. Allocas live in the entry block, one per type: nothing keeps a value in
 * one across other operations. */
#include "air/emit/emit_in.h"

#include <stdio.h>

air_type *emit_f32(emit *e) { return air_type_simple(e->m, AIR_FLOAT); }
air_type *emit_int_type(emit *e, u32 bits) { return air_type_int(e->m, bits); }

air_value *emit_int_of(emit *e, air_type *t, u64 value) {
    if (t->bits < 64)
        value &= (1ull << t->bits) - 1;
    return air_const_int(e->m, t, value);
}

air_value *emit_int(emit *e, u32 bits, u64 value) {
    return emit_int_of(e, emit_int_type(e, bits), value);
}

air_value *emit_float(emit *e, double value) {
    float f = (float)value;
    u32 bits;
    memcpy(&bits, &f, sizeof bits);
    return air_const_float(e->m, emit_f32(e), bits);
}

bool emit_is_float(const air_type *t) {
    return t->kind == AIR_HALF || t->kind == AIR_BFLOAT || t->kind == AIR_FLOAT;
}

air_value *emit_inst(emit *e, enum air_op op, u32 sub, air_type *t, u32 n, air_value *const *ops) {
    air_inst *i = air_inst_new(e->m, e->block, op, t, n, ops);
    i->sub = (u8)sub;
    i->loc = e->loc;
    return &i->v;
}

air_value *emit_bin(emit *e, enum air_binop sub, air_value *a, air_value *b) {
    air_value *ops[] = {a, b};
    return emit_inst(e, AIR_BINOP, sub, a->type, 2, ops);
}

air_value *emit_cmp(emit *e, u32 predicate, air_value *a, air_value *b) {
    air_value *ops[] = {a, b};
    return emit_inst(e, AIR_CMP, predicate, emit_int_type(e, 1), 2, ops);
}

air_value *emit_select(emit *e, air_value *c, air_value *a, air_value *b) {
    air_value *ops[] = {c, a, b};
    return a == b ? a : emit_inst(e, AIR_SELECT, 0, a->type, 3, ops);
}

air_value *emit_cast(emit *e, enum air_cast cast, air_value *v, air_type *to) {
    return v->type == to ? v : emit_inst(e, AIR_CAST, cast, to, 1, &v);
}

air_value *emit_extract(emit *e, air_value *vector, u32 index) {
    air_value *ops[] = {vector, emit_int(e, 64, index)};
    return emit_inst(e, AIR_EXTRACTELT, 0, vector->type->elem, 2, ops);
}

air_value *emit_insert(emit *e, air_value *vector, air_value *element, u32 index) {
    air_value *ops[] = {vector, element, emit_int(e, 64, index)};
    return emit_inst(e, AIR_INSERTELT, 0, vector->type, 3, ops);
}

/* An index as i64; the extension is made once per block. */
static air_value *wide_index(emit *e, air_value *index) {
    air_type *i64t = emit_int_type(e, 64);
    const air_const *c = (const air_const *)index;
    if (index->type == i64t)
        return index;
    if (index->kind == AIR_V_CONST && c->kind == AIR_C_INT) {
        u32 unused = 64 - index->type->bits;
        return emit_int(e, 64, (u64)((i64)(c->wide << unused) >> unused));
    }
    void **known = map_put(e->indices, MAP_KEY(index));
    if (!*known || ((air_inst *)*known)->block != e->block) {
        air_value *wide = emit_cast(e, AIR_SEXT, index, i64t);
        *known = wide;
    }
    return *known;
}

air_value *emit_gep(emit *e, air_value *pointer, air_value *index) {
    air_value *ops[] = {pointer, wide_index(e, index)};
    air_value *v = emit_inst(e, AIR_GEP, 0, pointer->type, 2, ops);
    air_inst *i = (air_inst *)v;
    i->aux = pointer->type->elem;
    i->flags = AIR_INBOUNDS;
    return v;
}

air_value *emit_load(emit *e, air_value *pointer, u32 align, bool is_volatile) {
    air_value *v = emit_inst(e, AIR_LOAD, 0, pointer->type->elem, 1, &pointer);
    air_inst *i = (air_inst *)v;
    i->align = align;
    i->flags = is_volatile ? AIR_VOLATILE : 0;
    return v;
}

void emit_store(emit *e, air_value *pointer, air_value *value, u32 align, bool is_volatile) {
    air_value *ops[] = {pointer, value};
    air_value *v = emit_inst(e, AIR_STORE, 0, air_type_simple(e->m, AIR_VOID), 2, ops);
    air_inst *i = (air_inst *)v;
    i->align = align;
    i->flags = is_volatile ? AIR_VOLATILE : 0;
}

static void unlink_inst(air_inst *i) {
    if (i->prev)
        i->prev->next = i->next;
    else
        i->block->first = i->next;
    if (i->next)
        i->next->prev = i->prev;
    else
        i->block->last = i->prev;
}

/* Moves i, the last instruction of b, behind `after`, or to the front when NULL. */
static void move_after(air_block *b, air_inst *i, air_inst *after) {
    unlink_inst(i);
    i->prev = after;
    i->next = after ? after->next : b->first;
    if (i->prev)
        i->prev->next = i;
    else
        b->first = i;
    if (i->next)
        i->next->prev = i;
    else
        b->last = i;
}

air_value *emit_phi(emit *e, air_block *b, air_type *t, u32 n, air_value *const *values,
                    air_block *const *from) {
    air_inst *last_phi = NULL;
    for (air_inst *i = b->first; i && i->op == AIR_PHI; i = i->next)
        last_phi = i;
    air_inst *phi = air_inst_new(e->m, b, AIR_PHI, t, n, values);
    phi->loc = e->loc;
    phi->n_blocks = n;
    phi->blocks = arena_dup(e->m->arena, from, n * sizeof *from);
    if (phi->prev != last_phi)
        move_after(b, phi, last_phi);
    return &phi->v;
}

void emit_phi_set(emit *e, air_value *phi, u32 i, air_value *v, air_block *from) {
    (void)e;
    air_inst *inst = (air_inst *)phi;
    inst->ops[i] = v;
    inst->blocks[i] = from;
}

static void set_targets(emit *e, air_value *br, u32 n, air_block *const *to) {
    air_inst *i = (air_inst *)br;
    i->n_blocks = n;
    i->blocks = arena_dup(e->m->arena, to, n * sizeof *to);
}

void emit_br(emit *e, air_block *to) {
    air_value *br = emit_inst(e, AIR_BR, 0, air_type_simple(e->m, AIR_VOID), 0, NULL);
    set_targets(e, br, 1, &to);
}

void emit_cond_br(emit *e, air_value *c, air_block *yes, air_block *no) {
    air_block *to[] = {yes, no};
    air_value *br = emit_inst(e, AIR_BR, 0, air_type_simple(e->m, AIR_VOID), 1, &c);
    set_targets(e, br, 2, to);
}

air_value *emit_slot(emit *e, air_type *t) {
    void **known = map_put(e->slots, MAP_KEY(t));
    if (*known)
        return *known;
    air_value *one = emit_int(e, 32, 1);
    air_inst *i = air_inst_new(e->m, e->entry, AIR_ALLOCA, air_type_ptr(e->m, t, 0), 1, &one);
    i->aux = t;
    i->align = (u32)air_align(t);
    if (e->entry->first != i)
        move_after(e->entry, i, NULL);
    *map_put(e->slots, MAP_KEY(t)) = i;
    return &i->v;
}

const char *emit_suffix(const air_type *t) {
    switch (t->kind) {
    case AIR_HALF: return "f16";
    case AIR_BFLOAT: return "bf16";
    case AIR_FLOAT: return "f32";
    case AIR_INT:
        return t->bits == 1    ? "i1"
               : t->bits == 8  ? "i8"
               : t->bits == 16 ? "i16"
               : t->bits == 32 ? "i32"
                               : "i64";
    default: return "v2i32"; /* the one vector that is ever passed */
    }
}

/* The attributes of declarations and calls; "/N:" starts those of parameter N. */
static const struct {
    const char *declared, *call;
} effects[] = {
    [EMIT_PURE] = {"mustprogress nofree nosync nounwind readnone willreturn",
                   "nounwind readnone willreturn"},
    [EMIT_CONVERGENT] = {"convergent mustprogress nounwind willreturn",
                         "convergent nounwind willreturn"},
    [EMIT_MATRIX_LOAD] = {"convergent mustprogress nofree nounwind readonly willreturn"
                          " /1: nocapture readonly",
                          "convergent nounwind readonly willreturn"},
    [EMIT_MATRIX_STORE] = {"convergent mustprogress nounwind willreturn writeonly"
                           " /2: nocapture writeonly",
                           "convergent nounwind willreturn"},
    [EMIT_ATOMIC] = {"mustprogress nounwind willreturn /1: nocapture", "nounwind willreturn"},
    [EMIT_FENCE] = {"mustprogress nounwind willreturn", "nounwind willreturn"},
};

static air_func *declare(emit *e, const char *name, enum emit_effect effect, air_type *type) {
    void **known = strmap_get(e->decls, name, strlen(name));
    if (known)
        return *known;
    const char *key;
    void **slot = strmap_put(e->decls, name, strlen(name), &key);
    air_func *f = air_func_new(e->m, arena_str(e->m->arena, name, strlen(name)), type);
    *slot = f;
    f->unnamed_addr = 2;
    f->attrs = emit_attrs(e, effects[effect].declared);
    return f;
}

air_value *emit_call(emit *e, const char *name, enum emit_effect effect, air_type *result, u32 n,
                     air_value *const *args) {
    air_type *params[8];
    air_value *ops[9];
    TM_ASSERT(n <= 8);
    for (u32 i = 0; i < n; i++) {
        params[i] = args[i]->type;
        ops[i + 1] = args[i];
    }
    air_type *type = air_type_func(e->m, result, n, params, false);
    air_func *f = declare(e, name, effect, type);
    ops[0] = &f->v;
    air_value *v = emit_inst(e, AIR_CALL, 0, result, n + 1, ops);
    air_inst *call = (air_inst *)v;
    call->aux = type;
    call->flags = AIR_TAIL;
    call->attrs = emit_attrs(e, effects[effect].call);
    if (effect == EMIT_CONVERGENT || effect == EMIT_MATRIX_LOAD || effect == EMIT_MATRIX_STORE)
        e->convergent = true;
    return v;
}

air_value *emit_math(emit *e, const char *stem, u32 n, air_value *const *args) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", stem, emit_suffix(args[0]->type));
    return emit_call(e, name, EMIT_PURE, args[0]->type, n, args);
}
