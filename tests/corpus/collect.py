# SPDX-License-Identifier: MIT
"""Collects raw TTIR modules of real libraries' kernels: python collect.py OUT_DIR [SOURCE ...]

Sources: liger, fla, inductor. OUT_DIR gets one .ttir per distinct module and manifest.jsonl.
"""
import os
import sys

os.environ.setdefault("FLA_CI_ENV", "1")

import capture
import libraries


def main(out, *sources):
    capture.start(out)
    libraries.limit_autotuning()
    for name in sources or ("liger", "fla", "inductor"):
        before = capture.count()
        capture.source(name)
        getattr(libraries, name)()
        print(f"{name}: {capture.count() - before} modules")


if __name__ == "__main__":
    main(*sys.argv[1:])
