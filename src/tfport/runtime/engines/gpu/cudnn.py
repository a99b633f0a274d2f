"""cuDNN's convolution with a sum and a Relu in the same kernel, called on a stream.

ONNX Runtime has that kernel only for float32 images with their channels first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tfport.errors import Error
from tfport.runtime.engines.gpu.c_library import CLibrary, LibraryObject
from tfport.runtime.passes.islands.fused_convolution import FusedConvolution

LIBRARY = "libcudnn.so.9"
TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}
FLOAT = 0
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
        self.handle = self.made("cudnnCreate", "cudnnDestroy")
        self.call("cudnnSetStream", self.handle.pointer, ctypes.c_void_p(stream))

    def prepared(self, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> CudnnConvolution:
        return CudnnConvolution(self, conv, x, output)

    def tensor(self, kind: int, shape: Sequence[int]) -> LibraryObject:
        return self._described("Tensor", "Tensor4d", CHANNELS_LAST, kind, *_channels_first(shape))

    def filter(self, kind: int, shape: Sequence[int]) -> LibraryObject:
        return self._described("Filter", "Filter4d", kind, CHANNELS_LAST, *_channels_first(shape))

    def activation(self, mode: int) -> LibraryObject:
        return self._described("Activation", "Activation", mode, PROPAGATE_NAN, ctypes.c_double(0))

    def convolution(self, conv: FusedConvolution, math: int) -> LibraryObject:
        numbers = *conv.pads, *conv.strides, *conv.dilations
        made = self._described("Convolution", "Convolution2d", *numbers, CROSS_CORRELATION, FLOAT)
        self.call("cudnnSetConvolutionMathType", made.pointer, math)
        return made

    def _described(self, kind: str, form: str, *numbers: Any) -> LibraryObject:
        """A descriptor of a kind, in a form of it."""
        made = self.made(f"cudnnCreate{kind}Descriptor", f"cudnnDestroy{kind}Descriptor")
        self.call(f"cudnnSet{form}Descriptor", made.pointer, *numbers)
        return made


def _channels_first(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Sizes in the order in which cuDNN takes them for every layout."""
    batch, height, width, channels = shape
    return batch, channels, height, width


class CudnnConvolution:
    """A convolution of cuDNN for images of certain sizes."""

    def __init__(self, cudnn: Cudnn, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> None:
        kind = TYPES[conv.weights.dtype.name]
        self._cudnn, self._handle = cudnn, cudnn.handle
        self._x, self._output = cudnn.tensor(kind, x), cudnn.tensor(kind, output)
        self._weights = cudnn.filter(kind, conv.weights.shape)
        self._bias = cudnn.tensor(kind, (1, 1, 1, len(conv.bias)))
        self._conv = cudnn.convolution(conv, DEFAULT_MATH if kind == FLOAT else TENSOR_CORES)
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
