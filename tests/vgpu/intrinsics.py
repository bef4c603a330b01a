# SPDX-License-Identifier: MIT
"""Every air.* and llvm.* function that Apple's compiler was seen to call (MLX, PyTorch and others, AIR 2.5 to
2.8) but those of textures and tensors, with its types and what it does in terms of NumPy. A row is a name,
a signature, an oracle. The oracle gets arrays with one row for each of 32 lanes: floats as float64, integers
as they are; it returns the result, or with pointers a tuple: the result, if any, and what each points to.

Types: i8 i16 i32 i64 unsigned, with s. signed, i1 f16 bf16 f32, v4f32 vectors; p1:T a pointer to a value of
each lane in device memory, 3 threadgroup, 0 thread memory; p1b:T the same given as i8*; "=i32 2" a constant."""
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

LANES = np.arange(32)
ROWS = []


@dataclass
class Row:
    name: str
    result: str
    args: list
    oracle: Callable
    low: float = -2.0     # of floats
    high: float = 2.0
    ulps: float = 4.0
    ranges: dict = field(default_factory=dict)  # argument: low and high
    same: tuple = ()      # arguments that are the same in all lanes
    raw: bool = False     # the oracle gets floats in their own type


def row(name, signature, oracle, **options):
    result, args = signature.rstrip(")").split("(", 1)
    ROWS.append(Row(name, result, [a.strip() for a in args.split(",") if a.strip()], oracle, **options))


def each(names, types, signature, oracle, **options):
    """A row for each name and type; T stands for the type and {} in the name for its spelling."""
    for name in names.split():
        for t in types.split():
            unsigned = t.removeprefix("u.")
            row(name.replace("{}", t), signature.replace("T", unsigned), oracle, **options)


# ---- Mathematics
for name, function, types, low, high in [
    ("acos", np.arccos, "f32", -1, 1), ("acosh", np.arccosh, "f32", 1.01, 9), ("asin", np.arcsin, "f32", -1, 1),
    ("asinh", np.arcsinh, "f32", -4, 4), ("atan", np.arctan, "f32", -4, 4), ("atanh", np.arctanh, "f32", -.9, .9),
    ("ceil", np.ceil, "f16 f32", -9, 9), ("cos", np.cos, "f16 f32", -1, 1), ("cosh", np.cosh, "f32", -4, 4),
    ("exp", np.exp, "f16 f32 v2f32 v4f32", -4, 4), ("exp10", lambda x: 10**x, "f32", -3, 3),
    ("exp2", np.exp2, "f32", -4, 4), ("fabs", np.abs, "f16 f32 v2f32", -4, 4), ("fast_cos", np.cos, "f32", -1, 1),
    ("fast_exp", np.exp, "f32 v4f32", -4, 4), ("fast_exp2", np.exp2, "f32 v2f32", -4, 4),
    ("fast_fabs", np.abs, "f32 v4f32", -4, 4), ("fast_log", np.log, "f32", 2, 9), ("fast_log2", np.log2, "f32", 2, 9),
    ("fast_rsqrt", lambda x: x**-.5, "f32 v4f32", .1, 9), ("fast_sin", np.sin, "f32", -1, 1),
    ("fast_sqrt", np.sqrt, "f32", 0, 9), ("fast_tanh", np.tanh, "f32", -3, 3),
    ("floor", np.floor, "f16 f32 v2f16", -9, 9), ("fract", lambda x: x - np.floor(x), "f32 v3f32", 1, 9),
    ("log", np.log, "f16 f32", 2, 9), ("log10", np.log10, "f32", 2, 9), ("log2", np.log2, "f32", 2, 9),
    ("rint", np.rint, "f16 f32", -9, 9), ("round", lambda x: np.copysign(np.floor(np.abs(x) + .5), x), "f16 f32", -9, 9),
    ("rsqrt", lambda x: x**-.5, "f32", .1, 9), ("sin", np.sin, "f16 f32", -1, 1), ("sinh", np.sinh, "f32", -4, 4),
    ("sinpi", lambda x: np.sin(np.pi * x), "f32", -.4, .4), ("sqrt", np.sqrt, "f16 f32", 0, 9),
    ("tan", np.tan, "f32", -1, 1), ("tanh", np.tanh, "f32", -3, 3), ("trunc", np.trunc, "f16 f32", -9, 9)]:
    each(f"air.{name}.{{}}", types, "T(T)", function, low=low, high=high)
