/* SPDX-License-Identifier: MIT */
/* Every elementwise operation on random and extreme operands against a scalar oracle, with all lanes,
 * one lane and random lanes active, lane and shared operands, on each instruction set. A lane that is
 * not active keeps what was there. */
#include "kit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct column { /* the operands of one run, as raw bits */
    u64 a[32], b[32], out[32];
} column;
typedef struct op_case {
    const char *name;
    u8 kind;              /* 'b' binop, 'c' cmp, 'x' cast, 'i' call with two operands */
    u8 sub;
    char from, to;        /* b h w d: ints; f: f32, e: f16, g: bf16, m: i1 as i8 */
    const char *call;
    u64 (*oracle)(u64 a, u64 b);
} op_case;

static air_type *type_of(kit *k, char c) {
    switch (c) {
    case 'b': case 'm': return k->i8;
    case 'h': return k->i16;
    case 'w': return k->i32;
    case 'd': return k->i64;
    case 'f': return k->f32;
    case 'e': return k->f16;
    default: return k->bf16;
    }
}
static u32 size_of(char c) { return c == 'b' || c == 'm' ? 1 : c == 'h' || c == 'e' || c == 'g' ? 2 : c == 'd' ? 8 : 4; }
static char elem_from, elem_to;
static air_type *elem(kit *k, u32 i) { return i == 2 ? type_of(k, elem_to) : i == 3 ? k->i32 : type_of(k, elem_from); }

