# SPDX-License-Identifier: MIT
"""libtritonmetal through ctypes, for tests: load a metallib, bind NumPy arrays, launch."""
import ctypes as C
import os

import numpy as np

U32, U64, PTR = C.c_uint32, C.c_uint64, C.c_void_p


class Constant(C.Structure):
    _fields_ = [("name", C.c_char_p), ("index", U32), ("bits", U64)]


class Arg(C.Structure):
    _fields_ = [("kind", C.c_int), ("index", U32), ("data", PTR), ("size", C.c_size_t), ("before", C.c_size_t)]


class Params(C.Structure):
    _fields_ = [("grid", U32 * 3), ("group", U32 * 3), ("args", C.POINTER(Arg)), ("n_args", U32),
                ("threads", U32), ("max_steps", U64), ("grid_threads", U32 * 3),
                ("counters", PTR)]


def library():
    so = C.CDLL(os.environ["TRITON_METAL_LIB"])
    for name, res, args in [
            ("tm_context_new", PTR, []), ("tm_diag_text", C.c_char_p, [PTR, C.c_char_p]),
            ("tm_diag_clear", None, [PTR]), ("tm_library_load", PTR, [PTR, C.c_char_p, C.c_size_t]),
            ("tm_library_find", C.c_int, [PTR, C.c_char_p]), ("tm_library_name", C.c_char_p, [PTR, U32]),
            ("tm_library_count", U32, [PTR]),
            ("tm_kernel_new", PTR, [PTR, PTR, U32, C.POINTER(Constant), U32, C.c_char_p]),
            ("tm_kernel_free", None, [PTR]), ("tm_kernel_listing", None, [PTR, PTR, C.POINTER(C.c_char_p)]),
            ("tm_launch", C.c_int, [PTR, PTR, C.POINTER(Params)])]:
        f = getattr(so, name)
        f.restype, f.argtypes = res, args
    return so


class GpuError(RuntimeError):
    pass


class Library:
    def __init__(self, data):
        self.so = library()
        self.ctx = self.so.tm_context_new()
        self.lib = self.so.tm_library_load(self.ctx, data, len(data))
        if not self.lib:
            raise GpuError(self.text())

    def text(self):
        t = self.so.tm_diag_text(self.ctx, None).decode()
        self.so.tm_diag_clear(self.ctx)
        return t

    def names(self):
        return [self.so.tm_library_name(self.lib, i).decode() for i in range(self.so.tm_library_count(self.lib))]

    def kernel(self, name, constants=(), checks=None):
        i = name if isinstance(name, int) else self.so.tm_library_find(self.lib, name.encode())
        if i < 0:
            raise GpuError(f"no kernel {name}")
        table = (Constant * (len(constants) + 1))()
        for slot, (key, value) in zip(table, dict(constants).items()):
            slot.index, slot.bits = key, int(value)
        k = self.so.tm_kernel_new(self.ctx, self.lib, i, table, len(constants), checks)
        if not k:
            raise GpuError(self.text())
        return Kernel(self, k)


class Kernel:
    def __init__(self, lib, k):
        self.lib, self.k = lib, k

    def __del__(self):
        self.lib.so.tm_kernel_free(self.k)

    def listing(self):
        out = C.c_char_p()
        self.lib.so.tm_kernel_listing(self.lib.ctx, self.k, C.byref(out))
        return out.value.decode()

    def launch(self, grid, group, args, threads=1, max_steps=0):
        """args: {index: array (device buffer), bytes (constant) or ("tg", size)}"""
        table, keep = (Arg * (len(args) + 1))(), []
        for slot, (index, a) in zip(table, args.items()):
            slot.index = index
            if isinstance(a, tuple):
                slot.kind, slot.size = 2, a[1]
            elif isinstance(a, bytes):
                buf = C.create_string_buffer(a, len(a))
                keep.append(buf)
                slot.kind, slot.data, slot.size = 1, C.addressof(buf), len(a)
            else:
                assert a.flags.c_contiguous
                slot.kind, slot.data, slot.size = 0, a.ctypes.data, a.nbytes
        p = Params((U32 * 3)(*grid), (U32 * 3)(*group), table, len(args), threads, max_steps)
        if self.lib.so.tm_launch(self.lib.ctx, self.k, C.byref(p)) != 0:
            raise GpuError(self.lib.text())


def bf16(x):
    """float32 array to bf16 bits, nearest even."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)
