"""The files of stored plans: one folder per plan in `plans`, in the user's folder for caches.

    plans/MODEL/PLAN/plan.json, island.onnx, island.weights

A plan is written to a folder of its own and renamed when it is whole, so that other processes see all of it
or nothing. Removing one that another process uses does no harm: its weights stay mapped. Together, plans have
at most `MAX_BYTES`; those that were not used for longest are removed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

PLANS = "plans"
RECORD = "plan.json"
ISLAND = "island.onnx"
MAX_BYTES = 10 << 30
UNFINISHED = ".new-"
GIVEN_UP = 24 * 3600
"""Seconds after which the folder of a plan that was never finished is removed."""


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
