"""Check a Keras file on a target: what the `load_model` of its Keras does, and what changes silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.keras_releases import KerasRelease
from tfport.atlas.target import KERAS_KIND, Target
from tfport.check.findings.finding import LOAD, Finding
from tfport.check.findings.keras_files import (
    KerasBackendLayer,
    KerasCompileSettings,
    KerasFileFinding,
    KerasInputRank,
    KerasLambda,
    KerasLambdaPython,
    UnknownKerasArgument,
    UnknownKerasObject,
)
from tfport.check.keras.causes import explain
from tfport.check.keras.compile_settings import always_compiles, compile_problems
from tfport.check.keras.generation import is_keras_1, is_keras_3, needs_h5py_2
from tfport.check.keras.keras2 import load_with_keras_1, load_with_keras_2
from tfport.check.keras.keras3 import load_with_keras_3
from tfport.check.keras.keras3_calls import failing_calls
from tfport.check.keras.raised import Raised
from tfport.check.keras.silent_changes import silent_changes, stored_layers
from tfport.check.keras.stored_weights import weight_problems
from tfport.check.loaders import KERAS
from tfport.check.other_format import OtherFormat
from tfport.errors import Error
from tfport.formats.keras.records import KerasFile
from tfport.graph.model import Model
from tfport.startup.dataclass import replace

BACKENDS = {
    "TFSMLayer": "tensorflow",
    "JaxLayer": "jax",
    "FlaxLayer": "jax",
    "TorchModuleWrapper": "torch",
}
"""Layers that run with one backend only."""
LAYOUTS = ("h5", "keras", "json", "weights")
"""The layouts that a Keras loads; the others are loaded by TensorFlow or TensorFlow.js."""


def loads_keras_file(model: Model, target: Target, loaders: Sequence[str] | None) -> bool:
    """Whether the Keras of a target loads the model; an error if a Keras cannot be asked."""
    file = model.keras
    is_file = file is not None and file.layout in LAYOUTS
    if target.kind == KERAS_KIND:
        if not is_file:
            raise OtherFormat(
                f"{target.name} loads Keras files, and {model.where} is a {model.format.name}",
                "name a TensorFlow, such as tensorflow==2.15.1",
                KERAS,
            )
        if other := next((name for name in loaders or () if name != KERAS), None):
            raise Error(f"{target.name} has one loader, `keras`; `{other}` is one of TensorFlow")
        return True
    return is_file and target.keras is not None and (loaders is None or tuple(loaders) == (KERAS,))


def keras_target(target: Target) -> Target:
    """The target with the notes that matter for Keras files."""
    release = target.keras
    notes = list(target.keras_notes)
    if target.kind != KERAS_KIND and target.named_keras is None and release is not None:
        notes.insert(0, f"{target.name} loads Keras files with {release.name}")
    if release is not None and needs_h5py_2(release):
        notes.append(
            f"{target.name} needs h5py before 3: with h5py 3 every file fails "
            "(`'str' object has no attribute 'decode'`)"
        )
    return replace(target, notes=[*target.notes, *notes]) if notes else target


def keras_findings(file: KerasFile, target: Target) -> list[Finding]:
    """Every reason why the Keras of a target does not load a file, or answers differently."""
    release = target.keras
    assert release is not None
    return [finding.on_target(target) for finding in _findings(file, release)]


def _findings(file: KerasFile, release: KerasRelease) -> Iterator[KerasFileFinding]:
    raised = simulated_load(file, release)
    seen: set[tuple[object, ...]] = set()
    for error in raised:
        finding = error.reported()
        key = (
            finding.code,
            finding.layer,
            finding.class_name,
            finding.attr,
            getattr(finding, "object_name", ""),
        )
        if key not in seen:
            seen.add(key)
            explain(finding)
            yield finding
    for change in silent_changes(file, release):
        if not (isinstance(change, KerasInputRank) and raised):
            yield change
    if file.layout == "h5":
        yield from failing_calls(file.config, release)
    if not any(error.finding.code == KerasLambda.code for error in raised):
        for unsafe in file.unsafe:
            if unsafe.kind == "lambda":
                yield KerasLambdaPython(layer=unsafe.where)
    if not any(error.finding.stage == LOAD for error in raised):
        yield from _compile_settings(file, release)
    yield from _backend_layers(file)


def _compile_settings(file: KerasFile, release: KerasRelease) -> Iterator[KerasFileFinding]:
    """What `load_model(path)`, which compiles the model, does not accept, in one finding."""
    problems = [] if always_compiles(file, release) else compile_problems(file, release)
    if problems:
        names = dict.fromkeys(_setting(problem.finding) for problem in problems)
        first = problems[0]
        text = f"{first.error}: {first.text}" if first.text else ""
        yield KerasCompileSettings(what=", ".join(names), says_text=text)


def _setting(finding: KerasFileFinding) -> str:
    """`the loss `focal``: what the target does not know."""
    if isinstance(finding, UnknownKerasObject):
        return f"the {finding.kind} `{finding.object_name}`"
    if isinstance(finding, UnknownKerasArgument):
        return f"`{finding.argument}` of the optimizer {finding.class_name}"
    return f"`{finding.class_name}`" if finding.class_name else "its settings"


def _backend_layers(file: KerasFile) -> Iterator[KerasFileFinding]:
    """The layers that need a backend, which a target does not say."""
    for name, class_name, _ in stored_layers(file.config):
        if backend := BACKENDS.get(class_name):
            yield KerasBackendLayer(
                layer=name,
                class_name=class_name,
                op=class_name,
                backend=backend,
                doubt="it loads if that backend is in use",
            )


# What `load_model` of a Keras release does with a file: the right simulated loader for both.


def simulated_load(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors of `load_model(path, compile=False)`: first the one it raises, then further ones."""
    load = load_with_keras_2
    if is_keras_1(release) or is_keras_3(release):
        load = load_with_keras_1 if is_keras_1(release) else load_with_keras_3
    compiled = compile_problems(file, release) if always_compiles(file, release) else []
    return [*load(file, release), *weight_problems(file, release), *compiled]
