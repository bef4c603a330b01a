# SPDX-License-Identifier: MIT
"""Kernels whose layouts are judged: python assign_kernels.py OUT_DIR writes each raw module.

The modules beside this file's tests (assign_*.ttir) came from here; run it again after changing a
kernel, and put the RUN and CHECK lines back.
"""
import pathlib
import sys

import triton
import triton.language as tl

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "corpus"))
import capture


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def softmax_rows(x, out, stride, n, R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    i = tl.arange(0, B)[None, :]
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 1)[:, None])
    tl.store(out + row * stride + i, e / tl.sum(e, 1)[:, None], mask=i < n)


@triton.jit
def layer_norm(x, out, w, b, mean, rstd, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    acc = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        i = off + tl.arange(0, B)
        acc += tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    m = tl.sum(acc, 0) / n
    acc = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        i = off + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
        v = tl.where(i < n, v - m, 0.0)
        acc += v * v
    r = 1 / tl.sqrt(tl.sum(acc, 0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for off in range(0, n, B):
        i = off + tl.arange(0, B)
        mask = i < n
        y = (tl.load(x + i, mask=mask, other=0.0).to(tl.float32) - m) * r
        y = y * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask)
        tl.store(out + i, y, mask=mask)


@triton.jit
def layer_norm_grads(dw, db, out_dw, out_db, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    a = tl.zeros((BM, BN), tl.float32)
    b = tl.zeros((BM, BN), tl.float32)
    for i in range(0, M, BM):
        rows = i + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        a += tl.load(dw + offs, mask=mask, other=0.0)
        b += tl.load(db + offs, mask=mask, other=0.0)
    tl.store(out_dw + cols, tl.sum(a, 0), mask=cols < N)
    tl.store(out_db + cols, tl.sum(b, 0), mask=cols < N)


@triton.jit
def matmul(a, b, c, bias, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           BIAS: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    ap = a + rm[:, None] * sa + rk[None, :]
    bp = b + rk[:, None] * sb + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(bp, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        ap += BK
        bp += BK * sb
    if BIAS:
        acc += tl.load(bias + rn)[None, :]
        acc = tl.where(acc > 0, acc, 0.01 * acc)
    tl.store(c + rm[:, None] * sc + rn[None, :], acc.to(tl.float16),
             mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def add_into(a, b, c, S: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, S)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * S + m[None, :])
    at = c + m[:, None] * S + m[None, :]
    tl.store(at, tl.dot(x, y) + tl.load(at).to(tl.float32))


@triton.jit
def attention(q, k, v, out, lse, scale, stride, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
              CAUSAL: tl.constexpr):
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rn = tl.arange(0, N)
    rd = tl.arange(0, D)
    qt = tl.load(q + rm[:, None] * stride + rd[None, :])
    kp = k + rn[None, :] * stride + rd[:, None]
    vp = v + rn[:, None] * stride + rd[None, :]
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for s in range(0, n, N):
        kt = tl.load(kp)
        s_ = tl.dot(qt, kt) * scale
        if CAUSAL:
            s_ = tl.where(rm[:, None] >= s + rn[None, :], s_, -1.0e6)
        mn = tl.maximum(m, tl.max(s_, 1))
        p = tl.exp2(s_ - mn[:, None])
        alpha = tl.exp2(m - mn)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(vp), acc)
        m = mn
        kp += N * stride
        vp += N * stride
    acc = acc / l[:, None]
    tl.store(lse + rm, m + tl.log2(l))
    tl.store(out + rm[:, None] * stride + rd[None, :], acc.to(tl.float16))


@triton.jit
def attention_grads(q, k, v, do, lse, delta, dk, dv, scale, stride, n, M: tl.constexpr,
                    N: tl.constexpr, D: tl.constexpr):
    rn = tl.program_id(0) * N + tl.arange(0, N)
    rd = tl.arange(0, D)
    kt = tl.load(k + rn[:, None] * stride + rd[None, :])
    vt = tl.load(v + rn[:, None] * stride + rd[None, :])
    gk = tl.zeros([N, D], tl.float32)
    gv = tl.zeros([N, D], tl.float32)
    for s in range(0, n, M):
        rm = s + tl.arange(0, M)
        qt = tl.load(q + rm[:, None] * stride + rd[None, :])
        pt = tl.exp2(tl.dot(kt, tl.trans(qt)) * scale - tl.load(lse + rm)[None, :])
        dt = tl.load(do + rm[:, None] * stride + rd[None, :])
        gv += tl.dot(pt.to(tl.float16), dt)
        ds = pt * (tl.dot(vt, tl.trans(dt)) - tl.load(delta + rm)[None, :])
        gk += tl.dot(ds.to(tl.float16), qt)
    tl.store(dv + rn[:, None] * stride + rd[None, :], gv)
    tl.store(dk + rn[:, None] * stride + rd[None, :], gk * scale)


@triton.jit
def transpose(x, out, sx, so, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i[:, None] * sx + i[None, :])
    tl.store(out + i[:, None] + i[None, :] * so, v)


@triton.jit
def integer_dot(a, b, c, S: tl.constexpr):
    i = tl.arange(0, S)
    at = i[:, None] * S + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def batched_dot(a, b, c, B: tl.constexpr, S: tl.constexpr):
    n = tl.arange(0, B)[:, None, None]
    i = tl.arange(0, S)
    at = n * S * S + i[None, :, None] * S + i[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def argmax_rows(x, out, at, R: tl.constexpr, B: tl.constexpr):
    r = tl.arange(0, R)
    i = r[:, None] * B + tl.arange(0, B)[None, :]
    v, k = tl.max(tl.load(x + i), 1, return_indices=True)
    tl.store(out + r, v)
    tl.store(at + r, k)


@triton.jit
def sort(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def interleave(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + tl.arange(0, 2 * B), tl.interleave(tl.load(x + i), tl.load(y + i)))


@triton.jit
def deinterleave(x, a, b, B: tl.constexpr):
    i = tl.arange(0, B)
    l, r = tl.split(tl.reshape(tl.load(x + tl.arange(0, 2 * B)), [B, 2]))
    tl.store(a + i, l)
    tl.store(b + i, r)


@triton.jit
def embedding(ids, table, out, n, R: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, B)
    at = tl.load(ids + r, mask=r < n, other=0)
    v = tl.load(table + at[:, None] * B + i[None, :])
    tl.store(out + r[:, None] * B + i[None, :], v, mask=r[:, None] < n)


@triton.jit
def counts(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(out + tl.load(x + i), 1)


@triton.jit
def newton(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    g = v
    while tl.max(tl.abs(g * g - v), 0) > 1e-3:
        g = 0.5 * (g + v / g)
    tl.store(out + i, g)


@triton.jit
def mixed_widths(a, b, c, out, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(a + i).to(tl.float32) + tl.load(b + i)
    tl.store(out + i, tl.where(tl.load(c + i) != 0, x, 0.0).to(tl.float16))


@triton.jit
def outer_sum(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    h = tl.zeros([M, N], tl.float32)
    for k in range(K):
        h = h * 0.9 + tl.load(a + k * M + m)[:, None] * tl.load(b + k * N + n)[None, :]
        tl.store(out + k * N + n, tl.sum(h, 0))


@triton.jit
def rare_transpose(x, out, again, flag, so, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    v = tl.load(x + at)
    if flag > 0:
        tl.store(again + i[:, None] + i[None, :] * so, v)
    if flag > 1:
        v = tl.exp(v)
    tl.store(out + at, v)


P32, P16, P8, I = "*fp32", "*fp16", "*i8", "i32"
CASES = [  # name, kernel, argument types in order, constants, num_warps
    ("add", add, [P32, P32, P32, I], dict(B=1024), 4),
    ("add_small", add, [P32, P32, P32, I], dict(B=32), 4),
    ("mixed_widths", mixed_widths, [P16, P32, P8, P16], dict(B=4096), 4),
    ("softmax", softmax, [P32, P32, I, I], dict(B=2048), 8),
    ("softmax_rows", softmax_rows, [P32, P32, I, I], dict(R=16, B=256), 4),
    ("layer_norm", layer_norm, [P16, P16, P32, P32, P32, P32, I, I, "fp32"], dict(B=1024), 4),
    ("layer_norm_grads", layer_norm_grads, [P32, P32, P32, P32, I, I], dict(BM=32, BN=128), 4),
    ("matmul", matmul, [P16, P16, P16, P16, I, I, I, I, I, I], dict(BM=64, BN=64, BK=32, BIAS=False), 4),
    ("matmul_bias", matmul, [P16, P16, P16, P16, I, I, I, I, I, I], dict(BM=128, BN=64, BK=32, BIAS=True), 8),
    ("matmul_f32", matmul, [P32, P32, P32, P32, I, I, I, I, I, I], dict(BM=32, BN=32, BK=32, BIAS=True), 2),
    ("add_into", add_into, [P16, P16, P32], dict(S=64, K=32), 4),
    ("attention", attention, [P16, P16, P16, P16, P32, "fp32", I, I], dict(M=64, N=32, D=64, CAUSAL=True), 4),
    ("attention_wide", attention, [P16, P16, P16, P16, P32, "fp32", I, I], dict(M=64, N=64, D=128, CAUSAL=False), 8),
    ("attention_grads", attention_grads, [P16] * 4 + [P32] * 4 + ["fp32", I, I], dict(M=32, N=64, D=64), 4),
    ("transpose", transpose, [P32, P32, I, I], dict(B=64), 4),
    ("rare_transpose", rare_transpose, [P32, P32, P32, I, I], dict(B=64), 4),
    ("integer_dot", integer_dot, [P8, P8, "*i32"], dict(S=32), 4),
    ("batched_dot", batched_dot, [P16, P16, P32], dict(B=4, S=32), 4),
    ("argmax_rows", argmax_rows, [P32, P32, "*i32"], dict(R=32, B=128), 4),
    ("sort", sort, [P32, P32], dict(B=64), 1),
    ("interleave", interleave, [P32, P32, P32], dict(B=1024), 4),
    ("deinterleave", deinterleave, [P32, P32, P32], dict(B=1024), 4),
    ("embedding", embedding, ["*i64", P32, P32, I], dict(R=16, B=128), 4),
    ("counts", counts, ["*i32", "*i32"], dict(B=1024), 4),
    ("newton", newton, [P32, P32], dict(B=512), 4),
    ("outer_sum", outer_sum, [P32, P32, P32], dict(M=64, N=64, K=16), 4),
]


def module_text(kernel, types, constants, num_warps):
    from triton.compiler import ASTSource
    from triton._C.libtriton import ir

    names = [p.name for p in kernel.params if not p.is_constexpr]
    signature = dict(zip(names, types), **{name: "constexpr" for name in constants})
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types) if t[0] == "*" or t == I}
    source = ASTSource(kernel, signature, constexprs={(kernel.arg_names.index(k),): v for k, v in constants.items()},
                       attrs={k: v for k, v in aligned.items()})
    backend = capture.CaptureBackend(capture.TARGET)
    options = backend.parse_options({"num_warps": num_warps})
    context = ir.context()
    ir.load_dialects(context)
    module = source.make_ir(capture.TARGET, options, backend.get_codegen_implementation(options),
                            backend.get_module_map(), context)
    return module.str_nodebug()


def main(out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for name, kernel, types, constants, num_warps in CASES:
        text = module_text(kernel, types, constants, num_warps)
        (out / f"{name}.{num_warps}.ttir").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
