/* SPDX-License-Identifier: MIT */
/* Prints a module as LLVM 14 assembly, the text llvm-dis 14 would print (its first line, the name of
 * the file, apart). llvm-as 14 takes it. */
#include "air/print/print.h"

static const char *linkage_name(u32 linkage) {
    switch (linkage) {
    case 1:
    case 16: return "weak ";
    case 2: return "appending ";
    case 3: return "internal ";
    case 4:
    case 18: return "linkonce ";
    case 5: return "external ";
    case 7: return "extern_weak ";
    case 8: return "common ";
    case 9:
    case 13:
    case 14: return "private ";
    case 10:
    case 17: return "weak_odr ";
    case 11:
    case 19: return "linkonce_odr ";
    case 12: return "available_externally ";
    }
    return "";
}

static void print_linkage(air_printer *p, u32 linkage, u32 visibility, u32 dll, bool dso_local) {
    static const char *const visibilities[] = {"", "hidden ", "protected "};
    static const char *const dlls[] = {"", "dllimport ", "dllexport "};
    bool local = linkage == AIR_INTERNAL || linkage == AIR_PRIVATE;
    text_puts(p->out, linkage_name(linkage));
    if (dso_local && !local && !visibility)
        text_puts(p->out, "dso_local ");
    text_puts(p->out, visibilities[visibility < 3 ? visibility : 0]);
    text_puts(p->out, dlls[dll < 3 ? dll : 0]);
}

static const char *unnamed_addr_name(u32 kind) {
    return kind == 1 ? "unnamed_addr" : kind == 2 ? "local_unnamed_addr" : NULL;
}

static void print_section(air_printer *p, const char *before, u32 section) {
    if (!section)
        return;
    text_printf(p->out, "%ssection \"", before);
    const char *s = p->m->sections.at[section - 1];
    print_escaped(p->out, s, strlen(s));
    text_putc(p->out, '"');
}

static void print_global(air_printer *p, const air_global *g) {
    text *out = p->out;
    print_name(out, '@', g->v.name);
    text_puts(out, " = ");
    if (!g->init && g->linkage == AIR_EXTERNAL)
        text_puts(out, "external ");
    print_linkage(p, g->linkage, g->visibility, g->dll, g->dso_local);
    if (g->tls)
        text_puts(out, "thread_local ");
    if (unnamed_addr_name(g->unnamed_addr))
        text_printf(out, "%s ", unnamed_addr_name(g->unnamed_addr));
    if (g->space)
        text_printf(out, "addrspace(%u) ", g->space);
    if (g->ext_init)
        text_puts(out, "externally_initialized ");
    text_puts(out, g->constant ? "constant " : "global ");
    print_air_type(p, g->value_type);
    if (g->init) {
        text_putc(out, ' ');
        print_air_value(p, g->init);
    }
    print_section(p, ", ", g->section);
    if (g->align)
        text_printf(out, ", align %u", g->align);
    u32 slot = print_attr_slot(p, g->attrs);
    if (slot)
        text_printf(out, " #%u", slot - 1);
    text_putc(out, '\n');
}

static void print_params(air_printer *p, const air_func *f) {
    text *out = p->out;
    text_putc(out, '(');
    for (u32 i = 0; i < f->n_args; i++) {
        if (i)
            text_puts(out, ", ");
        print_air_type(p, f->args[i].type);
        print_attrs(p, out, f->attrs, SLOT_FIRST_PARAM + i, " ", "");
        if (f->first) {
            text_putc(out, ' ');
            print_air_value(p, &f->args[i]);
        }
    }
    if (f->func_type->vararg)
        text_puts(out, f->n_args ? ", ..." : "...");
    text_putc(out, ')');
}

static void print_header(air_printer *p, const air_func *f) {
    text *out = p->out;
    if (f->attrs) {
        text set = {0};
        print_attr_set(p, &set, f->attrs, false);
        if (set.len)
            text_printf(out, "; Function Attrs: %s\n", set.at);
        text_free(&set);
    }
    text_puts(out, f->first ? "define " : "declare ");
    print_linkage(p, f->linkage, f->visibility, f->dll, f->dso_local);
    if (f->cc)
        text_printf(out, f->cc == 8 ? "fastcc " : f->cc == 9 ? "coldcc " : "cc%u ", f->cc);
    print_attrs(p, out, f->attrs, SLOT_RETURN, "", " ");
    print_air_type(p, f->func_type->elem);
    text_putc(out, ' ');
    print_name(out, '@', f->v.name);
    print_params(p, f);
    if (unnamed_addr_name(f->unnamed_addr))
        text_printf(out, " %s", unnamed_addr_name(f->unnamed_addr));
    u32 slot = print_attr_slot(p, f->attrs);
    if (slot)
        text_printf(out, " #%u", slot - 1);
    print_section(p, " ", f->section);
    if (f->align)
        text_printf(out, " align %u", f->align);
}

/* Edges into each block, last first, as LLVM's lists of uses have them. */
typedef struct pred_list {
    const air_block *from;
    struct pred_list *next;
} pred_list;

static pred_list **list_preds(air_printer *p, const air_func *f, map **numbers) {
    *numbers = map_new(p->scratch);
    u32 n = 0;
    for (const air_block *b = f->first; b; b = b->next)
        *map_put(*numbers, MAP_KEY(b)) = (void *)(uintptr_t)n++;
    pred_list **lists = ARENA_ARRAY(p->scratch, pred_list *, n);
    for (const air_block *b = f->first; b; b = b->next)
        for (u32 k = 0; b->last && b->last->op != AIR_PHI && k < b->last->n_blocks; k++) {
            u32 to = (u32)(uintptr_t)*map_get(*numbers, MAP_KEY(b->last->blocks[k]));
            pred_list *e = arena_alloc(p->scratch, sizeof *e);
            *e = (pred_list){b, lists[to]};
            lists[to] = e;
        }
    return lists;
}

