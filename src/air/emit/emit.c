/* SPDX-License-Identifier: MIT */
/* The module around a kernel: target strings, parameters, threadgroup memory, metadata, attributes;
 * the kernel's body is emitted by the other *.c files. One row of `targets` per macOS version
 * says what differs: triple, AIR and language version.
 *
 * Parameters: pointers in order (buffer index = position among pointers), then one constant buffer
 * with all scalars as a struct, then the system values that the body uses. Metadata tells for each
 * buffer whether anything is written through it; when that cannot be traced, it says written. */
#include "air/emit/emit_in.h"

#include <stdio.h>

#include "ir/text.h"
#include "thread/facts.h"

static const emit_target targets[] = {
    {13, 5, 3, 0, "air64-apple-macosx13.0.0"},
    {14, 6, 3, 1, "air64_v26-apple-macosx14.0.0"},
    {15, 7, 3, 2, "air64_v27-apple-macosx15.0.0"},
    {26, 8, 4, 0, "air64_v28-apple-macosx26.0.0"},
};

/* Identical in every module Apple's compiler makes (format.md 2.4). */
static const char datalayout[] =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-"
    "v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-"
    "v512:512:512-v1024:1024:1024-n8:16:32";
static const char ident[] = "Apple metal version 32023.883 (metalfe-32023.883)";

enum { MAX_BUFFERS = 31 };

/* ---- Types ------------------------------------------------------------------------------------ */

air_value *emit_refuse(emit *e, enum diag_code code, const char *what) {
    if (!e->failed)
        ir_error(e->ir, e->op, code, what);
    e->failed = true;
    return NULL;
}

static air_type *refuse_type(emit *e, const ir_type *t) {
    text name = {0};
    ir_print_type(&name, e->ir, t);
    emit_refuse(e, TM4302, arena_str(e->a, name.at, name.len));
    text_free(&name);
    return NULL;
}

static air_type *float_type(emit *e, const ir_type *t) {
    switch (t->float_kind) {
    case IR_F16: return air_type_simple(e->m, AIR_HALF);
    case IR_BF16: return e->bfloat ? air_type_simple(e->m, AIR_BFLOAT) : emit_int_type(e, 16);
    case IR_F32: return emit_f32(e);
    default: return refuse_type(e, t);
    }
}

air_type *emit_memory_type(emit *e, const ir_type *t) {
    if (ir_is_int(t, 1))
        return emit_int_type(e, 8);
    if (t->kind == IR_PTR)
        return emit_int_type(e, 64);
    return emit_type(e, t);
}

air_type *emit_type(emit *e, const ir_type *t) {
    air_type *elem;
    switch (t->kind) {
    case IR_INDEX: return emit_int_type(e, 64);
    case IR_INT:
        if (t->width == 1 || t->width == 8 || t->width == 16 || t->width == 32 || t->width == 64)
            return emit_int_type(e, t->width);
        return refuse_type(e, t);
    case IR_FLOAT: return float_type(e, t);
    case IR_PTR:
        elem = emit_memory_type(e, t->elem);
        return elem ? air_type_ptr(e->m, elem, t->space) : NULL;
    case IR_VECTOR:
        elem = emit_memory_type(e, t->elem);
        return elem ? air_type_vector(e->m, elem, (u64)t->shape[0]) : NULL;
    case IR_MATRIX:
        elem = emit_type(e, t->elem);
        if (elem && !emit_is_float(elem))
            elem = emit_f32(e); /* bf16 without bfloat */
        return elem ? air_type_vector(e->m, elem, 64) : NULL;
    default: return refuse_type(e, t);
    }
}

air_value *emit_get(emit *e, const ir_value *v) {
    TM_ASSERT(e->failed || e->values[v->mark]);
    return e->values[v->mark];
}

/* ---- Arguments -------------------------------------------------------------------------------- */

static u32 scalar_bytes(const ir_type *t) { return t->kind == IR_INDEX ? 8 : ir_type_bytes(t); }

u32 air_scalar_layout(const ir_op *func, u32 *offsets) {
    const ir_block *b = func->regions[0].first;
    u32 at = 0, align = 1, n = 0;
    for (u32 i = 0; i < b->n_args; i++) {
        const ir_type *t = b->args[i]->type;
        if (t->kind == IR_PTR)
            continue;
        u32 size = scalar_bytes(t);
        at = (u32)align_up(at, MAX(size, 1));
        align = MAX(align, size);
        if (offsets)
            offsets[n] = at;
        n++;
        at += size;
    }
    return (u32)align_up(at, align);
}

