/* SPDX-License-Identifier: MIT */
/* Who touched what. Two accesses race when one of them writes, not both are atomic, and nothing orders them.
 * What orders: a barrier between simdgroups of a threadgroup (`when`); between threadgroups a message through an
 * atomic (message.c). Stores of the value that is there already are let pass. Lanes of one simdgroup run
 * together and do not race across instructions.
 * State is constant per granule: of several readers the last one and the fact are kept, so that a race
 * of three may be seen later than it could, but not one that is none. Epochs and clocks saturate; then
 * nothing is reported within the threadgroup. Pages of device memory are taken as memory is touched; what an
 * earlier launch left in them counts as nothing. */
#include "vgpu/check/check.h"
#include "vgpu/check/shadow.h"
#include <stdlib.h>

/* What the steps below are made for, one by one: an act, a memory, and whether races are looked for. */
typedef u32 vkind;
#define KIND(act, device, races) ((vkind)(act) | (device ? 4u : 0) | (races ? 8u : 0))
#define KIND_ACT(k) ((k) & 3)
#define KIND_DEVICE(k) ((k) & 4)
#define KIND_RACES(k) ((k) & 8)
#define FOR_KIND static inline __attribute__((always_inline))
/* CALL(kind), with the kind as a constant. */
#define SWITCH_ACT(k, device, races, CALL)                                                                         \
    switch (KIND_ACT(k)) {                                                                                         \
    case ACT_LOAD: CALL(KIND(ACT_LOAD, device, races)); break;                                                     \
    case ACT_STORE: CALL(KIND(ACT_STORE, device, races)); break;                                                   \
    default: CALL(KIND(ACT_ATOMIC, device, races));                                                                \
    }
#define SWITCH_KIND(k, CALL)                                                                                       \
    do {                                                                                                           \
        if (KIND_DEVICE(k))                                                                                        \
            SWITCH_ACT(k, 1, 1, CALL)                                                                              \
        else if (KIND_RACES(k))                                                                                    \
            SWITCH_ACT(k, 0, 1, CALL)                                                                              \
        else                                                                                                       \
            SWITCH_ACT(k, 0, 0, CALL)                                                                              \
    } while (0)

/* ---- Words ------------------------------------------------------------------------------------------------- */
/* Does what w says come before everything this threadgroup does now? */
static bool known_before(const vcheck *v, u64 w) {
    u32 group = WORD_GROUP(w);
    return group < v->n_known && v->known_by[group] == (u32)v->group + 1 && v->known[group] > WORD_CLOCK(w);
}
FOR_KIND bool unordered(const vcheck *v, u64 w, u64 me, vkind k) {
    u64 differ = w ^ me;
    if (!WORD_WHEN(differ))
        return (!SAME_SIMD(differ) || w & WORD_SIMDS) && !(KIND_DEVICE(k) && WORD_EPOCH(w) == LAST_EPOCH);
    return KIND_DEVICE(k) && !WORD_LAUNCH(differ) && !SAME_GROUP(differ) && !known_before(v, w);
}
FOR_KIND bool readers_unordered(const vcheck *v, u64 r, u64 me, vkind k) {
    return (KIND_DEVICE(k) && r & WORD_GROUPS && !WORD_LAUNCH(r ^ me)) || unordered(v, r, me, k);
}
FOR_KIND u64 read_word(const vcheck *v, u64 old, u64 me, vkind k) {
    u64 differ = old ^ me;
    if (SAME_SIMD(differ))
        return me | (old & (WORD_GROUPS | WORD_SIMDS));
    if (!WORD_WHEN(differ))
        return me | (old & WORD_GROUPS) | WORD_SIMDS;
    if (!KIND_DEVICE(k) || WORD_LAUNCH(differ))
        return me;
    if (SAME_GROUP(differ))
        return me | (old & WORD_GROUPS);
    return me | (known_before(v, old) ? 0 : WORD_GROUPS);
}
/* An atomic after a plain store of its own does not make that store atomic. */
FOR_KIND u64 write_word(u64 old, u64 me, vkind k) {
    u64 differ = old ^ me;
    bool plain = !(old & WORD_ATOMIC);
    if (KIND_ACT(k) != ACT_ATOMIC)
        return me;
    if (plain && (KIND_DEVICE(k) ? SAME_GROUP(differ) : SAME_SIMD(differ)))
        return old;
    bool several = !plain && !WORD_WHEN(differ) && (!SAME_SIMD(differ) || old & WORD_SIMDS);
    return me | WORD_ATOMIC | (several ? WORD_SIMDS : 0);
}

