/* SPDX-License-Identifier: MIT */
/* What the compiler and the launcher know of a GPU family (targets.def), and which AIR a macOS reads. */
#pragma once
#include "base/base.h"
#include "tritonmetal.h"

const tm_target_info *target_find(const char *name); /* NULL name: the default; NULL when unknown */
u32 target_air_minor(u32 macos);                     /* 5..8; 0 for an unknown macOS */
