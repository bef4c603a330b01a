/* SPDX-License-Identifier: MIT */
/* Reads metadata. Strings and values are merged in the module; nodes are made as their records come
 * and their operands, which may point forward within the block, are filled in at its end. */
#include "air/bitcode/read.h"

typedef struct raw_node {
    air_md *node;
    u64 *ops; /* number + 1, 0 = null */
} raw_node;

typedef struct md_block {
    air_reader *r;
    VEC(raw_node) nodes;
    VEC(raw_node) named; /* node NULL; ops without the + 1; resolved with the others */
    VEC(u32) named_at;   /* positions in module->named */
} md_block;

static tm_status read_strings(air_reader *r) {
    TRY(bc_need(r, 2));
    u64 n = r->bits.ops[0], skip = r->bits.ops[1];
    if (!r->bits.blob || skip > r->bits.blob_len || n > skip * 8 / 6)
        return bc_fail(r, "the metadata strings are damaged");
    const u8 *chars = r->bits.blob + skip;
    u64 left = r->bits.blob_len - skip;
    bit_reader lengths = {.data = r->bits.blob, .len = skip, .end = skip * 8, .ctx = r->ctx};
    for (u64 i = 0; i < n; i++) {
        u64 len = bit_take_vbr(&lengths, 6);
        if (lengths.failed || len > left || len > UINT32_MAX)
            return lengths.failed ? -1 : bc_fail(r, "a metadata string is longer than its block");
        VEC_PUSH(r->scratch, &r->mds, air_md_string_len(r->m, (const char *)chars, len));
        chars += len;
        left -= len;
    }
    return 0;
}

static tm_status read_md_value(air_reader *r) {
    TRY(bc_need(r, 2));
    air_type *t = bc_type(r, r->bits.ops[0]);
    if (!t)
        return -1;
    u64 id = r->bits.ops[1];
    if (id >= r->values.count || !r->values.at[id] || r->values.at[id]->type != t)
        return bc_fail(r, "a metadata value is not there or has another type");
    if (r->values.at[id]->kind == AIR_V_ARG)
        return read_unsupported(r, "function-local metadata record");
    VEC_PUSH(r->scratch, &r->mds, air_md_value(r->m, r->values.at[id]));
    return 0;
}

static void add_node(md_block *b, bool distinct) {
    air_reader *r = b->r;
    air_md *node = air_md_node_raw(r->m, r->bits.n_ops, distinct);
    node->local = r->func;
    VEC_PUSH(r->scratch, &r->mds, node);
    u64 *ops = arena_dup(r->scratch, r->bits.ops, node->n * sizeof *ops);
    VEC_PUSH(r->scratch, &b->nodes, ((raw_node){node, ops}));
}

static tm_status add_named(md_block *b, const char *name) {
    air_reader *r = b->r;
    if (!name)
        return bc_fail(r, "a named metadata record has no name");
    air_named_md named = {.name = name, .n = r->bits.n_ops};
    named.ops = ARENA_ARRAY(r->m->arena, air_md *, named.n);
    u64 *ops = arena_dup(r->scratch, r->bits.ops, named.n * sizeof *ops);
    VEC_PUSH(r->scratch, &b->named, ((raw_node){NULL, ops}));
    VEC_PUSH(r->scratch, &b->named_at, r->m->named.count);
    VEC_PUSH(r->m->arena, &r->m->named, named);
    return 0;
}

static tm_status fill_node(air_reader *r, const raw_node *raw) {
    for (u32 i = 0; i < raw->node->n; i++) {
        if (raw->ops[i] == 0)
            continue;
        if (raw->ops[i] > r->mds.count)
            return bc_fail(r, "a metadata operand is out of range");
        raw->node->ops[i] = r->mds.at[raw->ops[i] - 1];
    }
    return 0;
}

static tm_status fill(md_block *b) {
    air_reader *r = b->r;
    for (u32 i = 0; i < b->nodes.count; i++)
        TRY(fill_node(r, &b->nodes.at[i]));
    for (u32 i = 0; i < b->named.count; i++) {
        air_named_md *named = &r->m->named.at[b->named_at.at[i]];
        for (u32 k = 0; k < named->n; k++) {
            u64 id = b->named.at[i].ops[k];
            if (id >= r->mds.count || r->mds.at[id]->kind != AIR_MD_NODE)
                return bc_fail(r, "a named metadata operand is not a node");
            named->ops[k] = r->mds.at[id];
        }
    }
    return 0;
}

tm_status read_metadata(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_METADATA));
    md_block b = {.r = r};
    const char *name = NULL;
    u32 sub;
    FOR_RECORDS(r, &sub) {
        switch (r->bits.code) {
        case METADATA_STRINGS: TRY(read_strings(r)); break;
        case METADATA_VALUE: TRY(read_md_value(r)); break;
        case METADATA_NODE: add_node(&b, false); break;
        case METADATA_DISTINCT_NODE: add_node(&b, true); break;
        case METADATA_NAME: name = read_chars(r, 0); break;
        case METADATA_NAMED_NODE:
            TRY(add_named(&b, name));
            name = NULL;
            break;
        case METADATA_INDEX_OFFSET:
        case METADATA_INDEX: break; /* aids for reading lazily */
        default: return read_unsupported(r, "metadata record");
        }
    }
    return fill(&b);
}

tm_status read_md_kinds(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_METADATA_KIND));
    air_module *m = r->m;
    m->md_kinds.count = 0;
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code != METADATA_KIND_KIND)
            return read_unsupported(r, "metadata kind record");
        TRY(bc_need(r, 1));
        if (r->bits.ops[0] != m->md_kinds.count)
            return bc_fail(r, "metadata kinds are not numbered in order");
        VEC_PUSH(m->arena, &m->md_kinds, read_chars(r, 1));
    }
    return 0;
}

static tm_status attach(air_reader *r) {
    u32 n = r->bits.n_ops;
    if (n % 2 == 0)
        return read_unsupported(r, "metadata attachment to a function, record");
    if (r->bits.ops[0] >= r->insts.count)
        return bc_fail(r, "metadata is attached to an instruction that is not there");
    air_inst *i = r->insts.at[r->bits.ops[0]];
    if (i->n_attach)
        return bc_fail(r, "metadata is attached twice");
    i->attach = ARENA_ARRAY(r->m->arena, air_attach, n / 2);
    for (u32 k = 1; k < n; k += 2) {
        u64 kind = r->bits.ops[k], id = r->bits.ops[k + 1];
        if (kind >= r->m->md_kinds.count || id >= r->mds.count ||
            r->mds.at[id]->kind != AIR_MD_NODE)
            return bc_fail(r, "an attached metadata node or its kind is not there");
        i->attach[i->n_attach++] = (air_attach){(u32)kind, r->mds.at[id]};
    }
    return 0;
}

tm_status read_attachments(air_reader *r) {
    TRY(bit_enter(&r->bits, BLOCK_ATTACHMENT));
    u32 sub;
    FOR_RECORDS(r, &sub) {
        if (r->bits.code != ATTACHMENT_ENTRY)
            return read_unsupported(r, "attachment record");
        TRY(attach(r));
    }
    return 0;
}
