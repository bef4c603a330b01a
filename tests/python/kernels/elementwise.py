# SPDX-License-Identifier: MIT
"""Element by element: vector addition, and dropout that keeps a seed instead of a mask."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add(x, y, block=512, **options):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), block), )](x, y, out, x.numel(), BLOCK=block, **options)
    return out


@triton.jit
def dropout_kernel(x, out, n, keep_probability, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) < keep_probability
    value = tl.load(x + at, mask=inside).to(tl.float32)
    tl.store(out + at, tl.where(kept, value / keep_probability, 0.0), mask=inside)


def dropout(x, p, seed, block=512, **options):
    """Zeroes each element with probability p. The backward pass is the same call on the gradient."""
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(x.numel(), block), )](x, out, x.numel(), 1.0 - p, seed, BLOCK=block, **options)
    return out


@triton.jit
def random_kernel(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, at), mask=at < n)


def random_integers(n, seed, block=256, **options):
    """n numbers of Triton's Philox stream as int32."""
    out = torch.empty(n, dtype=torch.int32)
    random_kernel[(triton.cdiv(n, block), )](out, n, seed, BLOCK=block, **options)
    return out
