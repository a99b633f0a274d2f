"""Which files the server may read: those below folders that the user allowed, and models by name.

Every path is resolved first, so that a symbolic link leads nowhere else; what is opened is the resolved
path, and `verify` is asked again after it was read, in case someone replaced a folder meanwhile. A target
in a request may name a file or folder, which must be allowed too.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfport.web.json_answer import bad_request, forbidden

MOST_SUGGESTIONS = 50
MOST_ENTRIES = 10_000
"""How many entries of a folder are looked at for completion."""


class AllowedPaths:
    """Folders and single files below which everything may be read."""

    def __init__(self, roots: Iterable[str | os.PathLike[str]]) -> None:
        self._roots = list(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))

    @property
    def roots(self) -> list[str]:
        return [str(root) for root in self._roots]

    def add(self, path: str | os.PathLike[str]) -> None:
        """Also allow a path and everything below it."""
        root = Path(os.path.realpath(path))
        if root not in self._roots:
            self._roots.append(root)

    def resolve(self, path: str) -> str:
        """The real path; a refusal if it is not below an allowed one."""
        if not path or "\0" in path:
            raise bad_request("expected a path")
        try:
            real = os.path.realpath(os.path.expanduser(path))
        except OSError as error:
            raise forbidden(f"{path}: {error.strerror or 'cannot be read'}") from None
        if not self.allows(real):
            raise forbidden(
                f"{path}: outside of what was allowed; start `tfport ui` with --allow and a folder above it"
            )
        return real

    def allows(self, real: str) -> bool:
        """Whether a resolved path is an allowed one, or below one."""
        path = Path(real)
        return any(path == root or root in path.parents for root in self._roots)

    def verify(self, real: str) -> None:
        """Refuse a path that was resolved before and now leads elsewhere."""
        if os.path.realpath(real) != real or not self.allows(real):
            raise forbidden(f"{real}: it was replaced while it was read")

    def suggestions(self, prefix: str) -> list[tuple[str, bool]]:
        """Paths that begin with a text, and whether each is a folder; the allowed ones for an empty text."""
        if not prefix:
            return [(root, os.path.isdir(root)) for root in self.roots][:MOST_SUGGESTIONS]
        folder, begin = os.path.split(os.path.expanduser(prefix))
        try:
            real = self.resolve(folder or ".")
        except Exception:  # nothing is told about what is elsewhere
            return []
        entries = sorted(_entries(real, begin), key=lambda entry: (not entry[1], entry[0]))
        return [(os.path.join(folder, name), is_folder) for name, is_folder in entries][:MOST_SUGGESTIONS]


def _entries(folder: str, begin: str) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_ENTRIES:
                    return
                hidden = entry.name.startswith(".") and not begin.startswith(".")
                if entry.name.startswith(begin) and not hidden and (is_dir := _is_folder(entry)) is not None:
                    yield entry.name, is_dir
    except OSError:
        return


def _is_folder(entry: os.DirEntry[str]) -> bool | None:
    """Whether an entry is a folder; None for a device, a socket, or a link to nothing."""
    try:
        mode = entry.stat().st_mode
    except OSError:
        return None
    return stat.S_ISDIR(mode) if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else None


# Targets in requests

BETWEEN = re.compile(r"[\s,;]+")
MOST_TARGETS = 40
LONGEST = 500
HERE = "."
"""This Python environment."""


def checked_targets(targets: list[str], allowed: AllowedPaths) -> list[str]:
    """The targets, if they are not too many and name no file elsewhere."""
    if not targets or len(targets) > MOST_TARGETS:
        raise bad_request(f"`targets`: expected 1 to {MOST_TARGETS} targets")
    for target in targets:
        if len(target) > LONGEST:
            raise bad_request(f"a target has {len(target):,} characters; expected at most {LONGEST}")
        for path in _paths_in(target):
            allowed.resolve(path)
    return targets


def _paths_in(target: str) -> Iterator[str]:
    """Every part of a text that is the path of something."""
    for text in {target, target.strip(), *BETWEEN.split(target)}:
        for part in {text, *text.split("@")}:
            if part and part != HERE and "\0" not in part and os.path.lexists(os.path.expanduser(part)):
                yield part
