"""`tf.train.SequenceExample`s to tensors, one or a batch of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.io.feature_columns import Column, Wanted, columns
from tfport.runtime.ops.io.feature_lists import places_of
from tfport.runtime.ops.io.feature_maps import top_level
from tfport.runtime.ops.io.feature_steps import Steps, step_columns
from tfport.runtime.ops.io.kernels.parse_example import (
    Dense,
    Names,
    as_keys,
    dense_values,
    kind_of,
    row_splits,
    sparse_indices,
    wanted,
)
from tfport.runtime.ops.io.message_batches import Broken, Wire


class Asked(NamedTuple):
    """What is asked for: features of the context, and lists of features."""

    sparse: list[Wanted]
    dense: list[Dense]
    ragged: list[Wanted]
    list_sparse: list[Wanted]
    list_dense: list[tuple[Wanted, tuple[int, ...], bool]]
    """Each with the shape of a step, and whether it may be missing."""
    list_ragged: list[Wanted]


class Found(NamedTuple):
    """The same of all SequenceExamples."""

    sparse: list[Column]
    dense: list[Any]
    ragged: list[Column]
    list_sparse: list[Steps]
    list_dense: list[tuple[Any, Any]]
    """Each as one padded tensor, with the number of steps of each SequenceExample."""
    list_ragged: list[Steps]


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
    asked = Asked(
        wanted(as_keys(context_sparse_keys), context_sparse_types),
        _dense(as_keys(context_dense_keys), context_dense_defaults, context_dense_shapes),
        [],
        wanted(as_keys(feature_list_sparse_keys), feature_list_sparse_types),
        _list_dense(
            list_keys, feature_list_dense_types, feature_list_dense_shapes, [k in may_miss for k in list_keys]
        ),
        [],
    )  # fmt: skip
    if serialized.ndim != 1:
        raise RunFailed(f"serialized SequenceExamples come as a vector; their shape is {serialized.shape}")
    found = _read(serialized.tolist(), Names(debug_name, serialized.size), asked)
    return _batched(found, serialized.size, with_ragged=False)


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
    asked = Asked(
        wanted(context_sparse_keys.tolist(), context_sparse_types),
        _dense(context_dense_keys.tolist(), context_dense_defaults, context_dense_shapes),
        wanted(context_ragged_keys.tolist(), context_ragged_value_types),
        wanted(feature_list_sparse_keys.tolist(), feature_list_sparse_types),
        _list_dense(
            feature_list_dense_keys.tolist(), feature_list_dense_types, feature_list_dense_shapes,
            feature_list_dense_missing_assumed_empty.tolist(),
        ),
        wanted(feature_list_ragged_keys.tolist(), feature_list_ragged_value_types),
    )  # fmt: skip
    if serialized.ndim > 1:
        raise RunFailed(
            f"serialized SequenceExamples have shape {serialized.shape}; expected one or a vector"
        )
    called = Names(debug_name, serialized.size)
    found = _read(serialized.reshape(-1).tolist(), called, asked)
    return _batched(found, serialized.size, with_ragged=True) if serialized.ndim else _one_with_ragged(found)


@host("ParseSingleSequenceExample")
def parse_single_sequence_example(
    serialized, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys,
    feature_list_sparse_keys, feature_list_dense_keys, context_dense_defaults, debug_name,
    *, context_sparse_types, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
    feature_list_dense_shapes,
):  # fmt: skip
    may_miss = set(feature_list_dense_missing_assumed_empty.tolist())
    list_keys = _scalars(feature_list_dense_keys)
    asked = Asked(
        wanted(_scalars(context_sparse_keys), context_sparse_types),
        _dense(_scalars(context_dense_keys), context_dense_defaults, context_dense_shapes),
        [],
        wanted(_scalars(feature_list_sparse_keys), feature_list_sparse_types),
        _list_dense(
            list_keys, feature_list_dense_types, feature_list_dense_shapes, [k in may_miss for k in list_keys]
        ),
        [],
    )  # fmt: skip
    if serialized.ndim:
        raise RunFailed(f"one serialized SequenceExample is a scalar; its shape is {serialized.shape}")
    found = _read([serialized.item()], ["the SequenceExample"], asked)
    return (*_one_context(found), *_one_sparse_lists(found), [values[0] for values, _ in found.list_dense])


def _scalars(keys: Sequence[Any]) -> list[bytes]:
    return [key.item() for key in keys]


def _dense(keys: Sequence[bytes], defaults: Sequence[Any], shapes: Sequence[Any]) -> list[Dense]:
    found = []
    for key, default, shape in zip(keys, defaults, shapes, strict=True):
        name = key.decode(errors="replace")
        if shape.dims is None or None in shape.dims:
            raise RunFailed(f"the shape of context feature `{name}` is {shape}; it must be known")
        if default.size and default.shape != shape.dims:
            raise RunFailed(f"the default of `{name}` has shape {default.shape}, not {shape}")
        found.append(Dense(key, default, shape.dims, varies=False))
    return found


def _list_dense(
    keys: Sequence[bytes], types: Sequence[Any], shapes: Sequence[Any], may_miss: Sequence[bool]
) -> Any:
    if not len(keys) == len(types) == len(shapes) == len(may_miss):
        raise RunFailed(f"there are {len(keys)} keys of dense lists for {len(shapes)} shapes")
    found = []
    for one, shape, missing in zip(wanted(keys, types), shapes, may_miss, strict=True):
        if shape.dims is None or None in shape.dims or 0 in shape.dims:
            raise RunFailed(
                f"a step of feature list `{one.key.decode(errors='replace')}` is of shape {shape}"
            )
        found.append((one, shape.dims, missing))
    return found


def _read(messages: list[bytes], names: Sequence[str], asked: Asked) -> Found:
    wire = Wire(messages)
    context = [*asked.sparse, *(Wanted(d.key, kind_of(d.default)) for d in asked.dense), *asked.ragged]
    lists = [*asked.list_sparse, *(w for w, _, _ in asked.list_dense), *asked.list_ragged]
    try:
        first, second = top_level(wire, 0x0A, 0x12)
        found = columns(wire, first, context, names, len(names))
        steps = step_columns(wire, second, lists, names, len(names))
    except Broken as broken:
        raise RunFailed(f"{names[broken.owner]}: this is no serialized tf.train.SequenceExample") from None
    a, b = len(asked.sparse), len(asked.sparse) + len(asked.dense)
    c, d = len(asked.list_sparse), len(asked.list_sparse) + len(asked.list_dense)
    return Found(
        found[:a],
        [dense_values(*both, names) for both in zip(asked.dense, found[a:b], strict=True)],
        found[b:],
        steps[:c],
        [_padded(*one, column, names) for one, column in zip(asked.list_dense, steps[c:d], strict=True)],
        steps[d:],
    )


def _padded(one: Wanted, shape: tuple[int, ...], may_miss: bool, steps: Steps, names: Sequence[str]) -> Any:
    name, size = one.key.decode(errors="replace"), math.prod(shape)
    if not may_miss and not steps.present.all():
        raise RunFailed(f"{names[int(steps.present.argmin())]}: feature list `{name}` is missing")
    if (wrong := steps.counts != size).any():
        at = int(np.repeat(np.arange(len(steps.lengths)), steps.lengths)[wrong.argmax()])
        had = steps.counts[wrong.argmax()]
        raise RunFailed(f"{names[at]}: a step of feature list `{name}` has {had} elements, not {size}")
    longest = int(steps.lengths.max(initial=0))
    out = np.full((len(steps.lengths), longest, size), b"" if one.kind == "string" else 0, steps.values.dtype)
    out[np.arange(longest) < steps.lengths[:, None]] = steps.values.reshape(-1, size)
    return out.reshape(len(steps.lengths), longest, *shape), steps.lengths


def _batched(found: Found, rows: int, *, with_ragged: bool) -> Any:
    ragged: Any = ([c.values for c in found.ragged], [row_splits(c.counts) for c in found.ragged])
    list_ragged: Any = (
        [s.values for s in found.list_ragged],
        [row_splits(s.lengths) for s in found.list_ragged],
        [row_splits(s.counts) for s in found.list_ragged],
    )
    return (
        [sparse_indices(column) for column in found.sparse],
        [column.values for column in found.sparse],
        [np.array([rows, column.counts.max(initial=0)]) for column in found.sparse],
        found.dense,
        *(ragged if with_ragged else ()),
        [_step_indices(steps) for steps in found.list_sparse],
        [steps.values for steps in found.list_sparse],
        [np.array([rows, s.lengths.max(initial=0), s.counts.max(initial=0)]) for s in found.list_sparse],
        [values for values, _ in found.list_dense],
        [lengths for _, lengths in found.list_dense],
        *(list_ragged if with_ragged else ()),
    )


def _step_indices(steps: Steps) -> Any:
    """SequenceExample, step and place within the step of each element."""
    row = np.repeat(np.arange(len(steps.lengths)), steps.lengths)
    step = places_of(np.zeros(len(steps.lengths), np.int64), steps.lengths, 1)
    inner = places_of(np.zeros(len(steps.counts), np.int64), steps.counts, 1)
    return np.stack([np.repeat(row, steps.counts), np.repeat(step, steps.counts), inner], 1)


def _one_context(found: Found) -> Any:
    return (
        [np.arange(len(column.values))[:, None] for column in found.sparse],
        [column.values for column in found.sparse],
        [np.array([len(column.values)]) for column in found.sparse],
        [values[0] for values in found.dense],
    )


def _one_sparse_lists(found: Found) -> Any:
    return (
        [_step_indices(steps)[:, 1:] for steps in found.list_sparse],
        [steps.values for steps in found.list_sparse],
        [np.array([s.lengths.max(initial=0), s.counts.max(initial=0)]) for s in found.list_sparse],
    )


def _one_with_ragged(found: Found) -> Any:
    none = np.zeros((), np.int64)  # what TensorFlow leaves unset
    return (
        *_one_context(found),
        [column.values for column in found.ragged],
        [none for _ in found.ragged],
        *_one_sparse_lists(found),
        [values[0] for values, _ in found.list_dense],
        [lengths[0] for _, lengths in found.list_dense],
        [steps.values for steps in found.list_ragged],
        [none for _ in found.list_ragged],
        [row_splits(steps.counts) for steps in found.list_ragged],
    )
