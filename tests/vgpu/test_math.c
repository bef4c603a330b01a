/* SPDX-License-Identifier: MIT */
/* Accuracy of the f32 functions against libm in f64, in units of the last place, on each instruction
 * set; the limits are those that vops.def states. */
#include "kit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static double rsqrt_d(double x) { return 1 / sqrt(x); }
static double round_d(double x) { return copysign(floor(fabs(x) + 0.5), x); }
static double sinpi_d(double x) { return sin(fmod(x, 2) * 3.14159265358979323846); }
static const struct fn {
    const char *name;
    double (*f)(double);
    float lo, hi;
    double ulp;
} fns[] = {
    {"air.exp.f32", exp, -87, 88, 2},         {"air.fast_exp.f32", exp, -20, 5, 2},
    {"air.exp2.f32", exp2, -125, 127, 2},     {"air.log.f32", log, 1e-30f, 1e30f, 2},
    {"air.log.f32", log, 0.5f, 2, 2},         {"air.log2.f32", log2, 1e-30f, 1e30f, 2},
    {"air.log2.f32", log2, 0.5f, 2, 2.5},     {"air.sin.f32", sin, -8000, 8000, 2},
    {"air.cos.f32", cos, -8000, 8000, 2},     {"air.sin.f32", sin, -4, 4, 2},
    {"air.sin.f32", sin, 1e4f, 1e9f, 1},      {"air.tanh.f32", tanh, -10, 10, 4},
    {"air.tanh.f32", tanh, -0.7f, 0.7f, 4},   {"air.rsqrt.f32", rsqrt_d, 1e-20f, 1e20f, 1.5},
    {"air.sqrt.f32", sqrt, 0, 1e30f, 0.5},    {"air.floor.f32", floor, -1e5f, 1e5f, 0},
    {"air.ceil.f32", ceil, -100, 100, 0},     {"air.rint.f32", rint, -100, 100, 0},
    {"air.round.f32", round_d, -100, 100, 0}, {"air.trunc.f32", trunc, -100, 100, 0},
    {"air.tan.f32", tan, -1.5f, 1.5f, 1},     {"air.sinpi.f32", sinpi_d, -5, 5, 1},
};
static double ulps(float got, double want) {
    if (isnan(want))
        return isnan(got) ? 0 : 1e9;
    float w = (float)want;
    if (got == w)
        return 0;
    if (!isfinite(w))
        return 1e9;
    double size = ldexp(1, ilogb(fabs(want) < 0x1p-126 ? 0x1p-126 : want) - 23);
    return fabs(got - want) / size;
}
enum { N = 4096 };
static float in[N], out[N];
static void eval(const char *name) {
    kit k;
    kit_begin(&k, 2, NULL, kit_f32);
    air_value *i = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.group, kit_int(&k, k.i32, 32)), k.lane);
    air_value *x = kit_load(&k, kit_at(&k, 0, i));
    kit_store(&k, kit_at(&k, 1, i), kit_call(&k, name, k.f32, 1, &x));
    kit_ret(&k);
    kit_bind(&k, 0, in, sizeof in);
    kit_bind(&k, 1, out, sizeof out);
    assert_int_equal(kit_run(&k, N / 32, 32), 0);
    kit_end(&k);
}
static void accuracy(void) {
    for (u32 f = 0; f < COUNT_OF(fns); f++) {
        bool wide = fns[f].lo > 0 && fns[f].hi / fns[f].lo > 1000;
        for (u32 i = 0; i < N; i++) {
            double u = (kit_random() >> 8) * 0x1p-24;
            in[i] = (float)(wide ? fns[f].lo * pow(fns[f].hi / fns[f].lo, u) : fns[f].lo + (fns[f].hi - fns[f].lo) * u);
            if (strstr(fns[f].name, "rint") && i % 4 == 0)
                in[i] = floorf(in[i]) + 0.5f;
        }
        eval(fns[f].name);
        double worst = 0;
        for (u32 i = 0; i < N; i++) {
            double want = fns[f].f(in[i]), e = ulps(out[i], want);
            if (fabs(want) < 1e-6 && strstr(fns[f].name, "sin")) /* near a root: absolute error counts */
                e = fabs(out[i] - want) / 0x1p-23;
            if (fabs(in[i]) > 4 && strstr("air.sin.f32 air.cos.f32", fns[f].name) && fabs(want) < 1e-3)
                e = fabs(out[i] - want) / 0x1p-33;
            worst = fmax(worst, e);
            if (e > fns[f].ulp)
                fail_msg("%s(%a) on %s = %a, not %a: %.2f ulp", fns[f].name, in[i], vgpu_isa(), out[i], want, e);
        }
    }
}
static void edges(void) {
    static const float x[] = {0, -0.0f, INFINITY, -INFINITY, NAN, -1, 1e30f, -1e30f};
    static const struct { const char *name; double (*f)(double); } e[] = {
        {"air.exp.f32", exp}, {"air.exp2.f32", exp2}, {"air.log.f32", log}, {"air.log2.f32", log2},
        {"air.sin.f32", sin}, {"air.tanh.f32", tanh}, {"air.sqrt.f32", sqrt}, {"air.rsqrt.f32", rsqrt_d},
        {"air.floor.f32", floor}, {"air.rint.f32", rint}};
    for (u32 f = 0; f < COUNT_OF(e); f++) {
        memset(in, 0, sizeof in);
        memcpy(in, x, sizeof x);
        eval(e[f].name);
        for (u32 i = 0; i < COUNT_OF(x); i++)
            if (ulps(out[i], e[f].f(x[i])) > 1)
                fail_msg("%s(%g) on %s = %g, not %g", e[f].name, x[i], vgpu_isa(), out[i], e[f].f(x[i]));
    }
}
/* A lane's value does not depend on what the others compute. */
static void neighbours(void) {
    static const char *const names[] = {"air.sin.f32", "air.cos.f32"};
    static float alone[N];
    for (u32 f = 0; f < COUNT_OF(names); f++) {
        for (u32 i = 0; i < N; i++)
            in[i] = (float)i * 0.37f;
        eval(names[f]);
        memcpy(alone, out, sizeof out);
        for (u32 i = 0; i < N; i += 4)
            in[i] = 1e6f;
        eval(names[f]);
        for (u32 i = 0; i < N; i++)
            if (i % 4)
                assert_true(out[i] == alone[i]);
    }
}
static void test_accuracy(void **state) { kit_each_isa(accuracy); }
static void test_edges(void **state) { kit_each_isa(edges); }
static void test_neighbours(void **state) { kit_each_isa(neighbours); }
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
