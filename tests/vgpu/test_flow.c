/* SPDX-License-Identifier: MIT */
/* Control flow under divergence, memory of all kinds, barriers, lanes talking to each other, and what
 * is reported when a kernel does wrong. Each test runs on every instruction set of the host. */
#include "kit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define I32(v) kit_int(&k, k.i32, (u64)(v))
static air_inst *phi(kit *k, air_type *t, u32 n, air_value *const *v, air_block *const *from) {
    air_inst *i = kit_add(k, AIR_PHI, t, n, v);
    i->n_blocks = n;
    i->blocks = ARENA_ARRAY(k->m->arena, air_block *, n);
    memcpy(i->blocks, from, n * sizeof *from);
    return i;
}
static void run_ok(kit *k, u32 groups, u32 threads) {
    if (kit_run(k, groups, threads) != 0)
        fail_msg("%s: %s", vgpu_isa(), k->ctx->first ? k->ctx->first->message : "?");
}

/* i = lane; n = 0; while (i != 1) { i = odd ? 3 i + 1 : i / 2; n++ }: every lane leaves at its own time,
 * with a branch inside, and what was computed before the loop is used after it. */
static void collatz(void) {
    kit k;
    u32 in[64], out[64];
    kit_begin(&k, 2, NULL, kit_i32);
    air_block *entry = k.at, *head = air_block_new(k.f), *body = air_block_new(k.f), *odd = air_block_new(k.f),
              *even = air_block_new(k.f), *latch = air_block_new(k.f), *done = air_block_new(k.f);
    air_value *gid = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.simd, I32(32)), k.lane);
    air_value *start = kit_load(&k, kit_at(&k, 0, gid)), *before = kit_bin(&k, AIR_MUL, start, I32(1000));
    kit_br(&k, head);
    k.at = head;
    air_value *dummy[] = {start, start}, *zero[] = {I32(0), I32(0)};
    air_inst *x = phi(&k, k.i32, 2, dummy, (air_block *[]){entry, latch});
    air_inst *n = phi(&k, k.i32, 2, zero, (air_block *[]){entry, latch});
    kit_cbr(&k, kit_cmp(&k, 32, &x->v, I32(1)), done, body);
    k.at = body;
    air_value *bit = kit_bin(&k, AIR_AND, &x->v, I32(1));
    kit_cbr(&k, kit_cmp(&k, 33, bit, I32(0)), odd, even);
    k.at = odd;
    air_value *up = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, &x->v, I32(3)), I32(1));
    kit_br(&k, latch);
    k.at = even;
    air_value *down = kit_bin(&k, AIR_LSHR, &x->v, I32(1));
    kit_br(&k, latch);
    k.at = latch;
    air_inst *next = phi(&k, k.i32, 2, (air_value *[]){up, down}, (air_block *[]){odd, even});
    air_value *more = kit_bin(&k, AIR_ADD, &n->v, I32(1));
    kit_br(&k, head);
    x->ops[1] = &next->v;
    n->ops[1] = more;
    k.at = done;
    kit_store(&k, kit_at(&k, 1, gid), kit_bin(&k, AIR_ADD, before, &n->v));
    kit_ret(&k);
    for (u32 i = 0; i < 64; i++)
        in[i] = i + 1;
    kit_bind(&k, 0, in, sizeof in);
    kit_bind(&k, 1, out, sizeof out);
    run_ok(&k, 1, 50);
    for (u32 i = 0; i < 50; i++) {
        u32 c = in[i], steps = 0;
        for (; c != 1; steps++)
            c = c & 1 ? 3 * c + 1 : c / 2;
        assert_int_equal(out[i], in[i] * 1000 + steps);
    }
    kit_end(&k);
}
/* a, b = b, a in a loop: phi copies that form a cycle, with lane and with shared values. */
static void swap_loop(void) {
    kit k;
    u32 in[1] = {5}, out[64];
    kit_begin(&k, 2, NULL, kit_i32);
    air_block *entry = k.at, *head = air_block_new(k.f), *done = air_block_new(k.f);
    air_value *times = kit_load(&k, k.buffer[0]), *ten = kit_bin(&k, AIR_MUL, times, I32(2));
    kit_br(&k, head);
    k.at = head;
    air_block *from[] = {entry, head};
    air_value *z = I32(0);
    air_inst *a = phi(&k, k.i32, 2, (air_value *[]){k.lane, z}, from);
    air_inst *b = phi(&k, k.i32, 2, (air_value *[]){I32(77), z}, from);
    air_inst *p = phi(&k, k.i32, 2, (air_value *[]){times, z}, from);
    air_inst *q = phi(&k, k.i32, 2, (air_value *[]){ten, z}, from);
    air_inst *i = phi(&k, k.i32, 2, (air_value *[]){I32(0), z}, from);
    air_value *next = kit_bin(&k, AIR_ADD, &i->v, I32(1));
    kit_cbr(&k, kit_cmp(&k, 36, next, times), head, done);
    a->ops[1] = &b->v;
    b->ops[1] = &a->v;
    p->ops[1] = &q->v;
    q->ops[1] = &p->v;
    i->ops[1] = next;
    k.at = done;
    kit_store(&k, kit_at(&k, 1, k.lane), kit_bin(&k, AIR_ADD, &a->v, kit_bin(&k, AIR_MUL, &p->v, I32(1000))));
    kit_store(&k, kit_at(&k, 1, kit_bin(&k, AIR_ADD, k.lane, I32(32))), &b->v);
    kit_ret(&k);
    kit_bind(&k, 0, in, sizeof in);
    kit_bind(&k, 1, out, sizeof out);
    run_ok(&k, 1, 32);
    for (u32 l = 0; l < 32; l++) {
        assert_int_equal(out[l], l + 5 * 1000);
        assert_int_equal(out[32 + l], 77);
    }
    kit_end(&k);
}
/* Lanes return early one group after the other; the rest still meet at the barrier. Each simdgroup
 * writes threadgroup memory that the next one reads. */
