# SPDX-License-Identifier: MIT
"""PyTorch's kernels for macOS 14, as Apple's compiler made them, on the virtual GPU against PyTorch's own CPU
kernels, under all checks. They are judged where these two are known to be close: f32, and f16 and bf16 that they
compute in f32."""
import numpy as np
import pytest
import torch

from libraries import library

N = 1000
TYPES = {"float": (torch.float32, 2e-5), "half": (torch.float16, 2e-3), "bfloat": (torch.bfloat16, 1.6e-2)}
s = torch.special
# name: function, low, high
UNARY = {
    "abs": (torch.abs, -3, 3), "acos": (torch.acos, -.99, .99), "asin": (torch.asin, -.99, .99), "atan": (torch.atan, -3, 3),
    "bessel_j0_forward": (s.bessel_j0, .1, 9), "bessel_j1_forward": (s.bessel_j1, .1, 9),
    "bessel_y0_forward": (s.bessel_y0, 1, 9), "bessel_y1_forward": (s.bessel_y1, .5, 9), "cos": (torch.cos, -3, 3),
    "cosh": (torch.cosh, -3, 3), "digamma": (torch.digamma, .3, 9), "entr": (s.entr, .1, 3), "erf": (torch.erf, -3, 3),
    "erfc": (torch.erfc, -3, 3), "erfcx": (s.erfcx, -2, 3), "erfinv": (torch.erfinv, -.9, .9), "exp": (torch.exp, -3, 3),
    "exp2": (torch.exp2, -3, 3), "expm1": (torch.expm1, -3, 3), "i0": (torch.i0, -3, 3), "i0e": (s.i0e, -3, 3),
    "i1": (s.i1, -3, 3), "i1e": (s.i1e, -3, 3), "lgamma": (torch.lgamma, .1, 9), "log": (torch.log, .1, 9),
    "log10": (torch.log10, .1, 9), "log1p": (torch.log1p, -.9, 9), "log2": (torch.log2, .1, 9),
    "modified_bessel_i0_forward": (s.modified_bessel_i0, -3, 3), "modified_bessel_k0_forward": (s.modified_bessel_k0, .1, 3),
    "neg": (torch.neg, -3, 3), "reciprocal": (torch.reciprocal, .1, 3), "rsqrt": (torch.rsqrt, .1, 9),
    "scaled_modified_bessel_k1_forward": (s.scaled_modified_bessel_k1, .1, 3), "sigmoid": (torch.sigmoid, -3, 3),
    "sin": (torch.sin, -3, 3), "sinc": (torch.sinc, -3, 3), "sinh": (torch.sinh, -3, 3),
    "spherical_bessel_j0": (s.spherical_bessel_j0, .1, 9), "sqr": (torch.square, -3, 3), "sqrt": (torch.sqrt, 0, 9),
    "tan": (torch.tan, -1, 1), "tanh": (torch.tanh, -3, 3), "trigamma": (lambda x: torch.polygamma(1, x), .3, 9),
}
BINARY = {
    "atan2": (torch.atan2, -3, 3), "copysign": (torch.copysign, -3, 3), "fmax": (torch.fmax, -3, 3),
    "fmin": (torch.fmin, -3, 3), "fmod": (torch.fmod, .5, 9), "hypot": (torch.hypot, -3, 3),
    "igamma": (s.gammainc, .1, 25), "igammac": (s.gammaincc, .1, 25), "logaddexp": (torch.logaddexp, -3, 3),
    "logaddexp2": (torch.logaddexp2, -3, 3), "remainder": (torch.remainder, .5, 9), "xlog1py": (s.xlog1py, .1, 3),
    "xlogy": (torch.xlogy, .1, 3), "zeta": (s.zeta, 1.5, 5), "mul": (torch.mul, -3, 3), "sub": (torch.sub, -3, 3),
}


def stored(x):
    return x.view(torch.int16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


def judge(function, kernel, inputs, out, tolerance, **more):
    want = function(*[x.double() for x in inputs])
    arrays = {0: stored(out)} | {n: stored(x) for n, x in enumerate(inputs, 1)} | more.pop("args", {})
    library("14", "torch").kernel(kernel, {}, "all").launch((-(-N // 256), 1, 1), (256, 1, 1), arrays, {}, 1, 0, (N, 1, 1))
    torch.testing.assert_close(out.double(), want, rtol=tolerance, atol=tolerance, msg=lambda text: f"{kernel}: {text}")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    function, low, high = UNARY[name]
    kind, tolerance = TYPES[dtype]
    x = (torch.rand(N) * (high - low) + low).to(kind)
    judge(function, f"{name}_dense_{dtype}_{dtype}", [x], torch.zeros(N, dtype=kind), tolerance,
          args={2: np.array([N], np.uint32)})


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    function, low, high = BINARY[name]
    kind, tolerance = TYPES[dtype]
    x, y = (torch.rand(2, N) * (high - low) + low).to(kind)
    judge(function, f"{name}_dense_{dtype}_{dtype}", [x, y], torch.zeros(N, dtype=kind), tolerance)
