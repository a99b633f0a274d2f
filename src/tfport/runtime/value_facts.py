"""What a tracer knows about values: bounds and equal shapes, the elements of lists, constants that are equal.

`ValueFacts` is about values that are not constant. It removes dropout that keeps everything: with a constant
`keep_prob` of 1 the mask `Floor(1 + RandomUniform)` is 1 everywhere, and `x * mask` is `x` if the mask has
the shape of `x`. It removes the choice of what is divided by a deviation, too, where none is 0:
`Cast(ZerosLike(x) + deviation)`.

Bounds are the least and the greatest possible element, in the operand's type. The op's own arithmetic in
this type gives the bounds of its output from those of its inputs, because rounding is monotonic.

`ListFacts` let loops over lists be lowered to ONNX. A list whose elements are the rows of a tensor is
replaced by that tensor. A list to which a loop adds one element per iteration becomes a scan output of the
loop. All other lists are Python objects on the host (`ops.control.tensor_list`). The flows of TensorArrays
are lists too.

`EqualConstants` are decoded once: a graph has a node for each index, axis and shape that it computes with. Of
5,086 constants of a public network, 4,061 are small, and these have 25 values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.op_facts.kinds import UNARY
from tfport.runtime.operand import Dims, Operand
from tfport.startup.dataclass import dataclass

Bounds = tuple[Any, Any]
_UNIFORM = "RandomUniform"
_DIVISIONS = ("RealDiv", "Div")
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "GreaterEqual": np.greater_equal, "Greater": np.greater, "Less": np.less, "LessEqual": np.less_equal,
}  # fmt: skip
_LIMITS = frozenset(("Maximum", "Minimum"))
_FILLED = {"ZerosLike": 0, "OnesLike": 1}


class ValueFacts:
    """The facts about the operands of one tracer."""

    def __init__(self) -> None:
        self._bounds: dict[Operand, Bounds] = {}
        self._same_shape: dict[Operand, Operand] = {}
        """An earlier operand with the same shape."""
        self._shape_of: dict[Operand, Operand] = {}
        """For the result of a `Shape` op, the operand whose shape it is."""
        self._scalar_limits: dict[Operand, tuple[str, Sequence[Operand]]] = {}
        """For the minimum or maximum of two integers, which of them, and the integers."""

    def unchanged_input(self, op: str, inputs: Sequence[Operand]) -> Operand | None:
        """The input that an op returns unchanged; None if it computes something."""
        match op, inputs:
            case "Mul", (x, y):
                return x if self._is_one_for(y, x) else y if self._is_one_for(x, y) else None
            case (("RealDiv" | "Div"), (x, y)) if np.dtype(x.dtype.numpy).kind == "f":
                return x if self._is_one_for(y, x) else None
            case (("Select" | "SelectV2"), (condition, x, y)):
                chosen = self._only_value(condition)
                if chosen is None:
                    return None
                branch, other = (x, y) if chosen else (y, x)
                # `Select` refuses branches of different shapes
                same = self._fits(other, branch) if op == "SelectV2" else self._has_shape_of(other, branch)
                return branch if same and self._fits(condition, branch) else None
            case (("Minimum" | "Maximum"), (x, y)):
                return x if self._is_limit_of(op, x, y) else y if self._is_limit_of(op, y, x) else None
        return None

    def _is_limit_of(self, op: str, x: Operand, y: Operand) -> bool:
        """Whether `x` is the minimum of `x` and a maximum of it and another integer, or the reverse.

        `tf.math.bincount` limits a count from both sides, by the same number where rows are counted.
        """
        other, limited = self._scalar_limits.get(y, (op, ()))
        return other != op and x in limited

    def record(self, op: str, inputs: Sequence[Operand], output: Operand) -> None:
        """Remember what follows for the output of a new step."""
        if op == "Shape":
            self._shape_of[output] = self.shape_source(inputs[0])
        elif op == _UNIFORM and inputs[0] in self._shape_of:
            self._same_shape[output] = self._shape_of[inputs[0]]
        elif op == "Reshape" and inputs[1] in self._shape_of:
            self._same_shape[output] = self._shape_of[inputs[1]]
        elif op in _LIMITS and output.dtype.is_integer and all(x.rank == 0 for x in inputs):
            self._scalar_limits[output] = op, inputs
        elif op in UNARY or op == "Softmax":
            self._same_shape[output] = self.shape_source(inputs[0])
        elif op in _ARITHMETIC or op in _COMPARISONS or op in _DIVISIONS:
            for x, y in (inputs, inputs[::-1]):
                if self._fits(y, x):
                    self._same_shape[output] = self.shape_source(x)
        bounds = _uniform_bounds(output.dtype) if op == _UNIFORM else self._computed(op, inputs, output.dtype)
        if bounds is not None:
            self._bounds[output] = bounds

    def _computed(self, op: str, inputs: Sequence[Operand], dtype: DType) -> Bounds | None:
        if op in _FILLED:
            numpy_type = np.dtype(dtype.numpy)
            return (numpy_type.type(_FILLED[op]),) * 2 if numpy_type.kind == "f" else None
        if not any(operand in self._bounds for operand in inputs):
            return None
        bounds = [b for operand in inputs if (b := self._bounds_of(operand)) is not None]
        if len(bounds) != len(inputs):
            return None
        if op in _ARITHMETIC or op in _COMPARISONS:
            function = _ARITHMETIC.get(op) or _COMPARISONS[op]
            corners = [function(a, b) for a in bounds[0] for b in bounds[1]]
            return min(corners), max(corners)
        low, high = bounds[0]
        if op == "Floor":
            return np.floor(low), np.floor(high)
        if op == "Cast" and low == high:
            return (np.asarray(low).astype(dtype.numpy)[()],) * 2
        return (low, high) if op == "Identity" else None

    def _bounds_of(self, operand: Operand) -> Bounds | None:
        array = operand.array
        if array is None:
            return self._bounds.get(operand)
        return (array[()], array[()]) if array.ndim == 0 and array.dtype.kind in "fb" else None

    def _only_value(self, operand: Operand) -> Any:
        """The value of all elements; None where they may differ."""
        bounds = self._bounds_of(operand)
        return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None

    def _is_one_for(self, factor: Operand, x: Operand) -> bool:
        return self._only_value(factor) == 1 and self._fits(factor, x)

    def _fits(self, operand: Operand, x: Operand) -> bool:
        """Whether an operand is a scalar, or certainly has the shape of `x`."""
        return operand.rank == 0 or self._has_shape_of(operand, x)

    def _has_shape_of(self, operand: Operand, x: Operand) -> bool:
        if self.shape_source(operand) is self.shape_source(x):
            return True
        return operand.shape is not None and None not in operand.shape and operand.shape == x.shape

    def shape_source(self, operand: Operand) -> Operand:
        """The earliest operand that certainly has the shape of another."""
        return self._same_shape.get(operand, operand)


def _uniform_bounds(dtype: DType) -> Bounds | None:
    """Of a draw from [0, 1): a random fraction of a number in [1, 2), minus 1."""
    numpy_type = np.dtype(dtype.numpy)
    if numpy_type.kind != "f":
        return None
    return numpy_type.type(0), numpy_type.type(1) - np.finfo(numpy_type).eps


@dataclass(frozen=True, slots=True)
class ListFacts:
    """A list that is `stacked`, has only a `head` or `tail` set, or is a `change` of another list."""

    element: DType
    shape: Dims | None = None
    """Shape of each element, as far as it is known."""
    stacked: Operand | None = None
    """A tensor whose rows are the elements."""
    size: Operand | None = None
    """Number of elements if only the head or tail is set; None if no element is unset."""
    head: tuple[Operand, ...] | None = None
    """The first elements, if no others are set."""
    tail: tuple[Operand, ...] = ()
    """The last elements, from the end, if no others are set; the head is None then."""
    change: ListChange | None = None
    items: Dims | None = None
    """Shape of each element that a loop has set, as far as it is known."""
    is_open: bool = False
    """Whether the file leaves sizes of an element unknown: then only an element that is set has a shape."""
    set_rows: Operand | None = None
    """The rows that a loop has set, if nothing else did."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """A list with one element set, or with one element appended."""

    base: Operand
    index: Operand | None
    """None: appended."""
    item: Operand
    grows: bool = False
    """Whether an index after the last element extends the list."""
    falls: bool = False
    """Whether a loop sets the elements from the end."""


MOST_ELEMENTS = 16
CONST = "Const"


class EqualConstants:
    """The operands of small constants, by the bytes in which the file has them."""

    def __init__(self) -> None:
        self._operands: dict[bytes, Operand] = {}

    def find(self, node: Node) -> tuple[bytes | None, Operand | None]:
        """The key of a small constant, and the operand of an equal one that was recorded."""
        attrs = node.attrs_as_read
        if attrs is None or "value" not in attrs:
            return None, None
        tensor = attrs["value"].tensor
        if math.prod([dim.size for dim in tensor.tensor_shape.dim]) > MOST_ELEMENTS:
            return None, None
        key = tensor.SerializeToString()
        return key, self._operands.get(key)

    def record(self, key: bytes, operand: Operand) -> None:
        """Remember the operand of a constant."""
        self._operands[key] = operand
