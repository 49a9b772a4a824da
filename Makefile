# Everything that a contributor runs; `make` alone lists it. Needs Python 3.10 or later and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
INSTALLED := $(VENV)/.installed

# A folder joins the workspace by having a pyproject.toml.
PYPROJECTS := $(wildcard core/pyproject.toml plugins/*/pyproject.toml plugins/storage/*/pyproject.toml examples/*/pyproject.toml)
TYPED := $(dir $(wildcard core/src/*/__init__.py plugins/*/src/*/__init__.py plugins/storage/*/src/*/__init__.py \
		examples/*/src/*/__init__.py)) \
	$(wildcard core/tests plugins/*/tests plugins/storage/*/tests tests tools benchmarks examples/*.py examples/*/tests)

# What Python compiles is kept, even where the environment says otherwise: tests start hundreds of processes, and each
# would spend seconds on compiling what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup quickstart test test-slow lint bench docs wheels lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

setup: $(INSTALLED) ## create .venv and install the workspace in it, pinned by constraints.txt

quickstart: $(INSTALLED) ## a short tour: connect, create, list, read
	$(BIN)/python examples/quickstart.py

# Four processes on two cores, too: half of the time a test waits for a server, for Spark or for a clock.
PYTEST := $(BIN)/python -m pytest -n 4 --dist loadfile

test: $(INSTALLED) ## run the tests, in parallel, without the exhaustive sweeps
	$(PYTEST) -m "not slow"

test-slow: $(INSTALLED) ## run the exhaustive sweeps that `make test` leaves out
	$(PYTEST) -m slow

lint: $(INSTALLED) ## ruff (rules and format), mypy --strict and the walls between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/lint-imports --no-logo --cache-dir $(VENV)/import-linter

bench: $(INSTALLED) ## run the benchmarks
	$(BIN)/python -m benchmarks

docs: $(INSTALLED) ## build the documentation into site/
	$(BIN)/mkdocs build --strict

wheels: $(INSTALLED) ## build every distribution (wheel and sdist) into dist/
	rm -rf dist
	$(BIN)/python -m tools.wheels dist

lock: | $(UV) ## bring constraints.txt up to date with the newest releases
	$(BIN)/python -m tools.lock

clean: ## remove everything that make made, .venv too
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# uv, and what tools/ needs to read the pyproject files: enough for `make lock` when the pins no longer agree.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo 'lancespace needs Python 3.10 or later, but $(PYTHON) is older: make $(MAKECMDGOALS) PYTHON=/path/to/python3.10'; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv packaging tomli

$(INSTALLED): Makefile constraints.txt pyproject.toml $(PYPROJECTS) | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --constraints constraints.txt --build-constraints constraints.txt \
		--group dev $(PYPROJECTS:%/pyproject.toml=--editable %)
	@$(BIN)/python -m tools.ensure --optional java node azurite nginx
	@touch $@
