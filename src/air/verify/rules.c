/* SPDX-License-Identifier: MIT */
/* Checks a module against what Apple's compiler emits and never emits: rules.def lists the rules, one
 * function here decides each. A predicate returns true when its rule is broken. The module must have
 * passed air_verify. */
#include "air/pools.h"
#include "air/verify/rules_names.h"

typedef struct rule_check {
    air_module *m;
    u32 air_minor;
    const air_func *func;
    air_kernel kernel;
} rule_check;

static bool callee_is(const air_inst *i, const char *prefix) {
    return i->op == AIR_CALL && i->ops[0]->kind == AIR_V_FUNC &&
           strncmp(i->ops[0]->name, prefix, strlen(prefix)) == 0;
}

static bool int_operand(const air_inst *i, u32 k, u64 *out) {
    const air_const *c = k < i->n_ops ? as_const(i->ops[k]) : NULL;
    if (!c || c->kind != AIR_C_INT)
        return false;
    *out = c->wide;
    return true;
}

static bool rule_int_float_cast(const rule_check *r, const air_inst *i) {
    return i->op == AIR_CAST && i->sub >= AIR_FPTOUI && i->sub <= AIR_SITOFP;
}
static bool rule_frem(const rule_check *r, const air_inst *i) {
    return i->op == AIR_BINOP && i->sub == AIR_SREM && type_is_float(type_scalar(i->v.type));
}
static bool rule_addrspacecast(const rule_check *r, const air_inst *i) {
    return i->op == AIR_CAST && i->sub == AIR_ADDRSPACECAST;
}
static bool rule_inttoptr(const rule_check *r, const air_inst *i) {
    return i->op == AIR_CAST && i->sub == AIR_INTTOPTR;
}
static bool rule_wide_type(const rule_check *r, const air_inst *i) {
    const air_type *t = type_scalar(i->v.type);
    return t->kind == AIR_DOUBLE || (t->kind == AIR_INT && t->bits > 64);
}
static bool rule_bfloat_before_26(const rule_check *r, const air_inst *i) {
    return r->air_minor < 6 && type_scalar(i->v.type)->kind == AIR_BFLOAT;
}

static const air_type *accessed(const air_inst *i) {
    return i->op == AIR_LOAD ? i->v.type : i->op == AIR_STORE ? i->ops[1]->type : NULL;
}
static bool rule_memory_bool(const rule_check *r, const air_inst *i) {
    const air_type *t = accessed(i);
    return t && type_scalar(t)->kind == AIR_INT && type_scalar(t)->bits == 1;
}
static bool rule_memory_aggregate(const rule_check *r, const air_inst *i) {
    const air_type *t = accessed(i);
    return t && (t->kind == AIR_STRUCT || t->kind == AIR_ARRAY);
}

static bool rule_gep_index(const rule_check *r, const air_inst *i) {
    for (u32 k = 1; i->op == AIR_GEP && k < i->n_ops; k++) {
        const air_type *t = i->ops[k]->type;
        if (t->kind != AIR_INT || !(t->bits == 64 || (t->bits == 32 && as_const(i->ops[k]))))
            return true;
    }
    return false;
}
static bool rule_gep_vector(const rule_check *r, const air_inst *i) {
    return i->v.type->kind == AIR_VECTOR && i->v.type->elem->kind == AIR_PTR;
}
static bool rule_alloca_entry(const rule_check *r, const air_inst *i) {
    return i->op == AIR_ALLOCA && i->block != r->func->first;
}
static bool rule_indirect_call(const rule_check *r, const air_inst *i) {
    return i->op == AIR_CALL && i->ops[0]->kind != AIR_V_FUNC;
}

static bool rule_llvm_intrinsic(const rule_check *r, const air_inst *i) {
    static const char *const known[] = {
        "llvm.fmuladd.", "llvm.memcpy.", "llvm.memset.", "llvm.lifetime.", "llvm.smin.",
        "llvm.smax.", "llvm.umin.", "llvm.umax.", "llvm.abs.", "llvm.assume", "llvm.fshl.",
        "llvm.usub.sat.", "llvm.experimental.noalias.scope.decl",
    };
    if (!callee_is(i, "llvm."))
        return false;
    for (u32 k = 0; k < COUNT_OF(known); k++)
        if (callee_is(i, known[k]))
            return false;
    return true;
}

static bool rule_barrier(const rule_check *r, const air_inst *i) {
    u64 flags, scope;
    if (callee_is(i, "air.threadgroup.barrier"))
        return true;
    return callee_is(i, "air.wg.barrier") &&
           !(int_operand(i, 1, &flags) && int_operand(i, 2, &scope) && flags <= 7 && scope == 1);
}
static bool rule_simdgroup_barrier(const rule_check *r, const air_inst *i) {
    u64 scope;
    return callee_is(i, "air.simdgroup.barrier") &&
           !(int_operand(i, 2, &scope) && scope == (r->air_minor >= 7 ? 4 : 1));
}

