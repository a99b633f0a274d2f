"""The rows of a loop: what it reads from tensors outside of it at the number of the iteration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program

_SAME_NUMBER = ("Cast", "Identity")


class LoopRows(Mapping[Operand, Operand]):
    """The operands of a body that are rows, and all rows of each: tensors with one axis more, the first.

    A loop without a trip count, or one that reads no rows, has none.
    """

    def __init__(self, loop: OnnxNode, nodes: Sequence[OnnxNode]) -> None:
        self.before: list[OnnxNode] = []
        """The nodes before the loop that compute rows."""
        body: Program = loop.attrs["body"]
        self.iteration, self._trip_count = body.args[0], loop.inputs[0]
        self._of: dict[Operand, Operand | None] = {}
        """Rows; None where they are computed when they are needed."""
        self._sources = _sources(body, nodes) if self._trip_count is not None else {}
        self._count: Operand | None = None
        if self._sources:
            self._of[self.iteration] = None

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Operand]:
        return iter(self._of)

    def __contains__(self, operand: object) -> bool:
        return operand in self._of

    def __getitem__(self, operand: Operand) -> Operand:
        rows = self._of[operand]
        if rows is None:
            b = Builder(operand.name.partition("#")[0])
            if self._count is None:
                self._count = self._counted(b)
            if operand is self.iteration:
                rows = b.Range(b.const(0, INT64), b.squeeze(self._count, 0), b.const(1, INT64))
                rows.shape = (None,)
            else:
                rows = b.Slice(self._sources[operand], b.ints(0), self._count, b.ints(0))
            self.before += b.made
            same = [o for o, source in self._sources.items() if source is self._sources.get(operand)]
            self._of.update(dict.fromkeys((operand, *(o for o in same if o in self._of)), rows))
        return rows

    def add(self, operand: Operand, rows: Operand) -> None:
        self._of[operand] = rows

    def takes(self, node: OnnxNode) -> bool:
        """Whether a node reads a row from outside, so that its output is a row from now on."""
        is_read = node.outputs[0] in self._sources
        if is_read:
            self._of[node.outputs[0]] = None
        return is_read

    def whole(self, operand: Operand) -> Operand:
        """The tensor from which an iteration takes a row."""
        rows = self._of[operand]
        return rows if rows is not None else self._sources[operand]

    def _counted(self, b: Builder) -> Operand:
        """The number of rows that the loop may read, as a vector of one element."""
        assert self._trip_count is not None
        tensors = dict.fromkeys(self._sources.values())
        return b.Min(b.vector(self._trip_count), *(b.Shape(tensor, start=0, end=1) for tensor in tensors))


def _sources(body: Program, nodes: Sequence[OnnxNode]) -> dict[Operand, Operand]:
    """The operands that are rows of a tensor outside of the loop, and that tensor."""
    inside = {*body.args, *(output for node in nodes for output in node.outputs)}
    numbers = {body.args[0]}
    sources: dict[Operand, Operand] = {}
    for node in nodes:
        first = node.inputs[0] if node.inputs else None
        if node.op in _SAME_NUMBER and first in numbers and node.outputs[0].dtype.is_integer:
            numbers.add(node.outputs[0])
        elif _is_row(node, numbers) and first is not None and first not in inside and first.shape:
            sources[node.outputs[0]] = first
    return sources


def _is_row(node: OnnxNode, numbers: Collection[Operand]) -> bool:
    return node.op == "Gather" and node.attrs.get("axis", 0) == 0 and node.inputs[1] in numbers
