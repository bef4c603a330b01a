/* SPDX-License-Identifier: MIT */
/* Reads the type table and the attribute tables. A type may name one that comes later; such a one
 * must turn out to be a named struct, so it is made at once and gets its body when its record comes.
 * After the table every type is laid out, which also refuses types that hold themselves. */
#include "air/bitcode/read.h"

air_type *bc_type(air_reader *r, u64 id) {
    if (id < r->types.count && r->types.at[id])
        return r->types.at[id];
    bc_fail(r, "a type number is out of range");
    return NULL;
}

/* As bc_type, but makes the struct that a later record has to define. */
static air_type *type_or_forward(air_reader *r, u64 id) {
    if (id < r->types.count && !r->types.at[id])
        r->types.at[id] = air_type_opaque(r->m, "");
    return bc_type(r, id);
}

static bool is_element(const air_type *t) {
    return t->kind != AIR_VOID && t->kind != AIR_LABEL && t->kind != AIR_METADATA &&
           t->kind != AIR_FUNC;
}

static tm_status read_fields(air_reader *r, u32 from, air_type **out) {
    for (u32 i = from; i < r->bits.n_ops; i++) {
        air_type *t = type_or_forward(r, r->bits.ops[i]);
        if (!t)
            return -1;
        out[i - from] = t;
    }
    return 0;
}

static tm_status read_struct(air_reader *r, u64 number, const char *name, air_type **out) {
    TRY(bc_need(r, 1));
    u32 n = r->bits.n_ops - 1;
    air_type **fields = ARENA_ARRAY(r->scratch, air_type *, n);
    TRY(read_fields(r, 1, fields));
    for (u32 i = 0; i < n; i++)
        if (!is_element(fields[i]))
            return bc_fail(r, "a struct field has a type without values");
    bool packed = r->bits.ops[0] != 0;
    if (!name) {
        *out = air_type_struct(r->m, n, fields, packed, NULL);
        return 0;
    }
    air_type *t = r->types.at[number] ? r->types.at[number] : air_type_opaque(r->m, name);
    t->name = name;
    air_struct_body(r->m, t, n, fields, packed);
    *out = t;
    return 0;
}

static tm_status read_sequence(air_reader *r, air_type **out) {
    TRY(bc_need(r, 2));
    air_type *elem = type_or_forward(r, r->bits.ops[1]);
    if (!elem)
        return -1;
    u64 n = r->bits.ops[0];
    if (r->bits.code == TYPE_ARRAY) {
        if (!is_element(elem))
            return bc_fail(r, "an array's elements have a type without values");
        *out = air_type_array(r->m, elem, n);
        return 0;
    }
    if (r->bits.n_ops > 2 && r->bits.ops[2])
        return bc_fail(r, "a vector has no fixed length");
    bool plain = elem->kind == AIR_INT || elem->kind == AIR_PTR || type_is_float(elem);
    if (!plain || n == 0 || n > 1 << 20)
        return bc_fail(r, "a vector's elements or length are not possible");
    *out = air_type_vector(r->m, elem, n);
    return 0;
}

static tm_status read_pointer(air_reader *r, air_type **out) {
    TRY(bc_need(r, 1));
    air_type *elem = type_or_forward(r, r->bits.ops[0]);
    if (!elem)
        return -1;
    u64 space = r->bits.n_ops > 1 ? r->bits.ops[1] : 0;
    if (elem->kind == AIR_VOID || elem->kind == AIR_LABEL || elem->kind == AIR_METADATA ||
        space >= 1 << 24)
        return bc_fail(r, "a pointer type is not possible");
    *out = air_type_ptr(r->m, elem, (u32)space);
    return 0;
}

static tm_status read_func_type(air_reader *r, air_type **out) {
    TRY(bc_need(r, 2));
    u32 n = r->bits.n_ops - 2;
    air_type **params = ARENA_ARRAY(r->scratch, air_type *, n + 1);
    TRY(read_fields(r, 1, params));
    for (u32 i = 0; i <= n; i++) {
        const air_type *t = params[i];
        if (t->kind == AIR_FUNC || t->kind == AIR_LABEL || (t->kind == AIR_VOID && i) ||
            (t->kind == AIR_METADATA && !i))
            return bc_fail(r, "a function type is not possible");
    }
    *out = air_type_func(r->m, params[0], n, params + 1, r->bits.ops[0] != 0);
    return 0;
}

