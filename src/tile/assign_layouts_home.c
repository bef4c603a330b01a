/* SPDX-License-Identifier: MIT */
/* Home: one layout per value (per group of carried values), settled with uses before definitions.
 * A dot's preference stays; what only serves values laid out for a dot follows them (a load of
 * operand c becomes a load in fragments); then a load's preference; then what the uses ask for;
 * then the default. Loops make uses come late, so sweeps repeat until nothing changes. */
#include "tile/assign_layouts.h"

enum { MAX_SWEEPS = 8 };

static choice home_of(assign *s, const ir_value *v) {
    return s->home[group_of(s, v)];
}

choice op_choice(assign *s, const ir_op *op) {
    if (rules_has_side(op))
        return s->side[op->mark];
    if (op->n_results && is_tensor(ir_result(op, 0)))
        return home_of(s, ir_result(op, 0));
    return (choice){0};
}

const ir_attr *operand_attr(assign *s, const ir_op *op, u32 i, const ir_attr *l) {
    struct asked *known = &s->asked[s->first_slot[op->mark] + i];
    layout need;
    if (rules_keep(op, i))
        return ir_operand(op, i)->type->rank == l->layout->rank ? l : NULL;
    if (known->from != l) {
        known->from = l;
        known->to = rules_operand(op, i, l->layout, &need) ? layout_attr(s, &need) : NULL;
    }
    return known->to;
}

choice demand_of(assign *s, ir_op *op, u32 i) {
    const ir_value *to = carried_value(op, i);
    if (!is_tensor(ir_operand(op, i)))
        return (choice){0};
    if (to) { /* what a loop only carries decides nothing: its layout may come from this very value
               */
        choice carried = home_of(s, to);
        if (s->pref[group_of(s, to)].strength < WANT_LOAD)
            carried.strength = WANT_NONE;
        return carried;
    }
    choice c = op_choice(s, op);
    const ir_attr *l = c.layout ? operand_attr(s, op, i, c.layout) : NULL;
    if (!l)
        return (choice){0};
    return (choice){l, op->code == IR_tt_dot && i < 2 ? WANT_WEAK : c.strength};
}

/* What the uses of a group ask for. */
typedef struct wants {
    choice best;  /* the strongest, the first found among equals */
    bool one_dot; /* all uses ask for best, and with the strength of a dot */
} wants;

/* Carried values convert at every turn of the loop: what is asked for deeper inside weighs more. */
static u32 weight(assign *s, const ir_op *user, choice c, bool carried) {
    u32 depth = carried && c.strength != WANT_NONE ? s->depth[user->mark] : 0;
    return depth << 8 | c.strength;
}

static wants gather_wants(assign *s, u32 g, bool carried) {
    wants w = {.one_dot = true};
    u32 v = g, best = 0;
    do {
        for (ir_use *u = s->values[v]->uses; u; u = u->next) {
            choice c = demand_of(s, u->owner, (u32)(u - u->owner->operands));
            u32 weighs = weight(s, u->owner, c, carried);
            w.one_dot &= c.strength == WANT_DOT && (!w.best.layout || w.best.layout == c.layout);
            if (c.layout && (!w.best.layout || weighs > best)) {
                w.best = c;
                best = weighs;
            }
        }
        v = s->next[v];
    } while (v != g);
    w.one_dot &= w.best.layout != NULL;
    return w;
}

/* Whether v's op can run in the layout that a dot's neighbours want instead of its own preference.
 */
static bool may_follow(assign *s, const ir_value *v, const layout *l) {
    const ir_op *op = v->op;
    if (!op || op->n_regions)
        return false;
    switch (op->code) {
    case IR_tt_load: return access_is_good(s, ir_operand(op, 0), l);
    case IR_tt_expand_dims:
    case IR_tt_reshape:
    case IR_tt_trans: return true;
    default: return ir_has_trait(op, IR_ELEMENTWISE);
    }
}

static choice choose_home(assign *s, u32 g) {
    const ir_value *v = s->values[g];
    const ir_op *op = v->op;
    choice p = s->pref[g];
    bool carried = s->next[g] != g;
    if (op && rules_has_side(op)) {
        choice side = s->side[op->mark];
        layout l = rules_result(op, v->index, side.layout->layout);
        return (choice){layout_attr(s, &l), side.strength};
    }
    if (p.strength == WANT_DOT)
        return p;
    if (op && (op->code == IR_tt_atomic_rmw || op->code == IR_tt_atomic_cas))
        return p;
    wants w = gather_wants(s, g, carried);
    bool fits = w.best.layout && (!op || rules_allow(op, w.best.layout->layout));
    if (fits && w.one_dot && !carried && may_follow(s, v, w.best.layout->layout))
        return w.best;
    if (p.strength == WANT_LOAD)
        return p;
    if (fits && w.best.strength >= p.strength)
        return w.best;
    if (p.strength)
        return p;
    layout l = default_layout(s, v->type);
    if (op && op->code == IR_tt_join) {
        l = layout_drop_dim(&l, l.rank - 1u);
        l = layout_canonical(&l);
        l = join_layout(&l, v->type);
    }
    return (choice){layout_attr(s, &l), WANT_NONE};
}

static void settle(assign *s, const ir_value *v) {
    if (!is_tensor(v))
        return;
    u32 g = group_of(s, v);
    choice c = choose_home(s, g);
    if (c.layout != s->home[g].layout || c.strength != s->home[g].strength) {
        s->home[g] = c;
        s->changed = true;
    }
}

void home_all(assign *s) {
    u32 sweep = 0;
    do {
        s->changed = false;
        for (u32 i = s->n_ops; i-- > 0;) {
            ir_op *op = s->ops[i];
            for (u32 k = 0; k < op->n_results; k++)
                settle(s, ir_result(op, k));
            for (u32 r = 0; r < op->n_regions; r++)
                for (ir_block *b = op->regions[r].first; b; b = b->next)
                    for (u32 k = 0; k < b->n_args; k++)
                        settle(s, b->args[k]);
        }
    } while (s->changed && ++sweep < MAX_SWEEPS);
}
