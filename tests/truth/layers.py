# SPDX-License-Identifier: MIT
"""Softmax, logsumexp, norms and their gradients, rotary embeddings, cross entropy, dot, random bits, ranges."""
import numpy as np

from harness import (FLOATS, INTS, STEP, TYPES, Case, Launch, Out, block, ceil, f32, flat, i32, i64, load, random,
                     store, u32, u64)


def rows_of(n, reads, looped):
    return 1024 if looped else ceil(ceil(n, reads), 32) * 32


def per_row(group, rows):
    return {"threads": (group * rows, 1, 1), "group": (group, 1, 1)}


def softmax(form, precise, dtype, rows, n):
    def make(rng):
        x = random(rng, dtype, (rows, n), -5, 5)
        v = load(x, dtype)
        e = np.exp(v - v.max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
        # without "precise", narrow types sum in their own type
        loose = 30 if dtype == "float32" or precise else 2 + 4 * np.sqrt(n)
        allowed = 1.5 if precise else loose
        return Launch({0: x, 2: i32(n)}, {1: Out(want, dtype, allowed)},
                      **per_row(rows_of(n, 4, form == "looped"), rows))

    return Case(f"{form}_softmax_{'precise_' if precise else ''}{dtype}", make)


def logsumexp(form, dtype, rows, n):
    def make(rng):
        x = random(rng, dtype, (rows, n), -5, 5)
        v = load(x, dtype)
        m = v.max(1)
        want = m + np.log(np.exp(v - m[:, None]).sum(1))
        return Launch({0: x, 2: i32(n)}, {1: Out(want, dtype, 8 if dtype == "float32" else 1)},
                      **per_row(rows_of(n, 4, form == "looped"), rows))

    return Case(f"{form}_logsumexp_{dtype}", make)


def rms(looped, dtype, rows, n, scalar=False):
    def make(rng):
        x, w = random(rng, dtype, (rows, n)), random(rng, dtype, 1 if scalar else n)
        v = load(x, dtype)
        want = v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-5) * load(w, dtype)
        args = {0: x, 1: w, 3: f32(1e-5), 4: u32(n), 5: u32(0 if scalar else 1)}
        return Launch(args, {2: Out(want, dtype, 16 if dtype == "float32" else 2)},
                      **per_row(rows_of(n, 4, looped), rows))

    return Case(f"rms{'_looped' if looped else ''}{dtype}", make, label="scalar" if scalar else "")


def layer_norm(looped, dtype, rows, n):
    def make(rng):
        x, w, b = random(rng, dtype, (rows, n)), random(rng, dtype, n), random(rng, dtype, n)
        v = load(x, dtype)
        hat = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)
        want = hat * load(w, dtype) + load(b, dtype)
        args = {0: x, 1: w, 2: b, 4: f32(1e-5), 5: u32(n), 6: u32(1), 7: u32(1)}
        slack = 1e-6 if dtype == "float32" else STEP[dtype] / 2  # scaled and shifted in the narrow type
        return Launch(args, {3: Out(want, dtype, 1, slack)}, **per_row(rows_of(n, 4 if looped else 8, looped), rows))

    return Case(f"layer_norm{'_looped' if looped else ''}{dtype}", make)


def rms_gradient(looped, dtype, rows, n):
    def make(rng):
        x, g = (random(rng, dtype, (rows, n)) for _ in range(2))
        w = random(rng, dtype, n)
        v, gv, wv = load(x, dtype), load(g, dtype), load(w, dtype)
        r = 1 / np.sqrt((v * v).mean(1, keepdims=True) + 1e-5)
        gx = gv * wv * r - v * (v * wv * gv).mean(1, keepdims=True) * r ** 3
        args = {0: x, 1: w, 2: g, 5: f32(1e-5), 6: u32(n), 7: u32(1)}
        if not looped:
            args |= {8: u32(rows), 9: u32(1)}
        return Launch(args, {3: Out(gx, dtype, 2, 2e-6), 4: Out(gv * v * r, dtype, 16 if dtype == "float32" else 1)},
                      **per_row(rows_of(n, 4, looped), rows))

    return Case(f"vjp_rms{'_looped' if looped else ''}{dtype}", make, {20: 1})


