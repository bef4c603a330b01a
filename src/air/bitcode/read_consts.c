/* SPDX-License-Identifier: MIT */
/* Reads CONSTANTS blocks. A constant may be made of ones that come later, so a block is collected
 * first and then built depth first with an explicit stack; one that needs itself is refused. A
 * constant remembers how many of its parts it has seen built, so the work stays linear. */
#include "air/bitcode/read.h"

typedef struct raw_const {
    air_type *type;
    u32 code, n_ops;
    u32 seen; /* operands before this one are built */
    u8 state; /* 0 not begun, 1 waits for parts, 2 built */
    u64 *ops;
} raw_const;

typedef struct const_block {
    air_reader *r;
    u32 base; /* number of the first */
    VEC(raw_const) raw;
    VEC(u32) stack;
} const_block;

static u64 decode_signed(u64 v) { return v & 1 ? (v == 1 ? 1ull << 63 : 0 - (v >> 1)) : v >> 1; }

/* Position of the first (type, value) pair of a GEP. */
static u32 gep_start(const raw_const *c) {
    return c->code == CONSTANTS_CE_GEP_INRANGE ? 2 : c->n_ops & 1;
}

static bool is_part(const raw_const *c, u32 i) {
    switch (c->code) {
    case CONSTANTS_AGGREGATE: return true;
    case CONSTANTS_CE_CAST: return i == 2;
    case CONSTANTS_CE_GEP:
    case CONSTANTS_CE_INBOUNDS_GEP:
    case CONSTANTS_CE_GEP_INRANGE: return i > gep_start(c) && (i - gep_start(c)) % 2 == 1;
    }
    return false;
}

/* Value of an operand that build_one has seen built. */
static air_value *part(const const_block *b, u64 id) {
    air_value *v = b->r->values.at[id];
    if (v->kind != AIR_V_ARG)
        return v;
    bc_fail(b->r, "a constant is made of an argument");
    return NULL;
}

static air_value *build_aggregate(const const_block *b, const raw_const *c) {
    air_reader *r = b->r;
    air_type *t = c->type;
    bool sequence = t->kind == AIR_ARRAY || t->kind == AIR_VECTOR;
    u64 n = sequence ? t->count : t->kind == AIR_STRUCT ? t->n_fields : UINT64_MAX;
    if (n != c->n_ops) {
        bc_fail(r, "an aggregate constant does not fit its type");
        return NULL;
    }
    air_value **elems = ARENA_ARRAY(r->scratch, air_value *, n);
    for (u32 i = 0; i < n; i++) {
        if (!(elems[i] = part(b, c->ops[i])))
            return NULL;
        if (elems[i]->type != (sequence ? t->elem : t->fields[i])) {
            bc_fail(r, "an element of a constant has the wrong type");
            return NULL;
        }
    }
    return air_const_aggregate(r->m, t, (u32)n, elems);
}

static air_value *build_cast(const const_block *b, const raw_const *c) {
    air_reader *r = b->r;
    air_type *from = c->n_ops == 3 ? bc_type(r, c->ops[1]) : NULL;
    air_value *v = from ? part(b, c->ops[2]) : NULL;
    if (!v || v->type != from || c->ops[0] > AIR_ADDRSPACECAST ||
        !air_cast_ok((u32)c->ops[0], v->type, c->type)) {
        bc_fail(r, "a constant cast is malformed");
        return NULL;
    }
    return air_const_cast(r->m, (u32)c->ops[0], v, c->type);
}

static air_value *build_gep(const const_block *b, const raw_const *c) {
    air_reader *r = b->r;
    bool ranged = c->code == CONSTANTS_CE_GEP_INRANGE;
    u32 at = gep_start(c), n = c->n_ops < at ? 0 : (c->n_ops - at) / 2;
    if (at == 0 || n == 0 || (c->n_ops - at) % 2) {
        bc_fail(r, "a constant address is malformed");
        return NULL;
    }
    air_type *source = bc_type(r, c->ops[0]);
    if (!source)
        return NULL;
    bool inbounds = ranged ? c->ops[1] & 1 : c->code == CONSTANTS_CE_INBOUNDS_GEP;
    u32 inrange = ranged ? (u32)(c->ops[1] >> 1) + 1 : 0;
    air_value **ops = ARENA_ARRAY(r->scratch, air_value *, n);
    for (u32 i = 0; i < n; i++) {
        if (!(ops[i] = part(b, c->ops[at + 2 * i + 1])))
            return NULL;
        if (ops[i]->type != bc_type(r, c->ops[at + 2 * i])) {
            bc_fail(r, "an operand of a constant address has the wrong type");
            return NULL;
        }
    }
    bool ok = type_scalar(ops[0]->type)->kind == AIR_PTR &&
              type_scalar(ops[0]->type)->elem == source &&
              air_gep_type(r->m, source, n, ops) == c->type;
    if (!ok) {
        bc_fail(r, "a constant address has the wrong type");
        return NULL;
    }
    return air_const_gep_inrange(r->m, source, inbounds, n, ops, c->type, inrange);
}

