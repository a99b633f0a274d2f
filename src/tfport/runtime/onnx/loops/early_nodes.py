"""Compute before a loop what its iterations need not compute one by one.

A node that reads only what is the same in each iteration is computed once. One that reads rows, which is what
`Gather` takes from a tensor at the number of the iteration, is computed for all rows at once, and the loop
reads its row of that. In a product of joined parts (the input and the state of a recurrent cell), the parts
that are rows are multiplied for all iterations at once, and only the others in the loop.

Only as many rows are computed as the loop may read: its trip count, or what the shortest tensor has. So a
read out of range is still found by the iteration that makes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.loops.joined_parts import JoinedParts, joined_parts
from tfport.runtime.onnx.loops.loop_rows import LoopRows
from tfport.runtime.onnx.loops.row_rules import all_rows_of, can_be_early
from tfport.runtime.operand import Operand, operand_key
from tfport.runtime.program import OnnxNode, Program, Step

_ROUNDED = frozenset(("float32", "float64"))


def with_early_nodes(nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """The nodes of a graph, with nodes before each loop that its body no longer has."""
    return [made for node in nodes for made in (_Rewrite(node).nodes() if node.op == "Loop" else [node])]


class _Rewrite:
    """The nodes of one loop: those before it, and those that remain in its body."""

    def __init__(self, loop: OnnxNode) -> None:
        self._loop = loop
        self._body: Program = loop.attrs["body"]
        self._all = [node for step in self._body.steps for node in step.lowered or ()]
        self._readers: dict[Operand, list[OnnxNode]] = defaultdict(list)
        for node in self._all:
            for operand in _read_by(node):
                self._readers[operand].append(node)
        captured = (o for node in self._all for program in node.programs for o in program.captures())
        self._named = {*self._body.results, *captured}
        """Operands that others find under their name."""
        self._inside: list[OnnxNode] = []
        self._rows = LoopRows(loop, self._all)
        self._before = self._rows.before
        self._varying = {arg for arg in self._body.args if arg not in self._rows}
        """Operands that only an iteration knows."""
        self._sums: dict[Operand, tuple[Operand, Operand]] = {}
        """Sums that are not computed yet: of an operand that varies, and one that does not."""
        self._joined: dict[Operand, JoinedParts] = {}
        self._same: dict[Operand, Operand] = {}
        """The operand to read instead of one that would be computed twice."""
        self._computed: dict[Hashable, Sequence[Operand]] = {}
        self._row_of: dict[Operand, Operand] = {}
        """What the body reads of rows."""

    def nodes(self) -> list[OnnxNode]:
        """The nodes before the loop, and the loop with what remains."""
        for node in self._all:
            self._take(node)
        results = [self._here(result) for result in self._body.results]
        if not self._before:
            return [self._loop]
        rest = Program(self._body.args, [Step("", "Loop", (), (), self._inside)], results)
        loop = self._loop
        return [*self._before, OnnxNode("Loop", loop.inputs, loop.outputs, {**loop.attrs, "body": rest})]

    def _take(self, node: OnnxNode) -> None:
        """Compute a node before the loop, for all its iterations, or in its body."""
        inputs = tuple(o and self._same.get(o, o) for o in node.inputs)
        node = OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain, node.means)
        ways = (self._rows.takes, self._is_early, self._is_joined, self._is_split, self._is_longer_sum)
        if not any(way(node) for way in ways):
            self._keep(node)

    def _is_known_early(self, operand: Operand | None) -> bool:
        return operand not in self._varying and operand not in self._sums and operand not in self._joined

    def _is_early(self, node: OnnxNode) -> bool:
        """Whether a node is computed before the loop, from now on."""
        if not can_be_early(node) or not all(map(self._is_known_early, node.inputs)):
            return False
        key = node.op, tuple(o and operand_key(o) for o in node.inputs), repr(sorted(node.attrs.items()))
        earlier = self._computed.get(key)
        if not any(o in self._rows for o in node.inputs):
            if earlier is not None and self._named.isdisjoint(node.outputs):
                self._same.update(zip(node.outputs, earlier, strict=True))
            else:
                self._before.append(node)
                self._computed[key] = node.outputs
            return True
        if earlier is None:
            b = Builder(node.outputs[0].name.partition("#")[0])
            earlier = all_rows_of(b, node, self._rows)
            if earlier is None:
                return False
            self._before += b.made
            self._computed[key] = earlier
        for output, rows in zip(node.outputs, earlier, strict=True):
            self._rows.add(output, rows)
        return True

    def _is_joined(self, node: OnnxNode) -> bool:
        """Whether a node joins parts for products that are split."""
        readers = self._readers[node.outputs[0]]
        if (
            node.op != "Concat"
            or node.outputs[0] in self._named
            or node.outputs[0].dtype.name not in _ROUNDED
        ):
            return False
        parts = joined_parts(node, readers, self._is_known_early)
        if parts is not None:
            self._joined[node.outputs[0]] = parts
        return parts is not None

    def _is_split(self, node: OnnxNode) -> bool:
        """Whether a node is a product of joined parts: only that of the varying ones stays in the loop."""
        parts = self._joined.get(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        if parts is None:
            return False
        early, varying = parts.products(node)
        for made in early:
            self._take(made)
        for made in varying:
            self._keep(made)
        self._sums[node.outputs[0]] = varying[-1].outputs[0], early[-1].outputs[0]
        return True

    def _is_longer_sum(self, node: OnnxNode) -> bool:
        """Whether a node adds a term to a sum: then both terms are added before the loop."""
        if node.op != "Add" or len(node.inputs) != 2:
            return False
        for total, term in (node.inputs, node.inputs[::-1]):
            if (
                total is None
                or total not in self._sums
                or len(self._readers[total]) != 1
                or total in self._named
            ):
                continue
            varying, early = self._sums[total]
            if term is None or not self._is_known_early(term) or (term.rank or 0) > (early.rank or 0):
                continue
            b = Builder(total.name.partition("#")[0])
            both = b.Add(early, term)
            if self._is_early(b.made[-1]):
                del self._sums[total]
                self._sums[node.outputs[0]] = varying, both
                return True
        return False

    def _keep(self, node: OnnxNode) -> None:
        """A node of the body."""
        for operand in (o for program in node.programs for o in program.captures()):
            self._here(operand)
        inputs = tuple(o and self._here(o) for o in node.inputs)
        self._inside.append(OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain, node.means))
        self._varying.update(node.outputs)

    def _here(self, operand: Operand) -> Operand:
        """The operand to read in the body instead of this one, after it was computed there."""
        operand = self._same.get(operand, operand)
        if operand in self._sums:
            varying, early = self._sums.pop(operand)
            self._keep(OnnxNode("Add", (varying, early), (operand,), {}))
        elif operand in self._rows and operand is not self._rows.iteration:
            rows = self._rows.whole(operand)
            if rows not in self._row_of or (operand in self._named and self._row_of[rows] is not operand):
                self._inside.append(OnnxNode("Gather", (rows, self._rows.iteration), (operand,), {"axis": 0}))
                self._row_of[rows] = operand
            return self._row_of[rows]
        return operand


def _read_by(node: OnnxNode) -> list[Operand]:
    captured = (o for program in node.programs for o in program.captures())
    return [o for o in (*node.inputs, *captured) if o is not None]
