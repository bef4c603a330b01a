/* SPDX-License-Identifier: MIT */
/* barriers: walks the program in order with the set of accesses since the last barrier, and puts a
 * barrier before an access that must not overtake one of them:
 *   threadgroup memory, where planned ranges overlap: read after write, write after read, write after
 *     write to another allocation. Stores to one allocation with no read between are one filling: the
 *     lowering writes each element once, or with equal values. Atomics do not conflict with atomics.
 *   device memory, one root: a load that several simdgroups repeat (its address does not depend on
 *     all bits of the simdgroup index) against a store or atomic, in both directions; any other load
 *     against a later store or atomic through another address, which may be what another simdgroup
 *     has yet to load (updates in place). A load after a store belongs to the thread that makes it,
 *     as in upstream Triton.
 *   a scalar atomic that releases waits for the program's stores, one that acquires is waited for.
 * Loops are walked first without placing anything, to learn what their end leaves for their head, then
 * for good: a barrier that the first turn alone would want may be spared by one for the later turns.
 * A barrier never stands where
 * threads may part: an access there takes its barrier before the outermost varying branch or loop;
 * a conflict inside such a branch is refused, unless one thread alone runs it or both accesses use
 * one address. */
#include "base/vec.h"
#include "thread/facts.h"
#include "thread/thread.h"

enum { PEND_READ = 1, PEND_WRITE = 2, PEND_ATOMIC = 4, PEND_OWN_READ = 8 };
enum { DEVICE = 1, THREADGROUP = 2 };
enum { SEM_ACQUIRE = 2, SEM_RELEASE = 3, SEM_ACQ_REL = 4 };
enum { MAX_TWICE = 5 }; /* deeper loops get a barrier at their head instead of a dry walk */

typedef struct pending {
    VEC(u32) touched;  /* roots with a flag */
    u8 *flags;         /* by root; one past the last: any threadgroup memory; 0: any device memory */
    const ir_value **pointer; /* by root: the only address used, or NULL */
    bool stores, acquired;
} pending;

typedef struct range {
    u32 at, end;
} range;

typedef struct placer {
    pass_run *run;
    ir_module *m;
    facts *f;
    range *ranges; /* by root: planned threadgroup bytes */
    u32 n;         /* roots + 2 */
    u16 warp_bits;
    u32 loops;     /* around the current op */
    u32 dry;       /* walks that only ask what a loop's end leaves: barriers are imagined */
    bool failed;
} placer;

/* ---- Sets of pending accesses ----------------------------------------------------------------- */

static void set_init(placer *p, pending *s) {
    *s = (pending){0};
    s->flags = ARENA_ARRAY(p->run->scratch, u8, p->n);
    s->pointer = ARENA_ARRAY(p->run->scratch, const ir_value *, p->n);
}

static void set_add(placer *p, pending *s, u32 root, u8 flag, const ir_value *pointer) {
    if (!s->flags[root]) {
        VEC_PUSH(p->run->scratch, &s->touched, root);
        s->pointer[root] = pointer;
    } else if (s->pointer[root] != pointer) {
        s->pointer[root] = NULL;
    }
    s->flags[root] |= flag;
}

static void set_join(placer *p, pending *to, const pending *from) {
    for (u32 i = 0; i < from->touched.count; i++) {
        u32 root = from->touched.at[i];
        set_add(p, to, root, from->flags[root], from->pointer[root]);
    }
    to->stores |= from->stores;
    to->acquired |= from->acquired;
}

static bool is_threadgroup(const placer *p, u32 root) {
    return root == p->n - 1 || (root > 0 && p->ranges[root].end > 0);
}

static void set_clear(placer *p, pending *s, u32 spaces) {
    u32 kept = 0;
    for (u32 i = 0; i < s->touched.count; i++) {
        u32 root = s->touched.at[i];
        if (spaces & (is_threadgroup(p, root) ? THREADGROUP : DEVICE))
            s->flags[root] = 0;
        else
            s->touched.at[kept++] = root;
    }
    s->touched.count = kept;
    if (spaces & DEVICE)
        s->stores = s->acquired = false;
}

static bool set_covers(const pending *s, const pending *other) {
    for (u32 i = 0; i < other->touched.count; i++) {
        u32 root = other->touched.at[i];
        if (other->flags[root] & ~s->flags[root])
            return false;
    }
    return (s->stores || !other->stores) && (s->acquired || !other->acquired);
}

