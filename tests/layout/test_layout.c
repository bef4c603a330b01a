/* SPDX-License-Identifier: MIT */
/* Judges the linear-layout algebra against brute force: random maps, every holder of random
 * layouts, every element of conversions simulated for all threads of a threadgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "layout/layout.h"

static u64 rng_state = 1;
static u32 rnd(u32 n) { /* 0..n-1 */
    rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(rng_state >> 33) % n;
}

static gf2_map random_map(u32 n_in, u32 n_out) {
    gf2_map m = {.n_in = (u8)n_in, .n_out = (u8)n_out};
    for (u32 i = 0; i < n_in; i++)
        m.col[i] = rnd(1u << n_out);
    return m;
}

/* A bijective linear map as a product of random column additions and swaps. */
static gf2_map random_bijection(u32 bits) {
    gf2_map m = {.n_in = (u8)bits, .n_out = (u8)bits};
    for (u32 i = 0; i < bits; i++)
        m.col[i] = 1u << i;
    for (u32 i = 0; bits > 1 && i < 4 * bits; i++) {
        u32 a = rnd(bits), b = rnd(bits);
        if (a == b)
            continue;
        u32 t = m.col[a];
        if (rnd(2)) {
            m.col[a] = m.col[b];
            m.col[b] = t;
        } else {
            m.col[a] ^= m.col[b];
        }
    }
    return m;
}

static void gf2_maps_obey_their_laws(void **state) {
    for (u32 round = 0; round < 400; round++) {
        u32 n = 1 + rnd(8), k = 1 + rnd(8);
        gf2_map a = random_map(k, n);
        bool hit[256] = {0};
        u32 image = 0;
        for (u32 x = 0; x < 1u << k; x++) {
            u32 y = gf2_apply(&a, x);
            image += !hit[y];
            hit[y] = true;
        }
        assert_int_equal(1u << gf2_rank(&a), image);
        assert_int_equal(gf2_is_surjective(&a), image == 1u << n);
        gf2_span span = gf2_image(&a);
        for (u32 y = 0; y < 1u << n; y++) { /* what reaches y, where something does */
            u32 x = 0;
            assert_int_equal(gf2_span_reduce(&span, y, &x) == 0, hit[y]);
            assert_int_equal(gf2_span_has(&span, y), hit[y]);
            assert_true(!hit[y] || gf2_apply(&a, x) == y);
        }
    }
}

static layout random_blocked(u32 rank, const i64 *shape, u32 warp_bits) {
    u8 order[LAYOUT_MAX_RANK], per[LAYOUT_MAX_RANK];
    for (u32 d = 0; d < rank; d++) {
        order[d] = (u8)d;
        per[d] = (u8)rnd(3);
    }
    for (u32 d = rank; d-- > 1;) {
        u32 j = rnd(d + 1);
        u8 t = order[d];
        order[d] = order[j];
        order[j] = t;
    }
    return layout_blocked(rank, shape, order, per, warp_bits);
}

static u32 random_shape(i64 *shape, u32 max_rank, u32 max_bits) {
    u32 rank = 1 + rnd(max_rank);
    for (u32 d = 0; d < rank; d++)
        shape[d] = 1 << rnd(max_bits / rank + 1);
    return rank;
}

/* Any layout that covers: a blocked or fragment one with its index bits mixed. */
static layout random_layout(u32 rank, const i64 *shape, u32 warp_bits) {
    layout l = rank >= 2 && rnd(3) == 0
                   ? layout_fragment(rank, shape, rnd(warp_bits + 1), 0, warp_bits)
                   : random_blocked(rank, shape, warp_bits);
    if (rnd(2)) {
        gf2_map mix = random_bijection(layout_flat_bits(&l));
        for (u32 in = 0; in < LAYOUT_INS; in++)
            for (u32 i = 0; i < l.in_bits[in]; i++)
                l.base[in][i] = gf2_apply(&mix, l.base[in][i]);
    }
    return layout_canonical(&l);
}

