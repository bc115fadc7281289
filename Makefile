# `make demo` and `make test` are all the set-up there is: each makes .venv and installs into it when needed.

VENV ?= .venv
PYTHON ?= python3
# Test files at the same time. More than the cores make what is measured in them unsure.
WORKERS ?= 2
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DENO := $(BIN)/deno
export DENO_DIR := $(abspath $(VENV))/deno-cache
export DENO_NO_UPDATE_CHECK := 1
# The tests start hundreds of Python programs. Without compiled files each of these compiles our packages again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-mcp test ok format lint types deno-ok browser tests pictures soak bench harness commands clean

demo: $(STAMP)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/cortex demo; else $(BIN)/cortex demo --yes; fi

demo-mcp: $(STAMP)
	@$(BIN)/python -m examples.mcp_story

test: ok

ok: lint types deno-ok tests
	@echo ok

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Motor Cortex needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Cannot make a virtual environment: install Python's venv (on Debian: apt-get install python3-venv)"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

format: $(STAMP)
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	cd deno && $(abspath $(DENO)) fmt --quiet

lint: $(STAMP)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(STAMP)
	$(BIN)/mypy --no-error-summary

deno-ok: $(STAMP)
	cd deno && $(abspath $(DENO)) fmt --check --quiet && $(abspath $(DENO)) lint --quiet && $(abspath $(DENO)) check --quiet *.ts
	$(DENO) run --quiet --no-lock --allow-read=deno --allow-run=$(abspath $(DENO)) deno/bundle.ts --check
	cd deno && $(abspath $(DENO)) test --quiet --no-lock --allow-read=testdata

browser:
	@tests/browser.sh $(BROWSER)

# Folders import only to their left and through doors: tests/test_layers.py. It runs with all the others.
tests: $(STAMP) browser
	rm -f .coverage .coverage.*
	@tests/second_try.sh $(BIN) -m 'not soak' -n $(WORKERS) --dist loadfile --max-worker-restart 1 $(PYTEST)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	@$(if $(PYTEST),echo "a part of the tests only: coverage is not judged",$(BIN)/coverage report --include='sandbox/*' --fail-under=90 --format=total)

soak: $(STAMP) browser
	$(BIN)/python -m pytest -m soak $(PYTEST)

# Of every page of the console, light, dark and on a phone, to look at.
pictures: $(STAMP) browser
	@$(BIN)/python -m tests.cortex.console.pictures $(VENV)/pictures

bench: $(STAMP)
	@$(BIN)/python -m benchmarks $(BENCH)

harness: $(STAMP)
	$(DENO) run --quiet --no-lock -A deno/bundle.ts

commands: $(STAMP)
	$(BIN)/python docs/generate_commands.py

clean:
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
