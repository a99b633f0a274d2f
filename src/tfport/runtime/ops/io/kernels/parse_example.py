"""`tf.train.Example`s to tensors: ParseExample, its second version, and one Example at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.io.feature_columns import Column, Wanted, columns
from tfport.runtime.ops.io.feature_lists import places_of
from tfport.runtime.ops.io.feature_maps import top_level
from tfport.runtime.ops.io.message_batches import Broken, Wire

_KINDS = {np.dtype(object): "string", np.dtype(np.float32): "float32", np.dtype(np.int64): "int64"}


class Names(Sequence[str]):
    """What Examples are called in errors."""

    def __init__(self, given: Any, rows: int) -> None:
        self._given, self._rows = given.reshape(-1), rows
        if len(self._given) not in (0, rows):
            raise RunFailed(f"{len(self._given)} names were given for {rows} Examples")

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, i: Any) -> Any:
        given = f" (`{self._given[i].decode(errors='replace')}`)" if len(self._given) else ""
        return f"Example {i}{given}"


class Dense(NamedTuple):
    """A dense feature; where its first size is unknown, `shape` is what one step along it has."""

    key: bytes
    default: Any
    shape: tuple[int, ...]
    varies: bool


@host("ParseExample")
def parse_example(serialized, names, sparse_keys, dense_keys, dense_defaults, *, sparse_types, dense_shapes):
    sparse = wanted([key.item() for key in sparse_keys], sparse_types)
    dense = dense_features([key.item() for key in dense_keys], dense_defaults, dense_shapes)
    if serialized.ndim != 1:
        raise RunFailed(f"serialized Examples come as a vector; their shape is {serialized.shape}")
    return _batch(serialized, names, sparse, dense, [])


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
    sparse = wanted(sparse_keys.tolist(), sparse_types)
    dense = dense_features(dense_keys.tolist(), dense_defaults, dense_shapes)
    ragged = wanted(ragged_keys.tolist(), ragged_value_types)
    if serialized.ndim > 1:
        raise RunFailed(f"serialized Examples are a scalar or a vector; their shape is {serialized.shape}")
    if serialized.ndim == 0:
        return _single(serialized, sparse, dense, ragged)
    return _batch(serialized, names, sparse, dense, ragged)


@quick(parse_example)
def parse_few_examples(groups: Any, attrs: Any) -> Any:
    from tfport.runtime.ops.io.parse_few import few_examples

    return few_examples(groups, attrs)


@quick(parse_example_v2)
def parse_few_examples_v2(groups: Any, attrs: Any) -> Any:
    from tfport.runtime.ops.io.parse_few import few_examples_v2

    return few_examples_v2(groups, attrs)


@host("ParseSingleExample")
def parse_single_example(
    serialized, dense_defaults, *, num_sparse, sparse_keys, dense_keys, sparse_types, dense_shapes
):
    if serialized.ndim:
        raise RunFailed(f"one serialized Example is a scalar; its shape is {serialized.shape}")
    sparse = wanted(as_keys(sparse_keys), sparse_types)
    return _single(serialized, sparse, dense_features(as_keys(dense_keys), dense_defaults, dense_shapes), [])


def as_keys(keys: Sequence[str | bytes]) -> list[bytes]:
    return [key if isinstance(key, bytes) else key.encode() for key in keys]


def wanted(keys: Sequence[bytes], types: Sequence[Any]) -> list[Wanted]:
    if len(keys) != len(types):
        raise RunFailed(f"there are {len(keys)} keys for {len(types)} types")
    return [Wanted(key, kind.name) for key, kind in zip(keys, types, strict=True)]


def dense_features(keys: Sequence[bytes], defaults: Sequence[Any], shapes: Sequence[Any]) -> list[Dense]:
    if not len(keys) == len(defaults) == len(shapes):
        raise RunFailed(f"there are {len(keys)} dense keys for {len(shapes)} shapes")
    return [_dense(*one) for one in zip(keys, defaults, shapes, strict=True)]


def _dense(key: bytes, default: Any, shape: Any) -> Dense:
    name = key.decode(errors="replace")
    varies = shape.dims is not None and shape.dims[:1] == (None,)
    inner = shape.dims[1:] if varies else shape.dims
    if inner is None or None in inner:
        raise RunFailed(f"dense feature `{name}` is of shape {shape}; only its first size may be unknown")
    if varies and 0 in inner:
        raise RunFailed(f"dense feature `{name}` varies along its first axis and has no elements along it")
    if varies and default.size != 1:
        raise RunFailed(f"the default of `{name}` is one element to pad with; it has {default.size}")
    if not varies and default.size and default.shape != inner:
        raise RunFailed(f"the default of `{name}` has shape {default.shape}, not {shape}")
    return Dense(key, default, inner, varies)


def kind_of(default: Any) -> str:
    return _KINDS.get(default.dtype) or str(default.dtype)


def read_columns(wire: Wire, wanted: list[Wanted], names: Sequence[str]) -> list[Column]:
    try:
        (maps,) = top_level(wire, 0x0A)
        return columns(wire, maps, wanted, names, len(names))
    except Broken as broken:
        raise RunFailed(f"{names[broken.owner]}: this is no serialized tf.train.Example") from None


def _read(
    messages: list[bytes],
    names: Sequence[str],
    sparse: list[Wanted],
    dense: list[Dense],
    ragged: list[Wanted],
) -> tuple[list[Column], list[Column], list[Column]]:
    fixed = [Wanted(one.key, kind_of(one.default), skips_empty=True) for one in dense]
    found = read_columns(Wire(messages), [*sparse, *fixed, *ragged], names)
    cut = len(sparse) + len(dense)
    return found[: len(sparse)], found[len(sparse) : cut], found[cut:]


def _batch(
    serialized: Any, names: Any, sparse: list[Wanted], dense: list[Dense], ragged: list[Wanted]
) -> Any:
    rows = len(serialized)
    called = Names(names, rows)
    sparse_columns, dense_columns, ragged_columns = _read(serialized.tolist(), called, sparse, dense, ragged)
    return (
        [sparse_indices(column) for column in sparse_columns],
        [column.values for column in sparse_columns],
        [np.array([rows, column.counts.max(initial=0)]) for column in sparse_columns],
        [dense_values(*both, called) for both in zip(dense, dense_columns, strict=True)],
        [column.values for column in ragged_columns],
        [row_splits(column.counts) for column in ragged_columns],
    )


def _single(serialized: Any, sparse: list[Wanted], dense: list[Dense], ragged: list[Wanted]) -> Any:
    called = ["the Example"]
    sparse_columns, dense_columns, ragged_columns = _read([serialized.item()], called, sparse, dense, ragged)
    return (
        [np.arange(len(column.values))[:, None] for column in sparse_columns],
        [column.values for column in sparse_columns],
        [np.array([len(column.values)]) for column in sparse_columns],
        [dense_values(*both, called)[0] for both in zip(dense, dense_columns, strict=True)],
        [column.values for column in ragged_columns],
        [np.empty(0, np.int64) for _ in ragged_columns],  # one row needs no splits
    )


def sparse_indices(column: Column) -> Any:
    """Row and place within the row of each element."""
    counts = column.counts
    out = np.empty((len(column.values), 2), np.int64)
    out[:, 0] = np.repeat(np.arange(len(counts)), counts)
    out[:, 1] = places_of(np.zeros(len(counts), np.int64), counts, 1)
    return out


def row_splits(counts: Any) -> Any:
    return np.concatenate([[0], np.cumsum(counts)])


def dense_values(feature: Dense, column: Column, names: Sequence[str]) -> Any:
    """One row for each Example: its own elements, or the default."""
    name = feature.key.decode(errors="replace")
    size = math.prod(feature.shape)
    if feature.varies:
        return _padded(feature, column, names, size)
    wrong = column.present & (column.counts != size)
    if wrong.any():
        at = int(wrong.argmax())
        raise RunFailed(f"{names[at]}: feature `{name}` has {column.counts[at]} elements, not {size}")
    shape = (len(column.counts), *feature.shape)
    if column.present.all():
        return column.values.reshape(shape)
    if not feature.default.size:
        at = int(column.present.argmin())
        raise RunFailed(f"{names[at]}: feature `{name}` is missing, and it has no default")
    out = np.empty((len(column.counts), size), feature.default.dtype)
    out[column.present] = column.values.reshape(-1, size)
    out[~column.present] = feature.default.reshape(-1)
    return out.reshape(shape)


def _padded(feature: Dense, column: Column, names: Sequence[str], size: int) -> Any:
    wrong = column.counts % size
    if wrong.any():
        at, key = int(wrong.argmax()), feature.key.decode(errors="replace")
        raise RunFailed(
            f"{names[at]}: feature `{key}` has {column.counts[at]} elements, no multiple of {size}"
        )
    longest = int(column.counts.max(initial=0))
    out = np.full((len(column.counts), longest), feature.default.reshape(-1)[0], feature.default.dtype)
    out[np.arange(longest) < column.counts[:, None]] = column.values
    return out.reshape(len(column.counts), longest // size, *feature.shape)
