/* SPDX-License-Identifier: MIT */
/* Attributes. Numbers take the type that follows them, or the one the context knows; dense literals
 * are read after their type, which stands behind them. */
#include "ir/parse/parse_in.h"
#include "ir/text.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct number {
    const char *at;
    bool negative, is_float, hex;
    u64 magnitude; /* unless is_float */
    double value;  /* if is_float */
} number;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static u32 hex_of(char c) {
    return is_digit(c) ? (u32)(c - '0')
                       : c >= 'a' && c <= 'f' ? (u32)(c - 'a' + 10)
                                              : c >= 'A' && c <= 'F' ? (u32)(c - 'A' + 10) : 16;
}

static tm_status read_hex(reader *r, number *n) {
    n->hex = true;
    for (r->at += 2; hex_of(*r->at) < 16; r->at++) {
        if (n->magnitude >> 60)
            return read_fail(r, n->at, TM1008, "64 bits");
        n->magnitude = n->magnitude << 4 | hex_of(*r->at);
    }
    return 0;
}

static tm_status read_number(reader *r, number *n) {
    *n = (number){0};
    read_space(r);
    n->at = r->at;
    n->negative = *r->at == '-';
    const char *p = r->at + n->negative;
    if (!is_digit(*p))
        return read_expected(r, "a number");
    if (p[0] == '0' && p[1] == 'x' && hex_of(p[2]) < 16) {
        r->at = p;
        return read_hex(r, n);
    }
    const char *digits = p;
    while (is_digit(*p))
        p++;
    if (*p == '.') {
        for (p++; is_digit(*p);)
            p++;
        if (*p == 'e' || *p == 'E') {
            const char *e = p + 1 + (p[1] == '+' || p[1] == '-');
            if (is_digit(*e))
                for (p = e; is_digit(*p);)
                    p++;
        }
        n->is_float = true;
        n->value = strtod(n->at, NULL);
        r->at = p;
        return 0;
    }
    r->at = digits;
    if (!read_digits(r, &n->magnitude))
        return read_fail(r, n->at, TM1008, "64 bits");
    return 0;
}

/* The bits of a number in an element type. */
static tm_status number_bits(reader *r, const number *n, const ir_type *t, i64 *bits) {
    if (t->kind == IR_FLOAT) {
        if (n->hex && !n->negative) {
            if (t->width < 64 && n->magnitude >> t->width)
                return read_fail(r, n->at, TM1008, ir_float_name(t->float_kind));
            *bits = (i64)n->magnitude;
            return 0;
        }
        if (!n->is_float)
            return read_fail(r, n->at, TM1014);
        *bits = (i64)ir_float_encode(t->float_kind, n->value);
        return 0;
    }
    if ((t->kind != IR_INT && t->kind != IR_INDEX) || n->is_float)
        return read_fail(r, n->at, TM1014);
    u32 width = t->kind == IR_INDEX ? 64 : t->width;
    u64 most = width == 64 ? UINT64_MAX : (1ull << width) - 1, half = 1ull << (width - 1);
    if (n->negative ? n->magnitude > half || t->sign == 'u'
                    : n->magnitude > (t->sign == 's' || t->kind == IR_INDEX ? half - 1 : most)) {
        char name[24] = "index";
        if (t->kind == IR_INT)
            snprintf(name, sizeof name, "i%u", t->width);
        return read_fail(r, n->at, TM1008, name);
    }
    *bits = (i64)(n->negative ? 0 - n->magnitude : n->magnitude);
    return 0;
}

static const ir_attr *read_number_attr(reader *r, const ir_type *type) {
    number n;
    if (read_number(r, &n))
        return NULL;
    if (!type && read_char(r, ':') && !(type = read_type(r)))
        return NULL;
    if (!type)
        type = n.is_float ? ir_type_float(r->m, IR_F64) : ir_type_int(r->m, 64);
    i64 bits;
    if (number_bits(r, &n, type, &bits))
        return NULL;
    return type->kind == IR_FLOAT ? ir_attr_float(r->m, type, (u64)bits)
                                  : ir_attr_int(r->m, type, bits);
}

