/* SPDX-License-Identifier: MIT */
/* The table of numerics.def, and lists of choices: names are looked up in it, and what is wrong with a list is
 * said with the names that are right. */
#include "vgpu/numerics.h"

const vgpu_option_info vgpu_options[VGPU_OPTION_COUNT] = {
#define NUMERIC(option, what, evidence) {#option, what, evidence},
#define CHOICE(option, choice, meaning)
#include "vgpu/numerics.def"
#undef NUMERIC
#undef CHOICE
};
const vgpu_choice vgpu_choices[] = {
#define NUMERIC(option, what, evidence)
#define CHOICE(option, choice, meaning) {VGPU_##option, VGPU_##option##_##choice, #choice, meaning},
#include "vgpu/numerics.def"
#undef NUMERIC
#undef CHOICE
};
const u32 vgpu_choice_count = COUNT_OF(vgpu_choices);

static u8 *chosen(vgpu_numerics *n, u32 option) { return (u8 *)n + option; } /* a byte each, in this order */
_Static_assert(sizeof(vgpu_numerics) == VGPU_OPTION_COUNT, "one byte per option");

static bool is_word(const char *name, const char *p, size_t len) {
    return strlen(name) == len && memcmp(name, p, len) == 0;
}
static tm_status unknown_option(tm_ctx *ctx, const char *p, size_t len) {
    text names = {0};
    for (u32 o = 0; o < VGPU_OPTION_COUNT; o++)
        text_printf(&names, "%s%s", o ? ", " : "", vgpu_options[o].name);
    diag_at(ctx, NULL, TM5908, (int)len, p, names.at);
    text_free(&names);
    return -1;
}
static tm_status unknown_choice(tm_ctx *ctx, u32 option, const char *p, size_t len) {
    text names = {0};
    for (u32 c = 0; c < vgpu_choice_count; c++)
        if (vgpu_choices[c].option == option)
            text_printf(&names, "%s%s", names.len ? ", " : "", vgpu_choices[c].name);
    diag_at(ctx, NULL, TM5909, (int)len, p, vgpu_options[option].name, names.at);
    text_free(&names);
    return -1;
}
tm_status vgpu_numerics_parse(tm_ctx *ctx, const char *list, vgpu_numerics *out) {
    *out = (vgpu_numerics){0};
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ","), name = strcspn(p, "=,"), at = MIN(name + 1, len);
        u32 o = 0, c = 0;
        while (o < VGPU_OPTION_COUNT && !is_word(vgpu_options[o].name, p, name))
            o++;
        if (o == VGPU_OPTION_COUNT)
            return unknown_option(ctx, p, name);
        while (c < vgpu_choice_count &&
               (vgpu_choices[c].option != o || !is_word(vgpu_choices[c].name, p + at, len - at)))
            c++;
        if (c == vgpu_choice_count)
            return unknown_choice(ctx, o, p + at, len - at);
        *chosen(out, o) = vgpu_choices[c].value;
        p += len + (p[len] == ',');
    }
    return 0;
}
bool vgpu_numerics_set(vgpu_numerics *n, const vgpu_choice *choice) {
    u8 *at = chosen(n, choice->option);
    bool other = *at != choice->value;
    *at = choice->value;
    return other;
}
void vgpu_numerics_print(text *out, const vgpu_numerics *n) {
    vgpu_numerics copy = *n;
    for (u32 c = 0; c < vgpu_choice_count; c++)
        if (vgpu_choices[c].value && *chosen(&copy, vgpu_choices[c].option) == vgpu_choices[c].value)
            text_printf(out, "  %s = %s\n", vgpu_options[vgpu_choices[c].option].name, vgpu_choices[c].name);
}
