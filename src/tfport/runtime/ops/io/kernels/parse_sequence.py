"""Parsing of `tf.train.SequenceExample`s: ParseSequenceExample, its version 2 and the single variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.io.feature_columns import (
    DenseFeature,
    FeatureColumn,
    FeatureListColumn,
    FeatureSpec,
    columns,
    dtype_of,
    feature_specs,
    step_columns,
)
from tfport.runtime.ops.io.feature_lists import top_level
from tfport.runtime.ops.io.kernels.parse_example import (
    ExampleNames,
    as_keys,
    dense_values,
    row_splits,
    sparse_indices,
)
from tfport.runtime.ops.io.message_batches import MalformedMessage, MessageBuffer
from tfport.runtime.ops.shared.arrays import expand_ranges


class SequenceSpecs(NamedTuple):
    """What to parse: features of the context, and feature lists."""

    sparse: list[FeatureSpec]
    dense: list[DenseFeature]
    ragged: list[FeatureSpec]
    list_sparse: list[FeatureSpec]
    list_dense: list[tuple[FeatureSpec, tuple[int, ...], bool]]
    """Each with the shape of a step, and whether the list may be missing."""
    list_ragged: list[FeatureSpec]


class SequenceColumns(NamedTuple):
    """The parsed features and feature lists of all SequenceExamples."""

    sparse: list[FeatureColumn]
    dense: list[Any]
    ragged: list[FeatureColumn]
    list_sparse: list[FeatureListColumn]
    list_dense: list[tuple[Any, Any]]
    """Each a padded tensor, with the number of steps of each SequenceExample."""
    list_ragged: list[FeatureListColumn]


@host("ParseSequenceExample")
def parse_sequence_example(
    serialized, debug_name, context_dense_defaults,
    *, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys,
    feature_list_sparse_keys, feature_list_dense_keys, Ncontext_sparse, Ncontext_dense,
    Nfeature_list_sparse, Nfeature_list_dense, context_sparse_types, feature_list_dense_types,
    context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes,
):  # fmt: skip
    may_miss = set(as_keys(feature_list_dense_missing_assumed_empty))
    list_keys = as_keys(feature_list_dense_keys)
    specs = SequenceSpecs(
        feature_specs(as_keys(context_sparse_keys), context_sparse_types),
        _dense(as_keys(context_dense_keys), context_dense_defaults, context_dense_shapes),
        [],
        feature_specs(as_keys(feature_list_sparse_keys), feature_list_sparse_types),
        _list_dense(
            list_keys, feature_list_dense_types, feature_list_dense_shapes, [k in may_miss for k in list_keys]
        ),
        [],
    )  # fmt: skip
    if serialized.ndim != 1:
        raise RunFailed(f"serialized must be a vector, found shape {serialized.shape}")
    parsed = _read(serialized.tolist(), ExampleNames(debug_name, serialized.size), specs)
    return _batched(parsed, serialized.size, with_ragged=False)


@host("ParseSequenceExampleV2")
def parse_sequence_example_v2(
    serialized, debug_name, context_sparse_keys, context_dense_keys, context_ragged_keys,
    feature_list_sparse_keys, feature_list_dense_keys, feature_list_ragged_keys,
    feature_list_dense_missing_assumed_empty, context_dense_defaults,
    *, Ncontext_sparse, context_sparse_types, context_ragged_value_types, context_ragged_split_types,
    context_dense_shapes, Nfeature_list_sparse, Nfeature_list_dense, feature_list_dense_types,
    feature_list_sparse_types, feature_list_ragged_value_types, feature_list_ragged_split_types,
    feature_list_dense_shapes,
):  # fmt: skip
    specs = SequenceSpecs(
        feature_specs(context_sparse_keys.tolist(), context_sparse_types),
        _dense(context_dense_keys.tolist(), context_dense_defaults, context_dense_shapes),
        feature_specs(context_ragged_keys.tolist(), context_ragged_value_types),
        feature_specs(feature_list_sparse_keys.tolist(), feature_list_sparse_types),
        _list_dense(
            feature_list_dense_keys.tolist(), feature_list_dense_types, feature_list_dense_shapes,
            feature_list_dense_missing_assumed_empty.tolist(),
        ),
        feature_specs(feature_list_ragged_keys.tolist(), feature_list_ragged_value_types),
    )  # fmt: skip
    if serialized.ndim > 1:
        raise RunFailed(f"serialized must be a scalar or a vector, found shape {serialized.shape}")
    example_names = ExampleNames(debug_name, serialized.size)
    parsed = _read(serialized.reshape(-1).tolist(), example_names, specs)
    return (
        _batched(parsed, serialized.size, with_ragged=True)
        if serialized.ndim
        else _single_with_ragged(parsed)
    )


@host("ParseSingleSequenceExample")
def parse_single_sequence_example(
    serialized, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys,
    feature_list_sparse_keys, feature_list_dense_keys, context_dense_defaults, debug_name,
    *, context_sparse_types, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
    feature_list_dense_shapes,
):  # fmt: skip
    may_miss = set(feature_list_dense_missing_assumed_empty.tolist())
    list_keys = _scalars(feature_list_dense_keys)
    specs = SequenceSpecs(
        feature_specs(_scalars(context_sparse_keys), context_sparse_types),
        _dense(_scalars(context_dense_keys), context_dense_defaults, context_dense_shapes),
        [],
        feature_specs(_scalars(feature_list_sparse_keys), feature_list_sparse_types),
        _list_dense(
            list_keys, feature_list_dense_types, feature_list_dense_shapes, [k in may_miss for k in list_keys]
        ),
        [],
    )  # fmt: skip
    if serialized.ndim:
        raise RunFailed(f"serialized must be a scalar, found shape {serialized.shape}")
    parsed = _read([serialized.item()], ["the SequenceExample"], specs)
    return (
        *_single_context(parsed),
        *_single_sparse_lists(parsed),
        [values[0] for values, _ in parsed.list_dense],
    )


def _scalars(keys: Sequence[Any]) -> list[bytes]:
    return [key.item() for key in keys]


def _dense(keys: Sequence[bytes], defaults: Sequence[Any], shapes: Sequence[Any]) -> list[DenseFeature]:
    features = []
    for key, default, shape in zip(keys, defaults, shapes, strict=True):
        name = key.decode(errors="replace")
        if shape.dims is None or None in shape.dims:
            raise RunFailed(f"the shape of context feature `{name}` must be known, found {shape}")
        if default.size and default.shape != shape.dims:
            raise RunFailed(f"the default of `{name}` must have shape {shape}, found {default.shape}")
        features.append(DenseFeature(key, default, shape.dims, varies=False))
    return features


def _list_dense(
    keys: Sequence[bytes], types: Sequence[Any], shapes: Sequence[Any], may_miss: Sequence[bool]
) -> Any:
    if not len(keys) == len(types) == len(shapes) == len(may_miss):
        raise RunFailed(
            "keys and shapes of dense feature lists must have the same length, "
            f"found {len(keys)} and {len(shapes)}"
        )
    features = []
    for spec, shape, missing in zip(feature_specs(keys, types), shapes, may_miss, strict=True):
        if shape.dims is None or None in shape.dims or 0 in shape.dims:
            raise RunFailed(
                f"the step shape of feature list `{spec.key.decode(errors='replace')}` "
                f"must be known and not empty, found {shape}"
            )
        features.append((spec, shape.dims, missing))
    return features


def _read(messages: list[bytes], names: Sequence[str], specs: SequenceSpecs) -> SequenceColumns:
    buffer = MessageBuffer(messages)
    context = [*specs.sparse, *(FeatureSpec(d.key, dtype_of(d.default)) for d in specs.dense), *specs.ragged]
    lists = [*specs.list_sparse, *(w for w, _, _ in specs.list_dense), *specs.list_ragged]
    try:
        first, second = top_level(buffer, 0x0A, 0x12)
        context_columns = columns(buffer, first, context, names, len(names))
        steps = step_columns(buffer, second, lists, names, len(names))
    except MalformedMessage as malformed:
        raise RunFailed(
            f"{names[malformed.owner]}: not a valid serialized tf.train.SequenceExample"
        ) from None
    a, b = len(specs.sparse), len(specs.sparse) + len(specs.dense)
    c, d = len(specs.list_sparse), len(specs.list_sparse) + len(specs.list_dense)
    return SequenceColumns(
        context_columns[:a],
        [dense_values(*both, names) for both in zip(specs.dense, context_columns[a:b], strict=True)],
        context_columns[b:],
        steps[:c],
        [_padded(*spec, column, names) for spec, column in zip(specs.list_dense, steps[c:d], strict=True)],
        steps[d:],
    )


def _padded(
    spec: FeatureSpec, shape: tuple[int, ...], may_miss: bool, steps: FeatureListColumn, names: Sequence[str]
) -> Any:
    name, size = spec.key.decode(errors="replace"), math.prod(shape)
    if not may_miss and not steps.present.all():
        raise RunFailed(f"{names[int(steps.present.argmin())]}: feature list `{name}` is missing")
    if (wrong := steps.counts != size).any():
        at = int(np.repeat(np.arange(len(steps.lengths)), steps.lengths)[wrong.argmax()])
        count = steps.counts[wrong.argmax()]
        raise RunFailed(
            f"{names[at]}: a step of feature list `{name}` must have {size} elements, found {count}"
        )
    longest = int(steps.lengths.max(initial=0))
    cells = len(steps.lengths) * longest
    reserve_memory(cells * size * steps.values.itemsize, cells)
    out = np.full(
        (len(steps.lengths), longest, size), b"" if spec.dtype == "string" else 0, steps.values.dtype
    )
    out[np.arange(longest) < steps.lengths[:, None]] = steps.values.reshape(-1, size)
    return out.reshape(len(steps.lengths), longest, *shape), steps.lengths


def _batched(parsed: SequenceColumns, rows: int, *, with_ragged: bool) -> Any:
    ragged: Any = ([c.values for c in parsed.ragged], [row_splits(c.counts) for c in parsed.ragged])
    list_ragged: Any = (
        [s.values for s in parsed.list_ragged],
        [row_splits(s.lengths) for s in parsed.list_ragged],
        [row_splits(s.counts) for s in parsed.list_ragged],
    )
    return (
        [sparse_indices(column) for column in parsed.sparse],
        [column.values for column in parsed.sparse],
        [np.array([rows, column.counts.max(initial=0)]) for column in parsed.sparse],
        parsed.dense,
        *(ragged if with_ragged else ()),
        [_step_indices(steps) for steps in parsed.list_sparse],
        [steps.values for steps in parsed.list_sparse],
        [np.array([rows, s.lengths.max(initial=0), s.counts.max(initial=0)]) for s in parsed.list_sparse],
        [values for values, _ in parsed.list_dense],
        [lengths for _, lengths in parsed.list_dense],
        *(list_ragged if with_ragged else ()),
    )


def _step_indices(steps: FeatureListColumn) -> Any:
    """The SequenceExample, the step and the index within the step of each element."""
    row = np.repeat(np.arange(len(steps.lengths)), steps.lengths)
    step = expand_ranges(np.zeros(len(steps.lengths), np.int64), steps.lengths, 1)
    inner = expand_ranges(np.zeros(len(steps.counts), np.int64), steps.counts, 1)
    return np.stack([np.repeat(row, steps.counts), np.repeat(step, steps.counts), inner], 1)


def _single_context(parsed: SequenceColumns) -> Any:
    return (
        [np.arange(len(column.values))[:, None] for column in parsed.sparse],
        [column.values for column in parsed.sparse],
        [np.array([len(column.values)]) for column in parsed.sparse],
        [values[0] for values in parsed.dense],
    )


def _single_sparse_lists(parsed: SequenceColumns) -> Any:
    return (
        [_step_indices(steps)[:, 1:] for steps in parsed.list_sparse],
        [steps.values for steps in parsed.list_sparse],
        [np.array([s.lengths.max(initial=0), s.counts.max(initial=0)]) for s in parsed.list_sparse],
    )


def _single_with_ragged(parsed: SequenceColumns) -> Any:
    none = np.zeros((), np.int64)  # an output that TensorFlow does not set
    return (
        *_single_context(parsed),
        [column.values for column in parsed.ragged],
        [none for _ in parsed.ragged],
        *_single_sparse_lists(parsed),
        [values[0] for values, _ in parsed.list_dense],
        [lengths[0] for _, lengths in parsed.list_dense],
        [steps.values for steps in parsed.list_ragged],
        [none for _ in parsed.list_ragged],
        [row_splits(steps.counts) for steps in parsed.list_ragged],
    )
