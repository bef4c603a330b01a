/* SPDX-License-Identifier: MIT */
/* AIR functions to the decoder's form: types, values, the walk over blocks, calls inlined in place.
 * Blocks are visited in reverse postorder and only when a branch that remains reaches them, so code
 * that function constants exclude is not decoded. Phis are filled in when all values exist. */
#include "vgpu/decode/build.h"

bool type_is_matrix(const air_type *t) {
    return t->kind == AIR_VECTOR && t->count == 64 &&
           (t->elem->kind == AIR_FLOAT || t->elem->kind == AIR_HALF || t->elem->kind == AIR_BFLOAT ||
            (t->elem->kind == AIR_INT && t->elem->bits == 32));
}
bool type_scalar(vbuild *b, const air_type *t, vtype *out) {
    *out = (vtype){CLS_W, 32, FP_NONE};
    switch ((enum air_type_kind)t->kind) {
    case AIR_INT:
        out->bits = (u8)MIN(t->bits, 64);
        out->cls = t->bits == 1 ? CLS_M : t->bits <= 32 ? CLS_W : CLS_D;
        if (t->bits <= 64)
            return true;
        v_refuse(b, "integers wider than 64 bits");
        return false;
    case AIR_HALF: *out = (vtype){CLS_W, 16, FP_HALF}; return true;
    case AIR_BFLOAT: *out = (vtype){CLS_W, 16, FP_BFLOAT}; return true;
    case AIR_FLOAT: *out = (vtype){CLS_W, 32, FP_FLOAT}; return true;
    case AIR_PTR: *out = (vtype){CLS_D, 64, FP_NONE}; return true;
    case AIR_VECTOR:
        if (type_is_matrix(t)) {
            *out = (vtype){CLS_X, 32,
                           t->elem->kind == AIR_HALF ? FP_HALF
                           : t->elem->kind == AIR_BFLOAT ? FP_BFLOAT : FP_FLOAT};
            return true;
        }
        break;
    case AIR_DOUBLE: v_refuse(b, "double"); return false;
    default: break;
    }
    v_refuse(b, "a value of this type");
    return false;
}
u32 type_comps(const air_type *t) {
    u64 n = 0;
    if (type_is_matrix(t))
        return 1;
    switch ((enum air_type_kind)t->kind) {
    case AIR_VOID: return 0;
    case AIR_VECTOR: case AIR_ARRAY:
        n = t->count * type_comps(t->elem);
        break;
    case AIR_STRUCT:
        for (u32 i = 0; i < t->n_fields; i++)
            n += type_comps(t->fields[i]);
        break;
    default: return 1;
    }
    return n > 4096 ? 4096 : (u32)n;
}
vtype type_comp(vbuild *b, const air_type *t, u32 i) {
    for (;;) {
        if (type_is_matrix(t) || (t->kind != AIR_VECTOR && t->kind != AIR_ARRAY && t->kind != AIR_STRUCT)) {
            vtype out;
            type_scalar(b, t, &out);
            return out;
        }
        if (t->kind == AIR_STRUCT) {
            u32 f = 0;
            for (; f + 1 < t->n_fields; f++) {
                u32 n = type_comps(t->fields[f]);
                if (i < n)
                    break;
                i -= n;
            }
            if (!t->n_fields)
                return (vtype){CLS_W, 32, FP_NONE};
            t = t->fields[f];
        } else {
            u32 n = type_comps(t->elem);
            i = n ? i % n : 0;
            t = t->elem;
        }
    }
}

