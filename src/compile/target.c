/* SPDX-License-Identifier: MIT */
/* The target table; see targets.def. */
#include "compile/target.h"

static const tm_target_info targets[] = {
#define TARGET(name, chips, simd, threads, threadgroup, cores)                                     \
    {name, chips, simd, threads, threadgroup, cores},
#include "compile/targets.def"
#undef TARGET
};

/* EVIDENCE: Apple's libraries for macOS 13, 14, 15 and 26 hold AIR 2.5, 2.6, 2.7 and 2.8. */
static const struct { u16 macos, air_minor; } air_of[] = {{13, 5}, {14, 6}, {15, 7}, {26, 8}};

const tm_target_info *target_find(const char *name) {
    if (!name)
        name = "apple9";
    for (u32 i = 0; i < COUNT_OF(targets); i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

u32 target_air_minor(u32 macos) {
    for (u32 i = 0; i < COUNT_OF(air_of); i++)
        if (air_of[i].macos == macos)
            return air_of[i].air_minor;
    return 0;
}

TM_API int tm_target_get(const char *name, tm_target_info *out) {
    const tm_target_info *t = target_find(name);
    if (!t)
        return -1;
    *out = *t;
    return 0;
}
