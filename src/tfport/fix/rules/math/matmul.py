"""Matrix products, single and batched, of tridiagonal matrices, and by Einsum (`graph.building.products`)."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.products import einsum
from tfport.graph.building.sizes import NodeOrValue, covers, part, rank, shape_of
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value


@rule("BatchMatMulV3", keeps=EXACT)
def with_one_type(op: RuleBuilder, n: Node) -> Replacement:
    """BatchMatMulV2 gives the same result if both factors and the product have the same dtype."""
    if not n.attrs["Ta"] == n.attrs["Tb"] == n.attrs["Tout"]:
        return refuse("the factors and the product have different dtypes")
    return op.BatchMatMulV2(*n.inputs, **_flags(n))


@rule("BatchMatMulV3", keeps=EXACT)
def in_the_type_of_the_product(op: RuleBuilder, n: Node) -> Replacement:
    """Integer factors are cast to the dtype of the product, and multiplied there."""
    dtype = n.outputs[0].dtype.base
    if not (dtype.is_integer and all(value.dtype.is_integer for value in n.inputs)):
        return refuse(f"its factors {n.attrs['Ta']} and {n.attrs['Tb']} are not integers")
    return op.BatchMatMulV2(*[op.cast(value, dtype) for value in n.inputs], **_flags(n))


@rule("BatchMatMulV2", keeps=EXACT)
def broadcast_outright(op: RuleBuilder, n: Node) -> Replacement:
    """BatchMatMul needs batches of the same shape, so each factor is broadcast to the common shape first."""
    x, y = n.inputs
    left, right = _batch(op, x), _batch(op, y)
    x_stays, y_stays = covers(left, right), covers(right, left)
    if x_stays and y_stays and left == right:
        return op.BatchMatMul(x, y, **_flags(n))
    shapes = [shape_of(op, v) for v in (x, y)]
    batches = [part(op, s, stop=-2) for s in shapes]
    common = batches[0] if x_stays else batches[1] if y_stays else op.BroadcastArgs(*batches).output(0)

    def repeated(value: Value, shape: Value, stays: bool) -> Value:
        if stays:
            return value
        return op.BroadcastTo(value, op.ConcatV2([common, part(op, shape, -2)], 0)).output(0)

    return op.BatchMatMul(repeated(x, shapes[0], x_stays), repeated(y, shapes[1], y_stays), **_flags(n))


def _batch(op: RuleBuilder, value: Value) -> Dims | None:
    dims = op.shape(value)
    return None if dims is None else dims[:-2]


@rule("BatchMatMul", keeps=EXACT)
def as_batch_matmul_v2(op: RuleBuilder, n: Node) -> Replacement:
    """BatchMatMulV2 gives the same result for batches of the same shape."""
    return op.BatchMatMulV2(*n.inputs, **_flags(n))


@rule("BatchMatMul BatchMatMulV2", keeps=EXACT)
def as_matmul(op: RuleBuilder, n: Node) -> Replacement:
    """MatMul multiplies two single matrices."""
    if any((dims := op.shape(value)) is None or len(dims) != 2 for value in n.inputs):
        return refuse("its factors are not known to be matrices")
    adj_x, adj_y = n.attrs["adj_x"], n.attrs["adj_y"]
    a, b = _conjugated(op, n.inputs[0], adj_x), _conjugated(op, n.inputs[1], adj_y)
    return op.MatMul(a, b, transpose_a=adj_x, transpose_b=adj_y)


def _conjugated(op: RuleBuilder, value: Value, adjoint: object) -> Value | Node:
    """The conjugate for an adjoint: MatMul only transposes."""
    return op.Conj(value) if adjoint and value.dtype.is_complex else value


@rule("MatMul BatchMatMul BatchMatMulV2", keeps=EXACT)
def sum_of_products(op: RuleBuilder, n: Node) -> Replacement:
    """All products are computed at once and then summed; the order does not matter for integers."""
    dtype = n.attrs["T"]
    if not (isinstance(dtype, DType) and dtype.is_integer):
        return refuse(f"the order of adding {dtype} products matters")
    flags = [name for name in ("transpose_a", "transpose_b", "adj_x", "adj_y") if n.attrs.get(name)]
    transposed = (flags[:1] in (["transpose_a"], ["adj_x"]), flags[-1:] in (["transpose_b"], ["adj_y"]))
    if transposed == (True, True):
        return refuse("both factors are transposed")
    # the position of the new axis of each factor, and the axis that is summed
    x_axis, y_axis, common = {
        (False, False): (-1, -3, -2),
        (True, False): (-1, -2, -3),
        (False, True): (-2, -3, -1),
    }[transposed]
    products = op.Mul(op.ExpandDims(n.inputs[0], x_axis), op.ExpandDims(n.inputs[1], y_axis))
    return op.Sum(products, op.const([common]), keep_dims=False)


def _flags(n: Node) -> dict[str, object]:
    return {"adj_x": n.attrs["adj_x"], "adj_y": n.attrs["adj_y"]}


# Tridiagonal matrices.

LARGEST = 2048
"""The most rows for which a dense matrix is written."""


@rule("TridiagonalMatMul", keeps=ROUNDING)
def three_products(op: RuleBuilder, n: Node) -> Replacement:
    """Each row is multiplied by the main diagonal, the next by the upper, the one before by the lower."""
    upper, main, lower, x = n.inputs
    before = rank(op, x, "right side") - 2
    next_rows = op.Mul(_rows(op, _column(op, upper), stop=-1), _rows(op, x, start=1))
    last_rows = op.Mul(_rows(op, _column(op, lower), start=1), _rows(op, x, stop=-1))
    above = op.Pad(next_rows, [[0, 0]] * before + [[0, 1], [0, 0]])
    below = op.Pad(last_rows, [[0, 0]] * before + [[1, 0], [0, 0]])
    return op.Add(op.Add(op.Mul(_column(op, main), x), above), below)


@rule("TridiagonalSolve", keeps=ROUNDING)
def solved_as_dense(op: RuleBuilder, n: Node) -> Replacement:
    """MatrixSolve of the whole matrix; it has zeros beside the three diagonals."""
    diagonals, right = n.inputs
    if n.attrs.get("perturb_singular"):
        return refuse("it solves singular systems (perturb_singular)")
    before = rank(op, right, "right side") - 2
    known = op.shape(diagonals)
    if known is not None and (size := known[-1]) is not None and size > LARGEST:
        return refuse(f"the dense matrix has {size} rows; at most {LARGEST} are written")
    upper, main, lower = (_diagonal(op, diagonals, index) for index in range(3))
    batch = [[0, 0]] * before
    above = op.Pad(op.MatrixDiag(_items(op, upper, stop=-1)), [*batch, [0, 1], [1, 0]])
    below = op.Pad(op.MatrixDiag(_items(op, lower, start=1)), [*batch, [1, 0], [0, 1]])
    return op.MatrixSolve(op.Add(op.Add(op.MatrixDiag(main), above), below), right, adjoint=False)


def _column(op: RuleBuilder, row: NodeOrValue) -> Node:
    """A diagonal […, 1, M] as […, M, 1]."""
    return op.ExpandDims(op.Squeeze(row, squeeze_dims=[-2]), -1)


def _rows(op: RuleBuilder, x: NodeOrValue, start: int = 0, stop: int = 0) -> Node:
    """`x[..., start:stop, :]`; a stop of 0 is the end."""
    ends = 0b110 if not stop else 0b100
    return op.StridedSlice(
        x, [0, start, 0], [0, stop, 0], [1, 1, 1], ellipsis_mask=1, begin_mask=0b100, end_mask=ends
    )


def _items(op: RuleBuilder, x: NodeOrValue, start: int = 0, stop: int = 0) -> Node:
    """`x[..., start:stop]`; a stop of 0 is the end."""
    return op.StridedSlice(x, [0, start], [0, stop], [1, 1], ellipsis_mask=1, end_mask=0 if stop else 0b10)


def _diagonal(op: RuleBuilder, diagonals: NodeOrValue, index: int) -> Node:
    """`diagonals[..., index, :]`."""
    return op.StridedSlice(
        diagonals, [0, index, 0], [0, index + 1, 0], [1, 1, 1],
        ellipsis_mask=1, begin_mask=0b100, end_mask=0b100, shrink_axis_mask=0b10,
    )  # fmt: skip


@rule("Einsum", keeps=ROUNDING)
def matrices_multiplied(op: RuleBuilder, n: Node) -> Replacement:
    """Axes are summed, transposed and merged, so that BatchMatMul computes the products of Einsum."""
    return einsum(op, str(n.attrs["equation"]), *n.inputs)