/* ---- Dense literals ------------------------------------------------------------------------------- */

typedef VEC(i64) bits_list;

static tm_status read_element(reader *r, const ir_type *elem, i64 *bits) {
    if (read_word(r, "true") || read_word(r, "false")) {
        if (!ir_is_int(elem, 1))
            return read_fail(r, r->at, TM1014);
        *bits = r->at[-2] == 'u';
        return 0;
    }
    number n;
    TRY(read_number(r, &n));
    return number_bits(r, &n, elem, bits);
}

static tm_status read_elements(reader *r, const ir_type *t, u32 dim, bits_list *list) {
    if (dim == t->rank) {
        i64 bits;
        TRY(read_element(r, t->elem, &bits));
        VEC_PUSH(r->scratch, list, ir_attr_int(r->m, t->elem, bits)->i);
        return 0;
    }
    const char *at = r->at;
    TRY(read_need(r, '['));
    for (i64 i = 0; i < t->shape[dim]; i++) {
        if (i && !read_char(r, ','))
            return read_fail(r, at, TM1019);
        TRY(read_elements(r, t, dim + 1, list));
    }
    return read_char(r, ']') ? 0 : read_fail(r, at, TM1019);
}

/* dense<"0x0123...">: the elements' bytes, little endian, in hex. */
static tm_status read_blob(reader *r, const ir_type *t, bits_list *list) {
    const char *s, *at = r->at;
    u32 len;
    TRY(read_string(r, &s, &len));
    u32 size = ir_type_bytes(t->elem);
    i64 numel = ir_numel(t);
    if (len < 2 || memcmp(s, "0x", 2) != 0 || t->elem->width < 8)
        return read_fail(r, at, TM1019);
    s += 2;
    len -= 2;
    if (len != 2 * size && (i64)len != 2 * size * numel)
        return read_fail(r, at, TM1019);
    for (u32 i = 0; i < len; i += 2 * size) {
        u64 bits = 0;
        for (u32 b = 0; b < size; b++) {
            u32 high = hex_of(s[i + 2 * b]), low = hex_of(s[i + 2 * b + 1]);
            if (high > 15 || low > 15)
                return read_fail(r, at, TM1019);
            bits |= (u64)(high << 4 | low) << (8 * b);
        }
        const ir_attr *norm = t->elem->kind == IR_FLOAT ? NULL : ir_attr_int(r->m, t->elem, (i64)bits);
        VEC_PUSH(r->scratch, list, norm ? norm->i : (i64)bits);
    }
    return 0;
}

/* Finds the '>' that closes a dense literal; at the end of the text stays there. */
static const char *skip_literal(const char *p) {
    for (bool quoted = false; *p && (quoted || *p != '>'); p++)
        quoted ^= *p == '"';
    return p;
}

static const ir_attr *read_dense(reader *r) {
    if (read_need(r, '<'))
        return NULL;
    read_space(r);
    const char *body = r->at;
    r->at = skip_literal(body);
    if (read_need(r, '>') || read_need(r, ':'))
        return NULL;
    const char *type_at = r->at;
    const ir_type *t = read_type(r);
    if (!t)
        return NULL;
    if ((t->kind != IR_TENSOR && t->kind != IR_VECTOR) ||
        (t->elem->kind != IR_INT && t->elem->kind != IR_FLOAT && t->elem->kind != IR_INDEX)) {
        read_fail(r, type_at, TM1009, "dense constants of this type");
        return NULL;
    }
    const char *after = r->at;
    bits_list list = {0};
    r->at = body;
    if (*body == '"') {
        if (read_blob(r, t, &list))
            return NULL;
    } else if (*body == '[') {
        if (read_elements(r, t, 0, &list))
            return NULL;
    } else {
        i64 bits = 0;
        if (read_element(r, t->elem, &bits))
            return NULL;
        VEC_PUSH(r->scratch, &list, t->elem->kind == IR_FLOAT
                                        ? bits
                                        : ir_attr_int(r->m, t->elem, bits)->i);
    }
    if (!read_peek(r, '>')) {
        read_expected(r, "'>'");
        return NULL;
    }
    r->at = after;
    bool splat = true;
    for (u32 i = 1; i < list.count && splat; i++)
        splat = list.at[i] == list.at[0];
    return ir_attr_intern(r->m, &(ir_attr){.kind = IR_ATTR_DENSE,
                                           .splat = splat,
                                           .type = t,
                                           .count = splat ? 1 : list.count,
                                           .ints = list.at});
}

