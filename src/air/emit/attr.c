/* SPDX-License-Identifier: MIT */
/* Attribute lists from text in LLVM's own spelling: `nounwind "frame-pointer"="all" /1: noundef
 * align=4`. Attributes before the first "/N:" belong to the function (or call), the rest to
 * parameter N, counted from 1. Equal groups and lists are made once. */
#include <stdio.h>
#include <stdlib.h>

#include "air/emit/emit_in.h"

/* LLVM's bitcode numbers (LLVMBitCodes.h, ATTR_KIND_*). */
static const struct {
    const char *name;
    u32 kind;
} kinds[] = {
    {"align", 1},       {"nocapture", 11},     {"nounwind", 18},   {"readnone", 20},
    {"readonly", 21},   {"dereferenceable", 41}, {"convergent", 43}, {"writeonly", 52},
    {"willreturn", 61}, {"nofree", 62},        {"nosync", 63},     {"noundef", 68},
    {"mustprogress", 70},
};

static const char *take_quoted(emit *e, const char **at) {
    const char *start = *at + 1, *end = strchr(start, '"');
    *at = end + 1;
    return arena_str(e->m->arena, start, (size_t)(end - start));
}

static air_attr take_attr(emit *e, const char **at) {
    air_attr attr = {0};
    if (**at == '"') {
        attr.form = AIR_ATTR_KEY;
        attr.key = take_quoted(e, at);
        if (**at == '=') {
            (*at)++;
            attr.form = AIR_ATTR_KEY_VALUE;
            attr.text = take_quoted(e, at);
        }
        return attr;
    }
    size_t len = strcspn(*at, " =");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, *at, len) == 0)
            attr.kind = kinds[i].kind;
    TM_ASSERT(attr.kind != 0);
    *at += len;
    if (**at == '=') {
        char *end;
        attr.form = AIR_ATTR_INT;
        attr.value = strtoull(*at + 1, &end, 10);
        *at = end;
    }
    return attr;
}

static u32 make_group(emit *e, u32 slot, const char *from, size_t len) {
    char number[24];
    int n = snprintf(number, sizeof number, "%u:", slot);
    char *key = arena_alloc(e->a, (size_t)n + len + 1);
    memcpy(key, number, (size_t)n);
    memcpy(key + n, from, len);
    key[(size_t)n + len] = 0;
    const char *stored;
    void **known = strmap_put(e->lists, key, (size_t)n + len, &stored);
    if (*known)
        return (u32)(uintptr_t)*known - 1;
    VEC(air_attr) list = {0};
    const char *at = key + n;
    for (;;) {
        at += strspn(at, " ");
        if (!*at)
            break;
        air_attr attr = take_attr(e, &at);
        VEC_PUSH(e->m->arena, &list, attr);
    }
    air_attr_group g = {e->m->attr_groups.count + 1, slot, list.count, list.at};
    VEC_PUSH(e->m->arena, &e->m->attr_groups, g);
    *known = (void *)(uintptr_t)e->m->attr_groups.count;
    return e->m->attr_groups.count - 1;
}

u32 emit_attrs(emit *e, const char *source) {
    size_t len = strlen(source);
    void **known = strmap_get(e->lists, source, len);
    if (known)
        return (u32)(uintptr_t)*known;
    u32 groups[64], n = 0, slot = 0xFFFFFFFFu;
    const char *at = source;
    while (*at && n < COUNT_OF(groups)) {
        const char *end = strchr(at, '/');
        if (!end)
            end = source + len;
        size_t part = (size_t)(end - at);
        while (part && at[part - 1] == ' ')
            part--;
        if (part)
            groups[n++] = make_group(e, slot, at, part);
        if (!*end)
            break;
        char *after;
        slot = (u32)strtoul(end + 1, &after, 10);
        at = after + 1 + strspn(after + 1, " ");
    }
    air_attr_list list = {n, arena_dup(e->m->arena, groups, n * sizeof *groups)};
    VEC_PUSH(e->m->arena, &e->m->attr_lists, list);
    u32 number = e->m->attr_lists.count;
    *strmap_put(e->lists, source, len, NULL) = (void *)(uintptr_t)number;
    return number;
}
