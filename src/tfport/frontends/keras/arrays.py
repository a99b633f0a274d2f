"""What custom layers use to reshape, join, slice, reduce and multiply tensors (`docs/keras_layers.md`)."""

from tfport.graph.building.arrays import (
    batch_matmul,
    concat,
    expand_dims,
    gather,
    matmul,
    pad,
    reduce,
    reshape,
    reverse,
    select,
    slice_axis,
    split,
    squeeze,
    stack,
    transpose,
    zeros,
)
from tfport.graph.building.sizes import item, shape_vector, sizes

__all__ = [
    "batch_matmul",
    "concat",
    "expand_dims",
    "gather",
    "item",
    "matmul",
    "pad",
    "reduce",
    "reshape",
    "reverse",
    "select",
    "shape_vector",
    "sizes",
    "slice_axis",
    "split",
    "squeeze",
    "stack",
    "transpose",
    "zeros",
]
