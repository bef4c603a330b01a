# SPDX-License-Identifier: MIT
"""The backend as Triton sees it: stages, options, errors, caching, autotuning, benchmarks, selection."""
import copy
import os
import pickle
import subprocess
import sys
import textwrap

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

import triton_metal


@triton.jit
def double_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def in_process(code, **environment):
    """Runs a script of its own; returns its standard output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_")}
    env.update(environment)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_stages_are_visible():
    kernel = double_kernel.warmup(torch.float32, 5, BLOCK=64, grid=(1, ))
    assert list(kernel.asm) == ["source", "ttir", "ttgir", "tmir", "ll", "metallib"]
    assert "tt.load" in kernel.asm["ttir"]
    assert "#ttg.linear" in kernel.asm["ttgir"]
    assert "tensor<" not in kernel.asm["tmir"]
    assert "define void @double_kernel" in kernel.asm["ll"]
    assert kernel.asm["metallib"][:4] == b"MTLB"
    assert triton_metal.load(kernel.asm["air"]).names() == ["double_kernel"]
    with pytest.raises(KeyError):
        kernel.asm["ptx"]
    library = triton_metal.load(kernel.asm["metallib"])
    assert library.names() == ["double_kernel"]


def test_metadata():
    kernel = double_kernel.warmup(torch.float32, 5, BLOCK=64, grid=(1, ), num_warps=2)
    metadata = kernel.metadata
    assert (metadata.name, metadata.num_warps, metadata.warp_size, metadata.threads) == ("double_kernel", 2, 32, 64)
    assert (metadata.target.backend, metadata.target.arch) == ("metal", "apple9")
    assert metadata.pointers == 1 and metadata.scalar_bytes == 4


HINTS = dict(maxnreg=64, waves_per_eu=2, matrix_instr_nonkdim=16, kpack=1, launch_pdl=True, num_stages=5, num_ctas=1,
             enable_fp_fusion=False, allow_flush_denorm=True, schedule_hint="x", num_buffers_warp_spec=2,
             num_consumer_groups=1, reg_dec_producer=40, reg_inc_producer=232)


def test_options_of_other_backends_are_accepted():
    x = torch.ones(8)
    double_kernel[(1, )](x, 8, BLOCK=8, **HINTS)
    assert torch.equal(x, torch.full((8, ), 2.0))


@pytest.mark.parametrize("option", [dict(num_ctas=2), dict(launch_cooperative_grid=True), dict(num_warps=3)])
def test_options_that_cannot_be_honoured_are_refused(option):
    with pytest.raises(ValueError):
        double_kernel[(1, )](torch.ones(8), 8, BLOCK=8, **option)


def test_an_unknown_option_is_refused():
    with pytest.raises(KeyError):
        double_kernel[(1, )](torch.ones(8), 8, BLOCK=8, no_such_option=1)


def test_too_many_warps_are_out_of_resources():
    with pytest.raises(OutOfResources) as caught:
        double_kernel[(1, )](torch.ones(8), 8, BLOCK=8, num_warps=64)
    assert (caught.value.required, caught.value.limit) == (2048, 1024)


@triton.jit
def double_precision_kernel(x):
    value = tl.load(x)
    tl.store(x, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [value], dtype=tl.int32, is_pure=True, pack=1))


def test_a_compile_error_names_the_python_line():
    with pytest.raises(triton_metal.CompileError) as caught:
        double_precision_kernel[(1, )](torch.zeros(1, dtype=torch.int32))
    error = caught.value
    assert isinstance(error, triton.errors.TritonError)
    assert error.code and error.help
    assert error.file == __file__
    line = open(__file__).read().splitlines()[error.line - 1]
    assert "inline_asm_elementwise" in line
    assert f"TM{error.code:04d}" in str(error) and "inline_asm_elementwise" in str(error)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_survive_copying(duplicate):
    with pytest.raises(triton_metal.CompileError) as caught:
        triton_metal.compile("not a module")
    again = duplicate(caught.value)
    assert type(again) is type(caught.value) and str(again) == str(caught.value) and again.code == caught.value.code


CACHED = """
    import torch, triton, triton.language as tl
    events = []
    triton.knobs.compilation.listener = lambda cache_hit, **rest: events.append(cache_hit)
    import sys
    sys.path.insert(0, %r)
    from kernels import elementwise
    x = torch.ones(10)
    assert elementwise.add(x, x).sum() == 20
    print(events)
