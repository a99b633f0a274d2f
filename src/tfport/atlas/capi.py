"""TensorFlow's C API in this process, from a library of any release. Loading a library runs its code.

This Python need not be the one that the library was built for: no Python code of
TensorFlow runs, and missing Python symbols are replaced by stubs. A process can load
one release. This module needs only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile

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
    for kind, names in RETURNS.items():
        for name in names.split():
            if hasattr(tf, name):  # until 1.2 the C API is hidden; TF_GetAllRegisteredKernels came with 1.11
                getattr(tf, name).restype = kind
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
