/* SPDX-License-Identifier: MIT */
/* Reads ops by their text form (forms.h): walks the form and the text side by side, collecting operand
 * names, types and attributes; then fills in the types that the form leaves out. */
#include "ir/forms.h"
#include "ir/parse/parse_in.h"

typedef struct form_state {
    reader *r;
    read_op *s;
    const char *form; /* place in the form */
    bool in_group;    /* groups do not nest */
    u32 halves;       /* operands of the first half list */
} form_state;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Operand `pos` is at `ref`; positions may be filled out of order. */
static tm_status put_ref(form_state *f, u32 pos) {
    read_ref ref;
    TRY(read_ref_of(f->r, &ref));
    if (pos > UINT16_MAX)
        return read_fail(f->r, ref.at, TM1020);
    while (f->s->refs.count <= pos) {
        VEC_PUSH(f->r->scratch, &f->s->refs, (read_ref){0});
        VEC_PUSH(f->r->scratch, &f->s->types, NULL);
    }
    f->s->refs.at[pos] = ref;
    return 0;
}

static tm_status put_refs(form_state *f, u32 pos) {
    if (!read_peek(f->r, '%'))
        return 0;
    do
        TRY(put_ref(f, pos++));
    while (read_char(f->r, ','));
    return 0;
}

static tm_status put_type(form_state *f, u32 pos, const ir_type *t) {
    if (!t)
        return -1;
    if (pos < f->s->types.count)
        f->s->types.at[pos] = t;
    return 0;
}

static tm_status put_result(form_state *f, const ir_type *t) {
    if (!t)
        return -1;
    VEC_PUSH(f->r->scratch, &f->s->results, t);
    return 0;
}

static tm_status count_types(form_state *f, const char *at, u32 given, u32 wanted) {
    return given == wanted ? 0 : read_fail(f->r, at, TM1021, wanted, given);
}

/* Types of the operands from `pos` on. */
static tm_status put_types(form_state *f, u32 pos, bool parens) {
    type_list list = {0};
    read_space(f->r);
    const char *at = f->r->at;
    TRY(parens ? read_paren_types(f->r, &list) : read_types(f->r, &list));
    TRY(count_types(f, at, list.count + pos, f->s->types.count));
    for (u32 i = 0; i < list.count; i++)
        f->s->types.at[pos + i] = list.at[i];
    return 0;
}

static void put_attr(form_state *f, const char *name, u32 len, const ir_attr *value) {
    ir_named_attr a = {ir_intern(f->r->m, name, len), value};
    VEC_PUSH(f->r->scratch, &f->s->attrs, a);
}

static void take_attr_name(form_state *f, const char **name, u32 *len) {
    *name = f->form + 1; /* behind '{' */
    *len = (u32)strcspn(*name, "}");
    f->form = *name + *len + 1;
}

static const ir_type *enum_type(form_state *f, const char *name, u32 len) {
    bool predicate = len == 9 && memcmp(name, "predicate", 9) == 0;
    return ir_type_int(f->r->m, predicate ? 64 : 32);
}

static tm_status read_enum(form_state *f) {
    const char *name, *word;
    u32 name_len, len;
    take_attr_name(f, &name, &name_len);
    read_space(f->r);
    const char *at = f->r->at;
    if (!read_name_text(f->r, &word, &len))
        return read_expected(f->r, "a word");
    i64 value;
    if (!ir_word_value(name, name_len, f->s->code, word, len, &value))
        return read_fail(f->r, at, TM1022, (int)len, word, ir_words(name, name_len, f->s->code));
    if (!ir_word_elided(name, name_len, value))
        put_attr(f, name, name_len, ir_attr_int(f->r->m, enum_type(f, name, name_len), value));
    return 0;
}

/* local|global_read, all, none */
static tm_status read_flags(form_state *f) {
    const char *name, *word;
    u32 name_len, len;
    take_attr_name(f, &name, &name_len);
    i64 flags = 0;
    do {
        read_space(f->r);
        const char *at = f->r->at;
        i64 bit;
        if (!read_name_text(f->r, &word, &len))
            return read_expected(f->r, "a word");
        if (len == 3 && memcmp(word, "all", 3) == 0)
            flags |= 31;
        else if (ir_word_value(name, name_len, f->s->code, word, len, &bit))
            flags |= (i64)1 << bit;
        else if (len != 4 || memcmp(word, "none", 4) != 0)
            return read_fail(f->r, at, TM1022, (int)len, word, ir_words(name, name_len, f->s->code));
    } while (read_char(f->r, '|'));
    put_attr(f, name, name_len, ir_attr_i32(f->r->m, flags));
    return 0;
}

