"""Set operations along the last axis of dense or sparse tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.coordinates import checked, flat_positions, in_bounds, in_order, indices_of


class Groups(NamedTuple):
    """Values, the set of each, and the shape of the tensor of sets."""

    shape: tuple[int, ...]
    which: Any
    values: Any


def _of_dense(values: Any) -> Groups:
    if values.ndim < 2:
        raise RunFailed(f"sets must have at least 2 axes, found shape {list(values.shape)}")
    rows = int(np.prod(values.shape[:-1]))
    return Groups(values.shape[:-1], np.repeat(np.arange(rows), values.shape[-1]), values.reshape(-1))


def _of_sparse(indices: Any, values: Any, shape: Any, validate: bool) -> Groups:
    dims = checked(indices, values, shape)
    if len(dims) < 2:
        raise RunFailed(f"sets must have at least 2 axes, found {len(dims)}")
    in_bounds(indices, dims)
    if validate and not in_order(flat_positions(indices, dims)):
        raise RunFailed("indices must be sorted and unique")
    return Groups(dims[:-1], flat_positions(indices[:, :-1], dims[:-1]), values)


def _operated(a: Groups, b: Groups, operation: str) -> Any:
    if a.shape != b.shape:
        raise RunFailed(
            f"set1 and set2 must have the same outer shape, found {list(a.shape)} and {list(b.shape)}"
        )
    known, numbers = np.unique(np.concatenate([a.values, b.values]), return_inverse=True)
    width = max(len(known), 1)
    cut = len(a.values)
    left, right = a.which * width + numbers[:cut], b.which * width + numbers[cut:]
    result = _OPERATIONS[operation](left, right)
    which, values = result // width, known[result % width]
    counts = np.bincount(which, minlength=1) if len(which) else np.zeros(1, np.int64)
    within = np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
    indices = np.concatenate([indices_of(which, a.shape), within[:, None]], 1)
    return indices, values, np.array([*a.shape, counts.max()], np.int64)


_OPERATIONS: dict[str, Any] = {
    "a-b": np.setdiff1d,
    "b-a": lambda a, b: np.setdiff1d(b, a),
    "intersection": np.intersect1d,
    "union": np.union1d,
}


def _named(operation: str) -> str:
    if operation.lower() not in _OPERATIONS:
        raise RunFailed(f"unknown set_operation `{operation}`; expected one of {', '.join(_OPERATIONS)}")
    return operation.lower()


@host("DenseToDenseSetOperation")
def dense_to_dense(set1, set2, *, set_operation, validate_indices):
    return _operated(_of_dense(set1), _of_dense(set2), _named(set_operation))


@host("DenseToSparseSetOperation")
def dense_to_sparse(set1, set2_indices, set2_values, set2_shape, *, set_operation, validate_indices):
    second = _of_sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _operated(_of_dense(set1), second, _named(set_operation))


@host("SparseToSparseSetOperation")
def sparse_to_sparse(
    set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape,
    *, set_operation, validate_indices,
):  # fmt: skip
    first = _of_sparse(set1_indices, set1_values, set1_shape, validate_indices)
    second = _of_sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _operated(first, second, _named(set_operation))


@host("SetSize")
def set_size(set_indices, set_values, set_shape, *, validate_indices):
    sets = _of_sparse(set_indices, set_values, set_shape, validate_indices)
    _, numbers = np.unique(sets.values, return_inverse=True)
    different = np.unique(sets.which * max(len(sets.values), 1) + numbers) // max(len(sets.values), 1)
    counts = np.bincount(different, minlength=int(np.prod(sets.shape)))
    return counts.reshape(sets.shape).astype(np.int32)
