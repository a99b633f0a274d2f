"""SparseFillEmptyRows and its gradient."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import full
from tfport.runtime.ops.sparse.coordinates import checked, summed


@host("SparseFillEmptyRows")
def sparse_fill_empty_rows(indices, values, dense_shape, default_value):
    dims = checked(indices, values, dense_shape)
    if not dims or default_value.ndim:
        raise RunFailed(
            "the sparse tensor must have at least 1 axis, and default_value must be a scalar; "
            f"found shapes {list(dims)} and {list(default_value.shape)}"
        )
    rows = indices[:, 0]
    if _has_all_in_order(rows, dims[0]):
        return indices, values, np.zeros(dims[0], bool), np.arange(len(rows))
    if not len(rows):
        made = np.zeros((dims[0], len(dims)), np.int64)
        made[:, 0] = np.arange(dims[0])
        return made, full((dims[0],), default_value[()], values.dtype), np.ones(dims[0], bool), rows
    from_input, into, row_of, empty = filled_rows(rows, dims[0])
    out = np.zeros((len(row_of), len(dims)), np.int64)
    out[:, 0] = row_of
    out[into] = indices[from_input]
    flat = np.empty(len(row_of), values.dtype)
    flat[...] = default_value[()]
    flat[into] = values[from_input]
    back = np.empty(len(rows), np.int64)
    back[from_input] = into
    return out, flat, empty, back


def _has_all_in_order(rows: np.ndarray, count: int) -> bool:
    """Whether each row has an element, and the rows follow each other."""
    if not len(rows) or rows[0] != 0 or rows[-1] != count - 1:
        return False
    steps = rows[1:] - rows[:-1]
    return not len(steps) or (steps.min() >= 0 and steps.max() <= 1)


def filled_rows(rows: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """The order of elements by row, the output index of each, the row of each output, and empty rows."""
    if len(rows) and (rows.min() < 0 or rows.max() >= count):
        at = int(((rows < 0) | (rows >= count)).argmax())
        raise RunFailed(f"the row of element {at} must be in [0, {count}), found {rows[at]}")
    counts = np.bincount(rows, minlength=count)[:count]
    empty = counts == 0
    row_of = np.repeat(np.arange(count), np.maximum(counts, 1))
    return np.argsort(rows, kind="stable"), np.flatnonzero(~empty[row_of]), row_of, empty


@host("SparseFillEmptyRowsGrad")
def fill_empty_rows_grad(reverse_index_map, grad_values):
    if reverse_index_map.ndim != 1 or grad_values.ndim != 1:
        raise RunFailed(
            f"reverse_index_map {list(reverse_index_map.shape)} "
            f"and grad_values {list(grad_values.shape)} must be vectors"
        )
    if len(reverse_index_map) and not 0 <= reverse_index_map.min() <= reverse_index_map.max() < len(
        grad_values
    ):
        raise RunFailed(f"reverse_index_map must be in [0, {len(grad_values)})")
    rest = np.ones(len(grad_values), bool)
    rest[reverse_index_map] = False
    left = grad_values[rest]
    return grad_values[reverse_index_map], summed(np.zeros(len(left), np.int64), left, 1)[0]
