# SPDX-License-Identifier: MIT
"""All families of truth cases."""
import elementwise
import layers
import matmul
import quantised
import reductions
import transforms

FAMILIES = {name: cases for table in (elementwise, reductions, layers, matmul, quantised, transforms) for name, cases in table.FAMILIES.items()}
