"""Compute before a loop what its iterations need not compute one by one.

A node that reads only what is the same in each iteration is computed once. One that reads rows, which is what
`Gather` takes from a tensor at the number of the iteration, is computed for all rows at once, and the loop
reads its row of that. In a product of joined parts (the input and the state of a recurrent cell), the parts
that are rows are multiplied for all iterations at once, and only the others in the loop.

Only as many rows are computed as the loop may read: its trip count, or what the shortest tensor has. So a
read out of range is still found by the iteration that makes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import OnnxGraph, captured_by
from tfport.runtime.operand import Operand, operand_key
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.loop_rows import LoopRows, all_rows_of, can_be_early, is_small_product
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.startup.dataclass import dataclass

_ROUNDED = frozenset(("float32", "float64"))


@island_pass()
def early_nodes(graph: IslandGraph) -> None:
    """What the iterations of a loop need not compute one by one is computed before it."""
    for node in graph.nodes:
        if node.op == "Loop":
            nodes = _Rewrite(node).nodes()
            if len(nodes) > 1:
                graph.replace(node, *nodes)


class _Rewrite:
    """The nodes of one loop: those before it, and those that remain in its body."""

    def __init__(self, loop: OnnxNode) -> None:
        self._loop = loop
        self._body: Program = loop.attrs["body"]
        self._all = [node for step in self._body.steps for node in step.lowered or ()]
        self._readers = OnnxGraph(self._all).readers
        self._named = {*self._body.results, *captured_by(*self._all)}
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
            self._before += b.added
            self._computed[key] = earlier
        for output, rows in zip(node.outputs, earlier, strict=True):
            self._rows.add(output, rows)
        return True

    def _is_joined(self, node: OnnxNode) -> bool:
        """Whether a node joins parts for products that are split."""
        readers = self._readers(node.outputs[0])
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
        for part in early:
            self._take(part)
        for part in varying:
            self._keep(part)
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
                or len(self._readers(total)) != 1
                or total in self._named
            ):
                continue
            varying, early = self._sums[total]
            if term is None or not self._is_known_early(term) or (term.rank or 0) > (early.rank or 0):
                continue
            b = Builder(total.name.partition("#")[0])
            both = b.Add(early, term)
            if self._is_early(b.added[-1]):
                del self._sums[total]
                self._sums[node.outputs[0]] = varying, both
                return True
        return False

    def _keep(self, node: OnnxNode) -> None:
        """A node of the body."""
        for operand in captured_by(node):
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


@dataclass(frozen=True)
class JoinedParts:
    """Parts that are joined along their last axis, each with the index where it begins.

    A product of them is a sum of products: of the input and of the state of a recurrent cell. The early
    parts, which are known before the loop, are those at both ends; what is between them stays joined.
    """

    early: Sequence[tuple[Operand, int]]
    varying: Sequence[tuple[Operand, int]]

    def products(self, node: OnnxNode) -> tuple[list[OnnxNode], list[OnnxNode]]:
        """The nodes of the product of the early parts, and of that of the others."""
        _, weights = node.inputs
        assert weights is not None
        early, others = (Builder(node.outputs[0].name.partition("#")[0]) for _ in range(2))
        total, *terms = [early.MatMul(part, _matrix_of(part, at, weights)) for part, at in self.early]
        for term in terms:
            total = early.Add(total, term)
        (first, start), *rest = self.varying
        joined = others.Concat(first, *(part for part, _ in rest), axis=-1) if rest else first
        others.MatMul(joined, _matrix_of(joined, start, weights))
        return early.added, others.added


def joined_parts(
    node: OnnxNode, readers: Sequence[OnnxNode], is_early: Callable[[Operand], bool]
) -> JoinedParts | None:
    """The parts that a node joins, if its readers are all products with constant matrices."""
    parts = [o for o in node.inputs if o is not None]
    rank, sizes = parts[0].rank, [part.shape[-1] for part in parts if part.shape]
    known = [size for size in sizes if size is not None]
    if not rank or len(known) < len(parts) or node.attrs["axis"] % rank != rank - 1:
        return None
    if not readers or not all(_is_product(reader, node.outputs[0], sum(known)) for reader in readers):
        return None
    starts = list(zip(parts, itertools.accumulate(known, initial=0), strict=False))

    def can_leave(started: tuple[Operand, int]) -> bool:
        part, at = started
        return is_early(part) and all(
            is_small_product(part, _matrix_of(part, at, reader.inputs[1])) for reader in readers
        )

    first = len(list(itertools.takewhile(can_leave, starts)))
    last = len(list(itertools.takewhile(can_leave, reversed(starts[first:]))))
    varying = starts[first : len(starts) - last]
    early = [*starts[:first], *starts[len(starts) - last :]]
    return JoinedParts(early, varying) if early and varying else None


def _is_product(node: OnnxNode, joined: Operand, size: int) -> bool:
    """Whether a node is the product of joined parts of this size with a constant matrix."""
    if node.op != "MatMul" or node.inputs[0] is not joined:
        return False
    weights = node.inputs[1]
    return weights is not None and weights.array is not None and weights.array.shape[:-1] == (size,)


def _matrix_of(part: Operand, at: int, weights: Operand | None) -> Operand:
    """The rows of a matrix by which a part is multiplied that begins at this index."""
    assert part.shape is not None
    assert weights is not None
    assert weights.array is not None
    rows = weights.array[at : at + (part.shape[-1] or 0)]
    return Operand(weights.dtype, value=rows, name=weights.name.partition("#")[0])
