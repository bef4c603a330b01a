# SPDX-License-Identifier: MIT
"""Quantised weights: packing and unpacking, and products with them. "affine" has a scale and a bias for each
group of weights; mxfp4, mxfp8 and nvfp4 have small floats with a scale each."""
import numpy as np

from harness import FLOATS, STEP, Case, Launch, Out, ceil, flat, i32, i64, load, random

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
E2M1 = np.concatenate([E2M1, -E2M1])


def e4m3_values():
    bits = np.arange(256)
    e, m = bits >> 3 & 15, bits & 7
    v = np.where(e == 0, m / 8 * 2.0 ** -6, (1 + m / 8) * 2.0 ** (e - 7.0))
    return np.where(bits & 128, -v, v)


E4M3 = e4m3_values()
NAMES = {"float32": "float", "float16": "float16_t", "bfloat16": "bfloat16_t"}
GROUP = {"mxfp4": 32, "mxfp8": 32, "nvfp4": 16}
BITS = {"mxfp4": 4, "mxfp8": 8, "nvfp4": 4}


def pack(q, bits):
    """Rows of small integers as rows of bytes: a stream of bits, least significant first."""
    stream = q[..., None].astype(np.uint8) >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(stream.reshape(*q.shape[:-1], -1), axis=-1, bitorder="little")


