# SPDX-License-Identifier: MIT
"""MLX's kernels, as Apple's compiler made them, on the virtual GPU against NumPy: every case on one host
thread and on all, a fifth of them for other versions of the compiler, and some on each instruction set."""
import pytest

import triton_metal

from harness import run
from libraries import library
from tables import FAMILIES

CASES = [(family, case) for family, cases in FAMILIES.items() for case in cases]
NAMES = [f"{family}-{case.id}" for family, case in CASES]


@pytest.mark.parametrize("host_threads", [1, 0], ids=["one", "all"])
@pytest.mark.parametrize("case", [case for _, case in CASES], ids=NAMES)
def test_kernel(case, host_threads):
    run(library("15"), case, host_threads)


@pytest.mark.parametrize("version", ["14", "26"])
@pytest.mark.parametrize("case", [case for _, case in CASES[::5]], ids=NAMES[::5])
def test_other_compiler(case, version):
    run(library(version), case, 1)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "base", "neon"])
@pytest.mark.parametrize("case", [case for _, case in CASES[::20]], ids=NAMES[::20])
def test_other_instruction_set(case, isa, monkeypatch):
    monkeypatch.setenv("TRITON_METAL_ISA", isa)
    if triton_metal.isa() != isa:
        pytest.skip(f"this host has no {isa}")
    run(library("15"), case, 1)


def test_enough_kernels():
    assert len({case.kernel for _, case in CASES}) >= 200
    assert all(len(cases) >= 3 for cases in FAMILIES.values())
