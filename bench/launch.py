# SPDX-License-Identifier: MIT
"""What a launch costs in the launcher: an empty kernel through Triton with the real launcher and with one
that does nothing, and the launcher called by itself. Microseconds, best of seven rounds."""
import time

import numpy as np
import torch
import triton
import triton.language as tl
from rich.console import Console
from rich.table import Table


@triton.jit
def empty_kernel():
    pass


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pass


def microseconds(call, repeats=10000, rounds=7):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        best = min(best, time.perf_counter_ns() - start)
    return best / repeats / 1000


def measure(kernel, args, constants):
    """(through Triton, the same with a null launcher, launcher alone)."""
    def launch():
        kernel[(1, )](*args, **constants)

    launch()
    compiled = kernel.warmup(*args, **constants, grid=(1, ))
    compiled._init_handles()
    real = compiled._run
    through = microseconds(launch)
    compiled._run = lambda *all_args: None
    null = microseconds(launch)
    compiled._run = real
    hook = triton.knobs.runtime.launch_enter_hook
    every = (1, 1, 1, 0, compiled.function, compiled.packed_metadata, None, hook, hook, *args, *constants.values())
    return through, null, microseconds(lambda: real(*every))


def main():
    tensor, array = torch.zeros(128), np.zeros(128, np.float32)
    cases = {
        "empty": (empty_kernel, (), {}),
        "3 tensors, 1 integer": (add_kernel, (tensor, tensor, tensor, 100), dict(BLOCK=128)),
        "3 NumPy arrays, 1 integer": (add_kernel, (array, array, array, 100), dict(BLOCK=128)),
    }
    table = Table("kernel", "through Triton", "null launcher", "difference", "launcher alone", title="us per launch")
    results = {}
    for name, case in cases.items():
        through, null, alone = results[name] = measure(*case)
        table.add_row(name, f"{through:.2f}", f"{null:.2f}", f"{through - null:.2f}", f"{alone:.2f}")
    Console(width=120).print(table)
    through, null, _ = results["empty"]
    print(f"LAUNCH_OVERHEAD_US: {through - null:.2f}")
    print(f"LAUNCH_TOTAL_US: {through:.2f}")


if __name__ == "__main__":
    main()
