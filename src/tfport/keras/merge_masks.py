"""The masks of merged tensors, which Keras 2 and 3 compute differently."""

from __future__ import annotations

from functools import reduce as fold

from tfport.graph.dtypes import BOOL
from tfport.keras.arrays import concat, expand_dims, reduce
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.tensor import LayerTensor


def merged_mask(b: LayerBuilder, inputs: list[LayerTensor]) -> LayerTensor | None:
    """Keras 2: steps that every mask keeps. Keras 3: steps that any mask keeps, if all have masks."""
    masks = [x.mask for x in inputs if x.mask is not None]
    if not masks or (b.version.major >= 3 and len(masks) < len(inputs)):
        return None
    op = b.LogicalOr if b.version.major >= 3 else b.LogicalAnd
    return fold(op, masks)


def concatenated_mask(b: LayerBuilder, inputs: list[LayerTensor], axis: int) -> LayerTensor | None:
    """The masks of all inputs, joined along the axis that joins them."""
    if all(x.mask is None for x in inputs):
        return None
    parts = [_wide_mask(b, x, spread=b.version.major >= 3) for x in inputs]
    op = "Any" if b.version.major >= 3 else "All"
    return reduce(b, op, concat(b, parts, axis), [-1])


def _wide_mask(b: LayerBuilder, x: LayerTensor, spread: bool) -> LayerTensor:
    everywhere = b.tensor(b.node("OnesLike", b.cast(b.ZerosLike(x), BOOL)), x.shape)
    if x.mask is None:
        return everywhere
    if x.mask.rank >= x.rank:
        return x.mask
    mask = expand_dims(b, x.mask, -1)
    return b.LogicalAnd(mask, everywhere) if spread else mask
