/* SPDX-License-Identifier: MIT */
/* Ops whose text has blocks or more structure than a form can say: module, functions, constants,
 * scf and cf. */
#include "ir/parse/parse_in.h"

static void add_attr(reader *r, read_op *s, const char *name, const ir_attr *value) {
    ir_named_attr a = {ir_intern(r->m, name, strlen(name)), value};
    VEC_PUSH(r->scratch, &s->attrs, a);
}

static tm_status optional_dict(reader *r, read_op *s) {
    return read_peek(r, '{') ? read_dict(r, &s->attrs) : 0;
}

static tm_status optional_keyword_dict(reader *r, read_op *s) {
    return read_word(r, "attributes") ? read_dict(r, &s->attrs) : 0;
}

/* Adds attributes all at once: one by one would look for each name among all others. */
static tm_status append_attrs(reader *r, ir_op *op, const attr_list *list) {
    if (list->count == 0)
        return 0;
    u32 total = op->n_attrs + list->count;
    if (total > UINT16_MAX)
        return read_fail(r, r->at, TM1020);
    ir_named_attr *all = ARENA_ARRAY(r->m->arena, ir_named_attr, attrs_room(total));
    if (op->n_attrs)
        memcpy(all, op->attrs, op->n_attrs * sizeof *all);
    memcpy(all + op->n_attrs, list->at, list->count * sizeof *all);
    op->attrs = all;
    op->n_attrs = (u16)total;
    return 0;
}

/* For attributes that are read after the op was built. */
static tm_status late_attrs(reader *r, ir_op *op, tm_status (*read)(reader *r, read_op *s)) {
    read_op later = {0};
    TRY(read(r, &later));
    return append_attrs(r, op, &later.attrs);
}

static void add_ref(reader *r, read_op *s, read_ref ref, const ir_type *type) {
    VEC_PUSH(r->scratch, &s->refs, ref);
    VEC_PUSH(r->scratch, &s->types, type);
}

static tm_status read_operand(reader *r, read_op *s, const ir_type *type) {
    read_ref ref;
    TRY(read_ref_of(r, &ref));
    add_ref(r, s, ref, type);
    return 0;
}

/* An scf region: its block is there even when the text is empty, and ends in scf.yield. */
static tm_status finish_region(reader *r, ir_region *region) {
    if (!region->first)
        ir_block_new(r->m, region);
    ir_block *last = region->last;
    if (last->last && ir_has_trait(last->last, IR_TERMINATOR))
        return 0;
    ir_builder b = ir_at_end(r->m, last);
    b.loc = NULL; /* the place of the whole op, once that is read */
    ir_build(&b, IR_scf_yield, 0, NULL, 0, NULL, 0);
    return 0;
}

/* ---- Constants ------------------------------------------------------------------------------------- */

static tm_status read_constant(reader *r, read_op *s, ir_block *block) {
    TRY(optional_dict(r, s));
    const ir_attr *value = read_attr(r, NULL);
    if (!value)
        return -1;
    if (value->kind != IR_ATTR_INT && value->kind != IR_ATTR_FLOAT && value->kind != IR_ATTR_DENSE)
        return read_fail(r, s->at, TM1027);
    add_attr(r, s, "value", value);
    VEC_PUSH(r->scratch, &s->results, value->type);
    return read_build(r, s, block, 0);
}

/* ---- scf ---------------------------------------------------------------------------------------------- */

typedef VEC(read_arg) arg_list;

/* %name as a block argument to be. */
static tm_status read_arg_name(reader *r, arg_list *args, const ir_type *type) {
    read_arg a = {.type = type, .loc = ir_loc_unknown(r->m)};
    if (!read_peek(r, '%'))
        return read_expected(r, "an argument name");
    a.at = r->at++;
    if (!read_suffix_text(r, &a.name, &a.len))
        return read_expected(r, "an argument name");
    VEC_PUSH(r->scratch, args, a);
    return 0;
}

