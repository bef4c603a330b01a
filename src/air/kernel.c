/* SPDX-License-Identifier: MIT */
/* Reads what !air.kernel and its company say of the one kernel of a module: arguments, function
 * constants, versions. A node is a list of keys, most followed by values; unknown keys are passed
 * over, since each compiler release adds some. */
#include "air/air.h"

typedef struct kernel_reader {
    air_module *m;
    air_kernel *out;
} kernel_reader;

static tm_status bad(kernel_reader *k, const char *what) {
    return diag_at(k->m->ctx, NULL, TM4006, what);
}

static const air_md *op_at(const air_md *node, u32 i) { return i < node->n ? node->ops[i] : NULL; }

static const char *string_at(const air_md *node, u32 i) {
    const air_md *md = op_at(node, i);
    return md && md->kind == AIR_MD_STRING ? md->text : NULL;
}

static const air_md *node_at(const air_md *node, u32 i) {
    const air_md *md = op_at(node, i);
    return md && md->kind == AIR_MD_NODE ? md : NULL;
}

static air_value *value_at(const air_md *node, u32 i) {
    const air_md *md = op_at(node, i);
    return md && md->kind == AIR_MD_VALUE ? md->value : NULL;
}

static bool int_at(const air_md *node, u32 i, u32 *out) {
    const air_value *v = value_at(node, i);
    if (!v || v->kind != AIR_V_CONST || ((const air_const *)v)->kind != AIR_C_INT)
        return false;
    *out = (u32)((const air_const *)v)->wide;
    return true;
}

static const air_named_md *named(const air_module *m, const char *name) {
    for (u32 i = 0; i < m->named.count; i++)
        if (strcmp(m->named.at[i].name, name) == 0)
            return &m->named.at[i];
    return NULL;
}