static void barrier_rounds(void) {
    kit k;
    u32 out[256];
    const u32 spaces[] = {3, 1};
    kit_begin(&k, 2, spaces, kit_i32);
    air_value *gid = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.simd, I32(32)), k.lane);
    kit_store(&k, kit_at(&k, 0, gid), kit_bin(&k, AIR_MUL, gid, I32(3)));
    kit_call(&k, "air.wg.barrier", k.none, 2, (air_value *[]){I32(2), I32(1)});
    air_value *other = kit_bin(&k, AIR_XOR, gid, I32(0xE1));
    air_value *got = kit_load(&k, kit_at(&k, 0, other));
    kit_call(&k, "air.wg.barrier", k.none, 2, (air_value *[]){I32(2), I32(1)});
    air_block *on = air_block_new(k.f), *end = air_block_new(k.f);
    kit_cbr(&k, kit_cmp(&k, 36, k.lane, I32(20)), on, end);
    k.at = on;
    kit_store(&k, kit_at(&k, 1, gid), got);
    kit_br(&k, end);
    k.at = end;
    kit_ret(&k);
    memset(out, 0, sizeof out);
    kit_bind(&k, 0, NULL, 1024);
    kit_bind(&k, 1, out, sizeof out);
    run_ok(&k, 1, 256);
    for (u32 i = 0; i < 256; i++)
        assert_int_equal(out[i], i % 32 < 20 ? (i ^ 0xE1) * 3 : 0);
    kit_end(&k);
}
/* A barrier in a branch that one lane of each simdgroup takes, and a simdgroup that ends before it: an
 * error, or a meeting of simdgroups, as the check says. */