static tm_status read_string_or_symbol(form_state *f, char kind) {
    const char *name;
    u32 len;
    take_attr_name(f, &name, &len);
    if (!read_peek(f->r, kind == 'q' ? '"' : '@'))
        return read_expected(f->r, kind == 'q' ? "a string" : "a symbol");
    const ir_attr *a = read_attr(f->r, NULL);
    if (!a)
        return -1;
    put_attr(f, name, len, a);
    return 0;
}

/* overflow<nsw>, fastmath<fast>: kept as the attribute they stand for, unless it says nothing. */
static tm_status read_flag_set(form_state *f, const char *attr, const char *prefix) {
    text body = {0};
    part_list parts = {0};
    text_puts(&body, prefix);
    tm_status status = read_peek(f->r, '<') ? read_raw_body(f->r, &body, &parts)
                                            : read_expected(f->r, "'<'");
    if (status == 0 && !strstr(body.at, "<none>"))
        put_attr(f, attr, (u32)strlen(attr),
                 ir_attr_intern(f->r->m, &(ir_attr){.kind = IR_ATTR_OTHER, .text = body.at}));
    text_free(&body);
    return status;
}

static tm_status read_modifiers(form_state *f) {
    const char *word;
    u32 len;
    for (;;) {
        read_space(f->r);
        const char *at = f->r->at;
        i64 mode;
        if (!read_name_text(f->r, &word, &len))
            return 0;
        if (len == 8 && memcmp(word, "overflow", 8) == 0) {
            TRY(read_flag_set(f, "overflowFlags", "#arith.overflow"));
        } else if (len == 8 && memcmp(word, "fastmath", 8) == 0) {
            TRY(read_flag_set(f, "fastmath", "#arith.fastmath"));
        } else if (len == 5 && memcmp(word, "exact", 5) == 0) {
            put_attr(f, "isExact", 7, ir_attr_unit(f->r->m));
        } else if (len == 4 && memcmp(word, "nneg", 4) == 0) {
            put_attr(f, "nonNeg", 6, ir_attr_unit(f->r->m));
        } else if (ir_word_value("roundingmode", 12, f->s->code, word, len, &mode)) {
            put_attr(f, "roundingmode", 12, ir_attr_i32(f->r->m, mode));
        } else {
            f->r->at = at;
            return 0;
        }
    }
}

static tm_status read_select_types(form_state *f) {
    const ir_type *t = read_type(f->r);
    if (t && t->kind == IR_TENSOR && read_char(f->r, ',')) {
        TRY(put_type(f, 0, t));
        return put_result(f, read_type(f->r));
    }
    TRY(put_type(f, 0, ir_type_int(f->r->m, 1)));
    return put_result(f, t);
}

static tm_status read_function_types(form_state *f) {
    TRY(put_types(f, 0, true));
    if (!read_arrow(f->r))
        return read_expected(f->r, "'->'");
    return read_result_types(f->r, &f->s->results);
}

static void type_refs(form_state *f, u32 from, const ir_type *t) {
    for (u32 i = from; i < f->s->types.count; i++)
        f->s->types.at[i] = t;
}

static tm_status read_directive(form_state *f) {
    char c = *f->form++;
    if (is_digit(c))
        return put_ref(f, (u32)(c - '0'));
    switch (c) {
    case '*': return put_refs(f, (u32)(*f->form++ - '0'));
    case '<':
        TRY(put_refs(f, 1));
        f->halves = f->s->refs.count - 1;
        type_refs(f, 1, ir_type_int(f->r->m, 32));
        return 0;
    case '>': {
        read_space(f->r);
        const char *at = f->r->at;
        TRY(put_refs(f, 1 + f->halves));
        type_refs(f, 1 + f->halves, ir_type_int(f->r->m, 64));
        return count_types(f, at, f->s->refs.count - 1 - f->halves, f->halves);
    }
    case 'A': return read_peek(f->r, '{') ? read_dict(f->r, &f->s->attrs) : 0;
    case 'M': return read_modifiers(f);
    case 'S': return read_select_types(f);
    case 't': return put_type(f, (u32)(*f->form++ - '0'), read_type(f->r));
    case 'r': f->form++; return put_result(f, read_type(f->r));
    case 'T': return put_types(f, 0, false);
    case 'V': return put_types(f, 1, false);
    case 'R': return read_types(f->r, &f->s->results);
    case 'F': return read_function_types(f);
    case 'p': return put_type(f, 0, read_pointer_body(f->r));
    case 'd': return put_result(f, read_desc_body(f->r));
    case 'e': return read_enum(f);
    case 'f': return read_flags(f);
    case 'q':
    case 'y': return read_string_or_symbol(f, c);
    default: { /* 'u' */
        const char *name;
        u32 len;
        take_attr_name(f, &name, &len);
        put_attr(f, name, len, ir_attr_unit(f->r->m));
        return 0;
    }
    }
}

