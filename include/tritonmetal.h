/* SPDX-License-Identifier: MIT */
/* triton-metal: compile Triton IR to Apple metallibs, inspect metallibs, run them on a virtual GPU.
 *
 * Conventions: functions that can fail return 0 or -1 (or NULL) and leave diagnostics in the context
 * they were given. Strings are UTF-8, NUL-terminated, owned by the object they came from. An object
 * and its context belong to one thread at a time, except that tm_launch may run from several threads
 * on different launches of one kernel, each with its own context. */
#ifndef TRITONMETAL_H
#define TRITONMETAL_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#define TM_API __attribute__((visibility("default")))
#else
#define TM_API
#endif

TM_API const char *tm_version(void); /* "0.1.0" and the build id, for cache keys */

/* ---- Context and diagnostics ------------------------------------------------------------------ */
typedef struct tm_context tm_context;
TM_API tm_context *tm_context_new(void); /* NULL when out of memory */
TM_API void tm_context_free(tm_context *ctx);

enum tm_level { TM_NOTE, TM_WARNING, TM_ERROR };
typedef struct tm_diag {
    int code;             /* 1203 for TM1203 */
    int level;            /* enum tm_level */
    const char *file;     /* NULL when unknown */
    uint32_t line, column; /* from 1; 0 unknown */
    const char *message, *note, *help; /* note may be NULL */
} tm_diag;
TM_API uint32_t tm_diag_count(const tm_context *ctx);
TM_API int tm_diag_get(const tm_context *ctx, uint32_t index, tm_diag *out);
/* All diagnostics as text for people, with caret lines when `source` (may be NULL) is the text they
 * point into. Valid until the next call with this context. */
TM_API const char *tm_diag_text(tm_context *ctx, const char *source);
TM_API void tm_diag_clear(tm_context *ctx);

/* ---- Compiling -------------------------------------------------------------------------------- */
typedef struct tm_options {
    uint32_t num_warps;        /* simdgroups per threadgroup, 1..32; 0 means 4 */
    const char *target;        /* "apple7".."apple10"; NULL means apple9 */
    uint32_t macos;            /* 13, 14, 15, 26; 0 means 15 */
    const char *stop_after;    /* pass name, or NULL: `tm_artifact_get(a, "ir")` is what was reached */
    int verify;                /* nonzero: verify after each pass */
    int keep_stages;           /* nonzero: keep the text of "ttir", "ttgir", "tmir" on the way */
    const char *dump;          /* NULL, "all", or comma list of pass names */
    void (*on_dump)(void *data, uint32_t index, const char *pass, const char *text, size_t len);
    void *dump_data;
} tm_options;

typedef struct tm_artifact tm_artifact;
/* Compiles one TTIR module (text) with one public function. `name` is the file name shown in
 * diagnostics. NULL on error. */
TM_API tm_artifact *tm_compile(tm_context *ctx, const char *ttir, size_t len, const char *name,
                               const tm_options *options);
TM_API void tm_artifact_free(tm_artifact *a);
/* "ttir" (cleaned tile IR), "ttgir" (tile IR with layouts), "tmir" (thread IR), "ll" (AIR as LLVM
 * text), "air" (wrapped bitcode), "metallib", "lines" (source lines of its instructions); "ir" is the last stage reached. NULL when absent: the
 * first three need keep_stages. "ir" and "ll" are made on first request. Owned by the artifact. */
TM_API const void *tm_artifact_get(tm_artifact *a, const char *form, size_t *len);
typedef struct tm_kernel_info {
    const char *name;
    uint32_t threads;          /* per threadgroup: 32 * num_warps */
    uint32_t threadgroup_bytes;
    uint32_t n_pointers;       /* buffers 0..n-1; scalars follow packed in one constant buffer */
    uint32_t scalar_bytes;     /* of that buffer, 0 when there are none */
} tm_kernel_info;
TM_API void tm_artifact_info(const tm_artifact *a, tm_kernel_info *out);
TM_API uint32_t tm_pass_count(void);
TM_API const char *tm_pass_name(uint32_t index);
TM_API uint64_t tm_artifact_pass_ns(const tm_artifact *a, uint32_t index); /* 0: did not run */

/* ---- Targets ---------------------------------------------------------------------------------- */
typedef struct tm_target_info {
    const char *name, *chips;  /* "apple9", "M3, M4" */
    uint32_t simd_width, max_threads, threadgroup_bytes, cores;
} tm_target_info;
TM_API int tm_target_get(const char *name, tm_target_info *out); /* -1 when unknown */

