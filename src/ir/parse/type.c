/* SPDX-License-Identifier: MIT */
/* Types: builtin ones, Triton's, ours, and any other dialect's as text. */
#include "ir/parse/parse_in.h"
#include "ir/text.h"

enum { MAX_RANK = 16 };
static const i64 MAX_NUMEL = (i64)1 << 31;

/* "4x8x"; ends behind the last x. */
tm_status read_dims(reader *r, dim_list *dims) {
    i64 numel = 1;
    for (;;) {
        read_space(r);
        const char *at = r->at;
        u64 size;
        if (*at == '?')
            return read_fail(r, at, TM1009, "dynamic shapes");
        if (!read_digits(r, &size))
            return 0;
        if (*r->at != 'x')
            return read_expected(r, "'x' between dimensions");
        r->at++;
        if (size == 0 || size > (u64)MAX_NUMEL || (numel *= (i64)size) > MAX_NUMEL)
            return read_fail(r, at, TM1009, "tensors of this size");
        if (dims->count == MAX_RANK)
            return read_fail(r, at, TM1009, "tensors of rank above 16");
        VEC_PUSH(r->scratch, dims, (i64)size);
    }
}

static const ir_type *fail_type(reader *r, const char *at, const char *what) {
    read_fail(r, at, TM1009, what);
    return NULL;
}

/* The layout of an encoding depends on the tensor's shape, so it is made here and remembered under
 * the tensor type with the encoding as text. */
static const ir_type *with_layout(reader *r, const char *at, const ir_type *t) {
    if (!t->encoding || t->encoding->kind != IR_ATTR_OTHER ||
        strncmp(t->encoding->text, "#ttg.linear<", 12) != 0)
        return t;
    void **known = map_put(r->layouts, MAP_KEY(t));
    if (!*known) {
        layout l;
        if (!read_attr_layout(t->encoding, t->rank, t->shape, &l)) {
            read_fail(r, at, TM1018);
            return NULL;
        }
        *known = (void *)(uintptr_t)ir_type_with_encoding(r->m, t, ir_attr_layout(r->m, &l));
    }
    return *known;
}

static const ir_type *read_tensor(reader *r, const char *at) {
    arena_mark mark = arena_save(r->scratch);
    dim_list dims = {0};
    if (read_need(r, '<') || read_dims(r, &dims))
        return NULL;
    read_space(r);
    const char *elem_at = r->at;
    const ir_type *elem = read_type(r);
    if (!elem)
        return NULL;
    if (elem->kind != IR_INT && elem->kind != IR_FLOAT && elem->kind != IR_PTR &&
        elem->kind != IR_INDEX)
        return fail_type(r, elem_at, "tensors of such elements");
    const ir_attr *encoding = NULL;
    if (read_char(r, ',') && !(encoding = read_attr(r, NULL)))
        return NULL;
    if (read_need(r, '>'))
        return NULL;
    const ir_type *t = ir_type_tensor(r->m, dims.count, dims.at, elem, encoding);
    arena_rewind(r->scratch, mark);
    return encoding ? with_layout(r, at, t) : t;
}

static const ir_type *read_vector(reader *r, const char *at) {
    dim_list dims = {0};
    if (read_need(r, '<') || read_dims(r, &dims))
        return NULL;
    const ir_type *elem = read_type(r);
    if (!elem || read_need(r, '>'))
        return NULL;
    if (dims.count != 1 || (elem->kind != IR_INT && elem->kind != IR_FLOAT && elem->kind != IR_PTR))
        return fail_type(r, at, "vectors other than of rank 1 with scalar elements");
    return ir_type_vector(r->m, dims.at[0], elem);
}

const ir_type *read_pointer_body(reader *r) {
    if (read_need(r, '<'))
        return NULL;
    read_space(r);
    const char *at = r->at;
    const ir_type *elem = read_type(r);
    u32 space = IR_SPACE_DEVICE;
    if (!elem)
        return NULL;
    if (elem->kind == IR_FUNC || elem->kind == IR_MATRIX || elem->kind == IR_VECTOR)
        return fail_type(r, at, "pointers to this type");
    if (read_char(r, ',')) {
        const char *name;
        u32 len;
        read_space(r);
        at = r->at;
        if (read_peek(r, '"')) {
            if (read_string(r, &name, &len))
                return NULL;
            if (len != 8 || memcmp(name, "constant", 8) != 0)
                return fail_type(r, at, "address spaces by a name other than \"constant\"");
            space = IR_SPACE_CONSTANT;
        } else if (read_u32(r, &space)) {
            return NULL;
        }
        if (space > 255)
            return fail_type(r, at, "address spaces above 255");
    }
    return read_need(r, '>') ? NULL : ir_type_ptr(r->m, elem, space);
}

const ir_type *read_desc_body(reader *r) {
    dim_list dims = {0};
    if (read_need(r, '<'))
        return NULL;
    bool old = read_word(r, "tensor"); /* <tensor<4xf32>>, as earlier versions print */
    if ((old && read_need(r, '<')) || read_dims(r, &dims))
        return NULL;
    ir_type t = {.kind = IR_TENSORDESC, .rank = dims.count, .shape = dims.at};
    t.elem = read_type(r);
    if (!t.elem || (read_char(r, ',') && !(t.encoding = read_attr(r, NULL))))
        return NULL;
    if ((old && read_need(r, '>')) || read_need(r, '>'))
        return NULL;
    return ir_type_intern(r->m, &t);
}

