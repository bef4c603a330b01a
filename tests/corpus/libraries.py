# SPDX-License-Identifier: MIT
"""Calls the public functions of kernel libraries on small CPU tensors, so that the capture backend
sees their kernels. A call may fail after its launches (its numbers are garbage); what counts is how
many modules were made, which the caller checks.
"""
import inspect
import itertools
import warnings

import torch
import triton

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def limit_autotuning(configs=1):
    """Autotuners keep their first configurations only: each one is a module of its own."""
    original = triton.autotune

    def autotune(configs_given, *args, **kwargs):
        return original(list(configs_given)[:configs], *args, **kwargs)

    triton.autotune = lambda configs, *args, **kwargs: autotune(configs, *args, **kwargs)


def run(call, backward=True):
    """Calls and, where the result allows it, goes backward. Returns the error, or None."""
    try:
        out = call()
        first = out[0] if isinstance(out, (tuple, list)) else out
        if backward and isinstance(first, torch.Tensor) and first.requires_grad:
            first.sum().backward()
    except Exception as error:
        return error
    return None


def liger_calls(dtype, rows, cols):
    import liger_kernel.ops as ops

    def x(*shape):
        return torch.randn(*shape, dtype=dtype).requires_grad_()

    def label(n, classes):
        return torch.randint(0, classes, (n,))

    w, b = x(cols), x(cols)
    yield lambda: ops.LigerRMSNormFunction.apply(x(rows, cols), w, 1e-6, 0.0, "llama", False, None)
    yield lambda: ops.LigerRMSNormFunction.apply(x(rows, cols), w, 1e-6, 1.0, "gemma", False, None)
    yield lambda: ops.LigerFusedAddRMSNormFunction.apply(x(rows, cols), x(rows, cols), w, 1e-6, 0.0, "llama", False)
    yield lambda: ops.LigerLayerNormFunction.apply(x(rows, cols), w, b, 1e-5)
    yield lambda: ops.LigerGroupNormFunction.apply(x(rows, 8, cols), x(8), x(8), 8, 4, 1e-5)
    yield lambda: ops.LigerSiLUMulFunction.apply(x(rows, cols), x(rows, cols))
    yield lambda: ops.LigerGELUMulFunction.apply(x(rows, cols), x(rows, cols))
    yield lambda: ops.LigerReLUSquaredFunction.apply(x(rows, cols))
    yield lambda: ops.LigerSoftmaxFunction.apply(x(rows, cols))
    yield lambda: ops.LigerSparsemaxFunction.apply(x(rows, cols), -1)
    yield lambda: ops.LigerPolyNormFunction.apply(x(rows, cols), x(3), x(1), 1e-6, False)
    yield lambda: ops.LigerDyTFunction.apply(x(rows, cols), x(1), w, b)
    yield lambda: ops.LigerEmbeddingFunction.apply(x(64, cols), label(rows, 64))
    yield lambda: ops.LigerKLDivLossFunction.apply(x(rows, cols), x(rows, cols), "batchmean", False, 1e-10)
    yield lambda: ops.LigerKLDivLossFunction.apply(x(rows, cols), x(rows, cols), "none", True, 1e-10)
    yield lambda: ops.LigerJSDFunction.apply(x(rows, cols), x(rows, cols), None, 0.5, -100)
    yield lambda: ops.LigerJSDFunction.apply(x(rows, cols), x(rows, cols), label(rows, cols), 0.1, -100)
    yield lambda: ops.LigerTVDLossFunction.apply(x(rows, cols), x(rows, cols), None, "batchmean", -100)
    for smoothing, softcap, z in ((0.0, None, False), (0.1, None, True), (0.0, 30.0, False)):
        yield lambda: ops.LigerCrossEntropyFunction.apply(
            x(rows, cols), label(rows, cols), None, -100, 1e-4 if z else 0.0, smoothing, "mean", softcap, z, False, False)
    yield lambda: ops.LigerCrossEntropyFunction.apply(
        x(rows, cols), label(rows, cols), torch.rand(cols), -100, 0.0, 0.0, "sum", None, False, True, True)
    yield lambda: ops.LigerFusedLinearCrossEntropyFunction.apply(x(rows, 32), x(cols, 32), label(rows, cols))
    yield lambda: ops.LigerFusedLinearJSDFunction.apply(x(rows, 32), x(cols, 32), x(rows, 32), x(cols, 32))
    yield lambda: ops.LigerFusedCETVDFunction.apply(x(rows, cols), x(rows, cols), label(rows, cols))
    yield lambda: ops.LigerRopeFunction.apply(x(2, 4, rows, 64), x(2, 2, rows, 64), x(1, rows, 64), x(1, rows, 64))
    yield lambda: ops.LigerQwen2VLMRopeFunction.apply(x(2, 4, rows, 64), x(2, 2, rows, 64), x(3, 2, rows, 64), x(3, 2, rows, 64), [8, 12, 12])
    yield lambda: ops.LigerLlama4RopeFunction.apply(x(2, rows, 4, 64), x(2, rows, 2, 64), torch.randn(rows, 32, dtype=torch.complex64))
    yield lambda: ops.LigerMultiTokenAttentionFunction.apply(x(1, 2, 64, 64), x(2, 1, 3, 3))
    yield lambda: ops.LigerModulatedRMSNormFunction.apply(x(2, rows, cols), w, x(2, cols), x(2, cols), 1e-6)
    yield lambda: ops.LigerAttnResFunction.apply(x(4, 2, rows, cols), w, w, 1e-6)
    yield lambda: ops.GrpoLossFunction.apply(
        x(2, 17, cols), None, None, torch.randint(0, cols, (2, 16)), torch.randn(2), None, 1.0, 0.0, 0.2, 0.2, False)
    yield lambda: ops.GrpoLossFunction.apply(
        x(2, 17, cols), torch.randn(2, 16), torch.randn(2, 16), torch.randint(0, cols, (2, 16)), torch.randn(2),
        torch.ones(2, 16), 0.9, 0.04, 0.2, 0.2, False)


