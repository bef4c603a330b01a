/* SPDX-License-Identifier: MIT */
/* Counters as text: a table for people, JSON with everything, and a trace of threadgroups on cores in
 * Chrome's event format, which Perfetto opens. The trace replays the model: threadgroups start in
 * order on the core slot that is free first and take time by their instructions and lines, scaled so
 * that the last one ends at the estimated time. */
#include "vgpu/count/model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double expected_us(const model_estimate *e) { return sqrt(e->us[0] * e->us[1]); }

/* ---- JSON -------------------------------------------------------------------------------------- */
static void json_line(text *out, const count_line *l) {
    text_puts(out, "{\"file\": ");
    if (l->file)
        text_json(out, l->file);
    else
        text_puts(out, "null");
    text_printf(out, ", \"line\": %u, \"what\": ", l->line);
    if (l->what)
        text_json(out, l->what);
    else
        text_puts(out, "null");
    text_printf(out, ", \"instructions\": %llu, \"lane_instructions\": %llu, \"branches\": %llu, "
                     "\"divergent_branches\": %llu, \"device_bytes\": %llu, \"device_lines\": %llu, "
                     "\"threadgroup_bytes\": %llu, \"bank_conflict_cycles\": %llu, \"cycles\": %.6g, \"classes\": {",
                (unsigned long long)l->instructions, (unsigned long long)l->lanes, (unsigned long long)l->branches,
                (unsigned long long)l->divergent, (unsigned long long)l->device_bytes,
                (unsigned long long)l->device_lines, (unsigned long long)l->tg_bytes,
                (unsigned long long)l->conflicts, l->cycles);
    bool first = true;
    for (u32 c = 0; c < CC_COUNT; c++)
        if (l->by_class[c]) {
            text_printf(out, "%s\"%s\": %llu", first ? "" : ", ", count_classes[c].label,
                        (unsigned long long)l->by_class[c]);
            first = false;
        }
    text_puts(out, "}}");
}
static void json_estimate(text *out, const model_estimate *e) {
    text_printf(out, "{\"chip\": \"%s\", \"family\": \"apple%u\", \"trust\": \"%c\", \"confidence\": ", e->chip->name,
                e->family->family, e->chip->trust);
    text_json(out, e->family->confidence);
    text_printf(out, ", \"low_us\": %.6g, \"high_us\": %.6g, \"expected_us\": %.6g, \"bound\": \"%s\", "
                     "\"bound_high\": \"%s\", \"occupancy\": [%.6g, %.6g], \"threadgroups_per_core\": [%u, %u], "
                     "\"parts_us\": {",
                e->us[0], e->us[1], expected_us(e), model_part_names[e->bound[0]], model_part_names[e->bound[1]],
                e->occupancy[0], e->occupancy[1], e->groups_per_core[1], e->groups_per_core[0]);
    for (u32 p = 0; p < PART_COUNT; p++)
        text_printf(out, "%s\"%s\": [%.6g, %.6g]", p ? ", " : "", model_part_names[p], e->part[p][0], e->part[p][1]);
    text_puts(out, "}}");
}
static void print_json(text *out, const tm_counters *t, const model_chip *only) {
    u64 total[CT_COUNT], runs[CC_COUNT], lanes[CC_COUNT];
    model_estimate e;
    count_total_all(t, total);
    count_class_all(t, runs, lanes);
    text_puts(out, "{\"kernel\": ");
    text_json(out, t->k->name);
    text_printf(out, ", \"grid\": [%u, %u, %u], \"group\": [%u, %u, %u], \"threadgroup_bytes\": %u, "
                     "\"banks\": {\"count\": %u, \"bytes\": %u, \"assumed\": true}, \"totals\": {",
                t->grid[0], t->grid[1], t->grid[2], t->group[0], t->group[1], t->group[2], t->tg_bytes,
                t->sum.banks, t->sum.bank_bytes);
    for (u32 i = 0; i < CT_COUNT; i++)
        text_printf(out, "%s\"%s\": %llu", i ? ", " : "", count_totals[i].name, (unsigned long long)total[i]);
    text_puts(out, "}, \"classes\": {");
    bool first = true;
    for (u32 c = 0; c < CC_COUNT; c++)
        if (runs[c]) {
            text_printf(out, "%s\"%s\": {\"instructions\": %llu, \"lane_instructions\": %llu}", first ? "" : ", ",
                        count_classes[c].label, (unsigned long long)runs[c], (unsigned long long)lanes[c]);
            first = false;
        }
    model_run(t, model_chip_at(0), &e);
    text_printf(out, "}, \"half_registers\": [%u, %u], \"lines\": [", e.halfregs[0], e.halfregs[1]);
    u32 n;
    count_line *l = count_lines(t, &n);
    for (u32 i = 0; i < n; i++) {
        text_puts(out, i ? ",\n  " : "\n  ");
        json_line(out, &l[i]);
    }
    free(l);
    text_puts(out, "], \"model\": [");
    first = true;
    for (u32 i = 0; i < model_chip_count(); i++) {
        if (only && only != model_chip_at(i))
            continue;
        model_run(t, model_chip_at(i), &e);
        text_puts(out, first ? "\n  " : ",\n  ");
        json_estimate(out, &e);
        first = false;
    }
    text_puts(out, "]}\n");
}

