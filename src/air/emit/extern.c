/* SPDX-License-Identifier: MIT */
/* tt.extern_elementwise: library functions by name. Accepted are libdevice's names (__nv_expf) and
 * plain C names (expf, exp), on floats of at most 32 bits and on integers; narrow floats are computed
 * in float. A name is either one AIR function (calls[]) or a small expansion (expansions[]); any other
 * name is refused, with the name. Expansions are textbook methods: log1p and expm1 correct log(1 + x)
 * and exp(x) - 1 by the rounding error of the inner step (Kahan), cbrt is one Newton step on
 * 2^(log2|x| / 3), counts of bits are sums in parallel. */
#include "air/emit/emit_in.h"

enum { FCMP_OEQ = 1, FCMP_OGT = 2, FCMP_OGE = 3, FCMP_OLT = 4, FCMP_UNO = 8, ICMP_EQ = 32,
       ICMP_SLT = 40 };

static const struct {
    const char *name, *stem;
    u8 args;
} calls[] = {
    {"exp", "air.exp", 1},        {"fast_exp", "air.fast_exp", 1}, {"exp2", "air.exp2", 1},
    {"exp10", "air.exp10", 1},    {"fast_exp10", "air.exp10", 1},  {"log", "air.log", 1},
    {"fast_log", "air.fast_log", 1}, {"log2", "air.log2", 1},      {"fast_log2", "air.fast_log2", 1},
    {"log10", "air.log10", 1},    {"fast_log10", "air.log10", 1},  {"sin", "air.sin", 1},
    {"fast_sin", "air.fast_sin", 1}, {"cos", "air.cos", 1},        {"fast_cos", "air.fast_cos", 1},
    {"tan", "air.tan", 1},        {"fast_tan", "air.tan", 1},      {"asin", "air.asin", 1},
    {"acos", "air.acos", 1},      {"atan", "air.atan", 1},         {"sinh", "air.sinh", 1},
    {"cosh", "air.cosh", 1},      {"tanh", "air.tanh", 1},         {"fast_tanh", "air.fast_tanh", 1},
    {"asinh", "air.asinh", 1},    {"acosh", "air.acosh", 1},       {"atanh", "air.atanh", 1},
    {"sinpi", "air.sinpi", 1},    {"sqrt", "air.sqrt", 1},         {"sqrt_rn", "air.sqrt", 1},
    {"fsqrt_rn", "air.sqrt", 1},  {"rsqrt", "air.rsqrt", 1},       {"rsqrt_rn", "air.rsqrt", 1},
    {"fast_rsqrt", "air.fast_rsqrt", 1}, {"fabs", "air.fabs", 1},  {"floor", "air.floor", 1},
    {"ceil", "air.ceil", 1},      {"trunc", "air.trunc", 1},       {"round", "air.round", 1},
    {"rint", "air.rint", 1},      {"nearbyint", "air.rint", 1},    {"pow", "air.pow", 2},
    {"fast_pow", "air.pow", 2},   {"atan2", "air.atan2", 2},       {"fmod", "air.fmod", 2},
    {"fmax", "air.fmax", 2},      {"fmin", "air.fmin", 2},         {"nextafter", "air.nextafter", 2},
    {"fma", "air.fma", 3},        {"fma_rn", "air.fma", 3},
};

/* ---- Expansions on floats --------------------------------------------------------------------- */

typedef air_value *expansion(emit *e, air_value **x);

static air_value *call1(emit *e, const char *stem, air_value *x) { return emit_math(e, stem, 1, &x); }
static air_value *num(emit *e, double v) { return emit_float(e, v); }
static air_value *infinity(emit *e) { return air_const_float(e->m, emit_f32(e), 0x7F800000u); }

static air_value *copy_sign(emit *e, air_value **x) {
    air_type *word = emit_int_type(e, 32);
    air_value *a = emit_cast(e, AIR_BITCAST, x[0], word), *b = emit_cast(e, AIR_BITCAST, x[1], word);
    a = emit_bin(e, AIR_AND, a, emit_int(e, 32, 0x7FFFFFFFu));
    b = emit_bin(e, AIR_AND, b, emit_int(e, 32, 0x80000000u));
    return emit_cast(e, AIR_BITCAST, emit_bin(e, AIR_OR, a, b), emit_f32(e));
}

