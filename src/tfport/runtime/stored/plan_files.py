"""The files of stored plans: one folder per plan in `plans`, in the user's folder for caches.

    plans/MODEL/PLAN/plan.json, island.onnx, island.weights

A plan is written to a folder of its own and renamed when it is whole, so that other processes see all of it
or nothing. Removing one that another process uses does no harm: its weights stay mapped. Together, plans have
at most `MAX_BYTES`; those that were not used for longest are removed.

MODEL is the hash of all files of the model. Files with the same path, size, times and inode are not read
again: their hash is in a small file of its own, named after these. It is only written if the files were not
changed within the last seconds, because a change right after could leave the same times.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tfport.formats.files import Folder
from tfport.formats.output import replace_file
from tfport.graph.model import Model, checkpoint_files

PLANS = "plans"
RECORD = "plan.json"
ISLAND = "island.onnx"
MAX_BYTES = 10 << 30
UNFINISHED = ".new-"
GIVEN_UP = 24 * 3600
"""Seconds after which the folder of a plan that was never finished is removed."""
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


class PlanFiles:
    """The plans in one folder."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self.folder, self.max_bytes = folder / PLANS, max_bytes

    def of_model(self, model: str) -> list[Path]:
        """The folders of the plans of a model."""
        return list(_folders(self.folder / model))

    def path(self, model: str, plan: str) -> Path:
        return self.folder / model / plan

    def begin(self) -> Path | None:
        """A new folder to write a plan to; None if nothing can be written."""
        import tempfile  # imported here, as few sessions store plans

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=self.folder, prefix=UNFINISHED))
        except OSError:
            return None

    def finish(self, written: Path, model: str, plan: str) -> None:
        """Make a plan that is whole visible, and remove others if there are too many."""
        size = _size(written)
        if size > self.max_bytes:
            remove(written)
            return
        self._trim(self.max_bytes - size)
        target = self.path(model, plan)
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            written.rename(target)
        except OSError:  # another process was first, or the disk is full
            remove(written)

    def _trim(self, most: int) -> None:
        """Remove the plans that were not used for longest, and what was never finished."""
        plans: list[tuple[float, int, Path]] = []
        for model in _folders(self.folder):
            if model.name.startswith(UNFINISHED):
                if time.time() - _used(model) > GIVEN_UP:
                    remove(model)
            else:
                plans += [(_used(plan / RECORD), _size(plan), plan) for plan in _folders(model)]
        total = sum(size for _, size, _ in plans)
        for _, size, plan in sorted(plans):
            if total <= most:
                break
            remove(plan)
            total -= size


def mark_used(plan: Path) -> None:
    """Note that a plan is used now."""
    with contextlib.suppress(OSError):
        os.utime(plan / RECORD)


def remove(folder: Path) -> None:
    """Remove a plan; other processes see all of it or nothing."""
    import shutil  # imported here, as few sessions remove any

    aside = folder
    if not folder.name.startswith(UNFINISHED):
        aside = folder.parent.parent / f"{UNFINISHED}{folder.name}-{os.getpid()}"
        try:
            folder.rename(aside)
        except OSError:  # another process was first
            return
    shutil.rmtree(aside, ignore_errors=True)


def _folders(folder: Path) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    yield from (Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False))


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(entry.stat().st_size for entry in os.scandir(folder))
    return 0


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


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
            digest = _digest(paths)
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


def _digest(paths: Sequence[Path]) -> str:
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
