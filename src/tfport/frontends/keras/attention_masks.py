"""Which positions attention may look at: masks of queries and values, causal masks, sliding windows."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.frontends.keras.arrays import expand_dims, positions, select, sizes
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.softmax import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL

FLOAT16_MIN, FAR_BELOW = -65504.0, -1.0e9
"""What is added to the scores of positions that do not count."""


def merged(b: LayerBuilder, masks: Iterable[LayerTensor | None]) -> LayerTensor | None:
    """Positions that every mask allows; None if there is no mask."""
    result: LayerTensor | None = None
    for mask in masks:
        if mask is not None:
            mask = b.cast(mask, BOOL)
            result = mask if result is None else b.LogicalAnd(result, mask)
    return result


def causal_mask(b: LayerBuilder, query: LayerTensor, value: LayerTensor) -> LayerTensor:
    """Each position of axis 1 of the queries and those up to it: shape `(1, queries, values)`."""
    rows, columns = _positions(b, query, value)
    return expand_dims(b, b.GreaterEqual(rows, columns), 0)


def window_mask(b: LayerBuilder, query: LayerTensor, value: LayerTensor, width: int) -> LayerTensor:
    """Each position and those less than `width` away from it, before and after."""
    rows, columns = _positions(b, query, value)
    return expand_dims(b, b.Less(b.Abs(b.Sub(rows, columns)), width), 0)


def _positions(b: LayerBuilder, query: LayerTensor, value: LayerTensor) -> tuple[LayerTensor, LayerTensor]:
    rows, columns = (positions(b, sizes(b, x)[1]) for x in (query, value))
    return expand_dims(b, rows, 1), expand_dims(b, columns, 0)


def masked_softmax(
    b: LayerBuilder, scores: LayerTensor, mask: LayerTensor | None, axes: Iterable[int]
) -> LayerTensor:
    """Softmax as the layer of that name computes it with a mask, which differs between versions."""
    axes = list(axes)
    if mask is None:
        return softmax(b, scores, axis=axes)
    lowest = _lowest(b, scores)
    if b.version.numbers < (3, 13):
        unwanted = b.Sub(1.0, b.cast(mask, scores.dtype))
        return softmax(b, b.Add(scores, b.Mul(unwanted, lowest)), axis=axes)
    wanted = mask if mask.dtype == BOOL else b.Greater(b.cast(mask, scores.dtype), 0.5)
    weights = softmax(b, _where(b, wanted, scores, lowest), axis=axes)
    return weights if b.version.numbers < (3, 14) else _where(b, wanted, weights, 0.0)


def _lowest(b: LayerBuilder, scores: LayerTensor) -> float:
    if str(scores.dtype) != "float16":
        return FAR_BELOW
    return FLOAT16_MIN if b.version.major < 3 else -3.0e4


def only_where(b: LayerBuilder, scores: LayerTensor, mask: LayerTensor | None) -> LayerTensor:
    """Scores that are far below all others where the mask forbids a position."""
    if mask is None:
        return scores
    lowest = FLOAT16_MIN * 0.7 if str(scores.dtype) == "float16" else -0.7 * 3.4028235e38
    return _where(b, b.cast(mask, BOOL), scores, lowest)


def _where(b: LayerBuilder, condition: LayerTensor, x: LayerTensor, other: float) -> LayerTensor:
    return select(b, condition, x, b.constant(other, x.dtype))
