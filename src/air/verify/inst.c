/* SPDX-License-Identifier: MIT */
/* Per operation: number and types of operands and the type of the result. */
#include "air/verify/verify.h"

#define NEED(v, cond, what)                                                                        \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return verify_fail((v), (what));                                                       \
    } while (0)

/* Operands of each operation; -1: as many as its own check says. */
static const i8 n_operands[AIR_OP_COUNT] = {
    [AIR_BINOP] = 2,      [AIR_FNEG] = 1,      [AIR_CAST] = 1,  [AIR_CMP] = 2,
    [AIR_SELECT] = 3,     [AIR_EXTRACTELT] = 2, [AIR_INSERTELT] = 3, [AIR_SHUFFLE] = 3,
    [AIR_EXTRACTVAL] = 1, [AIR_INSERTVAL] = 2, [AIR_GEP] = -1,  [AIR_LOAD] = 1,
    [AIR_STORE] = 2,      [AIR_ALLOCA] = 1,    [AIR_CALL] = -1, [AIR_PHI] = -1,
    [AIR_FREEZE] = 1,     [AIR_BR] = -1,       [AIR_SWITCH] = -1, [AIR_RET] = -1,
};

static bool is_bool(const air_type *t) { return t->kind == AIR_INT && t->bits == 1; }

/* i1, or a vector of i1 as long as `like`. */
static bool is_bool_like(const air_type *t, const air_type *like) {
    return is_bool(type_scalar(t)) &&
           (like->kind == AIR_VECTOR ? t->kind == AIR_VECTOR && t->count == like->count
                                     : t->kind == AIR_INT);
}

static tm_status check_binop(air_verifier *v, const air_inst *i) {
    const air_type *t = i->ops[0]->type, *s = type_scalar(t);
    NEED(v, i->ops[1]->type == t && i->v.type == t, "operands of an operation differ in type");
    bool float_op = i->sub <= AIR_MUL || i->sub == AIR_SDIV || i->sub == AIR_SREM;
    NEED(v, i->sub <= AIR_XOR && (s->kind == AIR_INT || (type_is_float(s) && float_op)),
         "an operation does not exist for its type");
    return 0;
}

static tm_status check_cmp(air_verifier *v, const air_inst *i) {
    const air_type *t = i->ops[0]->type, *s = type_scalar(t);
    NEED(v, i->ops[1]->type == t && is_bool_like(i->v.type, t), "a comparison's types do not fit");
    bool known = type_is_float(s) ? i->sub <= 15 : i->sub >= 32 && i->sub <= 41;
    NEED(v, known && (type_is_float(s) || s->kind == AIR_INT || s->kind == AIR_PTR),
         "a comparison does not exist for its type");
    return 0;
}

static tm_status check_vector(air_verifier *v, const air_inst *i) {
    const air_type *t = i->ops[0]->type;
    NEED(v, t->kind == AIR_VECTOR, "an element is taken of what is no vector");
    if (i->op == AIR_SHUFFLE) {
        const air_type *m = i->ops[2]->type;
        NEED(v, i->ops[1]->type == t && as_const(i->ops[2]) && m->kind == AIR_VECTOR &&
                    m->elem->kind == AIR_INT && m->elem->bits == 32,
             "a shuffle's operands do not fit");
        NEED(v, i->v.type->kind == AIR_VECTOR && i->v.type->elem == t->elem &&
                    i->v.type->count == m->count,
             "a shuffle's result does not fit");
        return 0;
    }
    bool insert = i->op == AIR_INSERTELT;
    NEED(v, i->ops[insert ? 2 : 1]->type->kind == AIR_INT, "a vector's index is no integer");
    NEED(v, insert ? i->ops[1]->type == t->elem && i->v.type == t : i->v.type == t->elem,
         "an element has the wrong type");
    return 0;
}

static tm_status check_aggregate(air_verifier *v, const air_inst *i) {
    air_type *t = i->ops[0]->type;
    NEED(v, i->n_indices > 0, "an aggregate's field is not named");
    for (u32 k = 0; k < i->n_indices; k++) {
        bool inside = t->kind == AIR_STRUCT || (t->kind == AIR_ARRAY && i->indices[k] < t->count);
        t = inside ? air_type_step(t, i->indices[k]) : NULL;
        NEED(v, t, "an aggregate has no such field");
    }
    NEED(v, i->op == AIR_EXTRACTVAL ? i->v.type == t
                                    : i->ops[1]->type == t && i->v.type == i->ops[0]->type,
         "an aggregate's field has another type");
    return 0;
}

static tm_status check_memory(air_verifier *v, const air_inst *i) {
    const air_type *p = i->ops[0]->type, *t = i->op == AIR_LOAD ? i->v.type : i->ops[1]->type;
    NEED(v, p->kind == AIR_PTR && p->elem == t, "an access does not have its pointer's type");
    NEED(v, i->align == 0 || is_pow2(i->align), "an alignment is no power of two");
    return 0;
}

