# SPDX-License-Identifier: MIT
"""Exceptions. Each carries the C library's diagnostics, and its text is the library's own."""
import linecache
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    code: int           # 1203 for TM1203
    level: int          # 0 note, 1 warning, 2 error
    file: str | None    # None when the place is not known
    line: int           # from 1; 0 when not known
    column: int
    message: str
    note: str | None
    help: str | None


class Error(Exception):
    """Base of all errors of triton-metal. `code`, `file`, `line` and `help` are the first error's."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.text = text
        self.diagnostics = tuple(diagnostics)
        first = next((d for d in self.diagnostics if d.level == 2), None)
        self.code = first.code if first else None
        self.file = first.file if first else None
        self.line = first.line if first else 0
        self.help = first.help if first else None

    def __str__(self):
        return self.text

    def __reduce__(self):
        return type(self), (self.text, self.diagnostics)


class CompileError(Error):
    """A kernel cannot be compiled."""


class LaunchError(Error):
    """A kernel cannot be launched, or a check of the virtual GPU failed while it ran."""


class LibraryError(Error):
    """A metallib or AIR bitcode file cannot be read, or breaks a rule."""


_CLASSES = {"compile": CompileError, "launch": LaunchError, "library": LibraryError}


def read_source(path):
    """The bytes of a Python source file (or of a notebook cell that linecache knows), or None."""
    lines = linecache.getlines(path)
    return "".join(lines).encode() if lines else None


def make(kind, rows, text):
    """Called by the C extension: the exception for these diagnostics."""
    diagnostics = [Diagnostic(*row) for row in rows]
    return _CLASSES[kind](text.rstrip("\n") or f"{kind} failed without a diagnostic", diagnostics)


def numbers(diagnostic):
    """The integers in a diagnostic's message, in order."""
    return [int(n) for n in re.findall(r"\d+", diagnostic.message)]
