/* SPDX-License-Identifier: MIT */
/* Encodings of the IR's float types. One table row describes a format: width, fraction bits, bias and
 * what its highest codes mean; encode and decode work from the row for all of them. Doubles are the
 * common currency: every format embeds in them exactly. */
#include "ir/format.h"
#include <math.h>

enum special {
    IEEE,    /* top exponent: infinity and NaNs */
    FN,      /* no infinity; all ones is NaN */
    FNUZ,    /* no infinity, no -0; NaN is the sign bit alone */
};

typedef struct format {
    const char *name;
    u8 width, fraction;
    i16 bias;
    u8 special;
} format;

static const format formats[] = {
    [IR_F16] = {"f16", 16, 10, 15, IEEE},
    [IR_BF16] = {"bf16", 16, 7, 127, IEEE},
    [IR_F32] = {"f32", 32, 23, 127, IEEE},
    [IR_F64] = {"f64", 64, 52, 1023, IEEE},
    [IR_F8E5M2] = {"f8E5M2", 8, 2, 15, IEEE},
    [IR_F8E4M3FN] = {"f8E4M3FN", 8, 3, 7, FN},
    [IR_F8E5M2FNUZ] = {"f8E5M2FNUZ", 8, 2, 16, FNUZ},
    [IR_F8E4M3FNUZ] = {"f8E4M3FNUZ", 8, 3, 8, FNUZ},
    [IR_F8E4M3B15] = {"f8E4M3B15", 8, 3, 15, FN},
};

u32 ir_float_width(u32 kind) { return formats[kind].width; }
const char *ir_float_name(u32 kind) { return formats[kind].name; }

static u64 mask_of(u32 bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

bool ir_float_is_special(u32 kind, u64 bits) {
    const format *f = &formats[kind];
    u64 magnitude = bits & mask_of(f->width - 1u), sign = 1ull << (f->width - 1);
    switch (f->special) {
    case IEEE: return magnitude >> f->fraction == mask_of(f->width - 1u - f->fraction);
    case FN: return magnitude == mask_of(f->width - 1u);
    default: return bits == sign;
    }
}

double ir_float_decode(u32 kind, u64 bits) {
    const format *f = &formats[kind];
    if (kind == IR_F64) {
        double d;
        memcpy(&d, &bits, 8);
        return d;
    }
    u64 fraction = bits & mask_of(f->fraction);
    int exponent = (int)((bits & mask_of(f->width - 1u)) >> f->fraction);
    bool negative = bits >> (f->width - 1) & 1;
    double v;
    if (ir_float_is_special(kind, bits))
        v = f->special == IEEE && fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        v = ldexp((double)fraction, 1 - f->bias - f->fraction);
    else
        v = ldexp((double)(fraction | 1ull << f->fraction), exponent - f->bias - f->fraction);
    return negative ? -v : v;
}

static u64 special_bits(const format *f, bool negative, bool nan) {
    u64 sign = (u64)negative << (f->width - 1);
    u64 top = mask_of(f->width - 1u - f->fraction) << f->fraction;
    switch (f->special) {
    case IEEE: return sign | top | (nan ? 1ull << (f->fraction - 1) : 0);
    case FN: return sign | mask_of(f->width - 1u);
    default: return 1ull << (f->width - 1);
    }
}

u64 ir_float_encode(u32 kind, double value) {
    const format *f = &formats[kind];
    u64 bits;
    memcpy(&bits, &value, 8);
    if (kind == IR_F64)
        return bits;
    bool negative = bits >> 63;
    if (isnan(value) || isinf(value))
        return special_bits(f, negative, isnan(value));
    int exponent;
    double m = frexp(fabs(value), &exponent); /* value = m * 2^exponent, m in [0.5, 1) */
    int lowest = 1 - f->bias;                 /* exponent of the smallest normal */
    int unit = MAX(exponent - 1, lowest) - f->fraction;
    /* nearbyint rounds to even in the default mode; the product is exact. */
    double scaled = value == 0 ? 0 : ldexp(m, exponent - unit);
    double rounded = floor(scaled);
    double rest = scaled - rounded;
    if (rest > 0.5 || (rest == 0.5 && fmod(rounded, 2) != 0))
        rounded += 1;
    u64 r = (u64)rounded;
    /* r carries the hidden bit: adding it to the exponent field below carries over by itself. */
    u64 magnitude = r >> f->fraction == 0
                        ? r
                        : ((u64)(unit + f->fraction + f->bias - 1) << f->fraction) + r;
    u64 sign = (u64)negative << (f->width - 1);
    u64 top = f->special == IEEE ? mask_of(f->width - 1u - f->fraction) << f->fraction
                                 : mask_of(f->width - 1u) + (f->special == FNUZ);
    if (magnitude >= top)
        return special_bits(f, negative, false);
    if (f->special == FNUZ && magnitude == 0)
        return 0;
    return sign | magnitude;
}
