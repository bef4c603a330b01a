/* SPDX-License-Identifier: MIT */
/* One handler per instruction record. A handler takes the operands, checks what the result's type
 * depends on, and appends the instruction. */
#include "air/bitcode/read_inst.h"

static tm_status wrong(air_reader *r) {
    return bc_fail(r, "an instruction's operands do not fit it");
}
static u64 rest(const air_reader *r, u32 at) { return at < r->bits.n_ops ? r->bits.ops[at] : 0; }

static tm_status set_fmf(air_reader *r, air_inst *i, u64 fmf) {
    if (fmf > 0xFF)
        return wrong(r);
    i->fmf = (u32)fmf;
    if (fmf)
        i->flags |= AIR_HAS_FMF;
    return 0;
}

static bool is_number(const air_type *t) {
    return type_scalar(t)->kind == AIR_INT || type_is_float(type_scalar(t));
}

static air_type *bool_like(air_reader *r, const air_type *t) {
    air_type *b = air_type_int(r->m, 1);
    return t->kind == AIR_VECTOR ? air_type_vector(r->m, b, t->count) : b;
}

static tm_status read_binop(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at), *b = a ? take_value(r, &at, a->type) : NULL;
    if (!b)
        return -1;
    TRY(bc_need(r, at + 1));
    u64 op = r->bits.ops[at], flags = rest(r, at + 1);
    bool is_float = type_is_float(type_scalar(a->type));
    bool float_op = op <= AIR_MUL || op == AIR_SDIV || op == AIR_SREM;
    if (!is_number(a->type) || op > AIR_XOR || (is_float && !float_op) || (!is_float && flags > 3))
        return wrong(r);
    air_inst *i = add_inst(r, AIR_BINOP, a->type, 2, (air_value *[]){a, b});
    if (!i)
        return -1;
    i->sub = (u8)op;
    if (is_float)
        return set_fmf(r, i, flags);
    i->flags |= (u16)flags;
    return 0;
}

static tm_status read_unop(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at);
    if (!a)
        return -1;
    TRY(bc_need(r, at + 1));
    if (r->bits.ops[at] != 0 || !type_is_float(type_scalar(a->type)))
        return wrong(r);
    air_inst *i = add_inst(r, AIR_FNEG, a->type, 1, &a);
    return i ? set_fmf(r, i, rest(r, at + 1)) : -1;
}

static tm_status read_cast(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at);
    if (!a)
        return -1;
    TRY(bc_need(r, at + 2));
    air_type *to = bc_type(r, r->bits.ops[at]);
    if (!to)
        return -1;
    u64 op = r->bits.ops[at + 1];
    if (op > AIR_ADDRSPACECAST || !air_cast_ok((u32)op, a->type, to))
        return wrong(r);
    air_inst *i = add_inst(r, AIR_CAST, to, 1, &a);
    if (!i)
        return -1;
    i->sub = (u8)op;
    return 0;
}

static tm_status read_select(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at), *b = a ? take_value(r, &at, a->type) : NULL;
    if (!b)
        return -1;
    air_type *i1 = air_type_int(r->m, 1);
    air_value *c = r->bits.code == FUNCTION_SELECT ? take_value(r, &at, i1) : take_pair(r, &at);
    if (!c)
        return -1;
    if (c->type != i1 && c->type != bool_like(r, a->type))
        return wrong(r);
    air_inst *i = add_inst(r, AIR_SELECT, a->type, 3, (air_value *[]){c, a, b});
    return i ? set_fmf(r, i, rest(r, at)) : -1;
}

static tm_status read_extractelt(air_reader *r) {
    u32 at = 0;
    air_value *v = take_pair(r, &at), *k = v ? take_pair(r, &at) : NULL;
    if (!k)
        return -1;
    if (v->type->kind != AIR_VECTOR || k->type->kind != AIR_INT)
        return wrong(r);
    return add_inst(r, AIR_EXTRACTELT, v->type->elem, 2, (air_value *[]){v, k}) ? 0 : -1;
}

static tm_status read_insertelt(air_reader *r) {
    u32 at = 0;
    air_value *v = take_pair(r, &at);
    if (!v || v->type->kind != AIR_VECTOR)
        return v ? wrong(r) : -1;
    air_value *e = take_value(r, &at, v->type->elem), *k = e ? take_pair(r, &at) : NULL;
    if (!k)
        return -1;
    if (k->type->kind != AIR_INT)
        return wrong(r);
    return add_inst(r, AIR_INSERTELT, v->type, 3, (air_value *[]){v, e, k}) ? 0 : -1;
}