/* ---- Constants ------------------------------------------------------------------------------------ */
static u64 float_as_f32(vbuild *b, vtype t, u64 bits) {
    if (t.fp == FP_BFLOAT)
        return (u32)bits << 16;
    if (t.fp != FP_HALF)
        return bits;
    u32 h = (u32)bits, sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, r;
    if (e == 31)
        return sign | 0x7F800000 | m << 13 | (m ? 0x400000 : 0);
    if (e)
        return sign | (e + 112) << 23 | m << 13;
    if (!m)
        return sign;
    float f = (float)m * 0x1p-24f;
    memcpy(&r, &f, 4);
    return sign | r;
}
static u32 scalar_const(vbuild *b, vtype t, u64 bits) {
    if (t.cls == CLS_M)
        return v_const(b, CLS_M, bits & 1 ? ~0u : 0);
    if (t.fp)
        bits = float_as_f32(b, t, bits);
    else if (t.bits < 64)
        bits &= (1ull << t.bits) - 1;
    return v_const(b, t.cls, bits);
}
static void zeros_of(vbuild *b, const air_type *t, u32 *out) {
    u32 n = type_comps(t);
    for (u32 i = 0; i < n; i++) {
        vtype c = type_comp(b, t, i);
        if (c.cls == CLS_X) {
            u32 zero = v_w(b, 0);
            out[i] = v_new(b, CLS_X);
            v_emit(b, VOP_xfill, 1, &out[i], 1, &zero);
        } else {
            out[i] = v_const(b, c.cls, 0);
        }
    }
}
static u32 const_comps(vbuild *b, const air_const *c, u32 *out) {
    const air_type *t = c->v.type;
    u32 n = type_comps(t);
    u64 address;
    switch ((enum air_const_kind)c->kind) {
    case AIR_C_NULL: case AIR_C_UNDEF: case AIR_C_POISON: zeros_of(b, t, out); return n;
    case AIR_C_INT: case AIR_C_FLOAT: out[0] = scalar_const(b, type_comp(b, t, 0), c->wide); return 1;
    case AIR_C_AGGREGATE:
        if (type_is_matrix(t)) { /* elements 0 and 1 are each lane's own; the rest is not looked at */
            u32 own[2] = {0};
            const_comps(b, (const air_const *)c->elems[0], &own[0]);
            const_comps(b, (const air_const *)c->elems[1], &own[1]);
            out[0] = v_op2(b, VOP_xmake, own[0], own[1]);
            return 1;
        }
        n = 0;
        for (u32 i = 0; i < c->n_elems; i++) {
            air_value *e = c->elems[i];
            if (e->kind == AIR_V_CONST)
                n += const_comps(b, (const air_const *)e, out + n);
            else if (const_address(b, e, &address))
                out[n++] = v_dw(b, address);
            else
                v_refuse(b, "an address in a constant");
        }
        return n;
    case AIR_C_DATA: {
        u32 size = (u32)(c->data_len / (t->count ? t->count : 1)), own[2];
        bool matrix = type_is_matrix(t);
        u32 *to = matrix ? own : out, count = matrix ? 2 : n;
        for (u32 i = 0; i < count; i++) {
            u64 bits = 0;
            memcpy(&bits, c->data + (size_t)i * size, MIN(size, 8));
            to[i] = scalar_const(b, type_comp(b, matrix ? t->elem : t, i), bits);
        }
        if (matrix)
            out[0] = v_op2(b, VOP_xmake, own[0], own[1]);
        return n;
    }
    case AIR_C_CAST: case AIR_C_GEP:
        if (const_address(b, (air_value *)c, &address)) {
            out[0] = v_dw(b, address);
            return 1;
        }
        v_refuse(b, "a constant expression");
        zeros_of(b, t, out);
        return n;
    }
    return n;
}

/* ---- Values --------------------------------------------------------------------------------------- */
u32 *value_of(vbuild *b, vinstance *in, air_value *v) {
    u64 address;
    switch ((enum air_value_kind)v->kind) {
    case AIR_V_CONST: {
        u32 *out = ARENA_ARRAY(b->a, u32, type_comps(v->type) + 1);
        const_comps(b, (const air_const *)v, out);
        return out;
    }
    case AIR_V_GLOBAL: case AIR_V_FUNC: {
        u32 *out = ARENA_ARRAY(b->a, u32, 1);
        if (const_address(b, v, &address))
            out[0] = v_dw(b, address);
        else
            v_refuse(b, "the address of a function or foreign global");
        return out;
    }
    case AIR_V_ARG: case AIR_V_INST:
        if (in->vals[v->id])
            return in->vals[v->id];
        break;
    case AIR_V_MD: break;
    }
    /* Not defined on any path that remains: any value will do. */
    u32 *out = ARENA_ARRAY(b->a, u32, type_comps(v->type) + 1);
    zeros_of(b, v->type, out);
    return out;
}
u32 value1(vbuild *b, vinstance *in, air_value *v) { return value_of(b, in, v)[0]; }
void value_set(vbuild *b, vinstance *in, air_inst *i, u32 *comps) { in->vals[i->v.id] = comps; }

