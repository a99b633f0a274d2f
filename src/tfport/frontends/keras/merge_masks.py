"""Masks of tensors that are merged: Keras 2 keeps what every mask keeps, Keras 3.4 what any keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as fold

from tfport.frontends.keras.arrays import concat, expand_dims, reduce, select
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL

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