/* array<i32: 1, 0> */
static const ir_attr *read_int_array(reader *r) {
    if (read_need(r, '<'))
        return NULL;
    const ir_type *elem = read_type(r);
    bits_list list = {0};
    if (!elem)
        return NULL;
    if (read_char(r, ':')) {
        do {
            i64 bits;
            if (read_element(r, elem, &bits))
                return NULL;
            VEC_PUSH(r->scratch, &list, bits);
        } while (read_char(r, ','));
    }
    return read_need(r, '>') ? NULL : ir_attr_ints(r->m, elem, list.count, list.at);
}

/* ---- Containers ------------------------------------------------------------------------------------ */

static const ir_attr *read_array(reader *r) {
    part_list list = {0};
    if (read_need(r, '['))
        return NULL;
    if (!read_char(r, ']')) {
        do {
            const ir_attr *a = read_attr(r, NULL);
            if (!a)
                return NULL;
            VEC_PUSH(r->scratch, &list, a);
        } while (read_char(r, ','));
        if (read_need(r, ']'))
            return NULL;
    }
    return ir_attr_intern(r->m,
                          &(ir_attr){.kind = IR_ATTR_ARRAY, .count = list.count, .list = list.at});
}

tm_status read_dict(reader *r, attr_list *list) {
    TRY(read_need(r, '{'));
    if (read_char(r, '}'))
        return 0;
    do {
        const char *name;
        u32 len;
        if (read_peek(r, '"')) {
            TRY(read_string(r, &name, &len));
        } else if (!read_name_text(r, &name, &len)) {
            return read_expected(r, "an attribute name");
        }
        if (len == 0)
            return read_expected(r, "an attribute name");
        ir_named_attr named = {ir_intern(r->m, name, len), NULL};
        named.value = read_char(r, '=') ? read_attr(r, NULL) : ir_attr_unit(r->m);
        if (!named.value)
            return -1;
        VEC_PUSH(r->scratch, list, named);
    } while (read_char(r, ','));
    return read_need(r, '}');
}

static const ir_attr *read_dict_attr(reader *r) {
    attr_list list = {0};
    if (read_dict(r, &list))
        return NULL;
    return ir_attr_intern(r->m,
                          &(ir_attr){.kind = IR_ATTR_DICT, .count = list.count, .named = list.at});
}

/* ---- Dialect attributes ------------------------------------------------------------------------- */

static bool closes(char open, char c) {
    return (open == '<' && c == '>') || (open == '(' && c == ')') || (open == '[' && c == ']') ||
           (open == '{' && c == '}');
}

/* An alias inside raw text: attributes become parts, types are written out. */
static tm_status raw_alias(reader *r, text *out, part_list *parts) {
    const char *at = r->at, *name;
    u32 len;
    r->at++;
    if (!read_suffix_text(r, &name, &len) || memchr(name, '.', len)) {
        text_add(out, at, (size_t)(r->at - at));
        return 0;
    }
    read_alias *a = read_find_alias(r, at, at, len + 1);
    if (!a || read_alias_use(r, a))
        return -1;
    if (a->type) {
        ir_print_type(out, r->m, a->type);
    } else if (a->attr) {
        text_putc(out, 1);
        VEC_PUSH(r->scratch, parts, a->attr);
    } else {
        return read_fail(r, at, TM1009, "locations inside dialect attributes");
    }
    return 0;
}

