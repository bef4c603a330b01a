/* SPDX-License-Identifier: MIT */
#include "sample.h"

typedef struct sample {
    air_module *m;
    air_block *b;
    air_type *i1, *i32, *i64, *f32, *half, *none, *v4, *pf, *pair;
} sample;

static air_value *add(sample *s, enum air_op op, u32 sub, air_type *t, u32 n,
                      air_value *const *ops) {
    air_inst *i = air_inst_new(s->m, s->b, op, t, n, ops);
    i->sub = (u8)sub;
    return &i->v;
}
#define OPS(...) (u32) COUNT_OF(((air_value *[]){__VA_ARGS__})), (air_value *[]){__VA_ARGS__}

static void set_blocks(sample *s, air_value *v, u32 n, air_block *const *blocks) {
    air_inst *i = (air_inst *)v;
    i->n_blocks = n;
    i->blocks = arena_dup(s->m->arena, blocks, n * sizeof *blocks);
}
#define BLOCKS(...) (u32) COUNT_OF(((air_block *[]){__VA_ARGS__})), (air_block *[]){__VA_ARGS__}

static void set_index(sample *s, air_value *v, u32 index) {
    air_inst *i = (air_inst *)v;
    i->n_indices = 1;
    i->indices = arena_dup(s->m->arena, &index, sizeof index);
}

static air_md *str(air_module *m, const char *s) { return air_md_string(m, s); }
#define NODE(m, ...)                                                                               \
    air_md_node(m, (u32)COUNT_OF(((air_md *[]){__VA_ARGS__})), (air_md *[]){__VA_ARGS__})

/* Argument 0 is a device buffer, argument 1 the thread's position. */
static void add_kernel_metadata(air_module *m, air_func *f) {
    air_md *buffer = NODE(m, air_md_i32(m, 0), str(m, "air.buffer"), str(m, "air.location_index"),
                          air_md_i32(m, 0), air_md_i32(m, 1), str(m, "air.read_write"),
                          str(m, "air.address_space"), air_md_i32(m, 1),
                          str(m, "air.arg_type_size"), air_md_i32(m, 4),
                          str(m, "air.arg_type_align_size"), air_md_i32(m, 4),
                          str(m, "air.arg_type_name"), str(m, "float"), str(m, "air.arg_name"),
                          str(m, "out"));
    air_md *position = NODE(m, air_md_i32(m, 1), str(m, "air.thread_position_in_grid"),
                            str(m, "air.arg_type_name"), str(m, "uint"), str(m, "air.arg_name"),
                            str(m, "gid"));
    air_md *limit = NODE(m, str(m, "air.max_work_group_size"), air_md_i32(m, 128));
    air_named_md_add(m, "air.kernel", NODE(m, air_md_value(m, &f->v), air_md_node(m, 0, NULL),
                                           NODE(m, buffer, position), limit));
    air_named_md_add(m, "air.version",
                     NODE(m, air_md_i32(m, 2), air_md_i32(m, 7), air_md_i32(m, 0)));
    air_named_md_add(m, "air.language_version", NODE(m, str(m, "Metal"), air_md_i32(m, 3),
                                                     air_md_i32(m, 2), air_md_i32(m, 0)));
    air_named_md_add(m, "air.compile_options", NODE(m, str(m, "air.compile.denorms_disable")));
    air_named_md_add(m, "llvm.module.flags",
                     NODE(m, air_md_i32(m, 1), str(m, "wchar_size"), air_md_i32(m, 4)));
    air_named_md_add(m, "llvm.ident", NODE(m, str(m, "Apple metal version 32023.883 (test)")));
}