/* Metal's names, as air.arg_type_name and in struct information. */
static const char *metal_name(emit *e, const ir_type *t) {
    if (t->kind == IR_FLOAT)
        return t->float_kind == IR_F16    ? "half"
               : t->float_kind == IR_F32  ? "float"
               : e->bfloat                ? "bfloat"
                                          : "ushort";
    if (t->kind == IR_PTR)
        return "ulong";
    switch (t->kind == IR_INT ? t->width : 64) {
    case 1: return "bool";
    case 8: return t->sign == 'u' ? "uchar" : "char";
    case 16: return t->sign == 'u' ? "ushort" : "short";
    case 32: return t->sign == 'u' ? "uint" : "int";
    default: return t->sign == 'u' ? "ulong" : "long";
    }
}

/* What the parameters are, gathered before the function can be made. */
typedef struct params {
    VEC(air_type *) types;
    VEC(air_md *) nodes;
    text attrs; /* in emit_attrs' text form */
} params;

static const struct {
    const char *name, *arg_name, *vector_name, *scalar_name;
} systems[EMIT_SYSTEMS] = {
    [EMIT_GROUP_ID] = {"air.threadgroup_position_in_grid", "pid", "uint3", "uint"},
    [EMIT_GROUPS] = {"air.threadgroups_per_grid", "programs", "uint3", "uint"},
    [EMIT_LANE] = {"air.thread_index_in_simdgroup", "lane", NULL, "uint"},
    [EMIT_WARP] = {"air.simdgroup_index_in_threadgroup", "simdgroup", NULL, "uint"},
};

typedef struct md_list {
    air_md *at[24];
    u32 n;
} md_list;
static void md_text(emit *e, md_list *l, const char *s) { l->at[l->n++] = air_md_string(e->m, s); }
static void md_int(emit *e, md_list *l, u32 v) { l->at[l->n++] = air_md_i32(e->m, v); }
static void md_pair(emit *e, md_list *l, const char *key, u32 v) {
    md_text(e, l, key);
    md_int(e, l, v);
}
static air_md *md_node(emit *e, const md_list *l) { return air_md_node(e->m, l->n, l->at); }

static const char *argument_name(emit *e, const ir_value *v, u32 i) {
    return v->name ? v->name : arena_printf(e->m->arena, "arg%u", i);
}

static void describe_types(emit *e, md_list *l, u32 size, u32 align, const char *type,
                           const char *name) {
    md_pair(e, l, "air.arg_type_size", size);
    md_pair(e, l, "air.arg_type_align_size", align);
    md_text(e, l, "air.arg_type_name");
    md_text(e, l, type);
    md_text(e, l, "air.arg_name");
    md_text(e, l, name);
}

static void add_pointer(emit *e, params *p, const ir_value *v, u32 index, bool writes) {
    air_type *t = emit_type(e, v->type);
    if (!t)
        return;
    u32 param = p->types.count;
    md_list l = {0};
    md_int(e, &l, param);
    md_text(e, &l, "air.buffer");
    md_pair(e, &l, "air.location_index", index);
    md_int(e, &l, 1);
    md_text(e, &l, writes ? "air.read_write" : "air.read");
    md_pair(e, &l, "air.address_space", t->space);
    describe_types(e, &l, (u32)air_size(t->elem), (u32)air_align(t->elem),
                   metal_name(e, v->type->elem), argument_name(e, v, index));
    if (!ir_has_uses(v))
        md_text(e, &l, "air.arg_unused");
    VEC_PUSH(e->a, &p->types, t);
    VEC_PUSH(e->a, &p->nodes, md_node(e, &l));
    text_printf(&p->attrs, " /%u: noundef", param + 1);
}

