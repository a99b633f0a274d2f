"""Layers that combine several tensors."""

from __future__ import annotations

from functools import reduce as fold

from tfport.formats.keras.records import Json
from tfport.frontends.keras.einsum import batch_dot
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.normalization import to_unit_length
from tfport.frontends.keras.masks import (
    Tensors,
    concatenated_mask,
    fold_unmasked,
    keeps_any,
    merged_mask,
    product_of_unmasked,
)
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, expand_dims

LEAVE_OUT_MASKED = ("Multiply", "Maximum", "Minimum")


@layer("Add Multiply Maximum Minimum Subtract Average")
def merge(b: LayerBuilder, inputs: Tensors) -> LayerTensor:
    """One operation on all tensors; tensors of a lower rank get axes behind the batch."""
    name = b.instance.config.class_name
    operation = getattr(b, {"Multiply": "Mul", "Subtract": "Sub", "Average": "Add"}.get(name, name))
    if keeps_any(b) and name in LEAVE_OUT_MASKED and len({x.rank for x in inputs}) == 1:
        y = product_of_unmasked(b, inputs) if name == "Multiply" else fold_unmasked(b, operation, inputs)
    else:
        y = fold(operation, of_one_rank(b, inputs))
    if name == "Average":
        y = b.RealDiv(y, float(len(inputs)))
    return y.with_mask(merged_mask(b, inputs))


def of_one_rank(b: LayerBuilder, inputs: Tensors) -> Tensors:
    rank = max(x.rank for x in inputs)
    widened = []
    for x in inputs:
        while x.rank < rank:
            x = expand_dims(b, x, 1)
        widened.append(x)
    return widened


@layer("Concatenate TFDConcat")
def concatenate(b: LayerBuilder, inputs: Tensors, *, axis: int = -1) -> LayerTensor:
    """One tensor of all, along an axis; `FeatureSpace` of Keras has its own class for it."""
    return concat(b, inputs, axis).with_mask(concatenated_mask(b, inputs, axis))


@layer("Dot")
def dot(b: LayerBuilder, inputs: Tensors, *, axes: Json, normalize: bool = False) -> LayerTensor:
    """The products of two tensors over one axis of each, sample by sample."""
    x, y = inputs
    indices = [axes, axes] if isinstance(axes, int) else list(axes)
    indices = [index % tensor.rank for index, tensor in zip(indices, inputs, strict=True)]
    if normalize:
        x, y = to_unit_length(b, x, [indices[0]]), to_unit_length(b, y, [indices[1]])
    return batch_dot(b, x, y, indices)
