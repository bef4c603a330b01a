/* SPDX-License-Identifier: MIT */
/* Linear maps over GF(2) in the smallest form that works: at most 32 columns of 32 bits. Everything
 * rests on one elimination: `gf2_span` keeps vectors in echelon form (slot = leading bit) and, for
 * each, which inputs were added to make it. Inputs are offered in order, so an answer only uses the
 * first independent ones: that is what "low inputs preferred" means throughout. */
#include "layout/layout.h"

u32 gf2_apply(const gf2_map *m, u32 x) {
    u32 y = 0;
    for (; x; x &= x - 1)
        y ^= m->col[__builtin_ctz(x)];
    return y;
}

u32 gf2_span_reduce(const gf2_span *s, u32 v, u32 *combo) {
    while (v) {
        u32 lead = 31u - (u32)__builtin_clz(v);
        if (!s->vec[lead])
            break;
        v ^= s->vec[lead];
        *combo ^= s->combo[lead];
    }
    return v;
}

bool gf2_span_add(gf2_span *s, u32 v, u32 combo) {
    v = gf2_span_reduce(s, v, &combo);
    if (!v)
        return false;
    u32 lead = 31u - (u32)__builtin_clz(v);
    s->vec[lead] = v;
    s->combo[lead] = combo;
    s->size++;
    return true;
}

bool gf2_span_has(const gf2_span *s, u32 v) {
    u32 combo = 0;
    return gf2_span_reduce(s, v, &combo) == 0;
}

gf2_span gf2_image(const gf2_map *m) {
    gf2_span s = {0};
    for (u32 i = 0; i < m->n_in; i++)
        gf2_span_add(&s, m->col[i], 1u << i);
    return s;
}

u32 gf2_rank(const gf2_map *m) {
    return gf2_image(m).size;
}
bool gf2_is_surjective(const gf2_map *m) {
    return gf2_rank(m) == m->n_out;
}
