/* SPDX-License-Identifier: MIT */
/* What a module interns, and the constructors that only the files of this room use. A pool maps a
 * content hash to a chain of entries; equal content is found by comparing down the chain. */
#pragma once
#include "air/air.h"

typedef struct pool_entry {
    struct pool_entry *next;
    void *item;
} pool_entry;

struct air_pools {
    map *types, *consts, *nodes, *md_values, *md_refs;
    strmap *md_strings, *funcs;
};

/* A metadata node as an operand of a call: an air_value of kind AIR_V_MD. */
typedef struct air_md_ref {
    air_value v;
    air_md *md;
} air_md_ref;
air_value *air_md_as_value(air_module *m, air_md *md);

typedef bool (*pool_same)(const void *stored, const void *key);
void *pool_find(const map *pool, u64 hash, pool_same same, const void *key);
void pool_add(arena *a, map *pool, u64 hash, void *item);

/* Deepest nesting and size of types and constants a file may bring; bounds every recursion. */
enum { AIR_MAX_DEPTH = 200, AIR_MAX_TYPE_WEIGHT = 1 << 17, AIR_MAX_CONST_WEIGHT = 1 << 22 };

/* Gives a named struct its body; the reader makes the struct first, when it is referred to early. */
void air_struct_body(air_module *m, air_type *t, u32 n, air_type *const *fields, bool packed);
/* Computes size, alignment and value depth from the parts; false while a part has none yet. Types
 * built from complete parts are laid out when they are made. */
bool air_type_lay_out(air_type *t);
/* Length of text may include NUL bytes. */
air_md *air_md_string_len(air_module *m, const char *s, size_t len);
/* A node that is not merged; the caller may still fill its operands. */
air_md *air_md_node_raw(air_module *m, u32 n, bool distinct);

static inline const air_const *as_const(const air_value *v) {
    return v->kind == AIR_V_CONST ? (const air_const *)v : NULL;
}
static inline bool type_is_float(const air_type *t) {
    return t->kind >= AIR_HALF && t->kind <= AIR_DOUBLE;
}
static inline const air_type *type_scalar(const air_type *t) {
    return t->kind == AIR_VECTOR ? t->elem : t;
}
static inline bool type_is_first_class(const air_type *t) {
    return t->kind != AIR_VOID && t->kind != AIR_FUNC;
}
/* Bytes of one element of constant data (ints 8..64 and floats), 0 for other types. */
u32 air_data_width(const air_type *t);
/* Bytes per value of a float type. */
static inline u32 float_width(const air_type *t) {
    return t->kind == AIR_DOUBLE ? 8 : t->kind == AIR_FLOAT ? 4 : 2;
}
/* The type reached from `t` by one constant or variable index of a GEP or extractvalue; NULL when
 * there is none. `index` matters for structs only. */
air_type *air_type_step(air_type *t, u64 index);
/* Result pointer type of a GEP over base and indices of these types; NULL when malformed. */
air_type *air_gep_type(air_module *m, air_type *source, u32 n, air_value *const *ops);
/* Whether LLVM allows this cast between these types. */
bool air_cast_ok(u32 op, const air_type *from, const air_type *to);
const char *air_datalayout(void);