/* ---- Cells ------------------------------------------------------------------------------------------------- */
static void found(vcheck *v, const vspan *s, u8 kind, u64 address, vwho other) {
    vrecord *r = vcheck_record(v, s->c, kind, s->site, s->lanes);
    if (!r)
        return;
    r->address = address;
    r->size = s->per_lane;
    r->act = s->act;
    r->other = other;
}
/* A race, unless it stores what is there already. The cell stands for n granules from `granule` on. */
static __attribute__((noinline, cold)) void conflict(vcheck *v, vspan *s, const vcell *c, u32 granule, u32 n, bool read,
                                                     vkind k) {
    u64 w = read ? c->read : c->write;
    vwho other = {KIND_DEVICE(k) ? WORD_GROUP(w) : (u32)v->group, w & WORD_SIMDS ? SEVERAL_SIMDS : WORD_SIMD(w),
                  read ? c->read_site : c->write_site, read ? ACT_LOAD : w & WORD_ATOMIC ? ACT_ATOMIC : ACT_STORE};
    for (u32 i = granule; i < granule + n && !s->raced; i++) {
        u64 address = s->zero + ((u64)i << v->granule);
        if (vcheck_same(v, s, address, 1u << v->granule))
            continue;
        s->raced = true;
        found(v, s, FOUND_RACE, address, other);
    }
}
FOR_KIND void step(vcheck *v, vspan *s, u64 me, vcell *c, u32 granule, u32 n, vkind k) {
    u64 w = c->write, r = c->read;
    if (!(KIND_ACT(k) == ACT_ATOMIC && w & WORD_ATOMIC) && unordered(v, w, me, k))
        conflict(v, s, c, granule, n, false, k);
    if (KIND_ACT(k) == ACT_LOAD) {
        c->read = read_word(v, r, me, k);
        c->read_site = s->site;
        return;
    }
    if (readers_unordered(v, r, me, k))
        conflict(v, s, c, granule, n, true, k);
    c->write = write_word(w, me, k);
    c->write_site = s->site;
}
static bool split(vmap *m, u32 block) {
    if (!m->cell && !(m->cell = calloc((size_t)m->n_blocks * BLOCK_GRANULES, sizeof *m->cell)))
        return false;
    for (u32 i = 0; i < BLOCK_GRANULES; i++)
        m->cell[block * BLOCK_GRANULES + i] = m->block[block];
    m->split[block] = true;
    return true;
}
/* Some granules of a block, which is split or becomes so; its own cell then tells when it was touched last, and
 * what an earlier launch or epoch left is forgotten with the split. */
static __attribute__((noinline)) void touch_part(vcheck *v, vspan *s, u64 me, vmap *m, u32 block, u32 granules,
                                                 vkind k) {
    vcell *whole = &m->block[block];
    u64 differ = whole->write ^ me;
    u32 start = block * BLOCK_GRANULES;
    if (m->split[block] && (KIND_DEVICE(k) ? WORD_LAUNCH(differ) != 0 : WORD_WHEN(differ) != 0)) {
        m->split[block] = false;
        *whole = (vcell){0};
    }
    if (!m->split[block] && granules == ALL_GRANULES) {
        step(v, s, me, whole, start, BLOCK_GRANULES, k);
        return;
    }
    if (!m->split[block] && !split(m, block))
        return;
    for (; granules; granules &= granules - 1) {
        u32 i = start + (u32)__builtin_ctz(granules);
        step(v, s, me, &m->cell[i], i, 1, k);
    }
    whole->write = me;
}
FOR_KIND void touch_block(vcheck *v, vspan *s, u64 me, vmap *m, u32 block, u32 granules, vkind k) {
    if (granules == ALL_GRANULES && !m->split[block])
        step(v, s, me, &m->block[block], block * BLOCK_GRANULES, BLOCK_GRANULES, k);
    else
        touch_part(v, s, me, m, block, granules, k);
}
/* Of granules [first, last], those of a block, as bits. */
static inline u32 granules_of(u64 block, u64 first, u64 last) {
    u64 start = block * BLOCK_GRANULES;
    u32 from = first > start ? (u32)(first - start) : 0, to = (u32)MIN(last - start, BLOCK_GRANULES - 1u);
    return (2u << to) - (1u << from);
}

