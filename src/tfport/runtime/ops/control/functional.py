"""Branches and loops whose parts are functions: If, Case, While, For; and calls in another guise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.dtypes import BOOL, INT32, VARIANT
from tfport.graph.graph import Function, Node, Value
from tfport.graph.inline import substitute
from tfport.graph.shapes import Shape
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.branches import choose
from tfport.runtime.ops.control.loops import Loop, trace_loop
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.trace import Tracer

Attrs = dict[str, Attr]
_ARRAYS = ("TensorArrayGather", "TensorArraySize")
_STACKS = frozenset(
    ["TensorListStack", "TensorListLength", "TensorArrayPack"]
    + [name + version for name in _ARRAYS for version in ("", "V2", "V3")]
)


def function_of(node: Node, name: str, attrs: Mapping[str, Attr]) -> tuple[Function, Mapping[str, Attr]]:
    """A function that an attribute names, and the attributes that it is called with."""
    return _function(node, attrs.get(name), attrs)


def _function(node: Node, ref: Attr, attrs: Mapping[str, Attr]) -> tuple[Function, Mapping[str, Attr]]:
    function = node.graph.library.functions.get(ref.name) if isinstance(ref, FunctionRef) else None
    if function is None or not isinstance(ref, FunctionRef):
        raise MalformedGraph(f"`{node.name}` calls {ref}, which the model does not define")
    return function, substitute(ref.attrs, attrs)


def _walk(
    tracer: Tracer, called: tuple[Function, Mapping[str, Attr]], inputs: Sequence[Operand]
) -> Callable[[], list[Operand]]:
    return lambda: tracer.call(called[0], inputs, called[1])


@structure("If StatelessIf _If")
def if_(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    condition, *passed = inputs
    then, otherwise = (function_of(node, name, attrs) for name in ("then_branch", "else_branch"))
    return choose(
        tracer, node.name, node.op, condition, _walk(tracer, then, passed), _walk(tracer, otherwise, passed)
    )


@structure("Case StatelessCase")
def case(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """One of several; an index that is none of theirs takes the last."""
    index, *passed = inputs
    refs = attrs.get("branches")
    called = [_function(node, ref, attrs) for ref in (refs if isinstance(refs, list) else [])]

    def from_branch(at: int) -> list[Operand]:
        walk = _walk(tracer, called[at], passed)
        if at == len(called) - 1:
            return walk()
        here = emit(
            tracer,
            node.name,
            "Equal",
            [index],
            lambda given: np.asarray(given == at),
            (BOOL, ()),
            lambda b, given: b.Equal(given, b.const(at, given.dtype)),
        )
        return choose(tracer, node.name, node.op, here, walk, lambda: from_branch(at + 1))

    return from_branch(0)


@structure("While StatelessWhile _While")
def while_(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    condition, body = (function_of(node, name, attrs) for name in ("cond", "body"))
    loop = Loop(
        node.name,
        node.op,
        inputs,
        lambda given: tracer.call(condition[0], given, condition[1])[0],
        lambda given: tracer.call(body[0], given, body[1]),
        ranks_of(attrs.get("output_shapes"), len(inputs)),
        [o.dtype == VARIANT and is_only_stacked(node.output(i)) for i, o in enumerate(inputs)],
    )
    return trace_loop(tracer, loop)


def ranks_of(shapes: Attr, count: int) -> list[int | None]:
    told = shapes if isinstance(shapes, list) and len(shapes) == count else [None] * count
    return [shape.rank if isinstance(shape, Shape) else None for shape in told]


def is_only_stacked(value: Value) -> bool:
    """Whether a list is read by nothing that would take elements of different shapes."""
    for user in value.uses:
        if user.op == "Identity":
            if not is_only_stacked(user.output(0)):
                return False
        elif user.op not in _STACKS:
            return False
    return True


@structure("For")
def for_(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    start, limit, delta, *passed = inputs
    body = function_of(node, "body", attrs)

    def condition(given: list[Operand]) -> Operand:
        def run(at: Any, end: Any, by: Any) -> Any:
            return np.asarray(at < end if by > 0 else at > end)

        def say(b: Any, at: Operand, end: Operand, by: Operand) -> Any:
            return b.Where(b.Greater(by, b.const(0, INT32)), b.Less(at, end), b.Greater(at, end))

        return emit(tracer, node.name, "Less", [given[0], limit, delta], run, (BOOL, ()), say)

    def turn(given: list[Operand]) -> list[Operand]:
        results = tracer.call(body[0], given, body[1])
        step = emit(
            tracer,
            node.name,
            "AddV2",
            [given[0], delta],
            np.add,
            (INT32, ()),
            lambda b, at, by: b.Add(at, by),
        )
        return [step, *results]

    loop = Loop(
        node.name,
        node.op,
        [start, *passed],
        condition,
        turn,
        [0] + [None] * len(passed),
        [False] * (1 + len(passed)),
    )
    return trace_loop(tracer, loop)[1:]


@structure("RemoteCall")
def remote_call(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    function, given = function_of(node, "f", attrs)
    return tracer.call(function, inputs[1:], given)
