/* SPDX-License-Identifier: MIT */
/* Thread memory of a size that is known when the kernel runs: a stack in thread memory, whose top lies before
 * it and is set where the kernel begins. What does not fit gets a null pointer. Apple's compiler was not seen
 * to ask for it. */
#include "vgpu/decode/build.h"

enum { STACK_BYTES = 1 << 14, PROLOGUE = 0 }; /* the first block, which every other comes after */

static u32 top_address(vbuild *b) {
    if (!b->stack && (b->stack = thread_place(b, 8 + STACK_BYTES, 8))) {
        u32 cur = b->cur;
        b->cur = PROLOGUE;
        stack_set_top(b, v_dw(b, b->stack + 8));
        b->cur = cur;
    }
    return v_dw(b, b->stack);
}
u32 stack_top(vbuild *b) {
    u32 address = top_address(b), top = v_new(b, CLS_D);
    move_out(b, VMEM_D, 0, address, 1, &top);
    return top;
}
void stack_set_top(vbuild *b, u32 top) { move_in(b, VMEM_D, 0, top_address(b), 1, &top); }

u32 stack_take(vbuild *b, u32 n, u64 size, u64 align) {
    align = MAX(align, 1);
    u32 top = stack_top(b), count = v_at(b, n)->cls == CLS_D ? n : v_op1(b, VOP_zext_d, n);
    u32 from = v_op2(b, VOP_and_d, v_op2(b, VOP_add_d, top, v_dw(b, align - 1)), v_dw(b, ~(align - 1)));
    u32 next = v_op2(b, VOP_add_d, from, v_op2(b, VOP_mul_d, count, v_dw(b, size)));
    u32 few = v_op2(b, VOP_ule_d, count, v_dw(b, STACK_BYTES / MAX(size, 1)));
    u32 fits = v_op2(b, VOP_and_m, few, v_op2(b, VOP_ule_d, next, v_dw(b, b->stack + 8 + STACK_BYTES)));
    stack_set_top(b, v_op3(b, VOP_sel_d, fits, next, top));
    return v_op3(b, VOP_sel_d, fits, from, v_dw(b, 0));
}
