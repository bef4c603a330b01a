/* SPDX-License-Identifier: MIT */
/* Prints names, types, constants and attributes as llvm-dis 14 does. */
#include "air/print/print.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

void print_escaped(text *out, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        u8 c = (u8)s[i];
        if (c >= 32 && c < 127 && c != '"' && c != '\\')
            text_putc(out, (char)c);
        else
            text_printf(out, "\\%02X", c);
    }
}

void print_name(text *out, char sigil, const char *name) {
    size_t len = strlen(name), plain = 0;
    while (plain < len && (isalnum((u8)name[plain]) || strchr("-._", name[plain])))
        plain++;
    text_putc(out, sigil);
    if (plain == len && len && !isdigit((u8)name[0])) {
        text_add(out, name, len);
        return;
    }
    text_putc(out, '"');
    print_escaped(out, name, len);
    text_putc(out, '"');
}

void print_struct_body(air_printer *p, const air_type *t) {
    text *out = p->out;
    if (t->kind == AIR_OPAQUE) {
        text_puts(out, "opaque");
        return;
    }
    text_puts(out, t->packed ? "<{" : "{");
    for (u32 i = 0; i < t->n_fields; i++) {
        text_puts(out, i ? ", " : " ");
        print_air_type(p, t->fields[i]);
    }
    text_puts(out, t->n_fields ? " }" : "}");
    if (t->packed)
        text_putc(out, '>');
}

static void print_func_type(air_printer *p, const air_type *t) {
    print_air_type(p, t->elem);
    text_puts(p->out, " (");
    for (u32 i = 0; i < t->n_fields; i++) {
        if (i)
            text_puts(p->out, ", ");
        print_air_type(p, t->fields[i]);
    }
    if (t->vararg)
        text_puts(p->out, t->n_fields ? ", ..." : "...");
    text_putc(p->out, ')');
}

void print_air_type(air_printer *p, const air_type *t) {
    static const char *const simple[] = {
        [AIR_VOID] = "void", [AIR_LABEL] = "label", [AIR_METADATA] = "metadata",
        [AIR_HALF] = "half", [AIR_BFLOAT] = "bfloat", [AIR_FLOAT] = "float", [AIR_DOUBLE] = "double",
    };
    text *out = p->out;
    switch ((enum air_type_kind)t->kind) {
    case AIR_VOID:
    case AIR_LABEL:
    case AIR_METADATA:
    case AIR_HALF:
    case AIR_BFLOAT:
    case AIR_FLOAT:
    case AIR_DOUBLE: text_puts(out, simple[t->kind]); return;
    case AIR_INT: text_printf(out, "i%u", t->bits); return;
    case AIR_PTR:
        print_air_type(p, t->elem);
        if (t->space)
            text_printf(out, " addrspace(%u)", t->space);
        text_putc(out, '*');
        return;
    case AIR_ARRAY:
    case AIR_VECTOR:
        text_printf(out, "%c%llu x ", t->kind == AIR_ARRAY ? '[' : '<', (unsigned long long)t->count);
        print_air_type(p, t->elem);
        text_putc(out, t->kind == AIR_ARRAY ? ']' : '>');
        return;
    case AIR_STRUCT:
    case AIR_OPAQUE:
        if (t->name && t->name[0]) {
            print_name(out, '%', t->name);
        } else if (t->name) {
            void **number = map_get(p->seen, MAP_KEY(t));
            text_printf(out, "%%%u", number && *number ? (u32)((uintptr_t)*number - 1) : 0);
        } else {
            print_struct_body(p, t);
        }
        return;
    case AIR_FUNC: print_func_type(p, t); return;
    }
}

/* ---- Constants -------------------------------------------------------------------------------- */
static u64 float_as_double_bits(u32 bits) {
    if ((bits & 0x7F800000u) == 0x7F800000u)
        return (u64)(bits >> 31) << 63 | 0x7FFull << 52 | (u64)(bits & 0x7FFFFFu) << 29;
    float f;
    memcpy(&f, &bits, 4);
    double d = f;
    u64 wide;
    memcpy(&wide, &d, 8);
    return wide;
}

/* Six digits when they say it all, else the bits of the value as a double. */
static void print_float(text *out, const air_type *t, u64 bits) {
    if (t->kind == AIR_HALF || t->kind == AIR_BFLOAT) {
        text_printf(out, "0x%c%04X", t->kind == AIR_HALF ? 'H' : 'R', (u32)bits);
        return;
    }
    u64 wide = t->kind == AIR_FLOAT ? float_as_double_bits((u32)bits) : bits;
    double value;
    memcpy(&value, &wide, 8);
    if ((wide >> 52 & 0x7FF) != 0x7FF) {
        char digits[40];
        snprintf(digits, sizeof digits, "%.5e", value);
        char *e = strchr(digits, 'e');
        if (strtod(digits, NULL) == value && e) {
            text_printf(out, "%.*s0%s", (int)(e - digits), digits, e);
            return;
        }
    }
    text_printf(out, "0x%016llX", (unsigned long long)wide);
}

