# SPDX-License-Identifier: MIT
"""The Triton backend `metal`, found by upstream through the entry point group `triton.backends`."""
