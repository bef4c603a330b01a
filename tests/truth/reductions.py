# SPDX-License-Identifier: MIT
"""Reductions over everything, rows and columns; argument reductions; scans; sorts and searches."""
import math

import numpy as np

from harness import (FLOATS, INTS, REAL, STEP, TYPES, Case, Launch, Out, blank, ceil, flat, i32, i64,
                     load, random, store, strides, u32, u64)

WIDER = {"uint8": "uint32", "uint16": "uint32", "int8": "int32", "int16": "int32"}
COMPLEX = ("complex64",)
OPS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.logical_and,
       "or": np.logical_or}
TYPES_OF_OP = {"sum": INTS + FLOATS + COMPLEX, "prod": INTS + FLOATS, "min": INTS + FLOATS, "max": INTS + FLOATS,
               "and": ("bool_", "int16", "int32", "int64", "float32"), "or": ("bool_", "int16", "int32", "int64")}


def result_type(op, dtype):
    return "bool_" if op in ("and", "or") else WIDER.get(dtype, dtype) if op in ("sum", "prod") else dtype


def values(rng, op, dtype, shape):
    if op == "prod" and dtype in FLOATS:
        return store(np.exp(rng.uniform(-.1, .1, shape)), dtype)
    x = random(rng, dtype, shape)
    if op in ("and", "or"):  # mostly what leaves the result open
        rare = rng.random(shape) < 1 / (2 * shape[-1])
        x = np.where(rare, 0, store(np.ones(shape), dtype)) if op == "and" else np.where(rare, x, 0)
        x = np.ascontiguousarray(x.astype(TYPES[dtype]))
    return x


def reduced(op, dtype, x, axes):
    """The result of reducing over axes, and how far off it may be: the kernels add in the type itself."""
    out = result_type(op, dtype)
    v = load(x, dtype)
    if op in ("and", "or"):
        v = v != 0
    elif op in ("sum", "prod") and out in INTS:
        v = v.astype(TYPES[out])
    with np.errstate(all="ignore"):
        want = OPS[op].reduce(v, axis=axes, **({"dtype": v.dtype} if v.dtype != bool else {}))
    if dtype not in STEP or op not in ("sum", "prod"):
        return Out(want, out, 0)
    n = math.prod(x.shape[a] for a in axes)
    return Out(want, out, 2 * math.sqrt(n), STEP[dtype] * 2 * math.sqrt(n) if op == "sum" else 0)


def row_group(n):
    return 32 if n <= 512 else 128 if n <= 1024 else min(1024, ceil(ceil(n, 4), 32) * 32)


def all_reduce(op, dtype, n=3001):
    def make(rng):
        x = values(rng, op, dtype, (n,))
        group = ceil(ceil(n, 4), 32) * 32
        return Launch({0: x, 2: u64(n), 3: u64(n)}, {1: single(reduced(op, dtype, x, (0,)))}, (group, 1, 1),
                      threads=(group, 1, 1))

    return Case(f"all_reduce_{op}{dtype}", make)


def single(out):
    out.want = np.reshape(out.want, (1,))
    return out


def all_reduce_two(op, dtype, n=70001):
    """Above 4096 elements: 128 threadgroups, then one over their results."""
    out = result_type(op, dtype)

    def make(rng):
        x = values(rng, op, dtype, (n,))
        parts, rows = blank((128,), out), 128
        row = ceil(n, rows)
        group = ceil(min(ceil(row, 4), 1024), 32) * 32
        first = Launch({0: x, 1: parts, 2: u64(n), 3: u64(row)}, {}, (group, 1, 1), threads=(group, rows, 1))
        second = Launch({0: parts, 2: u64(rows), 3: u64(rows)}, {1: single(reduced(op, dtype, x, (0,)))}, (32, 1, 1),
                        threads=(32, 1, 1), kernel=f"all_reduce_{op}{out}")
        return [first, second]

    return Case(f"all_reduce_{op}{dtype}", make, label="two passes")


def row_simple(op, dtype, rows=37, n=1030):
    def make(rng):
        x = values(rng, op, dtype, (rows, n))
        group = min(row_group(n), 512) if x.itemsize == 8 else row_group(n)
        return Launch({0: x, 2: u64(n), 3: i64(rows)}, {1: reduced(op, dtype, x, (1,))}, (group, 1, 1),
                      threads=(group, ceil(rows, 4), 1))

    return Case(f"row_reduce_simple_{op}{dtype}", make)


# Which axes of x[3, 4, 5, 2, n] a reduction takes: by the count of those that are not the row.
ROW_AXES = {1: (3, 4), 2: (1, 3, 4), 5: (0, 1, 3, 4)}


