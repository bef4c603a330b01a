# SPDX-License-Identifier: MIT
"""Prints a short hash of all C sources under a folder: the build id in tm_version()."""
import hashlib
import pathlib
import sys

digest = hashlib.sha256()
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    if path.suffix in (".c", ".h", ".def"):
        digest.update(path.name.encode() + path.read_bytes())
print(digest.hexdigest()[:12])
