/* SPDX-License-Identifier: MIT */
/* The parser's state and its parts, for this folder only.
 * Reading is by recursive descent straight over the characters, one pass, names resolved on the way;
 * the first error ends it. Everything that recurses goes through read_enter, which bounds the depth. */
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "ir/format.h"
#include "ir/forms.h"
#include "ir/locs.h"
#include "ir/text.h"

enum { READ_MAX_DEPTH = 200, READ_MAX_ALIAS_WEIGHT = 1000, READ_MAX_LOC_DEPTH = 1000 };

typedef struct read_alias {
    const char *at, *after; /* the definition's value, and what follows it once read */
    const char *name; /* with the '#' or '!' */
    u32 len;
    enum { ALIAS_UNREAD, ALIAS_BUSY, ALIAS_READ } state;
    const ir_attr *attr;
    const ir_type *type;
    const ir_loc *loc;
    u32 weight; /* attributes and types it stands for */
} read_alias;

/* A use before its definition: a stand-in value until the definition comes. */
typedef struct read_later {
    ir_value *value;
    u32 index;
    const char *at;
    struct read_later *next;
} read_later;

typedef struct read_name {
    const char *text;
    u32 len;
    u32 hash;
    ir_value *first; /* NULL: not defined here */
    u32 count;       /* values at `first` */
    read_later *later;
} read_name;

typedef struct read_ref { /* an operand as written: %name#index */
    const char *at;
    u32 name, index; /* into names.at */
} read_ref;

typedef struct read_block { /* a block label of the region being read */
    ir_block *block;
    const char *at; /* first use, or definition */
    bool defined;
    struct read_block *next;
} read_block;

typedef struct read_region {
    ir_region *region;
    strmap *labels; /* name -> read_block*, NULL while there are none */
    read_block *blocks;
} read_region;

typedef struct reader {
    ir_module *m;
    tm_ctx *ctx;
    const char *file;
    const char *start, *at, *end;
    arena *keep, *scratch; /* keep: as long as the reader; scratch: as long as an op */
    u32 depth, weight;
    const char *line_start; /* line `line` starts here: the last line asked for */
    u32 line;
    strmap *aliases, *codes;
    map *layouts; /* tensor type with a layout as text -> the same with IR_ATTR_LAYOUT */
    VEC(read_name) names;
    u32 *name_slots, name_mask;
    VEC(u32) defined; /* names defined in open scopes, innermost last */
    u32 n_later;
    read_region *region;
    VEC(char) text;  /* the last string literal */
} reader;

/* ---- Characters and tokens (token.c) ------------------------------------------------------ */
tm_status read_fail(reader *r, const char *at, enum diag_code code, ...);
tm_status read_expected(reader *r, const char *what); /* "expected ..., found ..." at the place */
tm_status read_enter(reader *r);                      /* one level deeper; pair with r->depth-- */
src_loc read_place(reader *r, const char *at);
void read_space(reader *r);                           /* white space and comments */
bool read_char(reader *r, char c);                    /* takes it if it comes next */
bool read_peek(reader *r, char c);
bool read_arrow(reader *r);                           /* "->" */
bool read_word(reader *r, const char *word);          /* a whole bare word */
bool read_peek_word(reader *r, const char *word);
tm_status read_need(reader *r, char c);
/* [A-Za-z_][A-Za-z0-9_$.]*; false if something else comes next. */
bool read_name_text(reader *r, const char **text, u32 *len);
bool read_suffix_text(reader *r, const char **text, u32 *len); /* after %, ^, #, !: also - and digits */
tm_status read_string(reader *r, const char **text, u32 *len); /* valid until the next string */
bool read_digits(reader *r, u64 *value);              /* decimal; false without digit or too large */
tm_status read_u32(reader *r, u32 *value);

/* ---- Types, attributes, locations ----------------------------------------------------------------- */
const ir_type *read_type(reader *r);
typedef VEC(const ir_type *) type_list;
tm_status read_types(reader *r, type_list *types);        /* T, U, ... at least one */
tm_status read_paren_types(reader *r, type_list *types);  /* (T, U) or () */
tm_status read_result_types(reader *r, type_list *types); /* T or (T, U) */
/* "4x8x" before an element type; ends behind the last x. */
typedef VEC(i64) dim_list;
tm_status read_dims(reader *r, dim_list *dims);
const ir_type *read_pointer_body(reader *r); /* <f32, 3> */
const ir_type *read_desc_body(reader *r);    /* <4x8xf32> */

const ir_attr *read_attr(reader *r, const ir_type *type); /* type: of untyped numbers, or NULL */
typedef VEC(ir_named_attr) attr_list;
tm_status read_dict(reader *r, attr_list *list); /* {a = 1 : i32, b} */
/* Text between balanced brackets, from '<' to its '>'; inner aliases become parts of `list`. */
typedef VEC(const ir_attr *) part_list;
tm_status read_raw_body(reader *r, text *out, part_list *parts);
bool read_attr_layout(const ir_attr *a, u32 rank, const i64 *shape, layout *out);

const ir_loc *read_loc(reader *r);  /* loc(...) */
tm_status read_optional_loc(reader *r, const ir_loc **loc, const char *otherwise);
read_alias *read_find_alias(reader *r, const char *at, const char *name, u32 len);
tm_status read_alias_use(reader *r, read_alias *a);

/* ---- Values, blocks, ops ------------------------------------------------------------------------- */
tm_status read_ref_of(reader *r, read_ref *ref);
ir_value *read_resolve(reader *r, const read_ref *ref, const ir_type *type);
tm_status read_define(reader *r, const char *at, const char *name, u32 len, ir_value *first, u32 n);
u32 read_scope(reader *r);
void read_scope_end(reader *r, u32 mark);
tm_status read_check_later(reader *r);
ir_block *read_label(reader *r, bool define);

typedef struct read_op { /* an op being read */
    const char *at;
    enum ir_code code;
    const char *other_name;
    VEC(read_ref) refs;
    type_list types;    /* of operands; NULL where the text does not say */
    type_list results;
    attr_list attrs;
    VEC(ir_succ) succs;
    ir_op *op;          /* once built */
} read_op;
/* Resolves the operands and makes the op at the end of `block`. */
tm_status read_build(reader *r, read_op *s, ir_block *block, u32 n_regions);
tm_status read_region_body(reader *r, ir_region *region); /* { ... } */
/* Arguments that the op's own syntax names belong to the first block. */
typedef struct read_arg {
    const char *at, *name;
    u32 len;
    const ir_type *type;
    const ir_loc *loc;
    const ir_named_attr *attrs;
    u32 n_attrs;
    const char *kept_name; /* for ir_value.name, or NULL */
} read_arg;
tm_status read_region_with(reader *r, ir_region *region, const read_arg *args, u32 n_args);
tm_status read_one_op(reader *r, ir_block *block);
tm_status read_generic(reader *r, read_op *s, ir_block *block);
tm_status read_form(reader *r, read_op *s, ir_block *block);
/* Ops with a syntax in code: scf, cf, functions, constants (own.c). */
tm_status read_own(reader *r, read_op *s, ir_block *block);
