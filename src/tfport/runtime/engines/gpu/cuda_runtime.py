"""CUDA's runtime library, which ONNX Runtime has loaded, called for one GPU."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tfport.errors import Error, ResourceExhausted

OUT_OF_MEMORY = 2
ANY_CODE = -1
VERSIONS = (13, 12)
"""Major versions of CUDA whose runtime library is looked for."""


class CudaRuntime:
    """Calls functions of CUDA's C interface; any thread may use it."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._library, self._keeps_lock = _runtime_libraries()

    def call(self, function: str, *arguments: Any, allowed: int = 0) -> None:
        """Call a function; an Error if its code is neither 0 nor `allowed`, which may be `ANY_CODE`."""
        self._keeps_lock.cudaSetDevice(self._index)  # each thread has a current device
        self._check(function, getattr(self._library, function)(*arguments), allowed)

    def begin(self, function: str, *arguments: Any) -> None:
        """Call a function that only begins something, and keep Python's interpreter lock meanwhile.

        Taking the lock again can take longer than such a function.
        """
        self._keeps_lock.cudaSetDevice(self._index)
        self._check(function, getattr(self._keeps_lock, function)(*arguments), 0)

    def _check(self, function: str, code: int, allowed: int) -> None:
        if code not in (0, allowed) and allowed != ANY_CODE:
            self._library.cudaGetErrorString.restype = ctypes.c_char_p
            message = self._library.cudaGetErrorString(code).decode(errors="replace")
            kind = ResourceExhausted if code == OUT_OF_MEMORY else Error
            raise kind(f"cuda:{self._index}: {function} fails: {message}")


@functools.cache
def _runtime_libraries() -> tuple[Any, Any]:
    """The library twice: its calls release or keep Python's lock."""
    from tfport.runtime.engines.gpu.availability import load_libraries

    load_libraries()
    for version in VERSIONS:
        try:
            return ctypes.CDLL(f"libcudart.so.{version}"), ctypes.PyDLL(f"libcudart.so.{version}")
        except OSError:
            continue
    raise Error("CUDA's runtime library, libcudart.so, is not installed")
