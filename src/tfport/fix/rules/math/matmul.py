"""Matrix products, single and batched."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import Dims, cast, covers, part, sizes
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value


@rule("BatchMatMulV3", keeps=EXACT)
def with_one_type(op: NodeBuilder, n: Node) -> Replacement:
    """BatchMatMulV2 computes the same if both factors and the product have the same dtype."""
    if not n.attrs["Ta"] == n.attrs["Tb"] == n.attrs["Tout"]:
        return refuse("the factors and the product have different dtypes")
    return op.BatchMatMulV2(*n.inputs, **_flags(n))


@rule("BatchMatMulV3", keeps=EXACT)
def in_the_type_of_the_product(op: NodeBuilder, n: Node) -> Replacement:
    """Integer factors are cast to the dtype of the product, and multiplied there."""
    kind = n.outputs[0].dtype.base
    if not (kind.is_integer and all(value.dtype.is_integer for value in n.inputs)):
        return refuse(f"its factors {n.attrs['Ta']} and {n.attrs['Tb']} are not integers")
    return op.BatchMatMulV2(*[cast(op, value, kind) for value in n.inputs], **_flags(n))


@rule("BatchMatMulV2", keeps=EXACT)
def broadcast_outright(op: NodeBuilder, n: Node) -> Replacement:
    """BatchMatMul needs batches of the same shape, so each factor is broadcast to the common shape first."""
    x, y = n.inputs
    left, right = _batch(op, x), _batch(op, y)
    x_stays, y_stays = covers(left, right), covers(right, left)
    if x_stays and y_stays and left == right:
        return op.BatchMatMul(x, y, **_flags(n))
    shapes = [sizes(op, v) for v in (x, y)]
    batches = [part(op, s, stop=-2) for s in shapes]
    common = batches[0] if x_stays else batches[1] if y_stays else op.BroadcastArgs(*batches).output(0)

    def repeated(value: Value, shape: Value, stays: bool) -> Value:
        if stays:
            return value
        return op.BroadcastTo(value, op.ConcatV2([common, part(op, shape, -2)], 0)).output(0)

    return op.BatchMatMul(repeated(x, shapes[0], x_stays), repeated(y, shapes[1], y_stays), **_flags(n))


def _batch(op: NodeBuilder, value: Value) -> Dims | None:
    dims = op.shape(value)
    return None if dims is None else dims[:-2]


@rule("BatchMatMul", keeps=EXACT)
def as_batch_matmul_v2(op: NodeBuilder, n: Node) -> Replacement:
    """BatchMatMulV2 computes the same for batches of the same shape."""
    return op.BatchMatMulV2(*n.inputs, **_flags(n))


@rule("BatchMatMul BatchMatMulV2", keeps=EXACT)
def as_matmul(op: NodeBuilder, n: Node) -> Replacement:
    """MatMul multiplies two single matrices."""
    if any((dims := op.shape(value)) is None or len(dims) != 2 for value in n.inputs):
        return refuse("its factors are not known to be matrices")
    adj_x, adj_y = n.attrs["adj_x"], n.attrs["adj_y"]
    a, b = _conjugated(op, n.inputs[0], adj_x), _conjugated(op, n.inputs[1], adj_y)
    return op.MatMul(a, b, transpose_a=adj_x, transpose_b=adj_y)


def _conjugated(op: NodeBuilder, value: Value, adjoint: object) -> Value | Node:
    """The conjugate for an adjoint: MatMul only transposes."""
    return op.Conj(value) if adjoint and value.dtype.is_complex else value


@rule("MatMul BatchMatMul BatchMatMulV2", keeps=EXACT)
def sum_of_products(op: NodeBuilder, n: Node) -> Replacement:
    """All products are computed at once and then summed; the order does not matter for integers."""
    kind = n.attrs["T"]
    if not (isinstance(kind, DType) and kind.is_integer):
        return refuse(f"the order of adding {kind} products matters")
    flags = [name for name in ("transpose_a", "transpose_b", "adj_x", "adj_y") if n.attrs.get(name)]
    turned = (flags[:1] in (["transpose_a"], ["adj_x"]), flags[-1:] in (["transpose_b"], ["adj_y"]))
    if turned == (True, True):
        return refuse("both factors are transposed")
    # the position of the new axis of each factor, and the axis that is summed
    x_axis, y_axis, common = {
        (False, False): (-1, -3, -2),
        (True, False): (-1, -2, -3),
        (False, True): (-2, -3, -1),
    }[turned]
    products = op.Mul(op.ExpandDims(n.inputs[0], x_axis), op.ExpandDims(n.inputs[1], y_axis))
    return op.Sum(products, op.const([common]), keep_dims=False)


def _flags(n: Node) -> dict[str, object]:
    return {"adj_x": n.attrs["adj_x"], "adj_y": n.attrs["adj_y"]}
