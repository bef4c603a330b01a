/* SPDX-License-Identifier: MIT */
/* Ops, blocks and regions. */
#include "ir/parse/parse_in.h"

typedef struct result_name {
    const char *at, *text;
    u32 len, count;
} result_name;
typedef VEC(result_name) result_names;

/* "%a:2, %b = "; nothing when no '%' comes. */
static tm_status read_result_names(reader *r, result_names *names, u32 *total) {
    if (!read_peek(r, '%'))
        return 0;
    do {
        result_name n = {.count = 1};
        if (!read_peek(r, '%'))
            return read_expected(r, "a result name");
        n.at = r->at++;
        if (!read_suffix_text(r, &n.text, &n.len))
            return read_expected(r, "a result name");
        if (read_char(r, ':')) {
            TRY(read_u32(r, &n.count));
            if (n.count == 0 || n.count > UINT16_MAX)
                return read_fail(r, n.at, TM1020);
        }
        *total += n.count;
        VEC_PUSH(r->scratch, names, n);
    } while (read_char(r, ','));
    return read_need(r, '=');
}

static tm_status define_results(reader *r, const read_op *s, const result_names *names, u32 total) {
    if (names->count == 0)
        return 0;
    if (total != s->op->n_results)
        return read_fail(r, names->at[0].at, TM1025, (u32)s->op->n_results, total);
    u32 first = 0;
    for (u32 i = 0; i < names->count; i++) {
        const result_name *n = &names->at[i];
        TRY(read_define(r, n->at, n->text, n->len, &s->op->results[first], n->count));
        first += n->count;
    }
    return 0;
}

tm_status read_build(reader *r, read_op *s, ir_block *block, u32 n_regions) {
    if (s->refs.count > UINT16_MAX || s->results.count > UINT16_MAX || s->attrs.count > UINT16_MAX)
        return read_fail(r, s->at, TM1020);
    ir_value **operands = ARENA_ARRAY(r->scratch, ir_value *, s->refs.count + 1);
    for (u32 i = 0; i < s->refs.count; i++) {
        if (!s->refs.at[i].at || !s->types.at[i])
            return read_fail(r, s->at, TM1023);
        operands[i] = read_resolve(r, &s->refs.at[i], s->types.at[i]);
        if (!operands[i])
            return -1;
    }
    ir_builder b = ir_at_end(r->m, block);
    ir_op *op = ir_build(&b, s->code, s->refs.count, operands, s->results.count, s->results.at,
                         n_regions);
    op->loc = NULL;
    op->other_name = s->other_name;
    op->n_attrs = (u16)s->attrs.count;
    op->attrs = ARENA_ARRAY(r->m->arena, ir_named_attr, attrs_room(s->attrs.count));
    if (s->attrs.count)
        memcpy(op->attrs, s->attrs.at, s->attrs.count * sizeof *op->attrs);
    op->n_succs = (u16)s->succs.count;
    if (s->succs.count)
        op->succs = arena_dup(r->m->arena, s->succs.at, s->succs.count * sizeof *op->succs);
    s->op = op;
    return 0;
}

/* ---- Generic form ----------------------------------------------------------------------------------- */

static tm_status read_operand_names(reader *r, read_op *s) {
    TRY(read_need(r, '('));
    if (read_char(r, ')'))
        return 0;
    do {
        read_ref ref;
        TRY(read_ref_of(r, &ref));
        VEC_PUSH(r->scratch, &s->refs, ref);
    } while (read_char(r, ','));
    return read_need(r, ')');
}

static tm_status read_successors(reader *r, read_op *s) {
    if (!read_char(r, '['))
        return 0;
    do {
        ir_succ succ = {.block = read_label(r, false), .first = s->refs.count};
        if (!succ.block)
            return -1;
        VEC_PUSH(r->scratch, &s->succs, succ);
    } while (read_char(r, ','));
    return read_need(r, ']');
}

