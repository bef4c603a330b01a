/* SPDX-License-Identifier: MIT */
/* The truth: libraries that Apple's compiler made (.ci/test-data fetches them into $TM_TEST_DATA;
 * libraries.def lists them). Each container is rewritten byte for byte. Each function has the hash it
 * says, reads, verifies, breaks no rule, comes back equal from our writer, and decodes for the virtual
 * GPU or is refused for a tensor operation; the counts are exact. For some, llvm-dis 14 prints the same
 * text of Apple's bitcode and of ours, and our printer prints that text too.
 *
 * `test_apple NAME` looks at one library: one function in STEP, or with TM_TEST_FULL=1 all (and one in
 * DIS_FULL with llvm-dis). It prints a row of the table in docs/vgpu.md.
 * Without the library the test skips, but for MLX's of macOS 15 where CI is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "air/metallib/metallib.h"
#include "vgpu/vgpu.h"
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
enum { STEP = 61, DIS_SAMPLES = 8 };
#else
enum { STEP = 3, DIS_SAMPLES = 16 };
#endif
enum { DIS_FULL = 5, BATCH = 64 };

static const struct library {
    const char *name;
    u32 air_minor, files, functions, tensor;
} libraries[] = {
#define LIBRARY(name, air, files, functions, tensor) {name, air, files, functions, tensor},
#include "libraries.def"
#undef LIBRARY
};
static const struct library *chosen;

typedef struct counts {
    u32 files, found, looked, rewritten, decoded, tensor, compared;
} counts;

typedef struct mapped { const u8 *at; size_t len; } mapped;
static mapped map_file(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info) != 0)
        fail_msg("%s cannot be opened", path);
    void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return (mapped){at, (size_t)info.st_size};
}
static bool full(void) {
    const char *set = getenv("TM_TEST_FULL");
    return set && strcmp(set, "1") == 0;
}
static const char *why_of(const tm_ctx *ctx) { return ctx->first ? ctx->first->message : "without a reason"; }

/* ---- Containers and functions ---------------------------------------------------------------------- */
static void check_container(tm_ctx *ctx, const char *path, const metallib *lib, mapped file) {
    text out = {0};
    assert_int_equal(metallib_write(ctx, lib, &out), 0);
    if (out.len != file.len || memcmp(out.at, file.at, out.len) != 0)
        fail_msg("%s is rewritten differently", path);
    text_free(&out);
}
static void check_rewriting(tm_ctx *ctx, const metallib_func *f, air_module *m) {
    text out = {0}, why = {0};
    assert_int_equal(air_write_bitcode(m, &out), 0);
    air_module *again = air_read_bitcode(ctx, (const u8 *)out.at, out.len);
    if (!again || !air_equal(m, again, &why))
        fail_msg("%s comes back different: %s", f->name, why.at ? why.at : "it does not read");
    air_module_free(again);
    text_free(&out);
}
static bool names_tensor(const char *message) {
    return strstr(message, "__tensorops_") || (strstr(message, "air.") && strstr(message, "_tensor"));
}
static void check_decoding(tm_ctx *ctx, const metallib_func *f, air_module *m, counts *n) {
    vgpu_checks checks = {.bounds = true, .barriers = true};
    vgpu_kernel *k = vgpu_decode(ctx, m, NULL, 0, checks, (vgpu_numerics){0});
    if (!k && (f->air_minor < 8 || !names_tensor(why_of(ctx))))
        fail_msg("%s does not decode: %s", f->name, why_of(ctx));
    n->decoded += k != NULL;
    n->tensor += k == NULL;
    vgpu_kernel_free(k);
    ctx_clear(ctx);
}
static void check_function(tm_ctx *ctx, const metallib_func *f, counts *n) {
    assert_int_equal(metallib_check_hash(ctx, f), 0);
    air_module *m = air_read_bitcode(ctx, f->bitcode, f->bitcode_len);
    air_kernel k;
    if (!m || air_verify(m) || air_kernel_read(m, &k) || air_check_rules(m, f->air_minor))
        fail_msg("%s: %s", f->name, why_of(ctx));
    assert_string_equal(k.name, f->name);
    assert_int_equal(k.n_constants, f->n_constants);
    assert_int_equal(k.air_minor, f->air_minor);
    assert_true(!chosen->air_minor || f->air_minor == chosen->air_minor);
    check_rewriting(ctx, f, m);
    n->rewritten++;
    check_decoding(ctx, f, m, n);
    air_module_free(m);
    n->looked++;
}

