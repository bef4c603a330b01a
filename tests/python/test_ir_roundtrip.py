# SPDX-License-Identifier: MIT
"""Upstream judges our parser and printer: for a module's text, what upstream prints for its own parse must
be what `tm-ir` prints for ours, with locations and without, and must read back to the same text."""
import glob
import os
import pathlib
import subprocess

import pytest
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend
from triton.language.extra import libdevice

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = GPUTarget("cuda", 90, 32)  # the frontend's richest target: nothing is compiled for it


@pytest.fixture(scope="session")
def tm_ir(tmp_path_factory):
    """The executable of tests/ir/tm_ir.c: $TM_IR, or built here."""
    if os.environ.get("TM_IR"):
        return os.environ["TM_IR"]
    out = str(tmp_path_factory.mktemp("tm-ir") / "tm-ir")
    sources = [f for room in ("base", "ir", "layout") for f in glob.glob(f"{ROOT}/src/{room}/**/*.c", recursive=True)]
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{ROOT}/src",
                    f"-I{ROOT}/include", f"{ROOT}/tests/ir/tm_ir.c", *sources, "-lm", "-pthread", "-o", out], check=True)
    return out


def context():
    ctx = ir.context()
    ir.load_dialects(ctx)
    return ctx


def ours(tm_ir, path, *flags):
    done = subprocess.run([tm_ir, "--verify", *flags, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def judge(tm_ir, text, tmp_path):
    path = str(tmp_path / "case.ttir")
    for _ in range(2):  # the second time on what was printed the first time
        pathlib.Path(path).write_text(text)
        ctx = context()
        module = ir.parse_mlir_module(path, ctx)
        assert ours(tm_ir, path, "--no-locs").strip() == module.str_nodebug().strip()
        text = ours(tm_ir, path)
        assert text.strip() == str(module).strip()


def make(fn, signature, constants=None, attrs=None):
    """The raw module text of a kernel, as the frontend makes it."""
    names = fn.arg_names
    src = ASTSource(fn, {n: signature.get(n, "constexpr") for n in names},
                    {(names.index(n), ): v for n, v in (constants or {}).items()}, attrs or {})
    backend = make_backend(TARGET)
    options = backend.parse_options({})
    ctx = context()
    backend.load_dialects(ctx)
    module = src.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), ctx)
    return str(module)


# ---- Kernels that reach the language's operations

