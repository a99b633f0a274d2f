"""One attempt to load a version: fetch it, open a session, plan it, warm it up. Runs in a thread.

Errors become a code and a message for the version's status; `served_model` decides whether to retry.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfport.engine_names import USUAL
from tfport.errors import (
    CannotRun,
    DeadlineExceeded,
    Error,
    InternalError,
    MissingTensor,
    ResourceExhausted,
    RunStopped,
    UnreadableFile,
)
from tfport.formats.file_reader import FileReader
from tfport.formats.find import find_model
from tfport.formats.saved_model.warmup import WARMUP
from tfport.frontends.load import load_any_model
from tfport.graph.model import Signature
from tfport.graph.same_work import FedRun, same_work
from tfport.runtime.bounds.run_scope import NO_LIMITS, RunLimits, bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.select_signature import DEFAULT
from tfport.runtime.session import Session
from tfport.serve.gpus import GpuMemoryBudget
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.options import ManagerOptions
from tfport.serve.models.store import VersionStore, names_a_model, open_store
from tfport.serve.servable import RUN_CODES
from tfport.serve.session_replicas import SessionReplicas
from tfport.serve.status import StatusCode, StatusError
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.runtime.custom.stub import Stubs


Opener = Callable[[str, ModelSettings], Session]
"""Opens a session of the model in a folder."""
LITE_FILE = "model.tflite"

_CODES: list[tuple[type[BaseException], StatusCode]] = [
    (UnreadableFile, StatusCode.DATA_LOSS),
    (MissingTensor, StatusCode.NOT_FOUND),
    (InternalError, StatusCode.INTERNAL),
    *RUN_CODES.items(),
    (Error, StatusCode.INVALID_ARGUMENT),
    (MemoryError, StatusCode.RESOURCE_EXHAUSTED),
    (FileNotFoundError, StatusCode.NOT_FOUND),
    (PermissionError, StatusCode.PERMISSION_DENIED),
    (OSError, StatusCode.UNAVAILABLE),
]


@dataclass(frozen=True, slots=True)
class LoadedVersion:
    """A version that can answer requests."""

    session: Session
    copy: Path | None
    """The folder to delete when the version is unloaded, if there is one."""
    warm_up_requests: int
    warm_up_seconds: float


def session_opener(
    *,
    tags: Iterable[str] | None = None,
    threads: int | None = None,
    engine: str = USUAL,
    cache: bool = False,
    devices: Sequence[str] = ("cpu",),
    gpu: GpuOptions = NO_GPU_OPTIONS,
    budget: GpuMemoryBudget | None = None,
    registry: Registry | None = None,
    stubs: Stubs | None = None,
    limits: RunLimits = NO_LIMITS,
    parallel_calls: int = 1,
    prefer_lite: bool = False,
) -> Opener:
    """Return a function that opens models; `tags` are those of `--saved_model_tags`.

    With `prefer_lite`, `model.tflite` is opened if a version has it beside a SavedModel.
    `limits` are those of each call; the engine can only limit `parallel_calls` calls together.
    `cache`: keep plans in files, as `Session` does.
    On several `devices` there is a replica of the model on each; `budget` limits their memory.
    """
    chosen = None if tags is None else tuple(tags)

    def open_session(folder: str, settings: ModelSettings) -> Session:
        lite = os.path.join(folder, LITE_FILE)
        path = lite if prefer_lite and os.path.isfile(lite) else folder
        reader = FileReader(keeps=True, is_private=open_store(settings.base_path).is_remote)
        with reader.unchanged():
            sessions = [on_device(path, device, reader, settings.gpu_memory_bytes) for device in devices]
        return sessions[0] if len(sessions) == 1 else SessionReplicas(sessions)

    def on_device(path: str, device: str, reader: FileReader, gpu_bytes: int) -> Session:
        model = load_any_model(find_model(path, reader), definitions_with(ready(registry)), chosen)
        # the event loop and other calls need the cores: waiting threads must not spin
        chosen_engine = make_engine(
            engine,
            threads,
            spins=False,
            max_bytes=limits.max_bytes * parallel_calls,
            shares_arena=True,
            device=device,
            gpu=gpu if budget is None else budget.options_for(device, gpu, gpu_bytes),
        )
        session = Session(
            model, engine=chosen_engine, registry=registry, stubs=stubs, limits=limits, cache=cache
        )
        session.hold_variables()
        return session

    return open_session


def load_version(
    store: VersionStore,
    path: str,
    settings: ModelSettings,
    *,
    open_session: Opener,
    copy_to: Path | None,
    options: ManagerOptions,
    stop: StopSignal,
) -> LoadedVersion:
    """Load the version at a path, or raise `StatusError`; `stop` ends it, also while the model runs.

    `copy_to`: where to copy a remote version; None if the path is local.
    """
    timeout = options.load_seconds or None
    try:
        stop.check()
        folder = Path(path) if copy_to is None else store.fetch(path, copy_to)
        stop.check()
        if not folder.exists():
            raise FileNotFoundError(f"{folder}: no such file or folder")
        with bounded(stop, timeout):
            session = _opened(folder, settings, open_session)
            prepare(session, all_must_run=options.all_must_run)
            _warm_batches(session, options.batch_sizes(session.model.files))
        began = time.monotonic()
        requests = _warmed_up(session, options, stop) if options.warm_up else 0
        session.model.files.reader.check_unchanged()
        seconds = time.monotonic() - began
    except DeadlineExceeded as error:
        delete_copy(copy_to)
        message = f"initializing the model takes too long (--load_timeout_seconds): {error}"
        raise StatusError(StatusCode.DEADLINE_EXCEEDED, message) from None
    except Exception as error:
        delete_copy(copy_to)
        failure = to_status_error(error)
        message = failure.message if copy_to is None else failure.message.replace(str(copy_to), path)
        raise StatusError(failure.code, message) from None
    gc.freeze()  # models stay loaded: collecting garbage in them would slow down large requests
    return LoadedVersion(session, copy_to, requests, seconds)


def _warm_batches(session: Session, sizes: Sequence[int]) -> None:
    if sizes:
        from tfport.serve.models.batch_warmup import warm_batches  # here, as few servers have sizes

        warm_batches(session, sizes)


def _warmed_up(session: Session, options: ManagerOptions, stop: StopSignal) -> int:
    """Run the warm-up requests of a model, and count them."""
    if not session.model.files.has(WARMUP):
        return 0
    from tfport.serve.models.warmup import replay  # here, as few models have any

    return replay(session, options.warm_up_iterations, stop, options.load_seconds or None)


def _opened(folder: Path, settings: ModelSettings, open_session: Opener) -> Session:
    try:
        return open_session(str(folder), settings)
    except UnreadableFile:
        if folder.is_dir() and not has_model(folder):
            raise StatusError(StatusCode.NOT_FOUND, missing_model(folder)) from None
        raise


def to_status_error(error: Exception) -> StatusError:
    """Convert an error while loading to a status error."""
    if isinstance(error, StatusError):
        return error
    code = next((code for error_type, code in _CODES if isinstance(error, error_type)), StatusCode.INTERNAL)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        code = StatusCode.RESOURCE_EXHAUSTED
    message = str(error) if isinstance(error, Error | OSError) else f"{type(error).__name__}: {error}"
    return StatusError(code, message or type(error).__name__)


def delete_copy(copy: Path | None) -> None:
    """Delete the copy of a version, if there is one."""
    if copy is not None:
        shutil.rmtree(copy, ignore_errors=True)


# Folders of versions without a model

MOST_NAMED = 6
EXPECTED = "expected saved_model.pb or a Keras file in the folder of a version"


def has_model(folder: Path) -> bool:
    """Whether there is a model in a folder, perhaps a broken one."""
    try:
        return bool(find_model(folder))
    except UnreadableFile:
        return names_a_model(entry.name for entry in folder.iterdir())


def missing_model(folder: Path) -> str:
    """Return the message for a folder without a model."""
    entries = sorted(folder.iterdir())
    below = next((entry.name for entry in entries if entry.is_dir() and _names_a_model_in(entry)), None)
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries[:MOST_NAMED]]
    more = f" and {len(entries) - MOST_NAMED} more" if len(entries) > MOST_NAMED else ""
    advice = (
        f"the model is in {below}/: move its contents up"
        if below is not None
        else "copy everything there that the export wrote"
    )
    contents = ", ".join(names) + more if names else "an empty folder"
    return f"{folder}: {EXPECTED}, found {contents}; {advice}"


def _names_a_model_in(folder: Path) -> bool:
    try:
        return names_a_model(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return False


# Plans: a signature that cannot run is reported now, and not by each request

MOST_COMPARED = 8
"""Signatures that others are compared with."""


def prepare(session: Session, *, all_must_run: bool = True) -> None:
    """Plan the default signature and check the others; UNIMPLEMENTED if one cannot run (or none can).

    As in TensorFlow Serving, a model fails to load if it has ops without a kernel. All of them are named at
    once. With `--serve_runnable_signatures`, one signature that runs is enough.

    The plan of the default one is kept, so that the first request does not wait for it. Only that one:
    each plan has its own copy of the weights. Of signatures that compute the same, one is checked.
    """
    model, signatures = session.model, session.model.signatures
    usual = DEFAULT if DEFAULT in signatures else next(iter(signatures), "") if len(signatures) == 1 else ""
    checked: list[tuple[FedRun, str]] = []
    reason_of: dict[str, str] = {}
    for name in sorted(signatures, key=lambda name: name != usual):
        run = FedRun(model.starts_of(signatures[name]), model.ends_of(signatures[name]))
        reason = next((reason for other, reason in checked[:MOST_COMPARED] if _is_same(run, other)), None)
        if reason is None:
            reason = _why_not(session, signatures[name], keep=name == usual)
            checked.append((run, reason))
        reason_of[name] = reason
    reasons = {name: reason_of[name] for name in signatures if reason_of[name]}
    if reasons and (all_must_run or len(reasons) == len(signatures)):
        raise StatusError(StatusCode.UNIMPLEMENTED, _message(reasons, len(signatures)))


def _is_same(run: FedRun, other: FedRun) -> bool:
    try:
        return same_work(run, other)
    except Error:  # an attribute that cannot be decoded
        return False


def _why_not(session: Session, signature: Signature, *, keep: bool) -> str:
    """Return why a signature can never run; empty if it can, or if that depends on the request."""
    feeds = [tensor for spec in signature.inputs.values() for tensor in spec.tensors]
    fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
    try:
        ranks_known = all(session.model.graph.value(feed).shape.dims is not None for feed in feeds)
        if keep and ranks_known:
            session.prepare(signature.name)
        else:
            session.program(fetches, feeds)
    except CannotRun as error:
        missing = any(not _runs_at_all(op, session.registry) for op in error.ops)
        return str(error) if missing or ranks_known else ""
    except (RunStopped, ResourceExhausted):  # such as weights that do not fit into the memory of a GPU
        raise
    except Error:
        pass  # it fails when it is called
    return ""


def _runs_at_all(op: str, registry: OpImplementations) -> bool:
    """Return whether an op has an implementation, for whichever types and ranks."""
    ways = registry.kernels_of(op), registry.lowerings_of(op), registry.structure_of(op)
    return any(ways)


def _message(reasons: dict[str, str], count: int) -> str:
    """Return all reasons, each once, with the signatures it concerns."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    text = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
    if len(reasons) == count:
        return f"no signature can run: {text}"
    return (
        f"{len(reasons)} of {count} signatures cannot run "
        f"(--serve_runnable_signatures serves the others): {text}"
    )
