# SPDX-License-Identifier: MIT
"""Compile time from the frontend's module to code: this compiler (raw TTIR text to metallib) against
upstream's NVIDIA path (the same module to PTX, cuda:90), in one process, on the kernels of
tests/python/kernels. The frontend's own part, the same for both, is left out. Milliseconds, best of
three."""
import json
import os
import statistics
import sys
import time

os.environ["TRITON_BACKEND"] = "metal"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "python"))

import torch  # noqa: E402
import triton  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget, Language  # noqa: E402
from triton.compiler import ASTSource, make_backend  # noqa: E402

import triton_metal  # noqa: E402
from kernels import attention, cross_entropy, elementwise, matmul, norms, rope, softmax  # noqa: E402

f16, f32, i64 = torch.float16, torch.float32, torch.int64
BLOCKS = dict(BM=64, BN=64, BK=32, GROUP=8)
HEADS = dict(CAUSAL=True, SIZE=64, BQ=64, BK=32)
# kernel, arguments as Triton's warmup takes them, constants
KERNELS = [
    (elementwise.add_kernel, (f32, f32, f32, 1000), dict(BLOCK=1024)),
    (elementwise.dropout_kernel, (f32, f32, 1000, 0.5, 123), dict(BLOCK=1024)),
    (softmax.forward_kernel, (f32, f32, 1000, 1000, 64, 781), dict(BLOCK=1024)),
    (softmax.backward_kernel, (f32, f32, f32, 1000, 781), dict(BLOCK=1024)),
    (norms.layer_norm_kernel, (f16, f16, f16, f16, f32, f32, 1000, 1000, 1e-5), dict(BLOCK=1024)),
    (norms.rms_norm_backward_kernel, (f16, f16, f16, f32, f16, f32, 1000, 64, 1000), dict(ROWS=4, BLOCK=1024)),
    (rope.rope_kernel, (f16, f16, f16, 1000, 64, 32, 128, 32), dict(SIGN=2, HEADS=8, HEADS_BLOCK=8, BLOCK=32)),
    (cross_entropy.forward_kernel, (f16, i64, f32, f32, 1000, 32000, -100), dict(SMOOTHING=0.1, BLOCK=1024)),
    (matmul.grouped_kernel, (f16, f16, f16, 500, 500, 500, 500, 1, 500, 1, 500, 1), dict(ACTIVATION="gelu", **BLOCKS)),
    (matmul.persistent_kernel, (f16, f16, f16, 500, 500, 500, 500, 1, 500, 1, 500, 1), dict(ACTIVATION=None, **BLOCKS)),
    (attention.forward_kernel, (f16, f16, f16, f16, f32, 1000, 0.125), HEADS),
    (attention.backward_kv_kernel, (f16, f16, f16, f16, f32, f32, f16, f16, 1000, 0.125), HEADS),
    (attention.backward_q_kernel, (f16, f16, f16, f16, f32, f32, f16, 1000, 0.125), HEADS),
]


def source_of(kernel, args, constants):
    """The ASTSource that a launch with these arguments compiles."""
    seen = []

    def listener(*, src, **rest):
        seen.append(src)

    triton.knobs.compilation.listener = listener
    compiled = kernel.warmup(*args, **constants, grid=(1, ))
    triton.knobs.compilation.listener = None
    return seen[0] if seen else compiled.src


def frontend(source, backend, options):
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(backend.target, options, backend.get_codegen_implementation(options),
                            backend.get_module_map(), context)
    return module, context


def milliseconds(call, rounds=3):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best / 1e6


def upstream_stages(source):
    """Milliseconds of each stage of the NVIDIA path up to PTX."""
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({"ptx_version": 86})
    best = {}
    for _ in range(3):
        module, context = frontend(source, backend, options)
        stages = {}
        backend.add_stages(stages, options, Language.TRITON)
        metadata = {"target": backend.target, **options.__dict__}
        for name in ("ttir", "ttgir", "llir", "ptx"):
            start = time.perf_counter_ns()
            module = stages[name](module, metadata)
            best[name] = min(best.get(name, float("inf")), (time.perf_counter_ns() - start) / 1e6)
    return best


def our_steps(text):
    """(milliseconds in all, of each step by the compiler's own clock)."""
    total = milliseconds(lambda: triton_metal.compile(text))
    steps = {}
    for name, nanoseconds in triton_metal.compile(text).times():
        steps[name] = steps.get(name, 0) + nanoseconds / 1e6
    return total, steps


def main():
    os.environ.setdefault("TRITON_ALWAYS_COMPILE", "1")
    table = Table("kernel", "TTIR to metallib", "TTIR to PTX", "ratio", "parse", "passes", "emit", "write",
                  title="ms per kernel")
    ratios, totals, record = [], [], {}
    for kernel, args, constants in KERNELS:
        name = f"{kernel.__module__.split('.')[-1]}.{kernel.__name__}"
        source = source_of(kernel, args, constants)
        backend = make_backend(triton.runtime.driver.active.get_current_target())
        module, context = frontend(source, backend, backend.parse_options({}))
        total, steps = our_steps(str(module))
        upstream = upstream_stages(source)
        ratio = sum(upstream.values()) / total
        ratios.append(ratio)
        totals.append(total)
        written = steps.pop("bitcode", 0) + steps.pop("metallib", 0)
        emitted = steps.pop("emit", 0) + steps.pop("rules", 0)
        parsed = steps.pop("parse", 0)
        table.add_row(name, f"{total:.2f}", f"{sum(upstream.values()):.0f}", f"{ratio:.0f} x", f"{parsed:.2f}",
                      f"{sum(steps.values()):.2f}", f"{emitted:.2f}", f"{written:.2f}")
        record[name] = dict(metal_ms=total, upstream_ms=upstream)
    Console(width=120).print(table)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as out:
            json.dump(record, out, indent=1)
    print(f"COMPILE_MEDIAN_MS: {statistics.median(totals):.2f}")
    print(f"COMPILE_MAX_MS: {max(totals):.2f}")
    print(f"COMPILE_SPEEDUP_MEDIAN: {statistics.median(ratios):.0f}")
    print(f"COMPILE_SPEEDUP_MIN: {min(ratios):.0f}")


if __name__ == "__main__":
    main()
