# Everything runs in .venv, which holds exactly what requirements.lock pins.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Another interpreter: make PYTHON=python3.13 …
PYTHON ?=

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# What the caller's shell has set must not decide which packages are found or where they go.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV

.DEFAULT_GOAL := help
.PHONY: help demo test check fix conformance golden bench environment lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: environment ## run one trial and judge it, without a model
	$(BIN)/trialbox demo

test: check ## check, then run every test
	$(BIN)/python -m pytest

check: environment ## lint, formatting and types, without tests
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

fix: environment ## repair what lint and formatting can repair
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

conformance: environment ## compare with the recorded public benchmark
	$(BIN)/python -m pytest tests/conformance -q -s

golden: environment ## show what a change moves in the recorded trials, and write them anew
	$(BIN)/python -m tests.golden

bench: environment ## measure speed
	$(BIN)/python -m tests.bench

environment: ## make .venv, or repair it
	@$(BIN)/python -I .ci/environment.py 2>/dev/null || rm -f $(STAMP)
	@$(MAKE) -s $(STAMP)

# An interrupted or damaged environment may look installed to pip: where one pass does not repair it, it is made anew.
$(STAMP): pyproject.toml requirements.lock .ci/environment.py
	@set -e; \
	python=$$(PYTHON='$(PYTHON)' sh .ci/find-python); \
	install() { \
	    "$$python" -m venv $$1 $(VENV) && \
	    $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock && \
	    $(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	    $(BIN)/python -I .ci/environment.py; \
	}; \
	echo "installing into $(VENV)"; \
	install || { echo "$(VENV) is damaged; making it anew"; install --clear; }
	@touch $@

lock: ## resolve pyproject.toml into requirements.lock
	@set -e; \
	python=$$(PYTHON='$(PYTHON)' sh .ci/find-python); \
	"$$python" -m venv build/lock; \
	build/lock/bin/python -m pip install -qq 'pip-tools>=7.6,<8'; \
	CUSTOM_COMPILE_COMMAND='make lock' build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --strip-extras \
	    --extra test --build-deps-for editable --output-file requirements.lock pyproject.toml

clean: ## remove what was made, .venv too
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
