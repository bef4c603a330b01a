/* SPDX-License-Identifier: MIT */
/* Writes ops by their text form (forms.h). */
#include "ir/print/print_in.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The place of the form's operand n among the op's operands, or -1 when it is not there. */
static int operand_place(const ir_op *op, u32 n) {
    const ir_attr *sizes = ir_attr_get(op, "operandSegmentSizes");
    if (!sizes || sizes->kind != IR_ATTR_INTS || op->code != IR_tt_dot_scaled)
        return n < op->n_operands ? (int)n : -1;
    int place = 0;
    for (u32 i = 0; i < sizes->count && i <= n; i++) {
        if (i == n)
            return sizes->ints[i] && place < op->n_operands ? place : -1;
        place += sizes->ints[i] != 0;
    }
    return -1;
}

static void print_operands(printer *p, const ir_op *op, u32 from, u32 to) {
    for (u32 i = from; i < to && i < op->n_operands; i++) {
        if (i > from)
            put(p, ", ");
        print_value(p, ir_operand(op, i));
    }
}

static void print_operand_types(printer *p, const ir_op *op, u32 from) {
    for (u32 i = from; i < op->n_operands; i++) {
        if (i > from)
            put(p, ", ");
        print_type(p, ir_operand(op, i)->type);
    }
}

static void print_result_types(printer *p, const ir_op *op) {
    for (u32 i = 0; i < op->n_results; i++) {
        if (i)
            put(p, ", ");
        print_type(p, op->results[i].type);
    }
}

static void print_function_types(printer *p, const ir_op *op) {
    bool bare = op->n_results == 1 && op->results[0].type->kind != IR_FUNC;
    put(p, "(");
    print_operand_types(p, op, 0);
    put(p, bare ? ") -> " : ") -> (");
    print_result_types(p, op);
    put(p, bare ? "" : ")");
}

static const ir_attr *form_attr(const ir_op *op, const char **form, u32 *len) {
    const char *name = *form + 1;
    *len = (u32)strcspn(name, "}");
    *form = name + *len + 1;
    for (u32 i = 0; i < op->n_attrs; i++)
        if (strncmp(op->attrs[i].name, name, *len) == 0 && !op->attrs[i].name[*len])
            return op->attrs[i].value;
    return NULL;
}

static void print_word(printer *p, const ir_op *op, const char **form) {
    const char *name = *form + 1, *word;
    u32 len;
    const ir_attr *a = form_attr(op, form, &len);
    i64 value = a && a->kind == IR_ATTR_INT ? a->i : -1;
    u32 n = ir_word_of(name, len, op->code, value, &word);
    if (n)
        put_n(p, word, n);
    else
        put(p, "?");
}

static void print_flags(printer *p, const ir_op *op, const char **form) {
    const char *name = *form + 1, *word;
    u32 len;
    const ir_attr *a = form_attr(op, form, &len);
    i64 flags = a && a->kind == IR_ATTR_INT ? a->i : 0;
    if (flags == 0 || flags == 31) {
        put(p, flags ? "all" : "none");
        return;
    }
    for (u32 bit = 0, any = 0; bit < 5; bit++) {
        if (!(flags >> bit & 1))
            continue;
        u32 n = ir_word_of(name, len, op->code, bit, &word);
        put(p, any++ ? "|" : "");
        put_n(p, word, n);
    }
}

static void print_modifier(printer *p, const char *word, const ir_attr *a) {
    const char *body = a->kind == IR_ATTR_OTHER ? strchr(a->text, '<') : NULL;
    put(p, " ");
    put(p, word);
    if (body)
        put(p, body);
}

static const char modifier_names[] = ",overflowFlags,fastmath,isExact,nonNeg,roundingmode,";

static void print_modifiers(printer *p, const ir_op *op) {
    for (u32 i = 0; i < op->n_attrs; i++) {
        const char *name = op->attrs[i].name, *word;
        const ir_attr *a = op->attrs[i].value;
        if (strcmp(name, "overflowFlags") == 0) {
            print_modifier(p, "overflow", a);
        } else if (strcmp(name, "fastmath") == 0) {
            print_modifier(p, "fastmath", a);
        } else if (strcmp(name, "isExact") == 0) {
            put(p, " exact");
        } else if (strcmp(name, "nonNeg") == 0) {
            put(p, " nneg");
        } else if (strcmp(name, "roundingmode") == 0 && a->kind == IR_ATTR_INT) {
            u32 n = ir_word_of(name, 12, op->code, a->i, &word);
            put(p, " ");
            put_n(p, word, n);
        }
    }
}