/* (%a = %x, %b = %y) */
static tm_status read_carried(reader *r, read_op *s, arg_list *args) {
    TRY(read_need(r, '('));
    if (read_char(r, ')'))
        return 0;
    do {
        TRY(read_arg_name(r, args, NULL));
        TRY(read_need(r, '='));
        TRY(read_operand(r, s, NULL));
    } while (read_char(r, ','));
    return read_need(r, ')');
}

static tm_status read_for(reader *r, read_op *s, ir_block *block) {
    arg_list args = {0};
    if (read_word(r, "unsigned"))
        add_attr(r, s, "unsignedCmp", ir_attr_unit(r->m));
    TRY(read_arg_name(r, &args, NULL));
    TRY(read_need(r, '='));
    TRY(read_operand(r, s, NULL));
    if (!read_word(r, "to"))
        return read_expected(r, "'to'");
    TRY(read_operand(r, s, NULL));
    if (!read_word(r, "step"))
        return read_expected(r, "'step'");
    TRY(read_operand(r, s, NULL));
    if (read_word(r, "iter_args")) {
        TRY(read_carried(r, s, &args));
        if (!read_arrow(r))
            return read_expected(r, "'->'");
        read_space(r);
        const char *at = r->at;
        TRY(read_paren_types(r, &s->results));
        if (s->results.count != s->refs.count - 3)
            return read_fail(r, at, TM1021, s->refs.count - 3, s->results.count);
    }
    const ir_type *index = read_char(r, ':') ? read_type(r) : ir_type_index(r->m);
    if (!index)
        return -1;
    for (u32 i = 0; i < 3; i++)
        s->types.at[i] = index;
    args.at[0].type = index;
    for (u32 i = 0; i < s->results.count; i++)
        args.at[i + 1].type = s->types.at[i + 3] = s->results.at[i];
    TRY(read_build(r, s, block, 1));
    TRY(read_region_with(r, &s->op->regions[0], args.at, args.count));
    TRY(finish_region(r, &s->op->regions[0]));
    return late_attrs(r, s->op, optional_dict);
}

static tm_status read_if(reader *r, read_op *s, ir_block *block) {
    TRY(read_operand(r, s, ir_type_int(r->m, 1)));
    if (read_arrow(r))
        TRY(read_paren_types(r, &s->results));
    TRY(read_build(r, s, block, 2));
    TRY(read_region_body(r, &s->op->regions[0]));
    TRY(finish_region(r, &s->op->regions[0]));
    if (read_word(r, "else")) {
        TRY(read_region_body(r, &s->op->regions[1]));
        TRY(finish_region(r, &s->op->regions[1]));
    }
    return late_attrs(r, s->op, optional_dict);
}

static tm_status read_while(reader *r, read_op *s, ir_block *block) {
    arg_list args = {0};
    type_list types = {0};
    if (read_peek(r, '('))
        TRY(read_carried(r, s, &args));
    TRY(read_need(r, ':'));
    read_space(r);
    const char *at = r->at;
    TRY(read_paren_types(r, &types));
    if (types.count != args.count)
        return read_fail(r, at, TM1021, args.count, types.count);
    if (!read_arrow(r))
        return read_expected(r, "'->'");
    TRY(read_result_types(r, &s->results));
    for (u32 i = 0; i < args.count; i++)
        args.at[i].type = s->types.at[i] = types.at[i];
    TRY(read_build(r, s, block, 2));
    TRY(read_region_with(r, &s->op->regions[0], args.at, args.count));
    if (!s->op->regions[0].first)
        ir_block_new(r->m, &s->op->regions[0]);
    if (!read_word(r, "do"))
        return read_expected(r, "'do'");
    TRY(read_region_body(r, &s->op->regions[1]));
    TRY(finish_region(r, &s->op->regions[1]));
    return late_attrs(r, s->op, optional_keyword_dict);
}

/* ---- cf ------------------------------------------------------------------------------------------------ */

