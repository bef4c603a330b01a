# SPDX-License-Identifier: MIT
"""The pytest plugin: `pytest --metal-check` runs each test with all checks of the virtual GPU on,
`--metal-checks=races,bounds` with those, `--metal-numerics=denormals=keep` with other choices of arithmetic.
A test marked `metal_check("bounds")` gets its own checks."""
from contextlib import ExitStack

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("triton-metal")
    group.addoption("--metal-check", action="store_const", const="all", dest="metal_check",
                    help="run kernels with all checks of triton-metal's virtual GPU")
    group.addoption("--metal-checks", metavar="LIST", dest="metal_check",
                    help="run kernels with these checks: names separated by commas")
    group.addoption("--metal-numerics", metavar="LIST", dest="metal_numerics",
                    help="run kernels with these choices of what Apple leaves open, as denormals=keep,fmuladd=split")


def pytest_configure(config):
    config.addinivalue_line("markers", "metal_check(checks): the virtual GPU's checks for this test")


@pytest.fixture(autouse=True)
def _metal_check(request):
    mark = request.node.get_closest_marker("metal_check")
    checks = mark.args[0] if mark else request.config.getoption("metal_check", None)
    choices = request.config.getoption("metal_numerics", None)
    with ExitStack() as stack:
        if checks is not None or choices is not None:
            from . import check, numerics
            if checks is not None:
                stack.enter_context(check(checks))
            if choices is not None:
                stack.enter_context(numerics(choices))
        yield