static void loose_barriers(void) {
    for (u32 strict = 0; strict < 2; strict++) {
        kit k;
        u32 out[96] = {0};
        const u32 spaces[] = {3, 1};
        kit_begin(&k, 2, spaces, kit_i32);
        k.checks.barriers = strict;
        air_block *on = air_block_new(k.f), *first = air_block_new(k.f), *join = air_block_new(k.f),
                  *end = air_block_new(k.f);
        kit_cbr(&k, kit_cmp(&k, 32, k.simd, I32(2)), end, on);
        k.at = on;
        kit_cbr(&k, kit_cmp(&k, 32, k.lane, I32(0)), first, join);
        k.at = first;
        kit_store(&k, kit_at(&k, 0, k.simd), kit_bin(&k, AIR_ADD, k.simd, I32(7)));
        kit_call(&k, "air.wg.barrier", k.none, 2, (air_value *[]){I32(0), I32(1)});
        kit_br(&k, join);
        k.at = join;
        air_value *got = kit_load(&k, kit_at(&k, 0, kit_bin(&k, AIR_XOR, k.simd, I32(1))));
        kit_store(&k, kit_at(&k, 1, kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.simd, I32(32)), k.lane)), got);
        kit_br(&k, end);
        k.at = end;
        kit_ret(&k);
        kit_bind(&k, 0, NULL, 16);
        kit_bind(&k, 1, out, sizeof out);
        if (strict) {
            assert_int_equal(kit_run(&k, 1, 96), -1);
            assert_int_equal(kit_code(&k), 3201);
        } else {
            run_ok(&k, 1, 96);
            for (u32 i = 0; i < 96; i++)
                assert_int_equal(out[i], i < 32 ? 8 : i < 64 ? 7 : 0);
        }
        kit_end(&k);
    }
}
/* The last threadgroup of a ragged grid has fewer threads, and fewer simdgroups; a barrier waits for
 * those that there are. */
