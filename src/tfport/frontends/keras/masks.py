"""Masks: which positions attention may look at, and what remains of the masks of merged tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce as fold

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.reductions import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, expand_dims, reduce, select
from tfport.graph.building.sizes import count_to, sizes
from tfport.graph.dtypes import BOOL

# Masks of attention: of queries and values, causal, with a sliding window

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
    rows, columns = (count_to(b, sizes(b, x)[1]) for x in (query, value))
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


# Masks of merged tensors: Keras 2 keeps what every mask keeps, Keras 3.4 what any keeps

Tensors = list[LayerTensor]
Operation = Callable[[LayerTensor, LayerTensor], LayerTensor]


def keeps_any(b: LayerBuilder) -> bool:
    """Whether the version merges what any input has at a step, and leaves out masked inputs."""
    return b.version.numbers >= (3, 4)


def _loses_masks(b: LayerBuilder) -> bool:
    """Whether the version drops the masks of inputs that are passed in a list."""
    return (3, 0) <= b.version.numbers < (3, 4)


def merged_mask(b: LayerBuilder, inputs: Tensors) -> LayerTensor | None:
    """The steps that every mask keeps; since Keras 3.4 those that any keeps, if all inputs have masks."""
    masks = [x.mask for x in inputs if x.mask is not None]
    if not masks or _loses_masks(b) or (keeps_any(b) and len(masks) < len(inputs)):
        return None
    return fold(b.LogicalOr if keeps_any(b) else b.LogicalAnd, masks)


def concatenated_mask(b: LayerBuilder, inputs: Tensors, axis: int) -> LayerTensor | None:
    """The masks of all inputs, joined along the axis that joins them."""
    if _loses_masks(b) or all(x.mask is None for x in inputs):
        return None
    parts = [_wide_mask(b, x, spread=keeps_any(b)) for x in inputs]
    return reduce(b, "Any" if keeps_any(b) else "All", concat(b, parts, axis), [-1])


def product_of_unmasked(b: LayerBuilder, inputs: Tensors) -> LayerTensor:
    """The product of the inputs that are not masked; 0 where all are, if all have masks."""
    factors = []
    for x in inputs:
        factors.append(x if x.mask is None else select(b, _wide_mask(b, x), x, b.OnesLike(x)))
    product = fold(b.Mul, factors)
    if any(x.mask is None for x in inputs):
        return product
    anywhere = fold(b.LogicalOr, (_wide_mask(b, x) for x in inputs))
    return select(b, anywhere, product, b.ZerosLike(product))


def fold_unmasked(b: LayerBuilder, operation: Operation, inputs: Tensors) -> LayerTensor:
    """Combine the inputs that are not masked, from the first to the last."""
    result = inputs[0]
    mask = None if result.mask is None else _wide_mask(b, result)
    for x in inputs[1:]:
        own = None if x.mask is None else _wide_mask(b, x)
        if own is not None:
            x = select(b, own, x, result)
        if mask is not None:
            result = select(b, mask, result, x)
        mask = None if mask is None or own is None else b.LogicalOr(mask, own)
        result = operation(result, x)
    return result


def _wide_mask(b: LayerBuilder, x: LayerTensor, *, spread: bool = True) -> LayerTensor:
    """The mask of a tensor with an axis for its features, or for each of them."""
    everywhere = b.LogicalNot(b.cast(b.ZerosLike(x), BOOL))
    if x.mask is None:
        return everywhere
    if x.mask.rank >= x.rank:
        return x.mask
    mask = expand_dims(b, x.mask, -1)
    return b.LogicalAnd(mask, everywhere) if spread else mask
