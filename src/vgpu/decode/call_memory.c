/* SPDX-License-Identifier: MIT */
/* Calls that touch memory: matrices, atomics, loads and stores, barriers. */
#include "vgpu/decode/call.h"

/* ---- Matrices --------------------------------------------------------------------------------------- */
static u32 element_kind(const air_type *matrix) {
    return matrix->elem->kind == AIR_HALF ? VMEM_F : matrix->elem->kind == AIR_BFLOAT ? VMEM_G : VMEM_W;
}
/* Both signature forms (rules.md C10); a store's matrix stands before the pointer. */
static void do_matrix_memory(vbuild *b, vcall *k, u16 store) {
    u32 at = store, x, y, from;
    const air_type *matrix = store ? call_type(b, k, 0) : k->i->v.type;
    if (k->i->n_ops < at + 5 || !type_is_matrix(matrix)) {
        v_refuse(b, "a matrix access of this form");
        return;
    }
    u32 p = call_at(b, k, at, 0), q = call_at(b, k, at + 1, 0);
    u32 kind = element_kind(matrix), size = kind == VMEM_W ? 4 : 2;
    u32 o[2] = {call_at(b, k, at + (call_type(b, k, at + 1)->kind == AIR_VECTOR ? 3 : 2), 0)};
    if (call_type(b, k, at + 1)->kind == AIR_VECTOR) { /* dims, strides, origin */
        o[1] = call_at(b, k, at + 3, 1);
        x = call_at(b, k, at + 2, 0);
        y = call_at(b, k, at + 2, 1);
        from = v_add(b, v_mul(b, o[0], x), v_mul(b, o[1], y));
    } else { /* elements per row, origin, transpose */
        u32 flip = call_at(b, k, at + 3, 0);
        o[1] = call_at(b, k, at + 2, 1);
        from = v_add(b, v_mul(b, o[1], q), o[0]);
        x = v_op3(b, VOP_sel_d, flip, q, v_dw(b, 1));
        y = v_op3(b, VOP_sel_d, flip, v_dw(b, 1), q);
    }
    p = v_add(b, p, v_mul(b, from, v_dw(b, size)));
    vinst *i;
    if (store) {
        u32 s[4] = {call_at(b, k, 0, 0), p, x, y};
        i = v_emit(b, VOP_xstore, 0, NULL, 4, s);
    } else {
        u32 s[3] = {p, x, y}, d = v_new(b, CLS_X);
        i = v_emit(b, VOP_xload, 1, &d, 3, s);
        k->out[0] = d;
    }
    i->x = (u16)kind;
    i->effect = true;
    b->k->granule = MIN(b->k->granule, log2_u64(size));
    i->align = (u8)log2_u64(size);
}
static void do_mma(vbuild *b, vcall *k, u16 op) {
    if (!type_is_matrix(k->i->v.type)) {
        v_refuse(b, "a matrix product of this form");
        return;
    }
    u8 order = b->k->numerics.matrix;
    k->out[0] = v_op3(b, order == VGPU_matrix_sequential ? VOP_xmma : VOP_xmma_by, call_at(b, k, 0, 0),
                      call_at(b, k, 1, 0), call_at(b, k, 2, 0));
    vinst *i = v_at(b, k->out[0])->def;
    i->x = (u16)element_kind(k->i->v.type);
    i->imm = order;
}
static void do_matrix_fill(vbuild *b, vcall *k, u16 op) { k->out[0] = v_op1(b, op, call_at(b, k, 0, 0)); }

/* ---- Atomics, memory -------------------------------------------------------------------------------- */
static const struct { const char *name; u8 atom, is_float; } atoms[] = {
    {"load", VATOM_LOAD, VATOM_LOAD}, {"store", VATOM_STORE, VATOM_STORE},
    {"xchg", VATOM_XCHG, VATOM_XCHG}, {"cmpxchg", VATOM_CAS, VATOM_CAS},
    {"add", VATOM_ADD, VATOM_FADD},   {"sub", VATOM_SUB, VATOM_FSUB},
    {"and", VATOM_AND, VATOM_AND},    {"or", VATOM_OR, VATOM_OR},
    {"xor", VATOM_XOR, VATOM_XOR},    {"min", VATOM_SMIN, VATOM_FMIN},
    {"max", VATOM_SMAX, VATOM_FMAX},
};
/* What C calls memory_order. Before AIR 2.7, which has no fences, a relaxed atomic is all there is to order memory
 * with; one that is not a constant could be any. */
