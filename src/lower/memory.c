/* SPDX-License-Identifier: MIT */
/* tt.load and tt.store. Registers whose elements lie side by side in memory (axis analysis proves
 * contiguity, alignment and that the mask does not change inside) become one vector access of up to
 * 16 bytes. A mask becomes an scf.if around the access, one per distinct mask scalar, so that a row
 * mask guards its whole row once. Of several holders of an element only the owner stores. */
#include "lower/state.h"

/* One access: `width` registers from `first` on, register e of it is first | spread_bits_of(e). */
typedef struct plan {
    const layout *l;
    u8 bits[GF2_MAX]; /* register bits along the vector */
    u32 n_bits, width;
    const ir_type *elem, *memory; /* element in registers and in memory */
    u32 bytes;
} plan;

static plan plan_access(lower *L, const ir_value *ptr, const ir_value *mask) {
    plan p = {.width = 1};
    p.elem = ir_elem(ptr->type)->elem;
    p.memory = memory_type(L, p.elem);
    p.bytes = ir_type_bytes(p.memory);
    if (!ir_is_tensor(ptr->type))
        return p;
    p.l = ptr->type->encoding->layout;
    for (u32 d = 0; d < p.l->rank; d++) {
        u32 limit = MIN(axis_vector(L->axis, ptr, mask, d), 16 / p.bytes);
        if (limit <= p.width)
            continue;
        u8 bits[GF2_MAX];
        u32 n = register_run(p.l, layout_dim_shift(p.l, d), MIN(log2_u64(limit), p.l->dim_bits[d]),
                             bits);
        if (n > p.n_bits) {
            p.n_bits = n;
            p.width = 1u << n;
            memcpy(p.bits, bits, n);
        }
    }
    return p;
}

static u32 member(const plan *p, u32 first, u32 e) {
    return first | spread_bits_of(e, p->bits, p->n_bits);
}

/* A pointer as the access wants it: to bytes for i1, to addresses for pointers. */
static ir_value *memory_pointer(lower *L, const plan *p, ir_value *ptr) {
    if (p->memory == p->elem)
        return ptr;
    const ir_type *t = ir_type_ptr(L->m, p->memory, ptr->type->space);
    return make1(L, IR_tt_bitcast, t, 1, &ptr);
}

/* ---- Clusters: the accesses under one mask scalar ------------------------------------------------ */

typedef struct cluster {
    ir_value *mask; /* NULL: always */
    VEC(u32) first;
} cluster;
typedef VEC(cluster) clusters;

/* NULL for a mask that is known to be true. */
static ir_value *mask_at(const tensor *mask, u32 reg) {
    i64 bits;
    ir_value *m = mask ? tensor_at(mask, reg) : NULL;
    return m && ir_constant_bits(m, &bits) && bits != 0 ? NULL : m;
}

static clusters cluster_by_mask(lower *L, const plan *p, u32 n, const tensor *mask) {
    clusters list = {0};
    map *index = map_new(L->a);
    u32 inner = 0;
    for (u32 i = 0; i < p->n_bits; i++)
        inner |= 1u << p->bits[i];
    for (u32 r = 0; r < n; r++) {
        if (r & inner)
            continue;
        ir_value *m = mask_at(mask, r);
        void **slot = map_put(index, MAP_KEY(m));
        if (!*slot) {
            VEC_PUSH(L->a, &list, ((cluster){.mask = m}));
            *slot = (void *)(uintptr_t)list.count;
        }
        cluster *c = &list.at[(uintptr_t)*slot - 1];
        VEC_PUSH(L->a, &c->first, r);
    }
    return list;
}

/* ---- Loads --------------------------------------------------------------------------------------- */

static void load_cluster(lower *L, const plan *p, const cluster *c, const tensor *ptr, bool is_volatile,
                         ir_value **out) {
    for (u32 k = 0; k < c->first.count; k++) {
        u32 first = c->first.at[k];
        const ir_type *t =
            p->width == 1 ? p->memory : ir_type_vector(L->m, p->width, p->memory);
        ir_value *at = memory_pointer(L, p, tensor_at(ptr, first));
        ir_value *v = make_load(L, t, at, p->width * p->bytes), *parts[16];
        if (is_volatile)
            ir_attr_set(L->m, v->op, "volatile", ir_attr_bool(L->m, true));
        split_vector(L, v, p->width, parts);
        for (u32 e = 0; e < p->width; e++)
            out[k * p->width + e] = from_memory(L, parts[e], p->elem);
    }
}