/* ---- llvm-dis 14, one process for each file, several at a time ------------------------------------- */
typedef struct batch {
    char folder[32];
    u32 n;
    const metallib_func *funcs[BATCH];
    text printed[BATCH]; /* by us */
} batch;

static void write_file(const batch *b, u32 i, const char *what, const void *data, size_t len) {
    char path[80];
    snprintf(path, sizeof path, "%s/%u%s", b->folder, i, what);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    fclose(f);
}
/* What llvm-dis printed, without the line that names the file. */
static text read_text(const batch *b, u32 i, const char *what) {
    char path[80], block[65536];
    snprintf(path, sizeof path, "%s/%u%s", b->folder, i, what);
    text out = {0};
    FILE *f = fopen(path, "rb");
    if (!f || !fgets(block, sizeof block, f))
        fail_msg("%s: LLVM does not read it", b->funcs[i]->name);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
        text_add(&out, block, n);
    fclose(f);
    return out;
}
static bool same_text(const text *a, const text *b) { return a->len == b->len && memcmp(a->at, b->at, a->len) == 0; }
static void assert_same_text(const char *name, const char *who, const text *want, const text *got) {
    if (same_text(want, got))
        return;
    size_t at = 0, line = 0;
    while (at < want->len && at < got->len && want->at[at] == got->at[at])
        if (want->at[at++] == '\n')
            line = at;
    fail_msg("%s, %s:\n%.200s\nis not\n%.200s", name, who, got->at + line, want->at + line);
}
/* LLVM 14 gives llvm.* functions the attributes that it knows: where our text differs in these, it goes
 * through LLVM as well. */
static text through_llvm(const batch *b, u32 i) {
    char command[300];
    write_file(b, i, "c", b->printed[i].at, b->printed[i].len);
    snprintf(command, sizeof command, "cd %s && llvm-as-14 <%uc | llvm-dis-14 >%uc.ll", b->folder, i, i);
    assert_int_equal(system(command), 0);
    return read_text(b, i, "c.ll");
}
static void compare_batch(batch *b, counts *n) {
    char command[200];
    snprintf(command, sizeof command, "cd %s && ls | xargs -r -n1 -P2 llvm-dis-14", b->folder);
    if (system(command) != 0)
        fail_msg("llvm-dis-14 fails, on one of %u from %s on", b->n, b->funcs[0]->name);
    for (u32 i = 0; i < b->n; i++) {
        const metallib_func *f = b->funcs[i];
        text apple = read_text(b, i, "a.ll"), ours = read_text(b, i, "b.ll");
        assert_same_text(f->name, "llvm-dis of our bitcode", &apple, &ours);
        if (!same_text(&apple, &b->printed[i])) {
            text again = through_llvm(b, i);
            text_free(&b->printed[i]);
            b->printed[i] = again;
        }
        assert_same_text(f->name, "our text", &apple, &b->printed[i]);
        text_free(&apple);
        text_free(&ours);
        text_free(&b->printed[i]);
    }
    snprintf(command, sizeof command, "rm -rf %s/*", b->folder);
    assert_int_equal(system(command), 0);
    n->compared += b->n;
    b->n = 0;
}
static void add_to_batch(tm_ctx *ctx, batch *b, const metallib_func *f, counts *n) {
    air_module *m = air_read_bitcode(ctx, f->bitcode, f->bitcode_len);
    text bitcode = {0};
    assert_non_null(m);
    assert_int_equal(air_write_bitcode(m, &bitcode), 0);
    write_file(b, b->n, "a.bc", f->bitcode, f->bitcode_len);
    write_file(b, b->n, "b.bc", bitcode.at, bitcode.len);
    b->funcs[b->n] = f;
    b->printed[b->n] = (text){0};
    air_print(&b->printed[b->n], m);
    air_module_free(m);
    text_free(&bitcode);
    if (++b->n == BATCH)
        compare_batch(b, n);
}
static void compare_texts(tm_ctx *ctx, const metallib *lib, counts *n) {
    batch b = {.folder = "/tmp/tm-apple-XXXXXX"};
    u32 step = full() ? DIS_FULL : chosen->functions / DIS_SAMPLES;
    assert_non_null(mkdtemp(b.folder));
    for (u32 i = 0; i < lib->n_funcs; i++)
        if ((n->found + i) % step == 0)
            add_to_batch(ctx, &b, &lib->funcs[i], n);
    compare_batch(&b, n);
    rmdir(b.folder);
}