/* ---- Conflicts -------------------------------------------------------------------------------- */

typedef struct event { /* an access as the sets see it */
    u32 root, space;
    u8 flag;           /* 0: conflicts with nothing */
    const ir_value *pointer;
    bool device_store, releases, acquires;
} event;

static event event_of(const placer *p, const ir_op *op) {
    access a = access_of(p->f, op);
    event v = {.pointer = a.pointer};
    if (a.kind == ACCESS_NONE || a.space == IR_SPACE_CONSTANT || a.space == IR_SPACE_THREAD)
        return (event){0};
    v.space = a.space == IR_SPACE_THREADGROUP ? THREADGROUP : DEVICE;
    v.root = a.root != FACTS_ANY_ROOT ? a.root : v.space == THREADGROUP ? p->n - 1 : 0;
    v.flag = a.kind == ACCESS_READ ? PEND_READ : a.kind == ACCESS_WRITE ? PEND_WRITE : PEND_ATOMIC;
    if (v.space == THREADGROUP)
        return v;
    u16 depends = facts_depends(p->f, a.pointer);
    if (a.kind == ACCESS_READ && (depends & p->warp_bits) == p->warp_bits)
        v.flag = p->warp_bits ? PEND_OWN_READ : 0;
    v.device_store = a.kind == ACCESS_WRITE;
    if (a.kind == ACCESS_ATOMIC && !depends) {
        i64 sem = ir_attr_get_int(op, "sem", SEM_ACQ_REL);
        v.releases = sem == SEM_RELEASE || sem == SEM_ACQ_REL;
        v.acquires = (sem == SEM_ACQUIRE || sem == SEM_ACQ_REL) &&
                     value_observed(ir_result(op, 0));
    }
    return v;
}

static bool overlap(const placer *p, u32 a, u32 b) {
    if (a == b)
        return true;
    if (is_threadgroup(p, a) != is_threadgroup(p, b))
        return false;
    if (!is_threadgroup(p, a))
        return a == 0 || b == 0;
    if (a == p->n - 1 || b == p->n - 1)
        return true;
    return p->ranges[a].at < p->ranges[b].end && p->ranges[b].at < p->ranges[a].end;
}

static u8 conflicting(const event *v, u32 root) {
    if (v->flag == PEND_OWN_READ)
        return 0;
    if (v->space == DEVICE)
        return v->flag == PEND_READ ? PEND_WRITE | PEND_ATOMIC : PEND_READ | PEND_OWN_READ;
    if (v->flag == PEND_READ)
        return PEND_WRITE | PEND_ATOMIC;
    if (v->flag == PEND_ATOMIC)
        return PEND_READ | PEND_WRITE;
    return root == v->root ? PEND_READ | PEND_ATOMIC : PEND_READ | PEND_WRITE | PEND_ATOMIC;
}

/* Which memory needs a barrier before this access: 0, DEVICE, THREADGROUP. With `own`, accesses
 * through one address are the thread's own business. */
static u32 conflict(const placer *p, const pending *s, const event *v, bool own) {
    u32 need = 0;
    for (u32 i = 0; v->flag && i < s->touched.count; i++) {
        u32 root = s->touched.at[i];
        u8 met = s->flags[root] & conflicting(v, root);
        if (!overlap(p, root, v->root) || !met)
            continue;
        bool same = root == v->root && s->pointer[root] == v->pointer;
        if (!(same && (own || met == PEND_OWN_READ)))
            need |= v->space;
    }
    if (v->releases && s->stores)
        need |= DEVICE;
    if (v->space == DEVICE && s->acquired && !own)
        need |= DEVICE;
    return need;
}

static void record(placer *p, pending *s, const event *v) {
    if (v->flag)
        set_add(p, s, v->root, v->flag, v->pointer);
    s->stores |= v->device_store;
    s->acquired |= v->acquires;
}

