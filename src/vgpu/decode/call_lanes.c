/* SPDX-License-Identifier: MIT */
/* Calls across lanes: shuffles, reductions, votes. */
#include "vgpu/decode/call.h"
#include "vgpu/check/check.h"

/* ---- Across lanes ----------------------------------------------------------------------------------- */
static u32 shuffle(vbuild *b, u32 v, u32 index) {
    u8 cls = v_at(b, v)->cls;
    if (cls == CLS_M) {
        u32 w = v_op3(b, VOP_sel_w, v, v_w(b, 1), v_w(b, 0));
        return v_op2(b, VOP_ne_w, v_op2(b, VOP_shuf_w, w, index), v_w(b, 0));
    }
    return v_op2(b, cls == CLS_D ? VOP_shuf_d : VOP_shuf_w, v, index);
}
static u32 keep_inside(vbuild *b, u32 index) {
    return v_op3(b, VOP_sel_w, v_op2(b, VOP_ult_w, index, v_w(b, 32)), index, lane_id(b));
}
enum { SHUF_AT, SHUF_XOR, SHUF_DOWN, SHUF_UP, SHUF_ROTATE_DOWN, SHUF_ROTATE_UP, QUAD_AT, QUAD_XOR,
       QUAD_DOWN, QUAD_UP };
