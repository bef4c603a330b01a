# SPDX-License-Identifier: MIT
"""Launching: what may be passed to a kernel, how it arrives, and what is refused with which code."""
import threading

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import triton_metal


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def scalars_kernel(out, small, wide, huge, flag, number, BLOCK: tl.constexpr):
    tl.store(out + 0, small.to(tl.int64))
    tl.store(out + 1, wide.to(tl.int64))
    tl.store(out + 2, huge.to(tl.int64))
    tl.store(out + 3, flag.to(tl.int64))
    tl.store(out + 4, (number * 8).to(tl.int64))


@pytest.mark.parametrize("small, wide, huge, flag, number", [
    (7, 2**40, 2**63 + 5, True, 0.125), (-3, -2**62, 2**64 - 1, False, -2.5), (1, 2**31, 2**63, True, 1.0)])
def test_scalars_of_each_specialisation(small, wide, huge, flag, number):
    out = torch.zeros(5, dtype=torch.int64)
    scalars_kernel[(1, )](out, small + 0 if small != 1 else 2, wide, huge, flag, number, BLOCK=1)
    assert out.tolist() == [small if small != 1 else 2, wide, (huge + 2**63) % 2**64 - 2**63, flag, int(number * 8)]


@triton.jit
def declared_kernel(out, a: tl.int64, b: tl.int32, h: tl.float16, w: tl.bfloat16, s: tl.float32):
    tl.store(out + 0, a.to(tl.float32))
    tl.store(out + 1, b.to(tl.float32))
    tl.store(out + 2, h.to(tl.float32))
    tl.store(out + 3, w.to(tl.float32))
    tl.store(out + 4, s)


def test_declared_scalar_types_round_to_nearest_even():
    out = torch.zeros(5)
    # 2049 is halfway between two float16; 257 is halfway between two bfloat16.
    declared_kernel[(1, )](out, 5, -6, 2049.0, 257.0, 0.1)
    assert out.tolist() == [5.0, -6.0, 2048.0, 256.0, float(np.float32(0.1))]


def test_declared_scalar_that_does_not_fit_is_refused():
    with pytest.raises(triton_metal.LaunchError) as caught:
        declared_kernel[(1, )](torch.zeros(5), 5, 2**31, 0.0, 0.0, 0.0)
    assert caught.value.code == 5022 and "'b'" in str(caught.value)


def test_numpy_arrays_without_a_copy():
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    copy_kernel[(1, )](x, out, 100, BLOCK=128)
    assert np.array_equal(x, out)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                                   "float32", "bool"])
def test_numpy_types(dtype):
    x = (np.arange(50) % 2 if dtype == "bool" else np.arange(50)).astype(dtype)
    out = np.zeros(50, dtype)
    copy_kernel[(1, )](x, out, 50, BLOCK=64)
    assert np.array_equal(x, out)


@triton.jit
def numpy_scalar_kernel(out, i, f, flag):
    tl.store(out, i + f + tl.where(flag, 100.0, 0.0))


@pytest.mark.parametrize("value", [1, 16, -5])
def test_numpy_scalars(value):
    out = np.zeros(1, np.float32)
    numpy_scalar_kernel[(1, )](out, np.int32(value), np.float32(0.5), np.bool_(True))
    assert out[0] == value + 100.5


def test_numpy_view_may_reach_its_whole_base():
    base = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    copy_kernel[(1, )](base[::2], out, 64, BLOCK=64)  # the kernel knows no strides: it walks the base
    assert np.array_equal(out, base)


def test_read_only_array_may_be_read_and_not_written():
    x = np.arange(10, dtype=np.int32)
    x.flags.writeable = False
    out = np.zeros(10, np.int32)
    copy_kernel[(1, )](x, out, 10, BLOCK=16)
    assert np.array_equal(x, out)
    with pytest.raises(triton_metal.LaunchError) as caught:
        copy_kernel[(1, )](out, x, 10, BLOCK=16)
    assert caught.value.code == 5026


class Interface:
    """An array of another library: __array_interface__ alone."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Packed:
    """An array of another library: DLPack alone."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Interface, Packed])
def test_arrays_of_other_libraries(wrap):
    x, out = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    copy_kernel[(1, )](wrap(x), wrap(out), 40, BLOCK=64)
    assert np.array_equal(x, out)


def test_views_share_a_storage():
    store = torch.arange(100, dtype=torch.float32)
    copy_kernel[(1, )](store[10:40], store[60:], 30, BLOCK=32)
    assert torch.equal(store[60:90], torch.arange(10., 40.))
    assert torch.equal(store[90:], torch.arange(90., 100.))


@triton.jit
def back_kernel(x, out):
    tl.store(out, tl.load(x - 3))


