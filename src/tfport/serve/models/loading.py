"""One attempt to load a version: fetch it, open a session, warm it up. Runs in a thread.

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

from tfport.errors import DeadlineExceeded, Error, InternalError, MissingTensor, UnreadableFile
from tfport.formats.find import find_model
from tfport.formats.saved_model.warmup import WARMUP
from tfport.frontends.load import load_any_model
from tfport.runtime.bounds.run_scope import NO_LIMITS, RunLimits, bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.session import Session
from tfport.serve.gpus import GpuMemoryBudget
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.options import ManagerOptions
from tfport.serve.models.prepare import prepare
from tfport.serve.models.store import VersionStore, names_a_model
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
    """The folder to delete when the version is unloaded, if a copy was made."""
    warm_up_requests: int
    warm_up_seconds: float


def session_opener(
    *,
    tags: Iterable[str] | None = None,
    threads: int | None = None,
    engine: str = "onnxruntime",
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
        sessions = [on_device(path, device) for device in devices]
        return sessions[0] if len(sessions) == 1 else SessionReplicas(sessions)

    def on_device(path: str, device: str) -> Session:
        model = load_any_model(find_model(path), definitions_with(ready(registry)), chosen)
        # the event loop and other calls need the cores: waiting threads must not spin
        chosen_engine = make_engine(
            engine,
            threads,
            spins=False,
            max_bytes=limits.max_bytes * parallel_calls,
            shares_arena=True,
            device=device,
            gpu=gpu if budget is None else budget.options_for(device, gpu),
        )
        return Session(
            model, engine=chosen_engine, registry=registry, stubs=stubs, limits=limits, cache=cache
        )

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
    code = next((code for kind, code in _CODES if isinstance(error, kind)), StatusCode.INTERNAL)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        code = StatusCode.RESOURCE_EXHAUSTED
    message = str(error) if isinstance(error, Error | OSError) else f"{type(error).__name__}: {error}"
    return StatusError(code, message or type(error).__name__)


def delete_copy(copy: Path | None) -> None:
    """Delete the copy of a version, if there is one."""
    if copy is not None:
        shutil.rmtree(copy, ignore_errors=True)


# What is wrong with a version's folder that has no model: what it contains, and what was expected.

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
