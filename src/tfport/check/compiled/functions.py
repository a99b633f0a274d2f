"""Which functions XLA must compile, and the calls that ask for it.

Recorded from 2.21: the attribute `_XlaMustCompile` of a call decides, by an op or by name; the same
attribute of a function does not. What the function calls is compiled with it, whatever those calls say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tfport.check.node_contexts import NodeContexts
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.reach import called_by

MUST_COMPILE = "_XlaMustCompile"
CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class CompiledFunctions:
    """The functions of a model that XLA compiles."""

    def __init__(self, graph: Graph, contexts: NodeContexts) -> None:
        self._graph, self._contexts = graph, contexts

    @cached_property
    def calls(self) -> list[Node]:
        """The calls that ask for it, without those that are compiled with their function."""
        return [call for call in self._asking if not self.is_compiled(call)]

    def function_of(self, call: Node) -> Function | None:
        """The function that a call asks to compile; None if it is not in the model."""
        return next(iter(called_by([call], self._contexts.callers).values()), None)

    def is_compiled(self, node: Node) -> bool:
        """Whether a node runs only in functions that are compiled."""
        return isinstance(node.graph, Function) and node.graph.name in self._only_compiled

    @cached_property
    def _asking(self) -> list[Node]:
        return [node for node, _ in self._all_calls() if _must_compile(node)]

    def _all_calls(self) -> Iterator[tuple[Node, list[str]]]:
        for graph in (self._graph, *self._graph.library.functions.values()):
            yield from self._contexts.callers.of(graph)

    @cached_property
    def _only_compiled(self) -> frozenset[str]:
        if not self._asking:
            return frozenset()
        compiled = called_by(self._asking, self._contexts.callers)
        return frozenset(compiled) - self._contexts.reached(lambda node: not _must_compile(node))


def _must_compile(node: Node) -> bool:
    is_call = node.op in CALLS or node.op in node.graph.library.functions
    return is_call and node.attrs.get(MUST_COMPILE) is True
