# SPDX-License-Identifier: MIT
"""Matrix products: one tile per program in an order that shares operand tiles, one with programs that
stay and take many tiles, one that splits K over programs and adds up with atomics."""
import torch
import triton
import triton.language as tl


@triton.jit
def tile_of(index, m_tiles, n_tiles, GROUP: tl.constexpr):
    """Tiles go down bands of GROUP rows, so that neighbours in time share columns of B."""
    band = index // (GROUP * n_tiles)
    first = band * GROUP
    height = min(m_tiles - first, GROUP)
    within = index - band * GROUP * n_tiles
    return first + within % height, within // height


@triton.jit
def accumulate(a, b, m_at, n_at, k_first, k_end, M, N, a_m, a_k, b_k, b_n, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr):
    """The BM x BN tile at (m_at, n_at) of A[:, k_first:k_end] @ B[k_first:k_end, :]."""
    row = m_at + tl.arange(0, BM)
    column = n_at + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(k_first, k_end, BK):
        left = k_end - k
        a_tile = tl.load(a + row[:, None] * a_m + (k + depth)[None, :] * a_k,
                         mask=(row[:, None] < M) & (depth[None, :] < left), other=0.0)
        b_tile = tl.load(b + (k + depth)[:, None] * b_k + column[None, :] * b_n,
                         mask=(depth[:, None] < left) & (column[None, :] < N), other=0.0)
        total = tl.dot(a_tile, b_tile, total)
    return total


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def store_tile(c, total, m_at, n_at, M, N, c_m, c_n, ACTIVATION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    elif ACTIVATION == "gelu":
        total = gelu(total)
    row = m_at + tl.arange(0, BM)
    column = n_at + tl.arange(0, BN)
    tl.store(c + row[:, None] * c_m + column[None, :] * c_n, total.to(c.dtype.element_ty),
             mask=(row[:, None] < M) & (column[None, :] < N))


@triton.jit
def grouped_kernel(a, b, c, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n, ACTIVATION: tl.constexpr, BM: tl.constexpr,
                   BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    m, n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    total = accumulate(a, b, m * BM, n * BN, 0, K, M, N, a_m, a_k, b_k, b_n, BM, BN, BK)
    store_tile(c, total, m * BM, n * BN, M, N, c_m, c_n, ACTIVATION, BM, BN)


@triton.jit
def persistent_kernel(a, b, c, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n, ACTIVATION: tl.constexpr, BM: tl.constexpr,
                      BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    m_tiles = tl.cdiv(M, BM)
    n_tiles = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), m_tiles * n_tiles, tl.num_programs(0)):
        m, n = tile_of(tile, m_tiles, n_tiles, GROUP)
        total = accumulate(a, b, m * BM, n * BN, 0, K, M, N, a_m, a_k, b_k, b_n, BM, BN, BK)
        store_tile(c, total, m * BM, n * BN, M, N, c_m, c_n, ACTIVATION, BM, BN)


@triton.jit
def split_k_kernel(a, b, c, M, N, K, k_part, a_m, a_k, b_k, b_n, c_m, c_n, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, GROUP: tl.constexpr):
    m, n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    k_first = tl.program_id(1) * k_part
    total = accumulate(a, b, m * BM, n * BN, k_first, min(k_first + k_part, K), M, N, a_m, a_k, b_k, b_n, BM, BN, BK)
    row = m * BM + tl.arange(0, BM)
    column = n * BN + tl.arange(0, BN)
    tl.atomic_add(c + row[:, None] * c_m + column[None, :] * c_n, total,
                  mask=(row[:, None] < M) & (column[None, :] < N), sem="relaxed")


def _tiles(a, b, blocks):
    return triton.cdiv(a.shape[0], blocks["BM"]) * triton.cdiv(b.shape[1], blocks["BN"])


def _strides(a, b, c):
    return (*a.stride(), *b.stride(), *c.stride())


def grouped(a, b, activation=None, bm=32, bn=32, bk=32, **options):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    blocks = dict(BM=bm, BN=bn, BK=bk, GROUP=4)
    grouped_kernel[(_tiles(a, b, blocks), )](a, b, c, a.shape[0], b.shape[1], a.shape[1], *_strides(a, b, c),
                                             ACTIVATION=activation, **blocks, **options)
    return c


def persistent(a, b, programs=3, bm=32, bn=32, bk=32, **options):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    blocks = dict(BM=bm, BN=bn, BK=bk, GROUP=2)
    persistent_kernel[(programs, )](a, b, c, a.shape[0], b.shape[1], a.shape[1], *_strides(a, b, c), ACTIVATION=None,
                                    **blocks, **options)
    return c


def split_k(a, b, parts=4, bm=32, bn=32, bk=32, **options):
    """In float32, whatever the operands are: partial sums meet in memory."""
    c = torch.zeros((a.shape[0], b.shape[1]), dtype=torch.float32)
    blocks = dict(BM=bm, BN=bn, BK=bk, GROUP=4)
    k_part = triton.cdiv(triton.cdiv(a.shape[1], parts), bk) * bk
    split_k_kernel[(_tiles(a, b, blocks), parts)](a, b, c, a.shape[0], b.shape[1], a.shape[1], k_part,
                                                  *_strides(a, b, c), **blocks, **options)
    return c
