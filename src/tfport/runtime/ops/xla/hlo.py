"""XLA operations on arrays in NumPy: products, convolutions, slices, gathers and scatters.

Functions of arrays and lists of integers, for XLA ops and StableHLO programs. Those that take a
computation are in `hlo_calls`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.shared.precision import NARROW, widen

Ints = Sequence[int]


def dot_general(
    lhs: Any, rhs: Any, lhs_contract: Ints, rhs_contract: Ints, lhs_batch: Ints, rhs_batch: Ints, dtype: Any
) -> Any:
    """The batch axes, then the free axes of each side."""
    a, b = (widen(x.astype(dtype)) for x in (lhs, rhs))
    a_free = [i for i in range(a.ndim) if i not in (*lhs_contract, *lhs_batch)]
    b_free = [i for i in range(b.ndim) if i not in (*rhs_contract, *rhs_batch)]
    batch = tuple(a.shape[i] for i in lhs_batch)
    a_shape, b_shape = tuple(a.shape[i] for i in a_free), tuple(b.shape[i] for i in b_free)
    inner = int(np.prod([a.shape[i] for i in lhs_contract], dtype=np.int64))
    if [a.shape[i] for i in (*lhs_contract, *lhs_batch)] != [b.shape[i] for i in (*rhs_contract, *rhs_batch)]:
        raise RunFailed(f"shapes {list(lhs.shape)} and {list(rhs.shape)} do not match for this product")
    left = a.transpose([*lhs_batch, *a_free, *lhs_contract]).reshape(*batch, _size(a_shape), inner)
    right = b.transpose([*rhs_batch, *rhs_contract, *b_free]).reshape(*batch, inner, _size(b_shape))
    return np.matmul(left, right).reshape((*batch, *a_shape, *b_shape)).astype(dtype)


def _size(shape: Ints) -> int:
    return int(np.prod(shape, dtype=np.int64))


def dilated(x: Any, dilation: Ints, fill: Any) -> Any:
    """Insert `dilation - 1` elements between neighbors."""
    if all(d == 1 for d in dilation):
        return x
    shape = [max(0, (n - 1) * d + 1) if n else 0 for n, d in zip(x.shape, dilation, strict=True)]
    out = np.full(shape, fill, x.dtype)
    out[tuple(slice(None, None, d) for d in dilation)] = x
    return out


def padded(x: Any, fill: Any, low: Ints, high: Ints, interior: Ints | None = None) -> Any:
    """Pad around and between elements; a negative number crops."""
    out = dilated(x, [1 + i for i in interior], fill) if interior is not None else x
    cut = tuple(
        slice(max(0, -lo), max(0, n - max(0, -hi))) for n, lo, hi in zip(out.shape, low, high, strict=True)
    )
    more = [(max(0, lo), max(0, hi)) for lo, hi in zip(low, high, strict=True)]
    return np.pad(out[cut], more, constant_values=fill) if x.ndim else out


def windows(x: Any, size: Ints, strides: Ints, dilation: Ints) -> Any:
    """Views of all windows over all axes of x: positions first, then elements."""
    reach = [(k - 1) * d + 1 if k else 0 for k, d in zip(size, dilation, strict=True)]
    counts = [(n - r) // s + 1 if n >= r else 0 for n, r, s in zip(x.shape, reach, strides, strict=True)]
    if 0 in counts:
        return np.empty((*counts, *size), x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, reach)
    steps = tuple(slice(None, None, s) for s in strides)
    return view[(*steps, *(slice(None, None, d) for d in dilation))]


def convolution(
    lhs: Any,
    rhs: Any,
    *,
    strides: Ints,
    padding: Sequence[Ints],
    lhs_dilation: Ints,
    rhs_dilation: Ints,
    input_axes: Ints,
    kernel_axes: Ints,
    output_axes: Ints,
    feature_groups: int,
    batch_groups: int,
    dtype: Any,
    reverse: Sequence[bool] = (),
) -> Any:
    """Axes are in the order batch, feature, spatial; of the kernel output, input, spatial."""
    rank = len(strides)
    x = widen(lhs.astype(dtype)).transpose(input_axes)
    k = widen(rhs.astype(dtype)).transpose(kernel_axes)
    for axis, is_reversed in enumerate(reverse):
        k = np.flip(k, 2 + axis) if is_reversed else k
    if feature_groups * k.shape[1] != x.shape[1] or k.shape[0] % (feature_groups * batch_groups):
        raise RunFailed(f"kernel {list(rhs.shape)} does not match input {list(lhs.shape)}")
    zero = x.dtype.type(0)
    x = dilated(x, [1, 1, *lhs_dilation], zero)
    x = padded(x, zero, [0, 0, *(p[0] for p in padding)], [0, 0, *(p[1] for p in padding)])
    patches = windows(x, [1, 1, *k.shape[2:]], [1, 1, *strides], [1, 1, *rhs_dilation])
    batch, features, *counts = patches.shape[: 2 + rank]
    groups = feature_groups * batch_groups
    # groups first, then window positions, then elements of a window
    split = patches.reshape(
        batch_groups, batch // batch_groups, feature_groups, features // feature_groups, *counts, *k.shape[2:]
    )
    where, inside = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    left = split.transpose([0, 2, 1, *where, 3, *inside])
    each = _size(left.shape[3 + rank :])
    left = left.reshape(groups, -1, each)
    right = k.reshape(groups, k.shape[0] // groups, each).transpose(0, 2, 1)
    out = np.matmul(left, right)  # (groups, batch and positions, features of a group)
    out = out.reshape(groups, batch // batch_groups, *counts, k.shape[0] // groups)
    out = np.moveaxis(out, -1, 1).reshape(k.shape[0], batch // batch_groups, *counts)
    return np.moveaxis(out, 0, 1).transpose(np.argsort(output_axes)).astype(dtype)


def dynamic_slice(x: Any, starts: Ints, sizes: Ints) -> Any:
    """A slice; its start is clamped so that it fits."""
    if len(sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)):
        raise RunFailed(f"a slice of shape {list(sizes)} does not fit shape {list(x.shape)}")
    return x[_part(x.shape, starts, sizes)]


def dynamic_update_slice(x: Any, update: Any, starts: Ints) -> Any:
    if update.ndim != x.ndim or any(u > n for u, n in zip(update.shape, x.shape, strict=True)):
        raise RunFailed(f"an update of shape {list(update.shape)} does not fit shape {list(x.shape)}")
    out = x.copy()
    out[_part(x.shape, starts, update.shape)] = update
    return out


def _part(shape: Ints, starts: Ints, sizes: Ints) -> tuple[slice, ...]:
    firsts = [min(max(0, int(at)), n - s) for at, n, s in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(at, at + s) for at, s in zip(firsts, sizes, strict=True))


def _starts(
    shape: Ints, indices: Any, axes: Ints, vector: int, batching: Ints, indices_batching: Ints
) -> Any:
    """The start of each slice in every axis of the operand, as (batch…, axes)."""
    rows = np.moveaxis(indices, vector, -1) if vector < indices.ndim else indices[..., None]
    out = np.zeros((*rows.shape[:-1], len(shape)), np.int64)
    for i, axis in enumerate(axes):
        out[..., axis] = rows[..., i]
    for axis, of in zip(batching, indices_batching, strict=True):
        batch_axis = of - (of > vector)
        out[..., axis] = np.expand_dims(
            np.arange(rows.shape[batch_axis]), [i for i in range(rows.ndim - 1) if i != batch_axis]
        )
    return out


def _indices(starts: Any, sizes: Ints, window: Ints) -> tuple[Any, ...]:
    """An index for each axis of the operand, over (batch…, window…)."""
    batch = starts.ndim - 1
    indices = []
    for axis in range(len(sizes)):
        index = starts[..., axis].reshape(*starts.shape[:-1], *[1] * len(window))
        if axis in window:
            at = window.index(axis)
            steps = np.arange(sizes[axis]).reshape([-1 if i == at else 1 for i in range(len(window))])
            index = index + steps.reshape(*[1] * batch, *steps.shape)
        indices.append(index)
    return tuple(indices)


def gather(
    operand: Any,
    indices: Any,
    *,
    offset_dims: Ints,
    collapsed: Ints,
    start_index_map: Ints,
    index_vector_dim: int,
    slice_sizes: Ints,
    operand_batching: Ints = (),
    indices_batching: Ints = (),
) -> Any:
    starts = _starts(
        operand.shape, indices, start_index_map, index_vector_dim, operand_batching, indices_batching
    )
    room = np.array(operand.shape, np.int64) - np.array(slice_sizes, np.int64)
    if np.any(room < 0):
        raise RunFailed(f"slices of shape {list(slice_sizes)} do not fit shape {list(operand.shape)}")
    starts = np.clip(starts, 0, room)
    window = [i for i in range(operand.ndim) if i not in (*collapsed, *operand_batching)]
    gathered = operand[_indices(starts, slice_sizes, window)]
    gathered = np.broadcast_to(gathered, (*starts.shape[:-1], *(slice_sizes[i] for i in window)))
    batch = starts.ndim - 1
    return np.moveaxis(gathered, range(batch, batch + len(window)), offset_dims)


def scatter_indices(
    shape: Ints,
    indices: Any,
    update_shape: Ints,
    *,
    update_window: Ints,
    inserted: Ints,
    axes: Ints,
    index_vector_dim: int,
    operand_batching: Ints = (),
    indices_batching: Ints = (),
) -> tuple[tuple[Any, ...], Any, list[int]]:
    """The indices of updates, which are in bounds, and the axis order of updates: indices, then window."""
    starts = _starts(shape, indices, axes, index_vector_dim, operand_batching, indices_batching)
    window = [i for i in range(len(shape)) if i not in (*inserted, *operand_batching)]
    sizes = [1] * len(shape)
    for axis, of in zip(window, update_window, strict=True):
        sizes[axis] = update_shape[of]
    fits = np.all((starts >= 0) & (starts + np.array(sizes) <= np.array(shape)), axis=-1)
    order = [i for i in range(len(update_shape)) if i not in update_window] + list(update_window)
    return _indices(starts, sizes, window), fits, order


def reduced_precision(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round as if stored with fewer bits."""
    name = x.dtype.name
    if name in NARROW:
        return reduced_precision(x.astype(np.float32), exponent_bits, mantissa_bits).astype(x.dtype)
    size, exponents, mantissa = (64, 11, 52) if name == "float64" else (32, 8, 23)
    unsigned = np.dtype(f"u{size // 8}").type
    bits = x.view(unsigned) if x.ndim else np.asarray(x).reshape(1).view(unsigned).reshape(())
    if mantissa_bits < mantissa:
        last = unsigned(1) << unsigned(mantissa - mantissa_bits)
        bias = ((bits & last) >> unsigned(mantissa - mantissa_bits)) + (last >> unsigned(1)) - unsigned(1)
        bits = (bits + bias) & ~(last - unsigned(1))
    sign = bits & unsigned(1 << (size - 1))
    if exponent_bits < exponents:
        middle, reach = (1 << (exponents - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        power = bits & unsigned(((1 << exponents) - 1) << mantissa)
        infinite = unsigned(((1 << exponents) - 1) << mantissa)
        bits = np.where(power > unsigned((middle + reach) << mantissa), sign | infinite, bits)
        bits = np.where(power <= unsigned((middle - reach) << mantissa), sign, bits)
    return np.where(np.isnan(x), x, np.asarray(bits, unsigned).view(x.dtype))
