"""The builder `b` of lowerings: `b.Add(x, y)` adds an ONNX node and returns its output.

    b.Conv(x, w, strides=[2, 2])            one output
    b.nodes("Split", x, sizes, outputs=3)   several
    b.const([1, -1], INT64)                 a constant

Types and shapes of outputs are inferred as nodes are added (`shapes`), so that the next lowering
knows them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType
from tfport.runtime.onnx.known_values import gives_no_negative, known_of
from tfport.runtime.onnx.shapes import infer_shapes
from tfport.runtime.operand import Operand
from tfport.runtime.program import ONNX_TYPES, OnnxNode

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

OPSET = 20
MAX_KNOWN = 64
_BOOLEAN = frozenset(
    ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"]
)
_INT64 = frozenset(["Shape", "Size", "ArgMax", "ArgMin", "NonZero", "NonMaxSuppression"])
_SECOND = frozenset(["Where"])
_SECOND_OUTPUT_INT64 = frozenset(["TopK", "MaxPool", "Unique"])
Dims = Sequence[int | None] | None


class Builder:
    """Collects the ONNX nodes of one lowering."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.added: list[OnnxNode] = []

    def __getattr__(self, op: str) -> Callable[..., Operand]:
        """The method that adds a node of an op with one output; from then on, all builders have it."""
        if not op[0].isupper():
            raise AttributeError(op)

        def add(builder: Builder, *inputs: Operand | None, **attrs: Any) -> Operand:
            return builder.nodes(op, *inputs, **attrs)[0]

        setattr(Builder, op, add)
        return functools.partial(add, self)

    def nodes(
        self,
        op: str,
        *inputs: Operand | None,
        outputs: int = 1,
        dtype: DType | Sequence[DType] | None = None,
        shape: tuple[int | None, ...] | list[Dims] | None = None,
        domain: str = "",
        **attrs: Any,
    ) -> list[Operand]:
        """Add a node with several outputs; `dtype` and `shape` (or lists) override the inferred ones."""
        types = _types(op, inputs, outputs) if dtype is None else _spread(dtype, outputs)
        shapes: list[Dims] = list(infer_shapes(op, inputs, attrs, outputs))
        if shape is not None:
            shapes = shape if isinstance(shape, list) else [shape]
        operands = tuple(Operand(t, s, name=self.name) for t, s in zip(types, shapes, strict=True))
        if outputs == 1 and operands[0].rank in (0, 1):
            operands[0].known = known_of(op, inputs, attrs) or _unknown(operands[0])
        if outputs == 1 and operands[0].dtype in (INT32, INT64):
            operands[0].never_negative = gives_no_negative(op, inputs)
        elif op in _SECOND_OUTPUT_INT64:
            for indices in operands[1:]:
                indices.never_negative = True
        self.added.append(OnnxNode(op, inputs, operands, attrs, domain))
        return list(operands)

    def const(self, value: ArrayLike, dtype: DType) -> Operand:
        """A constant."""
        return Operand(dtype, value=np.asarray(value, dtype.numpy), name=self.name)

    def ints(self, *values: int) -> Operand:
        """A constant int64 vector, as ONNX takes axes, shapes and indices."""
        return self.const(np.array(values, np.int64).reshape(-1), INT64)

    def cast(self, x: Operand, dtype: DType) -> Operand:
        """`x` cast to `dtype`; `x` itself if it has that type."""
        if x.dtype == dtype:
            return x
        if x.array is not None:
            return self.const(x.array.astype(dtype.numpy), dtype)
        return self.nodes("Cast", x, dtype=dtype, to=ONNX_TYPES[dtype.name])[0]

    def int64(self, x: Operand) -> Operand:
        return self.cast(x, INT64)

    def vector(self, x: Operand) -> Operand:
        """An integer scalar or vector as an int64 vector."""
        wide = self.int64(x)
        return wide if wide.rank == 1 else self.Reshape(wide, self.ints(-1))

    def transpose(self, x: Operand, perm: Sequence[int]) -> Operand:
        """`x` transposed; `x` itself if `perm` changes nothing."""
        if list(perm) == list(range(len(perm))):
            return x
        if x.array is not None:
            return self.const(np.transpose(x.array, perm), x.dtype)
        return self.Transpose(x, perm=list(perm))

    def reshape(self, x: Operand, *sizes: int) -> Operand:
        if x.array is not None:
            return self.const(x.array.reshape(sizes), x.dtype)
        return self.Reshape(x, self.ints(*sizes))

    def squeeze(self, x: Operand, *axes: int) -> Operand:
        return self.Squeeze(x, self.ints(*axes))

    def unsqueeze(self, x: Operand, *axes: int) -> Operand:
        return self.Unsqueeze(x, self.ints(*axes))


def _unknown(operand: Operand) -> tuple[None, ...] | None:
    """Unknown elements of a small integer vector: only their number is known."""
    shape = operand.shape
    if not operand.dtype.is_integer or shape is None or len(shape) > 1:
        return None
    size = shape[0] if shape else 1
    return (None,) * size if size is not None and size < MAX_KNOWN else None


def _spread(dtype: DType | Sequence[DType], outputs: int) -> Sequence[DType]:
    return [dtype] * outputs if isinstance(dtype, DType) else dtype


def _types(op: str, inputs: Sequence[Operand | None], outputs: int) -> list[DType]:
    """The types of the outputs: for most ops the type of the first input."""
    if op in _BOOLEAN:
        return [BOOL] * outputs
    if op in _INT64:
        return [INT64] * outputs
    if op == "ConstantOfShape":
        return [DType.of(FLOAT32.number)]
    present = [operand for operand in inputs if operand is not None]
    first = present[1] if op in _SECOND else present[0]
    types = [first.dtype] * outputs
    if op in _SECOND_OUTPUT_INT64:
        types[1:] = [INT64] * (outputs - 1)
    return types
