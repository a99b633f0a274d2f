"""The product of two tensors over one axis of each, sample by sample, as `batch_dot` of Keras."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import batch_matmul, expand_dims, reshape, squeeze, transpose
from tfport.graph.building.sizes import sizes


def batch_dot(b: LayerBuilder, x: LayerTensor, y: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    """All axes of `x` but the summed one, then all of `y` but the batch and the summed one."""
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
        raise b.refuse(f"it multiplies tensors of the ranks {x.rank} and {y.rank}, as Keras 2.2 does not")
    return batch_matmul(b, x, y, adj_x=axes[0] != x.rank - 1, adj_y=axes[1] == y.rank - 1)
