"""Ragged tensors as elements of variant tensors: encode, decode, and the gradient."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_nested_splits


class RaggedVariant:
    """A ragged tensor; its row splits, outermost first."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: list[Any], values: Any) -> None:
        self.splits, self.values = splits, values


@host("RaggedTensorToVariant")
def ragged_tensor_to_variant(rt_nested_splits, rt_dense_values, *, RAGGED_RANK, batched_input):
    if RAGGED_RANK:
        check_nested_splits(rt_nested_splits, len(rt_dense_values))
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
    rows = []
    for start, end in pairwise(bounds):
        splits = []
        for inner in nested[1:]:
            part = inner[start : end + 1]
            splits.append(part - part[0])
            start, end = int(part[0]), int(part[-1])
        rows.append(RaggedVariant(splits, values[start:end]))
    return rows


@host("RaggedTensorFromVariant")
def ragged_tensor_from_variant(encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits):
    shape, elements = _elements(encoded_ragged)
    rank = output_ragged_rank - len(shape) if input_ragged_rank == -1 else input_ragged_rank
    if rank < 0 or rank + len(shape) != output_ragged_rank:
        raise RunFailed(
            f"ragged rank {rank} and {len(shape)} outer axes do not give rank {output_ragged_rank}"
        )
    for element in elements:
        if len(element.splits) != rank or element.values.dtype != Tvalues.numpy:
            raise RunFailed(
                f"a variant has {element.values.dtype} of ragged rank {len(element.splits)}, "
                f"expected {Tvalues} of rank {rank}"
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
    if not all(isinstance(element, RaggedVariant) for element in flat):
        raise RunFailed("the variant must hold ragged tensors")
    return shape, flat


def _chained(splits: list[Any]) -> Any:
    """Concatenate row splits."""
    parts, end = [np.zeros(1, np.int64)], 0
    for part in splits:
        parts.append(part[1:] + end)
        end += int(part[-1])
    return np.concatenate(parts)


@host("RaggedTensorToVariantGradient")
def ragged_tensor_to_variant_gradient(encoded_ragged_grad, row_splits, dense_values_shape, *, Tvalues):
    _, elements = _elements(encoded_ragged_grad)
    shape = tuple(dense_values_shape.reshape(-1).tolist())
    if not elements:
        return np.zeros(shape, Tvalues.numpy)
    values = np.concatenate([np.atleast_1d(e.values) for e in elements])
    if values.size != math.prod(shape):
        raise RunFailed(f"gradients {list(values.shape)} do not match the shape {list(shape)}")
    return values.reshape(shape)
