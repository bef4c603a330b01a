/* SPDX-License-Identifier: MIT */
/* Runs LLVM 14's tools on what we wrote, where they are installed. */
#pragma once
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline bool have_tool(const char *name) {
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* Exit status of `tool FILE rest` with the bytes as FILE; its output goes to `out` when not NULL. */
static inline int run_tool(const char *tool, const char *rest, const void *data, size_t len,
                           text *out) {
    char path[] = "/tmp/tm-air-XXXXXX", command[400];
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len)
        abort();
    close(fd);
    snprintf(command, sizeof command, "%s %s %s", tool, path, rest);
    FILE *pipe = popen(command, "r");
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        if (out)
            text_add(out, buffer, n);
    int status = pclose(pipe);
    unlink(path);
    return status;
}
