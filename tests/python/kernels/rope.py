# SPDX-License-Identifier: MIT
"""Rotary position embedding: each head's first and second half are the two coordinates of points that
turn by an angle of the position. In place; the gradient is the turn in the other direction."""
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x, cosine, sine, row_stride, head_stride, angle_stride, positions, half, SIGN: tl.constexpr,
                HEADS: tl.constexpr, HEADS_BLOCK: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    position = row % positions
    at = tl.arange(0, BLOCK)
    head = tl.arange(0, HEADS_BLOCK)
    c = tl.load(cosine + position * angle_stride + at, mask=at < half, other=0.0).to(tl.float32)
    s = tl.load(sine + position * angle_stride + at, mask=at < half, other=0.0).to(tl.float32) * SIGN
    inside = (head[:, None] < HEADS) & (at[None, :] < half)
    first_at = x + row * row_stride + head[:, None] * head_stride + at[None, :]
    second_at = first_at + half
    first = tl.load(first_at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(second_at, mask=inside, other=0.0).to(tl.float32)
    tl.store(first_at, first * c[None, :] - second * s[None, :], mask=inside)
    tl.store(second_at, second * c[None, :] + first * s[None, :], mask=inside)


def rope(x, cosine, sine, inverse=False, **options):
    """x: (batch, positions, heads, size), contiguous; cosine, sine: (positions, size / 2)."""
    batch, positions, heads, size = x.shape
    rope_kernel[(batch * positions, )](x, cosine, sine, x.stride(1), x.stride(2), cosine.stride(0), positions,
                                       size // 2, SIGN=-1 if inverse else 1, HEADS=heads,
                                       HEADS_BLOCK=triton.next_power_of_2(heads),
                                       BLOCK=triton.next_power_of_2(size // 2), **options)
    return x
