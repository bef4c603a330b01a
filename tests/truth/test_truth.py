# SPDX-License-Identifier: MIT
"""MLX's kernels, as Apple's compiler made them, on the virtual GPU against NumPy. TM_TEST_DATA is the folder
that .ci/test-data fills; without it these tests are skipped. Every case runs on one host thread and on all."""
import os
import pathlib

import pytest

import triton_metal
from tables import FAMILIES
from harness import run

folder = os.environ.get("TM_TEST_DATA")
VERSIONS = ("14", "15", "26")
loaded = {}


def library(version):
    if not folder:
        pytest.skip("TM_TEST_DATA is not set")
    path = pathlib.Path(folder) / f"mlx-{version}.metallib"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    if version not in loaded:
        loaded[version] = triton_metal.load(path.read_bytes())
    return loaded[version]


CASES = [pytest.param(case, id=f"{family}-{case.id}") for family, cases in FAMILIES.items() for case in cases]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", VERSIONS)
def test_kernel(version, case):
    for host_threads in (1, 0):
        run(library(version), case, host_threads)
