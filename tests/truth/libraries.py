# SPDX-License-Identifier: MIT
"""The libraries that .ci/test-data fetches into the folder TM_TEST_DATA. Without them tests are skipped."""
import functools
import os
import pathlib

import pytest

import triton_metal

VERSIONS = ("14", "15", "26")  # of macOS


@functools.cache
def found(folder, version):
    path = pathlib.Path(folder) / f"mlx-{version}.metallib"
    return triton_metal.load(path.read_bytes()) if path.exists() else None


def library(version):
    folder = os.environ.get("TM_TEST_DATA")
    if not folder:
        pytest.skip("TM_TEST_DATA is not set")
    lib = found(folder, version)
    if lib is None:
        pytest.skip(f"no mlx-{version}.metallib")
    return lib
