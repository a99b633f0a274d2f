# Two commands set everything up: `make demo` and `make test`. A second run starts at once.

PYTHON ?= python3
VENV := .venv
LIVE := .venv-live
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LIVE_READY := $(LIVE)/.ready
TENSORFLOW ?= 2.21.0
PIP := -m pip --disable-pip-version-check -q
WORKERS ?= 2

.PHONY: demo test test-live lint bench fuzz record protos real-models clean

demo: $(READY)
	@$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/live

test-live: $(LIVE_READY)
	$(LIVE)/bin/python -m pytest -n $(WORKERS) tests/live

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/run.py

fuzz: $(READY)
	$(BIN)/python tools/fuzz.py

record: $(LIVE_READY)
	$(LIVE)/bin/python tests/live/record.py

protos: $(LIVE_READY)
	$(LIVE)/bin/python tools/protos.py
	$(PYTHON) -m venv $(VENV)-protos
	$(VENV)-protos/bin/python $(PIP) install grpcio-tools==1.62.3 setuptools
	cd src && ../$(VENV)-protos/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. tfport/formats/proto/*.proto

real-models: $(LIVE_READY)
	$(BIN)/python tools/real_models.py
	$(LIVE)/bin/python tools/compare_real.py

clean:
	rm -rf $(VENV) $(LIVE) $(VENV)-protos .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install --upgrade 'pip>=25.1'
	$(BIN)/python $(PIP) install -e . --group test --group lint
	@touch $@

$(LIVE_READY): pyproject.toml
	$(PYTHON) -m venv $(LIVE)
	$(LIVE)/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(LIVE)/bin/python $(PIP) install -e . --group test tensorflow==$(TENSORFLOW)
	@touch $@
