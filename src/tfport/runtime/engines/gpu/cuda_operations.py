"""Operations that libraries of CUDA compute on a stream: convolutions of cuDNN, products of cuBLASLt."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tfport.runtime.engines.gpu.capture_lock import GPU_LOCK
from tfport.runtime.engines.gpu.cuda_libraries import CublasLt, Cudnn
from tfport.runtime.passes.islands.fused_product import FusedProduct

if TYPE_CHECKING:
    from tfport.runtime.engines.gpu.graph_stream import GraphStream
    from tfport.runtime.passes.islands.island_parts import Operation


class PreparedOperation(Protocol):
    """An operation for inputs of certain sizes."""

    workspace: int
    """Bytes of the device that it needs besides."""

    def begin(
        self, inputs: Sequence[int], constants: Sequence[int], outputs: Sequence[int], workspace: int
    ) -> None:
        """Launch it, with the addresses of what it reads and writes."""
        ...


class OperationLibrary(Protocol):
    """Computes operations on the stream of an island."""

    def prepared(self, operation: Operation, x: Sequence[int], output: Sequence[int]) -> PreparedOperation:
        """An operation for an input of these sizes; an Error if the library has no kernel for it."""
        ...


class CudaOperations:
    """The libraries on one stream, each loaded when it is needed; one thread uses them at a time."""

    def __init__(self, stream: GraphStream) -> None:
        self._stream = stream

    def prepared(self, operation: Operation, x: Sequence[int], output: Sequence[int]) -> PreparedOperation:
        if isinstance(operation, FusedProduct):
            return self._cublaslt.prepared(operation, x)
        return self._cudnn.prepared(operation, x, output)

    @functools.cached_property
    def _cudnn(self) -> Cudnn:
        with GPU_LOCK.running():
            return Cudnn(self._stream.address)

    @functools.cached_property
    def _cublaslt(self) -> CublasLt:
        with GPU_LOCK.running():
            return CublasLt(self._stream)
