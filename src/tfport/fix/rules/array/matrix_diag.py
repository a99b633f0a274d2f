"""Diagonals of matrices: V1 supports the main one, V2 any band of them, V3 also their alignment.

A band is written and read by index: the diagonal of an element, and its position on it, follow
from its row and column. The range of diagonals and explicit sizes must be constants.
"""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.fix.rules.math.arithmetic import truth_over
from tfport.graph.building.sizes import (
    NodeOrValue,
    count_to,
    joined,
    numbers,
    part,
    product,
    shape_of,
    size_at,
)
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """The diagonals from `low` to `high`, negative below the main one."""

    low: int
    high: int
    align: str

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    def starts_left(self, op: RuleBuilder, diagonal: Value) -> Node | None:
        """Whether each diagonal is aligned to the left; None if all are."""
        above, below = (side == "LEFT" for side in self.align.split("_"))
        if (above and below) or self.count == 1:
            return None
        if above:
            return op.GreaterEqual(diagonal, 0)
        return op.LessEqual(diagonal, 0) if below else op.NotEqual(diagonal, diagonal)


def _band(op: RuleBuilder, n: Node, k: Value) -> Band:
    ends = numbers(op, k, "k")
    if len(ends) not in (1, 2) or ends[0] > ends[-1]:
        raise refuse(f"its k is {ends}")
    return Band(ends[0], ends[-1], str(n.attrs.get("align", "LEFT_LEFT")))


def _main_only(band: Band) -> None:
    if band.low or band.high:
        raise refuse(
            f"it has the diagonals {band.low} to {band.high}; the older op supports the main one only"
        )


@rule("MatrixDiagV2 MatrixDiagV3", keeps=EXACT)
def main_diagonal(op: RuleBuilder, n: Node) -> Replacement:
    """MatrixDiag makes square matrices with a main diagonal, and zeros elsewhere."""
    diagonal, k, rows, columns, padding = n.inputs
    _main_only(_band(op, n, k))
    sizes = numbers(op, rows, "num_rows") + numbers(op, columns, "num_cols")
    length = dims[-1] if (dims := op.shape(diagonal)) else None
    if any(size not in (-1, length) for size in sizes):
        return refuse(f"its matrices have explicit sizes {sizes}")
    _pads_with_zeros(op, padding)
    return op.MatrixDiag(diagonal)


@rule("MatrixDiagPartV2 MatrixDiagPartV3", keeps=EXACT)
def part_of_main_diagonal(op: RuleBuilder, n: Node) -> Replacement:
    """MatrixDiagPart reads main diagonals."""
    _main_only(_band(op, n, n.inputs[1]))
    if (dims := op.shape(n.inputs[1])) != ():
        return refuse(f"its k of shape {dims} adds an axis for the diagonals")
    return op.MatrixDiagPart(n.inputs[0])


@rule("MatrixSetDiagV2 MatrixSetDiagV3", keeps=EXACT)
def main_diagonal_set(op: RuleBuilder, n: Node) -> Replacement:
    """MatrixSetDiag writes main diagonals."""
    x, diagonal, k = n.inputs
    _main_only(_band(op, n, k))
    if op.shape(k) != ():
        return refuse("its k adds an axis for the diagonals")
    return op.MatrixSetDiag(x, diagonal)


@rule("MatrixDiag MatrixDiagPart MatrixSetDiag", keeps=EXACT)
def as_v3(op: RuleBuilder, n: Node) -> Replacement:
    """The V3 op with the main diagonal, and zeros elsewhere."""
    k, zero = op.const(0, INT32), op.const(0, n.outputs[0].dtype.base)
    if n.op == "MatrixDiag":
        return op.MatrixDiagV3(n.inputs[0], k, op.const(-1, INT32), op.const(-1, INT32), zero)
    return op.node(f"{n.op}V3", *n.inputs, k, *([zero] if n.op == "MatrixDiagPart" else []))


@rule("MatrixDiagV2 MatrixDiagPartV2 MatrixSetDiagV2", keeps=EXACT)
def aligned_left(op: RuleBuilder, n: Node) -> Replacement:
    """V2 is V3 with diagonals aligned to the left."""
    return op.node(n.op.replace("V2", "V3"), *n.inputs, align="LEFT_LEFT")


@rule("MatrixDiagV2 MatrixDiagV3", keeps=EXACT)
def diagonals_by_place(op: RuleBuilder, n: Node) -> Replacement:
    """Elements of the band are gathered from the diagonals, and the others are the padding."""
    diagonal, k, *sizes, padding = n.inputs
    band = _band(op, n, k)
    longest = size_at(op, diagonal, -1)
    rows, columns = _sizes(op, band, longest, *[numbers(op, v, "num_rows or num_cols")[0] for v in sizes])
    taken, inside = _written(op, band, diagonal, rows, columns, several=_several(op, k))
    return op.Select(truth_over(op, inside, op.value(taken)), taken, op.Fill(op.Shape(taken), padding))


@rule("MatrixSetDiagV2 MatrixSetDiagV3", keeps=EXACT)
def band_by_place(op: RuleBuilder, n: Node) -> Replacement:
    """Elements of the band are gathered from the diagonals, and the others are unchanged."""
    x, diagonal, k = n.inputs
    taken, inside = _written(
        op, _band(op, n, k), diagonal, size_at(op, x, -2), size_at(op, x, -1), several=_several(op, k)
    )
    return op.Select(truth_over(op, inside, x), op.tensor(taken, op.shape(x)), x)


