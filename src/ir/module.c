/* SPDX-License-Identifier: MIT */
/* Modules: their pools, their functions, the op table. */
#include "base/map.h"
#include "ir/format.h"
#include "ir/text.h"

#define GENERIC IR_FORMAT_GENERIC
#define BINARY IR_FORMAT_BINARY
#define UNARY IR_FORMAT_UNARY
#define CAST IR_FORMAT_CAST
#define TTCAST IR_FORMAT_TTCAST
#define COMPARE IR_FORMAT_COMPARE
#define FUNC IR_FORMAT_FUNC
#define NONE IR_FORMAT_NONE
#define ITEM IR_FORMAT_ITEM
#define OWN IR_FORMAT_OWN
const ir_op_info ir_ops[IR_CODE_COUNT] = {
#define IR_OP(code, name, ins, outs, regions, format, traits, doc)                                 \
    [IR_##code] = {name, ins, outs, regions, format, (u16)(traits), doc},
#include "ir/ops.def"
#undef IR_OP
};
#undef GENERIC
#undef BINARY
#undef UNARY
#undef CAST
#undef TTCAST
#undef COMPARE
#undef FUNC
#undef NONE
#undef ITEM
#undef OWN

ir_module *ir_module_new(tm_ctx *ctx) {
    arena *a = arena_new();
    ir_module *m = ARENA_NEW(a, ir_module);
    m->arena = a;
    m->ctx = ctx;
    m->pools = ARENA_NEW(a, struct ir_pools);
    m->pools->strings = strmap_new(a);
    intern_init(&m->pools->types, a);
    intern_init(&m->pools->attrs, a);
    intern_init(&m->pools->locs, a);
    ir_builder detached = {.m = m, .loc = ir_loc_unknown(m)};
    m->op = ir_build(&detached, IR_builtin_module, 0, NULL, 0, NULL, 1);
    ir_block_new(m, &m->op->regions[0]);
    return m;
}

void ir_module_free(ir_module *m) {
    if (m)
        arena_free(m->arena);
}

static const char *symbol_name(const ir_op *func) {
    const ir_attr *name = ir_attr_get(func, "sym_name");
    return name && name->kind == IR_ATTR_STRING ? name->text : NULL;
}

ir_op *ir_module_func(const ir_module *m, const char *name) {
    IR_FOR_EACH_OP(ir_module_body(m), op) {
        const char *s = op->code == IR_tt_func ? symbol_name(op) : NULL;
        if (s && strcmp(s, name) == 0)
            return op;
    }
    return NULL;
}

static bool is_public(const ir_op *func) {
    const ir_attr *v = ir_attr_get(func, "sym_visibility");
    return !v || v->kind != IR_ATTR_STRING || strcmp(v->text, "public") == 0;
}

ir_op *ir_module_kernel(ir_module *m) {
    ir_op *kernel = NULL;
    IR_FOR_EACH_OP(ir_module_body(m), op) {
        if (op->code != IR_tt_func || !is_public(op))
            continue;
        if (kernel) {
            src_loc at = ir_loc_source(m, op->loc);
            diag_at(m->ctx, &at, TM1181, symbol_name(kernel), symbol_name(op));
            return NULL;
        }
        kernel = op;
    }
    if (!kernel)
        diag_at(m->ctx, NULL, TM1180);
    return kernel;
}

const char *ir_code_name(const ir_op *op) {
    return op->code == IR_unknown && op->other_name ? op->other_name : ir_ops[op->code].name;
}

bool ir_constant_bits(const ir_value *v, i64 *bits) {
    if (!v->op || v->op->code != IR_arith_constant)
        return false;
    const ir_attr *a = ir_attr_get(v->op, "value");
    if (!a)
        return false;
    if (a->kind == IR_ATTR_INT || a->kind == IR_ATTR_FLOAT) {
        *bits = a->i;
        return true;
    }
    if (a->kind != IR_ATTR_DENSE || !a->splat)
        return false;
    *bits = a->ints[0];
    return true;
}
