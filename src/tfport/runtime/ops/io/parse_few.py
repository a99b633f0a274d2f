"""ParseExample and its second version for a few Examples: what is constant is worked out once for a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_columns import Wanted
from tfport.runtime.ops.io.few_examples import FewColumns, Unusual
from tfport.runtime.ops.io.kernels.parse_example import (
    Dense,
    dense_features,
    kind_of,
    wanted,
)

FEW = 48
"""So many Examples at most are read one by one; of more NumPy makes shorter work."""
_SMALL = 1 << 12
"""Bytes of an Example at most: long lists are for NumPy."""
Way = Callable[[Sequence[Any]], Any] | None


def few_examples(groups: Sequence[Any], attrs: Mapping[str, Any]) -> Way:
    """The quick way of a ParseExample."""
    _, names, sparse_keys, dense_keys, defaults = groups
    if not _constant([names, *sparse_keys, *dense_keys, *defaults]):
        return None
    return _way(
        names.array,
        ([key.array.item() for key in sparse_keys], attrs["sparse_types"]),
        ([key.array.item() for key in dense_keys], [one.array for one in defaults], attrs["dense_shapes"]),
        ([], []),
    )


def few_examples_v2(groups: Sequence[Any], attrs: Mapping[str, Any]) -> Way:
    """The quick way of a ParseExampleV2."""
    _, names, sparse_keys, dense_keys, ragged_keys, defaults = groups
    if not _constant([names, sparse_keys, dense_keys, ragged_keys, *defaults]):
        return None
    return _way(
        names.array,
        (sparse_keys.array.tolist(), attrs["sparse_types"]),
        (dense_keys.array.tolist(), [one.array for one in defaults], attrs["dense_shapes"]),
        (ragged_keys.array.tolist(), attrs["ragged_value_types"]),
    )


def _constant(operands: Sequence[Any]) -> bool:
    return all(operand.array is not None for operand in operands)


def _way(names: Any, sparse: Any, dense: Any, ragged: Any) -> Way:
    try:
        sparse_wanted, fixed, ragged_wanted = wanted(*sparse), dense_features(*dense), wanted(*ragged)
    except RunFailed:
        return None
    dense_wanted = [Wanted(one.key, kind_of(one.default), skips_empty=True) for one in fixed]
    columns = FewColumns([*sparse_wanted, *dense_wanted, *ragged_wanted])
    if names.size or not columns.possible or any(one.varies for one in fixed):
        return None
    sizes = [math.prod(one.shape) for one in fixed]
    first, last = len(sparse_wanted), len(sparse_wanted) + len(fixed)

    def few(given: Sequence[Any]) -> Any:
        serialized = given[0]
        if serialized.ndim != 1 or not 0 < len(serialized) <= FEW:
            return None
        messages = serialized.tolist()
        if max(map(len, messages)) > _SMALL:
            return None
        try:
            there, counts, values = columns.read(messages)
            made = [
                _dense_values(*one)
                for one in zip(
                    fixed, sizes, there[first:last], counts[first:last], values[first:last], strict=True
                )
            ]
        except IndexError:  # `Unusual`, or it ends too early
            return None
        indices, shapes = _sparse(counts[:first], len(messages))
        splits = [np.array([0, *np.cumsum(each)]) for each in counts[last:]]
        return (*indices, *values[:first], *shapes, *made, *values[last:], *splits)

    return few


def _sparse(counts: Sequence[Sequence[int]], rows: int) -> tuple[list[Any], Any]:
    """Indices and shapes of sparse columns, cut from one array each."""
    pairs: list[int] = []
    shapes: list[int] = []
    ends = [0]
    for each in counts:
        for row, count in enumerate(each):
            for place in range(count):
                pairs += (row, place)
        shapes += (rows, max(each))
        ends.append(len(pairs) // 2)
    all_indices = np.array(pairs, np.int64).reshape(-1, 2)
    indices = [all_indices[ends[i] : ends[i + 1]] for i in range(len(counts))]
    return indices, np.array(shapes, np.int64).reshape(-1, 2)


def _dense_values(feature: Dense, size: int, there: Any, counts: Sequence[int], values: Any) -> Any:
    """One row for each Example: its own elements, or the default."""
    rows = len(counts)
    if None not in there:
        if counts.count(size) != rows:
            raise Unusual
        return values.reshape(rows, *feature.shape)
    present = [cell is not None for cell in there]
    if not feature.default.size or any(counts[i] != size for i in range(rows) if present[i]):
        raise Unusual
    out = np.empty((rows, size), feature.default.dtype)
    out[...] = feature.default.reshape(-1)
    out[present] = values.reshape(-1, size)
    return out.reshape(rows, *feature.shape)
