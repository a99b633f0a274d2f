"""Output shapes of math host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.onnx.shape_rule import broadcast
from tfport.runtime.operand import Dims, Operand

Shapes = list[Dims | None]


@shapes(
    "Abs Acos Acosh Angle Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 "
    "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Bucketize Cast Ceil CheckNumerics "
    "CheckNumericsV2 ClipByValue ComplexAbs Conj Cos Cosh Cross Cumprod Cumsum CumulativeLogsumexp Dawsn "
    "Digamma Erf Erfc Erfinv Exp Expint Expm1 Floor FresnelCos FresnelSin Imag Inv Invert IsFinite IsInf "
    "IsNan Lgamma Log Log1p LogicalNot Ndtri Neg PopulationCount Real Reciprocal Rint Round Rsqrt Sigmoid "
    "Sign Sin Sinh Spence Sqrt Square Tan Tanh AddN AccumulateNV2"
)
def same(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape]


@shapes(
    "Add AddV2 Sub Mul MulNoNan Div DivNoNan RealDiv FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow "
    "Maximum Minimum SquaredDifference Atan2 Xdivy Xlogy Xlog1py NextAfter Igamma Igammac IgammaGradA "
    "Betainc Zeta Polygamma ApproximateEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr "
    "SelectV2 BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift Complex"
)
def together(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [broadcast(*(operand.shape for operand in inputs))]


@shapes("Equal NotEqual")
def compared(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    if attrs["incompatible_shape_error"]:
        return together(inputs, attrs)
    ranks = {operand.rank for operand in inputs}
    # the result for shapes that do not broadcast is a scalar
    return [() if ranks == {0} else None]


@shapes("Select")
def chosen(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[1].shape if inputs[1].shape is not None else inputs[2].shape]


@shapes("Sum Mean Prod Max Min All Any EuclideanNorm")
def reduced(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    x, axes = inputs
    if x.shape is None:
        return [None]
    if axes.known is None or None in axes.known:
        return [(None,) * len(x.shape) if attrs["keep_dims"] else None]
    gone = {axis % max(len(x.shape), 1) for axis in axes.known if axis is not None}
    if attrs["keep_dims"]:
        return [tuple(1 if i in gone else n for i, n in enumerate(x.shape))]
    return [tuple(n for i, n in enumerate(x.shape) if i not in gone)]


@shapes("ArgMax ArgMin")
def chosen_along(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    x, axis = inputs
    if not x.shape:
        return [None]
    if axis.known is None or axis.known[0] is None:
        return [(None,) * (len(x.shape) - 1)]
    gone = axis.known[0] % len(x.shape)
    return [tuple(n for i, n in enumerate(x.shape) if i != gone)]


@shapes("MatMul SparseMatMul _FusedMatMul")
def matrix(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    a, b = inputs[0].shape, inputs[1].shape
    rows = a[int(attrs["transpose_a"])] if a is not None and len(a) == 2 else None
    columns = b[1 - int(attrs["transpose_b"])] if b is not None and len(b) == 2 else None
    return [(rows, columns)]


@shapes("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def matrices(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    x, y = inputs[0].shape, inputs[1].shape
    if x is None or y is None or len(x) < 2 or len(y) < 2:
        return [None]
    batch = broadcast(x[:-2], y[:-2])
    rows, columns = x[-1 if attrs["adj_x"] else -2], y[-2 if attrs["adj_y"] else -1]
    return [None if batch is None else (*batch, rows, columns)]


@shapes("Bitcast")
def recast(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    shape = inputs[0].shape
    if shape is None:
        return [None]
    have, want = inputs[0].dtype.numpy.itemsize, attrs["type"].numpy.itemsize
    return [shape if have == want else (*shape, have // want) if have > want else shape[:-1]]


@shapes("Bincount HistogramFixedWidth")
def counts(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [(None,)]


@shapes("DenseBincount")
def dense_counts(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    rank = inputs[0].rank
    return [None if rank is None else (None,) * max(rank, 1)]


@shapes("IsotonicRegression")
def two_alike(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape] * 2