each("air.atan2.{}", "f16 f32", "T(T,T)", np.arctan2)
each("air.fmod.{}", "f16 f32", "T(T,T)", np.fmod, ulps=0)
each("air.pow.{}", "f16 f32", "T(T,T)", np.power, low=.5)
each("air.nextafter.{}", "f16 f32", "T(T,T)", np.nextafter, raw=True, ulps=0)
each("air.ldexp.{} air.fast_ldexp.{}", "f32", "T(T,s.i32)", lambda x, n: x * 2.0**n, ranges={1: (-9, 9)}, ulps=0)
row("air.sincos.f32", "f32(f32,p0:f32)", lambda x, _: (np.sin(x), np.cos(x)), low=-1, high=1)
each("air.fma.{}", "f16 f32 v2f16 v2f32 v4f32", "T(T,T,T)", lambda a, b, c: a * b + c, low=.5, ulps=.51)
each("llvm.fmuladd.{}", "bf16 f16 f32 v2f16 v2f32 v4bf16 v4f16 v4f32 v8f32", "T(T,T,T)", lambda a, b, c: a * b + c,
     low=.5, ulps=1.6)
for size, types in (2, "f16 f32"), (4, "f16 f32"):
    for t in types.split():
        row(f"air.dot.v{size}{t}", f"{t}(v{size}{t},v{size}{t})", lambda a, b: (a * b).sum(1), low=.5)

# ---- Smaller and greater
each("air.fmin.{}", "f16 f32", "T(T,T)", np.minimum, ulps=0)
each("air.fast_fmin.{}", "f32", "T(T,T)", np.minimum, ulps=0)
each("air.fmax.{}", "f16 f32 v2f16 v2f32", "T(T,T)", np.maximum, ulps=0)
each("air.fast_fmax.{}", "f32 v2f32", "T(T,T)", np.maximum, ulps=0)
each("air.fmax3.{}", "f32", "T(T,T,T)", lambda a, b, c: np.maximum(a, np.maximum(b, c)), ulps=0)
CLAMP = {"ranges": {1: (-1, -.5), 2: (.5, 1)}, "ulps": 0}
each("air.clamp.{} air.fast_clamp.{}", "f32", "T(T,T,T)", np.clip, **CLAMP)
each("air.clamp.{}", "s.i32 s.i64", "T(T,T,T)", np.clip, ranges={1: (-900, -9), 2: (9, 900)})
each("air.max.{}", "s.i8 s.i16 s.i32 s.i64 u.i8 u.i16 u.i32 u.i64", "T(T,T)", np.maximum)
each("air.min.{}", "s.i8 s.i16 s.i32 s.i64 u.i8 u.i16 u.i32 u.i64", "T(T,T)", np.minimum)
for size in (8, 16, 32, 64):
    row(f"llvm.smax.i{size}", f"s.i{size}(s.i{size},s.i{size})", np.maximum)
    row(f"llvm.smin.i{size}", f"s.i{size}(s.i{size},s.i{size})", np.minimum)
    row(f"llvm.umax.i{size}", f"i{size}(i{size},i{size})", np.maximum)
    row(f"llvm.umin.i{size}", f"i{size}(i{size},i{size})", np.minimum)
    row(f"llvm.abs.i{size}", f"s.i{size}(s.i{size},=i1 0)", np.abs)

# ---- Integers and masks
each("air.abs.{}", "s.i8 s.i16 s.i32 s.i64 u.i8", "T(T)", np.abs)
row("air.clz.i32", "i32(i32,=i1 0)", lambda x: np.array([32 - int(v).bit_length() for v in x]))
row("llvm.fshl.i32", "i32(i32,i32,i32)",
    lambda a, b, n: np.array([(int(x) << 32 | int(y)) << int(k % 32) >> 32 & 0xFFFFFFFF for x, y, k in zip(a, b, n)]))
