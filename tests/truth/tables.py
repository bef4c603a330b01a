# SPDX-License-Identifier: MIT
"""All families of truth cases."""
import elementwise

FAMILIES = {name: cases for table in (elementwise,) for name, cases in table.FAMILIES.items()}
