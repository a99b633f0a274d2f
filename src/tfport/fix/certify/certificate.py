"""The certificate of a rewritten model: the applied rules, the inputs tried, and the differences.

`str(…)` for people, `.to_json()` for programs, `.page()` for a browser. It states only what was
observed, with the digests of both models, so that the comparison can be repeated.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfport.check.console import plain
from tfport.errors import UnreadableFile
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.version import own_version
from tfport.formats.files import reason

EXACT, ROUNDING, LOSSY = "exact", "rounding", "lossy"
CHUNK = 1 << 24


@dataclass(frozen=True, slots=True)
class Applied:
    """An applied rule, and its promise."""

    name: str
    keeps: str
    count: int
    nodes: Sequence[str]
    """Examples of the nodes that it changed."""
    doc: str
    """What it does, in a sentence."""


@dataclass(slots=True)
class Certificate:
    """The rules applied to a model, and the verification of the result."""

    source: str
    source_digest: str
    output: str
    output_digest: str
    target: str
    verification: Verification
    rules: list[Applied] = field(default_factory=list)
    tfport: str = field(default_factory=own_version)

    def __post_init__(self) -> None:
        self.rules = [rule if isinstance(rule, Applied) else Applied(*rule) for rule in self.rules]

    @property
    def verdict(self) -> str:
        return self.verification.verdict

    @property
    def keeps(self) -> str:
        """The weakest promise of the applied rules."""
        order = (EXACT, ROUNDING, LOSSY)
        return max((rule.keeps for rule in self.rules), key=order.index, default=EXACT)

    def to_json(self) -> dict[str, Any]:
        from tfport.fix.certify.json import certificate_json

        return certificate_json(self)

    def page(self) -> str:
        """The certificate as one self-contained HTML page."""
        from tfport.fix.certify.html import page

        return page(self)

    def __str__(self) -> str:
        from tfport.fix.certify.text import render

        return plain(lambda width: render(self, width))


def digest(path: str | os.PathLike[str], leave_out: Collection[str] = ()) -> str:
    """The SHA-256 of a file, or of the list of files of a folder.

    The list has a line for each file, sorted by name: its SHA-256, two spaces and its name within
    the folder, as `sha256sum` prints it. Files named in `leave_out` are not listed.
    """
    place = Path(path)
    if not place.is_dir():
        return _of_file(place)
    names = sorted(name for name in _names(place) if name not in leave_out)
    lines = (f"{_of_file(place / name)}  {name}\n" for name in names)
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _names(folder: Path) -> Iterator[str]:
    for inner, _, files in os.walk(folder):
        for file in files:
            yield Path(inner, file).relative_to(folder).as_posix()


def _of_file(path: Path) -> str:
    sha256 = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                sha256.update(chunk)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    return sha256.hexdigest()