row("llvm.usub.sat.i32", "i32(i32,i32)", lambda a, b: np.where(a > b, a - b, 0))
row("air.all.v2i1", "i1(v2i1)", lambda m: m.all(1))
row("air.all.v3i1", "i1(v3i1)", lambda m: m.all(1))
row("air.any.v2i1", "i1(v2i1)", lambda m: m.any(1))
row("air.normalize_function_constant_predicate.i8", "i8(i8)", lambda x: x != 0, ranges={0: (0, 2)})
each("air.is_uniform.{}", "f32 i1 i32", "i1(T)", lambda x: np.ones(32, bool), same=(0, ))
# Not seen, but what Metal offers beside those that were.
row("air.reverse_bits.i32", "i32(i32)", lambda x: np.array([int(f"{v:032b}"[::-1], 2) for v in x]))
row("air.reverse_bits.i64", "i64(i64)", lambda x: np.array([int(f"{v:064b}"[::-1], 2) for v in x], np.uint64))
row("air.popcount.i64", "i64(i64)", lambda x: np.array([int(v).bit_count() for v in x]))
row("air.ctz.i64", "i64(i64,=i1 0)", lambda x: np.array([(int(v) & -int(v)).bit_length() - 1 if v else 64 for v in x]))
row("air.mul_hi.s.i64", "s.i64(s.i64,s.i64)", lambda a, b: np.array([int(x) * int(y) >> 64 for x, y in zip(a, b)]))
for size in (8, 16, 32, 64):
    for name, sign in ("sadd", 1), ("ssub", -1):
        row(f"llvm.{name}.sat.i{size}", f"s.i{size}(s.i{size},s.i{size})", lambda a, b, s=sign: np.array(
            [min(max(int(x) + s * int(y), np.iinfo(a.dtype).min), np.iinfo(a.dtype).max) for x, y in zip(a, b)]))

# ---- Conversions
REAL, WHOLE = "f16 f32 bf16", "s.i8 s.i16 s.i32 s.i64 u.i8 u.i16 u.i32 u.i64 u.i1"


def kind(t):
    """As names of conversions spell a type: f.f32, s.i8."""
    return t if t[:2] in ("s.", "u.") else "f." + t


def convert(to, source, **options):
    row(f"air.convert.{kind(to)}.{kind(source)}", f"{to.removeprefix('u.')}({source.removeprefix('u.')})",
        (lambda x: x != 0) if to == "u.i1" else lambda x: x, **options)


for real in REAL.split():
    for whole in WHOLE.split():
        if real != "f32":
            fits = {} if real == "bf16" else {"ranges": {0: (0 if whole[0] == "u" else -60000, 60000)}}
            convert(real, whole, ulps=1, **(fits if whole[3:] in ("32", "64") or whole == "u.i16" else {}))
        else:
            convert(real, whole, ulps=1)
        most = 2.0 ** min(int(whole[3:]) - (whole[0] == "s"), 15) - 1 if whole != "u.i1" else 1
        convert(whole, real, low=0 if whole[0] == "u" else -most, high=most)
convert("bf16", "f16", ulps=.51)
convert("f16", "bf16", ulps=.51)
for to, source in [("v2f16", "v2f32"), ("v2f32", "v2bf16"), ("v2f32", "v2f16"), ("v2f32", "s.v2i8"),
                   ("v4bf16", "v4f32"), ("v4f16", "v4bf16"), ("v4f16", "v4f32"), ("v4f16", "u.v4i8"),
                   ("v4f32", "v4bf16"), ("v4f32", "v4f16"), ("v4f32", "s.v4i8"), ("v4f32", "u.v4i8"),
                   ("v8bf16", "v8f32"), ("v8f32", "v8bf16"), ("s.v2i64", "u.v2i32"), ("u.v2i64", "u.v2i16"),
                   ("u.v3i64", "u.v3i32")]:
    convert(to, source, ulps=.51)

# ---- Across lanes
row("air.get_simdgroup_size.i16", "i16()", lambda: LANES * 0 + 32)
row("air.get_simdgroup_size.i32", "i32()", lambda: LANES * 0 + 32)
row("air.get_thread_index_in_simdgroup.i16", "i16()", lambda: LANES)
row("air.simd_is_first", "i1()", lambda: LANES == 0)
row("air.simd_all", "i1(i1)", lambda m: np.broadcast_to(m.all(), 32))
row("air.simd_any", "i1(i1)", lambda m: np.broadcast_to(m.any(), 32))
each("air.quad_sum.{}", "f32", "T(T)", lambda x: np.repeat(x.reshape(8, 4).sum(1), 4), low=.5)
# Not seen.
each("air.quad_sum.{}", "s.i64", "T(T)", lambda x: np.repeat(x.reshape(8, 4).sum(1), 4))
each("air.quad_max.{}", "u.i64 s.i32", "T(T)", lambda x: np.repeat(x.reshape(8, 4).max(1), 4))
row("air.simd_ballot.i64", "i64(i1)", lambda m: np.broadcast_to((m.astype(np.uint64) << LANES.astype(np.uint64)).sum(), 32))
row("air.simd_active_threads_mask.i64", "i64()", lambda: np.full(32, 0xFFFFFFFF, np.uint64))
each("air.simd_broadcast_first.{}", "f32 i64", "T(T)", lambda x: np.broadcast_to(x[0], 32), ulps=0)
each("air.quad_shuffle_xor.{}", "u.i64", "T(T,s.i16)", lambda x, i: x[LANES ^ i], ranges={1: (1, 3)}, same=(1, ))
INTEGERS = "s.i8 s.i16 s.i32 u.i8 u.i16 u.i32"
LONG = " s.i64 u.i64"  # not seen


