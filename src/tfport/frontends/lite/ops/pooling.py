"""Pooling of real numbers."""

from __future__ import annotations

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Pooling2D
from tfport.graph.graph import Value


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