static void ragged_grid(void) {
    kit k;
    u32 out[192] = {0};
    kit_begin(&k, 1, NULL, kit_i32);
    k.grid_threads = 150;
    air_value *at = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.group, I32(64)),
                            kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.simd, I32(32)), k.lane));
    kit_call(&k, "air.wg.barrier", k.none, 2, (air_value *[]){I32(2), I32(1)});
    kit_store(&k, kit_at(&k, 0, at), I32(1));
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    run_ok(&k, 3, 64);
    for (u32 i = 0; i < 192; i++)
        assert_int_equal(out[i], i < 150);
    k.grid_threads = 128; /* two threadgroups would do */
    assert_int_equal(kit_run(&k, 3, 64), -1);
    assert_int_equal(kit_code(&k), 5001);
    kit_end(&k);
}
static void shuffles(void) {
    static const struct { const char *name; u32 arg, kind; } list[] = {
        {"air.simd_shuffle_xor.u.i32", 5, 0},  {"air.simd_shuffle_down.u.i32", 3, 1},
        {"air.simd_shuffle_up.u.i32", 7, 2},   {"air.simd_shuffle.u.i32", 9, 3},
        {"air.quad_shuffle_xor.u.i32", 1, 0},  {"air.simd_shuffle_rotate_down.u.i32", 4, 4}};
    for (u32 c = 0; c < COUNT_OF(list); c++) {
        kit k;
        u32 in[32], out[32];
        kit_begin(&k, 2, NULL, kit_i32);
        air_value *args[] = {kit_load(&k, kit_at(&k, 0, k.lane)), kit_int(&k, k.i16, list[c].arg)};
        kit_store(&k, kit_at(&k, 1, k.lane), kit_call(&k, list[c].name, k.i32, 2, args));
        kit_ret(&k);
        for (u32 l = 0; l < 32; l++)
            in[l] = kit_random();
        kit_bind(&k, 0, in, sizeof in);
        kit_bind(&k, 1, out, sizeof out);
        run_ok(&k, 1, 32);
        for (u32 l = 0; l < 32; l++) {
            u32 a = list[c].arg, from = list[c].kind == 0 ? l ^ a : list[c].kind == 1 ? (l + a < 32 ? l + a : l)
                    : list[c].kind == 2 ? (l >= a ? l - a : l) : list[c].kind == 3 ? a : (l + a) % 32;
            assert_int_equal(out[l], in[from]);
        }
        kit_end(&k);
    }
}
/* Reductions and prefixes of the lanes below a limit only. */
static void reductions(void) {
    static const char *const names[] = {"air.simd_sum.s.i32", "air.simd_max.s.i32", "air.simd_min.u.i32",
                                        "air.simd_prefix_inclusive_sum.s.i32", "air.simd_prefix_exclusive_sum.s.i32"};
    for (u32 limit = 1; limit <= 32; limit += limit == 1 ? 10 : 21)
        for (u32 c = 0; c < COUNT_OF(names); c++) {
            kit k;
            i32 in[32], out[64];
            kit_begin(&k, 2, NULL, kit_i32);
            air_block *then = air_block_new(k.f), *end = air_block_new(k.f);
            air_value *v = kit_load(&k, kit_at(&k, 0, k.lane));
            kit_cbr(&k, kit_cmp(&k, 36, k.lane, I32(limit)), then, end);
            k.at = then;
            kit_store(&k, kit_at(&k, 1, k.lane), kit_call(&k, names[c], k.i32, 1, &v));
            kit_br(&k, end);
            k.at = end;
            kit_store(&k, kit_at(&k, 1, kit_bin(&k, AIR_ADD, k.lane, I32(32))), v);
            kit_ret(&k);
            for (u32 l = 0; l < 32; l++)
                in[l] = (i32)kit_random();
            kit_bind(&k, 0, in, sizeof in);
            kit_bind(&k, 1, out, sizeof out);
            run_ok(&k, 1, 32);
            u32 sum = 0, prefix = 0;
            i32 top = in[0];
            u32 low = (u32)in[0];
            for (u32 l = 0; l < limit; l++) {
                sum += (u32)in[l];
                top = MAX(top, in[l]);
                low = MIN(low, (u32)in[l]);
            }
            for (u32 l = 0; l < limit; l++) {
                u32 before = prefix;
                prefix += (u32)in[l];
                u32 want[] = {sum, (u32)top, low, prefix, before};
                assert_int_equal((u32)out[l], want[c]);
                assert_int_equal(out[32 + l], in[l]);
            }
            kit_end(&k);
        }
}
/* Thread memory: a table of four written with shared indices, read with lane indices. */
static void thread_memory(void) {
    kit k;
    u32 out[32];
    kit_begin(&k, 1, NULL, kit_i32);
    air_type *table = air_type_array(k.m, k.i16, 4);
    air_value *one = I32(1);
    air_inst *a = kit_add(&k, AIR_ALLOCA, air_type_ptr(k.m, table, 0), 1, &one);
    a->aux = table;
    air_type *p16 = air_type_ptr(k.m, k.i16, 0);
    for (u32 i = 0; i < 4; i++) {
        air_inst *g = kit_add(&k, AIR_GEP, p16, 3, (air_value *[]){&a->v, kit_int(&k, k.i64, 0), kit_int(&k, k.i64, i)});
        g->aux = table;
        air_value *v = kit_cast(&k, AIR_TRUNC, kit_bin(&k, AIR_ADD, k.lane, I32(i * 100)), k.i16);
        kit_store(&k, &g->v, v);
    }
    air_value *at = kit_cast(&k, AIR_ZEXT, kit_bin(&k, AIR_AND, k.lane, I32(3)), k.i64);
    air_inst *g = kit_add(&k, AIR_GEP, p16, 3, (air_value *[]){&a->v, kit_int(&k, k.i64, 0), at});
    g->aux = table;
    kit_store(&k, kit_at(&k, 0, k.lane), kit_cast(&k, AIR_ZEXT, kit_load(&k, &g->v), k.i32));
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    run_ok(&k, 1, 32);
    for (u32 l = 0; l < 32; l++)
        assert_int_equal(out[l], l + l % 4 * 100);
    kit_end(&k);
}
/* c += a * b through both forms of the loads and a store, transposed a. */
/* Matrix constants name the elements of each lane: two in a row. */
static void matrix_constants(void) {
    for (u32 whole = 0; whole < 2; whole++) {
        kit k;
        float d[64] = {0}, all[64];
        kit_begin(&k, 1, NULL, kit_f32);
        air_type *mt = air_type_vector(k.m, k.f32, 64), *v2 = air_type_vector(k.m, k.i64, 2);
        air_value *elems[64];
        for (u32 i = 0; i < 64; i++) {
            all[i] = i % 2 ? 7 : 3;
            elems[i] = air_const_poison(k.m, k.f32);
        }
        elems[0] = air_const_float(k.m, k.f32, 0x40400000);
        elems[1] = air_const_float(k.m, k.f32, 0x40E00000);
        air_value *c = whole ? air_const_data(k.m, mt, all, sizeof all, false) : air_const_aggregate(k.m, mt, 64, elems);
        u64 zeros[2] = {0, 0};
        air_value *s[] = {c, k.buffer[0], kit_int(&k, k.i64, 8), air_const_data(k.m, v2, zeros, 16, false),
                          kit_int(&k, k.i1, 0)};
        kit_call(&k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k.none, 5, s);
        kit_ret(&k);
        kit_bind(&k, 0, d, sizeof d);
        run_ok(&k, 1, 32);
        for (u32 i = 0; i < 64; i++)
            assert_true(d[i] == (i % 2 ? 7 : 3));
        kit_end(&k);
    }
}
static void matrices(void) {
    for (u32 form = 0; form < 2; form++) {
        kit k;
        float a[64], b[64], c[64], d[64];
        kit_begin(&k, 4, NULL, kit_f32);
        air_type *mt = air_type_vector(k.m, k.f32, 64), *v2 = air_type_vector(k.m, k.i64, 2);
        air_value *m[3];
        for (u32 i = 0; i < 3; i++) {
            u64 flip = i == 0;
            u64 zeros[2] = {0, 0}, dims[2] = {8, 8}, strides[2] = {flip ? 8 : 1, flip ? 1 : 8};
            air_value *o = air_const_data(k.m, v2, zeros, 16, false);
            air_value *oldform[] = {k.buffer[i], kit_int(&k, k.i64, 8), o, kit_int(&k, k.i1, flip)};
            air_value *newform[] = {k.buffer[i], air_const_data(k.m, v2, dims, 16, false),
                                    air_const_data(k.m, v2, strides, 16, false), o};
            m[i] = kit_call(&k, "air.simdgroup_matrix_8x8_load.v64f32.p1f32", mt, 4, form ? newform : oldform);
        }
        air_value *r = kit_call(&k, "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32", mt, 3, m);
        /* through the lanes' own elements and back, which must change nothing */
        u32 pick[2] = {0, 1};
        air_type *two = air_type_vector(k.m, k.f32, 2), *mask2 = air_type_vector(k.m, k.i32, 2);
        air_value *own = &kit_add(&k, AIR_SHUFFLE, two, 3, (air_value *[]){r, air_const_undef(k.m, mt), air_const_data(k.m, mask2, pick, 8, false)})->v;
        u32 spread[64] = {0, 1};
        r = &kit_add(&k, AIR_SHUFFLE, mt, 3, (air_value *[]){own, air_const_undef(k.m, two), air_const_data(k.m, air_type_vector(k.m, k.i32, 64), spread, 256, false)})->v;
        u64 zeros[2] = {0, 0};
        air_value *s[] = {r, k.buffer[3], kit_int(&k, k.i64, 8), air_const_data(k.m, v2, zeros, 16, false), kit_int(&k, k.i1, 0)};
        kit_call(&k, "air.simdgroup_matrix_8x8_store.v64f32.p1f32", k.none, 5, s);
        kit_ret(&k);
        for (u32 i = 0; i < 64; i++) {
            a[i] = (float)(i32)(kit_random() % 19) - 9;
            b[i] = (float)(i32)(kit_random() % 19) - 9;
            c[i] = (float)i;
        }
        kit_bind(&k, 0, a, sizeof a);
        kit_bind(&k, 1, b, sizeof b);
        kit_bind(&k, 2, c, sizeof c);
        kit_bind(&k, 3, d, sizeof d);
        run_ok(&k, 1, 32);
        for (u32 i = 0; i < 8; i++)
            for (u32 j = 0; j < 8; j++) {
                float want = c[i * 8 + j];
                for (u32 e = 0; e < 8; e++)
                    want += a[e * 8 + i] * b[e * 8 + j];
                assert_true(d[i * 8 + j] == want);
            }
        kit_end(&k);
    }
}
/* All threads of many threadgroups add to one counter and take the maximum in another. */
static void atomics(void) {
    kit k;
    u32 out[2] = {0, 0}, old[64 * 64];
    kit_begin(&k, 2, NULL, kit_i32);
    air_value *gid = kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.group, I32(64)), kit_bin(&k, AIR_ADD, kit_bin(&k, AIR_MUL, k.simd, I32(32)), k.lane));
    air_value *tail[] = {I32(0), I32(2), kit_int(&k, k.i1, 1)};
    air_value *was = kit_call(&k, "air.atomic.global.add.u.i32", k.i32, 5, (air_value *[]){k.buffer[0], I32(1), tail[0], tail[1], tail[2]});
    kit_call(&k, "air.atomic.global.max.u.i32", k.i32, 5, (air_value *[]){kit_at(&k, 0, I32(1)), gid, tail[0], tail[1], tail[2]});
    kit_store(&k, kit_at(&k, 1, was), gid);
    kit_ret(&k);
    memset(old, 0xFF, sizeof old);
    kit_bind(&k, 0, out, sizeof out);
    kit_bind(&k, 1, old, sizeof old);
    run_ok(&k, 64, 64);
    assert_int_equal(out[0], 64 * 64);
    assert_int_equal(out[1], 64 * 64 - 1);
    for (u32 i = 0; i < 64 * 64; i++)
        assert_true(old[i] < 64 * 64); /* every old value was seen once */
    kit_end(&k);
}
static u32 reader_spaces[] = {2, 1};
/* what: 0 load past the end, 1 store past the end, 2 store to constant memory, 3 unbound, 4 wild pointer,
 * 5 divergent barrier, 6 mismatched barriers, 7 endless loop; the kernel is fine but for lanes >= 30. */
