"""Infer shapes as importing a graph does, and report where TensorFlow refuses a node.

TensorFlow infers the shapes of each node from those of its inputs, and then adds what the file says
(`_output_shapes`). It refuses a node whose inputs cannot fit, and a file whose shapes contradict its own.
A function is inferred with unknown arguments, and for the shapes of each call.
`shapes.functions` has the ops that are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tfport.check.shapes.functions import FUNCTIONS, Changes, ShapeConflict, ShapeFunction, Shapes, merge
from tfport.errors import MalformedGraph
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.inline import callee
from tfport.graph.reach import in_order
from tfport.graph.shapes import UNKNOWN, Shape

OUTPUT_SHAPES = "_output_shapes"
MOST_FUNCTION_NODES = 2000
"""Larger function libraries are not inferred: it would take longer than the rest of a check."""


@dataclass(frozen=True, slots=True)
class RefusedShapes:
    """A node that TensorFlow refuses."""

    node: Node
    message: str
    """TensorFlow's words."""
    inputs: tuple[Shape, ...]
    output: int | None = None
    """The output whose shape in the file contradicts the inferred one; None if the inputs do not fit."""
    stated: Shape = UNKNOWN
    inferred: Shape = UNKNOWN


def refused_shapes(graph: Graph, changes: Changes) -> Iterator[RefusedShapes]:
    """The nodes of a program that a target with these changes refuses for their shapes."""
    functions = list(graph.library.functions.values())
    if sum(map(len, functions)) > MOST_FUNCTION_NODES:
        functions = []
    seen: set[tuple[Node, int | None]] = set()
    for body in (graph, *functions):
        for refused in _Inference(changes, follow_calls=bool(functions)).refused_in(body):
            if (refused.node, refused.output) not in seen:
                seen.add((refused.node, refused.output))
                yield refused


class _Inference:
    """Infers the shapes of one graph and of the functions that it calls, for the shapes that it passes."""

    def __init__(self, changes: Changes, *, follow_calls: bool) -> None:
        self._changes, self._follow_calls = changes, follow_calls
        self._known: dict[Node, Shapes] = {}
        self._called: set[tuple[Function, tuple[Shape, ...]]] = set()

    def refused_in(self, graph: Graph) -> Iterator[RefusedShapes]:
        for node in _ordered(graph):
            if self._follow_calls and (called := callee(node)) is not None:
                yield from self._refused_in_call(called, self._inputs(node))
            function, stated = FUNCTIONS.get(node.op), stated_shapes(node)
            if function is not None or stated:
                yield from self._refused(node, function, stated)

    def _refused_in_call(self, called: Function, passed: Shapes) -> Iterator[RefusedShapes]:
        if (called, tuple(passed)) in self._called or not any(shape.dims for shape in passed):
            return
        self._called.add((called, tuple(passed)))
        self._known.update(
            {value.node: [shape] for value, shape in zip(called.arguments, passed, strict=False)}
        )
        # the body is not imported again: only that compares `_output_shapes`
        yield from (refused for refused in self.refused_in(called) if refused.output is None)

    def _refused(self, node: Node, function: ShapeFunction | None, stated: Shapes) -> Iterator[RefusedShapes]:
        inputs, inferred = self._inputs(node), []
        try:
            inferred = function(node, inputs, self._changes) if function is not None else []
        except ShapeConflict as conflict:
            yield RefusedShapes(node, str(conflict), tuple(inputs))
        except (IndexError, ValueError):
            pass  # inputs are missing, which is another finding
        outputs = self._known[node] = []
        for own, added in zip_longest(inferred, stated, fillvalue=UNKNOWN):
            try:
                outputs.append(merge(own, added))
            except ShapeConflict as conflict:
                yield RefusedShapes(node, str(conflict), tuple(inputs), len(outputs), added, own)
                return  # TensorFlow stops at the first

    def _inputs(self, node: Node) -> Shapes:
        return [self._shape(value) for value in node.inputs]

    def _shape(self, value: Value) -> Shape:
        shapes = self._known.get(value.node, ())
        return shapes[value.index] if 0 <= value.index < len(shapes) else UNKNOWN


def stated_shapes(node: Node) -> Shapes:
    """The shapes of its outputs in the file; empty if it has none."""
    if node.record is not None and node.attrs_are_as_read and OUTPUT_SHAPES not in node.record.attr:
        return []
    stated = node.attr(OUTPUT_SHAPES)
    if not isinstance(stated, list):
        return []
    return [shape if isinstance(shape, Shape) else UNKNOWN for shape in stated]


def _ordered(graph: Graph) -> Iterable[Node]:
    """The nodes, each after those that it reads; none if the graph has a cycle, which is another finding."""
    try:
        return in_order(graph)
    except MalformedGraph:
        return []
