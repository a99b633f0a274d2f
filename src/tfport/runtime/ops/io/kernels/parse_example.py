"""Parsing of `tf.train.Example`s: ParseExample, ParseExampleV2 and ParseSingleExample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.io.feature_columns import (
    DenseFeature,
    FeatureColumn,
    FeatureSpec,
    columns,
    dense_features,
    feature_specs,
    type_text,
)
from tfport.runtime.ops.io.feature_lists import top_level
from tfport.runtime.ops.io.message_batches import MalformedMessage, MessageBuffer
from tfport.runtime.ops.shared.arrays import expand_ranges


class ExampleNames(Sequence[str]):
    """The names of Examples in error messages."""

    def __init__(self, names: Any, rows: int) -> None:
        self._names, self._rows = names.reshape(-1), rows
        if len(self._names) not in (0, rows):
            raise RunFailed(
                f"names must be empty or as many as the {rows} Examples, found {len(self._names)}"
            )

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, i: Any) -> Any:
        name = f" (`{self._names[i].decode(errors='replace')}`)" if len(self._names) else ""
        return f"Example {i}{name}"


@host("ParseExample")
def parse_example(serialized, names, sparse_keys, dense_keys, dense_defaults, *, sparse_types, dense_shapes):
    sparse = feature_specs([key.item() for key in sparse_keys], sparse_types)
    dense = dense_features([key.item() for key in dense_keys], dense_defaults, dense_shapes)
    if serialized.ndim != 1:
        raise RunFailed(f"serialized must be a vector, found shape {serialized.shape}")
    return parse_batch(serialized, names, sparse, dense, [])


@host("ParseExampleV2")
def parse_example_v2(
    serialized,
    names,
    sparse_keys,
    dense_keys,
    ragged_keys,
    dense_defaults,
    *,
    num_sparse,
    sparse_types,
    ragged_value_types,
    ragged_split_types,
    dense_shapes,
):
    sparse = feature_specs(sparse_keys.tolist(), sparse_types)
    dense = dense_features(dense_keys.tolist(), dense_defaults, dense_shapes)
    ragged = feature_specs(ragged_keys.tolist(), ragged_value_types)
    if serialized.ndim > 1:
        raise RunFailed(f"serialized must be a scalar or a vector, found shape {serialized.shape}")
    if serialized.ndim == 0:
        return _single(serialized, sparse, dense, ragged)
    return parse_batch(serialized, names, sparse, dense, ragged)


@quick(parse_example)
def parse_small_batch(groups: Any, attrs: Any) -> Any:
    from tfport.runtime.ops.io.parse_small_batches import small_batch_variant

    return small_batch_variant(groups, attrs)


@quick(parse_example_v2)
def parse_small_batch_v2(groups: Any, attrs: Any) -> Any:
    from tfport.runtime.ops.io.parse_small_batches import small_batch_variant_v2

    return small_batch_variant_v2(groups, attrs)


@host("ParseSingleExample")
def parse_single_example(
    serialized, dense_defaults, *, num_sparse, sparse_keys, dense_keys, sparse_types, dense_shapes
):
    if serialized.ndim:
        raise RunFailed(f"serialized must be a scalar, found shape {serialized.shape}")
    sparse = feature_specs(as_keys(sparse_keys), sparse_types)
    return _single(serialized, sparse, dense_features(as_keys(dense_keys), dense_defaults, dense_shapes), [])


def as_keys(keys: Sequence[str | bytes]) -> list[bytes]:
    return [key if isinstance(key, bytes) else key.encode() for key in keys]


def read_columns(
    buffer: MessageBuffer, specs: list[FeatureSpec], names: Sequence[str]
) -> list[FeatureColumn]:
    try:
        (maps,) = top_level(buffer, 0x0A)
        return columns(buffer, maps, specs, names, len(names))
    except MalformedMessage as malformed:
        raise RunFailed(f"{names[malformed.owner]}: not a valid serialized tf.train.Example") from None


def _read(
    messages: list[bytes],
    names: Sequence[str],
    sparse: list[FeatureSpec],
    dense: list[DenseFeature],
    ragged: list[FeatureSpec],
) -> tuple[list[FeatureColumn], list[FeatureColumn], list[FeatureColumn]]:
    fixed = [feature.spec for feature in dense]
    parsed = read_columns(MessageBuffer(messages), [*sparse, *fixed, *ragged], names)
    cut = len(sparse) + len(dense)
    return parsed[: len(sparse)], parsed[len(sparse) : cut], parsed[cut:]


def parse_batch(
    serialized: Any,
    names: Any,
    sparse: list[FeatureSpec],
    dense: list[DenseFeature],
    ragged: list[FeatureSpec],
) -> Any:
    rows = len(serialized)
    example_names = ExampleNames(names, rows)
    sparse_columns, dense_columns, ragged_columns = _read(
        serialized.tolist(), example_names, sparse, dense, ragged
    )
    return (
        [sparse_indices(column) for column in sparse_columns],
        [column.values for column in sparse_columns],
        [np.array([rows, column.counts.max(initial=0)]) for column in sparse_columns],
        [dense_values(*both, example_names) for both in zip(dense, dense_columns, strict=True)],
        [column.values for column in ragged_columns],
        [row_splits(column.counts) for column in ragged_columns],
    )


def _single(
    serialized: Any, sparse: list[FeatureSpec], dense: list[DenseFeature], ragged: list[FeatureSpec]
) -> Any:
    example_names = ["the Example"]
    sparse_columns, dense_columns, ragged_columns = _read(
        [serialized.item()], example_names, sparse, dense, ragged
    )
    return (
        [np.arange(len(column.values))[:, None] for column in sparse_columns],
        [column.values for column in sparse_columns],
        [np.array([len(column.values)]) for column in sparse_columns],
        [dense_values(*both, example_names)[0] for both in zip(dense, dense_columns, strict=True)],
        [column.values for column in ragged_columns],
        [np.empty(0, np.int64) for _ in ragged_columns],  # a single Example has no row splits
    )


def sparse_indices(column: FeatureColumn) -> Any:
    """The row and the index within the row of each element."""
    counts = column.counts
    out = np.empty((len(column.values), 2), np.int64)
    out[:, 0] = np.repeat(np.arange(len(counts)), counts)
    out[:, 1] = expand_ranges(np.zeros(len(counts), np.int64), counts, 1)
    return out


def row_splits(counts: Any) -> Any:
    return np.concatenate([[0], np.cumsum(counts)])


def dense_values(feature: DenseFeature, column: FeatureColumn, names: Sequence[str]) -> Any:
    """A row for each Example: its elements, or the default."""
    name = feature.key.decode(errors="replace")
    size = math.prod(feature.shape)
    if feature.varies:
        return _padded(feature, column, names, size)
    wrong = column.present & (column.counts != size)
    if wrong.any():
        at = int(wrong.argmax())
        raise RunFailed(
            f"{names[at]}: Key: {name}. Number of {type_text(feature.spec.dtype)} values != expected. "
            f"Values size: {column.counts[at]} but output shape: {list(feature.shape)}"
        )
    shape = (len(column.counts), *feature.shape)
    if column.present.all():
        return column.values.reshape(shape)
    if not feature.default.size:
        at = int(column.present.argmin())
        dtype = type_text(feature.spec.dtype)
        raise RunFailed(
            f"{names[at]}: Feature: {name} (data type: {dtype}) is required but could not be found."
        )
    reserve_memory(len(column.counts) * size * feature.default.itemsize)
    out = np.empty((len(column.counts), size), feature.default.dtype)
    out[column.present] = column.values.reshape(-1, size)
    out[~column.present] = feature.default.reshape(-1)
    return out.reshape(shape)


def _padded(feature: DenseFeature, column: FeatureColumn, names: Sequence[str], size: int) -> Any:
    wrong = column.counts % size
    if wrong.any():
        at, key = int(wrong.argmax()), feature.key.decode(errors="replace")
        raise RunFailed(
            f"{names[at]}: the number of elements of feature `{key}` "
            f"must be a multiple of {size}, found {column.counts[at]}"
        )
    longest = int(column.counts.max(initial=0))
    cells = len(column.counts) * longest
    reserve_memory(cells * feature.default.itemsize, cells)
    out = np.full((len(column.counts), longest), feature.default.reshape(-1)[0], feature.default.dtype)
    out[np.arange(longest) < column.counts[:, None]] = column.values
    return out.reshape(len(column.counts), longest // size, *feature.shape)
