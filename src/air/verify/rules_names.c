/* SPDX-License-Identifier: MIT */
/* Whether Apple's kernels call an air.* function of this name and type: intrinsics.def lists all that
 * were seen. Types are compared as text, any named struct as %struct. */
#include "air/pools.h"
#include "air/verify/rules_names.h"
#include <stdlib.h>

static const struct intrinsic {
    const char *name, *type;
} intrinsics[] = {
#define INTRINSIC(name, type) {name, type},
#include "air/intrinsics.def"
#undef INTRINSIC
};

static void add_type(text *out, const air_type *t) {
    static const char *const simple[] = {[AIR_VOID] = "void",     [AIR_LABEL] = "label",
                                         [AIR_METADATA] = "metadata", [AIR_HALF] = "half",
                                         [AIR_BFLOAT] = "bfloat", [AIR_FLOAT] = "float",
                                         [AIR_DOUBLE] = "double", [AIR_OPAQUE] = "%struct",
                                         [AIR_STRUCT] = "%struct"};
    if (t->kind == AIR_INT) {
        text_printf(out, "i%u", t->bits);
    } else if (t->kind == AIR_PTR) {
        add_type(out, t->elem);
        if (t->space)
            text_printf(out, " addrspace(%u)", t->space);
        text_putc(out, '*');
    } else if (t->kind == AIR_ARRAY || t->kind == AIR_VECTOR) {
        text_printf(out, "%c%llu x ", t->kind == AIR_ARRAY ? '[' : '<', (unsigned long long)t->count);
        add_type(out, t->elem);
        text_putc(out, t->kind == AIR_ARRAY ? ']' : '>');
    } else if (t->kind == AIR_STRUCT && !t->name) {
        text_puts(out, "{ ");
        for (u32 i = 0; i < t->n_fields; i++) {
            text_puts(out, i ? ", " : "");
            add_type(out, t->fields[i]);
        }
        text_puts(out, " }");
    } else if (t->kind == AIR_FUNC) {
        add_type(out, t->elem);
        text_puts(out, " (");
        for (u32 i = 0; i < t->n_fields; i++) {
            text_puts(out, i ? ", " : "");
            add_type(out, t->fields[i]);
        }
        text_putc(out, ')');
    } else {
        text_puts(out, simple[t->kind]);
    }
}

static int by_name(const void *key, const void *row) {
    return strcmp(key, ((const struct intrinsic *)row)->name);
}

enum air_known air_intrinsic_known(const air_func *f) {
    const struct intrinsic *end = intrinsics + COUNT_OF(intrinsics), *row =
        bsearch(f->v.name, intrinsics, COUNT_OF(intrinsics), sizeof *intrinsics, by_name);
    if (!row)
        return AIR_NAME_UNKNOWN;
    while (row > intrinsics && strcmp(row[-1].name, f->v.name) == 0)
        row--;
    text type = {0};
    add_type(&type, f->func_type);
    bool same = false;
    for (; row < end && strcmp(row->name, f->v.name) == 0 && !same; row++)
        same = strcmp(row->type, type.at) == 0;
    text_free(&type);
    return same ? AIR_NAME_KNOWN : AIR_TYPE_UNKNOWN;
}
