/* SPDX-License-Identifier: MIT */
/* Source lines of a kernel's instructions, which a metallib does not hold: a table beside it, as text.
 *   lines 1 FILES RUNS
 *   one file name per line
 *   per run of instructions: COUNT, then FILE:LINE:COLUMN of the place and of each caller; "-" unknown
 * Instructions count from 0 in the order of the kernel's blocks. */
#include "vgpu/check/check.h"
#include <stdlib.h>

typedef struct vrun { u32 first; const src_loc *loc; } vrun;
struct vlines { vrun *runs; u32 n; };

static bool number(const char **p, char end, u32 *out) {
    char *stop;
    if (**p < '0' || **p > '9')
        return false;
    *out = (u32)strtoul(*p, &stop, 10);
    if (*stop != end)
        return false;
    *p = stop + 1;
    return true;
}
/* "3:14:5 0:20:1\n" */
static bool places(arena *a, const char **p, const char **files, u32 n_files, const src_loc **out) {
    const src_loc **slot = out;
    *out = NULL;
    if (**p == '-')
        return (*p)[1] == '\n' && (*p += 2);
    for (u32 depth = 0; depth < 64; depth++) {
        src_loc *l = ARENA_NEW(a, src_loc);
        u32 file;
        if (!number(p, ':', &file) || file >= n_files || !number(p, ':', &l->line))
            return false;
        const char *at = *p;
        bool more = number(p, ' ', &l->column);
        *p = more ? *p : at;
        if (!more && !number(p, '\n', &l->column))
            return false;
        l->file = files[file];
        *slot = l;
        slot = &l->caller;
        if (!more)
            return true;
    }
    return false;
}
tm_status vgpu_set_lines(vgpu_kernel *k, const char *table, size_t len) {
    arena *a = k->arena;
    const char *p = arena_str(a, table, len); /* ends in NUL: nothing below reads past it */
    u32 n_files, n_runs, first = 0;
    if (strncmp(p, "lines 1 ", 8) != 0 || (p += 8, !number(&p, ' ', &n_files)) || !number(&p, '\n', &n_runs) ||
        n_files > len || n_runs > len)
        return -1;
    const char **files = ARENA_ARRAY(a, const char *, n_files + 1);
    struct vlines *lines = ARENA_NEW(a, struct vlines);
    lines->runs = ARENA_ARRAY(a, vrun, n_runs + 1);
    for (u32 i = 0; i < n_files; i++) {
        size_t n = strcspn(p, "\n");
        if (!p[n])
            return -1;
        files[i] = arena_str(a, p, n);
        p += n + 1;
    }
    for (u32 i = 0, count; i < n_runs; i++) {
        if (!number(&p, ' ', &count) || !places(a, &p, files, n_files, &lines->runs[i].loc))
            return -1;
        lines->runs[i].first = first;
        first += count;
    }
    lines->n = n_runs;
    k->lines = lines;
    return 0;
}
const src_loc *vgpu_loc(const vgpu_kernel *k, u32 site) {
    const vsite *s = &k->site[site];
    if (s->loc && s->loc->file)
        return s->loc;
    if (!k->lines || s->inst == VGPU_NO_BLOCK || !k->lines->n)
        return NULL;
    u32 low = 0, high = k->lines->n;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        *(k->lines->runs[middle].first <= s->inst ? &low : &high) = middle;
    }
    return k->lines->runs[low].loc;
}
