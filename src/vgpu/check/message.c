/* SPDX-License-Identifier: MIT */
/* Messages between threadgroups. What a threadgroup did before an atomic that releases comes before what another does
 * after an atomic on the same address that acquires: the one sends what its threadgroup has done up to now (its
 * clock), the other hears what was sent there. As in C, a relaxed atomic sends what was done before the last fence
 * that releases, and hears when a fence that acquires follows. */
#include "vgpu/check/check.h"
#include "vgpu/check/shadow.h"
#include <stdlib.h>

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
    u32 group = (u32)v->group & LAST_GROUP;
    if (s->n && s->sent[s->n - 1].group == group) {
        s->sent[s->n - 1].clock = v->released - 1;
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
    s->sent[s->n++] = (vsent){group, v->released - 1};
}
static void hear_later(vcheck *v, vsync *s) {
    for (u32 i = 0; i < v->n_unheard; i++)
        if (v->unheard[i] == s->at)
            return;
    if (v->n_unheard == COUNT_OF(v->unheard))
        hear(v, s); /* sooner than it should: a race may be missed, none invented */
    else
        v->unheard[v->n_unheard++] = s->at;
}
static void release(vcheck *v) {
    v->released = v->clock + 1;
    v->clock += v->clock < LAST_CLOCK;
}
void message_fence(vcheck *v, u32 order) {
    if (order & ORDER_RELEASE)
        release(v);
    for (u32 i = 0; order & ORDER_ACQUIRE && i < v->n_unheard; i++) {
        vsync *s = find_sync(v, v->unheard[i]);
        if (s)
            hear(v, s);
    }
    v->n_unheard = order & ORDER_ACQUIRE ? 0 : v->n_unheard;
}
void message_pass(vcheck *v, const u64 *address, u32 lanes, u32 order) {
    bool any = false;
    for (; lanes; lanes &= lanes - 1) {
        u64 a = address[__builtin_ctz(lanes)], n = a >> 48;
        if (n < SEG_ARG0 || n >= v->k->n_segs)
            continue;
        vsync *s = find_sync(v, (uintptr_t)vcheck_host(v, a));
        if (!s)
            continue;
        if (order & ORDER_RELEASE && !any)
            release(v);
        any = true;
        if (order & ORDER_ACQUIRE)
            hear(v, s);
        else
            hear_later(v, s);
        if (v->released)
            send(v, s);
    }
}

/* ---- Lifetimes ----------------------------------------------------------------------------------------------- */
bool message_begin(vcheck *v, u64 groups) {
    if (!v->k->n_atomics)
        return true;
    v->n_known = MIN(groups, (u64)LAST_GROUP + 1);
    v->known = calloc(v->n_known, sizeof *v->known);
    v->known_by = calloc(v->n_known, sizeof *v->known_by);
    return v->known && v->known_by;
}
void message_free(vcheck *v) {
    for (u32 i = 0; i < v->sync_room; i++)
        free(v->syncs[i].sent);
    free(v->syncs);
    free(v->known);
    free(v->known_by);
    v->syncs = NULL;
    v->known = v->known_by = NULL;
    v->n_syncs = v->sync_room = 0;
    v->n_known = 0;
}
