# SPDX-License-Identifier: MIT
"""Kernels of LLVM text for the virtual GPU: llvm-as 14 makes the bitcode, metadata is added here."""
import subprocess

import triton_metal

TYPES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8}


def metadata(parameters, buffers, systems):
    """Of kernel @k with these parameters: buffers first, then system values."""
    rows = []
    for n in range(buffers):
        space = int(parameters[n].split("addrspace(")[1][0])
        access = "air.read" if space == 2 else "air.read_write"
        size = TYPES.get(parameters[n].split()[0], 4)
        rows.append(f'i32 {n}, !"air.buffer", !"air.location_index", i32 {n}, i32 1, !"{access}", '
                    f'!"air.address_space", i32 {space}, !"air.arg_type_size", i32 {size}, '
                    f'!"air.arg_type_align_size", i32 {size}, !"air.arg_type_name", !"x", !"air.arg_name", !"b{n}"')
    for n, system in enumerate(systems, buffers):
        rows.append(f'i32 {n}, !"air.{system}", !"air.arg_type_name", !"uint", !"air.arg_name", !"s{n}"')
    nodes = "\n".join(f"!{n + 3} = !{{{row}}}" for n, row in enumerate(rows))
    return (f"!air.kernel = !{{!0}}\n!0 = !{{void ({', '.join(parameters)})* @k, !1, !2}}\n!1 = !{{}}\n"
            f"!2 = !{{{', '.join(f'!{n + 3}' for n in range(len(rows)))}}}\n{nodes}\n")


def assemble(text, buffers, systems=()):
    """The bitcode of a module whose kernel is @k."""
    line = next(line for line in text.splitlines() if line.startswith("define void @k("))
    parameters = [p.rsplit(" ", 1)[0] for p in line[len("define void @k("):line.rindex(")")].split(", ")]
    whole = f'target triple = "air64_v27-apple-macosx15.0.0"\n{text}\n{metadata(parameters, buffers, systems)}'
    done = subprocess.run(["llvm-as-14", "-preserve-bc-uselistorder=false", "-o", "-"], input=whole.encode(),
                          capture_output=True)
    assert done.returncode == 0, done.stderr.decode() + whole
    return done.stdout


def load(text, buffers, systems=(), constants=None, checks=None):
    return triton_metal.load(assemble(text, buffers, systems)).kernel(0, constants or {}, checks)
