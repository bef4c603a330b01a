/* SPDX-License-Identifier: MIT */
/* Reference evaluator of thread IR: all threads of one threadgroup in lock step, op by op, under a mask
 * for control flow: as if a barrier stood between any two ops. What it checks besides meaning:
 * accesses stay inside memory and keep the alignment they claim, no two threads store to one place in
 * one op, threadgroup memory is written before it is read, and simdgroup ops find all lanes. */
#include "base/arena.h"
#include "base/map.h"
#include "ir/format.h"
#include "scalar.h"

enum { LANES = 32, MAX_THREADS = 1024, MAX_WIDTH = 16 };

typedef struct machine {
    arena *a;
    u32 threads;
    u64 **values;      /* by mark: width of the type * threads, element-major */
    u8 *memory;
    u8 written[MEMORY_BYTES];
    u32 stamp[MEMORY_BYTES], serial; /* op that last stored here */
    map *allocs;       /* tm.tg_alloc -> address */
    u64 next_alloc;
    const char *error;
} machine;

typedef bool thread_mask[MAX_THREADS];

static u32 width_of(const ir_type *t) {
    return t->kind == IR_MATRIX ? 2 : t->kind == IR_VECTOR ? (u32)t->shape[0] : 1;
}

static u64 *define(machine *m, const ir_value *v) {
    u64 **slot = &m->values[v->mark];
    if (!*slot)
        *slot = ARENA_ARRAY(m->a, u64, width_of(v->type) * m->threads);
    return *slot;
}

static u64 *get(machine *m, const ir_value *v) {
    TM_ASSERT(m->values[v->mark]);
    return m->values[v->mark];
}

static void fail(machine *m, const ir_op *op, const char *what) {
    if (!m->error)
        m->error = arena_printf(m->a, "%s: %s", ir_ops[op->code].name, what);
}

/* ---- Memory -------------------------------------------------------------------------------------- */

static bool check_access(machine *m, const ir_op *op, u64 address, u32 bytes, u64 align) {
    u64 limit = address < DEVICE_BYTES ? DEVICE_BYTES : m->next_alloc;
    if (address + bytes > limit)
        fail(m, op, "access outside memory");
    else if (align && address % align)
        fail(m, op, "misaligned access");
    return !m->error;
}

static u64 read_at(machine *m, const ir_op *op, u64 address, u32 bytes) {
    if (address >= DEVICE_BYTES)
        for (u32 i = 0; i < bytes; i++)
            if (!m->written[address + i])
                fail(m, op, "threadgroup memory read before it is written");
    return memory_read(m->memory, address, bytes);
}

static void write_at(machine *m, const ir_op *op, u64 address, u32 bytes, u64 bits) {
    for (u32 i = 0; i < bytes; i++) {
        if (m->stamp[address + i] == m->serial)
            fail(m, op, "two threads store to one place");
        m->stamp[address + i] = m->serial;
        m->written[address + i] = 1;
    }
    memory_write(m->memory, address, bytes, bits);
}

static void run_alloc(machine *m, const ir_op *op) {
    void **slot = map_put(m->allocs, MAP_KEY(op));
    u64 bytes = (u64)ir_attr_get_int(op, "bytes", 0);
    if (!*slot) {
        *slot = (void *)(uintptr_t)m->next_alloc;
        m->next_alloc = align_up(m->next_alloc + bytes, 16);
        if (m->next_alloc > MEMORY_BYTES) {
            fail(m, op, "too much threadgroup memory");
            return;
        }
    }
    memset(&m->written[(uintptr_t)*slot], 0, bytes); /* each execution starts afresh */
    u64 *out = define(m, ir_result(op, 0));
    for (u32 i = 0; i < m->threads; i++)
        out[i] = (uintptr_t)*slot;
}

static void run_access(machine *m, const ir_op *op, const bool *mask) {
    bool load = op->code == IR_tm_load;
    const ir_value *v = load ? ir_result(op, 0) : ir_operand(op, 1);
    u32 n = width_of(v->type), bytes = ir_type_bytes(ir_elem(v->type));
    u64 *out = load ? define(m, v) : get(m, v), *at = get(m, ir_operand(op, 0));
    if (ir_operand(op, 0)->type->elem != ir_elem(v->type))
        fail(m, op, "pointee and value differ");
    for (u32 i = 0; i < m->threads && !m->error; i++) {
        if (!mask[i])
            continue;
        if (!check_access(m, op, at[i], n * bytes, (u64)ir_attr_get_int(op, "align", 0)))
            return;
        for (u32 e = 0; e < n; e++)
            if (load)
                out[e * m->threads + i] = read_at(m, op, at[i] + e * bytes, bytes);
            else
                write_at(m, op, at[i] + e * bytes, bytes, out[e * m->threads + i]);
    }
}

