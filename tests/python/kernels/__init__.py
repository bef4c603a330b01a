# SPDX-License-Identifier: MIT
"""Kernels of everyday deep learning, written from their formulas, each with a host function that
takes torch tensors. They are what the whole is judged with, and examples of what compiles."""