static void begin(sample *s, tm_ctx *ctx, const char *name) {
    air_module *m = air_module_new(ctx, name);
    m->triple = "air64_v27-apple-macosx15.0.0";
    *s = (sample){.m = m};
    s->i1 = air_type_int(m, 1);
    s->i32 = air_type_int(m, 32);
    s->i64 = air_type_int(m, 64);
    s->f32 = air_type_simple(m, AIR_FLOAT);
    s->half = air_type_simple(m, AIR_HALF);
    s->none = air_type_simple(m, AIR_VOID);
    s->v4 = air_type_vector(m, s->f32, 4);
    s->pf = air_type_ptr(m, s->f32, 1);
    s->pair = air_type_struct(m, 2, (air_type *[]){s->f32, s->i32}, false, NULL);
}

static air_func *begin_kernel(sample *s, const char *name) {
    air_type *params[] = {s->pf, s->i32};
    air_func *f = air_func_new(s->m, name, air_type_func(s->m, s->none, 2, params, false));
    f->linkage = AIR_WEAK_ODR;
    f->unnamed_addr = 2;
    s->b = air_block_new(f);
    return f;
}

air_module *sample_kernel(tm_ctx *ctx) {
    sample s;
    begin(&s, ctx, "store_seven");
    air_func *f = begin_kernel(&s, "store_seven");
    air_value *at = add(&s, AIR_CAST, AIR_ZEXT, s.i64, OPS(&f->args[1]));
    air_value *p = add(&s, AIR_GEP, 0, s.pf, OPS(&f->args[0], at));
    ((air_inst *)p)->aux = s.f32;
    ((air_inst *)p)->flags = AIR_INBOUNDS;
    air_value *st = add(&s, AIR_STORE, 0, s.none, OPS(p, air_const_float(s.m, s.f32, 0x40E00000)));
    ((air_inst *)st)->align = 4;
    add(&s, AIR_RET, 0, s.none, 0, NULL);
    add_kernel_metadata(s.m, f);
    return s.m;
}

static void add_globals(sample *s) {
    air_module *m = s->m;
    VEC_PUSH(m->arena, &m->sections, "air.static_init");
    air_type *chars = air_type_array(m, air_type_int(m, 8), 3), *p8 = air_type_ptr(m, chars->elem, 2);
    air_global *chr = air_global_new(m, "a \"quoted\" name", chars, 2);
    chr->linkage = AIR_PRIVATE;
    chr->dso_local = chr->constant = true;
    chr->unnamed_addr = 1;
    chr->init = air_const_data(m, chars, "hi", 3, true);
    air_value *zero = air_const_int(m, s->i32, 0);
    air_type *named = air_type_struct(m, 2, (air_type *[]){p8, s->half}, true, "struct.Named");
    air_global *g = air_global_new(m, "with.expressions", named, 0);
    air_value *field = air_const_gep(m, chars, true, 3, (air_value *[]){&chr->v, zero, zero}, p8);
    g->init = air_const_aggregate(
        m, named, 2, (air_value *[]){field, air_const_float(m, s->half, 0x3C00)});
    g->section = 1;
    g->align = 8;
    air_type *table = air_type_array(m, s->pair, 2);
    air_value *row = air_const_aggregate(
        m, s->pair, 2, (air_value *[]){air_const_float(m, s->f32, 0x3DCCCCCD), zero});
    air_global *t = air_global_new(m, "table", table, 2);
    t->init = air_const_aggregate(m, table, 2,
                                  (air_value *[]){row, air_const_undef(m, s->pair)});
    air_type *shared = air_type_array(m, s->f32, 64);
    air_global *tg = air_global_new(m, "shared", shared, 3);
    tg->linkage = AIR_INTERNAL;
    tg->dso_local = true;
    tg->init = air_const_undef(m, shared);
    air_type *words = air_type_array(m, s->i32, 3);
    air_global *w = air_global_new(m, "words", words, 2);
    w->init = air_const_data(m, words, (const u32[]){1, 0xFFFFFFFF, 0x80000000}, 12, false);
    air_global *c = air_global_new(m, "cast", air_type_ptr(m, s->i32, 3), 0);
    c->init = air_const_cast(m, AIR_BITCAST, &tg->v, c->value_type);
}

