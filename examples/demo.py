# SPDX-License-Identifier: MIT
"""Stock Triton kernels on an Apple GPU that nobody here owns: compiled to metallibs, run on the virtual
GPU, checked against PyTorch. Nothing below names triton-metal except the two lines that ask it what
it made."""
import time

import torch
import triton
import triton.language as tl
from rich import box
from rich.console import Console
from rich.table import Table

import triton_metal


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    value = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row + at, power / tl.sum(power, axis=0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        depth = k + tl.arange(0, BK)
        a_tile = tl.load(a + row[:, None] * K + depth[None, :])
        b_tile = tl.load(b + depth[:, None] * N + column[None, :])
        total = tl.dot(a_tile, b_tile, total)
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


def softmax(x):
    y = torch.empty_like(x)
    return y, softmax_kernel[(x.shape[0], )](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))


def matmul(a, b):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=torch.float16)
    grid = (a.shape[0] // 64, b.shape[1] // 64)
    return c, matmul_kernel[grid](a, b, c, b.shape[1], a.shape[1], BM=64, BN=64, BK=32)


def timed(call):
    start = time.perf_counter()
    result = call()
    return result, (time.perf_counter() - start) * 1000


def main():
    torch.manual_seed(0)
    console = Console()
    console.width = max(console.width, 110)
    target = triton.runtime.driver.active.get_current_target()
    console.print(f"triton {triton.__version__}, target [bold]{target.backend} {target.arch}[/] "
                  f"(Apple {triton_metal.target(target.arch)['chips']}), virtual GPU on {triton_metal.isa()}\n")
    x = torch.randn(512, 1000)
    a, b = torch.randn(256, 256, dtype=torch.float16), torch.randn(256, 256, dtype=torch.float16)
    jobs = [
        ("fused softmax 512 x 1000, f32", lambda: softmax(x), torch.softmax(x, 1), 1e-6),
        ("matmul 256 x 256 x 256, f16", lambda: matmul(a, b), (a.float() @ b.float()).half(), 5e-2),
    ]
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("kernel", "first call", "next call", "AIR bitcode", "largest error", ""):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    failed = False
    for name, call, expected, tolerance in jobs:
        _, first = timed(call)
        (actual, kernel), again = timed(call)
        error = (actual.float() - expected.float()).abs().max().item()
        good = error <= tolerance
        failed |= not good
        info = triton_metal.load(kernel.asm["metallib"]).info(0)
        table.add_row(name, f"{first:.0f} ms", f"{again:.1f} ms", f"{info['bitcode_bytes']:,} bytes", f"{error:.1e}",
                      "[green]agrees with PyTorch[/]" if good else "[red]differs from PyTorch[/]")
    console.print(table)
    console.print("Each kernel has its forms at hand: " + ", ".join(f"asm['{form}']" for form in kernel.asm))
    start = kernel.asm["ll"].index("define")
    console.print("\n[dim]The start of the last one's AIR, which is what the metallib holds:[/]")
    console.print("\n".join(kernel.asm["ll"][start:].splitlines()[:12]), highlight=False, markup=False, soft_wrap=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
