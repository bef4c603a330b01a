/* SPDX-License-Identifier: MIT */
/* The shadow of memory against a model that knows nothing of blocks, pages and deferred loads: one cell per
 * granule, each access granule by granule. Random accesses (rows, rows of rows, lanes in any order) by several
 * simdgroups and threadgroups; both must see the same races and the same unwritten memory. */
#include "vgpu/check/check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BYTES = 1024, SIMDS = 3, GROUPS = 3, SEGS = SEG_ARG0 + 1 };

typedef struct side { bool there, atomic, simds, groups; u32 group, epoch, simd; } side;
typedef struct model {
    side write[BYTES], read[BYTES];
    bool written[BYTES], raced[BYTES]; /* raced: in this access */
} model;
typedef struct who { u32 group, epoch, simd; u8 act; bool device; } who;

static bool same_time(const side *s, const who *w) { return s->group == w->group && s->epoch == w->epoch; }
static void age(side *s, const who *w) { /* threadgroup memory: an epoch ends everything */
    if (!w->device && !same_time(s, w))
        *s = (side){0};
}
static bool clash(const side *s, const who *w) {
    if (!s->there)
        return false;
    if (s->groups || s->group != w->group)
        return true;
    return s->epoch == w->epoch && (s->simd != w->simd || s->simds);
}
/* One granule; true for a race. */
static bool model_touch(model *m, u32 i, const who *w) {
    side *write = &m->write[i], *read = &m->read[i];
    age(write, w);
    age(read, w);
    bool race = clash(write, w) && !(w->act == ACT_ATOMIC && write->atomic);
    race |= w->act != ACT_LOAD && clash(read, w);
    side now = {.there = true, .group = w->group, .epoch = w->epoch, .simd = w->simd};
    if (w->act == ACT_LOAD) {
        bool time = read->there && same_time(read, w);
        now.simds = time && (read->simd != w->simd || read->simds);
        now.groups = read->there && (read->groups || read->group != w->group);
        *read = now;
        return race;
    }
    now.atomic = w->act == ACT_ATOMIC;
    if (now.atomic && write->there && !write->atomic && write->group == w->group && (w->device || write->simd == w->simd))
        return race; /* a plain store of its own stays one */
    now.simds = now.atomic && write->there && write->atomic && same_time(write, w) &&
                (write->simd != w->simd || write->simds);
    *write = now;
    return race;
}
static bool model_range(model *m, const who *w, u32 granule, u32 from, u32 size, bool *unwritten) {
    bool race = false;
    for (u32 i = from >> granule; i <= (from + size - 1) >> granule; i++) {
        *unwritten |= w->act != ACT_STORE && !m->written[i];
        m->written[i] |= w->act != ACT_LOAD;
        m->raced[i] |= model_touch(m, i, w);
        race |= m->raced[i];
    }
    return race;
}

typedef struct world {
    vgpu_kernel kernel;
    vseg segs[SEGS];
    vparam param;
    u8 *memory;
    vcheck *v;
    vwatch watch;
    vctx ctx;
    model *m;
    u32 granule;
} world;
static const vrecord *record_of(const vcheck *v, u8 kind) {
    for (u32 i = 0; i < v->n_records; i++)
        if (v->records[i].kind == kind)
            return &v->records[i];
    return NULL;
}
static u32 below(u32 n) { return (u32)rand() % n; }