/* ---- Threadgroup memory ------------------------------------------------------------------------------------- */
FOR_KIND void tg_block(vcheck *v, vspan *s, u64 me, u32 block, u32 granules, vkind k) {
    u32 missing = granules & ~(u32)v->tg_written[block];
    if (KIND_ACT(k) != ACT_LOAD)
        v->tg_written[block] |= (u8)granules;
    if (KIND_ACT(k) != ACT_STORE && missing && v->uninit && !s->unwritten) {
        u32 granule = block * BLOCK_GRANULES + (u32)__builtin_ctz(missing);
        s->unwritten = true;
        found(v, s, FOUND_UNWRITTEN, s->zero + ((u64)granule << v->granule), (vwho){0});
    }
    if (KIND_RACES(k))
        touch_block(v, s, me, &v->tg, block, granules, k);
}
FOR_KIND void tg_rows(vcheck *v, vspan *s, u64 me, vkind k) {
    u64 from = s->address - s->zero;
    u32 shift = v->granule, rows = s->rows;
    for (u32 r = 0; r < rows; r++, from += (u64)s->stride) {
        u32 first = (u32)(from >> shift), last = (u32)((from + s->size - 1) >> shift);
        if (last - first == BLOCK_GRANULES - 1 && first % BLOCK_GRANULES == 0) {
            tg_block(v, s, me, first / BLOCK_GRANULES, ALL_GRANULES, k);
            continue;
        }
        for (u32 b = first / BLOCK_GRANULES; b <= last / BLOCK_GRANULES; b++)
            tg_block(v, s, me, b, granules_of(b, first, last), k);
    }
}
/* Loads race with nothing while nobody writes: until the first write of an epoch they are only noted, and
 * forgotten at its end. */
static bool defer(vcheck *v, const vspan *s, u64 me) {
    if (s->act != ACT_LOAD || v->tg_wrote == v->tg_when || v->n_reads == MOST_READS)
        return false;
    v->reads[v->n_reads++] = (vread){s->address, me, s->size, s->stride, s->site, s->rows};
    return true;
}
static void first_write(vcheck *v, const vspan *s) {
    v->tg_wrote = v->tg_when;
    for (u32 i = 0; i < v->n_reads; i++) {
        const vread *r = &v->reads[i];
        vspan old = {.c = s->c, .site = r->site, .rows = r->rows, .stride = r->stride, .address = r->address,
                     .size = r->size, .act = ACT_LOAD, .unwritten = true, .zero = s->zero};
        tg_rows(v, &old, r->me, KIND(ACT_LOAD, 0, 1));
    }
    v->n_reads = 0;
}

