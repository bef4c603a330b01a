# SPDX-License-Identifier: MIT
"""Convolutions (through matrix products, unfolded, depthwise) and Fourier transforms."""
import itertools
import math
import struct

import numpy as np

from harness import FLOATS, STEP, Case, Launch, Out, blank, block, ceil, i32, i64, load, random, strides


# ---- Convolutions: x[n, space..., c], w[o, space..., c / groups], out[n, space..., o] ---------------------------

class Shape:
    def __init__(self, n, c, o, space, window, step=None, pad=None, spread=None, inner=None, groups=1):
        dims = len(space)
        one, none = (1,) * dims, (0,) * dims
        self.n, self.c, self.o, self.space, self.window, self.groups = n, c, o, space, window, groups
        self.step, self.pad, self.spread, self.inner = step or one, pad or none, spread or one, inner or one
        self.out = tuple((1 + self.inner[i] * (space[i] - 1) + 2 * self.pad[i] - self.spread[i] * (window[i] - 1) - 1)
                         // self.step[i] + 1 for i in range(dims))

    def params(self):
        """MLXConvParams."""
        x, out = (self.n, *self.space, self.c), (self.n, *self.out, self.o)
        w = (self.o, *self.window, self.c // self.groups)
        ints = [self.n, self.c, self.o, *self.space, *self.window, *self.out, *self.step, *self.pad, *self.spread,
                *self.inner]
        blob = i32(*ints) + b"\0" * (4 * (len(ints) % 2))
        return blob + i64(*strides(x), *strides(w), *strides(out)) + struct.pack("<i?3x", self.groups, False)

    def inputs(self, rng, dtype):
        return (random(rng, dtype, (self.n, *self.space, self.c)),
                random(rng, dtype, (self.o, *self.window, self.c // self.groups)))

    def unfolded(self, x):
        """What each place of the window sees: [n, out..., window, c]."""
        dims = len(self.space)
        wide = [1 + self.inner[i] * (self.space[i] - 1) for i in range(dims)]
        full = np.zeros((self.n, *(wide[i] + 2 * self.pad[i] for i in range(dims)), self.c))
        full[(slice(None), *(slice(self.pad[i], self.pad[i] + wide[i], self.inner[i]) for i in range(dims)))] = x
        seen = []
        for at in itertools.product(*(range(k) for k in self.window)):
            seen.append(full[(slice(None), *(slice(at[i] * self.spread[i],
                                                   at[i] * self.spread[i] + (self.out[i] - 1) * self.step[i] + 1,
                                                   self.step[i]) for i in range(dims)))])
        return np.stack(seen, -2)

    def result(self, x, w, dtype):
        seen = self.unfolded(load(x, dtype))
        w = load(w, dtype).reshape(self.groups, self.o // self.groups, -1, self.c // self.groups)
        seen = seen.reshape(*seen.shape[:-1], self.groups, -1)
        return np.einsum("...wgc,gowc->...go", seen, w).reshape(self.n, *self.out, self.o)

    def jumps(self, bk):
        """How the input pointer moves to the next place of the window, and back for the next channels."""
        at = strides((self.n, *self.space, self.c))
        step = [a * s for a, s in zip(at[1:], self.spread)]
        out = [step[-1]]
        for i in range(len(step) - 2, -1, -1):
            out.append(step[i] - sum((self.window[j] - 1) * step[j] for j in range(i + 1, len(step))))
        return out + [bk - sum((k - 1) * s for k, s in zip(self.window, step))]


def near(dtype, want, k):
    return Out(want, dtype, 1, 2.0 ** -23 * np.sqrt(k))


def implicit(dtype, tile, channel, window, s):
    """As a matrix product whose left side is read through the window."""
    bm, bn, bk, wm, wn = (int("".join(c for c in part if c.isdigit())) for part in tile.split("_"))
    dims, per_group = len(s.space), s.c // s.groups
    name = f"implicit_gemm_conv_{dims}d_{dtype}_{tile}" + (f"_channel_{channel}" if dims == 2 else "")
    name += f"_filter_{window}"

    def make(rng):
        x, w = s.inputs(rng, dtype)
        m, n, k = s.n * math.prod(s.out), s.o // s.groups, math.prod(s.window) * per_group
        steps = math.prod(s.window) * ceil(per_group, bk)
        if channel in "12":
            steps = ceil(k, bk)
        elif channel in "34":
            steps = ceil(math.prod(s.window) * 4, bk)
        gemm = i32(m, n, k, steps, *s.jumps(bk), ceil(n, bn), ceil(m, bm), 0)
        return Launch({0: x, 1: w, 3: s.params(), 4: gemm}, {2: near(dtype, s.result(x, w, dtype), k)}, (32, wn, wm),
                      grid=(ceil(n, bn), ceil(m, bm), s.groups))

    return Case(name, make, label=f"{s.c}-{s.o}")


def general(dtype, tile, s):
    """Input dilation: output places fall into classes that see the same part of the window."""
    bm, bn, bk, wm, wn = (int("".join(c for c in part if c.isdigit())) for part in tile.split("_"))

    def make(rng):
        x, w = s.inputs(rng, dtype)
        k = math.prod(s.window) * s.c
        by_window = [math.lcm(s.inner[i], s.spread[i]) // s.spread[i] for i in range(2)]
        by_out = [math.lcm(s.inner[i], s.step[i]) // s.step[i] for i in range(2)]
        part = [ceil(s.out[i], by_out[i]) for i in range(2)]
        rows = s.n * part[0] * part[1]
        bases = []
        for i in range(2):
            found = []
            for j in range(by_out[i]):
                first, at = 0, j * s.step[i] - s.pad[i]
                while first < s.window[i] and at % s.inner[i]:
                    first, at = first + 1, at + s.spread[i]
                found += [first, ceil(s.window[i] - first, by_window[i])]
            bases.append(i32(*found))
        gemm = i32(s.n * math.prod(s.out), s.o, k, ceil(s.c, bk), *s.jumps(bk), ceil(s.o, bn), ceil(rows, bm), 0)
        args = {0: x, 1: w, 3: s.params(), 4: gemm, 5: i32(*by_window, *by_out, *part, part[0] * part[1], rows),
                6: bases[0], 7: bases[1]}
        return Launch(args, {2: near(dtype, s.result(x, w, dtype), k)}, (32, wn, wm),
                      grid=(ceil(s.o, bn), ceil(rows, bm), by_out[0] * by_out[1]))

    return Case(f"implicit_gemm_conv_2d_general_{dtype}_{tile}", make, {200: int(s.c % bk == 0)}, label=f"{s.c}-{s.o}")


def unfold(dtype, transposed, s):
    def make(rng):
        x, _ = s.inputs(rng, dtype)
        places = math.prod(s.window)
        want = s.unfolded(load(x, dtype)).reshape(-1, places, s.c)
        want = np.swapaxes(want, 1, 2) if transposed else want
        rows = want.shape[0]
        wide = 32 * ceil(min(s.c, 64), 32)
        return Launch({0: x, 2: s.params(), 3: i32(0)}, {1: Out(want, dtype, 0)},
                      (min(wide, s.c), min(256 // wide, places), 1), threads=(s.c, places, rows))

    return Case(f"naive_unfold_{'transpose_' if transposed else ''}nd_{dtype}_{len(s.space)}", make)


def depthwise_2d(dtype, s):
    constants = {0: s.window[0], 1: s.window[1], 10: s.step[0], 11: s.step[1], 100: 4, 101: 8, 200: 0}

    def make(rng):
        x, w = s.inputs(rng, dtype)
        out = near(dtype, s.result(x, w, dtype), 9)
        out.slack += 0 if dtype == "float32" else STEP[dtype] / 2  # products are rounded
        return Launch({0: x, 1: w, 3: s.params()}, {2: out}, (8, 8, 4),
                      grid=(s.c // 8, ceil(s.out[1], 8), ceil(s.out[0], 4) * s.n))

    return Case(f"depthwise_conv_2d_{dtype}", make, constants, label="x".join(map(str, s.window + s.step)))


def depthwise_1d(dtype, large):
    s = Shape(2, 37, 37, (50,), (4,), groups=37)

    def make(rng):
        x, w = s.inputs(rng, dtype)
        grid = (37, s.out[0], 2)
        at = (i64 if large else i32)(50 * 37, 37, 1)
        return Launch({0: x, 1: w, 3: at, 4: i32(4)}, {2: near(dtype, s.result(x, w, dtype), 4)}, block(*grid),
                      threads=grid)

    return Case(f"depthwise_conv_1d_{dtype}{'_large' if large else ''}", make)


def winograd(dtype, s):
    """3 x 3 windows by tiles of 6 x 6 results: three transforms, and 64 matrix products between."""
    def make(rng):
        x, w = s.inputs(rng, dtype)
        tiles = [ceil(o, 6) for o in s.out]
        count, (c, o) = s.n * tiles[0] * tiles[1], (s.c, s.o)
        padded = Shape(s.n, c, o, tuple(6 * t + 2 for t in tiles), (3, 3))
        wide = np.zeros((s.n, *padded.space, c), x.dtype)
        wide[:, s.pad[0]:s.pad[0] + s.space[0], s.pad[1]:s.pad[1] + s.space[1]] = x
        padded.out = s.out
        left, right, both = (blank((64, *shape), dtype) for shape in ((count, c), (c, o), (count, o)))
        grid = {"grid": (tiles[1], tiles[0], s.n), "group": (32, 2, 2)}
        gemm = struct.pack("<8i3q3i4x", count, o, c, c, o, o, ceil(o, 32), ceil(count, 32), count * c, c * o, count * o,
                           0, c // 16, 1)
        large = (128 if dtype == "float32" else 32) * STEP[dtype]  # the transforms enlarge rounding errors
        out = Out(s.result(x, w, dtype), dtype, 2, large)
        fused = {10: 0, 100: 0, 110: 0, 200: int(count % 32 == 0), 201: int(o % 32 == 0), 202: 1}
        return [Launch({0: w, 1: right, 2: i32(c), 3: i32(o)}, {}, (32, 4, 1), grid=(o // 4, 1, 1),
                       kernel=f"winograd_conv_2d_weight_transform_{dtype}_bc32"),
                Launch({0: wide, 1: left, 2: padded.params()}, {}, **grid,
                       kernel=f"winograd_conv_2d_input_transform_{dtype}_bc32"),
                Launch({0: left, 1: right, 3: both, 4: gemm}, {}, (32, 2, 2), grid=(ceil(o, 32), ceil(count, 32), 64),
                       kernel=f"steel_gemm_fused_nn_{dtype}_{dtype}_bm32_bn32_bk16_wm2_wn2", constants=fused),
                Launch({0: both, 2: padded.params()}, {1: out}, **grid,
                       kernel=f"winograd_conv_2d_output_transform_{dtype}_bo32")]

    return Case(f"winograd_conv_2d_output_transform_{dtype}_bo32", make)


def conv_cases():  # but for bn8 these kernels read whole blocks of output channels
    plain = Shape(2, 32, 64, (9, 11), (3, 3), pad=(1, 1))
    strided = Shape(1, 48, 64, (13, 12), (3, 2), step=(2, 1), pad=(1, 0), spread=(1, 2))
    grouped = Shape(1, 64, 64, (8, 9), (3, 3), pad=(1, 1), groups=2)
    for dtype in FLOATS:
        yield implicit(dtype, "bm32_bn32_bk16_wm2_wn2", "l", "s", plain)
        yield implicit(dtype, "bm32_bn64_bk16_wm2_wn2", "l", "s", strided)
        yield implicit(dtype, "bm32_bn32_bk16_wm2_wn2", "l", "s", grouped)
        yield implicit(dtype, "bm64_bn64_bk16_wm2_wn2", "l", "s", plain)
        yield implicit(dtype, "bm32_bn8_bk16_wm4_wn1", "l", "s", Shape(2, 16, 8, (9, 10), (3, 3)))
        yield implicit(dtype, "bm32_bn32_bk16_wm2_wn2", "l", "l", plain)
        for channels in (1, 2, 3, 4):
            yield implicit(dtype, "bm32_bn32_bk16_wm2_wn2", str(channels), "l",
                           Shape(1, channels, 64, (14, 13), (3, 3), step=(1, 2), pad=(1, 1)))
        yield general(dtype, "bm32_bn32_bk16_wm2_wn2", Shape(1, 32, 40, (6, 7), (3, 3), pad=(1, 1), inner=(2, 2)))
        yield general(dtype, "bm32_bn32_bk16_wm2_wn2", Shape(1, 19, 40, (6, 7), (3, 2), pad=(1, 1), inner=(2, 1)))
        yield implicit(dtype, "bm32_bn32_bk16_wm2_wn2", "l", "s", Shape(1, 16, 32, (5, 6, 7), (2, 3, 3), pad=(1, 1, 1)))
        for transposed in (False, True):
            yield unfold(dtype, transposed, Shape(2, 5, 5, (20,), (3,), step=(2,), pad=(1,)))
            yield unfold(dtype, transposed, Shape(1, 40, 5, (7, 8), (3, 2), pad=(1, 1), inner=(2, 1)))
            yield unfold(dtype, transposed, Shape(1, 3, 5, (4, 5, 6), (2, 2, 3), spread=(1, 2, 1)))
        yield depthwise_2d(dtype, Shape(2, 16, 16, (9, 13), (3, 3), pad=(1, 1), groups=16))
        yield depthwise_2d(dtype, Shape(1, 8, 8, (15, 18), (5, 3), step=(2, 2), pad=(2, 1), groups=8))
        yield depthwise_1d(dtype, False)
        yield depthwise_1d(dtype, True)
        yield winograd(dtype, Shape(1, 32, 32, (13, 16), (3, 3), pad=(1, 1)))


# ---- Fourier transforms -------------------------------------------------------------------------------------

RADICES = (13, 11, 8, 7, 6, 5, 4, 3, 2)


def stages(n):
    """How often each radix is used; None when n has another prime factor. Small powers of two stop at 4."""
    small = n & (n - 1) == 0 and n < 512
    counts = []
    for radix in RADICES:
        counts.append(0)
        while n > 1 and n % radix == 0 and not (small and radix > 4):
            counts[-1] += 1
            n //= radix
    return counts if n == 1 else None


def width(counts):
    """Elements for each thread."""
    used = sorted({r for r, c in zip(RADICES * 2, counts) if c})
    if 7 in used and (11 in used or 13 in used):
        return 7
    if 11 in used and 13 in used:
        return 11
    if len(used) == 1:
        return used[0]
    if len(used) == 2 and used[1] >= 11:
        return sum(used) // 2
    return used[1]


def power_of_two(n):
    return 1 << (n - 1).bit_length()


def fourier(kind, n, inverse=False, real=False, short=False):
    """kind: "" where all prime factors are radices, "rader" with one prime that is not, "bluestein" for any n."""
    size, prime, constants = n, 1, {}
    if kind == "bluestein":
        size = power_of_two(2 * n - 1)
        counts = plan = stages(size)
    elif kind == "rader":
        prime = max(p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p)))
        plan = stages(n // prime)
        inner = stages(prime - 1)
        counts = plan + inner
        constants = {3: n // prime} | {13 + i: c for i, c in enumerate(inner)}
    else:
        counts = plan = stages(n)
    per_thread = width(counts)
    constants |= {0: int(inverse), 1: int(size & (size - 1) == 0), 2: per_thread}
    constants |= {4 + i: c for i, c in enumerate(plan)}
    threads, together = ceil(size, per_thread), max(256 // size, 1)
    memory = power_of_two(together * size)
    given, made = ("float2", "float") if real and inverse else ("float", "float2") if real else ("float2", "float2")
    if short:
        given = made = "complex32_t"
    name = (kind + "_" if kind else "") + f"fft_mem_{memory}_{given}_{made}"

    def make(rng):
        batch = 2 * together * (2 if real else 1)
        half = n // 2 + 1
        if not real:
            x = random(rng, "complex64", (batch, n))
            if short:
                x = x.view(np.float32).astype(np.float16).astype(np.float32).view(np.complex64)
            want = np.fft.ifft(x.astype(complex)) if inverse else np.fft.fft(x.astype(complex))
        elif inverse:
            x = np.fft.rfft(rng.uniform(-2, 2, (batch, n))).astype(np.complex64)
            want = np.fft.irfft(x.astype(complex), n)
        else:
            x = random(rng, "float32", (batch, n))
            want = np.fft.rfft(x.astype(float))
        assert want.shape[1] == (half if real and not inverse else n)
        args = {"in": x, "n": i32(n), "batch_size": i32(batch)}
        if kind == "rader":
            root = next(g for g in range(2, prime) if len({pow(g, i, prime) for i in range(prime - 1)}) == prime - 1)
            turns = np.array([pow(pow(root, -1, prime), i, prime) for i in range(prime - 1)])
            args |= {"raders_g_q": np.array([pow(root, i, prime) for i in range(prime - 1)], np.int16),
                     "raders_g_minus_q": turns.astype(np.int16), "rader_n": i32(prime),
                     "raders_b_q": np.fft.fft(np.exp(-2j * np.pi * turns / prime)).astype(np.complex64)}
        elif kind == "bluestein":
            chirp = np.exp(-1j * np.pi / n * np.arange(-n + 1, n) ** 2.0)
            args |= {"length": i32(n), "n": i32(size), "w_k": chirp[n - 1:].astype(np.complex64),
                     "w_q": np.fft.fft(np.concatenate([1 / chirp, np.zeros(size - 2 * n + 1)])).astype(np.complex64)}
        groups = ceil(batch, together) // (2 if real else 1)
        out = Out(want, "float32" if real and inverse else "complex64", 16, 2e-6 if kind != "bluestein" else 8e-6)
        if short:  # pairs of f16
            pairs = {"in": x, **{k: args[k] for k in ("raders_b_q", "w_k", "w_q") if k in args}}
            args |= {k: v.view(np.float32).astype(np.float16) for k, v in pairs.items()}
            out = Out(np.ascontiguousarray(want).view(np.float64), "float16", 1, 3e-3)
        return Launch(args, {"out": out}, (1, together, threads), threads=(groups, together, threads))

    return Case(name, make, constants, label=f"{n}{'i' if inverse else ''}")


def four_steps(n1, n2, inverse=False):
    """Of n1 * n2 points: over columns, with a twist, then over rows."""
    def launch(step, size, x, out):
        plan = stages(size)
        per_thread = width(plan)
        threads, together = ceil(size, per_thread), max(256 // size, min(4, 4096 // size), 1)
        constants = {0: int(inverse), 1: 1, 2: per_thread} | {4 + i: c for i, c in enumerate(plan)}
        count = x.size // size
        return Launch({0: x, 2: i32(n1), 3: i32(n2), 4: i32(count)} | ({1: out} if step == 0 else {}),
                      {1: out} if step else {}, (1, together, threads),
                      threads=(ceil(count, together), together, threads),
                      kernel=f"four_step_mem_{power_of_two(together * size)}_float2_float2_{step}_false",
                      constants=constants)

    def make(rng):
        x = random(rng, "complex64", (2, n1 * n2))
        want = np.fft.ifft(x.astype(complex)) if inverse else np.fft.fft(x.astype(complex))
        middle = blank(x.shape, "complex64")
        return [launch(0, n1, x, middle), launch(1, n2, middle, Out(want, "complex64", 16, 2e-6))]

    return Case(f"four_step_{n1}_{n2}", make, label="i" if inverse else "")


def fft_cases():
    for n in (4, 8, 60, 100, 143, 169, 256, 512, 1001, 1024, 1250, 2048, 3125, 4096):
        yield fourier("", n)
    for n in (32, 243, 625, 1024, 2310):
        yield fourier("", n, inverse=True)
        yield fourier("", n, real=True)
        yield fourier("", n, inverse=True, real=True)
    for n in (17, 102, 221, 793):
        yield fourier("rader", n)
        yield fourier("rader", n, inverse=True)
    for n1, n2 in ((128, 64), (1024, 64)):
        yield four_steps(n1, n2)
        yield four_steps(n1, n2, inverse=True)
    for inverse in (False, True):
        for kind, n in (("", 64), ("", 625), ("", 2048), ("rader", 102), ("bluestein", 235)):
            yield fourier(kind, n, inverse, short=True)
    yield fourier("rader", 102, real=True)
    yield fourier("rader", 102, inverse=True, real=True)
    for n in (47, 235, 1019):
        yield fourier("bluestein", n)
        yield fourier("bluestein", n, inverse=True)
        yield fourier("bluestein", n, real=True)
        yield fourier("bluestein", n, inverse=True, real=True)


FAMILIES = {"conv": list(conv_cases()), "fft": list(fft_cases())}
