"""Inspect the root of an unpacked image: Python packages, C and C++ libraries, CUDA.

Files are read, never loaded. Symbolic links are followed within the image; absolute ones
start at its root.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tfport.atlas.atlas import ARM, X86
from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass, field

RELEASE = ("etc/os-release", "usr/lib/os-release")
TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")
LIBRARIES = tuple(
    f"{folder}{inner}"
    for folder in ("lib", "lib64", "usr/lib", "usr/lib64")
    for inner in ("", *(f"/{triplet}" for triplet in TRIPLETS))
)
CUDA = ("usr/local/cuda*/lib64", "usr/local/cuda*/targets/*/lib", "usr/local/lib", *LIBRARIES)
CUDA_FILE = re.compile(r"lib(cudart|cudnn)\.so\.(\d+(?:\.\d+)*)")
PACKAGES = ("site-packages", "dist-packages")
DEBIAN = "usr/lib/python3/dist-packages"
NOT_FILES = ("proc", "sys", "dev", "run")
DEEPEST = 8
MOST_FOLDERS = 200_000
MOST_NAMED = 3
LARGEST = 64 * 2**20
MOST_LINKS = 40
GLIBC = re.compile(
    rb"GNU C Library (?:\([^)\0]{0,200}\) )?(?:stable|development) release version (\d{1,4}\.\d{1,4})"
)
GLIBCXX = re.compile(rb"GLIBCXX_(\d{1,4}(?:\.\d{1,4}){1,3})\0")
CXXABI = re.compile(rb"CXXABI_(\d{1,4}(?:\.\d{1,4}){1,3})\0")
MACHINES = {0x3E: X86, 0xB7: ARM}
ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class System:
    """The system below Python; fields are empty if unknown."""

    name: str = ""
    machine: str = ""
    libc: str = ""
    """`glibc` or `musl`."""
    glibc: str = ""
    glibcxx: str = ""
    cxxabi: str = ""
    cuda: dict[str, str] = field(default_factory=dict)
    """The versions of `cudart` and `cudnn`."""


@dataclass(frozen=True, slots=True)
class SitePackages:
    """The folders that Python imports from, and notes about the choice."""

    chosen: list[Path]
    notes: list[str]


def is_image(folder: str) -> bool:
    """Whether a folder is the root of a Linux system."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in RELEASE)


def path_in_image(root: str, path: str) -> str | None:
    """Return the real path of a file of an image, links followed; None if there is none."""
    left, real = [part for part in path.split("/") if part], ""
    for _ in range(MOST_LINKS + len(left)):
        if not left:
            return os.path.join(root, real)
        part = left.pop(0)
        real = os.path.dirname(real) if part == ".." else os.path.join(real, part) if part != "." else real
        whole = os.path.join(root, real)
        if os.path.islink(whole):
            link = os.readlink(whole)
            left = [*(piece for piece in link.split("/") if piece), *left]
            real = "" if link.startswith("/") else os.path.dirname(real)
        elif not os.path.lexists(whole):
            return None
    return None


def site_packages_of(root: str) -> SitePackages:
    """Return the first folder with TensorFlow; if none has it, the first folder."""
    folders = list(_package_folders(root))
    with_tensorflow = [folder for folder in folders if os.path.isdir(folder / "tensorflow")]
    chosen = (with_tensorflow or folders)[:1]
    notes = []
    if len(with_tensorflow) > 1:
        names = ", ".join(str(folder.relative_to(root)) for folder in with_tensorflow[:MOST_NAMED])
        more = f" and {left} more" if (left := len(with_tensorflow) - MOST_NAMED) > 0 else ""
        notes.append(f"TensorFlow is in {names}{more}: the first one is used")
    debian = Path(root, DEBIAN)
    if chosen and chosen[0].name == debian.name and chosen[0] != debian and os.path.isdir(debian):
        chosen.append(debian)  # Debian's Python imports from both
    return SitePackages(chosen, notes)


def _package_folders(root: str) -> Iterator[Path]:
    for folder, below, _ in islice(os.walk(root), MOST_FOLDERS):
        depth = os.path.relpath(folder, root).count("/")
        if os.path.basename(folder) in PACKAGES:
            below.clear()
            yield Path(folder)
        elif depth >= DEEPEST:
            below.clear()
        else:
            below[:] = sorted(name for name in below if not (folder == root and name in NOT_FILES))


def system_of(root: str) -> System:
    """Read the facts of a system from its files."""
    libc, cpp = _library(root, "libc.so.6"), _library(root, "libstdc++.so.6")
    glibc = GLIBC.search(libc)
    musl = any(_matching(root, "lib/ld-musl-*.so.1"))
    return System(
        name=_release(root),
        machine=_machine(libc or cpp or _first(root, "lib/ld-musl-*.so.1")),
        libc="glibc" if glibc else "musl" if musl else "",
        glibc=glibc[1].decode() if glibc else "",
        glibcxx=_newest(GLIBCXX.findall(cpp)),
        cxxabi=_newest(CXXABI.findall(cpp)),
        cuda=_cuda(root),
    )


def _library(root: str, name: str) -> bytes:
    """Return the content of the first library of that name on the loader's path."""
    for folder in LIBRARIES:
        data = _read(path_in_image(root, f"{folder}/{name}"))
        if data.startswith(ELF):
            return data
    return b""


def _first(root: str, pattern: str) -> bytes:
    return next((data for path in _matching(root, pattern) if (data := _read(str(path)))), b"")


def _matching(root: str, pattern: str) -> Iterator[Path]:
    """Yield the files that match a pattern, without those outside of the image."""
    real = os.path.realpath(root)
    try:
        yield from (path for path in sorted(Path(root).glob(pattern)) if path.resolve().is_relative_to(real))
    except (OSError, RuntimeError):
        return


def _read(path: str | None) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    if path is None or not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST)
    except OSError:
        return b""


def _release(root: str) -> str:
    for name in RELEASE:
        text = _read(path_in_image(root, name)).decode(errors="replace")
        if name_line := re.search(r'^PRETTY_NAME="?([^"\n]{1,100})', text, re.MULTILINE):
            return name_line[1].strip()
    return ""


def _machine(library: bytes) -> str:
    return MACHINES.get(int.from_bytes(library[18:20], "little"), "")


def _newest(versions: list[bytes]) -> str:
    return max((version.decode() for version in versions), key=version_key, default="")


def _cuda(root: str) -> dict[str, str]:
    """Return the newest version of each CUDA library, from the file names."""
    versions: dict[str, str] = {}
    for pattern in CUDA:
        for path in _matching(root, f"{pattern}/libcud*.so.*"):
            if name := CUDA_FILE.fullmatch(path.name):
                versions[name[1]] = max(versions.get(name[1], name[2]), name[2], key=version_key)
    return versions