def row_general(form, op, dtype, ndim, shape):
    def make(rng):
        x = values(rng, op, dtype, shape)
        at, n, axes = strides(shape), shape[-1], ROW_AXES[ndim]
        kept = [a for a in range(5) if a not in axes]
        other = axes[:-1]
        repeats = math.prod(shape[a] for a in other)
        out = reduced(op, dtype, x, axes)
        count = out.want.size
        args = {0: x, 2: i64(n), 3: i64(repeats), 4: i32(*[shape[a] for a in kept]), 5: i64(*[at[a] for a in kept]),
                6: i32(len(kept)), 7: i32(*[shape[a] for a in other]), 8: i64(*[at[a] for a in other]),
                9: i32(len(other))}
        if form == "looped":
            where = {"threads": (row_group(n), count, 1), "group": (row_group(n), 1, 1)}
        elif (repeats < 32 and n <= 8) or repeats <= 8:
            where = {"threads": (count, 1, 1), "group": (count, 1, 1)}
        else:
            where = {"threads": (32, count, 1), "group": (32, 1, 1)}
        return Launch(args, {1: out}, **where)

    return Case(f"row_reduce_{form}_{ndim}_reduce_{op}{dtype}", make, label="x".join(map(str, shape)))


def column(form, op, dtype, ndim, shape):
    """Of x[a, b, c, d, n]: some of the axes before the last."""
    axes = {1: (3,), 2: (1, 3), 5: (0, 1, 3)}[ndim]

    def make(rng):
        x = values(rng, op, dtype, shape)
        at, n = strides(shape), shape[-1]
        kept = [a for a in range(4) if a not in axes]
        out = reduced(op, dtype, x, axes)
        outer = out.want.size // n
        args = {0: x, 2: u64(shape[3]), 3: i64(at[3]), 4: i32(*[shape[a] for a in kept]),
                5: i64(*[at[a] for a in kept]), 6: i32(len(kept)), 7: i32(*[shape[a] for a in axes]),
                8: i64(*[at[a] for a in axes]), 9: i32(len(axes)),
                10: u64(math.prod(shape[a] for a in axes[:-1]))}
        total = math.prod(shape[a] for a in axes)
        if form == "small":
            blocks = ceil(n, 4)
            x_threads = min(blocks, 32)
            group = (x_threads, min(8, 1024 // x_threads, total), 1)
            return Launch(args, {1: out}, group, grid=(ceil(blocks, x_threads), outer, 1))
        name = f"col_reduce_looped_1_32_32_reduce_{op}{out.dtype}"
        if form == "looped":
            return Launch(args | {11: i64(0)}, {1: out}, (256, 1, 1), threads=(256 * ceil(n, 32), outer, 1))
        size = outer * n
        parts = blank((32, size), out.dtype)
        if form == "2pass":
            first = Launch(args | {1: parts, 11: i64(0), 12: u64(outer)}, {}, (256, 1, 1),
                           threads=(256 * ceil(n, 32), outer * 32, 1))
        else:
            first = Launch(args | {1: parts, 11: u64(size)}, {}, (n, min(32, ceil(total, 32)), 1),
                           grid=(outer, 1, 32))
        last = {0: parts, 2: u64(32), 3: i64(size), 4: i32(0), 5: i64(0), 6: i32(0), 7: i32(32), 8: i64(size),
                9: i32(1), 10: u64(1), 11: i64(0)}
        second = Launch(last, {1: out}, (256, 1, 1), threads=(256 * ceil(size, 32), 1, 1), kernel=name)
        return [first, second]

    tile = "_32_32" if form in ("looped", "2pass") else ""
    return Case(f"col_reduce_{form}_{ndim}{tile}_reduce_{op}{dtype}", make)


def init(op, dtype):
    first = {"sum": 0, "prod": 1, "and": 1, "or": 0}
    low, high = (-np.inf, np.inf) if dtype in FLOATS else (0, 0) if dtype == "bool_" else \
        (np.iinfo(TYPES[dtype]).min, np.iinfo(TYPES[dtype]).max)
    value = first.get(op, low if op == "max" else high)
    return Case(f"init_reduce_{op}{dtype}",
                lambda rng: Launch({}, {0: Out(np.full(77, value), dtype, 0)}, **flat(77)))


def arg_reduce(op, dtype, n):
    def make(rng):
        x = random(rng, dtype, (3, n, 5))
        want = (np.argmin if op == "argmin" else np.argmax)(load(x, dtype), axis=1)
        group = ceil(min(ceil(n, 4), 1024), 32) * 32
        args = {0: x, 2: i32(3, 5), 3: i64(5 * n, 1), 4: i64(5, 1), 5: u64(2), 6: i64(5), 7: u64(n)}
        return Launch(args, {1: Out(want, "uint32")}, (group, 1, 1), threads=(group, 15, 1))

    return Case(f"{op}_{dtype}", make, label=str(n))


def reduce_cases():
    for op, types in TYPES_OF_OP.items():
        for dtype in types:
            yield all_reduce(op, dtype)
            yield row_simple(op, dtype)
        for dtype in dict.fromkeys((types[0], types[-1], "float32" if "float32" in types else types[1])):
            for ndim in (1, 2, 5):
                yield row_general("small", op, dtype, ndim, (3, 4, 5, 2, 7))
                yield row_general("looped", op, dtype, ndim, (3, 2, 2, 3, 533))
                yield column("small", op, dtype, ndim, (2, 2, 3, 5, 70))
                yield column("looped", op, dtype, ndim, (2, 2, 3, 40, 70))
                yield column("2pass", op, dtype, ndim, (2, 3, 3, 300, 45))
                yield column("longcolumn", op, dtype, ndim, (2, 2, 3, 1100, 13))
            yield row_general("small", op, dtype, 2, (2, 20, 3, 2, 31))
    for op, dtype in (("sum", "float32"), ("max", "int16"), ("prod", "uint8"), ("or", "bool_")):
        yield all_reduce_two(op, dtype)
    for op in ("sum", "prod", "min", "max"):
        yield init(op, "float32")
        yield init(op, "int32")
    yield init("and", "bool_")
    yield init("or", "bool_")


def arg_reduce_cases():
    for op in ("argmin", "argmax"):
        for dtype in REAL:
            yield arg_reduce(op, dtype, 333)
        yield arg_reduce(op, "float32", 5000)


# ---- Scans --------------------------------------------------------------------------------------------------

def scan_values(rng, op, dtype, shape):
    if op == "prod" and dtype in FLOATS:
        return random(rng, dtype, shape, .9, 1.1)
    return random(rng, dtype, shape)


def scanned(op, v, inclusive, reverse, start):
    v = v[:, ::-1] if reverse else v
    with np.errstate(all="ignore"):
        out = np.logaddexp.accumulate(v, 1) if op == "logaddexp" else OPS[op].accumulate(v, 1, dtype=v.dtype)
    if not inclusive:
        out = np.concatenate([np.full_like(out[:, :1], start), out[:, :-1]], 1)
    return out[:, ::-1] if reverse else out


def scan(layout, op, dtype, out, inclusive, reverse, n):
    direction = "reverse_" if reverse else ""
    name = f"{layout}_scan_{direction}{'inclusive' if inclusive else 'exclusive'}_{op}_{dtype}_{out}"

    def make(rng):
        x = scan_values(rng, op, dtype, (3, n) if layout == "contig" else (3, n, 45))
        v = load(x, dtype)
        v = v.astype(TYPES[out]) if out in INTS else v
        info = np.iinfo(TYPES[out]) if out in INTS else None
        start = {"sum": 0, "prod": 1, "max": info.min if info else -np.inf, "min": info.max if info else np.inf,
                 "logaddexp": -np.inf}[op]
        want = scanned(op, v, inclusive, reverse, start)
        steps = 2 * math.sqrt(n)
        loose = op in ("sum", "prod", "logaddexp") and out in STEP
        result = Out(want, out, steps if loose else 0, STEP[out] * steps if loose and op != "prod" else 0)
        reads = 4 if x.itemsize <= 4 else 2
        if layout == "contig":
            group = min(1024, ceil(n if n <= reads * 1024 else n // 2, reads * 32) * 32)
            return Launch({0: x, 2: u64(n)}, {1: result}, (group, 1, 1), threads=(group, 3, 1))
        group = 32 // reads * 32
        return Launch({0: x, 2: u64(n), 3: u64(45), 4: u64(2)}, {1: result}, (group, 1, 1), threads=(group, 6, 1))

    return Case(name, make, label=str(n))


def scan_cases():
    pairs = [(t, t) for t in INTS + FLOATS] + [("bool_", "int32"), ("bool_", "uint32")]
    for dtype, out in pairs:
        yield scan("contig", "sum", dtype, out, True, False, 300)
    for layout in ("contig", "strided"):
        for op in ("sum", "prod", "max", "min", "logaddexp"):
            for dtype in ("float32", "bfloat16") if op == "logaddexp" else ("float32", "int32", "uint8", "int64"):
                for inclusive in (True, False):
                    for reverse in (True, False):
                        yield scan(layout, op, dtype, dtype, inclusive, reverse, 201)
    yield scan("contig", "sum", "float32", "float32", True, False, 9001)
    yield scan("contig", "max", "int16", "int16", False, True, 5001)


# ---- Sorts --------------------------------------------------------------------------------------------------

def block_sort(contiguous, argument, dtype, bn, n):
    name = f"{'c' if contiguous else 'nc'}{'arg' if argument else ''}_block_sort_{dtype}_" \
           f"{'uint32' if argument else dtype}_bn{bn}_tn4"

    def make(rng):
        shape = (4, n) if contiguous else (3, n, 2)
        x = random(rng, dtype, shape, -99, 99)
        v = load(x, dtype)
        want = np.argsort(v, 1, kind="stable") if argument else np.sort(v, 1)
        args = {0: x, 2: i32(n), 3: i32(1), 4: i32(1), 5: i32(n), 6: i32(n)} if contiguous else \
            {0: x, 2: i32(n), 3: i32(2), 4: i32(2), 5: i32(2), 6: i32(3, 2), 7: i64(2 * n, 1), 8: i64(2 * n, 1)}
        rows = 4 if contiguous else 6
        return Launch(args, {1: Out(want, "uint32" if argument else dtype, 0)}, (bn, 1, 1), grid=(1, rows, 1))

    return Case(name, make, label=str(n))


def merge_sort(dtype, bn, n):
    """Blocks of bn * 4 are sorted, then merged pairwise: a partition and a merge for each doubling."""
    tail = f"{dtype}_uint32_bn{bn}_tn4"

    def make(rng):
        x = random(rng, dtype, (2, n), -99, 99)
        v = load(x, dtype)
        order = np.argsort(v, 1, kind="stable")
        blocks = ceil(n, bn * 4)
        keys, indices = ([blank((2, n), t) for _ in range(2)] for t in (dtype, "uint32"))
        parts = blank((2, blocks + 1), "uint32")
        steps = [Launch({0: x, 1: keys[0], 2: indices[0], 3: i32(n), 4: i32(1), 5: i32(1), 6: i32(2), 7: i64(n)}, {},
                        (bn, 1, 1), grid=(blocks, 2, 1), kernel="sort_mbsort_" + tail)]
        tiles, at = 2, 0
        while tiles // 2 < blocks:
            common = {1: keys[at], 2: indices[at]}
            steps.append(Launch({0: parts, 3: i32(n), 4: i32(tiles), 5: i32(blocks)} | common, {},
                                (min(blocks + 1, 1024), 1, 1), grid=(1, 2, 1), kernel="partition_mbsort_" + tail))
            at = 1 - at
            steps.append(Launch({0: parts, 3: keys[at], 4: indices[at], 5: i32(n), 6: i32(tiles), 7: i32(blocks)} |
                                common, {}, (bn, 1, 1), grid=(blocks, 2, 1), kernel="merge_mbsort_" + tail))
            tiles *= 2
        steps[-1].outs = {3: Out(np.take_along_axis(v, order, 1), dtype, 0), 4: Out(order, "uint32")}
        return steps

    return Case("merge_mbsort_" + tail, make, label=str(n))


def search(dtype, right):
    side = "right" if right else "left"

    def make(rng):
        a, v = (random(rng, dtype, s, -9, 9) for s in (200, 333))
        a = a[np.argsort(load(a, dtype), kind="stable")]
        spread = np.zeros(400, a.dtype)
        spread[::2] = a
        v[::7] = a[rng.integers(0, 200, len(v[::7]))]
        want = np.searchsorted(load(a, dtype), load(v, dtype), side)
        return Launch({0: spread, 1: v, 3: u32(200), 4: i64(2)}, {2: Out(want, "uint32")}, **flat(333, 256))

    return Case(f"searchsorted_{dtype}_{side}", make)


def sort_cases():
    for dtype in REAL:
        if dtype != "bool_":
            yield block_sort(True, False, dtype, 128, 400)
            yield block_sort(True, True, dtype, 128, 511)
        yield search(dtype, False)
        yield search(dtype, True)
    for bn, n in ((32, 100), (64, 256), (256, 1000), (512, 2000)):
        for contiguous in (True, False):
            for argument in (True, False):
                yield block_sort(contiguous, argument, "float32", bn, n)
    for dtype, bn in (("float32", 512), ("int8", 512), ("bfloat16", 512), ("int64", 256), ("uint32", 512)):
        yield merge_sort(dtype, bn, 9001)


FAMILIES = {"reduce": list(reduce_cases()), "arg_reduce": list(arg_reduce_cases()), "scan": list(scan_cases()),
            "sort": list(sort_cases())}