static u32 do_shuffle(vbuild *b, vcall *k, u16 op) {
    u32 lane = lane_id(b), x = call_at(b, k, 1, 0), index = x;
    u32 quad = v_op2(b, VOP_and_w, lane, v_w(b, ~3u));
    switch (op) {
    case SHUF_XOR: case QUAD_XOR: index = v_op2(b, VOP_xor_w, lane, x); break;
    case SHUF_DOWN: index = keep_inside(b, v_op2(b, VOP_add_w, lane, x)); break;
    case SHUF_UP: index = keep_inside(b, v_op2(b, VOP_sub_w, lane, x)); break;
    case SHUF_ROTATE_DOWN: index = v_op2(b, VOP_add_w, lane, x); break;
    case SHUF_ROTATE_UP: index = v_op2(b, VOP_sub_w, lane, x); break;
    case QUAD_AT: index = v_op2(b, VOP_or_w, quad, v_op2(b, VOP_and_w, x, v_w(b, 3))); break;
    case QUAD_DOWN: case QUAD_UP: {
        u32 to = v_op2(b, op == QUAD_DOWN ? VOP_add_w : VOP_sub_w, lane, x);
        u32 same = v_op2(b, VOP_eq_w, v_op2(b, VOP_and_w, to, v_w(b, ~3u)), quad);
        index = v_op3(b, VOP_sel_w, same, to, lane);
        break;
    }
    default: break;
    }
    if (b->k->checks.lanes)
        guard_operands(b, GUARD_SHUFFLE, (vtype){CLS_W, 32, FP_NONE}, 1, &index, op == SHUF_AT ? 0 : GUARD_WRAPS);
    return shuffle(b, arg(b, k, 0), index);
}
/* (data, filling, delta, modulo): lanes whose source leaves the segment take from filling. */
static u32 do_fill(vbuild *b, vcall *k, u16 up) {
    u32 lane = lane_id(b), delta = call_at(b, k, 2, 0);
    u32 modulo = k->i->n_ops > 4 ? call_at(b, k, 3, 0) : v_w(b, 32);
    u32 at = v_op2(b, VOP_urem_w, lane, modulo);
    u32 inside, to = v_op2(b, up ? VOP_sub_w : VOP_add_w, lane, delta), wrap;
    if (up) {
        inside = v_op2(b, VOP_ule_w, delta, at);
        wrap = v_op2(b, VOP_add_w, to, modulo);
    } else {
        inside = v_op2(b, VOP_ult_w, v_op2(b, VOP_add_w, at, delta), modulo);
        wrap = v_op2(b, VOP_sub_w, to, modulo);
    }
    u32 data = shuffle(b, arg(b, k, 0), to), fill = shuffle(b, arg(b, k, 1), wrap);
    u8 cls = v_at(b, data)->cls;
    if (cls == CLS_M)
        return v_op3(b, VOP_sel_m, inside, data, fill);
    return v_op3(b, cls == CLS_D ? VOP_sel_d : VOP_sel_w, inside, data, fill);
}
static u32 do_first_lane(vbuild *b, vcall *k, u16 op) {
    return v_op1(b, is_d(k) ? VOP_first_d : VOP_first_w, arg(b, k, 0));
}
enum { RED_SUM, RED_PRODUCT, RED_MIN, RED_MAX, RED_AND, RED_OR, RED_XOR };
static u16 red_kind(vcall *k, u16 red) {
    static const u8 f[] = {VRED_FADD, VRED_FMUL, VRED_FMIN, VRED_FMAX, VRED_AND, VRED_OR, VRED_XOR};
    static const u8 s[] = {VRED_ADD, VRED_MUL, VRED_SMIN, VRED_SMAX, VRED_AND, VRED_OR, VRED_XOR};
    static const u8 u[] = {VRED_ADD, VRED_MUL, VRED_UMIN, VRED_UMAX, VRED_AND, VRED_OR, VRED_XOR};
    return k->t.fp ? f[red] : k->is_signed ? s[red] : u[red];
}
static u32 finish_reduction(vbuild *b, vcall *k, u32 r) {
    return k->t.fp ? round_fp(b, k->t, r) : norm(b, k->t, r);
}
static u32 do_reduce(vbuild *b, vcall *k, u16 red) {
    u32 r = v_op1(b, is_d(k) ? VOP_red_d : VOP_red_w, k->t.fp ? arg(b, k, 0) : signed_arg(b, k, 0));
    v_at(b, r)->def->x = red_kind(k, red);
    return finish_reduction(b, k, r);
}
static u32 do_prefix(vbuild *b, vcall *k, u16 op) { /* op = red * 2 + exclusive */
    u32 r = v_op1(b, is_d(k) ? VOP_scan_d : VOP_scan_w, k->t.fp ? arg(b, k, 0) : signed_arg(b, k, 0));
    v_at(b, r)->def->x = red_kind(k, op / 2);
    v_at(b, r)->def->imm = op & 1;
    return finish_reduction(b, k, r);
}
static u32 do_quad_reduce(vbuild *b, vcall *k, u16 red) {
    u32 v = k->t.fp ? arg(b, k, 0) : signed_arg(b, k, 0), lane = lane_id(b);
    static const u16 f[] = {VOP_fadd, VOP_fmul, VOP_fmin, VOP_fmax, VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 s[] = {VOP_add_w, VOP_mul_w, VOP_smin_w, VOP_smax_w, VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 u[] = {VOP_add_w, VOP_mul_w, VOP_umin_w, VOP_umax_w, VOP_and_w, VOP_or_w, VOP_xor_w};
    static const u16 sd[] = {VOP_add_d, VOP_mul_d, VOP_smin_d, VOP_smax_d, VOP_and_d, VOP_or_d, VOP_xor_d};
    static const u16 ud[] = {VOP_add_d, VOP_mul_d, VOP_umin_d, VOP_umax_d, VOP_and_d, VOP_or_d, VOP_xor_d};
    u16 op = k->t.fp ? f[red] : is_d(k) ? (k->is_signed ? sd : ud)[red] : (k->is_signed ? s : u)[red];
    for (u32 d = 1; d <= 2; d++)
        v = v_op2(b, op, v, shuffle(b, v, v_op2(b, VOP_xor_w, lane, v_w(b, d))));
    return finish_reduction(b, k, v);
}
static void do_vote(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op1(b, op, call_at(b, k, 0, 0)); }
static void do_is_first(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op(b, VOP_is_first, 0, NULL); }
static void do_active(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op1(b, VOP_ballot, v_const(b, CLS_M, ~0u)); }
static void do_size(vbuild *b, vcall *k, u16 op) { k->out[0] = v_w(b, VGPU_LANES); }
static void do_lane(vbuild *b, vcall *k, u16 op) { k->out[0] = lane_id(b); }

const family lane_families[] = {
    {"simd_shuffle", SHUF_AT, do_shuffle, NULL}, {"simd_broadcast", SHUF_AT, do_shuffle, NULL},
    {"simd_shuffle_xor", SHUF_XOR, do_shuffle, NULL}, {"simd_shuffle_down", SHUF_DOWN, do_shuffle, NULL},
    {"simd_shuffle_up", SHUF_UP, do_shuffle, NULL},
    {"simd_shuffle_rotate_down", SHUF_ROTATE_DOWN, do_shuffle, NULL},
    {"simd_shuffle_rotate_up", SHUF_ROTATE_UP, do_shuffle, NULL},
    {"simd_shuffle_and_fill_up", 1, do_fill, NULL}, {"simd_shuffle_and_fill_down", 0, do_fill, NULL},
    {"simd_broadcast_first", 0, do_first_lane, NULL}, {"quad_shuffle", QUAD_AT, do_shuffle, NULL},
    {"quad_broadcast", QUAD_AT, do_shuffle, NULL}, {"quad_shuffle_xor", QUAD_XOR, do_shuffle, NULL},
    {"quad_shuffle_down", QUAD_DOWN, do_shuffle, NULL}, {"quad_shuffle_up", QUAD_UP, do_shuffle, NULL},
    {"simd_sum", RED_SUM, do_reduce, NULL}, {"simd_product", RED_PRODUCT, do_reduce, NULL},
    {"simd_min", RED_MIN, do_reduce, NULL}, {"simd_max", RED_MAX, do_reduce, NULL},
    {"simd_and", RED_AND, do_reduce, NULL}, {"simd_or", RED_OR, do_reduce, NULL},
    {"simd_xor", RED_XOR, do_reduce, NULL}, {"quad_sum", RED_SUM, do_quad_reduce, NULL},
    {"quad_product", RED_PRODUCT, do_quad_reduce, NULL}, {"quad_min", RED_MIN, do_quad_reduce, NULL},
    {"quad_max", RED_MAX, do_quad_reduce, NULL}, {"quad_and", RED_AND, do_quad_reduce, NULL},
    {"quad_or", RED_OR, do_quad_reduce, NULL}, {"quad_xor", RED_XOR, do_quad_reduce, NULL},
    {"simd_prefix_inclusive_sum", RED_SUM * 2, do_prefix, NULL},
    {"simd_prefix_exclusive_sum", RED_SUM * 2 + 1, do_prefix, NULL},
    {"simd_prefix_inclusive_product", RED_PRODUCT * 2, do_prefix, NULL},
    {"simd_prefix_exclusive_product", RED_PRODUCT * 2 + 1, do_prefix, NULL},
    {"simd_all", VOP_all, NULL, do_vote}, {"simd_any", VOP_any, NULL, do_vote},
    {"simd_ballot", VOP_ballot, NULL, do_vote}, {"simd_is_first", 0, NULL, do_is_first},
    {"simd_active_threads_mask", 0, NULL, do_active}, {"get_simdgroup_size", 0, NULL, do_size},
    {"get_threads_per_simdgroup", 0, NULL, do_size}, {"get_thread_index_in_simdgroup", 0, NULL, do_lane},
    {NULL, 0, NULL, NULL}};
