"""Do two runs mean the same work: the same ops, with the same attributes, on inputs of the same types?

Keras exports a model with two signatures that call one function through wrappers of their own. What is known
of one then holds for the other. The answer no may be wrong; yes is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.dataclass import dataclass
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Argument, Function, Node, Value


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
        self._fed = [{value: place for place, value in enumerate(run.feeds)} for run in (first, second)]
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
        for one, other in zip(first, second, strict=False):
            places = self._fed[0].get(one), self._fed[1].get(other)
            if places != (None, None):
                self._require(places[0] == places[1])
                self._require((one.dtype, one.shape) == (other.dtype, other.shape))
            else:
                self._require(one.index == other.index)
                self._reach(one.node, other.node)

    def _wait(self, first: Sequence[Node], second: Sequence[Node]) -> None:
        self._require(len(first) == len(second))
        for one, other in zip(first, second, strict=False):
            self._reach(one, other)

    def _reach(self, one: Node, other: Node) -> None:
        """Require that two nodes correspond; each has one partner."""
        if one not in self._partners and other not in self._taken:
            self._partners[one] = other
            self._taken.add(other)
            self._pending.append((one, other))
        self._require(self._partners.get(one) is other)

    def _compare(self, one: Node, other: Node) -> None:
        if isinstance(one, Argument) or isinstance(other, Argument):
            return  # of functions that correspond
        if one is not other:
            self._require((one.op, one.device) == (other.op, other.device))
            self._compare_attrs(one, other)
        self._read(one.inputs, other.inputs)
        self._wait(one.controls, other.controls)

    def _compare_attrs(self, one: Node, other: Node) -> None:
        self._require(one.attrs.keys() == other.attrs.keys())
        for name, value in one.attrs.items() if self._same else ():
            second = other.attrs[name]
            if isinstance(value, FunctionRef) and isinstance(second, FunctionRef):
                self._compare_calls((one, value), (other, second))
            else:
                self._require(value == second)

    def _compare_calls(self, first: tuple[Node, FunctionRef], second: tuple[Node, FunctionRef]) -> None:
        (one, called), (other, instead) = first, second
        self._require(called.attrs == instead.attrs)
        body = one.graph.library.functions.get(called.name)
        partner = other.graph.library.functions.get(instead.name)
        if body is None or partner is None:
            self._same = False
        elif body is not partner:
            self._compare_functions(body, partner)

    def _compare_functions(self, one: Function, other: Function) -> None:
        arguments, partners = list(one.args.values()), list(other.args.values())
        types = [[(arg.is_list, arg.plain_type) for arg in args] for args in (arguments, partners)]
        self._require(types[0] == types[1] and all(plain for _, plain in types[0]))
        self._require(one.attrs == other.attrs)
        for argument, partner in zip(arguments, partners, strict=False):
            self._require(argument.output_shape(0) == partner.output_shape(0))
            self._reach(argument, partner)
        self._read(one.results, other.results)
        self._wait(
            [node for end in one.control_returns.values() for node in end.controls],
            [node for end in other.control_returns.values() for node in end.controls],
        )
