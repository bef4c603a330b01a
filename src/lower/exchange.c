/* SPDX-License-Identifier: MIT */
/* Movement between threads through threadgroup memory: all threads write a tensor, all read it.
 *
 * The image in memory is the tensor's flat index with its bits permuted: the bits of one dimension
 * come first, so that registers that follow each other there move as vectors, and rows are padded by
 * 16 bytes against bank conflicts (EVIDENCE: Apple's own matrix kernels pad by as much). When the
 * image does not fit the limit, the top bits of the permuted index number rounds, each with memory of
 * its own that planning lays over the others; bits that registers alone decide are taken first,
 * because then each round simply handles other registers.
 * Fragments read and write whole 8x8 matrices where rows or columns of a tile lie at one stride.
 * Barriers are not placed here: pass_barriers sees the writes and the reads. */
#include "lower/state.h"

enum { VECTOR_BYTES = 16, DEFAULT_LIMIT = 32768 };

typedef struct image {
    u8 order[GF2_MAX];   /* memory bit j holds flat-index bit order[j] */
    u32 bits, fast, rounds; /* all; within a row; on top, the round's number */
    u32 stride;          /* elements from row to row */
    bool transposed;     /* a row holds the second last dimension */
    const ir_type *elem; /* as it lies in memory */
    u32 bytes;
} image;

/* One layout seen through the image: indices are memory indices. */
typedef struct side {
    layout l;            /* one dimension of image->bits */
    spread lw;
    u32 bits;            /* memory bits that lanes and warps touch */
    u8 vector[GF2_MAX];  /* register bits along a vector */
    u32 n_vector, width;
} side;

static u32 to_memory_index(const image *im, u32 flat) {
    u32 m = 0;
    for (u32 j = 0; j < im->bits; j++)
        m |= (flat >> im->order[j] & 1) << j;
    return m;
}

static side see(const image *im, const layout *l) {
    side s = {0};
    i64 size = (i64)1 << im->bits;
    s.l = layout_empty(1, &size, l->in_bits[LAYOUT_WARP]);
    memcpy(s.l.in_bits, l->in_bits, sizeof l->in_bits);
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++)
            s.l.base[in][i] = to_memory_index(im, l->base[in][i]);
    s.lw = spread_of(&s.l);
    s.bits = spread_bits(&s.lw);
    u32 max = log2_u64(VECTOR_BYTES / im->bytes);
    s.n_vector = register_run(&s.l, 0, MIN(max, im->fast), s.vector);
    s.width = 1u << s.n_vector;
    return s;
}

/* ---- Choosing the image ------------------------------------------------------------------------- */

/* Flat bits that one register bit alone decides. */
static u32 register_bits(const layout *l) {
    u32 single = 0, shared = 0;
    for (u32 in = 0; in < LAYOUT_INS; in++)
        for (u32 i = 0; i < l->in_bits[in]; i++) {
            u32 base = l->base[in][i];
            if (in == LAYOUT_REG && is_pow2(base))
                shared |= single & base, single |= base;
            else
                shared |= base;
        }
    return single & ~shared;
}

/* Bits of the order move to the top, to number rounds: the highest that all of `good` allow, then
 * any above the lowest three of the last two dimensions. */
static void take_rounds(image *im, u32 rounds, u32 good, u32 keep) {
    for (u32 pass = 0; pass < 3 && im->rounds < rounds; pass++)
        for (u32 j = im->bits - im->rounds; j-- > 0 && im->rounds < rounds;) {
            u32 flat = 1u << im->order[j];
            if ((pass == 0 && !(good & flat)) || (pass < 2 && (keep & flat)))
                continue;
            u8 bit = im->order[j];
            u32 top = im->bits - im->rounds - 1;
            memmove(&im->order[j], &im->order[j + 1], top - j);
            im->order[top] = bit;
            im->rounds++;
            if (j < im->fast)
                im->fast--;
        }
}

static u32 image_elems(const image *im) {
    return im->stride << (im->bits - im->rounds - im->fast);
}

