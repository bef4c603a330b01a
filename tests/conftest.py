# SPDX-License-Identifier: MIT
"""Every test runs on the virtual GPU, with a compile cache of its own run, so that nothing an earlier
build compiled is used."""
import os
import tempfile

os.environ.setdefault("TRITON_BACKEND", "metal")
if "TRITON_METAL_TEST_CACHE" not in os.environ:
    os.environ["TRITON_METAL_TEST_CACHE"] = tempfile.mkdtemp(prefix="triton-metal-test-")
os.environ["TRITON_CACHE_DIR"] = os.environ["TRITON_METAL_TEST_CACHE"]

import pytest  # noqa: E402
import torch  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)
