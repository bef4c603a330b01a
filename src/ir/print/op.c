/* SPDX-License-Identifier: MIT */
/* Ops with code of their own, the generic form, blocks and regions, and the entry points. */
#include "ir/print/print_in.h"

static void put_indent(printer *p) {
    static const char spaces[] = "                                ";
    for (u32 left = p->collect ? 0 : p->indent; left;) {
        u32 n = MIN(left, (u32)sizeof spaces - 1);
        put_n(p, spaces, n);
        left -= n;
    }
}

/* ---- Blocks and regions ------------------------------------------------------------------------------------ */

static void print_block_name(printer *p, const ir_block *b) {
    put(p, "^bb");
    put_int(p, print_block_number(p, b));
}

typedef VEC(u32) number_list;

/* Numbers of the predecessors of each block of a region, in block order. */
static void note_predecessors(printer *p, const ir_region *region) {
    if (!p->preds)
        p->preds = map_new(p->arena);
    for (const ir_block *b = region->first; b; b = b->next) {
        for (u32 i = 0; b->last && i < b->last->n_succs; i++) {
            void **slot = map_put(p->preds, MAP_KEY(b->last->succs[i].block));
            number_list *list = *slot;
            if (!list)
                list = *slot = arena_zalloc(p->arena, sizeof *list);
            VEC_PUSH(p->arena, list, print_block_number(p, b));
        }
    }
}

static void print_predecessors(printer *p, const ir_block *b) {
    if (!b->region->first->next) /* not counted, and the entry says nothing when it has none */
        return;
    void **slot = map_get(p->preds, MAP_KEY(b));
    const number_list *list = slot ? *slot : NULL;
    if (!list) {
        put(p, b->prev ? "  // no predecessors" : "");
        return;
    }
    put(p, "  // ");
    if (list->count > 1) {
        put_int(p, list->count);
        put(p, " preds: ");
    } else {
        put(p, "pred: ");
    }
    for (u32 i = 0; i < list->count; i++) {
        put(p, i ? ", ^bb" : "^bb");
        put_int(p, list->at[i]);
    }
}

static void print_block_args(printer *p, const ir_block *b) {
    if (b->n_args == 0)
        return;
    put(p, "(");
    for (u32 i = 0; i < b->n_args; i++) {
        if (i)
            put(p, ", ");
        print_value(p, b->args[i]);
        put(p, ": ");
        print_type(p, b->args[i]->type);
        print_trailing_loc(p, b->args[i]->loc, false);
    }
    put(p, ")");
}

static void print_block(printer *p, const ir_block *b, bool head, bool terminator) {
    if (head) {
        put_indent(p);
        print_block_name(p, b);
        print_block_args(p, b);
        put(p, ":");
        if (!p->collect)
            print_predecessors(p, b);
        put(p, "\n");
    }
    p->indent += 2;
    IR_FOR_EACH_OP(b, op) {
        if (!terminator && !op->next && ir_has_trait(op, IR_TERMINATOR))
            break;
        put_indent(p);
        print_op(p, op);
        put(p, "\n");
    }
    p->indent -= 2;
}

void print_region(printer *p, const ir_region *region, bool entry_args, bool terminators,
                  bool empty_label) {
    put(p, "{\n");
    const ir_block *entry = region->first;
    if (entry) {
        if (entry->next && !p->collect)
            note_predecessors(p, region);
        bool head = (empty_label && !entry->first) || (entry_args && entry->n_args);
        print_block(p, entry, head, terminators);
        for (const ir_block *b = entry->next; b; b = b->next)
            print_block(p, b, true, true);
    }
    put_indent(p);
    put(p, "}");
}

/* ---- Ops with code of their own ---------------------------------------------------------------------------- */

static void print_constant(printer *p, const ir_op *op) {
    const ir_attr *value = ir_attr_get(op, "value");
    print_attrs_but(p, op, " ", ",value,");
    put(p, " ");
    if (value)
        print_attr(p, value);
}

/* (%a = %x, %b = %y) */
static void print_carried(printer *p, const ir_op *op, const ir_block *b, u32 first_arg,
                          u32 first_operand) {
    put(p, "(");
    for (u32 i = 0; i + first_operand < op->n_operands && b && i + first_arg < b->n_args; i++) {
        if (i)
            put(p, ", ");
        print_value(p, b->args[i + first_arg]);
        put(p, " = ");
        print_value(p, ir_operand(op, i + first_operand));
    }
    put(p, ")");
}

