"""Layers that combine several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as fold

from tfport.formats.keras.records import Json
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
from tfport.graph.building.arrays import batch_matmul, concat, expand_dims, reshape, squeeze, transpose
from tfport.graph.building.sizes import sizes

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


def batch_dot(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    """The product over one axis of each, sample by sample.

    Its axes are all of `x` but the summed one, then all of `y` but the batch and the summed one.
    """
    if max(x.rank, y.rank) > 3 and _multiplies_matrices(b):
        return _batched_matrices(b, x, y, axes)
    x_vector, y_vector = x.rank == 2, y.rank == 2
    x = expand_dims(b, x, 1) if x_vector else x
    y = expand_dims(b, y, 2) if y_vector else y
    x_axis = 2 if x_vector else axes[0]
    rows = transpose(b, x, [i for i in range(x.rank) if i != x_axis] + [x_axis])
    columns = transpose(b, y, [0, axes[1]] + [i for i in range(1, y.rank) if i != axes[1]])
    middle, trailing = sizes(b, rows)[:-1], sizes(b, columns)[2:]
    known = (*rows.shape[:-1], *columns.shape[2:])
    if rows.rank > 3:
        rows = reshape(b, rows, (middle[0], None, rows.shape[-1]))
    if columns.rank > 3:
        columns = reshape(b, columns, (*sizes(b, columns)[:2], None))
    product = batch_matmul(b, rows, columns)
    if len(middle) > 2 or len(trailing) > 1:
        product = LayerTensor(reshape(b, product, (*middle, *trailing)).value, known)
    if x_vector:
        return squeeze(b, product, 1)
    return squeeze(b, product, -1) if y_vector else product


def _multiplies_matrices(b: LayerBuilder) -> bool:
    """Keras up to 2.2, and TensorFlow's copy with that version, multiplies the last two axes."""
    return b.version.numbers < (2, 3)


def _batched_matrices(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    if x.rank != y.rank:
        raise b.refuse(
            f"it multiplies tensors of the ranks {x.rank} and {y.rank}, which Keras 2.2 does not do"
        )
    return batch_matmul(b, x, y, adj_x=axes[0] != x.rank - 1, adj_y=axes[1] == y.rank - 1)
