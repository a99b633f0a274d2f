"""Integers that name categories as numbers, one-hot vectors, or counts."""

from __future__ import annotations

from tfport.frontends.keras.arrays import expand_dims, reduce, squeeze
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.rearranging import one_hot
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import DType

ONE_HOT, MULTI_HOT, COUNT = "one_hot", ("multi_hot", "binary"), "count"


def encoded(
    b: LayerBuilder,
    places: LayerTensor,
    mode: str,
    depth: int,
    *,
    dtype: DType | None = None,
    weights: LayerTensor | None = None,
) -> LayerTensor:
    """Categories in an output mode of Keras, dense also where Keras makes a sparse tensor of them.

    Numbers below 0 do not count.
    """
    kind = dtype or b.dtype
    if mode == "int":
        return b.cast(places, kind)
    if mode == ONE_HOT:
        # Keras 3 before 3.5 keeps an axis of size 1
        if places.rank > 1 and places.shape[-1] == 1 and not (3, 0) <= b.version.numbers < (3, 5):
            places = squeeze(b, places, -1)
        return one_hot(b, places, depth, -1, kind)
    vectors = one_hot(b, places, depth, -1, kind)
    if mode in MULTI_HOT:
        return reduce(b, "Max", vectors, [-2])
    if mode != COUNT:
        raise b.refuse(f"its output mode `{mode}` is unknown")
    if weights is not None:
        vectors = b.Mul(vectors, expand_dims(b, b.cast(weights, kind), -1))
    return reduce(b, "Sum", vectors, [-2])
