# SPDX-License-Identifier: MIT
"""Runs every row of intrinsics.py in a kernel of its own kind: lane by lane, judged by NumPy. The kernels are
LLVM text that llvm-as 14 makes bitcode of."""
import itertools
import re
import shutil
import zlib

import numpy as np
import pytest

from intrinsics import ROWS
from llvm import load

SLOT = 64  # bytes of a value, of each lane
FLOATS = {"f16": ("half", np.float16), "f32": ("float", np.float32), "bf16": ("bfloat", np.uint16)}
STEP = {"f16": 2.0**-10, "f32": 2.0**-23, "bf16": 2.0**-7}
pytestmark = pytest.mark.skipif(not shutil.which("llvm-as-14"), reason="no llvm-as-14")


class Type:
    """Of intrinsics.py: name of the element, its dtype in memory, how many, and LLVM's name."""

    def __init__(self, text):
        sign, vector, self.name = re.fullmatch(r"(s\.)?(?:v(\d+))?(\w+)", text).groups()
        self.count = int(vector or 1)
        if self.name in FLOATS:
            self.llvm, self.dtype = FLOATS[self.name]
        else:
            bits = int(self.name[1:])
            self.llvm = self.name
            self.dtype = np.dtype(f"{'i' if sign else 'u'}{max(bits // 8, 1)}")
        self.size = self.count * np.dtype(self.dtype).itemsize
        self.stored = "i8" if self.name == "i1" else self.llvm
        if vector:
            self.llvm, self.stored = f"<{vector} x {self.llvm}>", f"<{vector} x {self.stored}>"

    def random(self, rng, low, high):
        shape = (32, self.count)
        if self.name == "i1":
            return rng.integers(0, 2, shape).astype(np.uint8)
        if self.name in FLOATS:
            return self.store(rng.uniform(low, high, shape))
        return rng.integers(low, high, shape, self.dtype, endpoint=True)

    def limits(self, row, n):
        if n in row.ranges:
            return row.ranges[n]
        if self.name in FLOATS:
            return row.low, row.high
        return (0, 1) if self.name == "i1" else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)

    def store(self, values):
        if self.name != "bf16":
            return np.asarray(values).astype(self.dtype)
        bits = np.asarray(values, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    def load(self, bits, raw=False):
        """As oracles get them: without the second dimension for scalars."""
        bits = bits if self.count > 1 else bits[:, 0]
        if self.name == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return bits.astype(np.float64) if self.name in FLOATS and not raw else bits


class Kernel:
    """One kernel's text while it grows, and its buffers in slots."""

    def __init__(self):
        self.body, self.declared, self.number = [], {}, itertools.count()
        self.inputs, self.wanted, self.threadgroup = [], [], 0

    def emit(self, text, *, value=True):
        name = f"%v{next(self.number)}"
        self.body.append(f"  {name} = {text}" if value else f"  {text}")
        return name

    def place(self, base, space, offset, stored):
        at = self.emit(f"getelementptr i8, i8 addrspace({space})* {base}, i64 {offset}")
        at = self.emit(f"getelementptr i8, i8 addrspace({space})* {at}, i64 %own")
        return self.emit(f"bitcast i8 addrspace({space})* {at} to {stored} addrspace({space})*")

    def load(self, t, at, space):
        return self.emit(f"load {t.stored}, {t.stored} addrspace({space})* {at}, align 1")

    def store(self, t, value, at, space):
        self.emit(f"store {t.stored} {value}, {t.stored} addrspace({space})* {at}, align 1", value=False)

    def input(self, t, values):
        self.inputs.append((t, values))
        return self.load(t, self.place("%in", 1, (len(self.inputs) - 1) * 32 * SLOT, t.stored), 1)

    def output(self, row, t, value, want):
        self.store(t, value, self.place("%out", 1, len(self.wanted) * 32 * SLOT, t.stored), 1)
        self.wanted.append((row, t, want))

    def memory(self, space, t):
        if space == 0:
            return self.emit(f"alloca {t.stored}, align 16")
        if space == 1:
            return self.place("%scratch", 1, next(self.number) * 32 * SLOT, t.stored)
        self.threadgroup += 32 * SLOT
        base = f"getelementptr ([65536 x i8], [65536 x i8] addrspace(3)* @memory, i64 0, i64 {self.threadgroup - 32 * SLOT})"
        at = self.emit(f"getelementptr i8, i8 addrspace(3)* {base.replace('getelementptr (', 'getelementptr inbounds (')}, i64 %own")
        return self.emit(f"bitcast i8 addrspace(3)* {at} to {t.stored} addrspace(3)*")

    def argument(self, row, n, text, rng):
        """(LLVM type, value, what the oracle gets or None, the pointer's type and place or None)"""
        if text[0] == "=":
            t, value = text[1:].split()
            return t, value if t != "i1" else ("true" if value == "1" else "false"), None, None
        pointer = re.match(r"p(\d)(b?):", text)
        t = Type(text[pointer.end():] if pointer else text)
        values = t.random(rng, *t.limits(row, n))
        if n in row.same:
            values[:] = values[0]
        value, given = self.input(t, values), t.load(values, row.raw)
        if not pointer:
            if t.name == "i1":
                value = self.emit(f"icmp ne {t.stored} {value}, zeroinitializer")
            return t.llvm, value, given, None
        space = int(pointer[1])
        at = self.memory(space, t)
        self.store(t, value, at, space)
        if not pointer[2]:
            return f"{t.stored} addrspace({space})*", at, given, (t, at, space)
        byte = self.emit(f"bitcast {t.stored} addrspace({space})* {at} to i8 addrspace({space})*")
        return f"i8 addrspace({space})*", byte, given, (t, at, space)

    def call(self, row):
        rng = np.random.default_rng(zlib.crc32(row.name.encode()))
        args = [self.argument(row, n, text, rng) for n, text in enumerate(row.args)]
        want = row.oracle(*[given for _, _, given, _ in args if given is not None])
        want = list(want) if isinstance(want, tuple) else [] if want is None else [want]
        result = Type(row.result) if row.result != "void" else None
        llvm = result.llvm if result else "void"
        self.declared[row.name] = f"declare {llvm} @{row.name}({', '.join(t for t, *_ in args)})"
        value = self.emit(f"call {llvm} @{row.name}({', '.join(f'{t} {v}' for t, v, *_ in args)})", value=result is not None)
        if result:
            if result.name == "i1":
                value = self.emit(f"zext i1 {value} to i8")
            self.output(row, result, value, want.pop(0))
        for (t, at, space), new in zip([place for *_, place in args if place], want):
            self.output(row, t, self.load(t, at, space), new)

    def text(self):
        return "\n".join(["@memory = internal addrspace(3) global [65536 x i8] undef, align 16", *self.declared.values(),
                          "define void @k(i8 addrspace(1)* %in, i8 addrspace(1)* %out, i8 addrspace(1)* %scratch, i32 %lane) {",
                          "  %wide = zext i32 %lane to i64", f"  %own = mul i64 %wide, {SLOT}", *self.body,
                          "  ret void", "}"])


def judge(row, t, got, want):
    want = np.asarray(want).reshape(got.shape)
    if t.name not in FLOATS:
        assert (got == want.astype(t.dtype)).all(), f"{row.name}: {got} instead of {want}"
        return
    have = t.load(got).reshape(want.shape)
    wrong = np.abs(have - want) > row.ulps * STEP[t.name] * np.maximum(np.abs(want), 2.0**-14)
    assert not wrong.any(), f"{row.name}: {have[wrong]} instead of {want[wrong]}"


def family(row):
    return ".".join(row.name.split(".")[:2])


@pytest.mark.parametrize("name", sorted({family(row) for row in ROWS}))
def test_intrinsic(name):
    kernel = Kernel()
    for row in ROWS:
        if family(row) == name:
            kernel.call(row)
    given = np.zeros((max(len(kernel.inputs), 1), 32, SLOT), np.uint8)
    for slot, (t, values) in zip(given, kernel.inputs):
        slot[:, :t.size] = np.ascontiguousarray(values).view(np.uint8).reshape(32, t.size)
    got = np.full((max(len(kernel.wanted), 1), 32, SLOT), 0xA5, np.uint8)
    scratch = np.zeros((next(kernel.number), 32, SLOT), np.uint8)
    load(kernel.text(), buffers=3, systems=["thread_index_in_simdgroup"]).launch(
        (1, 1, 1), (32, 1, 1), {0: given, 1: got, 2: scratch}, {}, 1)
    for slot, (row, t, want) in zip(got, kernel.wanted):
        judge(row, t, np.ascontiguousarray(slot[:, :t.size]).view(t.dtype).reshape(32, t.count), want)


def test_each_name_once():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names) > 380
