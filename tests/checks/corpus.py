# SPDX-License-Identifier: MIT
"""Broken kernels and their correct twins. A row names the check that must find the broken one, the code of
its report and a word of its message; under all checks the twin is silent."""
from dataclasses import dataclass
from typing import Callable

import torch
import triton
import triton.language as tl

ROWS = []


@dataclass
class Row:
    name: str
    check: str
    code: int
    says: str
    broken: Callable
    twin: Callable
    lines: bool = True  # the report names this file


def row(check, code, says, lines=True):
    """Adds a row; the function gives (broken, twin), two calls."""

    def add(make):
        broken, twin = make()
        ROWS.append(Row(make.__name__, check, code, says, broken, twin, lines))
        return make

    return add


# ---- bounds
@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
    else:
        tl.store(y + at, tl.load(x + at) + 1)


@row("bounds", 3101, "'x'")
def load_past_the_end():
    x, y = torch.zeros(1000), torch.zeros(1000)
    run = lambda masked: lambda: add_one[(4, )](x, y, 1000, BLOCK=256, MASKED=masked)  # noqa: E731
    return run(False), run(True)


@triton.jit
def scatter(y, at, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + tl.load(at + i, mask=i < n, other=0), 1.0, mask=i < n)


@row("bounds", 3101, "'y'")
def store_before_the_start():
    y = torch.zeros(16)
    good, bad = torch.arange(16, dtype=torch.int32), torch.arange(16, dtype=torch.int32) - 1
    return (lambda: scatter[(1, )](y, bad, 16, BLOCK=16)), (lambda: scatter[(1, )](y, good, 16, BLOCK=16))


# ---- align
@triton.jit
def reinterpret(x, y, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    wide = (x + SHIFT).to(tl.pointer_type(tl.int32))
    tl.store(y + at, tl.load(wide + at))


@row("align", 3106, "not aligned to")
def words_at_odd_bytes():
    x, y = torch.zeros(1024, dtype=torch.int8), torch.zeros(128, dtype=torch.int32)
    run = lambda shift: lambda: reinterpret[(1, )](x, y, SHIFT=shift, BLOCK=128)  # noqa: E731
    return run(2), run(4)


# ---- races
@triton.jit
def total(x, out, n, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    if ATOMIC:
        tl.atomic_add(out, part)
    else:
        tl.store(out, tl.load(out) + part)


@row("races", 3301, "'out' at element 0")
def sum_without_an_atomic():
    x, out = torch.ones(1024), torch.zeros(1)
    run = lambda atomic: lambda: total[(4, )](x, out, 1024, BLOCK=256, ATOMIC=atomic)  # noqa: E731
    return run(False), run(True)


@triton.jit
def shift_left(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at + 1, mask=at + 1 < n, other=0.0), mask=at < n)


@row("races", 3301, "load")
def shift_in_place():
    x, y = torch.arange(1024.0), torch.zeros(1024)
    return ((lambda: shift_left[(4, )](x, x, 1024, BLOCK=256)), (lambda: shift_left[(4, )](x, y, 1024, BLOCK=256)))


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr, ATOMIC: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    if ATOMIC:
        tl.atomic_add(bins + value, at, mask=at < n)
    else:
        tl.store(bins + value, at, mask=at < n)


@row("races", 3302, "different values")
def lanes_of_one_store():
    x, bins = torch.arange(32, dtype=torch.int32) // 2, torch.zeros(32, dtype=torch.int32)
    run = lambda atomic: lambda: count[(1, )](x, bins, 32, BLOCK=32, ATOMIC=atomic, num_warps=1)  # noqa: E731
    return run(False), run(True)


@triton.jit
def locked_sum(x, out, lock, n, BLOCK: tl.constexpr, LOCK: tl.constexpr, SEM: tl.constexpr = "acq_rel"):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.load(x + at, mask=at < n, other=0.0)
    into = out + tl.arange(0, BLOCK)
    if LOCK:
        while tl.atomic_cas(lock, 0, 1, sem=SEM) == 1:
            pass
    tl.store(into, tl.load(into) + part)
    if LOCK:
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0, sem=SEM)


@row("races", 3301, "'out'")
def sum_under_no_lock():
    x, out, lock = torch.ones(1024), torch.zeros(256), torch.zeros(1, dtype=torch.int32)
    run = lambda locked: lambda: locked_sum[(4, )](x, out, lock, 1024, BLOCK=256, LOCK=locked)  # noqa: E731
    return run(False), run(True)


@row("races", 3301, "'out'")
def sum_under_a_lock_that_orders_nothing():
    x, out, lock = torch.ones(1024), torch.zeros(256), torch.zeros(1, dtype=torch.int32)
    run = lambda sem: lambda: locked_sum[(4, )](x, out, lock, 1024, BLOCK=256, LOCK=True, SEM=sem)  # noqa: E731
    return run("relaxed"), run("acq_rel")