static void set_stride(image *im, bool pad) {
    im->stride = 1u << im->fast;
    if (pad && im->bits - im->rounds > im->fast && im->stride * im->bytes >= VECTOR_BYTES)
        im->stride += VECTOR_BYTES / im->bytes;
}

/* The image with dimension `d` along rows, the others after it from the last to the first. */
static image image_along(const layout *l, u32 d, const ir_type *elem) {
    image im = {.elem = elem, .bytes = ir_type_bytes(elem)};
    for (u32 k = 0; k <= l->rank; k++) {
        u32 dim = k == 0 ? d : l->rank - k;
        if (k && dim == d)
            continue;
        for (u32 i = 0; i < l->dim_bits[dim]; i++)
            im.order[im.bits++] = (u8)(layout_dim_shift(l, dim) + i);
    }
    im.fast = l->dim_bits[d];
    im.transposed = d + 2 == l->rank;
    return im;
}

static void fit(image *im, const layout *src, const layout *dst, u32 limit) {
    set_stride(im, true);
    if (image_elems(im) * im->bytes > limit)
        set_stride(im, false);
    u32 rounds = 0;
    while (image_elems(im) * im->bytes >> rounds > limit)
        rounds++;
    if (!rounds)
        return;
    u32 keep = 0; /* vectors and 8x8 tiles stay whole */
    for (u32 d = src->rank >= 2 ? src->rank - 2 : 0; d < src->rank; d++)
        for (u32 i = 0; i < MIN(3u, (u32)src->dim_bits[d]); i++)
            keep |= 1u << (layout_dim_shift(src, d) + i);
    take_rounds(im, rounds, register_bits(src) & register_bits(dst), keep);
    set_stride(im, true);
    if (image_elems(im) * im->bytes > limit)
        set_stride(im, false);
}

u32 threadgroup_limit(const lower *L) {
    u32 bytes = L->run->target.threadgroup_bytes;
    return bytes ? bytes : DEFAULT_LIMIT;
}

static image choose_image(lower *L, const layout *src, const layout *dst, const ir_type *elem) {
    u32 limit = threadgroup_limit(L);
    image best = {0};
    u32 best_score = 0;
    for (u32 k = 0; k < src->rank; k++) {
        u32 d = src->rank - 1 - k;
        if (k && src->dim_bits[d] == 0)
            continue;
        image im = image_along(src, d, elem);
        fit(&im, src, dst, limit);
        u32 read = layout_is_fragment(dst) && k < 2 ? 3 : see(&im, dst).n_vector;
        u32 score = 1 + see(&im, src).n_vector + read;
        if (score > best_score) {
            best_score = score;
            best = im;
        }
    }
    return best;
}

/* ---- Addresses ---------------------------------------------------------------------------------- */

static u32 in_round(const image *im, u32 m) { return m & ((1u << (im->bits - im->rounds)) - 1); }
static u32 round_of(const image *im, u32 m) { return m >> (im->bits - im->rounds); }

static u32 offset_of(const image *im, u32 m) {
    m = in_round(im, m);
    return (m >> im->fast) * im->stride + (m & ((1u << im->fast) - 1));
}

static spread map_spread(const spread *s, u32 shift, u32 mask) {
    spread r = *s;
    for (u32 i = 0; i < LANE_BITS; i++)
        r.lane[i] = (r.lane[i] & mask) >> shift;
    for (u32 i = 0; i < WARP_BITS_MAX; i++)
        r.warp[i] = (r.warp[i] & mask) >> shift;
    return r;
}

