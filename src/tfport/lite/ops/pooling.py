"""Pooling of real numbers."""

from __future__ import annotations

from tfport.graph.graph import Value
from tfport.lite.activations import activate
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue
from tfport.lite.windows import Pooling2D


@builtin("AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D")
def pool_2d(
    b: OperatorBuilder,
    x: LiteValue,
    *,
    windows: Pooling2D = Pooling2D,  # type: ignore[assignment]
) -> Value:
    """An average of squares under a root is the L2 pool; padding counts in none."""
    kind = b.operator.code.op
    y = b.node(
        "MaxPool" if kind == "MAX_POOL_2D" else "AvgPool",
        b.Square(x) if kind == "L2_POOL_2D" else x,
        ksize=windows.ksize,
        strides=windows.strides,
        padding=windows.padding,
    )
    return activate(b, b.Sqrt(y) if kind == "L2_POOL_2D" else y, windows.fused_activation_function)
