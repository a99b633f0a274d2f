"""The context of a node: its graph, and what makes it run (a signature, loading, or nothing).

A node in the body of a function runs when the function is called and one of its outputs,
or a stateful op, needs the node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from functools import cached_property

from tfport.graph.graph import Function, Node, Value
from tfport.graph.graph_outputs import GraphOutputs
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import BRANCHING, FUNCTIONAL, MERGES, SWITCHES
from tfport.graph.reach import Callers, called_by, needed_by
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class NodeContext:
    """The graph of a node, and what runs it."""

    function: str | None
    """None for the main graph."""
    called: bool
    """For a node in a function: whether the main graph calls the function, directly or not."""
    signatures: frozenset[str]
    """The signatures that run it."""
    loading: bool
    """Whether restoring or initializing runs it."""
    idle: bool = False
    """For a node that runs: whether its output is unused, so that it may be pruned."""
    in_branch: bool = False
    """For a node in a function: whether the main graph calls the function only in branches and loops."""
    lowered: bool = False
    """For a node in a function: whether that is a branch or loop which is lowered into the main graph."""
    by_name: bool = False
    """For a node in a function: whether that is only called by name, as the op of a node (TF1)."""


ALL = ""
"""The name under which a graph without signatures runs."""
NodesByContext = list[tuple[NodeContext, list[Node]]]


LOWER = "_lower_using_switch_merge"


class NodeContexts:
    """The contexts of the nodes of a model, computed when first needed."""

    def __init__(self, model: Model, outputs: GraphOutputs | None = None) -> None:
        self._model = model
        self._signatures = model.signatures if outputs is None else {ALL: outputs.signature}
        self.callers = Callers()
        self._contexts: dict[Node, NodeContext] = {}

    def of(self, node: Node) -> NodeContext:
        if node not in self._contexts:
            self._contexts[node] = self._context(node)
        return self._contexts[node]

    def _context(self, node: Node) -> NodeContext:
        function = node.graph.name if isinstance(node.graph, Function) else None
        called = function is None or function in self._called
        running = frozenset(name for name, run in self._running.items() if node in run.nodes)
        loading = node in self._loading.nodes
        runs = [self._running[name] for name in running] + [self._loading] * loading
        idle = all(node in run.idle for run in runs)
        lowered, by_name = function in self._lowered, function in self._called_by_name
        in_branch = function is not None and called and function not in self._called_plainly
        return NodeContext(function, called, running, loading, idle, in_branch, lowered, by_name)

    def is_needed(self, node: Node) -> bool:
        """Whether a signature needs a node of the main graph; cheaper than its whole context."""
        return node in self._needed

    @cached_property
    def _needed(self) -> Set[Node]:
        ends = {v.node for s in self._signatures.values() for v in self._model.ends_of(s)}
        return needed_by(ends)

    def group(self, nodes: Iterable[Node]) -> NodesByContext:
        """Nodes by context: a loader treats all nodes of one context alike."""
        contexts: dict[NodeContext, list[Node]] = {}
        for node in nodes:
            contexts.setdefault(self.of(node), []).append(node)
        return list(contexts.items())

    def may_be_skipped(self, node: Node, *, lowering: bool) -> bool:
        """Whether a node is in a branch that may not be taken, and is not resolved until it is.

        Where a release lowers the branches of TF2, it resolves them all.
        """
        if isinstance(node.graph, Function):
            return node.graph.name in (self._unlowered if lowering else self._branches)
        return _behind_switch(node)

    @cached_property
    def _branches(self) -> frozenset[str]:
        """Functions that are called only as branches, or only by such functions."""
        always = self.reached(lambda node: node.op not in BRANCHING)
        return frozenset(self._model.graph.library.functions) - always

    @cached_property
    def _unlowered(self) -> frozenset[str]:
        """The same without those that ask to be lowered."""
        always = self.reached(lambda node: node.op not in BRANCHING or node.attrs.get(LOWER) is True)
        return frozenset(self._model.graph.library.functions) - always

    @cached_property
    def _called_plainly(self) -> frozenset[str]:
        """Functions that the main graph reaches by plain calls."""
        return self.reached(lambda node: node.op not in FUNCTIONAL)

    @cached_property
    def _lowered(self) -> frozenset[str]:
        """The bodies of branches and loops that the main graph lowers, and of those in them."""
        return self.reached(lambda node: node.op in FUNCTIONAL and node.attrs.get(LOWER) is True)

    def reached(self, follows: Callable[[Node], bool]) -> frozenset[str]:
        """The functions that the main graph reaches through nodes of some kind."""
        library = self._model.graph.library.functions
        reached: set[str] = set()
        stack = list(self.callers.of(self._model.graph))
        while stack:
            node, names = stack.pop()
            for name in names if follows(node) else ():
                if name in library and name not in reached:
                    reached.add(name)
                    stack += self.callers.of(library[name])
        return frozenset(reached)

    @cached_property
    def _called(self) -> frozenset[str]:
        return frozenset(called_by(self._model.graph, self.callers))

    @cached_property
    def _called_by_name(self) -> frozenset[str]:
        """Functions that are only called by name, and those that only they call."""
        graph = self._model.graph
        calls = [pair for g in (graph, *graph.library.functions.values()) for pair in self.callers.of(g)]
        return frozenset(graph.library.functions) - {
            n for node, names in calls for n in names if n != node.op
        }

    @cached_property
    def _running(self) -> dict[str, ExecutedNodes]:
        model = self._model
        if not self._signatures:  # nothing says or suggests what is fetched: it may be any tensor
            return {ALL: _executed(model.graph, self.callers)}
        by_ends: dict[tuple[frozenset[Node], frozenset[Value]], ExecutedNodes] = {}
        runs = {}
        for name, signature in self._signatures.items():
            ends = frozenset(value.node for value in model.ends_of(signature))
            fed = frozenset(model.starts_of(signature))
            if (ends, fed) not in by_ends:
                by_ends[ends, fed] = _executed(needed_by(ends, fed), self.callers, fed, ends)
            runs[name] = by_ends[ends, fed]
        return runs

    @cached_property
    def _loading(self) -> ExecutedNodes:
        return _executed(needed_by([*self._model.init_nodes, *self._model.restore_nodes]), self.callers)


@dataclass
class ExecutedNodes:
    """The nodes that run for one request."""

    nodes: set[Node]
    idle: set[Node] = field(default_factory=set)
    """Those in functions whose outputs are unused."""


def _executed(
    nodes: Iterable[Node], callers: Callers, fed: Iterable[Value] = (), fetched: Collection[Node] = ()
) -> ExecutedNodes:
    """The nodes, without those that are fed, and the nodes that run in the functions they call."""
    run = ExecutedNodes(set(nodes).difference(value.node for value in fed))
    followed: set[tuple[str, bool]] = set()
    needed: set[Node] = set()
    stack = [(node, names, True) for node, names in callers.among(run.nodes)]
    while stack:
        node, names, read = stack.pop()
        read = node in fetched or (read and bool(node.read_outputs))
        for name in names:
            function = node.graph.library.functions.get(name)
            if function is not None and (name, read) not in followed:
                followed.add((name, read))
                live = live_nodes(function)
                wanted = live if read else needed_by(node for node in function if node.is_stateful)
                run.nodes |= live
                run.idle |= live
                needed |= wanted
                stack += [(n, called, read or n in wanted) for n, called in callers.of(function) if n in live]
    run.idle -= needed
    return run


def _behind_switch(node: Node) -> bool:
    """Whether a node reads one side of a switch, with no merge in between."""
    seen, stack = {node}, [node]
    while stack:
        node = stack.pop()
        if node.op in SWITCHES:
            return True
        for before in () if node.op in MERGES else (value.node for value in node.inputs):
            if before not in seen:
                seen.add(before)
                stack.append(before)
    return False


def live_nodes(function: Function) -> set[Node]:
    """The nodes that a call of a function runs: those its outputs need, and stateful ones."""
    ends = [*function.ends, *(node for node in function if node.is_stateful)]
    return {node for node in needed_by(ends) if node.name in function.nodes}
