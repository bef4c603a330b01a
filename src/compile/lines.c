/* SPDX-License-Identifier: MIT */
/* The source lines of a kernel's instructions as text (src/vgpu/lines.c reads it and tells the form).
 * Instructions of one operation stand together, so runs are few. */
#include "base/map.h"
#include "base/vec.h"
#include "compile/pipeline.h"

typedef struct files {
    arena *a;
    strmap *numbers;   /* name -> number + 1 */
    VEC(const char *) names;
} files;
static u32 number_of(files *f, const char *name) {
    void **at = strmap_put(f->numbers, name, strlen(name), NULL);
    if (!*at) {
        VEC_PUSH(f->a, &f->names, name);
        *at = (void *)(uintptr_t)f->names.count;
    }
    return (u32)(uintptr_t)*at - 1;
}
static void put_run(files *f, text *out, u32 count, const src_loc *l) {
    text_printf(out, "%u ", count);
    if (!l || !l->file) {
        text_puts(out, "-\n");
        return;
    }
    u32 depth = 0;
    for (; l && l->file && depth < 60; l = l->caller)
        text_printf(out, "%s%u:%u:%u", depth++ ? " " : "", number_of(f, l->file), l->line, l->column);
    text_putc(out, '\n');
}
void lines_print(text *out, const air_module *m, const char *kernel) {
    const air_func *f = air_func_find(m, kernel);
    arena *a = arena_new();
    files names = {.a = a, .numbers = strmap_new(a)};
    text runs = {0};
    u32 n = 0, count = 0;
    const src_loc *last = NULL;
    for (const air_block *b = f ? f->first : NULL; b; b = b->next)
        for (const air_inst *i = b->first; i; i = i->next) {
            if (count && i->loc != last) {
                put_run(&names, &runs, count, last);
                n++;
                count = 0;
            }
            last = i->loc;
            count++;
        }
    if (count) {
        put_run(&names, &runs, count, last);
        n++;
    }
    text_printf(out, "lines 1 %u %u\n", names.names.count, n);
    for (u32 i = 0; i < names.names.count; i++)
        text_printf(out, "%s\n", names.names.at[i]);
    if (runs.at)
        text_puts(out, runs.at);
    text_free(&runs);
    arena_free(a);
}
