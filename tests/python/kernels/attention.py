# SPDX-License-Identifier: MIT
"""Exact attention without the score matrix in memory. Forward: a block of queries meets all keys block
by block and keeps a running maximum and sum, in base 2. Backward: one kernel walks queries for a
block of keys (dK, dV), another walks keys for a block of queries (dQ); both rebuild the
probabilities from the saved log-sum. Tensors are (batch * heads, length, size), contiguous."""
import math

import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def load_rows(base, row, length, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    return tl.load(base + row[:, None] * SIZE + at[None, :], mask=row[:, None] < length, other=0.0)


@triton.jit
def scores_of(q, k, q_row, k_row, length, scale, CAUSAL: tl.constexpr):
    """Scores in base 2, -inf where a query must not look."""
    scores = tl.dot(q, tl.trans(k)) * (scale * LOG2_E)
    allowed = k_row[None, :] < length
    if CAUSAL:
        allowed = allowed & (k_row[None, :] <= q_row[:, None])
    return tl.where(allowed, scores, -float("inf"))


@triton.jit
def forward_kernel(q, k, v, out, log_sums, length, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr, BQ: tl.constexpr,
                   BK: tl.constexpr):
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * SIZE
    q_row = tl.program_id(0) * BQ + tl.arange(0, BQ)
    q_tile = load_rows(q + base, q_row, length, SIZE)
    peak = tl.full((BQ, ), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BQ, ), dtype=tl.float32)
    weighted = tl.zeros((BQ, SIZE), dtype=tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (tl.program_id(0) + 1) * BQ)
    for first in range(0, end, BK):
        k_row = first + tl.arange(0, BK)
        k_tile = load_rows(k + base, k_row, length, SIZE)
        v_tile = load_rows(v + base, k_row, length, SIZE)
        scores = scores_of(q_tile, k_tile, q_row, k_row, length, scale, CAUSAL)
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        total = total * shrink + tl.sum(p, axis=1)
        weighted = tl.dot(p.to(v_tile.dtype), v_tile, weighted * shrink[:, None])
        peak = new_peak
    at = tl.arange(0, SIZE)
    inside = q_row[:, None] < length
    tl.store(out + base + q_row[:, None] * SIZE + at[None, :], (weighted / total[:, None]).to(out.dtype.element_ty),
             mask=inside)
    tl.store(log_sums + head * length + q_row, peak + tl.log2(total), mask=q_row < length)


