/* SPDX-License-Identifier: MIT */
/* Types: interned by content, so equal types are equal pointers (named structs excepted, which are
 * what they are by identity). Sizes and alignments follow AIR's one data layout: integers and floats
 * are naturally aligned, a vector is aligned to its size rounded up to a power of two, pointers are
 * 8 bytes. A type's depth counts nesting and is bounded, so that walking types may recurse. */
#include "air/pools.h"

void *pool_find(const map *pool, u64 hash, pool_same same, const void *key) {
    void **slot = map_get(pool, hash);
    for (pool_entry *e = slot ? *slot : NULL; e; e = e->next)
        if (same(e->item, key))
            return e->item;
    return NULL;
}

void pool_add(arena *a, map *pool, u64 hash, void *item) {
    pool_entry *e = arena_alloc(a, sizeof *e);
    void **slot = map_put(pool, hash);
    *e = (pool_entry){*slot, item};
    *slot = e;
}

static u64 type_hash(const air_type *t) {
    u64 h = hash_u64(t->kind * 4u + t->packed * 2u + t->vararg, t->bits);
    h = hash_u64(h, t->space);
    h = hash_u64(h, t->count);
    h = hash_u64(h, MAP_KEY(t->elem));
    for (u32 i = 0; i < t->n_fields; i++)
        h = hash_u64(h, MAP_KEY(t->fields[i]));
    return hash_u64(h, t->n_fields);
}

static bool type_same(const void *stored, const void *key) {
    const air_type *a = stored, *b = key;
    return a->kind == b->kind && a->packed == b->packed && a->vararg == b->vararg &&
           a->bits == b->bits && a->space == b->space && a->count == b->count && a->elem == b->elem &&
           a->n_fields == b->n_fields &&
           (a->n_fields == 0 || memcmp(a->fields, b->fields, a->n_fields * sizeof *a->fields) == 0);
}

static u64 mul_capped(u64 a, u64 b) {
    u64 r;
    return __builtin_mul_overflow(a, b, &r) || r > UINT64_MAX / 16 ? UINT64_MAX / 16 : r;
}

static u32 add_capped(u32 a, u32 b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }
static u64 pow2_ceil(u64 x) { return x <= 1 ? 1 : 2ull << log2_u64(x - 1); }

static void measure(air_type *t) {
    u32 depth = t->elem ? t->elem->depth : 0, weight = t->elem ? t->elem->weight : 0;
    for (u32 i = 0; i < t->n_fields; i++) {
        depth = MAX(depth, t->fields[i]->depth);
        weight = add_capped(weight, t->fields[i]->weight);
    }
    t->depth = t->name ? 1 : depth + 1;
    t->weight = t->name ? 1 : add_capped(weight, 1);
}

static u64 vector_bytes(const air_type *t) {
    u64 bits = t->elem->kind == AIR_INT ? t->elem->bits : t->elem->size * 8;
    return (mul_capped(t->count, bits) + 7) / 8;
}

/* Places of the fields; the end of the last one. */
static u64 place_fields(air_type *t) {
    u64 at = 0;
    for (u32 i = 0; i < t->n_fields; i++) {
        at = t->packed ? at : align_up(at, t->fields[i]->align);
        t->offsets[i] = at;
        at = MIN(at + t->fields[i]->size, UINT64_MAX / 16);
    }
    return at;
}

static void lay_out_scalar(air_type *t) {
    t->size = t->kind == AIR_INT   ? (t->bits > 32 ? 8 : pow2_ceil((t->bits + 7) / 8))
              : type_is_float(t)   ? float_width(t)
              : t->kind == AIR_PTR ? 8
                                   : 0;
    t->align = MAX(t->size, 1);
    if (t->kind == AIR_INT)
        t->size = align_up((t->bits + 7) / 8, t->align);
}