static bool is_pair(const air_type *t) {
    return t->kind == AIR_VECTOR && t->count == 2 && t->elem->kind == AIR_INT && t->elem->bits == 64;
}
static bool rule_matrix_memory(const rule_check *r, const air_inst *i) {
    bool load = callee_is(i, "air.simdgroup_matrix_8x8_load");
    if (!load && !callee_is(i, "air.simdgroup_matrix_8x8_store"))
        return false;
    u32 first = load ? 2 : 3;
    if (i->n_ops != first + 3)
        return true;
    const air_type *a = i->ops[first]->type, *b = i->ops[first + 1]->type,
                   *c = i->ops[first + 2]->type;
    return r->air_minor >= 8 ? !is_pair(a) || !is_pair(b) || !is_pair(c)
                             : a->kind != AIR_INT || a->bits != 64 || !is_pair(b) ||
                                   c->kind != AIR_INT || c->bits != 1;
}

/* The last three operands are order, scope, volatile. */
static bool rule_atomic_scope(const rule_check *r, const air_inst *i) {
    bool device = callee_is(i, "air.atomic.global."), local = callee_is(i, "air.atomic.local.");
    u64 order, scope, is_volatile;
    return (device || local) &&
           !(i->n_ops > 4 && int_operand(i, i->n_ops - 3, &order) &&
             int_operand(i, i->n_ops - 2, &scope) && int_operand(i, i->n_ops - 1, &is_volatile) &&
             order == 0 && scope == (device ? 2 : 1) && is_volatile == 1);
}

/* ---- Modules ---------------------------------------------------------------------------------- */
static const air_named_md *named(const rule_check *r, const char *name) {
    for (u32 i = 0; i < r->m->named.count; i++)
        if (strcmp(r->m->named.at[i].name, name) == 0 && r->m->named.at[i].n)
            return &r->m->named.at[i];
    return NULL;
}

static bool rule_one_kernel(const rule_check *r) {
    const air_func *f = r->kernel.func;
    return strcmp(r->m->source_name, f->v.name) != 0 || f->func_type->elem->kind != AIR_VOID ||
           f->cc != 0 || r->kernel.n_args != f->n_args;
}
static bool rule_datalayout(const rule_check *r) {
    return strcmp(r->m->datalayout, air_datalayout()) != 0;
}
/* "air64-apple-macosx15.0.0", or with the version: "air64_v27-apple-macosx15.0.0". */
static bool rule_version(const rule_check *r) {
    const char *t = r->m->triple;
    bool plain = strncmp(t, "air64-apple-macosx", 18) == 0;
    bool versioned = strncmp(t, "air64_v2", 8) == 0 && t[8] == (char)('0' + r->air_minor) &&
                     strncmp(t + 9, "-apple-macosx", 13) == 0;
    return !(plain || versioned) || r->kernel.air_major != 2 || r->kernel.air_minor != r->air_minor;
}
static bool rule_options(const rule_check *r) { return !named(r, "air.compile_options"); }
static bool rule_buffers(const rule_check *r) {
    for (u32 i = 0; i < r->kernel.n_args; i++)
        if (r->kernel.args[i].kind <= AIR_ARG_INDIRECT_BUFFER && r->kernel.args[i].location > 30)
            return true;
    return false;
}
static bool rule_ident(const rule_check *r) {
    return !named(r, "llvm.ident") || !named(r, "llvm.module.flags");
}

/* ---- Running them ------------------------------------------------------------------------------ */
static const struct inst_rule {
    const char *name, *message;
    bool (*broken)(const rule_check *r, const air_inst *i);
} inst_rules[] = {
#define INST_RULE(name, message, evidence) {#name, message, rule_##name},
#include "air/verify/rules.def"
};
static const struct module_rule {
    const char *name, *message;
    bool (*broken)(const rule_check *r);
} module_rules[] = {
#define MODULE_RULE(name, message, evidence) {#name, message, rule_##name},
#include "air/verify/rules.def"
};

static void check_inst(const rule_check *r, const air_inst *i) {
    for (u32 k = 0; k < COUNT_OF(inst_rules); k++)
        if (inst_rules[k].broken(r, i))
            diag_at(r->m->ctx, i->loc, TM4201, inst_rules[k].name, r->func->v.name,
                    inst_rules[k].message);
}

/* An unknown name may still exist, so it only warns; a known one of another type is wrong. */
static void check_name(const rule_check *r, const air_func *f) {
    if (f->first || strncmp(f->v.name, "air.", 4) != 0)
        return;
    enum air_known known = air_intrinsic_known(f);
    if (known == AIR_NAME_UNKNOWN)
        diag_at(r->m->ctx, NULL, TM4202, f->v.name);
    if (known == AIR_TYPE_UNKNOWN)
        diag_at(r->m->ctx, NULL, TM4203, f->v.name);
}

tm_status air_check_rules(air_module *m, u32 air_minor) {
    u32 before = m->ctx->errors;
    rule_check r = {.m = m, .air_minor = air_minor};
    TRY(air_kernel_read(m, &r.kernel));
    for (u32 k = 0; k < COUNT_OF(module_rules); k++)
        if (module_rules[k].broken(&r))
            diag_at(m->ctx, NULL, TM4201, module_rules[k].name, r.kernel.name,
                    module_rules[k].message);
    for (u32 f = 0; f < m->funcs.count; f++) {
        r.func = m->funcs.at[f];
        check_name(&r, r.func);
        for (const air_block *b = r.func->first; b; b = b->next)
            for (const air_inst *i = b->first; i; i = i->next)
                check_inst(&r, i);
    }
    return m->ctx->errors == before ? 0 : -1;
}