/* ---- Libraries --------------------------------------------------------------------------------------- */
static void look_at(const char *path, counts *n) {
    tm_ctx *ctx = ctx_new();
    mapped file = map_file(path);
    const metallib *lib = metallib_read(ctx, file.at, file.len);
    if (!lib)
        fail_msg("%s: %s", path, why_of(ctx));
    check_container(ctx, path, lib, file);
    u32 step = full() || lib->n_funcs < 1000 ? 1 : STEP;
    for (u32 i = 0; i < lib->n_funcs; i += step)
        check_function(ctx, &lib->funcs[i], n);
    if (system("command -v llvm-dis-14 >/dev/null") == 0)
        compare_texts(ctx, lib, n);
    n->files++;
    n->found += lib->n_funcs;
    munmap((void *)file.at, file.len);
    ctx_free(ctx);
}
static void functions_survive(void **state) {
    const char *folder = getenv("TM_TEST_DATA");
    char pattern[1000];
    glob_t found = {0};
    counts n = {0};
    snprintf(pattern, sizeof pattern, "%s/%s%s.metallib", folder ? folder : "", chosen->name,
             chosen->files == 1 ? "" : "/*");
    if (!folder || glob(pattern, 0, NULL, &found) != 0) {
        if (getenv("CI") && strcmp(chosen->name, "mlx-15") == 0)
            fail_msg("no %s in TM_TEST_DATA: run .ci/test-data", chosen->name);
        skip();
    }
    time_t start = time(NULL);
    for (size_t i = 0; i < found.gl_pathc; i++)
        look_at(found.gl_pathv[i], &n);
    globfree(&found);
    printf("| %s | %u | %u | %u | %u | %u | %u | %u s |\n", chosen->name, n.found, n.looked, n.rewritten,
           n.compared, n.decoded, n.tensor, (u32)(time(NULL) - start));
    assert_int_equal(n.files, chosen->files);
    assert_int_equal(n.found, chosen->functions);
    assert_int_equal(n.decoded + n.tensor, n.looked);
    if (n.looked == n.found)
        assert_int_equal(n.tensor, chosen->tensor);
    else
        assert_true(n.tensor * STEP <= chosen->tensor * 2 && (n.tensor > 0) == (chosen->tensor > 0));
}

int main(int argc, char **argv) {
    for (u32 i = 0; argc == 2 && i < COUNT_OF(libraries); i++)
        if (strcmp(libraries[i].name, argv[1]) == 0)
            chosen = &libraries[i];
    if (!chosen) {
        fprintf(stderr, "usage: test_apple NAME, of libraries.def\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_survive)};
    return cmocka_run_group_tests_name(chosen->name, tests, NULL, NULL);
}