static void constructors_cover_the_tensor(void **state) {
    for (u32 round = 0; round < 500; round++) {
        i64 shape[LAYOUT_MAX_RANK];
        u32 rank = random_shape(shape, 4, 12), warps = rnd(6);
        layout l = random_blocked(rank, shape, warps);
        u32 count = 1u << layout_flat_bits(&l);
        u8 *seen = calloc(count, 1);
        for (u32 w = 0; w < 1u << warps; w++)
            for (u32 lane = 0; lane < 32; lane++)
                for (u32 r = 0; r < layout_regs(&l); r++)
                    seen[layout_index(&l, r, lane, w)] = 1;
        for (u32 i = 0; i < count; i++)
            assert_int_equal(seen[i], 1);
        free(seen);
        assert_true(layout_covers(&l));
        layout c = layout_canonical(&l);
        assert_true(layout_equal(&c, &l)); /* blocked never repeats a register */
        if (rank >= 2) {
            u32 rows = rnd(warps + 1), columns = rnd(warps - rows + 1);
            layout f = layout_fragment(rank, shape, rows, columns, warps);
            assert_true(layout_covers(&f));
        }
    }
}

static void blocked_vectors_come_first(void **state) {
    const i64 shape[] = {64, 128};
    const u8 order[] = {1, 0}, per[] = {0, 2};
    layout l = layout_blocked(2, shape, order, per, 2);
    assert_int_equal(layout_index(&l, 3, 0, 0), 3);
    assert_int_equal(layout_index(&l, 0, 1, 0), 4);
    assert_int_equal(layout_index(&l, 0, 31, 0), 124);
    assert_int_equal(layout_index(&l, 0, 0, 1), 128);
    assert_int_equal(layout_regs(&l), 64);
    const i64 small[] = {16};
    const u8 one[] = {0}, none[] = {0};
    layout s = layout_blocked(1, small, one, none, 2);
    assert_int_equal(layout_regs(&s), 1);
    assert_int_equal(layout_free_mask(&s, LAYOUT_LANE), 16);
    assert_int_equal(layout_free_mask(&s, LAYOUT_WARP), 3);
}

static void fragments_follow_the_formula(void **state) {
    const i64 shape[] = {2, 32, 64};
    layout l = layout_fragment(3, shape, 1, 1, 3);
    assert_true(layout_is_fragment(&l));
    assert_int_equal(layout_regs(&l), 2 * 4 * 2); /* e, 4 of 8 column tiles, 2 of 4 row tiles */
    for (u32 lane = 0; lane < 32; lane++)
        for (u32 e = 0; e < 2; e++) {
            u32 row = (lane / 2) % 4 + 4 * (lane / 16);
            u32 column = 2 * (lane % 2) + 4 * ((lane / 8) % 2) + e;
            assert_int_equal(layout_index(&l, e, lane, 0), row * 64 + column);
        }
    assert_int_equal(layout_index(&l, 0, 0, 1), 8 * 64); /* warps: rows, columns, leading */
    assert_int_equal(layout_index(&l, 0, 0, 2), 8);
    assert_int_equal(layout_index(&l, 0, 0, 4), 32 * 64);
    assert_int_equal(layout_index(&l, 2, 0, 0), 16); /* registers: column tiles, row tiles */
    assert_int_equal(layout_index(&l, 8, 0, 0), 16 * 64);
    const u8 order[] = {1, 0}, per[] = {0, 2};
    layout b = layout_blocked(2, shape + 1, order, per, 2);
    assert_false(layout_is_fragment(&b));
}

/* The coordinates of a flat index, dimension 0 first. */
static void unflatten(const layout *l, u32 flat, u32 *at) {
    for (u32 d = l->rank; d-- > 0;) {
        at[d] = flat & ((1u << l->dim_bits[d]) - 1u);
        flat >>= l->dim_bits[d];
    }
}
static u32 flatten(const layout *l, const u32 *at) {
    u32 flat = 0;
    for (u32 d = 0; d < l->rank; d++)
        flat = flat << l->dim_bits[d] | at[d];
    return flat;
}