def test_a_view_may_reach_before_its_start_within_the_storage():
    store, out = torch.arange(10.), torch.zeros(1)
    back_kernel[(1, )](store[5:], out)
    assert out.item() == 2
    with pytest.raises(triton_metal.LaunchError):
        back_kernel[(1, )](store[2:], out)


@pytest.mark.parametrize("array", [torch.zeros(64), np.zeros(64, np.float32)], ids=["torch", "numpy"])
def test_a_store_past_the_end_is_found(array):
    with pytest.raises(triton_metal.LaunchError) as caught:
        copy_kernel[(1, )](torch.zeros(128), array, 128, BLOCK=128)
    assert 3100 <= caught.value.code < 3200


def test_a_tensor_elsewhere_is_refused():
    with pytest.raises(triton_metal.LaunchError) as caught:
        copy_kernel[(1, )](torch.zeros(4, device="meta"), torch.zeros(4), 4, BLOCK=16)
    assert caught.value.code == 5020 and "'x'" in str(caught.value) and "meta" in str(caught.value)


@triton.jit
def tuple_kernel(pair, nothing, out):
    tl.store(out, tl.load(pair[0] + pair[1]) + pair[2][0])
    if nothing is not None:
        tl.store(out, 0.0)


@pytest.mark.parametrize("array", [torch.arange(10.), np.arange(10, dtype=np.float32)], ids=["torch", "numpy"])
def test_tuples_and_none(array):
    out = torch.zeros(1)
    tuple_kernel[(1, )]((array, 4, (2.5, )), None, out)
    assert out.item() == 6.5


@triton.jit
def grid_kernel(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + place, x + 10 * y + 100 * z)


@pytest.mark.parametrize("grid", [(4, ), (2, 3), (2, 3, 4), lambda meta: (1, 5)])
def test_grids(grid):
    nx, ny, nz = (*(grid({}) if callable(grid) else grid), 1, 1)[:3]
    out = torch.full((nz, ny, nx), -1, dtype=torch.int32)
    grid_kernel[grid](out)
    z, y, x = torch.meshgrid(torch.arange(nz), torch.arange(ny), torch.arange(nx), indexing="ij")
    assert torch.equal(out.long(), x + 10 * y + 100 * z)


def test_an_empty_grid_runs_nothing():
    out = torch.zeros(1, dtype=torch.int32)
    grid_kernel[(0, 2)](out)
    assert out.item() == 0


def test_a_negative_grid_is_refused():
    with pytest.raises(triton_metal.LaunchError) as caught:
        grid_kernel[(-1, )](torch.zeros(1, dtype=torch.int32))
    assert caught.value.code == 5024


def test_an_instruction_set_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("TRITON_METAL_ISA", "mmx")
    assert triton_metal.isa() == "none"
    with pytest.raises(triton_metal.LaunchError, match="mmx") as caught:
        grid_kernel[(1, )](torch.zeros(1, dtype=torch.int32))
    assert caught.value.code == 5925
    monkeypatch.setenv("TRITON_METAL_ISA", "base")
    grid_kernel[(1, )](torch.zeros(1, dtype=torch.int32))


def test_hooks_see_the_launch():
    seen = []
    enter = lambda metadata: seen.append(("enter", metadata.get()["name"]))  # noqa: E731
    leave = lambda metadata: seen.append(("exit", metadata.get()["name"]))  # noqa: E731
    triton.knobs.runtime.launch_enter_hook.add(enter)
    triton.knobs.runtime.launch_exit_hook.add(leave)
    try:
        grid_kernel[(1, )](torch.zeros(1, dtype=torch.int32))
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
        triton.knobs.runtime.launch_exit_hook.remove(leave)
    assert seen == [("enter", "grid_kernel"), ("exit", "grid_kernel")]


def test_pre_run_hooks_run():
    seen = []

    @triton.jit
    def hooked(out):
        tl.store(out, 1.0)

    hooked.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
    hooked[(1, )](torch.zeros(1))
    assert seen == [1]


def test_launches_from_several_threads():
    outs = [torch.zeros(2000) for _ in range(4)]
    x = torch.arange(2000.)
    copy_kernel[(1, )](x, outs[0], 16, BLOCK=128)

    def work(out):
        for _ in range(20):
            copy_kernel[(16, )](x, out, 2000, BLOCK=128)

    threads = [threading.Thread(target=work, args=(out, )) for out in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(torch.equal(out, x) for out in outs)


def test_a_bound_kernel_launches_directly():
    x, out = torch.arange(30.), torch.zeros(30)
    kernel = copy_kernel.warmup(x, out, 30, BLOCK=32, grid=(1, ))
    kernel[(1, 1, 1)](x, out, 30, 32)
    assert torch.equal(x, out)
