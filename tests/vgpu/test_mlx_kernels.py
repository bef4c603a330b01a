# SPDX-License-Identifier: MIT
"""Apple-compiled kernels of MLX against NumPy. MLX_METALLIB names mlx.metallib of the macOS 15 wheel of
mlx-metal 0.32.4 (PyPI); without it these tests are skipped. Geometry and arguments follow MLX's host code."""
import os
import struct

import numpy as np
import pytest

import gpu
from gpu import bf16, from_bf16

path = os.environ.get("MLX_METALLIB")
pytestmark = pytest.mark.skipif(not path, reason="MLX_METALLIB is not set")
rng = np.random.default_rng(7)


@pytest.fixture(scope="module")
def mlx():
    with open(path, "rb") as f:
        return gpu.Library(f.read())


def i32(*x): return struct.pack(f"<{len(x)}i", *x)
def u32(*x): return struct.pack(f"<{len(x)}I", *x)
def i64(*x): return struct.pack(f"<{len(x)}q", *x)
def u64(*x): return struct.pack(f"<{len(x)}Q", *x)
def f32(*x): return struct.pack(f"<{len(x)}f", *x)
def rand(*shape): return rng.standard_normal(shape).astype(np.float32)
def error(a, b): return np.abs(np.asarray(a, np.float64) - b).max() / max(np.abs(b).max(), 1e-30)


def test_add(mlx):
    a, b, c = rand(1001), rand(1001), np.zeros(1001, np.float32)
    mlx.kernel("vvn_Addfloat32").launch((1, 1, 1), (501, 1, 1), {0: a, 1: b, 2: c, 3: u32(1001)})
    assert (c == a + b).all()


def test_multiply_bf16_strided(mlx):
    shape = (6, 4, 5)
    a, b = bf16(rand(6, 4, 5)), bf16(rand(5, 4, 6).transpose(2, 1, 0).copy())
    bt = np.ascontiguousarray(b.transpose(2, 1, 0))  # b's strides are reversed
    c = np.zeros(shape, np.uint16)
    args = {0: a, 1: bt, 2: c, 3: i32(*shape), 4: i64(20, 5, 1), 5: i64(1, 6, 24), 6: i32(3)}
    mlx.kernel("gn2_Multiplybfloat16").launch((1, 1, 1), (3, 4, 6), args)
    assert (c == bf16(from_bf16(a) * from_bf16(b))).all()


def test_row_sum(mlx):
    x, out = rand(7, 2000), np.zeros(7, np.float32)
    args = {0: x, 1: out, 2: u64(2000), 3: i64(7)}
    mlx.kernel("row_reduce_simple_sumfloat32").launch((1, 2, 1), (512, 1, 1), args)
    assert error(out, x.astype(float).sum(1)) < 1e-6


def test_all_sum(mlx):
    x, out = rand(3000), np.zeros(1, np.float32)
    args = {0: x, 1: out, 2: u64(3000), 3: u64(3000)}
    mlx.kernel("all_reduce_sumfloat32").launch((1, 1, 1), (768, 1, 1), args)
    assert error(out, x.astype(float).sum(keepdims=True)) < 1e-5


def test_softmax(mlx):
    x, out = rand(3, 1000), np.zeros((3, 1000), np.float32)
    mlx.kernel("block_softmax_float32").launch((3, 1, 1), (256, 1, 1), {0: x, 1: out, 2: i32(1000)})
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    assert error(out, e / e.sum(1, keepdims=True)) < 1e-6


def test_rms_norm_f16(mlx):
    x, w = rand(2, 1000).astype(np.float16), rand(1000).astype(np.float16)
    out = np.zeros((2, 1000), np.float16)
    args = {0: x, 1: w, 2: out, 3: f32(1e-5), 4: u32(1000), 5: u32(1)}
    mlx.kernel("rmsfloat16").launch((2, 1, 1), (256, 1, 1), args)
    y = x.astype(float)
    want = y / np.sqrt((y * y).mean(1, keepdims=True) + 1e-5) * w.astype(float)
    assert error(out, want) < 1e-3


def test_layer_norm(mlx):
    x, w, b, out = rand(2, 1000), rand(1000), rand(1000), np.zeros((2, 1000), np.float32)
    args = {0: x, 1: w, 2: b, 3: out, 4: f32(1e-5), 5: u32(1000), 6: u32(1), 7: u32(1)}
    mlx.kernel("layer_normfloat32").launch((2, 1, 1), (128, 1, 1), args)
    y = x.astype(float)
    want = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5) * w + b
    assert error(out, want) < 1e-6