static void run_atomic(machine *m, const ir_op *op, const bool *mask) {
    u64 *out = define(m, ir_result(op, 0)), *at = get(m, ir_operand(op, 0));
    u64 *value = get(m, ir_operand(op, 1));
    u64 *desired = op->code == IR_tm_atomic_cas ? get(m, ir_operand(op, 2)) : NULL;
    for (u32 i = 0; i < m->threads && !m->error; i++) {
        if (!mask[i] || !check_access(m, op, at[i], 4, 4))
            continue;
        u64 old = memory_read(m->memory, at[i], 4), next;
        if (desired)
            next = old == value[i] ? desired[i] : old;
        else
            next = atomic_apply(ir_attr_get_int(op, "op", 0), old, value[i]);
        memory_write(m->memory, at[i], 4, next);
        out[i] = old;
    }
}

/* ---- Simdgroups ---------------------------------------------------------------------------------- */

/* True when the simdgroup starting at thread `first` takes part; all lanes must agree. */
static bool takes_part(machine *m, const ir_op *op, const bool *mask, u32 first) {
    for (u32 i = 1; i < LANES; i++)
        if (mask[first + i] != mask[first])
            fail(m, op, "lanes are missing");
    return mask[first] && !m->error;
}

static void element_place(u32 lane, u32 e, u32 *row, u32 *column) {
    *row = lane / 2 % 4 + 4 * (lane / 16);
    *column = 2 * (lane % 2) + 4 * (lane / 8 % 2) + e;
}

static void run_matrix_memory(machine *m, const ir_op *op, u32 first) {
    bool load = op->code == IR_tm_matrix_load;
    const ir_value *v = load ? ir_result(op, 0) : ir_operand(op, 1);
    u64 *x = load ? define(m, v) : get(m, v), *at = get(m, ir_operand(op, 0));
    u64 stride = (u64)ir_attr_get_int(op, "stride", 0);
    bool transposed = ir_attr_get_int(op, "transposed", 0) != 0;
    u32 bytes = ir_type_bytes(v->type->elem);
    for (u32 lane = 0; lane < LANES; lane++) {
        if (at[first + lane] != at[first])
            fail(m, op, "the pointer differs between lanes");
        for (u32 e = 0; e < 2 && !m->error; e++) {
            u32 r, c;
            element_place(lane, e, &r, &c);
            u64 address = at[first] + bytes * (transposed ? c * stride + r : r * stride + c);
            u64 *element = &x[e * m->threads + first + lane];
            if (!check_access(m, op, address, bytes, bytes))
                return;
            if (load)
                *element = read_at(m, op, address, bytes);
            else
                write_at(m, op, address, bytes, *element);
        }
    }
}

static void spread_matrix(machine *m, const ir_value *v, u32 first, double out[8][8]) {
    for (u32 lane = 0; lane < LANES; lane++)
        for (u32 e = 0; e < 2; e++) {
            u32 r, c;
            element_place(lane, e, &r, &c);
            out[r][c] = ir_float_decode(v->type->elem->float_kind, get(m, v)[e * m->threads + first + lane]);
        }
}

static void run_mma(machine *m, const ir_op *op, u32 first) {
    double a[8][8], b[8][8], c[8][8];
    spread_matrix(m, ir_operand(op, 0), first, a);
    spread_matrix(m, ir_operand(op, 1), first, b);
    spread_matrix(m, ir_operand(op, 2), first, c);
    u64 *out = define(m, ir_result(op, 0));
    for (u32 lane = 0; lane < LANES; lane++)
        for (u32 e = 0; e < 2; e++) {
            u32 row, column;
            element_place(lane, e, &row, &column);
            double sum = c[row][column];
            for (u32 k = 0; k < 8; k++)
                sum += a[row][k] * b[k][column];
            out[e * m->threads + first + lane] = ir_float_encode(IR_F32, sum);
        }
}

static const u16 simd_codes[] = {IR_arith_addf,  IR_arith_maxnumf, IR_arith_minnumf, IR_arith_addi,
                                 IR_arith_maxsi, IR_arith_minsi,   IR_arith_maxui,   IR_arith_minui,
                                 IR_arith_andi,  IR_arith_ori};

