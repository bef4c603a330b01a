# SPDX-License-Identifier: MIT
"""Cross entropy of logits and class numbers, with rows of any length: the maximum and the sum of
exponentials go over the row block by block, rescaling when the maximum grows. Label smoothing and
ignored rows as in torch.nn.functional.cross_entropy (sum over rows is left to the caller)."""
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(logits, labels, loss, log_sums, stride, classes, ignored, SMOOTHING: tl.constexpr,
                   BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    if label == ignored:
        tl.store(loss + row, 0.0)
        tl.store(log_sums + row, 0.0)
        return
    logits += row * stride
    peak = -float("inf")
    total = 0.0
    plain_sum = 0.0
    for first in range(0, classes, BLOCK):
        at = first + tl.arange(0, BLOCK)
        value = tl.load(logits + at, mask=at < classes, other=-float("inf")).to(tl.float32)
        new_peak = tl.maximum(peak, tl.max(value, axis=0))
        total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(value - new_peak), axis=0)
        peak = new_peak
        if SMOOTHING > 0:
            plain_sum += tl.sum(tl.where(at < classes, value, 0.0), axis=0)
    log_sum = peak + tl.log(total)
    chosen = tl.load(logits + label).to(tl.float32)
    result = log_sum - (1 - SMOOTHING) * chosen - SMOOTHING * plain_sum / classes
    tl.store(loss + row, result)
    tl.store(log_sums + row, log_sum)


@triton.jit
def backward_kernel(logits, labels, log_sums, dloss, dlogits, stride, classes, ignored, SMOOTHING: tl.constexpr,
                    BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    g = tl.load(dloss + row)
    value = tl.load(logits + row * stride + at, mask=at < classes, other=0.0).to(tl.float32)
    p = tl.exp(value - tl.load(log_sums + row)) - SMOOTHING / classes
    p = tl.where(at == label, p - (1 - SMOOTHING), p)
    p = tl.where(label == ignored, 0.0, p)
    tl.store(dlogits + row * stride + at, p * g, mask=at < classes)


def forward(logits, labels, ignored=-100, smoothing=0.0, block=128, **options):
    """(loss of each row, log of the sum of exponentials of each row)."""
    rows, classes = logits.shape
    loss = torch.empty(rows, dtype=torch.float32)
    log_sums = torch.empty(rows, dtype=torch.float32)
    forward_kernel[(rows, )](logits, labels, loss, log_sums, logits.stride(0), classes, ignored, SMOOTHING=smoothing,
                             BLOCK=block, **options)
    return loss, log_sums


def backward(logits, labels, log_sums, dloss, ignored=-100, smoothing=0.0, block=128, **options):
    rows, classes = logits.shape
    dlogits = torch.empty_like(logits)
    backward_kernel[(rows, triton.cdiv(classes, block))](logits, labels, log_sums, dloss, dlogits, logits.stride(0),
                                                         classes, ignored, SMOOTHING=smoothing, BLOCK=block, **options)
    return dlogits
