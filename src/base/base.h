/* SPDX-License-Identifier: MIT */
/* Names every file may use: sized integers, assertions, small macros. No state, no code.
 * TM_ASSERT is for our own bugs: it aborts in debug builds and is a promise in release builds;
 * anything a user's input can cause is a diagnostic (diag.h) instead. */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

/* 0 is success; anything else failed and left a diagnostic in the context. */
typedef int tm_status;

#define TM_ASSERT(cond) assert(cond)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Leaves the function when a step fails: the only macro that hides a return. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        tm_status try_status = (expr);                                                             \
        if (try_status != 0)                                                                       \
            return try_status;                                                                     \
    } while (0)

static inline bool is_pow2(u64 x) { return x != 0 && (x & (x - 1)) == 0; }
static inline u32 log2_u64(u64 x) { return 63u - (u32)__builtin_clzll(x); } /* x > 0, rounds down */
static inline u64 align_up(u64 x, u64 to) { return (x + to - 1) / to * to; }
