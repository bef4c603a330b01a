/* SPDX-License-Identifier: MIT */
/* Constants and metadata: interned by content. Constants are canonical as LLVM keeps them, so that
 * one value has one form: a zero aggregate is NULL, zero integers and floats are INT and FLOAT, an
 * array or vector of plain numbers is DATA, an aggregate of only undef (poison) is UNDEF (POISON).
 * Operands come in arrays that are copied. */
#include "air/pools.h"

static u64 const_hash(const air_const *c) {
    u64 h = hash_u64(c->kind * 256u + c->op, MAP_KEY(c->v.type));
    h = hash_u64(h, c->wide);
    h = hash_u64(h, c->inrange * 2u + c->inbounds);
    h = hash_u64(h, MAP_KEY(c->aux));
    for (u32 i = 0; i < c->n_elems; i++)
        h = hash_u64(h, MAP_KEY(c->elems[i]));
    return c->data_len ? hash_bytes(c->data, c->data_len, h) : h;
}

static bool const_same(const void *stored, const void *key) {
    const air_const *a = stored, *b = key;
    return a->kind == b->kind && a->op == b->op && a->v.type == b->v.type && a->wide == b->wide &&
           a->inrange == b->inrange && a->inbounds == b->inbounds && a->aux == b->aux &&
           a->n_elems == b->n_elems && a->data_len == b->data_len &&
           (!a->n_elems || memcmp(a->elems, b->elems, a->n_elems * sizeof *a->elems) == 0) &&
           (!a->data_len || memcmp(a->data, b->data, a->data_len) == 0);
}

static air_value *intern(air_module *m, air_const key) {
    key.v.kind = AIR_V_CONST;
    u64 hash = const_hash(&key);
    air_const *c = pool_find(m->pools->consts, hash, const_same, &key);
    if (c)
        return &c->v;
    c = arena_dup(m->arena, &key, sizeof key);
    if (key.n_elems)
        c->elems = arena_dup(m->arena, key.elems, key.n_elems * sizeof *key.elems);
    if (key.data_len)
        c->data = arena_dup(m->arena, key.data, key.data_len);
    for (u32 i = 0; i < c->n_elems; i++) {
        const air_const *e = as_const(c->elems[i]);
        c->depth = MAX(c->depth, e ? e->depth : 0);
        u32 more = e ? e->weight : 1;
        c->weight = c->weight > UINT32_MAX - more ? UINT32_MAX : c->weight + more;
    }
    c->depth++;
    c->weight += c->weight < UINT32_MAX;
    pool_add(m->arena, m->pools->consts, hash, c);
    return &c->v;
}

static u64 low_bits(u64 value, u32 bits) { return bits >= 64 ? value : value & ((1ull << bits) - 1); }

air_value *air_const_int(air_module *m, air_type *t, u64 value) {
    TM_ASSERT(t->kind == AIR_INT);
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_INT, .wide = low_bits(value, t->bits)});
}

air_value *air_const_float(air_module *m, air_type *t, u64 bits) {
    TM_ASSERT(type_is_float(t));
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_FLOAT,
                                 .wide = low_bits(bits, 8 * float_width(t))});
}

air_value *air_const_null(air_module *m, air_type *t) {
    if (t->kind == AIR_INT)
        return air_const_int(m, t, 0);
    if (type_is_float(t))
        return air_const_float(m, t, 0);
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_NULL});
}

air_value *air_const_undef(air_module *m, air_type *t) {
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_UNDEF});
}

air_value *air_const_poison(air_module *m, air_type *t) {
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_POISON});
}

static bool is_zero(const air_const *c) {
    return c->kind == AIR_C_NULL || ((c->kind == AIR_C_INT || c->kind == AIR_C_FLOAT) && !c->wide);
}

/* The data form of an array or vector of plain numbers, or NULL. */
static air_value *aggregate_as_data(air_module *m, air_type *t, u32 n, air_value *const *elems) {
    u32 width = t->kind == AIR_STRUCT ? 0 : air_data_width(t->elem);
    if (!width)
        return NULL;
    for (u32 i = 0; i < n; i++) {
        const air_const *c = as_const(elems[i]);
        if (!c || (c->kind != AIR_C_INT && c->kind != AIR_C_FLOAT))
            return NULL;
    }
    arena_mark mark = arena_save(m->ctx->arena);
    u8 *bytes = arena_alloc(m->ctx->arena, (size_t)n * width);
    for (u32 i = 0; i < n; i++)
        for (u32 b = 0; b < width; b++)
            bytes[i * width + b] = (u8)(as_const(elems[i])->wide >> (8 * b));
    air_value *v = air_const_data(m, t, bytes, (u64)n * width, false);
    arena_rewind(m->ctx->arena, mark);
    return v;
}

air_value *air_const_aggregate(air_module *m, air_type *t, u32 n, air_value *const *elems) {
    bool zero = true, undef = true, poison = true;
    for (u32 i = 0; i < n; i++) {
        const air_const *c = as_const(elems[i]);
        zero = zero && c && is_zero(c);
        poison = poison && c && c->kind == AIR_C_POISON;
        /* Only a struct mixes undef and poison into undef, as LLVM does. */
        undef = undef && c &&
                (c->kind == AIR_C_UNDEF || (t->kind == AIR_STRUCT && c->kind == AIR_C_POISON));
    }
    if (zero)
        return air_const_null(m, t);
    if (poison)
        return air_const_poison(m, t);
    if (undef)
        return air_const_undef(m, t);
    air_value *data = aggregate_as_data(m, t, n, elems);
    return data ? data
                : intern(m, (air_const){.v.type = t, .kind = AIR_C_AGGREGATE, .n_elems = n,
                                        .elems = (air_value **)elems});
}

air_value *air_const_data(air_module *m, air_type *t, const void *bytes, u64 len, bool cstring) {
    TM_ASSERT(t->kind == AIR_ARRAY || t->kind == AIR_VECTOR);
    const u8 *p = bytes;
    u64 i = 0;
    while (i < len && p[i] == 0)
        i++;
    if (i == len)
        return air_const_null(m, t);
    bool chars = t->kind == AIR_ARRAY && t->elem->kind == AIR_INT && t->elem->bits == 8;
    return intern(m, (air_const){.v.type = t, .kind = AIR_C_DATA, .data = p, .data_len = len,
                                 .cstring = chars});
}

air_value *air_const_cast(air_module *m, u32 op, air_value *v, air_type *to) {
    return intern(m, (air_const){.v.type = to, .kind = AIR_C_CAST, .op = (u8)op, .n_elems = 1,
                                 .elems = &v});
}

air_value *air_const_gep(air_module *m, air_type *source, bool inbounds, u32 n,
                         air_value *const *base_and_indices, air_type *result) {
    return air_const_gep_inrange(m, source, inbounds, n, base_and_indices, result, 0);
}

air_value *air_const_gep_inrange(air_module *m, air_type *source, bool inbounds, u32 n,
                                 air_value *const *base_and_indices, air_type *result, u32 inrange) {
    return intern(m, (air_const){.v.type = result, .kind = AIR_C_GEP, .inbounds = inbounds,
                                 .n_elems = n, .elems = (air_value **)base_and_indices,
                                 .aux = source, .inrange = inrange});
}

/* ---- Metadata --------------------------------------------------------------------------------- */
static air_md *new_md(air_module *m, u8 kind) {
    air_md *md = ARENA_NEW(m->arena, air_md);
    md->kind = kind;
    return md;
}

air_md *air_md_string_len(air_module *m, const char *s, size_t len) {
    const char *stored;
    void **slot = strmap_put(m->pools->md_strings, s, len, &stored);
    if (!*slot) {
        air_md *md = new_md(m, AIR_MD_STRING);
        md->text = stored;
        md->n = (u32)len;
        *slot = md;
    }
    return *slot;
}

air_md *air_md_string(air_module *m, const char *s) { return air_md_string_len(m, s, strlen(s)); }

air_md *air_md_value(air_module *m, air_value *v) {
    void **slot = map_put(m->pools->md_values, MAP_KEY(v));
    if (!*slot) {
        air_md *md = new_md(m, AIR_MD_VALUE);
        md->value = v;
        *slot = md;
    }
    return *slot;
}

air_md *air_md_i32(air_module *m, u32 value) {
    return air_md_value(m, air_const_int(m, air_type_int(m, 32), value));
}

air_md *air_md_node_raw(air_module *m, u32 n, bool distinct) {
    air_md *md = new_md(m, AIR_MD_NODE);
    md->distinct = distinct;
    md->n = n;
    md->ops = ARENA_ARRAY(m->arena, air_md *, n);
    md->id = m->mds.count;
    VEC_PUSH(m->arena, &m->mds, md);
    return md;
}

static bool node_same(const void *stored, const void *key) {
    const air_md *a = stored, *b = key;
    return a->n == b->n && (!a->n || memcmp(a->ops, b->ops, a->n * sizeof *a->ops) == 0);
}

air_md *air_md_node(air_module *m, u32 n, air_md *const *ops) {
    air_md key = {.kind = AIR_MD_NODE, .n = n, .ops = (air_md **)ops};
    u64 hash = hash_u64(1, n);
    for (u32 i = 0; i < n; i++)
        hash = hash_u64(hash, MAP_KEY(ops[i]));
    air_md *md = pool_find(m->pools->nodes, hash, node_same, &key);
    if (md)
        return md;
    md = air_md_node_raw(m, n, false);
    if (n)
        memcpy(md->ops, ops, n * sizeof *ops);
    pool_add(m->arena, m->pools->nodes, hash, md);
    return md;
}

air_md *air_md_distinct(air_module *m, u32 n, air_md *const *ops) {
    air_md *md = air_md_node_raw(m, n, true);
    if (n)
        memcpy(md->ops, ops, n * sizeof *ops);
    return md;
}

air_value *air_md_as_value(air_module *m, air_md *md) {
    void **slot = map_put(m->pools->md_refs, MAP_KEY(md));
    if (!*slot) {
        air_md_ref *ref = ARENA_NEW(m->arena, air_md_ref);
        ref->v.kind = AIR_V_MD;
        ref->v.type = air_type_simple(m, AIR_METADATA);
        ref->md = md;
        *slot = ref;
    }
    return *slot;
}

void air_named_md_add(air_module *m, const char *name, air_md *node) {
    air_named_md *named = NULL;
    for (u32 i = 0; i < m->named.count && !named; i++)
        if (strcmp(m->named.at[i].name, name) == 0)
            named = &m->named.at[i];
    if (!named) {
        VEC_PUSH(m->arena, &m->named,
                 ((air_named_md){.name = arena_str(m->arena, name, strlen(name))}));
        named = &VEC_LAST(&m->named);
    }
    /* Room grows at powers of two, so adding stays linear. */
    if (is_pow2(named->n) || named->n == 0) {
        air_md **ops = ARENA_ARRAY(m->arena, air_md *, MAX(named->n * 2, 1));
        if (named->n)
            memcpy(ops, named->ops, named->n * sizeof *ops);
        named->ops = ops;
    }
    named->ops[named->n++] = node;
}