static int misbehave(u32 what, text *note) {
    kit k;
    u32 in[32] = {0}, out[32] = {0}, guard[4] = {1, 2, 3, 4};
    kit_begin(&k, 2, what == 2 ? reader_spaces : NULL, kit_i32);
    air_value *v = kit_load(&k, kit_at(&k, 0, kit_bin(&k, AIR_ADD, k.lane, I32(what == 0 ? 2 : 0))));
    kit_store(&k, kit_at(&k, 1, kit_bin(&k, AIR_ADD, k.lane, I32(what == 1 ? 2 : 0))), v);
    if (what == 2)
        kit_store(&k, kit_at(&k, 0, k.lane), v);
    if (what == 4) {
        air_value *p = kit_cast(&k, AIR_INTTOPTR, kit_cast(&k, AIR_ZEXT, k.lane, k.i64), k.buffer[0]->type);
        kit_store(&k, kit_at(&k, 1, k.lane), kit_load(&k, p));
    }
    if (what == 5 || what == 6) {
        air_block *then = air_block_new(k.f), *end = air_block_new(k.f);
        kit_cbr(&k, what == 5 ? kit_cmp(&k, 36, k.lane, I32(30)) : kit_cmp(&k, 36, k.simd, I32(1)), then, end);
        k.at = then;
        kit_call(&k, "air.wg.barrier", k.none, 2, (air_value *[]){I32(2), I32(1)});
        kit_br(&k, end);
        k.at = end;
        kit_store(&k, kit_at(&k, 1, k.lane), v);
    }
    if (what == 7) {
        air_block *loop = air_block_new(k.f);
        kit_br(&k, loop);
        k.at = loop;
        kit_cbr(&k, kit_cmp(&k, 37, k.lane, I32(40)), loop, air_block_new(k.f));
        k.at = k.f->last;
    }
    kit_ret(&k);
    kit_bind(&k, 0, in, sizeof in);
    kit_bind(&k, 1, out, sizeof out);
    if (what == 3)
        k.args[0].kind = TM_ARG_UNBOUND;
    int failed = kit_run(&k, 2, 64), code = kit_code(&k);
    if (note && k.ctx->first) {
        text_puts(note, k.ctx->first->message);
        text_puts(note, k.ctx->first->note ? k.ctx->first->note : "");
    }
    assert_true((failed != 0) == (code != 0));
    assert_int_equal(guard[0] + guard[3], 5);
    kit_end(&k);
    return code;
}
static void errors(void) {
    static const int codes[] = {3101, 3101, 3104, 3103, 3102, 3201, 3202, 3401};
    for (u32 w = 0; w < COUNT_OF(codes); w++)
        if (misbehave(w, NULL) != codes[w])
            fail_msg("%s: case %u gives %d, not %d", vgpu_isa(), w, misbehave(w, NULL), codes[w]);
    assert_int_equal(misbehave(99, NULL), 0);
    text t = {0};
    misbehave(1, &t);
    assert_non_null(strstr(t.at, "'b'"));
    assert_non_null(strstr(t.at, "byte offset 128"));
    assert_non_null(strstr(t.at, "threadgroup (0, 0, 0), simdgroup 0, lanes 30-31"));
    text_free(&t);
}
static void refusals(void) {
    kit k;
    kit_begin(&k, 1, NULL, kit_i32);
    kit_call(&k, "air.sample_texture_2d.v4f32", k.none, 1, (air_value *[]){k.lane});
    kit_ret(&k);
    assert_null(kit_decode(&k));
    assert_int_equal(kit_code(&k), 3001);
    assert_non_null(strstr(k.ctx->first->message, "air.sample_texture_2d.v4f32"));
    kit_end(&k);
}
/* A value all lanes share while they are together, read after a loop that they leave at different times:
 * v = *c; *c = v + 1; leave when v >= lane. Each lane keeps the v it left with. */
