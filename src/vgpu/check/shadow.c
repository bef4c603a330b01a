/* SPDX-License-Identifier: MIT */
/* Who touched what: shadows of threadgroup and device memory. Each granule (the smallest access of the
 * kernel, 1 to 4 bytes) remembers its last writer and reader. Two accesses race when one of them writes, not
 * both are atomic, and nothing orders them. What orders: a barrier between simdgroups of a threadgroup
 * (the epoch); between threadgroups a message through an atomic: what one did before an atomic comes
 * before what another does after an atomic on the same address (known[], clocks). Stores of the value
 * that is there already are let pass. Lanes of one simdgroup run together and do not race across
 * instructions.
 * State is constant per granule: of several readers the last one and the fact are kept, so that a race
 * of three may be seen later than it could, but not one that is none. Epochs and clocks saturate; then
 * nothing is reported within the threadgroup. Pages are taken as memory is touched; a launch number in each
 * word makes old ones invalid. */
#include "vgpu/check/check.h"
#include <stdlib.h>

enum { MANY = 63, BLOCK = 64, BY_ATOMIC = 0x80 };
#define ONES 0x0101010101010101ull

/* ---- Threadgroup memory ----------------------------------------------------------------------------------- */
static void race(vcheck *v, const vspan *s, u64 address, const vwho *other) {
    vrecord *r = vcheck_record(v, s->c, FOUND_RACE, s->site, s->lanes);
    if (!r)
        return;
    r->address = address;
    r->size = s->per_lane;
    r->act = s->act;
    r->other = *other;
}
static void unwritten(vcheck *v, const vspan *s, u64 address) {
    vrecord *r = vcheck_record(v, s->c, FOUND_UNWRITTEN, s->site, s->lanes);
    if (!r)
        return;
    r->address = address;
    r->size = s->per_lane;
    r->act = s->act;
}
static bool tg_race(vcheck *v, const vspan *s, u32 i, u32 me, u64 address, u64 offset) {
    u32 writer = v->tg_writer[i] & MANY, reader = v->tg_reader[i];
    bool by_atomic = v->tg_writer[i] & BY_ATOMIC;
    vwho other = {(u32)v->group, 0, 0, ACT_STORE};
    if (writer && writer != me && !(s->act == ACT_ATOMIC && by_atomic))
        other = (vwho){(u32)v->group, writer == MANY ? MANY : writer - 1, v->tg_wsite[i],
                       by_atomic ? ACT_ATOMIC : ACT_STORE};
    else if (s->act != ACT_LOAD && reader && reader != me)
        other = (vwho){(u32)v->group, reader == MANY ? MANY : reader - 1, v->tg_rsite[i], ACT_LOAD};
    else
        return false;
    if (vcheck_same(s, vcheck_host(v, address), offset, 1u << v->granule))
        return false;
    race(v, s, address, &other);
    return true;
}
/* What the last epoch left is forgotten when a block is touched again. */
static void tg_refresh(vcheck *v, u32 block) {
    if (v->tg_block[block] == v->tg_epoch)
        return;
    v->tg_block[block] = v->tg_epoch;
    memset(v->tg_writer + (size_t)block * BLOCK, 0, BLOCK);
    memset(v->tg_reader + (size_t)block * BLOCK, 0, BLOCK);
}
/* Eight granules in the same state at once. False: one by one. */
static bool tg_eight(vcheck *v, const vspan *s, u32 i, u32 me, bool races, bool unread) {
    u64 w, r, k, mine = me * ONES, many = MANY * ONES;
    memcpy(&w, v->tg_writer + i, 8);
    memcpy(&r, v->tg_reader + i, 8);
    memcpy(&k, v->tg_written + i, 8);
    if ((races && w && w != mine) || s->act == ACT_ATOMIC || r != (r & 255) * ONES)
        return false;
    if (s->act == ACT_LOAD) {
        if (unread && k != ONES)
            return false;
        u64 now = !r || r == mine ? mine : many;
        if (now == r)
            return true;
        memcpy(v->tg_reader + i, &now, 8);
        for (u32 j = 0; j < 8; j++)
            v->tg_rsite[i + j] = (u16)s->site;
        return true;
    }
    if (races && r && r != mine)
        return false;
    k = ONES;
    memcpy(v->tg_writer + i, &mine, 8);
    memcpy(v->tg_written + i, &k, 8);
    for (u32 j = 0; j < 8; j++)
        v->tg_wsite[i + j] = (u16)s->site;
    return true;
}
static void tg_note(vcheck *v, const vspan *s, u32 i, u32 me) {
    if (s->act == ACT_LOAD) {
        v->tg_reader[i] = (u8)(v->tg_reader[i] && v->tg_reader[i] != me ? MANY : me);
        v->tg_rsite[i] = (u16)s->site;
        return;
    }
    u32 writer = v->tg_writer[i] & MANY;
    bool atomic = s->act == ACT_ATOMIC && (!writer || v->tg_writer[i] & BY_ATOMIC);
    u32 to = writer && writer != me && s->act == ACT_ATOMIC ? MANY : me;
    v->tg_writer[i] = (u8)(to | (atomic ? BY_ATOMIC : 0));
    v->tg_wsite[i] = (u16)s->site;
    v->tg_written[i] = 1;
}
void shadow_threadgroup(vcheck *v, const vspan *s) {
    u64 from = VCHECK_OFFSET(s->address) - VGPU_BIAS;
    u32 first = (u32)(from >> v->granule), last = (u32)((from + s->size - 1) >> v->granule);
    u32 me = s->c->index + 1;
    bool races = v->k->checks.races, unread = v->k->checks.uninit, found = false;
    if (last >= v->tg_cells)
        return;
    for (u32 i = first; i <= last;) {
        if (i == first || i % BLOCK == 0)
            tg_refresh(v, i / BLOCK);
        if (last - i >= 7 && i % BLOCK <= BLOCK - 8 && tg_eight(v, s, i, me, races, unread)) {
            i += 8;
            continue;
        }
        u64 offset = i == first ? 0 : ((u64)i << v->granule) - from;
        if (s->act != ACT_STORE && unread && !v->tg_written[i])
            unwritten(v, s, s->address + offset);
        if (races && !found)
            found = tg_race(v, s, i, me, s->address + offset, offset);
        tg_note(v, s, i, me);
        i++;
    }
}

