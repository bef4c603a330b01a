/* SPDX-License-Identifier: MIT */
/* State of the assembly printer, between its files:
 *   print.c   module, globals, functions
 *   slots.c   numbers of metadata, attributes and unnamed structs; which structs to define
 *   value.c   names, types, constants, metadata operands
 *   inst.c    instructions */
#pragma once
#include "air/pools.h"

typedef struct air_printer {
    text *out;
    const air_module *m;
    arena *scratch;
    VEC(air_md *) mds;         /* numbered nodes; md->id is the number */
    VEC(const air_type *) structs; /* named, in the order to define */
    map *seen;                 /* types, constants, metadata already searched */
    strmap *attr_slots;        /* text of a function's attribute set -> number + 1 */
    VEC(const char *) attr_texts;
    u32 *fn_attr;              /* per attribute list: number + 1 of its function set, 0 none */
    u32 n_unnamed;
} air_printer;

/* slots.c   */
void print_collect_types(air_printer *p);
void print_number_md(air_printer *p, air_md *root);
u32 print_attr_slot(air_printer *p, u32 list); /* number + 1, numbers it on first use */
void print_number_function(air_printer *p, air_func *f);
/* value.c   */
void print_escaped(text *out, const char *s, size_t len);
void print_name(text *out, char sigil, const char *name);
void print_air_type(air_printer *p, const air_type *t);
void print_struct_body(air_printer *p, const air_type *t);
void print_air_value(air_printer *p, const air_value *v); /* without type */
void print_typed(air_printer *p, const air_value *v);
void print_md_operand(air_printer *p, const air_md *md);
void print_md_kind(air_printer *p, u32 kind);
const char *print_cast_name(u32 op);
/* Attributes of one slot of a list, each followed by `end` or preceded by a space. */
void print_attrs(air_printer *p, text *out, u32 list, u32 slot, const char *before,
                 const char *after);
/* As in an attribute group, or the comment above a function (strings left out). */
void print_attr_set(air_printer *p, text *out, u32 list, bool in_group);
/* inst.c   */
void print_inst(air_printer *p, const air_inst *i);
void print_block_ref(air_printer *p, const air_block *b);

enum { SLOT_RETURN = 0, SLOT_FIRST_PARAM = 1 };
#define SLOT_FUNCTION UINT32_MAX