/* One struct holds the scalars; the emitter loads each field where the kernel starts. */
static void add_scalars(emit *e, params *p, const ir_block *b, u32 index) {
    u32 n = 0, align = 1;
    bool used = false;
    u32 *offsets = ARENA_ARRAY(e->a, u32, b->n_args + 1);
    air_type **fields = ARENA_ARRAY(e->a, air_type *, b->n_args + 1);
    air_md **info = ARENA_ARRAY(e->a, air_md *, 5 * b->n_args + 1);
    u32 bytes = air_scalar_layout(e->kernel, offsets);
    for (u32 i = 0; i < b->n_args; i++) {
        const ir_value *v = b->args[i];
        if (v->type->kind == IR_PTR)
            continue;
        fields[n] = emit_memory_type(e, v->type);
        if (!fields[n])
            return;
        used |= ir_has_uses(v);
        align = MAX(align, scalar_bytes(v->type));
        air_md **row = info + 5 * n;
        row[0] = air_md_i32(e->m, offsets[n]);
        row[1] = air_md_i32(e->m, scalar_bytes(v->type));
        row[2] = air_md_i32(e->m, 0);
        row[3] = air_md_string(e->m, metal_name(e, v->type));
        row[4] = air_md_string(e->m, argument_name(e, v, i));
        n++;
    }
    if (!n)
        return;
    u32 param = p->types.count;
    air_type *t = air_type_struct(e->m, n, fields, false, "struct.Scalars");
    md_list l = {0};
    md_int(e, &l, param);
    md_text(e, &l, "air.buffer");
    md_pair(e, &l, "air.buffer_size", bytes);
    md_pair(e, &l, "air.location_index", index);
    md_int(e, &l, 1);
    md_text(e, &l, "air.read");
    md_pair(e, &l, "air.address_space", IR_SPACE_CONSTANT);
    md_text(e, &l, "air.struct_type_info");
    l.at[l.n++] = air_md_node(e->m, 5 * n, info);
    describe_types(e, &l, bytes, align, "Scalars", "scalars");
    if (!used)
        md_text(e, &l, "air.arg_unused");
    VEC_PUSH(e->a, &p->types, air_type_ptr(e->m, t, IR_SPACE_CONSTANT));
    VEC_PUSH(e->a, &p->nodes, md_node(e, &l));
    text_printf(&p->attrs, " /%u: noundef align=%u dereferenceable=%u \"air-buffer-no-alias\"",
                param + 1, align, bytes);
}

/* Which system values the body needs. */
typedef struct needs {
    bool system[EMIT_SYSTEMS];
    bool wide, shared, bfloat; /* more than the x axis; tm.tg_alloc; emulated matrix loads */
    bool stores;               /* plain stores to device memory */
    u32 atomics;               /* atomic operations of the source, 2 for several */
    const ir_loc *atomic;
} needs;

/* One tl.atomic_add is many atomics here; they share their place in the source. */
static void note_atomic(needs *n, const ir_op *op) {
    bool same = n->atomics == 1 && op->loc == n->atomic && op->loc &&
                op->loc->kind != IR_LOC_UNKNOWN;
    n->atomic = op->loc;
    n->atomics = !n->atomics || same ? 1 : 2;
}

static void note_need(ir_op *op, void *data) {
    needs *n = data;
    if (op->code == IR_tm_atomic_rmw || op->code == IR_tm_atomic_cas)
        note_atomic(n, op);
    if (op->code == IR_tm_store || op->code == IR_tm_matrix_store)
        n->stores |= ir_operand(op, 0)->type->space == IR_SPACE_DEVICE;
    bool pid = op->code == IR_tt_get_program_id, count = op->code == IR_tt_get_num_programs;
    n->system[EMIT_GROUP_ID] |= pid;
    n->system[EMIT_GROUPS] |= count;
    n->system[EMIT_LANE] |= op->code == IR_tm_lane_id;
    n->system[EMIT_WARP] |= op->code == IR_tm_warp_id;
    n->shared |= op->code == IR_tm_tg_alloc;
    if ((pid || count) && ir_attr_get_int(op, "axis", 0) > 0)
        n->wide = true;
    if (op->code == IR_tm_matrix_load && ir_result(op, 0)->type->elem->float_kind == IR_BF16)
        n->bfloat = true;
}

static void add_systems(emit *e, params *p, const needs *n, u32 first[EMIT_SYSTEMS]) {
    for (u32 s = 0; s < EMIT_SYSTEMS; s++) {
        if (!n->system[s])
            continue;
        bool wide = n->wide && systems[s].vector_name;
        u32 param = p->types.count;
        first[s] = param;
        md_list l = {0};
        md_int(e, &l, param);
        md_text(e, &l, systems[s].name);
        md_text(e, &l, "air.arg_type_name");
        md_text(e, &l, wide ? systems[s].vector_name : systems[s].scalar_name);
        md_text(e, &l, "air.arg_name");
        md_text(e, &l, systems[s].arg_name);
        air_type *t = emit_int_type(e, 32);
        air_type *type = wide ? air_type_vector(e->m, t, 3) : t;
        VEC_PUSH(e->a, &p->types, type);
        VEC_PUSH(e->a, &p->nodes, md_node(e, &l));
        text_printf(&p->attrs, " /%u: noundef", param + 1);
    }
}

