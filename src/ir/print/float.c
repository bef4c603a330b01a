/* SPDX-License-Identifier: MIT */
/* Floats as MLIR prints them: six digits with an exponent if that reads back as the same value, else all
 * digits, else (infinities, NaNs, values whose digits have no point) the bits in hex. The digits follow
 * LLVM's APFloat to the letter, its early truncation included, so the arithmetic is on exact integers. */
#include "ir/print/print_in.h"
#include <math.h>
#include <stdlib.h>

enum { LIMBS = 96 }; /* 53 bits * 5^1074 takes 2547 bits */

typedef struct big {
    u32 limb[LIMBS];
    u32 n; /* limbs in use */
} big;

static void big_mul(big *b, u32 factor) {
    u64 carry = 0;
    for (u32 i = 0; i < b->n; i++) {
        carry += (u64)b->limb[i] * factor;
        b->limb[i] = (u32)carry;
        carry >>= 32;
    }
    if (carry)
        b->limb[b->n++] = (u32)carry;
}

static u32 big_div10(big *b) {
    u64 rest = 0;
    for (u32 i = b->n; i-- > 0;) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (u32)(rest / 10);
        rest %= 10;
    }
    while (b->n && b->limb[b->n - 1] == 0)
        b->n--;
    return (u32)rest;
}

static u32 big_bits(const big *b) { return b->n ? 32 * b->n - (u32)__builtin_clz(b->limb[b->n - 1]) : 0; }

/* Decimal digits, most significant last, of significand * 2^exponent, and their power of ten. */
typedef struct digits {
    char at[32 * LIMBS / 3 + 8];
    u32 n;
    int exponent;
} digits;

static void make_digits(digits *d, u64 significand, int exponent, u32 precision) {
    big b = {.n = 0};
    int twos = __builtin_ctzll(significand);
    exponent += twos;
    significand >>= twos;
    for (; significand; significand >>= 32)
        b.limb[b.n++] = (u32)significand;
    for (int e = exponent; e > 0; e -= MIN(e, 24))
        big_mul(&b, 1u << MIN(e, 24));
    for (int e = exponent; e < 0; e++)
        big_mul(&b, 5);
    d->exponent = MIN(exponent, 0);
    d->n = 0;
    /* Drop digits beyond the precision before looking at them. */
    u32 bits = big_bits(&b), wanted = (precision * 196 + 58) / 59;
    u32 drop = bits > wanted ? (bits - wanted) * 59 / 196 : 0;
    d->exponent += (int)drop;
    while (drop--)
        big_div10(&b);
    while (b.n) {
        u32 digit = big_div10(&b);
        if (d->n == 0 && digit == 0)
            d->exponent++;
        else
            d->at[d->n++] = (char)('0' + digit);
    }
}

/* Rounds half up to `precision` digits, and drops zeros at the end. */
static void round_digits(digits *d, u32 precision) {
    if (d->n <= precision)
        return;
    u32 first = d->n - precision;
    if (d->at[first - 1] < '5') {
        while (first < d->n && d->at[first] == '0')
            first++;
    } else {
        u32 i = first;
        for (; i < d->n && d->at[i] == '9'; i++)
            first++;
        if (i < d->n)
            d->at[i]++;
    }
    d->exponent += (int)first;
    if (first == d->n) {
        d->n = 1;
        d->at[0] = '1';
        return;
    }
    memmove(d->at, d->at + first, d->n - first);
    d->n -= first;
}

static void put_digits(text *out, const digits *d, u32 from, u32 count) {
    for (u32 i = from; i < from + count; i++)
        text_putc(out, d->at[d->n - 1 - i]);
}

static void put_scientific(text *out, const digits *d, u32 pad_to, char e) {
    int exponent = d->exponent + (int)d->n - 1;
    put_digits(out, d, 0, 1);
    text_putc(out, '.');
    if (d->n == 1 && !pad_to)
        text_putc(out, '0');
    put_digits(out, d, 1, d->n - 1);
    for (u32 i = d->n - 1; i < pad_to; i++)
        text_putc(out, '0');
    text_putc(out, e);
    text_putc(out, exponent < 0 ? '-' : '+');
    if (pad_to && abs(exponent) < 10)
        text_putc(out, '0');
    text_int(out, abs(exponent));
}

/* All digits; scientific only where the point would be far away. */
static void put_plain(text *out, const digits *d, u32 precision) {
    enum { PADDING = 3 };
    int top = d->exponent + (int)d->n - 1;
    bool scientific = d->exponent >= 0
                          ? d->exponent > PADDING || d->n + (u32)d->exponent > precision
                          : top < 0 && -top > PADDING;
    if (scientific) {
        put_scientific(out, d, 0, 'E');
        return;
    }
    if (d->exponent >= 0) {
        put_digits(out, d, 0, d->n);
        for (int i = 0; i < d->exponent; i++)
            text_putc(out, '0');
        return;
    }
    int whole = d->exponent + (int)d->n;
    if (whole > 0) {
        put_digits(out, d, 0, (u32)whole);
        text_putc(out, '.');
        put_digits(out, d, (u32)whole, d->n - (u32)whole);
        return;
    }
    text_puts(out, "0.");
    for (int i = whole; i < 0; i++)
        text_putc(out, '0');
    put_digits(out, d, 0, d->n);
}

static u32 significand_bits(u32 kind) { /* with the hidden one */
    switch (kind) {
    case IR_F16: return 11;
    case IR_BF16: return 8;
    case IR_F32: return 24;
    case IR_F64: return 53;
    case IR_F8E5M2:
    case IR_F8E5M2FNUZ: return 3;
    default: return 4;
    }
}

void print_float(text *out, u32 kind, u64 bits, bool *hex) {
    *hex = false;
    if (!ir_float_is_special(kind, bits)) {
        double value = ir_float_decode(kind, bits);
        size_t start = out->len;
        if (signbit(value))
            text_putc(out, '-');
        if (value == 0) {
            text_puts(out, "0.000000e+00");
            return;
        }
        int exponent;
        u64 significand = (u64)ldexp(frexp(fabs(value), &exponent), 53);
        digits d;
        make_digits(&d, significand, exponent - 53, 6);
        round_digits(&d, 6);
        size_t number = out->len;
        put_scientific(out, &d, 6, 'e');
        if (ir_float_encode(kind, strtod(out->at + start, NULL)) == bits)
            return;
        out->len = number;
        u32 precision = 2 + significand_bits(kind) * 59 / 196;
        make_digits(&d, significand, exponent - 53, precision);
        round_digits(&d, precision);
        put_plain(out, &d, precision);
        if (memchr(out->at + start, '.', out->len - start))
            return;
        out->len = start;
        out->at[start] = 0;
    }
    *hex = true;
    text_printf(out, "0x%llX", (unsigned long long)bits);
}
