/* SPDX-License-Identifier: MIT */
/* Types of single ops: a table says what arith and math ops take; elementwise ops have one shape and
 * one encoding; what changes shapes is in shapes.c. */
#include "ir/verify/verify.h"
#include "ir/forms.h"

enum elem_class { ANY, INT, FLT };

static enum elem_class class_of(const ir_type *t) {
    const ir_type *e = ir_elem(t);
    return e->kind == IR_FLOAT ? FLT : e->kind == IR_INT || e->kind == IR_INDEX ? INT : ANY;
}

static enum elem_class binary_class(u32 code) {
    switch (code) {
    case IR_arith_addf:
    case IR_arith_subf:
    case IR_arith_mulf:
    case IR_arith_divf:
    case IR_arith_remf:
    case IR_arith_negf:
    case IR_arith_maxnumf:
    case IR_arith_minnumf:
    case IR_arith_maximumf:
    case IR_arith_minimumf:
    case IR_tt_precise_divf:
    case IR_tt_precise_sqrt:
    case IR_tt_clampf:
    case IR_math_fma: return FLT;
    case IR_math_absi:
    case IR_tt_mulhiui:
    case IR_arith_mulsi_extended:
    case IR_arith_mului_extended: return INT;
    default: break;
    }
    if (code >= IR_math_absf && code <= IR_math_fma)
        return FLT;
    return code >= IR_arith_addi && code <= IR_arith_maxui ? INT : ANY;
}

typedef struct cast_rule {
    u16 code;
    u8 from, to;
    i8 width; /* of the result against the operand: 1 wider, -1 narrower, 0 equal, 2 any */
} cast_rule;

static const cast_rule casts[] = {
    {IR_arith_extsi, INT, INT, 1},     {IR_arith_extui, INT, INT, 1},
    {IR_arith_trunci, INT, INT, -1},   {IR_arith_extf, FLT, FLT, 1},
    {IR_arith_truncf, FLT, FLT, -1},   {IR_arith_sitofp, INT, FLT, 2},
    {IR_arith_uitofp, INT, FLT, 2},    {IR_arith_fptosi, FLT, INT, 2},
    {IR_arith_fptoui, FLT, INT, 2},    {IR_arith_bitcast, ANY, ANY, 0},
    {IR_arith_index_cast, INT, INT, 2}, {IR_tt_fp_to_fp, FLT, FLT, 2},
};

static const cast_rule *cast_of(u32 code) {
    for (u32 i = 0; i < COUNT_OF(casts); i++)
        if (casts[i].code == code)
            return &casts[i];
    return NULL;
}

static bool width_fits(const cast_rule *rule, const ir_type *from, const ir_type *to) {
    u32 a = ir_elem(from)->width, b = ir_elem(to)->width;
    return rule->width == 2 || (rule->width == 0 ? a == b : rule->width > 0 ? b > a : b < a);
}

static tm_status check_cast(ir_module *m, const ir_op *op, const cast_rule *rule) {
    const ir_type *from = ir_operand(op, 0)->type, *to = op->results[0].type;
    if ((rule->from && class_of(from) != rule->from) || (rule->to && class_of(to) != rule->to) ||
        class_of(from) == ANY || class_of(to) == ANY)
        return ir_error(m, op, TM1109, "the element types do not suit this conversion");
    if (!width_fits(rule, from, to))
        return ir_error(m, op, TM1109, "the widths do not suit this conversion");
    return 0;
}

/* All operands and results of one type. */
static tm_status check_one_type(ir_module *m, const ir_op *op, enum elem_class wanted) {
    const ir_type *t = op->n_results ? op->results[0].type : NULL;
    for (u32 i = 0; i < op->n_operands; i++)
        if (ir_operand(op, i)->type != t)
            return ir_error(m, op, TM1117, i);
    for (u32 i = 1; i < op->n_results; i++)
        if (op->results[i].type != t)
            return ir_error(m, op, TM1109, "results of one type are needed");
    if (wanted != ANY && t && class_of(t) != wanted)
        return ir_error(m, op, TM1109,
                        wanted == INT ? "integers are needed" : "floats are needed");
    return 0;
}

