/* SPDX-License-Identifier: MIT */
/* The verifier's parts: structure (verify.c) and types (verify_types.c, verify_shapes.c). */
#pragma once
#include "ir/format.h"

/* 0, or -1 with a diagnostic at op. Arity is already checked. */
tm_status verify_op_types(ir_module *m, const ir_op *op);
tm_status verify_shape_op(ir_module *m, const ir_op *op);  /* tt.* that change shapes, memory, dot */
tm_status verify_thread_op(ir_module *m, const ir_op *op); /* tm.* */
