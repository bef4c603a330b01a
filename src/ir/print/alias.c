/* SPDX-License-Identifier: MIT */
/* Locations, and the aliases (#loc12, #blocked) that stand for locations and layouts.
 * Aliases are ordered by depth, then name, then first use; those that block arguments or attributes
 * need are defined before the module, the others behind it. */
#include "ir/print/print_in.h"
#include <stdlib.h>

/* ---- Collecting ------------------------------------------------------------------------------------------ */

static u32 add_alias(printer *p, print_alias a) {
    a.order = p->aliases.count;
    a.depth = 1;
    VEC_PUSH(p->arena, &p->aliases, a);
    return a.order;
}

static void add_part(printer *p, u32 alias, u32 part) {
    print_alias *a = &p->aliases.at[alias];
    VEC_PUSH(p->arena, &a->parts, part);
    a->depth = MAX(a->depth, p->aliases.at[part].depth + 1);
}

static void must_come_first(printer *p, u32 index) {
    print_alias *a = &p->aliases.at[index];
    if (!a->deferred)
        return;
    a->deferred = false;
    for (u32 i = 0; i < a->parts.count; i++)
        must_come_first(p, p->aliases.at[index].parts.at[i]);
}

static void visit_part(printer *p, u32 alias, const ir_loc *part, bool may_defer) {
    if (part)
        add_part(p, alias, print_visit_loc(p, part, may_defer));
}

/* Depth of recursion is the depth of the location, which the parser bounds. */
u32 print_visit_loc(printer *p, const ir_loc *loc, bool may_defer) {
    u32 known = p->loc_alias[loc->id];
    if (known) {
        if (!may_defer)
            must_come_first(p, known - 1);
        return known - 1;
    }
    u32 index = add_alias(p, (print_alias){.loc = loc, .base = "loc", .deferred = may_defer});
    p->loc_alias[loc->id] = index + 1;
    if (loc->kind != IR_LOC_NAME || loc->a->kind != IR_LOC_UNKNOWN)
        visit_part(p, index, loc->a, may_defer);
    visit_part(p, index, loc->b, may_defer);
    for (u32 i = 0; i < loc->count; i++)
        visit_part(p, index, loc->list[i], may_defer);
    return index;
}

/* The alias that upstream gives to attributes of this kind, or NULL. */
static const char *alias_base(const ir_attr *a, arena *keep) {
    static const struct {
        const char *start, *base;
    } known[] = {
        {"#ttg.blocked<", "blocked"},        {"#ttg.linear<", "linear"},
        {"#ttg.nvidia_mma<", "mma"},         {"#ttg.amd_mfma<", "mma"},
        {"#ttg.amd_wmma<", "mma"},           {"#ttg.swizzled_shared<", "shared"},
        {"#ttg.nvmma_shared<", "shared"},    {"#ttg.padded_shared<", "shared"},
        {"#ttg.shared_linear<", "shared"},   {"#ttg.shared_memory", "smem"},
        {"#llvm.loop_annotation<", NULL},    {"#llvm.loop_licm<", NULL},
        {"#llvm.loop_unroll<", NULL},        {"#llvm.loop_vectorize<", NULL},
        {"#llvm.loop_interleave<", NULL},    {"#llvm.loop_distribute<", NULL},
        {"#llvm.loop_pipeline<", NULL},      {"#llvm.loop_peeled<", NULL},
        {"#llvm.loop_unroll_and_jam<", NULL}, {"#llvm.loop_unswitch<", NULL},
    };
    if (a->kind == IR_ATTR_LAYOUT)
        return "linear";
    if (a->kind != IR_ATTR_OTHER)
        return NULL;
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (strncmp(a->text, known[i].start, strlen(known[i].start)) == 0)
            return known[i].base ? known[i].base /* without a base: the attribute's own name */
                                 : arena_str(keep, a->text + 6, strcspn(a->text + 6, "<"));
    return NULL;
}

static bool collect_attr(printer *p, const ir_attr *a) {
    if (p->attr_alias[a->id])
        return true;
    const char *base = alias_base(a, p->arena);
    if (!base)
        return false;
    u32 index = add_alias(p, (print_alias){.attr = a, .base = base});
    p->attr_alias[a->id] = index + 1;
    for (u32 i = 0; a->kind == IR_ATTR_OTHER && i < a->count; i++) {
        print_attr(p, a->list[i]);
        if (p->attr_alias[a->list[i]->id])
            add_part(p, index, p->attr_alias[a->list[i]->id] - 1);
    }
    return true;
}

