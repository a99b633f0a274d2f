"""Ragged tensors as elements of variant tensors: packed, taken out, and the gradient of that."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.kernels.row_splits import checked_splits


class RaggedVariant:
    """One ragged tensor, its splits from the outermost in."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: list[Any], values: Any) -> None:
        self.splits, self.values = splits, values


@host("RaggedTensorToVariant")
def ragged_tensor_to_variant(rt_nested_splits, rt_dense_values, *, RAGGED_RANK, batched_input):
    if RAGGED_RANK:
        checked_splits(rt_nested_splits, len(rt_dense_values))
    if not batched_input:
        return RaggedVariant(list(rt_nested_splits), rt_dense_values)
    if not RAGGED_RANK:
        return _array([RaggedVariant([], row) for row in rt_dense_values])
    return _array(_rows(list(rt_nested_splits), rt_dense_values))


def _array(elements: list[RaggedVariant]) -> Any:
    out = np.empty(len(elements), object)
    out[:] = elements
    return out


def _rows(nested: list[Any], values: Any) -> list[RaggedVariant]:
    bounds = nested[0].tolist()
    found = []
    for start, end in pairwise(bounds):
        splits = []
        for inner in nested[1:]:
            part = inner[start : end + 1]
            splits.append(part - part[0])
            start, end = int(part[0]), int(part[-1])
        found.append(RaggedVariant(splits, values[start:end]))
    return found


@host("RaggedTensorFromVariant")
def ragged_tensor_from_variant(encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits):
    shape, elements = _elements(encoded_ragged)
    rank = output_ragged_rank - len(shape) if input_ragged_rank == -1 else input_ragged_rank
    if rank < 0 or rank + len(shape) != output_ragged_rank:
        raise RunFailed(
            f"variants of ragged rank {rank} in {len(shape)} axes do not make rank {output_ragged_rank}"
        )
    for element in elements:
        if len(element.splits) != rank or element.values.dtype != Tvalues.numpy:
            raise RunFailed(
                f"a variant holds {element.values.dtype} of ragged rank {len(element.splits)}; "
                f"{Tvalues} of rank {rank} is expected"
            )
    if not shape:
        return elements[0].splits, elements[0].values
    outer = [np.arange(math.prod(shape[: i + 1]) + 1) * shape[i + 1] for i in range(len(shape) - 1)]
    lengths = [len(e.splits[0]) - 1 if rank else len(e.values) for e in elements]
    inner = [_chained([e.splits[i] for e in elements]) for i in range(rank)]
    values = np.concatenate([e.values for e in elements]) if elements else np.empty(0, Tvalues.numpy)
    return [*outer, np.cumsum([0, *lengths]), *inner], values


def _elements(variant: Any) -> tuple[tuple[int, ...], list[RaggedVariant]]:
    shape, flat = (
        (variant.shape, variant.reshape(-1).tolist()) if isinstance(variant, np.ndarray) else ((), [variant])
    )
    for one in flat:
        if not isinstance(one, RaggedVariant):
            raise RunFailed("a variant is expected to hold a ragged tensor, and does not")
    return shape, flat


def _chained(splits: list[Any]) -> Any:
    """Splits of parts behind each other as those of the whole."""
    found, end = [np.zeros(1, np.int64)], 0
    for one in splits:
        found.append(one[1:] + end)
        end += int(one[-1])
    return np.concatenate(found)


@host("RaggedTensorToVariantGradient")
def ragged_tensor_to_variant_gradient(encoded_ragged_grad, row_splits, dense_values_shape, *, Tvalues):
    _, elements = _elements(encoded_ragged_grad)
    shape = tuple(dense_values_shape.reshape(-1).tolist())
    if not elements:
        return np.zeros(shape, Tvalues.numpy)
    values = np.concatenate([np.atleast_1d(e.values) for e in elements])
    if values.size != math.prod(shape):
        raise RunFailed(f"gradients of shape {values.shape} are not those of {list(shape)}")
    return values.reshape(shape)