static u32 add_attributes(air_module *m) {
    air_attr *fn = ARENA_ARRAY(m->arena, air_attr, 3), *param = ARENA_ARRAY(m->arena, air_attr, 3);
    fn[0] = (air_attr){.form = AIR_ATTR_ENUM, .kind = 18}; /* nounwind */
    fn[1] = (air_attr){.form = AIR_ATTR_KEY_VALUE, .key = "frame-pointer", .text = "all"};
    fn[2] = (air_attr){.form = AIR_ATTR_KEY, .key = "no-builtins"};
    param[0] = (air_attr){.form = AIR_ATTR_ENUM, .kind = 68}; /* noundef */
    param[1] = (air_attr){.form = AIR_ATTR_INT, .kind = 41, .value = 4}; /* dereferenceable */
    param[2] = (air_attr){.form = AIR_ATTR_KEY, .key = "air-buffer-no-alias"};
    VEC_PUSH(m->arena, &m->attr_groups, ((air_attr_group){1, UINT32_MAX, 3, fn}));
    VEC_PUSH(m->arena, &m->attr_groups, ((air_attr_group){2, 1, 3, param}));
    u32 *groups = arena_dup(m->arena, (u32[]){0, 1}, 8);
    VEC_PUSH(m->arena, &m->attr_lists, ((air_attr_list){2, groups}));
    return m->attr_lists.count;
}

/* Entry: straight-line code over every value-producing operation. */
static air_value *add_values(sample *s, air_func *f, air_func *helper) {
    air_module *m = s->m;
    air_value *n = &f->args[1], *one = air_const_int(m, s->i32, 1);
    air_value *room = add(s, AIR_ALLOCA, 0, air_type_ptr(m, s->f32, 0), OPS(one));
    ((air_inst *)room)->aux = s->f32;
    ((air_inst *)room)->align = 4;
    air_value *sum = add(s, AIR_BINOP, AIR_ADD, s->i32, OPS(n, one));
    ((air_inst *)sum)->flags = AIR_NUW | AIR_NSW;
    air_value *shifted = add(s, AIR_BINOP, AIR_LSHR, s->i32, OPS(sum, one));
    ((air_inst *)shifted)->flags = AIR_EXACT;
    air_value *index = add(s, AIR_CAST, AIR_ZEXT, s->i64, OPS(shifted));
    air_value *p = add(s, AIR_GEP, 0, s->pf, OPS(&f->args[0], index));
    ((air_inst *)p)->aux = s->f32;
    ((air_inst *)p)->flags = AIR_INBOUNDS;
    air_value *x = add(s, AIR_LOAD, 0, s->f32, OPS(p));
    ((air_inst *)x)->align = 4;
    ((air_inst *)x)->flags = AIR_VOLATILE;
    air_value *y = add(s, AIR_FNEG, 0, s->f32, OPS(x));
    air_value *z = add(s, AIR_BINOP, AIR_MUL, s->f32, OPS(x, y));
    ((air_inst *)z)->fmf = 0xFE;
    ((air_inst *)z)->flags = AIR_HAS_FMF;
    air_value *less = add(s, AIR_CMP, 4, s->i1, OPS(x, z));
    air_value *eq = add(s, AIR_CMP, 32, s->i1, OPS(n, sum));
    air_value *both = add(s, AIR_SELECT, 0, s->i1, OPS(less, eq, air_const_int(m, s->i1, 0)));
    air_value *z2 = add(s, AIR_SELECT, 0, s->f32, OPS(both, z, air_const_poison(m, s->f32)));
    air_value *v = add(s, AIR_INSERTELT, 0, s->v4,
                       OPS(air_const_undef(m, s->v4), z2, air_const_int(m, s->i64, 0)));
    air_type *v2i = air_type_vector(m, s->i32, 2);
    air_value *mask = air_const_aggregate(
        m, v2i, 2, (air_value *[]){air_const_int(m, s->i32, 0), air_const_undef(m, s->i32)});
    air_value *two = add(s, AIR_SHUFFLE, 0, air_type_vector(m, s->f32, 2), OPS(v, v, mask));
    air_value *e = add(s, AIR_EXTRACTELT, 0, s->f32, OPS(two, one));
    air_value *agg = add(s, AIR_INSERTVAL, 0, s->pair, OPS(air_const_undef(m, s->pair), e));
    set_index(s, agg, 0);
    air_value *field = add(s, AIR_EXTRACTVAL, 0, s->f32, OPS(agg));
    set_index(s, field, 0);
    air_value *frozen = add(s, AIR_FREEZE, 0, s->f32, OPS(field));
    air_value *called = add(s, AIR_CALL, 0, s->f32, OPS(&helper->v, frozen));
    ((air_inst *)called)->aux = helper->func_type;
    ((air_inst *)called)->flags = AIR_TAIL;
    ((air_inst *)called)->cc = 8;
    air_value *st = add(s, AIR_STORE, 0, s->none, OPS(room, called));
    ((air_inst *)st)->align = 4;
    return sum;
}

