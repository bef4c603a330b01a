/* SPDX-License-Identifier: MIT */
/* Writes function bodies: one case per instruction. An operand is the distance back from the next
 * number; one that is not numbered yet brings its type, and then no abbreviation fits. */
#include "air/bitcode/write.h"

typedef struct body {
    air_writer *w;
    u32 next; /* number the next result gets */
} body;

static void put_value(const body *b, const air_value *v) {
    u32 id = v->kind == AIR_V_MD ? write_md_id(b->w, ((const air_md_ref *)v)->md)
                                 : write_value_id(b->w, v);
    PUT(b->w, b->next - id);
}

/* True when the operand lies ahead. */
static bool put_pair(const body *b, const air_value *v) {
    put_value(b, v);
    if (v->id < b->next)
        return false;
    PUT(b->w, v->type->id);
    return true;
}

static u32 align_code(u32 align) { return align ? log2_u64(align) + 1 : 0; }

static void emit(const body *b, bool plain, u32 info, u32 code) {
    write_record(b->w, plain ? BC_UNABBREV : b->w->info[info], code);
}

static void write_binop(const body *b, const air_inst *i) {
    bool ahead = put_pair(b, i->ops[0]);
    put_value(b, i->ops[1]);
    PUT(b->w, i->sub);
    bool is_float = type_is_float(type_scalar(i->v.type));
    u32 flags = is_float ? i->fmf : i->flags & 3u;
    if (flags)
        PUT(b->w, flags);
    emit(b, ahead, flags ? INFO_BINOP_FLAGS : INFO_BINOP, FUNCTION_BINOP);
}

static void write_fneg(const body *b, const air_inst *i) {
    bool ahead = put_pair(b, i->ops[0]);
    PUT(b->w, 0);
    if (i->fmf)
        PUT(b->w, i->fmf);
    emit(b, ahead, i->fmf ? INFO_UNOP_FLAGS : INFO_UNOP, FUNCTION_UNOP);
}

static void write_cast(const body *b, const air_inst *i) {
    bool ahead = put_pair(b, i->ops[0]);
    PUT(b->w, i->v.type->id);
    PUT(b->w, i->sub);
    emit(b, ahead, INFO_CAST, FUNCTION_CAST);
}

static void write_gep(const body *b, const air_inst *i) {
    PUT(b->w, (i->flags & AIR_INBOUNDS) != 0);
    PUT(b->w, i->aux->id);
    bool ahead = false;
    for (u32 k = 0; k < i->n_ops; k++)
        ahead |= put_pair(b, i->ops[k]);
    emit(b, ahead, INFO_GEP, FUNCTION_GEP);
}

static void write_memory(const body *b, const air_inst *i) {
    bool ahead = put_pair(b, i->ops[0]);
    if (i->op == AIR_LOAD)
        PUT(b->w, i->v.type->id);
    else
        put_pair(b, i->ops[1]);
    PUT(b->w, align_code(i->align));
    PUT(b->w, (i->flags & AIR_VOLATILE) != 0);
    if (i->op == AIR_LOAD)
        emit(b, ahead, INFO_LOAD, FUNCTION_LOAD);
    else
        write_record(b->w, BC_UNABBREV, FUNCTION_STORE);
}

static void write_alloca(const body *b, const air_inst *i) {
    u32 align = align_code(i->align);
    PUT(b->w, i->aux->id);
    PUT(b->w, i->ops[0]->type->id);
    PUT(b->w, write_value_id(b->w, i->ops[0]));
    PUT(b->w, (align & 31) | (i->flags & AIR_INALLOCA ? 1u << 5 : 0) | 1u << 6 |
                  (i->flags & AIR_SWIFTERROR ? 1u << 7 : 0) | (align >> 5) << 8);
    write_record(b->w, BC_UNABBREV, FUNCTION_ALLOCA);
}

static void write_call(const body *b, const air_inst *i) {
    air_writer *w = b->w;
    PUT(w, i->attrs);
    PUT(w, i->cc << 1 | (i->flags & AIR_TAIL ? 1u : 0) | (i->flags & AIR_MUSTTAIL ? 1u << 14 : 0) |
               1u << 15 | (i->fmf ? 1u << 17 : 0) | (i->flags & AIR_NOTAIL ? 1u << 20 : 0));
    if (i->fmf)
        PUT(w, i->fmf);
    PUT(w, i->aux->id);
    put_pair(b, i->ops[0]);
    for (u32 k = 1; k < i->n_ops; k++)
        if (k <= i->aux->n_fields)
            put_value(b, i->ops[k]);
        else
            put_pair(b, i->ops[k]);
    write_record(w, BC_UNABBREV, FUNCTION_CALL);
}

static void write_phi(const body *b, const air_inst *i) {
    PUT(b->w, i->v.type->id);
    for (u32 k = 0; k < i->n_ops; k++) {
        i64 back = (i64)b->next - (i64)write_value_id(b->w, i->ops[k]);
        PUT(b->w, back >= 0 ? (u64)back << 1 : (u64)-back << 1 | 1);
        PUT(b->w, i->blocks[k]->id);
    }
    if (i->fmf)
        PUT(b->w, i->fmf);
    write_record(b->w, BC_UNABBREV, FUNCTION_PHI);
}

static void write_select(const body *b, const air_inst *i) {
    put_pair(b, i->ops[1]);
    put_value(b, i->ops[2]);
    put_pair(b, i->ops[0]);
    if (i->fmf)
        PUT(b->w, i->fmf);
    write_record(b->w, BC_UNABBREV, FUNCTION_VSELECT);
}

static void write_cmp(const body *b, const air_inst *i) {
    put_pair(b, i->ops[0]);
    put_value(b, i->ops[1]);
    PUT(b->w, i->sub);
    if (i->fmf)
        PUT(b->w, i->fmf);
    write_record(b->w, BC_UNABBREV, FUNCTION_CMP2);
}