static bool is_system(const char *name) {
    static const char *const known[] = {
        "thread_position_in_grid", "threads_per_grid", "threadgroup_position_in_grid",
        "threadgroups_per_grid", "thread_position_in_threadgroup", "threads_per_threadgroup",
        "thread_index_in_threadgroup", "thread_index_in_simdgroup",
        "simdgroup_index_in_threadgroup", "simdgroups_per_threadgroup", "threads_per_simdgroup",
        "thread_index_in_quadgroup", "quadgroup_index_in_threadgroup",
        "quadgroups_per_threadgroup", "thread_execution_width", "dispatch_threads_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup", "dispatch_quadgroups_per_threadgroup",
        "grid_origin", "grid_size",
    };
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

static tm_status set_kind(kernel_reader *k, const char *kind, air_arg *arg) {
    if (!kind || strncmp(kind, "air.", 4) != 0)
        return bad(k, "an argument has no kind");
    arg->kind = strcmp(kind, "air.buffer") == 0            ? AIR_ARG_BUFFER
                : strcmp(kind, "air.indirect_buffer") == 0 ? AIR_ARG_INDIRECT_BUFFER
                : strcmp(kind, "air.texture") == 0         ? AIR_ARG_TEXTURE
                : strcmp(kind, "air.sampler") == 0         ? AIR_ARG_SAMPLER
                : is_system(kind + 4)                      ? AIR_ARG_SYSTEM
                                                           : AIR_ARG_OTHER;
    if (arg->kind == AIR_ARG_SYSTEM)
        arg->system = kind + 4;
    return 0;
}

static tm_status read_keys(kernel_reader *k, const air_md *node, u32 at, air_arg *arg) {
    const struct {
        const char *key;
        u32 *number;
        const char **string;
    } rows[] = {
        {"air.location_index", &arg->location, NULL},
        {"air.buffer_size", &arg->size, NULL},
        {"air.address_space", &arg->space, NULL},
        {"air.arg_type_size", &arg->type_size, NULL},
        {"air.arg_type_align_size", &arg->type_align, NULL},
        {"air.arg_type_name", NULL, &arg->type_name},
        {"air.arg_name", NULL, &arg->name},
    };
    for (; at < node->n; at++) {
        const char *key = string_at(node, at);
        if (!key)
            continue;
        if (strcmp(key, "air.read_write") == 0 || strcmp(key, "air.write") == 0)
            arg->writes = true;
        if (strcmp(key, "air.arg_unused") == 0)
            arg->unused = true;
        for (u32 i = 0; i < COUNT_OF(rows); i++) {
            if (strcmp(key, rows[i].key) != 0)
                continue;
            at++;
            if (rows[i].number && !int_at(node, at, rows[i].number))
                return bad(k, "an argument's number is missing");
            if (rows[i].string && !(*rows[i].string = string_at(node, at)))
                return bad(k, "an argument's name is missing");
            break;
        }
    }
    return 0;
}

static tm_status read_arg(kernel_reader *k, const air_md *node, air_arg *arg) {
    if (!node || !int_at(node, 0, &arg->param))
        return bad(k, "an argument has no number");
    if (arg->param >= k->out->func->n_args)
        return bad(k, "an argument's number is out of range");
    u32 at = 1;
    const char *kind = string_at(node, at);
    if (kind && strcmp(kind, "air.function_constant") == 0) {
        const air_md *gate = node_at(node, at + 1);
        arg->gate = gate ? string_at(gate, 2) : NULL;
        if (!arg->gate)
            return bad(k, "an argument's function constant has no name");
        at += 2;
        kind = string_at(node, at);
    }
    TRY(set_kind(k, kind, arg));
    return read_keys(k, node, at + 1, arg);
}

static tm_status read_args(kernel_reader *k, const air_md *list) {
    if (!list)
        return bad(k, "the kernel has no argument list");
    k->out->args = ARENA_ARRAY(k->m->arena, air_arg, list->n);
    for (; k->out->n_args < list->n; k->out->n_args++)
        TRY(read_arg(k, node_at(list, k->out->n_args), &k->out->args[k->out->n_args]));
    return 0;
}

/* Operands behind the argument list: pairs of a key and a number. */
static void read_limits(kernel_reader *k, const air_md *kernel) {
    for (u32 i = 3; i < kernel->n; i++) {
        const air_md *node = node_at(kernel, i);
        const char *key = node ? string_at(node, 0) : NULL;
        if (key && strcmp(key, "air.max_work_group_size") == 0)
            int_at(node, 1, &k->out->max_threads);
    }
}

static tm_status read_constants(kernel_reader *k) {
    const air_named_md *list = named(k->m, "air.function_constants");
    if (!list)
        return 0;
    k->out->constants = ARENA_ARRAY(k->m->arena, air_constant, list->n);
    for (u32 i = 0; i < list->n; i++) {
        const air_md *node = list->ops[i];
        air_constant *c = &k->out->constants[i];
        air_value *global = value_at(node, 0);
        c->type_name = string_at(node, 1);
        c->name = string_at(node, 2);
        if (!global || global->kind != AIR_V_GLOBAL || !c->type_name || !c->name ||
            !int_at(node, 3, &c->index))
            return bad(k, "a function constant is malformed");
        c->global = (air_global *)global;
    }
    k->out->n_constants = list->n;
    return 0;
}

static void read_version(const air_module *m, const char *name, u32 first, u32 *major, u32 *minor) {
    const air_named_md *list = named(m, name);
    if (!list || list->n == 0)
        return;
    int_at(list->ops[0], first, major);
    int_at(list->ops[0], first + 1, minor);
}

tm_status air_kernel_read(air_module *m, air_kernel *out) {
    *out = (air_kernel){0};
    kernel_reader k = {m, out};
    const air_named_md *list = named(m, "air.kernel");
    if (!list || list->n != 1)
        return bad(&k, "a module has exactly one kernel");
    air_value *f = value_at(list->ops[0], 0);
    if (!f || f->kind != AIR_V_FUNC || !((air_func *)f)->first)
        return bad(&k, "the kernel is no function with a body");
    out->func = (air_func *)f;
    out->name = f->name;
    TRY(read_args(&k, node_at(list->ops[0], 2)));
    read_limits(&k, list->ops[0]);
    TRY(read_constants(&k));
    read_version(m, "air.version", 0, &out->air_major, &out->air_minor);
    read_version(m, "air.language_version", 1, &out->lang_major, &out->lang_minor);
    return 0;
}
