/* SPDX-License-Identifier: MIT */
/* Hash maps: linear probing over a power-of-two table of indices into an insertion-ordered entry
 * array, at most half full. One core serves both key kinds; removal leaves a tombstone entry. */
#include "base/map.h"

typedef struct entry {
    u64 hash;
    u64 key; /* map: the key; strmap: length */
    const char *text;
    void *value;
    bool dead;
} entry;

typedef struct table {
    arena *arena;
    u32 *slots; /* entry number + 1, 0 = empty */
    entry *entries;
    u32 mask, count, room, live;
} table;

struct map {
    table t;
};
struct strmap {
    table t;
};

static void table_init(table *t, arena *a) {
    t->arena = a;
    t->room = 8;
    t->mask = 15;
    t->slots = ARENA_ARRAY(a, u32, 16);
    t->entries = ARENA_ARRAY(a, entry, 8);
}

static void table_grow(table *t) {
    u32 room = t->room * 2;
    entry *entries = ARENA_ARRAY(t->arena, entry, room);
    u32 n = 0;
    for (u32 i = 0; i < t->count; i++)
        if (!t->entries[i].dead)
            entries[n++] = t->entries[i];
    t->entries = entries;
    t->room = room;
    t->count = n;
    t->mask = room * 2 - 1;
    t->slots = ARENA_ARRAY(t->arena, u32, room * 2);
    for (u32 i = 0; i < n; i++) {
        u32 s = (u32)entries[i].hash & t->mask;
        while (t->slots[s])
            s = (s + 1) & t->mask;
        t->slots[s] = i + 1;
    }
}

static bool matches(const entry *e, u64 hash, u64 key, const char *text) {
    return e->hash == hash && e->key == key && !e->dead && (!text || memcmp(e->text, text, key) == 0);
}

static entry *table_find(const table *t, u64 hash, u64 key, const char *text) {
    for (u32 s = (u32)hash & t->mask; t->slots[s]; s = (s + 1) & t->mask) {
        entry *e = &t->entries[t->slots[s] - 1];
        if (matches(e, hash, key, text))
            return e;
    }
    return NULL;
}

static entry *table_add(table *t, u64 hash, u64 key) {
    if (t->count == t->room)
        table_grow(t);
    u32 s = (u32)hash & t->mask;
    while (t->slots[s])
        s = (s + 1) & t->mask;
    entry *e = &t->entries[t->count++];
    *e = (entry){.hash = hash, .key = key};
    t->slots[s] = t->count;
    t->live++;
    return e;
}

static u64 key_hash(u64 key) { return hash_u64(0x51ED270B, key); }

map *map_new(arena *a) {
    map *m = ARENA_NEW(a, map);
    table_init(&m->t, a);
    return m;
}

void **map_get(const map *m, u64 key) {
    entry *e = table_find(&m->t, key_hash(key), key, NULL);
    return e ? &e->value : NULL;
}

void **map_put(map *m, u64 key) {
    entry *e = table_find(&m->t, key_hash(key), key, NULL);
    return e ? &e->value : &table_add(&m->t, key_hash(key), key)->value;
}

bool map_remove(map *m, u64 key) {
    entry *e = table_find(&m->t, key_hash(key), key, NULL);
    if (!e)
        return false;
    e->dead = true;
    m->t.live--;
    return true;
}

u32 map_count(const map *m) { return m->t.live; }

strmap *strmap_new(arena *a) {
    strmap *m = ARENA_NEW(a, strmap);
    table_init(&m->t, a);
    return m;
}

void **strmap_get(const strmap *m, const char *key, size_t len) {
    entry *e = table_find(&m->t, hash_bytes(key, len, 0), len, key);
    return e ? &e->value : NULL;
}

void **strmap_put(strmap *m, const char *key, size_t len, const char **stored) {
    u64 hash = hash_bytes(key, len, 0);
    entry *e = table_find(&m->t, hash, len, key);
    if (!e) {
        const char *copy = arena_str(m->t.arena, key, len);
        e = table_add(&m->t, hash, len);
        e->text = copy;
    }
    if (stored)
        *stored = e->text;
    return &e->value;
}

u64 hash_bytes(const void *data, size_t len, u64 seed) {
    const u8 *p = data;
    u64 h = seed ^ (len * 0xC2B2AE3D27D4EB4Full);
    for (; len >= 8; p += 8, len -= 8) {
        u64 x;
        memcpy(&x, p, 8);
        h = hash_u64(h, x);
    }
    u64 tail = 0;
    for (size_t i = 0; i < len; i++)
        tail |= (u64)p[i] << (8 * i);
    return hash_u64(hash_u64(h, tail), 0x165667B1);
}
