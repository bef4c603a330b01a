# SPDX-License-Identifier: MIT
"""Counters of compiled kernels against numbers worked out by hand, and what is made of them."""
import json
import os
import subprocess
import sys

import pytest
import torch
import triton
import triton.language as tl

import triton_metal


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        depth = k + tl.arange(0, BK)
        total = tl.dot(tl.load(a + row[:, None] * K + depth[None, :]), tl.load(b + depth[:, None] * N + column[None, :]),
                       total)
    tl.store(c + row[:, None] * N + column[None, :], total)


def run_add(n=4096, block=1024):
    x, y, out = torch.rand(n), torch.rand(n), torch.zeros(n)
    add_kernel[(triton.cdiv(n, block), )](x, y, out, n, BLOCK=block)
    assert torch.equal(out, x + y)


def run_matmul(size=64, tile=32):
    a, b, c = torch.rand(size, size), torch.rand(size, size), torch.zeros(size, size)
    matmul_kernel[(size // tile, size // tile)](a, b, c, size, size, size, BM=tile, BN=tile, BK=tile)
    return a, b, c


@pytest.mark.parametrize("n, block", [(4096, 1024), (1000, 256)])
def test_addition_moves_three_arrays(n, block):
    with triton_metal.profile() as p:
        run_add(n, block)
    (launch, ) = p.launches
    t = launch.totals
    assert t["device_read_bytes"] == 2 * 4 * n
    assert t["device_write_bytes"] == 4 * n
    assert t["footprint_read_lines"] == 2 * -(-4 * n // 128)
    assert t["threadgroups"] == triton.cdiv(n, block)
    assert t["matrix_ops"] == t["barriers"] == t["threadgroup_read_bytes"] == 0


def test_matrix_product_needs_a_512th_of_its_multiplications():
    with triton_metal.profile() as p:
        a, b, c = run_matmul(64, 32)
    assert torch.allclose(c, a @ b, atol=1e-4)
    assert p.launches[0].totals["matrix_ops"] == 64 * 64 * 64 // 512


def test_counts_and_results_are_the_same_each_time(monkeypatch):
    torch.manual_seed(1)
    plain = run_matmul()[2]
    seen = []
    for _ in range(2):
        torch.manual_seed(1)
        with triton_metal.profile() as p:
            counted = run_matmul()[2]
        seen.append(p.json())
        assert torch.equal(counted, plain)
    assert seen[0] == seen[1]


def test_nothing_is_counted_outside():
    with triton_metal.profile() as p:
        pass
    run_add()
    assert p.launches == []


def test_profiles_nest():
    with triton_metal.profile() as outer:
        run_add()
        with triton_metal.profile() as inner:
            run_add()
    assert len(outer.launches) == 2 and len(inner.launches) == 1


def test_table_json_and_trace(tmp_path):
    with triton_metal.profile("m2-pro") as p:
        run_add()
        run_matmul()
    with open(tmp_path / "table.txt", "w") as file:
        p.table(file=file)
    shown = (tmp_path / "table.txt").read_text()
    assert "m2-pro" in shown and "assumed" in shown
    data = p.json(tmp_path / "counters.json")
    assert json.loads((tmp_path / "counters.json").read_text()) == data
    assert [k["kernel"] for k in data["kernels"]] == ["add_kernel", "matmul_kernel"]
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    groups = [e for e in events if e.get("cat") == "threadgroup"]
    assert len(groups) == 4 + 4
    launches = [e for e in events if e.get("cat") == "launch"]
    assert launches[1]["ts"] == pytest.approx(launches[0]["dur"])
    assert all(e["ts"] + e["dur"] <= sum(x["dur"] for x in launches) * 1.001 for e in groups)


def test_places_are_lines_of_the_kernel():
    with triton_metal.profile() as p:
        run_add()
    source, first = add_kernel.fn.__code__, add_kernel.fn.__code__.co_firstlineno
    store = [x for x in p.launches[0].lines if x["device_bytes"] and x["line"] == first + 3]
    assert store and store[0]["file"] == source.co_filename
    assert store[0]["device_bytes"] == 3 * 4 * 4096


def test_bank_model_is_a_parameter():
    conflicts = []
    for banks in (32, 4), (16, 4):
        with triton_metal.profile(banks=banks) as p:
            run_matmul()
        conflicts.append(p.launches[0].totals["bank_conflict_cycles"])
        assert p.launches[0].data["banks"] == {"count": banks[0], "bytes": banks[1], "assumed": True}
    assert conflicts[0] < conflicts[1]
    with pytest.raises(triton_metal.Error) as e, triton_metal.profile(banks=(3, 4)):
        run_add()
    assert e.value.code == 5906


def test_model_of_every_chip_is_a_range():
    with triton_metal.profile() as p:
        run_matmul(128, 32)
    for model in json.loads(p.launches[0].counters.text("json"))["model"]:
        assert 0 < model["low_us"] <= model["expected_us"] <= model["high_us"]
        assert model["confidence"]
    with pytest.raises(triton_metal.Error) as e:
        p.launches[0].counters.estimate("m99")
    assert e.value.code == 5905


BENCH = """
import torch, triton, triton.language as tl
@triton.autotune([triton.Config({'BLOCK': 32}, num_warps=1), triton.Config({'BLOCK': 1024})], key=['n'])
@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
x = torch.ones(1 << 16)
k[lambda m: (triton.cdiv(x.numel(), m['BLOCK']), )](x, x.numel())
print(k.best_config.kwargs['BLOCK'], [k.configs_timings[c][0] for c in k.configs_timings])
print(triton.testing.do_bench(lambda: k[lambda m: (triton.cdiv(x.numel(), m['BLOCK']), )](x, x.numel())))
"""


def run_script(tmp_path, source, **env):
    (tmp_path / "script.py").write_text(source)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], env={**os.environ, **env}, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done


def test_benchmarks_return_model_time_on_request(tmp_path):
    first, again = (run_script(tmp_path, BENCH, TRITON_METAL_BENCH="model:m1").stdout for _ in range(2))
    assert first == again
    assert first != run_script(tmp_path, BENCH, TRITON_METAL_BENCH="model:m4-max").stdout


def test_process_prints_a_table_at_its_end(tmp_path):
    source = BENCH.split("print")[0]
    assert "bound" in run_script(tmp_path, source, TRITON_METAL_PROFILE="1").stderr
    assert run_script(tmp_path, source).stderr == ""