static void print_type_list(printer *p, const ir_op *op) { /* (T, U) of the results */
    put(p, "(");
    for (u32 i = 0; i < op->n_results; i++) {
        if (i)
            put(p, ", ");
        print_type(p, op->results[i].type);
    }
    put(p, ")");
}

static bool print_for(printer *p, const ir_op *op) {
    const ir_block *body = op->n_regions == 1 ? op->regions[0].first : NULL;
    if (!body || body->n_args < 1 || op->n_operands < 3)
        return false;
    put(p, ir_attr_get(op, "unsignedCmp") ? " unsigned " : " ");
    print_value(p, body->args[0]);
    put(p, " = ");
    print_value(p, ir_operand(op, 0));
    put(p, " to ");
    print_value(p, ir_operand(op, 1));
    put(p, " step ");
    print_value(p, ir_operand(op, 2));
    if (op->n_operands > 3) {
        put(p, " iter_args");
        print_carried(p, op, body, 1, 3);
        put(p, " -> ");
        print_type_list(p, op);
    }
    put(p, " ");
    if (body->args[0]->type->kind != IR_INDEX) {
        put(p, " : ");
        print_type(p, body->args[0]->type);
        put(p, " ");
    }
    print_region(p, &op->regions[0], false, op->n_operands > 3, false);
    print_attrs_but(p, op, " ", ",unsignedCmp,");
    return true;
}

static bool print_if(printer *p, const ir_op *op) {
    if (op->n_operands != 1 || op->n_regions != 2)
        return false;
    put(p, " ");
    print_value(p, ir_operand(op, 0));
    if (op->n_results) {
        put(p, " -> ");
        print_type_list(p, op);
    }
    put(p, " ");
    print_region(p, &op->regions[0], false, op->n_results > 0, false);
    if (op->regions[1].first) {
        put(p, " else ");
        print_region(p, &op->regions[1], false, op->n_results > 0, false);
    }
    print_attrs_but(p, op, " ", "");
    return true;
}

static bool print_while(printer *p, const ir_op *op) {
    if (op->n_regions != 2 || !op->regions[0].first)
        return false;
    put(p, " ");
    if (op->n_operands) {
        print_carried(p, op, op->regions[0].first, 0, 0);
        put(p, " ");
    }
    put(p, ": (");
    for (u32 i = 0; i < op->n_operands; i++) {
        if (i)
            put(p, ", ");
        print_type(p, ir_operand(op, i)->type);
    }
    put(p, ") -> ");
    if (op->n_results == 1)
        print_type(p, op->results[0].type);
    else
        print_type_list(p, op);
    put(p, " ");
    print_region(p, &op->regions[0], false, true, false);
    put(p, " do ");
    print_region(p, &op->regions[1], true, true, false);
    print_attrs_but(p, op, " attributes ", "");
    return true;
}

static void print_target(printer *p, const ir_op *op, const ir_succ *s) {
    print_block_name(p, s->block);
    if (s->count == 0)
        return;
    put(p, "(");
    for (u32 i = s->first; i < s->first + s->count && i < op->n_operands; i++) {
        if (i > s->first)
            put(p, ", ");
        print_value(p, ir_operand(op, i));
    }
    put(p, " : ");
    for (u32 i = s->first; i < s->first + s->count && i < op->n_operands; i++) {
        if (i > s->first)
            put(p, ", ");
        print_type(p, ir_operand(op, i)->type);
    }
    put(p, ")");
}

static bool print_branch(printer *p, const ir_op *op) {
    bool conditional = op->code == IR_cf_cond_br;
    if (op->n_succs != 1u + conditional || op->n_operands < conditional)
        return false;
    put(p, " ");
    if (conditional) {
        print_value(p, ir_operand(op, 0));
        put(p, ", ");
    }
    for (u32 i = 0; i < op->n_succs; i++) {
        put(p, i ? ", " : "");
        print_target(p, op, &op->succs[i]);
    }
    print_attrs_but(p, op, " ", "");
    return true;
}

static const ir_attr *dict_of(const ir_attr *array, u32 i) {
    bool there = array && array->kind == IR_ATTR_ARRAY && i < array->count &&
                 array->list[i]->kind == IR_ATTR_DICT && array->list[i]->count;
    return there ? array->list[i] : NULL;
}