static air_value *log1p_(emit *e, air_value **x) {
    air_value *u = emit_bin(e, AIR_ADD, num(e, 1), x[0]);
    air_value *d = emit_bin(e, AIR_SUB, u, num(e, 1));
    air_value *ratio = emit_bin(e, AIR_SDIV, x[0], d); /* near 1: nothing overflows */
    air_value *r = emit_bin(e, AIR_MUL, call1(e, "air.log", u), ratio);
    r = emit_select(e, emit_cmp(e, FCMP_OEQ, u, num(e, 1)), x[0], r);
    return emit_select(e, emit_cmp(e, FCMP_OEQ, u, infinity(e)), u, r);
}

static air_value *expm1_(emit *e, air_value **x) {
    air_value *u = call1(e, "air.exp", x[0]);
    air_value *d = emit_bin(e, AIR_SUB, u, num(e, 1));
    air_value *ratio = emit_bin(e, AIR_SDIV, x[0], call1(e, "air.log", u));
    air_value *r = emit_bin(e, AIR_MUL, d, ratio);
    r = emit_select(e, emit_cmp(e, FCMP_OEQ, u, num(e, 1)), x[0], r);
    r = emit_select(e, emit_cmp(e, FCMP_OEQ, d, num(e, -1)), d, r);
    return emit_select(e, emit_cmp(e, FCMP_OEQ, u, infinity(e)), u, r);
}

static air_value *cbrt_(emit *e, air_value **x) {
    air_value *a = call1(e, "air.fabs", x[0]);
    air_value *third = emit_bin(e, AIR_MUL, call1(e, "air.log2", a), num(e, 1.0 / 3));
    air_value *y = call1(e, "air.exp2", third), *square = emit_bin(e, AIR_MUL, y, y);
    air_value *error = emit_bin(e, AIR_SUB, y, emit_bin(e, AIR_SDIV, a, square));
    air_value *better = emit_bin(e, AIR_MUL, error, num(e, 1.0 / 3));
    better = emit_bin(e, AIR_SUB, y, better);
    air_value *is_zero = emit_cmp(e, FCMP_OEQ, a, num(e, 0));
    air_value *is_inf = emit_cmp(e, FCMP_OEQ, a, infinity(e));
    better = emit_select(e, emit_bin(e, AIR_OR, is_zero, is_inf), a, better);
    air_value *args[] = {better, x[0]};
    air_value *nan = emit_cmp(e, FCMP_UNO, x[0], x[0]);
    return emit_select(e, nan, x[0], copy_sign(e, args));
}

static air_value *hypot_(emit *e, air_value **x) {
    air_value *args[] = {call1(e, "air.fabs", x[0]), NULL};
    args[1] = call1(e, "air.fabs", x[1]);
    air_value *big = emit_math(e, "air.fmax", 2, args), *small = emit_math(e, "air.fmin", 2, args);
    air_value *ratio = emit_bin(e, AIR_SDIV, small, big);
    air_value *fma[] = {ratio, ratio, num(e, 1)};
    air_value *root = call1(e, "air.sqrt", emit_math(e, "air.fma", 3, fma));
    air_value *r = emit_bin(e, AIR_MUL, big, root);
    r = emit_select(e, emit_cmp(e, FCMP_OEQ, big, num(e, 0)), big, r);
    r = emit_select(e, emit_cmp(e, FCMP_UNO, x[0], x[1]), emit_bin(e, AIR_ADD, x[0], x[1]), r);
    return emit_select(e, emit_cmp(e, FCMP_OEQ, big, infinity(e)), big, r);
}

static air_value *cospi_(emit *e, air_value **x) {
    air_value *half = emit_bin(e, AIR_MUL, x[0], num(e, 0.5));
    air_value *turns = call1(e, "air.rint", half);
    air_value *args[] = {turns, num(e, -2), x[0]};
    air_value *rest = emit_math(e, "air.fma", 3, args); /* exact, in [-1, 1] */
    air_value *a = call1(e, "air.fabs", rest);
    return call1(e, "air.sinpi", emit_bin(e, AIR_SUB, num(e, 0.5), a));
}