/* Offset of (spread XOR flip): flip has only bits that the spread also touches. NULL when zero. */
static ir_value *spread_offset(lower *L, const image *im, const spread *lw, u32 flip) {
    u32 all = (1u << (im->bits - im->rounds)) - 1, columns = (1u << im->fast) - 1;
    bool flat = im->stride == 1u << im->fast;
    spread column = map_spread(lw, 0, flat ? all : columns);
    spread row = map_spread(lw, im->fast, flat ? 0 : all & ~columns);
    ir_value *c = spread_value(L, &column), *r = spread_value(L, &row);
    u32 flip_column = flip & (flat ? all : columns), flip_row = flat ? 0 : (flip & all) >> im->fast;
    if (flip_column)
        c = ir_binary(&L->b, IR_arith_xori, c, const_i32(L, flip_column));
    if (flip_row)
        r = ir_binary(&L->b, IR_arith_xori, r, const_i32(L, flip_row));
    if (r)
        r = ir_binary(&L->b, IR_arith_muli, r, const_i32(L, im->stride));
    return r && c ? ir_binary(&L->b, IR_arith_addi, r, c) : r ? r : c;
}

/* The pointers of one side into one round's memory. */
typedef struct pointers {
    ir_value *alloc;
    ir_value *base; /* at the spread's own offset */
    const spread *lw;
    u32 bits;
} pointers;

static pointers point(lower *L, const image *im, ir_value *alloc, const spread *lw) {
    pointers p = {.alloc = alloc, .base = alloc, .lw = lw, .bits = spread_bits(lw)};
    ir_value *offset = spread_offset(L, im, lw, 0);
    if (offset)
        p.base = make_addptr(L, alloc, offset);
    return p;
}

static ir_value *pointer_at(lower *L, const image *im, const pointers *p, u32 reg) {
    u32 flip = in_round(im, reg) & p->bits;
    ir_value *base = p->base;
    if (flip)
        base = make_addptr(L, p->alloc, spread_offset(L, im, p->lw, flip));
    u32 constant = offset_of(im, reg & ~p->bits);
    return constant ? make_addptr(L, base, const_i32(L, constant)) : base;
}

ir_value *make_alloc(lower *L, const ir_type *elem, u32 count) {
    const ir_type *bytes = ir_type_ptr(L->m, L->i8, IR_SPACE_THREADGROUP);
    ir_value *a = make1(L, IR_tm_tg_alloc, bytes, 0, NULL);
    set_i32(L, a, "bytes", (i64)count * ir_type_bytes(elem));
    set_i32(L, a, "align", VECTOR_BYTES);
    if (elem == L->i8)
        return a;
    return make1(L, IR_tt_bitcast, ir_type_ptr(L->m, elem, IR_SPACE_THREADGROUP), 1, &a);
}

/* ---- Rounds -------------------------------------------------------------------------------------- */

/* Calls `act` for the registers (steps of the side's vectors, or fragment pairs) of one round: those
 * that the register decides at once, those that the thread decides under an scf.if per case. */
typedef struct round_walk {
    lower *L;
    const image *im;
    const side *s;
    u32 skip;      /* registers with these bits are not leaders */
    tensor *t;
    pointers p;
    u32 width;
} round_walk;

static ir_value *round_condition(round_walk *w, u32 want) {
    lower *L = w->L;
    spread s = map_spread(&w->s->lw, w->im->bits - w->im->rounds, ~0u);
    return ir_compare(&L->b, IR_arith_cmpi, 0, spread_value(L, &s), const_i32(L, want)); /* eq */
}

static u32 vector_mask(const side *s) {
    u32 mask = 0;
    for (u32 i = 0; i < s->n_vector; i++)
        mask |= 1u << s->vector[i];
    return mask;
}

static void write_one(round_walk *w, u32 reg) {
    ir_value *parts[VECTOR_BYTES];
    for (u32 e = 0; e < w->width; e++) {
        u32 r = reg | spread_bits_of(e, w->s->vector, w->s->n_vector);
        parts[e] = to_memory(w->L, w->t->s[r]);
    }
    ir_value *at = pointer_at(w->L, w->im, &w->p, reg_index(&w->s->l, reg));
    make_store(w->L, at, make_vector(w->L, w->width, parts), w->width * w->im->bytes);
}

