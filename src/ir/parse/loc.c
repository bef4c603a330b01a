/* SPDX-License-Identifier: MIT */
/* Locations, aliases, and layouts in text.
 * Upstream's printer defines most aliases behind the module, so definitions are found before reading
 * starts (every line that begins with '#' or '!') and read when first used. */
#include "ir/parse/parse_in.h"

/* ---- Aliases --------------------------------------------------------------------------------------- */

read_alias *read_find_alias(reader *r, const char *at, const char *name, u32 len) {
    void **found = strmap_get(r->aliases, name, len);
    if (found)
        return *found;
    read_fail(r, at, TM1007, (int)len, name);
    return NULL;
}

static tm_status read_definition(reader *r, read_alias *a) {
    TRY(read_enter(r));
    if (a->name[0] == '!')
        a->type = read_type(r);
    else if (read_peek_word(r, "loc"))
        a->loc = read_loc(r);
    else
        a->attr = read_attr(r, NULL);
    r->depth--;
    return a->type || a->loc || a->attr ? 0 : -1;
}

tm_status read_alias_use(reader *r, read_alias *a) {
    if (a->state == ALIAS_BUSY)
        return read_fail(r, a->at, TM1016, (int)a->len, a->name);
    if (a->state == ALIAS_UNREAD) {
        const char *back = r->at;
        u32 weight = r->weight;
        a->state = ALIAS_BUSY;
        r->at = a->at;
        TRY(read_definition(r, a));
        a->after = r->at;
        a->weight = r->weight - weight;
        r->weight = weight;
        r->at = back;
        a->state = ALIAS_READ;
        if (a->loc && !a->loc->alias) /* printing does not need it: it is for people */
            ((ir_loc *)(uintptr_t)a->loc)->alias = ir_intern(r->m, a->name, a->len);
        if (a->weight > READ_MAX_ALIAS_WEIGHT)
            return read_fail(r, a->at, TM1017, (int)a->len, a->name);
    }
    r->weight += a->weight;
    return 0;
}

/* ---- Locations ------------------------------------------------------------------------------------- */

static const ir_loc *read_loc_value(reader *r);

static const ir_loc *intern_loc(reader *r, const char *at, const ir_loc *l) {
    const ir_loc *made = ir_loc_intern(r->m, l);
    if (made->depth <= READ_MAX_LOC_DEPTH)
        return made;
    read_fail(r, at, TM1006, (int)READ_MAX_LOC_DEPTH);
    return NULL;
}

static tm_status skip_range(reader *r) { /* to 3:4, or to :4: only the start is kept */
    u32 n;
    if (!read_word(r, "to"))
        return 0;
    if (!read_peek(r, ':'))
        TRY(read_u32(r, &n));
    TRY(read_need(r, ':'));
    return read_u32(r, &n);
}

static const ir_loc *read_file_or_name(reader *r) {
    const char *s, *at = r->at;
    u32 len;
    if (read_string(r, &s, &len))
        return NULL;
    ir_loc l = {.kind = IR_LOC_NAME, .name = ir_intern(r->m, s, len)};
    if (read_char(r, ':')) {
        l.kind = IR_LOC_FILE;
        if (read_u32(r, &l.line) || read_need(r, ':') || read_u32(r, &l.column) || skip_range(r))
            return NULL;
    } else if (read_char(r, '(')) {
        l.a = read_loc_value(r);
        if (!l.a || read_need(r, ')'))
            return NULL;
    } else {
        l.a = ir_loc_unknown(r->m);
    }
    return intern_loc(r, at, &l);
}

static const ir_loc *read_callsite(reader *r) {
    const char *at = r->at;
    ir_loc l = {.kind = IR_LOC_CALL};
    if (read_need(r, '(') || !(l.a = read_loc_value(r)))
        return NULL;
    if (!read_word(r, "at")) {
        read_expected(r, "'at'");
        return NULL;
    }
    if (!(l.b = read_loc_value(r)) || read_need(r, ')'))
        return NULL;
    return intern_loc(r, at, &l);
}

static const ir_loc *read_fused(reader *r) {
    const char *at = r->at;
    ir_loc l = {.kind = IR_LOC_FUSED};
    text meta = {0};
    part_list parts = {0};
    VEC(const ir_loc *) list = {0};
    const ir_loc *made = NULL;
    if (read_peek(r, '<')) {
        if (read_raw_body(r, &meta, &parts))
            goto out;
        if (parts.count) {
            read_fail(r, at, TM1009, "attribute aliases inside locations");
            goto out;
        }
        l.text = meta.at;
    }
    if (read_need(r, '['))
        goto out;
    do {
        const ir_loc *one = read_loc_value(r);
        if (!one)
            goto out;
        VEC_PUSH(r->keep, &list, one);
    } while (read_char(r, ','));
    if (read_need(r, ']'))
        goto out;
    l.list = list.at;
    l.count = list.count;
    made = intern_loc(r, at, &l);
out:
    text_free(&meta);
    return made;
}