/* ---- Module metadata -------------------------------------------------------------------------- */

static air_md *flag(emit *e, u32 behaviour, const char *name, air_md *value) {
    air_md *ops[] = {air_md_i32(e->m, behaviour), air_md_string(e->m, name), value};
    return air_md_node(e->m, 3, ops);
}

static void add_flags(emit *e) {
    static const struct {
        u32 behaviour;
        const char *name;
        u32 value;
    } rows[] = {
        {1, "wchar_size", 4},
        {7, "frame-pointer", 2},
        {7, "air.max_device_buffers", 31},
        {7, "air.max_constant_buffers", 31},
        {7, "air.max_threadgroup_buffers", 31},
        {7, "air.max_textures", 128},
        {7, "air.max_read_write_textures", 8},
        {7, "air.max_samplers", 16},
    };
    static const u8 sdk[8] = {26, 0, 0, 0, 5, 0, 0, 0};
    air_type *pair = air_type_array(e->m, emit_int_type(e, 32), 2);
    air_md *version = air_md_value(e->m, air_const_data(e->m, pair, sdk, sizeof sdk, false));
    air_named_md_add(e->m, "llvm.module.flags", flag(e, 2, "SDK Version", version));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        air_named_md_add(e->m, "llvm.module.flags",
                         flag(e, rows[i].behaviour, rows[i].name, air_md_i32(e->m, rows[i].value)));
}

static void add_strings(emit *e, const char *name, const char *s) {
    air_md *string = air_md_string(e->m, s);
    air_named_md_add(e->m, name, air_md_node(e->m, 1, &string));
}

static void add_metadata(emit *e, const params *p, u32 threads) {
    air_md *empty = air_md_node(e->m, 0, NULL);
    md_list limit = {0};
    md_pair(e, &limit, "air.max_work_group_size", threads);
    air_md *kernel[] = {air_md_value(e->m, &e->func->v), empty,
                        air_md_node(e->m, p->nodes.count, p->nodes.at), md_node(e, &limit)};
    add_flags(e);
    air_named_md_add(e->m, "air.kernel", air_md_node(e->m, 4, kernel));
    add_strings(e, "air.compile_options", "air.compile.denorms_disable");
    add_strings(e, "air.compile_options", "air.compile.fast_math_disable");
    add_strings(e, "air.compile_options", "air.compile.framebuffer_fetch_enable");
    add_strings(e, "llvm.ident", ident);
    md_list v = {0};
    md_int(e, &v, 2);
    md_int(e, &v, e->target->minor);
    md_int(e, &v, 0);
    air_named_md_add(e->m, "air.version", md_node(e, &v));
    md_list lang = {0};
    md_text(e, &lang, "Metal");
    md_int(e, &lang, e->target->lang_major);
    md_int(e, &lang, e->target->lang_minor);
    md_int(e, &lang, 0);
    air_named_md_add(e->m, "air.language_version", md_node(e, &lang));
}

/* ---- The kernel ------------------------------------------------------------------------------- */

static const char kernel_attrs[] =
    "mustprogress nounwind \"frame-pointer\"=\"all\" \"max-work-group-size\"=\"%u\" "
    "\"min-legal-vector-width\"=\"0\" \"no-builtins\" \"no-trapping-math\"=\"true\" "
    "\"stack-protector-buffer-size\"=\"8\"%s";

/* Scalars are read once, at the start; what the kernel does not use is not read. */
static void load_scalars(emit *e, air_value *buffer, const ir_block *b) {
    u32 field = 0;
    for (u32 i = 0; i < b->n_args; i++) {
        const ir_value *v = b->args[i];
        if (v->type->kind == IR_PTR)
            continue;
        if (ir_has_uses(v)) {
            air_type *t = buffer->type->elem->fields[field];
            air_value *ops[] = {buffer, emit_int(e, 64, 0), emit_int(e, 32, field)};
            air_value *at = emit_inst(e, AIR_GEP, 0, air_type_ptr(e->m, t, IR_SPACE_CONSTANT), 3, ops);
            ((air_inst *)at)->aux = buffer->type->elem;
            ((air_inst *)at)->flags = AIR_INBOUNDS;
            air_value *raw = emit_load(e, at, (u32)air_align(t), false);
            e->values[v->mark] = emit_from_memory(e, v->type, raw);
        }
        field++;
    }
}

