"""Record a build of one's own: what a wheel, a site-packages folder or a `libtensorflow*.so` registers.

`record_target(path, out)` loads the library, so its code runs: in a process of its
own, with bounds on time and memory. Everything else of tfport only reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from tfport.atlas.atlas import Build
from tfport.atlas.installed_packages import METADATA, SITE_PACKAGES, names_in
from tfport.atlas.package_names import TENSORFLOW_PACKAGES
from tfport.atlas.requirements import from_wheel_name, pinned
from tfport.atlas.target_file import open_target_file, write_target_file
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.output import new_path
from tfport.formats.proto.graph_pb2 import OpList
from tfport.formats.proto.kernel_pb2 import KernelList

M = TypeVar("M", bound=Message)
SECONDS = 600
GIGABYTES = 16
LARGEST_WHEEL = 16 * 2**30
LONGEST = 1000
"""Characters of a name in a wheel."""
LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
)
"""In the order in which they need one another."""
# 1.15 and 2.0 call their package tensorflow_core
PACKAGES = ("tensorflow", "tensorflow_core")
IN_WHEEL = re.compile(
    r"(?:.*/)?tensorflow(?:_core)?/(?:[^/]*|python/[^/]*|(?:contrib|compiler|core|lite)/.*)\.so(?:\.\d+)*"
)
ADDS_OPS = re.compile(r"contrib/.*\.so|(?:compiler|core|lite)/.*_ops?\.so")
ADDS_NONE = re.compile(r"(?:lib.*protos|_wrap_.*|_?pywrap_.*)\.so")
MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l"}
"""What ELF calls them."""


@dataclass
class TensorFlowLibraries:
    """What is to be loaded."""

    where: str
    package: str = "tensorflow"
    wheel: str = ""
    sha256: str = ""
    load: list[Path] = field(default_factory=list)
    adds: dict[str, Path] = field(default_factory=dict)
    """Libraries that add ops when something imports them, by their path in the package."""


def announcement(path: str) -> str:
    """What a person should know before."""
    return (
        f"{path}: its library is now loaded, which runs code in it: "
        f"in a process of its own, for at most {SECONDS} s and with at most {GIGABYTES} GB"
    )


def record_target(path: str, out: str, *, say: Callable[[str], None] | None = None) -> Build:
    """Write what a library of TensorFlow registers to `out`, a file that `--on` takes.

    `say` is told before the library is loaded.
    """
    with libraries_at(path) as found, new_path(out) as file, tempfile.TemporaryDirectory() as answers:
        for library in found.load:
            _see_machine(library)
        if say is not None:
            say(announcement(path))
        said = _ask(found, Path(answers))
        _write(file, found, said, Path(answers))
    (build,) = open_target_file(out).builds(None, None)
    return build


@contextmanager
def libraries_at(path: str) -> Iterator[TensorFlowLibraries]:
    """The libraries in what a person names, for as long as they are needed."""
    if os.path.isdir(path):
        yield _in_folder(path)
    elif not os.path.isfile(path):
        raise UnreadableFile(f"{path}: no such file or folder")
    elif path.endswith(".whl"):
        with tempfile.TemporaryDirectory() as folder:
            yield _in_wheel(path, Path(folder))
    elif re.search(r"\.so(\.\d+)*$", path):
        yield _alone(Path(path))
    else:
        raise Error(f"{path}: expected a wheel, a site-packages folder or a libtensorflow*.so")


def _in_folder(path: str) -> TensorFlowLibraries:
    places = [place for pattern in SITE_PACKAGES for place in sorted(Path(path).glob(pattern))]
    for place in [Path(path), *places]:
        for folder in [place, *(place / name for name in PACKAGES)]:
            if any(folder.glob(LIBRARIES[0])):
                found = _of_package(folder, path)
                found.package = _installed_name(folder.parent) or found.package
                return found
    raise Error(f"{path}: no TensorFlow in this folder: expected tensorflow/libtensorflow_framework.so.2")


def _installed_name(site_packages: Path) -> str | None:
    """The package that brought TensorFlow, by pip's notes."""
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
                raise UnreadableFile(f"{path}: its libraries take more than {LARGEST_WHEEL >> 30} GB")
            for member in members:
                archive.extract(member, folder)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UnreadableFile(f"{path}: no wheel that can be unpacked: {error}") from None
    framework = next(iter(sorted(folder.rglob(LIBRARIES[0]))), None)
    if framework is None:
        raise Error(f"{path}: no TensorFlow in this wheel: expected tensorflow/libtensorflow_framework.so.2")
    found = _of_package(framework.parent, path)
    found.package, found.wheel, found.sha256 = wanted.package, name, digest
    return found


