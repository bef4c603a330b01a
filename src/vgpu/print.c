/* SPDX-License-Identifier: MIT */
/* The bytecode listing: one instruction a line, registers as w (lanes) and s (shared), constants with
 * their value. */
#include "vgpu/code.h"

static void put_shared(text *t, const vgpu_kernel *k, u16 r) {
    if (r < k->n_scalar_consts)
        text_printf(t, "#%llx", (unsigned long long)k->scalar_consts[r]);
    else
        text_printf(t, "s%u", r);
}
static bool is_shared(const vop_info *o, u32 shapeable, char cls) {
    return cls == 'S' || cls == 'M' || (o->forms > 1 && o->form >> shapeable & 1);
}
static void put_operands(text *t, const vgpu_kernel *k, const vins *i, const vop_info *o) {
    const u16 regs[4] = {i->a, i->b, i->c, i->d};
    const char *eq = strchr(o->sig, '=');
    u32 shapeable = 0;
    for (u32 s = 0; eq[1 + s] && s < 4; s++) {
        bool mask = eq[1 + s] == 'M';
        text_puts(t, s ? ", " : " ");
        if (is_shared(o, shapeable, eq[1 + s]))
            put_shared(t, k, regs[s]);
        else
            text_printf(t, "w%u", regs[s]);
        shapeable += !mask;
    }
}
static bool is_memory(u16 op) { return op >= VOP_ld_b_s && op <= VOP_stl_d_p; }
static void put_memory(text *t, const vgpu_kernel *k, const vins *i) {
    u32 group = (u32)(i->op - VOP_ld_b_s) % 10, n = i->c > 1 ? i->c : 1;
    bool lane_pointer = group == 2 || group == 5 || group == 7 || group == 9;
    bool shared_result = group == 0;
    text_puts(t, " ");
    for (u32 j = 0; j < n; j++)
        text_printf(t, "%s%c%u", j ? "," : "", shared_result ? 's' : 'w',
                    j ? ((const u16 *)(i + 1))[j - 1] : i->d);
    text_puts(t, " at ");
    if (lane_pointer)
        text_printf(t, "w%u", i->a);
    else
        put_shared(t, k, i->a);
    if (group == 1 || group == 4)
        text_printf(t, " + %s w%u << %u", i->x >> 15 ? "zext" : "sext", i->b, i->x & 63u);
    if (i->imm)
        text_printf(t, " + %d", i->imm);
}
void vgpu_print(text *out, const vgpu_kernel *k) {
    text_printf(out, "kernel %s: %u words, %u lane slots, %u shared (%u constants), %u bytes threadgroup, "
                     "%u bytes thread\n",
                k->name, k->n_code, k->n_wide, k->n_scalar, k->n_scalar_consts, k->tg_bytes,
                k->thread_bytes);
    vgpu_numerics_print(out, &k->numerics);
    for (u32 p = 0; p < k->n_params; p++)
        if (k->params[p].reg >= 0)
            text_printf(out, "  %s%d = %s\n", k->params[p].kind == VPARAM_LANES ? "w" : "s",
                        k->params[p].reg, k->params[p].name);
    for (u32 pc = 0; pc < k->n_code; pc++) {
        const vins *i = &k->code[pc];
        const vop_info *o = &vops[i->op];
        text_printf(out, "%5u  %-10s", pc, o->name);
        if (is_memory(i->op)) {
            put_memory(out, k, i);
            pc += i->c > 1 ? (i->c + 6u) / 8 : 0;
        } else if (i->op == VOP_cbr) {
            u32 meet = i[1].a | (u32)i[1].b << 16;
            text_printf(out, " s%u ? %d : %d", i->a, i->imm, i[1].imm);
            if (meet != VGPU_NO_BLOCK)
                text_printf(out, ", meet at %u", meet);
            pc++;
        } else {
            char d = o->sig[0];
            if (i->op == VOP_br || i->op == VOP_xmmas || i->op >= VOP_count)
                text_printf(out, " %d", i->imm);
            if (d != '=') {
                bool all = o->forms > 1 && o->form == o->forms - 1 && i->op != VOP_sel_w_ss && i->op != VOP_sel_d_ss;
                text_printf(out, " %c%u =", d == 'M' || d == 'S' || all ? 's' : 'w', i->d);
            }
            put_operands(out, k, i, o);
        }
        text_putc(out, '\n');
    }
}
