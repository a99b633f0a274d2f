"""Features to parse, and those of many Examples or SequenceExamples as columns.

A column has, for each key, the element count of each Example, and all elements; that of a feature list also
has the step count of each SequenceExample.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_lists import HASHED, LIST_TAGS, elements, entries, part_elements
from tfport.runtime.ops.io.key_orders import ordered_entries, short_parts
from tfport.runtime.ops.io.message_batches import Ints, MalformedMessage, MessageBuffer, Spans
from tfport.runtime.ops.strings.fingerprints import fingerprint64

_NAMES = {np.dtype(object): "string", np.dtype(np.float32): "float32", np.dtype(np.int64): "int64"}
_DTYPE_OF_TAG = {tag: dtype for dtype, tag in LIST_TAGS.items()}


class FeatureSpec(NamedTuple):
    """A feature to parse."""

    key: bytes
    dtype: str
    skips_empty: bool = False
    """Whether a Feature without a list counts as missing."""

    def hashed(self) -> FeatureSpec:
        """The fingerprints of the strings of this feature."""
        return self._replace(dtype=HASHED)


class DenseFeature(NamedTuple):
    """A dense feature; if it `varies` along its first axis, `shape` is that of the other axes."""

    key: bytes
    default: Any
    shape: tuple[int, ...]
    varies: bool
    is_hashed: bool = False
    """Whether the fingerprints of strings are wanted; `default` has those of the default."""

    def hashed(self) -> DenseFeature:
        """The fingerprints of the strings of this feature."""
        default = fingerprint64(self.default.reshape(-1).tolist()).reshape(self.default.shape)
        return self._replace(default=default, is_hashed=True)

    @property
    def spec(self) -> FeatureSpec:
        dtype = HASHED if self.is_hashed else dtype_of(self.default)
        return FeatureSpec(self.key, dtype, skips_empty=True)


class FeatureColumn(NamedTuple):
    """A feature of all Examples."""

    present: Any
    """Whether each Example has the feature."""
    counts: Ints
    """The number of elements in each Example."""
    values: Any


def feature_specs(keys: Sequence[bytes], types: Sequence[Any]) -> list[FeatureSpec]:
    if len(keys) != len(types):
        raise RunFailed(f"keys and types must have the same length, found {len(keys)} and {len(types)}")
    return [FeatureSpec(key, dtype.name) for key, dtype in zip(keys, types, strict=True)]


def dense_features(
    keys: Sequence[bytes], defaults: Sequence[Any], shapes: Sequence[Any]
) -> list[DenseFeature]:
    if not len(keys) == len(defaults) == len(shapes):
        raise RunFailed(
            "dense keys, defaults and shapes must have the same length, "
            f"found {len(keys)}, {len(defaults)} and {len(shapes)}"
        )
    return [_dense(*feature) for feature in zip(keys, defaults, shapes, strict=True)]


def _dense(key: bytes, default: Any, shape: Any) -> DenseFeature:
    name = key.decode(errors="replace")
    varies = shape.dims is not None and shape.dims[:1] == (None,)
    inner = shape.dims[1:] if varies else shape.dims
    if inner is None or None in inner:
        raise RunFailed(f"dense feature `{name}` has shape {shape}; only its first dimension may be unknown")
    if varies and 0 in inner:
        raise RunFailed(f"dense feature `{name}` of variable length must not have a dimension of size 0")
    if varies and default.size != 1:
        raise RunFailed(f"the default of `{name}` must be one element for padding, found {default.size}")
    if not varies and default.size and default.shape != inner:
        raise RunFailed(f"the default of `{name}` must have shape {shape}, found {default.shape}")
    return DenseFeature(key, default, inner, varies)


def dtype_of(default: Any) -> str:
    return _NAMES.get(default.dtype) or str(default.dtype)


def columns(
    buffer: MessageBuffer, maps: Spans, specs: Sequence[FeatureSpec], names: Sequence[str], rows: int
) -> list[FeatureColumn]:
    """Parse features from the maps of `rows` Examples; errors use `names` for the Examples."""
    order = _by_type(specs)
    tags = [LIST_TAGS[specs[i].dtype] for i in order]
    short = short_parts(buffer, maps, [specs[i].key for i in order], tags)
    spans, bounds = short or find_entries(buffer, maps, specs, order)
    is_complete = len(spans.owner) == len(order) * rows  # at most one entry for each key and Example
    which = np.repeat(np.arange(len(order)), np.diff(bounds))
    counts = np.zeros((len(order), rows), np.int64)
    present = np.full((len(order), rows), is_complete)
    if not is_complete:
        present[which, spans.owner] = True
    values: dict[int, Any] = {}
    for dtype, first, last in _groups([specs[i].dtype for i in order]):
        part = slice(bounds[first], bounds[last])
        taken, read = spans.take(part), part_elements if short else elements
        if not short:
            _check_dtype(buffer, taken, which[part], dtype, [specs[i] for i in order], names)
        try:
            each, flat = read(buffer, taken, dtype)
        except MalformedMessage as malformed:
            raise RunFailed(f"{names[malformed.owner]}: one of its features is malformed") from None
        if is_complete:
            counts[first:last] = each.reshape(last - first, rows)
        else:
            counts[which[part], taken.owner] = each
        ends = np.concatenate([[0], np.cumsum(each)])[bounds[first : last + 1] - bounds[first]].tolist()
        values.update({first + i: flat[a:b] for i, (a, b) in enumerate(pairwise(ends))})
    index = {number: i for i, number in enumerate(order)}
    return [
        FeatureColumn(present[i], counts[i], values[i]) for i in map(index.__getitem__, range(len(specs)))
    ]


def _by_type(specs: Sequence[FeatureSpec]) -> list[int]:
    """The order of the keys in which those of a type are together."""
    keys = [spec.key for spec in specs]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RunFailed(f"feature keys must be unique, found `{twice.decode(errors='replace')}` twice")
    return sorted(range(len(specs)), key=lambda i: list(LIST_TAGS).index(_known(specs[i].dtype)))


def find_entries(
    buffer: MessageBuffer, maps: Spans, specs: Sequence[FeatureSpec], order: Sequence[int]
) -> tuple[Spans, Ints]:
    """At most one entry for each key and Example: the last. Keys are in this `order`."""
    wanted = [specs[i].key for i in order]
    ordered = ordered_entries(buffer, maps, wanted)
    spans, bounds = ordered or entries(buffer, maps, wanted)
    empty = spans.start == spans.end
    if ordered and not empty.any():
        return spans, bounds
    which = np.repeat(np.arange(len(order)), np.diff(bounds))
    kept = np.ones(len(which), bool)
    if empty.any():
        kept = ~(empty & np.array([specs[i].skips_empty for i in order])[which])
        spans, which = spans.take(kept), which[kept]
    repeated = np.zeros(len(which), bool)
    repeated[:-1] = (which[1:] == which[:-1]) & (spans.owner[1:] == spans.owner[:-1])
    if repeated.any():
        spans, which = spans.take(~repeated), which[~repeated]
    return spans, np.searchsorted(which, np.arange(len(order) + 1))


def type_text(dtype: str) -> str:
    """TensorFlow's name of a feature's type in messages."""
    return {"float32": "float", HASHED: "string"}.get(dtype, dtype)


def _known(dtype: str) -> str:
    if dtype not in LIST_TAGS:
        raise RunFailed(f"unsupported feature type {dtype}; a feature must be string, float32 or int64")
    return dtype


def _groups(dtypes: Sequence[str]) -> list[tuple[str, int, int]]:
    """Ranges of the same type: the type, the first index and the index after the last."""
    groups = []
    for dtype in LIST_TAGS:
        if dtype in dtypes:
            first = dtypes.index(dtype)
            groups.append((dtype, first, first + dtypes.count(dtype)))
    return groups


def _check_dtype(
    buffer: MessageBuffer,
    spans: Spans,
    which: Ints,
    dtype: str,
    specs: Sequence[FeatureSpec],
    names: Sequence[str],
) -> None:
    wrong = (buffer.bytes[np.minimum(spans.start, buffer.size)] != LIST_TAGS[dtype]) & (
        spans.end > spans.start
    )
    if wrong.any():
        at = int(wrong.argmax())
        actual = _DTYPE_OF_TAG.get(buffer.raw[spans.start[at]], "unknown")
        key = specs[which[at]].key.decode(errors="replace")
        raise RunFailed(
            f"{names[spans.owner[at]]}: Key: {key}. Data types don't match. "
            f"Data type: {type_text(actual)} but expected type: {type_text(dtype)}"
        )


class FeatureListColumn(NamedTuple):
    """A feature list of all SequenceExamples."""

    present: Any
    lengths: Ints
    """The number of steps in each SequenceExample."""
    counts: Ints
    """The number of elements in each step."""
    values: Any


def step_columns(
    buffer: MessageBuffer, maps: Spans, specs: Sequence[FeatureSpec], names: Sequence[str], rows: int
) -> list[FeatureListColumn]:
    """Parse feature lists from the maps of `rows` SequenceExamples; errors use `names` for them."""
    order = _by_type(specs)
    spans, bounds = find_entries(buffer, maps, specs, order)
    by_number: dict[int, FeatureListColumn] = {}
    for index, number in enumerate(order):
        part = spans.take(slice(bounds[index], bounds[index + 1]))
        try:
            by_number[number] = _steps(buffer, part, specs[number].dtype, rows)
        except MalformedMessage as malformed:
            key, dtype = specs[number].key.decode(errors="replace"), specs[number].dtype
            raise RunFailed(
                f"{names[malformed.owner]}: feature list `{key}` must be a valid list of {dtype}"
            ) from None
    return [by_number[i] for i in range(len(specs))]


def _steps(buffer: MessageBuffer, lists: Spans, dtype: str, rows: int) -> FeatureListColumn:
    steps = buffer.repeated(lists, 0x0A)
    filled = steps.end > steps.start
    if (wrong := filled & (buffer.bytes[steps.start] != LIST_TAGS[dtype])).any():
        raise MalformedMessage(int(steps.owner[wrong.argmax()]))
    present = np.zeros(rows, bool)
    present[lists.owner] = True
    return FeatureListColumn(
        present, np.bincount(steps.owner, minlength=rows), *elements(buffer, steps, dtype)
    )