static void print_block_head(air_printer *p, const air_block *b, const pred_list *preds) {
    enum { COMMENT_COLUMN = 50 };
    text *out = p->out;
    bool entry = b == b->func->first;
    if (!entry)
        text_putc(out, '\n');
    size_t start = out->len;
    if (b->name) {
        /* Like a value's name without its sigil. */
        print_name(out, ' ', b->name);
        memmove(out->at + start, out->at + start + 1, out->len - start);
        out->len--;
        text_putc(out, ':');
    } else if (!entry) {
        text_printf(out, "%u:", b->id);
    }
    if (entry) {
        if (b->name)
            text_putc(out, '\n');
        return;
    }
    do
        text_putc(out, ' ');
    while (out->len - start < COMMENT_COLUMN);
    text_puts(out, preds ? "; preds = " : "; No predecessors!");
    for (const pred_list *e = preds; e; e = e->next) {
        print_block_ref(p, e->from);
        if (e->next)
            text_puts(out, ", ");
    }
    text_putc(out, '\n');
}

static void print_function(air_printer *p, air_func *f) {
    text_putc(p->out, '\n');
    if (!f->first) {
        print_header(p, f);
        text_putc(p->out, '\n');
        return;
    }
    print_number_function(p, f);
    print_header(p, f);
    text_puts(p->out, " {\n");
    map *numbers;
    pred_list **preds = list_preds(p, f, &numbers);
    u32 n = 0;
    for (const air_block *b = f->first; b; b = b->next) {
        print_block_head(p, b, preds[n++]);
        for (const air_inst *i = b->first; i; i = i->next)
            print_inst(p, i);
    }
    text_puts(p->out, "}\n");
}

static void print_metadata(air_printer *p) {
    text *out = p->out;
    const air_module *m = p->m;
    if (m->named.count)
        text_putc(out, '\n');
    for (u32 i = 0; i < m->named.count; i++) {
        text_printf(out, "!%s = !{", m->named.at[i].name);
        for (u32 k = 0; k < m->named.at[i].n; k++) {
            if (k)
                text_puts(out, ", ");
            print_md_operand(p, m->named.at[i].ops[k]);
        }
        text_puts(out, "}\n");
    }
    if (p->mds.count)
        text_putc(out, '\n');
    for (u32 i = 0; i < p->mds.count; i++) {
        const air_md *md = p->mds.at[i];
        text_printf(out, "!%u = %s!{", i, md->distinct ? "distinct " : "");
        for (u32 k = 0; k < md->n; k++) {
            if (k)
                text_puts(out, ", ");
            print_md_operand(p, md->ops[k]);
        }
        text_puts(out, "}\n");
    }
}

static void print_head(air_printer *p) {
    text *out = p->out;
    const air_module *m = p->m;
    if (m->source_name[0]) {
        text_puts(out, "source_filename = \"");
        print_escaped(out, m->source_name, strlen(m->source_name));
        text_puts(out, "\"\n");
    }
    if (m->datalayout[0])
        text_printf(out, "target datalayout = \"%s\"\n", m->datalayout);
    if (m->triple[0])
        text_printf(out, "target triple = \"%s\"\n", m->triple);
    if (m->module_asm[0]) {
        text_puts(out, "\nmodule asm \"");
        print_escaped(out, m->module_asm, strlen(m->module_asm));
        text_puts(out, "\"\n");
    }
}

static void print_structs(air_printer *p) {
    if (p->structs.count)
        text_putc(p->out, '\n');
    for (u32 i = 0; i < p->structs.count; i++) {
        print_air_type(p, p->structs.at[i]);
        text_puts(p->out, " = type ");
        print_struct_body(p, p->structs.at[i]);
        text_putc(p->out, '\n');
    }
}

static void number_module(air_printer *p) {
    const air_module *m = p->m;
    p->fn_attr = ARENA_ARRAY(p->scratch, u32, m->attr_lists.count);
    for (u32 i = 0; i < m->attr_lists.count; i++)
        p->fn_attr[i] = UINT32_MAX;
    for (u32 i = 0; i < m->globals.count; i++)
        print_attr_slot(p, m->globals.at[i]->attrs);
    for (u32 i = 0; i < m->named.count; i++)
        for (u32 k = 0; k < m->named.at[i].n; k++)
            print_number_md(p, m->named.at[i].ops[k]);
    for (u32 i = 0; i < m->funcs.count; i++)
        print_attr_slot(p, m->funcs.at[i]->attrs);
}

void air_print(text *out, const air_module *m) {
    air_printer p = {.out = out, .m = m, .scratch = arena_new()};
    p.seen = map_new(p.scratch);
    p.attr_slots = strmap_new(p.scratch);
    print_collect_types(&p);
    number_module(&p);
    print_head(&p);
    print_structs(&p);
    if (m->globals.count)
        text_putc(out, '\n');
    for (u32 i = 0; i < m->globals.count; i++)
        print_global(&p, m->globals.at[i]);
    for (u32 i = 0; i < m->funcs.count; i++)
        print_function(&p, m->funcs.at[i]);
    if (p.attr_texts.count)
        text_putc(out, '\n');
    for (u32 i = 0; i < p.attr_texts.count; i++)
        text_printf(out, "attributes #%u = { %s }\n", i, p.attr_texts.at[i]);
    print_metadata(&p);
    arena_free(p.scratch);
}
