"""Operations that count, sort into bins and rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import common_type, promoted, tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, squeeze
from tfport.graph.dtypes import FLOAT32, INT32, INT64


@layer("ops.Bincount")
def bin_count(
    b: LayerBuilder, x: LayerTensor, *, weights: Any = None, minlength: int = 0, sparse: bool = False
) -> LayerTensor:
    """How often each number from 0 to the highest occurs, in each row of a matrix."""
    numbers = x if x.dtype in (INT32, INT64) else b.cast(x, INT32)
    counted = b.constant([], INT32) if weights is None else b.constant(weights)
    dtype = INT32 if weights is None else common_type(x.dtype, counted.dtype)
    highest = reduce(b, "Max", numbers, range(x.rank))
    size = b.Maximum(b.Add(highest, b.constant(1, numbers.dtype)), b.constant(minlength, numbers.dtype))
    node = b.node("DenseBincount", numbers, size, counted)
    return b.cast(b.tensor(node, (*x.shape[:-1], None)), dtype)


@layer("ops.Digitize")
def digitize(b: LayerBuilder, x: LayerTensor, bins: Any) -> LayerTensor:
    """The bin of each number; bins are separated by rising boundaries."""
    if isinstance(bins, LayerTensor):
        raise b.refuse("the boundaries of its bins are computed")
    if x.dtype.is_floating:
        x = b.cast(x, FLOAT32) if str(x.dtype) in ("float16", "bfloat16") else x
    elif x.dtype not in (INT32, INT64):
        x = b.cast(x, INT64 if str(x.dtype) == "uint32" else INT32)
    boundaries = [float(boundary) for boundary in np.ravel(bins)]
    return b.Bucketize(x, boundaries=boundaries)


@layer("ops.SearchSorted")
def search_sorted(b: LayerBuilder, sorted_sequence: Any, values: Any, *, side: str = "left") -> LayerTensor:
    """Where each of some values belongs in a sorted vector."""
    sequence, wanted = promoted(b, *tensors_of(b, sorted_sequence, values))
    if sequence.rank != 1 or wanted.rank != 1:
        raise b.refuse("it searches with tensors that are no vectors, which Keras with TensorFlow cannot do")
    op = "LowerBound" if side == "left" else "UpperBound"
    out_type = INT64 if sequence.shape[0] is None else INT32
    rows = (expand_dims(b, operand, 0) for operand in (sequence, wanted))
    return squeeze(b, b.tensor(b.node(op, *rows, out_type=out_type), (1, *wanted.shape)), 0)


@layer("ops.InTopK")
def in_top_k(b: LayerBuilder, targets: LayerTensor, predictions: LayerTensor, *, k: int) -> LayerTensor:
    return b.tensor(b.node("InTopK", predictions, targets, k=k), targets.shape)