static const ir_loc *read_loc_alias(reader *r) {
    const char *at = r->at++, *name;
    u32 len;
    /* loc12: not read_suffix_text, which would take the digits of "1" alone */
    if (!read_name_text(r, &name, &len)) {
        read_expected(r, "an alias name");
        return NULL;
    }
    read_alias *a = read_find_alias(r, at, at, len + 1);
    if (!a || read_alias_use(r, a))
        return NULL;
    if (!a->loc)
        read_fail(r, at, TM1001, "a location", 20, "another kind of name");
    return a->loc;
}

static const ir_loc *read_loc_here(reader *r) {
    if (*r->at == '#')
        return read_loc_alias(r);
    if (*r->at == '"')
        return read_file_or_name(r);
    if (read_word(r, "callsite"))
        return read_callsite(r);
    if (read_word(r, "fused"))
        return read_fused(r);
    if (read_word(r, "unknown"))
        return ir_loc_unknown(r->m);
    if (read_peek_word(r, "loc"))
        return read_loc(r);
    read_expected(r, "a location");
    return NULL;
}

static const ir_loc *read_loc_value(reader *r) {
    read_space(r);
    if (read_enter(r))
        return NULL;
    const ir_loc *l = read_loc_here(r);
    r->depth--;
    return l;
}

const ir_loc *read_loc(reader *r) {
    read_word(r, "loc");
    if (read_need(r, '('))
        return NULL;
    const ir_loc *l = read_loc_value(r);
    return !l || read_need(r, ')') ? NULL : l;
}

/* loc(...) if there; otherwise the place in the text itself (or, without `otherwise`, unknown). */
tm_status read_optional_loc(reader *r, const ir_loc **loc, const char *otherwise) {
    read_space(r);
    if (r->at[0] == 'l' && read_peek_word(r, "loc")) {
        *loc = read_loc(r);
        return *loc ? 0 : -1;
    }
    if (!otherwise) {
        *loc = ir_loc_unknown(r->m);
        return 0;
    }
    src_loc place = read_place(r, otherwise);
    *loc = ir_loc_file(r->m, place.file, place.line, place.column);
    return 0;
}

/* ---- Layouts --------------------------------------------------------------------------------------- */

static const char *skip_spaces(const char *p) {
    while (*p == ' ' || *p == '\n')
        p++;
    return p;
}

static bool take(const char **p, char c) {
    *p = skip_spaces(*p);
    if (**p != c)
        return false;
    ++*p;
    return true;
}

/* [[1, 0], [2, 0]] into flat-index bits. */
static bool take_bases(const char **p, layout *l, u32 in) {
    if (!take(p, '['))
        return false;
    while (take(p, '[')) {
        if (l->in_bits[in] == GF2_MAX)
            return false;
        u32 flat = 0;
        for (u32 d = 0; d < l->rank; d++) {
            if (d && !take(p, ','))
                return false;
            *p = skip_spaces(*p);
            u32 x = 0;
            const char *digits = *p;
            for (; **p >= '0' && **p <= '9' && x <= 1u << 24; ++*p)
                x = x * 10 + (u32)(**p - '0');
            if (*p == digits || x >> l->dim_bits[d])
                return false;
            flat |= x << layout_dim_shift(l, d);
        }
        if (!take(p, ']'))
            return false;
        l->base[in][l->in_bits[in]++] = flat;
        take(p, ',');
    }
    return take(p, ']');
}

bool read_attr_layout(const ir_attr *a, u32 rank, const i64 *shape, layout *out) {
    static const char *const names[] = {"register", "lane", "warp"};
    u32 bits = 0;
    if (rank > LAYOUT_MAX_RANK)
        return false;
    *out = (layout){.rank = (u8)rank};
    for (u32 d = 0; d < rank; d++) {
        if (!is_pow2((u64)shape[d]))
            return false;
        out->dim_bits[d] = (u8)log2_u64((u64)shape[d]);
        bits += out->dim_bits[d];
    }
    const char *p = a->text + strlen("#ttg.linear<");
    if (bits > LAYOUT_MAX_BITS || !take(&p, '{'))
        return false;
    for (u32 in = 0; in < LAYOUT_INS; in++) {
        p = skip_spaces(p);
        if (strncmp(p, names[in], strlen(names[in])) != 0)
            return false;
        p += strlen(names[in]);
        if (!take(&p, '=') || !take_bases(&p, out, in) || !take(&p, ','))
            return false;
    }
    p = skip_spaces(p);
    if (strncmp(p, "block", 5) != 0)
        return false;
    p += 5;
    return take(&p, '=') && take(&p, '[') && take(&p, ']') && take(&p, '}') && take(&p, '>');
}