/* ---- Naming ------------------------------------------------------------------------------------------------ */

static int in_order(const void *x, const void *y) {
    const print_alias *a = x, *b = y;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    int names = strcmp(a->base, b->base);
    return names ? names : a->order < b->order ? -1 : 1;
}

/* Sorts the aliases and numbers those of one name. From here on loc_alias and attr_alias are places in
 * the sorted list. */
void print_order_aliases(printer *p) {
    if (p->aliases.count == 0)
        return;
    qsort(p->aliases.at, p->aliases.count, sizeof *p->aliases.at, in_order);
    strmap *counts = strmap_new(p->arena);
    for (u32 i = 0; i < p->aliases.count; i++) {
        print_alias *a = &p->aliases.at[i];
        void **count = strmap_put(counts, a->base, strlen(a->base), NULL);
        a->number = (u32)(uintptr_t)*count;
        *count = (void *)(uintptr_t)(a->number + 1);
        *(a->loc ? &p->loc_alias[a->loc->id] : &p->attr_alias[a->attr->id]) = i + 1;
    }
}

static void put_alias(printer *p, u32 index) {
    const print_alias *a = &p->aliases.at[index];
    put(p, "#");
    put(p, a->base);
    if (a->number)
        put_int(p, a->number);
}

bool print_attr_alias(printer *p, const ir_attr *a) {
    if (!p->attr_alias || (a->kind != IR_ATTR_LAYOUT && a->kind != IR_ATTR_OTHER))
        return false;
    if (p->collect)
        return collect_attr(p, a);
    u32 known = p->attr_alias[a->id];
    if (!known)
        return false;
    put_alias(p, known - 1);
    return true;
}

void print_alias_definitions(printer *p, bool deferred) {
    for (u32 i = 0; i < p->aliases.count; i++) {
        const print_alias *a = &p->aliases.at[i];
        if (a->deferred != deferred)
            continue;
        put_alias(p, i);
        put(p, " = ");
        if (a->loc) {
            put(p, "loc(");
            print_loc(p, a->loc, false);
            put(p, ")");
        } else {
            print_attr_inline(p, a->attr);
        }
        put(p, "\n");
    }
}

/* ---- Locations ---------------------------------------------------------------------------------------------- */

static void print_fused(printer *p, const ir_loc *loc) {
    put(p, "fused");
    if (loc->text)
        put(p, loc->text);
    put(p, "[");
    for (u32 i = 0; i < loc->count; i++) {
        if (i)
            put(p, ", ");
        print_loc(p, loc->list[i], true);
    }
    put(p, "]");
}

void print_loc(printer *p, const ir_loc *loc, bool alias) {
    if (alias && p->loc_alias && p->loc_alias[loc->id]) {
        put_alias(p, p->loc_alias[loc->id] - 1);
        return;
    }
    switch ((enum ir_loc_kind)loc->kind) {
    case IR_LOC_UNKNOWN: put(p, "unknown"); return;
    case IR_LOC_FILE:
        print_quoted(p, loc->name, strlen(loc->name));
        put(p, ":");
        put_int(p, loc->line);
        put(p, ":");
        put_int(p, loc->column);
        return;
    case IR_LOC_NAME:
        print_quoted(p, loc->name, strlen(loc->name));
        if (loc->a->kind != IR_LOC_UNKNOWN) {
            put(p, "(");
            print_loc(p, loc->a, true);
            put(p, ")");
        }
        return;
    case IR_LOC_CALL:
        put(p, "callsite(");
        print_loc(p, loc->a, true);
        put(p, " at ");
        print_loc(p, loc->b, true);
        put(p, ")");
        return;
    case IR_LOC_FUSED: print_fused(p, loc); return;
    }
}

void print_trailing_loc(printer *p, const ir_loc *loc, bool alias) {
    if (!(p->flags & IR_PRINT_LOCS) || !loc)
        return;
    if (p->collect) {
        print_visit_loc(p, loc, alias);
        return;
    }
    put(p, " loc(");
    print_loc(p, loc, alias);
    put(p, ")");
}