/* ---- Device memory ----------------------------------------------------------------------------------------- */
#define DEV_LAUNCH(w) ((u32)((w) >> 56))
#define DEV_GROUP(w) ((u32)((w) >> 34) & 0x3FFFFF)
#define DEV_SIMD(w) ((u32)((w) >> 29) & 31)
#define DEV_EPOCH(w) ((u32)((w) >> 17) & 4095)
#define DEV_CLOCK(w) ((u32)((w) >> 7) & 1023)
#define DEV_FLAG (1ull << 6)  /* write: atomic; read: by several threadgroups */
#define DEV_SEVERAL (1ull << 5) /* read: by several simdgroups of the threadgroup, in this epoch */

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
    else
        p = calloc(1, sizeof *p);
    if (p) {
        p->next = v->used;
        v->used = p;
    }
    return p;
}
/* The page of a granule's host address, and where in it. */
static vpage *find_page(vcheck *v, uintptr_t at, u32 *cell) {
    uintptr_t span = (uintptr_t)PAGE_CELLS << v->granule;
    if (v->last_page && at - v->last_page_from < span) {
        *cell = (u32)((at - v->last_page_from) >> v->granule);
        return v->last_page;
    }
    vregion *r = find_region(v, at);
    if (!r)
        return NULL;
    u64 number = (at - r->from) / span;
    vpage **slot = &r->pages[number];
    if (!*slot)
        *slot = take_page(v);
    v->last_page = *slot;
    v->last_page_from = r->from + number * span;
    *cell = (u32)((at - v->last_page_from) >> v->granule);
    return *slot;
}
/* Does what w says come before everything this threadgroup does now? */
static bool known_before(const vcheck *v, u64 w) {
    u32 group = DEV_GROUP(w);
    return group < v->n_known && v->known_by[group] == (u32)v->group + 1 && v->known[group] > DEV_CLOCK(w);
}
static bool conflicts(const vcheck *v, u64 w, u64 me) {
    u64 differ = w ^ me;
    if (!(differ >> 34)) /* this threadgroup: another simdgroup in the same epoch */
        return (differ >> 29 & 31) != 0 && DEV_EPOCH(w) == DEV_EPOCH(me) && DEV_EPOCH(me) != 4095;
    return differ >> 56 == 0 && !known_before(v, w);
}
static bool reader_conflicts(const vcheck *v, u64 r, u64 me) {
    if (r & DEV_FLAG)
        return true;
    if (r & DEV_SEVERAL && !((r ^ me) >> 34) && DEV_EPOCH(r) == DEV_EPOCH(me))
        return DEV_EPOCH(me) != 4095;
    return conflicts(v, r, me);
}
static void device_race(vcheck *v, const vspan *s, vpage *p, u32 cell, u64 me, u64 offset) {
    u64 w = p->write[cell], r = p->read[cell], launch = me >> 56, address = s->address + offset;
    const u8 *at = vcheck_host(v, address);
    vwho other;
    if (w >> 56 == launch && !(s->act == ACT_ATOMIC && w & DEV_FLAG) && conflicts(v, w, me))
        other = (vwho){DEV_GROUP(w), DEV_SIMD(w), p->write_site[cell], w & DEV_FLAG ? ACT_ATOMIC : ACT_STORE};
    else if (s->act != ACT_LOAD && r >> 56 == launch && reader_conflicts(v, r, me))
        other = (vwho){DEV_GROUP(r), DEV_SIMD(r), p->read_site[cell], ACT_LOAD};
    else
        return;
    if (!vcheck_same(s, at, offset, 1u << v->granule))
        race(v, s, address, &other);
}
static u64 read_word(const vcheck *v, u64 old, u64 me) {
    if (old >> 56 != me >> 56)
        return me;
    if ((old ^ me) >> 34)
        return me | (known_before(v, old) ? 0 : DEV_FLAG);
    if ((old ^ me) >> 17) /* another simdgroup, or another epoch */
        return me | (old & DEV_FLAG) | (DEV_EPOCH(old) == DEV_EPOCH(me) ? DEV_SEVERAL : 0);
    return me | (old & (DEV_FLAG | DEV_SEVERAL));
}
/* Has nobody touched these granules in this launch? */
static bool page_is_fresh(const vpage *p, u32 cell, u32 n, u64 me) {
    u64 used = 0;
    if (p->read_in == me >> 56)
        return false;
    for (u32 i = 0; i < n; i++)
        used |= ((p->write[cell + i] ^ me) >> 56) - 1; /* the top bit: the same launch */
    return !(used >> 63);
}
static void device_races(vcheck *v, const vspan *s, uintptr_t host) {
    u64 me = (u64)v->launch << 56 | (v->group & 0x3FFFFF) << 34 | (u64)s->c->index << 29 |
             (u64)v->epoch << 17 | (u64)v->clock << 7;
    uintptr_t step = (uintptr_t)1 << v->granule, end = host + s->size;
    for (uintptr_t at = host & ~(step - 1); at < end;) {
        u32 cell;
        vpage *p = find_page(v, at, &cell);
        if (!p)
            return;
        u32 n = (u32)MIN((end - at + step - 1) >> v->granule, (uintptr_t)(PAGE_CELLS - cell));
        if (s->act == ACT_STORE && n >= 8 && page_is_fresh(p, cell, n, me)) {
            for (u32 i = 0; i < n; i++)
                p->write[cell + i] = me;
            for (u32 i = 0; i < n; i++)
                p->write_site[cell + i] = (u16)s->site;
            at += (uintptr_t)n << v->granule;
            continue;
        }
        p->read_in = s->act == ACT_LOAD ? v->launch : p->read_in;
        for (; at < end && cell < PAGE_CELLS; at += step, cell++) {
            u64 w = p->write[cell], r = p->read[cell];
            if ((w >> 56 == me >> 56 && (w ^ me) >> 29 != 0) || (r >> 56 == me >> 56 && s->act != ACT_LOAD))
                device_race(v, s, p, cell, me, at > host ? at - host : 0);
            if (s->act == ACT_LOAD) {
                p->read[cell] = read_word(v, r, me);
                p->read_site[cell] = (u16)s->site;
                continue;
            }
            bool plain_mine = w >> 34 == me >> 34 && !(w & DEV_FLAG);
            if (s->act == ACT_ATOMIC && plain_mine)
                continue;
            p->write[cell] = me | (s->act == ACT_ATOMIC ? DEV_FLAG : 0);
            p->write_site[cell] = (u16)s->site;
        }
    }
}
static void device_written(vcheck *v, const vspan *s, u8 *bytes) {
    u64 from = VCHECK_OFFSET(s->address) - VGPU_BIAS;
    if (s->act != ACT_STORE) {
        const u8 *hole = memchr(bytes + from, 0, s->size);
        if (hole)
            unwritten(v, s, s->address + (u64)(hole - (bytes + from)));
    }
    if (s->act != ACT_LOAD)
        memset(bytes + from, 1, s->size);
}
void shadow_device(vcheck *v, const vspan *s) {
    u64 n = s->address >> 48;
    uintptr_t host = (uintptr_t)vcheck_host(v, s->address);
    if (v->written[n] && VCHECK_OFFSET(s->address) >= VGPU_BIAS)
        device_written(v, s, v->written[n]);
    if (v->tracked[n])
        device_races(v, s, host);
}