/* ---- Table ------------------------------------------------------------------------------------- */
static void table_lines(text *out, const tm_counters *t) {
    u32 n, shown = 0;
    count_line *l = count_lines(t, &n);
    text_printf(out, "\n%-34s %12s %6s %10s %12s %9s %10s\n", "by line, most cycles first", "instructions", "lanes",
                "divergent", "device B", "lines", "conflicts");
    for (; shown < n && shown < 24; shown++) {
        const count_line *r = &l[shown];
        char name[256];
        const char *base = r->file ? strrchr(r->file, '/') : NULL;
        if (r->file)
            snprintf(name, sizeof name, "%s:%u", base ? base + 1 : r->file, r->line);
        else
            snprintf(name, sizeof name, "#%u %s", r->order, r->what);
        text_printf(out, "%-34.34s %12llu %5.1f%% %10llu %12llu %9llu %10llu\n", name,
                    (unsigned long long)r->instructions,
                    r->instructions ? 100.0 * (double)r->lanes / (32.0 * (double)r->instructions) : 0,
                    (unsigned long long)r->divergent, (unsigned long long)r->device_bytes,
                    (unsigned long long)r->device_lines, (unsigned long long)r->conflicts);
    }
    if (shown < n)
        text_printf(out, "... and %u more\n", n - shown);
    free(l);
}
static void print_table(text *out, const tm_counters *t, const model_chip *only) {
    u64 total[CT_COUNT], runs[CC_COUNT], lanes[CC_COUNT];
    model_estimate e;
    count_total_all(t, total);
    count_class_all(t, runs, lanes);
    text_printf(out, "kernel %s, grid %u x %u x %u, threadgroups of %u x %u x %u\n\n", t->k->name, t->grid[0], t->grid[1],
                t->grid[2], t->group[0], t->group[1], t->group[2]);
    for (u32 i = 0; i < CT_COUNT; i++)
        if (total[i])
            text_printf(out, "%-24s %14llu  %s\n", count_totals[i].name, (unsigned long long)total[i],
                        count_totals[i].what);
    if (total[CT_instructions])
        text_printf(out, "%-24s %13.1f%%  of 32, over all instructions\n", "active lanes",
                    100.0 * (double)total[CT_lane_instructions] / (32.0 * (double)total[CT_instructions]));
    text_printf(out, "%-24s %8u x %u B  assumed: Apple has not said\n\n", "banks", t->sum.banks, t->sum.bank_bytes);
    for (u32 c = 0; c < CC_COUNT; c++)
        if (runs[c])
            text_printf(out, "%-24s %14llu  %5.1f%% lanes  %s\n", count_classes[c].label, (unsigned long long)runs[c],
                        100.0 * (double)lanes[c] / (32.0 * (double)runs[c]), count_classes[c].what);
    table_lines(out, t);
    model_run(t, model_chip_at(0), &e);
    text_printf(out, "\nregisters of a thread: about %u to %u of 16 bits%s\n", e.halfregs[0], e.halfregs[1],
                e.halfregs[0] > 256 ? ", more than the 256 there are: it would spill" : "");
    text_printf(out, "%-10s %10s %10s  %-20s %-11s  %s\n", "chip", "low us", "high us", "bound", "occupancy", "trust");
    for (u32 i = 0; i < model_chip_count(); i++) {
        if (only && only != model_chip_at(i))
            continue;
        model_run(t, model_chip_at(i), &e);
        text_printf(out, "%-10s %10.2f %10.2f  %-20s %3.0f-%3.0f%%     %c: %s\n", e.chip->name, e.us[0], e.us[1],
                    model_part_names[e.bound[0]], 100 * e.occupancy[0], 100 * e.occupancy[1], e.chip->trust,
                    e.family->confidence);
    }
}

