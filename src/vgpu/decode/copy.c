/* SPDX-License-Identifier: MIT */
/* Copies and fills of memory: moves one after the other where the length is a small constant, else a loop
 * over words and one over the bytes that are left (moves need no alignment). And copies of tiles by a
 * simdgroup, whose lanes take elements in turn; Metal's are asynchronous, here they are done at once. */
#include "vgpu/decode/build.h"

enum { STRAIGHT = 512 }; /* bytes */

static u32 unit_kind(u64 unit) { return unit == 4 ? VMEM_W : unit == 2 ? VMEM_H : VMEM_B; }

/* ---- Loops ------------------------------------------------------------------------------------------ */
typedef struct loop { u32 head, body, exit, i; vphi *phi; } loop;

static vphi *add_phi(vbuild *b, u32 block, u8 cls) {
    vphi *p = ARENA_NEW(b->a, vphi);
    p->d = v_new(b, cls);
    v_at(b, p->d)->block = block;
    VEC_PUSH(b->a, &b->blocks.at[block]->phis, p);
    return p;
}
/* for (i = start; i < end; ...): what follows is its body. */
static loop loop_begin(vbuild *b, u32 start, u32 end) {
    const air_block *air = b->blocks.at[b->cur]->air;
    loop l = {v_block(b, air), v_block(b, air), v_block(b, air), 0, NULL};
    l.phi = add_phi(b, l.head, CLS_D);
    l.i = l.phi->d;
    VEC_PUSH(b->a, &l.phi->in, ((vedge){b->cur, start}));
    v_br(b, l.head);
    b->cur = l.head;
    v_cbr(b, v_op2(b, VOP_ult_d, l.i, end), l.body, l.exit);
    b->cur = l.body;
    return l;
}
static void loop_end(vbuild *b, const loop *l, u32 step) {
    u32 next = v_add(b, l->i, step);
    VEC_PUSH(b->a, &l->phi->in, ((vedge){b->cur, next}));
    v_br(b, l->head);
    b->cur = l->exit;
}

/* ---- Runs of bytes ---------------------------------------------------------------------------------- */
static void load_units(vbuild *b, const vcopy *c, u64 unit, u32 at, u32 k, u32 *out) {
    if (c->fills) {
        u32 repeat = unit == 4 ? 0x01010101u : unit == 2 ? 0x0101u : 1;
        out[0] = v_op2(b, VOP_mul_w, v_op2(b, VOP_and_w, c->from, v_w(b, 0xFF)), v_w(b, repeat));
        for (u32 j = 1; j < k; j++)
            out[j] = out[0];
        return;
    }
    for (u32 j = 0; j < k; j++)
        out[j] = v_new(b, CLS_W);
    move_out(b, unit_kind(unit), c->from_space, v_add(b, c->from, at), k, out);
}
static void store_units(vbuild *b, const vcopy *c, u64 unit, u32 at, u32 k, const u32 *values) {
    move_in(b, unit_kind(unit), c->to_space, v_add(b, c->to, at), k, values);
}
/* Up to four units at a time; all are loaded before any is stored where the places may overlap. */
static void copy_straight(vbuild *b, const vcopy *c, u64 n) {
    u32 values[STRAIGHT];
    u64 unit = 4;
    if (!spend(b, n))
        return;
    while (n % unit)
        unit /= 2;
    for (u32 pass = 0; pass < (c->overlaps ? 2 : 1); pass++)
        for (u64 at = 0, k; at < n; at += k * unit) {
            k = MIN((n - at) / unit, 4);
            k = k == 3 ? 2 : k;
            if (!c->overlaps || pass == 0)
                load_units(b, c, unit, v_dw(b, at), (u32)k, values + at / unit);
            if (!c->overlaps || pass == 1)
                store_units(b, c, unit, v_dw(b, at), (u32)k, values + at / unit);
        }
}
static void copy_loop(vbuild *b, const vcopy *c, u64 unit, u32 start, u32 end) {
    loop l = loop_begin(b, start, end);
    u32 at = l.i, value;
    if (c->overlaps) { /* from the end where the target comes later */
        u32 back = v_op2(b, VOP_sub_d, v_op2(b, VOP_sub_d, end, v_dw(b, 1)), l.i);
        at = v_op3(b, VOP_sel_d, v_op2(b, VOP_ult_d, c->from, c->to), back, l.i);
    }
    load_units(b, c, unit, at, 1, &value);
    store_units(b, c, unit, at, 1, &value);
    loop_end(b, &l, v_dw(b, unit));
}
void copy_bytes(vbuild *b, const vcopy *c, u32 len) {
    if (v_at(b, len)->cls == CLS_W)
        len = v_op1(b, VOP_zext_d, len);
    if (v_at(b, len)->constant && v_at(b, len)->bits <= STRAIGHT) {
        copy_straight(b, c, v_at(b, len)->bits);
    } else if (c->overlaps) {
        copy_loop(b, c, 1, v_dw(b, 0), len);
    } else {
        u32 words = v_op2(b, VOP_and_d, len, v_dw(b, ~3ull));
        copy_loop(b, c, 4, v_dw(b, 0), words);
        copy_loop(b, c, 1, words, len);
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------------ */
/* The lane's number among those that are active, and how many these are. */
static void among_active(vbuild *b, u32 *rank, u32 *count) {
    u32 active = v_op1(b, VOP_trunc_w, v_op1(b, VOP_ballot, v_const(b, CLS_M, ~0u)));
    u32 below = v_op2(b, VOP_sub_w, v_op2(b, VOP_shl_w, v_w(b, 1), lane_id(b)), v_w(b, 1));
    *rank = v_op1(b, VOP_zext_d, v_op1(b, VOP_popc_w, v_op2(b, VOP_and_w, active, below)));
    *count = v_op1(b, VOP_zext_d, v_op1(b, VOP_popc_w, active));
}
/* Elements of the target's tile that the source's does not have are zero. */
void copy_tile(vbuild *b, const vcopy *c, const vtile *to, const vtile *from, u64 size) {
    u64 unit = size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
    u32 rank, count, k = (u32)(size / unit), values[16];
    const air_block *air = b->blocks.at[b->cur]->air;
    among_active(b, &rank, &count);
    loop l = loop_begin(b, rank, v_mul(b, to->width, to->height));
    u32 y = v_op2(b, VOP_udiv_d, l.i, to->width), x = v_op2(b, VOP_sub_d, l.i, v_mul(b, y, to->width));
    u32 inside = v_op2(b, VOP_and_m, v_op2(b, VOP_ult_d, x, from->width), v_op2(b, VOP_ult_d, y, from->height));
    u32 outer = b->cur, load = v_block(b, air), join = v_block(b, air);
    v_cbr(b, inside, load, join);
    b->cur = load;
    load_units(b, c, unit, v_mul(b, v_add(b, v_mul(b, y, from->row), x), v_dw(b, size)), k, values);
    v_br(b, join);
    b->cur = join;
    for (u32 j = 0; j < k; j++) {
        vphi *p = add_phi(b, join, CLS_W);
        VEC_PUSH(b->a, &p->in, ((vedge){outer, v_w(b, 0)}));
        VEC_PUSH(b->a, &p->in, ((vedge){load, values[j]}));
        values[j] = p->d;
    }
    store_units(b, c, unit, v_mul(b, v_add(b, v_mul(b, y, to->row), x), v_dw(b, size)), k, values);
    loop_end(b, &l, count);
}
