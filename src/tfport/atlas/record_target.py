"""Record a custom build: what a wheel, a site-packages folder or a `libtensorflow*.so` registers.

`record_target(path, out)` loads the library, so its code runs: in a separate process
with limits on time and memory. No other part of tfport runs code of a target.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from tfport.atlas.atlas import Build
from tfport.atlas.installed_packages import METADATA, SITE_PACKAGES, names_in
from tfport.atlas.package_requirement import TENSORFLOW_PACKAGES
from tfport.atlas.requirements import from_wheel_name, pinned
from tfport.atlas.target_file import open_target_file, write_target_file
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.output import new_path
from tfport.formats.proto.graph_pb2 import OpList
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.operating_system import how_ended, kill_group, process_group
from tfport.startup.dataclass import dataclass, field

M = TypeVar("M", bound=Message)
SECONDS = 600
GIGABYTES = 16
LARGEST_WHEEL = 16 * 2**30
LONGEST = 1000
"""Longest name of a file in a wheel, in characters."""
LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
)
"""In the order of their dependencies."""
# the package is called tensorflow_core in 1.15 and 2.0
PACKAGES = ("tensorflow", "tensorflow_core")
IN_WHEEL = re.compile(
    r"(?:.*/)?tensorflow(?:_core)?/(?:[^/]*|python/[^/]*|(?:contrib|compiler|core|lite)/.*)\.so(?:\.\d+)*"
)
ADDS_OPS = re.compile(r"contrib/.*\.so|(?:compiler|core|lite)/.*_ops?\.so")
ADDS_NONE = re.compile(r"(?:lib.*protos|_wrap_.*|_?pywrap_.*)\.so")
MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l"}
"""By the machine number of ELF."""


@dataclass
class TensorFlowLibraries:
    """The libraries to load."""

    where: str
    package: str = "tensorflow"
    wheel: str = ""
    sha256: str = ""
    load: list[Path] = field(default_factory=list)
    adds: dict[str, Path] = field(default_factory=dict)
    """Libraries that add ops when imported, by their path in the package."""


def announcement(path: str) -> str:
    """Return what the user should know before the library is loaded."""
    return (
        f"{path}: loading its library, which runs code in it, "
        f"in a separate process limited to {SECONDS} s and {GIGABYTES} GB"
    )


def record_target(path: str, out: str, *, notify: Callable[[str], None] | None = None) -> Build:
    """Write what a TensorFlow library registers to `out`, a file that `--on` accepts.

    `notify` gets a message before the library is loaded.
    """
    with libraries_at(path) as libraries, new_path(out) as file, tempfile.TemporaryDirectory() as folder:
        for library in libraries.load:
            _check_machine(library)
        if notify is not None:
            notify(announcement(path))
        answers = _probe(libraries, Path(folder))
        _write(file, libraries, answers, Path(folder))
    (build,) = open_target_file(out).builds(None, None)
    return build


@contextmanager
def libraries_at(path: str) -> Iterator[TensorFlowLibraries]:
    """Yield the libraries of a wheel, a folder or a file."""
    if os.path.isdir(path):
        yield _in_folder(path)
    elif not os.path.isfile(path):
        raise UnreadableFile(f"{path}: no such file or folder")
    elif path.endswith(".whl"):
        with tempfile.TemporaryDirectory() as folder:
            yield _in_wheel(path, Path(folder))
    elif re.search(r"\.so(\.\d+)*$", path):
        yield _single_library(Path(path))
    else:
        raise Error(f"{path}: expected a wheel, a site-packages folder or a libtensorflow*.so")


def _in_folder(path: str) -> TensorFlowLibraries:
    parents = [parent for pattern in SITE_PACKAGES for parent in sorted(Path(path).glob(pattern))]
    for parent in [Path(path), *parents]:
        for folder in [parent, *(parent / name for name in PACKAGES)]:
            if any(folder.glob(LIBRARIES[0])):
                libraries = _of_package(folder, path)
                libraries.package = _installed_name(folder.parent) or libraries.package
                return libraries
    raise Error(f"{path}: no TensorFlow in this folder; expected tensorflow/libtensorflow_framework.so.2")


def _installed_name(site_packages: Path) -> str | None:
    """Return the package that contains TensorFlow, from pip's metadata."""
    metadata = filter(None, map(METADATA.fullmatch, names_in(site_packages)))
    names = {wanted.package for m in metadata if (wanted := pinned(m[1], m[2]))}
    return next((name for name in TENSORFLOW_PACKAGES if name in names), None)


def _of_package(folder: Path, where: str) -> TensorFlowLibraries:
    load = [path for pattern in LIBRARIES for path in sorted(folder.glob(pattern))]
    adds = {
        str(p.relative_to(folder)): p for p in sorted(folder.rglob("*.so")) if not ADDS_NONE.fullmatch(p.name)
    }
    return TensorFlowLibraries(
        where, load=load, adds={n: p for n, p in adds.items() if ADDS_OPS.fullmatch(n)}
    )