/* ^bb1(%a, %b : i32, f32) */
static tm_status read_target(reader *r, read_op *s) {
    ir_succ succ = {.block = read_label(r, false), .first = s->refs.count};
    if (!succ.block)
        return -1;
    if (read_char(r, '(')) {
        do
            TRY(read_operand(r, s, NULL));
        while (read_char(r, ','));
        TRY(read_need(r, ':'));
        type_list types = {0};
        read_space(r);
        const char *at = r->at;
        TRY(read_types(r, &types));
        succ.count = s->refs.count - succ.first;
        if (types.count != succ.count)
            return read_fail(r, at, TM1021, succ.count, types.count);
        for (u32 i = 0; i < succ.count; i++)
            s->types.at[succ.first + i] = types.at[i];
        TRY(read_need(r, ')'));
    }
    VEC_PUSH(r->scratch, &s->succs, succ);
    return 0;
}

static tm_status read_branch(reader *r, read_op *s, ir_block *block) {
    if (s->code == IR_cf_cond_br) {
        TRY(read_operand(r, s, ir_type_int(r->m, 1)));
        if (read_word(r, "weights")) /* a hint: dropped */
            return read_fail(r, r->at, TM1009, "branch weights");
        TRY(read_need(r, ','));
        TRY(read_target(r, s));
        TRY(read_need(r, ','));
    }
    TRY(read_target(r, s));
    TRY(optional_dict(r, s));
    return read_build(r, s, block, 0);
}

/* ---- Functions and modules ------------------------------------------------------------------------------- */

/* Names that the text gives for its own sake; "0" and "arg0" say nothing. */
static const char *kept_name(reader *r, const read_arg *a) {
    if (a->loc && a->loc->first_name)
        return a->loc->first_name;
    bool plain = a->name[0] >= '0' && a->name[0] <= '9';
    return plain || (a->len > 3 && memcmp(a->name, "arg", 3) == 0)
               ? NULL
               : ir_intern(r->m, a->name, a->len);
}

static tm_status read_param(reader *r, arg_list *args) {
    read_arg a = {0};
    if (read_peek(r, '%')) {
        a.at = r->at++;
        if (!read_suffix_text(r, &a.name, &a.len))
            return read_expected(r, "an argument name");
        TRY(read_need(r, ':'));
    }
    const char *at = a.at ? a.at : r->at;
    a.type = read_type(r);
    if (!a.type)
        return -1;
    attr_list attrs = {0};
    if (read_peek(r, '{'))
        TRY(read_dict(r, &attrs));
    if (attrs.count)
        a.attrs = arena_dup(r->m->arena, attrs.at, attrs.count * sizeof *attrs.at);
    a.n_attrs = attrs.count;
    TRY(read_optional_loc(r, &a.loc, at));
    a.kept_name = a.name ? kept_name(r, &a) : NULL;
    VEC_PUSH(r->scratch, args, a);
    return 0;
}

static tm_status read_params(reader *r, arg_list *args) {
    TRY(read_need(r, '('));
    if (read_char(r, ')'))
        return 0;
    do
        TRY(read_param(r, args));
    while (read_char(r, ','));
    return read_need(r, ')');
}

/* Attributes of parameters (without a body) or results, as one array of dictionaries. */
static void add_dicts(reader *r, read_op *s, const char *name, const arg_list *args) {
    part_list dicts = {0};
    bool any = false;
    for (u32 i = 0; i < args->count; i++) {
        any |= args->at[i].n_attrs > 0;
        VEC_PUSH(r->scratch, &dicts,
                 ir_attr_intern(r->m, &(ir_attr){.kind = IR_ATTR_DICT,
                                                 .count = args->at[i].n_attrs,
                                                 .named = args->at[i].attrs}));
    }
    if (any)
        add_attr(r, s, name,
                 ir_attr_intern(r->m, &(ir_attr){.kind = IR_ATTR_ARRAY,
                                                 .count = dicts.count,
                                                 .list = dicts.at}));
}

/* -> T, -> (T {attrs}, U) */
static tm_status read_func_results(reader *r, arg_list *results) {
    if (!read_arrow(r))
        return 0;
    if (read_peek(r, '('))
        return read_params(r, results);
    read_arg one = {.type = read_type(r)};
    if (!one.type)
        return -1;
    VEC_PUSH(r->scratch, results, one);
    return 0;
}