static void run_simd(machine *m, const ir_op *op, u32 first) {
    const ir_type *t = ir_result(op, 0)->type;
    u64 *out = define(m, ir_result(op, 0)), *x = get(m, ir_operand(op, 0)), sum = x[first];
    ir_op combine = {.code = simd_codes[ir_attr_get_int(op, "kind", 0)], .n_operands = 2};
    for (u32 i = 1; i < LANES; i++)
        scalar_eval(&combine, t, (const ir_type *[]){t, t}, (u64[]){sum, x[first + i]}, &sum);
    u64 old[LANES];
    memcpy(old, &x[first], sizeof old);
    for (u32 i = 0; i < LANES; i++)
        if (op->code == IR_tm_shuffle_xor)
            out[first + i] = old[(i ^ (u64)ir_attr_get_int(op, "mask", 0)) % LANES];
        else if (op->code == IR_tm_shuffle)
            out[first + i] = old[get(m, ir_operand(op, 1))[first + i] % LANES];
        else
            out[first + i] = sum;
}

static void run_convergent(machine *m, const ir_op *op, const bool *mask) {
    for (u32 first = 0; first < m->threads; first += LANES) {
        if (!takes_part(m, op, mask, first))
            continue;
        switch (op->code) {
        case IR_tm_matrix_load:
        case IR_tm_matrix_store: run_matrix_memory(m, op, first); break;
        case IR_tm_matrix_mma: run_mma(m, op, first); break;
        default: run_simd(m, op, first); break;
        }
    }
}

/* ---- Control flow -------------------------------------------------------------------------------- */

static void run_block(machine *m, const ir_block *b, const bool *mask);

static void copy(machine *m, const ir_value *to, const ir_value *from, const bool *mask) {
    u64 *x = define(m, to), *y = get(m, from);
    for (u32 e = 0; e < width_of(to->type); e++)
        for (u32 i = 0; i < m->threads; i++)
            if (mask[i])
                x[e * m->threads + i] = y[e * m->threads + i];
}

/* Values may swap places, so all are read before any is written. */
static void copy_all(machine *m, ir_value *const *to, const ir_op *from, u32 skip, u32 n,
                     const bool *mask) {
    u64 **olds = ARENA_ARRAY(m->a, u64 *, n);
    for (u32 k = 0; k < n; k++)
        olds[k] = arena_dup(m->a, get(m, ir_operand(from, k + skip)),
                            sizeof(u64) * width_of(to[k]->type) * m->threads);
    for (u32 k = 0; k < n; k++)
        for (u32 e = 0; e < width_of(to[k]->type); e++)
            for (u32 i = 0; i < m->threads; i++)
                if (mask[i])
                    define(m, to[k])[e * m->threads + i] = olds[k][e * m->threads + i];
}

static bool any(const machine *m, const bool *mask) {
    for (u32 i = 0; i < m->threads; i++)
        if (mask[i])
            return true;
    return false;
}

static void run_if(machine *m, const ir_op *op, const bool *mask) {
    u64 *condition = get(m, ir_operand(op, 0));
    for (u32 k = 0; k < op->n_results; k++)
        define(m, ir_result(op, k));
    for (u32 side = 0; side < 2; side++) {
        const ir_block *b = op->regions[side].first;
        thread_mask inner;
        for (u32 i = 0; i < m->threads; i++)
            inner[i] = mask[i] && (condition[i] != 0) == (side == 0);
        if (!b || !any(m, inner))
            continue;
        run_block(m, b, inner);
        for (u32 k = 0; k < op->n_results && !m->error; k++)
            copy(m, ir_result(op, k), ir_operand(b->last, k), inner);
    }
}

static void run_for(machine *m, const ir_op *op, const bool *mask) {
    const ir_block *body = op->regions[0].first;
    const ir_type *t = ir_operand(op, 0)->type;
    u64 *index = define(m, body->args[0]);
    copy(m, body->args[0], ir_operand(op, 0), mask);
    copy_all(m, body->args + 1, op, 3, op->n_results, mask);
    for (;;) {
        thread_mask inner;
        for (u32 i = 0; i < m->threads; i++)
            inner[i] = mask[i] && scalar_signed(t, index[i]) <
                                      scalar_signed(t, get(m, ir_operand(op, 1))[i]);
        if (!any(m, inner) || m->error)
            break;
        run_block(m, body, inner);
        if (m->error)
            break;
        copy_all(m, body->args + 1, body->last, 0, op->n_results, inner);
        for (u32 i = 0; i < m->threads; i++)
            if (inner[i])
                index[i] = scalar_mask(t, index[i] + get(m, ir_operand(op, 2))[i]);
    }
    for (u32 k = 0; k < op->n_results; k++)
        copy(m, ir_result(op, k), body->args[k + 1], mask);
}

