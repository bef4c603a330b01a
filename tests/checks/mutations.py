# SPDX-License-Identifier: MIT
"""The mutation table: the corpus without one check after the other. Each must make a test fail; a check that
nothing misses is a check that nothing tests. Prints one row per check; exit status 1 when one survives.
Checks that Triton cannot express are taken away in tests/vgpu/test_checks.c, which asserts the same."""
import os
import subprocess
import sys

import test_checks

IN_C = ("barriers", "exits", "lanes")


def failures(without):
    env = dict(os.environ, TRITON_METAL_TEST_WITHOUT=without, TRITON_METAL_MAX_STEPS="1000000")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "broken", "test_checks.py"]
    done = subprocess.run(command, cwd=os.path.dirname(os.path.abspath(__file__)), env=env, capture_output=True, text=True)
    return [line.split("[")[1].split("]")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]


def main():
    survived = []
    for name in test_checks.NAMES:
        if name in IN_C:
            print(f"{name:10} tests/vgpu/test_checks.c")
            continue
        killers = failures(name)
        print(f"{name:10} {', '.join(killers) or 'SURVIVED'}")
        survived += [] if killers else [name]
    sys.exit(bool(survived))


if __name__ == "__main__":
    main()
