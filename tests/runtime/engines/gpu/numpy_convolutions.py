"""cuDNN's convolutions computed with NumPy, in the memory that the addresses name."""

import ctypes
from collections.abc import Sequence
from math import prod

import numpy as np

from tfport.runtime.onnx.fused_convolution import FusedConvolution


class NumpyConvolutions:
    """Takes the place of cuDNN; counts what it prepares."""

    def __init__(self) -> None:
        self.prepared_shapes: list[Sequence[int]] = []

    def prepared(self, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> "_Convolution":
        self.prepared_shapes.append(x)
        return _Convolution(conv, x, output)


class _Convolution:
    workspace = 100

    def __init__(self, conv: FusedConvolution, x: Sequence[int], output: Sequence[int]) -> None:
        self._conv, self._x, self._output = conv, x, output

    def begin(self, x: int, weights: int, bias: int, shortcut: int, output: int, workspace: int) -> None:
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
