"""Whether two programs compute the same, step for step, so that their answers cannot differ.

A step that is lowered is compared by its ONNX nodes: two ops that become the same nodes compute the same. One
that only runs on the host is compared by its op and attributes. Steps with effects are never the same, except
assertions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.graph.attrs import NAMES
from tfport.runtime.operand import Operand
from tfport.runtime.program import ASSERT, OnnxNode, Program, Step


def compute_the_same(first: Program, second: Program) -> bool:
    """Whether two programs are the same but for names; False where that is not known."""
    return _Comparison().programs(first, second)


class _Comparison:
    """Pairs the operands of two programs, in the order in which they are computed."""

    def __init__(self) -> None:
        self._pairs: dict[Operand, Operand] = {}

    def programs(self, first: Program, second: Program) -> bool:
        return (
            len(first.steps) == len(second.steps)
            and self._new(first.args, second.args)
            and all(map(self._steps, first.steps, second.steps))
            and self._read(first.results, second.results)
        )

    def _steps(self, a: Step, b: Step) -> bool:
        if a.effect or b.effect:
            return a.op == b.op == ASSERT and self._hosted(a, b)
        if a.lowered is None or b.lowered is None:
            return a.lowered is b.lowered and self._hosted(a, b)
        return (
            len(a.lowered) == len(b.lowered)
            and all(map(self._nodes, a.lowered, b.lowered))
            and self._read(a.outputs, b.outputs)
        )

    def _hosted(self, a: Step, b: Step) -> bool:
        return (
            a.op == b.op
            and not a.programs
            and not b.programs
            and self._attributes(_without_names(a.attrs), _without_names(b.attrs))
            and self._read(a.inputs, b.inputs)
            and self._new(a.outputs, b.outputs)
        )

    def _nodes(self, a: OnnxNode, b: OnnxNode) -> bool:
        return (
            (a.op, a.domain) == (b.op, b.domain)
            and self._read(a.inputs, b.inputs)
            and self._attributes(a.attrs, b.attrs)
            and self._new(a.outputs, b.outputs)
        )

    def _attributes(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
        return a.keys() == b.keys() and all(self._values(value, b[name]) for name, value in a.items())

    def _values(self, a: Any, b: Any) -> bool:
        if isinstance(a, Program) and isinstance(b, Program):
            return self.programs(a, b)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return _are_equal(a, b)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(self._values, a, b))
        return type(a) is type(b) and bool(a == b)

    def _read(self, a: Sequence[Operand | None], b: Sequence[Operand | None]) -> bool:
        return len(a) == len(b) and all(map(self._operands, a, b))

    def _operands(self, a: Operand | None, b: Operand | None) -> bool:
        if a is None or b is None:
            return a is b
        if a.array is not None and b.array is not None:
            return _are_equal(a.array, b.array)
        return self._pairs.get(a) is b

    def _new(self, a: Sequence[Operand], b: Sequence[Operand]) -> bool:
        self._pairs.update(zip(a, b, strict=False))
        return [x.dtype for x in a] == [y.dtype for y in b]


def _without_names(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in attrs.items() if name not in NAMES}


def _are_equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two constants have the same type, shape and bits."""
    if a is b:
        return True
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "O":
        return bool(a.tolist() == b.tolist())
    return np.array_equal(_bits(a), _bits(b))


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
