"""The compiler flags for building an op for a release of TensorFlow, from the release's own wheel.

The wheel is an installed one (in this environment or a given folder), a file, or one that pip
downloads. It is read, never imported: its headers, the C++ standard that they need, its framework
library. The C++ ABI is the one recorded for the release.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tfport.atlas.cxx_abi import new_abi
from tfport.atlas.installed_packages import METADATA, OF_PYTHON, SITE_PACKAGES
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.errors import BuildFailed
from tfport.formats.elf.library import ElfLibrary
from tfport.formats.files import Folder
from tfport.lib.tensorflow_libraries import FRAMEWORK, libraries_of
from tfport.lib.undefined_symbols import STANDARD as STRING_VIEW
from tfport.runtime.native.compiler import COMMON
from tfport.startup.dataclass import dataclass

ROOTS = ("tensorflow", "tensorflow_core")
"""The folders of a wheel that contain the headers."""
POLICY = "absl/base/policy_checks.h"
STANDARD_CHECK = re.compile(r"__cplusplus < (20\d\d)\d\dL")
PYTHON_TAG = re.compile(r"-cp(\d)(\d+)-")
EIGEN = "EIGEN_MAX_ALIGN_BYTES"
OLDEST_STANDARD = 14


@dataclass(frozen=True)
class TensorflowTree:
    """The files of an installed or unpacked TensorFlow."""

    folder: Path
    """Contains `include` and the framework library."""
    target: Target
    python: str = ""
    is_permanent: bool = True
    """Whether the folder still exists when the built library is loaded."""

    def flags(self) -> list[str]:
        """The flags that compile and link an op for it."""
        include = self.folder / "include"
        if not (include / "tensorflow").is_dir():
            raise BuildFailed(f"{self.folder}: TensorFlow's headers are missing")
        flags = [f"-std=c++{self._standard(include)}", *COMMON, "-O2", f"-I{include}"]
        flags += [f"-I{folder}" for folder in [include / "external" / "nsync" / "public"] if folder.is_dir()]
        if (abi := self._new_abi()) is not None:
            flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(abi)}")
        if EIGEN in _text(self.folder / "python" / "platform" / "sysconfig.py"):
            flags.append(f"-D{EIGEN}=64")  # as `tf.sysconfig` of 2.21 returns; it is in no file
        if self.framework is not None:
            flags += [f"-L{self.folder}", f"-l:{self.framework.name}"]
            flags += [f"-Wl,-rpath,{self.folder}"] * self.is_permanent
        return flags

    @property
    def framework(self) -> Path | None:
        """The library that ops are linked with; TensorFlow before 1.4 has none."""
        assert self.target.build is not None
        wanted = next(
            (library for library in libraries_of(self.target.build.version) if FRAMEWORK.fullmatch(library)),
            None,
        )
        if wanted is None:
            return None
        if not (self.folder / wanted).is_file():
            raise BuildFailed(f"{self.folder}: {wanted} of {self.target.build.name} is missing")
        return self.folder / wanted

    def _standard(self, include: Path) -> int:
        """The C++ standard that its headers require, or that its library was compiled with."""
        required = [int(year) % 100 for year in STANDARD_CHECK.findall(_text(include / POLICY))]
        return max([*required, 17 if self._has_views_of_17() else OLDEST_STANDARD])

    def _has_views_of_17(self) -> bool:
        if self.framework is None:
            return False
        library = ElfLibrary(Folder(self.folder).map(self.framework.name), str(self.framework))
        return any(STRING_VIEW in name for name in library.symbols.defined)

    def _new_abi(self) -> bool | None:
        build = self.target.build
        assert build is not None
        of_python = new_abi(build.requirement, self.python)
        return of_python if of_python is not None else build.facts.get("cxx11_abi")


@contextmanager
def tensorflow_tree(
    text: str, *, wheel: str | None = None, site_packages: str | None = None, download: bool = False
) -> Iterator[TensorflowTree]:
    """The files of the release that a target names, for the time of the context."""
    target = _release(text)
    with tempfile.TemporaryDirectory() as scratch:
        if download:
            wheel = _downloaded(target, Path(scratch))
        if wheel is not None:
            tag = PYTHON_TAG.search(os.path.basename(wheel))
            python = f"{tag[1]}.{tag[2]}" if tag else ""
            yield TensorflowTree(
                _unpacked(wheel, target, Path(scratch) / "wheel"), target, python, is_permanent=False
            )
        else:
            folder = _installed(target, _folders(site_packages), site_packages or "this environment")
            tag = OF_PYTHON.fullmatch(folder.parent.parent.name)
            yield TensorflowTree(folder, target, tag[1] if tag else "")


def _release(text: str) -> Target:
    targets = resolve_targets(text)
    if len(targets) != 1 or targets[0].build is None or not targets[0].build.is_tensorflow:
        raise BuildFailed(f"--for {text}: expected a single release, such as tensorflow==2.21.0")
    return targets[0]


def _folders(site_packages: str | None) -> list[Path]:
    if site_packages is None:
        return [Path(folder) for folder in dict.fromkeys(sys.path) if folder and os.path.isdir(folder)]
    root = Path(site_packages)
    inside = [folder for pattern in SITE_PACKAGES for folder in sorted(root.glob(pattern))]
    return inside or [root]


def _installed(target: Target, folders: Sequence[Path], where: str) -> Path:
    """The package in an environment; BuildFailed if it is not the requested version."""
    build = target.build
    assert build is not None
    others = set[str]()
    for folder in folders:
        for match in map(METADATA.fullmatch, sorted(os.listdir(folder)) if folder.is_dir() else ()):
            if match is None or match[1].replace("_", "-").lower() not in (build.package, "tensorflow-cpu"):
                continue
            if match[2] == build.version:
                return _root(folder, target)
            others.add(f"{match[1].replace('_', '-')} {match[2]}")
    has = f"has {', '.join(sorted(others))}" if others else "has no TensorFlow"
    raise BuildFailed(
        f"{build.name} is not installed: {where} {has}; use --site-packages or --wheel, "
        "or download it with --download"
    )


def _root(folder: Path, target: Target) -> Path:
    package = next(
        (folder / root for root in ROOTS if (folder / root / "include" / "tensorflow").is_dir()), None
    )
    if package is None:
        raise BuildFailed(f"{folder}: {target.name} has no headers")
    return package.absolute()


def _unpacked(wheel: str, target: Target, into: Path) -> Path:
    """Unpack the headers and the framework library of a wheel."""
    assert target.build is not None
    if f"-{target.build.version}-" not in os.path.basename(wheel):
        raise BuildFailed(f"{wheel}: not a wheel of {target.name}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            wanted = [name for name in archive.namelist() if _is_wanted(name)]
            archive.extractall(into, wanted)
    except (OSError, zipfile.BadZipFile) as error:
        raise BuildFailed(f"{wheel}: {getattr(error, 'strerror', None) or 'not a wheel'}") from None
    return _root(_purelib(into), target)


def _is_wanted(name: str) -> bool:
    base = name.rpartition("/")[2]
    return (
        "/include/" in name
        or name.endswith("python/platform/sysconfig.py")
        or bool(FRAMEWORK.fullmatch(base))
    )


def _purelib(unpacked: Path) -> Path:
    """TF1 wheels have their files in a data folder."""
    return next(
        (path.parent for root in ROOTS for path in unpacked.rglob(root) if (path / "include").is_dir()),
        unpacked,
    )


def _downloaded(target: Target, folder: Path) -> str:
    """A wheel for this Python, or for the newest Python that the release supports."""
    build = target.build
    assert build is not None
    pythons = build.facts.get("pythons") or []
    this_python = "{}.{}".format(*sys.version_info)
    other = ["--python-version", pythons[-1]] if pythons and this_python not in pythons else []
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-q"]
    done = subprocess.run(
        [*pip, *other, "-d", str(folder), build.requirement], capture_output=True, text=True, errors="replace"
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise BuildFailed(
            f"pip cannot download {build.requirement}: {errors[-1] if errors else 'no message'}"
        )
    return str(wheels[0])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
