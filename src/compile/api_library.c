/* SPDX-License-Identifier: MIT */
/* Public API: libraries and running. A library keeps the file's bytes, or maps the file; a function's
 * module is read when it is asked about, and only the last one is kept. Of a mapped file the pages of
 * functions that were asked about before are given back, so that memory stays near one function. */
#include "air/air.h"
#include "air/metallib/metallib.h"
#include "compile/context.h"
#include "vgpu/vgpu.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tm_library {
    tm_ctx *ctx;        /* owns what metallib_read made */
    u8 *data;
    size_t len;
    bool mapped;        /* data is a file, else memory of our own */
    metallib *lib;      /* NULL for bare bitcode */
    air_module *module; /* of function `index`; NULL before the first question */
    air_kernel kernel;
    uint32_t index;
};

/* The system reads the pages of a mapped file again when they are asked for. */
static void give_back_pages(const tm_library *lib) {
    if (lib->mapped)
        madvise(lib->data, lib->len, MADV_DONTNEED);
}

static void release(u8 *data, size_t len, bool mapped) {
    if (mapped)
        munmap(data, len ? len : 1);
    else
        free(data);
}

/* Owns data from now on. */
static tm_library *library_new(tm_context *ctx, u8 *data, size_t len, bool mapped) {
    tm_library *lib = data ? calloc(1, sizeof *lib) : NULL;
    tm_ctx *own = ctx_new();
    if (!lib || !own) {
        release(data, len, mapped);
        ctx_free(own);
        free(lib);
        diag_at(ctx->ctx, NULL, TM9002, "a library");
        return NULL;
    }
    *lib = (tm_library){.ctx = own, .data = data, .len = len, .mapped = mapped};
    bool container = len >= 4 && memcmp(data, "MTLB", 4) == 0;
    if (container)
        lib->lib = metallib_read(lib->ctx, data, len);
    bool ok = container ? lib->lib != NULL : tm_library_name(lib, 0) != NULL;
    diags_copy(ctx->ctx, lib->ctx);
    if (!ok) {
        tm_library_free(lib);
        return NULL;
    }
    give_back_pages(lib);
    return lib;
}

TM_API tm_library *tm_library_load(tm_context *ctx, const void *data, size_t len) {
    u8 *copy = malloc(len ? len : 1);
    if (copy && len)
        memcpy(copy, data, len);
    return library_new(ctx, copy, len, false);
}

TM_API tm_library *tm_library_open(tm_context *ctx, const char *path) {
    struct stat info = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &info) == 0)
        at = mmap(NULL, info.st_size ? (size_t)info.st_size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        return library_new(ctx, at, (size_t)info.st_size, true);
    diag_at(ctx->ctx, NULL, TM5910, path, strerror(error));
    return NULL;
}

static void close_module(tm_library *lib) {
    if (lib->module)
        air_module_free(lib->module);
    lib->module = NULL;
    give_back_pages(lib);
}

TM_API void tm_library_free(tm_library *lib) {
    if (!lib)
        return;
    close_module(lib);
    ctx_free(lib->ctx);
    release(lib->data, lib->len, lib->mapped);
    free(lib);
}

/* The module of one function, its diagnostics going to ctx. NULL on error. */
static air_module *open_module(tm_ctx *ctx, tm_library *lib, uint32_t index) {
    if (index >= tm_library_count(lib)) {
        diag_at(ctx, NULL, TM5901, index, tm_library_count(lib));
        return NULL;
    }
    if (lib->module && lib->index == index) {
        lib->module->ctx = ctx;
        return lib->module;
    }
    close_module(lib);
    lib->index = index;
    lib->module = lib->lib ? air_read_bitcode(ctx, lib->lib->funcs[index].bitcode,
                                              lib->lib->funcs[index].bitcode_len)
                           : air_read_bitcode(ctx, lib->data, lib->len);
    if (lib->module && air_kernel_read(lib->module, &lib->kernel) != 0) {
        air_module_free(lib->module);
        lib->module = NULL;
    }
    return lib->module;
}

TM_API uint32_t tm_library_count(const tm_library *lib) { return lib->lib ? lib->lib->n_funcs : 1; }

TM_API const char *tm_library_name(const tm_library *lib, uint32_t index) {
    if (index >= tm_library_count(lib))
        return NULL;
    if (lib->lib)
        return lib->lib->funcs[index].name;
    tm_library *bare = (tm_library *)lib; /* only fills the cache */
    return open_module(lib->ctx, bare, 0) ? bare->kernel.name : NULL;
}

TM_API int tm_library_find(const tm_library *lib, const char *name) {
    for (uint32_t i = 0; i < tm_library_count(lib); i++)
        if (strcmp(tm_library_name(lib, i), name) == 0)
            return (int)i;
    return -1;
}