def _alone(path: Path) -> TensorFlowLibraries:
    """A library of TensorFlow for C or C++, with the one that it needs beside it."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    beside = [] if "framework" in path.name else sorted(path.parent.glob("libtensorflow_framework.so*"))
    return TensorFlowLibraries(str(path), wheel=path.name, sha256=digest, load=[*beside, path.absolute()])


def _see_machine(library: Path) -> None:
    """Refuse what this machine cannot load."""
    try:
        with open(library, "rb") as file:
            head = file.read(20)
    except OSError as error:
        raise UnreadableFile(f"{library}: {reason(error)}") from None
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        raise Error(f"{library}: no library for Linux")
    machine = MACHINES.get(int.from_bytes(head[18:20], "little"), "another machine")
    if machine != platform.machine():
        raise Error(
            f"{library}: a library for {machine}; this machine is {platform.machine()}, record it there"
        )


def _ask(found: TensorFlowLibraries, out: Path) -> dict[str, object]:
    """Load the libraries in a process of their own, and have it write what they register."""
    question = {
        "libraries": [str(path.absolute()) for path in found.load],
        "adds": {name: str(path.absolute()) for name, path in found.adds.items()},
        "seconds": SECONDS,
        "bytes": GIGABYTES << 30,
    }
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    with resources.as_file(resources.files("tfport.atlas") / "library_probe.py") as probe:
        process = subprocess.Popen(
            [sys.executable, "-I", str(probe), str(out)], env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            _, log = process.communicate(json.dumps(question).encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Error(f"{found.where}: not loaded within {SECONDS} s") from None
        finally:
            _end(process)
    if process.returncode or not (out / "said.json").exists():
        raise Error(f"{found.where}: it cannot be recorded: {_last(log, process.returncode)}")
    said: dict[str, object] = json.loads((out / "said.json").read_text())
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _last(log: bytes, code: int) -> str:
    """The last that was said, or the signal that ended it."""
    lines = [line for line in log.decode(errors="replace").splitlines() if line.strip()]
    if code < 0:
        return f"it ends the process that loads it ({signal.Signals(-code).name})"
    return lines[-1].strip() if lines else "it says nothing"


def _write(file: Path, found: TensorFlowLibraries, said: dict[str, object], answers: Path) -> None:
    ops = [("", op) for op in _read(OpList, answers / "ops.pb").op]
    kernels = [("", kernel) for kernel in _read(KernelList, answers / "kernels.pb").kernel]
    own = {op.name for _, op in ops}
    for number, library in enumerate(found.adds):
        if (answers / f"{number}.kernels.pb").exists():
            new = _read(OpList, answers / f"{number}.ops.pb").op
            ops += [(library, op) for op in new if op.name not in own]  # what it repeats it does not bring
            kernels += [(library, k) for k in _read(KernelList, answers / f"{number}.kernels.pb").kernel]
    build = {
        "package": found.package,
        "version": str(said["version"]).replace("-", ""),
        "platform": platform.machine(),
        "wheel": found.wheel,
        "sha256": found.sha256,
    }
    facts = {"recorded_from": os.path.basename(found.where.rstrip("/")), "refused": said["refused"]}
    write_target_file(file, build, facts, ops, kernels)


def _read(kind: type[M], path: Path) -> M:
    try:
        return kind.FromString(path.read_bytes())
    except (DecodeError, OSError):
        raise Error(f"{path.name}: the library's list of what it registers cannot be read") from None
