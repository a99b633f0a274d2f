"""Take any TensorFlow model to any runtime.

    model = tfport.load("export/1")
    print(tfport.inspect(model))

None of this needs TensorFlow. Reading, inspecting and checking a model executes nothing in it.
Modules are imported when a function or class first needs them, so `import tfport` is fast.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import (
    BadLibrary,
    BadRegistration,
    BuildFailed,
    CannotRun,
    DeadlineExceeded,
    Error,
    InternalError,
    MalformedGraph,
    MissingPackage,
    MissingTensor,
    NotAModel,
    ResourceExhausted,
    RunCancelled,
    RunFailed,
    RunStopped,
    UnreadableFile,
)
from tfport.extras import require
from tfport.startup.callable_package import callable_package

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.batch.scorer import BatchScorer
    from tfport.check.check_report import CheckReport
    from tfport.explain.explain import Explained
    from tfport.fix.result import Fixed
    from tfport.fix.verify_certificate import CertificateCheck
    from tfport.formats.find import ModelSource
    from tfport.frontends.keras.custom import layer, layer_of
    from tfport.graph.model import Model
    from tfport.graph.op_signature import OpDefs
    from tfport.inspection.inspection import Inspection
    from tfport.inspection.model_difference import ModelDifference
    from tfport.matrix.matrix import Matrix
    from tfport.runtime.bounds.run_scope import RunLimits
    from tfport.runtime.bounds.stop_signal import StopSignal
    from tfport.runtime.custom.registry import Registry, kernel, op
    from tfport.runtime.custom.stub import stub
    from tfport.runtime.engines.gpu.device_array import DeviceArray
    from tfport.runtime.engines.gpu.gpu_options import GpuOptions
    from tfport.runtime.native.load import load_op_library
    from tfport.runtime.session import Session
    from tfport.scan.scan import ScanReport

__all__ = [
    "BadLibrary", "BadRegistration", "BuildFailed", "CannotRun", "DeadlineExceeded", "DeviceArray",
    "Error", "GpuOptions", "InternalError", "MalformedGraph", "MissingPackage", "MissingTensor", "NotAModel",
    "Registry", "ResourceExhausted", "RunCancelled", "RunFailed", "RunLimits", "RunStopped", "Session",
    "StopSignal", "UnreadableFile", "batch", "check", "diff", "explain", "fix", "inspect", "kernel",
    "layer", "layer_of", "load", "load_op_library", "matrix", "op", "run", "save", "scan", "stub",
    "verify_certificate",
]  # fmt: skip

REGISTRY = "tfport.runtime.custom.registry"
_LAZY = {
    "Session": "tfport.runtime.session",
    "RunLimits": "tfport.runtime.bounds.run_scope",
    "StopSignal": "tfport.runtime.bounds.stop_signal",
    "DeviceArray": "tfport.runtime.engines.gpu.device_array",
    "GpuOptions": "tfport.runtime.engines.gpu.gpu_options",
    "layer": "tfport.frontends.keras.custom",
    "layer_of": "tfport.frontends.keras.custom",
    "Registry": REGISTRY,
    "kernel": REGISTRY,
    "op": REGISTRY,
    "stub": "tfport.runtime.custom.stub",
    "load_op_library": "tfport.runtime.native.load",
}
"""Public names that are imported on first use, with their modules."""


def load(
    source: ModelSource,
    *,
    tags: Iterable[str] | None = None,
    registry: Registry | None = None,
    weights: ModelSource | None = None,
) -> Model:
    """Read a model. Weights are not read until they are needed.

    A model with unknown ops can be read too.

    Args:
        source: A path, the bytes of a GraphDef, or an open file.
        tags: The tags of the MetaGraph to use, if a SavedModel has several (default: serve, or the first).
        registry: Custom ops that the model may use (default: those of the process).
        weights: A Keras architecture's weights, if they are elsewhere: a Keras file, a SavedModel, or
            the prefix of a checkpoint that `model.save_weights` wrote.
    """
    from tfport.formats.file_reader import FileReader
    from tfport.formats.find import find_model
    from tfport.frontends.load import load_any_model, load_with_weights

    if weights is not None:
        reader = FileReader()
        architecture, values = find_model(source, reader), find_model(weights, reader)
        return load_with_weights(architecture, values, _definitions(registry))
    return load_any_model(find_model(source), _definitions(registry), tags)


def inspect(
    model: Model | ModelSource, *, fetches: Sequence[str] = (), feeds: Sequence[str] = ()
) -> Inspection:
    """Describe what a model contains. The result has `str(…)` and `.to_json()`.

    Args:
        model: A model, or what `load` accepts.
        fetches: The outputs to describe, such as `logits:0` (default for a graph without signatures:
            a guess).
        feeds: Tensors that are fed in addition to the placeholders; the nodes that compute them are
            not needed.
    """
    from tfport.atlas.known_ops import known_ops
    from tfport.graph.model import Model
    from tfport.inspection.inspection import inspect_model

    subject = model if isinstance(model, Model) else load(model)
    return inspect_model(subject, known_ops(), fetches, feeds)


def diff(a: Model | ModelSource, b: Model | ModelSource) -> ModelDifference:
    """Compare two models. The result has `.is_equal`, `str(…)` and `.to_json()`.

    Graphs are compared by structure, so nodes and functions may have other names; weights by value.

    Args:
        a: A model, or what `load` accepts.
        b: The model to compare it with; the formats may differ.
    """
    from tfport.atlas.known_ops import known_ops
    from tfport.graph.model import Model
    from tfport.inspection.model_difference import compare_models

    first, second = (model if isinstance(model, Model) else load(model) for model in (a, b))
    return compare_models(first, second, known_ops())


@callable_package("tfport.check")
def check(
    model: Model | ModelSource,
    on: str | Sequence[str],
    *,
    device: str | None = None,
    gpu: str | None = None,
    delegate: str | None = None,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    soft_placement: bool | None = None,
    checksums: bool = False,
    custom: Sequence[str] = (),
    libraries: Iterable[str] = (),
    registry: Registry | None = None,
) -> CheckReport:
    """Check whether a model loads and runs on targets, and report every reason why not.

    Args:
        model: A model, or what `load` accepts.
        on: One or more targets, such as `tensorflow==2.8.4`.
        device: The device available on the target: `cpu` or `gpu`.
        gpu: The GPU model or its compute capability, such as `h100` or `9.0`.
        delegate: The TensorFlow Lite delegate: `xnnpack`, `flex` or `none` (default: those that the
            interpreter applies itself).
        loader: One or more loaders to simulate: `capi`, `serving`, `python`, `keras`
            (default: the usual one for the target).
        signatures: The signatures that must run (default: all).
        fetches: The outputs that must run instead, such as `logits:0` (default for a graph without
            signatures: a guess).
        feeds: Tensors that are fed in addition to the placeholders; the nodes that compute them are
            not needed.
        soft_placement: Whether a node may run on a device other than the one it requests.
        checksums: Also verify the checksums of the weights.
        custom: Classes and functions that your program registers with Keras: `NAME`, or `NAME=FILE.py`,
            which is read and never executed.
        libraries: Custom-op libraries for TensorFlow or for tfport. tfport reads them but never loads them.
        registry: The custom ops of the target `tfport` (default: those of the process).
    """
    from tfport.atlas.resolve.targets import resolve_targets
    from tfport.check.check_report import check_model
    from tfport.graph.model import Model
    from tfport.lib.with_libraries import with_libraries

    registry, tensorflow_libraries = _with_libraries(registry, libraries)
    targets = resolve_targets(
        on, device=device, gpu=gpu, delegate=delegate, own=lambda: _own_target(registry)
    )
    subject = model if isinstance(model, Model) else load(model, registry=registry)
    return check_model(
        subject,
        with_libraries(targets, tensorflow_libraries),
        loader=loader,
        signatures=signatures,
        fetches=fetches,
        feeds=feeds,
        soft_placement=soft_placement,
        checksums=checksums,
        custom=custom,
    )


@callable_package("tfport.fix")
def fix(
    model: Model | ModelSource,
    target: str | None = None,
    *,
    on: str | None = None,
    device: str | None = None,
    gpu: str | None = None,
    libraries: Sequence[str] = (),
    output: str | os.PathLike[str] = "",
    **options: Any,
) -> Fixed:
    """Rewrite a model until a target accepts it, and compare its outputs with the original's.

    The result has `.ok`, `.remaining` (why not) and `.certificate`. Nothing is written before `.save(path)`.

    Args:
        model: A model, or what `load` accepts.
        target: The target that must run the model, such as `tensorflow==1.15.5`.
        on: The same as `target`, named as in `check`.
        device: The device available on the target: `cpu` or `gpu`.
        gpu: The GPU model or its compute capability, such as `h100` or `9.0`.
        libraries: Custom-op libraries for TensorFlow that the target loads. tfport reads them but
            never loads them.
        output: The path for `.save`; its suffix decides whether a Keras or TensorFlow Lite file stays one
            or becomes a SavedModel. By default, it stays one if the target runs only such files.
        **options: The fields of `tfport.fix.options.FixOptions`: `signatures`, `loaders`, `allow_lossy`,
            `freeze`, `drop_asserts`, `as_graph`, `rules`, `inputs`, `rtol`, `atol`, `pythons`, `prove`,
            `runs`, `fetches`, `feeds`.
    """
    require("run", "tfport.fix")
    from tfport.atlas.resolve.targets import resolve_targets
    from tfport.fix.fix_to import fix_to
    from tfport.fix.options import FixOptions
    from tfport.graph.model import Model
    from tfport.lib.with_libraries import with_libraries

    wanted = target or on
    if not wanted or (target and on):
        raise Error("expected one target: tfport.fix(model, on=…) or tfport.fix(model, target=…)")
    targets = resolve_targets(wanted, device=device, gpu=gpu, own=lambda: _own_target(None))
    subject = model if isinstance(model, Model) else load(model)
    (chosen,) = with_libraries([_single(targets, wanted)], libraries)
    return fix_to(subject, chosen, os.fspath(output), FixOptions(**options))


def verify_certificate(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    prove: bool = False,
    pythons: Sequence[str] = (),
    runs: int | None = None,
) -> CertificateCheck:
    """Repeat the comparison in a certificate from `fix`: same models, same inputs, same tolerances.

    The result has `.ok`, `.verdict` (`verified`, `changed`, `differs` or `not compared`), `.statement`,
    `.notes`, `str(…)` and `.to_json()`.

    Args:
        path: The certificate, `OUT.certificate.json`.
        model: The original (default: the path in the certificate).
        output: The rewritten model (default: the path in the certificate, or next to it).
        weights: The original's weights, if they were saved separately (default: the path in the certificate).
        inputs: The user's inputs, if the certificate has any: arrays by name for each call.
        prove: Whether to run the target itself again.
        pythons: Python interpreters that have the target installed.
        runs: How often to run the target.
    """
    require("run", "tfport.verify_certificate")
    from tfport.fix.verify_certificate import verify_certificate

    return verify_certificate(
        path,
        model=model,
        output=output,
        weights=weights,
        inputs=inputs,
        prove=prove,
        pythons=pythons,
        runs=runs,
    )


@callable_package("tfport.scan")
def scan(model: Model | ModelSource, *, tags: Iterable[str] | None = None) -> ScanReport:
    """Find what a model could do to the machine that loads it. Nothing in it is run.

    The result has `.risks` (the worst first), `.severity`, `str(…)` and `.to_json()`. For a path,
    tfport examines all files in the folder or archive, even if it is not a model.

    Args:
        model: A model, or what `load` accepts.
        tags: The tags of a SavedModel's MetaGraph, if it has several (default: scan all of them).
    """
    from tfport.graph.model import Model
    from tfport.scan.scan import scan_model, scan_path

    if isinstance(model, str | os.PathLike):
        return scan_path(os.fspath(model), _definitions(None), tags)
    return scan_model(model if isinstance(model, Model) else load(model, tags=tags))


@callable_package("tfport.matrix")
def matrix(
    model: Model | ModelSource,
    *,
    device: str | None = None,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    fetches: Sequence[str] = (),
    feeds: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    libraries: Sequence[str] = (),
) -> Matrix:
    """Check a model against every recorded release. The result has `str(…)` and `.to_json()`.

    Args:
        model: A model, or what `load` accepts.
        device: `cpu` or `gpu` (default: both).
        loader: One or more loaders to simulate (default: the usual ones).
        signatures: The signatures that must run (default: all).
        fetches: The outputs that must run instead, as for `check`.
        feeds: Tensors that are fed in addition to the placeholders.
        since: The oldest release to check, such as `1.15`.
        until: The newest release to check; `2.8` includes all of its patch releases.
        libraries: Custom-op libraries for TensorFlow. tfport reads them but never loads them.
    """
    from tfport.graph.model import Model
    from tfport.matrix.matrix import matrix_of

    subject = model if isinstance(model, Model) else load(model)
    return matrix_of(
        subject,
        device=device,
        loader=loader,
        signatures=signatures,
        fetches=fetches,
        feeds=feeds,
        since=since,
        until=until,
        libraries=libraries,
    )


@callable_package("tfport.explain")
def explain(text: str, *, on: str | None = None, model: Model | ModelSource | None = None) -> Explained:
    """Explain the error messages in a text. The result has `str(…)` and `.to_json()`.

    Args:
        text: An error message or a log.
        on: The target to explain it for, such as `tensorflow==2.8.4`.
        model: A model whose nodes the messages may concern, or what `load` accepts.
    """
    from tfport.atlas.resolve.targets import resolve_targets
    from tfport.explain.explain import explain_texts
    from tfport.graph.model import Model

    target = _single(resolve_targets(on), on) if on else None
    subject = model if model is None or isinstance(model, Model) else load(model)
    return explain_texts([text], target=target, model=subject)


def run(model: Model | ModelSource, /, *values: Any, **inputs: Any) -> dict[str, Any]:
    """Run a model once: its signature `serving_default`, or its only one. Returns arrays by name.

    For several calls, create a `Session` once: reading and preparing a model takes longer than a call.

    Args:
        model: A model, or what `load` accepts.
        values: The inputs, in the model's order.
        **inputs: The inputs by name.
    """
    require("run", "tfport.run")
    from tfport.runtime.composite import signature_call
    from tfport.runtime.select_signature import select_signature
    from tfport.runtime.session import Session

    session = Session(model)
    outputs: dict[str, Any] = signature_call(select_signature(session.model), session.run)(*values, **inputs)
    return outputs


@callable_package("tfport.batch")
def batch(
    model: Model | ModelSource,
    signature: str | None = None,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    outputs: str | Sequence[str] = (),
    keep: Sequence[str] | None = None,
    on_error: str = "fail",
    constants: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    **options: Any,
) -> BatchScorer:
    """Make a function that scores Arrow record batches.

    It returns record batches with the kept columns and a column per output.

    Needs `tfport[batch]`.

    Args:
        model: A model, or what `load` accepts.
        signature: The signature to run (default: serving_default, or the only one).
        columns: The column for each input whose name differs; several scalar columns make a vector.
        outputs: The outputs to compute (default: all).
        keep: The columns to copy to the results (default: those that the model does not read).
        on_error: What to do with a row that fails: `fail` raises an error with its number, `null`
            leaves its outputs null, `collect` also gives the reason in a column `error`.
        constants: Inputs that have the same value in every call, such as `{"keep_prob": 1.0}`.
        registry: Custom ops that the model may use (default: those of the process).
        **options: Other fields of `tfport.batch.scoring_options.ScoringOptions`: `binary`, `batch_rows`,
            `max_bytes`, `threads`, `engine`, `device`, `cache`.
    """
    require("batch", "tfport.batch")
    from tfport.batch.scorer import BatchScorer
    from tfport.batch.scoring_options import scoring_options

    asked = scoring_options(
        signature=signature, columns=columns, outputs=outputs, keep=keep, on_error=on_error, **options
    )
    return BatchScorer(model, asked, registry=registry, constants=constants or {})


def save(model: Model, path: str) -> None:
    """Write a model to a new path, in its own format: a SavedModel folder or a GraphDef file."""
    from tfport.graph.save import save_model

    save_model(model, path)


def _with_libraries(registry: Registry | None, libraries: Iterable[str]) -> tuple[Registry | None, list[str]]:
    """A registry with the libraries for tfport, and the paths of those for TensorFlow."""
    paths = list(libraries)
    if not paths:
        return registry, paths
    from tfport.runtime.native.load import registry_with_unloaded

    return registry_with_unloaded(paths, registry)


def _single(targets: Sequence[Target], text: str) -> Target:
    if len(targets) != 1:
        raise Error(f"{text}: expected one target, found {len(targets)}")
    return targets[0]


def _own_target(registry: Registry | None) -> Target:
    from tfport.runtime.own_target import own_target

    return own_target(registry)


def _definitions(registry: Registry | None) -> OpDefs:
    """The definitions of ops; the registry of the process is empty until it is imported."""
    if registry is None and REGISTRY not in sys.modules:
        from tfport.atlas.known_ops import known_ops

        return known_ops()
    from tfport.runtime.custom.registry import PROCESS_WIDE, definitions_with

    return definitions_with(registry or PROCESS_WIDE)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name in _LAZY:
        if name == "Session":
            require("run", "tfport.Session")
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