static void shape_ops_agree_with_coordinates(void **state) {
    for (u32 round = 0; round < 300; round++) {
        i64 shape[LAYOUT_MAX_RANK], projected[LAYOUT_MAX_RANK], flat_shape[1];
        u32 rank = random_shape(shape, 4, 10), warps = rnd(4), drop = rnd(rank);
        layout l = random_layout(rank, shape, warps);
        u8 order[LAYOUT_MAX_RANK];
        for (u32 d = 0; d < rank; d++)
            order[d] = (u8)((d + round) % rank);
        for (u32 d = 0; d < rank; d++)
            projected[d] = rnd(2) ? 1 : shape[d];
        flat_shape[0] = 1 << layout_flat_bits(&l);
        layout t = layout_trans(&l, order), back = layout_trans_back(&t, order);
        layout dropped = layout_drop_dim(&l, drop), p = layout_project(&l, projected);
        layout flat = layout_reshape(&l, 1, flat_shape);
        assert_true(layout_equal(&back, &l));
        for (u32 i = 0; i < 64; i++) {
            u32 r = rnd(layout_regs(&l)), lane = rnd(32), w = rnd(1u << warps), at[16], to[16];
            u32 index = layout_index(&l, r, lane, w);
            assert_int_equal(layout_index(&flat, r, lane, w), index);
            unflatten(&l, index, at);
            for (u32 d = 0; d < rank; d++)
                to[d] = at[order[d]];
            assert_int_equal(layout_index(&t, r, lane, w), flatten(&t, to));
            for (u32 d = 0; d < rank; d++)
                to[d] = projected[d] == 1 ? 0 : at[d];
            assert_int_equal(layout_index(&p, r, lane, w), flatten(&p, to));
            for (u32 d = 0, k = 0; d < rank; d++)
                if (d != drop)
                    to[k++] = at[d];
            assert_int_equal(layout_index(&dropped, r, lane, w), flatten(&dropped, to));
        }
        gf2_map kept;
        layout c = layout_canonical_kept(&dropped, &kept);
        gf2_map regs = layout_part(&c, LAYOUT_REG);
        assert_int_equal(gf2_rank(&regs), regs.n_in);
        for (u32 r = 0; r < layout_regs(&c); r++)
            assert_int_equal(layout_index(&c, r, 0, 0),
                             layout_index(&dropped, gf2_apply(&kept, r), 0, 0));
        if (layout_covers(&l))
            assert_true(layout_covers(&c));
    }
}

static void free_bits_are_replication(void **state) {
    for (u32 round = 0; round < 200; round++) {
        i64 shape[LAYOUT_MAX_RANK];
        u32 rank = random_shape(shape, 3, 8), warps = rnd(4);
        layout l = random_layout(rank, shape, warps);
        u32 lanes = layout_free_mask(&l, LAYOUT_LANE), ws = layout_free_mask(&l, LAYOUT_WARP);
        u32 holders[256] = {0};
        for (u32 w = 0; w < 1u << warps; w++)
            for (u32 lane = 0; lane < 32; lane++)
                for (u32 r = 0; r < layout_regs(&l); r++)
                    if ((lane & lanes) == 0 && (w & ws) == 0)
                        holders[layout_index(&l, r, lane, w)]++;
        for (u32 i = 0; i < 1u << layout_flat_bits(&l); i++)
            assert_int_equal(holders[i], 1);
    }
}

static u32 kinds_seen[4];

static void check_map(const layout *s, const layout *d, const gf2_map *m) {
    u32 regs = s->in_bits[LAYOUT_REG], dregs = d->in_bits[LAYOUT_REG];
    for (u32 w = 0; w < 1u << d->in_bits[LAYOUT_WARP]; w++)
        for (u32 lane = 0; lane < 32; lane++)
            for (u32 r = 0; r < layout_regs(d); r++) {
                u32 x = gf2_apply(m, r | lane << dregs | w << (dregs + 5));
                assert_int_equal(layout_index(s, x & ((1u << regs) - 1), x >> regs, w),
                                 layout_index(d, r, lane, w));
            }
}

