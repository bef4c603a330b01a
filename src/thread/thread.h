/* SPDX-License-Identifier: MIT */
/* Thread-level passes: cleaning up, sinking loads, planning threadgroup memory, placing barriers. */
#pragma once
#include "ir/pass.h"

extern const pass_info pass_sink;     /* loads of threadgroup memory move down to their first use */
extern const pass_info pass_plan;     /* tm.tg_alloc get offsets by liveness; total in run->threadgroup_bytes */
extern const pass_info pass_barriers; /* barriers between conflicting accesses, no more than needed */