static void left_at_different_times(void) {
    kit k;
    u32 counter[1] = {0}, out[32];
    kit_begin(&k, 2, NULL, kit_i32);
    air_block *loop = air_block_new(k.f), *done = air_block_new(k.f);
    kit_br(&k, loop);
    k.at = loop;
    air_value *v = kit_load(&k, k.buffer[0]);
    kit_store(&k, k.buffer[0], kit_bin(&k, AIR_ADD, v, I32(1)));
    kit_cbr(&k, kit_cmp(&k, 35, v, k.lane), done, loop);
    k.at = done;
    kit_store(&k, kit_at(&k, 1, k.lane), v);
    kit_ret(&k);
    kit_bind(&k, 0, counter, sizeof counter);
    kit_bind(&k, 1, out, sizeof out);
    run_ok(&k, 1, 32);
    for (u32 l = 0; l < 32; l++)
        assert_int_equal(out[l], l);
    kit_end(&k);
}
/* A name that no host has is refused, not passed over. */
static void test_unknown_isa(void **state) {
    kit k;
    u32 out[32];
    kit_begin(&k, 1, NULL, kit_i32);
    kit_store(&k, kit_at(&k, 0, k.lane), k.lane);
    kit_ret(&k);
    kit_bind(&k, 0, out, sizeof out);
    setenv("TRITON_METAL_ISA", "mmx", 1);
    assert_string_equal(vgpu_isa(), "none");
    assert_int_equal(kit_run(&k, 1, 32), -1);
    assert_int_equal(kit_code(&k), 5925);
    setenv("TRITON_METAL_ISA", "", 1);
    assert_int_equal(kit_run(&k, 1, 32), 0);
    unsetenv("TRITON_METAL_ISA");
    kit_end(&k);
}
#define TEST(name)                                                                                 \
    static void test_##name(void **state) { kit_each_isa(name); }
TEST(collatz) TEST(swap_loop) TEST(barrier_rounds) TEST(loose_barriers) TEST(ragged_grid) TEST(shuffles) TEST(reductions)
TEST(thread_memory) TEST(matrices) TEST(matrix_constants) TEST(atomics) TEST(errors) TEST(refusals)
TEST(left_at_different_times)
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collatz),   cmocka_unit_test(test_swap_loop),     cmocka_unit_test(test_barrier_rounds),
        cmocka_unit_test(test_shuffles),  cmocka_unit_test(test_reductions),    cmocka_unit_test(test_thread_memory),
        cmocka_unit_test(test_matrices),  cmocka_unit_test(test_atomics),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_matrix_constants), cmocka_unit_test(test_loose_barriers), cmocka_unit_test(test_ragged_grid),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_left_at_different_times),
        cmocka_unit_test(test_unknown_isa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