/* Regions come before the types in the text, so the op is made first with what is known, and gets its
 * operands and results when the types are there. */
static tm_status read_generic_regions(reader *r, ir_region **regions, u32 *n) {
    VEC(ir_region *) list = {0};
    if (read_char(r, '(')) {
        do {
            ir_region *region = ARENA_NEW(r->m->arena, ir_region);
            VEC_PUSH(r->keep, &list, region);
            TRY(read_region_body(r, region));
        } while (read_char(r, ','));
        TRY(read_need(r, ')'));
    }
    *n = list.count;
    *regions = ARENA_ARRAY(r->keep, ir_region, list.count + 1);
    for (u32 i = 0; i < list.count; i++)
        (*regions)[i] = *list.at[i];
    return 0;
}

static void adopt_regions(ir_op *op, const ir_region *regions) {
    for (u32 i = 0; i < op->n_regions; i++) {
        op->regions[i].first = regions[i].first;
        op->regions[i].last = regions[i].last;
        for (ir_block *b = op->regions[i].first; b; b = b->next)
            b->region = &op->regions[i];
    }
}

/* In generic form branch operands are one list: they belong to cf.br's only successor; cf.cond_br tells
 * them apart by operandSegmentSizes. */
static tm_status split_branch_operands(reader *r, read_op *s) {
    if (s->succs.count == 1) {
        s->succs.at[0] = (ir_succ){s->succs.at[0].block, 0, s->refs.count};
        return 0;
    }
    for (u32 i = 0; i < s->attrs.count; i++) {
        const ir_attr *a = s->attrs.at[i].value;
        if (strcmp(s->attrs.at[i].name, "operandSegmentSizes") != 0)
            continue;
        if (a->kind != IR_ATTR_INTS || a->count != s->succs.count + 1)
            break;
        u64 first = (u64)a->ints[0];
        for (u32 k = 0; k < s->succs.count; k++) {
            u64 count = (u64)a->ints[k + 1];
            if (first > s->refs.count || count > s->refs.count - first)
                return read_fail(r, s->at, TM1026);
            s->succs.at[k] = (ir_succ){s->succs.at[k].block, (u32)first, (u32)count};
            first += count;
        }
        s->attrs.at[i] = VEC_POP(&s->attrs);
        return first == s->refs.count ? 0 : read_fail(r, s->at, TM1026);
    }
    return s->succs.count == 0 ? 0 : read_fail(r, s->at, TM1026);
}

static void drop_attr(read_op *s, const char *name) {
    u32 n = 0;
    for (u32 i = 0; i < s->attrs.count; i++)
        if (strcmp(s->attrs.at[i].name, name) != 0)
            s->attrs.at[n++] = s->attrs.at[i];
    s->attrs.count = n;
}

/* Properties at their default value, which custom forms do not show: absent means the same. */
static bool is_default(const read_op *s, const ir_named_attr *a) {
    static const struct {
        u16 code;
        const char *name;
        i64 value;
    } defaults[] = {
        {IR_tt_dot, "inputPrecision", 2},       {IR_tt_dot, "maxNumImpreciseAcc", 0},
        {IR_tt_load, "isVolatile", 0},          {IR_tt_make_tensor_descriptor, "padding", 1},
        {IR_tt_dot_scaled, "lhs_k_pack", 1},    {IR_tt_dot_scaled, "rhs_k_pack", 1},
    };
    const ir_attr *v = a->value;
    if (v->kind == IR_ATTR_OTHER)
        return strcmp(v->text, "#arith.fastmath<none>") == 0 ||
               strcmp(v->text, "#arith.overflow<none>") == 0;
    for (u32 i = 0; i < COUNT_OF(defaults); i++)
        if (s->code == defaults[i].code && strcmp(a->name, defaults[i].name) == 0)
            return v->kind == IR_ATTR_INT && v->i == defaults[i].value;
    return false;
}

