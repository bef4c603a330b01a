# SPDX-License-Identifier: MIT
"""The mutation table: the tests of the checks without one report after the other (`-3301` in the list of checks).
Each must make a test fail; a report that nothing misses is one that nothing tests. Prints a row per code;
exit status 1 when one survives.

    python tests/checks/mutations.py build/tests/vgpu/test_vgpu_checks"""
import os
import pathlib
import re
import subprocess
import sys

os.environ.setdefault("TRITON_BACKEND", "metal")
os.environ["TRITON_METAL_MAX_STEPS"] = "1000000"

import pytest  # noqa: E402
import test_checks  # noqa: E402
import triton_metal  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
NO_CHECK = {3402: "a promise of the compiler", 3408: "a limit of the virtual GPU"}  # cannot be left out


def codes():
    rows = re.findall(r"^DIAG\((3[1-9]\d\d),", (ROOT / "src/base/diag.def").read_text(), re.M)
    return [code for code in sorted({int(code) for code in rows}) if code not in NO_CHECK]


def killers_in_c(tests, without):
    """Names of the C tests that fail. One that never ends fails too: without the step limit a loop is endless."""
    with subprocess.Popen([tests], env=dict(os.environ, TM_TEST_WITHOUT=without), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.communicate(timeout=3)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return ["test_endless_loop"]
    return sorted(set(re.findall(r"FAILED  \] (test_\w+)", said)))


def killers_in_python(code, without):
    found = []
    test_checks.WITHOUT = without
    for row in test_checks.corpus.ROWS:
        if row.code != code:
            continue
        try:
            test_checks.judge(row)
        except (AssertionError, pytest.fail.Exception):
            found.append(row.name)
    return found


def main():
    survived = 0
    print("| code | tests that fail without it |\n|---|---|")
    for code in codes():
        with triton_metal.check(f"none,-{code}"):
            test_checks.corpus.ROWS[0].twin()  # the list takes this code
        killers = killers_in_c(sys.argv[1], f"-{code}") + killers_in_python(code, f"-{code}")
        survived += not killers
        print(f"| {code} | {', '.join(f'`{name}`' for name in killers) or '**none**'} |")
    sys.exit(survived > 0)


if __name__ == "__main__":
    main()
