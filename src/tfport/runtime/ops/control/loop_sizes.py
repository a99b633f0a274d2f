"""Sizes inside a loop that are the same in each iteration, as sizes of operands outside it.

`LoopSizes` goes back from an axis inside the body to where its size comes from. A loop variable has the
size of its initial value if the body returns that size. Where two sizes must be equal for this, the pair is
recorded in `equal`: whoever runs the loop compares them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.runtime.operand import Operand
from tfport.runtime.program import DRAWS, Program, Step
from tfport.runtime.size_expression import SizeExpression
from tfport.runtime.symbolic_values import SymbolicValues
from tfport.runtime.trace import Tracer

Axis = tuple[Operand, int]
Size = int | Axis
"""A known size, or that of an axis of an operand outside the loop."""
_MAX_DEPTH = 100
_SAME_SHAPE: Mapping[str, int] = {
    "BiasAdd": 0, "LeakyRelu": 0, "Rsqrt": 0, "Select": 1, "Sqrt": 0, "Square": 0,
}  # fmt: skip
"""Ops whose output has the shape of this input."""
_BROADCAST = frozenset(
    ("Add", "AddV2", "Div", "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum", "Mul",
     "RealDiv", "SelectV2", "SquaredDifference", "Sub")
)  # fmt: skip


class LoopSizes:
    """The sizes in the body of one loop; `starts` are the initial values of its last arguments."""

    def __init__(self, tracer: Tracer, body: Program, starts: Sequence[Operand]) -> None:
        self._tracer = tracer
        self._values = SymbolicValues(tracer)
        self._body = body
        variables = body.args[len(body.args) - len(starts) :]
        self._args = set(body.args)
        self._starts = dict(zip(variables, starts, strict=True))
        self._results = dict(zip(variables, body.results[1:], strict=False))
        self._assumed: dict[Axis, None] = {}
        """The axes of loop variables that have their initial size."""
        self.equal: list[tuple[Size, Size]] = []

    def elements(self, shape: Operand) -> list[Size] | None:
        """The elements of a shape; None where one may differ between iterations."""
        sizes = self._elements(shape, 0)
        return sizes if sizes is not None and self._is_proven() else None

    def _is_proven(self) -> bool:
        """Whether the body returns the sizes that were assumed for its arguments."""
        checked = 0
        while checked < len(self._assumed):
            arg, axis = list(self._assumed)[checked]
            before = self._size(self._starts[arg], axis, 0)
            after = self._size(self._results[arg], axis, 0)
            if before is None or after is None:
                return False
            self._require_equal(after, before)
            checked += 1
        return True

    def _elements(self, shape: Operand, depth: int) -> list[Size] | None:
        values = self._values.of(shape) if shape.rank == 1 else None
        if values is None:
            return None
        sizes = [self._of_number(number, depth) for number in values.tolist()]
        known = [size for size in sizes if size is not None]
        return known if len(known) == len(sizes) else None

    def _of_number(self, number: int | SizeExpression, depth: int) -> Size | None:
        if isinstance(number, int):
            return number
        terms = list(number.terms)
        match terms, number.constant:
            case [((Operand() as operand, int() as axis), 1)], 0:
                return self._size(operand, axis, depth)
        return None

    def _size(self, operand: Operand, axis: int, depth: int) -> Size | None:
        if operand.shape is None or depth > _MAX_DEPTH:
            return None
        size = operand.shape[axis]
        if size is not None:
            return size
        operand = self._tracer.facts.shape_source(operand)
        if operand in self._starts:
            self._assumed[operand, axis] = None
            return self._size(self._starts[operand], axis, depth + 1)
        step = self._body.producer(operand)
        if step is not None:
            return self._output_size(step, operand, axis, depth + 1)
        return None if operand in self._args else (operand, axis)

    def _output_size(self, step: Step, output: Operand, axis: int, depth: int) -> Size | None:
        inputs = step.inputs
        assert output.shape is not None
        if step.op in _SAME_SHAPE:
            return self._size(inputs[_SAME_SHAPE[step.op]], axis, depth)
        if step.op in _BROADCAST:
            return self._broadcast_size(step, axis - len(output.shape), depth)
        if step.op in DRAWS:
            sizes = self._elements(inputs[0], depth)
            return sizes[axis] if sizes is not None else None
        match step.op:
            case "MatMul" if not (step.attrs.get("transpose_a") or step.attrs.get("transpose_b")):
                return self._size(inputs[axis], axis, depth)
            case "TensorListGetItem" if inputs[0].rank == len(output.shape) + 1:
                return self._size(inputs[0], axis + 1, depth)
            case "ConcatV2" if _is_other_axis(inputs[-1], axis, len(output.shape)):
                return self._size(inputs[0], axis, depth)
            case "Split" if _is_other_axis(inputs[0], axis, len(output.shape)):
                return self._size(inputs[1], axis, depth)
        return None

    def _broadcast_size(self, step: Step, axis: int, depth: int) -> Size | None:
        """The size of an axis, counted from the end, if all inputs that are not 1 there have the same."""
        sizes: list[Size] = []
        for operand in step.inputs:
            if operand.rank is None:
                return None
            size = self._size(operand, operand.rank + axis, depth) if -axis <= operand.rank else 1
            if size is None:
                return None
            if size != 1:
                sizes.append(size)
        for size in sizes[1:]:
            self._require_equal(size, sizes[0])
        return sizes[0] if sizes else 1

    def _require_equal(self, size: Size, other: Size) -> None:
        if size != other and (size, other) not in self.equal:
            self.equal.append((size, other))


def _is_other_axis(axis: Operand, other: int, rank: int) -> bool:
    return axis.array is not None and int(axis.array) % rank != other
