# SPDX-License-Identifier: MIT
"""All families of truth cases."""
import elementwise
import layers
import matmul
import quantised
import reductions
import transforms

TABLES = (elementwise, reductions, layers, matmul, quantised, transforms)
FAMILIES = {name: cases for table in TABLES for name, cases in table.FAMILIES.items()}
