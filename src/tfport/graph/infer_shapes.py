"""The shapes of the values of a graph, by the rules of `graph.op_facts`.

`node_shapes(node, input_shapes)` are those of one node, such as a builder has just added.
`infer_shapes(graph)` are those of a whole graph and of the functions that it calls, with the elements of
small integers (the sizes in a `Shape`, and what is computed from them); `FedShapes` those for inputs of
certain sizes. What contradicts itself is unknown
here: `check` tells what TensorFlow refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tfport.errors import MalformedGraph
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.inline import callee
from tfport.graph.op_facts.elements import element_rule_of
from tfport.graph.op_facts.kinds import ALL_SWITCHES, BRANCHING, ENTERS, EXITS, MERGES, NEXTS, WHILES
from tfport.graph.op_facts.node_call import INVALID, MOST_ELEMENTS, NodeCall, constant_elements, output_dims
from tfport.graph.op_facts.rule import Dims, ShapeConflict, merge
from tfport.graph.reach import in_order, needed_by
from tfport.graph.shapes import UNKNOWN, Shape

MOST_DEPTH = 50
"""Shapes are passed on into calls within calls up to this depth."""
MOST_NODES = 500_000
"""The nodes that are looked at, a function as often as it is called with other shapes."""
MOST_TURNS = 8
"""How often the body of a loop is looked at before the shapes that still change are given up."""


def node_shapes(
    node: Node, input_shapes: Sequence[Shape], constants: Mapping[Value, Dims] | None = None
) -> list[Shape]:
    """The shapes of the outputs of a node, from those of its inputs; unknown where no rule knows them.

    Inputs that are Const nodes are read; `constants` has the elements of others that are known: of small
    integer scalars and vectors, None for an unknown element.
    """
    known = constants or {}
    call = NodeCall(node, [s.dims for s in input_shapes], lambda v: known.get(v) or constant_elements(v))
    return [UNKNOWN if dims is None else Shape(dims) for dims in output_dims(call, node.declared_outputs)]


def infer_node(node: Node, inferred: InferredShapes) -> None:
    """Add to what is known the shapes and small integers of the outputs of a new node."""
    passed: list[_Passed] = []
    for value in node.inputs:
        dims = inferred.dims.get(value, value.shape.dims)
        passed.append((dims, inferred.elements.get(value) or constant_elements(value), None))
    for index, known in enumerate(_by_rule(node, passed)):
        _note(node.output(index), known, inferred, {})


class InferredShapes:
    """The shapes and small integers of the values of a graph."""

    def __init__(self) -> None:
        self.dims: dict[Value, Dims] = {}
        """Of the values whose rank is known."""
        self.elements: dict[Value, Dims] = {}

    def shape(self, value: Value) -> Shape:
        dims = self.dims.get(value)
        return UNKNOWN if dims is None else Shape(dims)


def infer_shapes(graph: Graph) -> InferredShapes:
    """The shapes of the values of a graph, as far as its sources and calls determine them."""
    inferred = InferredShapes()
    _Inference().infer(graph, inferred, {}, 0)
    return inferred


NodeWatcher = Callable[[Node, Sequence["Dims | None"]], None]
"""Gets each node with the shapes of its inputs, as often as a function is called with other ones."""


class FedShapes:
    """Infers the shapes that some nodes need for different sizes of fed values.

    What does not depend on the fed values is inferred once.
    """

    def __init__(self, graph: Graph, ends: Iterable[Node], fed: Collection[Value]) -> None:
        self._graph = graph
        self._inferred = InferredShapes()
        self._handles: dict[Value, Dims] = {}
        needed = needed_by(ends, fed)
        order = [node for node in _ordered(graph) if node in needed]
        sources = {value.node for value in fed}
        depending = dict.fromkeys(node for node in order if node in sources)
        for node in order:
            if any(value in fed or value.node in depending for value in node.inputs):
                depending[node] = None
        others = [node for node in order if node not in depending]
        self._depending = list(depending)
        _Inference({graph: others}).infer(graph, self._inferred, self._handles, 0)

    def infer(self, fed: Mapping[Value, Dims], watch: NodeWatcher) -> None:
        """Infer the nodes that depend on the fed values; `watch` gets each of them."""
        inferred, handles = InferredShapes(), dict(self._handles)
        inferred.dims |= self._inferred.dims
        inferred.elements |= self._inferred.elements
        _Inference({self._graph: self._depending}, fed, watch).infer(self._graph, inferred, handles, 0)


_Passed = tuple[Dims | None, Dims | None, Dims | None]
"""The shape of an argument, its elements, and the shape of the variable that it is the handle of."""
_NOTHING: _Passed = (None, None, None)
_SCALAR: _Passed = ((), None, None)


def _note(value: Value, known: _Passed, inferred: InferredShapes, handles: dict[Value, Dims]) -> None:
    for table, dims in zip((inferred.dims, inferred.elements, handles), known, strict=True):
        if dims is None:
            table.pop(value, None)
        else:
            table[value] = dims


class _Inference:
    """Infers a graph and what it calls, each function once for the same arguments."""

    def __init__(
        self,
        orders: dict[Graph, list[Node]] | None = None,
        fed: Mapping[Value, Dims] | None = None,
        watch: NodeWatcher | None = None,
    ) -> None:
        self.orders = orders or {}
        """The nodes of graphs to look at, each after those that it reads."""
        self.fed = fed or {}
        self.watch = watch
        self.loops: dict[Node, _Passed] = {}
        """What is assumed of the Merge at the start of each TF1 loop."""
        self._results: dict[tuple[Function, tuple[_Passed, ...]], list[_Passed]] = {}
        self._left = MOST_NODES

    def infer(self, graph: Graph, inferred: InferredShapes, handles: dict[Value, Dims], depth: int) -> None:
        self.loops = {node: known for node, known in self.loops.items() if node.graph is not graph}
        for turn in range(MOST_TURNS):
            self._infer_once(graph, inferred, handles, depth)
            last = turn == MOST_TURNS - 2
            if not graph.has_branches or not self._assumed_wrongly(graph, inferred, handles, last=last):
                return

    def _assumed_wrongly(
        self, graph: Graph, inferred: InferredShapes, handles: dict[Value, Dims], *, last: bool
    ) -> bool:
        """Whether a turn of a TF1 loop changes shapes; next, what all turns have in common is assumed."""
        wrong = False
        for node in self.loops:
            if node.graph is graph:
                after = _common([self._known(value, inferred, handles) for value in node.inputs])
                if after != self.loops[node]:
                    self.loops[node], wrong = _NOTHING if last else after, True
        return wrong

    def _infer_once(
        self, graph: Graph, inferred: InferredShapes, handles: dict[Value, Dims], depth: int
    ) -> None:
        self._left -= len(graph)
        if self._left < 0:
            inferred.dims.clear()
            inferred.elements.clear()
            return
        if graph not in self.orders:
            self.orders[graph] = _ordered(graph)
        for node in self.orders[graph]:
            passed = [self._known(value, inferred, handles) for value in node.inputs]
            if self.watch is not None:
                self.watch(node, [known[0] for known in passed])
            for index, known in enumerate(self._outputs(node, passed, depth)):
                _note(node.output(index), known, inferred, handles)

    def _known(self, value: Value, inferred: InferredShapes, handles: dict[Value, Dims]) -> _Passed:
        elements = inferred.elements.get(value)
        if elements is None:
            elements = constant_elements(value)
        return self.fed.get(value) or inferred.dims.get(value), elements, handles.get(value)

    def _outputs(self, node: Node, passed: list[_Passed], depth: int) -> Sequence[_Passed]:
        if (through := _FOLLOWED.get(node.op)) is not None:
            results = through(self, node, passed, depth)
        elif (called := callee(node)) is not None:
            results = self._called(called, passed, depth)
        else:
            results = _by_rule(node, passed)
        return [_with_stated(node, index, result) for index, result in enumerate(results)]

    def _called(self, called: Function, passed: Sequence[_Passed], depth: int) -> list[_Passed]:
        key = (called, tuple(passed))
        if key not in self._results:
            self._results[key] = [_NOTHING] * len(called.results)
            if depth < MOST_DEPTH:
                self._results[key] = self._inferred(called, passed, depth + 1)
        return self._results[key]

    def _inferred(self, called: Function, passed: Sequence[_Passed], depth: int) -> list[_Passed]:
        inferred = InferredShapes()
        handles: dict[Value, Dims] = {}
        for value, known in zip(called.arguments, passed, strict=False):
            _note(value, known, inferred, handles)
        self.infer(called, inferred, handles, depth)
        return [self._known(value, inferred, handles) for value in called.results]

    def branches(self, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
        """The results that all branches of an If or a Case have in common."""
        names = (node.attr("then_branch"), node.attr("else_branch"))
        listed = node.attr("branches")
        functions = [_function(node, name) for name in (listed if isinstance(listed, list) else names)]
        outcomes = [self._called(f, passed[1:], depth) for f in functions if f is not None]
        if not outcomes or len(outcomes) < len(functions) or len({len(results) for results in outcomes}) != 1:
            return []
        return [_common(results) for results in zip(*outcomes, strict=True)]

    def loop(self, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
        """The results of a While: what its variables have in common in all turns."""
        body = _function(node, node.attr("body"))
        current = list(passed)
        for _ in range(MOST_TURNS if body is not None else 0):
            results = self._called(body, current, depth) if body is not None else []
            if len(results) != len(current):
                break
            after = [_common(pair) for pair in zip(current, results, strict=True)]
            if after == current:
                return current
            current = after
        return []


def _function(node: Node, name: object) -> Function | None:
    return node.graph.library.functions.get(name.name) if isinstance(name, FunctionRef) else None


def _common(values: Sequence[_Passed]) -> _Passed:
    """What is true of all of some values."""
    first = values[0]
    return tuple(_common_dims([value[i] for value in values]) for i in range(len(first)))  # type: ignore[return-value]


def _common_dims(shapes: Sequence[Dims | None]) -> Dims | None:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True))


def _by_rule(node: Node, passed: Sequence[_Passed]) -> list[_Passed]:
    elements = {value: known[1] for value, known in zip(node.inputs, passed, strict=True)}
    call = NodeCall(node, [known[0] for known in passed], elements.get)
    shapes = output_dims(call, node.declared_outputs)
    numbers: Sequence[Dims | None] = [None] * len(shapes)
    if (rule := element_rule_of(node.op)) is not None:
        try:
            numbers = rule(call)
        except INVALID:
            numbers = [None] * len(shapes)
    pairs = zip(shapes, numbers, strict=False)
    return [(dims, known if _is_whole(known, dims) else None, None) for dims, known in pairs]


def _is_whole(elements: Dims | None, dims: Dims | None) -> bool:
    """Whether these are as many elements as a tensor of the shape has."""
    if elements is None or dims is None or len(elements) > MOST_ELEMENTS:
        return False
    return Shape(dims).size in (None, len(elements))


def _with_stated(node: Node, index: int, result: _Passed) -> _Passed:
    """What is inferred, with what the file states beside it."""
    dims, elements, variable = result
    stated = node.output_shape(index).dims
    try:
        return (merge(dims, stated) if stated is not None else dims), elements, variable
    except ShapeConflict:
        return result


def _handle(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    shape = node.attr("shape")
    return [((), None, shape.dims if isinstance(shape, Shape) else None)]


def _read(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    return [(passed[0][2], None, None)]


def _gathered(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    """Elements of a variable: the rule gets the shape of the variable, not that of its handle."""
    variable = passed[0][2]
    return _by_rule(node, [(variable, None, None), *passed[1:]])


def _forwarded(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    return [passed[0]]


def _switched(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    return [passed[0]] * (node.declared_outputs or 0)


def _merged(inference: _Inference, node: Node, passed: list[_Passed], depth: int) -> list[_Passed]:
    """What comes from all branches; of a loop, what is assumed of all turns, first that of the entry."""
    if any(value.node.op in NEXTS for value in node.inputs):
        entries = [
            known for value, known in zip(node.inputs, passed, strict=True) if value.node.op not in NEXTS
        ]
        return [inference.loops.setdefault(node, _common(entries) if entries else _NOTHING), _SCALAR]
    return [_common(passed), _SCALAR] if passed else []


_FOLLOWED: dict[str, Callable[[_Inference, Node, list[_Passed], int], list[_Passed]]] = {
    **dict.fromkeys(BRANCHING, _Inference.branches),
    **dict.fromkeys(WHILES, _Inference.loop),
    **dict.fromkeys(("VarHandleOp", "VarHandle"), _handle),
    **dict.fromkeys(("ReadVariableOp", "_ReadVariablesOp"), _read),
    **dict.fromkeys(("Identity", "RefIdentity", *ENTERS, *EXITS, *NEXTS), _forwarded),
    **dict.fromkeys(ALL_SWITCHES, _switched),
    **dict.fromkeys(MERGES, _merged),
    **dict.fromkeys(("ResourceGather", "ResourceGatherNd"), _gathered),
}


def _ordered(graph: Graph) -> list[Node]:
    """The nodes, each after those that it reads; none if the graph has a cycle, which is another finding."""
    try:
        return in_order(graph)
    except MalformedGraph:
        return []
