/* SPDX-License-Identifier: MIT */
/* Public API: counters of launches and the performance model. */
#include "compile/context.h"
#include "vgpu/count/model.h"
#include <math.h>

TM_API tm_counters *tm_counters_new(tm_context *ctx, const tm_kernel *k) {
    if (!k->k->count) {
        diag_at(ctx->ctx, NULL, TM5904, k->k->name);
        return NULL;
    }
    tm_counters *c = counters_new(k->k);
    if (!c)
        diag_at(ctx->ctx, NULL, TM9002, "tm_counters_new");
    return c;
}
TM_API void tm_counters_free(tm_counters *c) { counters_free(c); }
TM_API void tm_counters_reset(tm_counters *c) { counters_reset(c); }

static bool is_power(uint32_t n, uint32_t most) { return n && n <= most && !(n & (n - 1)); }
TM_API int tm_counters_banks(tm_context *ctx, tm_counters *c, uint32_t banks, uint32_t bank_bytes) {
    if (!is_power(banks, 256) || !is_power(bank_bytes, 16))
        return diag_at(ctx->ctx, NULL, TM5906, banks, bank_bytes);
    c->sum.banks = banks;
    c->sum.bank_bytes = bank_bytes;
    return 0;
}

TM_API uint32_t tm_counter_count(void) { return CT_COUNT; }
TM_API const char *tm_counter_name(uint32_t index) { return index < CT_COUNT ? count_totals[index].name : NULL; }
TM_API const char *tm_counter_meaning(uint32_t index) {
    return index < CT_COUNT ? count_totals[index].what : NULL;
}
TM_API uint64_t tm_counters_value(const tm_counters *c, const char *name) {
    u64 total[CT_COUNT];
    count_total_all(c, total);
    for (u32 i = 0; i < CT_COUNT; i++)
        if (strcmp(count_totals[i].name, name) == 0)
            return total[i];
    return 0;
}

TM_API const char *tm_counters_text(tm_context *ctx, const tm_counters *c, const char *form, const char *chip) {
    ctx->shown.len = 0;
    if (count_print(&ctx->shown, c, form, chip))
        return ctx->shown.at;
    bool known = !chip || model_chip_find(chip);
    diag_at(ctx->ctx, NULL, TM5905, known ? "form" : "chip", known ? form : chip);
    return NULL;
}
TM_API const char *tm_chip_name(uint32_t index) {
    const model_chip *chip = model_chip_at(index);
    return chip ? chip->name : NULL;
}
TM_API int tm_counters_estimate(tm_context *ctx, const tm_counters *c, const char *chip, tm_estimate *out) {
    const model_chip *known = model_chip_find(chip);
    if (!known)
        return diag_at(ctx->ctx, NULL, TM5905, "chip", chip);
    model_estimate e;
    model_run(c, known, &e);
    *out = (tm_estimate){.low_us = e.us[0],
                         .high_us = e.us[1],
                         .expected_us = sqrt(e.us[0] * e.us[1]),
                         .bound = model_part_names[e.bound[0]],
                         .confidence = e.family->confidence,
                         .occupancy_low = e.occupancy[0],
                         .occupancy_high = e.occupancy[1]};
    return 0;
}
