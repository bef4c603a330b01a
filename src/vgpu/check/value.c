/* SPDX-License-Identifier: MIT */
/* Operands that have no defined result: shifts by the width or more, division by zero and of the smallest
 * number by -1, floats that do not fit the integer, shuffles from lanes that are not there. Lanes count that
 * execute the instruction, whatever becomes of the result. */
#include "vgpu/check/check.h"
#include "vgpu/exec/isa.h"

static u64 operand(const vctx *c, const vins *ip, u16 reg, u32 lane) {
    const u8 *r = c->wide + (size_t)reg * VGPU_SLOT;
    return ip->imm & GUARD_DOUBLE ? ((const u64 *)r)[lane] : ((const u32 *)r)[lane];
}
static i64 extended(const vins *ip, u64 v) {
    u32 unused = 64 - ((u32)ip->imm & 0xFF);
    return (i64)(v << unused) >> unused;
}
/* Truncated, f must lie in the integer's range; a NaN never does. */
static bool fits(const vins *ip, float f) {
    u32 bits = (u32)ip->imm & 0xFF;
    bool is_signed = ip->imm & GUARD_SIGNED;
    double x = trunc((double)f), top = ldexp(1.0, (int)bits - is_signed);
    return x < top && x >= (is_signed ? -top : 0.0);
}
static bool is_bad(const vctx *c, const vins *ip, u32 l, u32 mask, u8 *kind) {
    u32 bits = (u32)ip->imm & 0xFF;
    u64 x = operand(c, ip, ip->a, l), y;
    switch ((enum vguard)ip->x) {
    case GUARD_SHIFT:
        *kind = FOUND_SHIFT;
        return x >= bits;
    case GUARD_DIVIDE:
        y = operand(c, ip, ip->b, l);
        *kind = y ? FOUND_OVERFLOW : FOUND_DIVIDE;
        return !y || (ip->imm & GUARD_SIGNED && extended(ip, y) == -1 &&
                      extended(ip, x) == extended(ip, 1ull << (bits - 1)));
    case GUARD_CONVERT:
        *kind = FOUND_CONVERT;
        return !fits(ip, as_f((u32)x));
    case GUARD_SHUFFLE:
        *kind = FOUND_SHUFFLE;
        x = ip->imm & GUARD_WRAPS ? x & 31 : x;
        return x > 31 || !(mask >> x & 1);
    default: return false;
    }
}
void check_operands(vcheck *v, vctx *c, const vins *ip, u32 mask) {
    u32 lanes = 0, first = 0;
    u8 kind = 0, k;
    for (u32 l = 0; l < VGPU_LANES; l++)
        if (mask >> l & 1 && is_bad(c, ip, l, mask, &k) && (!lanes || k == kind)) {
            first = lanes ? first : l;
            kind = k;
            lanes |= 1u << l;
        }
    vrecord *r = lanes ? vcheck_record(v, c, kind, v->k->sites[ip - v->k->code], lanes) : NULL;
    if (r) {
        r->value = operand(c, ip, ip->a, first);
        r->size = (u32)ip->imm & 0xFF;
        r->act = (ip->imm & GUARD_SIGNED) != 0;
    }
}
