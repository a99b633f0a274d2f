"""Fourier transforms of real numbers."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


@builtin("RFFT2D")
def rfft_2d(b: OperatorBuilder, x: LiteValue, length: LiteValue) -> Node:
    """Rows and columns beyond the input are zeros."""
    short = [0, 0]
    if length.array is not None:
        sizes = zip(length.array.tolist(), x.shape[-2:], strict=True)
        short = [max(0, wanted - size) if size is not None else 0 for wanted, size in sizes]
    if any(short):
        pads = [[0, 0]] * (x.rank - 2) + [[0, more] for more in short]
        return b.RFFT2D(b.Pad(x, pads), length)
    return b.RFFT2D(x, length)
