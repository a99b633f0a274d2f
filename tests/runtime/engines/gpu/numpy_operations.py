"""Operations of CUDA's libraries computed with NumPy, in the memory that the addresses name."""

import ctypes
from collections.abc import Sequence
from math import prod

import numpy as np

from tfport.runtime.passes.islands.fused_convolution import FusedConvolution
from tfport.runtime.passes.islands.fused_product import FusedProduct
from tfport.runtime.passes.islands.island_parts import Operation


class NumpyOperations:
    """Takes the place of cuDNN and cuBLASLt; counts what it prepares, and whether that runs."""

    def __init__(self) -> None:
        self.prepared_shapes: list[Sequence[int]] = []
        self.made: list[_Convolution | _Product] = []

    @property
    def all_have_run(self) -> bool:
        return bool(self.made) and all(operation.has_run for operation in self.made)

    def prepared(
        self, operation: Operation, x: Sequence[int], output: Sequence[int]
    ) -> "_Convolution | _Product":
        self.prepared_shapes.append(x)
        kind = _Product if isinstance(operation, FusedProduct) else _Convolution
        self.made.append(kind(operation, x, output))
        return self.made[-1]


class _Product:
    workspace = 50

    def __init__(self, product: FusedProduct, x: Sequence[int], output: Sequence[int]) -> None:
        self._product, self._x, self._output = product, x, output
        self.has_run = False

    def begin(
        self, inputs: Sequence[int], constants: Sequence[int], outputs: Sequence[int], workspace: int
    ) -> None:
        self.has_run = True
        product, kind = self._product, self._product.weights.dtype
        (x,), (weights, bias) = inputs, constants
        matrices = _array(weights, product.weights.shape, kind).astype(np.float32)
        positions = _array(x, self._x, kind).astype(np.float32).reshape(-1, self._x[-1])
        result = positions @ matrices.swapaxes(1, 2) + _array(bias, product.bias.shape, kind)[:, None]
        if product.relu:
            result = np.maximum(result, 0)
        ctypes.memset(workspace, 7, self.workspace)
        _array(outputs[0], (len(outputs), *self._output), kind).reshape(result.shape)[...] = result


class _Convolution:
    workspace = 100

    def __init__(self, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> None:
        self._conv, self._x, self._output = conv, x, output
        self.has_run = False

    def begin(
        self, inputs: Sequence[int], constants: Sequence[int], outputs: Sequence[int], workspace: int
    ) -> None:
        (x, shortcut), (weights, bias), output = (*inputs, 0)[:2], constants, outputs[0]
        self.has_run = True
        conv, kind = self._conv, self._conv.weights.dtype
        window = _array(weights, conv.weights.shape, kind).astype(np.float32)
        image = np.pad(
            _array(x, self._x, kind).astype(np.float32), [(0, 0), *((pad, pad) for pad in conv.pads), (0, 0)]
        )
        result = np.zeros(self._output, np.float32) + _array(bias, conv.bias.shape, kind)
        for row in range(window.shape[1]):
            for column in range(window.shape[2]):
                at = row * conv.dilations[0], column * conv.dilations[1]
                rows, columns = (
                    slice(begin, begin + (size - 1) * stride + 1, stride)
                    for begin, size, stride in zip(at, self._output[1:3], conv.strides, strict=True)
                )
                result += image[:, rows, columns] @ window[:, row, column].T
        if shortcut:
            result += _array(shortcut, self._output, kind)
        if conv.relu:
            result = np.maximum(result, 0)
        ctypes.memset(workspace, 7, self.workspace)
        _array(output, self._output, kind)[...] = result


def _array(address: int, shape: Sequence[int], kind: np.dtype) -> np.ndarray:
    size = prod(shape) * kind.itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), kind).reshape(shape)
