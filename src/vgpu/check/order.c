/* SPDX-License-Identifier: MIT */
/* The order in which threadgroups start and simdgroups take turns. */
#include "vgpu/check/check.h"

static u64 gcd(u64 a, u64 b) {
    while (b) {
        u64 r = a % b;
        a = b;
        b = r;
    }
    return a;
}
static u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}
/* The i-th of n to run. Seeded: a step coprime to n walks through all. */
u64 vgpu_order(u32 order, u64 seed, u64 i, u64 n) {
    if (order == TM_ORDER_REVERSE)
        return n - 1 - i;
    if (order != TM_ORDER_SEEDED || n < 2)
        return i;
    u64 step = mix(seed + 1) % n;
    while (gcd(step, n) != 1)
        step = step + 1 < n ? step + 1 : 1;
    return (u64)(((unsigned __int128)step * i + mix(seed + 2)) % n);
}
