# SPDX-License-Identifier: MIT
"""The driver half of the backend: which process it is active in, loading kernels, launching them.

TRITON_BACKEND=metal selects it beside other backends; without the variable it is active where no
other driver is. TRITON_METAL_CHECK, TRITON_METAL_NUMERICS, TRITON_METAL_THREADS and
TRITON_METAL_MAX_STEPS configure the virtual GPU (checks to run, what Apple leaves open of arithmetic, host
threads, when a loop counts as endless); TRITON_METAL_PROFILE and
TRITON_METAL_BENCH what is counted (profile.py)."""
import os

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from .. import _core
from ..profile import bench_chip, start_for_process
from . import device, options

NAME = "metal"

# Upstream refuses to choose between two active drivers; its own variable is how one is named.
if os.environ.get("TRITON_BACKEND") == NAME:
    os.environ.setdefault("TRITON_DEFAULT_BACKEND", NAME)


def _setting(name, default=0):
    return int(os.environ.get(name) or default)


def _cores():
    """Cores this process may use; told to each launcher, because asking the system takes microseconds."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Utils:
    """What CompiledKernel needs to turn a metallib into something to launch."""

    def __init__(self):
        self.target = _core.target(options.default_target())
        self.checks = os.environ.get("TRITON_METAL_CHECK") or os.environ.get("TRITON_METAL_CHECKS") or None
        self.numerics = os.environ.get("TRITON_METAL_NUMERICS") or None

    def load_binary(self, name, binary, shared, device):
        """(module, function, registers, spills, largest threadgroup)."""
        library = _core.load(binary)
        return library, library.kernel(name, checks=self.checks, numerics=self.numerics), 0, 0, self.target["max_threads"]

    def unload_module(self, module):
        pass  # the objects own their memory

    def get_device_properties(self, device):
        target = self.target
        return {
            "max_shared_mem": target["threadgroup_bytes"],
            "max_num_regs": 0,
            "multiprocessor_count": target["cores"],
            "warpSize": target["simd_width"],
            "max_threads_per_block": target["max_threads"],
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }


def make_launcher(src, metadata):
    """A launcher for one compiled kernel: a built-in function of the C extension."""
    names = tuple(str(name) for name in src.signature)
    return _core.make_launcher(names, tuple(src.signature.values()), metadata.threads, metadata.pointers,
                               metadata.scalar_bytes, _setting("TRITON_METAL_THREADS", _cores()),
                               _setting("TRITON_METAL_MAX_STEPS"), metadata.lines.encode())


def _accept_arrays():
    """Lets kernels take NumPy arrays and whatever has __array_interface__ or __dlpack__: Triton asks
    a C function of its own about each argument, and that knows torch tensors only."""
    from triton.runtime import jit
    if not getattr(jit.native_specialize_impl, "__self__", None) or \
            type(jit.native_specialize_impl.__self__) is not tuple:
        jit.native_specialize_impl = _core.make_specializer(jit.native_specialize_impl)


def _show_bitcode():
    """kernel.asm["air"]: the wrapped bitcode inside of the metallib. Triton keeps every stage but the last
    as text, so it is taken out when asked for, as upstream makes sass of a cubin."""
    from triton.compiler.compiler import AsmDict
    missing = AsmDict.__missing__
    if missing.__module__ == __name__:
        return

    def find(self, key):
        if key != "air" or "metallib" not in self:
            return missing(self, key)
        at, size = (int.from_bytes(self["metallib"][i:i + 8], "little") for i in (72, 80))  # the header's last section
        self[key] = self["metallib"][at:at + size]
        return self[key]

    AsmDict.__missing__ = find


class MetalDriver(DriverBase):

    def __init__(self):
        self.utils = Utils()
        self.launcher_cls = make_launcher
        # Asked for at each launch: built-in functions are the cheapest.
        self.get_current_device = _core.current_device
        self.get_current_stream = _core.current_stream
        self.target = GPUTarget(NAME, self.utils.target["name"], self.utils.target["simd_width"])
        _accept_arrays()
        _show_bitcode()
        start_for_process()
        if bench_chip():
            from triton import testing
            testing.do_bench = device.do_bench

    @classmethod
    def is_active(cls):
        wanted = os.environ.get("TRITON_BACKEND")
        if wanted:
            return wanted == NAME
        if os.environ.get("TRITON_DEFAULT_BACKEND") == NAME:
            return True
        from triton.backends import backends
        return not any(b.driver.is_active() for b in backends.values() if b.driver is not cls)

    def get_current_target(self):
        return self.target

    def set_current_device(self, number):
        if number != 0:
            raise ValueError(f"there is one Metal device, number 0, not {number}")

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def map_python_to_cpp_type(self, ty):
        if ty.startswith("*") or ty.startswith("tensordesc"):
            return "void *"
        return {"i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u1": "uint8_t",
                "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "fp16": "uint16_t",
                "bf16": "uint16_t", "fp32": "float", "f32": "float", "fp64": "double"}[ty]

    def get_device_interface(self):
        return device.DeviceInterface

    def get_benchmarker(self):
        return device.benchmark

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass
