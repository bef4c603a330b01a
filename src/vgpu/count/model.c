/* SPDX-License-Identifier: MIT */
/* Time from counts. The work of the busiest core is its share of all threadgroups; on it, each part
 * (pipes, L1, L2, DRAM, latency) takes a time of its own. At the low end the parts overlap perfectly
 * and the longest is the time; at the high end instructions and memory take turns, caches below the
 * footprint do not help, and few simdgroups cannot hide latencies. What the table does not know (cache
 * policy, contention of atomics, the instruction cache) is in neither. */
#include "vgpu/count/model.h"

enum model_fact_id {
#define MODEL_CHIP(...)
#define MODEL_FAMILY(...)
#define MODEL_FACT(name, value, trust, what) FACT_##name,
#include "vgpu/count/chip.def"
#undef MODEL_FACT
};
static const double facts[] = {
#define MODEL_FACT(name, value, trust, what) value,
#include "vgpu/count/chip.def"
#undef MODEL_FACT
#undef MODEL_CHIP
#undef MODEL_FAMILY
};
#define FACT(name) (facts[FACT_##name])
static const model_chip chips[] = {
#define MODEL_CHIP(name, family, cores, low, high, dram, slc, trust) {name, family, cores, {low, high}, dram, slc, trust},
#define MODEL_FAMILY(...)
#define MODEL_FACT(...)
#include "vgpu/count/chip.def"
#undef MODEL_CHIP
#undef MODEL_FAMILY
};
static const model_family families[] = {
#define MODEL_CHIP(...)
#define MODEL_FAMILY(family, coissue, half, confidence) {family, coissue, half, confidence},
#include "vgpu/count/chip.def"
#undef MODEL_CHIP
#undef MODEL_FAMILY
#undef MODEL_FACT
};
const char *const model_part_names[PART_COUNT] = {"ALU", "complex pipe", "matrix", "L1", "threadgroup memory",
                                                  "L2", "DRAM", "latency", "launch"};

u32 model_chip_count(void) { return COUNT_OF(chips); }
const model_chip *model_chip_at(u32 i) { return i < COUNT_OF(chips) ? &chips[i] : NULL; }
const model_chip *model_chip_find(const char *name) {
    for (u32 i = 0; i < COUNT_OF(chips); i++)
        if (!name || strcmp(chips[i].name, name) == 0)
            return &chips[i];
    return NULL;
}

/* What one launch does on the busiest core. */
typedef struct work {
    u64 total[CT_COUNT], runs[CC_COUNT];
    double share;        /* of all work, on the busiest core */
    double per_launch;   /* 1 / launches */
    double groups_most;  /* threadgroups of the busiest core */
    double schedulers, resident; /* in use; simdgroups resident on the core */
    double waves;
} work;