@triton.jit
def delta_kernel(out, dout, delta, length, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """The sum over a row of out * dout, which both backward kernels subtract."""
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * SIZE
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = load_rows(out + base, row, length, SIZE).to(tl.float32)
    g = load_rows(dout + base, row, length, SIZE).to(tl.float32)
    tl.store(delta + head * length + row, tl.sum(o * g, axis=1), mask=row < length)


@triton.jit
def backward_kv_kernel(q, k, v, dout, log_sums, delta, dk, dv, length, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr,
                       BQ: tl.constexpr, BK: tl.constexpr):
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * SIZE
    k_row = tl.program_id(0) * BK + tl.arange(0, BK)
    k_tile = load_rows(k + base, k_row, length, SIZE)
    v_tile = load_rows(v + base, k_row, length, SIZE)
    dk_tile = tl.zeros((BK, SIZE), dtype=tl.float32)
    dv_tile = tl.zeros((BK, SIZE), dtype=tl.float32)
    start = 0
    if CAUSAL:
        start = tl.program_id(0) * BK // BQ * BQ
    for first in range(start, length, BQ):
        q_row = first + tl.arange(0, BQ)
        q_tile = load_rows(q + base, q_row, length, SIZE)
        g_tile = load_rows(dout + base, q_row, length, SIZE)
        log_sum = tl.load(log_sums + head * length + q_row, mask=q_row < length, other=float("inf"))
        d = tl.load(delta + head * length + q_row, mask=q_row < length, other=0.0)
        p = tl.exp2(scores_of(q_tile, k_tile, q_row, k_row, length, scale, CAUSAL) - log_sum[:, None])
        dv_tile = tl.dot(tl.trans(p.to(g_tile.dtype)), g_tile, dv_tile)
        dp = tl.dot(g_tile, tl.trans(v_tile))
        ds = (p * (dp - d[:, None])).to(q_tile.dtype)
        dk_tile = tl.dot(tl.trans(ds), q_tile, dk_tile)
    at = tl.arange(0, SIZE)
    place = base + k_row[:, None] * SIZE + at[None, :]
    tl.store(dk + place, (dk_tile * scale).to(dk.dtype.element_ty), mask=k_row[:, None] < length)
    tl.store(dv + place, dv_tile.to(dv.dtype.element_ty), mask=k_row[:, None] < length)


@triton.jit
def backward_q_kernel(q, k, v, dout, log_sums, delta, dq, length, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr,
                      BQ: tl.constexpr, BK: tl.constexpr):
    head = tl.program_id(1)
    base = head.to(tl.int64) * length * SIZE
    q_row = tl.program_id(0) * BQ + tl.arange(0, BQ)
    q_tile = load_rows(q + base, q_row, length, SIZE)
    g_tile = load_rows(dout + base, q_row, length, SIZE)
    log_sum = tl.load(log_sums + head * length + q_row, mask=q_row < length, other=float("inf"))
    d = tl.load(delta + head * length + q_row, mask=q_row < length, other=0.0)
    dq_tile = tl.zeros((BQ, SIZE), dtype=tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (tl.program_id(0) + 1) * BQ)
    for first in range(0, end, BK):
        k_row = first + tl.arange(0, BK)
        k_tile = load_rows(k + base, k_row, length, SIZE)
        v_tile = load_rows(v + base, k_row, length, SIZE)
        p = tl.exp2(scores_of(q_tile, k_tile, q_row, k_row, length, scale, CAUSAL) - log_sum[:, None])
        dp = tl.dot(g_tile, tl.trans(v_tile))
        ds = (p * (dp - d[:, None])).to(k_tile.dtype)
        dq_tile = tl.dot(ds, k_tile, dq_tile)
    at = tl.arange(0, SIZE)
    tl.store(dq + base + q_row[:, None] * SIZE + at[None, :], (dq_tile * scale).to(dq.dtype.element_ty),
             mask=q_row[:, None] < length)


def forward(q, k, v, causal, bq=32, bk=32, **options):
    """(output, log2 of each query's sum of exponentials)."""
    heads, length, size = q.shape
    out = torch.empty_like(q)
    log_sums = torch.empty((heads, length), dtype=torch.float32)
    forward_kernel[(triton.cdiv(length, bq), heads)](q, k, v, out, log_sums, length, 1 / math.sqrt(size),
                                                     CAUSAL=causal, SIZE=size, BQ=bq, BK=bk, **options)
    return out, log_sums


def backward(q, k, v, out, log_sums, dout, causal, bq=32, bk=32, **options):
    """(dq, dk, dv)."""
    heads, length, size = q.shape
    dq, dk, dv = (torch.empty_like(t) for t in (q, k, v))
    delta = torch.empty((heads, length), dtype=torch.float32)
    scale = 1 / math.sqrt(size)
    shape = dict(CAUSAL=causal, SIZE=size, BQ=bq, BK=bk)
    delta_kernel[(triton.cdiv(length, 32), heads)](out, dout, delta, length, SIZE=size, BLOCK=32, **options)
    backward_kv_kernel[(triton.cdiv(length, bk), heads)](q, k, v, dout, log_sums, delta, dk, dv, length, scale,
                                                         **shape, **options)
    backward_q_kernel[(triton.cdiv(length, bq), heads)](q, k, v, dout, log_sums, delta, dq, length, scale, **shape,
                                                        **options)
    return dq, dk, dv
