/* SPDX-License-Identifier: MIT */
/* A bar on stderr for commands that go through a library's functions: how many, how fast, how long it
 * will still take. There is none unless stderr is a terminal, none where results scroll by on the same
 * terminal, and none for work of less than a few tenths of a second. */
#include "cli/cli.h"
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double cli_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

progress progress_begin(u32 all, bool prints) {
    double now = cli_seconds();
    bool on = isatty(STDERR_FILENO) && !(prints && isatty(STDOUT_FILENO));
    return (progress){.on = on, .all = all, .start = now, .next = now + 0.3};
}

static u32 columns(void) {
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void draw(progress *p, double now) {
    char bar[25], line[120];
    double rate = p->done / (now - p->start);
    u32 width = COUNT_OF(bar) - 1, filled = (u32)((u64)p->done * width / p->all);
    memset(bar, '-', width);
    memset(bar, '#', filled);
    bar[width] = 0;
    snprintf(line, sizeof line, "[%s] %u of %u functions, %.0f/s, %.0f s left", bar, p->done, p->all, rate,
             (p->all - p->done) / rate);
    fprintf(stderr, "\r%.*s\x1b[K", (int)columns() - 1, line);
    p->drawn = true;
}

void progress_step(progress *p) {
    p->done++;
    if (!p->on || p->done % 8 != 0)
        return;
    double now = cli_seconds();
    if (now < p->next)
        return;
    p->next = now + 0.1;
    draw(p, now);
}

void progress_hide(progress *p) {
    if (p->drawn)
        fputs("\r\x1b[K", stderr);
    p->drawn = false;
}