def layer_norm_gradient(looped, dtype, rows, n):
    def make(rng):
        x, g = (random(rng, dtype, (rows, n)) for _ in range(2))
        w = random(rng, dtype, n)
        v, gv, wv = load(x, dtype), load(g, dtype), load(w, dtype)
        r = 1 / np.sqrt(v.var(1, keepdims=True) + 1e-5)
        hat = (v - v.mean(1, keepdims=True)) * r
        wg = wv * gv
        gx = r * (wg - wg.mean(1, keepdims=True) - hat * (wg * hat).mean(1, keepdims=True))
        args = {0: x, 1: w, 2: g, 5: f32(1e-5), 6: u32(n), 7: u32(1)}
        return Launch(args, {3: Out(gx, dtype, 2, 2e-6), 4: Out(gv * hat, dtype, 2, 1e-6)},
                      **per_row(rows_of(n, 4 if looped else 8, looped), rows))

    return Case(f"vjp_layer_norm{'_looped' if looped else ''}{dtype}", make, {20: 1})


def rotate(x, theta, dims, traditional, forward):
    i, j = (slice(0, dims, 2), slice(1, dims, 2)) if traditional else (slice(0, dims // 2), slice(dims // 2, dims))
    c, s = np.cos(theta), np.sin(theta) * (1 if forward else -1)
    out = x.copy()
    out[..., i] = x[..., i] * c - x[..., j] * s
    out[..., j] = x[..., i] * s + x[..., j] * c
    return out


def rope(form, dtype, forward=1, traditional=0, transpose=0):
    single, freqs = "single" in form, "freqs" in form

    def make(rng):
        batch, heads, steps, d, scale, offset = 2, 6, 1 if single else 5, 24, .7, 3
        dims, half = d, d // 2
        x = random(rng, dtype, (batch, heads, steps, d))
        turns = rng.uniform(1, 50, half).astype(np.float32)
        inverse = 1 / turns.astype(float) if freqs else np.exp2(-np.arange(half) / half * np.log2(10000.))
        theta = scale * (np.arange(steps)[:, None] + offset) * inverse
        want = rotate(load(x, dtype), theta, dims, traditional, forward)
        given = np.ascontiguousarray(x.transpose(0, 2, 1, 3)) if transpose else x
        last = {10: turns, 11: i64(1)} if freqs else {10: f32(np.log2(10000.))}
        result = {1: Out(want, dtype, 1, 4e-6)}
        if single:
            args = {0: given, 2: i32(offset), 3: f32(scale), 4: i64(d)}
            return Launch(args | last, result, block(half, batch * heads, 1), threads=(half, batch * heads, 1))
        args = {0: given, 2: np.full(batch, offset, np.int32), 3: f32(scale),
                4: i64(d, heads * d, 1) if transpose else i64(steps * d, d, 1), 5: i64(steps * d, d, 1), 6: i64(1),
                7: i32(heads)}
        grid = (half, steps, batch * ceil(heads, 4))
        return Launch(args | last, result, block(*grid), threads=grid)

    constants = {1: forward, 2: traditional} | ({} if single else {3: transpose})
    return Case(f"{form}_{dtype}", make, constants, label=f"{forward}{traditional}{transpose}")


def threefry(key, count):
    """Threefry 2x32, 20 rounds."""
    turns = ((13, 15, 26, 6), (17, 29, 16, 24))
    ks = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = count[0] + ks[0], count[1] + ks[1]
    for i in range(5):
        for r in turns[i % 2]:
            x = x + y
            y = (y << np.uint32(r)) | (y >> np.uint32(32 - r))
            y = y ^ x
        x = x + ks[(i + 1) % 3]
        y = y + ks[(i + 2) % 3] + np.uint32(i + 1)
    return x, y


def random_bits(kernel, keys, size):
    def make(rng):
        key = rng.integers(0, 2 ** 32, (keys, 2), dtype=np.uint32)
        words = ceil(size, 4)
        half, odd = words // 2, words % 2
        rows, index = half + odd, np.arange(half + odd, dtype=np.uint32)[None]
        second = np.where((index == half) & bool(odd), 0, index + rows).astype(np.uint32)
        with np.errstate(over="ignore"):
            x, y = threefry((key[:, :1], key[:, 1:]), (index, second))
        want = np.concatenate([x, y[:, :half]], 1)[:, :words]
        want = np.ascontiguousarray(want).view(np.uint8)[:, :size]
        args = {0: key, 2: bytes([odd]), 3: u64(size)}
        if kernel == "rbits":  # the keys are stored transposed
            args |= {0: np.ascontiguousarray(key.T), 4: i32(2), 5: i32(keys, 2), 6: i64(1, keys)}
        return Launch(args, {1: Out(np.ascontiguousarray(want), "uint8")}, block(keys, rows, 1),
                      threads=(keys, rows, 1))

    return Case(kernel, make, label=f"{keys}x{size}")


def arange(dtype):
    def make(rng):
        start, step = (store(np.array([v]), dtype) for v in (3, 2))
        n = 100 if dtype.endswith("int8") else 1000
        index = np.arange(n)
        if dtype in FLOATS:
            want = load(start, dtype) + load(store(index, dtype), dtype) * load(step, dtype)
        else:
            want = (3 + index * 2).astype(TYPES[dtype])
        return Launch({0: start.tobytes(), 1: step.tobytes()}, {2: Out(want, dtype, 1)}, **flat(n))

    return Case(f"arange{dtype}", make)


def dot(dtype):
    def make(rng):
        n = 40001
        a, b = (random(rng, dtype, n) for _ in range(2))
        groups = ceil(n, 512 * 32)
        products = np.zeros(groups * 512 * 32)
        products[:n] = load(a, dtype) * load(b, dtype)
        want = products.reshape(groups, -1).sum(1)
        return Launch({0: a, 1: b, 3: i32(n)}, {2: Out(want, "float32", 64, 1e-5)}, (512, 1, 1), grid=(groups, 1, 1))

    return Case(f"dot_product_{dtype}_it32_tg512_sg16", make)


def cross_entropy(dtype, rows, n):
    def make(rng):
        x, targets = random(rng, dtype, (rows, n), -5, 5), rng.integers(0, n, rows).astype(np.int32)
        v = load(x, dtype)
        want = np.log(np.exp(v).sum(1)) - v[np.arange(rows), targets]
        return Launch({0: x, 1: targets, 3: i32(n)}, {2: Out(want, "float32", 32)}, **per_row(256, rows))

    return Case(f"cross_entropy_{dtype}", make)


def cross_entropy_gradient(dtype, rows, n):
    def make(rng):
        x, targets = random(rng, dtype, (rows, n), -5, 5), rng.integers(0, n, rows).astype(np.int32)
        v, scale = load(x, dtype), random(rng, "float32", rows)
        loss = np.log(np.exp(v).sum(1)) - v[np.arange(rows), targets]
        want = np.exp(v) / np.exp(v).sum(1, keepdims=True)
        want[np.arange(rows), targets] -= 1
        want = want * scale[:, None].astype(float)
        args = {0: x, 1: targets, 2: loss.astype(np.float32), 3: scale, 5: i32(n)}
        return Launch(args, {4: Out(want, dtype, 64 if dtype == "float32" else 1, 1e-6)}, **per_row(256, rows))

    return Case(f"cross_entropy_vjp_{dtype}", make)


def cases(family):
    if family == "softmax":
        for dtype in FLOATS:
            for precise in (False, True) if dtype != "float32" else (False,):
                yield softmax("block", precise, dtype, 3, 333)
                yield softmax("looped", precise, dtype, 2, 4111)
            yield logsumexp("block", dtype, 3, 1000)
            yield logsumexp("looped", dtype, 2, 4999)
    elif family == "norm":
        for dtype in FLOATS:
            for make in (rms, layer_norm, rms_gradient, layer_norm_gradient):
                yield make(False, dtype, 3, 999)
                yield make(True, dtype, 2, 8200)
            yield rms(False, dtype, 2, 128, scalar=True)
    elif family == "rope":
        for dtype in FLOATS:
            for form in ("rope", "rope_freqs", "rope_single", "rope_single_freqs", "rope_large", "rope_freqs_large"):
                yield rope(form, dtype)
        for form in ("rope", "rope_freqs", "rope_single"):
            yield rope(form, "float32", traditional=1)
            yield rope(form, "float32", forward=0)
        yield rope("rope", "float16", transpose=1)
        yield rope("rope", "float32", forward=0, traditional=1, transpose=1)
    elif family == "random":
        for kernel in ("rbitsc", "rbits"):
            for keys, size in ((1, 4000), (3, 401), (5, 27), (2, 12)):
                yield random_bits(kernel, keys, size)
    elif family == "arange":
        yield from (arange(t) for t in INTS + FLOATS)
    elif family == "cross_entropy":
        for dtype in FLOATS:
            yield cross_entropy(dtype, 3, 1500)
            yield cross_entropy_gradient(dtype, 3, 1500)
    elif family == "dot":
        yield from (dot(t) for t in FLOATS)


FAMILIES = {f: list(cases(f)) for f in ("softmax", "norm", "rope", "random", "arange", "dot", "cross_entropy")}