static void print_typed(printer *p, const ir_type *t, const ir_attr *dict) {
    print_type(p, t);
    if (dict) {
        put(p, " ");
        print_dict(p, dict->count, dict->named);
    }
}

static void print_params(printer *p, const ir_op *op, const ir_type *type) {
    const ir_block *entry = op->regions[0].first;
    const ir_attr *dicts = ir_attr_get(op, "arg_attrs");
    put(p, "(");
    for (u32 i = 0; i < (entry ? entry->n_args : type->n_params); i++) {
        if (i)
            put(p, ", ");
        if (!entry) {
            print_typed(p, type->list[i], dict_of(dicts, i));
            continue;
        }
        const ir_value *arg = entry->args[i];
        print_value(p, arg);
        put(p, ": ");
        print_type(p, arg->type);
        if (arg->n_attrs) {
            put(p, " ");
            print_dict(p, arg->n_attrs, arg->attrs);
        }
        print_trailing_loc(p, arg->loc, false);
    }
    put(p, ")");
}

static void print_func_results(printer *p, const ir_op *op, const ir_type *type) {
    const ir_attr *dicts = ir_attr_get(op, "res_attrs");
    u32 n = type->n_list - type->n_params;
    if (n == 0)
        return;
    bool bare = n == 1 && type->list[type->n_params]->kind != IR_FUNC && !dict_of(dicts, 0);
    put(p, bare ? " -> " : " -> (");
    for (u32 i = 0; i < n; i++) {
        if (i)
            put(p, ", ");
        print_typed(p, type->list[type->n_params + i], dict_of(dicts, i));
    }
    put(p, bare ? "" : ")");
}

static bool print_func(printer *p, const ir_op *op) {
    const ir_attr *name = ir_attr_get(op, "sym_name"), *type = ir_attr_get(op, "function_type");
    const ir_attr *visible = ir_attr_get(op, "sym_visibility");
    if (!name || name->kind != IR_ATTR_STRING || !type || type->kind != IR_ATTR_TYPE ||
        type->type->kind != IR_FUNC || op->n_regions != 1)
        return false;
    put(p, " ");
    if (visible && visible->kind == IR_ATTR_STRING) {
        put(p, visible->text);
        put(p, " ");
    }
    print_symbol(p, name->text, name->count);
    print_params(p, op, type->type);
    print_func_results(p, op, type->type);
    print_attrs_but(p, op, " attributes ",
                    ",sym_name,function_type,sym_visibility,arg_attrs,res_attrs,");
    if (op->regions[0].first) {
        put(p, " ");
        print_region(p, &op->regions[0], false, true, true);
    }
    return true;
}

static void print_module_op(printer *p, const ir_op *op) {
    const ir_attr *name = ir_attr_get(op, "sym_name");
    if (name && name->kind == IR_ATTR_STRING) {
        put(p, " ");
        print_symbol(p, name->text, name->count);
    }
    print_attrs_but(p, op, " attributes ", ",sym_name,");
    put(p, " ");
    print_region(p, &op->regions[0], false, true, false);
}

/* False when op has no such form, or is not shaped as the form needs it. */
bool print_own(printer *p, const ir_op *op) {
    size_t start = p->out->len;
    put(p, op->code == IR_builtin_module ? "module" : ir_ops[op->code].name);
    bool done = true;
    switch (op->code) {
    case IR_builtin_module: print_module_op(p, op); break;
    case IR_arith_constant: print_constant(p, op); break;
    case IR_scf_for: done = print_for(p, op); break;
    case IR_scf_if: done = print_if(p, op); break;
    case IR_scf_while: done = print_while(p, op); break;
    case IR_cf_br:
    case IR_cf_cond_br: done = print_branch(p, op); break;
    case IR_tt_func: done = print_func(p, op); break;
    default: done = false; break;
    }
    if (!done && !p->collect)
        p->out->len = start;
    return done;
}

/* ---- Any op --------------------------------------------------------------------------------------------------- */

static void print_properties(printer *p, const ir_op *op, const char *names) {
    ir_named_attr kept[8];
    u32 n = 0;
    for (u32 i = 0; i < op->n_attrs && n < COUNT_OF(kept); i++) {
        const char *found = strstr(names, op->attrs[i].name);
        size_t len = strlen(op->attrs[i].name);
        if (found && len && found[-1] == ',' && found[len] == ',')
            kept[n++] = op->attrs[i];
    }
    if (n == 0)
        return;
    put(p, " <");
    print_dict(p, n, kept);
    put(p, ">");
}

