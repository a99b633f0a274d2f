"""Write TensorFlow Lite models with fixed sizes, over values whose axes may lie in another order.

`LiteScribe` decides on the order of axes (`island_node`), `LiteModelWriter` collects tensors, constants and
operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes
from tfport.runtime.engines.litert.island_node import IslandValue, plain_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


SCHEMA_VERSION = 3
TYPES = {"float32": "FLOAT32", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "bool": "BOOL"}
OPTIONS = {
    "ADD": "AddOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "BATCH_MATMUL": "BatchMatMulOptions",
    "CAST": "CastOptions", "CONCATENATION": "ConcatenationOptions", "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "DIV": "DivOptions", "FULLY_CONNECTED": "FullyConnectedOptions", "GATHER": "GatherOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "MAXIMUM": "MaximumMinimumOptions", "MAX_POOL_2D": "Pool2DOptions", "MEAN": "ReducerOptions",
    "MINIMUM": "MaximumMinimumOptions", "MUL": "MulOptions", "PAD": "PadOptions",
    "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions", "RESHAPE": "ReshapeOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions", "SLICE": "SliceOptions", "SOFTMAX": "SoftmaxOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions", "STRIDED_SLICE": "StridedSliceOptions",
    "SUB": "SubOptions", "SUM": "ReducerOptions", "TRANSPOSE": "TransposeOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
}  # fmt: skip
"""The table of options of each operator that has one."""


class LiteScribe:
    """Adds operators to a model; each returns its result."""

    def __init__(self) -> None:
        self.model = LiteModelWriter()
        self._transposed: dict[tuple[int, tuple[int, ...]], int] = {}
        """Tensors in other orders, by the tensor and the order."""
        self._written: dict[tuple[int, tuple[int, ...]], int] = {}
        """Constants, by the array and the order."""
        self._kept: list[Any] = []

    def input(self, sizes: Sequence[int], dtype: str) -> IslandValue:
        tensor = self.model.tensor(sizes, dtype)
        return IslandValue(tuple(sizes), tensor, plain_order(sizes), dtype=dtype)

    def add(
        self,
        op: str,
        inputs: Sequence[int],
        sizes: Sequence[int],
        order: Sequence[int] | None = None,
        **options: Any,
    ) -> IslandValue:
        """An operator on tensors, with the sizes of its result in ONNX's order, and its real order."""
        own = tuple(order) if order is not None else plain_order(sizes)
        tensor = self.model.tensor([sizes[axis] for axis in own], "float32")
        self.model.operator(op, inputs, [tensor], OPTIONS.get(op, ""), options)
        return IslandValue(tuple(sizes), tensor, own)

    def ints(self, *numbers: int) -> int:
        return self.model.constant(np.array(numbers, np.int32))

    def pairs(self, pairs: Sequence[tuple[int, int]]) -> int:
        return self.model.constant(np.array(pairs, np.int32))

    def array(self, array: NDArray[Any]) -> int:
        """A constant as it is."""
        return self.in_order(IslandValue(array.shape, array=array), plain_order(array.shape))

    def in_order(self, value: IslandValue, order: Sequence[int]) -> int:
        """A tensor with the elements of a value, its axes in this order."""
        order = tuple(order)
        if value.array is not None:
            key = (id(value.array), order)
            if key not in self._written:
                self._kept.append(value.array)
                self._written[key] = self.model.constant(np.transpose(value.array, order))
            return self._written[key]
        if value.order == order:
            return value.tensor
        key = (value.tensor, order)
        if key not in self._transposed:
            self._transposed[key] = self._moved(value, order).tensor
        return self._transposed[key]

    def plain(self, value: IslandValue) -> int:
        return self.in_order(value, plain_order(value.sizes))

    def reshaped(self, tensor: int, sizes: Sequence[int], order: Sequence[int] | None = None) -> IslandValue:
        """The elements of a tensor as they lie there, with other sizes."""
        own = order if order is not None else plain_order(sizes)
        real = [int(sizes[axis]) for axis in own]
        return self.add("RESHAPE", [tensor, self.ints(*real)], sizes, own, new_shape=real)

    def _moved(self, value: IslandValue, order: tuple[int, ...]) -> IslandValue:
        def longer(axes: tuple[int, ...]) -> list[int]:
            return [axis for axis in axes if value.sizes[axis] > 1]

        if longer(value.order) == longer(order):
            return self.reshaped(value.tensor, value.sizes, order)
        perm = self.ints(*(value.order.index(axis) for axis in order))
        return self.add("TRANSPOSE", [value.tensor, perm], value.sizes, order)


class LiteModelWriter:
    """Collects the tensors, constants and operators of a model of one subgraph."""

    def __init__(self) -> None:
        self._numbers = lite_schema().enums["BuiltinOperator"].numbers
        self._tensors: list[LiteTensor] = []
        self._operators: list[LiteOperator] = []
        self._buffers: list[bytes | memoryview] = [b""]

    def tensor(self, sizes: Sequence[int], dtype: str, buffer: int = 0) -> int:
        number = len(self._tensors)
        self._tensors.append(LiteTensor(f"{number}", TYPES[dtype], tuple(map(int, sizes)), buffer))
        return number

    def constant(self, array: NDArray[Any]) -> int:
        data = np.ascontiguousarray(array)
        self._buffers.append(data.reshape(-1).data.cast("B"))
        return self.tensor(array.shape, data.dtype.name, len(self._buffers) - 1)

    def operator(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_type: str,
        options: dict[str, Any],
    ) -> None:
        code = OperatorCode(op, self._numbers[op])
        self._operators.append(LiteOperator(code, tuple(inputs), tuple(outputs), options, options_type))

    def bytes(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file."""
        graph = Subgraph("main", self._tensors, self._operators, tuple(inputs), tuple(outputs))
        return lite_bytes(LiteFile("", SCHEMA_VERSION, "", [], [graph], [], self._buffers, []))
