# SPDX-License-Identifier: MIT
"""The pytest plugin: `pytest --metal-check` runs each test with all checks of the virtual GPU on,
`--metal-checks=races,bounds` with those. A test marked `metal_check("bounds")` gets its own."""
import pytest


def pytest_addoption(parser):
    group = parser.getgroup("triton-metal")
    group.addoption("--metal-check", action="store_const", const="all", dest="metal_check",
                    help="run kernels with all checks of triton-metal's virtual GPU")
    group.addoption("--metal-checks", metavar="LIST", dest="metal_check",
                    help="run kernels with these checks: names separated by commas")


def pytest_configure(config):
    config.addinivalue_line("markers", "metal_check(checks): the virtual GPU's checks for this test")


@pytest.fixture(autouse=True)
def _metal_check(request):
    mark = request.node.get_closest_marker("metal_check")
    checks = mark.args[0] if mark else request.config.getoption("metal_check", None)
    if checks is None:
        yield
        return
    from . import check
    with check(checks):
        yield
