/* SPDX-License-Identifier: MIT */
/* Files and libraries as commands use them: whole files in memory, errors as diagnostics. */
#include "cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *file_read(cli *c, const char *path, size_t *len) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!f) {
        diag_at(c->ctx->ctx, NULL, TM5910, path, strerror(errno));
        return NULL;
    }
    text all = {0};
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        text_add(&all, block, n);
    bool failed = ferror(f) != 0;
    int error = errno;
    if (f != stdin)
        fclose(f);
    if (failed) {
        text_free(&all);
        diag_at(c->ctx->ctx, NULL, TM5910, path, strerror(error));
        return NULL;
    }
    *len = all.len;
    text_putc(&all, 0);
    return all.at;
}

tm_status file_write(cli *c, const char *path, const void *data, size_t len) {
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdout : fopen(path, "wb");
    bool ok = f && fwrite(data, 1, len, f) == len;
    if (f && !standard)
        ok = fclose(f) == 0 && ok;
    return ok ? 0 : diag_at(c->ctx->ctx, NULL, TM5915, path, strerror(errno));
}

tm_library *library_open(cli *c, const char *path) {
    if (strcmp(path, "-") != 0)
        return tm_library_open(c->ctx, path);
    size_t len;
    char *data = file_read(c, path, &len);
    tm_library *lib = data ? tm_library_load(c->ctx, data, len) : NULL;
    free(data);
    return lib;
}

int library_pick(cli *c, tm_library *lib, const char *path, const char *name) {
    u32 n = tm_library_count(lib);
    if (!name && n == 1)
        return 0;
    if (!name)
        return diag_at(c->ctx->ctx, NULL, TM5916, path, n);
    int index = tm_library_find(lib, name);
    return index >= 0 ? index : diag_at(c->ctx->ctx, NULL, TM5917, path, name);
}
