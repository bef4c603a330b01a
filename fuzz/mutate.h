/* SPDX-License-Identifier: MIT */
/* Changes a module as a module: see mutate.c. */
#pragma once
#include "air/air.h"

/* Reads the bitcode at data, changes the module in a few places and writes it back, into at most `room`
 * bytes. The result verifies. 0 when the bytes hold no module, or no change succeeded. */
size_t mutate_module(u8 *data, size_t len, size_t room, u32 seed);
