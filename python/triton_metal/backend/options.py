# SPDX-License-Identifier: MIT
"""Launch options. Names that other backends' kernels pass are accepted: those that only steer another
GPU's scheduling have no effect here and are listed in HINTS; those that would change what a kernel
means are refused when set."""
import hashlib
import os
from dataclasses import dataclass

from .._core import target as target_info

HINTS = ("maxnreg", "ptx_version", "ptx_options", "sched4reg", "enable_reflect_ftz", "launch_pdl", "min_shared_mem",
         "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint", "allow_flush_denorm",
         "num_buffers_warp_spec", "num_consumer_groups", "reg_dec_producer", "reg_inc_producer", "maxRegAutoWS",
         "minRegAutoWS", "pingpongAutoWS", "optimize_epilogue", "opt_level", "cluster_dims", "ctas_per_cga")
FP8 = ("fp8e4nv", "fp8e5")
PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@dataclass(frozen=True)
class MetalOptions:
    num_warps: int = 4
    num_stages: int = 2
    num_ctas: int = 1
    warp_size: int = 32
    arch: str = "apple9"
    macos: int = 15
    debug: bool = False
    sanitize_overflow: bool = False
    enable_fp_fusion: bool = True
    supported_fp8_dtypes: tuple = FP8
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple = PRECISIONS
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple = ()
    ir_override: str | None = None
    launch_cooperative_grid: bool = False
    clc: bool = False
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    backend_name: str = "metal"

    def __post_init__(self):
        for hint in HINTS:  # upstream accepts keywords that are attributes of the options
            object.__setattr__(self, hint, None)
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise ValueError(f"num_warps must be a power of 2, not {self.num_warps}")
        if self.num_ctas != 1:
            raise ValueError("num_ctas must be 1: Apple GPUs have no thread block clusters")
        if self.launch_cooperative_grid:
            raise ValueError("launch_cooperative_grid: Apple GPUs cannot synchronise a whole grid")
        if self.clc:
            raise ValueError("clc: Apple GPUs cannot cancel threadgroups of a launched grid")
        if self.instrumentation_mode:
            raise ValueError(f"instrumentation mode '{self.instrumentation_mode}' is not available on metal")

    def hash(self):
        values = {name: self.__dict__[name] for name in sorted(self.__dataclass_fields__)}
        key = "_".join(f"{name}-{value}" for name, value in values.items())
        return hashlib.sha256(key.encode()).hexdigest()


def default_target():
    """The GPU family kernels are compiled for: TRITON_METAL_TARGET, or apple9."""
    name = os.environ.get("TRITON_METAL_TARGET", "apple9")
    target_info(name)
    return name


def default_macos():
    """The macOS version whose AIR is written: TRITON_METAL_MACOS, or 15."""
    return int(os.environ.get("TRITON_METAL_MACOS", "15"))


def parse(given, arch):
    """MetalOptions from the launch's keyword arguments."""
    fields = MetalOptions.__dataclass_fields__
    values = {"arch": arch, "macos": default_macos()}
    values.update((k, v) for k, v in given.items() if k in fields and v is not None)
    options = MetalOptions(**values)
    for hint in HINTS:
        object.__setattr__(options, hint, given.get(hint))
    return options
