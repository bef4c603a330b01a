# SPDX-License-Identifier: MIT
"""Runs the golden tests of a folder: each .mlir file says in `// RUN:` lines what to do with itself.

In a RUN line, %s is the file, %t a scratch file, tm-emit the tool given on the command line (in the
emulator that Meson names, if it does); a line passes when its last command does (as in lit: pipes,
`not` inverts). FileCheck is the PyPI package.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run_file(tool: str, path: pathlib.Path, scratch: str) -> str | None:
    lines = re.findall(r"// RUN: (.*)", path.read_text())
    if not lines:
        return "no RUN line"
    for i, line in enumerate(lines):
        if any(t in line and not shutil.which(t) for t in ("llvm-as-14", "opt-14")):
            continue  # LLVM's opinion is asked where there is one
        command = line.replace("%s", str(path)).replace("%t", f"{scratch}/{path.stem}.{i}")
        command = re.sub(r"\bnot ([^|]*)", r"{ ! \1; }", command)
        script = f'tm-emit() {{ $MESON_EXE_WRAPPER "{tool}" "$@"; }}; set -o pipefail; {command}'
        path_variable = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              env=os.environ | {"PATH": path_variable})
        if done.returncode:
            return f"{command}\n{done.stdout}{done.stderr}"
    return None


def main() -> int:
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        files = sorted(folder.glob(sys.argv[3] if len(sys.argv) > 3 else "*.mlir"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda path: run_file(tool, path, scratch), files))
        for path, why in zip(files, results):
            if why:
                failed += 1
                print(f"FAIL {path.name}\n{why}")
        print(f"{len(files) - failed} of {len(files)} pass")
    return 1 if failed or not files else 0


sys.exit(main())
