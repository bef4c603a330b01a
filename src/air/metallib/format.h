/* SPDX-License-Identifier: MIT */
/* Numbers of the metallib format that its reader and its writer share. */
#pragma once
enum { METALLIB_HEADER = 88, METALLIB_REFLECTION_ALIGN = 16 };
