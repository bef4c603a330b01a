/* SPDX-License-Identifier: MIT */
/* What Apple leaves open (numerics.def): every choice of every option, on inputs where the choices differ,
 * against scalar oracles, on each instruction set, with lane and shared operands; and the check for it. */
#include "kit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* ---- One operation on N elements ------------------------------------------------------------------------- */
enum { N = 64 };
typedef struct operation {
    const char *call;   /* "air.exp.f32", or the number of a binop or predicate as "+0" or "?4" */
    char from, to;      /* f: f32, e: f16, g: bf16, b h w d: integers of 8 to 64 bits, m: i1 as i8 */
    u32 n;              /* operands */
} operation;
static vgpu_numerics choice;
static char elem_types[4];

static u32 size_of(char t) { return t == 'f' || t == 'w' ? 4 : t == 'd' ? 8 : t == 'b' || t == 'm' ? 1 : 2; }
static air_type *type_of(kit *k, char t) {
    switch (t) {
    case 'f': return k->f32;
    case 'e': return k->f16;
    case 'g': return k->bf16;
    case 'b': case 'm': return k->i8;
    case 'h': return k->i16;
    case 'w': return k->i32;
    default: return k->i64;
    }
}
static air_type *elem(kit *k, u32 i) { return type_of(k, elem_types[i]); }
/* in and out hold N elements each. Shared: one threadgroup an element, whose number all lanes know. */
static void run_operation(const operation *o, void *const in[3], void *out, bool shared) {
    kit k;
    memset(elem_types, o->from, 3);
    elem_types[3] = o->to;
    kit_begin(&k, 4, NULL, elem);
    k.numerics = choice;
    air_value *first = kit_bin(&k, AIR_MUL, k.group, kit_int(&k, k.i32, 32)), *x[3], *r;
    air_value *at = shared ? k.group : kit_bin(&k, AIR_ADD, first, k.lane);
    for (u32 i = 0; i < o->n; i++)
        x[i] = kit_load(&k, kit_at(&k, i, at));
    if (o->call[0] == '+')
        r = kit_bin(&k, (enum air_binop)(o->call[1] - '0'), x[0], x[1]);
    else if (o->call[0] == '?')
        r = kit_cast(&k, AIR_ZEXT, kit_cmp(&k, (u32)(o->call[1] - '0'), x[0], x[1]), k.i8);
    else if (o->call[0] == '>')
        r = kit_cast(&k, (enum air_cast)(o->call[1] - '0'), x[0], type_of(&k, o->to));
    else
        r = kit_call(&k, o->call, type_of(&k, o->to), o->n, x);
    kit_store(&k, kit_at(&k, 3, at), r);
    kit_ret(&k);
    for (u32 i = 0; i < 3; i++)
        kit_bind(&k, i, in[i], N * size_of(o->from));
    kit_bind(&k, 3, out, N * size_of(o->to));
    if (kit_run(&k, shared ? N : N / 32, 32) != 0)
        fail_msg("%s: %s", o->call, k.ctx->first ? k.ctx->first->message : "?");
    kit_end(&k);
}
static u32 bits_of(float f) {
    u32 u;
    memcpy(&u, &f, 4);
    return u;
}

