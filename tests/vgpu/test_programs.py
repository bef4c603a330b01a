# SPDX-License-Identifier: MIT
"""Small programs in LLVM text, each about one thing that kernels do beside calling mathematics."""
import math
import shutil

import numpy as np
import pytest

import triton_metal
from llvm import load

pytestmark = pytest.mark.skipif(not shutil.which("llvm-as-14"), reason="no llvm-as-14")
LANES = np.arange(32)
LANE = ["thread_index_in_simdgroup"]


def run(text, *buffers, threads=32, groups=1, systems=LANE, constants=None, checks=None):
    """Each buffer an array, or the size of threadgroup memory."""
    arrays = {n: b for n, b in enumerate(buffers) if not isinstance(b, int)}
    threadgroup = {n: b for n, b in enumerate(buffers) if isinstance(b, int)}
    kernel = load(text, len(buffers), systems, constants, checks)
    kernel.launch((groups, 1, 1), (threads, 1, 1), arrays, threadgroup, 1)


# ---- Matrices
FLOATS = {"f32": ("float", np.float32), "f16": ("half", np.float16), "bf16": ("bfloat", np.uint16)}


def bits(values, name):
    return values.astype(np.float32).view(np.uint32) >> 16 if name == "bf16" else values


def access(store, name, space, form, row, flipped):
    """A load or store of the matrix at column 8 and row 3 of an array with `row` elements in each row."""
    llvm = FLOATS[name][0]
    matrix, pointer = f"<64 x {llvm}>", f"{llvm} addrspace({space})*"
    if form == "strides":
        x, y = (row, 1) if flipped else (1, row)
        o = "i64 3, i64 8" if flipped else "i64 8, i64 3"
        types = "<2 x i64>, <2 x i64>, <2 x i64>"
        rest = f"<2 x i64> <i64 {row}, i64 8>, <2 x i64> <i64 {x}, i64 {y}>, <2 x i64> <{o}>"
    else:
        types, rest = "i64, <2 x i64>, i1", f"i64 {row}, <2 x i64> <i64 8, i64 3>, i1 {str(flipped).lower()}"
    if store:
        function = f"@air.simdgroup_matrix_8x8_store.v64{name}.p{space}{name}"
        return (f"declare void {function}({matrix}, {pointer}, {types})",
                f"call void {function}({matrix} %m, {pointer} %p, {rest})")
    function = f"@air.simdgroup_matrix_8x8_load.v64{name}.p{space}{name}"
    return f"declare {matrix} {function}({pointer}, {types})", f"%m = call {matrix} {function}({pointer} %p, {rest})"


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("form", ["strides", "transpose"])
@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize("name", FLOATS)
def test_matrix_access(name, space, form, flipped):
    llvm, dtype = FLOATS[name]
    source = bits(np.random.default_rng(1).integers(-99, 99, (16, 24)).astype(dtype if name != "bf16" else np.float32), name)
    read, load_it = access(False, name, space, form, 24, flipped)
    put = "\n".join(f"  %e{i} = extractelement <64 x {llvm}> %m, i64 {i}\n"
                    f"  %o{i} = getelementptr {llvm}, {llvm} addrspace(1)* %out, i64 %at{i}\n"
                    f"  store {llvm} %e{i}, {llvm} addrspace(1)* %o{i}" for i in (0, 1))
    copy = f"""
  br label %loop
loop:
  %i = phi i32 [ %lane, %0 ], [ %next, %loop ]
  %f = getelementptr {llvm}, {llvm} addrspace(1)* %in, i32 %i
  %t = getelementptr {llvm}, {llvm} addrspace({space})* %work, i32 %i
  %v = load {llvm}, {llvm} addrspace(1)* %f
  store {llvm} %v, {llvm} addrspace({space})* %t
  %next = add i32 %i, 32
  %more = icmp ult i32 %next, 384
  br i1 %more, label %loop, label %done
done:
  %p = getelementptr {llvm}, {llvm} addrspace({space})* %work, i64 0
"""
    text = f"""{read}
define void @k({llvm} addrspace(1)* %in, {llvm} addrspace({space})* %work, {llvm} addrspace(1)* %out, i32 %lane) {{
{copy}
  {load_it}
  %w = zext i32 %lane to i64
  %at0 = shl i64 %w, 1
  %at1 = add i64 %at0, 1
{put}
  ret void
}}"""
    out = np.zeros(64, dtype)
    run(text, source.astype(dtype), 768 * 2 if space == 3 else np.zeros_like(source, dtype), out)
    tile = source[3:11, 8:16].T if flipped else source[3:11, 8:16]
    # Lane l owns row (l / 16) * 4 + (l % 8) / 2 and two columns from (l / 8 % 2) * 4 + l % 2 * 2 on.
    rows, columns = LANES // 16 * 4 + LANES % 8 // 2, LANES // 8 % 2 * 4 + LANES % 2 * 2
    want = np.stack([tile[rows, columns], tile[rows, columns + 1]], 1).reshape(64)
    assert (out == want.astype(dtype)).all()