"""


def test_disk_cache(tmp_path):
    code = CACHED % os.path.dirname(__file__)
    environment = dict(TRITON_CACHE_DIR=str(tmp_path))
    assert in_process(code, **environment) == "[False]"
    assert in_process(code, **environment) == "[True]"
    assert in_process(code, TRITON_ALWAYS_COMPILE="1", **environment) == "[False]"
    assert in_process(code, TRITON_METAL_TARGET="apple7", **environment) == "[False]"


def test_the_cache_key_holds_the_build():
    from triton_metal.backend.compiler import MetalBackend
    assert triton_metal.version() in MetalBackend(triton.backends.compiler.GPUTarget("metal", "apple9", 32)).hash()


NAMES = """
    import triton
    print(triton.runtime.driver.active.get_current_target().backend)
"""


@pytest.mark.parametrize("environment", [{}, {"TRITON_BACKEND": "metal"}, {"TRITON_DEFAULT_BACKEND": "metal"}])
def test_selection(environment):
    assert in_process(NAMES, **environment) == "metal"


OTHER = """
    import triton
    from triton.backends import backends, Backend
    from triton.backends.nvidia.driver import CudaDriver
    CudaDriver.is_active = staticmethod(lambda: True)
    print(backends["metal"].driver.is_active())
"""


def test_selection_beside_another_driver():
    assert in_process(OTHER) == "False"
    assert in_process(OTHER, TRITON_BACKEND="metal") == "True"
    assert in_process(OTHER + "    import os; print(os.environ['TRITON_DEFAULT_BACKEND'])",
                      TRITON_BACKEND="metal").split() == ["True", "metal"]


def test_import_needs_no_torch():
    assert in_process("import triton, sys; print('torch' in sys.modules)") == "False"


def test_autotune_takes_the_fastest_and_skips_what_does_not_fit():
    @triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64}, num_warps=2),
                      triton.Config({"BLOCK": 32}, num_warps=64)], key=["n"], restore_value=["x"])
    @triton.jit
    def tuned(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

    x = torch.zeros(100)
    tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]), )](x, 100)
    assert torch.equal(x, torch.ones(100))
    assert tuned.best_config.num_warps != 64


def test_do_bench():
    x = torch.ones(8)
    milliseconds = triton.testing.do_bench(lambda: double_kernel[(1, )](x, 8, BLOCK=8), warmup=1, rep=2)
    assert 0 < milliseconds < 1000


def test_device_properties():
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    assert properties["max_shared_mem"] == 32768 and properties["warpSize"] == 32
    assert triton.runtime.driver.active.get_active_torch_device() == torch.device("cpu")


@triton.jit
def libdevice_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, tl.extra.libdevice.tanh(value))
    tl.store(out + BLOCK + at, tl.extra.libdevice.pow(value, 1.5))
    tl.store(out + 2 * BLOCK + at, tl.extra.libdevice.float2int_rn(value).to(tl.float32))
    tl.store(out + 3 * BLOCK + at, tl.extra.libdevice.isnan(value).to(tl.float32))


def test_libdevice():
    x = torch.linspace(0.1, 7.7, 64)
    out = torch.zeros(4, 64)
    libdevice_kernel[(1, )](x, out, BLOCK=64)
    expected = torch.stack([x.tanh(), x**1.5, x.round(), x.isnan().float()])
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-6)


@triton.jit
def no_libdevice_kernel(x):
    tl.store(x, tl.extra.libdevice.cyl_bessel_i0(tl.load(x)))


def test_a_libdevice_function_without_counterpart_is_refused():
    with pytest.raises(triton_metal.CompileError) as caught:
        no_libdevice_kernel[(1, )](torch.zeros(1))
    assert caught.value.code == 4308 and "cyl_bessel_i0" in str(caught.value)


def test_overriding_ttir(tmp_path):
    kernel = double_kernel.warmup(torch.float32, 5, BLOCK=64, grid=(1, ))
    changed = kernel.asm["source"].replace("2.000000e+00", "3.000000e+00")
    assert changed != kernel.asm["source"]
    path = tmp_path / "triple.ttir"
    path.write_text(changed)
    x = torch.ones(8)
    double_kernel[(1, )](x, 5, BLOCK=64, ir_override=str(path))
    assert x.tolist() == [3.0] * 5 + [1.0] * 3


def test_compiling_an_ir_file(tmp_path):
    kernel = double_kernel.warmup(torch.float32, 5, BLOCK=64, grid=(1, ))
    path = tmp_path / "double.ttir"
    path.write_text(kernel.asm["source"])
    again = triton.compile(str(path))
    assert again.metadata.name == "double_kernel" and again.asm["metallib"][:4] == b"MTLB"