def liger(sizes=((16, 128), (10, 1000), (8, 4096))):
    for dtype, (rows, cols) in itertools.product(DTYPES, sizes):
        for call in liger_calls(dtype, rows, cols):
            run(call)


# Arguments of flash-linear-attention's functions by name: the candidate shapes are tried in turn
# (batch, time, heads, key, value sizes as letters; '1' is one).
FLA_SHAPES = {
    **{n: ("bthk",) for n in "q k r w a b p h eta".split()},
    "v": ("bthv",), "g": ("bth", "bthk"), "gk": ("bthk",), "gv": ("bthv",), "beta": ("bth", "bthk"),
    "s": ("bthk",), "x": ("btd",), "u": ("hk",), "lamb": ("hk",), "g_gamma": ("h",),
    "log_alpha": ("bth",), "log_mu": ("bth",), "g_atk": ("bth", "bthk"), "beta_atk": ("bth", "bthk"),
    "level_scales": ("bthl",), "delta": ("bth",), "readout": ("bth",), "query": ("d",), "rms_weight": ("d",),
    "q_norm_weight": ("k",), "k_norm_weight": ("k",), "readout": ("bth",),
}
FLA_SCALARS = {"scale": 0.125, "layer_idx": 1, "num_layers": 2, "q_norm_eps": 1e-6, "k_norm_eps": 1e-6}
FLA_SIZES = (dict(b=1, t=128, h=2, k=64, v=64, d=64, l=8), dict(b=2, t=96, h=1, k=32, v=64, d=64, l=8),
             dict(b=1, t=64, h=2, k=128, v=128, d=128, l=8))


