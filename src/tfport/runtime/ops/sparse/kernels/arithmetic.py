"""Arithmetic on sparse tensors: add, reduce, softmax, maximum and minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.sparse.coordinates import (
    checked,
    flat_positions,
    in_bounds,
    in_order,
    indices_of,
    summed,
)
from tfport.runtime.ops.sparse.kernels.dense import bounded_size


def _pair(a: Any, b: Any) -> tuple[tuple[int, ...], Any, Any]:
    """The common shape of two sparse tensors, and the flat positions of their values."""
    dims, others = checked(*a), checked(*b)
    if dims != others:
        raise RunFailed(f"sparse tensors must have the same shape, found {list(dims)} and {list(others)}")
    in_bounds(a[0], dims, "the first")
    in_bounds(b[0], dims, "the second")
    return dims, flat_positions(a[0], dims), flat_positions(b[0], dims)


def _merged(a: Any, b: Any) -> tuple[Any, Any]:
    """For each position in either, in order: the index of its value in a and in b, or -1."""
    if in_order(a) and in_order(b):
        union = np.union1d(a, b)
        from_a, from_b = np.full(len(union), -1), np.full(len(union), -1)
        from_a[np.searchsorted(union, a)] = np.arange(len(a))
        from_b[np.searchsorted(union, b)] = np.arange(len(b))
        return from_a, from_b
    pairs, i, j = [], 0, 0  # unsorted positions are merged in their order
    left, right = a.tolist(), b.tolist()
    while i < len(left) or j < len(right):
        take_a = i < len(left) and (j == len(right) or left[i] <= right[j])
        take_b = j < len(right) and (i == len(left) or right[j] <= left[i])
        pairs.append((i if take_a else -1, j if take_b else -1))
        i, j = i + take_a, j + take_b
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _taken(values: Any, which: Any) -> Any:
    """The values at these indices; zero for -1."""
    padded = np.concatenate([values, np.zeros(1, values.dtype)])
    return padded[which]


@host("SparseAdd")
def sparse_add(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    if thresh.ndim:
        raise RunFailed(f"thresh must be a scalar, found shape {list(thresh.shape)}")
    a, b = (a_indices, a_values, a_shape), (b_indices, b_values, b_shape)
    _, left, right = _pair(a, b)
    from_a, from_b = _merged(left, right)
    values = _taken(a_values, from_a) + _taken(b_values, from_b)
    indices = np.where((from_a >= 0)[:, None], _rows(a_indices, from_a), _rows(b_indices, from_b))
    # only sums of two are compared with the threshold, small integers after widening
    both = (from_a >= 0) & (from_b >= 0)
    sums = _widened(a_values[from_a[both]]) + _widened(b_values[from_b[both]])
    kept = ~both
    kept[both] = thresh <= np.abs(sums)
    return indices[kept], values[kept], a_shape


def _widened(values: Any) -> Any:
    return values.astype(np.int64) if values.dtype.kind == "i" and values.itemsize < 4 else values


def _rows(indices: Any, which: Any) -> Any:
    return np.concatenate([indices, np.zeros((1, indices.shape[1]), np.int64)])[which]


@host("SparseAddGrad")
def sparse_add_grad(backprop_val_grad, a_indices, b_indices, sum_indices):
    grads = {tuple(i): g for i, g in zip(sum_indices.tolist(), backprop_val_grad, strict=True)}
    dtype = backprop_val_grad.dtype
    return tuple(
        np.array([grads.get(tuple(i), 0) for i in side.tolist()], dtype) for side in (a_indices, b_indices)
    )


@host("SparseSparseMaximum SparseSparseMinimum")
def sparse_sparse_extreme(a_indices, a_values, a_shape, b_indices, b_values, b_shape, *, context):
    a, b = (a_indices, a_values, a_shape), (b_indices, b_values, b_shape)
    _, left, right = _pair(a, b)
    from_a, from_b = _merged(left, right)
    x, y = _taken(a_values, from_a), _taken(b_values, from_b)
    larger = context.op.endswith("Maximum")
    values = np.where(x < y, y, x) if larger else np.where(y < x, y, x)
    return np.where((from_a >= 0)[:, None], _rows(a_indices, from_a), _rows(b_indices, from_b)), values


def _grouped(
    indices: Any, values: Any, shape: Any, axes: Any
) -> tuple[tuple[int, ...], list[int], list[int], Any]:
    """The shape, the kept and reduced axes, and the flat position of each value in the kept axes."""
    dims = checked(indices, values, shape)
    in_bounds(indices, dims)
    rank = len(dims)
    reduced = [int(axis) for axis in axes.reshape(-1).tolist()]
    if any(not -rank <= axis < rank for axis in reduced):
        raise RunFailed(f"axes {reduced} are out of range for shape {list(dims)}")
    gone = sorted({axis % rank for axis in reduced})
    stay = [axis for axis in range(rank) if axis not in gone]
    return dims, stay, gone, flat_positions(indices[:, stay], tuple(dims[axis] for axis in stay))


def _reduced(values: Any, groups: Any, count: int, op: str) -> Any:
    if "Sum" in op:
        return summed(groups, values, count)
    out = np.zeros(count, values.dtype)
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    if len(order):
        out[groups[order][begins]] = np.maximum.reduceat(values[order], begins)
    return out


@host("SparseReduceSum SparseReduceMax")
def sparse_reduce(input_indices, input_values, input_shape, reduction_axes, *, keep_dims, context):
    dims, stay, gone, groups = _grouped(input_indices, input_values, input_shape, reduction_axes)
    kept = tuple(dims[axis] for axis in stay)
    out = _reduced(input_values, groups, bounded_size(kept), context.op)
    return out.reshape([1 if axis in gone else n for axis, n in enumerate(dims)] if keep_dims else kept)


@host("SparseReduceSumSparse SparseReduceMaxSparse")
def sparse_reduce_sparse(input_indices, input_values, input_shape, reduction_axes, *, keep_dims, context):
    dims, stay, gone, groups = _grouped(input_indices, input_values, input_shape, reduction_axes)
    kept = tuple(dims[axis] for axis in stay)
    present, numbered = np.unique(groups, return_inverse=True)
    values = _reduced(input_values, numbered, len(present), context.op)
    indices = indices_of(present, kept)
    if not keep_dims:
        return indices, values, np.array(kept, np.int64)
    wide = np.zeros((len(present), len(dims)), np.int64)
    wide[:, stay] = indices
    return wide, values, np.array([1 if axis in gone else n for axis, n in enumerate(dims)], np.int64)


@host("SparseSoftmax")
def sparse_softmax(sp_indices, sp_values, sp_shape):
    dims = checked(sp_indices, sp_values, sp_shape)
    if len(dims) < 2:
        raise RunFailed(f"the sparse tensor must have at least 2 axes, found {len(dims)}")
    in_bounds(sp_indices, dims)
    _, rows = np.unique(flat_positions(sp_indices[:, :-1], dims[:-1]), return_inverse=True)
    values = widen(sp_values)
    largest = np.full(int(rows.max(initial=-1)) + 1, -np.inf, values.dtype)
    np.maximum.at(largest, rows, values)
    powers = np.exp(values - largest[rows])
    return (powers / summed(rows, powers, len(largest))[rows]).astype(sp_values.dtype)
