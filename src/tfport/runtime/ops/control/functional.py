"""Functional control flow: If, Case, While, For and RemoteCall, whose bodies are functions."""

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
from tfport.runtime.ops.control.loop_body import Loop
from tfport.runtime.ops.control.loops import trace_loop
from tfport.runtime.ops.control.structure_steps import emit
from tfport.runtime.trace import Tracer

Attrs = dict[str, Attr]
_ARRAYS = ("TensorArrayGather", "TensorArraySize")
_STACKS = frozenset(
    ["TensorListStack", "TensorListLength", "TensorArrayPack"]
    + [name + version for name in _ARRAYS for version in ("", "V2", "V3")]
)


def function_of(node: Node, name: str, attrs: Mapping[str, Attr]) -> tuple[Function, Mapping[str, Attr]]:
    """The function that an attribute names, and the attributes of the call."""
    return _function(node, attrs.get(name), attrs)


def _function(node: Node, ref: Attr, attrs: Mapping[str, Attr]) -> tuple[Function, Mapping[str, Attr]]:
    function = node.graph.library.functions.get(ref.name) if isinstance(ref, FunctionRef) else None
    if function is None or not isinstance(ref, FunctionRef):
        raise MalformedGraph(f"`{node.name}` calls {ref}, which the model does not define")
    return function, substitute(ref.attrs, attrs)


def _traced_call(
    tracer: Tracer, called: tuple[Function, Mapping[str, Attr]], inputs: Sequence[Operand]
) -> Callable[[], list[Operand]]:
    return lambda: tracer.call(called[0], inputs, called[1])


@structure("If StatelessIf _If")
def if_(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    condition, *passed = inputs
    then, otherwise = (function_of(node, name, attrs) for name in ("then_branch", "else_branch"))
    return choose(
        tracer,
        node.name,
        node.op,
        condition,
        _traced_call(tracer, then, passed),
        _traced_call(tracer, otherwise, passed),
    )


@structure("Case StatelessCase")
def case(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    """Select a branch by index; an index out of range selects the last branch."""
    index, *passed = inputs
    refs = attrs.get("branches")
    called = [_function(node, ref, attrs) for ref in (refs if isinstance(refs, list) else [])]

    def from_branch(i: int) -> list[Operand]:
        trace = _traced_call(tracer, called[i], passed)
        if i == len(called) - 1:
            return trace()
        is_selected = emit(
            tracer,
            node.name,
            "Equal",
            [index],
            lambda value: np.asarray(value == i),
            (BOOL, ()),
            lambda b, value: b.Equal(value, b.const(i, value.dtype)),
        )
        return choose(tracer, node.name, node.op, is_selected, trace, lambda: from_branch(i + 1))

    return from_branch(0)


@structure("While StatelessWhile _While")
def while_(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    condition, body = (function_of(node, name, attrs) for name in ("cond", "body"))
    loop = Loop(
        node.name,
        node.op,
        inputs,
        lambda variables: tracer.call(condition[0], variables, condition[1])[0],
        lambda variables: tracer.call(body[0], variables, body[1]),
        ranks_of(attrs.get("output_shapes") if tracer.recorded_ranks else None, len(inputs)),
        [o.dtype == VARIANT and is_only_stacked(node.output(i)) for i, o in enumerate(inputs)],
        passed_on(body[0]),
    )
    return trace_loop(tracer, loop)


def passed_on(body: Function) -> set[int]:
    """The variables that the body of a loop returns as they are."""
    args, results = list(body.args.values()), body.results
    if len(args) != len(results) or any(arg.is_list for arg in args):
        return set()
    return {
        i for i, (arg, result) in enumerate(zip(args, results, strict=True)) if result.source().node is arg
    }


def ranks_of(shapes: Attr, count: int) -> list[int | None]:
    known = shapes if isinstance(shapes, list) and len(shapes) == count else [None] * count
    return [shape.rank if isinstance(shape, Shape) else None for shape in known]


def is_only_stacked(value: Value) -> bool:
    """Whether all readers of a list require elements of equal shape."""
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

    def condition(variables: list[Operand]) -> Operand:
        def run(i: Any, end: Any, by: Any) -> Any:
            return np.asarray(i < end if by > 0 else i > end)

        def lower(b: Any, i: Operand, end: Operand, by: Operand) -> Any:
            return b.Where(b.Greater(by, b.const(0, INT32)), b.Less(i, end), b.Greater(i, end))

        return emit(tracer, node.name, "Less", [variables[0], limit, delta], run, (BOOL, ()), lower)

    def iterate(variables: list[Operand]) -> list[Operand]:
        results = tracer.call(body[0], variables, body[1])
        step = emit(
            tracer,
            node.name,
            "AddV2",
            [variables[0], delta],
            np.add,
            (INT32, ()),
            lambda b, i, by: b.Add(i, by),
        )
        return [step, *results]

    loop = Loop(
        node.name,
        node.op,
        [start, *passed],
        condition,
        iterate,
        [0] + [None] * len(passed),
        [False] * (1 + len(passed)),
    )
    return trace_loop(tracer, loop)[1:]


@structure("RemoteCall")
def remote_call(tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs) -> list[Operand]:
    function, call_attrs = function_of(node, "f", attrs)
    return tracer.call(function, inputs[1:], call_attrs)
