# SPDX-License-Identifier: MIT
"""triton.language.extra.libdevice on Apple GPUs. Functions of the hardware's own library, and those the
compiler expands, are external calls by plain name (docs/ops.md lists them); conversions and bit
casts are ordinary Triton code. Names without a counterpart are refused with TM4308 when used."""
import triton
import triton.language as tl
from triton.language import core

_FLOATS = ("fp32", "fp16", "bf16", "fp64")

# name, or name:symbol where they differ; one list per number of arguments.
_FLOAT_FUNCTIONS = {
    1: """floor ceil trunc round rint nearbyint rsqrt rsqrt_rn sqrt sqrt_rn exp exp2 exp10 expm1 log log2 log10 log1p
          sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh acosh atanh cbrt erf saturatef:saturate rcp_rn
          fast_sinf:fast_sin fast_cosf:fast_cos fast_tanf:fast_tan fast_log2f:fast_log2 fast_logf:fast_log
          fast_expf:fast_exp fast_tanhf:fast_tanh fast_exp10f:fast_exp10 fast_log10f:fast_log10
          rcp_rz rcp_rd rcp_ru rcp64h sqrt_rz sqrt_rd sqrt_ru erfc erfinv erfcx erfcinv normcdf normcdfinv lgamma
          tgamma rcbrt j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 logb""",
    2: """pow atan2 fmod nextafter copysign hypot fdim add_rn sub_rn mul_rn div_rn fast_dividef:fast_divide
          fast_powf:fast_pow remainder rhypot
          add_rz add_rd add_ru sub_rz sub_rd sub_ru mul_rz mul_rd mul_ru div_rz div_rd div_ru""",
    3: "fma fma_rn fma_rz fma_rd fma_ru norm3d rnorm3d",
    4: "norm4d rnorm4d",
}

# name: {argument types: (symbol, result type)}
_OTHER_FUNCTIONS = {
    "abs": {("int32", ): ("abs", "int32"), ("int64", ): ("llabs", "int64"),
            **{(t, ): ("fabs", t) for t in _FLOATS}},
    "clz": {("int32", ): ("clz", "int32"), ("int64", ): ("clzll", "int32")},
    "popc": {("int32", ): ("popc", "int32"), ("int64", ): ("popcll", "int32")},
    "ffs": {("int32", ): ("ffs", "int32"), ("int64", ): ("ffsll", "int32")},
    "mulhi": {("int32", ) * 2: ("mulhi", "int32"), ("uint32", ) * 2: ("umulhi", "uint32"),
              ("int64", ) * 2: ("mul64hi", "int64"), ("uint64", ) * 2: ("umul64hi", "uint64")},
    "ldexp": {(t, "int32"): ("ldexp", t) for t in _FLOATS},
    "scalbn": {(t, "int32"): ("scalbn", t) for t in _FLOATS},
    "isnan": {(t, ): ("isnan", "int32") for t in _FLOATS},
    "isinf": {(t, ): ("isinf", "int32") for t in _FLOATS},
    "signbit": {(t, ): ("signbit", "int32") for t in _FLOATS},
    "finitef": {("fp32", ): ("finite", "int32")},
    "isfinited": {("fp64", ): ("isfinite", "int32")},
    "llrint": {(t, ): ("llrint", "int64") for t in _FLOATS},
    "llround": {(t, ): ("llround", "int64") for t in _FLOATS},
    "ilogb": {(t, ): ("ilogb", "int32") for t in _FLOATS},
    "jn": {("int32", t): ("jn", t) for t in _FLOATS},
    "yn": {("int32", t): ("yn", t) for t in _FLOATS},
}


def _make(name, table):
    dispatch = {tuple(core.dtype(t) for t in types): (symbol, core.dtype(result))
                for types, (symbol, result) in table.items()}
    arity = len(next(iter(dispatch)))

    def function(*args, _semantic=None):
        if len(args) != arity:
            raise TypeError(f"libdevice.{name} takes {arity} arguments, {len(args)} given")
        return core.extern_elementwise("", "", list(args), dispatch, is_pure=True, _semantic=_semantic)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return core.extern(function)


