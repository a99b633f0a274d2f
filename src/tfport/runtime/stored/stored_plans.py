"""The plans of one model that earlier sessions stored, for `Session(cache=True)`.

A plan is found by the content of the model's files, by what was asked of it, and by everything else that it
depends on: the versions of tfport and of ONNX Runtime, the processor, and the limits of the session. Stored
are plans that are one island with constant weights, as ONNX Runtime optimized it; nothing that is read from
the files is executed. Plans with host steps are made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tfport.errors import Error
from tfport.formats.files import Folder
from tfport.formats.output import replace_file
from tfport.graph.model import Model, checkpoint_files
from tfport.graph.reach import every_node
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.custom.registry import Registry
from tfport.runtime.engines.choice_cache import default_folder
from tfport.runtime.engines.engine import Engine, IslandHints
from tfport.runtime.engines.island_key import machine, processor_features
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.plan_cache import PlanKey
from tfport.runtime.stored.plan_files import ISLAND, RECORD, PlanFiles, mark_used, remove
from tfport.runtime.stored.stored_island import VERSION, IslandCopy, StoredIsland, StoredPlan, read_record

MOST_RECORD = 1 << 20
_log = logging.getLogger(__name__)


class StoredPlans:
    """The stored plans of a model on this machine."""

    def __init__(self, files: PlanFiles, model: str, engine: OnnxRuntime) -> None:
        """`model`: the hash of the model and of what its plans depend on."""
        self._files, self._model, self._engine = files, model, engine
        self.is_empty = not files.of_model(model)

    def has(self, key: PlanKey) -> bool:
        """Whether there is a plan for a key."""
        return _is_storable(key) and self._path(key).is_dir()

    def read(self, key: PlanKey) -> StoredPlan | None:
        """The plan for a key. Files that are damaged or from elsewhere are removed, which is logged."""
        if not self.has(key):
            return None
        folder = self._path(key)
        try:
            record = _record(folder)
            hints = IslandHints(alone=record.alone, work=record.work)
            island = self._engine.reopen(folder / ISLAND, record.inputs, record.outputs, hints)
        except (Error, OSError) as error:
            _log.warning("%s: a stored plan is ignored and made again: %s", folder, error)
            remove(folder)
            return None
        mark_used(folder)
        return StoredPlan(island, record)

    def begin(self, key: PlanKey) -> IslandCopy | None:
        """A copy to fill while the plan for a key is made; None if it is not to be stored."""
        folder = self._files.begin() if _is_storable(key) else None
        return None if folder is None else IslandCopy(folder)

    def finish(self, key: PlanKey, copy: IslandCopy) -> None:
        """Keep a copy that is whole."""
        if copy.record is None:
            copy.discard()
            return
        try:
            (copy.folder / RECORD).write_bytes(copy.record.to_json())  # it is visible when the folder is
        except OSError:
            copy.discard()
            return
        self._files.finish(copy.folder, self._model, _digest(_asked(key)))

    def _path(self, key: PlanKey) -> Path:
        return self._files.path(self._model, _digest(_asked(key)))


def stored_plans(
    model: Model, engine: Engine, registry: Registry, limits: RunLimits, folder: Path | None = None
) -> StoredPlans | None:
    """The stored plans of a model that was not changed since it was read; None if none can be stored.

    Only ONNX Runtime on the CPU writes plans. Those with custom ops depend on code that is not in the model,
    and those with a limit of memory are measured step by step. `folder`: in place of the user's.
    """
    folder = folder or default_folder()
    if folder is None or type(engine) is not OnnxRuntime or limits.max_bytes or _is_custom(model, registry):
        return None
    content = content_of(model, folder)
    if content is None:
        return None
    depends = [VERSION, content, model.tags, machine(), processor_features(), limits.max_loop_iterations]
    return StoredPlans(PlanFiles(folder), _digest(depends), engine)


def _is_custom(model: Model, registry: Registry) -> bool:
    """Whether a model has ops with kernels of somebody else."""
    ops = {registered.op for registered in registry.table()}
    return bool(ops) and any(node.op in ops for node in every_node(model.graph))


def _is_storable(key: PlanKey) -> bool:
    return not key.on_host and not any(value is not None for value in key.values)


def _asked(key: PlanKey) -> list[Any]:
    return [key.fetches, key.feeds, key.ranks]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _record(folder: Path) -> StoredIsland:
    with (folder / RECORD).open("rb") as file:
        record = read_record(file.read(MOST_RECORD))
    if record is None:
        raise Error(f"{RECORD} is damaged or of another version")
    for name, size in record.files.items():
        if "/" in name or (folder / name).stat().st_size != size:
            raise Error(f"{name} does not have the size that {RECORD} says")
    return record


# The hash of all files of a model: stored plans are found by it.
#
# Files with the same path, size, times and inode are not read again: their hash is in a small file of its
# own, named after these. It is only written if the files were not changed within the last seconds, because a
# change right after could leave the same times.

KNOWN = "known"


MOST_KNOWN = 1000


MOST_FILES = 2000
"""A folder with more files is not taken to be one model."""


SETTLED = 3 * 10**9
"""Nanoseconds since the last change, after which the times of a file say whether it is the same."""


EXTRA = "assets.extra"
"""The folder of a SavedModel that no graph reads."""


_BY_NAME = ("graph_def", "keras_archive", "keras_h5", "lite", "meta_graph", "tfjs")


_CHUNK = 1 << 20


_DIGEST = re.compile(r"[0-9a-f]{64}")


def content_of(model: Model, folder: Path) -> str | None:
    """The hash of a model's files; None if it was not read from files. `folder`: where hashes are kept."""
    try:
        paths = list(model_paths(model))
        if not paths or len(paths) > MOST_FILES:
            return None
        identity, changed = _identity(paths)
        known = folder / KNOWN / identity
        digest = _known(known)
        if digest is None:
            digest = _files_digest(paths)
            if time.time_ns() - changed > SETTLED:
                known.parent.mkdir(parents=True, exist_ok=True)
                replace_file(known, digest.encode())
                _forget_oldest(known.parent)
    except OSError:
        return None
    return digest


