"""Ops on sparse and dense tensors: convert, add, multiply."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.axes import text_of
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.sparse.coordinates import (
    FEW,
    checked,
    few_positions,
    flat_positions,
    in_bounds,
    in_order,
    outside,
    sizes,
)

MOST_ELEMENTS = 1 << 34
"""The largest dense tensor made from sparse indices, in elements."""


@host("SparseToDense")
def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value, *, validate_indices):
    if sparse_indices.ndim > 2 or output_shape.ndim != 1 or default_value.ndim:
        raise RunFailed(
            "sparse_indices must have at most 2 axes, output_shape 1 and default_value 0; "
            f"found {sparse_indices.ndim}, {output_shape.ndim} and {default_value.ndim}"
        )
    dims = sizes(output_shape, "the dense tensor")
    indices = sparse_indices.reshape(-1, sparse_indices.shape[1] if sparse_indices.ndim == 2 else 1)
    if indices.shape[1] != len(dims):
        raise RunFailed(
            f"sparse_indices have {indices.shape[1]} columns, the dense tensor has {len(dims)} axes"
        )
    if sparse_values.ndim and sparse_values.shape != (len(indices),):
        raise RunFailed(f"{len(indices)} indices do not match values {list(sparse_values.shape)}")
    where: Any = few_positions(indices, dims)
    if where is None:
        for at, index in outside(indices, dims):
            raise RunFailed(
                f"indices[{at}] = [{text_of(index)}] is out of bounds: need 0 <= index < [{text_of(dims)}]"
            )
        where = flat_positions(indices, dims)
    if validate_indices and not in_order(where):
        raise RunFailed("indices must be sorted and unique")
    return _filled(dims, default_value, where, sparse_values)


@quick(sparse_to_dense)
def few_to_dense(groups, attrs):
    """A few elements, without most of NumPy's calls; the kernel says what is wrong."""
    validates = attrs["validate_indices"]

    def dense(indices, shape, values, default):
        count = len(values) if values.ndim == 1 else FEW + 1
        if count > FEW or indices.ndim != 2 or shape.ndim != 1 or default.ndim:
            return None
        dims = tuple(shape.tolist())
        if indices.shape != (count, len(dims)) or min(dims, default=0) < 0:
            return None
        where = few_positions(indices, dims)
        if where is None or not in_order(where):
            return None if where is None or validates else _filled(dims, default, where, values)
        # in order and as many as there are places: all of them
        return values.reshape(dims) if count == math.prod(dims) else _filled(dims, default, where, values)

    return dense


def _filled(dims: tuple[int, ...], fill: Any, where: Any, values: Any) -> Any:
    out = dense_of(dims, values.dtype, fill[()])
    out[where] = values
    return out.reshape(dims)


def bounded_size(dims: tuple[int, ...]) -> int:
    """The number of elements of a dense tensor; raises if it is too large."""
    if math.prod(dims) > MOST_ELEMENTS:
        raise RunFailed(f"a dense tensor of shape {list(dims)} is too large")
    return math.prod(dims)


def dense_of(dims: tuple[int, ...], dtype: Any, fill: Any) -> Any:
    """A flat dense tensor; raises if it would be too large."""
    out = np.empty(bounded_size(dims), dtype)
    out[...] = fill
    return out


@host("SparseTensorDenseAdd")
def sparse_tensor_dense_add(a_indices, a_values, a_shape, b):
    dims = checked(a_indices, a_values, a_shape)
    if dims != b.shape:
        raise RunFailed(f"both tensors must have the same shape, found {list(dims)} and {list(b.shape)}")
    in_bounds(a_indices, dims)
    out = b.copy().reshape(-1)
    np.add.at(out, flat_positions(a_indices, dims), a_values)
    return out.reshape(dims)


@host("SparseTensorDenseMatMul")
def sparse_tensor_dense_mat_mul(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b):
    from scipy.sparse import coo_array

    dims = checked(a_indices, a_values, a_shape)
    if len(dims) != 2 or b.ndim != 2:
        raise RunFailed(f"both tensors must be matrices, found shapes {list(dims)} and {list(b.shape)}")
    dense = widen(b.conj().T if adjoint_b else b)
    rows, columns = a_indices[:, 1 if adjoint_a else 0], a_indices[:, 0 if adjoint_a else 1]
    values = widen(a_values.conj() if adjoint_a else a_values)
    height, width = dims[::-1] if adjoint_a else dims
    if width != dense.shape[0]:
        raise RunFailed(f"matrices [{height}, {width}] and {list(dense.shape)} cannot be multiplied")
    in_bounds(a_indices, dims)
    if not len(values) or not dense.size:
        return dense_of((height, dense.shape[1]), b.dtype, 0).reshape(height, dense.shape[1])
    return (coo_array((values, (rows, columns)), (height, width)).tocsr() @ dense).astype(b.dtype)


@host("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv")
def sparse_dense_cwise(sp_indices, sp_values, sp_shape, dense, *, context):
    dims = checked(sp_indices, sp_values, sp_shape)
    if dense.ndim > len(dims) or any(
        n not in (1, m) for n, m in zip(dense.shape[::-1], dims[::-1], strict=False)
    ):
        raise RunFailed(f"dense {list(dense.shape)} does not broadcast to {list(dims)}")
    in_bounds(sp_indices, dims)
    elements = np.broadcast_to(dense, dims)[tuple(sp_indices.T)] if len(dims) else dense
    if context.op == "SparseDenseCwiseAdd":
        return sp_values + elements
    if context.op == "SparseDenseCwiseMul":
        return sp_values * elements
    if (dense == 0).any():
        raise RunFailed("division by zero: the dense tensor contains 0")
    if sp_values.dtype.kind not in "iu":
        return sp_values / elements
    quotient = sp_values // elements  # TensorFlow rounds toward zero
    return quotient + ((sp_values % elements != 0) & ((sp_values < 0) != (elements < 0)))
