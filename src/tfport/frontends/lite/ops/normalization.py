"""Normalization of real numbers."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


@builtin("L2_NORMALIZATION")
def l2_normalization(b: OperatorBuilder, x: LiteValue) -> Node:
    """Vectors along the last axis get the length 1; shorter ones than 1e-6 are divided by that."""
    length = b.Sqrt(b.Sum(b.Square(x), [-1], keep_dims=True))
    return b.RealDiv(x, b.Maximum(length, 1e-6))


@builtin("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(
    b: OperatorBuilder, x: LiteValue, *, radius: int, bias: float, alpha: float, beta: float
) -> Node:
    return b.LRN(x, depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
