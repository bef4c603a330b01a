/* SPDX-License-Identifier: MIT */
/* Types and attributes as text. */
#include "ir/print/print_in.h"
#include <stdlib.h>

/* ---- Types ------------------------------------------------------------------------------------------ */

static void print_shape(printer *p, const ir_type *t) {
    for (u32 i = 0; i < t->rank; i++) {
        put_int(p, t->shape[i]);
        put(p, "x");
    }
}

/* Modules that are wrong are printed too, in messages: another type is written out whole. */
void print_pointer_body(printer *p, const ir_type *t) {
    if (t->kind != IR_PTR) {
        print_type(p, t);
        return;
    }
    put(p, "<");
    print_type(p, t->elem);
    if (t->space == IR_SPACE_CONSTANT) {
        put(p, ", \"constant\"");
    } else if (t->space != IR_SPACE_DEVICE) {
        put(p, ", ");
        put_int(p, t->space);
    }
    put(p, ">");
}

static void print_encoding(printer *p, const ir_type *t) {
    if (t->encoding) {
        put(p, ", ");
        print_attr(p, t->encoding);
    }
}

void print_desc_body(printer *p, const ir_type *t) {
    if (t->kind != IR_TENSORDESC) {
        print_type(p, t);
        return;
    }
    put(p, "<");
    print_shape(p, t);
    print_type(p, t->elem);
    print_encoding(p, t);
    put(p, ">");
}

static void print_memdesc(printer *p, const ir_type *t) {
    put(p, "!ttg.memdesc<");
    print_shape(p, t);
    print_type(p, t->elem);
    print_encoding(p, t);
    put(p, t->text ? t->text : "");
    put(p, ">");
}

void print_types(printer *p, u32 n, const ir_type *const *types) {
    for (u32 i = 0; i < n; i++) {
        if (i)
            put(p, ", ");
        print_type(p, types[i]);
    }
}

static void print_func_type(printer *p, const ir_type *t) {
    u32 n_results = t->n_list - t->n_params;
    bool bare = n_results == 1 && t->list[t->n_params]->kind != IR_FUNC;
    put(p, "(");
    print_types(p, t->n_params, t->list);
    put(p, bare ? ") -> " : ") -> (");
    print_types(p, n_results, t->list + t->n_params);
    put(p, bare ? "" : ")");
}

static void print_tensor(printer *p, const ir_type *t) {
    put(p, "tensor<");
    print_shape(p, t);
    print_type(p, t->elem);
    print_encoding(p, t);
    put(p, ">");
}

/* Tensor types are long and repeat: their text is kept. */
static void print_cached_tensor(printer *p, const ir_type *t) {
    if (p->collect) {
        if (t->encoding)
            print_attr(p, t->encoding);
        return;
    }
    if (!p->types) {
        print_tensor(p, t);
        return;
    }
    cached_text *c = &p->types[t->id];
    if (c->at) {
        put_n(p, c->at, c->len);
        return;
    }
    size_t start = p->out->len;
    print_tensor(p, t);
    c->len = (u32)(p->out->len - start);
    c->at = arena_str(p->arena, p->out->at + start, c->len);
}

void print_type(printer *p, const ir_type *t) {
    switch ((enum ir_type_kind)t->kind) {
    case IR_INDEX: put(p, "index"); return;
    case IR_INT:
        put(p, t->sign == 's' ? "si" : t->sign == 'u' ? "ui" : "i");
        put_int(p, t->width);
        return;
    case IR_FLOAT: put(p, ir_float_name(t->float_kind)); return;
    case IR_PTR:
        put(p, "!tt.ptr");
        print_pointer_body(p, t);
        return;
    case IR_TENSOR: print_cached_tensor(p, t); return;
    case IR_VECTOR:
        put(p, "vector<");
        print_shape(p, t);
        print_type(p, t->elem);
        put(p, ">");
        return;
    case IR_MATRIX:
        put(p, "!tm.matrix<");
        print_type(p, t->elem);
        put(p, ">");
        return;
    case IR_TENSORDESC:
        put(p, "!tt.tensordesc");
        print_desc_body(p, t);
        return;
    case IR_MEMDESC: print_memdesc(p, t); return;
    case IR_FUNC: print_func_type(p, t); return;
    case IR_OTHER: put(p, t->text); return;
    }
}

