"""Take any TensorFlow model to any runtime.

    model = tfport.load("export/1")
    print(tfport.inspect(model))

Nothing here needs TensorFlow, and nothing of a model is executed to look at it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfport.callable_package import callable_package
from tfport.errors import (
    BadLibrary,
    BadRegistration,
    BuildFailed,
    CannotRun,
    Error,
    InternalError,
    MalformedGraph,
    MissingTensor,
    NotAModel,
    RunFailed,
    UnreadableFile,
)

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.check.explain.explain import Explained
    from tfport.check.inspection.inspection import Inspection
    from tfport.check.matrix.matrix import Matrix
    from tfport.check.report.report import CheckReport
    from tfport.fix.result import Fixed
    from tfport.formats.find import ModelSource
    from tfport.graph.model import Model
    from tfport.graph.signature import OpDefs
    from tfport.runtime.custom.registry import Registry, kernel, op
    from tfport.runtime.custom.stub import stub
    from tfport.runtime.native.load import load_op_library
    from tfport.runtime.session import Session

__all__ = [
    "BadLibrary", "BadRegistration", "BuildFailed", "CannotRun", "Error", "InternalError", "MalformedGraph",
    "MissingTensor", "NotAModel", "Registry", "RunFailed", "Session", "UnreadableFile", "check", "explain",
    "fix", "inspect", "kernel", "load", "load_op_library", "matrix", "op", "save", "stub",
]  # fmt: skip

REGISTRY = "tfport.runtime.custom.registry"
_LATER = {
    "Session": "tfport.runtime.session",
    "Registry": REGISTRY,
    "kernel": REGISTRY,
    "op": REGISTRY,
    "stub": "tfport.runtime.custom.stub",
    "load_op_library": "tfport.runtime.native.load",
}
"""What is imported when it is first asked for: the engine, and ops of one's own."""


def load(
    source: ModelSource, *, tags: Iterable[str] | None = None, registry: Registry | None = None
) -> Model:
    """Read a model: a path, the bytes of a GraphDef, or an open file. Its weights stay where they are.

    `tags` choose a MetaGraph of a SavedModel that has several; the one for serving is the default.
    `registry` has ops of one's own that the model may use. A model with ops that nobody has defined
    is read all the same: whoever runs it may know them.
    """
    from tfport.formats.find import find_model
    from tfport.graph.load import load_model

    return load_model(find_model(source), _definitions(registry), tags)


def inspect(model: Model | ModelSource) -> Inspection:
    """Say what is in a model: `str(…)` for people, `.to_json()` for programs."""
    from tfport.atlas.known_ops import known_ops
    from tfport.check.inspection.inspection import inspect_model
    from tfport.graph.model import Model

    return inspect_model(model if isinstance(model, Model) else load(model), known_ops())


@callable_package("tfport.check")
def check(
    model: Model | ModelSource,
    on: str | Sequence[str],
    *,
    device: str | None = None,
    gpu: str | None = None,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    soft_placement: bool | None = None,
    checksums: bool = False,
    libraries: Iterable[str] = (),
    registry: Registry | None = None,
) -> CheckReport:
    """Say whether a model loads and runs on targets, and every reason why not.

    `on` is a target such as `tensorflow==2.8.4`, or several; `device` is what hardware is there,
    `cpu` or `gpu`, and `gpu` which, as `h100` or `9.0`; `loader` one of `capi`, `serving`, `python`
    and `keras`, or several, where the target's own should not be taken; `checksums` reads the
    weights too, to see that they are whole; `libraries` are custom-op libraries that are loaded,
    TensorFlow's into a TensorFlow and tfport's into `tfport`;
    `registry` has the ops of one's own that the target `tfport` knows, where not the process-wide ones.
    """
    from tfport.atlas.target import resolve_targets
    from tfport.check.report.report import check_model
    from tfport.graph.model import Model

    registry, others = _with_libraries(registry, libraries)
    targets = resolve_targets(on, device=device, gpu=gpu, own=lambda: _own_target(registry))
    subject = model if isinstance(model, Model) else load(model, registry=registry)
    return check_model(
        subject,
        targets,
        loader=loader,
        signatures=signatures,
        soft_placement=soft_placement,
        checksums=checksums,
        libraries=others,
    )


@callable_package("tfport.fix")
def fix(
    model: Model | ModelSource,
    target: str,
    *,
    device: str | None = None,
    gpu: str | None = None,
    **options: Any,
) -> Fixed:
    """Rewrite a model until a target accepts it, and compare its answers with those of the model as it was.

    `options` are those of `tfport.fix.options.FixOptions`: `signatures`, `loaders`, `allow_lossy`, `freeze`,
    `drop_asserts`, `rules`, `inputs`, `rtol`, `atol`, `pythons`, `fetches`. Nothing is written until
    `.save(path)` of the answer; `.ok` says whether it can be, `.remaining` why not.
    """
    from tfport.atlas.target import resolve_targets
    from tfport.fix.fix import fix_model
    from tfport.fix.options import FixOptions
    from tfport.graph.model import Model

    targets = resolve_targets(target, device=device, gpu=gpu, own=lambda: _own_target(None))
    if len(targets) != 1:
        raise Error(f"{target}: {len(targets)} targets; expected one")
    subject = model if isinstance(model, Model) else load(model)
    return fix_model(subject, targets[0], FixOptions(**options))


def matrix(
    model: Model | ModelSource,
    *,
    device: str | None = None,
    loader: str | Iterable[str] | None = None,
    signatures: Iterable[str] | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Matrix:
    """Hold a model against every recorded release: `str(…)` for people, `.to_json()` for programs."""
    from tfport.check.matrix.matrix import matrix_of
    from tfport.graph.model import Model

    subject = model if isinstance(model, Model) else load(model)
    return matrix_of(subject, device=device, loader=loader, signatures=signatures, since=since, until=until)


def explain(text: str, *, on: str | None = None, model: Model | ModelSource | None = None) -> Explained:
    """Say what the error messages in a text mean: `str(…)` for people, `.to_json()` for programs."""
    from tfport.atlas.target import resolve_targets
    from tfport.check.explain.explain import explain_texts
    from tfport.graph.model import Model

    targets = resolve_targets(on) if on else []
    if len(targets) > 1:
        raise Error(f"{on}: {len(targets)} targets; expected one")
    subject = model if model is None or isinstance(model, Model) else load(model)
    return explain_texts([text], target=targets[0] if targets else None, model=subject)


def save(model: Model, path: str) -> None:
    """Write a model where nothing is yet: a SavedModel folder, or a GraphDef where it was one."""
    from tfport.graph.save import save_model

    save_model(model, path)


def _with_libraries(registry: Registry | None, libraries: Iterable[str]) -> tuple[Registry | None, list[str]]:
    """A registry that knows tfport's libraries among these, and the others."""
    paths = list(libraries)
    if not paths:
        return registry, paths
    from tfport.runtime.native.load import registry_with_unloaded

    return registry_with_unloaded(paths, registry)


def _own_target(registry: Registry | None) -> Target:
    from tfport.runtime.own_target import own_target

    return own_target(registry)


def _definitions(registry: Registry | None) -> OpDefs:
    """How ops are defined; before the process-wide registry is imported nobody has added to it."""
    if registry is None and REGISTRY not in sys.modules:
        from tfport.atlas.known_ops import known_ops

        return known_ops()
    from tfport.runtime.custom.registry import PROCESS_WIDE, definitions_with

    return definitions_with(registry or PROCESS_WIDE)


def __getattr__(name: str) -> object:
    """What is imported when it is first asked for."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
