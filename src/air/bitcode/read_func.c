/* SPDX-License-Identifier: MIT */
/* Reads function bodies. Operands are numbered backwards from the instruction; one that is defined
 * later comes with its type and is a placeholder until the body ends, when each instruction that has
 * one is visited again. Numbers, metadata and constants of a body are forgotten with it. */
#include "air/bitcode/read_inst.h"

static air_value *forward_value(air_reader *r, u32 id, air_type *type) {
    if (!type_is_first_class(type) || type->kind == AIR_LABEL || type->kind == AIR_METADATA ||
        type->kind == AIR_OPAQUE) {
        bc_fail(r, "an operand has a type without values");
        return NULL;
    }
    air_value *v = ARENA_NEW(r->scratch, air_value);
    *v = (air_value){.kind = AIR_V_FORWARD, .type = type, .id = id};
    return v;
}

static air_value *numbered(air_reader *r, u32 id, air_type *type) {
    if (id >= r->values.count)
        return forward_value(r, id, type);
    air_value *v = r->values.at[id];
    if (v->type == type)
        return v;
    bc_fail(r, "an operand has the wrong type");
    return NULL;
}

air_value *value_at(air_reader *r, u64 id, air_type *type) {
    if (type->kind == AIR_METADATA) {
        if (id < r->mds.count)
            return air_md_as_value(r->m, r->mds.at[id]);
        bc_fail(r, "a metadata operand is out of range");
        return NULL;
    }
    return numbered(r, (u32)id, type);
}

static bool have_operand(air_reader *r, u32 at) {
    if (at < r->bits.n_ops)
        return true;
    bc_fail(r, "an instruction lacks an operand");
    return false;
}

air_value *take_value(air_reader *r, u32 *at, air_type *type) {
    if (!have_operand(r, *at))
        return NULL;
    return value_at(r, r->values.count - (u32)r->bits.ops[(*at)++], type);
}

air_value *take_pair(air_reader *r, u32 *at) {
    if (!have_operand(r, *at))
        return NULL;
    u32 id = r->values.count - (u32)r->bits.ops[(*at)++];
    if (id < r->values.count)
        return r->values.at[id];
    if (!have_operand(r, *at))
        return NULL;
    air_type *t = bc_type(r, r->bits.ops[(*at)++]);
    return t ? forward_value(r, id, t) : NULL;
}

air_value *take_signed(air_reader *r, u32 *at, air_type *type) {
    if (!have_operand(r, *at))
        return NULL;
    u64 v = r->bits.ops[(*at)++];
    u32 back = v & 1 ? 0 - (u32)(v >> 1) : (u32)(v >> 1);
    return numbered(r, r->values.count - back, type);
}

air_block *block_at(air_reader *r, u64 id) {
    if (id < r->func->n_blocks)
        return r->blocks[id];
    bc_fail(r, "a block's number is out of range");
    return NULL;
}

air_inst *add_inst(air_reader *r, enum air_op op, air_type *type, u32 n, air_value *const *ops) {
    if (!r->block) {
        bc_fail(r, "an instruction stands outside a block");
        return NULL;
    }
    air_inst *i = air_inst_new(r->m, r->block, op, type, n, ops);
    VEC_PUSH(r->scratch, &r->insts, i);
    if (type->kind != AIR_VOID)
        VEC_PUSH(r->scratch, &r->values, &i->v);
    for (u32 k = 0; k < n; k++)
        if (ops[k]->kind == AIR_V_FORWARD) {
            VEC_PUSH(r->scratch, &r->forward, i);
            break;
        }
    return i;
}

air_inst *add_terminator(air_reader *r, enum air_op op, u32 n, air_value *const *ops, u32 n_blocks,
                         air_block *const *blocks) {
    air_inst *i = add_inst(r, op, air_type_simple(r->m, AIR_VOID), n, ops);
    if (!i)
        return NULL;
    i->n_blocks = n_blocks;
    if (n_blocks)
        i->blocks = arena_dup(r->m->arena, blocks, n_blocks * sizeof *blocks);
    r->block = r->block->next;
    return i;
}

static tm_status resolve_forward(air_reader *r) {
    for (u32 k = 0; k < r->forward.count; k++) {
        air_inst *i = r->forward.at[k];
        for (u32 o = 0; o < i->n_ops; o++) {
            air_value *v = i->ops[o];
            if (v->kind != AIR_V_FORWARD)
                continue;
            if (v->id >= r->values.count || r->values.at[v->id]->type != v->type)
                return bc_fail(r, "an operand is never defined or has another type");
            i->ops[o] = r->values.at[v->id];
        }
    }
    return 0;
}

static tm_status declare_blocks(air_reader *r) {
    TRY(bc_need(r, 1));
    u64 n = r->bits.ops[0];
    if (r->func->first || n == 0 || n > (r->bits.end - r->bits.at) / 2)
        return bc_fail(r, "a function's number of blocks is not possible");
    r->blocks = ARENA_ARRAY(r->scratch, air_block *, n);
    for (u64 i = 0; i < n; i++)
        r->blocks[i] = air_block_new(r->func);
    r->block = r->func->first;
    return 0;
}

static tm_status read_local_names(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_VALUE_SYMTAB));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        TRY(bc_need(r, 1));
        u64 id = r->bits.ops[0];
        if (r->bits.code == VALUE_SYMTAB_BBENTRY) {
            air_block *b = block_at(r, id);
            if (!b)
                return -1;
            b->name = read_chars(r, 1);
        } else if (r->bits.code == VALUE_SYMTAB_ENTRY && id < r->values.count &&
                   (r->values.at[id]->kind == AIR_V_INST || r->values.at[id]->kind == AIR_V_ARG)) {
            r->values.at[id]->name = read_chars(r, 1);
        } else {
            return bc_fail(r, "a name belongs to nothing");
        }
    }
    return 0;
}

static tm_status read_body_block(air_reader *r, u32 block) {
    switch (block) {
    case BLOCK_CONSTANTS: return read_constants(r);
    case BLOCK_METADATA: return read_metadata(r);
    case BLOCK_ATTACHMENT: return read_attachments(r);
    case BLOCK_VALUE_SYMTAB: return read_local_names(r);
    }
    r->bits.code = block;
    return read_unsupported(r, "block in a function,");
}

static tm_status read_body(air_reader *r) {
    for (;;) {
        u32 block;
        switch (bit_next(&r->bits, &block)) {
        case BIT_ERROR: return -1;
        case BIT_END:
            if (!r->func->first || r->block)
                return bc_fail(r, "a function's last block does not end");
            return resolve_forward(r);
        case BIT_BLOCK: TRY(read_body_block(r, block)); break;
        case BIT_RECORD:
            if (r->bits.code == FUNCTION_DECLAREBLOCKS)
                TRY(declare_blocks(r));
            else
                TRY(read_instruction(r));
            break;
        }
    }
}

tm_status read_function_body(air_reader *r) {
    if (r->next_body == r->bodies.count)
        return bc_fail(r, "there are more bodies than functions");
    TRY(bit_enter(&r->bits, BLOCK_FUNCTION));
    u32 values = r->values.count, mds = r->mds.count;
    r->func = r->bodies.at[r->next_body++];
    r->block = NULL;
    r->insts.count = r->forward.count = 0;
    for (u32 i = 0; i < r->func->n_args; i++)
        VEC_PUSH(r->scratch, &r->values, &r->func->args[i]);
    TRY(read_body(r));
    r->values.count = values;
    r->mds.count = mds;
    r->func = NULL;
    return 0;
}
