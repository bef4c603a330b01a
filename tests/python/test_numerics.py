# SPDX-License-Identifier: MIT
"""What Apple leaves open of arithmetic: each choice through Triton kernels whose results it decides, the ways
to name choices, and the table in the documentation."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import triton_metal
from triton_metal import _core

ROOT = pathlib.Path(__file__).parents[2]


@triton.jit
def product_kernel(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * tl.load(y + at))


@triton.jit
def cast_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(out.dtype.element_ty))


@triton.jit
def dot_kernel(a, b, c, N: tl.constexpr):
    at = tl.arange(0, N)
    square = at[:, None] * N + at[None, :]
    tl.store(c + square, tl.dot(tl.load(a + square), tl.load(b + square), input_precision="ieee"))


def product(x, y):
    """x * y in f32, as one number."""
    x, y, out = torch.full((32, ), x), torch.full((32, ), y), torch.empty(32)
    product_kernel[(1, )](x, y, out, N=32)
    assert (out == out[0]).all()
    return float(out[0])


def cast(x, dtype):
    x, out = torch.full((32, ), x), torch.empty(32, dtype=dtype)
    cast_kernel[(1, )](x, out, N=32)
    return int(out[0])


def dot(size=16):
    g = torch.Generator().manual_seed(1)
    a, b, c = torch.rand(size, size, generator=g) - 0.5, torch.rand(size, size, generator=g) - 0.5, torch.empty(size, size)
    dot_kernel[(1, )](a, b, c, N=size)
    assert torch.allclose(c, a @ b, rtol=1e-5, atol=1e-6)
    return c


def test_subnormals_are_flushed_unless_kept():
    assert product(2.0**-100, 2.0**-40) == 0
    with triton_metal.numerics(denormals="keep"):
        assert product(2.0**-100, 2.0**-40) == 2.0**-140
    with triton_metal.numerics(denormals="flush"):
        assert product(2.0**-100, 2.0**-40) == 0
    assert product(2.0**-100, 2.0**-40) == 0


@pytest.mark.parametrize("value, dtype, saturate, wide, wrap, poison", [
    (300.0, torch.int8, 127, 44, 44, -91), (3e9, torch.int32, 2**31 - 1, 2**31 - 1, 3 * 10**9 - 2**32, -0x5A5A5A5B),
    (-5.0, torch.uint8, 0, 0, 251, 0xA5), (1e10, torch.int16, 32767, -1, 0xE400 - 65536, -0x5A5B), (9.5, torch.int8, 9, 9, 9, 9)])
def test_floats_that_do_not_fit(value, dtype, saturate, wide, wrap, poison):
    assert cast(value, dtype) == saturate
    for choice, want in dict(saturate=saturate, wide=wide, wrap=wrap, poison=poison).items():
        with triton_metal.numerics(convert=choice):
            assert cast(value, dtype) == want


def test_orders_of_matrix_products():
    """All near PyTorch's result (dot() judges that), and in f32 different but for the first two."""
    default, seen = dot(), {}
    for choice in ("sequential", "stepwise", "pairwise", "wide"):
        with triton_metal.numerics(matrix=choice):
            seen[choice] = dot()
    assert torch.equal(default, seen["sequential"]) and torch.equal(default, seen["stepwise"])
    assert not torch.equal(default, seen["pairwise"]) and not torch.equal(default, seen["wide"])
    assert not torch.equal(seen["pairwise"], seen["wide"])


def test_fmuladd_of_apples_own_kernels():
    """Dequantisation is scale * q + bias. This compiler writes no fmuladd itself."""
    folder = os.environ.get("TM_TEST_DATA")
    if not folder:
        pytest.skip("TM_TEST_DATA is not set")
    library = triton_metal.load((pathlib.Path(folder) / "mlx-15.metallib").read_bytes())
    kernel = library.kernel("affine_dequantize_float_gs_32_b_4")
    packed = np.full(4, 0x33333333, np.uint32)  # 32 times 3
    scale, bias, out = np.float32([1 / 3]), np.float32([-1]), np.zeros(32, np.float32)

    def run():
        kernel.launch((1, 1, 1), (16, 1, 1), {0: packed, 1: scale, 2: bias, 3: out})
        assert (out == out[0]).all()
        return float(out[0])

    fused = float(scale[0]) * 3 - 1  # exact in f64
    assert fused != 0 and run() == fused
    with triton_metal.numerics(fmuladd="split"):
        assert run() == 0
    with triton_metal.numerics(fmuladd="fuse"):
        assert run() == fused


