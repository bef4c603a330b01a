/* SPDX-License-Identifier: MIT */
/* A module that uses every instruction and every kind of constant once, with the metadata of a real
 * kernel, for tests of this room. */
#pragma once
#include "air/air.h"

air_module *sample_module(tm_ctx *ctx);
/* A kernel of a few lines that breaks no rule, AIR 2.7. */
air_module *sample_kernel(tm_ctx *ctx);