def fla_call(fn, sizes, dtype, choice, extra):
    kwargs = dict(extra)
    for name, p in inspect.signature(fn).parameters.items():
        if name in FLA_SHAPES and (p.default is p.empty or name in ("g", "beta")):
            shapes = FLA_SHAPES[name]
            shape = [sizes[c] for c in shapes[min(choice, len(shapes) - 1)]]
            value = torch.randn(shape, dtype=dtype)
            if name.startswith(("g", "log_", "w")):
                value = -value.abs()
            kwargs[name] = value.requires_grad_()
        elif name in FLA_SCALARS and p.default is p.empty:
            kwargs[name] = FLA_SCALARS[name]
    return lambda: fn(**kwargs)


def fla(dtypes=(torch.bfloat16, torch.float32), sizes=FLA_SIZES):
    warnings.filterwarnings("ignore")
    import fla.ops as ops

    functions = [f for n, f in sorted(vars(ops).items()) if inspect.isfunction(f) and n.split("_")[0] in
                 ("chunk", "fused", "parallel")]
    for fn, dtype, size in itertools.product(functions, dtypes, sizes):
        for extra in ({}, {"output_final_state": True}):
            if not extra.keys() <= inspect.signature(fn).parameters.keys():
                continue
            for choice in (0, 1):
                if run(fla_call(fn, size, dtype, choice, extra)) is None:
                    break


def inductor_functions():
    import torch.nn.functional as F

    softmax = lambda x, y: torch.softmax(x * 2 + y, -1)
    return {
        "pointwise": lambda x, y: torch.sigmoid(x) * torch.tanh(y) + torch.where(x > 0, y, -y),
        "gelu": lambda x, y: F.gelu(x) * F.silu(y),
        "exotic": lambda x, y: torch.log1p(x.abs()) + torch.erf(y) + torch.rsqrt(x * x + 1) - torch.expm1(y.clamp(-1, 1)),
        "integers": lambda x, y: ((x * 100).int() // 7 % 5 + (y * 10).int().bitwise_and(3)).float(),
        "trigonometry": lambda x, y: torch.sin(x) * torch.cos(y) + torch.atan2(x, y) + torch.floor(x) - torch.ceil(y),
        "sum": lambda x, y: (x * y).sum(-1) + x.amax(-1),
        "sum_all": lambda x, y: (x - y).pow(2).mean(),
        "column_sum": lambda x, y: (x * y).sum(0),
        "argmax": lambda x, y: (x.argmax(-1), y.argmin(0)),
        "variance": lambda x, y: torch.var_mean(x + y, -1),
        "softmax": softmax,
        "log_softmax": lambda x, y: torch.log_softmax(x, -1) * y,
        "layer_norm": lambda x, y: F.layer_norm(x, x.shape[-1:]) + y,
        "rms_norm": lambda x, y: F.rms_norm(x, x.shape[-1:]) * y,
        "cumsum": lambda x, y: torch.cumsum(x, -1) + y,
        "gather": lambda x, y: torch.gather(x, 1, (y.abs() * 3).long().clamp(0, x.shape[1] - 1)),
        "transpose": lambda x, y: (x.t() + y.t()).contiguous(),
        "cat": lambda x, y: torch.cat([x, y * 2, x + y], -1),
        "pad": lambda x, y: F.pad(x, (1, 2)) * 2 + F.pad(y, (2, 1)),
        "pool": lambda x, y: F.max_pool2d((x + y)[None, None], 2),
        "dropout": lambda x, y: F.dropout(x * y, 0.3, True),
        "any": lambda x, y: ((x > y).any(-1), (x < 2).all(0)),
        "cross_entropy": lambda x, y: F.cross_entropy(x, (y[:, 0].abs() * 3).long().clamp(0, 3)),
        "sort": lambda x, y: torch.sort(x, -1)[0] + y,
    }


def inductor(sizes=((32, 64), (17, 1000)), dtypes=(torch.float32, torch.bfloat16)):
    import torch._inductor.config as config

    config.cpu_backend = "triton"
    config.force_disable_caches = True
    config.compile_threads = 1
    for (name, fn), size, dtype in itertools.product(inductor_functions().items(), sizes, dtypes):
        torch._dynamo.reset()
        run(lambda: torch.compile(fn)(torch.randn(size, dtype=dtype), torch.randn(size, dtype=dtype)))