def test_settings_nest_and_end():
    with triton_metal.numerics("convert=wrap"):
        with triton_metal.numerics(denormals="keep"):
            assert product(2.0**-100, 2.0**-40) == 2.0**-140 and cast(300.0, torch.int8) == 44
            with triton_metal.check("none"):
                assert product(2.0**-100, 2.0**-40) == 2.0**-140
            with triton_metal.profile() as counted:
                assert product(2.0**-100, 2.0**-40) == 2.0**-140
            assert len(counted.launches) == 1
        assert product(2.0**-100, 2.0**-40) == 0 and cast(300.0, torch.int8) == 44
    assert cast(300.0, torch.int8) == 127
    with pytest.raises(RuntimeError):
        with triton_metal.numerics(denormals="keep"):
            raise RuntimeError
    assert product(2.0**-100, 2.0**-40) == 0


def test_kernels_of_a_library_have_their_own(tmp_path):
    made = triton_metal.load(product_kernel.warmup(torch.float32, torch.float32, torch.float32, N=32, grid=(1, )).asm["metallib"])
    kernel = made.kernel(0, numerics="denormals=keep")
    assert "denormals = keep" in kernel.listing()
    x, out = np.full(32, 2.0**-70, np.float32), np.zeros(32, np.float32)

    def run():
        kernel.launch((1, 1, 1), (128, 1, 1), {0: x, 1: x, 2: out})
        return float(out[0])

    assert run() == 2.0**-140
    with triton_metal.numerics(denormals="flush"):  # what is set later counts
        assert run() == 0
    with triton_metal.numerics(fmuladd="split"):
        assert run() == 2.0**-140


@pytest.mark.parametrize("options, code, names", [
    (dict(denormal="keep"), "TM5908", "denormals, fmuladd, convert, matrix"),
    (dict(denormals="kept"), "TM5909", "flush, keep"),
    (dict(choices="matrix"), "TM5909", "sequential, stepwise, pairwise, wide")])
def test_unknown_names_are_refused_with_those_there_are(options, code, names):
    with triton_metal.numerics(denormals="keep"):
        with pytest.raises(triton_metal.Error, match=code) as e:
            with triton_metal.numerics(**options):
                pass
        assert names in str(e.value)
        assert product(2.0**-100, 2.0**-40) == 2.0**-140


def test_check_names_the_choices_that_matter():
    with triton_metal.check("numerics"):
        assert cast(9.5, torch.int8) == 9
        dot()
        with pytest.raises(triton_metal.LaunchError) as e:
            cast(300.0, torch.int8)
    found = [re.search(r"differs with (\S+)", d.message)[1] for d in e.value.diagnostics]
    assert found == ["convert=wide", "convert=wrap", "convert=poison"]
    with triton_metal.check("numerics"), triton_metal.numerics(convert="wrap"), pytest.raises(triton_metal.LaunchError) as e:
        cast(300.0, torch.int8)
    found = [re.search(r"differs with (\S+)", d.message)[1] for d in e.value.diagnostics]
    assert found == ["convert=saturate", "convert=poison"]
    with triton_metal.check("all"), pytest.raises(triton_metal.LaunchError) as e:
        cast(300.0, torch.int8)
    assert [d.code for d in e.value.diagnostics] == [3406]


PROGRAM = """
import test_numerics
print(test_numerics.product(2.0**-100, 2.0**-40), test_numerics.cast(300.0, test_numerics.torch.int8))
"""


def test_environment():
    def run(choices):
        env = dict(os.environ, TRITON_METAL_NUMERICS=choices)
        return subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)

    assert run("denormals=keep,convert=wide").stdout.split() == [str(2.0**-140), "44"]
    assert "TM5908" in run("denormal=keep").stderr


def test_documentation_has_the_table():
    """docs/vgpu.md: one row for each choice, and what the options are about, in the words of numerics.def."""
    page = (ROOT / "docs" / "vgpu.md").read_text()
    rows = re.findall(r"^\| `(\w+)=(\w+)`( \(default\))? \| (.*) \|$", page, re.M)
    assert [(o, c, bool(d), text) for o, c, d, text in rows] == [row[:4] for row in _core.numeric_choices()]
    flat = " ".join(page.split())
    for option, _, _, _, what, evidence in _core.numeric_choices():
        assert f"- **{option}**: {what}. {evidence}." in flat
