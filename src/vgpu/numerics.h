/* SPDX-License-Identifier: MIT */
/* What Apple leaves open of arithmetic (numerics.def), as a kernel is decoded for it. */
#pragma once
#include "base/diag.h"

enum vgpu_option { /* VGPU_denormals, ... */
#define NUMERIC(option, what, evidence) VGPU_##option,
#define CHOICE(option, choice, meaning)
#include "vgpu/numerics.def"
#undef CHOICE
    VGPU_OPTION_COUNT,
#undef NUMERIC
};
enum { /* VGPU_denormals_flush, ...: from 0 in each option, which is its default */
#define NUMERIC(option, what, evidence) VGPU_##option##_none = -1,
#define CHOICE(option, choice, meaning) VGPU_##option##_##choice,
#include "vgpu/numerics.def"
#undef NUMERIC
#undef CHOICE
};
typedef struct vgpu_numerics {
#define NUMERIC(option, what, evidence) u8 option;
#define CHOICE(option, choice, meaning)
#include "vgpu/numerics.def"
#undef NUMERIC
#undef CHOICE
} vgpu_numerics;

typedef struct vgpu_option_info { const char *name, *what, *evidence; } vgpu_option_info;
typedef struct vgpu_choice { u8 option, value; const char *name, *meaning; } vgpu_choice;
extern const vgpu_option_info vgpu_options[VGPU_OPTION_COUNT];
extern const vgpu_choice vgpu_choices[];
extern const u32 vgpu_choice_count;

/* "denormals=keep,fmuladd=split"; options that are not named, or a NULL list, keep their default, and the last
 * word on an option counts. -1 with TM5908 or TM5909. */
tm_status vgpu_numerics_parse(tm_ctx *ctx, const char *list, vgpu_numerics *out);
/* False when that is what n has. */
bool vgpu_numerics_set(vgpu_numerics *n, const vgpu_choice *choice);
/* One line for each choice that is not the default. */
void vgpu_numerics_print(text *out, const vgpu_numerics *n);
