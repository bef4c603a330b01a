# SPDX-License-Identifier: MIT
"""Whole kernels on the virtual GPU against PyTorch on the CPU, forward and backward."""
import pytest
import torch
import torch.nn.functional as F

from kernels import attention, cross_entropy, elementwise, matmul, norms, rope, softmax

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# What one rounding of the result allows, with room for another order of additions.
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def close(actual, expected, scale=1.0):
    tolerance = TOLERANCE[actual.dtype] * scale
    torch.testing.assert_close(actual, expected.to(actual.dtype), rtol=tolerance, atol=tolerance)


def gradients(function, dout, *inputs):
    """function's gradients at float32 copies of the inputs."""
    leaves = [x.float().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*leaves), leaves, dout.float())


# ---- element by element
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n, block, num_warps", [(1, 32, 1), (1000, 512, 4), (4096, 1024, 8), (777, 128, 2)])
def test_add(dtype, n, block, num_warps):
    x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    assert torch.equal(elementwise.add(x, y, block, num_warps=num_warps), x + y)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int8])
def test_add_integers_wraps(dtype):
    limit = torch.iinfo(dtype).max
    x = torch.randint(-limit, limit, (300, ), dtype=dtype)
    assert torch.equal(elementwise.add(x, x), x + x)


def philox(counter, key):
    """Philox 4x32-10 of Salmon et al. 2011; first word of each block."""
    mask = 0xFFFFFFFF
    c, k = [counter & mask, counter >> 32, 0, 0], [key & mask, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c[0]


@pytest.mark.parametrize("seed", [0, 1234567])
def test_random_stream_is_philox(seed):
    actual = elementwise.random_integers(100, seed)
    assert (actual.to(torch.int64) & 0xFFFFFFFF).tolist() == [philox(i, seed) for i in range(100)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype):
    x = torch.rand(2000).to(dtype) + 1
    out = elementwise.dropout(x, 0.3, seed=5)
    kept = out != 0
    assert 0.65 < kept.float().mean() < 0.75
    close(out[kept], x[kept].float() / 0.7)
    assert torch.equal(out, elementwise.dropout(x, 0.3, seed=5))
    assert not torch.equal(kept, elementwise.dropout(x, 0.3, seed=6) != 0)


# ---- softmax
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows, columns, num_warps", [(5, 64, 1), (7, 781, 4), (3, 1024, 8), (2, 1, 4)])
def test_softmax(dtype, rows, columns, num_warps):
    x = (4 * torch.randn(rows, columns)).to(dtype)
    y = softmax.forward(x, num_warps=num_warps)
    close(y, torch.softmax(x.float(), 1))
    dy = torch.randn(rows, columns).to(dtype)
    expected, = gradients(lambda t: torch.softmax(t, 1), dy, x)
    close(softmax.backward(y, dy, num_warps=num_warps), expected, 2)


def test_softmax_programs_take_several_rows():
    x = torch.randn(11, 100)
    close(softmax.forward(x, programs=3), torch.softmax(x, 1))


def test_softmax_takes_a_view_with_a_row_stride():
    x = torch.randn(6, 200)[:, 40:140]
    close(softmax.forward(x), torch.softmax(x, 1))


# ---- matrix products
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m, n, k, blocks, num_warps", [
    (64, 64, 64, (32, 32, 32), 4),
    (33, 47, 65, (32, 32, 16), 2),
    (100, 16, 40, (64, 16, 32), 4),
    (16, 128, 32, (16, 64, 32), 8),
    (24, 24, 24, (16, 16, 16), 1),
])
def test_matmul(dtype, m, n, k, blocks, num_warps):
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    bm, bn, bk = blocks
    close(matmul.grouped(a, b, bm=bm, bn=bn, bk=bk, num_warps=num_warps), a.float() @ b.float(), 4)


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
def test_matmul_of_transposed_operands(transposed):
    a, b = torch.randn(48, 40), torch.randn(40, 56)
    a = a.t().contiguous().t() if "a" in transposed else a
    b = b.t().contiguous().t() if "b" in transposed else b
    close(matmul.grouped(a, b), a @ b, 4)


