/* SPDX-License-Identifier: MIT */
/* Characters and tokens of MLIR's text. The text is a NUL-terminated copy, so that looking one
 * character ahead needs no bounds check; a NUL inside the text ends it like its end does. */
#include "ir/parse/parse_in.h"
#include <stdio.h>

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool in_name(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }

src_loc read_place(reader *r, const char *at) {
    if (at < r->line_start) {
        r->line_start = r->start;
        r->line = 1;
    }
    for (const char *nl; (nl = memchr(r->line_start, '\n', (size_t)(at - r->line_start)));) {
        r->line_start = nl + 1;
        r->line++;
    }
    return (src_loc){
        .file = r->file, .line = r->line, .column = (u32)(at - r->line_start) + 1};
}

tm_status read_fail(reader *r, const char *at, enum diag_code code, ...) {
    src_loc place = read_place(r, at);
    place.file = arena_str(r->ctx->arena, place.file, strlen(place.file));
    va_list args;
    va_start(args, code);
    diag_at_v(r->ctx, &place, code, args);
    va_end(args);
    return -1;
}

tm_status read_expected(reader *r, const char *what) {
    read_space(r);
    const char *at = r->at;
    if (at >= r->end)
        return read_fail(r, at, TM1001, what, 12, "end of input");
    int len = 1;
    while (in_name(at[0]) && len < 40 && in_name(at[len]))
        len++;
    if ((u8)*at < 32 || (u8)*at > 126)
        return read_fail(r, at, TM1001, what, 16, "an odd character");
    char found[48];
    snprintf(found, sizeof found, "'%.*s'", len, at);
    return read_fail(r, at, TM1001, what, (int)strlen(found), found);
}

tm_status read_enter(reader *r) {
    if (++r->depth > READ_MAX_DEPTH)
        return read_fail(r, r->at, TM1006, (int)READ_MAX_DEPTH);
    return 0;
}

void read_space(reader *r) {
    const char *p = r->at;
    for (;;) {
        while (is_space(*p))
            p++;
        if (p[0] != '/' || p[1] != '/')
            break;
        while (*p && *p != '\n')
            p++;
    }
    r->at = p;
}

bool read_peek(reader *r, char c) {
    if (is_space(*r->at) || *r->at == '/')
        read_space(r);
    return *r->at == c && r->at < r->end;
}

bool read_char(reader *r, char c) {
    if (!read_peek(r, c))
        return false;
    r->at++;
    return true;
}

bool read_arrow(reader *r) {
    if (!read_peek(r, '-') || r->at[1] != '>')
        return false;
    r->at += 2;
    return true;
}

tm_status read_need(reader *r, char c) {
    if (read_char(r, c))
        return 0;
    return read_expected(r, (char[]){'\'', c, '\'', 0});
}

bool read_peek_word(reader *r, const char *word) {
    read_space(r);
    size_t len = strlen(word);
    return strncmp(r->at, word, len) == 0 && !in_name(r->at[len]);
}

bool read_word(reader *r, const char *word) {
    if (!read_peek_word(r, word))
        return false;
    r->at += strlen(word);
    return true;
}

bool read_name_text(reader *r, const char **out, u32 *len) {
    read_space(r);
    if (!is_letter(*r->at))
        return false;
    const char *p = r->at;
    while (in_name(*p))
        p++;
    *out = r->at;
    *len = (u32)(p - r->at);
    r->at = p;
    return true;
}

bool read_suffix_text(reader *r, const char **out, u32 *len) {
    const char *p = r->at;
    if (is_digit(*p))
        while (is_digit(*p))
            p++;
    else
        while (in_name(*p) || *p == '-')
            p++;
    *out = r->at;
    *len = (u32)(p - r->at);
    r->at = p;
    return *len > 0;
}

static int hex_digit(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One escape behind a backslash, or -1. */
static int escape(const char **at) {
    const char *p = *at;
    static const char plain[] = "\"\\nt", meaning[] = "\"\\\n\t";
    const char *found = *p ? strchr(plain, *p) : NULL;
    if (found) {
        *at = p + 1;
        return meaning[found - plain];
    }
    int high = hex_digit(p[0]), low = high < 0 ? -1 : hex_digit(p[1]);
    *at = p + 2;
    return low < 0 ? -1 : high << 4 | low;
}

tm_status read_string(reader *r, const char **out, u32 *len) {
    if (!read_peek(r, '"'))
        return read_expected(r, "a string");
    const char *open = r->at++;
    const char *p = r->at;
    while (*p != '"' && *p != '\\' && *p != '\n' && *p)
        p++;
    if (*p == '"') { /* nothing to decode */
        *out = r->at;
        *len = (u32)(p - r->at);
        r->at = p + 1;
        return 0;
    }
    r->text.count = 0;
    for (p = r->at; *p != '"';) {
        if (*p == 0 || *p == '\n')
            return read_fail(r, open, TM1012);
        const char *at = p;
        int c = (u8)*p++;
        if (c == '\\' && (c = escape(&p)) < 0)
            return read_fail(r, at, TM1013);
        VEC_PUSH(r->keep, &r->text, (char)c);
    }
    VEC_PUSH(r->keep, &r->text, 0);
    *out = r->text.at;
    *len = r->text.count - 1;
    r->at = p + 1;
    return 0;
}

bool read_digits(reader *r, u64 *value) {
    read_space(r);
    const char *p = r->at;
    if (!is_digit(*p))
        return false;
    u64 v = 0;
    for (; is_digit(*p); p++) {
        u64 digit = (u64)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    r->at = p;
    *value = v;
    return true;
}

tm_status read_u32(reader *r, u32 *value) {
    u64 v;
    if (!read_digits(r, &v) || v > UINT32_MAX)
        return read_expected(r, "a number");
    *value = (u32)v;
    return 0;
}
