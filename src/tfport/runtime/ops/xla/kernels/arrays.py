"""XLA ops without computations, which TensorFlow runs only when compiled; jax2tf writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.xla import hlo
from tfport.runtime.ops.xla.dimension_numbers import CONVOLUTION, DOT, GATHER, dimension_numbers, only
from tfport.runtime.ops.xla.hlo_calls import ordered


def _ints(array: Any) -> list[int]:
    return [int(n) for n in np.asarray(array).reshape(-1)]


@host("XlaDot")
def dot(lhs, rhs, *, dimension_numbers, precision_config):
    return _dot(lhs, rhs, dimension_numbers, lhs.dtype)


@host("XlaDotV2")
def dot_v2(lhs, rhs, *, dimension_numbers, precision_config, preferred_element_type):
    return _dot(lhs, rhs, dimension_numbers, preferred_element_type.numpy)


def _dot(lhs: Any, rhs: Any, numbers: Any, dtype: Any) -> Any:
    return hlo.dot_general(lhs, rhs, **dimension_numbers(numbers, DOT), dtype=dtype)


@host("XlaConv")
def conv(
    lhs,
    rhs,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    feature_group_count,
    *,
    dimension_numbers,
    precision_config,
):
    window = (window_strides, padding, lhs_dilation, rhs_dilation, feature_group_count)
    return _conv(lhs, rhs, window, dimension_numbers, 1, lhs.dtype)


@host("XlaConvV2")
def conv_v2(
    lhs,
    rhs,
    window_strides,
    padding,
    lhs_dilation,
    rhs_dilation,
    feature_group_count,
    *,
    dimension_numbers,
    precision_config,
    preferred_element_type,
    batch_group_count,
):
    window = (window_strides, padding, lhs_dilation, rhs_dilation, feature_group_count)
    return _conv(lhs, rhs, window, dimension_numbers, batch_group_count, preferred_element_type.numpy)


def _conv(lhs: Any, rhs: Any, window: tuple[Any, ...], numbers: Any, batch_groups: int, dtype: Any) -> Any:
    strides, padding, lhs_dilation, rhs_dilation, groups = window
    n = dimension_numbers(numbers, CONVOLUTION)
    return hlo.convolution(
        lhs,
        rhs,
        strides=_ints(strides),
        padding=np.asarray(padding).reshape(-1, 2).tolist(),
        lhs_dilation=_ints(lhs_dilation),
        rhs_dilation=_ints(rhs_dilation),
        input_axes=[only(n["input_batch"]), only(n["input_feature"]), *n["input_spatial"]],
        kernel_axes=[only(n["kernel_output"]), only(n["kernel_input"]), *n["kernel_spatial"]],
        output_axes=[only(n["output_batch"]), only(n["output_feature"]), *n["output_spatial"]],
        feature_groups=int(groups),
        batch_groups=batch_groups,
        dtype=dtype,
    )


@host("XlaGather")
def gather(operand, start_indices, slice_sizes, *, dimension_numbers, indices_are_sorted):
    numbers: dict[str, Any] = _numbers(dimension_numbers, GATHER)
    return hlo.gather(operand, start_indices, slice_sizes=_ints(slice_sizes), **numbers)


def _numbers(message: Any, fields: Any) -> dict[str, Any]:
    numbers: dict[str, Any] = dimension_numbers(message, fields)
    numbers["index_vector_dim"] = only(numbers["index_vector_dim"])
    return numbers


@host("XlaDynamicSlice")
def dynamic_slice(input, start_indices, size_indices):
    return hlo.dynamic_slice(input, _ints(start_indices), _ints(size_indices))


@host("XlaDynamicUpdateSlice")
def dynamic_update_slice(input, update, indices):
    return hlo.dynamic_update_slice(input, update, _ints(indices))


@host("XlaPad")
def pad(input, padding_value, padding_low, padding_high, padding_interior):
    between = _ints(padding_interior)
    if any(n < 0 for n in between):
        raise RunFailed(f"padding_interior must not be negative, found {between}")
    return hlo.padded(input, padding_value, _ints(padding_low), _ints(padding_high), between)


@host("XlaEinsum")
def einsum(a, b, *, equation):
    return np.einsum(equation, widen(a), widen(b))


@host("XlaSort")
def sort(input):
    return np.take_along_axis(input, ordered(input, -1), -1) if input.ndim else input


@host("XlaKeyValueSort")
def key_value_sort(keys, values):
    if keys.shape != values.shape:
        raise RunFailed(f"keys {list(keys.shape)} and values {list(values.shape)} must have the same shape")
    order = ordered(keys, -1)
    return np.take_along_axis(keys, order, -1), np.take_along_axis(values, order, -1)


@host("XlaReducePrecision")
def reduce_precision(operand, *, exponent_bits, mantissa_bits):
    return hlo.reduced_precision(operand, exponent_bits, mantissa_bits)


@host("XlaSvd")
def svd(a, *, max_iter, epsilon, precision_config):
    u, s, vh = np.linalg.svd(widen(a), full_matrices=False)
    return s, u, np.swapaxes(vh, -1, -2).conj()


@host("XlaSelfAdjointEig")
def self_adjoint_eig(a, *, lower, max_iter, epsilon):
    return tuple(np.linalg.eigh(widen(a), "L" if lower else "U"))


@host("XlaBroadcastHelper")
def broadcast_helper(lhs, rhs, broadcast_dims):
    """Reshape the input of lower rank with axes of size 1."""
    if lhs.ndim == rhs.ndim or not lhs.ndim or not rhs.ndim:
        return lhs, rhs
    small, large = (lhs, rhs) if lhs.ndim < rhs.ndim else (rhs, lhs)
    axes = _ints(broadcast_dims)
    if len(axes) != small.ndim or any(not 0 <= a < large.ndim for a in axes):
        raise RunFailed(f"broadcast_dims {axes} do not match shapes {list(lhs.shape)} and {list(rhs.shape)}")
    shape = [1] * large.ndim
    for axis, size in zip(axes, small.shape, strict=True):
        shape[axis] = size
    expanded = small.reshape(shape)
    return (expanded, rhs) if small is lhs else (lhs, expanded)


@host("XlaSetDynamicDimensionSize")
def set_dynamic_dimension_size(input, dim_index, size):
    """Drop the elements beyond the size."""
    axis, count = int(dim_index), int(size)
    if not 0 <= axis < input.ndim or not 0 <= count <= input.shape[axis]:
        raise RunFailed(f"size {count} of axis {axis} is out of range for shape {list(input.shape)}")
    return input[(slice(None),) * axis + (slice(count),)]


@host("XlaReplicaId")
def replica_id():
    return np.array(0, np.int32)
