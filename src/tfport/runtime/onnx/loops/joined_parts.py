"""A product of joined parts as a sum of products: those of the input and the state of a recurrent cell.

The early parts, which are known before the loop, are those at both ends; what is between them stays joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.loops.row_rules import is_small_product
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class JoinedParts:
    """Parts that are joined along their last axis, each with the place where it begins."""

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
        return early.made, others.made


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
    places = list(zip(parts, itertools.accumulate(known, initial=0), strict=False))

    def can_leave(place: tuple[Operand, int]) -> bool:
        part, at = place
        return is_early(part) and all(
            is_small_product(part, _matrix_of(part, at, reader.inputs[1])) for reader in readers
        )

    first = len(list(itertools.takewhile(can_leave, places)))
    last = len(list(itertools.takewhile(can_leave, reversed(places[first:]))))
    varying = places[first : len(places) - last]
    early = [*places[:first], *places[len(places) - last :]]
    return JoinedParts(early, varying) if early and varying else None


def _is_product(node: OnnxNode, joined: Operand, size: int) -> bool:
    """Whether a node is the product of joined parts of this size with a constant matrix."""
    if node.op != "MatMul" or node.inputs[0] is not joined:
        return False
    weights = node.inputs[1]
    return weights is not None and weights.array is not None and weights.array.shape[:-1] == (size,)


def _matrix_of(part: Operand, at: int, weights: Operand | None) -> Operand:
    """The rows of a matrix by which a part is multiplied that begins at this place."""
    assert part.shape is not None
    assert weights is not None
    assert weights.array is not None
    rows = weights.array[at : at + (part.shape[-1] or 0)]
    return Operand(weights.dtype, value=rows, name=weights.name.partition("#")[0])