/* ---- Trace ------------------------------------------------------------------------------------- */
typedef struct slot { double free_at; u32 number; } slot;
static bool before(const slot *a, const slot *b) {
    return a->free_at != b->free_at ? a->free_at < b->free_at : a->number < b->number;
}
static void sift_down(slot *heap, u32 n) { /* the first one changed */
    for (u32 i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &heap[i]))
            return;
        slot x = heap[i];
        heap[i] = heap[child];
        heap[child] = x;
    }
}
typedef struct run_span { double begin, end; u32 slot; } run_span;
static void print_trace(text *out, const tm_counters *t, const model_chip *chip) {
    model_estimate e;
    model_run(t, chip ? chip : model_chip_at(0), &e);
    u32 cores = e.chip->cores, slots = cores * MIN(e.groups_per_core[0], 96u);
    slot *heap = malloc(slots * sizeof *heap);
    run_span *spans = malloc((t->n_group_of + 1) * sizeof *spans);
    double last = 0, time = expected_us(&e) / (double)MAX(t->launches, 1u);
    for (u32 s = 0; heap && s < slots; s++)
        heap[s] = (slot){0, s};
    for (u32 g = 0; heap && spans && g < t->n_group_of; g++) {
        const count_group *w = &t->group_of[g];
        double alu = w->weight / 64.0, lines = w->lines * 4.0; /* cycles of a core */
        spans[g] = (run_span){heap[0].free_at, heap[0].free_at + MAX(alu, lines) + 1, heap[0].number};
        heap[0].free_at = spans[g].end;
        last = MAX(last, spans[g].end);
        sift_down(heap, slots);
    }
    text_puts(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    for (u32 c = 0; c < cores; c++)
        text_printf(out, "%s\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %u, \"args\": {\"name\": \"%s core %u\"}}",
                    c ? "," : "", c, e.chip->name, c);
    for (u32 g = 0; heap && spans && g < t->n_group_of; g++)
        text_printf(out, ",\n{\"ph\": \"X\", \"name\": \"threadgroup %u\", \"cat\": \"threadgroup\", \"pid\": %u, \"tid\": %u, "
                         "\"ts\": %.6f, \"dur\": %.6f, \"args\": {\"cycles\": %u, \"lines\": %u}}",
                    g, spans[g].slot % cores, spans[g].slot / cores, spans[g].begin / last * time,
                    (spans[g].end - spans[g].begin) / last * time, t->group_of[g].weight / 16, t->group_of[g].lines);
    text_puts(out, "], \"otherData\": {\"kernel\": ");
    text_json(out, t->k->name);
    text_printf(out, ", \"low_us\": %.6g, \"high_us\": %.6g, \"bound\": \"%s\"}}\n", e.us[0], e.us[1],
                model_part_names[e.bound[0]]);
    free(heap);
    free(spans);
}

bool count_print(text *out, const tm_counters *t, const char *form, const char *chip) {
    const model_chip *only = chip ? model_chip_find(chip) : NULL;
    if (chip && !only)
        return false;
    if (strcmp(form, "json") == 0)
        print_json(out, t, only);
    else if (strcmp(form, "table") == 0)
        print_table(out, t, only);
    else if (strcmp(form, "trace") == 0)
        print_trace(out, t, only);
    else
        return false;
    return true;
}