/* Entry switches to a loop that needs a value from ahead, or leaves through unreachable. */
static void add_control(sample *s, air_func *f, air_value *sum) {
    air_module *m = s->m;
    air_block *entry = s->b, *loop = air_block_new(f), *done = air_block_new(f),
              *never = air_block_new(f);
    air_value *zero = air_const_int(m, s->i32, 0), *one = air_const_int(m, s->i32, 1);
    air_value *sw = add(s, AIR_SWITCH, 0, s->none, OPS(sum, zero, air_const_int(m, s->i32, 7)));
    set_blocks(s, sw, BLOCKS(loop, done, never));
    s->b = loop;
    air_value *phi = add(s, AIR_PHI, 0, s->i32, OPS(zero, zero));
    air_value *next = add(s, AIR_BINOP, AIR_ADD, s->i32, OPS(phi, one));
    ((air_inst *)phi)->ops[1] = next;
    set_blocks(s, phi, BLOCKS(entry, loop));
    air_value *more = add(s, AIR_CMP, 40, s->i1, OPS(next, sum));
    air_value *br = add(s, AIR_BR, 0, s->none, OPS(more));
    set_blocks(s, br, BLOCKS(loop, done));
    air_md *id = air_md_distinct(m, 2, (air_md *[]){NULL, NODE(m, str(m, "llvm.loop.mustprogress"))});
    id->ops[0] = id;
    ((air_inst *)br)->attach = arena_dup(m->arena, &(air_attach){18, id}, sizeof(air_attach));
    ((air_inst *)br)->n_attach = 1;
    s->b = done;
    add(s, AIR_RET, 0, s->none, 0, NULL);
    s->b = never;
    add(s, AIR_UNREACHABLE, 0, s->none, 0, NULL);
}

air_module *sample_module(tm_ctx *ctx) {
    sample s;
    begin(&s, ctx, "everything");
    add_globals(&s);
    air_func *helper = air_func_new(s.m, "half", air_type_func(s.m, s.f32, 1, &s.f32, false));
    helper->linkage = AIR_INTERNAL;
    helper->cc = 8;
    helper->dso_local = true;
    s.b = air_block_new(helper);
    air_value *x = add(&s, AIR_BINOP, AIR_MUL, s.f32,
                       OPS(&helper->args[0], air_const_float(s.m, s.f32, 0x3F000000)));
    add(&s, AIR_RET, 0, s.none, OPS(x));
    air_func *f = begin_kernel(&s, "everything");
    f->attrs = add_attributes(s.m);
    add_control(&s, f, add_values(&s, f, helper));
    add_kernel_metadata(s.m, f);
    return s.m;
}
