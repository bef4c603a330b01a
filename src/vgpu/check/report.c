/* SPDX-License-Identifier: MIT */
/* The names of the checks, and what was found in words: the place in memory as argument, element and byte,
 * who did it, and for a race the other side. */
#include "vgpu/check/check.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* In the order that docs/checks.md explains them. */
static const struct { const char *name; size_t at; bool apart; /* not among "all" */ } names[] = {
    {"bounds", offsetof(vgpu_checks, bounds)},     {"align", offsetof(vgpu_checks, align)},
    {"races", offsetof(vgpu_checks, races)},       {"uninit", offsetof(vgpu_checks, uninit)},
    {"barriers", offsetof(vgpu_checks, barriers)}, {"exits", offsetof(vgpu_checks, exits)},
    {"lanes", offsetof(vgpu_checks, lanes)},       {"shifts", offsetof(vgpu_checks, shifts)},
    {"divides", offsetof(vgpu_checks, divides)},   {"converts", offsetof(vgpu_checks, converts)},
    {"progress", offsetof(vgpu_checks, progress)}, {"schedules", offsetof(vgpu_checks, schedules)},
    {"numerics", offsetof(vgpu_checks, numerics), true},
};
/* What a list can leave out; the place here is the bit in `muted`. */
static const u16 codes[] = {3101, 3102, 3103, 3104, 3105, 3106, 3107, 3201, 3202, 3203, 3204, 3205, 3206,
                            3301, 3302, 3401, 3403, 3404, 3405, 3406, 3407, 3501, 3502};
_Static_assert(COUNT_OF(codes) <= 32, "a bit each");
static u32 code_bit(u32 code) {
    for (u32 i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == code)
            return 1u << i;
    return 0;
}
bool vgpu_muted(const vgpu_kernel *k, u32 code) { return k->checks.muted && k->checks.muted & code_bit(code); }
bool vcheck_muted(const vcheck *v, u8 kind) {
    static const u16 of_record[] = {
        [FOUND_MISALIGNED] = 3106, [FOUND_UNWRITTEN] = 3107, [FOUND_MATRIX_LANES] = 3204,
        [FOUND_BARRIER_ENDED] = 3205, [FOUND_SHUFFLE] = 3206, [FOUND_RACE] = 3301, [FOUND_LANES] = 3302,
        [FOUND_SHIFT] = 3403, [FOUND_DIVIDE] = 3404, [FOUND_OVERFLOW] = 3405, [FOUND_CONVERT] = 3406};
    return vgpu_muted(v->k, of_record[kind]);
}

/* One word of a list. */
static bool parse_word(const char *p, size_t len, vgpu_checks *out) {
    bool on = *p != '-', found = len == 4 && memcmp(p, "none", 4) == 0;
    p += !on;
    len -= !on;
    bool all = on && len == 3 && memcmp(p, "all", 3) == 0;
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if ((all && !names[i].apart) || (strlen(names[i].name) == len && memcmp(names[i].name, p, len) == 0)) {
            *(bool *)((char *)out + names[i].at) = on;
            found = true;
        }
    u32 bit = !on && len == 4 ? code_bit((u32)strtoul(p, NULL, 10)) : 0;
    out->muted |= bit;
    return found || bit;
}
bool vgpu_checks_parse(const char *list, vgpu_checks *out, const char **bad, int *bad_len) {
    *out = list ? (vgpu_checks){0} : (vgpu_checks){.bounds = true, .barriers = true};
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");
        if (!parse_word(p, len, out)) {
            *bad = p;
            *bad_len = (int)len;
            return false;
        }
        p += len + (p[len] == ',');
    }
    return true;
}
bool vgpu_checks_look(const vgpu_checks *c) {
    return c->align || c->races || c->uninit || c->exits || c->lanes || c->shifts || c->divides || c->converts;
}
bool vgpu_checks_guard(const vgpu_checks *c) { return c->progress || vgpu_checks_look(c); }

