/* SPDX-License-Identifier: MIT */
/* Growing arrays inside an arena. Declare with VEC(type), start as {0}; growth copies, so a pointer
 * to an element dies at the next push. Old storage stays in the arena until it goes. */
#pragma once
#include "base/arena.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        u32 count, room;                                                                           \
    }
#define VEC_PUSH(a, v, value)                                                                      \
    do {                                                                                           \
        if ((v)->count == (v)->room)                                                               \
            vec_grow((a), (void **)&(v)->at, &(v)->room, sizeof *(v)->at);                         \
        (v)->at[(v)->count++] = (value);                                                           \
    } while (0)
#define VEC_LAST(v) ((v)->at[(v)->count - 1])
#define VEC_POP(v) ((v)->at[--(v)->count])

void vec_grow(arena *a, void **at, u32 *room, size_t item);
