# SPDX-License-Identifier: MIT
"""Unary, binary and ternary kernels and copies: contiguous, scalar and strided forms over all types."""
import math

import numpy as np

from harness import (FLOATS, INTS, REAL, STEP, UNSIGNED, Case, Launch, Out, block, ceil, flat, i32, i64, load,
                     random, store, strides, u32)

N = 1003
erf = np.vectorize(math.erf)


def erfinv(y):
    x = np.zeros_like(y)
    for _ in range(60):  # Newton's method from zero is monotone on either side
        x = x - (erf(x) - y) / (2 / math.sqrt(math.pi) * np.exp(-x * x))
    return x


def rint_sign(x):
    return np.sign(x) if x.dtype.kind != "u" else (x != 0).astype(x.dtype)


COMPLEX = ("complex64",)
# operation: (reference, (low, high), types, ulps in float32). The error of the narrow types is their rounding.
# MLX's Expm1 reduces by a short ln 2: 1.4e-6 for each octave.
UNARY = {
    "Abs": (np.abs, (-9, 9), REAL, 0), "Ceil": (np.ceil, (-9, 9), REAL, 0), "Floor": (np.floor, (-9, 9), REAL, 0),
    "Negative": (np.negative, (-9, 9), INTS + FLOATS, 0), "Sign": (rint_sign, (-9, 9), INTS + FLOATS, 0),
    "Square": (lambda x: x * x, (-9, 9), INTS + FLOATS + COMPLEX, 2), "Round": (np.rint, (-9, 9), FLOATS, 0),
    "BitwiseInvert": (np.invert, (0, 0), INTS, 0), "LogicalNot": (np.logical_not, (0, 0), ("bool_",), 0),
    "ArcCos": (np.arccos, (-1, 1), FLOATS, 8), "ArcCosh": (np.arccosh, (1.1, 9), FLOATS, 8),
    "ArcSin": (np.arcsin, (-1, 1), FLOATS, 8), "ArcSinh": (np.arcsinh, (-9, 9), FLOATS, 8),
    "ArcTan": (np.arctan, (-9, 9), FLOATS, 8), "ArcTanh": (np.arctanh, (-.99, .99), FLOATS, 8),
    "Cos": (np.cos, (-1.5, 1.5), FLOATS, 8), "Cosh": (np.cosh, (-5, 5), FLOATS + COMPLEX, 8),
    "Exp": (np.exp, (-9, 9), FLOATS + COMPLEX, 8), "Expm1": (np.expm1, (-3, 3), FLOATS, 64),
    "Log": (np.log, (.1, 99), FLOATS + COMPLEX, 16), "Log2": (np.log2, (1.2, 99), FLOATS, 8),
    "Log10": (np.log10, (1.2, 99), FLOATS, 8), "Log1p": (np.log1p, (.01, 9), FLOATS, 16),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-4, 4), FLOATS, 64),
    "Erf": (erf, (-3, 3), FLOATS, 8), "ErfInv": (erfinv, (-.9, .9), FLOATS, 8),
    "Sin": (np.sin, (-3, 3), FLOATS + COMPLEX, 8), "Sinh": (np.sinh, (-5, 5), FLOATS + COMPLEX, 16),
    "Sqrt": (np.sqrt, (0, 99), FLOATS + COMPLEX, 8), "Rsqrt": (lambda x: 1 / np.sqrt(x), (.1, 99), FLOATS, 4),
    "Tan": (np.tan, (-1.4, 1.4), FLOATS, 8), "Tanh": (np.tanh, (-4, 4), FLOATS + COMPLEX, 8),
    "Conjugate": (np.conj, (-9, 9), COMPLEX, 0),
    "Real": (np.real, (-9, 9), COMPLEX, 0), "Imag": (np.imag, (-9, 9), COMPLEX, 0),
}
# Narrow types compute some operations in steps, each rounded.
STEPS = {"Sigmoid": 4, "Sinh": 2}


# What the edges of the number line give, where the operation says it.
EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 6e4)
UNARY_EDGES = ("Abs", "Ceil", "Floor", "Negative", "Square", "Round", "ArcTan", "Cos", "Exp", "Log", "Log2", "Log10",
               "Sin", "Sqrt", "Rsqrt", "Tanh", "ArcSin", "ArcCos", "Sigmoid", "Cosh")