/* ---- Device memory ----------------------------------------------------------------------------------------- */
static vregion *find_region(vcheck *v, uintptr_t at) {
    for (u32 i = 0; i < v->n_regions; i++)
        if (at >= v->regions[i].from && at < v->regions[i].to)
            return &v->regions[i];
    return NULL;
}
static vpage *take_page(vcheck *v) {
    vpage *p = v->spare;
    if (p)
        v->spare = p->next;
    else if ((p = calloc(1, sizeof *p)))
        p->map = (vmap){p->block, NULL, p->split, PAGE_BLOCKS};
    if (p) {
        p->next = v->used;
        v->used = p;
    }
    return p;
}
/* The page of a host address; NULL outside of tracked memory. v->last_from is then where it starts. */
static inline vpage *find_page(vcheck *v, uintptr_t at) {
    uintptr_t span = (uintptr_t)PAGE_GRANULES << v->granule;
    if (v->last_page && at >= v->last_from && at < v->last_to)
        return v->last_page;
    vregion *r = find_region(v, at);
    if (!r)
        return NULL;
    u64 number = (at - r->from) / span;
    if (!r->pages[number])
        r->pages[number] = take_page(v);
    v->last_from = r->from + number * span;
    v->last_to = MIN(v->last_from + span, r->to);
    return v->last_page = r->pages[number];
}
/* A row at a host address, which `address` names. */
FOR_KIND void device_row(vcheck *v, vspan *s, u64 me, uintptr_t host, u64 address, vkind k) {
    uintptr_t end = host + s->size;
    for (uintptr_t at = host; at < end;) {
        vpage *p = find_page(v, at);
        if (!p)
            return;
        uintptr_t from = v->last_from, to = MIN(end, v->last_to);
        u32 first = (u32)((at - from) >> v->granule), last = (u32)((to - 1 - from) >> v->granule);
        s->zero = address - (host - from);
        for (u32 b = first / BLOCK_GRANULES; b <= last / BLOCK_GRANULES; b++)
            touch_block(v, s, me, &p->map, b, granules_of(b, first, last), k);
        at = to;
    }
}
FOR_KIND void device_rows(vcheck *v, vspan *s, u64 me, vkind k) {
    u64 address = s->address;
    for (u32 r = 0; r < s->rows; r++, address += (u64)s->stride)
        device_row(v, s, me, (uintptr_t)vcheck_host(v, address), address, k);
}
/* Buffers that started empty: their bytes have been written, or are now. */
static void device_written(vcheck *v, vspan *s, u64 address, u64 size) {
    u8 *bytes = v->written[address >> 48];
    u64 from = VCHECK_OFFSET(address) - VGPU_BIAS;
    if (!bytes || VCHECK_OFFSET(address) < VGPU_BIAS)
        return;
    const u8 *hole = s->act == ACT_STORE ? NULL : memchr(bytes + from, 0, size);
    if (hole)
        found(v, s, FOUND_UNWRITTEN, address + (u64)(hole - (bytes + from)), (vwho){0});
    if (s->act != ACT_LOAD)
        memset(bytes + from, 1, size);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */
static u64 word_of_me(const vcheck *v, const vspan *s, bool device) {
    u64 simd = (u64)s->c->index << 12;
    if (!device)
        return v->tg_when << 17 | simd;
    return (u64)v->launch << 56 | (v->group & LAST_GROUP) << 34 | (u64)v->epoch << 17 | simd | (u64)v->clock << 2;
}
/* The kind of an access to threadgroup memory. */
static vkind tg_kind(vcheck *v, const vspan *s) {
    if (v->races && s->act != ACT_LOAD && v->tg_wrote != v->tg_when)
        first_write(v, s);
    return KIND(s->act, 0, v->races);
}
void shadow_rows(vcheck *v, vspan *s) {
    u64 n = s->address >> 48;
    if (n == SEG_THREADGROUP) {
        u64 me = word_of_me(v, s, false);
        s->zero = VGPU_PTR(SEG_THREADGROUP, 0);
        vkind k = v->races && defer(v, s, me) ? KIND(ACT_LOAD, 0, 0) : tg_kind(v, s);
#define ROWS(k) tg_rows(v, s, me, k)
        if (KIND_RACES(k) || v->uninit)
            SWITCH_KIND(k, ROWS);
#undef ROWS
        return;
    }
    for (u32 r = 0; v->written[n] && r < s->rows; r++)
        device_written(v, s, s->address + r * (u64)s->stride, s->size);
    if (!v->tracked[n])
        return;
    u64 me = word_of_me(v, s, true);
#define ROWS(k) device_rows(v, s, me, k)
    SWITCH_KIND(KIND(s->act, 1, 1), ROWS);
#undef ROWS
}

/* ---- Lanes --------------------------------------------------------------------------------------------------- */
/* How the lanes' addresses become places in a shadow: place = address + behind, in granules. */
typedef struct vlanes {
    const u64 *address;
    u64 behind, me;
} vlanes;
FOR_KIND void lanes_block(vcheck *v, vspan *s, const vlanes *l, u64 block, u32 granules, vkind k) {
    u32 shift = v->granule + 3;
    if (!KIND_DEVICE(k)) {
        tg_block(v, s, l->me, (u32)block, granules, k);
        return;
    }
    uintptr_t host = (uintptr_t)block << shift;
    vpage *p = find_page(v, host);
    if (!p)
        return;
    s->zero = v->last_from - l->behind;
    touch_block(v, s, l->me, &p->map, (u32)((host - v->last_from) >> shift), granules, k);
}
/* Addresses that ascend: block by block. */
FOR_KIND void lanes_ascending(vcheck *v, vspan *s, const vlanes *l, vkind k) {
    u64 now = 0;
    u32 granules = 0, shift = v->granule, size = s->per_lane;
    for (u32 i = 0; i < VGPU_LANES; i++) {
        u64 at = l->address[i] + l->behind, first = at >> shift, last = (at + size - 1) >> shift;
        for (u64 b = first / BLOCK_GRANULES; b <= last / BLOCK_GRANULES; b++) {
            if (b != now && granules)
                lanes_block(v, s, l, now, granules, k);
            granules = (b == now ? granules : 0) | granules_of(b, first, last);
            now = b;
        }
    }
    lanes_block(v, s, l, now, granules, k);
}
/* The blocks that lanes in any order touch: `at` tells a block's place in `block`. */
enum { MOST_BLOCKS = 48, LANE_BLOCKS = 17 }; /* a lane has 16 times 8 bytes at most, anywhere */
typedef struct vblocks {
    u8 at[64];
    u64 block[MOST_BLOCKS];
    u8 granules[MOST_BLOCKS];
    u32 n;
    bool overlap;   /* two lanes name the same granule, or may */
} vblocks;
static inline void add_block(vblocks *l, u64 block, u32 granules) {
    u32 h = (u32)(block ^ block >> 6) & 63;
    while (l->at[h] && l->block[l->at[h] - 1] != block)
        h = (h + 1) & 63;
    if (!l->at[h]) {
        l->block[l->n] = block;
        l->granules[l->n] = 0;
        l->at[h] = (u8)++l->n;
    }
    u32 i = l->at[h] - 1u;
    l->overlap |= (l->granules[i] & granules) != 0;
    l->granules[i] |= (u8)granules;
}
FOR_KIND bool lanes_any(vcheck *v, vspan *s, const vlanes *l, vkind k) {
    vblocks found;
    memset(found.at, 0, sizeof found.at);
    found.n = 0;
    found.overlap = false;
    for (u32 lanes = s->lanes; lanes;) {
        for (; lanes && found.n + LANE_BLOCKS <= MOST_BLOCKS; lanes &= lanes - 1) {
            u64 at = l->address[__builtin_ctz(lanes)] + l->behind;
            u64 first = at >> v->granule, last = (at + s->per_lane - 1) >> v->granule;
            for (u64 b = first / BLOCK_GRANULES; b <= last / BLOCK_GRANULES; b++)
                add_block(&found, b, granules_of(b, first, last));
        }
        for (u32 i = 0; i < found.n; i++)
            lanes_block(v, s, l, found.block[i], found.granules[i], k);
        found.overlap |= lanes != 0;
        memset(found.at, 0, sizeof found.at);
        found.n = 0;
    }
    return found.overlap;
}
/* Lanes anywhere in one segment, per_lane bytes each. */
bool shadow_lanes(vcheck *v, vspan *s, bool ascending) {
    const u64 *address = s->lane_address;
    u64 n = address[__builtin_ctz(s->lanes)] >> 48, start = VGPU_PTR(SEG_THREADGROUP, 0);
    bool device = n != SEG_THREADGROUP, overlap = false;
    for (u32 l = device && v->written[n] ? s->lanes : 0; l; l &= l - 1)
        device_written(v, s, address[__builtin_ctz(l)], s->per_lane);
    if (device && !v->tracked[n])
        return !ascending;
    s->zero = start;
    vkind k = device ? KIND(s->act, 1, 1) : tg_kind(v, s);
    u64 behind = device ? (u64)(uintptr_t)vcheck_host(v, n << 48) - (n << 48) : -start;
    vlanes l = {address, behind, word_of_me(v, s, device)};
#define LANES(k) lanes_ascending(v, s, &l, k)
    if (ascending)
        SWITCH_KIND(k, LANES);
#undef LANES
#define LANES(k) overlap = lanes_any(v, s, &l, k)
    else
        SWITCH_KIND(k, LANES);
#undef LANES
    return overlap;
}
