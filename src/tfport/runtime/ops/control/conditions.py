"""The conditions under which a TF1 node runs: those of the Switch nodes that it depends on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ENTERS, MERGES, SWITCHES
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition and the value that it must have."""

    condition: Value
    side: bool

    @property
    def negated(self) -> Literal:
        return Literal(self.condition, not self.side)


Literals = frozenset[Literal]
Levels = dict[Value | None, int]
"""Length of the longest chain of merges, by condition; None counts all merges."""
NONE: Literals = frozenset()


def condition_of(switch: Node) -> Value:
    """The condition of a switch, without the Identity nodes that TF1 inserts in each branch."""
    return switch.inputs[1].source()


class Conditions:
    """The conditions of some nodes of a graph; inside a loop, without those of the loop itself."""

    def __init__(
        self, nodes: Collection[Node], exits: Mapping[Node, Sequence[Node]], loop_merges: Collection[Node]
    ) -> None:
        self._exits, self._loop_merges = exits, loop_merges
        self._of: dict[Node, Literals] = {}
        self._levels: dict[Node, Levels] = {}
        self._dependent = self._found_dependent(nodes)
        for node in self._dependent:
            if node not in self._of:
                self._fill(node)

    def _found_dependent(self, nodes: Collection[Node]) -> set[Node]:
        """The nodes that depend on a switch or a merge of a branch: no other has conditions or levels."""
        exits: dict[Node, list[Node]] = {}
        for exit_, enters in self._exits.items():
            for enter in enters:
                exits.setdefault(enter, []).append(exit_)
        stack = [node for node in nodes if self._is_in_branch(node)]
        dependent = set(stack)
        while stack:
            for user in stack.pop().users:
                for node in exits.get(user, ()) if user.op in ENTERS else (user,):
                    if node not in dependent and node in nodes and node not in self._loop_merges:
                        dependent.add(node)
                        stack.append(node)
        return dependent

    def _is_in_branch(self, node: Node) -> bool:
        """Whether a node is a switch or a merge, and not that of a loop variable."""
        if node.op in MERGES:
            return node not in self._loop_merges
        return node.op in SWITCHES and not any(value.node.op == "LoopCond" for value in node.inputs[1:2])

    def of(self, node: Node) -> Literals:
        return self._of.get(node, NONE)

    def of_value(self, value: Value) -> Literals:
        """The conditions of an output: a switch adds its own."""
        before = self.of(value.node)
        if value.node.op in SWITCHES and value.node.inputs[1].node.op != "LoopCond":
            return before | {Literal(condition_of(value.node), value.index == 1)}
        return before

    def level(self, merge: Node, condition: Value | None) -> int:
        """Length of the longest chain of merges that ends here, for one condition or for all (None)."""
        return self._levels.get(merge, {}).get(condition, 0)

    def decided_by(self, merge: Node) -> Literal | None:
        """The condition that selects one of the two inputs of a merge, as a true literal."""
        if len(merge.inputs) != 2:
            return None
        sides = [self.of_value(value) for value in merge.inputs]
        opposed = [literal for literal in sides[0] if literal.negated in sides[1]]
        if len(opposed) != 1:
            return None
        return opposed[0] if opposed[0].side else opposed[0].negated

    def _fill(self, root: Node) -> None:
        stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(self._dependencies(root)))]
        visited = {root}
        while stack:
            node, before = stack[-1]
            following = next((n for n in before if n not in self._of and n not in visited), None)
            if following is not None:
                visited.add(following)
                stack.append((following, iter(self._dependencies(following))))
                continue
            stack.pop()
            self._of[node] = self._decide(node)
            self._levels[node] = self._level(node)

    def _dependencies(self, node: Node) -> list[Node]:
        """The nodes with conditions that determine when a node runs."""
        if node in self._exits:
            return [n for enter in self._exits[node] for n in self._inputs(enter)]
        return self._inputs(node)

    def _inputs(self, node: Node) -> list[Node]:
        before = (*(value.node for value in node.inputs), *node.controls)
        return [other for other in before if other in self._dependent]

    def _decide(self, node: Node) -> Literals:
        if node in self._exits:
            return NONE.union(*(self._all_inputs(enter) for enter in self._exits[node]))
        if node.op in MERGES:
            decided = self.decided_by(node)
            sides = [self.of_value(value) for value in node.inputs]
            if decided is not None:
                return frozenset(
                    lit for side in sides for lit in side if lit.condition is not decided.condition
                )
            return sides[0].intersection(*sides[1:]) if sides else NONE
        return self._all_inputs(node)

    def _all_inputs(self, node: Node) -> Literals:
        return NONE.union(*(self.of_value(v) for v in node.inputs), *(self.of(c) for c in node.controls))

    def _level(self, node: Node) -> Levels:
        longest: Levels = {}
        before = (self._levels.get(n) for n in self._dependencies(node))
        for levels in {id(levels): levels for levels in before if levels}.values():
            if not longest:
                longest = levels
            elif levels is not longest:
                longest = {c: max(longest.get(c, 0), levels.get(c, 0)) for c in (*longest, *levels)}
        if node.op in MERGES and node not in self._loop_merges:
            decided = self.decided_by(node)
            own = [None, decided.condition] if decided is not None else [None]
            longest = {**longest, **{c: longest.get(c, 0) + 1 for c in own}}
        return longest