static bool same_frame(const ir_type *a, const ir_type *b) { /* all but the element */
    return a->kind == b->kind && a->rank == b->rank && a->encoding == b->encoding &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

static bool is_frame(const ir_type *t) { return t->kind == IR_TENSOR || t->kind == IR_VECTOR; }

static bool scalar_condition(const ir_op *op, u32 operand) {
    return op->code == IR_arith_select && operand == 0 && !is_frame(ir_operand(op, 0)->type);
}

/* Tensors of one shape and encoding throughout, or scalars throughout. */
static tm_status check_elementwise(ir_module *m, const ir_op *op) {
    const ir_type *t = op->n_results ? op->results[0].type : ir_operand(op, 0)->type;
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_type *o = ir_operand(op, i)->type;
        if (scalar_condition(op, i))
            continue;
        if (is_frame(o) != is_frame(t) || (is_frame(t) && !same_frame(o, t)))
            return ir_error(m, op, TM1118, i);
    }
    return 0;
}

static tm_status check_compare(ir_module *m, const ir_op *op) {
    const ir_type *t = ir_operand(op, 0)->type;
    i64 predicate = ir_attr_get_int(op, "predicate", -1);
    if (ir_operand(op, 1)->type != t)
        return ir_error(m, op, TM1117, 1);
    if (class_of(t) != (op->code == IR_arith_cmpi ? INT : FLT))
        return ir_error(m, op, TM1109, "the elements do not suit this comparison");
    if (!ir_is_int(ir_elem(op->results[0].type), 1))
        return ir_error(m, op, TM1109, "a comparison gives i1");
    if (predicate < 0 || predicate > (op->code == IR_arith_cmpi ? 9 : 15))
        return ir_error(m, op, TM1111, "predicate");
    return 0;
}

static tm_status check_select(ir_module *m, const ir_op *op) {
    const ir_type *t = op->results[0].type;
    if (!ir_is_int(ir_elem(ir_operand(op, 0)->type), 1))
        return ir_error(m, op, TM1109, "the condition is not i1");
    for (u32 i = 1; i < 3; i++)
        if (ir_operand(op, i)->type != t)
            return ir_error(m, op, TM1117, i);
    return 0;
}

static tm_status check_constant(ir_module *m, const ir_op *op) {
    const ir_attr *value = ir_attr_get(op, "value");
    if (!value || (value->kind != IR_ATTR_INT && value->kind != IR_ATTR_FLOAT &&
                   value->kind != IR_ATTR_DENSE))
        return ir_error(m, op, TM1111, "value");
    const ir_type *t = op->results[0].type;
    if (value->type != t)
        return ir_error(m, op, TM1109, "value and result differ in type");
    if (value->kind == IR_ATTR_DENSE && !value->splat && (i64)value->count != ir_numel(t))
        return ir_error(m, op, TM1109, "the number of elements is not the type's");
    return 0;
}

static tm_status check_condition(ir_module *m, const ir_op *op) {
    if (op->n_operands == 0)
        return ir_error(m, op, TM1101, 1, "operands", 0);
    return ir_is_int(ir_operand(op, 0)->type, 1)
               ? 0
               : ir_error(m, op, TM1109, "the condition is not i1");
}

/* ---- Attributes that the text form shows --------------------------------------------------------- */

/* Whether attribute `name` has what its place in the form needs: a known word, a string, a symbol. */
static bool suits_form(const ir_op *op, char kind, const char *name, u32 len, const ir_attr *a) {
    const char *word;
    switch (kind) {
    case 'e': return a->kind == IR_ATTR_INT && ir_word_of(name, len, op->code, a->i, &word) > 0;
    case 'f': return a->kind == IR_ATTR_INT && a->i >= 0 && a->i <= 31;
    case 'q': return a->kind == IR_ATTR_STRING;
    case 'y': return a->kind == IR_ATTR_SYMBOL;
    default: return a->kind == IR_ATTR_UNIT;
    }
}