static void world_open(world *w, u32 granule, u32 skew) {
    memset(w, 0, sizeof *w);
    w->granule = granule;
    w->memory = calloc(1, BYTES + 64);
    w->m = calloc(1, sizeof *w->m);
    w->kernel = (vgpu_kernel){.name = "random", .n_segs = SEGS, .granule = granule,
                              .checks = {.races = true, .uninit = true}};
    w->segs[SEG_THREADGROUP] = (vseg){w->memory - VGPU_BIAS, VGPU_BIAS, BYTES, false, false};
    w->segs[SEG_ARG0] = (vseg){w->memory + skew - VGPU_BIAS, VGPU_BIAS, BYTES - skew, false, false};
    w->v = vcheck_new(&w->kernel);
    w->v->watch = &w->watch;
    w->ctx = (vctx){.k = &w->kernel, .segs = w->segs, .check = w->v};
    assert_true(vcheck_begin(w->v, w->segs, &(tm_launch_params){.grid = {GROUPS, 1, 1}}, GROUPS));
}
static void world_close(world *w) {
    vcheck_free(w->v);
    free(w->memory);
    free(w->m);
}
/* One access by w at random; both tell whether it raced, and whether it read what was never written. */
static void one_access(world *w, who *a, u32 skew) {
    u64 start = VGPU_PTR(a->device ? SEG_ARG0 : SEG_THREADGROUP, 0), address[VGPU_LANES];
    u32 room = BYTES - (a->device ? skew : 0), unit = 1u << w->granule;
    bool unwritten = false, race = false;
    w->v->n_records = 0;
    memset(w->m->raced, 0, sizeof w->m->raced);
    u32 back = a->device ? skew : 0; /* the model counts from the first byte of the memory */
    w->ctx.index = a->simd;
    vspan s = {.c = &w->ctx, .site = 7, .lanes = ~0u, .per_lane = unit << below(3), .rows = 1, .act = a->act};
    if (below(2)) { /* rows */
        s.rows = 1 + below(8);
        s.size = (u64)unit * (1 + below(24));
        s.stride = (i64)unit * below(16);
        u32 reach = (u32)(s.size + s.stride * (s.rows - 1)), from = below((room - reach) / unit) * unit;
        s.address = start + from;
        if (below(2)) { /* from the last row to the first */
            s.address += (u64)s.stride * (s.rows - 1);
            s.stride = -s.stride;
        }
        for (u32 r = 0; r < s.rows; r++)
            race |= model_range(w->m, a, w->granule, back + (u32)(s.address - start + (u64)s.stride * r), (u32)s.size,
                                &unwritten);
        shadow_rows(w->v, &s);
    } else {
        bool up = below(2);
        u32 step = s.per_lane + (below(2) ? 0 : unit * below(3)), from = below((room - step * VGPU_LANES) / unit) * unit;
        s.lanes = up ? ~0u : 1u | ((u32)rand() << 1);
        for (u32 l = 0; l < VGPU_LANES; l++)
            address[l] = start + from + (u64)step * (up ? l : below(VGPU_LANES));
        for (u32 l = 0; l < VGPU_LANES; l++)
            if (s.lanes >> l & 1)
                race |= model_range(w->m, a, w->granule, back + (u32)(address[l] - start), s.per_lane, &unwritten);
        s.lane_address = address;
        s.address = address[0];
        s.size = s.per_lane;
        shadow_lanes(w->v, &s, up);
    }
    const vrecord *found = record_of(w->v, FOUND_RACE);
    assert_int_equal(found != NULL, race);
    assert_true(!found || w->m->raced[(back + (found->address - start)) >> w->granule]);
    if (!a->device)
        assert_int_equal(record_of(w->v, FOUND_UNWRITTEN) != NULL, unwritten);
}
static void run_world(bool device, u32 granule, u32 skew, u32 seed) {
    world w;
    srand(seed);
    world_open(&w, granule, skew);
    u32 loads = 1 + below(8); /* of ten accesses, so many or more are loads */
    for (u32 group = 0; group < GROUPS; group++) {
        vcheck_group(w.v, group);
        memset(w.m->written, 0, sizeof w.m->written);
        for (u32 epoch = 0; epoch < 4; epoch++) {
            for (u32 i = 0; i < 6; i++) {
                u8 act = below(10) < loads ? ACT_LOAD : below(4) ? ACT_STORE : ACT_ATOMIC;
                who a = {group, epoch, below(SIMDS), act, device};
                one_access(&w, &a, skew);
            }
            vcheck_round(w.v);
        }
    }
    world_close(&w);
}
static void threadgroup_memory(void **state) {
    (void)state;
    for (u32 seed = 0; seed < 3000; seed++)
        run_world(false, seed % 3, 0, seed);
}
static void device_memory(void **state) {
    (void)state;
    for (u32 seed = 0; seed < 3000; seed++)
        run_world(true, seed % 3, seed / 3 % 8 << seed % 3, seed);
}
/* More loads than are kept for the first write of an epoch. */
static void many_loads(void **state) {
    (void)state;
    world w;
    world_open(&w, 2, 0);
    vcheck_group(w.v, 0);
    for (u32 i = 0; i <= MOST_READS; i++) {
        vspan s = {.c = &w.ctx, .lanes = 1, .per_lane = 4, .rows = 1, .act = ACT_LOAD, .size = 4,
                   .address = VGPU_PTR(SEG_THREADGROUP, 4 * (i == MOST_READS))};
        shadow_rows(w.v, &s);
    }
    for (u32 place = 0; place < 3; place++) { /* both places that were read, and one that was not */
        w.v->n_records = 0;
        w.ctx.index = 1;
        vspan s = {.c = &w.ctx, .lanes = 1, .per_lane = 4, .rows = 1, .act = ACT_STORE, .size = 4,
                   .address = VGPU_PTR(SEG_THREADGROUP, 4 * place)};
        shadow_rows(w.v, &s);
        assert_int_equal(record_of(w.v, FOUND_RACE) != NULL, place < 2);
    }
    world_close(&w);
}

/* Buffers that lie near each other: one's page does not stand for the other, whichever was found last. */
static void near_buffers(void **state) {
    (void)state;
    enum { NEAR = 3, ROOM = 1 << 16 };
    static const u32 starts[NEAR] = {0, 128, 40000};
    vseg segs[SEG_ARG0 + NEAR] = {0};
    vgpu_kernel k = {.name = "near", .n_segs = SEG_ARG0 + NEAR, .granule = 2, .checks = {.races = true}};
    u8 *memory = aligned_alloc(64, ROOM);
    memset(memory, 0, ROOM);
    for (u32 i = 0; i < NEAR; i++)
        segs[SEG_ARG0 + i] = (vseg){memory + starts[i] - VGPU_BIAS, VGPU_BIAS, 64, false, false};
    vcheck *v = vcheck_new(&k);
    vwatch watch = {0};
    v->watch = &watch;
    vctx c = {.k = &k, .segs = segs, .check = v};
    assert_true(vcheck_begin(v, segs, &(tm_launch_params){.grid = {2, 1, 1}}, 2));
    static const u8 touched[] = {0, 1, 2, 1}; /* the last by another threadgroup */
    for (u32 i = 0; i < COUNT_OF(touched); i++) {
        if (i == 0 || i == 3)
            vcheck_group(v, i == 3);
        vspan s = {.c = &c, .lanes = 1, .per_lane = 4, .rows = 1, .act = ACT_STORE, .size = 4,
                   .address = VGPU_PTR(SEG_ARG0 + touched[i], 0)};
        shadow_rows(v, &s);
        assert_int_equal(record_of(v, FOUND_RACE) != NULL, i == 3);
    }
    vcheck_free(v);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threadgroup_memory),
        cmocka_unit_test(device_memory),
        cmocka_unit_test(many_loads),
        cmocka_unit_test(near_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
