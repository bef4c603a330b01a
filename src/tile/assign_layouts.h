/* SPDX-License-Identifier: MIT */
/* What the parts of layout assignment share. The rules of ops (assign_layouts_rules.c) say how the
 * layouts of an op's operands and results hang together; preference (assign_layouts_prefer.c) finds
 * what anchors want; home (assign_layouts_home.c) settles one layout per value; the pass
 * (assign_layouts.c) rewrites. Layouts are interned attributes, so that they compare by pointer. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "ir/pass.h"
#include "tile/tile.h"

/* How much a layout is worth keeping. */
enum strength {
    WANT_NONE,
    WANT_WEAK, /* from cheap values, which adapt all the same */
    WANT_LOAD, /* from memory */
    WANT_DOT,  /* from a matrix multiplication */
};

typedef struct choice {
    const ir_attr *layout; /* IR_ATTR_LAYOUT or NULL */
    u8 strength;
} choice;

enum value_flag {
    VALUE_MOBILE = 1 << 0,   /* its op is cloned per layout that uses ask for */
    VALUE_CHEAP = 1 << 1,    /* and so may be ops that use it */
    VALUE_ROWS = 1 << 2,     /* reduced along columns, or operand a of a dot */
    VALUE_FROM_DOT = 1 << 3, /* a dot's result, perhaps after elementwise ops */
    VALUE_SMALL = 1 << 4,    /* loaded, few elements: any layout serves */
};

typedef struct assign {
    pass_run *run;
    ir_module *m;
    arena *a;
    ir_op *func;
    const axis_table *axis;
    u32 warp_bits, n_values, n_ops;
    ir_op **ops;        /* program order, parents first; index = op->mark */
    ir_value **values;  /* index = value->mark */
    u32 *parent, *next; /* groups of values with one layout: union-find, circular member list */
    u8 *flags;
    u8 *depth;           /* of ops: loops around them */
    choice *pref, *home; /* of group representatives */
    choice *side;        /* of ops whose layout is not their first result's (rules_has_side) */
    u32 *first_slot;     /* of ops: where their operands start in `asked` */
    struct asked {
        const ir_attr *from, *to;
    } *asked;            /* of operand slots: the last answer of operand_attr */
    map *vectors;        /* shape and order -> elements per access, prefer.c */
    bool changed;
} assign;

/* ---- rules: pure facts of ops, also what layouts_verify checks ---- */
const layout *layout_of(const ir_value *v); /* of its type; NULL when it has none */
u32 reduce_axis(const ir_op *op);
void trans_order(const ir_op *op, u8 order[LAYOUT_MAX_RANK]);
bool dot_fits_matrix(const ir_op *op); /* types and sizes fit the matrix unit */
/* The op has its layout on the operand side, its results follow: reduce, scan, split, store. */
bool rules_has_side(const ir_op *op);
/* Operand i has the op's own layout when its rank is the same (elementwise and memory ops). */
bool rules_keep(const ir_op *op, u32 i);
/* The layout operand i must have when the op's layout is l. False: any layout does. */
bool rules_operand(const ir_op *op, u32 i, const layout *l, layout *out);
/* The layout of result i when the op's layout is l (which is result 0's, or the side's). */
layout rules_result(const ir_op *op, u32 i, const layout *l);
/* The layout of a join (type t) whose operands have layout l. */
layout join_layout(const layout *l, const ir_type *t);
/* Whether l may be the op's layout. */
bool rules_allow(const ir_op *op, const layout *l);
/* Which value a terminator's or scf op's operand i becomes; NULL when none. */
ir_value *carried_value(const ir_op *op, u32 i);

/* ---- values and groups ---- */
u32 group_of(assign *s, const ir_value *v);
const ir_attr *layout_attr(assign *s, const layout *l);
/* rules_operand on attributes, remembering answers; NULL when any layout does. */
const ir_attr *operand_attr(assign *s, const ir_op *op, u32 i, const ir_attr *l);
static inline bool is_tensor(const ir_value *v) { return v->type->kind == IR_TENSOR; }

/* ---- the steps ---- */
void flag_all(assign *s);
void prefer_all(assign *s);
void home_all(assign *s);
/* Coalesced layout for a shape when nothing else decides. */
layout default_layout(assign *s, const ir_type *t);
/* Whether memory is accessed well through pointer tensor `ptr` in layout l. */
bool access_is_good(assign *s, const ir_value *ptr, const layout *l);
/* What operand i of op asks for, given the homes chosen so far. */
choice demand_of(assign *s, ir_op *op, u32 i);
/* The layout an op runs in, given the homes. */
choice op_choice(assign *s, const ir_op *op);