/* ---- Messages ------------------------------------------------------------------------------------------------ */
enum { MOST_SYNCS = 1 << 16, MOST_SENT = 1 << 16 };

static vsync *find_sync(vcheck *v, uintptr_t at) {
    if (!v->sync_room && !(v->syncs = calloc(v->sync_room = 1024, sizeof *v->syncs)))
        return v->sync_room = 0, NULL;
    if (v->n_syncs * 2 > v->sync_room && v->sync_room < MOST_SYNCS) {
        vsync *old = v->syncs, *now = calloc((size_t)v->sync_room * 2, sizeof *now);
        if (!now)
            return NULL;
        u32 n = v->sync_room;
        v->syncs = now;
        v->sync_room *= 2;
        for (u32 i = 0; i < n; i++) {
            u32 h = (u32)((old[i].at * 0x9E3779B97F4A7C15ull) >> 40) & (v->sync_room - 1);
            while (old[i].at && now[h].at)
                h = (h + 1) & (v->sync_room - 1);
            if (old[i].at)
                now[h] = old[i];
        }
        free(old);
    }
    u32 h = (u32)((at * 0x9E3779B97F4A7C15ull) >> 40) & (v->sync_room - 1);
    while (v->syncs[h].at && v->syncs[h].at != at)
        h = (h + 1) & (v->sync_room - 1);
    if (!v->syncs[h].at) {
        if (v->n_syncs * 4 > v->sync_room * 3u)
            return NULL;
        v->syncs[h].at = at;
        v->n_syncs++;
    }
    return &v->syncs[h];
}
static void hear(vcheck *v, vsync *s) {
    u32 mine = (u32)v->group + 1;
    for (u32 i = s->heard_by == mine ? s->heard : 0; i < s->n; i++) {
        u32 g = s->sent[i].group;
        if (g >= v->n_known)
            continue;
        if (v->known_by[g] != mine)
            v->known[g] = 0;
        v->known_by[g] = mine;
        v->known[g] = MAX(v->known[g], s->sent[i].clock + 1);
    }
    s->heard_by = mine;
    s->heard = s->n;
}
static void send(vcheck *v, vsync *s) {
    u32 group = (u32)v->group & 0x3FFFFF;
    if (s->n && s->sent[s->n - 1].group == group) {
        s->sent[s->n - 1].clock = v->clock;
        return;
    }
    if (s->n == s->room) {
        u32 room = s->room ? s->room * 2 : 4;
        vsent *now = room > MOST_SENT ? NULL : realloc(s->sent, room * sizeof *now);
        if (!now)
            return;
        s->sent = now;
        s->room = room;
    }
    s->sent[s->n++] = (vsent){group, v->clock};
}
void shadow_message(vcheck *v, const vctx *c, const u64 *address, u32 lanes) {
    bool any = false;
    for (; lanes; lanes &= lanes - 1) {
        u64 a = address[__builtin_ctz(lanes)], n = a >> 48;
        if (n < SEG_ARG0 || n >= v->k->n_segs)
            continue;
        vsync *s = find_sync(v, (uintptr_t)vcheck_host(v, a));
        if (!s)
            continue;
        hear(v, s);
        send(v, s);
        any = true;
    }
    if (any)
        v->clock += v->clock < 1023;
}

