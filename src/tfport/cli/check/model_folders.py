"""Which models are meant by a path: the one that is there, or all that are below a folder of many."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.files import Folder
from tfport.formats.format import ModelLocation
from tfport.formats.recognize import models_in

MOST_FOLDERS = 100_000


def models_at(path: str) -> list[str] | None:
    """The paths of all models below a folder that is none itself; None where the path is the model."""
    if not os.path.isdir(path):
        return None
    try:
        if len(models_in(Folder(path))) == 1:
            return None
    except Error:
        return None  # a broken model: reading it says what is wrong
    return list(dict.fromkeys(_below(path))) or None


def _below(path: str) -> Iterator[str]:
    seen = set[tuple[int, int]]()
    folders = [top for top in [Folder(path)] if _is_new(top, seen)]
    for folder in folders:  # grows as it goes
        try:
            found = models_in(folder)
            inside = [] if any(model.is_folder for model in found) else folder.list()[1]
        except Error:  # told by the one who reads it
            yield folder.where
            continue
        yield from (model.where for model in found if _has_graph(model))
        below = [folder.under(name) for name in inside if not name.startswith(".")]
        folders += [one for one in below if _is_new(one, seen)]
        if len(folders) > MOST_FOLDERS:
            raise Error(
                f"{path}: more than {MOST_FOLDERS:,} folders below it; give one that is nearer the models"
            )


def _has_graph(found: ModelLocation) -> bool:
    """Checkpoints beside models are no models of their own: there is nothing in them to run."""
    return found.format is not CHECKPOINT


def _is_new(folder: Folder, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder was not met on another way; links can lead in circles."""
    try:
        found = os.stat(folder.path)
    except OSError:
        return True
    key = found.st_dev, found.st_ino
    is_new = key not in seen
    seen.add(key)
    return is_new