/* Whether the first thing inside an optional group is there. */
static bool group_is_there(const ir_op *op, const char *form) {
    const char *d = strchr(form, '$') + 1;
    if (is_digit(*d))
        return operand_place(op, (u32)(*d - '0')) >= 0;
    if (*d == '*')
        return op->n_operands > (u32)(d[1] - '0');
    if (*d == 't')
        return operand_place(op, (u32)(d[1] - '0')) >= 0;
    const char *name = ++d + 1;
    u32 len;
    const ir_attr *a = form_attr(op, &d, &len);
    return a && !(a->kind == IR_ATTR_INT && ir_word_elided(name, len, a->i));
}

static void print_form_operand(printer *p, const ir_op *op, u32 n) {
    int place = operand_place(op, n);
    if (place >= 0)
        print_value(p, ir_operand(op, (u32)place));
}

static void print_form_type(printer *p, const ir_op *op, u32 n) {
    int place = operand_place(op, n);
    if (place >= 0)
        print_type(p, ir_operand(op, (u32)place)->type);
}

static void print_text_attr(printer *p, const ir_op *op, const char **form, char kind) {
    u32 len;
    const ir_attr *a = form_attr(op, form, &len);
    if (a && kind == 'q')
        print_quoted(p, a->text ? a->text : "", a->count);
    else if (a && kind == 'y')
        print_symbol(p, a->text ? a->text : "", a->count);
}

static void print_select_types(printer *p, const ir_op *op) {
    if (op->n_operands && ir_is_tensor(ir_operand(op, 0)->type)) {
        print_type(p, ir_operand(op, 0)->type);
        put(p, ", ");
    }
    print_result_types(p, op);
}

static const char *print_directive(printer *p, const ir_op *op, const ir_form *form, const char *d) {
    char c = *d++;
    u32 half = 1 + (op->n_operands ? op->n_operands - 1u : 0) / 2;
    if (is_digit(c)) {
        print_form_operand(p, op, (u32)(c - '0'));
        return d;
    }
    switch (c) {
    case '*': print_operands(p, op, (u32)(*d++ - '0'), op->n_operands); break;
    case '<': print_operands(p, op, 1, half); break;
    case '>': print_operands(p, op, half, op->n_operands); break;
    case 'A':
        if (op->n_attrs && strstr(form->text, "$M")) {
            char without[128];
            size_t n = strlen(form->text); /* forms are short: the longest with $M has 40 characters */
            memcpy(without, modifier_names, sizeof modifier_names);
            if (n < sizeof without - sizeof modifier_names)
                memcpy(without + sizeof modifier_names - 1, form->text, n + 1);
            print_attrs_but(p, op, " ", without);
        } else {
            print_attrs_but(p, op, " ", form->text);
        }
        break;
    case 'M': print_modifiers(p, op); break;
    case 'S': print_select_types(p, op); break;
    case 't': print_form_type(p, op, (u32)(*d++ - '0')); break;
    case 'r':
        d++;
        if (op->n_results)
            print_type(p, op->results[0].type);
        break;
    case 'T': print_operand_types(p, op, 0); break;
    case 'V': print_operand_types(p, op, 1); break;
    case 'R': print_result_types(p, op); break;
    case 'F': print_function_types(p, op); break;
    case 'p':
        if (op->n_operands)
            print_pointer_body(p, ir_operand(op, 0)->type);
        break;
    case 'd':
        if (op->n_results)
            print_desc_body(p, op->results[0].type);
        break;
    case 'e': print_word(p, op, &d); break;
    case 'f': print_flags(p, op, &d); break;
    case 'q':
    case 'y': print_text_attr(p, op, &d, c); break;
    default: d = strchr(d, '}') + 1; break; /* u */
    }
    return d;
}

void print_form(printer *p, const ir_op *op, const ir_form *form) {
    bool in_group = false;
    char first = form->text[0];
    if (first == '$' && form->text[1] != 'A')
        put(p, form->text[1] == '*' && op->n_operands == 0 ? "" : " ");
    for (const char *d = form->text; *d;) {
        if (*d == '$') {
            d = print_directive(p, op, form, d + 1);
        } else if (*d == '?') {
            d += 2;
            in_group = group_is_there(op, d);
            if (!in_group)
                d = strchr(d, ')') + 1;
        } else if (*d == ')' && in_group) {
            in_group = false;
            d++;
        } else {
            size_t n = 1;
            while (d[n] && !strchr("$?)", d[n]))
                n++;
            put_n(p, d, n);
            d += n;
        }
    }
}
