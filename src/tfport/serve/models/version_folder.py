"""What is wrong with a version's folder that has no model: what it contains, and what was expected."""

from __future__ import annotations

from pathlib import Path

from tfport.errors import UnreadableFile
from tfport.formats.find import find_model
from tfport.serve.models.store import MODELS

MOST_NAMED = 6


def has_model(folder: Path) -> bool:
    """Whether there is a model in a folder, perhaps a broken one."""
    try:
        return bool(find_model(folder))
    except UnreadableFile:
        return any((folder / name).exists() for name in MODELS)


def missing_model(folder: Path) -> str:
    """Return the message for a folder without a model."""
    entries = sorted(folder.iterdir())
    below = next((entry.name for entry in entries if any((entry / name).is_file() for name in MODELS)), None)
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries[:MOST_NAMED]]
    more = f" and {len(entries) - MOST_NAMED} more" if len(entries) > MOST_NAMED else ""
    advice = (
        f"the model is in {below}/: move its contents up"
        if below is not None
        else "copy everything there that the export wrote"
    )
    contents = ", ".join(names) + more if names else "an empty folder"
    return f"{folder}: expected saved_model.pb in the folder of a version, found {contents}; {advice}"