static air_value *isnan_(emit *e, air_value **x) { return emit_cmp(e, FCMP_UNO, x[0], x[0]); }
static air_value *signbit_(emit *e, air_value **x) {
    return emit_cmp(e, ICMP_SLT, emit_cast(e, AIR_BITCAST, x[0], emit_int_type(e, 32)),
                    emit_int(e, 32, 0));
}
static air_value *negate(emit *e, air_value *x) { return emit_inst(e, AIR_FNEG, 0, x->type, 1, &x); }

/* erfc(x) = exp(-x * x) * r((x - 3) / (x + 3)) for x >= 0, r an own least-maximum fit of
 * exp(x * x) * erfc(x) on [0, 10.1], error 1.4e-9; below erfc(-x) = 2 - erfc(x). x * x is taken apart
 * into the square of x's upper half, which is exact, and a small rest. */
static air_value *erfc_(emit *e, air_value **x) {
    static const double r[] = {0.17900115251541138,   -0.32623356580734253,  0.2456037998199463,
                               -0.15011578798294067,  0.07166585326194763,   -0.024394238367676735,
                               0.004268919117748737,  0.0007157864165492356, -0.0005946261226199567,
                               2.8757844120264053e-05, 5.586380939348601e-05};
    air_value *big[] = {call1(e, "air.fabs", x[0]), num(e, 11)};
    air_value *a = emit_math(e, "air.fmin", 2, big);
    air_value *below = emit_bin(e, AIR_SUB, a, num(e, 3)), *above = emit_bin(e, AIR_ADD, a, num(e, 3));
    air_value *fit = emit_horner(e, r, COUNT_OF(r), emit_bin(e, AIR_SDIV, below, above));
    air_value *bits = emit_cast(e, AIR_BITCAST, a, emit_int_type(e, 32));
    bits = emit_bin(e, AIR_AND, bits, emit_int(e, 32, 0xFFFFF000u));
    air_value *upper = emit_cast(e, AIR_BITCAST, bits, emit_f32(e));
    air_value *square = negate(e, emit_bin(e, AIR_MUL, upper, upper));
    air_value *difference = emit_bin(e, AIR_SUB, upper, a), *sum = emit_bin(e, AIR_ADD, upper, a);
    air_value *rest = emit_bin(e, AIR_MUL, difference, sum);
    air_value *first = call1(e, "air.exp", square), *second = call1(e, "air.exp", rest);
    air_value *v = emit_bin(e, AIR_MUL, emit_bin(e, AIR_MUL, first, fit), second);
    air_value *other = emit_bin(e, AIR_SUB, num(e, 2), v);
    v = emit_select(e, emit_cmp(e, FCMP_OLT, x[0], num(e, 0)), other, v);
    return emit_select(e, isnan_(e, x), x[0], v);
}

/* IEEE remainder, exact: reduce by 2|y|, then take |y| off where more than half is left. */
static air_value *remainder_(emit *e, air_value **x) {
    air_value *y = call1(e, "air.fabs", x[1]), *a = call1(e, "air.fabs", x[0]);
    air_value *args[] = {a, emit_bin(e, AIR_ADD, y, y)};
    air_value *r = emit_math(e, "air.fmod", 2, args);
    for (u32 step = 0; step < 2; step++) {
        air_value *twice = emit_bin(e, AIR_ADD, r, r), *less = emit_bin(e, AIR_SUB, r, y);
        air_value *take = emit_cmp(e, step ? FCMP_OGE : FCMP_OGT, twice, y);
        if (step) /* the second time only if the first took: r has to stay above -y / 2 */
            take = emit_bin(e, AIR_AND, take, args[0]);
        args[0] = take;
        r = emit_select(e, take, less, r);
    }
    air_value *minus = negate(e, r);
    air_value *negative = signbit_(e, x);
    return emit_select(e, negative, minus, r);
}

