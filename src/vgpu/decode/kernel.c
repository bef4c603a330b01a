/* SPDX-License-Identifier: MIT */
/* Kernels: parameters from metadata, the steps of decoding, static initialisers, which run on the
 * constant memory that the kernel will read. */
#include "vgpu/decode/build.h"
#include "vgpu/check/check.h"

static const struct { const char *name; u8 system; } systems[] = {
    {"threadgroup_position_in_grid", VSYS_TG_POS},
    {"threadgroups_per_grid", VSYS_TG_COUNT},
    {"threads_per_threadgroup", VSYS_TG_SIZE},
    {"dispatch_threads_per_threadgroup", VSYS_TG_SIZE},
    {"threads_per_grid", VSYS_GRID_SIZE},
    {"simdgroup_index_in_threadgroup", VSYS_SG_INDEX},
    {"simdgroups_per_threadgroup", VSYS_SG_COUNT},
    {"dispatch_simdgroups_per_threadgroup", VSYS_SG_COUNT},
    {"thread_position_in_grid", VSYS_POS_IN_GRID},
    {"thread_position_in_threadgroup", VSYS_POS_IN_TG},
    {"thread_index_in_threadgroup", VSYS_INDEX_IN_TG},
    {"thread_index_in_simdgroup", VSYS_LANE},
    {"thread_position_in_simdgroup", VSYS_LANE},
    {"threads_per_simdgroup", VSYS_SG_SIZE},
    {"thread_execution_width", VSYS_SG_SIZE},
    {"thread_index_in_quadgroup", VSYS_QUAD_LANE},
    {"quadgroup_index_in_threadgroup", VSYS_QUAD_INDEX},
    {"quadgroups_per_threadgroup", VSYS_QUAD_COUNT},
    {"grid_origin", VSYS_GRID_ORIGIN},
};
static bool system_is_shared(u8 s) {
    return s <= VSYS_SG_COUNT || s == VSYS_SG_SIZE || s == VSYS_GRID_ORIGIN || s == VSYS_QUAD_COUNT;
}
static u32 new_param(vbuild *b, vparam p, u8 cls, bool divergent) {
    u32 v = v_new(b, cls);
    v_at(b, v)->param = true;
    v_at(b, v)->divergent = divergent;
    v_at(b, v)->param_number = (i32)b->k->n_params;
    p.reg = -1;
    b->k->params[b->k->n_params++] = p;
    return v;
}
u32 lane_id(vbuild *b) {
    if (b->lane == NO) {
        vparam p = {.kind = VPARAM_LANES, .system = VSYS_LANE, .name = "lane"};
        if (!b->k->params)
            b->k->params = ARENA_ARRAY(b->k->arena, vparam, 1);
        b->lane = new_param(b, p, CLS_W, true);
    }
    return b->lane;
}
static void system_argument(vbuild *b, const air_arg *a, const air_type *t, u32 *comps, u32 n) {
    const char *name = a->system ? a->system : "";
    if (strncmp(name, "air.", 4) == 0)
        name += 4;
    for (u32 s = 0; s < COUNT_OF(systems); s++) {
        if (strcmp(name, systems[s].name) != 0)
            continue;
        bool shared = system_is_shared(systems[s].system);
        for (u32 c = 0; c < n && c < 3; c++) {
            vtype ct = type_comp(b, t, c);
            vparam p = {.kind = shared ? VPARAM_SCALAR : VPARAM_LANES, .system = systems[s].system,
                        .axis = (u8)c, .name = name};
            u32 v = new_param(b, p, CLS_W, !shared);
            comps[c] = ct.cls == CLS_D ? v_op1(b, VOP_zext_d, v) : norm(b, ct, v);
        }
        return;
    }
    v_refuse(b, arena_printf(b->k->arena, "the system value '%s'", name));
}
enum { MOST_ARGUMENTS = 1000, MOST_INITIALISERS = 64, MOST_WORK = 2000000 };
static void kernel_arguments(vbuild *b, vinstance *in) {
    vgpu_kernel *k = b->k;
    const air_kernel *ak = b->kernel;
    k->n_segs = SEG_ARG0;
    if (ak->n_args > MOST_ARGUMENTS) {
        v_refuse(b, "more than 1000 arguments");
        return;
    }
    k->params = ARENA_ARRAY(k->arena, vparam, 1 + 4 * ak->n_args);
    for (u32 i = 0; i < ak->n_args && !b->failed; i++) {
        const air_arg *a = &ak->args[i];
        if (a->param >= in->f->n_args) {
            v_refuse(b, "metadata of a parameter that does not exist");
            return;
        }
        const air_value *arg = &in->f->args[a->param];
        u32 n = type_comps(b, arg->type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
        memset(comps, 0xFF, n * sizeof *comps);
        in->vals[arg->id] = comps;
        vparam p = {.location = a->location, .writes = a->writes, .gated = a->gate != NULL,
                    .min_size = a->size, .elem_size = a->type_size,
                    .type = a->type_name ? arena_str(k->arena, a->type_name, strlen(a->type_name)) : NULL,
                    .name = a->name ? arena_str(k->arena, a->name, strlen(a->name)) : "?"};
        switch (a->kind) {
        case AIR_ARG_BUFFER:
        case AIR_ARG_INDIRECT_BUFFER:
            p.kind = a->space == 3 ? VPARAM_THREADGROUP : VPARAM_BUFFER;
            if (p.kind == VPARAM_BUFFER)
                p.seg = (u16)k->n_segs++;
            p.space = (u8)a->space;
            comps[0] = new_param(b, p, CLS_D, false);
            break;
        case AIR_ARG_SYSTEM: system_argument(b, a, arg->type, comps, n); break;
        default:
            v_refuse(b, a->kind == AIR_ARG_TEXTURE ? "texture arguments"
                        : a->kind == AIR_ARG_SAMPLER ? "sampler arguments" : "this kind of argument");
        }
        comps_fit(b, arg->type, comps);
    }
    for (u32 i = 0; i < in->f->n_args && !b->failed; i++)
        if (!in->vals[in->f->args[i].id])
            v_refuse(b, "a parameter without metadata");
}

static tm_status decode_body(vbuild *b, air_func *f) {
    u32 biggest = 0;
    for (u32 i = 0; i < b->m->funcs.count; i++) {
        u32 n = number_function(b->m->funcs.at[i]);
        biggest = MAX(biggest, n);
    }
    vsite none = {NULL, NULL, VGPU_NO_BLOCK};
    VEC_PUSH(b->a, &b->sites, none);
    vinstance in = {.f = f, .exit = NO, .is_kernel = true,
                    .vals = ARENA_ARRAY(b->a, u32 *, biggest + 1)};
    u32 prologue = v_block(b, NULL);
    b->cur = prologue;
    b->blocks.at[prologue]->reached = true;
    if (b->kernel)
        kernel_arguments(b, &in);
    else
        b->k->n_segs = SEG_ARG0;
    if (b->failed || !globals_place(b))
        return -1;
    if (!decode_function(b, &in))
        return -1;
    b->cur = prologue;
    v_br(b, in.block_of[f->first->id]);
    if (!shape_kernel(b))
        return -1;
    gather_products(b);
    return slots_kernel(b) && encode_kernel(b) ? 0 : -1;
}
static vgpu_kernel *decode_one(tm_ctx *ctx, air_module *m, air_func *f, const air_kernel *ak,
                               const tm_constant_value *constants, u32 n_constants,
                               vgpu_checks checks, vgpu_numerics numerics, vgpu_kernel *with_data) {
    vbuild b = {.ctx = ctx, .m = m, .a = arena_new(), .budget = MOST_WORK, .constants = constants,
                .n_constants = n_constants, .kernel = ak, .lane = NO};
    vgpu_kernel *k;
    if (with_data) { /* static initialisers filled its constant memory */
        k = with_data;
        k->const_writable = false;
    } else {
        arena *a = arena_new();
        k = ARENA_NEW(a, vgpu_kernel);
        k->arena = a;
        k->const_writable = !ak;
    }
    k->name = arena_str(k->arena, f->v.name ? f->v.name : "?", f->v.name ? strlen(f->v.name) : 1);
    k->checks = checks;
    k->numerics = numerics;
    k->granule = 2;
    k->max_threads = ak ? ak->max_threads : 1;
    b.k = k;
    for (u32 i = 0; i < 4; i++)
        b.consts[i] = map_new(b.a);
    b.globals = map_new(b.a);
    v_w(&b, 0); /* value 0, which also stands where one was refused */
    b.shapes = map_new(b.a);
    tm_status s = decode_body(&b, f);
    if (s == 0 && !vpool_new(k))
        s = diag_at(ctx, NULL, TM9002, "decoding");
    b.failed |= s != 0 && ctx->errors;
    if (s != 0 && !b.failed)
        diag_at(ctx, NULL, TM9001, "decoding failed without a reason");
    arena_free(b.a);
    if (s == 0)
        return k;
    if (!with_data)
        arena_free(k->arena);
    return NULL;
}

/* Runs the module's static initialisers on the constant memory that the kernel will read. */
static tm_status run_initialisers(tm_ctx *ctx, air_module *m, const tm_constant_value *constants,
                                  u32 n_constants, vgpu_numerics numerics, vgpu_kernel *k) {
    for (u32 g = 0; g < m->globals.count; g++) {
        air_global *ctors = m->globals.at[g];
        if (!ctors->v.name || strcmp(ctors->v.name, "llvm.global_ctors") != 0 || !ctors->init ||
            ctors->init->kind != AIR_V_CONST)
            continue;
        air_const *list = (air_const *)ctors->init;
        if (list->n_elems > MOST_INITIALISERS)
            return diag_at(ctx, NULL, TM3001, k->name ? k->name : "?", "more than 64 static initialisers");
        for (u32 i = 0; list->kind == AIR_C_AGGREGATE && i < list->n_elems; i++) {
            air_const *row = (air_const *)list->elems[i];
            if (row->v.kind != AIR_V_CONST || row->kind != AIR_C_AGGREGATE || row->n_elems < 2 ||
                row->elems[1]->kind != AIR_V_FUNC)
                continue;
            air_func *f = (air_func *)row->elems[1];
            if (!f->first)
                continue;
            vgpu_checks on = {.bounds = true, .barriers = true};
            vgpu_kernel *init = decode_one(ctx, m, f, NULL, constants, n_constants, on, numerics, NULL);
            if (!init)
                return -1;
            if (k->const_size == init->const_size && k->const_data)
                memcpy(init->const_data, k->const_data, init->const_size);
            tm_launch_params p = {.grid = {1, 1, 1}, .group = {1, 1, 1}, .threads = 1,
                                  .max_steps = 1000000};
            tm_status s = vgpu_run(ctx, init, &p);
            k->const_size = init->const_size;
            k->const_data = arena_dup(k->arena, init->const_data, init->const_size + 8);
            vgpu_kernel_free(init);
            TRY(s);
        }
    }
    return 0;
}

vgpu_kernel *vgpu_decode(tm_ctx *ctx, air_module *m, const tm_constant_value *constants,
                         u32 n_constants, vgpu_checks checks, vgpu_numerics numerics) {
    air_kernel ak;
    if (air_verify(m) != 0 || air_kernel_read(m, &ak) != 0)
        return NULL;
    if (!ak.func || !ak.func->first) {
        diag_at(ctx, NULL, TM3001, ak.name ? ak.name : "?", "a kernel without a body");
        return NULL;
    }
    arena *a = arena_new();
    vgpu_kernel *k = ARENA_NEW(a, vgpu_kernel);
    k->arena = a;
    if (run_initialisers(ctx, m, constants, n_constants, numerics, k) != 0 ||
        !decode_one(ctx, m, ak.func, &ak, constants, n_constants, checks, numerics, k)) {
        arena_free(a);
        return NULL;
    }
    if ((checks.numerics || checks.schedules) && twins_make(ctx, m, constants, n_constants, k) != 0) {
        vgpu_kernel_free(k);
        return NULL;
    }
    return k;
}
void vgpu_kernel_free(vgpu_kernel *k) {
    if (!k)
        return;
    twins_free(k);
    vpool_free(k);
    arena_free(k->arena);
}