static double ceil_div(double a, double b) {
    double q = a / b;
    u64 n = (u64)q;
    return (double)(n + ((double)n < q));
}
u32 model_resident_threads(u32 halfregs) {
    u32 n = (u32)(FACT(register_bytes) / (2.0 * MIN(halfregs, 256u))) / 64 * 64;
    return MIN(n, (u32)FACT(max_threads));
}
static void occupancy(const tm_counters *t, model_estimate *e) {
    u32 threads = MAX(t->group[0] * t->group[1] * t->group[2], 1u), regs = t->k->count->halfregs;
    threads = (threads + VGPU_LANES - 1) / VGPU_LANES * VGPU_LANES;
    e->halfregs[0] = MAX(regs, 8u);
    e->halfregs[1] = e->halfregs[0] + e->halfregs[0] / 10 + 8;
    for (u32 i = 0; i < 2; i++) {
        u32 groups = MAX(model_resident_threads(e->halfregs[i]) / threads, 1u);
        if (t->tg_bytes)
            groups = MIN(groups, MAX((u32)FACT(tg_pool) / t->tg_bytes, 1u));
        e->groups_per_core[i] = groups;
        e->occupancy[!i] = MIN((double)groups * threads / FACT(max_threads), 1.0);
    }
}
static void place(const tm_counters *t, const model_estimate *e, u32 end, work *w) {
    u32 threads = MAX(t->group[0] * t->group[1] * t->group[2], 1u), simd = (threads + VGPU_LANES - 1) / VGPU_LANES;
    double groups = MAX((double)w->total[CT_threadgroups] * w->per_launch, 1.0);
    double at_once = e->groups_per_core[end];
    w->groups_most = ceil_div(groups, e->chip->cores);
    w->share = w->groups_most / groups * w->per_launch;
    w->resident = MIN(at_once, w->groups_most) * simd;
    w->schedulers = MIN(w->resident, FACT(schedulers));
    w->waves = ceil_div(w->groups_most, at_once);
}
static double pipe_cycles(const work *w, enum count_pipe pipe, double half_rate) {
    double sum = 0;
    for (u32 c = 0; c < CC_COUNT; c++)
        if (count_classes[c].pipe == pipe)
            sum += (double)w->runs[c] * count_classes[c].cycles / (c == CC_ALU16 ? half_rate : 1);
    return sum;
}
static void instructions(const work *w, model_estimate *e, u32 end) {
    const model_family *f = e->family;
    double us = w->share / w->schedulers / (e->chip->ghz[!end] * 1000), hide = 1, coissue = end ? 1 : f->coissue;
    if (end) /* a simdgroup alone waits for its own results */
        hide = MAX(FACT(alu_latency) / (w->resident / w->schedulers), 1.0);
    double simple = pipe_cycles(w, PIPE_SIMPLE, end ? 1 : f->half_rate) + pipe_cycles(w, PIPE_MEMORY, 1) +
                    pipe_cycles(w, PIPE_CONTROL, 1);
    e->part[PART_SIMPLE][end] = simple / coissue * hide * us;
    e->part[PART_COMPLEX][end] = pipe_cycles(w, PIPE_COMPLEX, 1) * us;
    e->part[PART_MATRIX][end] = pipe_cycles(w, PIPE_MATRIX, 1) * us;
}
static void memory(const tm_counters *t, const work *w, model_estimate *e, u32 end) {
    const model_chip *chip = e->chip;
    const u64 *n = w->total;
    double us = 1 / (chip->ghz[!end] * 1000), lines = (double)(n[CT_device_read_lines] + n[CT_device_write_lines]);
    double foot = (double)(n[CT_footprint_read_lines] + n[CT_footprint_write_lines]);
    bool fits = (double)t->largest_foot * COUNT_LINE < chip->slc_mb * 1048576;
    e->part[PART_L1][end] = lines * COUNT_LINE / FACT(core_bytes) * w->share * us;
    double tg_bytes = (double)(n[CT_threadgroup_read_bytes] + n[CT_threadgroup_write_bytes]);
    double width = (double)t->sum.banks * t->sum.bank_bytes / FACT(core_bytes);
    double ideal = (double)(n[CT_threadgroup_cycles] - n[CT_bank_conflict_cycles]) * width;
    e->part[PART_TG][end] = (MIN(tg_bytes / FACT(core_bytes), ideal) + (double)n[CT_bank_conflict_cycles] * width) *
                            w->share * us;
    e->part[PART_L2][end] = (end ? lines : MIN(foot, lines)) * COUNT_LINE / FACT(l2_bytes) * w->share * us;
    double bytes = (end && !fits ? MAX(lines, foot) : foot) * COUNT_LINE * w->per_launch;
    double rate = chip->dram * 1000 * (end ? FACT(dram_part_low) : FACT(dram_part_high)); /* bytes per us */
    if (!end && fits) /* what a launch before left there */
        rate = MAX(rate, FACT(slc_bytes_high) * chip->cores * chip->ghz[1] * 1000);
    e->part[PART_DRAM][end] = bytes / rate;
    double loads = (double)(n[CT_device_loads] + n[CT_atomics]), simd = MAX((double)n[CT_simdgroups], 1.0);
    double cold = lines > 0 ? MIN(foot / lines, 1.0) : 0, ns = cold * FACT(dram_ns) + (1 - cold) * FACT(l2_ns);
    e->part[PART_LATENCY][end] = loads == 0 ? 0
                                 : end ? w->waves * ceil_div(loads / simd, FACT(loads_in_flight)) * ns / 1000
                                       : FACT(l2_ns) / 1000;
}
void model_run(const tm_counters *t, const model_chip *chip, model_estimate *out) {
    work w = {0};
    u64 lanes[CC_COUNT];
    *out = (model_estimate){.chip = chip};
    for (u32 i = 0; i < COUNT_OF(families); i++)
        if (families[i].family == chip->family)
            out->family = &families[i];
    count_total_all(t, w.total);
    count_class_all(t, w.runs, lanes);
    w.per_launch = t->launches ? 1.0 / (double)t->launches : 0;
    occupancy(t, out);
    for (u32 end = 0; end < 2; end++) {
        place(t, out, end, &w);
        instructions(&w, out, end);
        memory(t, &w, out, end);
        out->part[PART_LAUNCH][end] = end ? FACT(launch_us_high) : FACT(launch_us_low);
    }
    double(*p)[2] = out->part, most;
    most = MAX(MAX(p[PART_SIMPLE][0] + p[PART_MATRIX][0], p[PART_COMPLEX][0]), 0.0);
    double traffic[2] = {0, 0};
    for (u32 i = PART_L1; i <= PART_LATENCY; i++)
        for (u32 end = 0; end < 2; end++)
            traffic[end] = MAX(traffic[end], p[i][end] + (end && i == PART_L1 ? p[PART_TG][1] : 0));
    out->us[0] = p[PART_LAUNCH][0] + MAX(most, traffic[0]);
    out->us[1] = p[PART_LAUNCH][1] + p[PART_SIMPLE][1] + p[PART_MATRIX][1] + p[PART_COMPLEX][1] + traffic[1];
    for (u32 end = 0; end < 2; end++)
        for (u32 i = 0; i < PART_COUNT; i++)
            if (p[i][end] > p[out->bound[end]][end])
                out->bound[end] = i;
    for (u32 end = 0; end < 2; end++)
        out->us[end] *= (double)MAX(t->launches, 1u);
}