static void add_shared(emit *e) {
    u32 words = (e->run->threadgroup_bytes + 3) / 4;
    if (!words)
        return;
    air_type *t = air_type_array(e->m, emit_f32(e), words);
    air_global *g = air_global_new(e->m, "threadgroup_memory", t, IR_SPACE_THREADGROUP);
    g->linkage = AIR_INTERNAL;
    g->unnamed_addr = 1;
    g->align = 16;
    g->init = air_const_undef(e->m, t);
    e->shared = &g->v;
}

static tm_status emit_kernel(emit *e, const char *name) {
    const ir_block *b = e->kernel->regions[0].first;
    params p = {0};
    needs need = {0};
    u32 first[EMIT_SYSTEMS] = {0}, buffers = 0;
    if (!b || b->next)
        emit_refuse(e, TM4301, "unstructured control flow");
    if (e->failed)
        return -1;
    ir_walk(e->kernel, note_need, &need);
    if (need.bfloat && !e->bfloat)
        need.system[EMIT_LANE] = true;
    facts *f = facts_build(e->a, e->kernel);
    for (u32 i = 0; i < b->n_args; i++)
        if (b->args[i]->type->kind == IR_PTR)
            add_pointer(e, &p, b->args[i], buffers++, facts_written(f, b->args[i]));
    u32 scalars = p.types.count;
    add_scalars(e, &p, b, buffers);
    bool has_scalars = p.types.count > scalars;
    if (buffers + has_scalars > MAX_BUFFERS)
        emit_refuse(e, TM4303, arena_printf(e->a, "%u", buffers));
    add_systems(e, &p, &need, first);
    u32 threads = 32 * MAX(e->run->target.num_warps, 1);
    air_type *type = air_type_func(e->m, air_type_simple(e->m, AIR_VOID), p.types.count, p.types.at,
                                   false);
    e->func = air_func_new(e->m, name, type);
    e->func->unnamed_addr = 2;
    e->wide_ids = need.wide;
    e->releases = need.stores || need.atomics > 1;
    e->entry = e->block = air_block_new(e->func);
    if (need.shared)
        add_shared(e);
    for (u32 s = 0; s < EMIT_SYSTEMS; s++)
        if (need.system[s])
            e->system[s] = &e->func->args[first[s]];
    for (u32 i = 0, n = 0; i < b->n_args && !e->failed; i++)
        if (b->args[i]->type->kind == IR_PTR)
            e->values[b->args[i]->mark] = &e->func->args[n++];
    if (has_scalars && !e->failed)
        load_scalars(e, &e->func->args[scalars], b);
    tm_status status = e->failed ? -1 : emit_block(e, e->kernel->regions[0].first);
    if (status == 0) {
        emit_inst(e, AIR_RET, 0, air_type_simple(e->m, AIR_VOID), 0, NULL);
        const char *attrs = arena_printf(e->a, kernel_attrs, threads, p.attrs.len ? p.attrs.at : "");
        if (e->convergent)
            attrs = arena_printf(e->a, "convergent %s", attrs);
        e->func->attrs = emit_attrs(e, attrs);
        add_metadata(e, &p, threads);
    }
    text_free(&p.attrs);
    return status;
}

static const emit_target *find_target(u32 macos) {
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        if (targets[i].macos == macos)
            return &targets[i];
    return NULL;
}

air_module *air_emit(pass_run *run, ir_module *ir, u32 macos) {
    const emit_target *target = find_target(macos);
    if (!target) {
        diag_at(run->ctx, NULL, TM4304, macos);
        return NULL;
    }
    ir_op *kernel = ir_module_kernel(ir);
    if (!kernel)
        return NULL;
    const ir_attr *symbol = ir_attr_get(kernel, "sym_name");
    air_module *m = air_module_new(run->ctx, symbol->text);
    m->triple = target->triple;
    m->datalayout = datalayout;
    emit e = {.run = run, .ctx = run->ctx, .ir = ir, .kernel = kernel, .m = m, .a = run->scratch,
              .target = target, .bfloat = target->minor >= 6, .op = kernel,
              .locs = map_new(run->scratch), .decls = strmap_new(run->scratch),
              .lists = strmap_new(run->scratch), .slots = map_new(run->scratch),
              .indices = map_new(run->scratch)};
    e.values = ARENA_ARRAY(run->scratch, air_value *, ir_number(kernel) + 1);
    if (emit_kernel(&e, arena_str(m->arena, symbol->text, strlen(symbol->text))) == 0 && !e.failed)
        return m;
    air_module_free(m);
    return NULL;
}