bool air_type_lay_out(air_type *t) {
    bool sequence = t->kind == AIR_ARRAY || t->kind == AIR_VECTOR;
    u32 depth = sequence ? t->elem->value_depth : 1;
    for (u32 i = 0; t->kind == AIR_STRUCT && i < t->n_fields && depth; i++)
        depth = t->fields[i]->value_depth ? MAX(depth, t->fields[i]->value_depth) : 0;
    if (!depth)
        return false;
    t->value_depth = depth + 1;
    if (t->kind == AIR_ARRAY) {
        t->size = mul_capped(t->count, t->elem->size);
        t->align = t->elem->align;
    } else if (t->kind == AIR_VECTOR) {
        t->align = pow2_ceil(vector_bytes(t));
        t->size = align_up(vector_bytes(t), t->align);
    } else if (t->kind == AIR_STRUCT) {
        t->align = 1;
        for (u32 i = 0; i < t->n_fields && !t->packed; i++)
            t->align = MAX(t->align, t->fields[i]->align);
        t->size = align_up(place_fields(t), t->align);
    } else {
        lay_out_scalar(t);
    }
    return true;
}

static air_type *add_type(air_module *m, const air_type *key) {
    air_type *t = arena_dup(m->arena, key, sizeof *key);
    if (key->n_fields)
        t->fields = arena_dup(m->arena, key->fields, key->n_fields * sizeof *key->fields);
    t->offsets = ARENA_ARRAY(m->arena, u64, t->kind == AIR_STRUCT ? t->n_fields : 0);
    measure(t);
    t->align = 1;
    air_type_lay_out(t);
    t->id = m->types.count;
    VEC_PUSH(m->arena, &m->types, t);
    return t;
}

static air_type *intern(air_module *m, air_type key) {
    u64 hash = type_hash(&key);
    air_type *t = pool_find(m->pools->types, hash, type_same, &key);
    if (!t) {
        t = add_type(m, &key);
        pool_add(m->arena, m->pools->types, hash, t);
    }
    return t;
}

air_type *air_type_simple(air_module *m, enum air_type_kind kind) {
    return intern(m, (air_type){.kind = (u8)kind});
}
air_type *air_type_int(air_module *m, u32 bits) {
    return intern(m, (air_type){.kind = AIR_INT, .bits = bits});
}
air_type *air_type_ptr(air_module *m, air_type *elem, u32 space) {
    return intern(m, (air_type){.kind = AIR_PTR, .space = space, .elem = elem});
}
air_type *air_type_array(air_module *m, air_type *elem, u64 count) {
    return intern(m, (air_type){.kind = AIR_ARRAY, .count = count, .elem = elem});
}
air_type *air_type_vector(air_module *m, air_type *elem, u64 count) {
    return intern(m, (air_type){.kind = AIR_VECTOR, .count = count, .elem = elem});
}
air_type *air_type_func(air_module *m, air_type *result, u32 n, air_type *const *params,
                        bool vararg) {
    return intern(m, (air_type){.kind = AIR_FUNC, .elem = result, .n_fields = n,
                                .fields = (air_type **)params, .vararg = vararg});
}

air_type *air_type_struct(air_module *m, u32 n, air_type *const *fields, bool packed,
                          const char *name) {
    air_type key = {.kind = AIR_STRUCT, .packed = packed, .n_fields = n,
                    .fields = (air_type **)fields};
    if (!name)
        return intern(m, key);
    key.name = arena_str(m->arena, name, strlen(name));
    return add_type(m, &key);
}

air_type *air_type_opaque(air_module *m, const char *name) {
    air_type key = {.kind = AIR_OPAQUE, .name = arena_str(m->arena, name, strlen(name))};
    return add_type(m, &key);
}

void air_struct_body(air_module *m, air_type *t, u32 n, air_type *const *fields, bool packed) {
    TM_ASSERT(t->name);
    t->kind = AIR_STRUCT;
    t->packed = packed;
    t->n_fields = n;
    t->fields = n ? arena_dup(m->arena, fields, n * sizeof *fields) : NULL;
    t->offsets = ARENA_ARRAY(m->arena, u64, n);
    measure(t);
    t->value_depth = 0;
    air_type_lay_out(t);
}

u32 air_data_width(const air_type *t) {
    if (type_is_float(t))
        return float_width(t);
    bool plain = t->kind == AIR_INT &&
                 (t->bits == 8 || t->bits == 16 || t->bits == 32 || t->bits == 64);
    return plain ? t->bits / 8 : 0;
}

