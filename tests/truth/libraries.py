# SPDX-License-Identifier: MIT
"""The libraries that .ci/test-data fetches into the folder TM_TEST_DATA. Without them tests are skipped."""
import functools
import os
import pathlib

import pytest

import triton_metal


@functools.cache
def found(folder, name):
    path = pathlib.Path(folder) / f"{name}.metallib"
    return triton_metal.load(path.read_bytes()) if path.exists() else None


def library(version, maker="mlx"):
    """By the version of macOS that it was made for."""
    folder = os.environ.get("TM_TEST_DATA")
    if not folder:
        pytest.skip("TM_TEST_DATA is not set")
    lib = found(folder, f"{maker}-{version}")
    if lib is None:
        pytest.skip(f"no {maker}-{version}.metallib")
    return lib
