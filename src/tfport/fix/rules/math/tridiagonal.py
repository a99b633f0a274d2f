"""Tridiagonal matrices by products of their diagonals, and as dense matrices."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import NodeOrValue, rank
from tfport.fix.rule import ROUNDING, Replacement, refuse, rule
from tfport.graph.graph import Node

LARGEST = 2048
"""The most rows for which a dense matrix is written."""


@rule("TridiagonalMatMul", keeps=ROUNDING)
def three_products(op: NodeBuilder, n: Node) -> Replacement:
    """Each row is multiplied by the main diagonal, the next by the upper, the one before by the lower."""
    upper, main, lower, x = n.inputs
    before = rank(op, x, "right side") - 2
    next_rows = op.Mul(_rows(op, _column(op, upper), stop=-1), _rows(op, x, start=1))
    last_rows = op.Mul(_rows(op, _column(op, lower), start=1), _rows(op, x, stop=-1))
    above = op.Pad(next_rows, [[0, 0]] * before + [[0, 1], [0, 0]])
    below = op.Pad(last_rows, [[0, 0]] * before + [[1, 0], [0, 0]])
    return op.Add(op.Add(op.Mul(_column(op, main), x), above), below)


@rule("TridiagonalSolve", keeps=ROUNDING)
def solved_as_dense(op: NodeBuilder, n: Node) -> Replacement:
    """MatrixSolve of the whole matrix; it has zeros beside the three diagonals."""
    diagonals, right = n.inputs
    if n.attrs.get("perturb_singular"):
        return refuse("it solves singular systems (perturb_singular)")
    before = rank(op, right, "right side") - 2
    known = op.shape(diagonals)
    if known is not None and (size := known[-1]) is not None and size > LARGEST:
        return refuse(f"the dense matrix has {size} rows; at most {LARGEST} are written")
    upper, main, lower = (_diagonal(op, diagonals, place) for place in range(3))
    batch = [[0, 0]] * before
    above = op.Pad(op.MatrixDiag(_items(op, upper, stop=-1)), [*batch, [0, 1], [1, 0]])
    below = op.Pad(op.MatrixDiag(_items(op, lower, start=1)), [*batch, [1, 0], [0, 1]])
    return op.MatrixSolve(op.Add(op.Add(op.MatrixDiag(main), above), below), right, adjoint=False)


def _column(op: NodeBuilder, row: NodeOrValue) -> Node:
    """A diagonal […, 1, M] as […, M, 1]."""
    return op.ExpandDims(op.Squeeze(row, squeeze_dims=[-2]), -1)


def _rows(op: NodeBuilder, x: NodeOrValue, start: int = 0, stop: int = 0) -> Node:
    """`x[..., start:stop, :]`; a stop of 0 is the end."""
    ends = 0b110 if not stop else 0b100
    return op.StridedSlice(
        x, [0, start, 0], [0, stop, 0], [1, 1, 1], ellipsis_mask=1, begin_mask=0b100, end_mask=ends
    )


def _items(op: NodeBuilder, x: NodeOrValue, start: int = 0, stop: int = 0) -> Node:
    """`x[..., start:stop]`; a stop of 0 is the end."""
    return op.StridedSlice(x, [0, start], [0, stop], [1, 1], ellipsis_mask=1, end_mask=0 if stop else 0b10)


def _diagonal(op: NodeBuilder, diagonals: NodeOrValue, place: int) -> Node:
    """`diagonals[..., place, :]`."""
    return op.StridedSlice(
        diagonals, [0, place, 0], [0, place + 1, 0], [1, 1, 1],
        ellipsis_mask=1, begin_mask=0b100, end_mask=0b100, shrink_axis_mask=0b10,
    )  # fmt: skip