/* ---- Subnormals -------------------------------------------------------------------------------------------- */
static bool flushing;
static float fl(float x) { return flushing && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static double ulps(float got, double want) {
    if (isnan(want))
        return isnan(got) ? 0 : 1e9;
    if (flushing && fabs(want) < 0x1p-126)
        want = 0;
    if (got == (float)want)
        return 0;
    if (!isfinite((float)want) || (flushing && want == 0))
        return 1e9;
    return fabs(got - want) / ldexp(1, ilogb(fabs(want) < 0x1p-126 ? 0x1p-126 : want) - 23);
}
static double rsqrt_d(double x) { return 1 / sqrt(x); }
static double round_d(double x) { return copysign(floor(fabs(x) + 0.5), x); }
static double sinpi_d(double x) { return sin(fmod(x, 2) * 3.14159265358979323846); }
static double cospi_d(double x) { return cos(fmod(x, 2) * 3.14159265358979323846); }
static double exp10_d(double x) { return pow(10, x); }
static const struct { const char *call; double (*f)(double); } functions[] = {
    {"air.exp.f32", exp},     {"air.exp2.f32", exp2},   {"air.exp10.f32", exp10_d}, {"air.log.f32", log},
    {"air.log2.f32", log2},   {"air.log10.f32", log10}, {"air.sin.f32", sin},       {"air.cos.f32", cos},
    {"air.tan.f32", tan},     {"air.sinpi.f32", sinpi_d}, {"air.cospi.f32", cospi_d}, {"air.asin.f32", asin},
    {"air.acos.f32", acos},   {"air.atan.f32", atan},   {"air.sinh.f32", sinh},     {"air.cosh.f32", cosh},
    {"air.tanh.f32", tanh},   {"air.asinh.f32", asinh}, {"air.acosh.f32", acosh},   {"air.atanh.f32", atanh},
    {"air.sqrt.f32", sqrt},   {"air.rsqrt.f32", rsqrt_d}, {"air.floor.f32", floor}, {"air.ceil.f32", ceil},
    {"air.rint.f32", rint},   {"air.round.f32", round_d}, {"air.trunc.f32", trunc}, {"air.fast_exp.f32", exp},
};
static const float small[] = {0x1p-149f,  -0x1p-149f, 1e-40f, -1e-40f, 1.17e-38f, -1.17e-38f, 0x1p-126f, -0x1p-126f,
                              0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.0f, 3e-39f, -3e-39f,
                              -87.5f, -88, -90, -95, -100, -103, -104, -110, -126.5f, -130, -140, -149, -150, -38.5f,
                              -40, -44, -46, 3.25f, 1e-20f, -1e-20f, 1e20f, 1e-38f};
static float x[3][N], y[N];
static void *const in[3] = {x[0], x[1], x[2]};
static void fill_small(void) {
    for (u32 i = 0; i < N; i++)
        for (u32 a = 0; a < 3; a++)
            x[a][i] = a ? small[kit_random() % COUNT_OF(small)] : small[i % COUNT_OF(small)];
}
static void each_mode(void (*body)(void)) {
    for (u32 d = 0; d < 2; d++) {
        choice = (vgpu_numerics){.denormals = (u8)d};
        flushing = d == VGPU_denormals_flush;
        body();
    }
}
static void function_values(void) {
    for (u32 f = 0; f < COUNT_OF(functions); f++)
        for (u32 shared = 0; shared < 2; shared++) {
            fill_small();
            run_operation(&(operation){functions[f].call, 'f', 'f', 1}, in, y, shared);
            for (u32 i = 0; i < N; i++) {
                double want = functions[f].f(fl(x[0][i]));
                if (fabs(want) > 1e-38 && fabs(want) < 1e-6 && fabsf(x[0][i]) > 1) /* near a root of sin or tan */
                    continue;
                if (ulps(y[i], want) > 4)
                    fail_msg("%s(%a) %s on %s = %a, not %a", functions[f].call, x[0][i], flushing ? "flushed" : "kept",
                             vgpu_isa(), y[i], want);
            }
        }
}
static double ldexp_d(double a, double b) { return ldexp(a, (int)b); }
static const struct { const char *call; double (*f)(double, double); u32 ulps; } functions2[] = {
    {"air.pow.f32", pow, 2}, {"air.fmod.f32", fmod, 0}, {"air.atan2.f32", atan2, 2},
};
static void function_values2(void) {
    for (u32 f = 0; f < COUNT_OF(functions2); f++)
        for (u32 shared = 0; shared < 2; shared++) {
            fill_small();
            run_operation(&(operation){functions2[f].call, 'f', 'f', 2}, in, y, shared);
            for (u32 i = 0; i < N; i++)
                if (ulps(y[i], functions2[f].f(fl(x[0][i]), fl(x[1][i]))) > functions2[f].ulps)
                    fail_msg("%s(%a, %a) %s on %s = %a, not %a", functions2[f].call, x[0][i], x[1][i],
                             flushing ? "flushed" : "kept", vgpu_isa(), y[i],
                             functions2[f].f(fl(x[0][i]), fl(x[1][i])));
        }
}
/* ldexp takes an i32 beside the float. */
static void ldexp_values(void) {
    static const struct { float x; i32 n; } rows[] = {{1, -130}, {1e-40f, 3}, {1e-40f, 40}, {-1e-40f, 40}, {1, -149}, {3, -127}};
    for (u32 r = 0; r < COUNT_OF(rows); r++) {
        kit k;
        float out = 7, value = rows[r].x;
        kit_begin(&k, 2, NULL, kit_f32);
        k.numerics = choice;
        air_value *a[] = {kit_load(&k, k.buffer[0]), kit_int(&k, k.i32, (u32)rows[r].n)};
        kit_store(&k, k.buffer[1], kit_call(&k, "air.ldexp.f32", k.f32, 2, a));
        kit_ret(&k);
        kit_bind(&k, 0, &value, 4);
        kit_bind(&k, 1, &out, 4);
        assert_int_equal(kit_run(&k, 1, 32), 0);
        if (ulps(out, ldexp_d(fl(rows[r].x), rows[r].n)) > 0)
            fail_msg("ldexp(%a, %d) on %s = %a", rows[r].x, rows[r].n, vgpu_isa(), out);
        kit_end(&k);
    }
}
static float o_add(float a, float b, float c) { return fl(fl(a) + fl(b)); }
static float o_sub(float a, float b, float c) { return fl(fl(a) - fl(b)); }
static float o_mul(float a, float b, float c) { return fl(fl(a) * fl(b)); }
static float o_div(float a, float b, float c) { return fl(fl(a) / fl(b)); }
static float o_fma(float a, float b, float c) { /* isa.h says how it is without FMA hardware */
    bool base = strcmp(vgpu_isa(), "base") == 0;
    return fl(base ? (float)((double)fl(a) * fl(b) + fl(c)) : fmaf(fl(a), fl(b), fl(c)));
}
static float o_min(float a, float b, float c) { return fl(a) < fl(b) ? a : b; } /* moves bits */
static float o_max(float a, float b, float c) { return fl(a) > fl(b) ? a : b; }
static float o_abs(float a, float b, float c) { return fabsf(a); }
static float o_sign(float a, float b, float c) { return copysignf(a, b); }
static float o_fract(float a, float b, float c) { return fminf(fl(fl(a) - floorf(fl(a))), 0x1.fffffep-1f); }
/* The same bits, zeros with their sign; a sum of opposite zeros may have either. */
static const struct { const char *call; u32 n; float (*f)(float, float, float); } exact[] = {
    {"+0", 2, o_add}, {"+1", 2, o_sub}, {"+2", 2, o_mul}, {"+4", 2, o_div}, {"air.fma.f32", 3, o_fma},
    {"llvm.fmuladd.f32", 3, o_fma}, {"air.fmin.f32", 2, o_min}, {"air.fmax.f32", 2, o_max}, {"air.fabs.f32", 1, o_abs},
    {"air.copysign.f32", 2, o_sign}, {"air.fract.f32", 1, o_fract},
};
static void exact_values(void) {
    for (u32 f = 0; f < COUNT_OF(exact); f++)
        for (u32 shared = 0; shared < 2; shared++) {
            fill_small();
            run_operation(&(operation){exact[f].call, 'f', 'f', exact[f].n}, in, y, shared);
            for (u32 i = 0; i < N; i++) {
                float want = exact[f].f(x[0][i], x[1][i], x[2][i]);
                if (bits_of(y[i]) != bits_of(want) && !(isnan(y[i]) && isnan(want)))
                    fail_msg("%s(%a, %a, %a) %s on %s = %a, not %a", exact[f].call, x[0][i], x[1][i], x[2][i],
                             flushing ? "flushed" : "kept", vgpu_isa(), y[i], want);
            }
        }
}
static void comparisons(void) {
    for (u32 p = 1; p < 7; p++)
        for (u32 shared = 0; shared < 2; shared++) {
            char name[3] = {'?', (char)('0' + p), 0};
            u8 out[N];
            fill_small();
            run_operation(&(operation){name, 'f', 'm', 2}, in, out, shared);
            for (u32 i = 0; i < N; i++) {
                float a = fl(x[0][i]), b = fl(x[1][i]);
                assert_int_equal(out[i], (p & 1 && a == b) || (p & 2 && a > b) || (p & 4 && a < b));
            }
        }
}
/* f16 subnormals are kept by loads, stores and arithmetic; those of bf16 are f32's. */
static void halves(void) {
    u16 h[2][N], out[N];
    float wide[N];
    void *const from[3] = {h[0], h[1], h[1]}, *const from_wide[3] = {x[0], x[1], x[1]};
    for (u32 i = 0; i < N; i++)
        h[0][i] = h[1][i] = (u16)(i + 1);                          /* f16: (i + 1) * 2^-24 */
    run_operation(&(operation){"+0", 'e', 'e', 2}, from, out, false);
    for (u32 i = 0; i < N; i++)
        assert_int_equal(out[i], 2 * (i + 1));
    run_operation(&(operation){">8", 'e', 'f', 1}, from, wide, false);
    for (u32 i = 0; i < N; i++)
        assert_true(wide[i] == ldexpf((float)(i + 1), -24));
    memcpy(x[0], wide, sizeof wide);
    run_operation(&(operation){">7", 'f', 'e', 1}, from_wide, out, false);
    for (u32 i = 0; i < N; i++)
        assert_int_equal(out[i], i + 1);
    run_operation(&(operation){"+0", 'g', 'g', 2}, from, out, false); /* bf16: (i + 1) * 2^-133 */
    for (u32 i = 0; i < N; i++)
        assert_int_equal(out[i], flushing && i + 1 < 0x40 ? 0 : flushing && i + 1 < 0x80 ? 0 : 2 * (i + 1));
    run_operation(&(operation){">8", 'g', 'f', 1}, from, wide, false); /* a move of bits */
    for (u32 i = 0; i < N; i++)
        assert_int_equal(bits_of(wide[i]), (i + 1) << 16);
}
static void lanes_together(void) {
    static const struct { const char *call; u32 kept; } rows[] = {
        {"air.simd_sum.f32", 32 * 16}, {"air.simd_max.f32", 16}, {"air.simd_prefix_inclusive_sum.f32", 16}};
    for (u32 r = 0; r < COUNT_OF(rows); r++) {
        for (u32 i = 0; i < N; i++)
            x[0][i] = 16 * 0x1p-149f;
        run_operation(&(operation){rows[r].call, 'f', 'f', 1}, in, y, false);
        bool moves = strstr(rows[r].call, "max") != NULL;
        assert_int_equal(bits_of(y[0]), flushing && !moves ? 0 : rows[r].kept);
    }
}
static void atomic_sums(void) {
    kit k;
    float at[2] = {0x1p-140f, 0}, value = 0x1p-140f;
    kit_begin(&k, 2, NULL, kit_f32);
    k.numerics = choice;
    air_value *a[] = {k.buffer[0], kit_load(&k, k.buffer[1]), kit_int(&k, k.i32, 0), kit_int(&k, k.i32, 2), kit_int(&k, k.i1, 1)};
    kit_call(&k, "air.atomic.global.add.f32", k.f32, 5, a);
    kit_ret(&k);
    kit_bind(&k, 0, at, sizeof at);
    kit_bind(&k, 1, &value, 4);
    assert_int_equal(kit_run(&k, 1, 1), 0);
    assert_true(at[0] == (flushing ? 0 : 0x1p-139f));
    kit_end(&k);
}
static void denormals(void) {
    each_mode(function_values);
    each_mode(function_values2);
    each_mode(ldexp_values);
    each_mode(exact_values);
    each_mode(comparisons);
    each_mode(halves);
    each_mode(lanes_together);
    each_mode(atomic_sums);
}

/* ---- fmuladd ----------------------------------------------------------------------------------------------- */
/* (1 + e)^2 - (1 + 2e) is e^2 when fused; e^2 is lost from a product that is rounded. */
static void fmuladds(void) {
    static const struct { const char *call; char type; u32 a, c, fused; bool open; } rows[] = {
        {"llvm.fmuladd.f32", 'f', 0x3F800800, 0xBF801000, 0x33800000, true},  /* e = 2^-12 */
        {"llvm.fmuladd.f16", 'e', 0x3C10, 0xBC20, 0x0C00, true},              /* e = 2^-6 */
        {"llvm.fmuladd.bf16", 'g', 0x3F88, 0xBF90, 0x3B80, true},             /* e = 2^-4 */
        {"air.fma.f32", 'f', 0x3F800800, 0xBF801000, 0x33800000, false},
    };
    for (u32 r = 0; r < COUNT_OF(rows); r++)
        for (u32 split = 0; split < 2; split++)
            for (u32 shared = 0; shared < 2; shared++) {
                u8 a[N * 4], c[N * 4], out[N * 4];
                u32 size = size_of(rows[r].type), got = 0;
                for (u32 i = 0; i < N; i++) {
                    memcpy(a + i * size, &rows[r].a, size);
                    memcpy(c + i * size, &rows[r].c, size);
                }
                choice = (vgpu_numerics){.fmuladd = (u8)split};
                run_operation(&(operation){rows[r].call, rows[r].type, rows[r].type, 3}, (void *[]){a, a, c}, out, shared);
                memcpy(&got, out + 5 * size, size);
                if (got != (split && rows[r].open ? 0 : rows[r].fused))
                    fail_msg("%s %s on %s: %x", rows[r].call, split ? "split" : "fused", vgpu_isa(), got);
            }
}

/* ---- Floats to integers -------------------------------------------------------------------------------------- */
static const float values[] = {
    0, -0.5f, -0.99f, 1.9f, -1, -1.5f, 127, 127.9f, 128, -128, -128.9f, -129, 255, 255.5f, 256, 300, -300, 32767.5f, 32768,
    -32768.9f, -32769, 65535.9f, 65536, 70000, 2147483520, 2147483648, -2147483648, -2147483904, 4294967040, 4294967296,
    1e10f, -1e10f, 9.2e18f, 0x1p63f, -0x1p63f, -0x1.2p63f, 0x1p64f, 0x1.8p64f, 0x1.234568p66f, 1e30f, -1e30f, INFINITY,
    -INFINITY, NAN};
static u64 clamped(double t, u32 bits, bool is_signed) {
    double top = ldexp(1, (int)bits - is_signed);
    u64 most = is_signed ? (1ull << (bits - 1)) - 1 : bits == 64 ? ~0ull : (1ull << bits) - 1;
    if (isnan(t) || (!is_signed && t < 0))
        return 0;
    if (t >= top)
        return most;
    return t < -top ? 1ull << (bits - 1) : t < 0 ? 0 - (u64)-t : (u64)t;
}
static u64 converted(float v, u32 bits, bool is_signed, u32 how) {
    double t = trunc((double)v), top = ldexp(1, (int)bits - is_signed), low = fmod(t, 0x1p64);
    switch (how) {
    case VGPU_convert_saturate: return clamped(t, bits, is_signed);
    case VGPU_convert_wide: return clamped(t, bits == 64 ? 64 : 32, is_signed);
    case VGPU_convert_wrap: return !isfinite(v) ? 0 : low < 0 ? 0 - (u64)-low : (u64)low;
    default: return t < top && t >= (is_signed ? -top : 0) ? clamped(t, bits, is_signed) : 0xA5A5A5A5A5A5A5A5ull;
    }
}
static void conversions(void) {
    static const struct { char type; u32 bits; } ints[] = {{'b', 8}, {'h', 16}, {'w', 32}, {'d', 64}};
    for (u32 t = 0; t < 4 * 2 * 4 * 2; t++) {
        bool is_signed = t & 1, shared = t & 2;
        u32 how = t >> 2 & 3, bits = ints[t >> 4].bits, size = bits / 8;
        char name[40];
        u64 out[N] = {0};
        snprintf(name, sizeof name, "air.convert.%c.i%u.f.f32", is_signed ? 's' : 'u', bits);
        choice = (vgpu_numerics){.convert = (u8)how};
        for (u32 i = 0; i < N; i++)
            x[0][i] = values[i % COUNT_OF(values)];
        run_operation(&(operation){name, 'f', ints[t >> 4].type, 1}, in, out, shared);
        for (u32 i = 0; i < N; i++) {
            u64 got = 0, want = converted(x[0][i], bits, is_signed, how) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
            memcpy(&got, (u8 *)out + i * size, size);
            if (got != want)
                fail_msg("%s(%a), choice %u, on %s = %llx, not %llx", name, x[0][i], how, vgpu_isa(),
                         (unsigned long long)got, (unsigned long long)want);
        }
    }
}

/* ---- Matrices ------------------------------------------------------------------------------------------------ */
static float half_value(u16 h) {
    _Float16 f;
    memcpy(&f, &h, 2);
    return (float)f;
}
static u16 half_bits(float f) {
    _Float16 h = (_Float16)f;
    u16 u;
    memcpy(&u, &h, 2);
    return u;
}
static float rounded(float f, bool half) { return half ? half_value(half_bits(f)) : f; }
static float product(const float *a, const float *b, float c, u32 order, bool half) {
    double wide = c;
    float p[8];
    for (u32 i = 0; i < 8; i++) {
        p[i] = a[i] * b[i * 8];
        wide += (double)a[i] * b[i * 8];
        if (order <= VGPU_matrix_stepwise)
            c = rounded(fmaf(a[i], b[i * 8], c), half && order == VGPU_matrix_stepwise);
    }
    if (order == VGPU_matrix_pairwise)
        c = (((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]))) + c;
    return rounded(order == VGPU_matrix_wide ? (float)wide : c, half);
}
static air_type *elem_half(kit *k, u32 i) { return k->f16; }
/* d = a * b + (a * b + c): two products, so that a run of them would be found. */
static void matrix_kernel(bool half, u32 order, void *const data[4]) {
    kit k;
    kit_begin(&k, 4, NULL, half ? elem_half : kit_f32);
    k.numerics = (vgpu_numerics){.matrix = (u8)order};
    air_type *mt = air_type_vector(k.m, half ? k.f16 : k.f32, 64), *v2 = air_type_vector(k.m, k.i64, 2);
    u64 zeros[2] = {0, 0};
    air_value *origin = air_const_data(k.m, v2, zeros, 16, false), *m[3];
    for (u32 i = 0; i < 3; i++) {
        air_value *load[] = {k.buffer[i], kit_int(&k, k.i64, 8), origin, kit_int(&k, k.i1, 0)};
        m[i] = kit_call(&k, half ? "air.simdgroup_matrix_8x8_load.v64f16.p1f16" : "air.simdgroup_matrix_8x8_load.v64f32.p1f32", mt, 4, load);
    }
    for (u32 i = 0; i < 2; i++)
        m[2] = kit_call(&k, half ? "air.simdgroup_matrix_8x8_multiply_accumulate.v64f16.v64f16.v64f16.v64f16"
                                 : "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32", mt, 3, m);
    air_value *store[] = {m[2], k.buffer[3], kit_int(&k, k.i64, 8), origin, kit_int(&k, k.i1, 0)};
    kit_call(&k, half ? "air.simdgroup_matrix_8x8_store.v64f16.p1f16" : "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k.none, 5, store);
    kit_ret(&k);
    for (u32 i = 0; i < 4; i++)
        kit_bind(&k, i, data[i], half ? 128 : 256);
    if (kit_run(&k, 1, 32) != 0)
        fail_msg("%s", k.ctx->first ? k.ctx->first->message : "?");
    kit_end(&k);
}
static void matrices(void) {
    for (u32 half = 0; half < 2; half++) {
        float a[3][64], d[4][64];
        u16 h[4][64];
        for (u32 i = 0; i < 3 * 64; i++) {
            h[i / 64][i % 64] = half_bits(((float)(kit_random() >> 8) * 0x1p-24f - 0.4f) * (i < 128 ? 8 : 1));
            a[i / 64][i % 64] = half ? half_value(h[i / 64][i % 64]) : ((float)(kit_random() >> 8) * 0x1p-23f - 1);
        }
        for (u32 order = 0; order < 4; order++) {
            void *const f32[] = {a[0], a[1], a[2], d[order]}, *const f16[] = {h[0], h[1], h[2], h[3]};
            matrix_kernel(half, order, half ? f16 : f32);
            for (u32 i = 0; i < 64; i++) {
                float got = half ? half_value(h[3][i]) : d[order][i], want = a[2][i];
                d[order][i] = got;
                for (u32 times = 0; times < 2; times++)
                    want = product(a[0] + i / 8 * 8, a[1] + i % 8, want, order, half);
                if (got != want)
                    fail_msg("order %u on %s: %a, not %a", order, vgpu_isa(), got, want);
            }
        }
        for (u32 p = 0; p < 4; p++)
            for (u32 q = 0; q < p; q++)
                if (half ? p == VGPU_matrix_stepwise || q == VGPU_matrix_stepwise : p > VGPU_matrix_stepwise)
                    assert_memory_not_equal(d[p], d[q], sizeof d[p]);
    }
}

/* ---- Lists of choices ---------------------------------------------------------------------------------------- */
static int parse(const char *list, vgpu_numerics *out) {
    tm_ctx *ctx = ctx_new();
    tm_status status = vgpu_numerics_parse(ctx, list, out);
    int code = ctx->first ? diag_number(ctx->first->code) : 0;
    assert_int_equal(status != 0, code != 0);
    if (code == 5908)
        assert_non_null(strstr(ctx->first->message, "denormals, fmuladd, convert, matrix"));
    if (code == 5909)
        assert_non_null(strstr(ctx->first->message, "flush, keep"));
    ctx_free(ctx);
    return code;
}
static void test_lists(void **state) {
    vgpu_numerics n;
    assert_int_equal(parse(NULL, &n) | parse("", &n), 0);
    assert_true(!n.denormals && !n.fmuladd && !n.convert && !n.matrix);
    assert_int_equal(parse("denormals=keep,matrix=wide", &n), 0);
    assert_true(n.denormals == VGPU_denormals_keep && n.matrix == VGPU_matrix_wide && !n.fmuladd && !n.convert);
    assert_int_equal(parse("denormals=keep,fmuladd=split,denormals=flush,", &n), 0); /* the last word counts */
    assert_true(!n.denormals && n.fmuladd == VGPU_fmuladd_split);
    static const struct { const char *list; int code; } wrong[] = {
        {"denormal=keep", 5908}, {"keep", 5908}, {"=keep", 5908}, {"fmuladd=split,all", 5908}, {",", 5908},
        {"denormals=kept", 5909}, {"denormals=", 5909}, {"denormals", 5909}, {"denormals=split", 5909},
        {"denormals=keep=keep", 5909}, {"fmuladd=split,denormals=keep ", 5909}};
    for (u32 i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(parse(wrong[i].list, &n), wrong[i].code);
}
static void test_listing_names_choices(void **state) {
    for (u32 d = 0; d < 2; d++) {
        kit k;
        text t = {0};
        kit_begin(&k, 1, NULL, kit_f32);
        kit_ret(&k);
        k.numerics.matrix = d ? VGPU_matrix_pairwise : 0;
        vgpu_kernel *g = kit_decode(&k);
        vgpu_print(&t, g);
        assert_int_equal(strstr(t.at, "matrix = pairwise") != NULL, d);
        assert_null(strstr(t.at, "denormals"));
        text_free(&t);
        vgpu_kernel_free(g);
        kit_end(&k);
    }
}
/* The check runs the kernel under the other choices, names those that matter, and leaves the first run's result. */
static void test_check(void **state) {
    for (u32 open = 0; open < 2; open++) {
        kit k;
        float a = 1 + 0x1p-12f, c = -1 - 0x1p-11f, out = 7;
        kit_begin(&k, 3, NULL, kit_f32);
        k.checks = (vgpu_checks){.numerics = true};
        air_value *v[] = {kit_load(&k, k.buffer[0]), kit_load(&k, k.buffer[0]), kit_load(&k, k.buffer[1])};
        kit_store(&k, k.buffer[2], kit_call(&k, open ? "llvm.fmuladd.f32" : "air.fma.f32", k.f32, 3, v));
        kit_ret(&k);
        kit_bind(&k, 0, &a, 4);
        kit_bind(&k, 1, &c, 4);
        kit_bind(&k, 2, &out, 4);
        assert_int_equal(kit_run(&k, 1, 32) != 0, open);
        assert_int_equal(kit_code(&k), open ? 3502 : 0);
        assert_true(!open || (strstr(k.ctx->first->message, "fmuladd=split") && k.ctx->count == 1));
        assert_true(out == 0x1p-24f);
        kit_end(&k);
    }
}
static void test_denormals(void **state) { kit_each_isa(denormals); }
static void test_fmuladd(void **state) { kit_each_isa(fmuladds); }
static void test_convert(void **state) { kit_each_isa(conversions); }
static void test_matrix(void **state) { kit_each_isa(matrices); }
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denormals), cmocka_unit_test(test_fmuladd), cmocka_unit_test(test_convert),
        cmocka_unit_test(test_matrix), cmocka_unit_test(test_check), cmocka_unit_test(test_lists), cmocka_unit_test(test_listing_names_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