static void drop_defaults(read_op *s) {
    u32 n = 0;
    for (u32 i = 0; i < s->attrs.count; i++)
        if (!is_default(s, &s->attrs.at[i]))
            s->attrs.at[n++] = s->attrs.at[i];
    s->attrs.count = n;
}

/* In generic form the attributes of a function's parameters are one array; they belong to the arguments. */
static void spread_arg_attrs(ir_op *func) {
    const ir_attr *dicts = ir_attr_get(func, "arg_attrs");
    const ir_block *entry = func->n_regions ? func->regions[0].first : NULL;
    if (!entry || !dicts || dicts->kind != IR_ATTR_ARRAY)
        return;
    for (u32 i = 0; i < dicts->count && i < entry->n_args; i++)
        if (dicts->list[i]->kind == IR_ATTR_DICT) {
            entry->args[i]->attrs = dicts->list[i]->named;
            entry->args[i]->n_attrs = dicts->list[i]->count;
        }
    ir_attr_remove(func, "arg_attrs");
}

tm_status read_generic(reader *r, read_op *s, ir_block *block) {
    ir_region *regions;
    u32 n_regions;
    TRY(read_operand_names(r, s));
    TRY(read_successors(r, s));
    if (read_char(r, '<')) {
        TRY(read_dict(r, &s->attrs));
        TRY(read_need(r, '>'));
        drop_defaults(s);
        if (s->code == IR_unknown && s->attrs.count) { /* kept apart, so that printing can */
            const ir_attr *props = ir_attr_intern(
                r->m,
                &(ir_attr){.kind = IR_ATTR_DICT, .count = s->attrs.count, .named = s->attrs.at});
            s->attrs.at[0] = (ir_named_attr){ir_intern(r->m, "<properties>", 12), props};
            s->attrs.count = 1;
        }
    }
    TRY(read_generic_regions(r, &regions, &n_regions));
    if (read_peek(r, '{'))
        TRY(read_dict(r, &s->attrs));
    TRY(read_need(r, ':'));
    read_space(r);
    const char *at = r->at;
    TRY(read_paren_types(r, &s->types));
    if (s->types.count != s->refs.count)
        return read_fail(r, at, TM1021, s->refs.count, s->types.count);
    if (!read_arrow(r))
        return read_expected(r, "'->'");
    TRY(read_result_types(r, &s->results));
    TRY(split_branch_operands(r, s));
    if (s->code != IR_unknown && s->code != IR_tt_dot_scaled)
        drop_attr(s, "operandSegmentSizes");
    TRY(read_build(r, s, block, n_regions));
    adopt_regions(s->op, regions);
    if (s->code == IR_tt_func)
        spread_arg_attrs(s->op);
    return 0;
}

/* ---- Ops --------------------------------------------------------------------------------------------- */

static tm_status find_code(reader *r, read_op *s, const char *name, u32 len, bool generic) {
    void **found = strmap_get(r->codes, name, len);
    if (found && (uintptr_t)*found != IR_unknown) {
        s->code = (enum ir_code)(uintptr_t)*found;
        return 0;
    }
    if (!generic)
        return read_fail(r, s->at, TM1002, (int)len, name);
    s->code = IR_unknown;
    s->other_name = ir_intern(r->m, name, len);
    return 0;
}

static tm_status read_op_body(reader *r, read_op *s, ir_block *block) {
    const char *name;
    u32 len;
    if (read_peek(r, '"')) {
        TRY(read_string(r, &name, &len));
        TRY(find_code(r, s, name, len, true));
        return read_generic(r, s, block);
    }
    if (!read_name_text(r, &name, &len))
        return read_expected(r, "an operation");
    if (len == 6 && memcmp(name, "module", 6) == 0)
        s->code = IR_builtin_module;
    else
        TRY(find_code(r, s, name, len, false));
    if (ir_form_of(s->code))
        return read_form(r, s, block);
    return read_own(r, s, block);
}

