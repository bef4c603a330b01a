/* SPDX-License-Identifier: MIT */
/* What is known of the values of a thread program: where a pointer points, and on which bits of the
 * thread's ids a value depends. One forward analysis over structured code serves the passes of this
 * room and the emitter. Sound: an unknown pointer may point anywhere in its space, and a value that
 * depends on no bit is the same in every thread of the threadgroup. */
#pragma once
#include "ir/ir.h"

/* A root is a pointer argument or a tm.tg_alloc, numbered from 1. */
enum { FACTS_NO_ROOT = 0, FACTS_ANY_ROOT = 0xFFFFFFFF };

/* Bits 0-4: of the lane; 5-9: of the simdgroup index. */
enum { FACTS_LANE = 0x1F, FACTS_WARP = 0x3E0, FACTS_ALL = 0x3FF, FACTS_WARP_SHIFT = 5 };

typedef struct facts {
    u32 n_values, n_roots;
    u32 *root;             /* by ir_value mark */
    u16 *depends;          /* by ir_value mark: FACTS_LANE, FACTS_WARP bits */
    u16 *id;               /* by ir_value mark: those that are bits of an id, see facts.c */
    const ir_value **roots; /* by root number - 1 */
    bool *written;         /* by root number: stored or atomically changed through */
    bool any_written;      /* a write through an unknown device pointer */
} facts;

/* Numbers the values of func (ir_number) and analyses it; valid until func changes. */
facts *facts_build(arena *a, ir_op *func);
static inline u32 facts_root(const facts *f, const ir_value *v) { return f->root[v->mark]; }
static inline u16 facts_depends(const facts *f, const ir_value *v) { return f->depends[v->mark]; }
static inline bool facts_varying(const facts *f, const ir_value *v) { return f->depends[v->mark]; }
/* May anything be written through this pointer argument? */
bool facts_written(const facts *f, const ir_value *argument);

/* A memory access of one op. */
enum access_kind { ACCESS_NONE, ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };
typedef struct access {
    u8 kind, space;
    u32 root;
    ir_value *pointer;
} access;
access access_of(const facts *f, const ir_op *op);
/* Does anything but a chain of unused scf.if results use v? */
bool value_observed(const ir_value *v);
