"""Boxes that overlap others of a higher score are left out."""

from __future__ import annotations

from typing import Any

from tfport.graph.graph import Value
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


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
    """Indices, with scores if there is a `sigma`, padded with zeros, and how many are selected.

    A positive `sigma` lowers the scores of boxes that overlap less than the limit, which TensorFlow does
    for all boxes.
    """
    if sigma is not None and (sigma.array is None or sigma.array.any()):
        raise b.refuse("scores that fall with the overlap (`sigma` above 0) are not supported")
    numbers: list[Any] = [_number(b, x) for x in (most, overlap, lowest)]
    if sigma is None:
        node = b.NonMaxSuppressionV4(boxes, scores, *numbers, pad_to_max_output_size=True)
        return [node.output(0), node.output(1)]
    node = b.NonMaxSuppressionV5(boxes, scores, *numbers, _number(b, sigma), pad_to_max_output_size=True)
    return [node.output(0), node.output(1), node.output(2)]


def _number(b: OperatorBuilder, x: LiteValue) -> Any:
    """Scalars may be stored as vectors of one element."""
    return x if x.rank == 0 else b.Reshape(x, b.constant([], b.dtype("INT32")))
