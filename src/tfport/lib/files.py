"""Find the op libraries in files, folders and wheels, and what their packages require."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from pathlib import Path
from typing import Any

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import Requirement

from tfport.atlas.requirements import LINUX, declared_requirement
from tfport.errors import Error, UnreadableFile
from tfport.formats.archive.archive import Archive
from tfport.formats.archive.open import TAR_BLOCK, open_archive
from tfport.formats.elf.library import ElfLibrary
from tfport.formats.files import Folder, reason
from tfport.lib.tensorflow_libraries import FRAMEWORK_COPY, is_tensorflow
from tfport.registry.registrations import registers
from tfport.startup.dataclass import dataclass, field

LIBRARY = re.compile(r".+\.so(\.\d+)*")
USES = re.compile(r"_ZN?K?\w*?(10tensorflow|3tsl)|TF_|TSL_")
MOST_FILES = 100_000


@dataclass
class LibraryFile:
    """A library to diagnose."""

    file: str
    """The name for people."""
    path: str
    """The path of its contents."""
    archive: str = ""
    """The archive that contains it."""
    unpacked: str = ""
    """The folder where the archive was unpacked."""
    requires: tuple[str, ...] = ()
    """The lines of the archive's metadata that require TensorFlow."""
    is_named: bool = False
    """Whether the user named it, rather than a folder or an archive that contains it."""


@dataclass
class LibraryCollection:
    """The libraries in all named paths."""

    libraries: list[LibraryFile] = field(default_factory=list)
    others: int = 0
    """The number of shared libraries without ops."""


@contextmanager
def libraries_in(names: list[str]) -> Iterator[LibraryCollection]:
    """The op libraries in files, folders and wheels; unpacked files are removed on exit."""
    collection = LibraryCollection()
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(names):
            if os.path.isdir(name):
                _add_folder(collection, name)
            elif archive := _archive(name):
                _add_archive(collection, archive, Path(folder, str(i)))
            else:
                collection.libraries.append(LibraryFile(name, name, is_named=True))
        if not collection.libraries:
            others = f"none of its {collection.others} shared libraries uses TensorFlow"
            detail = others if collection.others else "no shared library"
            raise Error(f"{', '.join(names)}: no op library found; {detail}")
        yield collection


def _archive(name: str) -> Archive | None:
    try:
        with open(name, "rb") as file:
            head = file.read(TAR_BLOCK)
    except (OSError, ValueError):
        return None  # reported later, as for a library
    is_named_so = LIBRARY.fullmatch(os.path.basename(name)) is not None
    return None if is_named_so else open_archive(name, head)


def _add_folder(collection: LibraryCollection, name: str) -> None:
    seen = 0
    for folder, folders, files in os.walk(name):
        folders.sort()
        seen += len(files)
        if seen > MOST_FILES:
            raise Error(f"{name}: more than {MOST_FILES:,} files; name the folder of the library")
        for file in sorted(files):
            if LIBRARY.fullmatch(file):
                path = os.path.join(folder, file)
                _add(collection, LibraryFile(path, path))


def _add_archive(collection: LibraryCollection, archive: Archive, folder: Path) -> None:
    """Unpack the libraries of a wheel; `open_archive` checked that their names stay inside it."""
    requires: tuple[str, ...] = ()
    members = [name for name in archive.tree.members if LIBRARY.fullmatch(os.path.basename(name))]
    for name in archive.tree.members:
        if name.endswith(".dist-info/METADATA"):
            requires = tensorflow_requirements(archive.map(name).tobytes())
    for name in members:
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with open(folder / name, "wb") as out:
                out.write(archive.map(name))
        except OSError as error:
            raise UnreadableFile(f"{archive.label(name)}: {reason(error)}") from None
    for name in sorted(members):
        _add(collection, LibraryFile(name, str(folder / name), archive.where, str(folder), requires))


def _add(collection: LibraryCollection, library: LibraryFile) -> None:
    if is_op_library(library.path):
        collection.libraries.append(library)
    else:
        collection.others += 1


def is_op_library(path: str) -> bool:
    """Whether a library registers ops or kernels, or uses TensorFlow and is not a Python module."""
    folder, name = os.path.split(path)
    if is_tensorflow(name) or FRAMEWORK_COPY.fullmatch(name) or os.path.islink(path):
        return False
    try:
        library = ElfLibrary(Folder(folder or ".").map(name), path)
        undefined = [symbol.name for symbol in library.symbols.undefined]
        if any(map(registers, undefined)):
            return True
        uses = any(USES.match(symbol) for symbol in undefined)
        return uses and not any(symbol.startswith("PyInit_") for symbol in library.symbols.defined)
    except UnreadableFile:
        return False


# The TensorFlow releases that the package of a library requires. A requirement counts if its marker holds on
# the machine and the Python that load the library. What an extra requires counts only if nothing else names
# TensorFlow: such a package is still built for one.

TENSORFLOWS = (
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "tensorflow-aarch64", "tensorflow-cpu-aws"
)  # fmt: skip
PYTHONS = tuple(f"3.{minor}" for minor in range(5, 15))
"""Those that TensorFlow has had wheels for."""
EXTRA = re.compile(r"""extra == ['"]([^'"]+)""")


def tensorflow_requirements(metadata: bytes) -> tuple[str, ...]:
    """The lines of a wheel's metadata that require versions of TensorFlow."""
    lines = [str(line) for line in message_from_bytes(metadata).get_all("Requires-Dist", [])]
    return tuple(line for line in lines if _names_tensorflow(declared_requirement(line)))


def _names_tensorflow(requirement: Requirement | None) -> bool:
    if requirement is None or not requirement.specifier:
        return False
    return requirement.name.lower().replace("_", "-") in TENSORFLOWS


def applicable_requirements(lines: Sequence[str], machine: str, python: str | None) -> list[Requirement]:
    """The requirements that apply on a machine; if the Python is unknown, those of every Python."""
    requirements = [requirement for line in lines if (requirement := declared_requirement(line))]
    plain = [r for r in requirements if r.marker is None or _holds(r.marker, machine, python)]
    return plain or [r for r in requirements if r.marker and _holds_with_an_extra(r.marker, machine, python)]


def _holds_with_an_extra(marker: Marker, machine: str, python: str | None) -> bool:
    return any(_holds(marker, machine, python, extra) for extra in EXTRA.findall(str(marker)))


def _holds(marker: Marker, machine: str, python: str | None, extra: str = "") -> bool:
    environment: dict[str, Any] = {**default_environment(), **LINUX}
    environment |= {"platform_machine": machine, "extra": extra}
    try:
        return any(
            marker.evaluate({**environment, "python_version": version, "python_full_version": f"{version}.0"})
            for version in ([python] if python else PYTHONS)
        )
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError):
        return True