tm_status read_raw_body(reader *r, text *out, part_list *parts) {
    VEC(char) open = {0};
    const char *from = r->at;
    do {
        char c = *r->at;
        if (c == 0 || c == 1)
            return read_fail(r, from, TM1015);
        if (c == '"') {
            const char *s = r->at, *decoded;
            u32 len;
            TRY(read_string(r, &decoded, &len));
            text_add(out, s, (size_t)(r->at - s));
            continue;
        }
        if (c == '#' || c == '!') {
            TRY(raw_alias(r, out, parts));
            continue;
        }
        if (c == '-' && r->at[1] == '>') {
            text_putc(out, *r->at++);
        } else if (strchr("<([{", c)) {
            VEC_PUSH(r->scratch, &open, c);
        } else if (strchr(">)]}", c)) {
            if (!closes(VEC_POP(&open), c))
                return read_fail(r, r->at, TM1015);
        }
        text_putc(out, *r->at++);
    } while (open.count);
    return 0;
}

static const ir_attr *read_dialect_attr(reader *r) {
    const char *at = r->at++, *name;
    u32 len;
    if (!read_name_text(r, &name, &len)) {
        read_expected(r, "an attribute name after '#'");
        return NULL;
    }
    if (!memchr(name, '.', len)) {
        while (*r->at == '-') /* aliases may have dashes */
            r->at++;
        read_alias *a = read_find_alias(r, at, at, (u32)(r->at - at));
        if (!a || read_alias_use(r, a))
            return NULL;
        if (!a->attr)
            read_fail(r, at, TM1009, "locations as attributes");
        return a->attr;
    }
    text body = {0};
    part_list parts = {0};
    const ir_attr *made = NULL;
    text_add(&body, at, len + 1);
    if (*r->at != '<' || !read_raw_body(r, &body, &parts))
        made = ir_attr_intern(r->m, &(ir_attr){.kind = IR_ATTR_OTHER,
                                               .text = body.at,
                                               .count = parts.count,
                                               .list = parts.at});
    text_free(&body);
    return made;
}

static const ir_attr *read_symbol(reader *r) {
    const char *name;
    u32 len;
    r->at++;
    if (*r->at == '"') {
        if (read_string(r, &name, &len))
            return NULL;
    } else if (!read_name_text(r, &name, &len)) {
        read_expected(r, "a symbol name after '@'");
        return NULL;
    }
    if (r->at[0] == ':' && r->at[1] == ':') {
        read_fail(r, r->at, TM1009, "nested symbols");
        return NULL;
    }
    return ir_attr_symbol(r->m, ir_intern(r->m, name, len));
}

static const ir_attr *read_string_attr(reader *r) {
    const char *s;
    u32 len;
    return read_string(r, &s, &len) ? NULL : ir_attr_string(r->m, s, len);
}

static const ir_attr *read_attr_here(reader *r, const ir_type *type) {
    switch (*r->at) {
    case '"': return read_string_attr(r);
    case '@': return read_symbol(r);
    case '[': return read_array(r);
    case '{': return read_dict_attr(r);
    case '#': return read_dialect_attr(r);
    case '-': return read_number_attr(r, type);
    default: break;
    }
    if (is_digit(*r->at))
        return read_number_attr(r, type);
    if (read_word(r, "true"))
        return ir_attr_bool(r->m, true);
    if (read_word(r, "false"))
        return ir_attr_bool(r->m, false);
    if (read_word(r, "dense"))
        return read_dense(r);
    if (read_word(r, "array"))
        return read_int_array(r);
    if (read_word(r, "unit"))
        return ir_attr_unit(r->m);
    if (!strchr("!(tiusbfv", *r->at) || !*r->at) {
        read_expected(r, "an attribute");
        return NULL;
    }
    const ir_type *t = read_type(r);
    return t ? ir_attr_type(r->m, t) : NULL;
}

const ir_attr *read_attr(reader *r, const ir_type *type) {
    read_space(r);
    if (read_enter(r))
        return NULL;
    r->weight++;
    const ir_attr *a = read_attr_here(r, type);
    r->depth--;
    return a;
}
