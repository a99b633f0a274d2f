"""For which nodes of functions does a session ignore the device that they ask for?

Recorded from real binaries (`make truth`), the same in all releases from 1.14 to 2.21: before a session
assigns devices, its optimizer inlines and simplifies functions. It skips graphs of fewer than four nodes.

- A function that only the main graph calls is inlined, if it calls nothing and has no side effects
  itself: its nodes then run on the device of the call.
- Elsewhere, Identity and NoOp nodes that only pass something on are removed.
- A node that reads a resource runs where the resource is, in the main graph too if the resource asks for
  a device.
- The functions of branches and loops that are not lowered run on the device of their node.

Other nodes that the optimizer can remove, such as the second of two transpositions, are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from tfport.check.devices import requested_kind
from tfport.check.node_contexts import LOWER, NodeContexts
from tfport.graph.dtypes import RESOURCE
from tfport.graph.graph import Argument, Function, Graph, Node
from tfport.graph.op_facts.kinds import CALLS, FUNCTIONAL
from tfport.graph.reach import needed_by

FEWEST_NODES = 4
"""A smaller graph is not optimized."""
HARMLESS = ("ReadVariableOp", "RandomUniform", "RandomStandardNormal", "VarHandleOp", "Placeholder")
"""Stateful ops that do not keep a function from being inlined."""
PASSING = ("NoOp", "Identity", "IdentityN")
STATE = ("Const", "VarHandleOp", "ReadVariableOp", "Variable", "VariableV2")
"""Ops whose reader stays: it is folded into a constant, or copies what a variable has."""


class DeviceRequests:
    """The devices that the nodes of a model ask for, as far as a session honors them."""

    def __init__(self, graph: Graph, contexts: NodeContexts) -> None:
        self._main, self._contexts = graph, contexts
        self._ignored: dict[Node, bool] = {}
        self._inlined: dict[Function, bool] = {}
        self._optimized: dict[Function, bool] = {}
        self._live: dict[Graph, Set[Node]] = {}
        """The nodes of each graph that run."""
        self._callers: dict[str, list[Node]] = {}
        for body in (graph, *graph.library.functions.values()):
            for node, names in contexts.callers.of(body):
                for name in names:
                    self._callers.setdefault(name, []).append(node)

    def is_ignored(self, node: Node) -> bool:
        """Whether a session runs a node on another device of this machine than it asks for, or not at all."""
        if node not in self._ignored:
            self._ignored[node] = self._is_ignored(node)
        return self._ignored[node]

    def _is_ignored(self, node: Node) -> bool:
        function = node.graph
        if _follows_state(node):
            return True
        if not isinstance(function, Function) or self._contexts.of(node).lowered:
            return False
        callers = self._callers.get(function.name, [])
        if callers and all(_is_unlowered(caller) for caller in callers):
            return True
        return _reads_passed_resource(node) or self._is_inlined(function, callers) or self.is_removed(node)

    def runs_on_device_of_call(self, node: Node) -> bool:
        """Whether the function of a node runs on one device, that of its calls.

        Those call it by its name, or as a branch or loop that is not lowered.
        """
        function = node.graph
        if not isinstance(function, Function):
            return False
        callers = self._callers.get(function.name, [])
        return bool(callers) and all(
            (caller.op == function.name or _is_unlowered(caller))
            and requested_kind(caller.device) in ("", "GPU")
            for caller in callers
        )

    def is_removed(self, node: Node) -> bool:
        """Whether a session removes a node of a function before it assigns devices."""
        function = node.graph
        if node.op not in PASSING or not isinstance(function, Function) or self._contexts.of(node).lowered:
            return False
        return self._is_optimized(function) and self._is_bypassed(node)

    def _is_inlined(self, function: Function, callers: list[Node]) -> bool:
        if function not in self._inlined:
            self._inlined[function] = self._can_inline(function, callers)
        return self._inlined[function]

    def _can_inline(self, function: Function, callers: list[Node]) -> bool:
        directly = all(caller.graph is self._main and caller.op in CALLS for caller in callers)
        if not directly or not callers or len(self._main) < FEWEST_NODES:
            return False
        calling = self._calling(function)
        return not any(node in calling or _has_side_effects(node) for node in function)

    def _calling(self, function: Function) -> set[Node]:
        return {node for nodes in self._callers.values() for node in nodes if node.graph is function}

    def _is_optimized(self, function: Function) -> bool:
        """Whether the body, or each body into which it is inlined, has enough nodes."""
        if function not in self._optimized:
            self._optimized[function] = self._has_enough_nodes(function)
        return self._optimized[function]

    def _has_enough_nodes(self, function: Function) -> bool:
        callers = self._callers.get(function.name, [])
        inlined_into = [c.graph for c in callers if c.op in CALLS and isinstance(c.graph, Function)]
        return _size(function) >= FEWEST_NODES or (
            len(inlined_into) == len(callers) > 0
            and all(_size(body) >= FEWEST_NODES for body in inlined_into)
        )

    def _is_bypassed(self, node: Node) -> bool:
        """Whether a node that passes something on does nothing else, so that it is removed."""
        before: Set[Node] | None = None
        waits = [control for control in _controls(node) if control.is_stateful]
        if waits:
            before = needed_by([value.node for value in node.inputs])
            waits = [control for control in waits if control not in before]
        if node.op == "NoOp":
            return not waits or len(waits) == len(self._readers(node)) == 1
        if len(node.inputs) != 1 or waits:
            return False
        source = node.inputs[0].node
        readers = self._readers(node)
        if source.op in STATE or len(readers) > 1:
            return False
        if not all(_same_place(source, reader, node) for reader in readers):
            return False
        before = needed_by([source]) if before is None else before
        return any(isinstance(n, Argument) or n.is_stateful for n in before)

    def _readers(self, node: Node) -> list[Node]:
        """The nodes that read or wait for a node, and run; returns of the function count too."""
        graph = node.graph
        if graph not in self._live:
            self._live[graph] = needed_by([*graph.ends, *(n for n in graph if n.is_stateful)])
        live = self._live[graph]
        return [user for user in node.users if user in live]


def _reads_passed_resource(node: Node) -> bool:
    """Whether a node of a function reads a resource that is passed to it: it runs where the resource is."""
    return any(isinstance(v.node, Argument) and v.dtype == RESOURCE for v in node.inputs)


def _follows_state(node: Node) -> bool:
    """Whether a node reads or assigns a variable that asks for a device itself: it runs there."""
    placed = [value.dtype for value in node.inputs if value.node.device]
    if RESOURCE in placed:
        return True
    return any(dtype.is_ref for dtype in placed) and any(value.dtype.is_ref for value in node.outputs)


def _is_unlowered(caller: Node) -> bool:
    return caller.op in FUNCTIONAL and caller.attrs.get(LOWER) is not True


def _has_side_effects(node: Node) -> bool:
    return node.is_stateful and node.op not in HARMLESS


def _size(body: Graph) -> int:
    """The number of nodes with those of the arguments and results."""
    return len(body) + (len(body.arguments) + len(body.results) if isinstance(body, Function) else 0)


def _controls(node: Node) -> Iterator[Node]:
    """The nodes that a node waits for, through NoOps."""
    stack, seen = list(node.controls), set(node.controls)
    while stack:
        control = stack.pop()
        if control.op != "NoOp":
            yield control
            continue
        more = [before for before in control.controls if before not in seen]
        seen.update(more)
        stack += more


def _same_place(source: Node, reader: Node, node: Node) -> bool:
    """Whether source and reader ask for the same device; one on the node's device may be removed with it."""
    return node.device in (source.device, reader.device) or source.device == reader.device