static tm_status read_int_type(air_reader *r, air_type **out) {
    TRY(bc_need(r, 1));
    if (r->bits.ops[0] == 0 || r->bits.ops[0] > 64)
        return bc_fail(r, "an integer type has no or more than 64 bits");
    *out = air_type_int(r->m, (u32)r->bits.ops[0]);
    return 0;
}

static tm_status read_type_record(air_reader *r, u64 number, const char *name, air_type **out) {
    air_module *m = r->m;
    *out = NULL;
    switch (r->bits.code) {
    case TYPE_VOID: *out = air_type_simple(m, AIR_VOID); return 0;
    case TYPE_FLOAT: *out = air_type_simple(m, AIR_FLOAT); return 0;
    case TYPE_DOUBLE: *out = air_type_simple(m, AIR_DOUBLE); return 0;
    case TYPE_LABEL: *out = air_type_simple(m, AIR_LABEL); return 0;
    case TYPE_HALF: *out = air_type_simple(m, AIR_HALF); return 0;
    case TYPE_METADATA: *out = air_type_simple(m, AIR_METADATA); return 0;
    case TYPE_BFLOAT: *out = air_type_simple(m, AIR_BFLOAT); return 0;
    case TYPE_INTEGER: return read_int_type(r, out);
    case TYPE_POINTER: return read_pointer(r, out);
    case TYPE_ARRAY:
    case TYPE_VECTOR: return read_sequence(r, out);
    case TYPE_STRUCT_ANON: return read_struct(r, number, NULL, out);
    case TYPE_STRUCT_NAMED: return read_struct(r, number, name, out);
    case TYPE_FUNCTION: return read_func_type(r, out);
    case TYPE_OPAQUE:
        *out = r->types.at[number] ? r->types.at[number] : air_type_opaque(m, name);
        (*out)->name = name;
        return 0;
    }
    return read_unsupported(r, "type record");
}

/* Lays out what was made before its parts were; a type that holds itself never gets a layout. */
static tm_status finish_types(air_reader *r) {
    air_module *m = r->m;
    VEC(air_type *) stack = {0};
    for (u32 i = 0; i < m->types.count; i++) {
        VEC_PUSH(r->scratch, &stack, m->types.at[i]);
        while (stack.count) {
            air_type *t = VEC_LAST(&stack);
            if (t->value_depth || air_type_lay_out(t)) {
                stack.count--;
                continue;
            }
            u32 before = stack.count;
            if (t->kind != AIR_STRUCT && !t->elem->value_depth)
                VEC_PUSH(r->scratch, &stack, t->elem);
            for (u32 k = 0; t->kind == AIR_STRUCT && k < t->n_fields && stack.count == before; k++)
                if (!t->fields[k]->value_depth)
                    VEC_PUSH(r->scratch, &stack, t->fields[k]);
            if (stack.count > AIR_MAX_DEPTH)
                return bc_fail(r, "a type contains itself or nests too deep");
        }
        const air_type *t = m->types.at[i];
        if (MAX(t->depth, t->value_depth) > AIR_MAX_DEPTH || t->weight > AIR_MAX_TYPE_WEIGHT)
            return bc_fail(r, "a type is too large");
    }
    return 0;
}

/* The module lists its types in the order of the file. */
static void list_types(air_reader *r) {
    air_module *m = r->m;
    for (u32 i = 0; i < m->types.count; i++)
        m->types.at[i]->id = UINT32_MAX;
    VEC(air_type *) all = {0};
    for (u32 i = 0; i < r->types.count; i++)
        if (r->types.at[i]->id == UINT32_MAX) {
            r->types.at[i]->id = all.count;
            VEC_PUSH(m->arena, &all, r->types.at[i]);
        }
    for (u32 i = 0; i < m->types.count; i++)
        if (m->types.at[i]->id == UINT32_MAX) {
            m->types.at[i]->id = all.count;
            VEC_PUSH(m->arena, &all, m->types.at[i]);
        }
    m->types.at = all.at;
    m->types.count = all.count;
    m->types.room = all.room;
}

