"""Record what an island launches on a GPU, once, and launch it together from then on: a CUDA graph.

ONNX Runtime records graphs too, but one for each thread, and it takes longer to launch them. What a graph
copies from the host lies in memory that ONNX Runtime uses again; a graph of this module has its own copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfport.errors import Error
from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.cuda_runtime import ANY_CODE, CudaCopies, CudaRuntime, address_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

RELAXED = 2
"""The mode of a capture in which memory can be allocated meanwhile."""
KERNEL, MEMCPY, MEMSET, ALLOCATE, FREE = 0, 1, 2, 10, 11
DEVICE_TO_DEVICE = 3
ON_DEVICE = (2, 3)
"""CUDA's numbers for memory of a device, and for memory of both."""
ATTRIBUTES_SIZE = 256
"""More than CUDA's description of a pointer takes in any version."""


class GraphStream(Protocol):
    """The queue of an island on a device; one thread uses it at a time."""

    address: int
    """What ONNX Runtime must use as its stream; 0 if there is none."""

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        """The function that begins what `run` begins, without the host's part in it.

        `run` has been called before, so that memory and kernels are there. No other thread uses the device
        meanwhile (`capture_lock`).
        """
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Begin to copy from the device to the device."""
        ...

    def landing(self, size: int) -> NDArray[np.uint8]:
        """Memory of the host that `land` copies to."""
        ...

    def land(self, target: int, source: int, size: int) -> None:
        """Begin to copy from the device to the host."""
        ...

    def wait(self) -> None:
        """Wait for all that was begun."""
        ...


class CudaGraphStream:
    """A stream of a GPU that waits for the default stream, on which other libraries fill their tensors."""

    def __init__(self, index: int) -> None:
        self._cuda, self._copies = CudaRuntime(index), CudaCopies(index)
        self._stream = ctypes.c_void_p()
        self._cuda.call("cudaStreamCreateWithFlags", ctypes.byref(self._stream), 0)
        self.address = self._stream.value or 0

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        with GPU_LOCK.capturing():
            return self._captured(run)

    def _captured(self, run: Callable[[], None]) -> Callable[[], None]:
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.wait()
        self._cuda.call("cudaStreamBeginCapture", self._stream, RELAXED)
        try:
            run()
        except BaseException:
            self._cuda.call("cudaStreamEndCapture", self._stream, ctypes.byref(graph), allowed=ANY_CODE)
            self._cuda.call("cudaGetLastError", allowed=ANY_CODE)  # or the next call of this thread fails
            raise
        self._cuda.call("cudaStreamEndCapture", self._stream, ctypes.byref(graph))
        try:
            kept = self._with_own_sources(graph)
            flags = ctypes.c_ulonglong(0)
            self._cuda.call("cudaGraphInstantiate", ctypes.byref(executable), graph, flags)
        finally:
            self._cuda.call("cudaGraphDestroy", graph)
        return _Recorded(self._cuda, executable, self._stream, kept)

    def copy(self, target: int, source: int, size: int) -> None:
        addresses = ctypes.c_void_p(target), ctypes.c_void_p(source)
        self._cuda.begin("cudaMemcpyAsync", *addresses, ctypes.c_size_t(size), DEVICE_TO_DEVICE, self._stream)

    def landing(self, size: int) -> NDArray[np.uint8]:
        return self._copies.pinned(size)

    def land(self, target: int, source: int, size: int) -> None:
        self._copies.to_host(self._stream, target, source, size)

    def wait(self) -> None:
        self._cuda.call("cudaStreamSynchronize", self._stream)

    def _with_own_sources(self, graph: ctypes.c_void_p) -> list[Any]:
        """Make copies from the host read memory that belongs to the graph; returns that memory."""
        kept = []
        for node in self._nodes(graph):
            kind = ctypes.c_int()
            self._cuda.call("cudaGraphNodeGetType", node, ctypes.byref(kind))
            if kind.value == MEMCPY:
                kept.append(self._own_source(node))
            elif kind.value not in (KERNEL, MEMSET, ALLOCATE, FREE):
                raise Error(f"a part of kind {kind.value} cannot be repeated without the host")
        return kept

    def _own_source(self, node: ctypes.c_void_p) -> Any:
        copy = _Memcpy()
        self._cuda.call("cudaGraphMemcpyNodeGetParams", node, ctypes.byref(copy))
        if not self._is_on_device(copy.target.address):
            raise Error("it copies to the host")
        if self._is_on_device(copy.source.address):
            return None
        if copy.height > 1 or copy.depth > 1:
            raise Error("it copies rows from the host")
        memory = self._copies.pinned(copy.width)
        ctypes.memmove(address_of(memory), copy.source.address + copy.source_position[0], copy.width)
        copy.source.address = address_of(memory)
        copy.source_position[0] = 0
        self._cuda.call("cudaGraphMemcpyNodeSetParams", node, ctypes.byref(copy))
        return memory

    def _is_on_device(self, address: int | None) -> bool:
        attributes = (ctypes.c_int * (ATTRIBUTES_SIZE // 4))()
        self._cuda.call("cudaPointerGetAttributes", ctypes.byref(attributes), ctypes.c_void_p(address))
        return attributes[0] in ON_DEVICE

    def _nodes(self, graph: ctypes.c_void_p) -> list[ctypes.c_void_p]:
        count = ctypes.c_size_t()
        self._cuda.call("cudaGraphGetNodes", graph, None, ctypes.byref(count))
        nodes = (ctypes.c_void_p * count.value)()
        self._cuda.call("cudaGraphGetNodes", graph, nodes, ctypes.byref(count))
        return [ctypes.c_void_p(node) for node in nodes]


class HostGraphStream:
    """The host in place of a device, for tests: nothing is recorded, runs are repeated as they are."""

    address = 0

    def record(self, run: Callable[[], None]) -> Callable[[], None]:
        return run

    def copy(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def landing(self, size: int) -> NDArray[np.uint8]:
        return np.empty(size, np.uint8)

    def land(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def wait(self) -> None:
        pass


class _Recorded:
    """A graph that can be launched; it is freed with this object."""

    def __init__(
        self, cuda: CudaRuntime, executable: ctypes.c_void_p, stream: ctypes.c_void_p, kept: list[Any]
    ) -> None:
        self._cuda, self._executable, self._stream, self._kept = cuda, executable, stream, kept

    def __call__(self) -> None:
        self._cuda.begin("cudaGraphLaunch", self._executable, self._stream)

    def __del__(self) -> None:
        self._cuda.call("cudaGraphExecDestroy", self._executable, allowed=ANY_CODE)


class _Pitched(ctypes.Structure):
    """CUDA's `cudaPitchedPtr`."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class _Memcpy(ctypes.Structure):
    """CUDA's `cudaMemcpy3DParms`."""

    _fields_ = (
        ("source_array", ctypes.c_void_p),
        ("source_position", ctypes.c_size_t * 3),
        ("source", _Pitched),
        ("target_array", ctypes.c_void_p),
        ("target_position", ctypes.c_size_t * 3),
        ("target", _Pitched),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
        ("kind", ctypes.c_int),
    )
