/* SPDX-License-Identifier: MIT */
/* Judges constant evaluation against C's own arithmetic on native types (integers, f32, f64) and, for
 * f16 and bf16, against the definition: the nearest of all values of the type, ties to even. Random
 * operands, edge values among them. */
#include "ir/format.h"
#include "tile/fold.h"
#include "tile/tile.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static u64 seed = 88172645463325252ull;
static u64 random_u64(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

typedef struct fixture {
    tm_ctx *ctx;
    ir_module *m;
    ir_builder b;
} fixture;

static fixture open_module(void) {
    fixture f = {.ctx = ctx_new()};
    f.m = ir_module_new(f.ctx);
    f.b = ir_at_end(f.m, ir_module_body(f.m));
    return f;
}

static void close_module(fixture *f) {
    ir_module_free(f->m);
    ctx_free(f->ctx);
}

static bool fold2(fixture *f, enum ir_code code, const ir_type *t, const ir_type *result, i64 a, i64 b,
                  i64 *out) {
    ir_value *x = ir_const_int(&f->b, t, a), *y = ir_const_int(&f->b, t, b);
    ir_value *v = ir_build1(&f->b, code, result, 2, (ir_value *[]){x, y});
    i64 in[2];
    assert_true(ir_constant_bits(x, &in[0]));
    assert_true(ir_constant_bits(y, &in[1]));
    return fold_op(v->op, in, out);
}

static i64 random_int(void) {
    static const i64 edges[] = {0, 1, -1, 2, 7, 127, -128, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    u64 r = random_u64();
    return r % 4 == 0 ? edges[r / 4 % COUNT_OF(edges)] : (i64)(random_u64() >> (r / 4 % 64));
}

/* One width's operations in that width's own C types. */
#define ORACLE(W, S, U)                                                                            \
    static bool oracle_##W(enum ir_code code, i64 av, i64 bv, i64 *out) {                          \
        S a = (S)av, b = (S)bv;                                                                    \
        U ua = (U)a, ub = (U)b;                                                                    \
        bool overflow = b == -1 && a == (S)((U)1 << (W - 1));                                      \
        switch (code) {                                                                            \
        case IR_arith_addi: *out = (S)(U)(ua + ub); return true;                                   \
        case IR_arith_subi: *out = (S)(U)(ua - ub); return true;                                   \
        case IR_arith_muli: *out = (S)(U)((u64)ua * ub); return true;                              \
        case IR_arith_divsi: if (!b || overflow) return false; *out = (S)(a / b); return true;     \
        case IR_arith_remsi: if (!b || overflow) return false; *out = (S)(a % b); return true;     \
        case IR_arith_divui: if (!b) return false; *out = (S)(U)(ua / ub); return true;            \
        case IR_arith_remui: if (!b) return false; *out = (S)(U)(ua % ub); return true;            \
        case IR_arith_ceildivui:                                                                   \
            if (!b) return false;                                                                  \
            *out = (S)(U)(ua % ub ? ua / ub + 1 : ua / ub);                                        \
            return true;                                                                           \
        case IR_arith_floordivsi:                                                                  \
            if (!b || overflow) return false;                                                      \
            *out = (S)floorl((long double)a / (long double)b);                                     \
            return W < 64;                                                                         \
        case IR_arith_ceildivsi:                                                                   \
            if (!b || overflow) return false;                                                      \
            *out = (S)ceill((long double)a / (long double)b);                                      \
            return W < 64;                                                                         \
        case IR_arith_andi: *out = (S)(a & b); return true;                                        \
        case IR_arith_ori: *out = (S)(a | b); return true;                                         \
        case IR_arith_xori: *out = (S)(a ^ b); return true;                                        \
        case IR_arith_shli: if (ub >= W) return false; *out = (S)(U)((u64)ua << ub); return true;  \
        case IR_arith_shrui: if (ub >= W) return false; *out = (S)(U)(ua >> ub); return true;      \
        case IR_arith_shrsi: if (ub >= W) return false; *out = (S)(a >> ub); return true;          \
        case IR_arith_minsi: *out = a < b ? a : b; return true;                                    \
        case IR_arith_maxsi: *out = a > b ? a : b; return true;                                    \
        case IR_arith_minui: *out = (S)(ua < ub ? ua : ub); return true;                           \
        case IR_arith_maxui: *out = (S)(ua > ub ? ua : ub); return true;                           \
        case IR_tt_mulhiui:                                                                        \
            *out = (S)(U)(u64)((unsigned __int128)ua * ub >> W);                                   \
            return true;                                                                           \
        default: abort();                                                                          \
        }                                                                                          \
    }                                                                                              \
    static bool compare_##W(u32 p, i64 av, i64 bv) {                                               \
        S a = (S)av, b = (S)bv;                                                                    \
        U ua = (U)a, ub = (U)b;                                                                    \
        bool is[] = {a == b, a != b, a < b, a <= b, a > b, a >= b, ua < ub, ua <= ub, ua > ub, ua >= ub}; \
        return is[p];                                                                              \
    }
