"""Do two runs mean the same work: the same ops, with the same attributes, on inputs of the same types?

Keras exports a model with two signatures that call one function through wrappers of their own. What is known
of one then holds for the other. The answer no may be wrong; yes is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Argument, Function, Node, Value
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FedRun:
    """The values that a run feeds and fetches, in order."""

    feeds: Sequence[Value]
    fetches: Sequence[Value]


def same_work(first: FedRun, second: FedRun) -> bool:
    """Whether both runs compute the same; nodes and functions may have other names."""
    return _Comparison(first, second).is_same()


class _Comparison:
    """Follows pairs of nodes from the results back to the feeds, also into functions."""

    def __init__(self, first: FedRun, second: FedRun) -> None:
        self._fed = [{value: index for index, value in enumerate(run.feeds)} for run in (first, second)]
        self._partners: dict[Node, Node] = {}
        self._taken: set[Node] = set()
        self._pending: list[tuple[Node, Node]] = []
        self._same = len(first.feeds) == len(second.feeds)
        self._read(first.fetches, second.fetches)

    def is_same(self) -> bool:
        while self._same and self._pending:
            self._compare(*self._pending.pop())
        return self._same

    def _require(self, condition: bool) -> None:
        self._same = self._same and condition

    def _read(self, first: Sequence[Value], second: Sequence[Value]) -> None:
        self._require(len(first) == len(second))
        for value, partner in zip(first, second, strict=False):
            numbers = self._fed[0].get(value), self._fed[1].get(partner)
            if numbers != (None, None):
                self._require(numbers[0] == numbers[1])
                self._require((value.dtype, value.shape) == (partner.dtype, partner.shape))
            else:
                self._require(value.index == partner.index)
                self._reach(value.node, partner.node)

    def _wait(self, first: Sequence[Node], second: Sequence[Node]) -> None:
        self._require(len(first) == len(second))
        for node, partner in zip(first, second, strict=False):
            self._reach(node, partner)

    def _reach(self, node: Node, partner: Node) -> None:
        """Require that two nodes correspond; each has one partner."""
        if node not in self._partners and partner not in self._taken:
            self._partners[node] = partner
            self._taken.add(partner)
            self._pending.append((node, partner))
        self._require(self._partners.get(node) is partner)

    def _compare(self, node: Node, partner: Node) -> None:
        if isinstance(node, Argument):
            self._require(isinstance(partner, Argument))  # of functions that correspond
            return
        if node is not partner:
            self._require((node.op, node.device) == (partner.op, partner.device))
            self._compare_attrs(node, partner)
        self._read(node.inputs, partner.inputs)
        self._wait(node.controls, partner.controls)

    def _compare_attrs(self, node: Node, partner: Node) -> None:
        self._require(node.attrs.keys() == partner.attrs.keys())
        for name, value in node.attrs.items() if self._same else ():
            second = partner.attrs[name]
            if isinstance(value, FunctionRef) and isinstance(second, FunctionRef):
                self._compare_calls((node, value), (partner, second))
            else:
                self._require(value == second)

    def _compare_calls(self, first: tuple[Node, FunctionRef], second: tuple[Node, FunctionRef]) -> None:
        self._require(first[1].attrs == second[1].attrs)
        bodies = [call.graph.library.functions.get(called.name) for call, called in (first, second)]
        if bodies[0] is None or bodies[1] is None:
            self._same = False
        elif bodies[0] is not bodies[1]:
            self._compare_bodies(bodies[0], bodies[1])

    def _compare_bodies(self, first: Function, second: Function) -> None:
        self._require(_types(first) == _types(second) and all(plain for _, plain in _types(first)))
        self._require(first.attrs == second.attrs)
        for argument, partner in zip(first.args.values(), second.args.values(), strict=False):
            self._require(argument.output_shape(0) == partner.output_shape(0))
            self._reach(argument, partner)
        self._read(first.results, second.results)
        self._wait(_waited(first), _waited(second))


def _types(function: Function) -> list[tuple[bool, int]]:
    """Of each argument, whether it is a list, and its type; 0 if an attribute decides that."""
    return [(argument.is_list, argument.plain_type) for argument in function.args.values()]


def _waited(function: Function) -> list[Node]:
    """The nodes that must have run when a function returns."""
    return [node for end in function.control_returns.values() for node in end.controls]
