/* SPDX-License-Identifier: MIT */
/* Open-addressing hash maps in an arena: 64-bit keys (pointers, ids) and byte-string keys.
 * Values are pointers or integers that fit one. Iteration order is insertion order. */
#pragma once
#include "base/arena.h"

typedef struct map map;
map *map_new(arena *a);
/* Address of the value under key, or NULL. Stable until the next put. */
void **map_get(const map *m, u64 key);
/* Finds or adds (value NULL). */
void **map_put(map *m, u64 key);
bool map_remove(map *m, u64 key);
u32 map_count(const map *m);

typedef struct strmap strmap;
strmap *strmap_new(arena *a);
void **strmap_get(const strmap *m, const char *key, size_t len);
/* Copies the key into the arena when new; *stored (may be NULL) gets the stored key. */
void **strmap_put(strmap *m, const char *key, size_t len, const char **stored);

u64 hash_bytes(const void *data, size_t len, u64 seed);
static inline u64 hash_u64(u64 h, u64 x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 32);
}
#define MAP_KEY(pointer) ((u64)(uintptr_t)(pointer))