u64 air_size(const air_type *t) { return t->size; }
u64 air_align(const air_type *t) { return t->align; }

u64 air_field_offset(const air_type *t, u32 field) {
    TM_ASSERT(t->kind == AIR_STRUCT && field < t->n_fields);
    return t->offsets[field];
}

air_type *air_type_step(air_type *t, u64 index) {
    if (t->kind == AIR_ARRAY || t->kind == AIR_VECTOR)
        return t->elem;
    return t->kind == AIR_STRUCT && index < t->n_fields ? t->fields[index] : NULL;
}

air_type *air_gep_type(air_module *m, air_type *source, u32 n, air_value *const *ops) {
    if (n == 0)
        return NULL;
    u64 lanes = 0;
    for (u32 i = 0; i < n; i++) {
        const air_type *t = ops[i]->type;
        if (t->kind == AIR_VECTOR)
            lanes = t->count;
        if (type_scalar(t)->kind != (i ? AIR_INT : AIR_PTR))
            return NULL;
    }
    air_type *t = source;
    for (u32 i = 2; i < n && t; i++) {
        const air_const *c = as_const(ops[i]);
        bool known = c && c->kind == AIR_C_INT;
        t = t->kind == AIR_STRUCT && !known ? NULL : air_type_step(t, known ? c->wide : 0);
    }
    if (!t)
        return NULL;
    air_type *p = air_type_ptr(m, t, type_scalar(ops[0]->type)->space);
    return lanes ? air_type_vector(m, p, lanes) : p;
}

static u32 scalar_bits(const air_type *t) {
    return t->kind == AIR_INT ? t->bits : type_is_float(t) ? 8 * float_width(t) : 64;
}

static bool bitcast_ok(const air_type *from, const air_type *to) {
    const air_type *a = type_scalar(from), *b = type_scalar(to);
    if (a->kind == AIR_PTR || b->kind == AIR_PTR)
        return a->kind == b->kind && a->space == b->space &&
               (from->kind == AIR_VECTOR) == (to->kind == AIR_VECTOR) &&
               (from->kind != AIR_VECTOR || from->count == to->count);
    bool numbers = (a->kind == AIR_INT || type_is_float(a)) && (b->kind == AIR_INT || type_is_float(b));
    u64 na = from->kind == AIR_VECTOR ? from->count : 1, nb = to->kind == AIR_VECTOR ? to->count : 1;
    return numbers && na * scalar_bits(a) == nb * scalar_bits(b);
}

bool air_cast_ok(u32 op, const air_type *from, const air_type *to) {
    if (op == AIR_BITCAST)
        return bitcast_ok(from, to);
    bool vector = from->kind == AIR_VECTOR;
    if (vector != (to->kind == AIR_VECTOR) || (vector && from->count != to->count))
        return false;
    const air_type *a = type_scalar(from), *b = type_scalar(to);
    bool int_a = a->kind == AIR_INT, int_b = b->kind == AIR_INT;
    bool float_a = type_is_float(a), float_b = type_is_float(b);
    switch ((enum air_cast)op) {
    case AIR_TRUNC: return int_a && int_b && a->bits > b->bits;
    case AIR_ZEXT:
    case AIR_SEXT: return int_a && int_b && a->bits < b->bits;
    case AIR_FPTOUI:
    case AIR_FPTOSI: return float_a && int_b;
    case AIR_UITOFP:
    case AIR_SITOFP: return int_a && float_b;
    case AIR_FPTRUNC: return float_a && float_b && scalar_bits(a) > scalar_bits(b);
    case AIR_FPEXT: return float_a && float_b && scalar_bits(a) < scalar_bits(b);
    case AIR_PTRTOINT: return a->kind == AIR_PTR && int_b;
    case AIR_INTTOPTR: return int_a && b->kind == AIR_PTR;
    case AIR_ADDRSPACECAST:
        return a->kind == AIR_PTR && b->kind == AIR_PTR && a->space != b->space;
    case AIR_BITCAST: break;
    }
    return false;
}