/* Terminators that the text leaves out get the op's place. */
static void place_implied(ir_op *op) {
    for (u32 i = 0; i < op->n_regions; i++)
        for (ir_block *b = op->regions[i].first; b; b = b->next)
            if (b->last && !b->last->loc)
                b->last->loc = op->loc;
}

tm_status read_one_op(reader *r, ir_block *block) {
    arena_mark mark = arena_save(r->scratch);
    result_names names = {0};
    u32 total = 0;
    TRY(read_result_names(r, &names, &total));
    read_space(r);
    read_op s = {.at = r->at};
    TRY(read_op_body(r, &s, block));
    TRY(read_optional_loc(r, &s.op->loc, s.at));
    place_implied(s.op);
    TRY(define_results(r, &s, &names, total));
    arena_rewind(r->scratch, mark);
    return 0;
}

/* ---- Blocks and regions -------------------------------------------------------------------------------- */

/* ^bb1(%a: i32 loc(...), ...): */
static tm_status read_block_head(reader *r, ir_block *block) {
    if (read_char(r, '(')) {
        do {
            const char *name;
            u32 len;
            if (!read_peek(r, '%'))
                return read_expected(r, "a block argument");
            const char *at = r->at++;
            if (!read_suffix_text(r, &name, &len))
                return read_expected(r, "an argument name");
            TRY(read_need(r, ':'));
            const ir_type *t = read_type(r);
            if (!t)
                return -1;
            const ir_loc *loc;
            TRY(read_optional_loc(r, &loc, at));
            ir_value *arg = ir_block_arg(r->m, block, t, loc);
            TRY(read_define(r, at, name, len, arg, 1));
        } while (read_char(r, ','));
        TRY(read_need(r, ')'));
    }
    return read_need(r, ':');
}

static tm_status read_ops(reader *r, ir_block *block) {
    while (!read_peek(r, '}') && !read_peek(r, '^')) {
        if (r->at >= r->end || *r->at == 0)
            return read_expected(r, "'}'");
        TRY(read_one_op(r, block));
    }
    return 0;
}

static tm_status check_labels(reader *r, const read_region *region) {
    const read_block *missing = NULL;
    for (const read_block *b = region->blocks; b; b = b->next)
        if (!b->defined)
            missing = b;
    return missing ? read_fail(r, missing->at, TM1010) : 0;
}

static tm_status read_blocks(reader *r, const read_arg *args, u32 n_args) {
    ir_region *region = r->region->region;
    if (n_args || !read_peek(r, '^')) {
        if (!n_args && read_peek(r, '}'))
            return 0;
        ir_block *entry = ir_block_new(r->m, region);
        for (u32 i = 0; i < n_args; i++) {
            ir_value *v = ir_block_arg(r->m, entry, args[i].type, args[i].loc);
            v->attrs = args[i].attrs;
            v->n_attrs = args[i].n_attrs;
            v->name = args[i].kept_name;
            TRY(read_define(r, args[i].at, args[i].name, args[i].len, v, 1));
        }
        TRY(read_ops(r, entry));
    }
    while (read_peek(r, '^')) {
        ir_block *b = read_label(r, true);
        if (!b)
            return -1;
        TRY(read_block_head(r, b));
        TRY(read_ops(r, b));
    }
    return 0;
}

tm_status read_region_with(reader *r, ir_region *region, const read_arg *args, u32 n_args) {
    read_region state = {.region = region}, *outer = r->region;
    TRY(read_enter(r));
    TRY(read_need(r, '{'));
    u32 scope = read_scope(r);
    r->region = &state;
    TRY(read_blocks(r, args, n_args));
    TRY(check_labels(r, &state));
    TRY(read_need(r, '}'));
    r->region = outer;
    read_scope_end(r, scope);
    r->depth--;
    return 0;
}

tm_status read_region_body(reader *r, ir_region *region) {
    return read_region_with(r, region, NULL, 0);
}
