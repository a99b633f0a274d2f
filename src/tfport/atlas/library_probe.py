"""Load a TensorFlow library of any release in this process and write what it registers.

    python -I library_probe.py OUT < QUESTION

QUESTION is JSON: `libraries`, to load in this order; `adds`, libraries that add ops, by
name; `seconds` and `bytes`, the limits of this process. Writes to OUT: ops.pb (an
OpList), kernels.pb (a KernelList, including kernels that a session adds), answers.json,
and NUMBER.ops.pb and NUMBER.kernels.pb for each library that adds ops.

It runs as a script in its own process, with the standard library alone: loading a library runs
its code, and a process can load one release. This Python need not be the one that the library was
built for: no Python code of TensorFlow runs, and missing Python symbols are replaced by stubs.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

LARGEST_FILE = 1 << 29


def main(out: Path) -> None:
    question = json.load(sys.stdin)
    limit(question["seconds"], question["bytes"])
    try:
        tf = declare([open_library(path) for path in question["libraries"]][-1])
    except OSError as error:
        raise SystemExit(str(error)) from None
    if not hasattr(tf, "TF_GetAllRegisteredKernels"):
        raise SystemExit("it has no TF_GetAllRegisteredKernels; TensorFlow 1.11 or newer is needed")
    before = entries(kernel_list(tf))
    (out / "ops.pb").write_bytes(b"".join(entries(tf.TF_GetAllOpList().contents.bytes())))
    (out / "kernels.pb").write_bytes(b"".join(before))
    refused = {}
    in_a_fork(lambda: add_session(tf, before, out / "kernels.pb"))
    for number, (name, path) in enumerate(question["adds"].items()):
        if not in_a_fork(lambda: add_library(tf, before, path, out / str(number))):  # noqa: B023
            refused[name] = "it does not load"
    answers = {"version": tf.TF_Version().decode(), "refused": refused}
    (out / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


def limit(seconds: int, size: int) -> None:
    """Limit the resources that the library can use."""
    for limited, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, size),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limited)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limited, (bound, bound))


def kernel_list(tf: ctypes.CDLL) -> bytes:
    content: bytes = tf.TF_GetAllRegisteredKernels(Status(tf).handle).contents.bytes()
    return content


def add_session(tf: ctypes.CDLL, before: list[bytes], out: Path) -> None:
    """Add the kernels that are registered when the first session is created."""
    graph, options = ctypes.c_void_p(tf.TF_NewGraph()), ctypes.c_void_p(tf.TF_NewSessionOptions())
    tf.TF_NewSession(graph, options, Status(tf).handle)
    out.write_bytes(b"".join(before) + added(before, tf))


def add_library(tf: ctypes.CDLL, before: list[bytes], path: str, out: Path) -> None:
    status = Status(tf)
    handle = ctypes.c_void_p(tf.TF_LoadLibrary(path.encode(), status.handle))
    if not status.ok:
        os._exit(1)
    out.with_name(f"{out.name}.ops.pb").write_bytes(tf.TF_GetOpList(handle).bytes())
    out.with_name(f"{out.name}.kernels.pb").write_bytes(added(before, tf))


def added(before: list[bytes], tf: ctypes.CDLL) -> bytes:
    """Return the kernels that were registered since `before`."""
    new = Counter(entries(kernel_list(tf))) - Counter(before)
    return b"".join(sorted(new.elements()))


def in_a_fork(work: Callable[[], None]) -> bool:
    """Do this in a fork, which may crash; return whether it succeeded."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


# TensorFlow's C API.

MISSING = re.compile(r"undefined symbol: (_?Py\w+)")


class TFBuffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p))

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.length) if self.length else b""


RETURNS = {
    ctypes.c_void_p: """TF_NewStatus TF_LoadLibrary TF_NewGraph TF_NewSessionOptions TF_NewSession
        TF_AllocateTensor TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_TensorData""",
    ctypes.c_char_p: "TF_Message TF_Version",
    ctypes.c_int64: "TF_Dim",
    ctypes.POINTER(TFBuffer): "TF_GetAllOpList TF_GetAllRegisteredKernels",
    TFBuffer: "TF_GetOpList",
}
"""Return types of functions that do not return an int."""


def open_library(path: str | os.PathLike[str]) -> ctypes.CDLL:
    """Load a library globally, with a stub for each Python symbol that is missing here."""
    defined = set()
    while True:
        try:
            return ctypes.CDLL(os.fspath(path), ctypes.RTLD_GLOBAL | os.RTLD_LAZY)
        except OSError as error:
            missing = MISSING.search(str(error))
            if missing is None or missing[1] in defined:
                raise
            defined.add(missing[1])
            define(missing[1])


def define(symbol: str) -> None:
    """Define a variable of this name in the process; raise OSError if there is no C compiler."""
    with tempfile.TemporaryDirectory() as folder:
        stub = os.path.join(folder, "stub.so")
        compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", stub]
        try:
            subprocess.run(compiler, input=f"long {symbol}[64];".encode(), check=True)
        except (OSError, subprocess.CalledProcessError):
            raise OSError(
                f"the library needs the Python symbol {symbol}, and there is no C compiler to stub it"
            ) from None
        ctypes.CDLL(stub, ctypes.RTLD_GLOBAL)


def declare(tf: ctypes.CDLL) -> ctypes.CDLL:
    """Set the return types of the C API functions that this release has."""
    for returned, names in RETURNS.items():
        for name in names.split():
            if hasattr(tf, name):  # until 1.2 the C API is hidden; TF_GetAllRegisteredKernels came with 1.11
                getattr(tf, name).restype = returned
    return tf


class Status:
    """TF_Status: the outcome of the last call."""

    def __init__(self, tf: ctypes.CDLL) -> None:
        self.tf, self.handle = tf, ctypes.c_void_p(tf.TF_NewStatus())

    @property
    def ok(self) -> bool:
        return bool(self.tf.TF_GetCode(self.handle) == 0)

    @property
    def message(self) -> str:
        message: bytes = self.tf.TF_Message(self.handle)
        return message.decode(errors="replace")


def entries(content: bytes) -> list[bytes]:
    """Return the entries of an OpList or a KernelList, sorted: newer releases list them in any order."""
    items, start = [], 0
    while start < len(content):  # a tag of one byte, the size of the entry, the entry
        size, shift, at = 0, 0, start + 1
        while True:
            size |= (content[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if content[at - 1] < 128:
                break
        items.append(content[start : at + size])
        start = at + size
    return sorted(items)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