static void pack(char t, u8 *at, const u64 *v) {
    for (u32 l = 0; l < 32; l++)
        memcpy(at + l * size_of(t), &v[l], size_of(t));
}
/* shared: bit 0: operand a is read at index 0 by every lane, bit 1: b */
static void run_case(const op_case *o, column *c, u32 mask, u32 shared) {
    kit k;
    elem_from = o->from;
    elem_to = o->to;
    kit_begin(&k, 4, NULL, elem);
    air_block *then = air_block_new(k.f), *join = air_block_new(k.f);
    air_value *m = kit_load(&k, k.buffer[3]);
    air_value *bit = kit_bin(&k, AIR_AND, kit_bin(&k, AIR_LSHR, m, k.lane), kit_int(&k, k.i32, 1));
    kit_cbr(&k, kit_cmp(&k, 33, bit, kit_int(&k, k.i32, 0)), then, join);
    k.at = then;
    air_value *zero = kit_int(&k, k.i32, 0);
    air_value *a = kit_load(&k, kit_at(&k, 0, shared & 1 ? zero : k.lane));
    air_value *b = kit_load(&k, kit_at(&k, 1, shared & 2 ? zero : k.lane)), *r;
    if (o->kind == 'b')
        r = kit_bin(&k, o->sub, a, b);
    else if (o->kind == 'c')
        r = kit_cast(&k, AIR_ZEXT, kit_cmp(&k, o->sub, a, b), k.i8);
    else if (o->kind == 'x')
        r = kit_cast(&k, o->sub, a, type_of(&k, o->to));
    else
        r = kit_call(&k, o->call, type_of(&k, o->to), 2, (air_value *[]){a, b});
    kit_store(&k, kit_at(&k, 2, k.lane), r);
    kit_br(&k, join);
    k.at = join;
    air_value *seen = kit_at(&k, 3, kit_bin(&k, AIR_ADD, k.lane, kit_int(&k, k.i32, 1)));
    kit_store(&k, seen, k.lane);
    kit_ret(&k);
    u8 abytes[256], bbytes[256], out[256];
    u32 masks[33] = {mask};
    memset(out, 0xA5, sizeof out);
    pack(o->from, abytes, c->a);
    pack(o->from, bbytes, c->b);
    kit_bind(&k, 0, abytes, 32 * size_of(o->from));
    kit_bind(&k, 1, bbytes, 32 * size_of(o->from));
    kit_bind(&k, 2, out, 32 * size_of(o->to));
    kit_bind(&k, 3, masks, sizeof masks);
    if (kit_run(&k, 1, 32) != 0)
        fail_msg("%s: %s", o->name, k.ctx->first ? k.ctx->first->message : "?");
    for (u32 l = 0; l < 32; l++) {
        c->out[l] = 0;
        memcpy(&c->out[l], out + l * size_of(o->to), size_of(o->to));
        if (masks[1 + l] != l)
            fail_msg("%s: lane %u did not arrive", o->name, l);
    }
    kit_end(&k);
}
static u64 ext(char t, u64 v, bool is_signed) {
    u32 bits = size_of(t) * 8;
    if (bits == 64)
        return v;
    v &= (1ull << bits) - 1;
    return is_signed && v >> (bits - 1) ? v | ~0ull << bits : v;
}
static float h2f(u64 h) {
    _Float16 x;
    u16 b = (u16)h;
    memcpy(&x, &b, 2);
    return (float)x;
}
static u64 f2h(float f) {
    _Float16 x = (_Float16)f;
    u16 b;
    memcpy(&b, &x, 2);
    return b;
}
static float f_of(char t, u64 v) {
    u32 u = t == 'g' ? (u32)v << 16 : (u32)v;
    float f;
    memcpy(&f, &u, 4);
    return t == 'e' ? h2f(v) : f;
}
static u64 f_to(char t, float f) {
    u32 u;
    memcpy(&u, &f, 4);
    if (t == 'e')
        return f2h(f);
    if (t == 'g')
        return f != f ? 0x7FC0 : (u + 0x7FFF + (u >> 16 & 1)) >> 16;
    return u;
}
static float flush(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f; }
/* A second opinion on every operation by its kind; false when the inputs leave it undefined. */
static bool expect(const op_case *o, u64 a, u64 b, u64 *r) {
    bool fp = strchr("feg", o->from) != NULL;
    if (o->oracle) {
        *r = o->oracle(a, b);
        return true;
    }
    if (o->kind == 'b' && fp) {
        float x = flush(f_of(o->from, a)), y = flush(f_of(o->from, b)), z;
        z = o->sub == AIR_ADD ? x + y : o->sub == AIR_SUB ? x - y : o->sub == AIR_MUL ? x * y : x / y;
        *r = f_to(o->to, flush(z));
        return true;
    }
    if (o->kind == 'b') {
        u32 bits = size_of(o->from) * 8;
        u64 x = ext(o->from, a, false), y = ext(o->from, b, false);
        i64 p = (i64)ext(o->from, a, true), q = (i64)ext(o->from, b, true);
        bool shift = o->sub >= AIR_SHL && o->sub <= AIR_ASHR;
        if (shift && y >= bits)
            return false;
        if (o->sub >= AIR_UDIV && o->sub <= AIR_SREM && y == 0)
            return false;
        if ((o->sub == AIR_SDIV || o->sub == AIR_SREM) && q == -1)
            return *r = o->sub == AIR_SDIV ? 0 - x : 0, true;
        switch (o->sub) {
        case AIR_ADD: *r = x + y; break;
        case AIR_SUB: *r = x - y; break;
        case AIR_MUL: *r = x * y; break;
        case AIR_UDIV: *r = x / y; break;
        case AIR_SDIV: *r = (u64)(p / q); break;
        case AIR_UREM: *r = x % y; break;
        case AIR_SREM: *r = (u64)(p % q); break;
        case AIR_SHL: *r = x << y; break;
        case AIR_LSHR: *r = x >> y; break;
        case AIR_ASHR: *r = (u64)(p >> y); break;
        case AIR_AND: *r = x & y; break;
        case AIR_OR: *r = x | y; break;
        default: *r = x ^ y;
        }
        return true;
    }
    if (o->kind == 'c' && fp) {
        float x = flush(f_of(o->from, a)), y = flush(f_of(o->from, b));
        bool un = x != x || y != y;
        bool lt = x < y, eq = x == y, gt = x > y;
        *r = (o->sub & 1 && eq) || (o->sub & 2 && gt) || (o->sub & 4 && lt) || (o->sub & 8 && un);
        return true;
    }
    u64 x = ext(o->from, a, false), y = ext(o->from, b, false);
    i64 p = (i64)ext(o->from, a, true), q = (i64)ext(o->from, b, true);
    bool t[] = {x == y, x != y, x > y, x >= y, x < y, x <= y, p > q, p >= q, p < q, p <= q};
    *r = t[o->sub - 32];
    return true;
}
static bool same(char t, u64 a, u64 b) {
    if (strchr("feg", t) && f_of(t, a) != f_of(t, a) && f_of(t, b) != f_of(t, b))
        return true;
    u64 keep = size_of(t) == 8 ? ~0ull : (1ull << size_of(t) * 8) - 1;
    return ((a ^ b) & keep) == 0;
}
static u64 operand(char t) {
    static const u64 edges[] = {0, 1, 2, 31, 63, ~0ull, 1ull << 63, 0x80000000, 0x7FFFFFFF, 0x8000, 0x7FFF,
                                0x80, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x00000001, 0x7C00, 0x3C00};
    if (kit_random() % 4 == 0)
        return edges[kit_random() % COUNT_OF(edges)];
    if (t == 'f' && kit_random() % 2) {
        float f = (float)(i32)kit_random() * 0x1p-28f;
        u32 u;
        memcpy(&u, &f, 4);
        return u;
    }
    return (u64)kit_random() << 32 | kit_random();
}
static const op_case *current;
static void each(void) {
    static const u32 masks[] = {~0u, 0, 1, 0x80000000u, 0x0FF1E2D3, 0x55555555};
    for (u32 m = 0; m < COUNT_OF(masks); m++) {
        column c;
        u32 shared = m < 4 ? m : 0;
        for (u32 l = 0; l < 32; l++) {
            c.a[l] = operand(current->from);
            c.b[l] = current->sub >= AIR_SHL && current->sub <= AIR_ASHR && current->kind == 'b'
                         ? kit_random() % (size_of(current->from) * 8) : operand(current->from);
        }
        run_case(current, &c, masks[m], shared);
        for (u32 l = 0; l < 32; l++) {
            u64 want = 0xA5A5A5A5A5A5A5A5ull, a = c.a[shared & 1 ? 0 : l], b = c.b[shared & 2 ? 0 : l];
            if (masks[m] >> l & 1 && !expect(current, a, b, &want))
                continue;
            if (!same(current->to, c.out[l], want))
                fail_msg("%s %c on %s: lane %u mask %08x shared %u: %llx op %llx = %llx, not %llx", current->name,
                         current->from, vgpu_isa(), l, masks[m], shared, (unsigned long long)a,
                         (unsigned long long)b, (unsigned long long)c.out[l], (unsigned long long)want);
        }
    }
}
static void run(const op_case *o) {
    current = o;
    kit_each_isa(each);
}

