/* SPDX-License-Identifier: MIT */
/* Locations, interned: a module has a few distinct positions and very many ops.
 * `alias` is no part of a location's identity: the first reading of it wins. */
#include "base/map.h"
#include "ir/locs.h"

static u64 hash_loc(const ir_loc *l) {
    u64 h = hash_u64(l->kind, (u64)l->line << 32 | l->column);
    h = hash_u64(h, MAP_KEY(l->name));
    h = hash_u64(h, MAP_KEY(l->a));
    h = hash_u64(h, MAP_KEY(l->b));
    h = hash_u64(h, MAP_KEY(l->text));
    if (l->count)
        h = hash_bytes(l->list, l->count * sizeof(ir_loc *), h);
    return h;
}

static bool same_loc(const void *x, const void *y) {
    const ir_loc *a = x, *b = y;
    return a->kind == b->kind && a->name == b->name && a->line == b->line &&
           a->column == b->column && a->a == b->a && a->b == b->b && a->text == b->text &&
           a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof(ir_loc *)) == 0);
}

static void add_child(ir_loc *l, const ir_loc *child) {
    if (!child)
        return;
    l->depth = MAX(l->depth, child->depth + 1);
    if (!l->first_name)
        l->first_name = child->first_name;
}

static void summarize(ir_loc *l) {
    l->depth = 1;
    l->first_name = l->kind == IR_LOC_NAME ? l->name : NULL;
    add_child(l, l->a);
    add_child(l, l->b);
    for (u32 i = 0; i < l->count; i++)
        add_child(l, l->list[i]);
}

const ir_loc *ir_loc_intern(ir_module *m, const ir_loc *l) {
    ir_loc key = *l;
    if (key.name)
        key.name = ir_intern(m, key.name, strlen(key.name));
    if (key.text)
        key.text = ir_intern(m, key.text, strlen(key.text));
    u64 hash = hash_loc(&key);
    ir_loc *found = intern_find(&m->pools->locs, hash, &key, same_loc);
    if (found)
        return found;
    ir_loc *made = arena_dup(m->arena, &key, sizeof key);
    summarize(made);
    if (key.count)
        made->list = arena_dup(m->arena, key.list, key.count * sizeof(ir_loc *));
    made->id = m->pools->n_locs++;
    intern_add(&m->pools->locs, m->arena, hash, made);
    return made;
}

const ir_loc *ir_loc_unknown(ir_module *m) {
    if (!m->pools->unknown)
        m->pools->unknown = ir_loc_intern(m, &(ir_loc){.kind = IR_LOC_UNKNOWN});
    return m->pools->unknown;
}

const ir_loc *ir_loc_file(ir_module *m, const char *file, u32 line, u32 column) {
    return ir_loc_intern(
        m, &(ir_loc){.kind = IR_LOC_FILE, .name = file, .line = line, .column = column});
}

const ir_loc *ir_loc_call(ir_module *m, const ir_loc *callee, const ir_loc *caller) {
    return ir_loc_intern(m, &(ir_loc){.kind = IR_LOC_CALL, .a = callee, .b = caller});
}

/* The file position a location starts at, with the call chain that leads to it. A location is a graph
 * with shared parts: the number of steps is bounded, not only the number of callers. */
src_loc ir_loc_source(ir_module *m, const ir_loc *loc) {
    enum { MOST = 64, STEPS = 1000 };
    src_loc chain[MOST];
    const ir_loc *callers[MOST];
    u32 n = 0, pending = 0;
    for (u32 step = 0; (loc || pending) && n < MOST && step < STEPS; step++) {
        if (!loc)
            loc = callers[--pending];
        if (loc->kind == IR_LOC_FILE) {
            chain[n++] = (src_loc){.file = loc->name, .line = loc->line, .column = loc->column};
            loc = NULL;
        } else if (loc->kind == IR_LOC_CALL) {
            if (pending < MOST)
                callers[pending++] = loc->b;
            loc = loc->a;
        } else {
            loc = loc->kind == IR_LOC_FUSED && loc->count ? loc->list[0] : loc->a;
        }
    }
    if (n == 0)
        return (src_loc){0};
    const src_loc *caller = NULL;
    while (n > 1) {
        src_loc *copy = arena_dup(m->ctx->arena, &chain[--n], sizeof *copy);
        copy->file = arena_str(m->ctx->arena, copy->file, strlen(copy->file));
        copy->caller = caller;
        caller = copy;
    }
    chain[0].file = arena_str(m->ctx->arena, chain[0].file, strlen(chain[0].file));
    chain[0].caller = caller;
    return chain[0];
}
