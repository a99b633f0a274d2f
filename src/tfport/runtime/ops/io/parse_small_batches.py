"""Faster variants of ParseExample and ParseExampleV2 for small batches; constant inputs are prepared once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_columns import (
    DenseFeature,
    FeatureSpec,
    dense_features,
    feature_specs,
    kind_of,
)
from tfport.runtime.ops.io.small_batch_reader import SmallBatchReader, UnusualEncoding

MAX_EXAMPLES = 48
"""NumPy is faster for more Examples."""
_MAX_BYTES = 1 << 12
"""NumPy is faster for larger Examples."""
Variant = Callable[[Sequence[Any]], Any] | None
"""A function of the input arrays that returns None if the kernel must be called."""


def small_batch_variant(groups: Sequence[Any], attrs: Mapping[str, Any]) -> Variant:
    """The variant of a ParseExample node, or None if there is none."""
    _, names, sparse_keys, dense_keys, defaults = groups
    if not _constant([names, *sparse_keys, *dense_keys, *defaults]):
        return None
    return _variant(
        names.array,
        ([key.array.item() for key in sparse_keys], attrs["sparse_types"]),
        (
            [key.array.item() for key in dense_keys],
            [default.array for default in defaults],
            attrs["dense_shapes"],
        ),
        ([], []),
    )


def small_batch_variant_v2(groups: Sequence[Any], attrs: Mapping[str, Any]) -> Variant:
    """The variant of a ParseExampleV2 node, or None if there is none."""
    _, names, sparse_keys, dense_keys, ragged_keys, defaults = groups
    if not _constant([names, sparse_keys, dense_keys, ragged_keys, *defaults]):
        return None
    return _variant(
        names.array,
        (sparse_keys.array.tolist(), attrs["sparse_types"]),
        (dense_keys.array.tolist(), [default.array for default in defaults], attrs["dense_shapes"]),
        (ragged_keys.array.tolist(), attrs["ragged_value_types"]),
    )


def _constant(operands: Sequence[Any]) -> bool:
    return all(operand.array is not None for operand in operands)


def _variant(names: Any, sparse: Any, dense: Any, ragged: Any) -> Variant:
    try:
        sparse_specs, fixed, ragged_specs = (
            feature_specs(*sparse),
            dense_features(*dense),
            feature_specs(*ragged),
        )
    except RunFailed:
        return None
    dense_specs = [FeatureSpec(feature.key, kind_of(feature.default), skips_empty=True) for feature in fixed]
    reader = SmallBatchReader([*sparse_specs, *dense_specs, *ragged_specs])
    if names.size or not reader.is_supported or any(feature.varies for feature in fixed):
        return None
    sizes = [math.prod(feature.shape) for feature in fixed]
    first, last = len(sparse_specs), len(sparse_specs) + len(fixed)

    def parse(serialized: Any, *_: Any) -> Any:
        if serialized.ndim != 1 or not 0 < len(serialized) <= MAX_EXAMPLES:
            return None
        messages = serialized.tolist()
        if max(map(len, messages)) > _MAX_BYTES:
            return None
        try:
            cells, counts, values = reader.read(messages)
            dense_outputs = [
                _dense_values(*column)
                for column in zip(
                    fixed, sizes, cells[first:last], counts[first:last], values[first:last], strict=True
                )
            ]
        except IndexError:  # an unusual encoding, or a truncated message
            return None
        indices, shapes = _sparse(counts[:first], len(messages))
        splits = [np.array([0, *np.cumsum(each)]) for each in counts[last:]]
        return (*indices, *values[:first], *shapes, *dense_outputs, *values[last:], *splits)

    return parse


def _sparse(counts: Sequence[Sequence[int]], rows: int) -> tuple[list[Any], list[Any]]:
    """Indices and shapes of sparse columns; columns with the same numbers of elements share them."""
    shared: dict[tuple[int, ...], tuple[Any, Any]] = {}
    columns = []
    for each in map(tuple, counts):
        column = shared.get(each)
        if column is None:
            pairs = [(row, index) for row, count in enumerate(each) for index in range(count)]
            indices = np.array(pairs, np.int64).reshape(-1, 2)
            column = shared[each] = indices, np.array((rows, max(each)), np.int64)
        columns.append(column)
    return [indices for indices, _ in columns], [shape for _, shape in columns]


def _dense_values(feature: DenseFeature, size: int, cells: Any, counts: Sequence[int], values: Any) -> Any:
    """A row for each Example: its elements, or the default."""
    rows = len(counts)
    if None not in cells:
        if counts.count(size) != rows:
            raise UnusualEncoding
        return values.reshape(rows, *feature.shape)
    present = [cell is not None for cell in cells]
    if not feature.default.size or any(counts[i] != size for i in range(rows) if present[i]):
        raise UnusualEncoding
    out = np.empty((rows, size), feature.default.dtype)
    out[...] = feature.default.reshape(-1)
    out[present] = values.reshape(-1, size)
    return out.reshape(rows, *feature.shape)
