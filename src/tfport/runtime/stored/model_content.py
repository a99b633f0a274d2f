"""The hash of all files of a model: stored plans are found by it.

Files with the same path, size, times and inode are not read again: their hash is in a small file of its own,
named after these. It is only written if the files were not changed within the last seconds, because a change
right after could leave the same times.
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