static void read_one(round_walk *w, u32 reg, ir_value **out) {
    lower *L = w->L;
    const ir_type *e = w->im->elem;
    const ir_type *type = w->width == 1 ? e : ir_type_vector(L->m, w->width, e);
    ir_value *at = pointer_at(L, w->im, &w->p, reg_index(&w->s->l, reg));
    ir_value *parts[VECTOR_BYTES];
    split_vector(L, make_load(L, type, at, w->width * w->im->bytes), w->width, parts);
    for (u32 i = 0; i < w->width; i++)
        out[i] = from_memory(L, parts[i], w->t->elem);
}

/* The leaders of a round, in groups by what the thread's part of the round number must be. `lists[c]`
 * holds the registers for thread part c; without thread part only lists[0] is filled. */
static u32 leaders(round_walk *w, u32 round, u32 want, u32 *out) {
    u32 n = 0, thread_bits = round_of(w->im, w->s->bits);
    for (u32 r = 0; r < layout_regs(&w->s->l); r++) {
        u32 need = round ^ round_of(w->im, reg_index(&w->s->l, r));
        if (!(r & w->skip) && need == want && (need & ~thread_bits) == 0)
            out[n++] = r;
    }
    return n;
}

static void write_round(round_walk *w, u32 round) {
    lower *L = w->L;
    u32 *regs = ARENA_ARRAY(L->a, u32, layout_regs(&w->s->l));
    u32 thread_bits = round_of(w->im, w->s->bits);
    for (u32 want = 0; want < 1u << w->im->rounds; want++) {
        u32 n = leaders(w, round, want, regs);
        if (!n)
            continue;
        ir_op *guard = thread_bits ? if_open(L, round_condition(w, want), 0, NULL) : NULL;
        for (u32 i = 0; i < n; i++)
            write_one(w, regs[i]);
        if (guard)
            if_close(L, guard);
    }
}

static void read_round(round_walk *w, u32 round) {
    lower *L = w->L;
    tensor *t = w->t;
    u32 *regs = ARENA_ARRAY(L->a, u32, t->n);
    ir_value **values = ARENA_ARRAY(L->a, ir_value *, t->n);
    const ir_type **types = ARENA_ARRAY(L->a, const ir_type *, t->n);
    for (u32 i = 0; i < t->n; i++)
        types[i] = t->elem;
    u32 thread_bits = round_of(w->im, w->s->bits);
    for (u32 want = 0; want < 1u << w->im->rounds; want++) {
        u32 n = leaders(w, round, want, regs);
        if (!n)
            continue;
        u32 total = n * w->width;
        ir_op *guard = NULL;
        ir_value *zero = NULL;
        if (thread_bits) {
            zero = zero_of(L, t->elem);
            guard = if_open(L, round_condition(w, want), total, types);
        }
        for (u32 i = 0; i < n; i++)
            read_one(w, regs[i], &values[i * w->width]);
        if (guard) {
            make_yield(L, total, values);
            if_else(L, guard);
        }
        for (u32 i = 0; i < total; i++) {
            u32 e = i % w->width;
            ir_value **slot = &t->s[regs[i / w->width] |
                                    spread_bits_of(e, w->s->vector, w->s->n_vector)];
            ir_value *before = *slot ? *slot : zero;
            *slot = guard ? ir_result(guard, i) : values[i];
            values[i] = before;
        }
        if (guard) {
            make_yield(L, total, values);
            if_close(L, guard);
        }
    }
}

/* ---- Matrices ------------------------------------------------------------------------------------ */

/* Whole matrices can move when every round is the register's choice and tiles are not cut. */
static bool matrices_fit(const image *im, const side *s, const layout *l, const ir_type *elem) {
    if (!layout_is_fragment(l) || !is_matrix_elem(elem) || round_of(im, s->bits))
        return false;
    if (!im->transposed && im->order[0] != 0)
        return false; /* rows hold neither of the last two dimensions */
    u32 row = l->dim_bits[l->rank - 1];
    const u32 low[6] = {0, 1, 2, row, row + 1, row + 2};
    u32 first = im->transposed ? 3 : 0; /* memory: three bits of a row, then three rows */
    for (u32 i = 0; i < 3; i++)
        if (im->fast < 3 || im->bits - im->rounds < im->fast + 3 ||
            im->order[i] != low[(first + i) % 6] || im->order[im->fast + i] != low[(first + 3 + i) % 6])
            return false;
    return true;
}

