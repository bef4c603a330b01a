# SPDX-License-Identifier: MIT
"""The command line tool, as a process."""
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kernels.elementwise import add_kernel

TOOL = shutil.which("triton-metal", path=os.path.dirname(sys.executable)) or shutil.which("triton-metal")


def tool(*words, status=0, cwd=None):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    """A folder with add.ttir and add.metallib in it."""
    folder = tmp_path_factory.mktemp("cli")
    kernel = add_kernel.warmup(torch.float32, torch.float32, torch.float32, 100, BLOCK=64, grid=(1, ), num_warps=2)
    (folder / "add.ttir").write_text(kernel.asm["source"])
    done = tool("compile", folder / "add.ttir", "-o", folder / "add.metallib", "--num-warps", 2, "--json")
    info = json.loads(done.stdout)
    assert (info["name"], info["threads"], info["pointers"]) == ("add_kernel", 64, 3)
    return folder


def test_version():
    assert tool("--version").stdout.startswith("triton-metal 0.1.0+")


@pytest.mark.parametrize("form, sign", [("ttir", "tt.load"), ("ttgir", "#ttg.linear"), ("tmir", "tm."),
                                        ("ll", "define void @add_kernel")])
def test_forms(add, form, sign):
    assert sign in tool("compile", add / "add.ttir", "--emit", form).stdout


def test_bitcode(add, tmp_path):
    tool("compile", add / "add.ttir", "--emit", "air", "-o", tmp_path / "add.air")
    assert (tmp_path / "add.air").read_bytes()[:4] == b"\xde\xc0\x17\x0b"
    assert "define void @add_kernel" in tool("dis", tmp_path / "add.air").stdout


@pytest.mark.parametrize("target, macos", [("apple7", 13), ("apple10", 26)])
def test_targets(add, tmp_path, target, macos):
    out = tmp_path / "a.metallib"
    tool("compile", add / "add.ttir", "-o", out, "--target", target, "--macos", macos)
    listed = json.loads(tool("list", out, "--json").stdout)
    assert listed[0]["air"] == {13: "2.5", 26: "2.8"}[macos]


def test_dumps_and_stopping(add, tmp_path):
    passes = [line.split()[1] for line in tool("compile", "--passes").stdout.splitlines()]
    assert passes[0] == "parse" and passes[-1] == "metallib"
    tool("compile", add / "add.ttir", "-o", tmp_path / "a.metallib", "--dump-dir", tmp_path)
    assert any(p.name.endswith("lower.ir") for p in tmp_path.iterdir())
    assert "after cse" in tool("compile", add / "add.ttir", "-o", tmp_path / "a.metallib", "--dump", "cse").stderr
    assert "tt.load" in tool("compile", add / "add.ttir", "--stop-after", "inline").stdout


def test_list(add):
    text = tool("list", add / "add.metallib", "--args").stdout
    assert "add_kernel" in text and "buffer" in text
    function, = json.loads(tool("list", add / "add.metallib", "--json").stdout)
    buffers = [a for a in function["args"] if a["kind"] == "buffer"]
    assert [a["access"] for a in buffers][:3] == ["read", "read", "read_write"]


def test_verify(add):
    assert "1 function verified, 0 failed" in tool("verify", add / "add.metallib").stdout


def test_verify_of_a_damaged_file(add, tmp_path):
    data = bytearray((add / "add.metallib").read_bytes())
    data[-200] ^= 0xFF
    (tmp_path / "bad.metallib").write_bytes(data)
    assert "TM4" in tool("verify", tmp_path / "bad.metallib", status=1).stderr


def test_run(add, tmp_path):
    x, y = np.arange(100, dtype=np.float32), np.full(100, 2.5, np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    tool("run", add / "add.metallib", "--grid", 2, "--group", 64, "--arg", "0=x.npy", "--arg", "1=y.npy", "--arg",
         "2=float32[100]", "--arg", "3=int32:100", "--out", "2=out.npy", "--time", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "out.npy"), x + y)


def test_run_with_other_numerics(add, tmp_path):
    small = np.full(100, 2.0**-130, np.float32)
    np.save(tmp_path / "x.npy", small)
    words = ["run", add / "add.metallib", "--grid", 2, "--group", 64, "--arg", "0=x.npy", "--arg", "1=x.npy", "--arg",
             "2=float32[100]", "--arg", "3=int32:100", "--out", "2=out.npy"]
    for choices, want in ([], 0), (["--numerics", "denormals=keep"], 2.0**-129):
        tool(*words, *choices, cwd=tmp_path)
        assert (np.load(tmp_path / "out.npy") == want).all()
    assert "TM5909" in tool(*words, "--numerics", "denormals=off", status=1, cwd=tmp_path).stderr
    assert "denormals=keep" in tool("run", "--help").stdout