BINARY_EDGES = ("Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Equal", "NotEqual", "Greater", "Less",
                "GreaterEqual", "LessEqual", "ArcTan2", "LogAddExp", "NaNEqual", "Power")


def unary_edges(op, dtype):
    reference, _, _, wide = UNARY[op]

    def make(rng):
        x = store(np.array(EDGES), dtype)
        with np.errstate(all="ignore"):
            want = rounded_to(reference(load(x, dtype)), dtype)
        return Launch({0: x, 2: u32(len(x))}, {1: Out(want, dtype, ulps(op, dtype, wide), 0)}, **flat(len(x)))

    return Case(f"v_{op}{dtype}{dtype}", make, label="edges")


def binary_edges(op, dtype):
    reference, _, _, boolean, wide = BINARY[op]

    def make(rng):
        a, b = (store(v.reshape(-1), dtype) for v in np.meshgrid(EDGES, EDGES))
        with np.errstate(all="ignore"):
            want = reference(load(a, dtype), load(b, dtype))
            want = want if boolean else rounded_to(want, dtype)
        out = Out(want, "bool_" if boolean else dtype, max(wide, 1), 0)
        return Launch({0: a, 1: b, 3: u32(len(a))}, {2: out}, **flat(len(a)))

    return Case(f"vv_{op}{dtype}", make, label="edges")


def rounded_to(v, dtype):
    """Numbers too large for the type become infinite."""
    with np.errstate(all="ignore"):
        return load(store(v, dtype), dtype)


def ulps(op, dtype, wide):
    return wide if dtype in ("float32", "complex64") else min(wide, STEPS.get(op, .51 if dtype == "float16" else 1))


