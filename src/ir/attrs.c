/* SPDX-License-Identifier: MIT */
/* Attributes, interned like types, and the attribute lists of ops.
 * Integers are kept in one form so that equal values are equal attributes: sign-extended from their
 * width, except that booleans are 0 or 1 and unsigned types are zero-extended. Floats are the bits of
 * their own encoding. */
#include "base/map.h"
#include "ir/format.h"

static u64 hash_attr(const ir_attr *a) {
    u64 h = hash_u64(a->kind, (u64)a->splat << 32 | a->count);
    h = hash_u64(h, MAP_KEY(a->type));
    h = hash_u64(h, (u64)a->i);
    h = hash_u64(h, MAP_KEY(a->text));
    if (a->list)
        h = hash_bytes(a->list, a->count * sizeof(ir_attr *), h);
    if (a->ints)
        h = hash_bytes(a->ints, a->count * sizeof(i64), h);
    if (a->named)
        h = hash_bytes(a->named, a->count * sizeof(ir_named_attr), h);
    if (a->layout)
        h = hash_u64(h, layout_hash(a->layout));
    return h;
}

static bool same_bytes(const void *a, const void *b, size_t size) {
    return (!a) == (!b) && (!a || memcmp(a, b, size) == 0);
}

static bool same_attr(const void *x, const void *y) {
    const ir_attr *a = x, *b = y;
    return a->kind == b->kind && a->splat == b->splat && a->type == b->type && a->i == b->i &&
           a->count == b->count && a->text == b->text &&
           same_bytes(a->list, b->list, a->count * sizeof(ir_attr *)) &&
           same_bytes(a->ints, b->ints, a->count * sizeof(i64)) &&
           same_bytes(a->named, b->named, a->count * sizeof(ir_named_attr)) &&
           (!a->layout) == (!b->layout) && (!a->layout || layout_equal(a->layout, b->layout));
}

static i64 normal_bits(const ir_type *t, i64 value) {
    const ir_type *e = t ? ir_elem(t) : NULL;
    u32 width = e ? e->width : 64;
    if (!e || width == 0 || width >= 64)
        return value;
    u64 mask = (1ull << width) - 1, low = (u64)value & mask;
    if (e->kind == IR_INT && width > 1 && e->sign != 'u' && low >> (width - 1))
        return (i64)(low | ~mask);
    return (i64)low;
}

const ir_attr *ir_attr_intern(ir_module *m, const ir_attr *a) {
    ir_attr key = *a;
    key.id = 0;
    if (key.text)
        key.text = ir_intern(m, key.text, key.kind == IR_ATTR_OTHER ? strlen(key.text) : key.count);
    if (key.count == 0) {
        key.list = NULL;
        key.ints = NULL;
        key.named = NULL;
    }
    if (key.kind == IR_ATTR_INT)
        key.i = normal_bits(key.type, key.i);
    u64 hash = hash_attr(&key);
    ir_attr *found = intern_find(&m->pools->attrs, hash, &key, same_attr);
    if (found)
        return found;
    ir_attr *made = arena_dup(m->arena, &key, sizeof key);
    if (key.list)
        made->list = arena_dup(m->arena, key.list, key.count * sizeof(ir_attr *));
    if (key.ints)
        made->ints = arena_dup(m->arena, key.ints, key.count * sizeof(i64));
    if (key.named)
        made->named = arena_dup(m->arena, key.named, key.count * sizeof(ir_named_attr));
    if (key.layout)
        made->layout = arena_dup(m->arena, key.layout, sizeof *key.layout);
    made->id = m->pools->n_attrs++;
    intern_add(&m->pools->attrs, m->arena, hash, made);
    return made;
}

const ir_attr *ir_attr_unit(ir_module *m) {
    return ir_attr_intern(m, &(ir_attr){.kind = IR_ATTR_UNIT});
}

const ir_attr *ir_attr_int(ir_module *m, const ir_type *type, i64 value) {
    return ir_attr_intern(m, &(ir_attr){.kind = IR_ATTR_INT, .type = type, .i = value});
}