/* ---- Libraries -------------------------------------------------------------------------------- */
typedef struct tm_library tm_library;
/* Copies `data`. Accepts a metallib, or bare or wrapped AIR bitcode (a library of one). */
TM_API tm_library *tm_library_load(tm_context *ctx, const void *data, size_t len);
/* The same from a file, which is mapped, so that memory stays near that of one function. The file must
 * not change while it is open. */
TM_API tm_library *tm_library_open(tm_context *ctx, const char *path);
TM_API void tm_library_free(tm_library *lib);
TM_API uint32_t tm_library_count(const tm_library *lib);
TM_API const char *tm_library_name(const tm_library *lib, uint32_t index);
TM_API int tm_library_find(const tm_library *lib, const char *name); /* index or -1 */

typedef struct tm_function_info {
    const char *name;
    uint32_t air_major, air_minor, lang_major, lang_minor, n_args, n_constants;
    uint64_t bitcode_len;
} tm_function_info;
typedef struct tm_arg_info {
    const char *kind;          /* "buffer", "indirect_buffer", "system", "texture", ... */
    const char *name, *type_name, *access; /* access: "read", "read_write"; any may be NULL */
    uint32_t location, space, type_size;
} tm_arg_info;
TM_API int tm_function_get(tm_context *ctx, tm_library *lib, uint32_t index, tm_function_info *out);
TM_API int tm_function_arg(tm_context *ctx, tm_library *lib, uint32_t index, uint32_t arg,
                           tm_arg_info *out);
/* LLVM-style text of one function's module; owned by the context until the next call. */
TM_API const char *tm_function_text(tm_context *ctx, tm_library *lib, uint32_t index);
/* Structure, and Apple's emission rules. 0 or -1 with diagnostics. */
TM_API int tm_function_verify(tm_context *ctx, tm_library *lib, uint32_t index);

/* ---- Running on the virtual GPU ---------------------------------------------------------------- */
typedef struct tm_kernel tm_kernel;
typedef struct tm_constant_value {  /* a function constant by name, or by index when name is NULL */
    const char *name;
    uint32_t index;
    uint64_t bits;
} tm_constant_value;
typedef struct tm_kernel_options {
    const tm_constant_value *constants;
    uint32_t n_constants;
    const char *checks;   /* comma list of bounds, align, races, uninit, barriers, exits, lanes, shifts, divides,
                             converts, progress, schedules, numerics, or "all" (but numerics), "none"; -NAME or
                             -CODE takes one out again; NULL means bounds and barriers (docs/checks.md) */
    const char *numerics; /* what Apple leaves open of arithmetic, as "denormals=keep,fmuladd=split": options and
                             choices of tm_numeric_get (docs/vgpu.md); NULL or "" means all defaults */
    int counting;         /* nonzero: launches can be counted. It runs slower, with the same results */
} tm_kernel_options;
/* Decodes a kernel for the virtual GPU. The library must outlive it. NULL options are all defaults. */
TM_API tm_kernel *tm_kernel_new(tm_context *ctx, tm_library *lib, uint32_t index,
                                const tm_kernel_options *options);
/* Source lines for reports, from tm_artifact_get(a, "lines"): a metallib holds none. Once, before the
 * first launch. 0 or -1. */
TM_API int tm_kernel_set_lines(tm_context *ctx, tm_kernel *k, const char *lines, size_t len);
TM_API void tm_kernel_free(tm_kernel *k);
TM_API void tm_kernel_listing(tm_context *ctx, const tm_kernel *k, const char **out); /* bytecode */

typedef struct tm_numeric {  /* one choice of one option; the choices of an option follow each other */
    const char *option, *what, *evidence; /* what the option is about, what is known of Apple's GPUs */
    const char *choice, *meaning;
    int is_default;
} tm_numeric;
TM_API int tm_numeric_get(uint32_t index, tm_numeric *out);           /* -1 past the end */
TM_API int tm_numerics_check(tm_context *ctx, const char *numerics);  /* 0, or -1: no such option or choice */

