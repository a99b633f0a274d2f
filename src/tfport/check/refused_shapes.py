"""Where TensorFlow refuses a node for its shapes when it imports a graph.

TensorFlow infers the shapes of each node from those of its inputs, and then adds what the file says
(`_output_shapes`). It refuses a node whose inputs cannot fit, and a file whose shapes contradict its own.
A function is inferred with unknown arguments, and for the shapes of each call.
Only rules of `graph.op_facts` that were compared with real releases count. For any other op the shapes
in the file are those that the writer inferred, and stay true as long as its inputs are as the writer saw
them: a node after an edit, of an op without such a rule, is reported as undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, zip_longest

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.inline import callee
from tfport.graph.op_facts.compared import COMPARED
from tfport.graph.op_facts.node_call import NodeCall, inferred_dims
from tfport.graph.op_facts.rule import (
    CHANGED_IN,
    Changes,
    Dims,
    Outputs,
    ShapeConflict,
    ShapeRule,
    merge,
)
from tfport.graph.reach import in_order, is_listed_in_order
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.startup.dataclass import dataclass

Shapes = list[Shape]
OUTPUT_SHAPES = "_output_shapes"
MOST_FUNCTION_NODES = 2000
"""Larger function libraries are not inferred: it would take longer than the rest of a check."""
MOST_CALLS = 50
"""Shapes are passed on into calls within calls up to this number."""


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


@dataclass(frozen=True, slots=True)
class UndecidedShapes:
    """A node whose shapes in the file may contradict what TensorFlow infers."""

    node: Node
    output: int
    stated: Shape
    edited: Node
    """The node before it that is not as the writer of the file saw it."""


def refused_shapes(graph: Graph, changes: Changes) -> Iterator[RefusedShapes | UndecidedShapes]:
    """The nodes of a program that a target with these changes refuses, or may refuse, for their shapes."""
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
        self._known: dict[Node, Outputs] = {}
        self._called: set[tuple[Function, tuple[Dims | None, ...]]] = set()
        self._edits: dict[Node, Node] = {}
        """By node whose shapes the writer of the file may not have seen: the node that was edited."""

    def refused_in(self, graph: Graph, depth: int = 0) -> Iterator[RefusedShapes | UndecidedShapes]:
        """`depth`: how many calls the graph is away from the first one."""
        nodes = list(_ordered(graph))
        shapes_in_file = {node: stated for node in nodes if (stated := stated_shapes(node))}
        for node in nodes:
            if self._follow_calls and depth < MOST_CALLS and (called := callee(node)) is not None:
                yield from self._refused_in_call(called, self._inputs(node), depth + 1)
            rule, stated = COMPARED.get(node.op), shapes_in_file.get(node, [])
            if rule is None and stated and self._edit_before(node) is None:
                self._known[node] = _dims(stated)  # nothing to compare with, and no reason for doubt
                continue
            if rule is not None or stated:
                yield from self._refused(node, rule, stated)
            if shapes_in_file:
                self._note_edit(node, stated)

    def _refused_in_call(self, called: Function, passed: Outputs, depth: int) -> Iterator[RefusedShapes]:
        if (called, tuple(passed)) in self._called or not any(passed):
            return
        self._called.add((called, tuple(passed)))
        self._known.update(
            {value.node: [shape] for value, shape in zip(called.arguments, passed, strict=False)}
        )
        for refused in self.refused_in(called, depth):
            # the body is not imported again: only that compares `_output_shapes`
            if isinstance(refused, RefusedShapes) and refused.output is None:
                yield refused

    def _refused(
        self, node: Node, rule: ShapeRule | None, stated: Shapes
    ) -> Iterator[RefusedShapes | UndecidedShapes]:
        inputs = self._inputs(node)
        inferred: Outputs = []
        try:
            if rule is not None:
                inferred = inferred_dims(NodeCall(node, inputs, changes=self._changes), rule) or []
        except ShapeConflict as conflict:
            yield RefusedShapes(node, str(conflict), tuple(map(Shape, inputs)))
        outputs = self._known[node] = []
        for own, added in zip_longest(inferred, _dims(stated)):
            try:
                outputs.append(merge(own, added))
            except ShapeConflict as conflict:
                shapes = tuple(map(Shape, inputs))
                yield RefusedShapes(node, str(conflict), shapes, len(outputs), Shape(added), Shape(own))
                return  # TensorFlow stops at the first
        edited = self._edit_before(node)
        if edited is not None and not (node.op in CHANGED_IN and all(map(_is_complete, inputs))):
            yield from islice(_undecided(node, inferred, stated, edited), 1)

    def _edit_before(self, node: Node) -> Node | None:
        edits = self._edits
        for value in node.inputs if edits else ():
            if (edited := edits.get(value.node)) is not None:
                return edited
        return None

    def _note_edit(self, node: Node, stated: Shapes) -> None:
        """Note whether the outputs may have other shapes than the writer of the file saw."""
        edited = self._edit_before(node)
        if not stated or (not node.inputs and self._known[node] != _dims(stated)):
            edited = edited or node
        elif edited is not None and all(map(_is_complete, _dims(stated))):
            edited = None  # they are those of the file, or TensorFlow refuses the node
        if edited is not None:
            self._edits[node] = edited

    def _inputs(self, node: Node) -> Outputs:
        return [self._shape(value) for value in node.inputs]

    def _shape(self, value: Value) -> Dims | None:
        shapes = self._known.get(value.node, ())
        return shapes[value.index] if 0 <= value.index < len(shapes) else None


def _undecided(node: Node, inferred: Outputs, stated: Shapes, edited: Node) -> Iterator[UndecidedShapes]:
    """The outputs whose shape in the file nothing here contradicts or confirms."""
    pairs = zip(inferred or [None] * len(stated), stated, strict=False)
    for index, (own, added) in enumerate(pairs):
        if added.dims is not None and not _is_complete(own):
            yield UndecidedShapes(node, index, added, edited)


def _is_complete(shape: Dims | None) -> bool:
    return shape is not None and None not in shape


def _dims(shapes: Shapes) -> Outputs:
    return [shape.dims for shape in shapes]


def stated_shapes(node: Node) -> Shapes:
    """The shapes of its outputs in the file; empty if it has none."""
    attrs = node.attrs_as_read
    if attrs is None:
        return _shapes_in(node.attrs.get(OUTPUT_SHAPES))
    return _decoded_shapes(attrs[OUTPUT_SHAPES].SerializeToString()) if OUTPUT_SHAPES in attrs else []


@lru_cache(maxsize=10_000)
def _decoded_shapes(attribute: bytes) -> Shapes:
    """The shapes in an attribute; many nodes have the same."""
    return _shapes_in(decode(pb.AttrValue.FromString(attribute)))


def _shapes_in(value: Attr) -> Shapes:
    return [s if isinstance(s, Shape) else UNKNOWN for s in value] if isinstance(value, list) else []


def _ordered(graph: Graph) -> Iterable[Node]:
    """The nodes, each after those that it reads; none if the graph has a cycle, which is another finding."""
    if is_listed_in_order(graph):
        return graph
    try:
        return in_order(graph)
    except MalformedGraph:
        return []