/* ---- Names and strings ------------------------------------------------------------------------------ */

void print_quoted(printer *p, const char *s, size_t len) {
    static const char hex[] = "0123456789ABCDEF";
    put(p, "\"");
    for (size_t i = 0; i < len; i++) {
        u8 c = (u8)s[i];
        if (c == '\\')
            put(p, "\\\\");
        else if (c >= 32 && c < 127 && c != '"')
            put_n(p, &s[i], 1);
        else
            put_n(p, (char[]){'\\', hex[c >> 4], hex[c & 15]}, 3);
    }
    put(p, "\"");
}

static bool is_bare(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
        bool other = (s[i] >= '0' && s[i] <= '9') || s[i] == '$' || s[i] == '.';
        if (!letter && (i == 0 || !other))
            return false;
    }
    return len > 0;
}

static void print_name_or_string(printer *p, const char *s, size_t len) {
    if (is_bare(s, len))
        put_n(p, s, len);
    else
        print_quoted(p, s, len);
}

void print_symbol(printer *p, const char *s, size_t len) {
    put(p, "@");
    print_name_or_string(p, s, len);
}

/* ---- Attributes ------------------------------------------------------------------------------------- */

/* A number without its type; tells whether it was written as hex bits. */
static bool print_number(printer *p, const ir_type *t, i64 v) {
    bool hex = false;
    if (p->collect)
        return false;
    if (t->kind == IR_FLOAT)
        print_float(p->out, t->float_kind, (u64)v, &hex);
    else if (ir_is_int(t, 1) && t->sign == 0)
        put(p, v ? "true" : "false");
    else if (t->sign == 'u')
        text_printf(p->out, "%llu", (unsigned long long)v);
    else
        put_int(p, v);
    return hex;
}

static void print_elements(printer *p, const ir_type *t, u32 dim, const i64 **next) {
    if (dim == t->rank) {
        print_number(p, t->elem, *(*next)++);
        return;
    }
    put(p, "[");
    for (i64 i = 0; i < t->shape[dim]; i++) {
        if (i)
            put(p, ", ");
        print_elements(p, t, dim + 1, next);
    }
    put(p, "]");
}

static void print_blob(printer *p, const ir_attr *a) {
    static const char hex[] = "0123456789ABCDEF";
    u32 size = ir_type_bytes(a->type->elem);
    put(p, "\"0x");
    for (u32 i = 0; i < a->count; i++)
        for (u32 b = 0; b < size; b++) {
            u8 byte = (u8)((u64)a->ints[i] >> (8 * b));
            put_n(p, (char[]){hex[byte >> 4], hex[byte & 15]}, 2);
        }
    put(p, "\"");
}

static void print_dense(printer *p, const ir_attr *a) {
    enum { MOST_IN_WORDS = 100 };
    const i64 *next = a->ints;
    put(p, "dense<");
    if (p->collect)
        ;
    else if (a->splat)
        print_number(p, a->type->elem, a->ints[0]);
    else if (a->count > MOST_IN_WORDS && a->type->elem->width >= 8)
        print_blob(p, a);
    else
        print_elements(p, a->type, 0, &next);
    put(p, "> : ");
    print_type(p, a->type);
}

static void print_int_array(printer *p, const ir_attr *a) {
    put(p, "array<");
    print_type(p, a->type);
    for (u32 i = 0; i < a->count; i++) {
        put(p, i ? ", " : ": ");
        print_number(p, a->type, a->ints[i]);
    }
    put(p, ">");
}

static void print_typed_number(printer *p, const ir_attr *a, bool may_drop_type) {
    bool hex = print_number(p, a->type, a->i);
    if (ir_is_int(a->type, 1) && a->type->sign == 0)
        return;
    bool usual = (ir_is_int(a->type, 64) && a->type->sign == 0) ||
                 (a->type->kind == IR_FLOAT && a->type->float_kind == IR_F64 && !hex);
    if (may_drop_type && usual)
        return;
    put(p, " : ");
    print_type(p, a->type);
}