static u8 order_of(vbuild *b, vcall *k, u32 n) {
    static const u8 orders[] = {0, ORDER_ACQUIRE, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQUIRE | ORDER_RELEASE,
                                ORDER_ACQUIRE | ORDER_RELEASE};
    const vval *v = v_at(b, call_at(b, k, n, 0));
    bool fences = b->kernel && (b->kernel->air_major > 2 || (b->kernel->air_major == 2 && b->kernel->air_minor >= 7));
    return fences && v->constant && v->bits < COUNT_OF(orders) ? orders[v->bits] : ORDER_ACQUIRE | ORDER_RELEASE;
}
/* Between threadgroups, for what the races check knows, only device memory and scopes beyond a threadgroup count. */
static void do_fence(vbuild *b, vcall *k) {
    const vval *memory = v_at(b, call_at(b, k, 0, 0)), *scope = v_at(b, call_at(b, k, 2, 0));
    bool wide = (!memory->constant || memory->bits & 1) && (!scope->constant || scope->bits == 2 || scope->bits == 3);
    u16 order = wide ? order_of(b, k, 1) : 0;
    vinst *i = v_emit(b, VOP_fence, 0, NULL, 0, NULL);
    i->effect = true;
    i->x = order;
}
static void do_atomic(vbuild *b, vcall *k, u16 op) {
    const char *p = k->tail; /* ".global.max.u.i64" */
    if (strcmp(p, ".fence") == 0) {
        do_fence(b, k);
        return;
    }
    bool local = strncmp(p, ".local.", 7) == 0;
    p += local ? 7 : strncmp(p, ".global.", 8) == 0 ? 8 : strlen(p);
    size_t len = strcspn(p, ".");
    u32 a = 0;
    while (a < COUNT_OF(atoms) && (strlen(atoms[a].name) != len || strncmp(p, atoms[a].name, len) != 0))
        a++;
    const air_type *pt = call_type(b, k, 0);
    bool number = pt->kind == AIR_PTR && (pt->elem->kind == AIR_INT || pt->elem->kind == AIR_FLOAT);
    vtype t = number ? type_comp(b, pt->elem, 0) : (vtype){0};
    if (a == COUNT_OF(atoms) || t.bits < 32) {
        v_refuse(b, k->i->ops[0]->name);
        return;
    }
    u32 kind = t.fp ? atoms[a].is_float : atoms[a].atom, zero = v_const(b, t.cls, 0);
    if (k->is_signed == false && strstr(p, ".u.") && (kind == VATOM_SMIN || kind == VATOM_SMAX))
        kind += VATOM_UMIN - VATOM_SMIN;
    u32 s[3] = {call_at(b, k, 0, 0), zero, zero}, expected_at = NO;
    if (kind == VATOM_CAS) {
        expected_at = call_at(b, k, 1, 0);
        s[2] = load_value(b, pt->elem, expected_at, call_type(b, k, 1)->space)[0];
        s[1] = call_at(b, k, 2, 0);
    } else if (kind != VATOM_LOAD) {
        s[1] = call_at(b, k, 1, 0);
    }
    u8 order = order_of(b, k, kind == VATOM_LOAD ? 1 : kind == VATOM_CAS ? 3 : 2);
    u32 d = v_new(b, t.cls);
    vinst *i = v_emit(b, t.cls == CLS_D ? VOP_atom_d : VOP_atom_w, 1, &d, 3, s);
    i->x = (u16)kind;
    i->imm = order;
    i->effect = true;
    i->align = t.cls == CLS_D ? 3 : 2;
    b->k->n_atomics++;
    if (expected_at != NO)
        store_value(b, pt->elem, expected_at, call_type(b, k, 1)->space, &d);
    if (k->n)
        k->out[0] = d;
}
static void do_plain_load(vbuild *b, vcall *k, u16 op) {
    k->out = load_value(b, k->i->v.type, call_at(b, k, 0, 0), call_type(b, k, 0)->space);
}
static void do_plain_store(vbuild *b, vcall *k, u16 op) {
    u32 to = call_at(b, k, 1, 0);
    if (!b->failed)
        store_value(b, call_type(b, k, 0), to, call_type(b, k, 1)->space, value_of(b, k->in, k->i->ops[1]));
}
enum { COPY, FILL, MOVE };
/* to, from or byte, length */
static void do_copy(vbuild *b, vcall *k, u16 op) {
    vcopy c = {.to = call_at(b, k, 0, 0), .to_space = call_type(b, k, 0)->space, .from = call_at(b, k, 1, 0),
               .from_space = call_type(b, k, 1)->space, .fills = op == FILL, .overlaps = op == MOVE};
    copy_bytes(b, &c, call_at(b, k, 2, 0));
}
static bool is_constant(vbuild *b, vcall *k, u32 n, u32 c, u64 bits) { return v_is(b, call_at(b, k, n, c), bits); }
/* (size, alignment, to, elements of its rows, 1, its tile's width and height, the same of from, origin 0, clamp):
 * clamp 0 fills with zeros. EVIDENCE: kernels of mps-flash-attn 0.6.3, which have no other forms. */