def contiguous(form, n, itemsize, group):
    """Geometry and the size argument. Names that end in n or 2 take 8 bytes a thread; 2: a grid of two dimensions."""
    count = ceil(n, max(1, 8 // itemsize)) if form[-1] in "n2" else n
    if form[-1] != "2":
        return flat(count, group), u32(n)
    return {"threads": (ceil(count, 3), 3, 1), "group": (32, 2, 1)}, i64(n)


def unary(form, op, dtype):
    reference, (low, high), _, wide = UNARY[op]
    out = "float32" if op in ("Real", "Imag") else dtype

    def make(rng):
        if form in ("gn1", "gn4large"):
            shape, at = (7, 5, 3, 11), (1, 77, 539, 7)
            x = random(rng, dtype, 7 * 7 * 77, low, high)
            view = lifted(x, at, shape)
            where = geometry(form, shape, 4 if form == "gn4large" else 1)
            extra = {2: i32(*shape), 3: i64(*at), 4: i32(4)}
        else:
            x = view = random(rng, dtype, N, low, high)
            where, extra = contiguous(form, N, x.itemsize, 256)
            extra = {2: extra}
        with np.errstate(all="ignore"):
            want = reference(load(view, dtype))
        slack = 1e-4 if (op, dtype) == ("Sqrt", "complex64") else 1e-7 if wide else 0  # it subtracts near equals
        return Launch({0: x} | extra, {1: Out(want, out, ulps(op, dtype, wide), slack)}, **where)

    return Case(f"{form}_{op}{dtype}{out}", make)


def unary_cases():
    for op, (_, _, types, _) in UNARY.items():
        for dtype in types:
            yield unary("v", op, dtype)
        yield unary("gn1", op, types[0])
    for op in UNARY_EDGES:
        for dtype in FLOATS:
            yield unary_edges(op, dtype)
    for op in ("Abs", "Square", "Negative"):
        for dtype in ("uint8", "int16", "int32", "float16", "float32", "bfloat16"):
            yield unary("vn", op, dtype)
            yield unary("v2", op, dtype)
            yield unary("gn4large", op, dtype)


def floor_mod(a, b):
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def power(a, b):
    if a.dtype.kind in "fc":
        return np.power(a, b)
    out = np.ones_like(a)
    for i in range(16):
        out = np.where(i < b, out * a, out)
    return out


def logaddexp(a, b):
    return np.logaddexp(a, b)


ALL = REAL + COMPLEX
NUMBERS = INTS + FLOATS
# operation: (reference, ranges of both operands, types, result is boolean, ulps in float32)
BINARY = {
    "Add": (np.add, None, ALL[1:], False, 0), "Subtract": (np.subtract, None, NUMBERS + COMPLEX, False, 0),
    "Multiply": (np.multiply, None, NUMBERS + COMPLEX, False, 0),
    "Divide": (np.divide, "positive", FLOATS + COMPLEX, False, 4),
    "Maximum": (np.maximum, None, REAL, False, 0), "Minimum": (np.minimum, None, REAL, False, 0),
    "Equal": (np.equal, "few", ALL, True, 0), "NotEqual": (np.not_equal, "few", ALL, True, 0),
    "Greater": (np.greater, "few", REAL, True, 0), "GreaterEqual": (np.greater_equal, "few", REAL, True, 0),
    "Less": (np.less, "few", REAL, True, 0), "LessEqual": (np.less_equal, "few", REAL, True, 0),
    "NaNEqual": (lambda a, b: (a == b) | (np.isnan(a) & np.isnan(b)), "few", FLOATS, True, 0),
    "LogicalAnd": (np.logical_and, None, ("bool_",), True, 0), "LogicalOr": (np.logical_or, None, ("bool_",), True, 0),
    "BitwiseAnd": (np.bitwise_and, None, INTS, False, 0), "BitwiseOr": (np.bitwise_or, None, INTS, False, 0),
    "BitwiseXor": (np.bitwise_xor, None, INTS, False, 0),
    "LeftShift": (np.left_shift, "shift", INTS, False, 0), "RightShift": (np.right_shift, "shift", INTS, False, 0),
    "Power": (power, "power", NUMBERS, False, 40), "Remainder": (np.mod, "positive", INTS, False, 0),
    "LogAddExp": (logaddexp, None, FLOATS, False, 8), "ArcTan2": (np.arctan2, None, FLOATS, False, 8),
}


def operands(rng, kind, dtype, shape):
    a, b = (random(rng, dtype, shape, -9, 9) for _ in range(2))
    if kind == "few" and dtype != "bool_":
        a, b = (store(rng.integers(0, 5, shape), dtype) for _ in range(2))
        if dtype in FLOATS:
            a, b = (store(np.where(rng.random(shape) < .2, np.nan, load(x, dtype)), dtype) for x in (a, b))
    elif kind == "shift":
        b = store(rng.integers(0, 8 * a.itemsize, shape), dtype)
    elif kind == "power":
        if dtype in FLOATS:
            a, b = random(rng, dtype, shape, .2, 4), random(rng, dtype, shape, -3, 3)
        else:
            b = store(rng.integers(0, 12, shape), dtype)
    elif kind == "positive":
        b = store(np.where(load(b, dtype) == 0, 1, load(b, dtype)), dtype) if dtype in INTS else \
            random(rng, dtype, shape, .5, 9)
    return a, b


def lifted(x, at, shape):
    return np.lib.stride_tricks.as_strided(x, shape, [a * x.itemsize for a in at])


# Shapes and the strides of both operands for the strided forms.
STRIDED = {"g1": ((37,), (2,), (3,)), "g2": ((13, 37), (40, 1), (1, 13)), "g3": ((5, 6, 7), (42, 1, 6), (0, 7, 1)),
           "gn2": ((3, 4, 5, 7), (140, 35, 7, 1), (1, 3, 12, 60))}


def plain(form):
    """The strided form of which this one has wide indices, or a strided result."""
    return form.replace("large", "").replace("gg", "g").replace("gn4", "gn2")


def per_thread(form):
    return 4 if "n4" in form else 2 if "n2" in form else 1


def geometry(form, shape, work):
    dims = list(shape[::-1]) + [1, 1]
    x, y = dims[0], dims[1]
    rest = math.prod(shape) // (x * y)
    x = ceil(x, work)
    return {"threads": (x, y, rest), "group": block(x, y, rest)}


def binary(form, op, dtype):
    reference, kind, _, boolean, wide = BINARY[op]
    out = "bool_" if boolean else dtype

    def make(rng):
        a, b = operands(rng, kind, dtype, N)
        first = 2
        if form[0] == "g":
            shape, sa, sb = STRIDED[plain(form)]
            va, vb = lifted(a, sa, shape), lifted(b, sb, shape)
            where = geometry(form, shape, per_thread(form))
            extra = [i32(*shape), i64(*sa), i64(*sb), i32(4)] if len(shape) == 4 else [i64(*sa), i64(*sb)]
        else:
            va = a[:1] if form[0] == "s" else a
            vb = b[:1] if form[1] == "s" else b
            where, size = contiguous(form, 1 if form == "ss" else N, a.itemsize, 96)
            extra = [] if form == "ss" else [size]
        with np.errstate(all="ignore"):
            want = reference(load(va, dtype), load(vb, dtype))
        limit = .51 if dtype == "float16" else 1
        allowed = wide if dtype == "float32" else max(wide, 4) if dtype == "complex64" else min(wide, limit) or .51
        slack = 4e-7 if dtype == "complex64" else 0 if not wide else 1e-7
        if op == "LogAddExp" and dtype != "float32":  # the exponential is rounded before the sum
            allowed, slack = 2, STEP[dtype] / 2
        result = Out(want, out, allowed if wide or dtype != "float32" else .51, slack)
        return Launch({0: a, 1: b} | {first + 1 + i: e for i, e in enumerate(extra)}, {first: result}, **where)

    return Case(f"{form}_{op}{dtype}", make)


def binary_cases():
    for op, (_, _, types, _, _) in BINARY.items():
        for dtype in types:
            yield binary("vv", op, dtype)
    for op in BINARY_EDGES:
        for dtype in FLOATS:
            yield binary_edges(op, dtype)
    for form in ("ss", "sv", "vs", "svn", "vsn", "vvn", "sv2", "vs2", "vv2", "g1", "g2", "g3", "gn2", "g1large",
                 "g2large", "g3large", "gn4large"):
        for op, dtype in (("Add", "float32"), ("Subtract", "int16"), ("Multiply", "bfloat16"), ("Greater", "uint8"),
                          ("Maximum", "float16")):
            yield binary(form, op, dtype)


def divmod_case(form, dtype):
    def make(rng):
        a, b = operands(rng, "positive", dtype, N)
        x, y = load(a, dtype), load(b, dtype)
        if dtype in INTS:
            q, r = x // y, np.mod(x, y)
        else:
            q, r = np.floor(load(store(x / y, dtype), dtype)), np.mod(x, y)
        work = max(1, 8 // a.itemsize) if form == "vvn" else 1
        return Launch({0: a, 1: b, 4: u32(N)}, {2: Out(q, dtype), 3: Out(r, dtype, 1, 0 if dtype in INTS else 1e-6)},
                      **flat(ceil(N, work), 64))

    return Case(f"{form}_DivMod{dtype}", make)


def select(form, dtype):
    def make(rng):
        b, c = random(rng, dtype, N), random(rng, dtype, N)
        a = random(rng, "bool_", N)
        va, vb, vc = a, b, c
        if form[0] == "g":
            shape, sb, sc = STRIDED[plain(form)]
            sa = strides(shape)
            va, vb, vc = lifted(a, sa, shape), lifted(b, sb, shape), lifted(c, sc, shape)
            where = geometry(form, shape, per_thread(form))
            extra = [i64(*sa), i64(*sb), i64(*sc)]
            if len(shape) == 4:
                extra = [i32(*shape)] + extra + [i32(4)]
        else:
            vb = b[:1] if form.startswith("sv") else b
            vc = c[:1] if form.startswith("vs") else c
            where, size = contiguous(form, N, b.itemsize, 128)
            extra = [size]
        want = np.where(va, vb, vc)
        want = load(want, dtype)
        return Launch({0: a, 1: b, 2: c} | {4 + i: e for i, e in enumerate(extra)}, {3: Out(want, dtype, 0)}, **where)

    return Case(f"{form}_Select{dtype}", make)


def ternary_cases():
    for dtype in ALL:
        yield select("v", dtype)
    for form in ("vn", "vs", "vsn", "sv", "svn", "v2", "vs2", "sv2", "g1", "g2", "g3", "gn2", "g1large", "g2large",
                 "g3large", "gn4large"):
        for dtype in ("float32", "uint8", "bfloat16"):
            yield select(form, dtype)


def convertible(rng, source, to, shape):
    """Values of one type that the other can take: what the rest become is not defined."""
    wide = np.float64 if source in FLOATS + COMPLEX else None
    x = random(rng, source, shape, 0 if to in UNSIGNED else -99, 99)
    if wide is None and (to in FLOATS or to in COMPLEX):
        return x
    return x


def cast(x, source, to):
    """Floats to integers truncate; wide integers to narrow ones wrap."""
    v = load(x, source)
    if source == "complex64":
        v = v if to == "complex64" else v.real
    if to == "bool_":
        return v != 0
    if to in INTS and v.dtype.kind == "f":
        return np.trunc(v).astype(TYPES_OF[to])
    if to == "float16":
        v = v.astype(np.float64)
        return np.where(np.abs(v) >= 65520, np.copysign(np.inf, v), v)
    return v.astype(TYPES_OF[to]) if to in INTS else v


TYPES_OF = {t: np.dtype(t) for t in INTS}


def copy(form, source, to):
    def make(rng):
        x = convertible(rng, source, to, N)
        size = np.dtype("uint16" if to == "bfloat16" else to.rstrip("_")).itemsize
        limit = {"float16": .51, "bfloat16": .51, "float32": .51}.get(to, 1)
        if form[0] == "g":
            shape, _, at = STRIDED[plain(form.replace("_dynamic", ""))]
            skip = 3 if form.endswith("dynamic") else 0
            view = lifted(x[skip:], at, shape)
            where = geometry(form, shape, per_thread(form))
            extra = {3: i64(*at)} | ({2: i32(*shape), 5: i32(4)} if len(shape) == 4 else {})
            extra |= {6: i64(skip), 7: i64(0)} if skip else {}
            want = cast(np.ascontiguousarray(view), source, to)
            if form.startswith("gg"):  # the result is stored transposed
                order = range(len(shape))[::-1]
                into = [strides(shape[::-1])[i] for i in order]
                extra[4] = i64(*into)
                want = np.ascontiguousarray(want.T)
        else:
            view = x[:1] if form[0] == "s" else x
            want = np.broadcast_to(cast(view, source, to), (N,))
            where, count = contiguous(form, N, size, 512)
            extra = {2: count}
        return Launch({0: x} | extra, {1: Out(want, to, limit)}, **where)

    return Case(f"{form}_copy{source}{to}", make)


def copy_cases():
    for source in ALL:
        for to in ALL:
            if source == "complex64" and to == "bool_":
                continue
            if source in FLOATS + COMPLEX and to in ("int8", "uint8"):
                continue
            yield copy("v", source, to)
    for form in ("vn", "s", "sn", "v2", "s2", "g1", "g2", "g3", "gn2", "g1large", "g2large", "g3large", "gn4large"):
        for source, to in (("float32", "bfloat16"), ("int32", "float16"), ("uint8", "uint8"), ("bool_", "int16")):
            yield copy(form, source, to)
    for form in ("gg1", "gg2", "gg3", "ggn2", "gg1large", "gg2large", "gg3large", "ggn4large", "gg1_dynamic",
                 "gg2_dynamic", "gg3_dynamic", "ggn2_dynamic", "gg2large_dynamic", "ggn4large_dynamic"):
        for dtype in ("float32", "int64", "bfloat16", "complex64"):
            yield copy(form, dtype, dtype)


FAMILIES = {
    "unary": list(unary_cases()),
    "binary": list(binary_cases()) + [divmod_case(f, t) for t in NUMBERS for f in ("vv",)] +
    [divmod_case("vvn", t) for t in ("int32", "uint8", "float32")],
    "ternary": list(ternary_cases()),
    "copy": list(copy_cases()),
}