static void print_generic(printer *p, const ir_op *op) {
    const char *names = op->code == IR_unknown ? ",<properties>," : ir_generic_properties(op->code);
    const ir_attr *apart = op->code == IR_unknown ? ir_attr_get(op, "<properties>") : NULL;
    const char *name = ir_code_name(op);
    print_quoted(p, name, strlen(name));
    put(p, "(");
    for (u32 i = 0; i < op->n_operands; i++) {
        if (i)
            put(p, ", ");
        print_value(p, ir_operand(op, i));
    }
    put(p, ")");
    for (u32 i = 0; i < op->n_succs; i++) {
        put(p, i ? ", " : "[");
        print_block_name(p, op->succs[i].block);
    }
    put(p, op->n_succs ? "]" : "");
    if (apart) {
        put(p, " <");
        print_attr(p, apart);
        put(p, ">");
    } else if (op->code != IR_unknown) {
        print_properties(p, op, names);
    }
    for (u32 i = 0; i < op->n_regions; i++) {
        put(p, i ? ", " : " (");
        print_region(p, &op->regions[i], true, true, true);
    }
    put(p, op->n_regions ? ")" : "");
    print_attrs_but(p, op, " ", names);
    put(p, " : (");
    for (u32 i = 0; i < op->n_operands; i++) {
        if (i)
            put(p, ", ");
        print_type(p, ir_operand(op, i)->type);
    }
    put(p, ") -> ");
    if (op->n_results == 1 && op->results[0].type->kind != IR_FUNC)
        print_type(p, op->results[0].type);
    else
        print_type_list(p, op);
}

static void print_results(printer *p, const ir_op *op) {
    if (op->n_results == 0)
        return;
    u32 groups = print_result_groups(op);
    for (u32 i = 0; i < groups; i++) {
        if (i)
            put(p, ", ");
        print_result_group(p, &op->results[i], groups > 1 ? 1 : op->n_results);
    }
    put(p, " = ");
}

void print_op(printer *p, const ir_op *op) {
    if (p->collect)
        print_trailing_loc(p, op->loc, true);
    print_results(p, op);
    const ir_form *form = ir_form_of(op->code);
    if (form) {
        put(p, ir_ops[op->code].name);
        print_form(p, op, form);
    } else if (!print_own(p, op)) {
        print_generic(p, op);
    }
    if (!p->collect)
        print_trailing_loc(p, op->loc, true);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

static printer start(text *out, const ir_module *m, u32 flags) {
    return (printer){.out = out, .m = m, .arena = arena_new(), .flags = flags};
}

static const ir_op *outermost(const ir_op *op) {
    for (const ir_op *up; (up = ir_parent(op));)
        op = up;
    return op;
}

static void collect_aliases(printer *p, const ir_op *root) {
    p->loc_alias = ARENA_ARRAY(p->arena, u32, p->m->pools->n_locs + 1);
    p->attr_alias = ARENA_ARRAY(p->arena, u32, p->m->pools->n_attrs + 1);
    p->collect = true;
    print_op(p, root);
    p->collect = false;
    print_order_aliases(p);
}

void ir_print_module(text *out, const ir_module *m, u32 flags) {
    printer p = start(out, m, flags);
    print_number_values(&p, m->op);
    collect_aliases(&p, m->op);
    p.types = ARENA_ARRAY(p.arena, cached_text, m->pools->n_types + 1);
    print_alias_definitions(&p, false);
    print_op(&p, m->op);
    put(&p, "\n");
    print_alias_definitions(&p, true);
    arena_free(p.arena);
}

void ir_print_op(text *out, const ir_module *m, const ir_op *op, u32 flags) {
    printer p = start(out, m, flags);
    print_number_values(&p, outermost(op));
    print_op(&p, op);
    arena_free(p.arena);
}

void ir_print_op_line(text *out, const ir_module *m, const ir_op *op) {
    text all = {0};
    ir_print_op(&all, m, op, IR_PRINT_NAMES);
    text_add(out, all.at, strcspn(all.at, "\n"));
    text_free(&all);
}

void ir_print_type(text *out, const ir_module *m, const ir_type *t) {
    printer p = start(out, m, 0);
    print_type(&p, t);
    arena_free(p.arena);
}

void ir_print_attr(text *out, const ir_module *m, const ir_attr *a) {
    printer p = start(out, m, 0);
    print_attr(&p, a);
    arena_free(p.arena);
}