/* !ttg.memdesc<4x8xf32, #shared, #smem, mutable>: shape and element as such, the rest as text. */
static const ir_type *read_memdesc(reader *r) {
    dim_list dims = {0};
    if (read_need(r, '<') || read_dims(r, &dims))
        return NULL;
    ir_type t = {.kind = IR_MEMDESC, .rank = dims.count, .shape = dims.at};
    t.elem = read_type(r);
    if (!t.elem || (read_char(r, ',') && !(t.encoding = read_attr(r, NULL))))
        return NULL;
    text rest = {0};
    const ir_type *made = NULL;
    while (read_char(r, ',')) {
        text_puts(&rest, ", ");
        if (read_peek(r, '#')) {
            const ir_attr *space = read_attr(r, NULL);
            if (!space)
                goto out;
            ir_print_attr(&rest, r->m, space);
            continue;
        }
        const char *from = r->at;
        while (*r->at && *r->at != ',' && *r->at != '>' && *r->at != '\n')
            r->at++;
        text_add(&rest, from, (size_t)(r->at - from));
    }
    if (read_need(r, '>'))
        goto out;
    t.text = rest.at ? rest.at : "";
    made = ir_type_intern(r->m, &t);
out:
    text_free(&rest);
    return made;
}

static bool is_name(const char *s, u32 len, const char *name) {
    return strlen(name) == len && memcmp(s, name, len) == 0;
}

static const ir_type *read_dialect_type(reader *r, const char *at) {
    const char *name;
    u32 len;
    r->at++;
    if (!read_name_text(r, &name, &len)) {
        read_expected(r, "a type name after '!'");
        return NULL;
    }
    if (is_name(name, len, "tt.ptr"))
        return read_pointer_body(r);
    if (is_name(name, len, "tt.tensordesc"))
        return read_desc_body(r);
    if (is_name(name, len, "ttg.memdesc"))
        return read_memdesc(r);
    if (is_name(name, len, "tm.matrix")) {
        if (read_need(r, '<'))
            return NULL;
        const ir_type *elem = read_type(r);
        return !elem || read_need(r, '>') ? NULL : ir_type_matrix(r->m, elem);
    }
    if (!memchr(name, '.', len)) {
        read_alias *a = read_find_alias(r, at, at, len + 1);
        return !a || read_alias_use(r, a) ? NULL : a->type;
    }
    text body = {0};
    const ir_type *t = NULL;
    part_list parts = {0};
    text_putc(&body, '!');
    text_add(&body, name, len);
    if (*r->at == '<' && read_raw_body(r, &body, &parts))
        goto out;
    if (parts.count) {
        fail_type(r, at, "attribute aliases inside this type");
        goto out;
    }
    t = ir_type_intern(r->m, &(ir_type){.kind = IR_OTHER, .text = body.at});
out:
    text_free(&body);
    return t;
}

static const ir_type *read_func_type(reader *r) {
    type_list types = {0};
    if (read_paren_types(r, &types))
        return NULL;
    u32 n = types.count;
    if (!read_arrow(r)) {
        read_expected(r, "'->'");
        return NULL;
    }
    if (read_result_types(r, &types))
        return NULL;
    const ir_type **results = types.count > n ? types.at + n : NULL;
    return ir_type_func(r->m, n, types.at, types.count - n, results);
}

/* i32, si8, ui64 */
static const ir_type *int_named(reader *r, const char *at, const char *s, u32 len) {
    u8 sign = *s == 'i' ? 0 : (u8)*s;
    u32 skip = sign ? 2 : 1, width = 0;
    for (u32 i = skip; i < len; i++)
        width = width > 999 ? width : width * 10 + (u32)(s[i] - '0');
    if (width == 0 || width > 64)
        return fail_type(r, at, "integers of this width");
    return sign ? ir_type_int_sign(r->m, width, sign) : ir_type_int(r->m, width);
}

static bool names_int(const char *s, u32 len) {
    u32 skip = *s == 'i' ? 1 : len > 1 && (*s == 's' || *s == 'u') && s[1] == 'i' ? 2 : 0;
    if (skip == 0 || len == skip)
        return false;
    for (u32 i = skip; i < len; i++)
        if (s[i] < '0' || s[i] > '9')
            return false;
    return true;
}

static const ir_type *read_word_type(reader *r) {
    const char *at = r->at, *name;
    u32 len;
    if (!read_name_text(r, &name, &len)) {
        read_expected(r, "a type");
        return NULL;
    }
    if (is_name(name, len, "tensor"))
        return read_tensor(r, at);
    if (names_int(name, len))
        return int_named(r, at, name, len);
    for (u32 kind = IR_F16; kind <= IR_F8E4M3B15; kind++)
        if (is_name(name, len, ir_float_name(kind)))
            return ir_type_float(r->m, kind);
    if (is_name(name, len, "index"))
        return ir_type_index(r->m);
    if (is_name(name, len, "vector"))
        return read_vector(r, at);
    r->at = at;
    read_expected(r, "a type");
    return NULL;
}

const ir_type *read_type(reader *r) {
    read_space(r);
    if (read_enter(r))
        return NULL;
    r->weight++;
    const ir_type *t = *r->at == '!'   ? read_dialect_type(r, r->at)
                       : *r->at == '(' ? read_func_type(r)
                                       : read_word_type(r);
    r->depth--;
    return t;
}

tm_status read_types(reader *r, type_list *types) {
    do {
        const ir_type *t = read_type(r);
        if (!t)
            return -1;
        VEC_PUSH(r->scratch, types, t);
    } while (read_char(r, ','));
    return 0;
}

tm_status read_paren_types(reader *r, type_list *types) {
    TRY(read_need(r, '('));
    if (read_char(r, ')'))
        return 0;
    TRY(read_types(r, types));
    return read_need(r, ')');
}

tm_status read_result_types(reader *r, type_list *types) {
    if (read_peek(r, '('))
        return read_paren_types(r, types);
    const ir_type *t = read_type(r);
    if (!t)
        return -1;
    VEC_PUSH(r->scratch, types, t);
    return 0;
}