static tm_status read_shuffle(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at), *b = a ? take_value(r, &at, a->type) : NULL;
    air_value *mask = b ? take_pair(r, &at) : NULL;
    if (!mask)
        return -1;
    const air_type *t = mask->type;
    if (a->type->kind != AIR_VECTOR || t->kind != AIR_VECTOR || t->elem->kind != AIR_INT ||
        t->elem->bits != 32 || !as_const(mask))
        return wrong(r);
    air_type *result = air_type_vector(r->m, a->type->elem, t->count);
    return add_inst(r, AIR_SHUFFLE, result, 3, (air_value *[]){a, b, mask}) ? 0 : -1;
}

static air_type *walk_indices(air_reader *r, air_type *t, u32 at) {
    if (at >= r->bits.n_ops)
        return NULL;
    for (; at < r->bits.n_ops && t; at++) {
        bool inside = t->kind == AIR_STRUCT ||
                      (t->kind == AIR_ARRAY && r->bits.ops[at] < t->count);
        t = inside && r->bits.ops[at] <= UINT32_MAX ? air_type_step(t, r->bits.ops[at]) : NULL;
    }
    return t;
}

static void set_indices(air_reader *r, air_inst *i, u32 at) {
    i->n_indices = r->bits.n_ops - at;
    i->indices = ARENA_ARRAY(r->m->arena, u32, i->n_indices);
    for (u32 k = 0; k < i->n_indices; k++)
        i->indices[k] = (u32)r->bits.ops[at + k];
}

static tm_status read_extractval(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at);
    if (!a)
        return -1;
    air_type *t = walk_indices(r, a->type, at);
    if (!t)
        return wrong(r);
    air_inst *i = add_inst(r, AIR_EXTRACTVAL, t, 1, &a);
    if (!i)
        return -1;
    set_indices(r, i, at);
    return 0;
}

static tm_status read_insertval(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at), *e = a ? take_pair(r, &at) : NULL;
    if (!e)
        return -1;
    if (walk_indices(r, a->type, at) != e->type)
        return wrong(r);
    air_inst *i = add_inst(r, AIR_INSERTVAL, a->type, 2, (air_value *[]){a, e});
    if (!i)
        return -1;
    set_indices(r, i, at);
    return 0;
}

static tm_status read_gep(air_reader *r) {
    TRY(bc_need(r, 3));
    air_type *source = bc_type(r, r->bits.ops[1]);
    if (!source)
        return -1;
    air_value **ops = ARENA_ARRAY(r->scratch, air_value *, r->bits.n_ops);
    u32 n = 0;
    for (u32 at = 2; at < r->bits.n_ops;)
        if (!(ops[n++] = take_pair(r, &at)))
            return -1;
    air_type *result = air_gep_type(r->m, source, n, ops);
    if (!result || type_scalar(ops[0]->type)->elem != source)
        return wrong(r);
    air_inst *i = add_inst(r, AIR_GEP, result, n, ops);
    if (!i)
        return -1;
    i->aux = source;
    if (r->bits.ops[0])
        i->flags |= AIR_INBOUNDS;
    return 0;
}

static tm_status set_align(air_reader *r, air_inst *i, u64 encoded, u64 is_volatile) {
    if (encoded > 30)
        return wrong(r);
    i->align = (1u << encoded) >> 1;
    if (is_volatile)
        i->flags |= AIR_VOLATILE;
    return 0;
}

static bool is_memory_type(const air_type *t) {
    return type_is_first_class(t) && t->kind != AIR_LABEL && t->kind != AIR_METADATA &&
           t->kind != AIR_OPAQUE;
}

static tm_status read_load(air_reader *r) {
    u32 at = 0;
    air_value *p = take_pair(r, &at);
    if (!p)
        return -1;
    TRY(bc_need(r, at + 3));
    air_type *t = bc_type(r, r->bits.ops[at]);
    if (!t)
        return -1;
    if (p->type->kind != AIR_PTR || p->type->elem != t || !is_memory_type(t))
        return wrong(r);
    air_inst *i = add_inst(r, AIR_LOAD, t, 1, &p);
    return i ? set_align(r, i, r->bits.ops[at + 1], r->bits.ops[at + 2]) : -1;
}

static tm_status read_store(air_reader *r) {
    u32 at = 0;
    air_value *p = take_pair(r, &at), *v = p ? take_pair(r, &at) : NULL;
    if (!v)
        return -1;
    TRY(bc_need(r, at + 2));
    if (p->type->kind != AIR_PTR || p->type->elem != v->type || !is_memory_type(v->type))
        return wrong(r);
    air_type *none = air_type_simple(r->m, AIR_VOID);
    air_inst *i = add_inst(r, AIR_STORE, none, 2, (air_value *[]){p, v});
    return i ? set_align(r, i, r->bits.ops[at], r->bits.ops[at + 1]) : -1;
}

