"""Scatter ops on tensors and variables."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import check_indices, first_position, full, sizes_of, text_of, zero_of
from tfport.runtime.ops.shared.precision import wide_type


def _larger(old, new):
    """The larger value; the old one if either is NaN, as in TensorFlow's comparison."""
    return np.where(new > old, new, old)


def _smaller(old, new):
    return np.where(new < old, new, old)


_AT = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
}
_CAREFUL = {"Max": _larger, "Min": _smaller}
_KINDS = ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min")


def _kind(op):
    return next(kind for kind in _KINDS if op.endswith(kind))


def _combine(array, positions, updates, kind):
    """Apply updates to the array in order, each at its index."""
    if kind == "Update":
        array[positions] = updates
    elif kind == "Div":
        for i in range(len(updates)):
            at = tuple(axis[i] for axis in positions)
            array[at] = _divided(array[at], updates[i])
    elif kind in _CAREFUL and array.dtype.kind in "fV" and (np.isnan(array).any() or np.isnan(updates).any()):
        for i in range(len(updates)):
            at = tuple(axis[i] for axis in positions)
            array[at] = _CAREFUL[kind](array[at], updates[i])
    else:
        _AT[kind].at(array, positions, updates)


def _divided(x, y):
    if x.dtype.kind not in "iu":
        return x / y
    if np.any(y == 0):
        raise RunFailed("division by zero")
    exact = np.abs(x.astype(np.int64)) // np.abs(y.astype(np.int64))
    return (exact * np.sign(x) * np.sign(y)).astype(x.dtype)


def _wide_copy(x):
    return x.astype(wide_type(x.dtype))


def _scattered_nd(old, indices, updates, kind, policy):
    if indices.ndim < 2 or not updates.ndim:
        raise RunFailed(
            "indices must have at least 2 axes and updates at least 1, "
            f"found shapes {list(indices.shape)} and {list(updates.shape)}"
        )
    depth = indices.shape[-1]
    if depth > old.ndim:
        raise RunFailed(f"indices have depth {depth}, the tensor has rank {old.ndim}")
    wanted = (*indices.shape[:-1], *old.shape[depth:])
    if updates.shape != wanted:
        raise RunFailed(f"updates must have shape {list(wanted)}, found {list(updates.shape)}")
    if not updates.size:
        return old
    if not depth or not old.size:
        raise RunFailed("cannot scatter updates into an empty tensor")
    rows = indices.reshape(-1, depth)
    values = updates.reshape(len(rows), *old.shape[depth:])
    good = ((rows >= 0) & (rows < np.array(old.shape[:depth]))).all(-1)
    if not good.all():
        if policy != "IGNORE":
            at = first_position(~good.reshape(indices.shape[:-1]))
            raise RunFailed(
                f"indices[{text_of(at)}] = {indices[at].tolist()} does not index into shape "
                f"[{text_of(old.shape)}]"
            )
        rows, values = rows[good], values[good]
    array = _wide_copy(old)
    _combine(array, tuple(rows.T), values.astype(array.dtype), kind)
    return array.astype(old.dtype)


@host("ScatterNd")
def scatter_nd(indices, updates, shape, *, bad_indices_policy):
    """Scatter onto zeros; values for the same index are added."""
    zeros = full(sizes_of(shape), zero_of(updates.dtype), updates.dtype)
    kind = "Update" if updates.dtype.kind == "O" else "Add"
    return _scattered_nd(zeros, indices, updates, kind, bad_indices_policy)


@host(
    "TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin "
    "ScatterNdNonAliasingAdd"
)
def tensor_scatter(tensor, indices, updates, *, bad_indices_policy, context):
    return _scattered_nd(tensor, indices, updates, _kind(context.op), bad_indices_policy)


@host(
    "ScatterNdUpdate ScatterNdAdd ScatterNdSub ScatterNdMax ScatterNdMin ResourceScatterNdUpdate "
    "ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdMax ResourceScatterNdMin"
)
def variable_scatter_nd(ref, indices, updates, *, use_locking, bad_indices_policy, context):
    kind = _kind(context.op)
    ref.update(lambda old: _scattered_nd(old, indices, updates, kind, bad_indices_policy))
    return ref if context.outputs else None


def _scattered(old, indices, updates, kind):
    """Update rows of `old`; a scalar update applies to all of them."""
    if not old.ndim:
        raise RunFailed("the variable must have at least 1 axis, found a scalar")
    wanted = (*indices.shape, *old.shape[1:])
    if updates.ndim and updates.shape != wanted:
        raise RunFailed(f"updates must have shape {list(wanted)}, found {list(updates.shape)}")
    check_indices(indices, old.shape[0])
    if not indices.size:
        return old
    array = _wide_copy(old)
    rows = np.broadcast_to(updates, wanted).reshape(indices.size, *old.shape[1:])
    _combine(array, (indices.reshape(-1),), rows.astype(array.dtype), kind)
    return array.astype(old.dtype)


@host("ScatterUpdate ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMax ScatterMin")
def ref_scatter(ref, indices, updates, *, use_locking, context):
    ref.update(lambda old: _scattered(old, indices, updates, _kind(context.op)))
    return ref


@host(
    "ResourceScatterUpdate ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterDiv "
    "ResourceScatterMax ResourceScatterMin"
)
def resource_scatter(resource, indices, updates, *, context):
    resource.update(lambda old: _scattered(old, indices, updates, _kind(context.op)))


@host("InplaceUpdate InplaceAdd InplaceSub")
def inplace(x, i, v, *, context):
    """Update rows of a copy; indices wrap around, so -1 and the size of `x` are valid."""
    kind = _kind(context.op)
    if not x.ndim or v.shape != (*i.shape, *x.shape[1:]):
        raise RunFailed(f"v {list(v.shape)} does not match indices {list(i.shape)}")
    if not i.size:
        return x
    array = _wide_copy(x)
    _combine(array, (i.reshape(-1) % x.shape[0],), v.reshape(-1, *x.shape[1:]).astype(array.dtype), kind)
    return array.astype(x.dtype)