static void run_while(machine *m, const ir_op *op, const bool *mask) {
    const ir_block *before = op->regions[0].first, *after = op->regions[1].first;
    thread_mask inner;
    memcpy(inner, mask, sizeof inner);
    ir_value **results = ARENA_ARRAY(m->a, ir_value *, op->n_results);
    for (u32 k = 0; k < op->n_results; k++)
        results[k] = ir_result(op, k);
    copy_all(m, before->args, op, 0, op->n_operands, mask);
    while (!m->error) {
        run_block(m, before, inner);
        if (m->error)
            return;
        copy_all(m, results, before->last, 1, op->n_results, inner);
        for (u32 i = 0; i < m->threads; i++)
            inner[i] = inner[i] && get(m, ir_operand(before->last, 0))[i] != 0;
        if (!any(m, inner))
            return;
        copy_all(m, after->args, before->last, 1, op->n_results, inner);
        run_block(m, after, inner);
        if (!m->error)
            copy_all(m, before->args, after->last, 0, op->n_operands, inner);
    }
}

/* ---- Everything else ------------------------------------------------------------------------------ */

static void run_scalar(machine *m, const ir_op *op, const bool *mask) {
    const ir_type *types[4], *result = op->n_results ? ir_result(op, 0)->type : NULL;
    if (!result || op->n_operands > 4) {
        fail(m, op, "unknown op");
        return;
    }
    for (u32 k = 0; k < op->n_operands; k++)
        types[k] = ir_operand(op, k)->type;
    u64 *out = define(m, ir_result(op, 0));
    for (u32 i = 0; i < m->threads && !m->error; i++) {
        u64 in[4];
        for (u32 k = 0; k < op->n_operands; k++)
            in[k] = get(m, ir_operand(op, k))[i];
        if (mask[i] && !scalar_eval(op, result, types, in, &out[i]))
            fail(m, op, "unknown op");
    }
}

/* tm.vec_make, tm.matrix_make, tm.matrix_fill, tm.vec_get, tm.matrix_get: elements move. */
static void run_elements(machine *m, const ir_op *op, const bool *mask) {
    u64 *out = define(m, ir_result(op, 0));
    bool take = op->code == IR_tm_vec_get || op->code == IR_tm_matrix_get;
    u32 index = take ? (u32)ir_attr_get_int(op, "index", 0) : 0;
    for (u32 e = 0; e < width_of(ir_result(op, 0)->type); e++)
        for (u32 i = 0; i < m->threads; i++)
            if (mask[i])
                out[e * m->threads + i] =
                    get(m, ir_operand(op, op->n_operands > 1 ? e : 0))[index * m->threads + i];
}

static void run_id(machine *m, const ir_op *op) {
    u64 *out = define(m, ir_result(op, 0));
    for (u32 i = 0; i < m->threads; i++)
        out[i] = op->code == IR_tm_lane_id ? i % LANES : i / LANES;
}

static void run_op(machine *m, const ir_op *op, const bool *mask) {
    m->serial++;
    switch (op->code) {
    case IR_tm_lane_id:
    case IR_tm_warp_id: run_id(m, op); break;
    case IR_tm_tg_alloc: run_alloc(m, op); break;
    case IR_tm_barrier: break;
    case IR_tm_load:
    case IR_tm_store: run_access(m, op, mask); break;
    case IR_tm_atomic_rmw:
    case IR_tm_atomic_cas: run_atomic(m, op, mask); break;
    case IR_tm_vec_make:
    case IR_tm_vec_get:
    case IR_tm_matrix_fill:
    case IR_tm_matrix_make:
    case IR_tm_matrix_get: run_elements(m, op, mask); break;
    case IR_tm_shuffle_xor:
    case IR_tm_shuffle:
    case IR_tm_simd_reduce:
    case IR_tm_matrix_load:
    case IR_tm_matrix_store:
    case IR_tm_matrix_mma: run_convergent(m, op, mask); break;
    case IR_scf_if: run_if(m, op, mask); break;
    case IR_scf_for: run_for(m, op, mask); break;
    case IR_scf_while: run_while(m, op, mask); break;
    default: run_scalar(m, op, mask); break;
    }
}

static void run_block(machine *m, const ir_block *b, const bool *mask) {
    IR_FOR_EACH_OP(b, op)
        if (!ir_has_trait(op, IR_TERMINATOR) && !m->error)
            run_op(m, op, mask);
}

const char *run_threads(arena *a, ir_op *func, const u64 *args, u32 warps, u8 *memory) {
    machine *m = ARENA_NEW(a, machine);
    m->a = a;
    m->threads = warps * LANES;
    m->memory = memory;
    m->next_alloc = DEVICE_BYTES;
    m->values = ARENA_ARRAY(a, u64 *, ir_number(func));
    m->allocs = map_new(a);
    const ir_block *entry = func->regions[0].first;
    thread_mask mask;
    for (u32 i = 0; i < m->threads; i++)
        mask[i] = true;
    for (u32 k = 0; k < entry->n_args; k++)
        for (u32 i = 0; i < m->threads; i++)
            define(m, entry->args[k])[i] = args[k];
    run_block(m, entry, mask);
    return m->error;
}
