# SPDX-License-Identifier: MIT
"""The pytest plugin: `pytest --metal-check` runs each test with all checks of the virtual GPU on,
`--metal-check=races,bounds` with those. A test that is marked `metal_check("bounds")` gets its own."""
import pytest


def pytest_addoption(parser):
    parser.addoption("--metal-check", nargs="?", const="all", default=None, metavar="CHECKS",
                     help="run kernels with these checks of triton-metal's virtual GPU (all if none are named)")


def pytest_configure(config):
    config.addinivalue_line("markers", "metal_check(checks): the virtual GPU's checks for this test")


@pytest.fixture(autouse=True)
def _metal_check(request):
    mark = request.node.get_closest_marker("metal_check")
    checks = mark.args[0] if mark else request.config.getoption("--metal-check")
    if checks is None:
        yield
        return
    from . import check
    with check(checks):
        yield
