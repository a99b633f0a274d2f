"""What is wrong with a version's folder that has no model: what it contains, and what was expected."""

from __future__ import annotations

from pathlib import Path

from tfport.errors import UnreadableFile
from tfport.formats.find import find_model
from tfport.serve.models.store import names_a_model

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
