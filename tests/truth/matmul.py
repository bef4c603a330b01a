# SPDX-License-Identifier: MIT
"""Matrix products: fused, split along K, masked by blocks, gathered, segmented; matrix times vector; attention."""
import struct

import numpy as np

from harness import (FLOATS, STEP, Case, Launch, Out, blank, block, ceil, f32, i32, i64, load, random, store, strides, u64)


def stored(x, transposed):
    """A matrix as the buffer holds it."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)) if transposed else x


def product(dtype, want, k):
    """Sums run in float32; the result is rounded once."""
    return Out(want, dtype, 1, 2.0 ** -23 * np.sqrt(k) / 2)


def gemm_params(m, n, k, lda, ldb, bm, bn, bk, batch=(0, 0, 0), ndim=1):
    return struct.pack("<8i3q3i4x", m, n, k, lda, ldb, n, ceil(n, bn), ceil(m, bm), *batch, 0, k // bk, ndim)


TILES = ("bm32_bn32_bk16_wm2_wn2", "bm32_bn64_bk16_wm1_wn2", "bm64_bn32_bk32_wm2_wn2", "bm64_bn32_bk8_wm4_wn1",
         "bm64_bn64_bk16_wm1_wn2", "bm64_bn64_bk16_wm2_wn2")


def tile_of(name):
    return [int("".join(c for c in part if c.isdigit())) for part in name.split("_")]


def fused(layout, dtype, tile, size, batches=1, listed=False, source=None):
    """source: None, "add" or "axpby" bring in a matrix C. listed: batches by a list of strides."""
    bm, bn, bk, wm, wn = tile_of(tile)
    m, n, k = size
    constants = {10: int(listed), 100: int(source is not None), 110: int(source == "axpby"), 200: int(m % bm == 0),
                 201: int(n % bn == 0), 202: int(k % bk == 0)}

    def make(rng):
        a, b = random(rng, dtype, (batches, m, k)), random(rng, dtype, (batches, k, n))
        want = load(a, dtype) @ load(b, dtype)
        a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "t")
        lda, ldb = a.shape[-1], b.shape[-1]
        params = gemm_params(m, n, k, lda, ldb, bm, bn, bk, (m * k, k * n, m * n), 2 if listed else 1)
        args = {0: a, 1: b, 4: params}
        if listed:
            args |= {6: i32(batches // 2, 2), 7: i64(2 * m * k, m * k, 2 * k * n, k * n, 2 * m * n, m * n)}
        if source:
            c = random(rng, dtype, (batches, m, n))
            alpha, beta = (.5, 1.5) if source == "axpby" else (1, 1)
            want = alpha * want + beta * load(c, dtype)
            c = np.concatenate([c.reshape(-1), blank(64 * n, dtype)])  # tiles at the edge read all their rows of C
            args |= {2: c, 5: struct.pack("<2iq2f", n, 1, m * n, alpha, beta)}
        return Launch(args, {3: product(dtype, want, k)}, (32, wn, wm), grid=(ceil(n, bn), ceil(m, bm), batches))

    label = "x".join(map(str, size)) + (f"-{batches}" if batches > 1 else "") + ("-listed" if listed else "") + \
        (f"-{source}" if source else "")
    return Case(f"steel_gemm_fused_{layout}_{dtype}_{dtype}_{tile}", make, constants, label)


def split_k(layout, dtype, bm, bn, size, parts, axpby=False):
    m, n, k = size
    out = "complex64" if dtype == "complex64" else "float32"
    name = f"steel_gemm_splitk_{layout}_{dtype}_{out}_bm{bm}_bn{bn}_bk16_wm2_wn2_" \
           f"MN_{'tn'[bool(m % bm or n % bn)]}aligned_K_{'tn'[bool(k % 16)]}aligned"
    last = f"steel_gemm_splitk_accum_{dtype}_{out}" + ("_axbpy" if axpby else "")

    def make(rng):
        a, b = random(rng, dtype, (m, k)), random(rng, dtype, (k, n))
        want = load(a, dtype) @ load(b, dtype)
        a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "t")
        steps = k // 16 // parts
        pieces = blank((parts, m, n), out)
        params = struct.pack("<13i", m, n, k, a.shape[1], b.shape[1], n, ceil(n, bn), ceil(m, bm), parts, m * n,
                             steps * 16, 0, steps)
        first = Launch({0: a, 1: b, 2: pieces, 3: params}, {}, (32, 2, 2), grid=(ceil(n, bn), ceil(m, bm), parts))
        args = {0: pieces, 2: i32(parts), 3: i32(m * n), 4: i32(n)}
        if axpby:
            c = random(rng, dtype, (m, n))
            want = .5 * want + 2 * load(c, dtype)
            args |= {5: c, 6: i32(n), 7: i32(1), 8: f32(.5), 9: f32(2)}
        second = Launch(args, {1: product(dtype, want, k)}, block(n, m, 1), threads=(n, m, 1), kernel=last)
        return [first, second]

    return Case(name, make, label="axpby" if axpby else "")


def masks(rng, kind, shape):
    if kind == "bool_":
        return random(rng, "bool_", shape)
    return store(np.where(rng.random(shape) < .3, 0, rng.uniform(.5, 2, shape)), kind)


def spread(mask, kind, size, shape):
    """A mask of blocks, for each element."""
    full = np.repeat(np.repeat(load(mask, kind).astype(float), size, 0), size, 1)
    return full[:shape[0], :shape[1]]


def masked(layout, dtype, size, out_mask, op_mask, shape):
    m, n, k = shape
    name = f"steel_gemm_block_outmask_{out_mask}_opmask_{op_mask}_{layout}_{dtype}_{dtype}_bm{size}_bn{size}_bk16_" \
           f"wm2_wn2_MN_{'tn'[bool(m % size or n % size)]}aligned_K_{'tn'[bool(k % 16)]}aligned"

    def make(rng):
        a, b = random(rng, dtype, (m, k)), random(rng, dtype, (k, n))
        va, vb = load(a, dtype), load(b, dtype)
        bm, bn, bk = ceil(m, size), ceil(n, size), ceil(k, size)
        a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "t")
        args = {0: a, 1: b, 4: gemm_params(m, n, k, a.shape[1], b.shape[1], size, size, 16), 6: i32(1)}
        at, last = [], 1
        if op_mask != "nomask":
            ma, mb = masks(rng, op_mask, (bm, bk)), masks(rng, op_mask, (bk, bn))
            va, vb = va * spread(ma, op_mask, size, va.shape), vb * spread(mb, op_mask, size, vb.shape)
            if dtype in ("float16", "bfloat16"):
                va, vb = load(store(va, dtype), dtype), load(store(vb, dtype), dtype)
            args |= {11: ma, 12: mb}
            at = [1, bk, 1, bn]
        if out_mask != "nomask":
            mo = masks(rng, out_mask, (bm, bn))
            last = spread(mo, out_mask, size, (m, n))
            args[10] = mo
            at = [1, bn] + at
        args |= {7: i64(*[0] * 5), 13: i32(*at)}
        return Launch(args, {3: product(dtype, va @ vb * last, k)}, (32, 2, 2), grid=(ceil(n, size), ceil(m, size), 1))

    return Case(name, make)


def gathered(layout, dtype, tile, size):
    bm, bn, bk, wm, wn = tile_of(tile)
    m, n, k = size
    constants = {10: 0, 200: int(m % bm == 0), 201: int(n % bn == 0), 202: int(k % bk == 0)}

    def make(rng):
        a, b = random(rng, dtype, (5, m, k)), random(rng, dtype, (4, k, n))
        left, right = rng.integers(0, 5, 6, dtype=np.uint32), rng.integers(0, 4, 6, dtype=np.uint32)
        want = load(a, dtype)[left] @ load(b, dtype)[right]
        a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "t")
        args = {0: a, 1: b, 2: left, 3: right,
                5: gemm_params(m, n, k, a.shape[2], b.shape[2], bm, bn, bk, (1, 1, m * n)), 6: i32(6), 7: i64(1),
                8: i64(1), 9: i32(1), 10: i32(5, m, k), 11: i64(m * k, k, 1), 12: i32(1), 13: i32(4, k, n),
                14: i64(k * n, n, 1)}
        return Launch(args, {4: product(dtype, want, k)}, (32, wn, wm), grid=(ceil(n, bn), ceil(m, bm), 6))

    return Case(f"steel_gather_mm_{layout}_{dtype}_{dtype}_{tile}", make, constants)


def gathered_rows(layout, dtype, size):
    """Rows come sorted by the matrix that each is multiplied with; offsets say where the rows of each begin."""
    m, n, k = size
    name = f"steel_gather_mm_rhs_{layout}_{dtype}_{dtype}_bm16_bn64_bk16_wm1_wn2"

    def make(rng):
        offsets = np.array([0, 7, 7, 40], np.int32)
        a, b = random(rng, dtype, (m, k)), random(rng, dtype, (4, k, n))
        which = np.searchsorted(offsets, np.arange(m), "right") - 1
        want = np.einsum("mk,mkn->mn", load(a, dtype), load(b, dtype)[which])
        b = stored(b, layout[1] == "t")
        args = {"A": a, "B": b, "offsets": offsets, "num_groups": i32(4),
                "params": gemm_params(m, n, k, k, b.shape[2], 16, 64, 16, (0, k * n, 0), 0)}
        return Launch(args, {"C": product(dtype, want, k)}, (32, 2, 1), grid=(ceil(n, 64), ceil(m, 16) + 4, 1))

    return Case(name, make, {201: int(n % 64 == 0), 202: int(k % 16 == 0)}, label="x".join(map(str, size)))


def segmented(layout, dtype, tile, size):
    bm, bn, bk, wm, wn = tile_of(tile)
    m, n, k = size
    constants = {199: 1, 200: int(m % bm == 0), 201: int(n % bn == 0)}

    def make(rng):
        a, b = random(rng, dtype, (m, k)), random(rng, dtype, (k, n))
        cuts = np.array([[0, 32], [32, 81], [81, k], [16, 16]], np.uint32)
        va, vb = load(a, dtype), load(b, dtype)
        want = np.stack([va[:, s:e] @ vb[s:e] for s, e in cuts])
        a, b = stored(a, layout[0] == "t"), stored(b, layout[1] == "t")
        params = gemm_params(m, n, k, a.shape[1], b.shape[1], bm, bn, bk, (0, 0, m * n))
        return Launch({0: a, 1: b, 2: cuts, 4: params}, {3: product(dtype, want, k)}, (32, wn, wm),
                      grid=(ceil(n, bn), ceil(m, bm), 4))

    return Case(f"steel_segmented_mm_{layout}_{dtype}_{dtype}_{tile}", make, constants)


# ---- Matrix times vector ------------------------------------------------------------------------------------

LOOSE = "bounds"  # these wait for the threadgroup where only the first lanes of each simdgroup come along


def gemv_batch(args, batches, m, k):
    return args | {9: i32(1), 10: i32(batches), 11: i64(k), 12: i64(m * k), 13: i64(m), 14: i32(1)}


def gemv(transposed, dtype, tile, size, batches=1, axpby=False):
    bm, bn, sm, sn, tm, tn = tile_of(tile)
    m, k = size
    name = f"gemv_{'t_' if transposed else ''}{dtype}_{tile}_nc0_axpby{int(axpby)}"

    def make(rng):
        a, v = random(rng, dtype, (batches, m, k)), random(rng, dtype, (batches, k))
        want = np.einsum("bmk,bk->bm", load(a, dtype), load(v, dtype))
        mat, slack = stored(a, transposed), 0
        args = gemv_batch({0: mat, 1: v, 4: i32(k), 5: i32(m), 6: i32(mat.shape[2])}, batches, m, k)
        if axpby:
            c = random(rng, dtype, (batches, m))
            want = .5 * want + 2 * load(c, dtype)
            slack = STEP[dtype] / 2  # scaled and added in the type itself
            args |= {2: c, 7: f32(.5), 8: f32(2)}
        else:
            args |= {2: v, 7: f32(1), 8: f32(0)}
        rows = bn * sn * tn if transposed else bm * sm * tm
        out = product(dtype, want, k)
        out.ulps, out.slack = 1 if dtype != "float32" else 4, out.slack + slack
        return Launch(args, {3: out}, (32, bn, bm), grid=(ceil(m, rows), 1, batches))

    return Case(name, make, label=f"{m}x{k}" + (f"-{batches}" if batches > 1 else ""), checks=LOOSE)


def gemv_masked(transposed, dtype, out_mask, op_mask, size):
    tile = "bm1_bn2_sm8_sn4_tm4_tn4" if transposed else "bm2_bn1_sm4_sn8_tm4_tn4"
    bm, bn, sm, sn, tm, tn = tile_of(tile)
    m, k = size
    name = f"gemv_{'t_' if transposed else ''}outmask_{out_mask}_opmask_{op_mask}_{dtype}_{tile}_nc0"

    def make(rng):
        a, v = random(rng, dtype, (m, k)), random(rng, dtype, (k, 1))
        va, vv = load(a, dtype), load(v, dtype)
        blocks, mats = ceil(m, 32), ceil(k, 32)
        mat = stored(a, transposed)
        args = {0: mat, 1: v, 4: i32(k), 5: i32(m), 6: i32(mat.shape[1]), 9: i32(1), 10: i32(1), 11: i64(0), 12: i64(0)}
        at, last = [], 1
        if op_mask != "nomask":
            ma, mv = masks(rng, op_mask, (blocks, mats)), masks(rng, op_mask, (mats, 1))
            both = load(ma, op_mask).astype(float) * load(mv, op_mask).astype(float).T  # rounded, then times the vector
            va = va * spread(store(both, dtype), dtype, 32, va.shape)
            args |= {21: ma, 22: mv}
            at = [mats, 1, 1, 1] if transposed else [1, mats, 1, 1]
        if out_mask != "nomask":
            mo = masks(rng, out_mask, (blocks, 1))
            last = np.repeat(load(mo, out_mask).astype(float), 32, 0)[:m]
            args[20] = mo
            at = [1, 1] + at
        args |= {23: i32(*at), 24: i64(0, 0, 0)}
        rows = bn * sn * tn if transposed else bm * sm * tm
        return Launch(args, {3: product(dtype, (va @ vv * last)[:, 0], k)}, (32, bn, bm), grid=(ceil(m, rows), 1, 1))

    return Case(name, make, checks=LOOSE)


def gemv_gathered(transposed, dtype, tile, size):
    bm, bn, sm, sn, tm, tn = tile_of(tile)
    m, k = size

    def make(rng):
        a, v = random(rng, dtype, (4, m, k)), random(rng, dtype, (5, k))
        vectors, matrices = rng.integers(0, 5, 7, dtype=np.uint32), rng.integers(0, 4, 7, dtype=np.uint32)
        want = np.einsum("bmk,bk->bm", load(a, dtype)[matrices], load(v, dtype)[vectors])
        mat = stored(a, transposed)
        args = {0: mat, 1: v, 2: v, 4: i32(k), 5: i32(m), 6: i32(mat.shape[2]), 7: f32(1), 8: f32(0), 9: i32(1),
                10: i32(7), 11: i64(1, 1), 12: i32(1), 13: i32(5), 14: i64(k), 15: i32(1), 16: i32(4), 17: i64(m * k),
                18: vectors, 19: matrices}
        rows = bn * sn * tn if transposed else bm * sm * tm
        out = product(dtype, want, k)
        out.ulps = 1 if dtype != "float32" else 4
        return Launch(args, {3: out}, (32, bn, bm), grid=(ceil(m, rows), 1, 7))

    return Case(f"gemv_{'t_' if transposed else ''}gather_{dtype}_{tile}", make, checks=LOOSE)


def gemv_wide(dtype, vectors, lanes, size, m, batches=1, axpby=False, grid_x=1):
    """One matrix of n rows with m vectors, `vectors` of them at a time."""
    n, k = size

    def make(rng):
        a, v, c = random(rng, dtype, (batches, n, k)), random(rng, dtype, (batches, m, k)), random(rng, dtype, (batches, m, n))
        want = np.einsum("bnk,bmk->bmn", load(a, dtype), load(v, dtype))
        args = {0: a, 1: v, 4: i32(k), 5: i32(n), 6: i32(m), 7: i32(k), 8: i32(k), 11: i32(1), 12: i32(batches),
                13: i64(m * k), 14: i64(n * k)}
        if axpby:
            want = .5 * want + 2 * load(c, dtype)
            args |= {2: c, 9: f32(.5), 10: f32(2), 15: i64(m * n), 16: i32(n), 17: i32(1)}
        out = product(dtype, want, k)
        out.ulps = 1
        return Launch(args, {3: out}, (32, lanes // 8, 1), grid=(grid_x, ceil(n, 4), batches))

    return Case(f"gemv_wide_{dtype}_nv{vectors}_kl{lanes}", make, {0: False, 1: axpby}, label=f"{n}x{k}x{m}")


def gemv_wide_gathered(dtype, vectors, lanes, size, m):
    n, k = size

    def make(rng):
        a, v = random(rng, dtype, (4, n, k)), random(rng, dtype, (5, m, k))
        which, matrices = rng.integers(0, 5, 7, dtype=np.uint32), rng.integers(0, 4, 7, dtype=np.uint32)
        want = np.einsum("bnk,bmk->bmn", load(a, dtype)[matrices], load(v, dtype)[which])
        args = {0: a, 1: v, 2: v, 4: i32(k), 5: i32(n), 6: i32(m), 7: i32(k), 8: i32(k), 11: i32(1), 12: i32(7),
                13: i64(1, 1), 14: i32(1), 15: i32(5), 16: i64(m * k), 17: i32(1), 18: i32(4), 19: i64(n * k), 20: which,
                21: matrices}
        out = product(dtype, want, k)
        out.ulps = 1
        return Launch(args, {3: out}, (32, lanes // 8, 1), grid=(1, ceil(n, 4), 7))

    return Case(f"gemv_wide_gather_{dtype}_nv{vectors}_kl{lanes}", make, {0: False, 1: False})


# ---- Attention ----------------------------------------------------------------------------------------------

def attention(q, k, v, scale, bias=0.0, sinks=None):
    """q[b, h, i, d]; k and v may have fewer heads. bias is added to the scores."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * scale + bias
    most = s.max(-1, keepdims=True)
    if sinks is not None:
        most = np.maximum(most, sinks[None, :, None, None])
    p = np.exp(s - most)
    total = p.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[None, :, None, None] - most)
    return np.einsum("bhqk,bhkd->bhqd", p / total, v)


