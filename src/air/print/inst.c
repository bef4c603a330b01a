/* SPDX-License-Identifier: MIT */
/* Prints instructions as llvm-dis 14 does. */
#include "air/print/print.h"


static const char *const int_ops[] = {"add", "sub", "mul", "udiv", "sdiv", "urem", "srem",
                                      "shl", "lshr", "ashr", "and", "or", "xor"};
static const char *const float_ops[] = {"fadd", "fsub", "fmul", "?", "fdiv", "?", "frem"};
static const char *const float_predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                               "one", "ord", "uno", "ueq", "ugt", "uge",
                                               "ult", "ule", "une", "true"};
static const char *const int_predicates[] = {"eq", "ne", "ugt", "uge", "ult",
                                             "ule", "sgt", "sge", "slt", "sle"};

static void print_fmf(air_printer *p, u32 fmf) {
    static const struct {
        u32 bit;
        const char *name;
    } flags[] = {{1 << 7, "reassoc"}, {1 << 1, "nnan"}, {1 << 2, "ninf"},     {1 << 3, "nsz"},
                 {1 << 4, "arcp"},    {1 << 5, "contract"}, {1 << 6, "afn"}};
    if ((fmf & 0xFE) == 0xFE || fmf & 1) {
        text_puts(p->out, " fast");
        return;
    }
    for (u32 i = 0; i < COUNT_OF(flags); i++)
        if (fmf & flags[i].bit)
            text_printf(p->out, " %s", flags[i].name);
}

void print_block_ref(air_printer *p, const air_block *b) {
    if (b->name)
        print_name(p->out, '%', b->name);
    else
        text_printf(p->out, "%%%u", b->id);
}

static void print_label(air_printer *p, const air_block *b) {
    text_puts(p->out, "label ");
    print_block_ref(p, b);
}

static void print_opcode(air_printer *p, const air_inst *i) {
    text *out = p->out;
    bool is_float = i->n_ops && type_is_float(type_scalar(i->ops[0]->type));
    bool shift_or_wrap = i->sub <= AIR_MUL || i->sub == AIR_SHL;
    static const char *const plain[AIR_OP_COUNT] = {
        [AIR_FNEG] = "fneg", [AIR_SELECT] = "select", [AIR_EXTRACTELT] = "extractelement",
        [AIR_INSERTELT] = "insertelement", [AIR_SHUFFLE] = "shufflevector",
        [AIR_EXTRACTVAL] = "extractvalue", [AIR_INSERTVAL] = "insertvalue",
        [AIR_GEP] = "getelementptr", [AIR_LOAD] = "load", [AIR_STORE] = "store",
        [AIR_ALLOCA] = "alloca", [AIR_CALL] = "call", [AIR_PHI] = "phi", [AIR_FREEZE] = "freeze",
        [AIR_BR] = "br", [AIR_SWITCH] = "switch", [AIR_RET] = "ret",
        [AIR_UNREACHABLE] = "unreachable",
    };
    if (i->op == AIR_BINOP)
        text_puts(out, is_float ? float_ops[i->sub] : int_ops[i->sub]);
    else if (i->op == AIR_CAST)
        text_puts(out, print_cast_name(i->sub));
    else if (i->op == AIR_CMP)
        text_puts(out, i->sub < 32 ? "fcmp" : "icmp");
    else
        text_puts(out, plain[i->op]);
    if (i->flags & AIR_VOLATILE)
        text_puts(out, " volatile");
    print_fmf(p, i->fmf);
    if (i->op == AIR_BINOP && !is_float) {
        if (shift_or_wrap && i->flags & AIR_NUW)
            text_puts(out, " nuw");
        if (shift_or_wrap && i->flags & AIR_NSW)
            text_puts(out, " nsw");
        if (!shift_or_wrap && i->flags & AIR_EXACT)
            text_puts(out, " exact");
    }
    if (i->op == AIR_CMP)
        text_printf(out, " %s", i->sub < 32 ? float_predicates[i->sub] : int_predicates[i->sub - 32]);
    if (i->op == AIR_GEP && i->flags & AIR_INBOUNDS)
        text_puts(out, " inbounds");
}

static void print_align(air_printer *p, u32 align) {
    if (align)
        text_printf(p->out, ", align %u", align);
}

static void print_typed_list(air_printer *p, const air_inst *i, u32 from) {
    for (u32 k = from; k < i->n_ops; k++) {
        text_puts(p->out, k == from ? " " : ", ");
        print_typed(p, i->ops[k]);
    }
}

/* A list of small integers, the constants of a vector of i32. */
static void print_mask(air_printer *p, const air_value *mask) {
    text_puts(p->out, ", ");
    print_air_type(p, mask->type);
    text_putc(p->out, ' ');
    if (as_const(mask)->kind == AIR_C_POISON)
        text_puts(p->out, "undef");
    else
        print_air_value(p, mask);
}

static void print_alloca(air_printer *p, const air_inst *i) {
    text_putc(p->out, ' ');
    if (i->flags & AIR_INALLOCA)
        text_puts(p->out, "inalloca ");
    if (i->flags & AIR_SWIFTERROR)
        text_puts(p->out, "swifterror ");
    print_air_type(p, i->aux);
    const air_const *n = as_const(i->ops[0]);
    bool one = n && n->kind == AIR_C_INT && n->wide == 1 && n->v.type->bits == 32;
    if (!one) {
        text_puts(p->out, ", ");
        print_typed(p, i->ops[0]);
    }
    print_align(p, i->align);
}