static air_value *rcbrt_(emit *e, air_value **x) {
    return emit_bin(e, AIR_SDIV, num(e, 1), cbrt_(e, x));
}
static air_value *rhypot_(emit *e, air_value **x) {
    return emit_bin(e, AIR_SDIV, num(e, 1), hypot_(e, x));
}
static air_value *norm3d_(emit *e, air_value **x) {
    air_value *args[] = {hypot_(e, x), x[2]};
    return hypot_(e, args);
}
static air_value *norm4d_(emit *e, air_value **x) {
    air_value *args[] = {hypot_(e, x), NULL};
    args[1] = hypot_(e, x + 2);
    return hypot_(e, args);
}
static air_value *rnorm3d_(emit *e, air_value **x) {
    return emit_bin(e, AIR_SDIV, num(e, 1), norm3d_(e, x));
}
static air_value *rnorm4d_(emit *e, air_value **x) {
    return emit_bin(e, AIR_SDIV, num(e, 1), norm4d_(e, x));
}

static air_value *erf_(emit *e, air_value **x) { return emit_erf(e, x[0]); }
static air_value *add_(emit *e, air_value **x) { return emit_bin(e, AIR_ADD, x[0], x[1]); }
static air_value *sub_(emit *e, air_value **x) { return emit_bin(e, AIR_SUB, x[0], x[1]); }
static air_value *mul_(emit *e, air_value **x) { return emit_bin(e, AIR_MUL, x[0], x[1]); }
static air_value *div_(emit *e, air_value **x) { return emit_bin(e, AIR_SDIV, x[0], x[1]); }
static air_value *rcp_(emit *e, air_value **x) { return emit_bin(e, AIR_SDIV, num(e, 1), x[0]); }
static air_value *fdim_(emit *e, air_value **x) {
    air_value *d = emit_bin(e, AIR_SUB, x[0], x[1]);
    return emit_select(e, emit_cmp(e, 13 /* ule */, x[0], x[1]),
                       emit_select(e, emit_cmp(e, FCMP_UNO, x[0], x[1]), d, num(e, 0)), d);
}
static air_value *saturate_(emit *e, air_value **x) {
    air_value *args[] = {x[0], num(e, 0)};
    air_value *low[] = {emit_math(e, "air.fmax", 2, args), num(e, 1)};
    return emit_math(e, "air.fmin", 2, low);
}
static air_value *isinf_(emit *e, air_value **x) {
    return emit_cmp(e, FCMP_OEQ, call1(e, "air.fabs", x[0]), infinity(e));
}
static air_value *finite_(emit *e, air_value **x) {
    return emit_cmp(e, FCMP_OLT, call1(e, "air.fabs", x[0]), infinity(e));
}
static air_value *ldexp_(emit *e, air_value **x) {
    return emit_call(e, "air.ldexp.f32", EMIT_PURE, x[0]->type, 2, x);
}

/* ---- Expansions on integers ------------------------------------------------------------------- */

static air_value *iabs_(emit *e, air_value **x) { return emit_math(e, "air.abs.s", 1, x); }
static air_value *imin_(emit *e, air_value **x) { return emit_math(e, "air.min.s", 2, x); }
static air_value *imax_(emit *e, air_value **x) { return emit_math(e, "air.max.s", 2, x); }
static air_value *umin_(emit *e, air_value **x) { return emit_math(e, "air.min.u", 2, x); }
static air_value *umax_(emit *e, air_value **x) { return emit_math(e, "air.max.u", 2, x); }
static air_value *mulhi_(emit *e, air_value **x) { return emit_mulhi(e, x[0], x[1], true); }
static air_value *umulhi_(emit *e, air_value **x) { return emit_mulhi(e, x[0], x[1], false); }

/* (v & mask) + (v >> shift & mask), mask repeated over the width. */
static air_value *fold_bits(emit *e, air_value *v, u32 shift, u64 mask) {
    air_value *m = emit_int_of(e, v->type, mask), *low = emit_bin(e, AIR_AND, v, m);
    air_value *high = emit_bin(e, AIR_LSHR, v, emit_int_of(e, v->type, shift));
    high = emit_bin(e, AIR_AND, high, m);
    return emit_bin(e, AIR_ADD, low, high);
}

