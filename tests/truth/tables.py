# SPDX-License-Identifier: MIT
"""All families of truth cases."""
import elementwise
import reductions

FAMILIES = {name: cases for table in (elementwise, reductions) for name, cases in table.FAMILIES.items()}
