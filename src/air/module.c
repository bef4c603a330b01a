/* SPDX-License-Identifier: MIT */
/* A module and what hangs in it: functions, globals, blocks, instructions. All memory is the
 * module's arena. A new module carries the fixed tables every LLVM 14 module of Apple's carries:
 * metadata kinds, operand bundle tags, synchronisation scopes, AIR's data layout. */
#include "air/pools.h"

static const char *const fixed_md_kinds[] = {
    "dbg", "tbaa", "prof", "fpmath", "range", "tbaa.struct", "invariant.load", "alias.scope",
    "noalias", "nontemporal", "llvm.mem.parallel_loop_access", "nonnull", "dereferenceable",
    "dereferenceable_or_null", "make.implicit", "unpredictable", "invariant.group", "align",
    "llvm.loop", "type", "section_prefix", "absolute_symbol", "associated", "callees", "irr_loop",
    "llvm.access.group", "callback", "llvm.preserve.access.index", "vcall_visibility", "noundef",
    "annotation", "heapallocsite", "air.function_groups",
};
static const char *const fixed_bundle_tags[] = {
    "deopt", "funclet", "gc-transition", "cfguardtarget", "preallocated", "gc-live",
    "clang.arc.attachedcall", "ptrauth",
};
static const char *const fixed_sync_scopes[] = {"singlethread", ""};
static const char datalayout[] =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-"
    "v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-"
    "v512:512:512-v1024:1024:1024-n8:16:32";

const char *air_datalayout(void) { return datalayout; }

air_module *air_module_new(tm_ctx *ctx, const char *source_name) {
    arena *a = arena_new();
    air_module *m = ARENA_NEW(a, air_module);
    m->arena = a;
    m->ctx = ctx;
    m->source_name = arena_str(a, source_name, strlen(source_name));
    m->triple = m->identification = m->module_asm = "";
    m->datalayout = datalayout;
    for (u32 i = 0; i < COUNT_OF(fixed_md_kinds); i++)
        VEC_PUSH(a, &m->md_kinds, fixed_md_kinds[i]);
    for (u32 i = 0; i < COUNT_OF(fixed_bundle_tags); i++)
        VEC_PUSH(a, &m->bundle_tags, fixed_bundle_tags[i]);
    for (u32 i = 0; i < COUNT_OF(fixed_sync_scopes); i++)
        VEC_PUSH(a, &m->sync_scopes, fixed_sync_scopes[i]);
    m->pools = ARENA_NEW(a, struct air_pools);
    *m->pools = (struct air_pools){map_new(a), map_new(a), map_new(a),    map_new(a),
                                   map_new(a), strmap_new(a), strmap_new(a)};
    /* Readers of bitcode look for both, used or not. */
    air_type_simple(m, AIR_LABEL);
    air_type_simple(m, AIR_METADATA);
    return m;
}

void air_module_free(air_module *m) {
    if (m)
        arena_free(m->arena);
}

air_func *air_func_new(air_module *m, const char *name, air_type *type) {
    TM_ASSERT(type->kind == AIR_FUNC);
    air_func *f = ARENA_NEW(m->arena, air_func);
    f->v.kind = AIR_V_FUNC;
    f->v.type = air_type_ptr(m, type, 0);
    f->func_type = type;
    f->module = m;
    f->n_args = type->n_fields;
    f->args = ARENA_ARRAY(m->arena, air_value, f->n_args);
    for (u32 i = 0; i < f->n_args; i++)
        f->args[i] = (air_value){.kind = AIR_V_ARG, .type = type->fields[i], .id = i};
    f->v.id = m->funcs.count;
    VEC_PUSH(m->arena, &m->funcs, f);
    void **slot = strmap_put(m->pools->funcs, name, strlen(name), &f->v.name);
    if (!*slot)
        *slot = f;
    return f;
}

air_func *air_func_find(const air_module *m, const char *name) {
    void **slot = strmap_get(m->pools->funcs, name, strlen(name));
    return slot ? *slot : NULL;
}

air_global *air_global_new(air_module *m, const char *name, air_type *value_type, u32 space) {
    air_global *g = ARENA_NEW(m->arena, air_global);
    g->v.kind = AIR_V_GLOBAL;
    g->v.type = air_type_ptr(m, value_type, space);
    g->v.name = arena_str(m->arena, name, strlen(name));
    g->v.id = m->globals.count;
    g->value_type = value_type;
    g->space = space;
    VEC_PUSH(m->arena, &m->globals, g);
    return g;
}

air_block *air_block_new(air_func *f) {
    air_block *b = ARENA_NEW(f->module->arena, air_block);
    b->func = f;
    b->prev = f->last;
    b->id = f->n_blocks++;
    if (f->last)
        f->last->next = b;
    else
        f->first = b;
    f->last = b;
    return b;
}

air_inst *air_inst_new(air_module *m, air_block *b, enum air_op op, air_type *type, u32 n_ops,
                       air_value *const *ops) {
    air_inst *i = ARENA_NEW(m->arena, air_inst);
    i->v.kind = AIR_V_INST;
    i->v.type = type;
    i->op = (u8)op;
    i->n_ops = n_ops;
    if (n_ops)
        i->ops = ops ? arena_dup(m->arena, ops, n_ops * sizeof *ops)
                     : ARENA_ARRAY(m->arena, air_value *, n_ops);
    i->block = b;
    i->prev = b->last;
    if (b->last)
        b->last->next = i;
    else
        b->first = i;
    b->last = i;
    return i;
}