enum tm_arg_kind { TM_ARG_BUFFER, TM_ARG_BYTES, TM_ARG_THREADGROUP, TM_ARG_UNBOUND };
typedef struct tm_arg {
    int kind;
    uint32_t index;            /* buffer index (or threadgroup index for TM_ARG_THREADGROUP) */
    void *data;                /* BUFFER: where the argument points; BYTES: copied from here */
    size_t size;               /* BUFFER: bytes from data to the end; BYTES: count; THREADGROUP: bytes */
    size_t before;             /* BUFFER: bytes of the same allocation before data */
    uint8_t *written;          /* BUFFER: NULL, or for each of the `size` bytes whether anybody has written
                                  it; kept up to date by launches with the check "uninit" */
} tm_arg;
/* ROUND_ROBIN: each simdgroup in turn goes on to its next access of shared memory; the kernel must have the check
 * "schedules". */
enum tm_order { TM_ORDER_FORWARD, TM_ORDER_REVERSE, TM_ORDER_SEEDED, TM_ORDER_ROUND_ROBIN };
typedef struct tm_launch_params {
    uint32_t grid[3];          /* threadgroups */
    uint32_t group[3];         /* threads per threadgroup */
    const tm_arg *args;
    uint32_t n_args;
    uint32_t threads;          /* host threads; 0: all cores */
    uint64_t max_steps;        /* block executions per simdgroup before "endless loop"; 0: 1e9 */
    uint32_t grid_threads[3];  /* threads of the whole grid, when its last threadgroups are partial
                                  (dispatchThreads); 0: grid * group */
    struct tm_counters *counters; /* where the launch adds its counts; NULL: nowhere */
    uint32_t order;            /* enum tm_order: in which threadgroups start and simdgroups take turns */
    uint64_t seed;
} tm_launch_params;
/* Runs to completion. 0, or -1 with 30xx..34xx diagnostics; memory outside the arguments is never
 * touched either way. */
TM_API int tm_launch(tm_context *ctx, const tm_kernel *k, const tm_launch_params *params);

/* ---- Counters and the performance model --------------------------------------------------------- */
typedef struct tm_counters tm_counters;
/* Counters of one kernel, all 0; launches that name them in their parameters add to them, one launch at
 * a time. The kernel must outlive them. NULL when the kernel was not made for counting. */
TM_API tm_counters *tm_counters_new(tm_context *ctx, const tm_kernel *k);
TM_API void tm_counters_free(tm_counters *c);
TM_API void tm_counters_reset(tm_counters *c);
/* The bank model of threadgroup memory, which Apple has not published: 32 banks of 4 bytes unless set.
 * Both powers of two, up to 256 banks and 16 bytes. */
TM_API int tm_counters_banks(tm_context *ctx, tm_counters *c, uint32_t banks, uint32_t bank_bytes);
/* The totals by number or name ("device_read_bytes", "bank_conflict_cycles", ...). */
TM_API uint32_t tm_counter_count(void);
TM_API const char *tm_counter_name(uint32_t index);    /* NULL past the end */
TM_API const char *tm_counter_meaning(uint32_t index);
TM_API uint64_t tm_counters_value(const tm_counters *c, const char *name); /* 0 when there is no such name */
/* "table" (for people), "json" (everything: classes, source lines, model), "trace" (threadgroups on the
 * cores of `chip` over model time: Chrome's event format, which Perfetto opens). A NULL chip is m1 for
 * the trace and all chips otherwise. Owned by the context until the next call; NULL on error. */
TM_API const char *tm_counters_text(tm_context *ctx, const tm_counters *c, const char *form, const char *chip);
TM_API const char *tm_chip_name(uint32_t index);       /* "m1" .. "m5-max"; NULL past the end */
typedef struct tm_estimate {
    double low_us, high_us;    /* of all launches counted: everything overlaps; nothing does */
    double expected_us;        /* between them: their geometric mean */
    const char *bound;         /* the longest part at the low end: "ALU", "DRAM", "launch", ... */
    const char *confidence;
    double occupancy_low, occupancy_high; /* resident threads, of the most a core can hold */
} tm_estimate;
/* -1 with a diagnostic when the chip is unknown. */
TM_API int tm_counters_estimate(tm_context *ctx, const tm_counters *c, const char *chip, tm_estimate *out);

/* Instruction set of the virtual GPU: "avx512", "avx2", "neon" or "base"; the best of the host, or what the
 * environment's TRITON_METAL_ISA names. "none" when the host has no such: then launches fail. */
TM_API const char *tm_isa(void);

#ifdef __cplusplus
}
#endif
#endif