static const vparam *param_of(const vgpu_kernel *k, u64 seg) {
    for (u32 i = 0; i < k->n_params; i++)
        if (k->params[i].kind == VPARAM_BUFFER && k->params[i].seg == seg)
            return &k->params[i];
    return NULL;
}
static void put_place(char *out, size_t room, const vgpu_kernel *k, u64 address) {
    u64 seg = address >> 48;
    long long at = (long long)(VCHECK_OFFSET(address) - VGPU_BIAS);
    const vparam *p = param_of(k, seg);
    if (!p)
        snprintf(out, room, "%s memory at byte %lld", seg == SEG_THREADGROUP ? "threadgroup" : "constant", at);
    else if (p->elem_size > 1)
        snprintf(out, room, "'%s' at element %lld (byte %lld)", p->name, at / p->elem_size, at);
    else
        snprintf(out, room, "'%s' at byte %lld", p->name, at);
}
static const char *act_name(u8 act) {
    return act == ACT_LOAD ? "load" : act == ACT_STORE ? "store" : "atomic";
}
static void put_lanes(text *t, u32 lanes) {
    const char *comma = "";
    for (u32 l = 0, end; l < VGPU_LANES; l = end + 1) {
        for (end = l; lanes >> l & 1 && end + 1 < VGPU_LANES && lanes >> (end + 1) & 1;)
            end++;
        if (!(lanes >> l & 1))
            continue;
        text_printf(t, end > l ? "%s%u-%u" : "%s%u", comma, l, end);
        comma = ",";
    }
}
static void put_group(text *t, const tm_launch_params *p, u64 g) {
    u64 x = p->grid[0], y = p->grid[1];
    text_printf(t, "threadgroup (%u, %u, %u)", (u32)(g % x), (u32)(g / x % y), (u32)(g / x / y));
}
static void put_loc(text *t, const src_loc *l) {
    if (l && l->file)
        text_printf(t, " at %s:%u", l->file, l->line);
}
static void report_other(tm_ctx *ctx, const vcheck *v, const vrecord *r, const tm_launch_params *p) {
    text t = {0};
    text_printf(&t, "the other side: %s by ", act_name(r->other.act));
    put_group(&t, p, r->other.group);
    if (r->other.simd == SEVERAL_SIMDS)
        text_puts(&t, ", several simdgroups");
    else
        text_printf(&t, ", simdgroup %u", r->other.simd);
    u32 sites = v->k->n_sites;
    put_loc(&t, r->other.site < sites ? vgpu_loc(v->k, r->other.site) : NULL);
    diag_note(ctx, "%s", t.at);
    text_free(&t);
}
static void report_one(tm_ctx *ctx, const vcheck *v, const vrecord *r, const tm_launch_params *p) {
    const src_loc *loc = vgpu_loc(v->k, r->site);
    const char *name = v->k->name;
    char place[160], value[48];
    put_place(place, sizeof place, v->k, r->address);
    snprintf(value, sizeof value, r->act ? "%lld" : "%llu", (long long)r->value);
    switch ((enum vrecord_kind)r->kind) {
    case FOUND_MISALIGNED: diag_at(ctx, loc, TM3106, name, act_name(r->act), r->size, place, r->align); break;
    case FOUND_UNWRITTEN: diag_at(ctx, loc, TM3107, name, act_name(r->act), place); break;
    case FOUND_RACE: diag_at(ctx, loc, TM3301, name, place, act_name(r->act), act_name(r->other.act)); break;
    case FOUND_LANES: diag_at(ctx, loc, TM3302, name, place); break;
    case FOUND_MATRIX_LANES: diag_at(ctx, loc, TM3204, name); break;
    case FOUND_BARRIER_ENDED: diag_at(ctx, loc, TM3205, name); break;
    case FOUND_SHUFFLE: diag_at(ctx, loc, TM3206, name, (u32)r->value); break;
    case FOUND_SHIFT: diag_at(ctx, loc, TM3403, name, (unsigned long long)r->value, r->size); break;
    case FOUND_DIVIDE: diag_at(ctx, loc, TM3404, name); break;
    case FOUND_OVERFLOW: diag_at(ctx, loc, TM3405, name, r->size); break;
    case FOUND_CONVERT: {
        float f;
        u32 bits = (u32)r->value;
        memcpy(&f, &bits, 4);
        diag_at(ctx, loc, TM3406, name, (double)f, r->act ? "i" : "u", r->size);
        break;
    }
    }
    text t = {0};
    put_group(&t, p, r->group);
    text_printf(&t, ", simdgroup %u, lanes ", r->simd);
    put_lanes(&t, r->lanes);
    if (r->count > 1)
        text_printf(&t, "; here %u times in all", r->count);
    diag_note(ctx, "%s", t.at);
    text_free(&t);
    if (r->kind == FOUND_RACE)
        report_other(ctx, v, r, p);
}
tm_status vcheck_end(vcheck *v, tm_ctx *ctx, const tm_launch_params *p) {
    for (u32 i = 0; i < v->n_records; i++)
        report_one(ctx, v, &v->records[i], p);
    if (v->n_dropped)
        diag_note(ctx, "%u more reports of other places are left out", v->n_dropped);
    return v->n_records ? -1 : 0;
}