def across(function):
    return lambda x: np.broadcast_to(function.reduce(x, 0, x.dtype), x.shape)


def prefix(function, first=None):
    def scan(x):
        sums = function.accumulate(x, 0, x.dtype)
        return sums if first is None else np.concatenate([np.full_like(sums[:1], first), sums[:-1]])

    return scan


each("air.simd_sum.{}", "f16 f32 v4f16 v4f32 " + INTEGERS + LONG, "T(T)", across(np.add), low=.5)
each("air.simd_product.{}", "f16 f32 " + INTEGERS + LONG, "T(T)", across(np.multiply), low=.9, high=1.1)
each("air.simd_max.{}", "f16 f32 " + INTEGERS + LONG, "T(T)", across(np.maximum), ulps=0)
each("air.simd_min.{}", "f16 f32 " + INTEGERS + LONG, "T(T)", across(np.minimum), ulps=0)
each("air.simd_prefix_inclusive_sum.{}", "f16 f32 u.v2i32 " + INTEGERS + LONG, "T(T)", prefix(np.add), low=.5, ulps=8)
each("air.simd_prefix_exclusive_sum.{}", "f16 f32 u.v2i32 " + INTEGERS + LONG, "T(T)", prefix(np.add, 0), low=.5, ulps=8)
each("air.simd_prefix_inclusive_product.{}", "f16 f32 " + INTEGERS + LONG, "T(T)", prefix(np.multiply), low=.9, high=1.1,
     ulps=8)
each("air.simd_prefix_exclusive_product.{}", "f16 f32 " + INTEGERS + LONG, "T(T)", prefix(np.multiply, 1), low=.9,
     high=1.1, ulps=8)


def inside(x, at):
    return x[np.where((at >= 0) & (at < 32), at, LANES)]


def fill_up(data, filling, delta, segment):
    at = LANES % segment[0]
    return np.array([data[i - d] if a >= d else filling[i - d + segment[0]] for i, a, d in zip(LANES, at, delta)])


def fill_down(data, filling, delta, segment):
    at = LANES % segment[0]
    return np.array([data[i + d] if a + d < segment[0] else filling[i + d - segment[0]] for i, a, d in zip(LANES, at, delta)])


LANE = {"ranges": {1: (0, 31)}, "ulps": 0}
DELTA = {"ranges": {1: (0, 31)}, "same": (1, ), "ulps": 0}
each("air.simd_broadcast.{}", "f32 s.v2i32 u.i32", "T(T,s.i16)", lambda x, i: x[i], **DELTA)
each("air.simd_shuffle.{}", "f16 f32 v2f16 v2f32 v4f32 u.v2i32 s.i64 " + INTEGERS, "T(T,s.i16)", lambda x, i: x[i], **LANE)
each("air.simd_shuffle_xor.{}", "f32 v4f32 s.i32 u.i32", "T(T,s.i16)", lambda x, i: x[LANES ^ i], **DELTA)
each("air.simd_shuffle_down.{}", "f16 f32 v4f32 s.v2i32 u.v2i32 u.i64 " + INTEGERS, "T(T,s.i16)",
     lambda x, i: inside(x, LANES + i), **DELTA)
each("air.simd_shuffle_up.{}", "f16 f32 " + INTEGERS, "T(T,s.i16)", lambda x, i: inside(x, LANES - i), **DELTA)
FILL = {"ranges": {2: (0, 8), 3: (8, 8)}, "same": (2, 3), "ulps": 0}
each("air.simd_shuffle_and_fill_up.{}", "f16 f32 v2f16 v2f32 u.v2i32 " + INTEGERS, "T(T,T,s.i16,s.i16)", fill_up, **FILL)
each("air.simd_shuffle_and_fill_down.{}", "s.v2i32", "T(T,T,s.i16,s.i16)", fill_down, **FILL)

