# Two commands set everything up: `make demo` and `make test`. A second run needs no setup.

PYTHON ?= python3
VENV := .venv
LIVE := .venv-live
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LIVE_READY := $(LIVE)/.ready
BENCH := .venv-bench
NOX := $(VENV)-nox/bin/nox
BENCH_READY := $(BENCH)/.ready
ENGINES := .venv-engines
ENGINES_READY := $(ENGINES)/.ready
DOCS := .venv-docs
DOCS_READY := $(DOCS)/.ready
TENSORFLOW ?= 2.21.0
PIP := -m pip --disable-pip-version-check -q
WORKERS ?= 2

.PHONY: docs-refresh demo test test-everyday test-serve test-pythons test-package test-image platform-wheels nox test-live live-environment test-clients test-engines test-browser web web-test truth lint bench bench-runtime bench-real bench-keras bench-lite bench-gpu evidence-gpu \
	bench-fix bench-serve bench-serve-memory bench-serve-gpu bench-batch bench-bodies soak fuzz record record-ops scan-proof index protos real-models evidence accuracy keras-recorded atlas atlas-verify docs clean

demo: $(READY)
	@$(BIN)/python examples/demo.py

# The tests of servers run in processes of their own: a model that is unloaded has all objects of its process searched
# for garbage, and the other tests are a million objects.
test: test-everyday test-serve

test-everyday: $(READY)
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/live --ignore=tests/serve --ignore=tests/browser --ignore=tests/engines

test-serve: $(READY)
	$(BIN)/pytest -n $(WORKERS) tests/serve

# The everyday tests on every supported Python that is installed: make test-pythons PYTEST="tests/graph -q"
test-pythons: $(NOX)
	$(NOX) -s tests $(if $(PYTEST),-- $(PYTEST))

# The wheel and the source distribution, each in an empty environment.
test-package: $(NOX)
	$(NOX) -s package

# The steps of deploy/Dockerfile in a Debian root, and the server that they make; needs root and mmdebstrap.
test-image: $(READY)
	$(BIN)/python tools/image_in_chroot.py

# Which systems have wheels of everything; needs the package index.
platform-wheels: $(READY)
	$(BIN)/python tools/platform_wheels.py

# All sessions of noxfile.py.
nox: $(NOX)
	$(NOX)

live-environment: $(LIVE_READY)

test-live: $(LIVE_READY)
	$(LIVE)/bin/python -m pytest -n $(WORKERS) tests/live

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The page in a real browser: needs Chromium (apt-get install chromium), and npm for axe-core; skips what is missing.
test-browser: $(READY)
	@if command -v chromium npm > /dev/null; then $(MAKE) --no-print-directory web/node_modules; fi
	$(BIN)/pytest -n $(WORKERS) tests/browser

# The page of `tfport ui` and of the HTML reports, from TypeScript: needs Node 20. The built files are committed.
web: web/node_modules
	cd web && npm run --silent check && npm run --silent build

web-test: web/node_modules
	cd web && npm run --silent check && npm test --silent

web/node_modules: web/package-lock.json
	cd web && npm ci --silent && touch node_modules

bench: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/run.py

# Compare tfport's runtime with TensorFlow, tf2onnx with ONNX Runtime, and OpenVINO.
bench-runtime: $(BENCH_READY)
	$(BENCH)/bin/python benchmarks/runtime.py

# Models that other people published, beside TensorFlow: make bench-real MODELS="basic-pitch deepner"
# One short turn, only beside TensorFlow: make bench-real MODELS=--short
bench-real: $(BENCH_READY)
	$(BIN)/python tools/real_models.py
	$(BENCH)/bin/python benchmarks/real_generated.py
	$(BENCH)/bin/python benchmarks/real.py $(MODELS)

# Keras files with tfport, and with Keras on each backend that is installed there (TensorFlow, JAX, torch).
bench-keras: $(BENCH_READY)
	$(BENCH)/bin/python benchmarks/keras_files.py $(MODELS)

