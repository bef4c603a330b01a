/* SPDX-License-Identifier: MIT */
/* Arena memory: a chain of blocks, each twice the last up to 1 MiB. Allocation is a pointer bump.
 * Under AddressSanitizer what is not handed out is poisoned, with a gap behind each allocation.
 * Running out of memory ends the process with a message: a compiler that cannot get a block of 64 KiB
 * has no way to say anything better, and a half-built module must never be used. */
#include "base/vec.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) __asan_poison_memory_region((at), (size))
#define ALLOW(at, size) __asan_unpoison_memory_region((at), (size))
enum { ARENA_GAP = 16 };
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size) ((void)(at), (void)(size))
enum { ARENA_GAP = 0 };
#endif

enum { ARENA_ALIGN = 16, ARENA_FIRST = 16 << 10, ARENA_MAX = 1 << 20 };

typedef struct arena_block {
    struct arena_block *prev;
    size_t size; /* of data */
    _Alignas(ARENA_ALIGN) u8 data[];
} arena_block;

struct arena {
    arena_block *last;
    size_t used; /* of last->data */
};

static void die_out_of_memory(void) {
    fputs("triton-metal: out of memory\n", stderr);
    abort();
}

static arena_block *add_block(arena *a, size_t need) {
    size_t size = a->last ? MIN(a->last->size * 2, (size_t)ARENA_MAX) : ARENA_FIRST;
    size = MAX(size, need);
    arena_block *b = malloc(sizeof *b + size);
    if (!b)
        die_out_of_memory();
    b->prev = a->last;
    b->size = size;
    FORBID(b->data, size);
    a->last = b;
    a->used = 0;
    return b;
}

arena *arena_new(void) {
    arena *a = calloc(1, sizeof *a);
    if (!a)
        die_out_of_memory();
    add_block(a, ARENA_FIRST);
    return a;
}

static void free_block(arena_block *b) {
    ALLOW(b->data, b->size);
    free(b);
}

void arena_free(arena *a) {
    if (!a)
        return;
    for (arena_block *b = a->last, *prev; b; b = prev) {
        prev = b->prev;
        free_block(b);
    }
    free(a);
}

void *arena_alloc(arena *a, size_t size) {
    if (size > SIZE_MAX / 2)
        die_out_of_memory();
    size_t room = ((size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)) + ARENA_GAP;
    if (room > a->last->size - a->used)
        add_block(a, room);
    void *at = a->last->data + a->used;
    a->used += room;
    ALLOW(at, size);
    return at;
}

void *arena_zalloc(arena *a, size_t size) { return memset(arena_alloc(a, size), 0, size); }

void *arena_dup(arena *a, const void *data, size_t size) {
    void *copy = arena_alloc(a, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_str(arena *a, const char *s, size_t len) {
    char *copy = arena_alloc(a, len + 1);
    if (len)
        memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

char *arena_printf(arena *a, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *s = arena_alloc(a, (size_t)MAX(len, 0) + 1);
    vsnprintf(s, (size_t)MAX(len, 0) + 1, format, again);
    va_end(args);
    va_end(again);
    return s;
}

arena_mark arena_save(arena *a) { return (arena_mark){a->last, a->used}; }

void arena_rewind(arena *a, arena_mark mark) {
    while (a->last != mark.block) {
        arena_block *b = a->last;
        a->last = b->prev;
        free_block(b);
    }
    a->used = mark.used;
    FORBID(a->last->data + mark.used, a->last->size - mark.used);
}

size_t arena_bytes(const arena *a) {
    size_t total = a->used;
    for (const arena_block *b = a->last->prev; b; b = b->prev)
        total += b->size;
    return total;
}

void vec_grow(arena *a, void **at, u32 *room, size_t item) {
    u32 grown = *room ? *room * 2 : 8;
    void *copy = arena_alloc(a, grown * item);
    if (*room)
        memcpy(copy, *at, *room * item);
    *at = copy;
    *room = grown;
}
