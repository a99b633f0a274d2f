"""Reshape, reorder, concatenate, split and slice sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.coordinates import (
    checked,
    few_positions,
    flat_positions,
    indices_of,
    outside,
    sizes,
    sorted_order,
)


@host("SparseReshape")
def sparse_reshape(input_indices, input_shape, new_shape):
    if input_indices.ndim != 2 or input_shape.ndim != 1 or new_shape.ndim != 1:
        raise RunFailed(
            "indices must be a matrix, and both shapes vectors; found "
            f"{list(input_indices.shape)}, {list(input_shape.shape)} and {list(new_shape.shape)}"
        )
    if input_indices.shape[1] != len(input_shape):
        raise RunFailed(f"indices {list(input_indices.shape)} do not match rank {len(input_shape)}")
    dims = sizes(input_shape)
    new = _inferred(dims, [int(n) for n in new_shape.tolist()])
    flat: Any = few_positions(input_indices, dims)
    if new == dims and (flat is not None or not any(outside(input_indices, dims))):
        return input_indices, input_shape
    if flat is None:
        flat = flat_positions(input_indices, dims)
    return indices_of(flat, new), np.array(new, np.int64)


def _inferred(dims: tuple[int, ...], wanted: list[int]) -> tuple[int, ...]:
    """The new shape with -1 replaced."""
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        raise RunFailed(f"the new shape must have at most one -1 and no other negative size, found {wanted}")
    total, known = math.prod(dims), math.prod(n for n in wanted if n != -1)
    if -1 in wanted:
        if not known:
            raise RunFailed(f"cannot infer -1 in {wanted}")
        wanted[wanted.index(-1)] = total // known
    if math.prod(wanted) != total:
        raise RunFailed(f"cannot reshape {total} elements to {wanted}")
    return tuple(wanted)


@host("SparseReorder")
def sparse_reorder(input_indices, input_values, input_shape):
    checked(input_indices, input_values, input_shape)
    order = sorted_order(input_indices)
    return input_indices[order], input_values[order]


@host("SparseConcat")
def sparse_concat(indices, values, shapes, *, concat_dim):
    dims = [checked(*parts) for parts in zip(indices, values, shapes, strict=True)]
    rank = len(dims[0])
    axis = concat_dim + rank if concat_dim < 0 else concat_dim
    if not 0 <= axis < rank or any(len(d) != rank for d in dims):
        raise RunFailed(
            f"sparse tensors of ranks {[len(d) for d in dims]} cannot be concatenated along {concat_dim}"
        )
    if any(d[:axis] + d[axis + 1 :] != dims[0][:axis] + dims[0][axis + 1 :] for d in dims):
        raise RunFailed(
            f"sparse tensors of shapes {[list(d) for d in dims]} cannot be concatenated along {concat_dim}"
        )
    begins = np.cumsum([0, *(d[axis] for d in dims)])
    moved = [part.copy() for part in indices]
    for part, begin in zip(moved, begins, strict=False):
        part[:, axis] += begin
    joined, flat = np.concatenate(moved), np.concatenate(values)
    order = sorted_order(joined)
    shape = list(dims[0])
    shape[axis] = int(begins[-1])
    return joined[order], flat[order], np.array(shape, np.int64)


@host("SparseSplit")
def sparse_split(split_dim, indices, values, shape, *, num_split):
    dims = checked(indices, values, shape)
    axis = int(split_dim.reshape(-1)[0])
    axis += len(dims) if axis < 0 else 0
    if split_dim.size != 1 or not 0 <= axis < len(dims) or not 1 <= num_split <= dims[axis]:
        raise RunFailed(
            f"a sparse tensor of shape {list(dims)} cannot be split into {num_split} along {axis}"
        )
    small, larger = divmod(dims[axis], num_split)
    lengths = np.array([small + (i < larger) for i in range(num_split)])
    begins = np.cumsum(lengths) - lengths
    which = np.searchsorted(begins, indices[:, axis], "right") - 1
    parts = []
    for i in range(num_split):
        mine = which == i
        moved = indices[mine]
        moved[:, axis] -= begins[i]
        parts.append((moved, values[mine], np.array([*dims[:axis], lengths[i], *dims[axis + 1 :]])))
    return tuple(list(column) for column in zip(*parts, strict=True))


@host("SparseSlice")
def sparse_slice(indices, values, shape, start, size):
    dims = checked(indices, values, shape)
    if start.shape != (len(dims),) or size.shape != (len(dims),):
        raise RunFailed(
            f"start and size must have {len(dims)} elements, found {list(start.shape)} and {list(size.shape)}"
        )
    bounds = np.array(dims, np.int64)
    sizes = np.where(start < bounds, np.minimum(size, bounds - start), 0)
    if (sizes < 0).any():
        raise RunFailed(f"start {start.tolist()} and size {size.tolist()} are invalid for shape {list(dims)}")
    inside = ((indices >= start) & (indices < start + sizes)).all(1)
    return indices[inside] - start, values[inside], sizes


@host("SparseSliceGrad")
def sparse_slice_grad(backprop_val_grad, input_indices, input_start, output_indices):
    moved = {
        tuple(index): value
        for index, value in zip((output_indices + input_start).tolist(), backprop_val_grad, strict=True)
    }
    out = np.zeros(len(input_indices), backprop_val_grad.dtype)
    for i, index in enumerate(input_indices.tolist()):
        out[i] = moved.get(tuple(index), 0)
    return out
