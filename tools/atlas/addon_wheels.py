"""Download the wheel of an add-on; read the TensorFlow it requires and the libraries that may add ops.

`fetched` downloads the x86-64 Linux wheel from the configured package index and unpacks
its libraries. Nothing is installed or run here.
"""

import hashlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_string
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

PYTHONS = ("311", "310", "39", "38", "37", "36", "312", "313", "35", "34", "27")
GLIBC = [f"_2_{minor}" for minor in (5, 12, 17, 24, 26, 27, 28, 31, 34, 35, 39)]
PLATFORMS = [f"manylinux{generation}_x86_64" for generation in ("1", "2010", "2014", *GLIBC)]
TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tf-nightly")
LIBRARY = re.compile(r"\.so(\.\d+)*$")
USES_TENSORFLOW = re.compile(r"^(_ZN?K?\w*10tensorflow|TF_|SE_|TSL_)")
BUILT_FOR_CUDA = re.compile(r"\.nv_fatbin|NEEDED.*\[lib(cuda|cublas|cudnn|nccl|cusolver|cusparse|curand)")


class NoWheel(Exception):
    """The package index has no x86-64 Linux wheel of this version."""


@dataclass(frozen=True)
class Library:
    """A shared library of a wheel, with its path in the wheel."""

    path: str
    needed: list[str]
    cuda: bool


@dataclass
class Addon:
    """One version of an add-on, unpacked."""

    package: str
    version: str
    wheel: str
    sha256: str
    root: Path
    requires: str | None
    libraries: list[Library] = field(default_factory=list)

    @property
    def platform(self) -> str:
        return self.wheel.removesuffix(".whl").rsplit("-", 1)[-1]


def fetched(package: str, version: str, folder: Path) -> Addon:
    """Download the wheel of a version, and unpack its libraries below `folder`."""
    file = fetch(package, version, folder)
    with open(file, "rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    root = folder / "wheel"
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        archive.extractall(root, [n for n in names if LIBRARY.search(n)])
        metadata = next(n for n in names if n.endswith(".dist-info/METADATA"))
        requires = required(archive.read(metadata).decode(errors="replace"))
    file.unlink()
    return Addon(package, version, file.name, digest, root, requires, sorted(op_libraries(root), key=str))


def fetch(package: str, version: str, folder: Path) -> Path:
    """Download the wheel for the first Python that has one; any of them serves."""
    for python in PYTHONS:
        command = download(f"{package}=={version}", python, folder)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return next(folder.glob("*.whl"))
        if "No matching distribution" not in done.stderr:
            raise NoWheel(done.stderr.strip().split("\n")[-1])
    raise NoWheel("no x86-64 Linux wheel")


def download(requirement: str, python: str, folder: Path) -> list[str]:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps"]
    wanted = {
        "--python-version": [python],
        "--implementation": ["cp"],
        "--abi": [f"cp{python}", f"cp{python}m", f"cp{python}mu", "abi3", "none"],
        "--platform": [*PLATFORMS, "linux_x86_64"],
    }
    options = [part for option, values in wanted.items() for value in values for part in (option, value)]
    return [*pip, "--only-binary=:all:", *options, "--dest", str(folder), requirement]


def required(metadata: str) -> str | None:
    """Return the TensorFlow that the metadata requires, else the one that an extra requires."""
    specifiers: dict[bool, SpecifierSet] = {}
    for text in message_from_string(metadata).get_all("Requires-Dist", []):
        name = re.match(r"[\w.-]+", text)[0].lower().replace("_", "-")
        if name not in TENSORFLOW:  # other requirements may be malformed
            continue
        wants = Requirement(text)
        if wants.specifier and holds_here(wants):
            extra = "extra" in str(wants.marker)
            specifiers.setdefault(extra, wants.specifier)
    return str(specifiers.get(False) or specifiers.get(True) or "") or None


def holds_here(wants: Requirement) -> bool:
    """Whether a requirement applies on x86-64 Linux, with the extra that it names."""
    if wants.marker is None:
        return True
    extras = re.findall(r"extra == ['\"]([^'\"]+)", str(wants.marker)) or [""]
    here = {"platform_machine": "x86_64", "sys_platform": "linux", "platform_system": "Linux"}
    return any(wants.marker.evaluate({**here, "extra": extra}) for extra in extras)


def op_libraries(root: Path) -> Iterator[Library]:
    """Yield the libraries that use TensorFlow."""
    for path in root.rglob("*"):
        if not path.is_file() or path.read_bytes()[:20][:4] != b"\x7fELF":
            continue
        dynamic = ask("readelf", "-dSW", path)
        needed = re.findall(r"NEEDED.*\[(.+)\]", dynamic)
        symbols = [line.split()[-1] for line in ask("nm", "-D", "--undefined-only", path).splitlines()]
        if any(n.startswith("libtensorflow") for n in needed) or any(map(USES_TENSORFLOW.match, symbols)):
            yield Library(str(path.relative_to(root)), needed, BUILT_FOR_CUDA.search(dynamic) is not None)


def ask(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
