/* SPDX-License-Identifier: MIT */
/* The printer's state and its parts, for this folder only.
 * The same code runs twice over a module: first with `collect` set, when nothing is written and every
 * attribute and location that has an alias is noted in the order of printing; then for real. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "ir/forms.h"
#include "ir/text.h"

typedef struct print_name {
    const ir_value *value;
    const char *name; /* NULL: a number */
    u32 number;       /* or the name's length */
} print_name;

typedef struct print_alias {
    const ir_loc *loc;   /* one of the two */
    const ir_attr *attr;
    const char *base;    /* "loc", "blocked" */
    u32 depth, order, number;
    bool deferred;       /* may stand behind the module */
    VEC(u32) parts;      /* aliases inside it */
} print_alias;

typedef struct cached_text {
    const char *at;
    u32 len;
} cached_text;

typedef struct printer {
    text *out;
    const ir_module *m;
    arena *arena;
    u32 flags, indent;
    bool collect;
    /* names of values and blocks (names.c) */
    print_name *names;
    u32 name_mask, n_names;
    map *blocks; /* block -> number + 1 */
    map *preds;  /* block -> VEC of numbers of predecessors */
    /* aliases (alias.c): by id, index + 1 */
    u32 *loc_alias, *attr_alias;
    VEC(print_alias) aliases;
    cached_text *types; /* by id */
} printer;

static inline void put(printer *p, const char *s) {
    if (!p->collect)
        text_puts(p->out, s);
}
static inline void put_n(printer *p, const char *s, size_t n) {
    if (!p->collect)
        text_add(p->out, s, n);
}
static inline void put_int(printer *p, i64 v) {
    if (!p->collect)
        text_int(p->out, v);
}

void print_number_values(printer *p, const ir_op *root);
void print_value(printer *p, const ir_value *v);
void print_result_group(printer *p, const ir_value *first, u32 count);
u32 print_result_groups(const ir_op *op); /* 1, or n for an op whose results have names of their own */
u32 print_block_number(printer *p, const ir_block *b);

u32 print_visit_loc(printer *p, const ir_loc *loc, bool may_defer); /* collecting: its depth */
bool print_attr_alias(printer *p, const ir_attr *a); /* writes or collects the alias; false if none */
void print_order_aliases(printer *p);
void print_alias_definitions(printer *p, bool deferred);
void print_loc(printer *p, const ir_loc *loc, bool alias);      /* without "loc(" */
void print_trailing_loc(printer *p, const ir_loc *loc, bool alias); /* " loc(...)", if asked for */

void print_type(printer *p, const ir_type *t);
void print_types(printer *p, u32 n, const ir_type *const *types); /* T, U */
void print_attr(printer *p, const ir_attr *a);
void print_attr_inline(printer *p, const ir_attr *a); /* no alias for a itself */
void print_float(text *out, u32 kind, u64 bits, bool *hex);
void print_dict(printer *p, u32 n, const ir_named_attr *attrs); /* {a = 1 : i32}, by name */
void print_quoted(printer *p, const char *s, size_t len);
void print_symbol(printer *p, const char *s, size_t len);
void print_pointer_body(printer *p, const ir_type *t);
void print_desc_body(printer *p, const ir_type *t);

void print_op(printer *p, const ir_op *op);           /* with results and location, no indent */
void print_form(printer *p, const ir_op *op, const ir_form *form);
bool print_own(printer *p, const ir_op *op);          /* false: generic form */
void print_region(printer *p, const ir_region *region, bool entry_args, bool terminators,
                  bool empty_label);
/* " {...}" of op's attributes but those named in `without` (",a,b,"). */
void print_attrs_but(printer *p, const ir_op *op, const char *prefix, const char *without);