/* A word or a character of the form that stands for itself. */
static tm_status read_literal(form_state *f) {
    const char *from = f->form;
    while ((*f->form >= 'a' && *f->form <= 'z') || (*f->form >= 'A' && *f->form <= 'Z') ||
           *f->form == '_')
        f->form++;
    if (f->form == from) {
        if (from[0] == '-' && from[1] == '>') {
            f->form += 2;
            return read_arrow(f->r) ? 0 : read_expected(f->r, "'->'");
        }
        f->form++;
        return read_need(f->r, *from);
    }
    char word[32];
    u32 len = (u32)(f->form - from);
    memcpy(word, from, len);
    word[len] = 0;
    return read_word(f->r, word) ? 0 : read_expected(f->r, word);
}

/* Whether an optional group, whose first token is at the form's place, is in the text. */
static bool group_comes(form_state *f) {
    const char *p = f->form + (*f->form == ' ');
    if (*p == '$')
        return read_peek(f->r, '%');
    size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
    if (len == 0)
        return read_peek(f->r, *p);
    read_space(f->r);
    return strncmp(f->r->at, p, len) == 0;
}

static tm_status read_along(form_state *f) {
    while (*f->form) {
        char c = *f->form;
        if (c == ' ') {
            f->form++;
        } else if (c == '$') {
            f->form++;
            TRY(read_directive(f));
        } else if (c == '?') {
            f->form += 2;
            f->in_group = group_comes(f);
            if (!f->in_group) /* a group has no ')' but its own */
                f->form = strchr(f->form, ')') + 1;
        } else if (c == ')' && f->in_group) {
            f->in_group = false;
            f->form++;
        } else {
            TRY(read_literal(f));
        }
    }
    return 0;
}

static const ir_type *infer_from(form_state *f, char how, const ir_type *t) {
    ir_module *m = f->r->m;
    switch (how) {
    case 'm': return ir_type_with_elem(m, t, ir_type_int(m, 1));
    case 'p': return ir_elem(t)->kind == IR_PTR ? ir_type_with_elem(m, t, ir_elem(t)->elem) : NULL;
    case 'b': return ir_type_int(m, 1);
    case 'e': return ir_elem(t);
    case 'l': return ir_type_int(m, 64);
    case 'i': return ir_type_int(m, 32);
    default: return t;
    }
}

/* Fills in what the text does not say. */
static tm_status infer(form_state *f, const char *rules) {
    for (; *rules; rules += 3) {
        read_op *s = f->s;
        u32 source = (u32)(rules[2] - '0');
        const ir_type *t = rules[2] == 'r' ? (s->results.count ? s->results.at[0] : NULL)
                           : source < s->types.count ? s->types.at[source] : NULL;
        if (t || rules[1] == 'b' || rules[1] == 'i')
            t = infer_from(f, rules[1], t);
        if (!t && rules[0] != '*')
            return read_fail(f->r, s->at, TM1023);
        if (rules[0] == 'r') {
            TRY(put_result(f, t));
        } else if (rules[0] == '*') {
            for (u32 i = 0; i < s->types.count; i++)
                if (!s->types.at[i])
                    s->types.at[i] = t;
        } else {
            TRY(put_type(f, (u32)(rules[0] - '0'), t));
        }
    }
    return 0;
}

/* dot_scaled's two optional operands: close the gap, and keep who is there. */
static void note_segments(form_state *f) {
    read_op *s = f->s;
    i64 there[5];
    u32 n = 0;
    for (u32 i = 0; i < 5; i++) {
        there[i] = i < s->refs.count && s->refs.at[i].at;
        if (there[i]) {
            s->refs.at[n] = s->refs.at[i];
            s->types.at[n++] = s->types.at[i];
        }
    }
    s->refs.count = s->types.count = n;
    put_attr(f, "operandSegmentSizes", 19, ir_attr_ints(f->r->m, ir_type_int(f->r->m, 32), 5, there));
}

tm_status read_form(reader *r, read_op *s, ir_block *block) {
    const ir_form *form = ir_form_of(s->code);
    form_state f = {.r = r, .s = s, .form = form->text};
    TRY(read_along(&f));
    TRY(infer(&f, form->infer));
    if (s->code == IR_tt_dot_scaled)
        note_segments(&f);
    return read_build(r, s, block, 0);
}
