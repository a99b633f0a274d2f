"""A value of a StableHLO program while its TensorFlow nodes are built.

A broadcast is not written out at once: `compact` is a tensor that broadcasts to the value, which is
enough for element-wise ops; `value` is the whole tensor. Constants become nodes when they are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.formats.stablehlo.vhlo import TensorType
from tfport.graph.building.node_builder import Dims, NodeBuilder
from tfport.graph.dtypes import INT32, DType
from tfport.graph.graph import Value

MOST_WRITTEN_OUT = 64
"""A constant with equal elements is stored as one element if it has more than this many."""


class HloTensor:
    """A tensor of known rank and element type."""

    __slots__ = ("_compact", "_op", "_shape", "_value", "array", "dims", "dtype")

    def __init__(
        self,
        op: NodeBuilder[Any],
        dims: Dims,
        dtype: DType,
        value: Value | None = None,
        *,
        compact: Value | None = None,
        shape: Value | None = None,
        array: Any = None,
    ) -> None:
        self._op, self.dims, self.dtype = op, dims, dtype
        self._value, self._compact, self._shape = value, compact, shape
        self.array = array
        """The elements of a constant, else None."""
        if value is not None:
            op.set_shape(value, dims)

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def value(self) -> Value:
        """The whole tensor."""
        if self._value is None:
            self._value = self._whole()
            self._op.set_shape(self._value, self.dims)
        return self._value

    @property
    def compact(self) -> Value:
        """A tensor that broadcasts to this one."""
        if self._value is None and self._compact is None and self.array is not None and _is_splat(self.array):
            self._compact = self._op.const(self.array.reshape(-1)[0], self.dtype)
        return self._compact if self._compact is not None else self.value

    @property
    def is_compact(self) -> bool:
        """Whether the whole tensor is not built yet, and something smaller broadcasts to it."""
        if self._value is not None:
            return False
        return self._compact is not None or (self.array is not None and _is_splat(self.array))

    @property
    def scalar(self) -> Any:
        """The element of a constant whose elements are equal, else None."""
        is_splat = self.array is not None and self.array.size and (self.rank == 0 or _is_splat(self.array))
        return self.array.reshape(-1)[0] if is_splat else None

    @property
    def shape(self) -> Value | None:
        """The shape that a compact tensor broadcasts to, if it is not constant."""
        return self._shape

    def _whole(self) -> Value:
        if self.array is not None and (self._compact is None and not self._is_large_splat()):
            return self._op.const(np.ascontiguousarray(self.array).reshape(self.array.shape), self.dtype)
        shape = self._shape if self._shape is not None else self._op.const(stated(self.dims), INT32)
        compact = self.compact
        if self._op.shape(compact) == ():
            return self._op.Fill(shape, compact).output(0)
        return self._op.BroadcastTo(compact, shape).output(0)

    def _is_large_splat(self) -> bool:
        return bool(self.array.size > MOST_WRITTEN_OUT and _is_splat(self.array))


def _is_splat(array: Any) -> bool:
    """Whether all elements are stored as one."""
    return bool(array.size > 1 and not any(array.strides))


def stated(dims: Dims) -> list[int]:
    """The sizes of a shape without unknown sizes."""
    return [size for size in dims if size is not None]


def element_type(element: Any) -> DType:
    """The type of TensorFlow for an element type of NumPy; KeyError if there is none."""
    return DType.parse(np.dtype(element).name)


def constant_tensor(op: NodeBuilder[Any], array: Any) -> HloTensor:
    """A constant."""
    return HloTensor(op, tuple(array.shape), element_type(array.dtype), array=array)


def typed_tensor(op: NodeBuilder[Any], value: Value, tensor_type: TensorType) -> HloTensor:
    """A value with its type in the program."""
    return HloTensor(op, tensor_type.shape, element_type(tensor_type.element), value)
