# SPDX-License-Identifier: MIT
"""How a truth case runs. A case names a kernel that Apple's compiler made and a function that, from a
random generator, gives a Launch: what is bound to each buffer index, the geometry, and what each output
must hold. Element types are named as MLX names them; bfloat16 lives in uint16 arrays."""
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

TYPES = {"bool_": np.bool_, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
         "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "float16": np.float16,
         "float32": np.float32, "bfloat16": np.uint16, "complex64": np.complex64}
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
INTS = UNSIGNED + SIGNED
FLOATS = ("float16", "float32", "bfloat16")
REAL = ("bool_",) + INTS + FLOATS
# One unit in the last place of 1.0, of what a type holds.
STEP = {"float16": 2.0 ** -10, "float32": 2.0 ** -23, "bfloat16": 2.0 ** -7, "complex64": 2.0 ** -23}


def store(values, dtype):
    """Numbers to the bits of a buffer, rounded to the nearest."""
    if dtype != "bfloat16":
        return np.ascontiguousarray(np.asarray(values).astype(TYPES[dtype]))
    u = np.ascontiguousarray(np.asarray(values, np.float32)).view(np.uint32)
    return ((u.astype(np.uint64) + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def load(bits, dtype):
    """The bits of a buffer to numbers: float64 (complex128) for floats, integers as they are."""
    if dtype == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "complex64":
        return bits.astype(np.complex128)
    return bits.astype(np.float64) if dtype in FLOATS else bits


def random(rng, dtype, shape, low=-2.0, high=2.0):
    """A buffer of a type: floats from [low, high), integers from the whole range of the type."""
    if dtype == "bool_":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTS:
        info = np.iinfo(TYPES[dtype])
        return rng.integers(info.min, info.max, shape, dtype=TYPES[dtype], endpoint=True)
    if dtype == "complex64":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(np.complex64)
    return store(rng.uniform(low, high, shape), dtype)


def small(rng, dtype, shape, most=9):
    """As random(), but integers are small: their sums and products fit."""
    if dtype in INTS:
        return rng.integers(0 if dtype in UNSIGNED else -most, most, shape, endpoint=True).astype(TYPES[dtype])
    return random(rng, dtype, shape)


def i32(*x): return struct.pack(f"<{len(x)}i", *x)
def u32(*x): return struct.pack(f"<{len(x)}I", *x)
def i64(*x): return struct.pack(f"<{len(x)}q", *x)
def u64(*x): return struct.pack(f"<{len(x)}Q", *x)
def f32(*x): return struct.pack(f"<{len(x)}f", *x)


def ceil(a, b):
    return -(-a // b)


def strides(shape):
    """Of a contiguous array, in elements."""
    out, n = [], 1
    for s in reversed(shape):
        out.append(n)
        n *= s
    return out[::-1]


def block(x, y, z, most=10):
    """A threadgroup for a grid of x * y * z threads: powers of two, grown in turn up to 2**most threads."""
    size, powers = (x, y, z), [0, 0, 0]
    while True:
        grown = False
        for i in range(3):
            if sum(powers) < most and size[i] >= 2 << powers[i]:
                powers[i] += 1
                grown = True
        if not grown:
            return tuple(1 << p for p in powers)


@dataclass
class Out:
    """What an output buffer must hold. Integers and booleans are compared exactly. Floats may be off by
    `ulps` of the type at the wanted value, plus `slack` times the largest wanted value."""
    want: Any
    dtype: str
    ulps: float = 1.0
    slack: float = 0.0


@dataclass
class Launch:
    """Buffers and outputs are keyed by index, or by the argument's name; names that a kernel lacks are left out."""
    buffers: dict
    outs: dict                       # key: Out
    group: tuple
    threads: tuple | None = None     # of the grid (dispatchThreads), or
    grid: tuple | None = None        # threadgroups
    threadgroup: dict = field(default_factory=dict)
    kernel: str | None = None        # where it is not the case's own; its function constants then too
    constants: dict = field(default_factory=dict)


@dataclass
class Case:
    """`make` gives a launch, or a list of them that run in turn and share arrays."""
    kernel: str
    make: Callable
    constants: dict = field(default_factory=dict)
    label: str = ""
    checks: str | None = None        # all

    @property
    def id(self):
        return self.kernel + (f"-{self.label}" if self.label else "")


def blank(shape, dtype):
    out = np.empty(shape, TYPES[dtype])
    out.reshape(-1).view(np.uint8)[:] = 0xA5
    return out


def flat(n, group=1024):
    """One-dimensional dispatchThreads."""
    return {"threads": (n, 1, 1), "group": (min(n, group), 1, 1)}


def judge(name, got, out):
    want = np.asarray(out.want).reshape(got.shape)
    if out.dtype not in STEP:
        wrong = got != want.astype(got.dtype)
        assert not wrong.any(), report(name, got, want, wrong)
        return
    have = load(got, out.dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(want)
        same = (have == want) | (np.isnan(have) & np.isnan(want))
        most = np.abs(want[finite]).max(initial=0)
        tiny = {"float16": 2.0 ** -24, "bfloat16": 2.0 ** -133}.get(out.dtype, 2.0 ** -126)
        room = out.ulps * STEP[out.dtype] * np.abs(want) + out.slack * most + out.ulps * tiny
        wrong = ~(same | (finite & (np.abs(have - want) <= room)))
    assert not wrong.any(), report(name, have, want, wrong)


def report(name, got, want, wrong):
    at = np.argwhere(wrong)
    rows = [f"  {tuple(map(int, i))}: {got[tuple(i)]!r}, wanted {want[tuple(i)]!r}" for i in at[:6]]
    return f"{name}: {len(at)} of {wrong.size} wrong\n" + "\n".join(rows)


def indexed(library, kernel, keyed):
    if all(isinstance(key, int) for key in keyed):
        return dict(keyed)
    index = {arg["name"]: arg["location"] for arg in library.info(kernel)["args"] if arg["kind"] == "buffer"}
    return {index[key]: value for key, value in keyed.items() if key in index}


def run(library, case, host_threads):
    launches = case.make(np.random.default_rng(zlib.crc32(case.id.encode())))
    for launch in launches if isinstance(launches, list) else [launches]:
        name = launch.kernel or case.kernel
        kernel = library.kernel(name, launch.constants if launch.kernel else case.constants,
                                case.checks)
        buffers, outs = indexed(library, name, launch.buffers), indexed(library, name, launch.outs)
        for index, out in outs.items():
            if index not in buffers:  # what the kernel must overwrite holds a pattern that it does not write
                buffers[index] = blank(np.shape(out.want), out.dtype)
        grid, exact = launch.grid, (0, 0, 0)
        if launch.threads:
            exact = launch.threads
            grid = tuple(ceil(t, g) for t, g in zip(launch.threads, launch.group))
        kernel.launch(grid, launch.group, buffers, launch.threadgroup, host_threads, 0, exact)
        for index, out in outs.items():
            judge(f"{case.id} buffer {index}", buffers[index], out)
