# SPDX-License-Identifier: MIT
# Does all set-up on a fresh Debian or Ubuntu machine (packages when root; a virtual environment in
# .venv), then builds with Meson. `make demo` shows the program; `make test` is what CI runs.
VENV  ?= .venv
BUILD ?= build
PY    := $(CURDIR)/$(VENV)/bin/python
BIN   := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)

.PHONY: demo test quick wheel bench clean system
demo: $(VENV)/.installed
	$(PY) examples/demo.py

test: system $(VENV)/.installed $(VENV)/.data
	VENV=$(VENV) .ci/test all

# The plain C tests and the Python tests, without sanitizers and fuzzing.
quick: $(VENV)/.installed
	VENV=$(VENV) .ci/test plain python

bench: $(VENV)/.installed
	$(PY) bench/compile.py
	TM_TEST_DATA=$(VENV)/data $(PY) bench/vgpu.py
	$(PY) bench/checks.py
	$(PY) bench/launch.py

wheel: $(VENV)/.deps
	$(PY) -m pip wheel --no-deps --no-build-isolation -w dist .

system:
	@.ci/packages tests

$(VENV)/.deps: .ci/requirements.txt .ci/packages
	.ci/packages
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r .ci/requirements.txt
	touch $@

# Reinstalled when a C or Python source is newer than the installation.
SOURCES := $(shell find src include python -name '*.[ch]' -o -name '*.def' -o -name '*.py' -o -name 'meson.build')
$(VENV)/.installed: $(VENV)/.deps meson.build pyproject.toml $(SOURCES)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall .
	touch $@

# Libraries that Apple's compiler made, which some tests read.
$(VENV)/.data: $(VENV)/.deps .ci/test-data
	.ci/test-data $(VENV)/data
	touch $@

clean:
	rm -rf $(BUILD) build-* dist