/* The recipe of layout.h, executed for all lanes of each warp. */
static void check_shuffles(const layout *s, const layout *d, const shuffle_plan *p) {
    u32 dregs = d->in_bits[LAYOUT_REG];
    static u32 x[32][1024], t[32][1024];
    for (u32 w = 0; w < 1u << d->in_bits[LAYOUT_WARP]; w++) {
        u32 high = w << (dregs + 5);
        for (u32 lane = 0; lane < 32; lane++)
            for (u32 r = 0; r < layout_regs(s); r++)
                x[lane][r] =
                    layout_index(s, r ^ gf2_apply(&p->send, lane << dregs | high), lane, w);
        for (u32 lane = 0; lane < 32; lane++)
            for (u32 r = 0; r < layout_regs(d); r++) {
                u32 from = gf2_apply(&p->from, r | lane << dregs | high);
                if (p->xor_lanes)
                    assert_int_equal(from, lane ^ gf2_apply(&p->from, r));
                t[lane][r] = x[from][gf2_apply(&p->send, r)];
            }
        for (u32 lane = 0; lane < 32; lane++)
            for (u32 r = 0; r < layout_regs(d); r++)
                assert_int_equal(t[lane][r ^ gf2_apply(&p->pick, lane)],
                                 layout_index(d, r, lane, w));
    }
}

static void check_conversion(const layout *s, const layout *d) {
    gf2_map m;
    shuffle_plan plan;
    enum convert_kind kind = layout_convert_kind(s, d);
    kinds_seen[kind]++;
    if (kind != CONVERT_THREADGROUP) {
        assert_true(layout_convert_map(s, d, &m));
        check_map(s, d, &m);
        u32 regs = s->in_bits[LAYOUT_REG], dregs = d->in_bits[LAYOUT_REG];
        for (u32 i = 0; kind <= CONVERT_REGISTERS && i < m.n_in; i++)
            assert_int_equal(m.col[i] >> regs, i >= dregs && i < dregs + 5 ? 1u << (i - dregs) : 0);
    }
    assert_int_equal(layout_shuffle_plan(s, d, &plan), kind == CONVERT_SHUFFLE);
    if (kind == CONVERT_SHUFFLE)
        check_shuffles(s, d, &plan);
}

static void conversions_move_every_element(void **state) {
    memset(kinds_seen, 0, sizeof kinds_seen);
    for (u32 round = 0; round < 1500; round++) {
        i64 shape[LAYOUT_MAX_RANK];
        u32 rank = random_shape(shape, 3, 10), warps = rnd(3);
        layout s = random_layout(rank, shape, warps), d = random_layout(rank, shape, warps);
        if (rnd(2)) { /* same warps: more chances for shuffles */
            d = s;
            for (u32 i = 0; i < 6; i++) {
                u32 a = rnd(d.in_bits[LAYOUT_REG] + 5u), b = rnd(d.in_bits[LAYOUT_REG] + 5u);
                u32 *pa = a < 5 ? &d.base[LAYOUT_LANE][a] : &d.base[LAYOUT_REG][a - 5];
                u32 *pb = b < 5 ? &d.base[LAYOUT_LANE][b] : &d.base[LAYOUT_REG][b - 5];
                u32 t = *pa;
                *pa = *pb;
                *pb = t;
            }
            d = layout_canonical(&d);
        }
        check_conversion(&s, &d);
        if (layout_equal(&s, &d))
            assert_int_equal(layout_hash(&s), layout_hash(&d));
    }
    for (u32 kind = 0; kind < 4; kind++)
        assert_true(kinds_seen[kind] > 5);
}

static void a_fragment_becomes_operand_a_in_registers(void **state) {
    const i64 s_shape[] = {64, 32}, o_shape[] = {64, 128};
    layout s = layout_fragment(2, s_shape, 2, 0, 2), o = layout_fragment(2, o_shape, 2, 0, 2);
    layout a = layout_dot_operand(&o, 0, s_shape);
    assert_true(layout_convert_kind(&s, &a) <= CONVERT_REGISTERS);
    const i64 k_shape[] = {32, 128};
    layout b = layout_dot_operand(&o, 1, k_shape);
    assert_true(layout_is_fragment(&a) && layout_is_fragment(&b));
    assert_int_equal(layout_free_mask(&b, LAYOUT_WARP), 3);
    layout b_expected = layout_fragment(2, k_shape, 0, 0, 2);
    assert_true(layout_equal(&b, &b_expected));
}

