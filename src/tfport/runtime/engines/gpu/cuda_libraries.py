"""cuBLASLt's products and cuDNN's convolutions, called on a stream through their C interfaces.

Each adds a bias and applies a Relu in the same kernel. ONNX Runtime has such a convolution only for float32
images with channels first.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.runtime.engines.gpu.cuda_runtime import VERSIONS
from tfport.runtime.passes.islands.fused_convolution import FusedConvolution
from tfport.runtime.passes.islands.fused_product import FusedProduct

if TYPE_CHECKING:
    from tfport.runtime.engines.gpu.graph_stream import GraphStream


class CLibrary:
    """Calls functions of a C library that return a code; one that is not 0 is an Error."""

    def __init__(self, library: Any, described_by: str) -> None:
        """`described_by`: the function that says what a code means."""
        self._library, self._described_by = library, described_by

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            describe = getattr(self._library, self._described_by)
            describe.restype = ctypes.c_char_p
            raise Error(f"{function} fails: {describe(code).decode(errors='replace')}")

    def create(self, function: str, destroy: str, *arguments: Any) -> LibraryObject:
        """The object that a function creates; `destroy` names the one that destroys it."""
        pointer = ctypes.c_void_p()
        self.call(function, ctypes.byref(pointer), *arguments)
        return LibraryObject(pointer, getattr(self._library, destroy))


class LibraryObject:
    """The pointer to an object, such as a cuDNN descriptor, which is destroyed with this one."""

    def __init__(self, pointer: ctypes.c_void_p, destroy: Any) -> None:
        self.pointer, self._destroy = pointer, destroy

    def __del__(self) -> None:
        self._destroy(self.pointer)


# cuBLASLt stores matrices by columns, so that [rows, columns] here is transposed there:
#     yᵀ [columns, positions]  =  w [columns, rows] · xᵀ [rows, positions]

TYPES = {"float32": 0, "float16": 2, "bfloat16": 14}
FLOAT = 0
FULL_FLOAT32, TF32 = 68, 77
"""How products are added up: for types of 16 bits in float32."""
TRANSPOSE_A, EPILOGUE, BIAS, BIAS_STRIDE = 3, 7, 8, 10
"""Attributes of a product."""
COUNT, STRIDE = 5, 6
"""Attributes of matrices: how many there are, and how far they are apart."""
MAX_WORKSPACE = 1
"""An attribute of what is looked for."""
WITH_BIAS, WITH_BIAS_AND_RELU = 4, 6
WORKSPACE = 32 << 20
CANDIDATES = 8
"""Algorithms that are tried."""
REPEATS, TURNS = 20, 3
MUCH_FASTER = 0.97
"""An algorithm is used in place of one that cuBLASLt prefers if it takes less than this part of its time."""


class CublasLt(CLibrary):
    """cuBLASLt on one stream; one thread uses it at a time."""

    def __init__(self, stream: GraphStream) -> None:
        super().__init__(_library(), "cublasLtGetStatusName")
        self._stream = stream
        self.stream = ctypes.c_void_p(stream.address)
        self.handle = self.create("cublasLtCreate", "cublasLtDestroy")
        self._fastest: dict[Any, int] = {}

    def prepared(self, product: FusedProduct, x: Sequence[int]) -> CublasLtProduct:
        return CublasLtProduct(self, product, prod(x[:-1]))

    def fastest(self, key: Any, begins: Sequence[Callable[[], None]]) -> int:
        """Which of several functions that begin the same is the fastest; found out once for a key."""
        if key not in self._fastest:
            times = [self._time(begin) for begin in begins]
            best = min(range(len(times)), key=times.__getitem__)
            self._fastest[key] = best if times[best] < MUCH_FASTER * times[0] else 0
        return self._fastest[key]

    def _time(self, begin: Callable[[], None]) -> float:
        """How long it takes the GPU: as a graph, or the calls would take longer than what they begin."""

        def repeated() -> None:
            for _ in range(REPEATS):
                begin()

        replay = self._stream.record(repeated)
        times = []
        for _ in range(TURNS + 1):  # the first one is not counted
            began = time.perf_counter()
            replay()
            self._stream.wait()
            times.append(time.perf_counter() - began)
        return min(times[1:])

    def matrices(self, dtype: int, rows: int, columns: int, count: int, stride: int) -> LibraryObject:
        """Matrices of the same size; with a stride of 0 it is the same one each time."""
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)
        layout = self.create("cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy", dtype, *sizes)
        self.set("cublasLtMatrixLayoutSetAttribute", layout, COUNT, ctypes.c_int32(count))
        self.set("cublasLtMatrixLayoutSetAttribute", layout, STRIDE, ctypes.c_int64(stride))
        return layout

    def set(self, function: str, descriptor: LibraryObject, attribute: int, value: Any) -> None:
        size = ctypes.c_size_t(ctypes.sizeof(value))
        self.call(function, descriptor.pointer, attribute, ctypes.byref(value), size)


class CublasLtProduct:
    """A product of cuBLASLt for a number of positions."""

    def __init__(self, library: CublasLt, product: FusedProduct, positions: int) -> None:
        self._library = library
        dtype = TYPES[product.weights.dtype.name]
        count, columns, rows = product.weights.shape
        compute = TF32 if dtype == FLOAT else FULL_FLOAT32
        self._product = library.create(
            "cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", compute, FLOAT
        )
        self._set(TRANSPOSE_A, ctypes.c_int32(1))
        self._set(EPILOGUE, ctypes.c_uint32(WITH_BIAS_AND_RELU if product.relu else WITH_BIAS))
        self._set(BIAS_STRIDE, ctypes.c_int64(columns if count > 1 else 0))
        self._weights = library.matrices(dtype, rows, columns, count, rows * columns)
        self._x = library.matrices(dtype, rows, positions, count, 0)
        self._output = library.matrices(dtype, columns, positions, count, columns * positions)
        self._algorithms = self._candidates()
        self._key = product.weights.shape, dtype, product.relu, positions
        self._chosen: int | None = None
        self.workspace = max(algorithm.workspace for algorithm in self._algorithms)

    def begin(
        self, inputs: Sequence[int], constants: Sequence[int], outputs: Sequence[int], workspace: int
    ) -> None:
        (x,), (weights, bias), output = inputs, constants, outputs[0]
        self._set(BIAS, ctypes.c_void_p(bias))

        def launch(algorithm: _Algorithm) -> None:
            address, (factor, kept) = ctypes.c_void_p, (ctypes.c_float(1), ctypes.c_float(0))
            self._library.call(
                "cublasLtMatmul",
                self._library.handle.pointer, self._product.pointer,
                ctypes.byref(factor), address(weights), self._weights.pointer,
                address(x), self._x.pointer,
                ctypes.byref(kept), address(output), self._output.pointer,
                address(output), self._output.pointer,
                ctypes.byref(algorithm.data),
                address(workspace), ctypes.c_size_t(algorithm.workspace),
                self._library.stream,
            )  # fmt: skip

        if self._chosen is None:
            begins = [functools.partial(launch, algorithm) for algorithm in self._algorithms]
            self._chosen = self._library.fastest(self._key, begins)
        launch(self._algorithms[self._chosen])

    def _set(self, attribute: int, value: Any) -> None:
        self._library.set("cublasLtMatmulDescSetAttribute", self._product, attribute, value)

    def _candidates(self) -> list[_Algorithm]:
        """Those that may be the fastest, the one that cuBLASLt prefers first."""
        library, offered, count = self._library, (_Algorithm * CANDIDATES)(), ctypes.c_int()
        wanted = library.create("cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy")
        most = ctypes.c_size_t(WORKSPACE)
        library.set("cublasLtMatmulPreferenceSetAttribute", wanted, MAX_WORKSPACE, most)
        parts = self._product, self._weights, self._x, self._output, self._output, wanted
        pointers = [part.pointer for part in (library.handle, *parts)]
        results = CANDIDATES, ctypes.byref(offered), ctypes.byref(count)
        library.call("cublasLtMatmulAlgoGetHeuristic", *pointers, *results)
        usable = [algorithm for algorithm in offered[: count.value] if not algorithm.status]
        if not usable:
            raise Error("cuBLASLt has no kernel for a product")
        return usable


class _Algorithm(ctypes.Structure):
    """cuBLASLt's `cublasLtMatmulHeuristicResult_t`."""

    _fields_ = (
        ("data", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


def _library() -> Any:
    for version in VERSIONS:
        try:
            return ctypes.CDLL(f"libcublasLt.so.{version}")
        except OSError:
            continue
    raise Error("cuBLASLt's library, libcublasLt.so, is not installed")


# Convolutions with cuDNN

LIBRARY = "libcudnn.so.9"
CUDNN_TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}
CHANNELS_LAST = 1
CROSS_CORRELATION = 1
DEFAULT_MATH, TENSOR_CORES = 0, 1
"""For float32, the default is TF32."""
PRECOMPUTED = 1
"""The algorithm `IMPLICIT_PRECOMP_GEMM`: the only one that takes every activation; others were slower."""
RELU, IDENTITY = 1, 5
PROPAGATE_NAN = 1


class Cudnn(CLibrary):
    """cuDNN on one stream; one thread uses it at a time."""

    def __init__(self, stream: int) -> None:
        try:
            super().__init__(ctypes.CDLL(LIBRARY), "cudnnGetErrorString")
        except OSError as error:
            raise Error(f"{LIBRARY} does not load: {error}") from None
        self.handle = self.create("cudnnCreate", "cudnnDestroy")
        self.call("cudnnSetStream", self.handle.pointer, ctypes.c_void_p(stream))

    def prepared(self, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> CudnnConvolution:
        return CudnnConvolution(self, conv, x, output)

    def tensor(self, dtype: int, shape: Sequence[int]) -> LibraryObject:
        return self._described("Tensor", "Tensor4d", CHANNELS_LAST, dtype, *_channels_first(shape))

    def filter(self, dtype: int, shape: Sequence[int]) -> LibraryObject:
        return self._described("Filter", "Filter4d", dtype, CHANNELS_LAST, *_channels_first(shape))

    def activation(self, mode: int) -> LibraryObject:
        return self._described("Activation", "Activation", mode, PROPAGATE_NAN, ctypes.c_double(0))

    def convolution(self, conv: FusedConvolution, math: int) -> LibraryObject:
        numbers = *conv.pads, *conv.strides, *conv.dilations
        descriptor = self._described("Convolution", "Convolution2d", *numbers, CROSS_CORRELATION, FLOAT)
        self.call("cudnnSetConvolutionMathType", descriptor.pointer, math)
        return descriptor

    def _described(self, kind: str, form: str, *numbers: Any) -> LibraryObject:
        """A descriptor of a kind, in a form of it."""
        descriptor = self.create(f"cudnnCreate{kind}Descriptor", f"cudnnDestroy{kind}Descriptor")
        self.call(f"cudnnSet{form}Descriptor", descriptor.pointer, *numbers)
        return descriptor


def _channels_first(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Sizes in the order in which cuDNN takes them for every layout."""
    batch, height, width, channels = shape
    return batch, channels, height, width


class CudnnConvolution:
    """A convolution of cuDNN for images of certain sizes."""

    def __init__(self, cudnn: Cudnn, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> None:
        dtype = CUDNN_TYPES[conv.weights.dtype.name]
        self._cudnn, self._handle = cudnn, cudnn.handle
        self._x, self._output = cudnn.tensor(dtype, x), cudnn.tensor(dtype, output)
        self._weights = cudnn.filter(dtype, conv.weights.shape)
        self._bias = cudnn.tensor(dtype, (1, 1, 1, len(conv.bias)))
        self._conv = cudnn.convolution(conv, DEFAULT_MATH if dtype == FLOAT else TENSOR_CORES)
        self._activation = cudnn.activation(RELU if conv.relu else IDENTITY)
        size = ctypes.c_size_t()
        described = (part.pointer for part in (self._x, self._weights, self._conv, self._output))
        function = "cudnnGetConvolutionForwardWorkspaceSize"
        cudnn.call(function, self._handle.pointer, *described, PRECOMPUTED, ctypes.byref(size))
        self.workspace = size.value

    def begin(
        self, inputs: Sequence[int], constants: Sequence[int], outputs: Sequence[int], workspace: int
    ) -> None:
        (x, shortcut), (weights, bias), output = (*inputs, 0)[:2], constants, outputs[0]
        address = ctypes.c_void_p
        factor, added = ctypes.c_float(1), ctypes.c_float(bool(shortcut))
        self._cudnn.call(
            "cudnnConvolutionBiasActivationForward",
            self._handle.pointer,
            ctypes.byref(factor), self._x.pointer, address(x),
            self._weights.pointer, address(weights),
            self._conv.pointer, PRECOMPUTED,
            address(workspace), ctypes.c_size_t(self.workspace),
            ctypes.byref(added), self._output.pointer, address(shortcut or output),
            self._bias.pointer, address(bias),
            self._activation.pointer,
            self._output.pointer, address(output),
        )  # fmt: skip
