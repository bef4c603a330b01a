# SPDX-License-Identifier: MIT
"""A Triton backend that compiles nothing and keeps every raw module it is given.

Libraries run their own host code on CPU tensors; each kernel launch becomes one module text, as the
frontend made it, before any pass. Launches do nothing, so results are garbage; only modules count.
"""
import json
import pathlib
import re
from dataclasses import dataclass, fields

import triton
from triton.backends.compiler import BaseBackend, GPUTarget, Language
from triton.backends.driver import DriverBase

# Libraries look for a torch device of the backend's name, so it is the CPU's.
TARGET = GPUTarget("cpu", "apple9", 32)


@dataclass
class Options:
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    extern_libs: tuple = ()
    debug: bool = False
    sanitize_overflow: bool = False
    arch: str = "apple9"
    backend_name: str = "capture"
    supported_fp8_dtypes: tuple = ("fp8e5", "fp8e4nv")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    ir_override: str | None = None
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False

    def hash(self):
        return repr(sorted(self.__dict__.items()))


class CaptureBackend(BaseBackend):
    binary_ext = "none"

    @staticmethod
    def supports_target(target):
        return target.backend == TARGET.backend

    def hash(self):
        return "capture"

    def parse_options(self, opts):
        known = {f.name for f in fields(Options)}
        return Options(**{k: v for k, v in opts.items() if k in known and v is not None})

    def add_stages(self, stages, options, language):
        if language != Language.TRITON:
            raise NotImplementedError("Gluon modules are not captured")
        stages["ttir"] = lambda src, metadata: keep(src, metadata, options)
        stages["none"] = lambda src, metadata: b""

    def load_dialects(self, ctx):
        pass

    def get_module_map(self):
        from triton.language.extra import libdevice

        return {"triton.language.extra.libdevice": libdevice_names()}

    def get_codegen_implementation(self, options):
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1)}

    def pack_metadata(self, metadata):
        return metadata


def libdevice_names():
    from triton.language.extra.cuda import libdevice

    return libdevice


class NoLaunch:
    def __init__(self, src, metadata):
        pass

    def __call__(self, *args):
        pass


class CaptureUtils:
    def load_binary(self, name, binary, shared, device):
        return 0, 0, 0, 0, 1024

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        return {"max_shared_mem": 65536, "multiprocessor_count": 10, "max_num_regs": 65536, "warpSize": 32}


class CaptureDriver(DriverBase):
    launcher_cls = NoLaunch

    def __init__(self):
        self.utils = CaptureUtils()

    @staticmethod
    def is_active():
        return False

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        return TARGET

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device):
        return 0

    def get_device_interface(self):
        import torch

        return torch.cpu

    def get_benchmarker(self):
        return lambda fn, **kwargs: [0.0, 0.0, 0.0]

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(1)

    def clear_cache(self, cache):
        pass


_out: pathlib.Path
_source = ""
_seen: set[str] = set()
_manifest = None


def keep(module, metadata, options):
    text = str(module)
    bare = module.str_nodebug()
    if bare not in _seen:
        _seen.add(bare)
        name = re.findall(r"tt\.func public @([\w.]+)", text)[0]
        path = f"{len(_seen):04d}-{name[:60]}.ttir"
        (_out / path).write_text(text)
        row = {"file": path, "source": _source, "kernel": name, "num_warps": options.num_warps}
        _manifest.write(json.dumps(row) + "\n")
        _manifest.flush()
    metadata.update(name="k", shared=0, num_warps=options.num_warps, warp_size=32, target=TARGET)
    return module


def start(out):
    """Makes the capture backend the active one; modules go to the folder `out`."""
    global _out, _manifest
    _out = pathlib.Path(out)
    _out.mkdir(parents=True, exist_ok=True)
    _manifest = open(_out / "manifest.jsonl", "w")
    triton.knobs.compilation.always_compile = True
    triton.runtime.driver.set_active(CaptureDriver())
    backend = type("Capture", (), {"compiler": CaptureBackend, "driver": CaptureDriver})
    triton.backends.backends[TARGET.backend] = backend


def source(name):
    """Names the library that the next modules come from."""
    global _source
    _source = name


def count():
    return len(_seen)