static air_value *build_data(const const_block *b, const raw_const *c) {
    air_reader *r = b->r;
    const air_type *t = c->type;
    bool chars = c->code != CONSTANTS_DATA;
    u32 width = t->kind == AIR_ARRAY || t->kind == AIR_VECTOR ? air_data_width(t->elem) : 0;
    u64 n = (u64)c->n_ops + (c->code == CONSTANTS_CSTRING);
    if (!width || t->count != n || (chars && (width != 1 || t->kind != AIR_ARRAY))) {
        bc_fail(r, "constant data does not fit its type");
        return NULL;
    }
    u8 *bytes = arena_zalloc(r->scratch, n * width);
    for (u32 i = 0; i < c->n_ops; i++)
        for (u32 k = 0; k < width; k++)
            bytes[i * width + k] = (u8)(c->ops[i] >> (8 * k));
    return air_const_data(r->m, c->type, bytes, n * width, chars);
}

static air_value *build(const const_block *b, const raw_const *c) {
    air_reader *r = b->r;
    switch (c->code) {
    case CONSTANTS_NULL: return air_const_null(r->m, c->type);
    case CONSTANTS_UNDEF: return air_const_undef(r->m, c->type);
    case CONSTANTS_POISON: return air_const_poison(r->m, c->type);
    case CONSTANTS_INTEGER:
        if (c->type->kind != AIR_INT || c->n_ops != 1)
            break;
        return air_const_int(r->m, c->type, decode_signed(c->ops[0]));
    case CONSTANTS_FLOAT:
        if (!type_is_float(c->type) || c->n_ops != 1)
            break;
        return air_const_float(r->m, c->type, c->ops[0]);
    case CONSTANTS_AGGREGATE: return build_aggregate(b, c);
    case CONSTANTS_STRING:
    case CONSTANTS_CSTRING:
    case CONSTANTS_DATA: return build_data(b, c);
    case CONSTANTS_CE_CAST: return build_cast(b, c);
    case CONSTANTS_CE_GEP:
    case CONSTANTS_CE_INBOUNDS_GEP:
    case CONSTANTS_CE_GEP_INRANGE: return build_gep(b, c);
    }
    bc_fail(r, "a constant does not fit its type");
    return NULL;
}

/* 1 when a part had to be pushed, 0 when all are built. */
static int push_unbuilt_part(const_block *b, raw_const *c) {
    air_reader *r = b->r;
    for (; c->seen < c->n_ops; c->seen++) {
        u64 id = c->ops[c->seen];
        if (!is_part(c, c->seen) || id < b->base)
            continue;
        if (id - b->base >= b->raw.count)
            return bc_fail(r, "a constant's number is out of range");
        raw_const *p = &b->raw.at[id - b->base];
        if (p->state == 1)
            return bc_fail(r, "a constant contains itself");
        if (p->state == 2)
            continue;
        if (b->stack.count == AIR_MAX_DEPTH)
            return bc_fail(r, "constants nest too deep");
        VEC_PUSH(r->scratch, &b->stack, (u32)(id - b->base));
        return 1;
    }
    return 0;
}

static tm_status build_one(const_block *b, u32 first) {
    air_reader *r = b->r;
    VEC_PUSH(r->scratch, &b->stack, first);
    while (b->stack.count) {
        u32 i = VEC_LAST(&b->stack);
        raw_const *c = &b->raw.at[i];
        if (c->state == 2) {
            b->stack.count--;
            continue;
        }
        c->state = 1;
        int pushed = push_unbuilt_part(b, c);
        if (pushed < 0)
            return -1;
        if (pushed)
            continue;
        air_value *v = build(b, c);
        if (!v)
            return -1;
        const air_const *k = as_const(v);
        if (k->depth > AIR_MAX_DEPTH || k->weight > AIR_MAX_CONST_WEIGHT)
            return bc_fail(r, "a constant is too large");
        c->state = 2;
        r->values.at[b->base + i] = v;
        b->stack.count--;
    }
    return 0;
}

static tm_status collect(const_block *b) {
    air_reader *r = b->r;
    air_type *type = NULL;
    u32 sub;
    FOR_RECORDS(r, &sub) {
        u32 code = r->bits.code;
        if (code == CONSTANTS_SETTYPE) {
            TRY(bc_need(r, 1));
            if (!(type = bc_type(r, r->bits.ops[0])))
                return -1;
            continue;
        }
        bool known = (code >= CONSTANTS_NULL && code <= CONSTANTS_CSTRING && code != 5) ||
                     code == CONSTANTS_CE_CAST || code == CONSTANTS_CE_GEP ||
                     code == CONSTANTS_CE_INBOUNDS_GEP || code == CONSTANTS_DATA ||
                     code == CONSTANTS_CE_GEP_INRANGE || code == CONSTANTS_POISON;
        if (!known)
            return read_unsupported(r, "constant record");
        if (!type || !type_is_first_class(type) || type->kind == AIR_LABEL ||
            type->kind == AIR_METADATA || type->kind == AIR_OPAQUE)
            return bc_fail(r, "a constant has no type");
        raw_const c = {.type = type, .code = code, .n_ops = r->bits.n_ops};
        c.ops = arena_dup(r->scratch, r->bits.ops, c.n_ops * sizeof *c.ops);
        VEC_PUSH(r->scratch, &b->raw, c);
    }
    return 0;
}

tm_status read_constants(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_CONSTANTS));
    const_block b = {.r = r, .base = r->values.count};
    TRY(collect(&b));
    for (u32 i = 0; i < b.raw.count; i++)
        VEC_PUSH(r->scratch, &r->values, NULL);
    for (u32 i = 0; i < b.raw.count; i++)
        TRY(build_one(&b, i));
    return 0;
}
