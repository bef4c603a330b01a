# SPDX-License-Identifier: MIT
"""All families of truth cases."""
import elementwise
import layers
import reductions

FAMILIES = {name: cases for table in (elementwise, reductions, layers) for name, cases in table.FAMILIES.items()}