ORACLE(8, i8, u8)
ORACLE(16, i16, u16)
ORACLE(32, i32, u32)
ORACLE(64, i64, u64)

static const struct width {
    u32 bits;
    bool (*oracle)(enum ir_code, i64, i64, i64 *);
    bool (*compare)(u32, i64, i64);
} widths[] = {{8, oracle_8, compare_8}, {16, oracle_16, compare_16}, {32, oracle_32, compare_32}, {64, oracle_64, compare_64}};

static void integers_fold_like_c(void **state) {
    static const enum ir_code codes[] = {
        IR_arith_addi, IR_arith_subi, IR_arith_muli, IR_arith_divsi, IR_arith_remsi, IR_arith_divui,
        IR_arith_remui, IR_arith_ceildivui, IR_arith_floordivsi, IR_arith_ceildivsi, IR_arith_andi,
        IR_arith_ori, IR_arith_xori, IR_arith_shli, IR_arith_shrui, IR_arith_shrsi, IR_arith_minsi,
        IR_arith_maxsi, IR_arith_minui, IR_arith_maxui, IR_tt_mulhiui};
    fixture f = open_module();
    for (u32 w = 0; w < COUNT_OF(widths); w++) {
        const ir_type *t = ir_type_int(f.m, widths[w].bits);
        for (u32 c = 0; c < COUNT_OF(codes); c++)
            for (u32 i = 0; i < 200; i++) {
                i64 a = random_int(), b = i % 2 ? random_int() : random_int() % 67;
                i64 want, got;
                bool has = widths[w].oracle(codes[c], a, b, &want);
                bool folds = fold2(&f, codes[c], t, t, a, b, &got);
                if (has) {
                    assert_true(folds);
                    assert_int_equal(got, want);
                } else if (!(widths[w].bits == 64 && (codes[c] == IR_arith_floordivsi || codes[c] == IR_arith_ceildivsi))) {
                    assert_false(folds);
                }
            }
    }
    close_module(&f);
}

static void compares_fold_like_c(void **state) {
    fixture f = open_module();
    for (u32 w = 0; w < COUNT_OF(widths); w++)
        for (u32 p = 0; p < 10; p++)
            for (u32 i = 0; i < 100; i++) {
                i64 a = random_int(), b = i % 3 ? random_int() : a, in[2], out;
                const ir_type *t = ir_type_int(f.m, widths[w].bits);
                ir_value *x = ir_const_int(&f.b, t, a), *y = ir_const_int(&f.b, t, b);
                ir_value *v = ir_compare(&f.b, IR_arith_cmpi, p, x, y);
                ir_constant_bits(x, &in[0]);
                ir_constant_bits(y, &in[1]);
                assert_true(fold_op(v->op, in, &out));
                assert_int_equal(out, widths[w].compare(p, a, b));
            }
    close_module(&f);
}

static void booleans_are_minus_one_when_signed(void **state) {
    fixture f = open_module();
    const ir_type *i1 = ir_type_int(f.m, 1), *i32t = ir_type_int(f.m, 32);
    i64 one = 1, out;
    ir_value *x = ir_const_int(&f.b, i1, 1);
    assert_true(fold_op(ir_unary(&f.b, IR_arith_extsi, i32t, x)->op, &one, &out));
    assert_int_equal(out, -1);
    assert_true(fold_op(ir_unary(&f.b, IR_arith_extui, i32t, x)->op, &one, &out));
    assert_int_equal(out, 1);
    assert_true(fold2(&f, IR_arith_addi, i1, i1, 1, 1, &out));
    assert_int_equal(out, 0);
    assert_true(fold2(&f, IR_arith_maxsi, i1, i1, 1, 0, &out));
    assert_int_equal(out, 0);
    close_module(&f);
}

