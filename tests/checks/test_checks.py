# SPDX-License-Identifier: MIT
"""Each broken kernel is found by its check alone and among all, and not without; each twin is silent under
all. tests/checks/mutations.py puts a word such as -3301 into WITHOUT, which takes this report out again."""
import os
import subprocess
import sys

import pytest
import torch

import corpus
import triton_metal

NAMES = ("bounds", "align", "races", "uninit", "barriers", "exits", "lanes", "shifts", "divides", "converts", "progress",
         "schedules", "numerics")
WITHOUT = "none"


def by_name(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


def judge(row):
    for checks in (row.check, "all,numerics"):
        with triton_metal.check(f"{checks},{WITHOUT}"), pytest.raises(triton_metal.LaunchError) as caught:
            row.broken()
        found = [d for d in caught.value.diagnostics if d.code == row.code and row.says in d.message]
        assert found, str(caught.value)
        if row.lines:
            assert found[0].file == corpus.__file__ and found[0].line > 0
            assert "threadgroup (" in found[0].note and "simdgroup" in found[0].note


@by_name(corpus.ROWS)
def test_broken_is_found(row):
    judge(row)


@by_name(corpus.ROWS)
def test_twin_is_silent(row):
    with triton_metal.check("all,numerics"):
        row.twin()


@by_name([row for row in corpus.ROWS if row.check not in ("bounds", "progress")])
def test_no_check_no_report(row):
    with triton_metal.check("bounds,barriers"):
        row.broken()


def test_every_check_of_the_list_has_a_broken_kernel():
    elsewhere = {"barriers", "exits", "lanes"}  # tests/vgpu/test_checks.c: Triton cannot express them
    assert {row.check for row in corpus.ROWS} | elsewhere == set(NAMES)


@pytest.mark.parametrize("checks", ["everything", "all,-3402", "-everything"])
def test_unknown_check_is_refused(checks):
    with triton_metal.check(checks), pytest.raises(triton_metal.LaunchError, match="TM5903"):
        corpus.ROWS[0].twin()


@pytest.mark.parametrize("checks", ["all,-races", "races,-3302"])
def test_a_check_or_a_report_is_taken_out(checks):
    row, = (row for row in corpus.ROWS if row.code == 3302)
    with triton_metal.check(checks):
        row.broken()


@pytest.mark.parametrize("overlap", [0, 100])
def test_runs_that_are_compared_start_from_the_same_memory(overlap):
    """What one argument writes, another reads: every run must find it as it was, and leave the first one's result."""
    memory = torch.arange(1000.)
    x, y = memory[overlap:overlap + 256], memory[:256]
    want = memory.clone()
    want[:256] = want[overlap:overlap + 256] + 1
    with triton_metal.check("schedules,numerics", seed=5):
        corpus.add_one[(1, )](x, y, 256, BLOCK=256, MASKED=False, num_warps=1)
    assert torch.equal(memory, want)


PLUGIN_TEST = """
import corpus, pytest, triton_metal

def test_broken():
    corpus.ROWS[2].broken()

@pytest.mark.metal_check("bounds")
def test_broken_with_its_own_checks():
    corpus.ROWS[2].broken()
"""


def test_pytest_plugin(tmp_path):
    (tmp_path / "test_it.py").write_text(PLUGIN_TEST)
    here = os.path.dirname(corpus.__file__)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    for options, failed in (([], 0), (["--metal-check"], 1), (["--metal-checks=bounds"], 0)):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
        assert f"{2 - failed} passed" in done.stdout, done.stdout
        assert (failed == 0) == ("TM3106" not in done.stdout), done.stdout


def test_lines_survive_the_cache():
    """A process that finds the kernel in the cache reports the same line as the one that compiled it."""
    code = ("import corpus, triton_metal\ntry:\n    corpus.ROWS[0].broken()\n"
            "except triton_metal.LaunchError as e:\n    print(e.file, e.line, e.code)")
    run = [sys.executable, "-c", code]
    seen = {subprocess.run(run, capture_output=True, text=True, cwd=os.path.dirname(corpus.__file__),
                           env=dict(os.environ, TRITON_BACKEND="metal")).stdout for _ in range(2)}
    assert len(seen) == 1 and corpus.__file__ in seen.pop()