static const ir_attr *attr_named(const ir_op *op, const char *name, u32 len) {
    for (u32 i = 0; i < op->n_attrs; i++)
        if (strncmp(op->attrs[i].name, name, len) == 0 && !op->attrs[i].name[len])
            return op->attrs[i].value;
    return NULL;
}

/* Flags of arith and math ops, which forms show by `$M`. */
static tm_status check_flags(ir_module *m, const ir_op *op) {
    for (u32 i = 0; i < op->n_attrs; i++) {
        const char *name = op->attrs[i].name, *word;
        const ir_attr *a = op->attrs[i].value;
        bool fits = true;
        if (strcmp(name, "overflowFlags") == 0)
            fits = a->kind == IR_ATTR_OTHER && strncmp(a->text, "#arith.overflow<", 16) == 0;
        else if (strcmp(name, "fastmath") == 0)
            fits = a->kind == IR_ATTR_OTHER && strncmp(a->text, "#arith.fastmath<", 16) == 0;
        else if (strcmp(name, "isExact") == 0 || strcmp(name, "nonNeg") == 0)
            fits = a->kind == IR_ATTR_UNIT;
        else if (strcmp(name, "roundingmode") == 0)
            fits = a->kind == IR_ATTR_INT && ir_word_of(name, 12, op->code, a->i, &word) > 0;
        if (!fits)
            return ir_error(m, op, TM1111, name);
    }
    return 0;
}

static tm_status check_form_attrs(ir_module *m, const ir_op *op, const char *form) {
    bool in_group = false;
    for (const char *p = form; *p; p++) {
        if (p[0] == '?')
            in_group = true;
        else if (p[0] == ')')
            in_group = false;
        else if (p[0] == '$' && p[1] == 'M')
            TRY(check_flags(m, op));
        if (p[0] != '$' || p[2] != '{')
            continue;
        u32 len = (u32)strcspn(p + 3, "}");
        const ir_attr *a = attr_named(op, p + 3, len);
        if (a ? !suits_form(op, p[1], p + 3, len, a) : !in_group) {
            char name[32];
            memcpy(name, p + 3, len);
            name[len] = 0;
            return ir_error(m, op, TM1111, name);
        }
    }
    return 0;
}

tm_status verify_op_types(ir_module *m, const ir_op *op) {
    const ir_form *form = ir_form_of(op->code);
    if (form && op->n_attrs + (strchr(form->text, '{') != NULL))
        TRY(check_form_attrs(m, op, form->text));
    switch (op->code) {
    case IR_arith_constant: return check_constant(m, op);
    case IR_arith_select: TRY(check_select(m, op)); break;
    case IR_arith_cmpi:
    case IR_arith_cmpf: TRY(check_compare(m, op)); break;
    case IR_scf_if:
    case IR_scf_condition:
    case IR_cf_cond_br:
    case IR_llvm_assume: return check_condition(m, op);
    default: break;
    }
    const ir_op_info *info = &ir_ops[op->code];
    const cast_rule *cast = cast_of(op->code);
    if (cast)
        TRY(check_cast(m, op, cast));
    if (info->format == IR_FORMAT_BINARY || info->format == IR_FORMAT_UNARY ||
        op->code == IR_tt_clampf || op->code == IR_math_fma)
        TRY(check_one_type(m, op, binary_class(op->code)));
    if (info->traits & IR_ELEMENTWISE && op->n_operands)
        TRY(check_elementwise(m, op));
    return info->traits & IR_THREAD ? verify_thread_op(m, op) : verify_shape_op(m, op);
}
