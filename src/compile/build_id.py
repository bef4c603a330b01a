# SPDX-License-Identifier: MIT
"""Writes build_id.h: a short hash of all C sources under a folder, the build id in tm_version(). The file
is left alone when the hash is the same, so that nothing is rebuilt."""
import hashlib
import pathlib
import sys

digest = hashlib.sha256()
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    if path.suffix in (".c", ".h", ".def"):
        digest.update(path.name.encode() + path.read_bytes())
text = f'/* SPDX-License-Identifier: MIT */\n#define TM_BUILD_ID "{digest.hexdigest()[:12]}"\n'
out = pathlib.Path(sys.argv[2])
if not out.exists() or out.read_text() != text:
    out.write_text(text)
