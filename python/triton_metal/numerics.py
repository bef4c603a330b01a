# SPDX-License-Identifier: MIT
"""What Apple does not say of arithmetic, chosen for a part of a program:

    with triton_metal.numerics(denormals="keep", fmuladd="split"):
        kernel[grid](x, y)

docs/vgpu.md lists the options and their choices; the first choice of each is what runs otherwise."""
from contextlib import contextmanager

from . import _core


@contextmanager
def numerics(choices="", **options):
    """Runs launches of the virtual GPU under other choices: by name, or as a list "denormals=keep,fmuladd=split",
    which TRITON_METAL_NUMERICS takes too. Options that are not named stay as they are. Kernels that are loaded
    are decoded again. The setting is the process's, not a thread's."""
    old = _core.set_numerics(None)
    try:
        _core.set_numerics(",".join(filter(None, (old, choices, *(f"{k}={v}" for k, v in options.items())))))
        yield
    finally:
        _core.set_numerics(old)