TM_API int tm_function_get(tm_context *ctx, tm_library *lib, uint32_t index, tm_function_info *out) {
    if (!open_module(ctx->ctx, lib, index))
        return -1;
    const air_kernel *k = &lib->kernel;
    *out = (tm_function_info){.name = tm_library_name(lib, index),
                              .air_major = k->air_major,
                              .air_minor = k->air_minor,
                              .lang_major = k->lang_major,
                              .lang_minor = k->lang_minor,
                              .n_args = k->n_args,
                              .n_constants = k->n_constants,
                              .bitcode_len = lib->lib ? lib->lib->funcs[index].bitcode_len
                                                      : lib->len};
    return 0;
}

static const char *const arg_kinds[] = {[AIR_ARG_BUFFER] = "buffer",
                                        [AIR_ARG_INDIRECT_BUFFER] = "indirect_buffer",
                                        [AIR_ARG_SYSTEM] = "system",
                                        [AIR_ARG_TEXTURE] = "texture",
                                        [AIR_ARG_SAMPLER] = "sampler",
                                        [AIR_ARG_OTHER] = "other"};

TM_API int tm_function_arg(tm_context *ctx, tm_library *lib, uint32_t index, uint32_t arg,
                           tm_arg_info *out) {
    if (!open_module(ctx->ctx, lib, index))
        return -1;
    if (arg >= lib->kernel.n_args)
        return diag_at(ctx->ctx, NULL, TM5902, arg, lib->kernel.n_args);
    const air_arg *a = &lib->kernel.args[arg];
    bool buffer = a->kind == AIR_ARG_BUFFER || a->kind == AIR_ARG_INDIRECT_BUFFER;
    *out = (tm_arg_info){.kind = arg_kinds[a->kind],
                         .name = a->name,
                         .type_name = a->type_name,
                         .access = !buffer ? NULL : a->writes ? "read_write" : "read",
                         .location = a->location,
                         .space = a->space,
                         .type_size = a->type_size};
    return 0;
}

TM_API const char *tm_function_text(tm_context *ctx, tm_library *lib, uint32_t index) {
    const air_module *m = open_module(ctx->ctx, lib, index);
    if (!m)
        return NULL;
    ctx->shown.len = 0;
    air_print(&ctx->shown, m);
    return ctx->shown.at;
}

TM_API int tm_function_verify(tm_context *ctx, tm_library *lib, uint32_t index) {
    air_module *m = open_module(ctx->ctx, lib, index);
    if (!m || air_verify(m) != 0)
        return -1;
    return air_check_rules(m, lib->kernel.air_minor);
}

TM_API tm_kernel *tm_kernel_new(tm_context *ctx, tm_library *lib, uint32_t index, const tm_kernel_options *options) {
    static const tm_kernel_options defaults = {0};
    const tm_kernel_options *o = options ? options : &defaults;
    vgpu_checks on;
    vgpu_numerics numerics;
    const char *bad;
    int bad_len;
    if (!vgpu_checks_parse(o->checks, &on, &bad, &bad_len)) {
        diag_at(ctx->ctx, NULL, TM5903, bad_len, bad);
        return NULL;
    }
    if (vgpu_numerics_parse(ctx->ctx, o->numerics, &numerics) != 0)
        return NULL;
    on.count = o->counting != 0;
    air_module *m = open_module(ctx->ctx, lib, index);
    tm_kernel *k = m ? calloc(1, sizeof *k) : NULL;
    if (!k)
        return NULL;
    k->k = vgpu_decode(ctx->ctx, m, o->constants, o->n_constants, on, numerics);
    if (!k->k) {
        free(k);
        return NULL;
    }
    return k;
}

TM_API int tm_numeric_get(uint32_t index, tm_numeric *out) {
    if (index >= vgpu_choice_count)
        return -1;
    const vgpu_choice *c = &vgpu_choices[index];
    const vgpu_option_info *o = &vgpu_options[c->option];
    *out = (tm_numeric){.option = o->name, .what = o->what, .evidence = o->evidence, .choice = c->name,
                        .meaning = c->meaning, .is_default = c->value == 0};
    return 0;
}

TM_API int tm_numerics_check(tm_context *ctx, const char *numerics) {
    vgpu_numerics parsed;
    return vgpu_numerics_parse(ctx->ctx, numerics, &parsed);
}

TM_API int tm_kernel_set_lines(tm_context *ctx, tm_kernel *k, const char *lines, size_t len) {
    return vgpu_set_lines(k->k, lines, len) == 0 ? 0 : diag_at(ctx->ctx, NULL, TM5907);
}

TM_API void tm_kernel_free(tm_kernel *k) {
    if (!k)
        return;
    vgpu_kernel_free(k->k);
    free(k);
}

TM_API void tm_kernel_listing(tm_context *ctx, const tm_kernel *k, const char **out) {
    ctx->shown.len = 0;
    vgpu_print(&ctx->shown, k->k);
    *out = ctx->shown.at;
}

TM_API int tm_launch(tm_context *ctx, const tm_kernel *k, const tm_launch_params *params) {
    return vgpu_run(ctx->ctx, k->k, params);
}

TM_API const char *tm_isa(void) { return vgpu_isa(); }