@triton.jit
def elementwise(x, y, i, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask, other=-float("inf"), eviction_policy="evict_last", cache_modifier=".cg")
    b = tl.load(i + at, mask=mask, other=7, volatile=True)
    f = tl.exp(a) + tl.exp2(a) - tl.log(a) * tl.log2(a) / tl.sin(a) + tl.cos(a) % 3.0
    f += tl.sqrt(a) + tl.sqrt_rn(a) + tl.rsqrt(a) + tl.abs(a) + tl.ceil(a) + tl.floor(a) + tl.erf(a)
    f = tl.fma(f, a, 0.1) + tl.div_rn(f, a) + tl.fdiv(f, a) + tl.maximum(f, a) - tl.minimum(f, 1e-20)
    f = tl.clamp(f, -1.5, 3.40282347e38) + tl.maximum(a, f, propagate_nan=tl.PropagateNan.ALL)
    f = tl.where(f != f, float("nan"), f) + libdevice.tanh(a) + libdevice.atan2(a, f)
    g = (b * 3 + b // 5 - b % 7) ^ (b & 15 | b << 2) ^ (b >> 1) ^ ~b ^ tl.umulhi(b, b) ^ -b ^ tl.abs(b)
    g = tl.maximum(g, 2) + tl.minimum(g, -2147483648) + tl.cdiv(g, 3)
    h = g.to(tl.uint32)
    g += (h // 3 + h % 5 + (h >> 2)).to(tl.int32) + (h > 4).to(tl.int32) + tl.cast(f, tl.int32, bitcast=True)
    low = f.to(tl.float16).to(tl.bfloat16).to(tl.float32) + f.to(tl.float8e5).to(tl.float32)
    low += f.to(tl.float8e4nv, fp_downcast_rounding="rtne").to(tl.float32) + g.to(tl.float32) + h.to(tl.float32)
    low += g.to(tl.int8).to(tl.int64).to(tl.float32) + low.to(tl.int64).to(tl.float32) + low.to(tl.float64).to(tl.float32)
    tl.store(y + at, low, mask, eviction_policy="evict_first")
    tl.device_assert(mask, "all \"in\" range\n")
    tl.device_print("pid", tl.program_id(1), a, hex=True)
    tl.assume(n > 0)
    tl.debug_barrier()


@triton.jit
def combine(a, b, c, d):
    return tl.where(a > c, a, c), tl.where(a > c, b, d)


@triton.jit
def shapes(x, y, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    a = tl.load(x + m[:, None] * N + n[None, :])
    b = tl.trans(a).reshape(M * N).reshape(M, N // 2, 2)
    lo, hi = tl.split(b)
    a = tl.join(lo, hi).reshape(M, N) + tl.flip(a, 1) + tl.view(a, (M, N)) + tl.permute(a, (1, 0)).trans(1, 0)
    a += tl.sum(a, 1)[:, None] + tl.max(a, 0)[None, :] + tl.cumsum(a, 1) + tl.cumprod(a, 0, reverse=True)
    best, where = tl.max(a, 1, return_indices=True)
    v, k = tl.reduce((a, a), 1, combine)
    a += best[:, None] * where[:, None] + v[:, None] * k[:, None] + tl.argmin(a, 0)[None, :]
    a += tl.associative_scan(a, 0, tl.standard._sum_combine) + tl.sort(a, 1) + tl.softmax(a)
    a += tl.gather(a, tl.broadcast_to(m[:, None] % N, (M, N)), 1) + tl.zeros_like(a) + tl.full((M, N), 2.5, tl.float32)
    h = tl.histogram(tl.sum(where, 0, keep_dims=True).to(tl.int32) + m, 16)
    c = tl.cat(m, m, can_reorder=True) + tl.xor_sum(m, 0) + tl.expand_dims(h, 0).reshape(16).sum()
    tl.store(y + m[:, None] * N + n[None, :], a + tl.sum(c))


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in tl.range(0, K, BK, num_stages=3, loop_unroll_factor=2, disable_licm=True):
        x = tl.load(a + m[:, None] * K + at + k[None, :], mask=at + k[None, :] < K, other=0.0)
        y = tl.load(b + (at + k[:, None]) * BN + n[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@triton.jit
def helper(x, n):
    if n > 3:
        return x
    return x * 2


@triton.jit(noinline=True)
def apart(x, p):
    tl.store(p, x)
    return x + 1, x * 2


@triton.jit
def control(x, y, lock, n):
    if n == 7:
        return
    total = 0.0
    i = 0
    while i < n:
        value = tl.load(x + i)
        if value > 0:
            total += value
        elif value < -1:
            total -= helper(value, i)
        else:
            for j in tl.static_range(2):
                total += j
        i += 1
    for k in range(n, 0, -1):
        total, other = apart(total, y)
        total += other
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_add(y, total, sem="relaxed", scope="cta")
    tl.atomic_max(lock, n)
    tl.atomic_xchg(lock, 0, mask=n > 4)
    tl.store(y + tl.num_programs(1), total)


@triton.jit
def descriptors(p, out, M, N):
    d = tl.make_tensor_descriptor(p, [M, N], [N, 1], [8, 16])
    o = tl.make_tensor_descriptor(out, [M, N], [N, 1], [8, 16])
    o.store([8, 0], d.load([0, 16]))
    o.atomic_add([0, 0], d.load([0, 0]))


KERNELS = {
    "elementwise": (elementwise, {"x": "*fp32", "y": "*fp32", "i": "*i32", "n": "i32"}, {"BLOCK": 256}),
    "elementwise-const": (elementwise, {"x": "*kfp32", "y": "*fp32", "i": "*ki32", "n": "i64"}, {"BLOCK": 2}),
    "shapes": (shapes, {"x": "*fp32", "y": "*fp32"}, {"M": 16, "N": 16}),
    "matmul": (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"},
               {"BM": 16, "BN": 32, "BK": 16, "PRECISION": "ieee"}),
    "matmul-tf32x3": (matmul, {"a": "*fp32", "b": "*fp32", "c": "*fp32", "K": "i32"},
                      {"BM": 64, "BN": 16, "BK": 32, "PRECISION": "tf32x3"}),
    "control": (control, {"x": "*fp32", "y": "*fp32", "lock": "*i32", "n": "i32"}, {}),
    "descriptors": (descriptors, {"p": "*bf16", "out": "*bf16", "M": "i32", "N": "i32"}, {}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_frontend_text(name, tm_ir, tmp_path):
    fn, signature, constants = KERNELS[name]
    attrs = {(0, ): [["tt.divisibility", 16]]}
    judge(tm_ir, make(fn, signature, constants, attrs), tmp_path)


# ---- Single operations, in forms that the frontend does not print

ARGS = dict(p="!tt.ptr<f32>", tp="tensor<16x!tt.ptr<f32>>", m="tensor<16xi1>", v="tensor<16xf32>", i="i32",
            a="tensor<16x16xf16>", c="tensor<16x16xf32>", b="i1", ti="tensor<16xi32>", f="f32",
            tpi="tensor<16x!tt.ptr<i32>>", l="i64", pi="!tt.ptr<i32>", d="!tt.tensordesc<16x16xf32>",
            d1="!tt.tensordesc<1x16xf32>", ds="!tt.tensordesc<16xsi32>", a8="tensor<32x64xi8>", b8="tensor<64x32xi8>",
            s8="tensor<32x2xi8>", cc="tensor<32x32xf32>", h="f16",
            one="tensor<1xf32>")
OPS = (pathlib.Path(__file__).parent / "roundtrip_ops.mlir").read_text().splitlines()


@pytest.mark.parametrize("line", [line for line in OPS if line and not line.startswith("//")])
def test_operation(line, tm_ir, tmp_path):
    args = ", ".join(f"%{name}: {type}" for name, type in ARGS.items())
    judge(tm_ir, f"module {{ tt.func public @f({args}) {{\n  {line}\n  tt.return\n}} }}\n", tmp_path)


FLOATS = ["0.1", "-0.0", "1.0e-45", "1.17549435e-38", "3.40282346e+38", "16777215.0", "0.15625", "123456.7", "1234567.5",
          "9.9999995", "99999.95", "2.5e-4", "1.0e10", "65504.0", "0.333333333", "5.0e-324", "1.7976931348623157e308",
          "299792458.0", "6.02214076e23", "0.001", "1000000.0", "1.0e6", "448.0", "57344.0", "240.0"]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "f8E5M2", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ"])
def test_floats(dtype, tm_ir, tmp_path):
    bits = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}.get(dtype, 8)
    hexes = range(256) if bits == 8 else [(0x9E3779B97F4A7C15 * k >> 3) % 2**bits for k in range(400)]
    values = FLOATS + [f"0x{h:X}" for h in hexes]
    body = "\n".join(f"%{k} = arith.constant {v} : {dtype}" for k, v in enumerate(values))
    judge(tm_ir, f"module {{ tt.func public @f() {{\n{body}\n  tt.return\n}} }}\n", tmp_path)


LOCS = ['loc("a b"("f.py":1:2))', 'loc(callsite("in.py":1:2 at "out"("o.py":3:4)))', 'loc(unknown)', 'loc("1x")',
        'loc(fused["a.py":1:1, "b"])', 'loc(fused<"meta">["a.py":1:1])', 'loc("q\\22\\\\\\0A"("f.py":1:2))', 'loc("a")',
        'loc(callsite(callsite("x"("i.py":1:1) at "o.py":2:2) at "p.py":3:3))', 'loc("n"(unknown))']


def test_locations(tm_ir, tmp_path):
    body = "\n".join(f"%{k} = arith.constant {k} : i32 {loc}" for k, loc in enumerate(LOCS * 2))
    judge(tm_ir, f"#m = loc(\"z.py\":9:9)\n#l = loc(\"z\"(#m))\nmodule {{ tt.func public @f(%a: i32 loc(#l), %b: i32 loc(#m))"
          f" {{\n{body}\n  tt.return loc(#l)\n}} loc(#m) }} loc(#m)\n", tmp_path)


def test_op_table_is_current(tm_ir):
    made = subprocess.run([tm_ir, "--ops"], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "ops.md").read_text() == made, "run tm-ir --ops > docs/ops.md"