def test_products_gather():
    """Loads of matrices between products go before them, but not before what else stands there."""
    read, _ = access(False, "f32", 1, "transpose", 24, False)
    write, _ = access(True, "f32", 1, "transpose", 24, False)
    name = "@air.simdgroup_matrix_8x8_{}.{}".format
    load_one, store_one = name("load", "v64f32.p1f32"), name("store", "v64f32.p1f32")
    product = name("multiply_accumulate", "v64f32.v64f32.v64f32.v64f32")
    matrix, at = "<64 x float>", "i64 8, <2 x i64> zeroinitializer, i1 false"
    lines, total = [], "zeroinitializer"
    for i in range(6):
        lines += [f"  %p{i} = getelementptr float, float addrspace(1)* %in, i64 {64 * i}",
                  f"  %m{i} = call {matrix} {load_one}(float addrspace(1)* %p{i}, {at})"]
        if i:
            lines.append(f"  %s{i} = call {matrix} {product}({matrix} %m0, {matrix} %m{i}, {matrix} {total})")
            total = f"%s{i}"
        if i == 3:  # a store, which the loads behind it must not pass
            lines += ["  %q = getelementptr float, float addrspace(1)* %in, i64 256",
                      f"  call void {store_one}({matrix} {total}, float addrspace(1)* %q, {at})"]
    text = f"""{read}
{write}
declare {matrix} {product}({matrix}, {matrix}, {matrix})
define void @k(float addrspace(1)* %in, float addrspace(1)* %out, i32 %lane) {{
{chr(10).join(lines)}
  call void {store_one}({matrix} {total}, float addrspace(1)* %out, {at})
  ret void
}}"""
    m = np.random.default_rng(2).integers(-4, 4, (6, 8, 8)).astype(np.float32)
    out = np.zeros((8, 8), np.float32)
    memory = m.copy()
    kernel = load(text, 2, LANE)
    kernel.launch((1, 1, 1), (32, 1, 1), {0: memory, 1: out})
    m[4] = m[0] @ (m[1] + m[2] + m[3])
    assert (memory == m).all() and (out == m[0] @ m[1:].sum(0)).all()
    operations = [line.split()[1] for line in kernel.listing().splitlines()[1:] if line.split()[0].isdigit()]
    matrices = [op for op in operations if op in ("xload", "xmma", "xmmas", "xstore")]
    assert matrices == (["xload"] * 4 + ["xmmas"] + ["xmma"] * 3 + ["xstore"] +
                        ["xload"] * 2 + ["xmmas"] + ["xmma"] * 2 + ["xstore"])