/* Text with byte 1 in the places of its parts. */
static void print_text_parts(printer *p, const ir_attr *a) {
    const char *s = a->text;
    for (u32 i = 0; *s; i++) {
        size_t n = strcspn(s, "\1");
        put_n(p, s, n);
        s += n;
        if (*s) {
            if (i < a->count)
                print_attr(p, a->list[i]);
            s++;
        }
    }
}

static void print_layout_text(printer *p, const ir_attr *a) {
    put(p, "#ttg.linear<");
    if (!p->collect)
        layout_print(p->out, a->layout);
    put(p, ">");
}

static void print_array(printer *p, const ir_attr *a) {
    put(p, "[");
    for (u32 i = 0; i < a->count; i++) {
        const ir_attr *e = a->list[i];
        if (i)
            put(p, ", ");
        if (e->kind == IR_ATTR_INT || e->kind == IR_ATTR_FLOAT)
            print_typed_number(p, e, true);
        else
            print_attr(p, e);
    }
    put(p, "]");
}

void print_attr_inline(printer *p, const ir_attr *a) {
    switch ((enum ir_attr_kind)a->kind) {
    case IR_ATTR_UNIT: put(p, "unit"); return;
    case IR_ATTR_INT:
    case IR_ATTR_FLOAT: print_typed_number(p, a, false); return;
    case IR_ATTR_STRING: print_quoted(p, a->text, a->count); return;
    case IR_ATTR_SYMBOL: print_symbol(p, a->text, a->count); return;
    case IR_ATTR_TYPE: print_type(p, a->type); return;
    case IR_ATTR_ARRAY: print_array(p, a); return;
    case IR_ATTR_INTS: print_int_array(p, a); return;
    case IR_ATTR_DENSE: print_dense(p, a); return;
    case IR_ATTR_DICT: print_dict(p, a->count, a->named); return;
    case IR_ATTR_LAYOUT: print_layout_text(p, a); return;
    case IR_ATTR_OTHER: print_text_parts(p, a); return;
    }
}

void print_attr(printer *p, const ir_attr *a) {
    if (!print_attr_alias(p, a))
        print_attr_inline(p, a);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const ir_named_attr *)a)->name, ((const ir_named_attr *)b)->name);
}

void print_dict(printer *p, u32 n, const ir_named_attr *attrs) {
    bool sorted = true;
    for (u32 i = 1; i < n && sorted; i++)
        sorted = by_name(&attrs[i - 1], &attrs[i]) <= 0;
    if (!sorted) {
        ir_named_attr *copy = arena_dup(p->arena, attrs, n * sizeof *attrs);
        qsort(copy, n, sizeof *copy, by_name);
        attrs = copy;
    }
    put(p, "{");
    for (u32 i = 0; i < n; i++) {
        if (i)
            put(p, ", ");
        print_name_or_string(p, attrs[i].name, strlen(attrs[i].name));
        if (attrs[i].value->kind != IR_ATTR_UNIT) {
            put(p, " = ");
            print_attr(p, attrs[i].value);
        }
    }
    put(p, "}");
}

/* Whether `name` stands in the list between commas or braces. */
static bool is_listed(const char *list, const char *name) {
    size_t len = strlen(name);
    for (const char *at = list; len && (at = strstr(at, name)); at++)
        if (at > list && strchr(",{", at[-1]) && at[len] && strchr(",}", at[len]))
            return true;
    return false;
}

void print_attrs_but(printer *p, const ir_op *op, const char *prefix, const char *without) {
    if (op->n_attrs == 0)
        return;
    ir_named_attr few[16], *kept = few;
    if (op->n_attrs > COUNT_OF(few))
        kept = arena_alloc(p->arena, op->n_attrs * sizeof *kept);
    u32 n = 0;
    for (u32 i = 0; i < op->n_attrs; i++) {
        if (!is_listed(without, op->attrs[i].name) &&
            strcmp(op->attrs[i].name, "operandSegmentSizes") != 0)
            kept[n++] = op->attrs[i];
    }
    if (n == 0)
        return;
    put(p, prefix);
    print_dict(p, n, kept);
}
