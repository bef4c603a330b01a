/* SPDX-License-Identifier: MIT */
/* Public API: compiling. An artifact owns its compilation and a context of its own, so that it can
 * outlive the caller's; diagnostics of a failure are copied to the caller's context. */
#include "compile/context.h"
#include "compile/pipeline.h"
#include "air/emit/emit.h"
#include "ir/text.h"
#include <stdlib.h>

struct tm_artifact {
    tm_ctx *ctx;
    compilation c;
    text ir, ll, lines;
    tm_kernel_info info;
};

static void fill_info(tm_artifact *a) {
    const ir_op *func = ir_module_kernel(a->c.ir);
    const ir_block *entry = func->regions[0].first;
    a->info = (tm_kernel_info){.name = a->c.kernel,
                               .threads = 32 * a->c.run.target.num_warps,
                               .threadgroup_bytes = a->c.run.threadgroup_bytes,
                               .scalar_bytes = air_scalar_layout(func, NULL)};
    for (u32 i = 0; i < entry->n_args; i++)
        a->info.n_pointers += entry->args[i]->type->kind == IR_PTR;
}

TM_API tm_artifact *tm_compile(tm_context *ctx, const char *ttir, size_t len, const char *name,
                               const tm_options *options) {
    static const tm_options defaults;
    tm_artifact *a = calloc(1, sizeof *a);
    if (!a || !(a->ctx = ctx_new())) {
        free(a);
        diag_at(ctx->ctx, NULL, TM9002, "tm_compile");
        return NULL;
    }
    a->c.ctx = a->ctx;
    a->c.options = options ? options : &defaults;
    tm_status status = pipeline_compile(&a->c, ttir, len, name);
    a->c.options = NULL; /* the caller's; not ours to keep */
    diags_copy(ctx->ctx, a->ctx);
    if (status != 0) {
        tm_artifact_free(a);
        return NULL;
    }
    fill_info(a);
    return a;
}

TM_API void tm_artifact_free(tm_artifact *a) {
    if (!a)
        return;
    compilation_free(&a->c);
    text_free(&a->ir);
    text_free(&a->ll);
    text_free(&a->lines);
    ctx_free(a->ctx);
    free(a);
}

static const text *find_form(tm_artifact *a, const char *form) {
    static const char *const stages[] = {"ttir", "ttgir", "tmir"};
    for (u32 i = 0; i < STAGE_COUNT; i++)
        if (strcmp(form, stages[i]) == 0)
            return &a->c.stage_text[i];
    if (strcmp(form, "air") == 0)
        return &a->c.bitcode;
    if (strcmp(form, "metallib") == 0)
        return &a->c.metallib;
    if (strcmp(form, "ir") == 0) {
        if (!a->ir.at)
            ir_print_module(&a->ir, a->c.ir, IR_PRINT_LOCS);
        return &a->ir;
    }
    if (strcmp(form, "ll") == 0) {
        if (!a->ll.at && a->c.air)
            air_print(&a->ll, a->c.air);
        return &a->ll;
    }
    if (strcmp(form, "lines") == 0) {
        if (!a->lines.at && a->c.air)
            lines_print(&a->lines, a->c.air, a->c.kernel);
        return &a->lines;
    }
    return NULL;
}

TM_API const void *tm_artifact_get(tm_artifact *a, const char *form, size_t *len) {
    const text *t = find_form(a, form);
    *len = t ? t->len : 0;
    return t ? t->at : NULL;
}

TM_API void tm_artifact_info(const tm_artifact *a, tm_kernel_info *out) { *out = a->info; }
TM_API uint32_t tm_pass_count(void) { return pipeline_step_count(); }

TM_API const char *tm_pass_name(uint32_t index) {
    return index < pipeline_step_count() ? pipeline_step_name(index) : NULL;
}

TM_API uint64_t tm_artifact_pass_ns(const tm_artifact *a, uint32_t index) {
    return index < pipeline_step_count() ? a->c.time_ns[index] : 0;
}