static void move_matrices(round_walk *w, u32 round, bool write) {
    lower *L = w->L;
    const ir_type *type = ir_type_matrix(L->m, w->t->elem);
    for (u32 p = 0; p < w->t->n / 2; p++) {
        u32 m = reg_index(&w->s->l, 2 * p);
        if (round_of(w->im, m) != round)
            continue;
        ir_value *at = pointer_at(L, w->im, &w->p, m);
        ir_op *op;
        if (write) {
            op = ir_build(&L->b, IR_tm_matrix_store, 2, (ir_value *[]){at, w->t->mat[p]}, 0, NULL, 0);
        } else {
            op = ir_build(&L->b, IR_tm_matrix_load, 1, &at, 1, &type, 0);
            w->t->mat[p] = ir_result(op, 0);
        }
        ir_attr_set(L->m, op, "stride", ir_attr_i32(L->m, w->im->stride));
        ir_attr_set(L->m, op, "transposed", ir_attr_bool(L->m, w->im->transposed));
    }
}

static spread warps_only(const spread *s) {
    spread r = *s;
    memset(r.lane, 0, sizeof r.lane);
    return r;
}

/* ---- The exchange -------------------------------------------------------------------------------- */

tensor *exchange(lower *L, tensor *src, const layout *to, bool as_matrices) {
    image im = choose_image(L, src->l, to, memory_type(L, src->elem));
    side from = see(&im, src->l), into = see(&im, to);
    bool store_matrices = !src->s && src->elem == L->f32 && matrices_fit(&im, &from, src->l, src->elem);
    bool load_matrices = as_matrices && matrices_fit(&im, &into, to, src->elem);
    if (!store_matrices)
        tensor_need_scalars(L, src);
    tensor *dst = tensor_make(L, to, src->elem);
    if (load_matrices) {
        dst->s = NULL;
        dst->mat = ARENA_ARRAY(L->a, ir_value *, dst->n / 2);
    }
    spread from_lw = store_matrices ? warps_only(&from.lw) : from.lw;
    spread into_lw = load_matrices ? warps_only(&into.lw) : into.lw;
    round_walk write = {.L = L, .im = &im, .s = &from, .t = src, .skip = vector_mask(&from),
                        .width = from.width};
    round_walk read = {.L = L, .im = &im, .s = &into, .t = dst, .skip = vector_mask(&into),
                       .width = into.width};
    ir_value *owner = owner_of(L, src->l);
    for (u32 round = 0; round < 1u << im.rounds; round++) {
        ir_value *alloc = make_alloc(L, im.elem, image_elems(&im));
        write.p = point(L, &im, alloc, &from_lw);
        ir_op *guard = owner ? if_open(L, owner, 0, NULL) : NULL;
        if (store_matrices)
            move_matrices(&write, round, true);
        else
            write_round(&write, round);
        if (guard)
            if_close(L, guard);
        read.p = point(L, &im, alloc, &into_lw);
        if (load_matrices)
            move_matrices(&read, round, false);
        else
            read_round(&read, round);
    }
    tensor_here(L, dst);
    return dst;
}

/* The tensor in row-major order without padding. */
ir_value *publish(lower *L, tensor *src) {
    image im = image_along(src->l, src->l->rank - 1u, memory_type(L, src->elem));
    set_stride(&im, false);
    side from = see(&im, src->l);
    tensor_need_scalars(L, src);
    round_walk write = {.L = L, .im = &im, .s = &from, .t = src, .skip = vector_mask(&from),
                        .width = from.width};
    ir_value *owner = owner_of(L, src->l), *alloc = make_alloc(L, im.elem, image_elems(&im));
    write.p = point(L, &im, alloc, &from.lw);
    ir_op *guard = owner ? if_open(L, owner, 0, NULL) : NULL;
    write_round(&write, 0);
    if (guard)
        if_close(L, guard);
    return alloc;
}
