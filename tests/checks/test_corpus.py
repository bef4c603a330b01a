# SPDX-License-Identifier: MIT
"""Each broken kernel is found by its check alone and among all, and not without; each twin is silent under
all. TRITON_METAL_TEST_WITHOUT names checks to leave out: tests/checks/mutations.py uses it."""
import os

import pytest

import corpus
import triton_metal

NAMES = ("bounds", "align", "races", "uninit", "barriers", "exits", "lanes", "shifts", "divides", "converts", "progress",
         "schedules")
WITHOUT = os.environ.get("TRITON_METAL_TEST_WITHOUT", "").split(",")
ALL = ",".join(name for name in NAMES if name not in WITHOUT)


def alone(check):
    return check if check not in WITHOUT else "none"


def by_name(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


@by_name(corpus.ROWS)
def test_broken_is_found(row):
    for checks in (alone(row.check), ALL):
        with triton_metal.check(checks), pytest.raises(triton_metal.LaunchError) as caught:
            row.broken()
        found = [d for d in caught.value.diagnostics if d.code == row.code and row.says in d.message]
        assert found, str(caught.value)
        if row.lines:
            assert found[0].file == corpus.__file__ and found[0].line > 0
            assert "threadgroup (" in found[0].note and "simdgroup" in found[0].note


@by_name(corpus.ROWS)
def test_twin_is_silent(row):
    with triton_metal.check(ALL):
        row.twin()


@by_name([row for row in corpus.ROWS if row.check not in ("bounds", "progress")])
def test_no_check_no_report(row):
    with triton_metal.check("bounds,barriers"):
        row.broken()


def test_every_check_of_the_list_has_a_broken_kernel():
    elsewhere = {"barriers", "exits", "lanes"}  # tests/vgpu/test_checks.c: Triton cannot express them
    assert {row.check for row in corpus.ROWS} | elsewhere == set(NAMES)


def test_unknown_check_is_refused():
    with triton_metal.check("everything"), pytest.raises(triton_metal.LaunchError, match="TM5903"):
        corpus.ROWS[0].twin()