# TensorFlow Lite files beside LiteRT and OpenVINO: make bench-lite MODELS="a.tflite b.tflite --threads 2"
bench-lite: $(BENCH_READY)
	$(BENCH)/bin/python benchmarks/lite_files.py $(MODELS)

# On a machine with a GPU, in this Python: make bench-gpu MODELS="resnet50/ transformer/"
bench-gpu:
	$(PYTHON) benchmarks/gpu.py $(MODELS)

# Everything that needs a GPU, recorded in docs/evidence: make evidence-gpu MODELS="resnet50/ transformer/"
evidence-gpu:
	$(PYTHON) tools/gpu_evidence.py $(MODELS)

bench-fix: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/fix.py

# Compare tfport serve with its own session, and with a similar server around TensorFlow.
bench-serve: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/serve.py

# Score tables, beside tf.data with saved_model.load and a loop over Session: make bench-batch MODELS=text_lstm
bench-batch: $(LIVE_READY)
	$(LIVE)/bin/python $(PIP) install pyarrow
	$(LIVE)/bin/python benchmarks/batch.py $(MODELS)

# The memory of tfport serve after requests, batches and new versions, and that of a server around TensorFlow.
bench-serve-memory: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/serve_memory.py

# On a machine with a GPU, in this Python: make bench-serve-gpu MODEL=resnet50/
bench-serve-gpu:
	python3 benchmarks/serve_gpu.py $(MODEL)

# How fast bodies of JSON become arrays, beside parsers that create Python objects.
bench-bodies: $(LIVE_READY)
	$(LIVE)/bin/python benchmarks/bodies.py

# Run a server under mixed load: make soak SECONDS=60
SECONDS ?= 1800
soak: $(READY)
	$(BIN)/python tools/soak/soak.py --seconds $(SECONDS)

fuzz: $(READY)
	$(BIN)/python tools/fuzz.py

record: $(LIVE_READY)
	$(LIVE)/bin/python -m tests.live.record

record-ops: $(LIVE_READY)
	$(LIVE)/bin/python -m tests.live.record_ops

# Run ops in TensorFlow under strace, and compare with the table of what each does to files, network and processes.
scan-proof: $(LIVE_READY)
	$(LIVE)/bin/python tools/scan/op_effects.py

# Write index.json: which module declares which ops, rules, findings, commands and report formats.
index: $(READY)
	$(BIN)/python tools/make_index.py