static void print_int(text *out, const air_type *t, u64 value) {
    u32 shift = 64 - t->bits;
    if (t->bits == 1)
        text_puts(out, value ? "true" : "false");
    else
        text_int(out, (i64)(value << shift) >> shift);
}

static void print_number(text *out, const air_type *t, u64 value) {
    if (t->kind == AIR_INT)
        print_int(out, t, value);
    else
        print_float(out, t, value);
}

static void print_data(air_printer *p, const air_const *c) {
    const air_type *e = c->v.type->elem;
    if (c->cstring) {
        text_puts(p->out, "c\"");
        print_escaped(p->out, (const char *)c->data, c->data_len);
        text_putc(p->out, '"');
        return;
    }
    u32 width = air_data_width(e);
    bool vector = c->v.type->kind == AIR_VECTOR;
    text_putc(p->out, vector ? '<' : '[');
    for (u64 at = 0; at < c->data_len; at += width) {
        u64 value = 0;
        for (u32 b = 0; b < width; b++)
            value |= (u64)c->data[at + b] << (8 * b);
        if (at)
            text_puts(p->out, ", ");
        print_air_type(p, e);
        text_putc(p->out, ' ');
        print_number(p->out, e, value);
    }
    text_putc(p->out, vector ? '>' : ']');
}

static void print_list(air_printer *p, const air_const *c) {
    for (u32 i = 0; i < c->n_elems; i++) {
        if (i)
            text_puts(p->out, ", ");
        if (c->kind == AIR_C_GEP && c->inrange && i == c->inrange)
            text_puts(p->out, "inrange ");
        print_typed(p, c->elems[i]);
    }
}

static void print_aggregate(air_printer *p, const air_const *c) {
    const air_type *t = c->v.type;
    const char *open = t->kind == AIR_VECTOR  ? "<"
                       : t->kind == AIR_ARRAY ? "["
                       : t->packed            ? "<{ "
                                              : "{ ";
    const char *close = t->kind == AIR_VECTOR  ? ">"
                        : t->kind == AIR_ARRAY ? "]"
                        : t->packed            ? " }>"
                                               : " }";
    text_puts(p->out, open);
    print_list(p, c);
    text_puts(p->out, close);
}

static const char *const cast_names[] = {
    "trunc", "zext", "sext", "fptoui", "fptosi", "uitofp", "sitofp", "fptrunc", "fpext",
    "ptrtoint", "inttoptr", "bitcast", "addrspacecast",
};
const char *print_cast_name(u32 op) { return op < COUNT_OF(cast_names) ? cast_names[op] : "?"; }

static void print_const(air_printer *p, const air_const *c) {
    text *out = p->out;
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_NULL:
        text_puts(out, c->v.type->kind == AIR_PTR ? "null" : "zeroinitializer");
        return;
    case AIR_C_UNDEF: text_puts(out, "undef"); return;
    case AIR_C_POISON: text_puts(out, "poison"); return;
    case AIR_C_INT:
    case AIR_C_FLOAT: print_number(out, c->v.type, c->wide); return;
    case AIR_C_AGGREGATE: print_aggregate(p, c); return;
    case AIR_C_DATA: print_data(p, c); return;
    case AIR_C_CAST:
        text_printf(out, "%s (", print_cast_name(c->op));
        print_typed(p, c->elems[0]);
        text_puts(out, " to ");
        print_air_type(p, c->v.type);
        text_putc(out, ')');
        return;
    case AIR_C_GEP:
        text_printf(out, "getelementptr %s(", c->inbounds ? "inbounds " : "");
        print_air_type(p, c->aux);
        text_puts(out, ", ");
        print_list(p, c);
        text_putc(out, ')');
        return;
    }
}

void print_air_value(air_printer *p, const air_value *v) {
    switch ((enum air_value_kind)v->kind) {
    case AIR_V_CONST: print_const(p, (const air_const *)v); return;
    case AIR_V_GLOBAL:
    case AIR_V_FUNC: print_name(p->out, '@', v->name); return;
    case AIR_V_ARG:
    case AIR_V_INST:
        if (v->name)
            print_name(p->out, '%', v->name);
        else
            text_printf(p->out, "%%%u", v->id);
        return;
    case AIR_V_MD: print_md_operand(p, ((const air_md_ref *)v)->md); return;
    }
}

void print_typed(air_printer *p, const air_value *v) {
    print_air_type(p, v->type);
    text_putc(p->out, ' ');
    print_air_value(p, v);
}

