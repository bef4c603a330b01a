/* SPDX-License-Identifier: MIT */
/* Which build of exec.c runs: the best one the host has, or the one TRITON_METAL_ISA names. */
#include "vgpu/exec/isa.h"
#include "vgpu/vgpu.h"
#include <stdlib.h>

u64 vexec_flush(bool on);
void vexec_restore(u64 old);
u64 vexec_flush(bool on) { return flush_on(on); }
void vexec_restore(u64 old) { flush_restore(old); }

vexec_fn vexec_choose(const char **name) {
    const struct { const char *name; vexec_fn fn; bool ok; } tiers[] = {
#if defined(__x86_64__) && !defined(VGPU_ONE_TIER)
        {"avx512", vexec_avx512,
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")},
        {"avx2", vexec_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
#if defined(__aarch64__)
        {"neon", vexec_base, true},
#else
        {"base", vexec_base, true},
#endif
    };
    const char *want = getenv("TRITON_METAL_ISA");
    bool any = !want || !*want;
    for (u32 i = 0; i < COUNT_OF(tiers); i++)
        if (tiers[i].ok && (any || strcmp(want, tiers[i].name) == 0)) {
            *name = tiers[i].name;
            return tiers[i].fn;
        }
    *name = want;
    return NULL;
}

const char *vgpu_isa(void) {
    const char *name;
    return vexec_choose(&name) ? name : "none";
}