@pytest.mark.parametrize("form", ["strides", "transpose"])
@pytest.mark.parametrize("space", [1, 3])
@pytest.mark.parametrize("name", ["f32", "f16"])
def test_matrix_store(name, space, form):
    llvm, dtype = FLOATS[name]
    write, store_it = access(True, name, space, form, 24, False)
    text = f"""{write}
declare <64 x {llvm}> @air.simdgroup_matrix_8x8_init_diag.v64{name}.{name}({llvm})
define void @k({llvm} addrspace({space})* %p, {llvm} addrspace(1)* %out, i32 %lane) {{
  %m = call <64 x {llvm}> @air.simdgroup_matrix_8x8_init_diag.v64{name}.{name}({llvm} 3.0)
  {store_it}
  %f = getelementptr {llvm}, {llvm} addrspace({space})* %p, i32 %lane
  %g = getelementptr {llvm}, {llvm} addrspace({space})* %f, i64 128
  %v = load {llvm}, {llvm} addrspace({space})* %g
  %t = getelementptr {llvm}, {llvm} addrspace(1)* %out, i32 %lane
  store {llvm} %v, {llvm} addrspace(1)* %t
  ret void
}}"""
    out, whole = np.zeros(32, dtype), np.full((16, 24), 7, dtype)
    run(text, 768 * 2 if space == 3 else whole, out)
    want = np.full((16, 24), 7 if space == 1 else 0, dtype)
    want[3:11, 8:16] = 3 * np.eye(8)
    seen = LANES[want.reshape(-1)[128:160] != 0] if space == 3 else LANES
    assert (out[seen] == want.reshape(-1)[128:160][seen]).all()
    assert space == 3 or (whole == want).all()


