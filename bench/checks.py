# SPDX-License-Identifier: MIT
"""What the checks cost: softmax and matmul on one host core, times the time with bounds only. Best of ten, the
lists taken in turn, so that a busy host slows all alike."""
import os
import time

os.environ["TRITON_BACKEND"] = "metal"
os.environ["TRITON_METAL_THREADS"] = "1"

import torch  # noqa: E402
import vgpu  # noqa: E402

import triton_metal  # noqa: E402

BASE = "bounds,barriers"
LISTS = ("align", "races", "uninit", "lanes", "converts", "progress", "schedules", "all")


def best_times(call, rounds=10):
    """Seconds by list of checks."""
    best = {}
    for _ in range(rounds + 1):
        for checks in (BASE, ) + LISTS:
            with triton_metal.check(checks if checks in (BASE, "all") else f"{BASE},{checks}"):
                call()
                start = time.perf_counter()
                call()
                best[checks] = min(best.get(checks, 1e9), time.perf_counter() - start)
    return best


def main():
    torch.set_num_threads(1)
    for name, call in (("softmax 1024", vgpu.softmax_case()), ("matmul 256", vgpu.matmul_case(256))):
        times = best_times(call)
        base = times.pop(BASE)
        factors = {c: t / base for c, t in times.items()}
        print(f"{name:12} {base * 1e3:7.2f} ms  " + "  ".join(f"{c} {f:.2f}x" for c, f in factors.items()))
        print(f"CHECKS_ALL_{name.split()[0].upper()}: {factors['all']:.2f}")


if __name__ == "__main__":
    main()
