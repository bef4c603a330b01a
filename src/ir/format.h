/* SPDX-License-Identifier: MIT */
/* The text forms of ops.def, and small internals shared by the files of this folder. */
#pragma once
#include "ir/ir.h"

enum ir_format {
    IR_FORMAT_GENERIC, /* "name"(%a) <{...}> ({...}) {...} : (T) -> U */
    IR_FORMAT_BINARY,  /* %a, %b : T */
    IR_FORMAT_UNARY,   /* %a : T */
    IR_FORMAT_CAST,    /* %a : T to U */
    IR_FORMAT_TTCAST,  /* %a {attrs} : T -> U */
    IR_FORMAT_COMPARE, /* pred, %a, %b : T */
    IR_FORMAT_FUNC,    /* %a, %b {attrs} : (T, U) -> V */
    IR_FORMAT_NONE,    /* nothing but {attrs} */
    IR_FORMAT_ITEM,    /* %a, %b : T, U */
    IR_FORMAT_OWN,     /* written and read by code of its own */
};

/* A set of interned structs: open addressing, at most half full. */
typedef struct intern_slot {
    u64 hash;
    void *item;
} intern_slot;
typedef struct intern_set {
    intern_slot *slots;
    u32 mask, count;
} intern_set;
typedef bool intern_same(const void *a, const void *b);

void intern_init(intern_set *s, arena *a);
/* The item equal to `key`, or NULL. */
void *intern_find(const intern_set *s, u64 hash, const void *key, intern_same *same);
void intern_add(intern_set *s, arena *a, u64 hash, void *item);

struct strmap;
struct ir_pools {
    struct strmap *strings;
    intern_set types, attrs, locs;
    u32 n_types, n_attrs, n_locs;
    const ir_type *ints[4]; /* i1, i8, i32, i64: asked for all the time */
    const ir_loc *unknown;
};

/* ---- Floats of every IR type (floats.c) -------------------------------------------------------- */
u32 ir_float_width(u32 kind);
const char *ir_float_name(u32 kind);         /* "bf16" */
u64 ir_float_encode(u32 kind, double value); /* nearest even; too large gives infinity or NaN */
double ir_float_decode(u32 kind, u64 bits);
/* True for encodings of infinities and NaNs. */
bool ir_float_is_special(u32 kind, u64 bits);

/* Takes all operands out of their use lists; the op must not be used any more. */
void ir_drop_operands(ir_op *op);

/* Attribute lists of ops always have this much room, so that adding one by one copies little. */
static inline u32 attrs_room(u32 n) { return n < 2 ? n : 2u << log2_u64(n - 1); }
