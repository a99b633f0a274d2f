"""The manifest of a job: which parts are finished, and what they were made of.

The parts of a folder belong together only if model, inputs and options are the same; a job that continues
compares them. A part counts when the manifest lists it: its file is renamed before, so that a job that is
killed in between writes this part again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.output import replace_file
from tfport.startup.dataclass import dataclass, field

NAME = "_tfport.json"
"""Readers of folders ignore files with this first character."""
VERSION = 1


@dataclass(slots=True)
class JobManifest:
    """What was done in a folder."""

    folder: Path
    job: dict[str, Any]
    """The model, the inputs and the options, each in a form that can be compared."""
    parts: list[dict[str, Any]] = field(default_factory=list)
    """For each part its file, its rows, the rows that failed, and where the next one begins: file and row."""
    complete: bool = False

    @property
    def rows(self) -> int:
        return sum(part["rows"] for part in self.parts)

    @property
    def failed(self) -> int:
        return sum(part["failed"] for part in self.parts)

    @property
    def position(self) -> tuple[int, int]:
        """The file and the row where the next part begins."""
        return tuple(self.parts[-1]["next"]) if self.parts else (0, 0)

    def add(self, file: str, rows: int, failed: int, position: tuple[int, int]) -> None:
        """List a part that is in its place."""
        self.parts.append({"file": file, "rows": rows, "failed": failed, "next": list(position)})
        self.write()

    def write(self) -> None:
        content = {"version": VERSION, **self.job, "parts": self.parts, "complete": self.complete}
        replace_file(self.folder / NAME, json.dumps(content, indent=1).encode())


def open_manifest(folder: Path, job: Mapping[str, Any]) -> JobManifest:
    """The manifest of a folder, which may have parts of this job; Error if it has those of another one."""
    described: dict[str, Any] = json.loads(json.dumps(job))
    path = folder / NAME
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        _check_empty(folder)
        return JobManifest(folder, described)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise UnreadableFile(f"{path}: not a job manifest: {error}") from None
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise UnreadableFile(f"{path}: not a job manifest, or one from another version")
    _check_same(folder, described, content)
    return JobManifest(folder, described, content["parts"], content["complete"])


def _check_empty(folder: Path) -> None:
    try:
        names = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        raise Error(f"{folder}: {reason(error)}") from None
    if names:
        raise Error(f"{folder}: has other files, such as {names[0]}; choose a new folder")


def _check_same(folder: Path, job: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    for key, value in job.items():
        if content.get(key) != value:
            what = _differing(value, content.get(key)) if key == "options" else f"the {key}"
            raise Error(
                f"{folder}: has parts of another job: {what} changed; choose a new folder, or remove this one"
            )


def _differing(ours: Mapping[str, Any], theirs: Any) -> str:
    known = theirs if isinstance(theirs, dict) else {}
    return ", ".join(name for name, value in ours.items() if value != known.get(name))
