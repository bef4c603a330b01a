/* SPDX-License-Identifier: MIT */
/* Small kernels for tests, made with the construction API: `kit_begin` opens a kernel whose buffers
 * are named, the caller appends instructions, `kit_run` decodes and launches it on the instruction
 * set the environment names. */
#pragma once
#include "vgpu/code.h"

enum { KIT_BUFFERS = 6 };
typedef struct kit {
    tm_ctx *ctx;
    air_module *m;
    air_func *f;
    air_block *at;        /* where instructions go */
    air_type *i1, *i8, *i16, *i32, *i64, *f16, *bf16, *f32, *none;
    u32 n_buffers;
    air_value *buffer[KIT_BUFFERS], *lane, *simd, *group;
    tm_arg args[KIT_BUFFERS];
    vgpu_checks checks;   /* all at first */
    vgpu_numerics numerics;
    u32 grid_threads;     /* of a ragged grid; 0 else */
} kit;

/* Element types of the buffers; space 3 ones are threadgroup arguments. */
void kit_begin(kit *k, u32 n, const u32 *spaces, air_type *(*elem)(kit *k, u32 i));
void kit_end(kit *k);
air_type *kit_f32(kit *k, u32 i);
air_type *kit_i32(kit *k, u32 i);
air_value *kit_int(kit *k, air_type *t, u64 v);
air_inst *kit_add(kit *k, enum air_op op, air_type *t, u32 n, air_value *const *ops);
air_value *kit_bin(kit *k, enum air_binop sub, air_value *a, air_value *b);
air_value *kit_cmp(kit *k, u32 pred, air_value *a, air_value *b);
air_value *kit_cast(kit *k, enum air_cast sub, air_value *a, air_type *t);
air_value *kit_at(kit *k, u32 buffer, air_value *i32_index); /* address of an element */
air_value *kit_load(kit *k, air_value *p);
void kit_store(kit *k, air_value *p, air_value *v);
air_value *kit_call(kit *k, const char *name, air_type *result, u32 n, air_value *const *args);
void kit_br(kit *k, air_block *to);
void kit_cbr(kit *k, air_value *c, air_block *yes, air_block *no);
void kit_ret(kit *k);
void kit_bind(kit *k, u32 buffer, void *data, size_t size);
vgpu_kernel *kit_decode(kit *k);
/* 0, or -1 with diagnostics in k->ctx. */
tm_status kit_run(kit *k, u32 groups, u32 threads);
int kit_code(kit *k); /* number of the first diagnostic, 0 none */
/* Calls body once per instruction set of this host. */
void kit_each_isa(void (*body)(void));
u32 kit_random(void);
