# SPDX-License-Identifier: MIT
"""Checks of the virtual GPU for a part of a program:

    with triton_metal.check("all"):
        kernel[grid](x, y)

Inside, every launch looks for the mistakes named (docs/checks.md lists the names) and raises LaunchError with
what it found. Kernels that are already loaded are decoded again. The setting is the process's, not a thread's."""
from contextlib import contextmanager

from . import _core

ORDERS = ("forward", "reverse", "seeded", "round-robin")


@contextmanager
def check(checks="all", *, order="forward", seed=0):
    """Turns checks on: names separated by commas, "all" or "none". `order` is that in which threadgroups
    start and simdgroups take turns; "round-robin", with the check "schedules", lets each simdgroup go on to
    its next access of memory."""
    old_order = _core.set_order(ORDERS.index(order), seed)
    old = _core.set_checks(checks)
    try:
        yield
    finally:
        _core.set_checks(old)
        _core.set_order(*old_order)


@contextmanager
def mark_empty(*tensors):
    """Marks tensors as written by nobody: what the check "uninit" finds read before it is written is
    reported, until the block ends."""
    places = [(t.data_ptr(), t.untyped_storage().nbytes() - t.storage_offset() * t.element_size())
              for t in tensors]
    for address, size in places:
        _core.mark_empty(address, size)
    try:
        yield
    finally:
        for address, _ in places:
            _core.mark_empty(address, None)