static void print_cc(air_printer *p, u32 cc) {
    if (cc == 8)
        text_puts(p->out, "fastcc ");
    else if (cc == 9)
        text_puts(p->out, "coldcc ");
    else if (cc)
        text_printf(p->out, "cc%u ", cc);
}

static void print_call(air_printer *p, const air_inst *i) {
    text *out = p->out;
    text_putc(out, ' ');
    print_cc(p, i->cc);
    print_attrs(p, out, i->attrs, SLOT_RETURN, "", " ");
    print_air_type(p, i->aux->vararg ? i->aux : i->aux->elem);
    text_putc(out, ' ');
    print_air_value(p, i->ops[0]);
    text_putc(out, '(');
    for (u32 k = 1; k < i->n_ops; k++) {
        if (k > 1)
            text_puts(out, ", ");
        print_air_type(p, i->ops[k]->type);
        print_attrs(p, out, i->attrs, SLOT_FIRST_PARAM + k - 1, " ", "");
        text_putc(out, ' ');
        print_air_value(p, i->ops[k]);
    }
    text_putc(out, ')');
    u32 slot = print_attr_slot(p, i->attrs);
    if (slot)
        text_printf(out, " #%u", slot - 1);
}

static void print_phi(air_printer *p, const air_inst *i) {
    text_putc(p->out, ' ');
    print_air_type(p, i->v.type);
    for (u32 k = 0; k < i->n_ops; k++) {
        text_puts(p->out, k ? ", [ " : " [ ");
        print_air_value(p, i->ops[k]);
        text_puts(p->out, ", ");
        print_block_ref(p, i->blocks[k]);
        text_puts(p->out, " ]");
    }
}

static void print_switch(air_printer *p, const air_inst *i) {
    text_putc(p->out, ' ');
    print_typed(p, i->ops[0]);
    text_puts(p->out, ", ");
    print_label(p, i->blocks[0]);
    text_puts(p->out, " [");
    for (u32 k = 1; k < i->n_ops; k++) {
        text_puts(p->out, "\n    ");
        print_typed(p, i->ops[k]);
        text_puts(p->out, ", ");
        print_label(p, i->blocks[k]);
    }
    text_puts(p->out, "\n  ]");
}

static void print_operands(air_printer *p, const air_inst *i) {
    text *out = p->out;
    switch ((enum air_op)i->op) {
    case AIR_BINOP:
    case AIR_FNEG:
    case AIR_CMP:
    case AIR_FREEZE:
        text_putc(out, ' ');
        print_typed(p, i->ops[0]);
        if (i->n_ops > 1) {
            text_puts(out, ", ");
            print_air_value(p, i->ops[1]);
        }
        return;
    case AIR_CAST:
        print_typed_list(p, i, 0);
        text_puts(out, " to ");
        print_air_type(p, i->v.type);
        return;
    case AIR_SELECT:
    case AIR_EXTRACTELT:
    case AIR_INSERTELT: print_typed_list(p, i, 0); return;
    case AIR_SHUFFLE:
        text_putc(out, ' ');
        print_typed(p, i->ops[0]);
        text_puts(out, ", ");
        print_typed(p, i->ops[1]);
        print_mask(p, i->ops[2]);
        return;
    case AIR_EXTRACTVAL:
    case AIR_INSERTVAL:
        print_typed_list(p, i, 0);
        for (u32 k = 0; k < i->n_indices; k++)
            text_printf(out, ", %u", i->indices[k]);
        return;
    case AIR_GEP:
        text_putc(out, ' ');
        print_air_type(p, i->aux);
        text_putc(out, ',');
        print_typed_list(p, i, 0);
        return;
    case AIR_LOAD:
        text_putc(out, ' ');
        print_air_type(p, i->v.type);
        text_putc(out, ',');
        print_typed_list(p, i, 0);
        print_align(p, i->align);
        return;
    case AIR_STORE:
        text_putc(out, ' ');
        print_typed(p, i->ops[1]);
        text_puts(out, ", ");
        print_typed(p, i->ops[0]);
        print_align(p, i->align);
        return;
    case AIR_ALLOCA: print_alloca(p, i); return;
    case AIR_CALL: print_call(p, i); return;
    case AIR_PHI: print_phi(p, i); return;
    case AIR_BR:
        text_putc(out, ' ');
        if (i->n_ops) {
            print_typed(p, i->ops[0]);
            text_puts(out, ", ");
            print_label(p, i->blocks[0]);
            text_puts(out, ", ");
        }
        print_label(p, i->blocks[i->n_blocks - 1]);
        return;
    case AIR_SWITCH: print_switch(p, i); return;
    case AIR_RET:
        if (i->n_ops)
            print_typed_list(p, i, 0);
        else
            text_puts(out, " void");
        return;
    case AIR_UNREACHABLE:
    case AIR_OP_COUNT: return;
    }
}

void print_inst(air_printer *p, const air_inst *i) {
    text_puts(p->out, "  ");
    if (i->v.type->kind != AIR_VOID) {
        print_air_value(p, &i->v);
        text_puts(p->out, " = ");
    }
    if (i->op == AIR_CALL)
        text_puts(p->out, i->flags & AIR_MUSTTAIL ? "musttail "
                          : i->flags & AIR_TAIL   ? "tail "
                          : i->flags & AIR_NOTAIL ? "notail "
                                                  : "");
    print_opcode(p, i);
    print_operands(p, i);
    for (u32 k = 0; k < i->n_attach; k++) {
        text_puts(p->out, ", ");
        print_md_kind(p, i->attach[k].kind);
        text_printf(p->out, " !%u", i->attach[k].node->id);
    }
    text_putc(p->out, '\n');
}