/* ---- Functions ------------------------------------------------------------------------------------ */
static const src_loc *inst_loc(const air_inst *i) { return i->loc; }
static void set_site(vbuild *b, const vinstance *in, const air_inst *i) {
    const char *what = i->op == AIR_LOAD ? "load" : i->op == AIR_STORE ? "store" : NULL;
    if (i->op == AIR_CALL && i->ops[0]->name)
        what = i->ops[0]->name;
    vsite s = {inst_loc(i), what ? arena_str(b->k->arena, what, strlen(what)) : NULL,
               in->is_kernel ? i->v.id - in->f->n_args : VGPU_NO_BLOCK};
    if (s.loc)
        s.loc = arena_dup(b->k->arena, s.loc, sizeof *s.loc);
    if (s.loc && s.loc->file)
        ((src_loc *)s.loc)->file = arena_str(b->k->arena, s.loc->file, strlen(s.loc->file));
    if (s.loc)
        ((src_loc *)s.loc)->caller = NULL;
    VEC_PUSH(b->a, &b->sites, s);
    b->site = b->sites.count - 1;
}
static u32 number_function(air_func *f) {
    u32 id = 0, block = 0;
    for (u32 i = 0; i < f->n_args; i++)
        f->args[i].id = id++;
    for (air_block *k = f->first; k; k = k->next) {
        k->id = block++;
        for (air_inst *i = k->first; i; i = i->next)
            i->v.id = id++;
    }
    return id;
}
/* Reverse postorder, without recursion. */
static u32 block_order(vbuild *b, const air_func *f, air_block **out) {
    struct frame { air_block *k; u32 next; } *stack = ARENA_ARRAY(b->a, struct frame, f->n_blocks + 1);
    bool *seen = ARENA_ARRAY(b->a, bool, f->n_blocks);
    air_block **post = ARENA_ARRAY(b->a, air_block *, f->n_blocks);
    u32 n = 0, depth = 0;
    stack[depth++] = (struct frame){f->first, 0};
    seen[f->first->id] = true;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        air_inst *t = top->k->last;
        u32 count = t ? t->n_blocks : 0;
        if (top->next < count) {
            air_block *to = t->blocks[count - 1 - top->next++];
            if (!seen[to->id]) {
                seen[to->id] = true;
                stack[depth++] = (struct frame){to, 0};
            }
            continue;
        }
        post[n++] = top->k;
        depth--;
    }
    for (u32 i = 0; i < n; i++)
        out[i] = post[n - 1 - i];
    return n;
}
static void decode_switch(vbuild *b, vinstance *in, air_inst *i) {
    u32 v = value1(b, in, i->ops[0]);
    const air_block *from = b->blocks.at[b->cur]->air;
    for (u32 c = 1; c < i->n_ops; c++) {
        u32 k = value1(b, in, i->ops[c]);
        u32 eq = v_op2(b, v_at(b, v)->cls == CLS_D ? VOP_eq_d : VOP_eq_w, v, k);
        u32 next = v_block(b, from);
        v_cbr(b, eq, in->block_of[i->blocks[c]->id], next);
        if (!b->blocks.at[next]->reached)
            return;
        b->cur = next;
    }
    v_br(b, in->block_of[i->blocks[0]->id]);
}
static void decode_ret(vbuild *b, vinstance *in, air_inst *i) {
    if (in->is_kernel) {
        v_ret(b);
        return;
    }
    if (i->n_ops) {
        u32 n = type_comps(i->ops[0]->type), *v = value_of(b, in, i->ops[0]);
        for (u32 c = 0; c < n; c++)
            VEC_PUSH(b->a, &in->returns[c]->in, ((vedge){b->cur, v[c]}));
    }
    v_br(b, in->exit);
}
static void decode_phi(vbuild *b, vinstance *in, air_inst *i) {
    u32 n = type_comps(i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
    for (u32 c = 0; c < n; c++) {
        vphi *p = ARENA_NEW(b->a, vphi);
        comps[c] = p->d = v_new(b, type_comp(b, i->v.type, c).cls);
        v_at(b, p->d)->block = b->cur;
        p->air = i;
        p->comp = c;
        VEC_PUSH(b->a, &b->blocks.at[b->cur]->phis, p);
    }
    value_set(b, in, i, comps);
}
static void decode_block(vbuild *b, vinstance *in, air_block *k) {
    b->cur = in->block_of[k->id];
    for (air_inst *i = k->first; i && !b->failed; i = i->next) {
        if (!b->budget--) {
            v_refuse(b, "a kernel of this size (2 million instructions after inlining)");
            return;
        }
        set_site(b, in, i);
        switch (i->op) {
        case AIR_PHI: decode_phi(b, in, i); break;
        case AIR_BR:
            if (i->n_ops)
                v_cbr(b, value1(b, in, i->ops[0]), in->block_of[i->blocks[0]->id],
                      in->block_of[i->blocks[1]->id]);
            else
                v_br(b, in->block_of[i->blocks[0]->id]);
            break;
        case AIR_SWITCH: decode_switch(b, in, i); break;
        case AIR_RET: decode_ret(b, in, i); break;
        case AIR_UNREACHABLE: b->blocks.at[b->cur]->term = TERM_TRAP; break;
        default: decode_inst(b, in, i);
        }
    }
}
/* Incoming values of the phis of one AIR block, per edge that remains. */
static void resolve_phis(vbuild *b, vinstance *in, u32 block) {
    vblock *k = b->blocks.at[block];
    for (u32 p = 0; p < k->phis.count; p++) {
        vphi *phi = k->phis.at[p];
        if (!phi->air)
            continue;
        for (u32 e = 0; e < k->preds.count; e++) {
            const air_block *from = b->blocks.at[k->preds.at[e]]->air;
            const air_inst *a = phi->air;
            u32 j = 0;
            while (j < a->n_blocks && a->blocks[j] != from)
                j++;
            if (j == a->n_blocks) {
                v_refuse(b, "a phi that misses a predecessor");
                return;
            }
            b->cur = k->preds.at[e]; /* a zero matrix is made there */
            u32 *v = value_of(b, in, a->ops[j]);
            VEC_PUSH(b->a, &phi->in, ((vedge){k->preds.at[e], v[phi->comp]}));
        }
    }
}
bool decode_function(vbuild *b, vinstance *in) {
    air_func *f = (air_func *)in->f;
    air_block **order = ARENA_ARRAY(b->a, air_block *, f->n_blocks);
    u32 n = block_order(b, f, order);
    in->block_of = ARENA_ARRAY(b->a, u32, f->n_blocks);
    for (u32 i = 0; i < n; i++)
        in->block_of[order[i]->id] = v_block(b, order[i]);
    u32 entry = in->block_of[f->first->id];
    if (in->is_kernel) {
        b->blocks.at[entry]->reached = true;
    } else {
        v_br(b, entry);
    }
    bool *done = ARENA_ARRAY(b->a, bool, n);
    for (bool again = true; again && !b->failed;) {
        again = false;
        for (u32 i = 0; i < n && !b->failed; i++) {
            if (done[i] || !b->blocks.at[in->block_of[order[i]->id]]->reached)
                continue;
            done[i] = again = true;
            decode_block(b, in, order[i]);
        }
    }
    for (u32 i = 0; i < n && !b->failed; i++)
        if (done[i])
            resolve_phis(b, in, in->block_of[order[i]->id]);
    return !b->failed;
}

/* A call of a function with a body: its blocks in place of the call. */
bool decode_inline(vbuild *b, vinstance *in, air_inst *i, air_func *f) {
    u32 depth = 0;
    for (vinstance *p = in; p; p = p->parent)
        depth++;
    if (depth > 24) {
        v_refuse(b, "calls nested deeper than 24 (recursion)");
        return false;
    }
    u32 caller_site = b->site, n_vals = 0;
    for (air_block *k = f->last; k && !n_vals; k = k->prev)
        if (k->last)
            n_vals = k->last->v.id + 1;
    vinstance sub = {.parent = in, .f = f, .vals = ARENA_ARRAY(b->a, u32 *, n_vals + 1)};
    for (u32 a = 0; a < f->n_args; a++)
        sub.vals[f->args[a].id] = value_of(b, in, i->ops[a + 1]);
    sub.exit = v_block(b, b->blocks.at[b->cur]->air);
    u32 n = type_comps(i->v.type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
    sub.returns = ARENA_ARRAY(b->a, vphi *, n + 1);
    for (u32 c = 0; c < n; c++) {
        vphi *p = ARENA_NEW(b->a, vphi);
        comps[c] = p->d = v_new(b, type_comp(b, i->v.type, c).cls);
        v_at(b, p->d)->block = sub.exit;
        sub.returns[c] = p;
        VEC_PUSH(b->a, &b->blocks.at[sub.exit]->phis, p);
    }
    if (!decode_function(b, &sub))
        return false;
    b->cur = sub.exit;
    b->site = caller_site;
    value_set(b, in, i, comps);
    return true;
}

/* ---- Kernels -------------------------------------------------------------------------------------- */
static const struct { const char *name; u8 system; } systems[] = {
    {"threadgroup_position_in_grid", VSYS_TG_POS},
    {"threadgroups_per_grid", VSYS_TG_COUNT},
    {"threads_per_threadgroup", VSYS_TG_SIZE},
    {"dispatch_threads_per_threadgroup", VSYS_TG_SIZE},
    {"threads_per_grid", VSYS_GRID_SIZE},
    {"simdgroup_index_in_threadgroup", VSYS_SG_INDEX},
    {"simdgroups_per_threadgroup", VSYS_SG_COUNT},
    {"dispatch_simdgroups_per_threadgroup", VSYS_SG_COUNT},
    {"thread_position_in_grid", VSYS_POS_IN_GRID},
    {"thread_position_in_threadgroup", VSYS_POS_IN_TG},
    {"thread_index_in_threadgroup", VSYS_INDEX_IN_TG},
    {"thread_index_in_simdgroup", VSYS_LANE},
    {"thread_position_in_simdgroup", VSYS_LANE},
    {"threads_per_simdgroup", VSYS_SG_SIZE},
    {"thread_execution_width", VSYS_SG_SIZE},
    {"thread_index_in_quadgroup", VSYS_QUAD_LANE},
    {"quadgroup_index_in_threadgroup", VSYS_QUAD_INDEX},
    {"quadgroups_per_threadgroup", VSYS_QUAD_COUNT},
    {"grid_origin", VSYS_GRID_ORIGIN},
};
static bool system_is_shared(u8 s) {
    return s <= VSYS_SG_COUNT || s == VSYS_SG_SIZE || s == VSYS_GRID_ORIGIN || s == VSYS_QUAD_COUNT;
}
static u32 new_param(vbuild *b, vparam p, u8 cls, bool divergent) {
    u32 v = v_new(b, cls);
    v_at(b, v)->param = true;
    v_at(b, v)->divergent = divergent;
    v_at(b, v)->param_number = (i32)b->k->n_params;
    p.reg = -1;
    b->k->params[b->k->n_params++] = p;
    return v;
}
u32 lane_id(vbuild *b) {
    if (b->lane == NO) {
        vparam p = {.kind = VPARAM_LANES, .system = VSYS_LANE, .name = "lane"};
        if (!b->k->params)
            b->k->params = ARENA_ARRAY(b->k->arena, vparam, 1);
        b->lane = new_param(b, p, CLS_W, true);
    }
    return b->lane;
}
static void system_argument(vbuild *b, const air_arg *a, const air_type *t, u32 *comps, u32 n) {
    const char *name = a->system ? a->system : "";
    if (strncmp(name, "air.", 4) == 0)
        name += 4;
    for (u32 s = 0; s < COUNT_OF(systems); s++) {
        if (strcmp(name, systems[s].name) != 0)
            continue;
        bool shared = system_is_shared(systems[s].system);
        for (u32 c = 0; c < n && c < 3; c++) {
            vtype ct = type_comp(b, t, c);
            vparam p = {.kind = shared ? VPARAM_SCALAR : VPARAM_LANES, .system = systems[s].system,
                        .axis = (u8)c, .name = name};
            u32 v = new_param(b, p, CLS_W, !shared);
            comps[c] = ct.cls == CLS_D ? v_op1(b, VOP_zext_d, v) : norm(b, ct, v);
        }
        return;
    }
    v_refuse(b, arena_printf(b->k->arena, "the system value '%s'", name));
}
static void kernel_arguments(vbuild *b, vinstance *in) {
    vgpu_kernel *k = b->k;
    const air_kernel *ak = b->kernel;
    u32 slots = 1;
    for (u32 i = 0; i < ak->n_args; i++)
        slots += 4;
    k->params = ARENA_ARRAY(k->arena, vparam, slots);
    k->n_segs = SEG_ARG0;
    for (u32 i = 0; i < ak->n_args && !b->failed; i++) {
        const air_arg *a = &ak->args[i];
        if (a->param >= in->f->n_args) {
            v_refuse(b, "metadata of a parameter that does not exist");
            return;
        }
        const air_value *arg = &in->f->args[a->param];
        u32 n = type_comps(arg->type), *comps = ARENA_ARRAY(b->a, u32, n + 1);
        in->vals[arg->id] = comps;
        vparam p = {.location = a->location, .writes = a->writes, .gated = a->gate != NULL,
                    .min_size = a->size, .elem_size = a->type_size,
                    .type = a->type_name ? arena_str(k->arena, a->type_name, strlen(a->type_name)) : NULL,
                    .name = a->name ? arena_str(k->arena, a->name, strlen(a->name)) : "?"};
        switch (a->kind) {
        case AIR_ARG_BUFFER:
        case AIR_ARG_INDIRECT_BUFFER:
            p.kind = a->space == 3 ? VPARAM_THREADGROUP : VPARAM_BUFFER;
            if (p.kind == VPARAM_BUFFER)
                p.seg = (u16)k->n_segs++;
            p.space = (u8)a->space;
            comps[0] = new_param(b, p, CLS_D, false);
            break;
        case AIR_ARG_SYSTEM: system_argument(b, a, arg->type, comps, n); break;
        default:
            v_refuse(b, a->kind == AIR_ARG_TEXTURE ? "texture arguments"
                        : a->kind == AIR_ARG_SAMPLER ? "sampler arguments" : "this kind of argument");
        }
    }
    for (u32 i = 0; i < in->f->n_args && !b->failed; i++)
        if (!in->vals[in->f->args[i].id])
            v_refuse(b, "a parameter without metadata");
}

static tm_status decode_body(vbuild *b, air_func *f) {
    u32 biggest = 0;
    for (u32 i = 0; i < b->m->funcs.count; i++) {
        u32 n = number_function(b->m->funcs.at[i]);
        biggest = MAX(biggest, n);
    }
    vsite none = {NULL, NULL, VGPU_NO_BLOCK};
    VEC_PUSH(b->a, &b->sites, none);
    vinstance in = {.f = f, .exit = NO, .is_kernel = true,
                    .vals = ARENA_ARRAY(b->a, u32 *, biggest + 1)};
    u32 prologue = v_block(b, NULL);
    b->cur = prologue;
    b->blocks.at[prologue]->reached = true;
    if (b->kernel)
        kernel_arguments(b, &in);
    else
        b->k->n_segs = SEG_ARG0;
    if (b->failed || !globals_place(b))
        return -1;
    if (!decode_function(b, &in))
        return -1;
    b->cur = prologue;
    v_br(b, in.block_of[f->first->id]);
    if (!shape_kernel(b) || !slots_kernel(b) || !encode_kernel(b))
        return -1;
    return 0;
}
static vgpu_kernel *decode_one(tm_ctx *ctx, air_module *m, air_func *f, const air_kernel *ak,
                               const tm_constant_value *constants, u32 n_constants,
                               vgpu_checks checks, vgpu_numerics numerics, vgpu_kernel *with_data) {
    vbuild b = {.ctx = ctx, .m = m, .a = arena_new(), .budget = 2000000, .constants = constants,
                .n_constants = n_constants, .kernel = ak, .lane = NO};
    vgpu_kernel *k;
    if (with_data) { /* static initialisers filled its constant memory */
        k = with_data;
        k->const_writable = false;
    } else {
        arena *a = arena_new();
        k = ARENA_NEW(a, vgpu_kernel);
        k->arena = a;
        k->const_writable = !ak;
    }
    k->name = arena_str(k->arena, f->v.name ? f->v.name : "?", f->v.name ? strlen(f->v.name) : 1);
    k->checks = checks;
    k->numerics = numerics;
    k->granule = 2;
    k->max_threads = ak ? ak->max_threads : 1;
    b.k = k;
    for (u32 i = 0; i < 4; i++)
        b.consts[i] = map_new(b.a);
    b.globals = map_new(b.a);
    tm_status s = decode_body(&b, f);
    if (s == 0 && !vpool_new(k))
        s = diag_at(ctx, NULL, TM9002, "decoding");
    b.failed |= s != 0 && ctx->errors;
    if (s != 0 && !b.failed)
        diag_at(ctx, NULL, TM9001, "decoding failed without a reason");
    arena_free(b.a);
    if (s == 0)
        return k;
    if (!with_data)
        arena_free(k->arena);
    return NULL;
}

/* Runs the module's static initialisers on the constant memory that the kernel will read. */
static tm_status run_initialisers(tm_ctx *ctx, air_module *m, const tm_constant_value *constants,
                                  u32 n_constants, vgpu_numerics numerics, vgpu_kernel *k) {
    for (u32 g = 0; g < m->globals.count; g++) {
        air_global *ctors = m->globals.at[g];
        if (!ctors->v.name || strcmp(ctors->v.name, "llvm.global_ctors") != 0 || !ctors->init ||
            ctors->init->kind != AIR_V_CONST)
            continue;
        air_const *list = (air_const *)ctors->init;
        for (u32 i = 0; list->kind == AIR_C_AGGREGATE && i < list->n_elems; i++) {
            air_const *row = (air_const *)list->elems[i];
            if (row->v.kind != AIR_V_CONST || row->kind != AIR_C_AGGREGATE || row->n_elems < 2 ||
                row->elems[1]->kind != AIR_V_FUNC)
                continue;
            air_func *f = (air_func *)row->elems[1];
            if (!f->first)
                continue;
            vgpu_checks on = {.bounds = true, .barriers = true};
            vgpu_kernel *init = decode_one(ctx, m, f, NULL, constants, n_constants, on, numerics, NULL);
            if (!init)
                return -1;
            if (k->const_size == init->const_size && k->const_data)
                memcpy(init->const_data, k->const_data, init->const_size);
            tm_launch_params p = {.grid = {1, 1, 1}, .group = {1, 1, 1}, .threads = 1,
                                  .max_steps = 1000000};
            tm_status s = vgpu_run(ctx, init, &p);
            k->const_size = init->const_size;
            k->const_data = arena_dup(k->arena, init->const_data, init->const_size + 8);
            vgpu_kernel_free(init);
            TRY(s);
        }
    }
    return 0;
}

vgpu_kernel *vgpu_decode(tm_ctx *ctx, air_module *m, const tm_constant_value *constants,
                         u32 n_constants, vgpu_checks checks, vgpu_numerics numerics) {
    air_kernel ak;
    if (air_kernel_read(m, &ak) != 0)
        return NULL;
    if (!ak.func || !ak.func->first) {
        diag_at(ctx, NULL, TM3001, ak.name ? ak.name : "?", "a kernel without a body");
        return NULL;
    }
    arena *a = arena_new();
    vgpu_kernel *k = ARENA_NEW(a, vgpu_kernel);
    k->arena = a;
    if (run_initialisers(ctx, m, constants, n_constants, numerics, k) != 0 ||
        !decode_one(ctx, m, ak.func, &ak, constants, n_constants, checks, numerics, k)) {
        arena_free(a);
        return NULL;
    }
    return k;
}
void vgpu_kernel_free(vgpu_kernel *k) {
    if (!k)
        return;
    vpool_free(k);
    arena_free(k->arena);
}