class Weights:
    """Random weights w[batch, rows, columns], quantised along columns."""

    def __init__(self, rng, mode, dtype, bits, group, shape, wide_scale=None):
        groups = shape[:-1] + (shape[-1] // group,)
        q = rng.integers(0, 1 << bits, shape)
        self.group, self.bits, self.biases, self.global_scale = group, bits, None, np.ones(1, np.float32)
        if mode == "affine":
            self.scales = random(rng, dtype, groups, .5 / (1 << bits), 1.5 / (1 << bits))
            self.biases = random(rng, dtype, groups, -1, 0)
            v = q * self.spread(load(self.scales, dtype)) + self.spread(load(self.biases, dtype))
        else:
            if mode == "mxfp8":
                q = np.where(q & 127 == 127, 5, q)  # not a number
            v = (E4M3 if mode == "mxfp8" else E2M1)[q]
            if mode == "nvfp4":
                self.scales = rng.integers(40, 70, groups).astype(np.uint8)
                scale = E4M3[self.scales]
            else:
                self.scales = rng.integers(122, 129, groups).astype(np.uint8)
                scale = 2.0 ** (self.scales.astype(float) - 127)
            if wide_scale:
                self.global_scale[:] = wide_scale
                scale = scale * wide_scale / (448 * 6)
            v = v * self.spread(scale)
        self.values, self.packed, self.q = v, pack(q, bits), q

    def spread(self, x):
        return np.repeat(x, self.group, -1)

    def args(self):
        found = {"w": self.packed, "scales": self.scales, "global_scale": self.global_scale}
        return found | ({"biases": self.biases} if self.biases is not None else {})

    def batch(self):
        """Strides of w (in words of 32 bits), scales and biases over the batch."""
        words = self.packed[0].size // 4
        scales = self.scales[0].size
        return {"w_batch_ndims": i32(1), "w_shape": i32(*self.values.shape), "w_strides": i64(words, 0, 0),
                "s_strides": i64(scales, 0, 0), "b_strides": i64(scales, 0, 0)}


def name(mode, what, dtype, bits, group, rest=""):
    return f"{mode}_{what}_{NAMES[dtype]}_gs_{group}_b_{bits}{rest}"


def near(dtype, want, k):
    """Narrow types round the weights, or partial sums."""
    return Out(want, dtype, 2, 4e-6 if dtype == "float32" else STEP[dtype])


def dequantise(mode, dtype, bits, group):
    rest = "" if mode == "affine" else "_hgs_false"

    def make(rng):
        w = Weights(rng, mode, dtype, bits, group, (6, 384))
        per_thread = {3: 8, 5: 8, 6: 4}.get(bits, 8 // bits)
        return Launch(w.args(), {"out": Out(w.values, dtype, 1, STEP[dtype])}, **flat(6 * 384 // per_thread, 256))

    return Case(name(mode, "dequantize", dtype, bits, group, rest), make)


def rounded(x):
    """To the nearest, halves away from zero."""
    return np.trunc(x + np.copysign(x.dtype.type(.5), x))


def affine_levels(v, bits, group):
    """MLX's choice: the end of larger magnitude and zero are both hit exactly. In float32."""
    g = v.astype(np.float32).reshape(v.shape[0], -1, group)
    low, high = g.min(-1), np.maximum(g.max(-1), np.float32(0))
    step = np.maximum((high - low) / np.float32((1 << bits) - 1), np.float32(1e-7))
    side = np.abs(low) > np.abs(high)
    step, edge = np.where(side, step, -step), np.where(side, low, high)
    first = rounded(edge / step)
    step = np.where(first == 0, step, edge / np.where(first == 0, 1, first)).astype(np.float32)
    bias = np.where(first == 0, np.float32(0), edge).astype(np.float32)
    q = np.minimum(rounded((g - bias[..., None]) / step[..., None]), (1 << bits) - 1)
    return q.reshape(v.shape).astype(np.uint8), step, bias


def quantise(dtype, bits, group):
    def make(rng):
        x = random(rng, dtype, (6, 384))
        q, step, bias = affine_levels(load(x, dtype), bits, group)
        return Launch({"w": x}, {"out": Out(pack(q, bits), "uint8"), "scales": Out(step.astype(float), dtype, 1),
                                 "biases": Out(bias.astype(float), dtype, 1)}, **flat(6 * 384 // (group // 32), 256))

    return Case(name("affine", "quantize", dtype, bits, group), make)


def nearest(table, v):
    """The index of the nearest entry of a table of magnitudes (ties to the even index), and the sign."""
    index = np.abs(np.abs(v)[..., None] - table).argmin(-1)
    below = np.maximum(index - 1, 0)
    for other in (below, np.minimum(index + 1, len(table) - 1)):
        tie = np.abs(np.abs(v) - table[other]) == np.abs(np.abs(v) - table[index])
        index = np.where(tie & (other % 2 == 0), other, index)
    return index


def fp_quantise(mode, dtype, back=False):
    """back: what the kernel that dequantises at once gives."""
    bits, group = BITS[mode], GROUP[mode]

    def make(rng):
        x = random(rng, dtype, (6, 384))
        v = load(x, dtype)
        most = np.abs(v).reshape(6, -1, group).max(-1) / (448 if bits == 8 else 6)
        if mode == "nvfp4":
            scales = nearest(E4M3[:127], most).astype(np.uint8)
            scale = E4M3[scales]
        else:
            power = np.ceil(np.log2(most))
            scales, scale = (power + 127).astype(np.uint8), 2.0 ** power
        v = v / np.repeat(scale, group, -1)
        if back:
            table = E4M3[:127] if bits == 8 else E2M1[:8]
            want = np.copysign(table[nearest(table, v)], v) * np.repeat(scale, group, -1)
            return Launch({"w": x, "global_scale": np.ones(1, np.float32)}, {"out": Out(want, dtype, .51)},
                          **flat(6 * 384, 256))
        if bits == 8:
            out = (nearest(E4M3[:127], v) | np.where(np.signbit(v), 128, 0)).astype(np.uint8)
        else:
            out = pack((nearest(E2M1[:8], v) | np.where(np.signbit(v), 8, 0)).astype(np.uint8), 4)
        return Launch({"w": x, "global_scale": np.ones(1, np.float32)},
                      {"out": Out(out, "uint8"), "scales": Out(scales, "uint8")}, **flat(6 * 384, 256))

    return Case(name(mode, "quantize_dequantize" if back else "quantize", dtype, bits, group, "_hgs_false"), make)


# Each form of product: the kernel's name, rows of x and weights, whether weights are [n, k], and the geometry
# from (m, n, group).
def grid_qmv(m, n, group):
    return {"grid": (m, ceil(n, 8), 1), "group": (32, 2, 1)}


def grid_quad(m, n, group):
    return {"grid": (m, ceil(n, 64), 1), "group": (32, 1, 1)}


def grid_qvm(m, n, group):
    return {"grid": (m, ceil(n, min(group, 32) * 2), 1), "group": (32, 2, 1)}


def grid_qmm(m, n, group):
    return {"grid": (ceil(n, 32), ceil(m, 32), 1), "group": (32, 2, 2)}


def grid_wide(vectors, lanes):
    return lambda m, n, group: {"grid": (ceil(m, vectors), ceil(n, 32 // lanes * 2), 1), "group": (32, 2, 1)}


def sizes(m, n, k):
    return {"K": i32(k), "N": i32(n), "M": i32(m), "in_vec_size": i32(k), "out_vec_size": i32(n)}


def product(mode, what, dtype, bits, group, rest, transposed, where, m, n, k, wide_scale=None):
    def make(rng):
        shape = (1, n, k) if transposed else (1, k, n)
        w = Weights(rng, mode, dtype, bits, group, shape, wide_scale)
        x = random(rng, dtype, (m, k))
        v = w.values[0].T if transposed else w.values[0]
        args = w.args() | w.batch() | sizes(m, n, k) | {
            "x": x, "x_batch_ndims": i32(1), "x_shape": i32(1, m, k), "x_strides": i64(m * k, k, 1)}
        return Launch(args, {"y": near(dtype, load(x, dtype) @ v, k)}, **where(m, n, group))

    return Case(name(mode, what, dtype, bits, group, rest), make, label=f"{m}x{n}x{k}")


def gather(mode, what, dtype, bits, group, rest, transposed, where, m, n, k):
    """x of 3 and weights of 4 batches, by 5 pairs of indices."""
    def make(rng):
        w = Weights(rng, mode, dtype, bits, group, (4, n, k) if transposed else (4, k, n))
        x = random(rng, dtype, (3, m, k))
        left, right = rng.integers(0, 3, 5, dtype=np.uint32), rng.integers(0, 4, 5, dtype=np.uint32)
        v = np.swapaxes(w.values, 1, 2) if transposed else w.values
        want = load(x, dtype)[left] @ v[right]
        args = w.args() | w.batch() | sizes(m, n, k) | {
            "x": x, "x_batch_ndims": i32(1), "x_shape": i32(3, m, k), "x_strides": i64(m * k, k, 1),
            "lhs_indices": left, "rhs_indices": right, "batch_ndims": i32(1), "batch_shape": i32(5),
            "lhs_strides": i64(1), "rhs_strides": i64(1)}
        place = where(m, n, group)
        place["grid"] = place["grid"][:2] + (5,)
        return Launch(args, {"y": near(dtype, want, k)}, **place)

    return Case(name(mode, "gather_" + what, dtype, bits, group, rest), make, label=f"{m}x{n}x{k}")


def gather_rows(mode, dtype, bits, group, transposed, m, n, k):
    """Rows of x come sorted by the weights that each is multiplied with; offsets say where those of each begin."""
    def make(rng):
        offsets = np.array([0, 7, 7, 40], np.int32)
        w = Weights(rng, mode, dtype, bits, group, (4, n, k) if transposed else (4, k, n))
        x = random(rng, dtype, (m, k))
        v = np.swapaxes(w.values, 1, 2) if transposed else w.values
        which = np.searchsorted(offsets, np.arange(m), "right") - 1
        want = np.einsum("mk,mkn->mn", load(x, dtype), v[which])
        args = w.args() | sizes(m, n, k) | {"x": x, "offsets": offsets, "num_groups": i32(4)}
        return Launch(args, {"y": near(dtype, want, k)}, (32, 2, 1), grid=(ceil(n, 32), ceil(m, 16) + 4, 1))

    what = f"gather_qmm_rhs_n{'t' if transposed else 'n'}"
    return Case(name(mode, what, dtype, bits, group, "_bm_16_bn_32_bk_32_wm_1_wn_2"), make,
                {201: int(n % 32 == 0), 202: int(k % 32 == 0)}, label=f"{m}x{n}x{k}")


def split_k(mode, dtype, bits, group, m, n, k, parts):
    """Partial products in float32, one for each piece of k."""
    def make(rng):
        w = Weights(rng, mode, dtype, bits, group, (1, n, k))
        x = random(rng, dtype, (m, k))
        v, piece = load(x, dtype), k // parts
        want = np.stack([v[:, s:s + piece] @ w.values[0].T[s:s + piece] for s in range(0, k, piece)])
        args = w.args() | sizes(m, n, k) | {"x": x, "k_partition_size": i32(piece),
                                            "split_k_partition_stride": i32(m * n)}
        out = Out(want, "float32", 0, 4e-6 if dtype == "float32" else STEP[dtype])
        return Launch(args, {"y": out}, (32, 2, 2), grid=(ceil(n, 32), ceil(m, 32), parts))

    return Case(name(mode, "qmm_t_splitk", dtype, bits, group, f"_alN_{'false' if n % 32 else 'true'}"), make)


def qvm_split_k(mode, dtype, bits, group, n, k):
    parts = 8

    def make(rng):
        w = Weights(rng, mode, dtype, bits, group, (1, k, n))
        x = random(rng, dtype, (1, k))
        v, piece = load(x, dtype), k // parts
        want = np.stack([v[:, s:s + piece] @ w.values[0][s:s + piece] for s in range(0, k, piece)])
        words, scales = w.packed[0].size // 4 // parts, w.scales[0].size // parts
        args = w.args() | sizes(1, n, piece) | {
            "x": x, "x_batch_ndims": i32(1), "x_shape": i32(parts, 1, piece), "x_strides": i64(piece, piece, 1),
            "w_batch_ndims": i32(1), "w_shape": i32(parts, piece, n), "w_strides": i64(words, 0, 0),
            "s_strides": i64(scales, 0, 0), "b_strides": i64(scales, 0, 0), "final_block_size": i32(piece)}
        place = grid_qvm(1, n, group)
        place["grid"] = place["grid"][:2] + (parts,)
        return Launch(args, {"y": near(dtype, want, k)}, **place)

    return Case(name(mode, "qvm_split_k", dtype, bits, group, "_spk_8"), make)


def all_forms(mode, dtype, bits, group):
    lanes = 8 if mode == "affine" else 16
    tail = "_batch_0_pr_0_hgs_0_r_4"
    yield product(mode, "qmv_fast", dtype, bits, group, tail, True, grid_qmv, 2, 24, 1024)
    yield product(mode, "qmv_fast", dtype, bits, group, tail.replace("pr_0", "pr_1"), True, grid_qmv, 2, 27, 1024)
    yield product(mode, "qmv", dtype, bits, group, tail, True, grid_qmv, 3, 29, 384)
    yield product(mode, "qmv_wide", dtype, bits, group, f"_nv_3_kl_{lanes}_batch_0", True, grid_wide(3, lanes), 5, 21,
                  512)
    yield product(mode, "qvm", dtype, bits, group, "_batch_0", False, grid_qvm, 2, 128, 75)
    yield product(mode, "qmm_t", dtype, bits, group, "_alN_true_batch_0", True, grid_qmm, 37, 64, 256)
    yield product(mode, "qmm_t", dtype, bits, group, "_alN_false_batch_0", True, grid_qmm, 20, 45, 256)
    yield product(mode, "qmm_n", dtype, bits, group, "_batch_0", False, grid_qmm, 37, 128, 96)


def further(mode, dtype, bits, group):
    for d in (64, 128):
        if group <= d and bits in (2, 4, 8):  # MLX uses it for these only; the others read whole blocks of rows
            n = 70 if mode == "affine" else 128
            yield product(mode, "qmv_quad", dtype, bits, group, f"_d_{d}_batch_0", True, grid_quad, 3, n, d)
    yield gather(mode, "qmv_fast", dtype, bits, group, "", True, grid_qmv, 2, 16, 1024)
    yield gather(mode, "qmv", dtype, bits, group, "", True, grid_qmv, 2, 19, 384)
    yield gather(mode, "qvm", dtype, bits, group, "", False, grid_qvm, 1, 128, 75)
    yield gather(mode, "qmm_t", dtype, bits, group, "_alN_true", True, grid_qmm, 33, 64, 128)
    yield gather(mode, "qmm_t", dtype, bits, group, "_alN_false", True, grid_qmm, 33, 45, 128)
    yield gather(mode, "qmm_n", dtype, bits, group, "", False, grid_qmm, 33, 128, 64)
    yield gather_rows(mode, dtype, bits, group, True, 61, 96, 128)
    yield gather_rows(mode, dtype, bits, group, False, 61, 128, 96)
    yield split_k(mode, dtype, bits, group, 33, 64, 512, 4)
    yield qvm_split_k(mode, dtype, bits, group, 128, 1024)


def affine_cases():
    for i, bits in enumerate((2, 3, 4, 5, 6, 8)):
        for j, group in enumerate((32, 64, 128)):
            dtype = FLOATS[(i + j) % 3]
            yield dequantise("affine", dtype, bits, group)
            yield quantise(dtype, bits, group)
            yield from all_forms("affine", dtype, bits, group)
        yield from further("affine", FLOATS[i % 3], bits, (32, 64, 128)[i % 3])
    for dtype in FLOATS:
        yield from all_forms("affine", dtype, 4, 64)


def fp_cases():
    for mode in ("mxfp4", "mxfp8", "nvfp4"):
        bits, group = BITS[mode], GROUP[mode]
        for i, dtype in enumerate(FLOATS):
            yield dequantise(mode, dtype, bits, group)
            yield fp_quantise(mode, dtype)
            yield fp_quantise(mode, dtype, back=True)
            yield from all_forms(mode, dtype, bits, group)
        yield from further(mode, "float16", bits, group)
        yield product(mode, "qmv_fast", "float16", bits, group, "_batch_0_pr_0_hgs_1_r_4", True, grid_qmv, 2, 24, 1024,
                      2000.)


FAMILIES = {"affine": list(affine_cases()), "fp": list(fp_cases())}
