/* SPDX-License-Identifier: MIT */
/* Kernels for runs that are only compared (again.c): the kernel without guards but those that see an endless loop,
 * and, for the check "numerics", one for every choice that it was not decoded for, one at a time. Most kernels are
 * the same code for most choices; those are not kept. */
#include "vgpu/check/check.h"

static bool same_code(const vgpu_kernel *a, const vgpu_kernel *b) {
    return a->n_code == b->n_code && memcmp(a->code, b->code, a->n_code * sizeof *a->code) == 0 &&
           a->n_scalar_consts == b->n_scalar_consts &&
           memcmp(a->scalar_consts, b->scalar_consts, a->n_scalar_consts * sizeof *a->scalar_consts) == 0;
}
tm_status twins_make(tm_ctx *ctx, air_module *m, const tm_constant_value *constants, u32 n_constants, vgpu_kernel *k) {
    const vgpu_checks *all = &k->checks;
    vgpu_checks on = {.bounds = all->bounds, .barriers = all->barriers, .progress = all->progress, .turns = all->schedules,
                      .muted = all->muted};
    k->plain = vgpu_decode(ctx, m, constants, n_constants, on, k->numerics);
    k->twins = ARENA_ARRAY(k->arena, vtwin, vgpu_choice_count);
    tm_status status = k->plain ? 0 : -1;
    for (u32 c = 0; k->checks.numerics && c < vgpu_choice_count && status == 0; c++) {
        vgpu_numerics n = k->numerics;
        if (!vgpu_numerics_set(&n, &vgpu_choices[c]))
            continue;
        vgpu_kernel *twin = vgpu_decode(ctx, m, constants, n_constants, on, n);
        status = twin ? 0 : -1;
        if (twin && vgpu_choices[c].option != VGPU_denormals && same_code(k->plain, twin))
            vgpu_kernel_free(twin);
        else if (twin)
            k->twins[k->n_twins++] = (vtwin){twin, &vgpu_choices[c]};
    }
    return status;
}
void twins_free(vgpu_kernel *k) {
    vgpu_kernel_free(k->plain);
    for (u32 i = 0; i < k->n_twins; i++)
        vgpu_kernel_free(k->twins[i].k);
}