static float float_of(u32 bits) {
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

static u32 bits_of(float v) {
    u32 bits;
    memcpy(&bits, &v, 4);
    return bits;
}

static const enum ir_code float_codes[] = {IR_arith_addf, IR_arith_subf, IR_arith_mulf, IR_arith_divf};

static void f32_folds_like_c(void **state) {
    fixture f = open_module();
    const ir_type *t = ir_type_float(f.m, IR_F32);
    for (u32 c = 0; c < COUNT_OF(float_codes); c++)
        for (u32 i = 0; i < 3000; i++) {
            u32 ab = (u32)random_u64(), bb = (u32)random_u64();
            if (i % 2) /* near each other: cancellation and ties */
                bb = ab ^ (u32)(random_u64() % 64) ^ (u32)(random_u64() & 1) << 31;
            float a = float_of(ab), b = float_of(bb);
            volatile float want = c == 0 ? a + b : c == 1 ? a - b : c == 2 ? a * b : a / b;
            i64 got;
            bool flushed = fpclassify(a) == FP_SUBNORMAL || fpclassify(b) == FP_SUBNORMAL ||
                           fpclassify(want) == FP_SUBNORMAL;
            bool folds = fold2(&f, float_codes[c], t, t, ab, bb, &got);
            if (isnan(want) || flushed) {
                assert_false(folds);
                continue;
            }
            if (fabsf(want) == 0x1p-126f) /* may round up from below the normal range */
                continue;
            if (want == 0 && !folds)
                continue; /* an underflow that the hardware reaches another way */
            assert_true(folds);
            assert_int_equal((u32)got, bits_of(want));
        }
    close_module(&f);
}

/* All finite values of a 16-bit type in order, with their bits. */
typedef struct value16 {
    double v;
    u16 bits;
} value16;

static int by_value(const void *a, const void *b) {
    double x = ((const value16 *)a)->v, y = ((const value16 *)b)->v;
    return x < y ? -1 : x > y;
}

static u32 all_values(enum ir_float_kind kind, value16 *out) {
    u32 n = 0;
    for (u32 bits = 0; bits < 65536; bits++)
        if (!ir_float_is_special(kind, bits) && bits != 0x8000)
            out[n++] = (value16){ir_float_decode(kind, bits), (u16)bits};
    qsort(out, n, sizeof *out, by_value);
    return n;
}

/* The nearest value, even fraction on ties; false beyond the largest. */
static bool nearest(const value16 *all, u32 n, long double exact, u16 *bits) {
    u32 low = 0, high = n - 1;
    if (exact < all[0].v || exact > all[n - 1].v)
        return false;
    while (high - low > 1) {
        u32 mid = (low + high) / 2;
        *(all[mid].v <= exact ? &low : &high) = mid;
    }
    long double below = exact - all[low].v, above = all[high].v - exact;
    bool up = above < below || (above == below && (all[low].bits & 1));
    *bits = all[up ? high : low].bits;
    return true;
}

static void small_floats_round_once(void **state) {
    static value16 all[65536];
    fixture f = open_module();
    for (enum ir_float_kind kind = IR_F16; kind <= IR_BF16; kind++) {
        const ir_type *t = ir_type_float(f.m, kind);
        u32 n = all_values(kind, all);
        for (u32 i = 0; i < 8000; i++) {
            u32 c = i % COUNT_OF(float_codes);
            value16 x = all[random_u64() % n];
            value16 y = i % 3 ? all[random_u64() % n] : all[(x.bits * 7u + i) % n];
            long double a = x.v, b = y.v;
            if (kind == IR_BF16 && c < 2 && fabs(log2(fabs(x.v) + 1e-300) - log2(fabs(y.v) + 1e-300)) > 40)
                continue; /* the sum needs more bits than long double has */
            if (c == 3 && b == 0)
                continue;
            long double exact = c == 0 ? a + b : c == 1 ? a - b : c == 2 ? a * b : a / b;
            u16 want;
            i64 got;
            if (!nearest(all, n, exact, &want) || !fold2(&f, float_codes[c], t, t, x.bits, y.bits, &got))
                continue;
            if (exact == 0 || ir_float_decode(kind, want) == 0)
                assert_true(((u64)got & 0x7FFF) == 0);
            else
                assert_int_equal((u64)got & 0xFFFF, want);
        }
    }
    close_module(&f);
}

static void float_compares_fold_like_c(void **state) {
    fixture f = open_module();
    const ir_type *t = ir_type_float(f.m, IR_F32);
    static const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, INFINITY, -INFINITY, NAN};
    for (u32 i = 0; i < COUNT_OF(values); i++)
        for (u32 k = 0; k < COUNT_OF(values); k++)
            for (u32 p = 0; p < 16; p++) {
                float a = values[i], b = values[k];
                bool o = !isunordered(a, b);
                /* false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true */
                bool want[] = {false, a == b, a > b, a >= b, a < b, a <= b, o && a != b, o,
                               !o || a == b, !o || a > b, !o || a >= b, !o || a < b, !o || a <= b,
                               a != b, !o, true};
                ir_value *x = ir_const_float(&f.b, t, a), *y = ir_const_float(&f.b, t, b);
                i64 in[2], out;
                ir_constant_bits(x, &in[0]);
                ir_constant_bits(y, &in[1]);
                assert_true(fold_op(ir_compare(&f.b, IR_arith_cmpf, p, x, y)->op, in, &out));
                assert_int_equal(out, want[p]);
            }
    close_module(&f);
}