static air_value *popc_(emit *e, air_value **x) {
    air_value *v = fold_bits(e, x[0], 1, 0x5555555555555555u);
    v = fold_bits(e, v, 2, 0x3333333333333333u);
    v = fold_bits(e, v, 4, 0x0F0F0F0F0F0F0F0Fu);
    v = emit_bin(e, AIR_MUL, v, emit_int_of(e, v->type, 0x0101010101010101u));
    return emit_bin(e, AIR_LSHR, v, emit_int_of(e, v->type, v->type->bits - 8));
}

static air_value *clz_(emit *e, air_value **x) {
    air_value *v = x[0];
    for (u32 s = 1; s < v->type->bits; s *= 2) {
        air_value *moved = emit_bin(e, AIR_LSHR, v, emit_int_of(e, v->type, s));
        v = emit_bin(e, AIR_OR, v, moved);
    }
    v = popc_(e, &v);
    return emit_bin(e, AIR_SUB, emit_int_of(e, v->type, v->type->bits), v);
}

static air_value *ffs_(emit *e, air_value **x) { /* 1 + index of the lowest set bit, 0 for 0 */
    air_value *less = emit_bin(e, AIR_SUB, x[0], emit_int_of(e, x[0]->type, 1));
    air_value *below = emit_bin(e, AIR_XOR, x[0], less); /* the lowest bit and all under it */
    air_value *n = popc_(e, &below);
    air_value *zero = emit_int_of(e, x[0]->type, 0);
    return emit_select(e, emit_cmp(e, ICMP_EQ, x[0], zero), zero, n);
}

static const struct {
    const char *name;
    expansion *fn;
    const char *args; /* f: a float computed in f32; i: an integer as it is */
} expansions[] = {
    {"log1p", log1p_, "f"},       {"expm1", expm1_, "f"},      {"cbrt", cbrt_, "f"},
    {"erfc", erfc_, "f"},         {"rcbrt", rcbrt_, "f"},      {"remainder", remainder_, "ff"},
    {"rhypot", rhypot_, "ff"},    {"norm3d", norm3d_, "fff"},  {"rnorm3d", rnorm3d_, "fff"},
    {"norm4d", norm4d_, "ffff"},  {"rnorm4d", rnorm4d_, "ffff"},
    {"hypot", hypot_, "ff"},      {"cospi", cospi_, "f"},      {"erf", erf_, "f"},
    {"copysign", copy_sign, "ff"}, {"add_rn", add_, "ff"},     {"fadd_rn", add_, "ff"},
    {"sub_rn", sub_, "ff"},       {"fsub_rn", sub_, "ff"},     {"mul_rn", mul_, "ff"},
    {"fmul_rn", mul_, "ff"},      {"div_rn", div_, "ff"},      {"fdiv_rn", div_, "ff"},
    {"fast_fdivide", div_, "ff"}, {"fast_divide", div_, "ff"}, {"rcp_rn", rcp_, "f"},
    {"frcp_rn", rcp_, "f"},       {"fdim", fdim_, "ff"},       {"saturate", saturate_, "f"},
    {"isnan", isnan_, "f"},       {"isinf", isinf_, "f"},      {"finite", finite_, "f"},
    {"isfinite", finite_, "f"},   {"signbit", signbit_, "f"},  {"ldexp", ldexp_, "fi"},
    {"scalbn", ldexp_, "fi"},     {"abs", iabs_, "i"},         {"llabs", iabs_, "i"},
    {"min", imin_, "ii"},         {"max", imax_, "ii"},        {"llmin", imin_, "ii"},
    {"llmax", imax_, "ii"},       {"umin", umin_, "ii"},       {"umax", umax_, "ii"},
    {"ullmin", umin_, "ii"},      {"ullmax", umax_, "ii"},     {"mulhi", mulhi_, "ii"},
    {"umulhi", umulhi_, "ii"},    {"mul64hi", mulhi_, "ii"},   {"umul64hi", umulhi_, "ii"},
    {"popc", popc_, "i"},         {"popcll", popc_, "i"},      {"clz", clz_, "i"},
    {"clzll", clz_, "i"},         {"ffs", ffs_, "i"},          {"ffsll", ffs_, "i"},
};

