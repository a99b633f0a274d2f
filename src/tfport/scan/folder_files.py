"""Which files of a folder are looked at, and what is said about links and about folders that are left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from tfport.scan.file_findings import NotScanned, OutsideLink
from tfport.scan.risk import NOTE, WARNING, Risk
from tfport.words import count

LEFT_OUT = frozenset((".git", ".cache", ".svn", "__pycache__"))
SYSTEM = re.compile(
    r"/(etc|proc|sys|dev|root|boot|bin|sbin|usr|var|run)(/|$)|/\.(ssh|aws|config|kube|docker|netrc)\b"
)
"""Places that no model has its files in."""


def files_below(top: str, without: Iterable[str] = ()) -> Iterator[str | Risk]:
    """The paths of the files of a folder, except those in `without`, and what is to be said about others."""
    others = {os.path.abspath(path) for path in without}
    unread: list[OSError] = []
    left_out: list[str] = []
    for folder, folders, names in os.walk(top, onerror=unread.append):
        inside = {name: os.path.join(folder, name) for name in sorted(folders)}
        linked = [path for path in inside.values() if os.path.islink(path)]
        left_out += [path for name, path in inside.items() if name in LEFT_OUT and path not in linked]
        folders[:] = [
            name
            for name, path in inside.items()
            if name not in LEFT_OUT and os.path.abspath(path) not in others
        ]
        for path in sorted([*linked, *(os.path.join(folder, name) for name in names)]):
            if os.path.abspath(path) not in others:
                yield from _file(path, top)
    yield from (_unread(error) for error in unread)
    if left_out:
        more = f", and {count(len(left_out) - 1, 'more folder')}" if len(left_out) > 1 else ""
        detail = f"version control and caches are left out{more}"
        yield NotScanned(subject=f"`{left_out[0]}`", detail=detail, level=NOTE)


def _file(path: str, top: str) -> Iterator[str | Risk]:
    if os.path.islink(path):
        target, is_folder = os.path.realpath(path), os.path.isdir(path)
        is_inside = os.path.commonpath([os.path.realpath(top), target]) == os.path.realpath(top)
        if not is_inside:
            link = _outside_link(path, target)
            yield link
            if link.severity != NOTE:
                return
        if is_folder and (not is_inside or LEFT_OUT.intersection(os.path.relpath(target, top).split(os.sep))):
            detail = "a link to a folder elsewhere; scan that folder too"
            yield NotScanned(subject=f"`{path}`", detail=detail, level=NOTE)
    if os.path.isfile(path):
        yield path


def _outside_link(path: str, target: str) -> Risk:
    is_system = SYSTEM.search(target) is not None
    why = "a file of the system" if is_system else "stores of downloaded models link to their files like this"
    level = WARNING if is_system else NOTE
    return OutsideLink(subject=f"`{path}`", detail=os.readlink(path)[:200], level=level, why=why)


def _unread(error: OSError) -> Risk:
    return NotScanned(subject=f"`{error.filename}`", detail=str(error.strerror).lower())