static void minima_follow_their_nan_rules(void **state) {
    fixture f = open_module();
    const ir_type *t = ir_type_float(f.m, IR_F32);
    i64 out;
    i64 nan = bits_of(NAN), one = bits_of(1.0f), zero = 0, minus_zero = (i32)bits_of(-0.0f);
    assert_true(fold2(&f, IR_arith_maxnumf, t, t, nan, one, &out));
    assert_int_equal((u32)out, (u32)one);
    assert_true(fold2(&f, IR_arith_minnumf, t, t, one, nan, &out));
    assert_int_equal((u32)out, (u32)one);
    assert_false(fold2(&f, IR_arith_maximumf, t, t, nan, one, &out));
    assert_true(fold2(&f, IR_arith_maximumf, t, t, minus_zero, zero, &out));
    assert_int_equal((u32)out, 0);
    assert_true(fold2(&f, IR_arith_minimumf, t, t, zero, minus_zero, &out));
    assert_int_equal((u32)out, 0x80000000u);
    close_module(&f);
}

static void casts_out_of_range_do_not_fold(void **state) {
    fixture f = open_module();
    const ir_type *t = ir_type_float(f.m, IR_F32);
    for (u32 w = 0; w < COUNT_OF(widths); w++)
        for (u32 i = 0; i < 2000; i++) {
            const ir_type *to = ir_type_int(f.m, widths[w].bits);
            float a = (float)(i64)random_u64() * ldexpf(1, (int)(i % 70) - 68);
            i64 in = bits_of(a), out;
            long double limit = ldexpl(1, (int)widths[w].bits - 1);
            bool fits = truncl(a) >= -limit && truncl(a) < limit;
            ir_value *x = ir_const_float(&f.b, t, a);
            assert_int_equal(fold_op(ir_unary(&f.b, IR_arith_fptosi, to, x)->op, &in, &out), fits);
            if (fits)
                assert_int_equal(out, (i64)a);
        }
    close_module(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_fold_like_c),        cmocka_unit_test(compares_fold_like_c),
        cmocka_unit_test(booleans_are_minus_one_when_signed),
        cmocka_unit_test(f32_folds_like_c),            cmocka_unit_test(small_floats_round_once),
        cmocka_unit_test(float_compares_fold_like_c),  cmocka_unit_test(minima_follow_their_nan_rules),
        cmocka_unit_test(casts_out_of_range_do_not_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