static void do_tile(vbuild *b, vcall *k, u16 op) {
    u32 size = call_at(b, k, 0, 0);
    u64 bytes = v_at(b, size)->bits;
    bool known = is_constant(b, k, 4, 0, 1) && is_constant(b, k, 8, 0, 1) && is_constant(b, k, 10, 0, 0) &&
                 is_constant(b, k, 10, 1, 0) && is_constant(b, k, 11, 0, 0);
    if (!known || !v_at(b, size)->constant || bytes > 16 || !is_pow2(bytes)) {
        v_refuse(b, "an asynchronous copy of this form");
        return;
    }
    vcopy c = {.to = call_at(b, k, 2, 0), .to_space = call_type(b, k, 2)->space, .from = call_at(b, k, 6, 0),
               .from_space = call_type(b, k, 6)->space};
    vtile to = {call_at(b, k, 3, 0), call_at(b, k, 5, 0), call_at(b, k, 5, 1)};
    vtile from = {call_at(b, k, 7, 0), call_at(b, k, 9, 0), call_at(b, k, 9, 1)};
    if (!b->failed)
        copy_tile(b, &c, &to, &from, bytes);
    k->out[0] = v_dw(b, 0); /* the event: over already */
}
static void do_stack_save(vbuild *b, vcall *k, u16 op) { k->out[0] = stack_top(b); }
static void do_stack_restore(vbuild *b, vcall *k, u16 op) { stack_set_top(b, call_at(b, k, 0, 0)); }
static void do_barrier(vbuild *b, vcall *k, u16 op) {
    vinst *i = v_emit(b, VOP_barrier, 0, NULL, 0, NULL);
    i->x = (u16)b->k->n_barriers++;
    i->effect = true;
}
/* Whether a value was given for the function constant that the argument points to. */
static void do_defined(vbuild *b, vcall *k, u16 op) {
    air_kernel kernel;
    bool given = false;
    u64 at, place;
    call_at(b, k, 0, 0);
    if (b->failed || !const_address(b, k->i->ops[1], &at) || air_kernel_read(b->m, &kernel) != 0) {
        v_refuse(b, "a function constant that is computed");
        return;
    }
    for (u32 c = 0; c < kernel.n_constants; c++) {
        const air_constant *fc = &kernel.constants[c];
        if (fc->global && const_address(b, (air_value *)fc->global, &place) && place == at)
            given |= constant_given(b, fc) != NULL;
    }
    k->out[0] = v_const(b, CLS_M, given ? ~0u : 0);
}

const family memory_families[] = {
    {"is_function_constant_defined", 0, NULL, do_defined},
    {"simdgroup_matrix_8x8_load", 0, NULL, do_matrix_memory},
    {"simdgroup_matrix_8x8_store", 1, NULL, do_matrix_memory},
    {"simdgroup_matrix_8x8_multiply_accumulate", 0, NULL, do_mma},
    {"simdgroup_matrix_8x8_init_filled", VOP_xfill, NULL, do_matrix_fill},
    {"simdgroup_matrix_8x8_init_diag", VOP_xdiag, NULL, do_matrix_fill}, {"atomic", 0, NULL, do_atomic},
    {"load", 0, NULL, do_plain_load}, {"store", 0, NULL, do_plain_store}, {"wg", 0, NULL, do_barrier},
    {"simdgroup", 0, NULL, NULL}, {"lifetime", 0, NULL, NULL}, {"assume", 0, NULL, NULL},
    {"dbg", 0, NULL, NULL}, {"memcpy", COPY, NULL, do_copy}, {"memmove", MOVE, NULL, do_copy},
    {"memset", FILL, NULL, do_copy}, {"simdgroup_async_copy_2d", 0, NULL, do_tile},
    {"wait_simdgroup_events", 0, NULL, NULL}, {"stacksave", 0, NULL, do_stack_save},
    {"stackrestore", 0, NULL, do_stack_restore},
    {NULL, 0, NULL, NULL}};
