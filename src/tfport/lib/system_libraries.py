"""The usual libraries of Linux systems: what they export, for a machine that is unknown.

`system_libraries.json.xz` has the libraries of several systems, as
`tools/libraries/record_system_libraries.py` reads them. An unknown machine is assumed to have a
symbol if every recorded system of the same architecture has it; if only some do, that is unknown.
"""

from __future__ import annotations

import functools
import itertools
import json
import lzma
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("system_libraries.json.xz")
SYSTEM_LIBRARIES = (
    "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libresolv.so.2",
    "libstdc++.so.6", "libgcc_s.so.1", "libatomic.so.1", "libgomp.so.1", "libz.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
)  # fmt: skip
"""The libraries that every machine is assumed to have."""
PROGRAM = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0")
"""The libraries that Python itself is linked to; since GLIBC 2.34 libc has the last two."""


def is_exported(symbol: str, machine: str, libraries: Collection[str]) -> bool | None:
    """Whether libraries of an unknown machine, or those that they need, export a symbol without a version.

    None if only some of the recorded systems have it.
    """
    answers = {
        any(library in with_needed(frozenset(libraries), system) for library in _exporters(symbol, system))
        for system in _systems(machine)
    }
    return answers.pop() if len(answers) == 1 else None


@functools.cache
def with_needed(libraries: frozenset[str], system: int) -> frozenset[str]:
    """Libraries, and those that they need directly or indirectly."""
    closure = list(libraries)
    for name in closure:  # grows in the loop
        row = _record()["libraries"].get(name)
        needed: Iterable[str] = (row["needed"][system] or ()) if row else ()
        closure += [other for other in needed if other not in closure]
    return frozenset(closure)


@functools.cache
def _systems(machine: str) -> tuple[int, ...]:
    """The numbers of the recorded systems of a machine."""
    return tuple(number for number, (other, _) in enumerate(_record()["systems"]) if other == machine)


def _exporters(symbol: str, system: int) -> Sequence[str]:
    """The libraries of a system that export a symbol."""
    return _all_exporters().get((symbol, system), ())


@functools.cache
def _all_exporters() -> dict[tuple[str, int], list[str]]:
    exporters: dict[tuple[str, int], list[str]] = {}
    for library, row in _record()["libraries"].items():
        for systems, names in row["symbols"].items():
            for key in itertools.product(names.split(" "), map(int, systems.split(","))):
                exporters.setdefault(key, []).append(library)
    return exporters


@functools.cache
def _record() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return recorded