def _in_wheel(path: str, folder: Path) -> TensorFlowLibraries:
    name = os.path.basename(path)
    wanted = from_wheel_name(name)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = [
                m for m in archive.infolist() if len(m.filename) < LONGEST and IN_WHEEL.fullmatch(m.filename)
            ]
            if sum(m.file_size for m in members) > LARGEST_WHEEL:
                raise UnreadableFile(f"{path}: its libraries are larger than {LARGEST_WHEEL >> 30} GB")
            for member in members:
                archive.extract(member, folder)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UnreadableFile(f"{path}: cannot unpack this wheel: {error}") from None
    framework = next(iter(sorted(folder.rglob(LIBRARIES[0]))), None)
    if framework is None:
        raise Error(f"{path}: no TensorFlow in this wheel; expected tensorflow/libtensorflow_framework.so.2")
    libraries = _of_package(framework.parent, path)
    libraries.package, libraries.wheel, libraries.sha256 = wanted.package, name, digest
    return libraries


def _single_library(path: Path) -> TensorFlowLibraries:
    """Return a TensorFlow library for C or C++, and the framework library beside it that it needs."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    beside = [] if "framework" in path.name else sorted(path.parent.glob("libtensorflow_framework.so*"))
    return TensorFlowLibraries(str(path), wheel=path.name, sha256=digest, load=[*beside, path.absolute()])


def _check_machine(library: Path) -> None:
    """Raise an error if this machine cannot load the library."""
    try:
        with open(library, "rb") as file:
            head = file.read(20)
    except OSError as error:
        raise UnreadableFile(f"{library}: {reason(error)}") from None
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        raise Error(f"{library}: not a Linux library")
    machine = MACHINES.get(int.from_bytes(head[18:20], "little"), "another machine")
    if machine != platform.machine():
        raise Error(
            f"{library}: built for {machine}, but this machine is {platform.machine()}; record it there"
        )


def _probe(libraries: TensorFlowLibraries, out: Path) -> dict[str, object]:
    """Load the libraries in a separate process, which writes what they register."""
    question = {
        "libraries": [str(path.absolute()) for path in libraries.load],
        "adds": {name: str(path.absolute()) for name, path in libraries.adds.items()},
        "seconds": SECONDS,
        "bytes": GIGABYTES << 30,
    }
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    with resources.as_file(resources.files("tfport.atlas") / "library_probe.py") as probe:
        process = subprocess.Popen(
            [sys.executable, "-I", str(probe), str(out)], env=environment, **process_group(),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            _, log = process.communicate(json.dumps(question).encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Error(f"{libraries.where}: loading took longer than {SECONDS} s") from None
        finally:
            _kill(process)
    if process.returncode or not (out / "answers.json").exists():
        raise Error(f"{libraries.where}: cannot be recorded: {_last_line(log, process.returncode)}")
    answers: dict[str, object] = json.loads((out / "answers.json").read_text("utf-8"))
    return answers


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children."""
    kill_group(process)
    process.communicate()


def _last_line(log: bytes, code: int) -> str:
    """Return the last line of the log, or the signal that ended the process."""
    lines = [line for line in log.decode(errors="replace").splitlines() if line.strip()]
    if code < 0:
        return f"loading it crashes the process ({how_ended(code).rpartition(' ')[2]})"
    return lines[-1].strip() if lines else "no error message"


def _write(file: Path, libraries: TensorFlowLibraries, answers: dict[str, object], folder: Path) -> None:
    ops = [("", op) for op in _read(OpList, folder / "ops.pb").op]
    kernels = [("", kernel) for kernel in _read(KernelList, folder / "kernels.pb").kernel]
    own = {op.name for _, op in ops}
    for number, library in enumerate(libraries.adds):
        if (folder / f"{number}.kernels.pb").exists():
            new = _read(OpList, folder / f"{number}.ops.pb").op
            ops += [(library, op) for op in new if op.name not in own]  # ignore ops that it registers again
            kernels += [(library, k) for k in _read(KernelList, folder / f"{number}.kernels.pb").kernel]
    build = {
        "package": libraries.package,
        "version": str(answers["version"]).replace("-", ""),
        "platform": platform.machine(),
        "wheel": libraries.wheel,
        "sha256": libraries.sha256,
    }
    facts = {
        "recorded_from": os.path.basename(libraries.where.rstrip("/")),
        "refused": answers["refused"],
    }
    write_target_file(file, build, facts, ops, kernels)


def _read(kind: type[M], path: Path) -> M:
    try:
        return kind.FromString(path.read_bytes())
    except (DecodeError, OSError):
        raise Error(f"{path.name}: cannot read the ops and kernels that the library lists") from None
