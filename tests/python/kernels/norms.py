# SPDX-License-Identifier: MIT
"""Layer norm and RMS norm over rows, forward and backward. Weight gradients are sums over all rows: each
backward program adds its rows' share to one of a few buffers under a lock, or writes partial sums
that a second kernel adds up; layer norm shows the first way, RMS norm the second."""
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x, y, weight, bias, mean, rstd, stride, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros((BLOCK, ), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
    center = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK, ), dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
        distance = tl.where(at < columns, value - center, 0.0)
        squares += distance * distance
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + at, mask=inside).to(tl.float32)
        b = tl.load(bias + at, mask=inside).to(tl.float32)
        tl.store(y + at, (value - center) * scale * w + b, mask=inside)


@triton.jit
def layer_norm_backward_kernel(dy, x, weight, mean, rstd, dx, dw, db, locks, stride, columns, groups,
                               BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    g = tl.load(dy + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    gw = g * w
    slope = tl.sum(normal * gw, axis=0) / columns
    offset = tl.sum(gw, axis=0) / columns
    tl.store(dx + row * stride + at, (gw - normal * slope - offset) * scale, mask=inside)
    group = row % groups
    lock = locks + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    dw_at = dw + group * columns + at
    db_at = db + group * columns + at
    tl.store(dw_at, tl.load(dw_at, mask=inside, other=0.0) + g * normal, mask=inside)
    tl.store(db_at, tl.load(db_at, mask=inside, other=0.0) + g, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def layer_norm(x, weight, bias, epsilon=1e-5, block=128, **options):
    """(y, mean, 1 / standard deviation)."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    mean = torch.empty(rows, dtype=torch.float32)
    rstd = torch.empty(rows, dtype=torch.float32)
    layer_norm_kernel[(rows, )](x, y, weight, bias, mean, rstd, x.stride(0), columns, epsilon, BLOCK=block, **options)
    return y, mean, rstd


def layer_norm_backward(dy, x, weight, mean, rstd, groups=4, **options):
    """(dx, dweight, dbias)."""
    rows, columns = x.shape
    dx = torch.empty_like(x)
    dw = torch.zeros((groups, columns), dtype=torch.float32)
    db = torch.zeros((groups, columns), dtype=torch.float32)
    locks = torch.zeros(groups, dtype=torch.int32)
    layer_norm_backward_kernel[(rows, )](dy, x, weight, mean, rstd, dx, dw, db, locks, x.stride(0), columns, groups,
                                         BLOCK=triton.next_power_of_2(columns), **options)
    return dx, dw.sum(0).to(weight.dtype), db.sum(0).to(weight.dtype)


@triton.jit
def rms_norm_kernel(x, y, weight, rrms, stride, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / columns + epsilon)
    tl.store(rrms + row, scale)
    w = tl.load(weight + at, mask=inside).to(tl.float32)
    tl.store(y + row * stride + at, value * scale * w, mask=inside)


@triton.jit
def rms_norm_backward_kernel(dy, x, weight, rrms, dx, partial, stride, rows, columns, ROWS: tl.constexpr,
                             BLOCK: tl.constexpr):
    part = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK, ), dtype=tl.float32)
    for row in range(part * ROWS, min((part + 1) * ROWS, rows)):
        g = tl.load(dy + row * stride + at, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.load(rrms + row)
        normal = value * scale
        gw = g * w
        slope = tl.sum(gw * normal, axis=0) / columns
        tl.store(dx + row * stride + at, (gw - normal * slope) * scale, mask=inside)
        dw += g * normal
    tl.store(partial + part * columns + at, dw, mask=inside)


@triton.jit
def column_sum_kernel(x, out, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        total += tl.load(x + row[:, None] * columns + at[None, :], mask=(row[:, None] < rows) & (at[None, :] < columns),
                         other=0.0)
    tl.store(out + at, tl.sum(total, axis=0), mask=at < columns)


def rms_norm(x, weight, epsilon=1e-6, **options):
    """(y, 1 / root mean square)."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    rrms = torch.empty(rows, dtype=torch.float32)
    rms_norm_kernel[(rows, )](x, y, weight, rrms, x.stride(0), columns, epsilon, BLOCK=triton.next_power_of_2(columns),
                              **options)
    return y, rrms


def rms_norm_backward(dy, x, weight, rrms, rows_each=3, **options):
    """(dx, dweight)."""
    rows, columns = x.shape
    dx = torch.empty_like(x)
    parts = triton.cdiv(rows, rows_each)
    partial = torch.empty((parts, columns), dtype=torch.float32)
    dw = torch.empty_like(weight)
    rms_norm_backward_kernel[(parts, )](dy, x, weight, rrms, dx, partial, x.stride(0), rows, columns, ROWS=rows_each,
                                        BLOCK=triton.next_power_of_2(columns), **options)
    column_sum_kernel[(triton.cdiv(columns, 64), )](partial, dw, parts, columns, ROWS=8, BLOCK=64, **options)
    return dx, dw