/* ---- Lifetimes ----------------------------------------------------------------------------------------------- */
static int by_start(const void *a, const void *b) {
    uintptr_t x = ((const vregion *)a)->from, y = ((const vregion *)b)->from;
    return x < y ? -1 : x > y;
}
static void region_of(const vseg *s, uintptr_t *from, uintptr_t *to) {
    *from = (uintptr_t)s->host + (uintptr_t)s->lo;
    *to = *from + (uintptr_t)s->size;
}
/* Memory that some argument may be written through, as disjoint regions; every argument that reaches into
 * one of them is tracked. */
static bool find_regions(vcheck *v) {
    u32 n = v->k->n_segs, m = 0;
    v->regions = calloc(n + 1, sizeof *v->regions);
    if (!v->regions)
        return false;
    for (u32 i = SEG_ARG0; i < n; i++)
        if (v->segs[i].size && !v->segs[i].read_only)
            region_of(&v->segs[i], &v->regions[m].from, &v->regions[m].to), m++;
    qsort(v->regions, m, sizeof *v->regions, by_start);
    for (u32 i = 0; i < m; i++) {
        vregion *last = v->n_regions ? &v->regions[v->n_regions - 1] : NULL;
        if (last && v->regions[i].from < last->to)
            last->to = MAX(last->to, v->regions[i].to);
        else
            v->regions[v->n_regions++] = v->regions[i];
    }
    for (u32 i = 0; i < v->n_regions; i++) {
        vregion *r = &v->regions[i];
        r->from &= ~(uintptr_t)7;
        r->n_pages = (u32)((r->to - r->from) / ((uintptr_t)PAGE_CELLS << v->granule)) + 1;
        r->pages = calloc(r->n_pages, sizeof *r->pages);
        if (!r->pages)
            return false;
    }
    for (u32 i = SEG_ARG0; i < n; i++) {
        uintptr_t from, to;
        region_of(&v->segs[i], &from, &to);
        for (u32 r = 0; r < v->n_regions; r++)
            v->tracked[i] |= from < v->regions[r].to && to > v->regions[r].from;
    }
    return true;
}
static void drop_launch(vcheck *v) {
    while (v->used) {
        vpage *p = v->used;
        v->used = p->next;
        p->next = v->spare;
        v->spare = p;
    }
    for (u32 i = 0; i < v->n_regions; i++)
        free(v->regions[i].pages);
    for (u32 i = 0; i < v->sync_room; i++)
        free(v->syncs[i].sent);
    free(v->regions);
    free(v->syncs);
    free(v->known);
    free(v->known_by);
    v->regions = NULL;
    v->syncs = NULL;
    v->known = v->known_by = NULL;
    v->n_regions = v->n_syncs = v->sync_room = 0;
    v->n_known = 0;
}
bool shadow_begin(vcheck *v, const tm_launch_params *p, u64 groups) {
    const vgpu_kernel *k = v->k;
    drop_launch(v);
    if (!v->tracked)
        v->tracked = calloc(k->n_segs, 1);
    if (!v->written)
        v->written = calloc(k->n_segs, sizeof *v->written);
    if (!v->tracked || !v->written)
        return false;
    memset(v->tracked, 0, k->n_segs);
    memset(v->written, 0, k->n_segs * sizeof *v->written);
    if (++v->launch == 256) { /* the number comes around: forget all */
        v->launch = 1;
        for (vpage *page = v->spare; page; page = page->next) {
            memset(page->write, 0, sizeof page->write);
            memset(page->read, 0, sizeof page->read);
            page->read_in = 0;
        }
    }
    for (u32 i = 0; k->checks.uninit && i < k->n_params; i++)
        for (u32 a = 0; k->params[i].kind == VPARAM_BUFFER && a < p->n_args; a++)
            if (p->args[a].kind == TM_ARG_BUFFER && p->args[a].index == k->params[i].location)
                v->written[k->params[i].seg] = p->args[a].written;
    u32 cells = (u32)((v->segs[SEG_THREADGROUP].size >> v->granule) + 1);
    if ((k->checks.races || k->checks.uninit) && cells > 1 && (!v->tg || cells > v->tg_cells)) {
        cells = (cells + BLOCK - 1) / BLOCK * BLOCK;
        free(v->tg);
        v->tg = calloc((size_t)cells + BLOCK, 8);
        if (!v->tg)
            return false;
        v->tg_cells = cells;
        v->tg_block = (u32 *)v->tg;
        v->tg_wsite = (u16 *)(v->tg_block + cells / BLOCK);
        v->tg_rsite = v->tg_wsite + cells;
        v->tg_writer = (u8 *)(v->tg_rsite + cells);
        v->tg_reader = v->tg_writer + cells;
        v->tg_written = v->tg_reader + cells;
        v->tg_epoch = 0;
    }
    if (!k->checks.races)
        return true;
    if (k->n_atomics) {
        v->n_known = MIN(groups, 0x400000);
        v->known = calloc(v->n_known, sizeof *v->known);
        v->known_by = calloc(v->n_known, sizeof *v->known_by);
        if (!v->known || !v->known_by)
            return false;
    }
    return find_regions(v);
}
void shadow_group(vcheck *v) {
    v->tg_epoch++;
    if (v->tg)
        memset(v->tg_written, 0, v->tg_cells);
}
void shadow_free(vcheck *v) {
    drop_launch(v);
    for (vpage *p = v->spare, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    free(v->tg);
    free(v->tracked);
    free(v->written);
}
