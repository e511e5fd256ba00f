# Every target makes the virtual environment it needs under .venv/, from Python and pip alone, and
# makes it again only when pyproject.toml changes. Choose an interpreter with `make PYTHON=... test`.

MINIMUM := import sys; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.11 python3.12 python3.13 python
PYTHON ?= $(shell for name in $(CANDIDATES); do \
	$$name -c '$(MINIMUM)' 2>/dev/null && { echo $$name; break; }; done)

comma := ,
VENV := .venv
DEMO := $(VENV)/demo/bin/python
DEV := $(VENV)/dev/bin/python
TORCH := $(VENV)/torch/bin/python
BENCH := $(VENV)/bench/bin/python
STAMP := made-from-pyproject

# Tests run in two processes; ARGS goes to pytest: make test ARGS="-k shape -x"
WORKERS ?= 2
PYTEST = -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: help demo test test-torch check bench docs clean
.DELETE_ON_ERROR:

help:
	@echo "make demo        train a network on the digits that come with the package, and draw how"
	@echo "make test        unit tests, no torch needed (ARGS='-k name' to choose)"
	@echo "make test-torch  differential tests, torch 2.13 as the oracle (installs torch)"
	@echo "make check       ruff, mypy --strict, documents against the tree"
	@echo "make bench       whole steps beside torch and jax, which it installs (ARGS='--help')"
	@echo "make docs        regenerate docs/map.md and docs/operators.md, check links"
	@echo "make clean       remove environments, caches and build products"

# $(1): folder under .venv, $(2): extras of the package
define environment
$(VENV)/$(1)/$(STAMP): pyproject.toml
	@test -n "$$(PYTHON)" || { echo "thunk: expected Python 3.11 or newer on PATH, found none;" \
		"install one or run: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$$(PYTHON) -c '$$(MINIMUM)' || { echo "thunk: expected Python 3.11 or newer, got" \
		"$$$$($$(PYTHON) --version); run: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Making the environment $(VENV)/$(1) (once)"
	@rm -rf $(VENV)/$(1)
	@$$(PYTHON) -m venv $(VENV)/$(1)
	@$(VENV)/$(1)/bin/python -m pip install --quiet --quiet --disable-pip-version-check -e ".$(2)"
	@touch $$@
endef
$(eval $(call environment,demo,))
$(eval $(call environment,dev,[test$(comma)check]))
$(eval $(call environment,torch,[test$(comma)torch-oracle]))
$(eval $(call environment,bench,[bench]))

demo: $(VENV)/demo/$(STAMP)
	@$(DEMO) -m thunk demo

test: $(VENV)/dev/$(STAMP)
	$(DEV) $(PYTEST) tests/unit

test-torch: $(VENV)/torch/$(STAMP)
	$(TORCH) $(PYTEST) tests/torch

check: $(VENV)/dev/$(STAMP)
	$(DEV) -m ruff check .
	$(DEV) -m mypy
	$(DEV) tools/make_map.py --check
	$(DEV) tools/make_operators.py --check
	$(DEV) tools/make_stubs.py --check
	$(DEV) tools/check_links.py

bench: $(VENV)/bench/$(STAMP)
	$(BENCH) benchmarks/compare.py --all --out build/bench $(ARGS)

docs: $(VENV)/dev/$(STAMP)
	$(DEV) tools/make_map.py --write
	$(DEV) tools/make_operators.py --write
	$(DEV) tools/make_stubs.py --write
	$(DEV) tools/check_links.py

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
