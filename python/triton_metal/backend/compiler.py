# SPDX-License-Identifier: MIT
"""The compiler half of the backend. The frontend's module goes to the C library as text, once, with
its locations, so that diagnostics name Python lines; none of upstream's passes run. The stages that
Triton sees are the forms the C library keeps on the way."""
import re

from triton.backends.compiler import BaseBackend, GPUTarget, Language
from triton.errors import TritonError
from triton.runtime.errors import OutOfResources

from .. import _core, errors
from . import options as launch_options

STAGES = ("ttir", "ttgir", "tmir", "ll", "metallib")  # text but for the last
TOO_MANY_WARPS, TOO_MUCH_THREADGROUP_MEMORY = 2903, 2301


class MetalCompileError(errors.CompileError, TritonError):
    """A CompileError that Triton's own handlers know too."""


def min_dot_size(lhs, rhs):
    return (1, 1, 1)


def _triton_error(error, options):
    """The exception Triton expects: autotuning drops a configuration that needs too much."""
    first = next((d for d in error.diagnostics if d.level == 2), None)
    if first and first.code == TOO_MUCH_THREADGROUP_MEMORY:
        required, limit = errors.numbers(first)[:2]
        return OutOfResources(required, limit, "threadgroup memory")
    if first and first.code == TOO_MANY_WARPS:
        limit = _core.target(options.arch)["max_threads"]
        return OutOfResources(32 * options.num_warps, limit, "threads")
    return MetalCompileError(error.text, error.diagnostics)


class _Compilation:
    """One kernel on its way through the stages, which Triton calls in order. The C library compiles
    once, at the first; the others hand out what it kept. Triton lets users put their own IR in
    place of a stage's result: of ttir that starts over, of the rest it is refused."""

    def __init__(self, options):
        self.options = options
        self.artifact = None
        self.last = None

    def stages(self):
        return {form: self._stage(form, before) for form, before in zip(STAGES, (None, *STAGES))}

    def _stage(self, form, before):
        def run(previous, metadata):
            if self.artifact is None or (before == "ttir" and previous is not self.last):
                self._compile(str(previous), metadata)
            elif before is not None and previous is not self.last:
                raise MetalCompileError(f"the {before} of a kernel cannot be overridden; override its ttir")
            data = self.artifact.get(form)
            self.last = data if form == "metallib" else data.decode()
            return self.last
        return run

    def _compile(self, text, metadata):
        options = self.options
        name = re.search(r'tt\.func public @"?([^"(]+)', text)
        try:
            self.artifact = _core.compile(text, name=f"{name.group(1) if name else 'kernel'}.ttir",
                                          num_warps=options.num_warps, target=options.arch, macos=options.macos,
                                          keep_stages=True)
        except errors.CompileError as error:
            raise _triton_error(error, options) from None
        info = self.artifact.info()
        metadata.update(name=info["name"], shared=info["threadgroup_bytes"], threads=info["threads"],
                        pointers=info["pointers"], scalar_bytes=info["scalar_bytes"],
                        lines=self.artifact.get("lines").decode())


class MetalBackend(BaseBackend):
    binary_ext = "metallib"

    @staticmethod
    def supports_target(target: GPUTarget):
        return target.backend == "metal"

    def hash(self):
        return f"metal-{self.target.arch}-{_core.version()}"

    def parse_options(self, given):
        return launch_options.parse(given, self.target.arch)

    def pack_metadata(self, metadata):
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_target_name(self, options):
        return f"metal:{options.arch}"

    def get_codegen_implementation(self, options):
        return {"min_dot_size": min_dot_size}

    def get_module_map(self):
        from .. import libdevice
        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context):
        pass

    def add_stages(self, stages, options, language):
        if language != Language.TRITON:
            raise MetalCompileError("Gluon kernels cannot be compiled for metal; write the kernel in Triton")
        stages.update(_Compilation(options).stages())
