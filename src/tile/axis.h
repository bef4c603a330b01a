/* SPDX-License-Identifier: MIT */
/* Shared by the files of the axis analysis. A fact is axis_info and two things that only the analysis
 * needs. The least that can be said is contiguity, divisibility and constancy 1. */
#pragma once
#include "base/map.h"
#include "tile/tile.h"

typedef struct fact {
    axis_info i;
    bool nonneg;  /* as a signed number, assuming that index arithmetic does not overflow */
    bool visited; /* false: code that was not reached yet; joins ignore it */
} fact;

enum { AXIS_MAX_POWER = 1 << 30 };

struct axis_table {
    arena *a;
    map *facts; /* ir_value* -> fact* */
    bool changed;
};

fact axis_unknown(const ir_type *t);
/* The fact of v; unknown for values not analysed yet. */
const fact *axis_fact(const axis_table *t, const ir_value *v);
/* Every value at a position divisible by `run` along d is a multiple of the result. */
u32 axis_div_at(const axis_info *i, u32 d, u32 run);
/* Both may hold: what is true of either. */
fact axis_join(const fact *a, const fact *b);
u32 axis_power_of(i64 value); /* largest power of two that divides it */
/* axis_rules.c: the fact of result r of an op without regions. */
fact axis_rule(const axis_table *t, const ir_op *op, u32 r);
