/* SPDX-License-Identifier: MIT */
/* The public context: a diagnostic context plus the text it last formatted. */
#pragma once
#include "base/diag.h"
#include "tritonmetal.h"

struct tm_context {
    tm_ctx *ctx;
    text shown; /* owned by the context until the next call */
};
struct tm_kernel {
    struct vgpu_kernel *k;
};