tm_status read_type_block(air_reader *r) {
    if (r->types.count)
        return bc_fail(r, "there are two type tables");
    TRY(bit_enter(&r->bits, BLOCK_TYPE));
    const char *name = "";
    u64 n = 0;
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code == TYPE_NUMENTRY) {
            TRY(bc_need(r, 1));
            if (r->types.count || r->bits.ops[0] > (r->bits.end - r->bits.at) / 4)
                return bc_fail(r, "the type table is shorter than it says");
            r->types.count = r->types.room = (u32)r->bits.ops[0];
            r->types.at = ARENA_ARRAY(r->scratch, air_type *, r->types.room);
            continue;
        }
        if (r->bits.code == TYPE_STRUCT_NAME) {
            name = read_chars(r, 0);
            continue;
        }
        if (n == r->types.count)
            return bc_fail(r, "the type table is longer than it says");
        air_type *t;
        TRY(read_type_record(r, n, name, &t));
        if (r->types.at[n] && r->types.at[n] != t)
            return bc_fail(r, "a type is used before it is defined");
        r->types.at[n++] = t;
        if (r->bits.code == TYPE_STRUCT_NAMED || r->bits.code == TYPE_OPAQUE)
            name = "";
    }
    if (n != r->types.count)
        return bc_fail(r, "the type table is shorter than it says");
    TRY(finish_types(r));
    list_types(r);
    return 0;
}

/* ---- Attributes ------------------------------------------------------------------------------- */
static tm_status take_text(air_reader *r, u32 *at, const char **out) {
    u32 from = *at;
    while (*at < r->bits.n_ops && r->bits.ops[*at])
        ++*at;
    if (*at == r->bits.n_ops)
        return bc_fail(r, "an attribute's text does not end");
    char *s = arena_alloc(r->m->arena, *at - from + 1);
    for (u32 i = from; i <= *at; i++)
        s[i - from] = (char)r->bits.ops[i];
    ++*at;
    *out = s;
    return 0;
}

static tm_status take_attr(air_reader *r, u32 *at, air_attr *out) {
    out->form = (u8)r->bits.ops[(*at)++];
    bool keyed = out->form == AIR_ATTR_KEY || out->form == AIR_ATTR_KEY_VALUE;
    if (keyed) {
        TRY(take_text(r, at, &out->key));
        return out->form == AIR_ATTR_KEY_VALUE ? take_text(r, at, &out->text) : 0;
    }
    bool more = out->form == AIR_ATTR_INT || out->form == AIR_ATTR_TYPE_VALUE;
    if (out->form > AIR_ATTR_TYPE_VALUE || out->form == 2)
        return bc_fail(r, "an attribute has an unknown form");
    TRY(bc_need(r, *at + 1 + more));
    out->kind = (u32)r->bits.ops[(*at)++];
    if (out->form == AIR_ATTR_INT)
        out->value = r->bits.ops[(*at)++];
    /* Types come after attributes in some writers' files. */
    if (out->form == AIR_ATTR_TYPE_VALUE && !(out->type = bc_type(r, r->bits.ops[(*at)++])))
        return -1;
    return 0;
}

tm_status read_attr_groups(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_PARAMATTR_GROUP));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code != PARAMATTR_GROUP_ENTRY)
            return read_unsupported(r, "attribute group record");
        TRY(bc_need(r, 2));
        air_attr_group g = {.id = (u32)r->bits.ops[0], .slot = (u32)r->bits.ops[1]};
        VEC(air_attr) list = {0};
        for (u32 at = 2; at < r->bits.n_ops;) {
            air_attr attr = {0};
            TRY(take_attr(r, &at, &attr));
            VEC_PUSH(r->m->arena, &list, attr);
        }
        g.n = list.count;
        g.at = list.at;
        VEC_PUSH(r->m->arena, &r->m->attr_groups, g);
        *map_put(r->group_at, g.id) = (void *)(uintptr_t)r->m->attr_groups.count;
    }
    return 0;
}

tm_status read_attr_lists(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_PARAMATTR));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code != PARAMATTR_ENTRY)
            return read_unsupported(r, "attribute list record");
        air_attr_list list = {0, ARENA_ARRAY(r->m->arena, u32, r->bits.n_ops)};
        for (u32 i = 0; i < r->bits.n_ops; i++) {
            /* Apple's 2023 and 2024 compilers drop groups that lists still name: they are empty. */
            void **at = map_get(r->group_at, r->bits.ops[i]);
            if (at)
                list.groups[list.n++] = (u32)((uintptr_t)*at - 1);
        }
        VEC_PUSH(r->m->arena, &r->m->attr_lists, list);
    }
    return 0;
}
