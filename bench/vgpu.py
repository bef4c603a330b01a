# SPDX-License-Identifier: MIT
"""How fast the virtual GPU runs kernels: against Triton's interpreter (TRITON_INTERPRET=1, in a process of
its own) and NumPy, and in GFLOP/s on one host core and on two. Where TM_TEST_DATA holds MLX's library, its matrix
product (steel_gemm_fused), which Apple compiled, stands beside ours. Milliseconds, best of eight."""
import json
import os
import subprocess
import sys
import time

if "--interpreter" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"
os.environ["TRITON_BACKEND"] = "metal"

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


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


def milliseconds(call, rounds=8):
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best / 1e6


def softmax_case(n=1024):
    x = torch.randn(n, n)
    y = torch.empty_like(x)
    call = lambda: softmax_kernel[(n, )](x, y, n, BLOCK=n)  # noqa: E731
    call()
    assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6)
    return call


def matmul_case(n):
    a, b = torch.randn(n, n, dtype=torch.float16), torch.randn(n, n, dtype=torch.float16)
    c = torch.empty_like(a)
    call = lambda: matmul_kernel[(n // 64, n // 64)](a, b, c, n, n, BM=64, BN=64, BK=32)  # noqa: E731
    call()
    assert torch.allclose(c.float(), a.float() @ b.float(), atol=0.1, rtol=1e-2)
    return call


def numpy_softmax(n=1024):
    x = np.random.rand(n, n).astype(np.float32)

    def call():
        power = np.exp(x - x.max(1, keepdims=True))
        return power / power.sum(1, keepdims=True)

    return call


def numpy_matmul(n=256):
    a = np.random.rand(n, n).astype(np.float32)
    return lambda: a @ a


def steel_case(dtype, n):
    """MLX's own product of two n x n matrices; None without its library."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/truth"))
    import matmul
    from libraries import found
    library = found(os.environ.get("TM_TEST_DATA", ""), "mlx-15")
    if library is None:
        return None
    case = matmul.fused("nn", dtype, "bm64_bn64_bk16_wm2_wn2", (n, n, n))
    launch = case.make(np.random.default_rng(1))
    kernel = library.kernel(case.kernel, case.constants)
    buffers = {**launch.buffers, 3: np.zeros((n, n), dtype)}
    threads = int(os.environ["TRITON_METAL_THREADS"])
    call = lambda: kernel.launch(launch.grid, launch.group, buffers, {}, threads)  # noqa: E731
    call()
    assert np.allclose(buffers[3], launch.outs[3].want[0], rtol=1e-2, atol=0.5)
    return call


def products():
    """GFLOP/s of matrix products, by name."""
    cases = {"ours f16 1024": (matmul_case(1024), 1024)}
    for dtype in ("float16", "float32"):
        cases[f"steel_gemm_fused {dtype} 512"] = steel_case(dtype, 512), 512
    return {name: 2e-6 * n**3 / milliseconds(call) for name, (call, n) in cases.items() if call}


def child(mode, **env):
    """What this script prints in a process of its own."""
    done = subprocess.run([sys.executable, __file__, mode], capture_output=True, text=True, check=True,
                          env={**os.environ, **env})
    return json.loads(done.stdout)


def main():
    torch.set_num_threads(1)
    if "--interpreter" in sys.argv:
        print(json.dumps([milliseconds(softmax_case(), 1), milliseconds(matmul_case(256), 1)]))
        return
    if "--products" in sys.argv:
        print(json.dumps(products()))
        return
    from rich.console import Console
    from rich.table import Table
    os.environ["TRITON_METAL_THREADS"] = "1"
    ours = [milliseconds(softmax_case()), milliseconds(matmul_case(256))]
    slow = child("--interpreter")
    plain = [milliseconds(numpy_softmax()), milliseconds(numpy_matmul())]
    table = Table("kernel", "virtual GPU, 1 core", "interpreter", "faster by", "NumPy", "slower by", title="ms")
    for name, a, b, c in zip(("softmax 1024 x 1024 f32", "matmul 256 f16"), ours, slow, plain):
        table.add_row(name, f"{a:.2f}", f"{b:.1f}", f"{b / a:.1f} x", f"{c:.2f}", f"{a / c:.1f} x")
    one, two = (child("--products", TRITON_METAL_THREADS=threads) for threads in ("1", "2"))
    rates = Table("matrix product", "1 thread", "2 threads", "faster by", title="GFLOP/s")
    for name in one:
        rates.add_row(name, f"{one[name]:.2f}", f"{two[name]:.2f}", f"{two[name] / one[name]:.2f} x")
    Console(width=120).print(table)
    Console(width=120).print(rates)
    first = next(iter(one))
    print(f"VGPU_SOFTMAX_MS: {ours[0]:.2f}")
    print(f"VGPU_SOFTMAX_VS_INTERPRETER: {slow[0] / ours[0]:.1f}")
    print(f"VGPU_MATMUL_256_MS: {ours[1]:.2f}")
    print(f"VGPU_MATMUL_VS_INTERPRETER: {slow[1] / ours[1]:.1f}")
    print(f"VGPU_MATMUL_1024_GFLOPS: {one[first]:.2f}")
    print(f"VGPU_TWO_THREADS: {two[first] / one[first]:.2f}")


if __name__ == "__main__":
    main()