@pytest.mark.parametrize("activation, reference", [("leaky_relu", lambda t: F.leaky_relu(t, 0.01)), ("gelu", F.gelu)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_matmul_with_activation(activation, reference, dtype):
    a, b = torch.randn(40, 32).to(dtype), torch.randn(32, 40).to(dtype)
    close(matmul.grouped(a, b, activation), reference(a.float() @ b.float()), 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_matmul_with_programs_that_stay(dtype):
    a, b = torch.randn(70, 48).to(dtype), torch.randn(48, 90).to(dtype)
    close(matmul.persistent(a, b), a.float() @ b.float(), 4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul_split_over_k(dtype):
    a, b = torch.randn(40, 200).to(dtype), torch.randn(200, 33).to(dtype)
    close(matmul.split_k(a, b), a.float() @ b.float(), 16)


# ---- norms
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows, columns, num_warps", [(5, 128, 4), (9, 300, 2), (2, 33, 1)])
def test_layer_norm(dtype, rows, columns, num_warps):
    x = (torch.randn(rows, columns) + 0.5).to(dtype)
    weight, bias = torch.randn(columns).to(dtype), torch.randn(columns).to(dtype)

    def reference(x, weight, bias):
        return F.layer_norm(x, (columns, ), weight, bias, 1e-5)

    y, mean, rstd = norms.layer_norm(x, weight, bias, num_warps=num_warps)
    close(y, reference(x.float(), weight.float(), bias.float()), 2)
    dy = torch.randn(rows, columns).to(dtype)
    actual = norms.layer_norm_backward(dy, x, weight, mean, rstd, num_warps=num_warps)
    for got, want in zip(actual, gradients(reference, dy, x, weight, bias)):
        close(got, want, 8)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows, columns, num_warps", [(5, 128, 4), (8, 300, 2)])
def test_rms_norm(dtype, rows, columns, num_warps):
    x, weight = torch.randn(rows, columns).to(dtype), torch.randn(columns).to(dtype)

    def reference(x, weight):
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * weight

    y, rrms = norms.rms_norm(x, weight, num_warps=num_warps)
    close(y, reference(x.float(), weight.float()), 2)
    dy = torch.randn(rows, columns).to(dtype)
    actual = norms.rms_norm_backward(dy, x, weight, rrms, num_warps=num_warps)
    for got, want in zip(actual, gradients(reference, dy, x, weight)):
        close(got, want, 8)


# ---- rotary embedding
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("heads, size", [(4, 64), (3, 48)])
def test_rope(dtype, heads, size):
    batch, positions = 2, 5
    x = torch.randn(batch, positions, heads, size).to(dtype)
    angle = torch.arange(positions)[:, None] * 10000.0**(-torch.arange(size // 2) / (size // 2))[None, :]
    first, second = x.float().chunk(2, -1)
    c, s = angle.cos()[:, None], angle.sin()[:, None]
    expected = torch.cat([first * c - second * s, second * c + first * s], -1)
    turned = rope.rope(x.clone(), angle.cos(), angle.sin())
    close(turned, expected)
    close(rope.rope(turned, angle.cos(), angle.sin(), inverse=True), x, 2)


# ---- cross entropy
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("classes, smoothing", [(10, 0.0), (500, 0.0), (131, 0.1)])
def test_cross_entropy(dtype, classes, smoothing):
    rows = 6
    logits = (3 * torch.randn(rows, classes)).to(dtype)
    labels = torch.randint(0, classes, (rows, ))
    labels[2] = -100

    def reference(t):
        return F.cross_entropy(t, labels, reduction="none", label_smoothing=smoothing)

    loss, log_sums = cross_entropy.forward(logits, labels, smoothing=smoothing)
    close(loss, reference(logits.float()), 4)
    dloss = torch.rand(rows)
    expected, = gradients(reference, dloss, logits)
    close(cross_entropy.backward(logits, labels, log_sums, dloss, smoothing=smoothing), expected, 4)


# ---- attention
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length, size, bq, bk, num_warps", [(64, 64, 32, 32, 4), (50, 64, 16, 32, 2),
                                                           (70, 128, 32, 16, 4)])
def test_attention(dtype, causal, length, size, bq, bk, num_warps):
    q, k, v = (torch.randn(2, length, size).to(dtype) for _ in range(3))

    def reference(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    out, log_sums = attention.forward(q, k, v, causal, bq, bk, num_warps=num_warps)
    close(out, reference(q.float(), k.float(), v.float()), 2)
    if size == 128 and dtype != torch.float16:
        return
    dout = torch.randn_like(out)
    actual = attention.backward(q, k, v, out, log_sums, dout, causal, bq, bk, num_warps=num_warps)
    for got, want in zip(actual, gradients(reference, dout, q, k, v)):
        close(got, want, 4)