@rule("MatrixDiagPartV2 MatrixDiagPartV3", keeps=EXACT)
def read_by_place(op: RuleBuilder, n: Node) -> Replacement:
    """Each element of the diagonals is gathered by row and column, and the rest is the padding."""
    x, k, padding = n.inputs
    band, whole = _band(op, n, k), shape_of(op, x)
    rows, columns = size_at(op, x, -2), size_at(op, x, -1)
    longest = _longest(op, band, rows, columns)
    diagonal = op.const([[band.high - i] for i in range(band.count)], INT32)
    length, offset = _content(op, band, diagonal, longest, rows, columns)
    position = op.Sub(op.ExpandDims(count_to(op, longest), 0), offset)
    inside = op.LogicalAnd(op.GreaterEqual(position, 0), op.Less(position, length))
    row, column = op.Add(position, op.Maximum(op.Neg(diagonal), 0)), op.Add(position, op.Maximum(diagonal, 0))
    taken = _taken(op, x, op.Add(op.Mul(row, columns), column), inside)
    shape: list[NodeOrValue] = [part(op, whole, stop=-2), op.ExpandDims(longest, 0)]
    if _several(op, k):
        shape.insert(1, op.const([band.count], INT32))
    result = op.Select(truth_over(op, inside, op.value(taken)), taken, op.Fill(op.Shape(taken), padding))
    return op.Reshape(result, joined(op, *shape))


def _several(op: RuleBuilder, k: Value) -> bool:
    """Whether the diagonals have their own axis, as there are several."""
    ends = numbers(op, k, "k")
    return ends[0] != ends[-1]


def _pads_with_zeros(op: RuleBuilder, padding: Value) -> None:
    known = op.array(padding)
    if known is None or known.tobytes().strip(b"\0"):
        raise refuse("it is not known to pad with zeros")


def _sizes(
    op: RuleBuilder, band: Band, longest: Value, rows: int, columns: int
) -> tuple[NodeOrValue, NodeOrValue]:
    """The sizes of the matrices; -1 means the smallest size that contains the diagonals."""
    least_rows = op.Sub(longest, min(band.high, 0))
    least_columns = op.Add(longest, max(band.low, 0))
    if rows == columns == -1:
        square = op.Maximum(least_rows, least_columns)
        return square, square
    return (
        least_rows if rows == -1 else op.const(rows, INT32),
        least_columns if columns == -1 else op.const(columns, INT32),
    )


def _longest(op: RuleBuilder, band: Band, rows: NodeOrValue, columns: NodeOrValue) -> Value:
    return op.Minimum(op.Add(rows, min(band.high, 0)), op.Sub(columns, max(band.low, 0))).output(0)


def _content(
    op: RuleBuilder,
    band: Band,
    diagonal: Value,
    longest: NodeOrValue,
    rows: NodeOrValue,
    columns: NodeOrValue,
) -> tuple[Node, NodeOrValue]:
    """The length of each diagonal, and the offset of its first element."""
    length = op.Minimum(op.Add(rows, op.Minimum(diagonal, 0)), op.Sub(columns, op.Maximum(diagonal, 0)))
    left = band.starts_left(op, diagonal)
    if left is None:
        return length, op.const(0, INT32)
    return length, op.Select(left, op.ZerosLike(diagonal), op.Sub(longest, length))


def _written(
    op: RuleBuilder, band: Band, diagonals: Value, rows: NodeOrValue, columns: NodeOrValue, *, several: bool
) -> tuple[Node, Node]:
    """Matrices that contain the diagonals, and a mask of the band."""
    whole, longest = shape_of(op, diagonals), size_at(op, diagonals, -1)
    diagonal = op.Sub(op.ExpandDims(count_to(op, columns), 0), op.ExpandDims(count_to(op, rows), 1))
    inside = op.LogicalAnd(op.GreaterEqual(diagonal, band.low), op.LessEqual(diagonal, band.high))
    _, offset = _content(op, band, diagonal.output(0), longest, rows, columns)
    column = op.ExpandDims(count_to(op, columns), 0)
    position = op.Add(op.Sub(column, op.Maximum(diagonal, 0)), offset)
    flat = op.Add(op.Mul(op.Sub(band.high, diagonal), longest), position)
    taken = _taken(op, diagonals, flat, inside, axes=2 if several else 1)
    batch = part(op, whole, stop=-2 if several else -1)
    return op.Reshape(taken, joined(op, batch, op.ExpandDims(rows, 0), op.ExpandDims(columns, 0))), inside


def _taken(op: RuleBuilder, source: Value, flat: Node, inside: Node, axes: int = 2) -> Node:
    """Elements of the last axes by flat index; undefined outside of the mask."""
    whole = shape_of(op, source)
    shape = joined(op, product(op, part(op, whole, stop=-axes)), product(op, part(op, whole, -axes)))
    runs = op.tensor(op.Reshape(source, shape), (None, None))
    indices = op.tensor(op.Select(inside, flat, op.ZerosLike(flat)), (None, None))
    return op.GatherV2(runs, indices, 1)
