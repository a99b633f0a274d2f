"""Under which conditions a node of TF1 runs: those of the switches between it and what is fed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tfport.graph.graph import Node, Value

SWITCHES, MERGES = ("Switch", "RefSwitch"), ("Merge", "RefMerge")
ENTERS = ("Enter", "RefEnter")


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition, and what it has to be."""

    condition: Value
    side: bool

    @property
    def negated(self) -> Literal:
        return Literal(self.condition, not self.side)


Literals = frozenset[Literal]
Levels = dict[Value | None, int]
"""How many merges are one behind the other, by condition; None for all."""
NONE: Literals = frozenset()


def condition_of(switch: Node) -> Value:
    """What a switch goes by; TF1 gives each branch a copy of its condition."""
    value = switch.inputs[1]
    while value.node.op == "Identity" and value.node.inputs:
        value = value.node.inputs[0]
    return value


class Conditions:
    """Answers for some nodes of one graph; inside a loop, beside those of the loop itself."""

    def __init__(
        self, nodes: Iterable[Node], exits: Mapping[Node, Sequence[Node]], loop_merges: Collection[Node]
    ) -> None:
        self._exits, self._loop_merges = exits, loop_merges
        self._of: dict[Node, Literals] = {}
        self._levels: dict[Node, Levels] = {}
        for node in nodes:
            if node not in self._of:
                self._fill(node)

    def of(self, node: Node) -> Literals:
        return self._of.get(node, NONE)

    def of_value(self, value: Value) -> Literals:
        """Of one output: a switch adds its own condition."""
        before = self.of(value.node)
        if value.node.op in SWITCHES and value.node.inputs[1].node.op != "LoopCond":
            return before | {Literal(condition_of(value.node), value.index == 1)}
        return before

    def level(self, merge: Node, condition: Value | None) -> int:
        """How many merges are one behind the other up to here, of one condition or of all."""
        return self._levels.get(merge, {}).get(condition, 0)

    def decided_by(self, merge: Node) -> Literal | None:
        """The condition that decides between two inputs of a merge, as true."""
        if len(merge.inputs) != 2:
            return None
        sides = [self.of_value(value) for value in merge.inputs]
        found = [literal for literal in sides[0] if literal.negated in sides[1]]
        if len(found) != 1:
            return None
        return found[0] if found[0].side else found[0].negated

    def _fill(self, root: Node) -> None:
        stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(self._before(root)))]
        open_ = {root}
        while stack:
            node, before = stack[-1]
            following = next((n for n in before if n not in self._of and n not in open_), None)
            if following is not None:
                open_.add(following)
                stack.append((following, iter(self._before(following))))
                continue
            stack.pop()
            self._of[node] = self._decide(node)
            self._levels[node] = self._level(node)

    def _before(self, node: Node) -> list[Node]:
        """The nodes that decide when a node runs."""
        if node in self._exits:
            return [n for enter in self._exits[node] for n in self._around(enter)]
        if node.op in ENTERS or node in self._loop_merges:
            return []
        return self._around(node)

    def _around(self, node: Node) -> list[Node]:
        return [value.node for value in node.inputs] + list(node.controls)

    def _decide(self, node: Node) -> Literals:
        if node in self._exits:
            return NONE.union(*(self._together(enter) for enter in self._exits[node]))
        if node.op in ENTERS or node in self._loop_merges:
            return NONE
        if node.op in MERGES:
            decided = self.decided_by(node)
            sides = [self.of_value(value) for value in node.inputs]
            if decided is not None:
                return frozenset(
                    lit for side in sides for lit in side if lit.condition is not decided.condition
                )
            return sides[0].intersection(*sides[1:]) if sides else NONE
        return self._together(node)

    def _together(self, node: Node) -> Literals:
        return NONE.union(*(self.of_value(v) for v in node.inputs), *(self.of(c) for c in node.controls))

    def _level(self, node: Node) -> Levels:
        found: Levels = {}
        for levels in {id(one): one for n in self._before(node) if (one := self._levels.get(n))}.values():
            if not found:
                found = levels
            elif levels is not found:
                found = {c: max(found.get(c, 0), levels.get(c, 0)) for c in (*found, *levels)}
        if node.op in MERGES and node not in self._loop_merges:
            decided = self.decided_by(node)
            own = [None, decided.condition] if decided is not None else [None]
            found = {**found, **{c: found.get(c, 0) + 1 for c in own}}
        return found