# ---- uninit
@row("uninit", 3107, "'x'")
def read_of_an_empty_buffer():
    from triton_metal import mark_empty
    x, y = torch.zeros(256), torch.zeros(256)

    def run(first):
        def call():
            with mark_empty(x):
                if first:
                    add_one[(1, )](y, x, 256, BLOCK=256, MASKED=True)
                add_one[(1, )](x, y, 256, BLOCK=256, MASKED=True)
        return call

    return run(False), run(True)


# ---- shifts, divides, converts
@triton.jit
def arithmetic(x, y, OP: tl.constexpr, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    if OP == "shift":
        out = 1 << (v & 31 if GUARD else v)
    elif OP == "divide":
        out = 100 // (tl.where(v == 0, 1, v) if GUARD else v)
    else:
        f = v.to(tl.float32) * 1e8
        out = (tl.minimum(f, 2e9) if GUARD else f).to(tl.int32)
    tl.store(y + at, out)


def operation(op):
    x, y = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    run = lambda guard: lambda: arithmetic[(1, )](x, y, OP=op, GUARD=guard, BLOCK=64)  # noqa: E731
    return run(False), run(True)


@row("shifts", 3403, "32 bits")
def shift_by_too_much():
    return operation("shift")


@row("divides", 3404, "zero")
def division_by_zero():
    return operation("divide")


@row("converts", 3406, "cannot hold it")
def float_too_large():
    return operation("convert")


@triton.jit
def smallest(x, y, by):
    tl.store(y, tl.load(x) // by)


@row("divides", 3405, "divided by -1")
def smallest_by_minus_one():
    y = torch.zeros(1, dtype=torch.int32)
    low, other = torch.tensor([-2**31], dtype=torch.int32), torch.tensor([-2**31 + 1], dtype=torch.int32)
    return (lambda: smallest[(1, )](low, y, -1)), (lambda: smallest[(1, )](other, y, -1))


# ---- progress
@triton.jit
def ticket(lock, out, RELEASE: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.debug_barrier()
    if RELEASE:
        tl.atomic_xchg(lock, 0)


@row("progress", 3407, "waits for something")
def lock_never_released():
    def run(release):
        def call():
            ticket[(3, )](torch.zeros(1, dtype=torch.int32), torch.zeros(1), RELEASE=release)
        return call

    return run(False), run(True)


@triton.jit
def wait_for(flag, out, FIRST: tl.constexpr):
    me = tl.program_id(0)
    setter = 0 if FIRST else 1
    if me == setter:
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_add(flag, 0) == 0:
            pass
        tl.store(out, 1.0)


# ---- schedules
@triton.jit
def order_of_arrival(counter, out):
    at = tl.atomic_add(counter, 1)
    tl.store(out + tl.program_id(0), at)


@triton.jit
def arrival_count(counter, out):
    tl.atomic_add(counter, 1)
    tl.store(out + tl.program_id(0), 1)


@row("schedules", 3501, "in reverse order", lines=False)
def result_is_the_order():
    def run(kernel):
        return lambda: kernel[(4, )](torch.zeros(1, dtype=torch.int32), torch.zeros(4, dtype=torch.int32))

    return run(order_of_arrival), run(arrival_count)


@triton.jit
def count_programs(counter, STEPS: tl.constexpr):
    if STEPS == 1:
        tl.atomic_add(counter, 1)
    else:
        tl.atomic_xchg(counter, tl.atomic_add(counter, 0) + 1)


@row("schedules", 3501, "round robin", lines=False)
def sum_in_two_steps():
    run = lambda steps: lambda: count_programs[(4, )](torch.zeros(1, dtype=torch.int32), STEPS=steps)  # noqa: E731
    return run(2), run(1)


# ---- numerics
@triton.jit
def four_scales(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * A * B * C * D)


@row("numerics", 3502, "denormals=keep", lines=False)
def product_that_is_subnormal_on_the_way():
    x, y = torch.ones(64), torch.empty(64)
    run = lambda *scales: lambda: four_scales[(1, )](x, y, *scales, BLOCK=64)  # noqa: E731
    return run(2.0**-100, 2.0**-40, 2.0**100, 2.0**40), run(2.0**-100, 2.0**100, 2.0**-40, 2.0**40)


@triton.jit
def square_product(a, b, c, N: tl.constexpr):
    at = tl.arange(0, N)
    square = at[:, None] * N + at[None, :]
    tl.store(c + square, tl.dot(tl.load(a + square), tl.load(b + square), input_precision="ieee"))


@row("numerics", 3502, "matrix=pairwise", lines=False)
def sum_in_which_large_products_cancel():
    def run(large):
        a, b, c = torch.rand(16, 16), torch.ones(16, 16), torch.empty(16, 16)
        a[:, 2], a[:, 5] = large, -large
        return lambda: square_product[(1, )](a, b, c, N=16)

    return run(2.0**28), run(2.0)
