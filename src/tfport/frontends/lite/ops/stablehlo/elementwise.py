"""StableHLO operators on each element, and of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Node, Value

OPS = {
    "LOGISTIC": "Sigmoid", "ABS": "Abs", "COSINE": "Cos", "EXPONENTIAL": "Exp", "FLOOR": "Floor",
    "LOG": "Log", "NEGATE": "Neg", "RSQRT": "Rsqrt", "TANH": "Tanh", "POWER": "Pow",
    "SUBTRACT": "Sub", "ADD": "AddV2", "MULTIPLY": "Mul", "MAXIMUM": "Maximum", "MINIMUM": "Minimum",
    "REMAINDER": "TruncateMod", "SHIFT_LEFT": "LeftShift", "AND": "BitwiseAnd", "OR": "BitwiseOr",
}  # fmt: skip
ON_FLAGS = {
    "ADD": "LogicalOr", "MAXIMUM": "LogicalOr", "OR": "LogicalOr",
    "MULTIPLY": "LogicalAnd", "MINIMUM": "LogicalAnd", "AND": "LogicalAnd",
}  # fmt: skip
COMPARISONS = {"EQ": "Equal", "NE": "NotEqual", "GE": "GreaterEqual", "GT": "Greater", "LE": "LessEqual",
               "LT": "Less"}  # fmt: skip


@builtin(" ".join(f"STABLEHLO_{name}" for name in OPS))
def elementwise(b: OperatorBuilder, *inputs: LiteValue) -> Node:
    name = b.operator.code.op.removeprefix("STABLEHLO_")
    ops = ON_FLAGS if inputs and inputs[0].dtype == BOOL else OPS
    if name not in ops:
        raise b.refuse("flags are not supported")
    return b.node(ops[name], *inputs)


@builtin("STABLEHLO_DIVIDE")
def divide(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.node("TruncateDiv" if x.dtype.is_integer else "RealDiv", x, y)


@builtin("STABLEHLO_CBRT")
def cube_root(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Mul(b.Sign(x), b.Pow(b.Abs(x), 1 / 3))


@builtin("STABLEHLO_COMPARE")
def compare(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    comparison_direction: str,
    compare_type: str = "STABLEHLO_COMPARISON_TYPE_NOTYPE",
) -> Node:
    if compare_type.endswith("TOTAL_ORDER"):
        raise b.refuse("total order is not supported")
    op = COMPARISONS.get(str(comparison_direction).rpartition("_")[2])
    if op is None:
        raise b.refuse(f"the comparison {comparison_direction} is unknown")
    return b.node(op, x, y)


@builtin("STABLEHLO_SELECT", any_type=True)
def select(b: OperatorBuilder, condition: LiteValue, x: LiteValue, y: LiteValue) -> Node:
    return b.SelectV2(condition, x, y)


@builtin("STABLEHLO_CLAMP")
def clamp(b: OperatorBuilder, lowest: LiteValue, x: LiteValue, highest: LiteValue) -> Node:
    return b.Minimum(b.Maximum(x, lowest), highest)


@builtin("STABLEHLO_CONVERT", any_type=True)
def convert(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Cast(x, DstT=b.dtype(b.outputs[0].type))


@builtin("STABLEHLO_RESHAPE", any_type=True)
def reshape(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Reshape(x, output_shape(b))


@builtin("STABLEHLO_BROADCAST_IN_DIM", any_type=True)
def broadcast_in_dim(
    b: OperatorBuilder, x: LiteValue, *, broadcast_dimensions: tuple[int, ...] | None = None
) -> Node:
    shape = output_shape(b)
    sizes = [-1 if size is None else size for size in x.shape]
    axes = dict(zip(broadcast_dimensions or (), sizes, strict=True))
    spread = b.Reshape(x, b.constant([axes.get(axis, 1) for axis in range(len(shape))], INT32))
    return b.BroadcastTo(spread, shape)


@builtin("STABLEHLO_TRANSPOSE", any_type=True)
def transpose(b: OperatorBuilder, x: LiteValue, *, permutation: tuple[int, ...]) -> Node:
    return b.Transpose(x, b.constant(list(permutation), INT32))


@builtin("STABLEHLO_CONCATENATE", any_type=True)
def concatenate(b: OperatorBuilder, *inputs: LiteValue, dimension: int = 0) -> Node:
    return b.ConcatV2(list(inputs), int(dimension))


@builtin("STABLEHLO_IOTA")
def iota(b: OperatorBuilder, *, iota_dimension: int = 0) -> Value:
    """Each element is its index along an axis."""
    sizes = [int(size) for size in output_shape(b)]
    if not 0 <= iota_dimension < len(sizes):
        raise b.refuse(f"there is no axis {iota_dimension}")
    shape = [-1 if axis == iota_dimension else 1 for axis in range(len(sizes))]
    kind = b.dtype(b.outputs[0].type)
    line = b.cast(b.Range(0, sizes[iota_dimension], 1), kind)
    return b.BroadcastTo(b.Reshape(line, shape), b.constant(sizes, INT32)).output(0)


def output_shape(b: OperatorBuilder) -> Any:
    """The shape that the file states for the first output."""
    tensor = b.outputs[0]
    if None in tensor.dims:
        raise b.refuse("outputs of unknown size are not supported")
    return np.array(tensor.shape, np.int32)