static void add_func_type(reader *r, read_op *s, const arg_list *args, const arg_list *results) {
    type_list types = {0};
    for (u32 i = 0; i < args->count; i++)
        VEC_PUSH(r->scratch, &types, args->at[i].type);
    for (u32 i = 0; i < results->count; i++)
        VEC_PUSH(r->scratch, &types, results->at[i].type);
    const ir_type **at = types.at;
    add_attr(r, s, "function_type",
             ir_attr_type(r->m, ir_type_func(r->m, args->count, at, results->count,
                                             at ? at + args->count : NULL)));
}

static tm_status read_func(reader *r, read_op *s, ir_block *block) {
    static const char *const visibility[] = {"public", "private", "nested"};
    const ir_attr *visible = NULL;
    for (u32 i = 0; i < COUNT_OF(visibility) && !visible; i++)
        if (read_word(r, visibility[i]))
            visible = ir_attr_string(r->m, visibility[i], strlen(visibility[i]));
    if (!read_peek(r, '@'))
        return read_expected(r, "a function name");
    const ir_attr *name = read_attr(r, NULL);
    arg_list args = {0}, results = {0};
    if (!name)
        return -1;
    TRY(read_params(r, &args));
    for (u32 i = 1; i < args.count; i++)
        if (!args.at[i].name != !args.at[0].name)
            return read_fail(r, s->at, TM1028);
    TRY(read_func_results(r, &results));
    TRY(optional_keyword_dict(r, s));
    add_attr(r, s, "sym_name", ir_attr_string(r->m, name->text, name->count));
    add_func_type(r, s, &args, &results);
    if (visible)
        add_attr(r, s, "sym_visibility", visible);
    add_dicts(r, s, "res_attrs", &results);
    bool body = read_peek(r, '{');
    if (!body)
        add_dicts(r, s, "arg_attrs", &args);
    else if (args.count && !args.at[0].name)
        return read_fail(r, s->at, TM1028);
    TRY(read_build(r, s, block, 1));
    if (!body)
        return 0;
    u32 scope = read_scope(r);
    TRY(read_region_with(r, &s->op->regions[0], args.at, args.count));
    read_scope_end(r, scope);
    return read_check_later(r);
}

/* module [@name] [attributes {...}] { ... }; the outermost one is the module itself. */
static tm_status read_module(reader *r, read_op *s, ir_block *block) {
    if (block)
        return read_fail(r, s->at, TM1009, "modules inside modules");
    if (read_peek(r, '@')) {
        const ir_attr *name = read_attr(r, NULL);
        if (!name)
            return -1;
        add_attr(r, s, "sym_name", ir_attr_string(r->m, name->text, name->count));
    }
    TRY(optional_keyword_dict(r, s));
    TRY(append_attrs(r, r->m->op, &s->attrs));
    s->op = r->m->op;
    TRY(read_need(r, '{'));
    while (!read_char(r, '}')) {
        if (r->at >= r->end || *r->at == 0)
            return read_expected(r, "'}'");
        TRY(read_one_op(r, ir_module_body(r->m)));
    }
    return read_check_later(r);
}

tm_status read_own(reader *r, read_op *s, ir_block *block) {
    if (!block && s->code != IR_builtin_module)
        return read_fail(r, s->at, TM1009, "operations outside of functions");
    switch (s->code) {
    case IR_builtin_module: return read_module(r, s, block);
    case IR_arith_constant: return read_constant(r, s, block);
    case IR_scf_for: return read_for(r, s, block);
    case IR_scf_if: return read_if(r, s, block);
    case IR_scf_while: return read_while(r, s, block);
    case IR_cf_br:
    case IR_cf_cond_br: return read_branch(r, s, block);
    case IR_tt_func: return read_func(r, s, block);
    default: return read_fail(r, s->at, TM1029, ir_ops[s->code].name);
    }
}
