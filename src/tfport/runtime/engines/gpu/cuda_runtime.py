"""CUDA's runtime library, which ONNX Runtime has loaded: its functions, and copies between host and GPU.

ONNX Runtime copies whole arrays, and waits for each. Here a batch is copied row by row from where the rows
are, on its own stream, while the GPU computes another batch. The GPU reads pinned memory itself.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray


OUT_OF_MEMORY = 2
ALREADY_PINNED, NOT_PINNED = 712, 713
PORTABLE, NON_BLOCKING = 1, 1
TO_DEVICE, TO_HOST = 1, 2
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
            error = ResourceExhausted if code == OUT_OF_MEMORY else Error
            raise error(f"cuda:{self._index}: {function} fails: {message}")


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


class DeviceCopies(Protocol):
    """Copies to and from one device; addresses are numbers."""

    def pin(self, memory: NDArray[np.uint8]) -> None:
        """Pin memory of the host, which must stay where it is."""
        ...

    def unpin(self, memory: NDArray[np.uint8]) -> None:
        """Undo `pin`."""
        ...

    def pinned(self, size: int) -> NDArray[np.uint8]:
        """New memory of the host that is pinned; it is never freed."""
        ...

    def stream(self) -> Any:
        """A queue of copies, independent of others."""
        ...

    def to_device(self, stream: Any, target: int, source: int, size: int) -> None:
        """Begin to copy to the device."""
        ...

    def to_host(self, stream: Any, target: int, source: int, size: int) -> None:
        """Begin to copy from the device."""
        ...

    def wait(self, stream: Any) -> None:
        """Wait for the copies of a stream."""
        ...

    def check(self) -> None:
        """Raise an Error if the device cannot be used any more."""
        ...


class CudaCopies:
    """Copies to and from a GPU; any thread may use them."""

    def __init__(self, index: int) -> None:
        self._cuda = CudaRuntime(index)

    def pin(self, memory: NDArray[np.uint8]) -> None:
        address, size = ctypes.c_void_p(address_of(memory)), ctypes.c_size_t(memory.nbytes)
        with GPU_LOCK.running():
            self._cuda.call("cudaHostRegister", address, size, PORTABLE, allowed=ALREADY_PINNED)

    def unpin(self, memory: NDArray[np.uint8]) -> None:
        with GPU_LOCK.running():
            self._cuda.call("cudaHostUnregister", ctypes.c_void_p(address_of(memory)), allowed=NOT_PINNED)

    def pinned(self, size: int) -> NDArray[np.uint8]:
        address = ctypes.c_void_p()
        with GPU_LOCK.running():
            self._cuda.call("cudaHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), PORTABLE)
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address.value or 0))

    def stream(self) -> ctypes.c_void_p:
        stream = ctypes.c_void_p()
        with GPU_LOCK.running():
            self._cuda.call("cudaStreamCreateWithFlags", ctypes.byref(stream), NON_BLOCKING)
        return stream

    def to_device(self, stream: Any, target: int, source: int, size: int) -> None:
        self._copy(stream, target, source, size, TO_DEVICE)

    def to_host(self, stream: Any, target: int, source: int, size: int) -> None:
        self._copy(stream, target, source, size, TO_HOST)

    def wait(self, stream: Any) -> None:
        self._cuda.call("cudaStreamSynchronize", stream)

    def check(self) -> None:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with GPU_LOCK.running():  # returns the error of an earlier kernel, if there was one
            self._cuda.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))

    def _copy(self, stream: Any, target: int, source: int, size: int, direction: int) -> None:
        addresses = ctypes.c_void_p(target), ctypes.c_void_p(source)
        self._cuda.begin("cudaMemcpyAsync", *addresses, ctypes.c_size_t(size), direction, stream)


class HostCopies:
    """The host instead of a device, for tests: the same calls, in ordinary memory."""

    def pin(self, memory: NDArray[np.uint8]) -> None:
        pass

    def unpin(self, memory: NDArray[np.uint8]) -> None:
        pass

    def pinned(self, size: int) -> NDArray[np.uint8]:
        return np.empty(size, np.uint8)

    def stream(self) -> None:
        return None

    def to_device(self, stream: Any, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def to_host(self, stream: Any, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def wait(self, stream: Any) -> None:
        pass

    def check(self) -> None:
        pass


copy_at_once = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
    ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0  # of Python itself, on every system
)
"""Copy on the host: to an address, from an address, so many bytes; keeps Python's lock."""


def address_of(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
