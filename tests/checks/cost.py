# SPDX-License-Identifier: MIT
"""What the checks cost: softmax and matmul on one host core, times the time with bounds only. Best of five."""
import os
import sys
import time

os.environ["TRITON_BACKEND"] = "metal"
os.environ["TRITON_METAL_THREADS"] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))

import torch  # noqa: E402
import vgpu  # noqa: E402

import triton_metal  # noqa: E402

LISTS = ("bounds", "align", "races", "uninit", "lanes", "converts", "progress", "schedules", "all")


def best(call, checks):
    times = []
    with triton_metal.check(checks):
        for _ in range(6):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return min(times[1:])


def main():
    torch.set_num_threads(1)
    for name, call in (("softmax 1024", vgpu.softmax_case()), ("matmul 256", vgpu.matmul_case(256))):
        base = best(call, "bounds,barriers")
        factors = {c: best(call, c if c == "all" else f"bounds,{c}") / base for c in LISTS}
        print(f"{name:12} {base * 1e3:7.2f} ms  " + "  ".join(f"{c} {f:.2f}x" for c, f in factors.items()))


if __name__ == "__main__":
    main()