static void put_barrier(placer *p, pending *s, ir_op *before, u32 spaces) {
    if (s->acquired)
        spaces |= DEVICE;
    for (u32 i = 0; i < s->touched.count; i++) /* it stands here anyway, and this memory is cheap */
        if (is_threadgroup(p, s->touched.at[i]))
            spaces |= THREADGROUP;
    set_clear(p, s, spaces);
    if (p->dry)
        return;
    ir_builder b = ir_before(p->m, before);
    ir_op *barrier = ir_build(&b, IR_tm_barrier, 0, NULL, 0, NULL, 0);
    ir_attr_set(p->m, barrier, "flags", ir_attr_int(p->m, ir_type_int(p->m, 32), spaces));
}

/* ---- Where threads part ----------------------------------------------------------------------- */

/* Bits of the ids that are zero in every thread for which v holds. */
static u16 zero_bits(const placer *p, const ir_value *v, u32 depth) {
    const ir_op *op = v->op;
    i64 zero;
    if (!op || depth > 4)
        return 0;
    if (op->code == IR_arith_andi)
        return zero_bits(p, ir_operand(op, 0), depth + 1) | zero_bits(p, ir_operand(op, 1), depth + 1);
    if (op->code != IR_arith_cmpi || ir_attr_get_int(op, "predicate", 1) != 0 ||
        !ir_constant_bits(ir_operand(op, 1), &zero) || zero != 0)
        return 0;
    const ir_value *x = ir_operand(op, 0);
    if (p->f->id[x->mark])
        return p->f->id[x->mark] >> 4;
    if (x->op && (x->op->code == IR_arith_ori || x->op->code == IR_arith_addi))
        return facts_depends(p->f, x); /* sums and unions of disjoint id bits: thread number 0 */
    return 0;
}

static bool is_one_thread(const placer *p, const ir_op *branch) {
    u16 all = (u16)(FACTS_LANE | p->warp_bits);
    return branch->code == IR_scf_if &&
           (zero_bits(p, ir_operand(branch, 0), 0) & all) == all;
}

static bool parts_threads(const placer *p, const ir_op *op) {
    if (op->code == IR_scf_if)
        return facts_varying(p->f, ir_operand(op, 0));
    if (op->code == IR_scf_while)
        return facts_varying(p->f, ir_operand(op->regions[0].first->last, 0));
    for (u32 i = 0; op->code == IR_scf_for && i < 3; i++)
        if (facts_varying(p->f, ir_operand(op, i)))
            return true;
    return false;
}

typedef struct scan {
    placer *p;
    pending *s;
    u32 need, found;
} scan;

static void scan_op(ir_op *op, void *data) {
    scan *c = data;
    event v = event_of(c->p, op);
    if (!v.space)
        return;
    c->found++;
    if (c->s)
        c->need |= conflict(c->p, c->s, &v, false);
}

static bool has_access(placer *p, ir_region *r) {
    scan c = {.p = p};
    for (ir_block *b = r->first; b; b = b->next)
        IR_FOR_EACH_OP(b, op) {
            if (op->code == IR_tm_barrier)
                return true;
            ir_walk(op, scan_op, &c);
            if (c.found)
                return true;
        }
    return false;
}

/* ---- The walk --------------------------------------------------------------------------------- */

/* inside: NULL where a barrier may stand, else the outermost op that parts threads. */
static void walk_block(placer *p, ir_block *b, pending *s, ir_op *inside);

static void walk_branch(placer *p, ir_op *op, pending *s, ir_op *inside) {
    bool first = has_access(p, &op->regions[0]), second = has_access(p, &op->regions[1]);
    if (!second) {
        pending before;
        if (!inside) { /* the other path keeps what was pending */
            set_init(p, &before);
            set_join(p, &before, s);
        }
        if (first)
            walk_block(p, op->regions[0].first, s, inside);
        if (!inside)
            set_join(p, s, &before);
        return;
    }
    pending other;
    set_init(p, &other);
    set_join(p, &other, s);
    if (first)
        walk_block(p, op->regions[0].first, s, inside);
    walk_block(p, op->regions[1].first, &other, inside);
    set_join(p, s, &other);
}

/* One turn from `head`: *end is what the next turn finds, *exit what follows the loop finds. */
static void walk_turn(placer *p, ir_op *op, const pending *head, ir_op *inside, pending *end,
                      pending *exit) {
    set_init(p, exit);
    set_join(p, exit, head);
    walk_block(p, op->regions[0].first, exit, inside);
    *end = *exit;
    if (op->code == IR_scf_while) {
        set_init(p, end);
        set_join(p, end, exit);
        walk_block(p, op->regions[1].first, end, inside);
    }
}