static void write_element(const body *b, const air_inst *i) {
    put_pair(b, i->ops[0]);
    if (i->op != AIR_EXTRACTELT)
        put_value(b, i->ops[1]);
    if (i->op == AIR_SHUFFLE)
        put_value(b, i->ops[2]);
    else
        put_pair(b, i->ops[i->n_ops - 1]);
    write_record(b->w, BC_UNABBREV,
                 i->op == AIR_SHUFFLE      ? FUNCTION_SHUFFLEVEC
                 : i->op == AIR_EXTRACTELT ? FUNCTION_EXTRACTELT
                                           : FUNCTION_INSERTELT);
}

static void write_aggregate(const body *b, const air_inst *i) {
    for (u32 k = 0; k < i->n_ops; k++)
        put_pair(b, i->ops[k]);
    for (u32 k = 0; k < i->n_indices; k++)
        PUT(b->w, i->indices[k]);
    write_record(b->w, BC_UNABBREV,
                 i->op == AIR_EXTRACTVAL ? FUNCTION_EXTRACTVAL : FUNCTION_INSERTVAL);
}

static void write_br(const body *b, const air_inst *i) {
    for (u32 k = 0; k < i->n_blocks; k++)
        PUT(b->w, i->blocks[k]->id);
    if (i->n_ops)
        put_value(b, i->ops[0]);
    write_record(b->w, BC_UNABBREV, FUNCTION_BR);
}

static void write_switch(const body *b, const air_inst *i) {
    PUT(b->w, i->ops[0]->type->id);
    put_value(b, i->ops[0]);
    PUT(b->w, i->blocks[0]->id);
    for (u32 k = 1; k < i->n_ops; k++) {
        PUT(b->w, write_value_id(b->w, i->ops[k]));
        PUT(b->w, i->blocks[k]->id);
    }
    write_record(b->w, BC_UNABBREV, FUNCTION_SWITCH);
}

static void write_ret(const body *b, const air_inst *i) {
    bool ahead = i->n_ops && put_pair(b, i->ops[0]);
    emit(b, ahead, i->n_ops ? INFO_RET_VALUE : INFO_RET_VOID, FUNCTION_RET);
}

static void write_inst(const body *b, const air_inst *i) {
    switch ((enum air_op)i->op) {
    case AIR_BINOP: write_binop(b, i); return;
    case AIR_FNEG: write_fneg(b, i); return;
    case AIR_CAST: write_cast(b, i); return;
    case AIR_CMP: write_cmp(b, i); return;
    case AIR_SELECT: write_select(b, i); return;
    case AIR_EXTRACTELT:
    case AIR_INSERTELT:
    case AIR_SHUFFLE: write_element(b, i); return;
    case AIR_EXTRACTVAL:
    case AIR_INSERTVAL: write_aggregate(b, i); return;
    case AIR_GEP: write_gep(b, i); return;
    case AIR_LOAD:
    case AIR_STORE: write_memory(b, i); return;
    case AIR_ALLOCA: write_alloca(b, i); return;
    case AIR_CALL: write_call(b, i); return;
    case AIR_PHI: write_phi(b, i); return;
    case AIR_FREEZE:
        put_pair(b, i->ops[0]);
        write_record(b->w, BC_UNABBREV, FUNCTION_FREEZE);
        return;
    case AIR_BR: write_br(b, i); return;
    case AIR_SWITCH: write_switch(b, i); return;
    case AIR_RET: write_ret(b, i); return;
    case AIR_UNREACHABLE: emit(b, false, INFO_UNREACHABLE, FUNCTION_UNREACHABLE); return;
    case AIR_OP_COUNT: break;
    }
}

static void name_value(air_writer *w, bool *open, u32 code, u32 id, const char *name) {
    if (!name)
        return;
    if (!*open)
        bit_begin(&w->bits, BLOCK_VALUE_SYMTAB, 4);
    *open = true;
    PUT(w, id);
    for (; *name; name++)
        PUT(w, (u8)*name);
    write_record(w, BC_UNABBREV, code);
}

static void write_local_names(air_writer *w, const air_func *f) {
    bool open = false;
    for (u32 i = 0; i < f->n_args; i++)
        name_value(w, &open, VALUE_SYMTAB_ENTRY, f->args[i].id, f->args[i].name);
    for (const air_block *b = f->first; b; b = b->next) {
        name_value(w, &open, VALUE_SYMTAB_BBENTRY, b->id, b->name);
        for (const air_inst *i = b->first; i; i = i->next)
            if (i->v.type->kind != AIR_VOID)
                name_value(w, &open, VALUE_SYMTAB_ENTRY, i->v.id, i->v.name);
    }
    if (open)
        bit_finish(&w->bits);
}

void write_function(air_writer *w, u32 func) {
    air_func *f = w->m->funcs.at[func];
    w->func_word[func] = bit_position(&w->bits) / 32;
    bit_begin(&w->bits, BLOCK_FUNCTION, 4);
    write_open_function(w, f);
    PUT(w, f->n_blocks);
    write_record(w, BC_UNABBREV, FUNCTION_DECLAREBLOCKS);
    write_constants(w, w->first_local_const, w->n_local_consts_end, false);
    write_function_metadata(w, func);
    body b = {w, w->n_local_consts_end};
    for (const air_block *block = f->first; block; block = block->next)
        for (const air_inst *i = block->first; i; i = i->next) {
            write_inst(&b, i);
            b.next += i->v.type->kind != AIR_VOID;
        }
    write_local_names(w, f);
    write_attachments(w, f);
    write_close_function(w);
    bit_finish(&w->bits);
}