protos: $(LIVE_READY)
	$(LIVE)/bin/python tools/protos.py
	$(PYTHON) -m venv $(VENV)-protos
	$(VENV)-protos/bin/python $(PIP) install grpcio-tools==1.62.3 setuptools
	cd src && ../$(VENV)-protos/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. tfport/formats/proto/*.proto

# Record what real releases do with the models of tests/truth: make truth RELEASES="1.13.2 2.8.4"
truth: $(READY)
	$(BIN)/python tools/truth/make_models.py
	$(BIN)/python tools/truth/record_capi.py $(RELEASES)
	$(BIN)/python tools/truth/record_python.py $(RELEASES)

real-models: $(LIVE_READY)
	$(BIN)/python tools/real_models.py
	$(LIVE)/bin/python -m tests.live.real
	$(LIVE)/bin/python tools/compare_real.py

# Run rewritten models in real old releases: make evidence CASES="lstm_text 'tfjs_*'"
evidence: $(READY) $(LIVE_READY)
	$(BIN)/python tools/truth/rewrites/run.py $(CASES)
	$(if $(CASES),,$(BIN)/python tools/truth/rewrites/every_release.py $(RELEASES))
	$(if $(CASES),,$(BIN)/python tools/truth/rewrites/stateful.py)
	$(if $(CASES),,$(BIN)/python tools/truth/rewrites/public.py)

# What docs/accuracy.md says of check, lib and run, compared with what real releases did; needs no TensorFlow.
accuracy: $(READY)
	$(BIN)/pytest -n $(WORKERS) tests/check/test_truth.py tests/check/keras tests/lib/test_lib_truth.py tests/runtime/test_accuracy.py

# Compare all recorded Keras models with the releases that saved them; the everyday suite takes a part
keras-recorded: $(READY)
	TFPORT_RECORDED=all $(BIN)/python -m pytest -q tests/frontends/keras/test_recorded.py

# Add a release to the atlas: make atlas RELEASE=2.22.0
atlas: $(READY)
	$(BIN)/python tools/atlas/collect.py $(RELEASE)
	$(BIN)/python tools/atlas/add_records.py
	$(BIN)/python tools/atlas/kernel_classes.py $(RELEASE)
	$(BIN)/python tools/refresh_docs.py

# Record two releases again and compare them with the atlas.
atlas-verify: $(READY)
	$(BIN)/python tools/atlas/verify.py 1.13.2 2.21.0

# The documentation as a site, in site/; a broken link fails it.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict

# Regenerate the command output, numbers, code pages and picture of the documentation.
docs-refresh: $(READY)
	$(BIN)/python tools/code_pages.py
	$(BIN)/python tools/refresh_docs.py
	$(BIN)/python tools/docs_picture.py

clean:
	rm -rf $(VENV) $(LIVE) $(ENGINES) $(BENCH) $(DOCS) site $(VENV)-protos $(VENV)-nox .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install --upgrade 'pip>=25.1'
	$(BIN)/python $(PIP) install -e '.[run]' --group test --group lint
	@touch $@

$(NOX): pyproject.toml
	$(PYTHON) -m venv $(VENV)-nox
	$(VENV)-nox/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(VENV)-nox/bin/python $(PIP) install --group nox
	@touch $@

$(LIVE_READY): pyproject.toml
	$(PYTHON) -m venv $(LIVE)
	$(LIVE)/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(LIVE)/bin/python $(PIP) install -e '.[run]' --group test tensorflow==$(TENSORFLOW) tensorflow-serving-api==$(TENSORFLOW) \
		geventhttpclient python-rapidjson
	$(LIVE)/bin/python $(PIP) install --no-deps tritonclient  # it requires an older protobuf than it needs
	@touch $@

# Third-party clients and frameworks with `tfport serve`: Ray Serve, schemathesis on the OpenAPI document, S3, OpenTelemetry;
# and Model Explorer, without its own adapters of 376 MB.
test-clients: $(LIVE_READY)
	$(LIVE)/bin/python $(PIP) install 'ray[serve]' schemathesis s3fs 'moto[server]' opentelemetry-sdk
	$(LIVE)/bin/python $(PIP) install --no-deps ai-edge-model-explorer==0.1.34
	$(LIVE)/bin/python $(PIP) install flask portpicker requests termcolor watchdog dacite
	$(LIVE)/bin/python -m pytest tests/live/test_ray.py tests/live/test_rest_schema.py tests/live/test_object_store.py tests/serve/monitoring/test_tracing.py tests/web/model_explorer

# Scoring in Spark, Beam, Ray and MLflow; Spark needs Java (apt-get install default-jre-headless). Audits of Google's
# and Azure's stores; Azure's server is azurite (npm install azurite).
test-engines: $(ENGINES_READY)
	$(ENGINES)/bin/python -m pytest tests/engines

$(ENGINES_READY): pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(ENGINES)/bin/python $(PIP) install -e '.[spark,beam,ray,mlflow]' --group test gcsfs gcp-storage-emulator adlfs
	@touch $@

$(DOCS_READY): pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(DOCS)/bin/python $(PIP) install --group docs
	@touch $@

# tf2onnx requires older packages than it needs.
$(BENCH_READY): pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP) install --upgrade 'pip>=25.1'
	$(BENCH)/bin/python $(PIP) install -e '.[run]' tensorflow==$(TENSORFLOW) onnx openvino requests jax ai-edge-litert
	$(BENCH)/bin/python $(PIP) install --no-deps tf2onnx
	@touch $@