static void walk_loop(placer *p, ir_op *op, pending *s, ir_op *inside) {
    ir_op *first = op->regions[0].first->first;
    bool cut = p->loops >= MAX_TWICE && !inside;
    pending head, end, exit;
    set_init(p, &head);
    set_join(p, &head, s);
    p->loops++;
    if (cut) {
        put_barrier(p, &head, first, DEVICE | THREADGROUP);
    } else {
        p->dry++;
        walk_turn(p, op, &head, inside, &end, &exit);
        set_join(p, &head, &end);
        p->dry--;
    }
    walk_turn(p, op, &head, inside, &end, &exit);
    if (!cut && !set_covers(&head, &end)) {
        set_join(p, &head, &end);
        walk_turn(p, op, &head, inside, &end, &exit);
    }
    p->loops--;
    if (op->code == IR_scf_while)
        *s = exit; /* at least the test has run */
    else
        set_join(p, s, &exit);
}

static void walk_region_op(placer *p, ir_op *op, pending *s, ir_op *inside) {
    bool any = false;
    for (u32 r = 0; r < op->n_regions; r++)
        any |= has_access(p, &op->regions[r]);
    if (!any)
        return;
    if (!inside && parts_threads(p, op)) {
        scan c = {.p = p, .s = s};
        for (u32 r = 0; r < op->n_regions; r++)
            for (ir_op *x = op->regions[r].first ? op->regions[r].first->first : NULL; x; x = x->next)
                ir_walk(x, scan_op, &c);
        if (c.need)
            put_barrier(p, s, op, c.need);
        inside = op;
    }
    if (op->code == IR_scf_if)
        walk_branch(p, op, s, inside);
    else
        walk_loop(p, op, s, inside);
}

static void walk_access(placer *p, ir_op *op, pending *s, ir_op *inside) {
    event v = event_of(p, op);
    if (!v.space)
        return;
    u32 need = conflict(p, s, &v, inside != NULL);
    if (need && !inside)
        put_barrier(p, s, op, need);
    else if (need && !p->failed && !is_one_thread(p, inside)) {
        p->failed = true;
        ir_error(p->m, op, TM2302);
    }
    record(p, s, &v);
}

static void walk_block(placer *p, ir_block *b, pending *s, ir_op *inside) {
    IR_FOR_EACH_OP(b, op) {
        if (op->code == IR_tm_barrier) {
            if (inside && !p->failed) {
                p->failed = true;
                ir_error(p->m, op, TM2302);
            }
            set_clear(p, s, (u32)ir_attr_get_int(op, "flags", 3));
        } else if (op->n_regions) {
            walk_region_op(p, op, s, inside);
        } else {
            walk_access(p, op, s, inside);
        }
    }
}

static tm_status place_in(pass_run *run, ir_module *m, ir_op *func) {
    placer p = {.run = run, .m = m, .f = facts_build(run->scratch, func)};
    p.n = p.f->n_roots + 2;
    p.ranges = ARENA_ARRAY(run->scratch, range, p.n);
    u32 warps = MAX(run->target.num_warps, 1);
    p.warp_bits = (u16)((warps - 1) << FACTS_WARP_SHIFT);
    for (u32 r = 1; r <= p.f->n_roots; r++) {
        ir_op *alloc = p.f->roots[r - 1]->op;
        if (!alloc)
            continue;
        u32 at = (u32)ir_attr_get_int(alloc, "offset", 0);
        p.ranges[r] = (range){at, at + (u32)MAX(ir_attr_get_int(alloc, "bytes", 1), 1)};
    }
    pending s;
    set_init(&p, &s);
    walk_block(&p, func->regions[0].first, &s, NULL);
    return p.failed ? -1 : 0;
}

static tm_status run_barriers(pass_run *run, ir_module *m) {
    IR_FOR_EACH_OP(ir_module_body(m), op)
        if (op->code == IR_tt_func)
            TRY(place_in(run, m, op));
    return 0;
}

const pass_info pass_barriers = {
    .name = "barriers",
    .doc = "barriers between conflicting accesses, no more than needed",
    .run = run_barriers,
};
