"""Faster variants of ParseExample and ParseExampleV2 for small batches; constant inputs are prepared once.

Plain Python reads a few Examples faster than NumPy does. It supports only the usual encoding: packed lists,
keys before values, the requested types. Anything else raises `UnusualEncoding`; `feature_columns` reads every
encoding and reports errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.ops.io.feature_columns import (
    DenseFeature,
    FeatureSpec,
    dense_features,
    feature_specs,
)
from tfport.runtime.ops.io.feature_lists import LIST_TAGS

MAX_EXAMPLES = 48
"""NumPy is faster for more Examples."""
_MAX_BYTES = 1 << 12
"""NumPy is faster for larger Examples."""
Cell = tuple[int, int] | None
"""The start and end of a Feature; None if the Example does not have it."""
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
    dense_specs = [feature.spec for feature in fixed]
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
    reserve_memory(rows * size * feature.default.itemsize)
    out = np.empty((rows, size), feature.default.dtype)
    out[...] = feature.default.reshape(-1)
    out[present] = values.reshape(-1, size)
    return out.reshape(rows, *feature.shape)


# A reader of a few Examples in plain Python


class UnusualEncoding(IndexError):
    """The encoding is not supported here. Truncated messages raise IndexError, hence the base class."""


def find_cells(raw: bytes, indices: dict[bytes, int], skips_empty: Sequence[bool]) -> list[Cell]:
    """The Feature of an Example for each key; the last if there are several."""
    cells: list[Cell] = [None] * len(skips_empty)
    at, end = 0, len(raw)
    while at < end:
        tag = raw[at]
        if tag == 0x0A:
            at, stop = _delimited(raw, at + 1, end)
            _entries(raw, at, stop, indices, skips_empty, cells)
            at = stop
        elif tag < 0x80 and tag > 7 and not tag & 7:  # another field with a varint
            at = _skip_varint(raw, at + 1, end)
        else:
            raise UnusualEncoding
    return cells


def _entries(
    raw: bytes, at: int, stop: int, indices: dict[bytes, int], skips_empty: Sequence[bool], cells: list[Cell]
) -> None:
    get = indices.get
    while at < stop:
        if raw[at] != 0x0A:
            raise UnusualEncoding
        last = at + 2 + raw[at + 1]
        if raw[at + 1] < 0x80 and last <= stop:
            at += 2
        else:
            at, last = _delimited(raw, at + 1, stop)
        first = at + 2
        if first > last or raw[at] != 0x0A or raw[at + 1] > 0x7F:
            raise UnusualEncoding
        key_end = first + raw[at + 1]
        if key_end + 2 > last or raw[key_end] != 0x12:
            raise UnusualEncoding
        at = key_end + 2
        if raw[key_end + 1] > 0x7F or at + raw[key_end + 1] != last:
            at, end = _delimited(raw, key_end + 1, last)
            if end != last:
                raise UnusualEncoding
        index = get(raw[first:key_end])
        if index is not None and not (at == last and skips_empty[index]):
            cells[index] = (at, last)
        at = last


def _delimited(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """The start and end of a length-delimited value; `at` is the position of its length."""
    if at >= end:
        raise UnusualEncoding
    size = raw[at]
    at += 1
    if size > 0x7F:
        size &= 0x7F
        for shift in (7, 14, 21):
            if at >= end:
                raise UnusualEncoding
            byte = raw[at]
            at += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise UnusualEncoding
    if at + size > end:
        raise UnusualEncoding
    return at, at + size


def _skip_varint(raw: bytes, at: int, end: int) -> int:
    for stop in range(at, min(at + 10, end)):
        if raw[stop] < 0x80:
            return stop + 1
    raise UnusualEncoding


def strings(raw: bytes, cell: Cell, into: list[bytes]) -> int:
    """Append the strings of a Feature and return their number."""
    if cell is not None and (at := _only_part(raw, cell, 0x0A)):
        into.append(raw[at : cell[1]])
        return 1
    at, end = _list(raw, cell, 0x0A)
    count = 0
    while at < end:
        if raw[at] != 0x0A:
            raise UnusualEncoding
        stop = at + 2 + raw[at + 1]
        if raw[at + 1] < 0x80 and stop <= end:
            at += 2
        else:
            at, stop = _delimited(raw, at + 1, end)
        into.append(raw[at:stop])
        count += 1
        at = stop
    return count


def floats(raw: bytes, cell: Cell, into: list[bytes]) -> int:
    """Append the floats of a Feature as raw bytes and return their number."""
    at, end = _packed(raw, cell, 0x12)
    count = (end - at) // 4
    into.append(raw[at : at + 4 * count])
    return count


def integers(raw: bytes, cell: Cell, into: list[int]) -> int:
    """Append the integers of a Feature and return their number."""
    at, end = _packed(raw, cell, 0x1A)
    count = value = shift = 0
    for byte in raw[at:end]:
        value |= (byte & 0x7F) << shift
        if byte > 0x7F:
            shift += 7
            continue
        if shift > 56:  # it may be negative, or too long
            if shift > 63:
                raise UnusualEncoding
            value &= 0xFFFFFFFFFFFFFFFF
            value -= (value >> 63) << 64
        into.append(value)
        count += 1
        value = shift = 0
    if shift:
        raise UnusualEncoding
    return count


def _only_part(raw: bytes, cell: tuple[int, int], tag: int) -> int:
    """Where the only part of a short list begins: one string, or all numbers; 0 if the Feature is another."""
    at, end = cell
    size = end - at
    is_short = 4 <= size < 0x80 and raw[at] == tag and raw[at + 2] == 0x0A
    return at + 4 if is_short and raw[at + 1] == size - 2 and raw[at + 3] == size - 4 else 0


def _list(raw: bytes, cell: Cell, tag: int) -> tuple[int, int]:
    """The start and end of the list of a Feature; bytes after it are ignored, as in TensorFlow."""
    if cell is None or cell[0] == cell[1]:
        return 0, 0
    if raw[cell[0]] != tag:
        raise UnusualEncoding
    return _delimited(raw, cell[0] + 1, cell[1])


def _packed(raw: bytes, cell: Cell, tag: int) -> tuple[int, int]:
    if cell is not None and (at := _only_part(raw, cell, tag)):
        return at, cell[1]
    at, end = _list(raw, cell, tag)
    if at == end:
        return at, at
    if raw[at] != 0x0A:
        raise UnusualEncoding
    return _delimited(raw, at + 1, end)


class SmallBatchReader:
    """Reads features of a few Examples as columns. Columns of the same type are slices of one array."""

    def __init__(self, specs: Sequence[FeatureSpec]) -> None:
        self.dtypes = [spec.dtype for spec in specs]
        self._indices = {spec.key: i for i, spec in enumerate(specs)}
        self._skips_empty = [spec.skips_empty for spec in specs]
        self.is_supported = len(self._indices) == len(specs) and all(
            dtype in LIST_TAGS for dtype in self.dtypes
        )

    def read(self, messages: Sequence[bytes]) -> tuple[list[tuple[Cell, ...]], list[list[int]], list[Any]]:
        """By column: the cells and element counts of the Examples, and all elements."""
        read = [find_cells(raw, self._indices, self._skips_empty) for raw in messages]
        texts: list[bytes] = []
        packed: list[bytes] = []
        numbers: list[int] = []
        readers: dict[str, tuple[Callable[..., int], list[Any]]] = {
            "string": (strings, texts),
            "float32": (floats, packed),
            "int64": (integers, numbers),
        }
        all_cells = list(zip(*read, strict=True))
        counts = []
        for dtype, column in zip(self.dtypes, all_cells, strict=True):
            read_part, into = readers[dtype]
            counts.append(list(map(read_part, messages, column, repeat(into))))
        objects = np.empty(len(texts), object)
        objects[:] = texts
        flat = {
            "string": objects,
            "float32": np.frombuffer(bytearray().join(packed), "<f4"),  # writeable, unlike bytes
            "int64": np.array(numbers, np.int64),
        }
        used = dict.fromkeys(flat, 0)
        values = []
        for dtype, each in zip(self.dtypes, counts, strict=True):
            first = used[dtype]
            used[dtype] = last = first + sum(each)
            values.append(flat[dtype][first:last])
        return all_cells, counts, values
