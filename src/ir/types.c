/* SPDX-License-Identifier: MIT */
/* Types, interned: two types of a module are the same exactly when their pointers are. Parts (element,
 * encoding, lists) are interned before the whole, so hashing and comparing look at pointers only. */
#include "base/map.h"
#include "ir/format.h"

void intern_init(intern_set *s, arena *a) {
    s->mask = 63;
    s->count = 0;
    s->slots = ARENA_ARRAY(a, intern_slot, 64);
}

void *intern_find(const intern_set *s, u64 hash, const void *key, intern_same *same) {
    for (u32 i = (u32)hash & s->mask; s->slots[i].item; i = (i + 1) & s->mask)
        if (s->slots[i].hash == hash && same(s->slots[i].item, key))
            return s->slots[i].item;
    return NULL;
}

static void intern_put(intern_set *s, u64 hash, void *item) {
    u32 i = (u32)hash & s->mask;
    while (s->slots[i].item)
        i = (i + 1) & s->mask;
    s->slots[i] = (intern_slot){hash, item};
}

void intern_add(intern_set *s, arena *a, u64 hash, void *item) {
    if (++s->count > s->mask / 2) {
        intern_set old = *s;
        s->mask = s->mask * 2 + 1;
        s->slots = ARENA_ARRAY(a, intern_slot, s->mask + 1);
        for (u32 i = 0; i <= old.mask; i++)
            if (old.slots[i].item)
                intern_put(s, old.slots[i].hash, old.slots[i].item);
    }
    intern_put(s, hash, item);
}

const char *ir_intern(ir_module *m, const char *s, size_t len) {
    const char *stored;
    strmap_put(m->pools->strings, s, len, &stored);
    return stored;
}

static u64 hash_type(const ir_type *t) {
    u64 h = hash_u64(t->kind, (u64)t->float_kind << 32 | (u64)t->sign << 16 | t->space);
    h = hash_u64(h, (u64)t->width << 32 | t->rank);
    h = hash_u64(h, MAP_KEY(t->elem));
    h = hash_u64(h, MAP_KEY(t->encoding));
    h = hash_u64(h, MAP_KEY(t->text));
    if (t->rank)
        h = hash_bytes(t->shape, t->rank * sizeof *t->shape, h);
    if (t->n_list)
        h = hash_bytes(t->list, t->n_list * sizeof(ir_type *), h + t->n_params);
    return h;
}

static bool same_type(const void *x, const void *y) {
    const ir_type *a = x, *b = y;
    return a->kind == b->kind && a->float_kind == b->float_kind && a->sign == b->sign &&
           a->space == b->space && a->width == b->width && a->rank == b->rank &&
           a->n_list == b->n_list && a->n_params == b->n_params && a->elem == b->elem &&
           a->encoding == b->encoding && a->text == b->text &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0) &&
           (a->n_list == 0 || memcmp(a->list, b->list, a->n_list * sizeof(ir_type *)) == 0);
}

const ir_type *ir_type_intern(ir_module *m, const ir_type *t) {
    ir_type key = *t;
    if (key.text)
        key.text = ir_intern(m, key.text, strlen(key.text));
    u64 hash = hash_type(&key);
    ir_type *found = intern_find(&m->pools->types, hash, &key, same_type);
    if (found)
        return found;
    ir_type *made = arena_dup(m->arena, &key, sizeof key);
    made->shape = key.rank ? arena_dup(m->arena, key.shape, key.rank * sizeof *key.shape) : NULL;
    made->list = key.n_list ? arena_dup(m->arena, key.list, key.n_list * sizeof(ir_type *)) : NULL;
    made->id = m->pools->n_types++;
    intern_add(&m->pools->types, m->arena, hash, made);
    return made;
}

static int common_int(u32 width) {
    return width == 32 ? 0 : width == 1 ? 1 : width == 64 ? 2 : width == 8 ? 3 : -1;
}

const ir_type *ir_type_int_sign(ir_module *m, u32 width, u8 sign) {
    return ir_type_intern(m, &(ir_type){.kind = IR_INT, .width = width, .sign = sign});
}