@pytest.mark.parametrize("to, a, b", [("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "bf16", "f16"),
                                      ("f32", "f16", "f16"), ("f32", "f32", "bf16"), ("f32", "f32", "f16"),
                                      ("f32", "f32", "f32")])
def test_matrix_product(to, a, b):
    rng = np.random.default_rng(2)
    x, y = rng.integers(-9, 9, (2, 8, 8)).astype(np.float32)
    types = {n: FLOATS[t][0] for n, t in (("a", a), ("b", b), ("c", to))}
    product = f"@air.simdgroup_matrix_8x8_multiply_accumulate.v64{to}.v64{a}.v64{b}.v64{to}"
    m = {n: f"<64 x {t}>" for n, t in types.items()}
    form = "i64 8, <2 x i64> zeroinitializer, i1 false"
    loads = sorted({f"declare <64 x {FLOATS[t][0]}> @air.simdgroup_matrix_8x8_load.v64{t}.p1{t}"
                    f"({FLOATS[t][0]} addrspace(1)*, i64, <2 x i64>, i1)" for t in (a, b)})
    text = "\n".join(loads) + f"""
declare {m['c']} {product}({m['a']}, {m['b']}, {m['c']})
declare {m['c']} @air.simdgroup_matrix_8x8_init_filled.v64{to}.{to}({types['c']})
declare void @air.simdgroup_matrix_8x8_store.v64{to}.p1{to}({m['c']}, {types['c']} addrspace(1)*, i64, <2 x i64>, i1)
define void @k({types['a']} addrspace(1)* %a, {types['b']} addrspace(1)* %b, {types['c']} addrspace(1)* %c, i32 %lane) {{
  %x = call {m['a']} @air.simdgroup_matrix_8x8_load.v64{a}.p1{a}({types['a']} addrspace(1)* %a, {form})
  %y = call {m['b']} @air.simdgroup_matrix_8x8_load.v64{b}.p1{b}({types['b']} addrspace(1)* %b, {form})
  %z = call {m['c']} @air.simdgroup_matrix_8x8_init_filled.v64{to}.{to}({types['c']} 5.0)
  %r = call {m['c']} {product}({m['a']} %x, {m['b']} %y, {m['c']} %z)
  call void @air.simdgroup_matrix_8x8_store.v64{to}.p1{to}({m['c']} %r, {types['c']} addrspace(1)* %c, {form})
  ret void
}}"""
    out = np.zeros((8, 8), FLOATS[to][1])
    run(text, bits(x, a).astype(FLOATS[a][1]), bits(y, b).astype(FLOATS[b][1]), out)
    assert (out == x @ y + 5).all()


def test_matrix_elements_by_a_lane_index():
    """Each lane reads and writes that of its two elements which an index names that is not constant."""
    out = np.zeros(64, np.float32)
    run("""
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
define void @k(float addrspace(1)* %out, i32 %lane) {
  %m = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 5.0)
  %bit = and i32 %lane, 1
  %f = uitofp i32 %lane to float
  %n = insertelement <64 x float> %m, float %f, i32 %bit
  %other = xor i32 %bit, 1
  %a = extractelement <64 x float> %n, i32 %bit
  %b = extractelement <64 x float> %n, i32 %other
  %p = getelementptr float, float addrspace(1)* %out, i32 %lane
  store float %a, float addrspace(1)* %p
  %q = getelementptr float, float addrspace(1)* %p, i64 32
  store float %b, float addrspace(1)* %q
  ret void
}""", out)
    assert (out == np.concatenate([LANES, np.full(32, 5)])).all()


# ---- Copies
@pytest.mark.parametrize("function", ["memcpy", "memmove", "memset"])
@pytest.mark.parametrize("length", ["lane", "constant"])
def test_long_copies(function, length):
    """By each lane, of a length that is its own, or 700 bytes; for memmove source and target overlap."""
    size, room = 700, 1024
    name = f"llvm.{function}.p1i8.{'' if function == 'memset' else 'p1i8.'}i64"
    from_type, source = ("i8", "i8 90") if function == "memset" else ("i8 addrspace(1)*", "i8 addrspace(1)* %f")
    text = f"""
declare void @{name}(i8 addrspace(1)*, {from_type}, i64, i1)
define void @k(i8 addrspace(1)* %in, i8 addrspace(1)* %out, i32 %lane) {{
  %at = mul i32 %lane, {room}
  %i = getelementptr i8, i8 addrspace(1)* %in, i32 %at
  %o = getelementptr i8, i8 addrspace(1)* %out, i32 %at
  %odd = and i32 %lane, 1
  %step = mul i32 %odd, 6
  %back = sub i32 8, %step
  %f = getelementptr i8, i8 addrspace(1)* {'%o' if function == 'memmove' else '%i'}, i32 %back
  %t = getelementptr i8, i8 addrspace(1)* %o, i64 5
  %half = mul i32 %lane, 22
  %wide = zext i32 %half to i64
  %n = add i64 {'%wide, 0' if length == 'lane' else f'0, {size}'}
  call void @{name}(i8 addrspace(1)* %t, {source}, i64 %n, i1 false)
  ret void
}}"""
    rng = np.random.default_rng(3)
    given, out = rng.integers(0, 255, (2, 32, room), np.uint8)
    want = out.copy()
    for lane in range(32):
        n = lane * 22 if length == "lane" else size
        f = 8 - lane % 2 * 6
        block = {"memset": np.full(n, 90), "memcpy": given[lane, f:f + n], "memmove": out[lane, f:f + n].copy()}[function]
        want[lane, 5:5 + n] = block
    run(text, given, out)
    assert (out == want).all()


STACK = """
declare i8* @llvm.stacksave()
declare void @llvm.stackrestore(i8*)
define internal i32 @sum(i32 %n) {
  %a = alloca i32, i32 %n, align 16
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %i1, %filled ]
  %go = icmp ult i32 %i, %n
  br i1 %go, label %filled, label %add
filled:
  %p = getelementptr i32, i32* %a, i32 %i
  store i32 %i, i32* %p
  %i1 = add i32 %i, 1
  br label %fill
add:
  %j = phi i32 [ 0, %fill ], [ %j1, %added ]
  %s = phi i32 [ 0, %fill ], [ %s1, %added ]
  %more = icmp ult i32 %j, %n
  br i1 %more, label %added, label %end
added:
  %q = getelementptr i32, i32* %a, i32 %j
  %v = load i32, i32* %q
  %s1 = add i32 %s, %v
  %j1 = add i32 %j, 1
  br label %add
end:
  ret i32 %s
}
define void @k(i32 addrspace(1)* %out, i32 addrspace(1)* %scale, i32 %lane) {
  %m = load i32, i32 addrspace(1)* %scale
  %n = mul i32 %lane, %m
  %own = alloca i32, i32 %n
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %t = phi i32 [ 0, %0 ], [ %t1, %loop ]
  %saved = call i8* @llvm.stacksave()
  %inner = alloca [10 x i64], i32 %lane
  %s = call i32 @sum(i32 %n)
  call void @llvm.stackrestore(i8* %saved)
  %t1 = add i32 %t, %s
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 100
  br i1 %more, label %loop, label %end
end:
  %p = getelementptr i32, i32 addrspace(1)* %out, i32 %lane
  store i32 %t1, i32 addrspace(1)* %p
  ret void
}"""


def test_stack():
    """Thread memory of a size that each lane computes; calls and llvm.stackrestore give it back."""
    out = np.zeros(32, np.int32)
    run(STACK, out, np.array([20], np.int32))
    n = LANES * 20
    assert (out == 100 * (n * (n - 1) // 2)).all()
    with pytest.raises(triton_metal.Error, match="TM3102"):
        run(STACK, out, np.array([2000], np.int32))


def test_unaligned_values():
    """Loads and stores of words at odd places, as the alignment they declare allows."""
    data, out = np.random.default_rng(4).integers(0, 255, 200, np.uint8), np.zeros(200, np.uint8)
    run("""
define void @k(i8 addrspace(1)* %in, i8 addrspace(1)* %out, i32 %lane) {
  %at = mul i32 %lane, 5
  %i = getelementptr i8, i8 addrspace(1)* %in, i32 %at
  %p = bitcast i8 addrspace(1)* %i to i32 addrspace(1)*
  %v = load i32, i32 addrspace(1)* %p, align 1
  %o = getelementptr i8, i8 addrspace(1)* %out, i32 %at
  %q = bitcast i8 addrspace(1)* %o to i32 addrspace(1)*
  store i32 %v, i32 addrspace(1)* %q, align 1
  ret void
}""", data, out, checks="all")
    want = np.where((np.arange(200) % 5 < 4) & (np.arange(200) < 160), data, 0)
    assert (out == want).all()


@pytest.mark.parametrize("threads", [32, 20])
@pytest.mark.parametrize("size, dtype", [(1, np.uint8), (2, np.uint16), (8, np.uint64)])
def test_tiles(size, dtype, threads):
    """Into threadgroup memory with zeros where the source has nothing, and out of it."""
    tile = "i64 noundef, i64 noundef, <2 x i64> noundef"
    into, back = "@air.simdgroup_async_copy_2d.p3i8.p1i8", "@air.simdgroup_async_copy_2d.p1i8.p3i8"
    text = f"""
%event = type opaque
declare %event* {into}(i64, i64, i8 addrspace(3)*, {tile}, i8 addrspace(1)*, {tile}, <2 x i64>, i32)
declare %event* {back}(i64, i64, i8 addrspace(1)*, {tile}, i8 addrspace(3)*, {tile}, <2 x i64>, i32)
declare void @air.wait_simdgroup_events(i32, %event**)
define void @k(i8 addrspace(1)* %in, i8 addrspace(3)* %work, i8 addrspace(1)* %out, i64 addrspace(1)* %sizes, i32 %lane) {{
  %events = alloca %event*, align 8
  %width = load i64, i64 addrspace(1)* %sizes
  %tile = insertelement <2 x i64> <i64 0, i64 5>, i64 %width, i32 0
  %a = call %event* {into}(i64 {size}, i64 {size}, i8 addrspace(3)* %work, i64 12, i64 1, <2 x i64> <i64 9, i64 7>,
       i8 addrspace(1)* %in, i64 10, i64 1, <2 x i64> %tile, <2 x i64> zeroinitializer, i32 0)
  store %event* %a, %event** %events
  call void @air.wait_simdgroup_events(i32 1, %event** %events)
  %b = call %event* {back}(i64 {size}, i64 {size}, i8 addrspace(1)* %out, i64 11, i64 1, <2 x i64> <i64 9, i64 7>,
       i8 addrspace(3)* %work, i64 12, i64 1, <2 x i64> <i64 9, i64 7>, <2 x i64> zeroinitializer, i32 0)
  store %event* %b, %event** %events
  call void @air.wait_simdgroup_events(i32 1, %event** %events)
  ret void
}}"""
    text = text.replace(",\n       ", ", ")
    source = np.random.default_rng(5).integers(1, 99, (5, 10)).astype(dtype)
    out = np.full((7, 11), 7, dtype)
    run(text, source, 12 * 7 * 8, out, np.array([6], np.uint64), threads=threads)
    want = np.full((7, 11), 7, dtype)
    want[:, :9] = 0
    want[:5, :6] = source[:, :6]
    assert (out == want).all()


# ---- Control
FACTORIAL = """
define internal i64 @factorial(i64 %n) {
  %more = icmp ugt i64 %n, 1
  br i1 %more, label %deeper, label %end
deeper:
  %less = sub i64 %n, 1
  %rest = call i64 @%next%(i64 %less)
  %product = mul i64 %rest, %n
  ret i64 %product
end:
  ret i64 1
}
define void @k(i64 addrspace(1)* %out, i32 addrspace(1)* %most, i32 %lane) {
  %m = load i32, i32 addrspace(1)* %most
  %n = urem i32 %lane, %m
  %w = zext i32 %n to i64
  %f = call i64 @factorial(i64 %w)
  %p = getelementptr i64, i64 addrspace(1)* %out, i32 %lane
  store i64 %f, i64 addrspace(1)* %p
  ret void
}
"""


@pytest.mark.parametrize("mutual", [False, True])
def test_recursion(mutual):
    text = FACTORIAL.replace("%next%", "other" if mutual else "factorial")
    if mutual:
        text += "define internal i64 @other(i64 %n) {\n  %f = call i64 @factorial(i64 %n)\n  ret i64 %f\n}\n"
    out = np.zeros(32, np.int64)
    run(text, out, np.array([9], np.int32))
    assert (out == [math.factorial(i % 9) for i in range(32)]).all()
    with pytest.raises(triton_metal.Error, match="TM3408"):
        run(text, out, np.array([20], np.int32))


@pytest.mark.parametrize("width, cast", [(8, "trunc i32 %lane to i8"), (32, "add i32 %lane, 0"),
                                         (64, "zext i32 %lane to i64")])
def test_switch(width, cast):
    out = np.zeros(32, np.int32)
    run(f"""
define void @k(i32 addrspace(1)* %out, i32 %lane) {{
  %x = {cast}
  switch i{width} %x, label %other [ i{width} 3, label %three i{width} 9, label %nine i{width} 17, label %nine ]
three:
  br label %end
nine:
  br label %end
other:
  br label %end
end:
  %r = phi i32 [ 33, %three ], [ 99, %nine ], [ %lane, %other ]
  %p = getelementptr i32, i32 addrspace(1)* %out, i32 %lane
  store i32 %r, i32 addrspace(1)* %p
  ret void
}}""", out)
    assert (out == [{3: 33, 9: 99, 17: 99}.get(i, i) for i in range(32)]).all()


CONSTANTS = """
@scale.MTL_FC_INIT_3_j = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer", align 4
@wide.MTL_FC_INIT_7_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer", align 1
@scale = internal addrspace(2) global i32 undef, align 4
@twice = internal addrspace(2) global i32 undef, align 4
@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 65535, void ()* @init, i8* null }]
declare i1 @air.is_function_constant_defined(i8 addrspace(2)*)
define internal void @init() section "air.static_init" {
  %given = call i1 @air.is_function_constant_defined(i8 addrspace(2)* bitcast (i32 addrspace(2)* @scale.MTL_FC_INIT_3_j to i8 addrspace(2)*))
  %v = load i32, i32 addrspace(2)* @scale.MTL_FC_INIT_3_j
  %s = select i1 %given, i32 %v, i32 5
  store i32 %s, i32 addrspace(2)* @scale
  %t = shl i32 %s, 1
  store i32 %t, i32 addrspace(2)* @twice
  ret void
}
define void @k(i32 addrspace(1)* %out, i32 %lane) {
  %s = load i32, i32 addrspace(2)* @twice
  %w = load i8, i8 addrspace(2)* @wide.MTL_FC_INIT_7_b
  %is = icmp ne i8 %w, 0
  br i1 %is, label %refused, label %fine
refused:
  call void @air.sample_texture_2d()
  br label %fine
fine:
  %r = mul i32 %s, %lane
  %p = getelementptr i32, i32 addrspace(1)* %out, i32 %lane
  store i32 %r, i32 addrspace(1)* %p
  ret void
}
declare void @air.sample_texture_2d()
!air.function_constants = !{!90, !91}
!90 = !{i32 addrspace(2)* @scale.MTL_FC_INIT_3_j, !"uint", !"scale", i32 3, i1 true}
!91 = !{i8 addrspace(2)* @wide.MTL_FC_INIT_7_b, !"bool", !"wide", i32 7, i1 true}
"""


@pytest.mark.parametrize("given, factor", [({}, 10), ({"scale": 21}, 42)])
def test_function_constants(given, factor):
    """They go through a static initialiser; what one excludes is not even decoded."""
    out = np.zeros(32, np.int32)
    run(CONSTANTS, out, constants=given | {"wide": False})
    assert (out == LANES * factor).all()
    with pytest.raises(triton_metal.Error, match="air.sample_texture_2d"):
        run(CONSTANTS, out, constants=given | {"wide": True})


def test_refused_in_an_initialiser():
    """Where no value has been made before the one that is refused."""
    with pytest.raises(triton_metal.Error, match="foreign global"):
        run("""
@foreign = external addrspace(1) global i32
@llvm.global_ctors = appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 1, void ()* @init, i8* null }]
declare i64 @air.simd_ballot.i64(i32 addrspace(1)*)
define internal void @init() {
  %v = call i64 @air.simd_ballot.i64(i32 addrspace(1)* @foreign)
  ret void
}
define void @k(i32 addrspace(1)* %out, i32 %lane) {
  ret void
}""", np.zeros(1, np.int32))


def test_fence_between_threadgroups():
    """Each threadgroup writes, fences and raises a flag; the last one to come sees what all have written."""
    text = """
declare i32 @air.atomic.global.add.u.i32(i32 addrspace(1)*, i32, i32, i32, i1)
declare void @air.atomic.fence(i32, i32, i32)
define void @k(i32 addrspace(1)* %data, i32 addrspace(1)* %count, i32 addrspace(1)* %sum, i32 %group) {
  %p = getelementptr i32, i32 addrspace(1)* %data, i32 %group
  store i32 %group, i32 addrspace(1)* %p
  call void @air.atomic.fence(i32 1, i32 5, i32 2)
  %before = call i32 @air.atomic.global.add.u.i32(i32 addrspace(1)* %count, i32 1, i32 0, i32 2, i1 true)
  %last = icmp eq i32 %before, 63
  call void @air.atomic.fence(i32 1, i32 5, i32 2)
  br i1 %last, label %loop, label %end
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %s = phi i32 [ 0, %0 ], [ %t, %loop ]
  %q = getelementptr i32, i32 addrspace(1)* %data, i32 %i
  %v = load i32, i32 addrspace(1)* %q
  %t = add i32 %s, %v
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 64
  br i1 %more, label %loop, label %done
done:
  store i32 %t, i32 addrspace(1)* %sum
  br label %end
end:
  ret void
}"""
    kernel = load(text, 3, ["threadgroup_position_in_grid"])
    for _ in range(20):
        data, count, total = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
        kernel.launch((64, 1, 1), (1, 1, 1), {0: data, 1: count, 2: total}, {}, 4)
        assert total[0] == 63 * 32


@pytest.mark.parametrize("name", ["air.get_descriptor_size_tensor", "__tensorops_impl_matmul2d_op_run",
                                  "air.sample_texture_2d.v4f32", "air.init_strided_private_tensor.i32.global"])
def test_refused_by_name(name):
    with pytest.raises(triton_metal.Error, match=name):
        run(f"declare void @{name}()\ndefine void @k(i32 addrspace(1)* %out, i32 %lane) {{\n"
            f"  call void @{name}()\n  ret void\n}}", np.zeros(1, np.int32))