static tm_status check_gep(air_verifier *v, const air_inst *i) {
    NEED(v, i->n_ops >= 2 && i->aux, "an address has no index");
    NEED(v, type_scalar(i->ops[0]->type)->kind == AIR_PTR &&
                type_scalar(i->ops[0]->type)->elem == i->aux,
         "an address is not based on a pointer to its type");
    NEED(v, air_gep_type(v->m, i->aux, i->n_ops, i->ops) == i->v.type,
         "an address has the wrong type");
    return 0;
}

static tm_status check_call(air_verifier *v, const air_inst *i) {
    const air_type *ft = i->aux;
    NEED(v, i->n_ops >= 1 && ft && ft->kind == AIR_FUNC && i->ops[0]->type->kind == AIR_PTR &&
                i->ops[0]->type->elem == ft,
         "a call's callee has another type");
    NEED(v, i->v.type == ft->elem, "a call's result has another type");
    NEED(v, i->n_ops - 1 == ft->n_fields || (ft->vararg && i->n_ops - 1 > ft->n_fields),
         "a call has too few or too many arguments");
    for (u32 k = 0; k < ft->n_fields; k++)
        NEED(v, i->ops[k + 1]->type == ft->fields[k], "an argument has the wrong type");
    NEED(v, i->attrs <= v->m->attr_lists.count, "a call's attributes are not there");
    return 0;
}

static tm_status check_flow(air_verifier *v, const air_inst *i) {
    const air_type *result = v->func->func_type->elem;
    switch (i->op) {
    case AIR_RET:
        NEED(v, i->n_ops == (result->kind != AIR_VOID) &&
                    (!i->n_ops || i->ops[0]->type == result),
             "a return does not have the function's type");
        return 0;
    case AIR_BR:
        NEED(v, i->n_blocks == i->n_ops + 1 && i->n_ops <= 1 &&
                    (!i->n_ops || is_bool(i->ops[0]->type)),
             "a branch's operands do not fit");
        return 0;
    default: /* switch */
        NEED(v, i->n_ops >= 1 && i->n_blocks == i->n_ops && i->ops[0]->type->kind == AIR_INT,
             "a switch's operands do not fit");
        for (u32 k = 1; k < i->n_ops; k++)
            NEED(v, as_const(i->ops[k]) && i->ops[k]->type == i->ops[0]->type,
                 "a switch's case is no constant of its type");
        return 0;
    }
}

static tm_status check_same(air_verifier *v, const air_inst *i) {
    for (u32 k = 0; k < i->n_ops; k++)
        NEED(v, i->ops[k]->type == i->v.type, "an operand has another type than the result");
    return 0;
}

tm_status verify_inst(air_verifier *v, const air_inst *i) {
    NEED(v, i->op < AIR_OP_COUNT, "an operation is unknown");
    NEED(v, n_operands[i->op] < 0 || i->n_ops == (u32)n_operands[i->op],
         "an operation has too few or too many operands");
    for (u32 k = 0; k < i->n_attach; k++)
        NEED(v, i->attach[k].node && i->attach[k].kind < v->m->md_kinds.count,
             "attached metadata is not there");
    switch ((enum air_op)i->op) {
    case AIR_BINOP: return check_binop(v, i);
    case AIR_FNEG:
        NEED(v, type_is_float(type_scalar(i->v.type)), "fneg is for floats");
        return check_same(v, i);
    case AIR_CAST:
        NEED(v, air_cast_ok(i->sub, i->ops[0]->type, i->v.type), "a cast is not possible");
        return 0;
    case AIR_CMP: return check_cmp(v, i);
    case AIR_SELECT:
        NEED(v, i->ops[1]->type == i->v.type && i->ops[2]->type == i->v.type &&
                    (is_bool(i->ops[0]->type) || is_bool_like(i->ops[0]->type, i->v.type)),
             "a select's operands do not fit");
        return 0;
    case AIR_EXTRACTELT:
    case AIR_INSERTELT:
    case AIR_SHUFFLE: return check_vector(v, i);
    case AIR_EXTRACTVAL:
    case AIR_INSERTVAL: return check_aggregate(v, i);
    case AIR_GEP: return check_gep(v, i);
    case AIR_LOAD:
    case AIR_STORE: return check_memory(v, i);
    case AIR_ALLOCA:
        NEED(v, i->aux && i->v.type->kind == AIR_PTR && i->v.type->elem == i->aux &&
                    i->ops[0]->type->kind == AIR_INT,
             "an alloca's types do not fit");
        return 0;
    case AIR_CALL: return check_call(v, i);
    case AIR_PHI:
    case AIR_FREEZE: return check_same(v, i);
    case AIR_BR:
    case AIR_SWITCH:
    case AIR_RET: return check_flow(v, i);
    case AIR_UNREACHABLE:
    case AIR_OP_COUNT: return 0;
    }
    return 0;
}