# ---- Memory: orders, scopes and volatility are constants
ORDER = "=i32 0,=i32 2,=i1 1"


def swapped(memory, expected, wanted):
    """Of a compare-and-swap: what was there, what is there now, what the expected value became."""
    return memory, np.where(memory == expected, wanted, memory), memory


for space, name, types in (1, "global", "f32 s.i32 u.i32"), (3, "local", "u.i32"):
    each(f"air.atomic.{name}.add.{{}}", types, f"T(p{space}:T,T,{ORDER})", lambda m, x: (m, m + x), low=.5)
for name, function in ("max", np.maximum), ("min", np.minimum):
    each(f"air.atomic.global.{name}.{{}}", "s.i32 u.i32", f"T(p1:T,T,{ORDER})", lambda m, x, f=function: (m, f(m, x)))
    row(f"air.atomic.global.{name}.u.i64", f"void(p1:i64,i64,{ORDER})", lambda m, x, f=function: (f(m, x), ))
for t in ("f32", "i32"):
    row(f"air.atomic.global.load.{t}", f"{t}(p1:{t},{ORDER})", lambda m: (m, m), ulps=0)
    row(f"air.atomic.global.store.{t}", f"void(p1:{t},{t},{ORDER})", lambda m, x: (x, ), ulps=0)
    row(f"air.atomic.global.cmpxchg.weak.{t}", f"{t}(p1:{t},p0:{t},{t},=i32 0,{ORDER})", swapped, ulps=0,
        ranges={0: (1, 2), 1: (1, 2)} if t == "i32" else {})
row("air.atomic.local.load.i32", f"i32(p3:i32,{ORDER})", lambda m: (m, m))
row("air.atomic.local.store.i32", f"void(p3:i32,i32,{ORDER})", lambda m, x: (x, ))
row("air.atomic.local.cmpxchg.weak.i32", f"i32(p3:i32,p0:i32,i32,=i32 0,{ORDER})", swapped, ranges={0: (1, 2), 1: (1, 2)})
row("air.atomic.fence", "void(=i32 1,=i32 5,=i32 2)", lambda: None)
row("air.wg.barrier", "void(=i32 2,=i32 1)", lambda: None)
row("air.simdgroup.barrier", "void(=i32 2,=i32 4)", lambda: None)
for t in ("f32", "v2i32", "v4f32"):
    row(f"air.load.device_coherent.{t}.p1{t}", f"{t}(p1:{t})", lambda m: (m, m), ulps=0)
for t in ("f32", "v2i32"):
    row(f"air.store.device_coherent.{t}.p1{t}", f"void({t},p1:{t})", lambda x, m: (x, ), ulps=0)
row("air.load.system_coherent.volatile.i32.p1i32", "i32(p1:i32)", lambda m: (m, m))
row("air.store.system_coherent.volatile.i32.p1i32", "void(i32,p1:i32)", lambda x, m: (x, ))
for to, source in (0, 0), (0, 1), (0, 3), (3, 0), (3, 1):
    row(f"llvm.memcpy.p{to}i8.p{source}i8.i64", f"void(p{to}b:v16i8,p{source}b:v16i8,=i64 13,=i1 0)",
        lambda a, b: (np.hstack([b[:, :13], a[:, 13:]]), b))
for to in (0, 3):
    row(f"llvm.memset.p{to}i8.i64", f"void(p{to}b:v16i8,i8,=i64 13,=i1 0)",
        lambda a, x: (np.hstack([np.repeat(x[:, None], 13, 1), a[:, 13:]]), ))
row("llvm.lifetime.start.p0i8", "void(=i64 16,p0b:v16i8)", lambda m: (m, ))
row("llvm.lifetime.end.p0i8", "void(=i64 16,p0b:v16i8)", lambda m: (m, ))
row("llvm.memmove.p1i8.p1i8.i64", "void(p1b:v16i8,p1b:v16i8,=i64 13,=i1 0)",  # not seen
    lambda a, b: (np.hstack([b[:, :13], a[:, 13:]]), b))
row("llvm.assume", "void(=i1 1)", lambda: None)
