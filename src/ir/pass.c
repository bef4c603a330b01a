/* SPDX-License-Identifier: MIT */
/* The pass runner. One loop: run, rewind scratch, note the time, verify, dump, stop. A dump is the module's
 * text, so it can be read back and the rest of the passes run on it. */
#include "ir/pass.h"
#include "ir/text.h"
#include <time.h>

static u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* Whether a comma list (or "all") names the pass. */
static bool selects(const char *filter, const char *name) {
    size_t len = strlen(name);
    if (!filter)
        return false;
    if (strcmp(filter, "all") == 0)
        return true;
    while (*filter) {
        size_t n = strcspn(filter, ",");
        if (n == len && memcmp(filter, name, n) == 0)
            return true;
        filter += n + (filter[n] == ',');
    }
    return false;
}

static void dump(const pass_run *run, const ir_module *m, u32 index, const char *name) {
    text out = {0};
    ir_print_module(&out, m, IR_PRINT_NAMES | IR_PRINT_LOCS);
    run->dump(run->dump_data, index, name, out.at, out.len);
    text_free(&out);
}

/* A module that does not verify is our own mistake: the user's module was verified before the first pass.
 * Both messages stay: what is wrong, and after which pass. */
static tm_status verify(pass_run *run, ir_module *m, const char *name) {
    if (ir_verify(m) == 0)
        return 0;
    return diag_at(run->ctx, NULL, TM1182, name);
}

tm_status pass_run_all(pass_run *run, ir_module *m, const pass_info *const *passes, u32 n,
                       bool *stopped) {
    if (stopped)
        *stopped = false;
    for (u32 i = 0; i < n; i++) {
        arena_mark mark = arena_save(run->scratch);
        u64 begin = now_ns();
        tm_status status = passes[i]->run(run, m);
        if (run->time_ns)
            run->time_ns[i] = now_ns() - begin;
        arena_rewind(run->scratch, mark);
        TRY(status);
        if (run->verify)
            TRY(verify(run, m, passes[i]->name));
        if (run->dump && selects(run->dump_filter, passes[i]->name))
            dump(run, m, i, passes[i]->name);
        if (run->stop_after && strcmp(run->stop_after, passes[i]->name) == 0) {
            if (stopped)
                *stopped = true;
            return 0;
        }
    }
    return 0;
}
