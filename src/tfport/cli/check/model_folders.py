"""Find the models at a path: the model itself, or all models below a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.files import Folder
from tfport.formats.format import ModelLocation
from tfport.formats.recognize import folder_models

MOST_FOLDERS = 100_000
PLACE = re.compile(r"(?:, byte \d+)?: ")


def models_at(path: str) -> list[str] | None:
    """The paths of all models below a folder; None if the path itself is a model."""
    if not os.path.isdir(path):
        return None
    try:
        models, errors = folder_models(Folder(path))
        if len(models) == 1 and not errors:
            return None
    except Error:
        return None  # a broken model; loading it reports the error
    return list(dict.fromkeys(_below(path))) or None


def _below(path: str) -> Iterator[str]:
    seen = set[tuple[int, int]]()
    folders = [top for top in [Folder(path)] if _is_new(top, seen)]
    for folder in folders:  # the list grows during the loop
        try:
            models, errors = folder_models(folder)
            subfolders = [] if any(model.is_folder for model in models) else folder.list()[1]
        except Error:  # loading it reports the error
            yield folder.where
            continue
        yield from (model.where for model in models if _has_graph(model))
        yield from map(_place_of, errors)
        below = [folder.under(name) for name in subfolders if not name.startswith(".")]
        folders += [subfolder for subfolder in below if _is_new(subfolder, seen)]
        if len(folders) > MOST_FOLDERS:
            raise Error(
                f"{path}: more than {MOST_FOLDERS:,} folders below it; name a folder closer to the models"
            )


def _place_of(error: Error) -> str:
    """The damaged file: its error begins with its path, and loading it reports the error."""
    return PLACE.split(str(error))[0]


def _has_graph(model: ModelLocation) -> bool:
    """Checkpoints next to models are not models themselves: they have no graph to run."""
    return model.format is not CHECKPOINT


def _is_new(folder: Folder, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder was not visited before; symbolic links can form cycles."""
    try:
        status = os.stat(folder.path)
    except OSError:
        return True
    key = status.st_dev, status.st_ino
    is_new = key not in seen
    seen.add(key)
    return is_new