def model_paths(model: Model) -> Iterator[Path]:
    """The files of a model; none for a format whose files are not known, or a model in an archive."""
    if not isinstance(model.files, Folder):
        return
    root = Path(model.files.path)
    if model.format.key == "saved_model":
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name != EXTRA)
            yield from (Path(folder, name) for name in sorted(names))
    elif model.format.key in _BY_NAME:
        yield root / os.path.basename(model.where)
        if model.weights is not None:
            yield from (root / name for group in model.weights.groups for name in group.paths)
        if model.checkpoint_prefix is not None:
            yield from (root / name for name, _ in checkpoint_files(model.files, model.checkpoint_prefix))


def _identity(paths: Iterable[Path]) -> tuple[str, int]:
    """A hash of what the system says about files, and when the last of them was changed."""
    facts, last = [], 0
    for path in paths:
        stat = path.stat()
        real = os.path.realpath(path)
        facts.append((real, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        last = max(last, stat.st_mtime_ns, stat.st_ctime_ns)
    return hashlib.sha256(repr(facts).encode(errors="surrogateescape")).hexdigest(), last


def _known(file: Path) -> str | None:
    try:
        text = file.read_bytes()[:65].decode("ascii", "replace")
    except OSError:
        return None
    return text if _DIGEST.fullmatch(text) else None


def _files_digest(paths: Sequence[Path]) -> str:
    """A hash of the names and contents of files."""
    whole, start = hashlib.sha256(), paths[0].parent
    for path in paths:
        part = hashlib.sha256()
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                part.update(chunk)
        name = os.path.relpath(path, start)
        whole.update(name.encode(errors="surrogateescape") + b"\0" + part.digest())
    return whole.hexdigest()


def _forget_oldest(folder: Path) -> None:
    entries = list(os.scandir(folder))
    if len(entries) > MOST_KNOWN:
        for entry in sorted(entries, key=lambda e: e.stat().st_mtime_ns)[:-MOST_KNOWN]:
            with contextlib.suppress(OSError):
                os.unlink(entry)