static void integers(void **state) {
    static const char *const names[] = {"add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor"};
    for (const char *t = "bhwd"; *t; t++)
        for (u32 s = AIR_ADD; s <= AIR_XOR; s++)
            run(&(op_case){names[s], 'b', (u8)s, *t, *t, NULL, NULL});
}
static void floats(void **state) {
    static const struct { const char *name; u8 sub; } ops[] = {{"fadd", AIR_ADD}, {"fsub", AIR_SUB}, {"fmul", AIR_MUL}, {"fdiv", AIR_SDIV}};
    for (const char *t = "feg"; *t; t++)
        for (u32 s = 0; s < COUNT_OF(ops); s++)
            run(&(op_case){ops[s].name, 'b', ops[s].sub, *t, *t, NULL, NULL});
}
static void comparisons(void **state) {
    for (const char *t = "bhwd"; *t; t++)
        for (u32 p = 32; p <= 41; p++)
            run(&(op_case){"icmp", 'c', (u8)p, *t, 'm', NULL, NULL});
    for (u32 p = 0; p < 16; p++)
        run(&(op_case){"fcmp", 'c', (u8)p, 'f', 'm', NULL, NULL});
}
static u64 zext_b(u64 a, u64 b) { return a & 0xFF; }
static u64 sext_b(u64 a, u64 b) { return ext('b', a, true); }
static u64 zext_w(u64 a, u64 b) { return (u32)a; }
static u64 sext_w(u64 a, u64 b) { return ext('w', a, true); }
static u64 id(u64 a, u64 b) { return a; }
static u64 half_up(u64 a, u64 b) { return f_to('f', f_of('e', a)); }
static u64 bfloat_up(u64 a, u64 b) { return (u32)a << 16; }
static u64 to_half(u64 a, u64 b) { return f_to('e', f_of('f', a)); }
static u64 to_bfloat(u64 a, u64 b) { return f_to('g', f_of('f', a)); }
static void casts(void **state) {
    static const op_case list[] = {
        {"zext", 'x', AIR_ZEXT, 'b', 'w', NULL, zext_b}, {"sext", 'x', AIR_SEXT, 'b', 'w', NULL, sext_b},
        {"zext", 'x', AIR_ZEXT, 'b', 'd', NULL, zext_b}, {"sext", 'x', AIR_SEXT, 'b', 'd', NULL, sext_b},
        {"sext", 'x', AIR_SEXT, 'b', 'h', NULL, sext_b},
        {"zext", 'x', AIR_ZEXT, 'w', 'd', NULL, zext_w}, {"sext", 'x', AIR_SEXT, 'w', 'd', NULL, sext_w},
        {"trunc", 'x', AIR_TRUNC, 'd', 'w', NULL, id},   {"trunc", 'x', AIR_TRUNC, 'd', 'b', NULL, id},
        {"trunc", 'x', AIR_TRUNC, 'w', 'h', NULL, id},   {"bitcast", 'x', AIR_BITCAST, 'w', 'f', NULL, id},
        {"bitcast", 'x', AIR_BITCAST, 'f', 'w', NULL, id}, {"bitcast", 'x', AIR_BITCAST, 'g', 'h', NULL, id},
        {"fpext", 'x', AIR_FPEXT, 'e', 'f', NULL, half_up}, {"fpext", 'x', AIR_FPEXT, 'g', 'f', NULL, bfloat_up},
        {"fptrunc", 'x', AIR_FPTRUNC, 'f', 'e', NULL, to_half}, {"fptrunc", 'x', AIR_FPTRUNC, 'f', 'g', NULL, to_bfloat},
    };
    for (u32 i = 0; i < COUNT_OF(list); i++)
        run(&list[i]);
}
static u64 o_smin_w(u64 a, u64 b) { return (i32)a < (i32)b ? a : b; }
static u64 o_umax_b(u64 a, u64 b) { return MAX(a & 0xFF, b & 0xFF); }
static u64 o_smax_d(u64 a, u64 b) { return (i64)a > (i64)b ? a : b; }
static u64 o_mulhi_u(u64 a, u64 b) { return (u64)(u32)a * (u32)b >> 32; }
static u64 o_mulhi_s(u64 a, u64 b) { return (u64)((i64)(i32)a * (i32)b >> 32); }
static u64 o_mulhi_d(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
static u64 o_usub(u64 a, u64 b) { return (u32)a > (u32)b ? (u32)a - (u32)b : 0; }
static u64 o_fmax(u64 a, u64 b) {
    float x = f_of('f', a), y = f_of('f', b);
    return y != y ? a : x != x ? b : flush(x) > flush(y) ? a : b;
}
static void calls(void **state) {
    static const op_case list[] = {
        {"smin", 'i', 0, 'w', 'w', "llvm.smin.i32", o_smin_w}, {"umax8", 'i', 0, 'b', 'b', "air.max.u.i8", o_umax_b},
        {"smax64", 'i', 0, 'd', 'd', "air.max.s.i64", o_smax_d}, {"mulhi", 'i', 0, 'w', 'w', "air.mul_hi.u.i32", o_mulhi_u},
        {"mulhis", 'i', 0, 'w', 'w', "air.mul_hi.s.i32", o_mulhi_s}, {"mulhi64", 'i', 0, 'd', 'd', "air.mul_hi.u.i64", o_mulhi_d},
        {"usub", 'i', 0, 'w', 'w', "llvm.usub.sat.i32", o_usub}, {"fmax", 'i', 0, 'f', 'f', "air.fmax.f32", o_fmax},
    };
    for (u32 i = 0; i < COUNT_OF(list); i++)
        run(&list[i]);
}
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers), cmocka_unit_test(floats),
                                       cmocka_unit_test(comparisons), cmocka_unit_test(casts), cmocka_unit_test(calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