def causal(q_len, k_len):
    return np.where(np.arange(k_len)[None] <= np.arange(q_len)[:, None] + k_len - q_len, 0, -np.inf)


def score_mask(rng, kind, dtype, shape):
    """A mask and what it adds to the scores. The first key is never masked."""
    keep = rng.random(shape) < .7
    keep[..., 0] = True
    if kind == "bool":
        return keep, np.where(keep, 0, -np.inf)
    bias = random(rng, dtype, shape)
    return bias, load(bias, dtype)


def near(dtype, want):
    return Out(want, dtype, 3 if dtype == "float32" else 1.5, 4e-6 if dtype == "float32" else STEP[dtype] / 2)


def type_name(dtype):
    return {"float32": "float", "float16": "float16_t", "bfloat16": "bfloat16_t"}[dtype]


def vector_attention(dtype, d, dv, kind="", passes=1, q_len=1, n=75):
    """kind: "", "causal", "bool", "float" or "sinks"."""
    heads, kv_heads, batch, blocks = 4, 2, 2, 32
    constants = {20: int(kind in ("bool", "float")), 21: 0, 22: int(kind == "causal"), 23: int(kind == "bool"),
                 24: int(kind == "float"), 25: int(kind == "sinks")}
    tail = f"{type_name(dtype)}_{d}_{dv}"

    def make(rng):
        q = random(rng, dtype, (batch, heads, q_len, d))
        k, v = (random(rng, dtype, (batch, kv_heads, n, x)) for x in (d, dv))
        bias, extra, sinks = 0.0, {}, None
        first = 11 if passes == 1 else 13
        if kind in ("bool", "float"):
            mask, bias = score_mask(rng, kind, dtype, (batch, heads, q_len, n))
            extra = {first + (kind == "float"): mask, first + 2: i32(1), first + 3: i32(n), first + 4: i32(n * q_len)}
        elif kind == "causal":
            bias = causal(q_len, n)
        elif kind == "sinks":
            s = random(rng, dtype, heads, 0, 6)
            sinks = load(s, dtype)
            extra = {first + 5: s, 17: i32(heads)} if passes == 1 else {first + 5: s}
        want = near(dtype, attention(load(q, dtype), load(k, dtype), load(v, dtype), d ** -.5, bias, sinks))
        sizes = [i32(n), u64(n * d), u64(d), u64(n * dv), u64(dv), f32(d ** -.5)]
        if passes == 1:
            args = {0: q, 1: k, 2: v, 4: i32(heads // kv_heads)} | {5 + i: x for i, x in enumerate(sizes)} | extra
            return Launch(args, {3: want}, (1024, 1, 1), grid=(batch * heads, q_len, 1))
        parts = blank((batch, heads, q_len, blocks, dv), dtype)
        sums, most = (blank((batch, heads, q_len, blocks), "float32") for _ in range(2))
        args = {0: q, 1: k, 2: v, 3: parts, 4: sums, 5: most} | {7 + i: x for i, x in enumerate(sizes)} | extra
        one = Launch(args, {}, (32, heads // kv_heads, q_len), grid=(kv_heads, batch, blocks))
        two = Launch({0: parts, 1: sums, 2: most, 4: i32(blocks)}, {3: want}, (1024, 1, 1),
                     grid=(batch * heads, q_len, 1), kernel=f"sdpa_vector_2pass_2_{type_name(dtype)}_{dv}")
        return [one, two]

    name = ("sdpa_vector_" if passes == 1 else "sdpa_vector_2pass_1_") + tail
    return Case(name, make, constants | ({26: blocks} if passes == 2 else {}), label=f"{kind}{q_len}")


def grouped_attention(dtype, d, group, n):
    """The first pass for groups of query heads that share keys: each block takes a piece of the keys."""
    kv_heads, batch, blocks = 2, 1, 32
    heads = group * kv_heads

    def make(rng):
        q = random(rng, dtype, (batch, heads, 1, d))
        k, v = (random(rng, dtype, (batch, kv_heads, n, d)) for _ in range(2))
        want = near(dtype, attention(load(q, dtype), load(k, dtype), load(v, dtype), d ** -.5))
        parts = blank((batch, heads, blocks, d), dtype)
        sums, most = (blank((batch, heads, blocks), "float32") for _ in range(2))
        args = {0: q, 1: k, 2: v, 3: parts, 4: sums, 5: most, 7: i32(n), 8: u64(n * d), 9: u64(d), 10: u64(n * d),
                11: u64(d), 12: f32(d ** -.5)}
        return [Launch(args, {}, (32, 8, 1), grid=(kv_heads, batch, blocks)),
                Launch({0: parts, 1: sums, 2: most, 4: i32(blocks)}, {3: want}, (1024, 1, 1),
                       grid=(batch * heads, 1, 1), kernel=f"sdpa_vector_2pass_2_{type_name(dtype)}_{d}")]

    return Case(f"sdpa_vector_2pass_1_gqa_{group}_{type_name(dtype)}_{d}_{d}", make)


def full_attention(dtype, tile, kind="", q_len=45, k_len=77, mask_type="bool_"):
    bq, bk, d, dv, wm, wn = tile_of(tile)
    heads, kv_heads, batch = 4, 2, 1
    mask_name = dtype if kind == "float" else mask_type
    constants = {200: int(q_len % bq == 0), 201: int(k_len % bk == 0), 300: int(kind in ("bool", "float")),
                 301: int(kind == "causal"), 302: int(kind == "sinks"), 303: 0}

    def make(rng):
        q = random(rng, dtype, (batch, heads, q_len, d))
        k, v = (random(rng, dtype, (batch, kv_heads, k_len, x)) for x in (d, dv))
        bias, extra, sinks = 0.0, {}, None
        if kind in ("bool", "float"):
            mask, bias = score_mask(rng, kind, dtype, (batch, heads, q_len, k_len))
            extra = {5: i64(heads * q_len * k_len, q_len * k_len, k_len), 6: mask}
        elif kind == "causal":
            bias = causal(q_len, k_len)
        elif kind == "sinks":
            s = random(rng, dtype, heads, 0, 6)
            sinks, extra = load(s, dtype), {7: s}
        want = near(dtype, attention(load(q, dtype), load(k, dtype), load(v, dtype), d ** -.5, bias, sinks))
        params = struct.pack("<6if7i", batch, heads, d, q_len, k_len, heads // kv_heads, d ** -.5, ceil(q_len, bq),
                             ceil(k_len, bk), q_len // bq, k_len // bk, q_len % bq, k_len % bk, k_len - q_len)
        for h, length, x in ((heads, q_len, d), (kv_heads, k_len, d), (kv_heads, k_len, dv), (heads, q_len, dv)):
            params += i64(h * length * x, length * x, x)
        return Launch({0: q, 1: k, 2: v, 4: params} | extra, {3: want}, (32, wm, wn),
                      grid=(ceil(q_len, bq), heads, batch))

    return Case(f"steel_attention_{dtype}_{tile}_mask{mask_name}", make, constants, label=f"{kind}{q_len}x{k_len}")


def gemm_cases():
    for i, tile in enumerate(TILES):
        for j, layout in enumerate(("nn", "nt", "tn", "tt")):
            dtype = FLOATS[(i + j) % 3]
            yield fused(layout, dtype, tile, (75, 90, 45))
            yield fused(layout, FLOATS[(i + j + 1) % 3], tile, (64, 128, 64))
    for dtype in FLOATS:
        yield fused("nt", dtype, TILES[5], (64, 70, 48), source="axpby")
        yield fused("nn", dtype, TILES[0], (40, 64, 48), 2, source="add")
        yield fused("nn", dtype, TILES[0], (33, 32, 20), 4, listed=True)
    for layout in ("nn", "tt"):
        yield fused(layout, "complex64", TILES[0], (40, 45, 37))
    for j, layout in enumerate(("nn", "nt", "tn", "tt")):
        yield split_k(layout, FLOATS[j % 3], 16, 16, (30, 37, 400), 4)
        yield split_k(layout, FLOATS[(j + 1) % 3], 32, 32, (64, 64, 512), 4)
        yield split_k(layout, FLOATS[(j + 2) % 3], 32, 16, (41, 16, 333), 2, axpby=True)
        yield split_k(layout, "complex64", 16, 16, (32, 48, 160), 2, axpby=j == 1)
    for j, layout in enumerate(("nn", "nt", "tn", "tt")):
        for size in (32, 64):
            dtype = FLOATS[(j + size // 32) % 3]
            yield masked(layout, dtype, size, "bool_", "bool_", (130, 75, 90))
            yield masked(layout, dtype, size, "nomask", dtype, (128, 64, 128))
            yield masked(layout, dtype, size, dtype, "nomask", (128, 64, 96))
    for j, layout in enumerate(("nn", "nt", "tn", "tt")):
        for tile in (TILES[0], TILES[5]):
            yield gathered(layout, FLOATS[j % 3], tile, (33, 70, 45))
            yield segmented(layout, FLOATS[(j + 1) % 3], tile, (70, 64, 100))
        yield gathered(layout, "float32", TILES[2], (64, 32, 64))
    for dtype in FLOATS:
        for layout in ("nn", "nt"):
            yield gathered_rows(layout, dtype, (61, 64, 48))
            yield gathered_rows(layout, dtype, (75, 90, 45))


def gemv_cases():
    for dtype in FLOATS:
        yield gemv(False, dtype, "bm4_bn1_sm1_sn32_tm4_tn4", (61, 300))
        yield gemv(False, dtype, "bm1_bn8_sm1_sn32_tm4_tn4", (37, 1100), axpby=True)
        yield gemv(False, dtype, "bm1_bn1_sm8_sn4_tm4_tn4", (130, 50), 3)
        yield gemv(True, dtype, "bm1_bn2_sm8_sn4_tm4_tn4", (75, 130))
        yield gemv(True, dtype, "bm1_bn4_sm8_sn4_tm4_tn4", (600, 67), 2, axpby=True)
        yield gemv_gathered(False, dtype, "bm4_bn1_sm1_sn32_tm4_tn4", (61, 140))
        yield gemv_gathered(True, dtype, "bm1_bn2_sm8_sn4_tm4_tn4", (75, 130))
    yield gemv(False, "float32", "bm4_bn1_sm1_sn32_tm1_tn4", (3, 40))
    yield gemv(True, "float32", "bm1_bn2_sm8_sn4_tm4_tn1", (3, 40))
    yield gemv(False, "float32", "bm8_bn1_sm1_sn32_tm4_tn4", (4100, 70))
    yield gemv(True, "float32", "bm1_bn16_sm8_sn4_tm4_tn4", (2050, 30))
    for transposed in (False, True):
        yield gemv_masked(transposed, "float32", "bool_", "bool_", (100, 150))
        yield gemv_masked(transposed, "float16", "nomask", "float16", (96, 128))
        yield gemv_masked(transposed, "bfloat16", "bfloat16", "nomask", (75, 90))
    for dtype in ("float16", "bfloat16"):
        for vectors in (2, 3, 4, 5):
            yield gemv_wide(dtype, vectors, 32, (50, 300), vectors)
            yield gemv_wide(dtype, vectors, 16, (67, 1100), 2 * vectors - 1, grid_x=2)
        yield gemv_wide(dtype, 4, 32, (30, 512), 11, 3, axpby=True)
        yield gemv_wide_gathered(dtype, 3, 32, (45, 200), 3)
        yield gemv_wide_gathered(dtype, 5, 16, (18, 640), 9)


def blocked_mask(dtype, rows, columns, blocks):
    """The last `rows` columns of each block of scores are its diagonal tile: what lies above is masked."""
    def make(rng):
        scores = random(rng, dtype, (blocks * rows, columns))
        want = load(scores, dtype).copy().reshape(blocks, rows, columns)
        lowest = {"float16": -65504.0, "bfloat16": -(2 - 2**-7) * 2.0**127}[dtype]
        above = np.arange(rows)[None] > np.arange(rows)[:, None]
        want[:, :, columns - rows:][:, above] = lowest
        return Launch({0: scores, 1: i32(rows), 2: i32(columns)}, {0: Out(want.reshape(scores.shape), dtype, 0)},
                      (min(rows, 16), 8, 1), threads=(rows, blocks * rows, 1))

    return Case(f"sdpa_blocked_causal_mask_{dtype}", make, label=f"{rows}x{columns}")


def blocked_queries(dtype, batch, heads, d, rows, offset):
    """Rows from an offset on, scaled in the type itself, of queries whose heads lie inside of positions."""
    def make(rng):
        q = random(rng, dtype, (batch, offset + rows + 2, heads, d))
        scale = load(store(np.float32(d**-.5), dtype), dtype)
        want = load(q, dtype)[:, offset:offset + rows].transpose(0, 2, 1, 3) * scale
        steps = strides(q.shape)
        args = {0: q, 2: f32(d**-.5), 3: i64(steps[0], steps[2], steps[1]), 4: i32(heads), 5: i32(rows), 6: i32(d),
                7: i32(offset)}
        return Launch(args, {1: Out(want, dtype, .51)}, (16, 4, 1), threads=(d, rows, batch * heads))

    return Case(f"sdpa_blocked_scale_copy_{dtype}", make)


def attention_cases():
    for dtype in ("float16", "bfloat16"):
        yield blocked_mask(dtype, 32, 128, 3)
        yield blocked_mask(dtype, 20, 20, 2)
        yield blocked_queries(dtype, 2, 3, 64, 20, 5)
    for dtype in FLOATS:
        for d, dv in ((64, 64), (96, 96), (128, 128), (256, 256), (192, 128)):
            yield vector_attention(dtype, d, dv)
        for kind in ("causal", "bool", "float", "sinks"):
            yield vector_attention(dtype, 64, 64, kind, q_len=3)
            yield vector_attention(dtype, 64, 64, kind, passes=2, q_len=3, n=140)
        yield vector_attention(dtype, 128, 128, passes=2, n=300)
        yield grouped_attention(dtype, 64, 8, 1000)
        yield grouped_attention(dtype, 128, 8, 1333)
        for kind in ("", "causal", "bool", "float", "sinks"):
            yield full_attention(dtype, "bq32_bk32_bd64_bv64_wm4_wn1", kind)
        yield full_attention(dtype, "bq32_bk16_bd128_bv128_wm4_wn1")
        yield full_attention(dtype, "bq32_bk32_bd80_bv80_wm4_wn1", "causal", 64, 96)
        yield full_attention(dtype, "bq32_bk16_bd192_bv192_wm4_wn1", "bool", 33, 48)


FAMILIES = {"gemm": list(gemm_cases()), "gemv": list(gemv_cases()), "attention": list(attention_cases())}