/* The alignment's five low bits, then flags: inalloca, explicit type, swifterror; then high bits. */
static tm_status read_alloca(air_reader *r) {
    TRY(bc_need(r, 4));
    air_type *t = bc_type(r, r->bits.ops[0]), *nt = t ? bc_type(r, r->bits.ops[1]) : NULL;
    if (!nt)
        return -1;
    u64 bits = r->bits.ops[3];
    if (nt->kind != AIR_INT || !is_memory_type(t) || !(bits & 1 << 6) || rest(r, 4))
        return wrong(r);
    air_value *count = value_at(r, r->bits.ops[2], nt);
    if (!count)
        return -1;
    air_inst *i = add_inst(r, AIR_ALLOCA, air_type_ptr(r->m, t, 0), 1, &count);
    if (!i)
        return -1;
    i->aux = t;
    if (bits & 1 << 5)
        i->flags |= AIR_INALLOCA;
    if (bits & 1 << 7)
        i->flags |= AIR_SWIFTERROR;
    return set_align(r, i, (bits & 31) | (bits >> 8 & 7) << 5, 0);
}

static tm_status read_cmp(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at), *b = a ? take_value(r, &at, a->type) : NULL;
    if (!b)
        return -1;
    TRY(bc_need(r, at + 1));
    u64 predicate = r->bits.ops[at];
    const air_type *s = type_scalar(a->type);
    bool ok = type_is_float(s) ? predicate <= 15
                               : (s->kind == AIR_INT || s->kind == AIR_PTR) && predicate >= 32 &&
                                     predicate <= 41;
    if (!ok)
        return wrong(r);
    air_inst *i = add_inst(r, AIR_CMP, bool_like(r, a->type), 2, (air_value *[]){a, b});
    if (!i)
        return -1;
    i->sub = (u8)predicate;
    return set_fmf(r, i, rest(r, at + 1));
}

static tm_status read_phi(air_reader *r) {
    TRY(bc_need(r, 3));
    air_type *t = bc_type(r, r->bits.ops[0]);
    if (!t)
        return -1;
    if (!is_memory_type(t))
        return wrong(r);
    u32 n = (r->bits.n_ops - 1) / 2;
    air_value **ops = ARENA_ARRAY(r->scratch, air_value *, n);
    air_block **blocks = ARENA_ARRAY(r->m->arena, air_block *, n);
    for (u32 k = 0, at = 1; k < n; k++) {
        if (!(ops[k] = take_signed(r, &at, t)) || !(blocks[k] = block_at(r, r->bits.ops[at++])))
            return -1;
    }
    air_inst *i = add_inst(r, AIR_PHI, t, n, ops);
    if (!i)
        return -1;
    i->n_blocks = n;
    i->blocks = blocks;
    return set_fmf(r, i, r->bits.n_ops % 2 == 0 ? r->bits.ops[r->bits.n_ops - 1] : 0);
}

static tm_status read_freeze(air_reader *r) {
    u32 at = 0;
    air_value *a = take_pair(r, &at);
    return a && add_inst(r, AIR_FREEZE, a->type, 1, &a) ? 0 : -1;
}

static tm_status read_ret(air_reader *r) {
    u32 at = 0, n = r->bits.n_ops != 0;
    air_value *v = n ? take_pair(r, &at) : NULL;
    if (n && !v)
        return -1;
    const air_type *t = r->func->func_type->elem;
    if (n ? v->type != t : t->kind != AIR_VOID)
        return wrong(r);
    return add_terminator(r, AIR_RET, n, &v, 0, NULL) ? 0 : -1;
}

static tm_status read_br(air_reader *r) {
    TRY(bc_need(r, 1));
    u32 at = 2, n = r->bits.n_ops >= 3;
    air_block *to[2] = {block_at(r, r->bits.ops[0]), NULL};
    if (!to[0] || (n && !(to[1] = block_at(r, r->bits.ops[1]))))
        return -1;
    air_value *cond = n ? take_value(r, &at, air_type_int(r->m, 1)) : NULL;
    if (n && !cond)
        return -1;
    return add_terminator(r, AIR_BR, n, &cond, 1 + n, to) ? 0 : -1;
}