static void other_values(lower *L, const plan *p, const cluster *c, const tensor *other,
                         ir_value **out) {
    ir_value *zero = other ? NULL : zero_of(L, p->elem);
    for (u32 k = 0; k < c->first.count; k++)
        for (u32 e = 0; e < p->width; e++)
            out[k * p->width + e] =
                other ? tensor_at(other, member(p, c->first.at[k], e)) : zero;
}

static ir_value **guarded_load(lower *L, const plan *p, const cluster *c, const tensor *ptr,
                               const tensor *other, bool is_volatile) {
    u32 n = c->first.count * p->width;
    ir_value **values = ARENA_ARRAY(L->a, ir_value *, n);
    if (!c->mask) {
        load_cluster(L, p, c, ptr, is_volatile, values);
        return values;
    }
    i64 bits;
    if (ir_constant_bits(c->mask, &bits)) { /* known false */
        other_values(L, p, c, other, values);
        return values;
    }
    const ir_type **types = ARENA_ARRAY(L->a, const ir_type *, n);
    for (u32 i = 0; i < n; i++)
        types[i] = p->elem;
    ir_op *guard = if_open(L, c->mask, n, types);
    load_cluster(L, p, c, ptr, is_volatile, values);
    make_yield(L, n, values);
    if_else(L, guard);
    other_values(L, p, c, other, values);
    make_yield(L, n, values);
    if_close(L, guard);
    for (u32 i = 0; i < n; i++)
        values[i] = ir_result(guard, i);
    return values;
}

static tensor *optional(lower *L, const ir_op *op, u32 operand) {
    return op->n_operands > operand ? tensor_scalars(L, ir_operand(op, operand)) : NULL;
}

tm_status lower_load(lower *L, ir_op *op) {
    tensor *ptr = tensor_scalars(L, ir_operand(op, 0));
    tensor *mask = optional(L, op, 1), *other = optional(L, op, 2);
    plan p = plan_access(L, ir_operand(op, 0), mask ? ir_operand(op, 1) : NULL);
    bool is_volatile = ir_attr_get_int(op, "isVolatile", 0) != 0;
    tensor *t = tensor_new(L, ir_result(op, 0)->type);
    clusters list = cluster_by_mask(L, &p, t->n, mask);
    for (u32 i = 0; i < list.count; i++) {
        const cluster *c = &list.at[i];
        ir_value **values = guarded_load(L, &p, c, ptr, other, is_volatile);
        for (u32 k = 0; k < c->first.count; k++)
            for (u32 e = 0; e < p.width; e++)
                t->s[member(&p, c->first.at[k], e)] = values[k * p.width + e];
    }
    tensor_bind(L, ir_result(op, 0), t);
    return 0;
}

/* ---- Stores -------------------------------------------------------------------------------------- */

static void store_cluster(lower *L, const plan *p, const cluster *c, const tensor *ptr,
                          const tensor *value) {
    for (u32 k = 0; k < c->first.count; k++) {
        u32 first = c->first.at[k];
        ir_value *parts[16];
        for (u32 e = 0; e < p->width; e++)
            parts[e] = to_memory(L, tensor_at(value, member(p, first, e)));
        ir_value *v = make_vector(L, p->width, parts);
        make_store(L, memory_pointer(L, p, tensor_at(ptr, first)), v, p->width * p->bytes);
    }
}

tm_status lower_store(lower *L, ir_op *op) {
    tensor *ptr = tensor_scalars(L, ir_operand(op, 0)), *value = tensor_scalars(L, ir_operand(op, 1));
    tensor *mask = optional(L, op, 2);
    plan p = plan_access(L, ir_operand(op, 0), mask ? ir_operand(op, 2) : NULL);
    clusters list = cluster_by_mask(L, &p, p.l ? layout_regs(p.l) : 1, mask);
    ir_value *owner = p.l ? owner_of(L, p.l) : one_thread(L);
    ir_op *outer = owner ? if_open(L, owner, 0, NULL) : NULL;
    for (u32 i = 0; i < list.count; i++) {
        const cluster *c = &list.at[i];
        i64 bits;
        if (c->mask && ir_constant_bits(c->mask, &bits))
            continue; /* known false */
        ir_op *guard = c->mask ? if_open(L, c->mask, 0, NULL) : NULL;
        store_cluster(L, &p, c, ptr, value);
        if (guard)
            if_close(L, guard);
    }
    if (outer)
        if_close(L, outer);
    return 0;
}
