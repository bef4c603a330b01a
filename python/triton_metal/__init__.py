# SPDX-License-Identifier: MIT
"""triton-metal: compile Triton kernels for Apple GPUs, inspect metallibs, run them on a virtual GPU.

With `import triton` nothing of this needs to be imported: the backend registers itself. The
functions here are the C library's for tools: `compile` turns TTIR text into an Artifact, `load`
opens a metallib, `profile` counts what launches do."""
from ._core import Artifact, Kernel, Library, compile, isa, load, passes, target, version
from .check import check, mark_empty
from .errors import CompileError, Diagnostic, Error, LaunchError, LibraryError
from .numerics import numerics
from .profile import Profile, profile

__version__ = version().split("+")[0]
__all__ = ["Artifact", "CompileError", "Diagnostic", "Error", "Kernel", "LaunchError", "Library", "LibraryError",
           "Profile", "check", "compile", "isa", "load", "mark_empty", "numerics", "passes", "profile", "target", "version"]
