"""The elements of small integer tensors that follow from shapes: `Shape`, and what is computed from sizes.

An element rule gets an `OpCall` and returns the elements of each output, in row-major order: None for an
unknown element, and None instead of the elements where their number is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from tfport.graph.op_facts.arrays import ONE, UNKNOWN, strided_parts
from tfport.graph.op_facts.kinds import PASSING
from tfport.graph.op_facts.node_call import MOST_ELEMENTS
from tfport.graph.op_facts.rule import Dim, Dims, OpCall, Outputs, count

ElementRule = Callable[[OpCall], Outputs]
_LIMIT = 1 << 31
"""Larger results may have overflowed."""
_RULES: dict[str, ElementRule] = {}


def element_rule_of(op: str) -> ElementRule | None:
    """The rule of an op, if there is one."""
    return _RULES.get(op)


def _element_rule(ops: Iterable[str]) -> Callable[[ElementRule], ElementRule]:
    def declare(function: ElementRule) -> ElementRule:
        _RULES.update(dict.fromkeys(ops, function))
        return function

    return declare


@_element_rule(["Shape", "ShapeN"])
def _sizes(call: OpCall) -> Outputs:
    return list(call.shapes)


@_element_rule(["Size"])
def _size(call: OpCall) -> Outputs:
    return [(None if call.shapes[0] is None else count(call.shapes[0]),)]


@_element_rule(["Rank"])
def _rank(call: OpCall) -> Outputs:
    return [(None if call.shapes[0] is None else len(call.shapes[0]),)]


@_element_rule([*PASSING, "Reshape", "ExpandDims", "Squeeze"])
def _same(call: OpCall) -> Outputs:
    return [call.elements(0)]


@_element_rule(["Cast"])
def _cast(call: OpCall) -> Outputs:
    dtype = call.attr("DstT")
    return [call.elements(0) if dtype is not None and dtype.is_integer else None]


@_element_rule(["Pack"])
def _stacked(call: OpCall) -> Outputs:
    parts = [_elements(call, index) for index in range(len(call.shapes))]
    return [_concatenated(parts) if call.attr("axis", 0) == 0 else None]


@_element_rule(["ConcatV2"])
def _joined(call: OpCall) -> Outputs:
    last = len(call.shapes) - 1
    vectors = all(shape is not None and len(shape) == 1 for shape in call.shapes[:last])
    return [_concatenated([_elements(call, index) for index in range(last)]) if vectors else None]


def _elements(call: OpCall, index: int) -> Dims | None:
    """The elements of an input; unknown ones if only their number is known."""
    known, shape = call.elements(index), call.shapes[index]
    if known is None and shape is not None:
        number = count(shape)
        return (None,) * number if number is not None and number <= MOST_ELEMENTS else None
    return known


def _concatenated(parts: Iterable[Dims | None]) -> Dims | None:
    whole: list[Dim] = []
    for part in parts:
        if part is None:
            return None
        whole += part
    return tuple(whole)


@_element_rule(["Unpack"])
def _unstacked(call: OpCall) -> Outputs:
    known, number = call.elements(0), call.number("num")
    if known is None or len(known) != number:
        return [None] * number
    return [(element,) for element in known]


@_element_rule(["StridedSlice"])
def _strided(call: OpCall) -> Outputs:
    known, x, parts = call.elements(0), call.shapes[0], strided_parts(call)
    if known is None or x is None or len(x) != 1 or parts is None or len(parts) != 1:
        return [None]
    (part,) = parts
    if part == ONE:
        first = call.integers(1)
        return [(known[first[0]],) if first else (None,)]
    if not isinstance(part, tuple) or UNKNOWN in part or part[2] is None:
        return [None]
    return [known[slice(*part)]]


@_element_rule(["Slice"])
def _sliced(call: OpCall) -> Outputs:
    known, x, begin, size = call.elements(0), call.shapes[0], call.integers(1), call.integers(2)
    if known is None or x is None or len(x) != 1 or not begin or not size:
        return [None]
    return [known[begin[0] :] if size[0] < 0 else known[begin[0] : begin[0] + size[0]]]


@_element_rule(["Gather", "GatherV2"])
def _gathered(call: OpCall) -> Outputs:
    known, x, indices = call.elements(0), call.shapes[0], call.integers(1)
    if known is None or x is None or len(x) != 1 or indices is None:
        return [None]
    return [tuple(known[index] for index in indices)]


@_element_rule(["Fill"])
def _filled(call: OpCall) -> Outputs:
    sizes, value = call.integers(0), call.elements(1)
    number = None if sizes is None else count(sizes)
    if value is None or number is None or number > MOST_ELEMENTS:
        return [None]
    return [value * number]


@_element_rule(["ZerosLike", "OnesLike"])
def _constants_like(call: OpCall) -> Outputs:
    dtype = call.attr("T")
    number = None if call.shapes[0] is None else count(call.shapes[0])
    if dtype is None or not dtype.is_integer or number is None or number > MOST_ELEMENTS:
        return [None]
    return [(int(call.op == "OnesLike"),) * number]


@_element_rule(["Range"])
def _counted(call: OpCall) -> Outputs:
    known = [call.integers(index) for index in range(3)]
    if not all(known):
        return [None]
    numbers = range(*(number[0] for number in known if number))
    return [tuple(numbers) if len(numbers) <= MOST_ELEMENTS else None]


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    **dict.fromkeys(("Add", "AddV2"), lambda x, y: x + y),
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "FloorDiv": lambda x, y: x // y,
    "FloorMod": lambda x, y: x % y,
    "Maximum": max,
    "Minimum": min,
}


@_element_rule(_ARITHMETIC)
def _computed(call: OpCall) -> Outputs:
    x, y = call.elements(0), call.elements(1)
    if x is None or y is None or any(shape is None or len(shape) > 1 for shape in call.shapes):
        return [None]
    number, compute = max(len(x), len(y)) if x and y else 0, _ARITHMETIC[call.op]
    pairs = zip(x * number if len(x) == 1 else x, y * number if len(y) == 1 else y, strict=True)
    return [tuple(None if a is None or b is None else _checked(compute(a, b)) for a, b in pairs)]


def _checked(number: int) -> Dim:
    return number if -_LIMIT < number < _LIMIT else None


_REDUCTIONS: dict[str, Callable[[Iterable[int]], int]] = {
    "Prod": math.prod, "Sum": sum, "Max": max, "Min": min,
}  # fmt: skip


@_element_rule(_REDUCTIONS)
def _reduced(call: OpCall) -> Outputs:
    known, x, axes = call.integers(0), call.shapes[0], call.integers(1)
    if known is None or x is None or len(x) != 1 or not axes or (call.op in ("Max", "Min") and not known):
        return [None]
    return [(_checked(_REDUCTIONS[call.op](known)),)]
