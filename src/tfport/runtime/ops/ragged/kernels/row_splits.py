"""Ragged tensors as values and row splits: conversion, gathering, bin counts, feature crosses, empty rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import FEW, check_nested_splits, excerpt, within_rows
from tfport.runtime.ops.shared.arrays import expand_ranges
from tfport.runtime.ops.sparse.feature_crosses import (
    combinations,
    dense_column,
    hashed,
    joined,
    ragged_column,
    sparse_column,
)
from tfport.runtime.ops.sparse.kernels.dense import dense_of
from tfport.runtime.ops.sparse.kernels.row_ops import fill_empty_rows_grad, filled_rows
from tfport.runtime.ops.sparse.row_counts import bincounts, rows_of_splits, sparse_counts


@host("RaggedTensorToTensor")
def ragged_tensor_to_tensor(shape, values, default_value, row_partition_tensors, *, row_partition_types):
    if (
        dense := _equal_rows(shape, values, default_value, row_partition_tensors, row_partition_types)
    ) is not None:
        return dense
    rows, levels = _partitions(row_partition_tensors, row_partition_types, len(values) if values.ndim else 0)
    dims = _dense_shape(shape, rows, levels, values)
    if default_value.ndim and default_value.ndim >= values.ndim:
        raise RunFailed(
            f"default_value {list(default_value.shape)} must have a lower rank "
            f"than values {list(values.shape)}"
        )
    out = dense_of(dims, values.dtype, b"" if values.dtype == object else 0).reshape(dims)
    element = dims[1 + len(levels) :]
    try:
        out[...] = np.broadcast_to(default_value, element)
    except ValueError:
        raise RunFailed(
            f"default_value {list(default_value.shape)} does not broadcast to {list(element)}"
        ) from None
    if len(levels) == 1 and dims[0] == rows == len(levels[0]) and _fits(levels[0], dims[1], len(values)):
        out[np.arange(dims[1]) < levels[0][:, None]] = values
        return out
    out = out.reshape(math.prod(dims[: 1 + len(levels)]), *element)
    kept = np.arange(rows) < dims[0]
    position = np.where(kept, np.arange(rows), 0)
    for lengths, size in zip(levels, dims[1:], strict=False):
        row = np.repeat(np.arange(len(lengths)), lengths)
        if len(lengths) > len(position):
            raise RunFailed(f"expected {len(position)} rows, found {len(lengths)}")
        inner = within_rows(lengths)
        kept = kept[row] & (inner < size)
        position = np.where(kept, position[row] * size + inner, 0)
    count = min(len(position), len(values))
    out[position[:count][kept[:count]]] = values[:count][kept[:count]]
    return out.reshape(dims)


def _equal_rows(
    shape: Any, values: Any, default: Any, partitions: Sequence[Any], types: Sequence[str]
) -> Any:
    """The dense tensor of a few rows of one length, which needs no padding; None in any other case."""
    if shape.ndim or shape != -1 or default.ndim or not values.ndim or list(types) != ["ROW_SPLITS"]:
        return None
    if partitions[0].ndim != 1 or not 2 <= len(partitions[0]) <= FEW:
        return None
    rows, width = len(partitions[0]) - 1, int(partitions[0][1])
    if (
        width < 1
        or partitions[0].tolist() != [i * width for i in range(rows + 1)]
        or rows * width != len(values)
    ):
        return None
    return values.reshape(rows, width, *values.shape[1:])


def _fits(lengths: Any, size: int, count: int) -> bool:
    """Whether no row is longer than `size`, and all `count` values are in rows."""
    return bool(lengths.max(initial=0) <= size and lengths.sum() == count)


def _partitions(tensors: Sequence[Any], types: Sequence[str], count: int) -> tuple[int, list[Any]]:
    """The number of rows, and the row lengths of each level."""
    if not types or len(types) != len(tensors):
        raise RunFailed(f"{len(tensors)} row partitions have {len(types)} types")
    if types[0] == "FIRST_DIM_SIZE":
        if tensors[0].size != 1 or int(tensors[0].reshape(-1)[0]) < 0:
            raise RunFailed(
                f"the number of rows must be a scalar that is not negative, found {tensors[0].tolist()}"
            )
        rows = int(tensors[0].reshape(-1)[0])
        tensors, types = tensors[1:], types[1:]
    elif types[0] == "ROW_SPLITS":
        rows = len(tensors[0]) - 1
    else:
        raise RunFailed(f"the first row partition must be ROW_SPLITS or FIRST_DIM_SIZE, found {types[0]}")
    levels: list[Any] = []
    above = rows
    for tensor, kind in zip(tensors, types, strict=True):
        lengths = _lengths(tensor, kind, above)
        levels.append(lengths)
        above = int(lengths.sum())
    if above > count and levels:
        raise RunFailed(f"the row partitions need {above} values, found {count}")
    return rows, levels


def _lengths(tensor: Any, kind: str, rows: int) -> Any:
    if tensor.ndim != 1:
        raise RunFailed(f"a row partition must be a vector, found shape {list(tensor.shape)}")
    if kind == "ROW_SPLITS":
        lengths = np.diff(tensor)
        if not len(tensor) or tensor[0] != 0 or (lengths < 0).any():
            raise RunFailed(f"row splits must start at 0 and must not decrease, found {excerpt(tensor)}")
        return lengths.astype(np.int64)
    if kind == "VALUE_ROWIDS":
        if len(tensor) and (tensor[0] < 0 or tensor[-1] >= rows or (tensor[1:] < tensor[:-1]).any()):
            raise RunFailed(f"row ids must be sorted and in [0, {rows}), found {excerpt(tensor)}")
        return np.bincount(tensor, minlength=rows)
    raise RunFailed(f"unsupported row partition `{kind}`")


def _dense_shape(shape: Any, rows: int, levels: Sequence[Any], values: Any) -> tuple[int, ...]:
    dims = [rows, *(int(lengths.max(initial=0)) for lengths in levels), *values.shape[1:]]
    if shape.ndim == 0:
        if shape[()] != -1:
            raise RunFailed(f"a scalar shape must be -1 (unknown), found {shape[()]}")
        return tuple(dims)
    if shape.ndim > 1 or len(shape) != len(dims):
        raise RunFailed(f"shape {shape.tolist()} does not match a ragged tensor of rank {len(dims)}")
    for i, size in enumerate(shape.tolist()):
        if size < -1 or (i > len(levels) and size not in (-1, dims[i])):
            raise RunFailed(
                f"shape {shape.tolist()} does not match elements of shape {list(values.shape[1:])}"
            )
        dims[i] = dims[i] if size == -1 else size
    return tuple(dims)


@host("RaggedTensorToSparse")
def ragged_tensor_to_sparse(rt_nested_splits, rt_dense_values):
    if not rt_dense_values.ndim:
        raise RunFailed("rt_dense_values must have at least 1 axis, found a scalar")
    check_nested_splits(rt_nested_splits, len(rt_dense_values))
    lengths = [np.diff(splits) for splits in rt_nested_splits]
    columns = [np.arange(len(rt_nested_splits[0]) - 1)]
    for each in lengths:
        columns = [np.repeat(column, each) for column in columns] + [within_rows(each)]
    inner = rt_dense_values.shape[1:]
    size = math.prod(inner)
    indices = np.repeat(np.stack(columns, 1), size, axis=0)
    if inner:
        within = np.stack(np.unravel_index(np.arange(size), inner), 1) if size else np.zeros((0, len(inner)))
        indices = np.concatenate([indices, np.tile(within, (len(columns[0]), 1))], 1)
    shape = [len(rt_nested_splits[0]) - 1, *(int(each.max(initial=0)) for each in lengths), *inner]
    return indices, rt_dense_values.reshape(-1), np.array(shape, np.int64)


@host("RaggedGather")
def ragged_gather(params_nested_splits, params_dense_values, indices, *, OUTPUT_RAGGED_RANK):
    check_nested_splits(params_nested_splits, len(params_dense_values))
    rows = len(params_nested_splits[0]) - 1
    dtype = params_nested_splits[0].dtype
    if indices.ndim == 1 == len(params_nested_splits) == OUTPUT_RAGGED_RANK and _are_all(indices, rows):
        return params_nested_splits, params_dense_values
    flat = indices.reshape(-1).astype(np.int64)
    if len(flat) and not 0 <= flat.min() <= flat.max() < rows:
        raise RunFailed(f"indices must be in [0, {rows}), found {excerpt(flat)}")
    out = [
        np.arange(math.prod(indices.shape[: i + 1]) + 1) * indices.shape[i + 1]
        for i in range(indices.ndim - 1)
    ]
    for splits in params_nested_splits:
        start, lengths = splits[flat].astype(np.int64), np.diff(splits)[flat]
        out.append(np.concatenate([[0], np.cumsum(lengths)]))
        flat = expand_ranges(start, lengths, 1)
    if indices.ndim == 0:
        out = out[1:]
    if len(out) != OUTPUT_RAGGED_RANK:
        raise RunFailed(f"the result has ragged rank {len(out)}, expected {OUTPUT_RAGGED_RANK}")
    return [splits.astype(dtype) for splits in out], params_dense_values[flat]


def _are_all(indices: Any, rows: int) -> bool:
    """Whether these are a few rows, all of them in order, as where a few ragged tensors are concatenated."""
    return len(indices) == rows <= FEW and indices.tolist() == list(range(rows))


@host("RaggedBincount")
def ragged_bincount(splits, values, size, weights, *, binary_output):
    rows, row_of = rows_of_splits(splits, len(values))
    return bincounts(rows, row_of, values, size, weights, binary_output)


@host("RaggedCountSparseOutput")
def ragged_count(splits, values, weights, *, minlength, maxlength, binary_output):
    rows, row_of = rows_of_splits(splits, len(values))
    return sparse_counts(rows, row_of, values, weights, minlength, maxlength, binary_output)


@host("RaggedCross")
def ragged_cross(
    ragged_values, ragged_row_splits, sparse_indices, sparse_values, sparse_shape, dense_inputs,
    *, input_order, hashed_output, num_buckets, hash_key, out_values_type, out_row_splits_type,
):  # fmt: skip
    waiting = {
        "R": [ragged_column(*parts) for parts in zip(ragged_values, ragged_row_splits, strict=True)],
        "S": [sparse_column(*p) for p in zip(sparse_indices, sparse_values, sparse_shape, strict=True)],
        "D": [dense_column(column) for column in dense_inputs],
    }
    if any(input_order.count(kind) != len(columns) for kind, columns in waiting.items()):
        raise RunFailed(f"input_order `{input_order}` does not match the numbers of columns")
    columns = [waiting[kind].pop(0) for kind in input_order]
    totals, which = combinations(columns)
    values = (
        hashed(columns, which, num_buckets, hash_key) if hashed_output else joined(columns, which, b"_X_")
    )
    return values, np.concatenate([[0], np.cumsum(totals)])


@host("RaggedFillEmptyRows")
def ragged_fill_empty_rows(value_rowids, values, nrows, default_value):
    if value_rowids.shape != values.shape or value_rowids.ndim != 1 or default_value.ndim or nrows.ndim:
        raise RunFailed(
            f"value_rowids {list(value_rowids.shape)} and values {list(values.shape)} "
            "must be vectors of the same length"
        )
    from_input, into, row_of, empty = filled_rows(value_rowids, int(nrows))
    flat = np.empty(len(row_of), values.dtype)
    flat[...] = default_value[()]
    flat[into] = values[from_input]
    back = np.empty(len(values), np.int64)
    back[from_input] = into
    return row_of, flat, empty, back


host("RaggedFillEmptyRowsGrad")(fill_empty_rows_grad)
