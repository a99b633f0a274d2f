"""The elements of small integer tensors as expressions of unknown sizes.

`Operand.known` has None for an element that depends on an unknown size; here it is an expression, such as
the size of an axis plus 4 (`size_expression`). The host kernels of ops that only move elements run on arrays
of expressions; arithmetic is Python's own. Values are computed on demand, backwards from the operand asked
for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.graph.op_facts.kinds import MOVING
from tfport.runtime.host import group_inputs, kernel_arguments
from tfport.runtime.operand import Operand
from tfport.runtime.program import Step
from tfport.runtime.size_expression import Number, SizeExpression
from tfport.runtime.trace import TracedStep, Tracer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_SIZE = 64
_MAX_DEPTH = 100


def _product(x: NDArray[Any], y: NDArray[Any]) -> Any:
    """A product in which one factor is known."""
    if any(isinstance(number, SizeExpression) for number in x.reshape(-1)) and any(
        isinstance(number, SizeExpression) for number in y.reshape(-1)
    ):
        raise TypeError("a product of unknown sizes")
    return x * y


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "AddV2": operator.add, "Sub": operator.sub, "Mul": _product,
    "FloorMod": operator.mod,
}  # fmt: skip


def size_of_axis(tracer: Tracer, x: Operand, axis: int) -> Number:
    """The size of an axis of a tensor of known rank."""
    assert x.shape is not None
    size = x.shape[axis]
    return size if size is not None else SizeExpression.unknown((tracer.facts.shape_source(x), axis))


class SymbolicValues:
    """The values of the operands that a tracer has made so far."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._computed: dict[Operand, NDArray[Any] | None] = {}

    def of(self, operand: Operand, depth: int = 0) -> NDArray[Any] | None:
        """The elements, in the operand's shape; None where one cannot be expressed."""
        if operand.array is not None:
            return _as_numbers(operand.array)
        if operand not in self._computed:
            traced = self._tracer.traced.get(operand)
            fits = operand.dtype.is_integer and depth < _MAX_DEPTH
            self._computed[operand] = self._output(traced, operand, depth + 1) if fits and traced else None
        return self._computed[operand]

    def _output(self, traced: TracedStep, operand: Operand, depth: int) -> NDArray[Any] | None:
        step = traced.step
        if step.op in ("Shape", "ShapeN"):
            return self._shape(step.inputs[step.outputs.index(operand)])
        if step.op not in MOVING and step.op not in _ARITHMETIC and step.op != "Cast":
            return None
        values = [value for o in step.inputs if (value := self.of(o, depth)) is not None]
        if len(values) < len(step.inputs):
            return None
        if step.op == "Cast":
            return values[0] if operand.dtype.name in ("int32", "int64") else None
        try:
            result = self._moved(traced, values) if step.op in MOVING else _calculated(step, values)
        except (Error, TypeError, ValueError, IndexError, ZeroDivisionError):
            return None  # the run reports what is wrong
        output = np.asarray(result[step.outputs.index(operand)])
        return output if output.dtype == object and output.size <= _MAX_SIZE else None

    def _shape(self, x: Operand) -> NDArray[Any] | None:
        if x.shape is None:
            return None
        return _array([size_of_axis(self._tracer, x, axis) for axis in range(len(x.shape))])

    def _moved(self, traced: TracedStep, values: list[NDArray[Any]]) -> Any:
        node, step = traced
        signature = self._tracer.signature_of(node)
        kernel = self._tracer.implementations.kernel_for(step.op, step.attrs)
        assert signature is not None
        assert kernel is not None
        # indices and axes stay arrays of integers
        arrays = {
            o: value if o.array is None else o.array for o, value in zip(step.inputs, values, strict=True)
        }
        arguments = [
            [arrays[o] for o in group] if isinstance(group, list) else arrays[group]
            for group in group_inputs(step.inputs, step.attrs, signature)
        ]
        result = kernel.function(*arguments, **kernel_arguments(kernel, node, step.attrs, signature))
        return (result,) if isinstance(result, np.ndarray) else result


def _calculated(step: Step, values: list[NDArray[Any]]) -> tuple[Any]:
    x, y = values
    return (np.asarray(_ARITHMETIC[step.op](x, y), object),)


def _as_numbers(array: NDArray[Any]) -> NDArray[Any] | None:
    if array.dtype.kind not in "iu" or array.size > _MAX_SIZE:
        return None
    return _array(array.reshape(-1).tolist()).reshape(array.shape)


def _array(numbers: list[Any]) -> NDArray[Any]:
    out = np.empty(len(numbers), object)
    out[:] = numbers
    return out