const ir_type *ir_type_int(ir_module *m, u32 width) {
    int slot = common_int(width);
    if (slot < 0)
        return ir_type_int_sign(m, width, 0);
    if (!m->pools->ints[slot])
        m->pools->ints[slot] = ir_type_int_sign(m, width, 0);
    return m->pools->ints[slot];
}

const ir_type *ir_type_index(ir_module *m) {
    return ir_type_intern(m, &(ir_type){.kind = IR_INDEX});
}

const ir_type *ir_type_float(ir_module *m, enum ir_float_kind kind) {
    return ir_type_intern(
        m, &(ir_type){.kind = IR_FLOAT, .float_kind = (u8)kind, .width = ir_float_width(kind)});
}

const ir_type *ir_type_ptr(ir_module *m, const ir_type *elem, u32 space) {
    return ir_type_intern(m, &(ir_type){.kind = IR_PTR, .elem = elem, .space = (u8)space});
}

const ir_type *ir_type_tensor(ir_module *m, u32 rank, const i64 *shape, const ir_type *elem,
                              const ir_attr *encoding) {
    return ir_type_intern(m, &(ir_type){.kind = IR_TENSOR,
                                        .rank = rank,
                                        .shape = shape,
                                        .elem = elem,
                                        .encoding = encoding});
}

const ir_type *ir_type_vector(ir_module *m, i64 count, const ir_type *elem) {
    return ir_type_intern(m,
                          &(ir_type){.kind = IR_VECTOR, .rank = 1, .shape = &count, .elem = elem});
}

const ir_type *ir_type_matrix(ir_module *m, const ir_type *elem) {
    return ir_type_intern(m, &(ir_type){.kind = IR_MATRIX, .elem = elem});
}

const ir_type *ir_type_tensordesc(ir_module *m, u32 rank, const i64 *shape, const ir_type *elem) {
    return ir_type_intern(
        m, &(ir_type){.kind = IR_TENSORDESC, .rank = rank, .shape = shape, .elem = elem});
}

const ir_type *ir_type_func(ir_module *m, u32 n_params, const ir_type *const *params, u32 n_results,
                            const ir_type *const *results) {
    u32 n = n_params + n_results;
    const ir_type **list = arena_alloc(m->arena, (n + 1) * sizeof *list);
    if (n_params)
        memcpy(list, params, n_params * sizeof *list);
    if (n_results)
        memcpy(list + n_params, results, n_results * sizeof *list);
    return ir_type_intern(
        m, &(ir_type){.kind = IR_FUNC, .list = list, .n_list = n, .n_params = n_params});
}

const ir_type *ir_type_with_elem(ir_module *m, const ir_type *t, const ir_type *elem) {
    if (t->kind != IR_TENSOR && t->kind != IR_VECTOR)
        return elem;
    ir_type changed = *t;
    changed.elem = elem;
    return ir_type_intern(m, &changed);
}

const ir_type *ir_type_with_encoding(ir_module *m, const ir_type *t, const ir_attr *encoding) {
    if (t->kind != IR_TENSOR)
        return t;
    ir_type changed = *t;
    changed.encoding = encoding;
    return ir_type_intern(m, &changed);
}

i64 ir_numel(const ir_type *t) {
    i64 n = 1;
    for (u32 i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

u32 ir_type_bytes(const ir_type *t) {
    switch ((enum ir_type_kind)t->kind) {
    case IR_INT:
    case IR_FLOAT: return (t->width + 7) / 8;
    case IR_INDEX:
    case IR_PTR: return 8;
    case IR_TENSOR:
    case IR_VECTOR: return (u32)ir_numel(t) * ir_type_bytes(t->elem);
    case IR_MATRIX: return 64 * ir_type_bytes(t->elem);
    case IR_TENSORDESC:
    case IR_MEMDESC:
    case IR_FUNC:
    case IR_OTHER: return 0;
    }
    return 0;
}
