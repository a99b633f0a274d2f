"""Which commands print which JSON documents, and samples of them."""

import contextlib
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tfport.cli.main import main

ATTENTION, LITE, LSTM = "examples/attention", "examples/wake_word.tflite", "tests/models/keras_lstm"
TABLES, STRINGS = "tests/models/tables_in_memory", "tests/models/strings"
OLD, NEW = "tensorflow==1.13.2", "tensorflow==2.8.4"
MESSAGE = f"Op type not registered 'BatchMatMulV2' in binary running on h at {ATTENTION}"
FIXED = "{out}/fixed"
MODELS = sorted(str(path) for path in Path("tests/models").iterdir() if path.is_dir())
LITE_FILES = sorted(map(str, Path("tests/check/lite/files").glob("*.tflite")))
KERAS = [*map(str, Path("tests/fix/files").glob("*.keras")), "tests/frontends/keras/models/reviews.h5"]
RISKY = sorted(map(str, Path("tests/scan/files").iterdir()))
DOCUMENTS: dict[str, list[list[str]]] = {
    "inspect": [["inspect", model] for model in (ATTENTION, LITE, *MODELS, *LITE_FILES, *KERAS)],
    "check": [
        *(["check", model, "--on", OLD, "tensorflow==2.21.0"] for model in (ATTENTION, *MODELS)),
        *(["check", model, "--on", "ai-edge-litert==2.3.0"] for model in (LITE, *LITE_FILES)),
        *(["check", model, "--on", "keras==3.0.0", "keras==2.3.1"] for model in KERAS),
        ["check", LSTM, "--on", OLD, "--device", "gpu"],
        ["check", TABLES, "--on", "tfport"],
        ["check", ATTENTION, "--on", OLD, "--fetch", "MatMul"],
    ],
    "checks": [["check", *MODELS, LITE, "--on", OLD]],
    "matrix": [["matrix", model] for model in (ATTENTION, LITE, LSTM, TABLES, *KERAS)],
    "scan": [["scan", model] for model in (*MODELS, *RISKY, *KERAS)],
    "diff": [["diff", ATTENTION, other] for other in (ATTENTION, *MODELS)],
    "explain": [
        ["explain", MESSAGE],
        ["explain", MESSAGE, "--on", OLD],
        ["explain", MESSAGE, "--model", ATTENTION],
        ["explain", "nothing known"],
        ["explain", "undefined symbol: _ZTIN10tensorflow8OpKernelE"],
    ],
    "codes": [["explain", "--list"]],
    "op": [["ops", name] for name in ("MatMul", "HashTableV2", "CudnnRNNV2", "BatchMatMulV2", "ADD")],
    "targets": [["targets"]],
    "target": [
        ["targets", "show", target]
        for target in (OLD, NEW, "tfport", "ai-edge-litert==2.3.0", "keras==3.0.0")
    ],
    "fix": [
        ["fix", ATTENTION, "--for", OLD, "-o", FIXED],
        ["fix", STRINGS, "--for", "tensorflow==1.4.1", "-o", "{out}/refused"],
        ["fix", LSTM, "--for", "tensorflow==1.15.5", "-o", "{out}/lstm"],
        ["fix", TABLES, "--for", NEW, "-o", "{out}/same"],
    ],
    "certificate": [],
    "verify": [["fix", "--verify", FIXED + ".certificate.json"]],
    "run": [
        ["run", ATTENTION, "--input", 'words=[["river", "rises"]]'],
        ["run", "tests/models/half_plus_two", "--input", "x=[1]"],
    ],
    "lib": [["lib", str(path), "--on", NEW] for path in sorted(Path("tests/libraries").glob("*/op.so"))],
    "lib_build": [["lib", "build", "tests/native_ops/again.cc", "--flag=-DNUMBER=1", "-o", "{out}/ops.so"]],
    "export": [
        ["export", ATTENTION, "-o", "{out}/exported"],
        ["export", ATTENTION, "-o", "{out}/exported.pb"],
        ["export", ATTENTION, "-o", "{out}/exported.onnx"],
        ["export", ATTENTION, "-o", "{out}/parts", "--split"],
        ["export", ATTENTION, "-o", "{out}/exported.npz"],
        ["export", ATTENTION, "-o", "{out}/triton", "--format", "triton"],
    ],
    "bench": [["bench", ATTENTION, "--seconds", "0.1", "--batch", "1,2"]],
    "profile": [
        ["bench", ATTENTION, "--profile", "--nodes", "--engine-ops", "--seconds", "0.1"],
        ["bench", "tests/models/conditions", "--profile", "--seconds", "0.1"],
    ],
    "audit": [
        ["audit", "tests/models", "tests/scan/files", "--on", OLD, NEW, "--try-fix", "--from", OLD],
        ["audit", "examples", "--on", NEW, "--no-scan"],
    ],
    "version": [["--version"]],
    "env": [["env", "examples/environments/training.txt", "examples/environments/server.json"]],
}
"""The command lines whose documents have the same schema; certificates are files that `fix` writes."""
NAMED = """
audit.formats audit.statuses
certificate.changes.after certificate.comparisons.not_finite certificate.comparisons.outputs
certificate.input.files
certificate.made.packages certificate.narrowest certificate.output.files certificate.same_as
env.build.has env.runtime.has
explain.explanations.names
export.weights
inspect.inputs inspect.lite.associated_files inspect.lite.signatures inspect.lite.signatures.*.inputs
inspect.lite.signatures.*.outputs inspect.lite.weights
inspect.ops.addons inspect.ops.custom inspect.ops.gone
inspect.ops.loading inspect.ops.newest inspect.ops.releases inspect.ops.rest inspect.ops.saving
inspect.ops.signatures inspect.ops.signatures.* inspect.ops.total
inspect.signatures inspect.signatures.*.inputs inspect.signatures.*.outputs
lib.libraries.library.registers.kernels.constraints lib.libraries.library.registers.uncalled
lib.libraries.library.versions
op.lite.versions.since op.ops.later op.unknown
profile.profiles.islands.ops
run.outputs run.outputs.*.value=any
target.targets.lite.ops target.targets.parts.facts=any target.targets.parts.kernels
target.targets.parts.libraries
targets.packages.releases.facts=any
verify.comparison.comparisons.not_finite verify.comparison.comparisons.outputs verify.comparison.narrowest
verify.comparison.same_as
version.packages
"""
"""The places of objects whose keys are names, of a model, a file or a package."""
MAPS = frozenset(
    [*NAMED.split(), *(f"fix.{place}" for place in NAMED.split() if place.startswith("certificate"))]
)


def documents(name: str) -> list[dict[str, Any]]:
    """Samples of a document; empty if this version has no such command."""
    with tempfile.TemporaryDirectory() as out:
        if name == "verify":
            _printed(DOCUMENTS["fix"][0], out)
        if name == "certificate":
            return [fixed["certificate"] for fixed in documents("fix") if fixed["certificate"]]
        return [json.loads(text) for command in DOCUMENTS[name] if (text := _printed(command, out))]


def _printed(command: list[str], out: str) -> str:
    text, errors = io.StringIO(), io.StringIO()
    arguments = [argument.replace("{out}", out) for argument in command]
    with (
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(errors),
        warnings.catch_warnings(),
        contextlib.suppress(SystemExit),
    ):
        main([*arguments, "--json"])
    return text.getvalue() if text.getvalue().startswith("{") else ""
