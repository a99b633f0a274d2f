"""Boxes that overlap others of a higher score are left out."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Value


@builtin("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5")
def non_max_suppression(
    b: OperatorBuilder,
    boxes: LiteValue,
    scores: LiteValue,
    most: LiteValue,
    overlap: LiteValue,
    lowest: LiteValue,
    sigma: LiteValue | None = None,
) -> list[Value]:
    """Indices, with scores if there is a `sigma`, padded with zeros, and how many are selected."""
    last = 0.0 if sigma is None else _number(b, sigma)
    node = b.LiteNonMaxSuppression(boxes, scores, *(_number(b, x) for x in (most, overlap, lowest)), last)
    return [node.output(place) for place in ((0, 2) if sigma is None else (0, 1, 2))]


def _number(b: OperatorBuilder, x: LiteValue) -> Any:
    """Scalars may be stored as vectors of one element."""
    return x if x.rank == 0 else b.Reshape(x, b.constant([], b.dtype("INT32")))
