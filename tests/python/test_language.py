# SPDX-License-Identifier: MIT
"""Triton's language, element by element, against NumPy and PyTorch: arithmetic, conversions and
comparisons of every type, reductions and scans over every axis, movement, masks, atomics, scalar
control flow, and random expressions."""
import importlib.util
import itertools

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint8, torch.uint16, torch.uint32]
FLOATS = [torch.float16, torch.bfloat16, torch.float32]
N = 256


def numbers(dtype, n=N, seed=0):
    """Values of a type, its extremes among them."""
    rng = np.random.default_rng(seed)
    if dtype == torch.bool:
        return torch.from_numpy(rng.integers(0, 2, n).astype(bool))
    if dtype.is_floating_point:
        x = torch.from_numpy(rng.standard_normal(n).astype(np.float32))
        x[:6] = torch.tensor([0.0, -0.0, 1.0, -1.0, 100.0, -7.5])
        return x.to(dtype)
    info = torch.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=np.int64, endpoint=True)
    x[:5] = [info.min, info.max, 0, 1, 2]
    return torch.from_numpy(x).to(dtype)


def as_numpy(x):
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()


_modules = itertools.count()


def kernels_of(tmp_path, source):
    """A module of kernels: Triton reads their source from a file."""
    path = tmp_path / f"kernels_{next(_modules)}.py"
    path.write_text("import triton\nimport triton.language as tl\n\n\n" + source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BINARY = """@triton.jit
def kernel(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    tl.store(Z + i, {})
"""


# ---- integers
def divide(x, y):
    """C's quotient, on Python's exact integers."""
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


INTEGER_OPS = {"x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y, "x * y": lambda x, y: x * y,
               "x // y": divide, "x % y": lambda x, y: x - divide(x, y) * y, "x & y": lambda x, y: x & y,
               "x | y": lambda x, y: x | y, "x ^ y": lambda x, y: x ^ y,
               "tl.minimum(x, y)": min, "tl.maximum(x, y)": max, "tl.where(x < y, x, y)": min,
               "tl.where(x >= y, x, y)": max, "tl.where(x == y, x, y - x)": lambda x, y: x if x == y else y - x}


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integer_arithmetic(dtype, tmp_path):
    x, divisors = numbers(dtype, seed=1), numbers(dtype, seed=2).long().flip(0)
    divisors[(divisors == 0) | (divisors == -1)] = 3  # the smallest integer has no quotient by -1
    y = divisors.to(dtype)
    bits = torch.iinfo(dtype).bits
    for expression, reference in INTEGER_OPS.items():
        z = torch.zeros_like(x)
        kernels_of(tmp_path, BINARY.format(expression)).kernel[(1, )](x, y, z, N)
        for a, b, got in zip(x.tolist(), y.tolist(), z.tolist()):
            assert (reference(a, b) - got) % 2**bits == 0, (expression, a, b, got)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_shifts(dtype, tmp_path):
    bits = torch.iinfo(dtype).bits
    x = numbers(dtype, seed=3)
    y = torch.arange(N).remainder(bits).to(dtype)
    for expression, reference in {"x << y": lambda a, b: a << b, "x >> y": lambda a, b: a >> b}.items():
        z = torch.zeros_like(x)
        kernels_of(tmp_path, BINARY.format(expression)).kernel[(1, )](x, y, z, N)
        for a, b, got in zip(x.tolist(), y.tolist(), z.tolist()):
            assert (reference(a, b) - got) % 2**bits == 0, (expression, a, b, got)


# ---- floats
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", "+-*/")
def test_float_arithmetic_rounds_once(dtype, op, tmp_path):
    x, y = numbers(dtype, seed=4), numbers(dtype, seed=5).flip(0)
    y[y == 0] = 2
    z = torch.zeros_like(x)
    kernels_of(tmp_path, BINARY.format(f"(x {op} y).to(x.dtype)")).kernel[(1, )](x, y, z, N)
    want = eval(f"x {op} y", {"x": x.double(), "y": y.double()}).to(dtype)
    ulps = (0 if op != "/" else 2) * torch.finfo(dtype).eps
    torch.testing.assert_close(z, want, rtol=ulps, atol=0)


@triton.jit
def compare(X, Y, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    tl.store(Z + i, (x < y).to(tl.int8))
    tl.store(Z + N + i, (x <= y).to(tl.int8))
    tl.store(Z + 2 * N + i, (x == y).to(tl.int8))
    tl.store(Z + 3 * N + i, (x != y).to(tl.int8))
    tl.store(Z + 4 * N + i, (x > y).to(tl.int8))
    tl.store(Z + 5 * N + i, (x >= y).to(tl.int8))


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED + FLOATS)
def test_comparisons(dtype):
    x, y = numbers(dtype, seed=6), numbers(dtype, seed=6)
    y[N // 2:] = numbers(dtype, seed=7)[N // 2:]
    if dtype.is_floating_point:
        x[3], y[4], x[9], y[9] = [float("nan")] * 4
    z = torch.zeros(6, N, dtype=torch.int8)
    compare[(1, )](x, y, z, N)
    a, b = as_numpy(x), as_numpy(y)
    want = np.stack([a < b, a <= b, a == b, a != b, a > b, a >= b])
    assert np.array_equal(z.numpy(), want)


@triton.jit
def extremes(X, Y, Z, N: tl.constexpr, PROPAGATE: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    tl.store(Z + i, tl.minimum(x, y, propagate_nan=PROPAGATE))
    tl.store(Z + N + i, tl.maximum(x, y, propagate_nan=PROPAGATE))


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum_and_maximum_of_nan(dtype):
    x, y, z = numbers(dtype, seed=8), numbers(dtype, seed=9), torch.zeros(2, N, dtype=dtype)
    x[3::7], y[5::11] = float("nan"), float("nan")
    extremes[(1, )](x, y, z, N, tl.PropagateNan.NONE)
    assert torch.equal(torch.isnan(z[0]), torch.isnan(x) & torch.isnan(y))
    torch.testing.assert_close(z, torch.stack([torch.fmin(x, y), torch.fmax(x, y)]), equal_nan=True, rtol=0, atol=0)
    extremes[(1, )](x, y, z, N, tl.PropagateNan.ALL)
    want = torch.stack([torch.minimum(x, y), torch.maximum(x, y)])
    torch.testing.assert_close(z, want, equal_nan=True, rtol=0, atol=0)


@triton.jit
def cast(X, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + i, tl.load(X + i).to(Z.dtype.element_ty))


@pytest.mark.parametrize("source", SIGNED + UNSIGNED + FLOATS + [torch.bool])
def test_conversions(source):
    for target in SIGNED + UNSIGNED + FLOATS:
        x = numbers(source, seed=10)
        if source.is_floating_point and not target.is_floating_point:
            x = x.abs()  # what other integers do with negative or large ones is nobody's promise
        z = torch.zeros(N, dtype=target)
        cast[(1, )](x, z, N)
        if target.is_floating_point and source == torch.int64:
            torch.testing.assert_close(z.double(), x.to(target).double(), rtol=torch.finfo(target).eps, atol=0)
        else:
            assert torch.equal(z, x.to(target)), (source, target)


# ---- reductions and scans
@triton.jit
def reduce(X, Z, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    x = tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == 0:
        z = tl.sum(x, AXIS)
    elif OP == 1:
        z = tl.max(x, AXIS)
    elif OP == 2:
        z = tl.min(x, AXIS)
    elif OP == 3:
        z = tl.argmax(x, AXIS)
    else:
        z = tl.argmin(x, AXIS)
    tl.store(Z + tl.arange(0, N if AXIS == 0 else M), z)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint32] + FLOATS)
@pytest.mark.parametrize("num_warps", [1, 4, 32])
def test_reductions(dtype, num_warps):
    for (m, n), axis in itertools.product([(1, 32), (32, 16), (64, 2), (2, 128)], (0, 1)):
        x = torch.from_numpy(np.random.default_rng(m).integers(0, 8, (m, n))).to(dtype)  # many ties
        a = as_numpy(x)
        wants = [a.sum(axis), a.max(axis), a.min(axis), a.argmax(axis), a.argmin(axis)]
        for op, want in enumerate(wants):
            z = torch.zeros(want.shape, dtype=torch.float32 if dtype.is_floating_point else torch.int64)
            reduce[(1, )](x, z, m, n, axis, op, num_warps=num_warps)
            tolerance = 16 * torch.finfo(dtype).eps if dtype.is_floating_point and op == 0 else 0
            np.testing.assert_allclose(z.numpy(), want, rtol=tolerance, atol=tolerance * m)


@triton.jit
def shift_combine(a1, last1, cur1, a2, last2, cur2):
    return a1 + a2, tl.where(a2 == 1, cur1, 0) + last2, cur2


@triton.jit
def scans(X, Z, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(X + at)
    tl.store(Z + at, tl.cumsum(x, AXIS, reverse=REVERSE))
    _, previous, _ = tl.associative_scan((1 + 0 * x, 0 * x, x), AXIS, shift_combine, reverse=REVERSE)
    tl.store(Z + M * N + at, previous)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("num_warps", [1, 4, 16])
def test_scans(reverse, num_warps):
    # The second scan's operator does not commute, and of its three values two are never used again.
    for (m, n), axis in itertools.product([(8, 2), (16, 32), (64, 2), (1, 256)], (0, 1)):
        x = torch.randint(-99, 99, (m, n), dtype=torch.int32)
        z = torch.zeros(2, m, n, dtype=torch.int32)
        scans[(1, )](x, z, m, n, axis, reverse, num_warps=num_warps)
        straight = x.flip(axis) if reverse else x
        previous = torch.zeros_like(x)
        previous.narrow(axis, 1, x.shape[axis] - 1).copy_(straight.narrow(axis, 0, x.shape[axis] - 1))
        want = torch.stack([straight.cumsum(axis).to(torch.int32), previous])
        assert torch.equal(z, want.flip(axis + 1) if reverse else want), (m, n, axis)


# ---- movement
@triton.jit
def move(X, Z, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr):
    x = tl.load(X + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if KIND == 0:
        z = tl.trans(x).reshape(M * N)
    elif KIND == 1:
        z = tl.flip(x, 1).reshape(M * N)
    elif KIND == 2:
        z = tl.sort(x, 1).reshape(M * N)
    elif KIND == 3:
        a, b = x.reshape(M, N // 2, 2).split()
        z = tl.interleave(b, a).reshape(M * N)
    elif KIND == 4:
        z = tl.join(x, x + 1).permute(2, 0, 1).reshape(2 * M * N)
    else:
        z = x.reshape(N, M).trans().reshape(M * N)
    tl.store(Z + tl.arange(0, z.shape[0]), z)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.int32, torch.int64])
def test_movement(dtype, num_warps):
    for m, n in [(2, 2), (16, 8), (8, 64)]:
        x = torch.randint(-60, 60, (m, n)).to(dtype)
        wants = [x.T, x.flip(1), x.sort(1).values, x.reshape(m, n // 2, 2).flip(2), torch.stack([x, x + 1]),
                 x.reshape(n, m).T]
        for kind, want in enumerate(wants):
            z = torch.zeros(want.numel(), dtype=dtype)
            move[(1, )](x, z, m, n, kind, num_warps=num_warps)
            assert torch.equal(z, want.reshape(-1)), (m, n, kind)


@triton.jit
def transpose_in_place(X, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(X + rows * N + columns, tl.load(X + columns * N + rows))


@pytest.mark.parametrize("num_warps", [1, 4, 16])
@pytest.mark.parametrize("n", [8, 32, 64])
def test_all_is_loaded_before_it_is_stored(n, num_warps):
    x = torch.randn(n, n)
    want = x.T.contiguous()
    transpose_in_place[(1, )](x, n, num_warps=num_warps)
    assert torch.equal(x, want)


@triton.jit
def concatenate(X, Z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Z + tl.arange(0, 2 * N), tl.cat(tl.load(X + i), tl.load(X + N + i), can_reorder=True))


@pytest.mark.parametrize("n", [1, 16, 512])
def test_cat(n):
    x, z = numbers(torch.int32, 2 * n + 6)[:2 * n].contiguous(), torch.zeros(2 * n, dtype=torch.int32)
    concatenate[(1, )](x, z, n)
    assert torch.equal(z, x)


@triton.jit
def one_element(X, A, B):
    a, b = tl.load(X + tl.arange(0, 2)).split()
    tl.store(A, a)
    tl.store(B, b + tl.full((1, ), 5, X.dtype.element_ty).item())


def test_single_elements_become_scalars():
    x, a, b = torch.tensor([3, 4], dtype=torch.int32), torch.zeros(1), torch.zeros(1)
    one_element[(1, )](x, a, b)
    assert (a.item(), b.item()) == (3, 9)


# ---- memory
@triton.jit
def masked(X, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, i < n, other=7)
    tl.store(Z + i, x + 1, (i < n) & (i % 3 != 1))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float16, torch.float32])
@pytest.mark.parametrize("n", [1, 31, 255, 300])
def test_masks(dtype, n):
    x, z = numbers(dtype, n + 6)[:n].contiguous(), torch.zeros(n, dtype=dtype)
    masked[(triton.cdiv(n, 128), )](x, z, n, 128)
    keep = torch.arange(n) % 3 != 1
    assert torch.equal(z, torch.where(keep, x + 1, torch.zeros_like(x)))


@triton.jit
def add_up(P, X, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(P + i * 0, tl.load(X + i))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_atomics_on_a_buffer_of_one_element(dtype, offset):
    # AIR's atomics are 32 bits wide: the word around a 16-bit value reaches past the buffer.
    whole = torch.zeros(8, dtype=dtype)
    add_up[(2, )](whole[offset:offset + 1], torch.ones(64, dtype=dtype), 32)
    want = torch.zeros(8, dtype=dtype)
    want[offset] = 64
    assert torch.equal(whole, want)


# ---- control flow
@triton.jit
def control(Z, N, LIMIT: tl.constexpr):
    n = tl.load(N)
    if n < 0:
        tl.store(Z, -1)
        return
    steps = 0
    while n != 1 and steps < LIMIT:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    pair = (steps, n)
    for k in tl.static_range(2):
        tl.store(Z + k, pair[k])


def test_loops_and_early_returns():
    for n in [-3, 1, 6, 27, 97]:
        z, m, steps = torch.zeros(2, dtype=torch.int32), n, 0
        control[(1, )](z, torch.tensor([n], dtype=torch.int32), 200)
        while m > 1 and steps < 200:
            m, steps = (m // 2 if m % 2 == 0 else 3 * m + 1), steps + 1
        assert z.tolist() == ([-1, 0] if n < 0 else [steps, m])


# ---- random expressions
LEAVES = st.sampled_from(["x", "y", "3", "(x + 1)", "(-7)"])
EXPRESSIONS = st.recursive(LEAVES, lambda inner: st.one_of(
    st.tuples(st.sampled_from("+-*&|^"), inner, inner).map(lambda t: f"({t[1]} {t[0]} {t[2]})"),
    st.tuples(st.sampled_from(["minimum", "maximum"]), inner, inner).map(lambda t: f"tl.{t[0]}(x * 0 + {t[1]}, {t[2]})"),
    st.tuples(inner, inner, inner, inner).map(lambda t: f"tl.where(x * 0 + {t[0]} < {t[1]}, {t[2]}, {t[3]})")),
    max_leaves=8)


class NumpyLanguage:
    minimum, maximum, where = np.minimum, np.maximum, np.where


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(expression=EXPRESSIONS, axis=st.sampled_from([0, 1]), shape=st.sampled_from([(4, 32), (64, 8), (1, 16)]),
       num_warps=st.sampled_from([1, 2, 8]))
def test_random_expressions(expression, axis, shape, num_warps, tmp_path):
    m, n = shape
    kernel = kernels_of(tmp_path, f"""@triton.jit
def kernel(X, Y, Z, W):
    at = tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :]
    x = tl.load(X + at)
    y = tl.load(Y + at)
    z = x * 0 + {expression}
    tl.store(Z + at, z)
    tl.store(W + tl.arange(0, {n if axis == 0 else m}), tl.sum(z, {axis}))
""").kernel
    x, y = (numbers(torch.int32, m * n, seed=s).reshape(m, n) for s in (11, 12))
    z, w = torch.zeros_like(x), torch.zeros(n if axis == 0 else m, dtype=torch.int32)
    kernel[(1, )](x, y, z, w, num_warps=num_warps)
    with np.errstate(over="ignore"):
        want = x.numpy() * 0 + eval(expression, {"x": x.numpy(), "y": y.numpy(), "tl": NumpyLanguage})
    assert np.array_equal(z.numpy(), want.astype(np.int32))
    assert np.array_equal(w.numpy(), want.astype(np.int64).sum(axis).astype(np.int32))
