# SPDX-License-Identifier: MIT
"""What Triton's benchmarks ask of a device. The virtual GPU runs a kernel to its end inside the launch,
so wall time is the time and there is nothing to wait for. TRITON_METAL_BENCH=model[:chip] makes
benchmarks return the performance model's time instead, which is the same each time."""
import statistics
import time

from ..profile import bench_chip, model_ms


class Event:
    """A point in time, as torch.cuda.Event is one."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.time = None

    def record(self, stream=None):
        self.time = time.perf_counter_ns()

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        """Milliseconds from this event to `end`; never 0, which Triton divides by."""
        return max(end.time - self.time, 1) * 1e-6


class DeviceInterface:
    Event = Event

    @staticmethod
    def synchronize(device=None):
        pass

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def is_available():
        return True


def benchmark(kernel_call, *, quantiles=None, warmup=None, rep=None, **unused):
    """Autotuning's benchmark: one call to compile and warm up, then up to three timed within 50 ms.
    do_bench's hundred repetitions would take minutes on a virtual GPU."""
    chip = bench_chip()
    if chip:
        ms = model_ms(kernel_call, chip)
        return ms if quantiles is None else [ms] * len(quantiles)
    kernel_call()
    times = []
    start = time.perf_counter_ns()
    while len(times) < 3 and (not times or time.perf_counter_ns() - start < 50e6):
        before = time.perf_counter_ns()
        kernel_call()
        times.append(max(time.perf_counter_ns() - before, 1) * 1e-6)
    if quantiles is None:
        return statistics.mean(times)
    times.sort()
    return [times[min(int(q * len(times)), len(times) - 1)] for q in quantiles]


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", **unused):
    """In place of triton.testing.do_bench when model time is wanted: one call tells it."""
    ms = model_ms(fn, bench_chip())
    if quantiles is not None:
        return [ms] * len(quantiles) if len(quantiles) > 1 else ms
    return [ms] if return_mode == "all" else ms
