"""TensorFlow's C API in this process, from the libraries of one release.

The Python that runs this need not be the one that the wheel was built for: no
Python code of TensorFlow runs, and what its libraries miss is stubbed.
One process can hold one release.
"""

import ctypes
import os
import re
import subprocess
import tempfile
from pathlib import Path

LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "python/lib_pywrap_tensorflow_common.so",
    "python/_pywrap_tensorflow_internal.so",
)


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p))

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.length) if self.length else b""


RETURNS = {
    ctypes.c_void_p: """TF_NewStatus TF_LoadLibrary TF_NewGraph TF_NewSessionOptions TF_AllocateTensor
        TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_TensorData""",
    ctypes.c_char_p: "TF_Message",
    ctypes.c_int64: "TF_Dim",
    ctypes.POINTER(Buffer): "TF_GetAllOpList TF_GetAllRegisteredKernels",
    Buffer: "TF_GetOpList",
}
"""What functions return, where it is no int."""


def load(package: Path) -> ctypes.CDLL:
    """Load the release whose package folder this is; its last library finds the C API of all."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for pattern in LIBRARIES:
        for path in sorted(package.glob(pattern)):
            library = open_library(path)
    return declare(library)


def open_library(path: Path) -> ctypes.CDLL:
    """Load a library for all that follow, with a stub for each Python symbol that is missing here."""
    while True:
        try:
            return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL | os.RTLD_LAZY)
        except OSError as error:
            missing = re.search(r"undefined symbol: (_?Py\w+)", str(error))
            if missing is None:
                raise
            define(missing[1])


def define(symbol: str) -> None:
    """Bring a variable of this name into the process."""
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder, "stub.so")
        compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", stub]
        subprocess.run(compiler, input=f"long {symbol}[64];".encode(), check=True)
        ctypes.CDLL(str(stub), ctypes.RTLD_GLOBAL)


def declare(tf: ctypes.CDLL) -> ctypes.CDLL:
    for kind, names in RETURNS.items():
        for name in names.split():
            if hasattr(tf, name):  # TF_GetAllRegisteredKernels came with 1.11
                getattr(tf, name).restype = kind
    return tf


class Status:
    """TF_Status: what the last call said, word for word."""

    def __init__(self, tf: ctypes.CDLL) -> None:
        self.tf, self.handle = tf, ctypes.c_void_p(tf.TF_NewStatus())

    @property
    def ok(self) -> bool:
        return self.tf.TF_GetCode(self.handle) == 0

    @property
    def message(self) -> str:
        return self.tf.TF_Message(self.handle).decode(errors="replace")
