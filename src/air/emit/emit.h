/* SPDX-License-Identifier: MIT */
/* Thread IR to an AIR module as Apple's compiler would write it. Parameters: one device buffer per
 * pointer argument (buffer index = its position among pointers), then one constant buffer with the
 * scalar arguments packed in order (natural alignment), then system values that are used. */
#pragma once
#include "air/air.h"
#include "ir/pass.h"

/* macos is 13, 14, 15 or 26. NULL with 43xx diagnostics. */
air_module *air_emit(pass_run *run, ir_module *m, u32 macos);
/* Byte offset of each scalar argument in the packed buffer, and its size; shared with the launcher. */
u32 air_scalar_layout(const ir_op *func, u32 *offsets /* per scalar, may be NULL */);
