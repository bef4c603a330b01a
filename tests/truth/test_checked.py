# SPDX-License-Identifier: MIT
"""MLX's kernels under all checks. They are silent, but for the findings listed here. One case of each
family and a sample; with TM_TEST_FULL=1 every case."""
import dataclasses
import os
import re

import pytest

import triton_metal
from harness import run
from libraries import library
from tables import FAMILIES

STEP = 1 if os.environ.get("TM_TEST_FULL") == "1" else 9
CASES = [case for cases in FAMILIES.values() for n, case in enumerate(cases) if n == 0 or n % STEP == 1]

# What the checks find in some launches of these kernels, and in those of the example always.
FINDINGS = [
    # The sums of 32 simdgroups are read whether they ran or not; what nobody wrote is not added.
    ("contig_scan_", "TM3107", "contig_scan_inclusive_sum_int32_int32-300"),
    # The first lane of each simdgroup puts its sums down, meets the others at a barrier and adds them.
    (r"gemv_\w+_bm1_bn8_", "TM3201", "gemv_float32_bm1_bn8_sm1_sn32_tm4_tn4_nc0_axpby1-37x1100"),
    # Lanes past the last column skip the loop with its barrier, which asks for no memory to be ordered.
    ("gemv_t_", "TM3201", "gemv_t_float32_bm1_bn2_sm8_sn4_tm4_tn4_nc0_axpby0-75x130"),
    # Lanes past the last row have returned; sums that count do not take theirs.
    ("gemv_", "TM3206", "gemv_float32_bm1_bn1_sm8_sn4_tm4_tn4_nc0_axpby0-130x50-3"),
]


def codes(case):
    """Of the reports of one case; its results are judged when there are none."""
    try:
        run(library("15"), dataclasses.replace(case, checks="all"), 1)
    except triton_metal.Error as error:
        return set(re.findall(r"error (TM\d+)", str(error)))
    return set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_silent(case):
    assert codes(case) <= {code for pattern, code, _ in FINDINGS if re.match(pattern, case.kernel)}


@pytest.mark.parametrize("code, example", [row[1:] for row in FINDINGS])
def test_finding(code, example):
    case, = [case for cases in FAMILIES.values() for case in cases if case.id == example]
    assert code in codes(case)
