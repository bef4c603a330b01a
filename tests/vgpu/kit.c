/* SPDX-License-Identifier: MIT */
#include "kit.h"
#include <stdlib.h>

u32 kit_random(void) {
    static u32 x = 0x9E3779B9;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}
air_type *kit_f32(kit *k, u32 i) { return k->f32; }
air_type *kit_i32(kit *k, u32 i) { return k->i32; }
air_value *kit_int(kit *k, air_type *t, u64 v) { return air_const_int(k->m, t, v); }

static air_md *buffer_md(kit *k, u32 i, u32 space) {
    air_module *m = k->m;
    air_md *ops[] = {air_md_i32(m, i), air_md_string(m, "air.buffer"), air_md_string(m, "air.location_index"),
                     air_md_i32(m, i), air_md_i32(m, 1),
                     air_md_string(m, space == 2 ? "air.read" : "air.read_write"),
                     air_md_string(m, "air.address_space"), air_md_i32(m, space),
                     air_md_string(m, "air.arg_type_size"), air_md_i32(m, 4),
                     air_md_string(m, "air.arg_type_align_size"), air_md_i32(m, 4),
                     air_md_string(m, "air.arg_type_name"), air_md_string(m, "x"),
                     air_md_string(m, "air.arg_name"), air_md_string(m, (const char *[]){"a", "b", "c", "d", "e", "f"}[i])};
    return air_md_node(m, COUNT_OF(ops), ops);
}
static air_md *system_md(kit *k, u32 i, const char *name) {
    air_module *m = k->m;
    air_md *ops[] = {air_md_i32(m, i), air_md_string(m, name), air_md_string(m, "air.arg_type_name"),
                     air_md_string(m, "uint"), air_md_string(m, "air.arg_name"), air_md_string(m, "s")};
    return air_md_node(m, COUNT_OF(ops), ops);
}
void kit_begin(kit *k, u32 n, const u32 *spaces, air_type *(*elem)(kit *k, u32 i)) {
    *k = (kit){.ctx = ctx_new(), .checks = {.bounds = true, .barriers = true}};
    k->m = air_module_new(k->ctx, "k");
    k->i1 = air_type_int(k->m, 1);
    k->i8 = air_type_int(k->m, 8);
    k->i16 = air_type_int(k->m, 16);
    k->i32 = air_type_int(k->m, 32);
    k->i64 = air_type_int(k->m, 64);
    k->f16 = air_type_simple(k->m, AIR_HALF);
    k->bf16 = air_type_simple(k->m, AIR_BFLOAT);
    k->f32 = air_type_simple(k->m, AIR_FLOAT);
    k->none = air_type_simple(k->m, AIR_VOID);
    k->n_buffers = n;
    air_type *params[KIT_BUFFERS + 3];
    air_md *args[KIT_BUFFERS + 3];
    for (u32 i = 0; i < n; i++) {
        u32 space = spaces ? spaces[i] : 1;
        params[i] = air_type_ptr(k->m, elem(k, i), space);
        args[i] = buffer_md(k, i, space);
    }
    for (u32 i = 0; i < 3; i++)
        params[n + i] = k->i32;
    args[n] = system_md(k, n, "air.thread_index_in_simdgroup");
    args[n + 1] = system_md(k, n + 1, "air.simdgroup_index_in_threadgroup");
    args[n + 2] = system_md(k, n + 2, "air.threadgroup_position_in_grid");
    k->f = air_func_new(k->m, "k", air_type_func(k->m, k->none, n + 3, params, false));
    for (u32 i = 0; i < n; i++)
        k->buffer[i] = &k->f->args[i];
    k->lane = &k->f->args[n];
    k->simd = &k->f->args[n + 1];
    k->group = &k->f->args[n + 2];
    air_md *kernel[] = {air_md_value(k->m, &k->f->v), air_md_node(k->m, 0, NULL), air_md_node(k->m, n + 3, args)};
    air_named_md_add(k->m, "air.kernel", air_md_node(k->m, 3, kernel));
    k->at = air_block_new(k->f);
}
void kit_end(kit *k) {
    air_module_free(k->m);
    ctx_free(k->ctx);
}
air_inst *kit_add(kit *k, enum air_op op, air_type *t, u32 n, air_value *const *ops) {
    return air_inst_new(k->m, k->at, op, t, n, ops);
}
air_value *kit_bin(kit *k, enum air_binop sub, air_value *a, air_value *b) {
    air_inst *i = kit_add(k, AIR_BINOP, a->type, 2, (air_value *[]){a, b});
    i->sub = (u8)sub;
    return &i->v;
}
air_value *kit_cmp(kit *k, u32 pred, air_value *a, air_value *b) {
    air_inst *i = kit_add(k, AIR_CMP, k->i1, 2, (air_value *[]){a, b});
    i->sub = (u8)pred;
    return &i->v;
}
air_value *kit_cast(kit *k, enum air_cast sub, air_value *a, air_type *t) {
    air_inst *i = kit_add(k, AIR_CAST, t, 1, &a);
    i->sub = (u8)sub;
    return &i->v;
}
air_value *kit_at(kit *k, u32 buffer, air_value *index) {
    air_value *p = k->buffer[buffer], *wide = kit_cast(k, AIR_ZEXT, index, k->i64);
    air_inst *i = kit_add(k, AIR_GEP, p->type, 2, (air_value *[]){p, wide});
    i->aux = p->type->elem;
    return &i->v;
}
air_value *kit_load(kit *k, air_value *p) { return &kit_add(k, AIR_LOAD, p->type->elem, 1, &p)->v; }
void kit_store(kit *k, air_value *p, air_value *v) { kit_add(k, AIR_STORE, k->none, 2, (air_value *[]){p, v}); }
air_value *kit_call(kit *k, const char *name, air_type *result, u32 n, air_value *const *args) {
    air_value *ops[12];
    air_type *types[12];
    for (u32 i = 0; i < n; i++) {
        ops[i + 1] = args[i];
        types[i] = args[i]->type;
    }
    air_func *f = air_func_find(k->m, name);
    if (!f)
        f = air_func_new(k->m, name, air_type_func(k->m, result, n, types, false));
    ops[0] = &f->v;
    air_inst *i = kit_add(k, AIR_CALL, result, n + 1, ops);
    i->aux = f->func_type;
    return &i->v;
}
static void branch(kit *k, air_value *c, air_block *a, air_block *b) {
    air_inst *i = kit_add(k, AIR_BR, k->none, c ? 1 : 0, c ? &c : NULL);
    i->n_blocks = c ? 2 : 1;
    i->blocks = ARENA_ARRAY(k->m->arena, air_block *, 2);
    i->blocks[0] = a;
    i->blocks[1] = b;
}
void kit_br(kit *k, air_block *to) { branch(k, NULL, to, NULL); }
void kit_cbr(kit *k, air_value *c, air_block *yes, air_block *no) { branch(k, c, yes, no); }
void kit_ret(kit *k) { kit_add(k, AIR_RET, k->none, 0, NULL); }
void kit_bind(kit *k, u32 buffer, void *data, size_t size) {
    k->args[buffer] = (tm_arg){data ? TM_ARG_BUFFER : TM_ARG_THREADGROUP, buffer, data, size, 0};
}
vgpu_kernel *kit_decode(kit *k) { return vgpu_decode(k->ctx, k->m, NULL, 0, k->checks, k->numerics); }
tm_status kit_run(kit *k, u32 groups, u32 threads) {
    vgpu_kernel *g = kit_decode(k);
    if (!g)
        return -1;
    tm_launch_params p = {.grid = {groups, 1, 1}, .group = {threads, 1, 1}, .args = k->args,
                          .n_args = k->n_buffers, .threads = 2, .max_steps = 100000,
                          .grid_threads = {k->grid_threads, 0, 0}};
    tm_status s = vgpu_run(k->ctx, g, &p);
    vgpu_kernel_free(g);
    return s;
}
int kit_code(kit *k) { return k->ctx->first ? diag_number(k->ctx->first->code) : 0; }
void kit_each_isa(void (*body)(void)) {
    static const char *const names[] = {"avx512", "avx2", "base", "neon"};
    for (u32 i = 0; i < COUNT_OF(names); i++) {
        setenv("TRITON_METAL_ISA", names[i], 1);
        if (strcmp(vgpu_isa(), names[i]) == 0)
            body();
    }
    unsetenv("TRITON_METAL_ISA");
}