def test_run_finds_a_store_out_of_bounds(add, tmp_path):
    done = tool("run", add / "add.metallib", "--grid", 2, "--group", 64, "--arg", "0=float32[100]", "--arg",
                "1=float32[100]", "--arg", "2=float32[90]", "--arg", "3=int32:100", cwd=tmp_path, status=1)
    assert "TM31" in done.stderr


@pytest.mark.parametrize("words, code", [
    (["nothing"], 5918), (["compile"], 5914), (["compile", "missing.ttir"], 5910), (["list", "--what", "x"], 5913),
    (["compile", "x", "--macos", "big"], 5911), (["list", "a", "b"], 5912), (["run", __file__], 4101)])
def test_errors_have_codes(words, code):
    done = tool(*words, status=1)
    assert f"TM{code}" in done.stderr or code == 4101 and "TM4" in done.stderr
    if len(words) > 1:
        first = json.loads(tool(*words, "--json", status=1).stderr.splitlines()[0])
        assert first["code"].startswith("TM") and first["help"]


def test_a_syntax_error_has_a_caret(tmp_path):
    path = tmp_path / "bad.ttir"
    path.write_text("module {\n  tt.func public @k(%x: i32) {\n    %y = arith.addi %x, %z : i32\n    tt.return\n  }\n}\n")
    error = tool("compile", path, status=1).stderr
    assert f"{path}:3:" in error and "^" in error and "arith.addi" in error


def test_run_counts(add, tmp_path):
    words = ["run", add / "add.metallib", "--grid", 2, "--group", 64, "--arg", "0=float32[100]", "--arg",
             "1=float32[100]", "--arg", "2=float32[100]", "--arg", "3=int32:100", "--counters"]
    assert "device_read_bytes" in tool(*words, "--chip", "m2").stdout
    data = json.loads(tool(*words, "--json", "--trace", tmp_path / "trace.json").stdout)
    assert data["totals"]["device_read_bytes"] == 800 and data["totals"]["threadgroups"] == 2
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == 2
    assert "TM5905" in tool(*words, "--chip", "z80", status=1).stderr


@triton.jit
def last_one_wins(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@triton.jit
def each_its_own(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@pytest.fixture(scope="module")
def sums(tmp_path_factory):
    """A folder with last_one_wins.metallib, in which programs race, and its twin each_its_own.metallib."""
    folder = tmp_path_factory.mktemp("sums")
    for kernel in (last_one_wins, each_its_own):
        compiled = kernel.warmup(torch.float32, torch.float32, 500, BLOCK=128, grid=(1, ), num_warps=4)
        (folder / f"{kernel.__name__}.metallib").write_bytes(compiled.asm["metallib"])
    np.save(folder / "x.npy", np.arange(500, dtype=np.float32))
    return folder


def run_sums(folder, name, checks, status=0):
    return tool("run", folder / f"{name}.metallib", "--grid", 4, "--group", 128, "--arg", f"0={folder}/x.npy", "--arg",
                "1=float32[4]", "--arg", "2=int32:500", *(["--check", checks] if checks else []), status=status)


@pytest.mark.parametrize("checks, finds", [("all", True), ("races", True), ("bounds,races", True), ("schedules", True),
                                           (None, False), ("none", False), ("bounds,barriers,uninit", False)])
def test_run_checks(sums, checks, finds):
    found = run_sums(sums, "last_one_wins", checks, status=int(finds)).stderr
    assert ("TM3301" in found or "TM3501" in found) == finds
    assert run_sums(sums, "each_its_own", checks).stderr == ""


def test_run_checks_are_named(sums):
    assert "TM5903" in run_sums(sums, "each_its_own", "rases", status=1).stderr


def test_a_bar_on_a_terminal():
    """Of a library that takes a while; nothing of it where stderr is no terminal."""
    library = pathlib.Path(os.environ.get("TM_TEST_DATA", "")) / "mlx-13.metallib"
    if not library.exists():
        pytest.skip("no mlx-13.metallib in TM_TEST_DATA")
    ours, theirs = pty.openpty()
    with subprocess.Popen([TOOL, "verify", library], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # the other end is closed
            pass
        assert process.stdout.read() == b"11013 functions verified, 0 failed\n"
    os.close(ours)
    assert b" of 11013 functions, " in shown and b"/s, " in shown and shown.endswith(b"\r\x1b[K")
    assert tool("verify", library).stderr == ""
