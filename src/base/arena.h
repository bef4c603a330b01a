/* SPDX-License-Identifier: MIT */
/* Memory by lifetime: an arena grows in blocks and is freed at once; a mark rewinds scratch.
 * Allocation never returns NULL: see arena.c for what happens when memory runs out. */
#pragma once
#include "base/base.h"

typedef struct arena arena;
typedef struct arena_mark {
    void *block;
    size_t used;
} arena_mark;

arena *arena_new(void);
void arena_free(arena *a); /* NULL is fine */
/* Uninitialised memory, aligned to 16. */
void *arena_alloc(arena *a, size_t size);
void *arena_zalloc(arena *a, size_t size);
void *arena_dup(arena *a, const void *data, size_t size);
char *arena_str(arena *a, const char *s, size_t len); /* copies and NUL-terminates */
char *arena_printf(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
arena_mark arena_save(arena *a);
void arena_rewind(arena *a, arena_mark mark);
size_t arena_bytes(const arena *a); /* handed out so far, for statistics */

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(n)))
