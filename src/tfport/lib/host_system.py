"""The libraries of a machine, and where its loader searches them.

`HostSystem` is this machine, or the root of an unpacked image. Nothing is executed: the
loader's cache is read, or the folders of its configuration. For a machine that is unknown,
`is_exported` knows what the usual libraries of Linux systems export.
"""

from __future__ import annotations

import functools
import itertools
import json
import lzma
import os
import platform
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.formats.elf.library import ARM, X86, ElfLibrary, read_header
from tfport.formats.files import Folder
from tfport.startup.dataclass import dataclass, field

CACHE = "etc/ld.so.cache"
CONFIGURATION = "etc/ld.so.conf"
CACHE_MAGIC = b"glibc-ld.so.cache1.1"
CACHE_HEADER = 48
CACHE_ENTRY = np.dtype(
    [("flags", "<i4"), ("name", "<u4"), ("path", "<u4"), ("version", "<u4"), ("capabilities", "<u8")]
)
TRIPLES = {X86: "x86_64-linux-gnu", ARM: "aarch64-linux-gnu"}
MOST_LINKS = 40


@dataclass
class HostSystem:
    """A machine and its libraries."""

    root: Path
    machine: str
    opened: dict[str, ElfLibrary | None] = field(default_factory=dict)

    @property
    def is_this(self) -> bool:
        return str(self.root) == "/"

    @property
    def name(self) -> str:
        return "this machine" if self.is_this else str(self.root)

    @cached_property
    def cache(self) -> dict[str, list[str]]:
        """The paths of libraries in the loader's cache, by name."""
        try:
            data = self.inside("/" + CACHE).read_bytes()
        except OSError:
            return {}
        start = data.find(CACHE_MAGIC)
        if start < 0:
            return {}
        count = int.from_bytes(data[start + 20 : start + 24], "little")
        body = data[start + CACHE_HEADER :]
        rows = np.frombuffer(body[: min(count, len(body) // 24) * 24], CACHE_ENTRY)
        paths: dict[str, list[str]] = {}
        for row in rows:
            name, path = (_text(data, start + int(row[key])) for key in ("name", "path"))
            paths.setdefault(name, []).append(path)
        return paths

    @cached_property
    def folders(self) -> list[str]:
        """The default folders, after the configured ones if there is no cache."""
        triple = TRIPLES.get(self.machine, "")
        default = [f"/lib/{triple}", f"/usr/lib/{triple}", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
        return default if self.cache else [*_configured(self, "/" + CONFIGURATION), *default]

    def inside(self, path: str) -> Path:
        """The path on this file system of a path of the machine; links of an image stay inside it."""
        if self.is_this:
            return Path(path)
        place, left = os.path.normpath(path), MOST_LINKS
        parts, done = place.strip("/").split("/"), ""
        while parts and left:
            done = os.path.join(done, parts.pop(0))
            full = self.root / done
            if full.is_symlink():
                target = os.readlink(full)
                joined = (
                    target if target.startswith("/") else os.path.join("/", os.path.dirname(done), target)
                )
                parts = os.path.normpath(joined).strip("/").split("/") + parts
                done, left = "", left - 1
        return self.root / done

    def open(self, path: str) -> ElfLibrary | None:
        """A library of the machine; None if there is none that it can load."""
        if path not in self.opened:
            self.opened[path] = open_library(self.inside(path), self.machine)
        return self.opened[path]

    def find(self, name: str) -> tuple[str, ElfLibrary] | None:
        """Find a library by name in the cache and the default folders."""
        places = [*self.cache.get(name, []), *(f"{folder}/{name}" for folder in self.folders)]
        return next(((path, library) for path in places if (library := self.open(path))), None)


def open_library(path: Path, machine: str) -> ElfLibrary | None:
    """Open a library for a machine; None for any other file, which the loader skips."""
    if not path.is_file():
        return None
    try:
        data = Folder(path.parent).map(path.name)
        header = read_header(data, str(path))
        return ElfLibrary(data, str(path)) if header.machine == machine and header.bits == 64 else None
    except UnreadableFile:
        return None


def _configured(system: HostSystem, path: str, depth: int = 0) -> list[str]:
    """The folders in ld.so.conf and in the files that it includes."""
    try:
        lines = system.inside(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    folders: list[str] = []
    for line in lines:
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and depth < 4:
            for pattern in words[1:]:
                place = os.path.join(os.path.dirname(path), pattern)
                folder = system.inside(os.path.dirname(place))
                for file in sorted(folder.glob(os.path.basename(place))):
                    folders += _configured(system, f"{os.path.dirname(place)}/{file.name}", depth + 1)
        else:
            folders += [word for word in words if word.startswith("/")]
    return folders


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start)
    return data[start:end].decode(errors="replace") if end >= 0 else ""


def this_machine() -> str:
    name = platform.machine().lower()
    return {"amd64": X86, "arm64": ARM}.get(name, name)


def system_of(sysroot: str | None, machine: str) -> HostSystem | None:
    """The machine that loads a library; None if it is not this machine and no image is given."""
    if sysroot is None:
        return HostSystem(Path("/"), machine) if machine == this_machine() and os.name == "posix" else None
    root = Path(sysroot)
    if not root.is_dir():
        raise Error(f"{sysroot}: not a folder; expected the root of an unpacked image")
    system = HostSystem(root.absolute(), machine)
    if system.find("libc.so.6") is None:
        raise Error(f"{sysroot}: has no libc.so.6 for {machine}; expected the root of an unpacked image")
    return system


# The usual libraries of an unknown machine. `system_libraries.json.xz` has those of several systems, as
# `tools/libraries/record_system_libraries.py` reads them. An unknown machine is assumed to have a symbol if
# every recorded system of its architecture has it; if only some do, that is unknown.

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