/* For every thread, the rows of a and columns of b it needs are the ones it has, with all of K. */
static void dot_operands_match_the_result(void **state) {
    for (u32 round = 0; round < 200; round++) {
        u32 rank = 2 + rnd(2), lead = rank - 2, warps = rnd(4);
        i64 m = 1 << rnd(7), n = 1 << rnd(7), k = 1 << rnd(6), batch = 1 << rnd(3);
        bool unit = rnd(2);
        if (unit) {
            m = m < 8 ? 8 : m;
            n = n < 8 ? 8 : n;
            k = k < 8 ? 8 : k;
        }
        i64 cs[] = {batch, m, n}, as[] = {batch, m, k}, bs[] = {batch, k, n};
        u32 skip = 1 - lead, rows = rnd(warps + 1);
        layout c = unit ? layout_fragment(rank, cs + skip, rows, warps - rows, warps)
                        : random_blocked(rank, cs + skip, warps);
        layout a = layout_dot_operand(&c, 0, as + skip), b = layout_dot_operand(&c, 1, bs + skip);
        assert_true(layout_covers(&a) && layout_covers(&b));
        for (u32 w = 0; w < 1u << warps; w++)
            for (u32 lane = 0; lane < 32; lane += 5) {
                u32 seen = 0, wanted = 0, at[3];
                static u8 has_a[1 << 16], has_b[1 << 16];
                memset(has_a, 0, (size_t)1 << layout_flat_bits(&a));
                memset(has_b, 0, (size_t)1 << layout_flat_bits(&b));
                /* On the matrix unit a whole simdgroup shares its tiles. */
                for (u32 l = unit ? 0 : lane; l < (unit ? 32 : lane + 1); l++) {
                    for (u32 r = 0; r < layout_regs(&a); r++)
                        has_a[layout_index(&a, r, l, w)] = 1;
                    for (u32 r = 0; r < layout_regs(&b); r++)
                        has_b[layout_index(&b, r, l, w)] = 1;
                }
                for (u32 r = 0; r < layout_regs(&c); r++) {
                    unflatten(&c, layout_index(&c, r, lane, w), at);
                    u32 row = at[lead], column = at[lead + 1];
                    for (u32 kk = 0; kk < k; kk++) {
                        at[lead] = row, at[lead + 1] = kk;
                        seen += has_a[flatten(&a, at)];
                        at[lead] = kk, at[lead + 1] = column;
                        seen += has_b[flatten(&b, at)];
                        wanted += 2;
                    }
                }
                assert_int_equal(seen, wanted);
            }
    }
}

static void layouts_print_as_coordinates(void **state) {
    const i64 shape[] = {2, 4};
    const u8 order[] = {1, 0}, per[] = {0, 1};
    layout l = layout_blocked(2, shape, order, per, 1);
    text t = {0};
    layout_print(&t, &l);
    assert_string_equal(t.at,
                        "{register = [[0, 1]], lane = [[0, 2], [1, 0], [0, 0], [0, 0], [0, 0]], "
                        "warp = [[0, 0]], block = []}");
    text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gf2_maps_obey_their_laws),
        cmocka_unit_test(constructors_cover_the_tensor),
        cmocka_unit_test(blocked_vectors_come_first),
        cmocka_unit_test(fragments_follow_the_formula),
        cmocka_unit_test(shape_ops_agree_with_coordinates),
        cmocka_unit_test(free_bits_are_replication),
        cmocka_unit_test(conversions_move_every_element),
        cmocka_unit_test(a_fragment_becomes_operand_a_in_registers),
        cmocka_unit_test(dot_operands_match_the_result),
        cmocka_unit_test(layouts_print_as_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
