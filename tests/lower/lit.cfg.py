# SPDX-License-Identifier: MIT
"""Golden tests of lowering: each .mlir carries its RUN line and the CHECK lines filecheck reads."""
import os
import tempfile

import lit.formats

config.name = "lower"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(tempfile.gettempdir(), "tm-lit-lower")
folder = os.path.dirname(lit_config.params.get("tm_opt", ""))
config.environment["PATH"] = os.pathsep.join([folder, os.environ["PATH"]])
