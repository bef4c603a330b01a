/* SPDX-License-Identifier: MIT */
/* Calls: functions with bodies are inlined, air.* and llvm.* are looked up by the part of their name
 * before the types ("air.fast_exp.v4f32" is "exp"), everything else is refused by name. One table row
 * per family; vectors are done element by element. */
#include "vgpu/decode/call.h"

u32 call_at(vbuild *b, vcall *k, u32 n, u32 c) {
    if (n < CALL_ARGS && n + 1 < k->i->n_ops && c < type_comps(b, k->i->ops[n + 1]->type)) {
        if (!k->a[n])
            k->a[n] = value_of(b, k->in, k->i->ops[n + 1]);
        return k->a[n][c];
    }
    v_refuse(b, arena_printf(b->a, "'%s' with these arguments", k->i->ops[0]->name));
    return v_const(b, k->t.cls == CLS_X ? CLS_W : k->t.cls, 0);
}
const air_type *call_type(vbuild *b, vcall *k, u32 n) {
    if (n + 1 < k->i->n_ops)
        return k->i->ops[n + 1]->type;
    v_refuse(b, arena_printf(b->a, "'%s' with these arguments", k->i->ops[0]->name));
    return k->i->ops[0]->type;
}
static const family *find_in(const family *list, const char *name, size_t len) {
    for (; list->name; list++)
        if (strncmp(list->name, name, len) == 0 && !list->name[len])
            return list;
    return NULL;
}
static const family *find_family(const char *name, const char **tail) {
    if (strncmp(name, "air.", 4) == 0)
        name += 4;
    else if (strncmp(name, "llvm.", 5) == 0)
        name += 5;
    else
        return NULL;
    if (strncmp(name, "fast_", 5) == 0)
        name += 5;
    else if (strncmp(name, "precise_", 8) == 0)
        name += 8;
    size_t len = strcspn(name, ".");
    *tail = name + len;
    const family *f = find_in(math_families, name, len);
    f = f ? f : find_in(lane_families, name, len);
    return f ? f : find_in(memory_families, name, len);
}
void decode_call(vbuild *b, vinstance *in, air_inst *i) {
    air_func *f = (air_func *)i->ops[0];
    if (f->v.kind != AIR_V_FUNC || !f->v.name) {
        v_refuse(b, "an indirect call");
        return;
    }
    if (f->first) {
        decode_inline(b, in, i, f);
        return;
    }
    vcall k = {.in = in, .i = i, .tail = "", .n = type_comps(b, i->v.type)};
    const family *fam = find_family(f->v.name, &k.tail);
    if (!fam) {
        v_refuse(b, f->v.name);
        return;
    }
    if (!fam->each && !fam->whole)
        return;
    k.out = ARENA_ARRAY(b->a, u32, k.n + 1);
    memset(k.out, 0xFF, k.n * sizeof(u32)); /* NO: value_set refuses what is left out */
    k.is_signed = strncmp(k.tail, ".s.", 3) == 0 || strstr(f->v.name, "llvm.smin") ||
                  strstr(f->v.name, "llvm.smax") || strstr(f->v.name, "llvm.abs");
    if (k.n)
        k.t = type_comp(b, i->v.type, 0);
    if (fam->whole)
        fam->whole(b, &k, fam->op);
    for (; fam->each && k.c < k.n && !b->failed; k.c++) {
        k.t = type_comp(b, i->v.type, k.c);
        k.out[k.c] = fam->each(b, &k, fam->op);
    }
    if (k.n)
        value_set(b, in, i, k.out);
}