@pytest.mark.parametrize("traditional", [0, 1])
def test_rope_f16(mlx, traditional):
    B, N, T, D, dims, scale, base, offset = 1, 14, 3, 20, 16, 0.7, 10000.0, 5
    x = rand(B, N, T, D).astype(np.float16)
    out = np.zeros_like(x)
    s = (T * D, D, 1)
    args = {0: x, 1: out, 2: np.array([offset], np.int32), 3: f32(scale), 4: i64(*s), 5: i64(*s), 6: i64(0),
            7: i32(N), 10: f32(np.log2(base))}
    k = mlx.kernel("rope_float16", {1: 1, 2: traditional, 3: 0})
    k.launch((1, 1, 1), (dims // 2, T, B * ((N + 3) // 4)), args)
    half = dims // 2
    d = np.arange(half) / half
    theta = scale * (np.arange(T)[:, None] + offset) * np.exp2(-d * np.log2(base))[None]
    y = x.astype(float)
    i, j = (slice(0, dims, 2), slice(1, dims, 2)) if traditional else (slice(0, half), slice(half, dims))
    want = np.zeros_like(y)
    want[..., i] = y[..., i] * np.cos(theta) - y[..., j] * np.sin(theta)
    want[..., j] = y[..., i] * np.sin(theta) + y[..., j] * np.cos(theta)
    assert error(out, want) < 1e-3


def test_argsort(mlx):
    x, out = rand(2, 400), np.zeros((2, 400), np.uint32)
    args = {0: x, 1: out, 2: i32(400), 3: i32(1), 4: i32(1), 5: i32(400), 6: i32(400)}
    mlx.kernel("carg_block_sort_float32_uint32_bn128_tn4").launch((1, 2, 1), (128, 1, 1), args)
    assert (out == np.argsort(x, 1, kind="stable")).all()


def test_scan(mlx):
    x, out = rand(2, 1000), np.zeros((2, 1000), np.float32)
    mlx.kernel("contig_scan_inclusive_sum_float32_float32").launch(
        (1, 2, 1), (256, 1, 1), {0: x, 1: out, 2: u64(1000)})
    assert error(out, np.cumsum(x.astype(float), 1)) < 1e-6


@pytest.mark.parametrize("aligned", [0, 1])
def test_gemm_f32(mlx, aligned):
    M, N, K = (64, 128, 48) if aligned else (75, 90, 45)
    a, b, d = rand(M, K), rand(K, N), np.zeros((M, N), np.float32)
    tm, tn = (M + 63) // 64, (N + 63) // 64
    params = struct.pack("<8i3q3i4x", M, N, K, K, N, N, tn, tm, 0, 0, 0, 0, K // 16, 1)
    k = mlx.kernel("steel_gemm_fused_nn_float32_float32_bm64_bn64_bk16_wm2_wn2",
                   {10: 0, 100: 0, 110: 0, 200: aligned, 201: aligned, 202: aligned})
    k.launch((tn, tm, 1), (32, 2, 2), {0: a, 1: b, 3: d, 4: params})
    assert error(d, a.astype(float) @ b.astype(float)) < 1e-6


def test_gemm_f16_transposed_axpby(mlx):
    M = N = 64
    K = 48
    a, bt, c = (rand(*s).astype(np.float16) for s in ((M, K), (N, K), (M, N)))
    d = np.zeros((M, N), np.float16)
    params = struct.pack("<8i3q3i4x", M, N, K, K, K, N, 1, 1, 0, 0, 0, 0, K // 16, 1)
    k = mlx.kernel("steel_gemm_fused_nt_float16_float16_bm64_bn64_bk16_wm2_wn2",
                   {10: 0, 100: 1, 110: 1, 200: 1, 201: 1, 202: 1})
    k.launch((1, 1, 1), (32, 2, 2), {0: a, 1: bt, 2: c, 3: d, 4: params, 5: struct.pack("<2iq2f", N, 1, 0, 0.5, 1.5)})
    assert error(d, 0.5 * (a.astype(float) @ bt.T.astype(float)) + 1.5 * c.astype(float)) < 1e-3


def test_gemv(mlx):
    M, K = 61, 300
    a, v, out = rand(M, K), rand(K), np.zeros(M, np.float32)
    args = {0: a, 1: v, 2: v, 3: out, 4: i32(K), 5: i32(M), 6: i32(K), 7: f32(1), 8: f32(0), 9: i32(1), 10: i32(1),
            11: i64(0), 12: i64(0), 13: i64(0), 14: i32(0)}
    mlx.kernel("gemv_float32_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0").launch((4, 1, 1), (32, 1, 4), args)
    assert error(out, a.astype(float) @ v.astype(float)) < 1e-6


def attention(q, k, v, scale, causal=False):
    s = np.einsum("hqd,hkd->hqk", q.astype(float), k.astype(float)) * scale
    if causal:
        qi = np.arange(s.shape[1])[:, None] + s.shape[2] - s.shape[1]
        s = np.where(np.arange(s.shape[2])[None] <= qi, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hqk,hkd->hqd", p / p.sum(-1, keepdims=True), v.astype(float))


def test_decode_attention(mlx):
    H, N, D = 4, 70, 128
    q, k, v = (rand(*s).astype(np.float16) for s in ((H, 1, D), (H, N, D), (H, N, D)))
    out = np.zeros((H, 1, D), np.float16)
    args = {0: q, 1: k, 2: v, 3: out, 4: i32(1), 5: i32(N), 6: u64(N * D), 7: u64(D), 8: u64(N * D), 9: u64(D),
            10: f32(D ** -0.5)}
    kernel = mlx.kernel("sdpa_vector_float16_t_128_128", {i: 0 for i in range(20, 26)})
    kernel.launch((H, 1, 1), (1024, 1, 1), args)
    assert error(out, attention(q, k, v, D ** -0.5)) < 1e-3


@pytest.mark.parametrize("causal", [0, 1])
def test_flash_attention(mlx, causal):
    H, qL, kL, D = 2, 45, 77, 128
    q, k, v = (rand(*s).astype(np.float16) for s in ((H, qL, D), (H, kL, D), (H, kL, D)))
    out = np.zeros((H, qL, D), np.float16)
    params = struct.pack("<6if7i", 1, H, D, qL, kL, 1, D ** -0.5, (qL + 31) // 32, (kL + 15) // 16, qL // 32, kL // 16,
                         qL % 32, kL % 16, kL - qL)
    params += struct.pack("<12q", H * qL * D, qL * D, D, H * kL * D, kL * D, D, H * kL * D, kL * D, D, H * qL * D,
                          qL * D, D)
    kernel = mlx.kernel("steel_attention_float16_bq32_bk16_bd128_bv128_wm4_wn1_maskfloat16",
                        {200: 0, 201: 0, 300: 0, 301: causal, 302: 0, 303: 0})
    kernel.launch((2, H, 1), (32, 4, 1), {0: q, 1: k, 2: v, 3: out, 4: params})
    assert error(out, attention(q, k, v, D ** -0.5, causal)) < 1e-3


def quantise(N, K, group=64):
    w = rng.integers(0, 16, (N, K)).astype(np.uint32)
    packed = np.zeros((N, K // 8), np.uint32)
    for i in range(8):
        packed |= w[:, i::8] << (4 * i)
    scales = (rng.random((N, K // group)) * 0.1).astype(np.float16)
    biases = rand(N, K // group).astype(np.float16)
    full = np.repeat(scales.astype(float), group, 1) * w + np.repeat(biases.astype(float), group, 1)
    return packed, scales, biases, full


def test_quantised_matvec(mlx):
    M, N, K = 3, 32, 512
    w, s, b, full = quantise(N, K)
    x, y = rand(M, K).astype(np.float16), np.zeros((M, N), np.float16)
    args = {0: w, 1: s, 2: b, 3: x, 4: y, 5: i32(K), 6: i32(N)}
    args |= {i: i64(0, 0) for i in range(7, 15)}
    mlx.kernel("affine_qmv_fast_float16_t_gs_64_b_4_batch_0_pr_0_hgs_0_r_4").launch(
        (M, N // 8, 1), (32, 2, 1), args)
    assert error(y, x.astype(float) @ full.T) < 1e-3


def test_quantised_matmul(mlx):
    M, N, K = 40, 64, 256
    w, s, b, full = quantise(N, K)
    x, y = rand(M, K).astype(np.float16), np.zeros((M, N), np.float16)
    args = {0: w, 1: s, 2: b, 3: x, 4: y, 5: i32(K), 6: i32(N), 7: i32(M)}
    args |= {i: i64(0, 0) for i in range(8, 16)}
    mlx.kernel("affine_qmm_t_float16_t_gs_64_b_4_alN_true_batch_0").launch((2, 2, 1), (32, 2, 2), args)
    assert error(y, x.astype(float) @ full.T) < 1e-3