static tm_status read_switch(air_reader *r) {
    TRY(bc_need(r, 3));
    air_type *t = bc_type(r, r->bits.ops[0]);
    if (!t)
        return -1;
    if (t->kind != AIR_INT || r->bits.n_ops % 2 == 0)
        return wrong(r);
    u32 n = (r->bits.n_ops - 3) / 2, at = 1;
    air_value **ops = ARENA_ARRAY(r->scratch, air_value *, n + 1);
    air_block **blocks = ARENA_ARRAY(r->scratch, air_block *, n + 1);
    if (!(ops[0] = take_value(r, &at, t)) || !(blocks[0] = block_at(r, r->bits.ops[2])))
        return -1;
    for (u32 k = 1; k <= n; k++) {
        ops[k] = value_at(r, r->bits.ops[1 + 2 * k], t);
        blocks[k] = ops[k] ? block_at(r, r->bits.ops[2 + 2 * k]) : NULL;
        if (!blocks[k])
            return -1;
        if (!as_const(ops[k]) || as_const(ops[k])->kind != AIR_C_INT)
            return wrong(r);
    }
    return add_terminator(r, AIR_SWITCH, n + 1, ops, n + 1, blocks) ? 0 : -1;
}

static tm_status read_unreachable(air_reader *r) {
    return add_terminator(r, AIR_UNREACHABLE, 0, NULL, 0, NULL) ? 0 : -1;
}

/* attributes, convention and flags, [fast math], function type, callee, arguments */
static tm_status read_call(air_reader *r) {
    TRY(bc_need(r, 4));
    u64 attrs = r->bits.ops[0], cc = r->bits.ops[1];
    u32 at = 2;
    u64 fmf = cc >> 17 & 1 ? r->bits.ops[at++] : 0;
    air_type *ft = cc >> 15 & 1 ? bc_type(r, rest(r, at++)) : NULL;
    if (!ft || ft->kind != AIR_FUNC || attrs > r->m->attr_lists.count)
        return wrong(r);
    /* Each fixed argument is one operand. */
    if (ft->n_fields > r->bits.n_ops)
        return wrong(r);
    air_value **ops = ARENA_ARRAY(r->scratch, air_value *, r->bits.n_ops);
    u32 n = 0;
    if (!(ops[n++] = take_pair(r, &at)))
        return -1;
    if (ops[0]->type->kind != AIR_PTR || ops[0]->type->elem != ft)
        return wrong(r);
    for (u32 i = 0; i < ft->n_fields; i++)
        if (!(ops[n++] = take_value(r, &at, ft->fields[i])))
            return -1;
    while (ft->vararg && at < r->bits.n_ops)
        if (!(ops[n++] = take_pair(r, &at)))
            return -1;
    if (at != r->bits.n_ops)
        return wrong(r);
    air_inst *i = add_inst(r, AIR_CALL, ft->elem, n, ops);
    if (!i)
        return -1;
    i->aux = ft;
    i->attrs = (u32)attrs;
    i->cc = (u32)(cc >> 1 & 0x3FF);
    i->flags |= (u16)((cc & 1 ? AIR_TAIL : 0) | (cc >> 14 & 1 ? AIR_MUSTTAIL : 0) |
                      (cc >> 20 & 1 ? AIR_NOTAIL : 0));
    return set_fmf(r, i, fmf);
}

tm_status read_instruction(air_reader *r) {
    switch (r->bits.code) {
    case FUNCTION_BINOP: return read_binop(r);
    case FUNCTION_UNOP: return read_unop(r);
    case FUNCTION_CAST: return read_cast(r);
    case FUNCTION_SELECT:
    case FUNCTION_VSELECT: return read_select(r);
    case FUNCTION_EXTRACTELT: return read_extractelt(r);
    case FUNCTION_INSERTELT: return read_insertelt(r);
    case FUNCTION_SHUFFLEVEC: return read_shuffle(r);
    case FUNCTION_EXTRACTVAL: return read_extractval(r);
    case FUNCTION_INSERTVAL: return read_insertval(r);
    case FUNCTION_GEP: return read_gep(r);
    case FUNCTION_LOAD: return read_load(r);
    case FUNCTION_STORE: return read_store(r);
    case FUNCTION_ALLOCA: return read_alloca(r);
    case FUNCTION_CMP2: return read_cmp(r);
    case FUNCTION_PHI: return read_phi(r);
    case FUNCTION_FREEZE: return read_freeze(r);
    case FUNCTION_RET: return read_ret(r);
    case FUNCTION_BR: return read_br(r);
    case FUNCTION_SWITCH: return read_switch(r);
    case FUNCTION_UNREACHABLE: return read_unreachable(r);
    case FUNCTION_CALL: return read_call(r);
    }
    return read_unsupported(r, "instruction record");
}