const ir_attr *ir_attr_i32(ir_module *m, i64 value) {
    return ir_attr_int(m, ir_type_int(m, 32), value);
}

const ir_attr *ir_attr_bool(ir_module *m, bool value) {
    return ir_attr_int(m, ir_type_int(m, 1), value);
}

const ir_attr *ir_attr_float(ir_module *m, const ir_type *type, u64 bits) {
    return ir_attr_intern(
        m, &(ir_attr){.kind = IR_ATTR_FLOAT, .type = type, .i = normal_bits(type, (i64)bits)});
}

static const ir_attr *text_attr(ir_module *m, u8 kind, const char *s, size_t len) {
    return ir_attr_intern(m, &(ir_attr){.kind = kind, .text = len ? s : "", .count = (u32)len});
}

const ir_attr *ir_attr_string(ir_module *m, const char *s, size_t len) {
    return text_attr(m, IR_ATTR_STRING, s, len);
}

const ir_attr *ir_attr_symbol(ir_module *m, const char *s) {
    return text_attr(m, IR_ATTR_SYMBOL, s, strlen(s));
}

const ir_attr *ir_attr_type(ir_module *m, const ir_type *t) {
    return ir_attr_intern(m, &(ir_attr){.kind = IR_ATTR_TYPE, .type = t});
}

const ir_attr *ir_attr_ints(ir_module *m, const ir_type *elem, u32 n, const i64 *ints) {
    return ir_attr_intern(
        m, &(ir_attr){.kind = IR_ATTR_INTS, .type = elem, .count = n, .ints = ints});
}

const ir_attr *ir_attr_constant(ir_module *m, const ir_type *t, i64 bits) {
    bits = normal_bits(t, bits);
    if (t->kind == IR_TENSOR || t->kind == IR_VECTOR)
        return ir_attr_intern(m, &(ir_attr){.kind = IR_ATTR_DENSE,
                                            .splat = true,
                                            .type = t,
                                            .count = 1,
                                            .ints = &bits});
    return ir_attr_intern(m, &(ir_attr){.kind = t->kind == IR_FLOAT ? IR_ATTR_FLOAT : IR_ATTR_INT,
                                        .type = t,
                                        .i = bits});
}

const ir_attr *ir_attr_layout(ir_module *m, const layout *l) {
    return ir_attr_intern(m, &(ir_attr){.kind = IR_ATTR_LAYOUT, .layout = l});
}

/* ---- Attributes of ops -------------------------------------------------------------------------- */

static ir_named_attr *find_attr(const ir_op *op, const char *name) {
    for (u32 i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].name == name || strcmp(op->attrs[i].name, name) == 0)
            return &op->attrs[i];
    return NULL;
}

const ir_attr *ir_attr_get(const ir_op *op, const char *name) {
    ir_named_attr *found = find_attr(op, name);
    return found ? found->value : NULL;
}

i64 ir_attr_get_int(const ir_op *op, const char *name, i64 otherwise) {
    const ir_attr *a = ir_attr_get(op, name);
    return a && a->kind == IR_ATTR_INT ? a->i : otherwise;
}

void ir_attr_set(ir_module *m, ir_op *op, const char *name, const ir_attr *value) {
    ir_named_attr *found = find_attr(op, name);
    if (found) {
        found->value = value;
        return;
    }
    u32 n = op->n_attrs;
    if (n == attrs_room(n)) {
        ir_named_attr *grown = arena_alloc(m->arena, attrs_room(n + 1) * sizeof *grown);
        if (n)
            memcpy(grown, op->attrs, n * sizeof *grown);
        op->attrs = grown;
    }
    op->attrs[op->n_attrs++] = (ir_named_attr){ir_intern(m, name, strlen(name)), value};
}

void ir_attr_remove(ir_op *op, const char *name) {
    ir_named_attr *found = find_attr(op, name);
    if (!found)
        return;
    size_t after = (size_t)(op->attrs + op->n_attrs - found) - 1;
    memmove(found, found + 1, after * sizeof *found);
    op->n_attrs--;
}