void print_md_operand(air_printer *p, const air_md *md) {
    if (!md) {
        text_puts(p->out, "null");
    } else if (md->kind == AIR_MD_STRING) {
        text_puts(p->out, "!\"");
        print_escaped(p->out, md->text, md->n);
        text_putc(p->out, '"');
    } else if (md->kind == AIR_MD_VALUE) {
        print_typed(p, md->value);
    } else {
        text_printf(p->out, "!%u", md->id);
    }
}

void print_md_kind(air_printer *p, u32 kind) {
    text_putc(p->out, '!');
    for (const char *s = p->m->md_kinds.at[kind]; *s; s++)
        if (isalnum((u8)*s) || strchr("-$._", *s))
            text_putc(p->out, *s);
        else
            text_printf(p->out, "\\%02X", (u8)*s);
}

/* ---- Attributes ------------------------------------------------------------------------------- */
static const char *const attr_names[] = {
    [1] = "align", "alwaysinline", "byval", "inlinehint", "inreg", "minsize", "naked", "nest",
    "noalias", "nobuiltin", "nocapture", "noduplicate", "noimplicitfloat", "noinline",
    "nonlazybind", "noredzone", "noreturn", "nounwind", "optsize", "readnone", "readonly",
    "returned", "returns_twice", "signext", "alignstack", "ssp", "sspreq", "sspstrong", "sret",
    "sanitize_address", "sanitize_thread", "sanitize_memory", "uwtable", "zeroext", "builtin",
    "cold", "optnone", "inalloca", "nonnull", "jumptable", "dereferenceable",
    "dereferenceable_or_null", "convergent", "safestack", "argmemonly", "swiftself", "swifterror",
    "norecurse", "inaccessiblememonly", "inaccessiblemem_or_argmemonly", "allocsize", "writeonly",
    "speculatable", "strictfp", "sanitize_hwaddress", "nocf_check", "optforfuzzing",
    "shadowcallstack", "speculative_load_hardening", "immarg", "willreturn", "nofree", "nosync",
    "sanitize_memtag", "preallocated", "nomerge", "null_pointer_is_valid", "noundef", "byref",
    "mustprogress", "nocallback", "vscale_range", "swiftasync", "nosanitize_coverage",
    "elementtype", "disable_sanitizer_instrumentation",
};
enum { ATTR_ALIGN = 1, ATTR_ALIGNSTACK = 25 };

static void print_attr(air_printer *p, text *out, const air_attr *a, bool in_group) {
    if (a->form == AIR_ATTR_KEY || a->form == AIR_ATTR_KEY_VALUE) {
        text_putc(out, '"');
        print_escaped(out, a->key, strlen(a->key));
        text_putc(out, '"');
        if (a->form == AIR_ATTR_KEY_VALUE && a->text[0]) {
            text_puts(out, "=\"");
            print_escaped(out, a->text, strlen(a->text));
            text_putc(out, '"');
        }
        return;
    }
    const char *name = a->kind < COUNT_OF(attr_names) ? attr_names[a->kind] : NULL;
    if (name)
        text_puts(out, name);
    else
        text_printf(out, "\"attribute-%u\"", a->kind);
    if (a->form == AIR_ATTR_INT) {
        bool spaced = a->kind == ATTR_ALIGN && !in_group;
        bool equals = in_group && (a->kind == ATTR_ALIGN || a->kind == ATTR_ALIGNSTACK);
        text_printf(out, spaced ? " %llu" : equals ? "=%llu" : "(%llu)",
                    (unsigned long long)a->value);
    } else if (a->form == AIR_ATTR_TYPE_VALUE) {
        text *saved = p->out;
        p->out = out;
        text_putc(out, '(');
        print_air_type(p, a->type);
        text_putc(out, ')');
        p->out = saved;
    }
}

void print_attrs(air_printer *p, text *out, u32 list, u32 slot, const char *before,
                 const char *after) {
    if (!list)
        return;
    const air_attr_list *l = &p->m->attr_lists.at[list - 1];
    for (u32 g = 0; g < l->n; g++) {
        const air_attr_group *group = &p->m->attr_groups.at[l->groups[g]];
        for (u32 i = 0; group->slot == slot && i < group->n; i++) {
            text_puts(out, before);
            print_attr(p, out, &group->at[i], false);
            text_puts(out, after);
        }
    }
}

void print_attr_set(air_printer *p, text *out, u32 list, bool in_group) {
    const air_attr_list *l = &p->m->attr_lists.at[list - 1];
    bool any = false;
    for (u32 g = 0; g < l->n; g++) {
        const air_attr_group *group = &p->m->attr_groups.at[l->groups[g]];
        for (u32 i = 0; group->slot == SLOT_FUNCTION && i < group->n; i++) {
            const air_attr *a = &group->at[i];
            bool is_text = a->form == AIR_ATTR_KEY || a->form == AIR_ATTR_KEY_VALUE;
            if (is_text && !in_group)
                continue;
            if (any)
                text_putc(out, ' ');
            any = true;
            print_attr(p, out, a, in_group);
        }
    }
}