/* ---- Finding and calling ---------------------------------------------------------------------- */

/* The result in the type the operation declares: floats narrow, truths and counts become its int. */
static air_value *finish(emit *e, const ir_op *op, air_value *v) {
    const ir_type *t = ir_result(op, 0)->type;
    air_type *to = emit_type(e, t);
    if (!to || !v)
        return NULL;
    if (t->kind == IR_FLOAT)
        return v->type->kind == AIR_FLOAT ? emit_narrow(e, t, v) : emit_refuse(e, TM4301, "this result type");
    if (to->kind != AIR_INT || v->type->kind != AIR_INT)
        return emit_refuse(e, TM4301, "this result type");
    return emit_cast(e, to->bits < v->type->bits ? AIR_TRUNC : AIR_ZEXT, v, to);
}

static bool take_args(emit *e, const ir_op *op, const char *kinds, air_value **out) {
    if (strlen(kinds) != op->n_operands)
        return false;
    for (u32 i = 0; i < op->n_operands; i++) {
        const ir_type *t = ir_operand(op, i)->type;
        if ((t->kind == IR_FLOAT) != (kinds[i] == 'f') || (t->kind != IR_FLOAT && t->kind != IR_INT))
            return false;
        out[i] = emit_operand(e, op, i);
        if (t->kind == IR_FLOAT)
            out[i] = emit_wide(e, t, out[i]);
    }
    return true;
}

static bool same(const char *name, const char *s, size_t len) {
    return strlen(name) == len && memcmp(name, s, len) == 0;
}

/* One attempt with the first len characters of the name. */
static bool lower(emit *e, ir_op *op, const char *s, size_t len, air_value **out) {
    static const char floats[] = "fff";
    air_value *args[4];
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (same(calls[i].name, s, len)) {
            if (!take_args(e, op, floats + 3 - calls[i].args, args))
                return false;
            *out = finish(e, op, emit_math(e, calls[i].stem, calls[i].args, args));
            return true;
        }
    for (size_t i = 0; i < COUNT_OF(expansions); i++)
        if (same(expansions[i].name, s, len)) {
            if (!take_args(e, op, expansions[i].args, args))
                return false;
            *out = finish(e, op, expansions[i].fn(e, args));
            return true;
        }
    return false;
}

/* Rounding to an integer type: rint or round, then the conversion. */
static bool to_integer(emit *e, ir_op *op, const char *s, size_t len, air_value **out) {
    static const struct {
        const char *name, *stem;
    } rows[] = {{"llrint", "air.rint"}, {"lrint", "air.rint"}, {"float2int_rn", "air.rint"},
                {"llround", "air.round"}, {"lround", "air.round"}};
    air_value *x;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!same(rows[i].name, s, len) || !take_args(e, op, "f", &x))
            continue;
        air_type *to = emit_type(e, ir_result(op, 0)->type);
        if (!to || to->kind != AIR_INT || to->bits < 32)
            return false;
        x = call1(e, rows[i].stem, x);
        *out = emit_call(e, to->bits == 64 ? "air.convert.s.i64.f.f32" : "air.convert.s.i32.f.f32",
                         EMIT_PURE, to, 1, &x);
        return true;
    }
    return false;
}

air_value *emit_extern(emit *e, ir_op *op) {
    const ir_attr *symbol = ir_attr_get(op, "symbol");
    const char *s = symbol && symbol->text ? symbol->text : "";
    const char *name = s;
    air_value *out = NULL;
    if (strncmp(name, "__nv_", 5) == 0)
        name += 5;
    size_t len = strlen(name);
    bool short_form = len > 1 && name[len - 1] == 'f'; /* expf, but also erf: whole name first */
    if (lower(e, op, name, len, &out) || to_integer(e, op, name, len, &out) ||
        (short_form && (lower(e, op, name, len - 1, &out) || to_integer(e, op, name, len - 1, &out))))
        return out;
    return emit_refuse(e, TM4308, s);
}
