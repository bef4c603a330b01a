# SPDX-License-Identifier: MIT
"""Attention of mps-flash-attn 0.6.3, whose kernels move tiles by simdgroup_async_copy, against NumPy, under
all checks. One kernel for each size of a head; its lengths are function constants."""
import re

import numpy as np
import pytest

import triton_metal
from libraries import library

HEADS = {0: 64, 1: 96, 2: 80, 3: 32, 4: 128, 15: 32, 16: 48, 17: 48, 18: 96, 19: 128, 20: 64, 31: 80}


@pytest.mark.parametrize("rows, columns", [(70, 90), (32, 32), (5, 131)])
@pytest.mark.parametrize("number", HEADS)
def test_attention(number, rows, columns):
    lib, size = library(number, "small/flash"), HEADS[number]
    dtype = np.float32 if lib.info(0)["args"][0]["type"] == "float" else np.float16
    rng = np.random.default_rng(number)
    q, k, v = (rng.standard_normal((n, size)).astype(dtype) for n in (rows, columns, columns))
    out, sums = np.full((rows, size), 7, dtype), np.zeros(rows, dtype)
    kernel = lib.kernel(0, {"R": rows, "C": columns}, "all")
    try:
        kernel.launch((-(-rows // 32), 1, 1), (128, 1, 1), {0: q, 1: k, 2: v, 3: out, 4: sums}, {0: 32768}, 1)
    except triton_metal.Error as error:  # docs/checks.md tells why
        assert set(re.findall(r"error (TM\d+)", str(error))) <= {"TM3302", "TM3107"}
    scores = q.astype(float) @ k.astype(float).T / size**.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    total = weights.sum(1, keepdims=True)
    step = 2e-6 if dtype == np.float32 else 4e-3
    assert np.abs(out - weights / total @ v.astype(float)).max() < step
    assert np.abs(sums - (np.log(total[:, 0]) + scores.max(1)) * np.log2(np.e)).max() < step
