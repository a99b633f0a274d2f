"""Shape, Reshape, Squeeze, broadcasting and related ops."""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.axes import axis_in, check_indices, sizes_of

_OTHER_THAN_ARRAYS = frozenset(("resource", "variant"))


@host("Shape")
def shape(input, *, out_type):
    return np.array(np.shape(input), out_type.numpy)


@quick(shape)
def shape_of_array(groups, attrs):
    dtype = attrs["out_type"].numpy
    return (lambda x: np.array(x.shape, dtype)) if groups[0].dtype.name not in _OTHER_THAN_ARRAYS else None


@host("ShapeN")
def shape_n(input, *, out_type):
    return [np.array(np.shape(tensor), out_type.numpy) for tensor in input]


@host("Size")
def size(input, *, out_type):
    return np.array(np.size(input), out_type.numpy)


@host("Rank")
def rank(input):
    return np.array(np.ndim(input), np.int32)


@host("Reshape")
def reshape(tensor, shape):
    if shape.ndim > 1:
        raise RunFailed(f"shape must be a vector, found rank {shape.ndim}")
    sizes = shape.reshape(-1).tolist()
    if min(sizes, default=0) < -1:
        raise RunFailed(f"sizes must not be negative, found {sizes}")
    if sizes.count(-1) == 1 and 0 in sizes:
        # NumPy refuses this; TensorFlow ignores the zeros of both shapes in its division
        whole, rest = (math.prod(n for n in dims if n > 0) for dims in (tensor.shape, sizes))
        sizes[sizes.index(-1)] = whole // rest
    return tensor.reshape(sizes)


@host("Squeeze")
def squeeze(input, *, squeeze_dims):
    squeezed = [axis_in(axis, input.ndim) for axis in squeeze_dims]
    for axis in squeezed:
        if input.shape[axis] != 1:
            raise RunFailed(f"cannot squeeze axis {axis} of size {input.shape[axis]}")
    return np.squeeze(input, tuple(dict.fromkeys(squeezed)) if squeezed else None)


@quick(squeeze)
def constant_squeeze(groups, attrs):
    """The NumPy index of a matrix without one of its axes: one call instead of several."""
    dims = attrs["squeeze_dims"]
    if groups[0].rank != 2 or len(dims) != 1 or not -2 <= dims[0] < 2:
        return None
    axis = dims[0] % 2
    index = (slice(None), 0) if axis else 0

    def squeezed(input):
        return input[index] if input.ndim == 2 and input.shape[axis] == 1 else None

    return squeezed


@host("ExpandDims")
def expand_dims(input, dim):
    if dim.size != 1:
        raise RunFailed(f"dim must have 1 element, found {dim.size}")
    axis = dim.item()
    if not -input.ndim - 1 <= axis <= input.ndim:
        raise RunFailed(f"Tried to expand dim index {axis} for tensor with {input.ndim} dimensions.")
    at = axis % (input.ndim + 1)
    return input.reshape(*input.shape[:at], 1, *input.shape[at:])


@quick(expand_dims)
def constant_axis(groups, attrs):
    """The NumPy index with a new axis, prepared once."""
    input, dim = groups
    rank = input.rank
    axis = dim.known[0] if dim.known is not None and len(dim.known) == 1 else None
    if rank is None or axis is None or not -rank - 1 <= axis <= rank:
        return None
    index = (*[slice(None)] * (axis % (rank + 1)), np.newaxis)
    return lambda input, _: input[index] if input.ndim == rank else None


@host("EnsureShape")
def ensure_shape(input, *, shape):
    if shape.dims is not None and (
        len(shape.dims) != input.ndim
        or any(n is not None and n != m for n, m in zip(shape.dims, input.shape, strict=True))
    ):
        raise RunFailed(f"input must have shape {shape}, found {list(input.shape)}")
    return input


@host("BroadcastTo")
def broadcast_to(input, shape):
    if shape.ndim != 1:
        raise RunFailed(f"shape must be a vector, found rank {shape.ndim}")
    return np.array(np.broadcast_to(input, sizes_of(shape)), order="C")


@host("BroadcastArgs")
def broadcast_args(s0, s1):
    return np.array(np.broadcast_shapes(sizes_of(s0), sizes_of(s1)), s0.dtype)


@host("BroadcastGradientArgs")
def broadcast_gradient_args(s0, s1):
    """The axes to sum each gradient over; none if both shapes are the same."""
    if s0.shape == s1.shape and np.array_equal(s0, s1):
        no_axes = np.array([], s0.dtype)
        return no_axes, no_axes
    together = np.broadcast_shapes(sizes_of(s0), sizes_of(s1))
    return _stretched(s0, s1, together), _stretched(s1, s0, together)


def _stretched(mine, other, together):
    missing = len(together) - len(mine)
    sizes = [1] * missing + mine.tolist()
    both = [1] * (len(together) - len(other)) + other.tolist()
    axes = [
        axis
        for axis, n in enumerate(sizes)
        if axis < missing or (n == 1 and (both[axis] != 1 or together[axis] == 1))
    ]
    return np.array(axes, mine.dtype)


@host("ConcatOffset")
def concat_offset(concat_dim, shape):
    """The offset of each tensor in their concatenation."""
    axis = axis_in(concat_dim, len(shape[0]), "concat_dim")
    rest = [np.delete(sizes, axis) for sizes in shape]
    if any(len(sizes) != len(shape[0]) for sizes in shape) or any(
        not np.array_equal(r, rest[0]) for r in rest
    ):
        raise RunFailed(
            f"these shapes cannot be concatenated along axis {axis}: {[s.tolist() for s in shape]}"
        )
    offsets = []
    at = 0
    for sizes in shape:
        offset = np.zeros_like(sizes)
        offset[axis] = at
        offsets.append(offset)
        at += int(sizes[axis])
    return offsets


@host("InvertPermutation")
def invert_permutation(x):
    if x.ndim != 1:
        raise RunFailed(f"the permutation must be a vector, found rank {x.ndim}")
    check_indices(x, len(x), "the permutation")
    if len(np.unique(x)) != len(x):
        raise RunFailed("the permutation has a duplicate")
    inverse = np.empty_like(x)
    inverse[x] = np.arange(len(x), dtype=x.dtype)
    return inverse


@host("UnravelIndex")
def unravel_index(indices, dims):
    """Only indices that are too large are refused; negative ones are divided as in C."""
    if indices.ndim > 1 or dims.ndim != 1:
        raise RunFailed(
            "indices must be a scalar or vector and dims a vector, "
            f"found shapes {list(indices.shape)} and {list(dims.shape)}"
        )
    if np.any(dims == 0):
        raise RunFailed(f"dims must not be zero, found {dims.tolist()}")
    if np.any(indices >= np.prod(dims, dtype=np.int64)):
        raise RunFailed(f"an index is out of bounds for dims {dims.tolist()}")
    steps = np.concatenate([np.cumprod(dims[::-1])[::-1], [1]]).astype(np.int64)
    column = indices.astype(np.int64)
    columns = [np.trunc(np.fmod(column, steps[i]) / steps[i + 1]) for i in range(len(dims))]
    return (
        np.stack(columns).astype(indices.dtype) if columns else np.zeros((0, *indices.shape), indices.dtype)
    )


@host("ToBool")
def to_bool(input):
    """A scalar is false if it is zero or empty, any other tensor if it has no elements."""
    return np.array(bool(input.reshape(-1)[0]) if input.ndim == 0 else input.size > 0)