for _arity, _names in _FLOAT_FUNCTIONS.items():
    for _entry in _names.split():
        _name, _, _symbol = _entry.partition(":")
        globals()[_name] = _make(_name, {(t, ) * _arity: (_symbol or _name, t) for t in _FLOATS})
for _name, _table in _OTHER_FUNCTIONS.items():
    globals()[_name] = _make(_name, _table)


# ---- Conversions: rounding toward zero is Triton's own, the rest round first
@triton.jit
def float2int_rz(arg0):
    return arg0.to(tl.int32)


@triton.jit
def float2uint_rz(arg0):
    return arg0.to(tl.uint32)


@triton.jit
def float2ll_rz(arg0):
    return arg0.to(tl.int64)


@triton.jit
def float2ull_rz(arg0):
    return arg0.to(tl.uint64)


@triton.jit
def float2int_rn(arg0):
    return rint(arg0).to(tl.int32)


@triton.jit
def float2uint_rn(arg0):
    return rint(arg0).to(tl.uint32)


@triton.jit
def float2ll_rn(arg0):
    return rint(arg0).to(tl.int64)


@triton.jit
def float2ull_rn(arg0):
    return rint(arg0).to(tl.uint64)


@triton.jit
def float2int_rd(arg0):
    return tl.floor(arg0).to(tl.int32)


@triton.jit
def float2uint_rd(arg0):
    return tl.floor(arg0).to(tl.uint32)


@triton.jit
def float2ll_rd(arg0):
    return tl.floor(arg0).to(tl.int64)


@triton.jit
def float2ull_rd(arg0):
    return tl.floor(arg0).to(tl.uint64)


@triton.jit
def float2int_ru(arg0):
    return tl.ceil(arg0).to(tl.int32)


@triton.jit
def float2uint_ru(arg0):
    return tl.ceil(arg0).to(tl.uint32)


@triton.jit
def float2ll_ru(arg0):
    return tl.ceil(arg0).to(tl.int64)


@triton.jit
def float2ull_ru(arg0):
    return tl.ceil(arg0).to(tl.uint64)


@triton.jit
def int2float_rn(arg0):
    return arg0.to(tl.float32)


@triton.jit
def uint2float_rn(arg0):
    return arg0.to(tl.uint32, bitcast=True).to(tl.float32)


@triton.jit
def ll2float_rn(arg0):
    return arg0.to(tl.float32)


@triton.jit
def ull2float_rn(arg0):
    return arg0.to(tl.uint64, bitcast=True).to(tl.float32)


@triton.jit
def int_as_float(arg0):
    return arg0.to(tl.float32, bitcast=True)


@triton.jit
def uint_as_float(arg0):
    return arg0.to(tl.float32, bitcast=True)


@triton.jit
def float_as_int(arg0):
    return arg0.to(tl.int32, bitcast=True)


@triton.jit
def float_as_uint(arg0):
    return arg0.to(tl.uint32, bitcast=True)


@triton.jit
def mul24(arg0, arg1):
    return ((arg0 << 8) >> 8) * ((arg1 << 8) >> 8)


@triton.jit
def hadd(arg0, arg1):
    return (arg0 & arg1) + ((arg0 ^ arg1) >> 1)


@triton.jit
def rhadd(arg0, arg1):
    return (arg0 | arg1) - ((arg0 ^ arg1) >> 1)


@triton.jit
def sad(arg0, arg1, arg2):
    return tl.where(arg0 > arg1, arg0 - arg1, arg1 - arg0).to(tl.uint32, bitcast=True) + arg2


@triton.jit
def brev(arg0):
    v = arg0.to(tl.uint32, bitcast=True)
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1)
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2)
    v = ((v >> 4) & 0x0F0F0F0F) | ((v & 0x0F0F0F0F) << 4)
    v = ((v >> 8) & 0x00FF00FF) | ((v & 0x00FF00FF) << 8)
    return ((v >> 16) | (v << 16)).to(tl.int32, bitcast=True)
