"""Shape, Reshape, Squeeze and broadcasting, lowered to ONNX; known sizes become constants."""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT32
from tfport.runtime.lower import CannotLower, lower, rank_of, structure
from tfport.runtime.ops.shared.lowered_sizes import (
    axis_in,
    axis_of,
    checked,
    numbers_of,
    settled,
    vector,
    whole,
)


@lower("Shape")
def shape(b, input, *, out_type):
    return _shape(b, input, out_type)


@lower("ShapeN")
def shape_n(b, input, *, out_type):
    return [_shape(b, tensor, out_type) for tensor in input]


def _shape(b, x, out_type):
    if x.shape is not None and None not in x.shape:
        return b.const(np.array(x.shape, np.int64), out_type)
    return b.cast(b.Shape(x), out_type)


@lower("Size")
def size(b, input, *, out_type):
    if input.shape is not None and (None not in input.shape or 0 in input.shape):
        return b.const(0 if 0 in input.shape else int(np.prod(input.shape, dtype=np.int64)), out_type)
    return b.cast(b.Size(input), out_type)


@lower("Rank")
def rank(b, input):
    if input.rank is not None:
        return b.const(input.rank, INT32)
    return b.cast(b.Size(b.Shape(input)), INT32)


@lower("Reshape")
def reshape(b, tensor, shape):
    sizes = whole(shape)
    if sizes is None:
        return settled(b, b.Reshape(tensor, b.vector(shape), allowzero=1))
    if any(n < -1 for n in sizes) or sizes.count(-1) > 1 or (-1 in sizes and 0 in sizes):
        raise CannotLower("the shape is invalid, or has both -1 and 0")
    return settled(b, b.Reshape(tensor, b.ints(*sizes), allowzero=1))


@lower("Squeeze")
def squeeze(b, input, *, squeeze_dims):
    if squeeze_dims and input.rank is None:
        return b.squeeze(input, *squeeze_dims)
    if squeeze_dims:
        axes = [axis_in(axis, rank_of(input)) for axis in squeeze_dims]
    elif input.shape is not None and None not in input.shape:
        axes = [axis for axis, n in enumerate(input.shape) if n == 1]
    else:
        return b.Squeeze(input)
    return settled(b, b.squeeze(input, *dict.fromkeys(axes))) if axes else input


@lower("ExpandDims")
def expand_dims(b, input, dim):
    axis = numbers_of(dim, "the axis")[0] if input.rank is None else axis_of(dim, rank_of(input) + 1)
    return settled(b, b.unsqueeze(input, axis))


@lower("EnsureShape")
def ensure_shape(b, input, *, shape):
    if shape.dims is None:
        return input
    if rank_of(input) != len(shape.dims):
        raise CannotLower("the rank differs")
    output, checks = input, 0
    for axis, (wanted, there) in enumerate(zip(shape.dims, input.shape, strict=True)):
        if wanted is not None and there is not None and wanted != there:
            raise CannotLower("a size differs")
        if wanted is not None and there is None:
            output, checks = checked(b, output, axis, wanted), checks + 1
    if checks > 1:  # ONNX Runtime merges several reshapes into one that may change the shape
        raise CannotLower("several sizes need a check")
    return output


@structure("GuaranteeConst DeepCopy")
def pass_on(tracer, node, inputs, attrs):
    return inputs


@lower("BroadcastTo")
def broadcast_to(b, input, shape):
    """ONNX broadcasts both ways, TensorFlow only the input: the reshape fails if the result is larger."""
    sizes = whole(shape)
    wanted = b.vector(shape) if sizes is None else vector(b, sizes)
    if shape.rank != 1 or shape.shape[0] is None or shape.shape[0] < rank_of(input):
        raise CannotLower("the shape is not a vector, of unknown length, or too short")
    expanded = b.Expand(input, wanted)
    sizes, there = whole(shape), input.shape
    if sizes is not None and there is not None:
        if any(n < 0 for n in sizes) or len(there) > len(sizes):
            raise CannotLower("the shape is invalid")
        pairs = zip(sizes[len(sizes) - len(there) :], there, strict=True)
        if all(wide != 1 or narrow == 1 for wide, narrow in pairs):
            return expanded
    return b.Reshape(expanded, wanted, allowzero=1)


@lower("BroadcastArgs")
def broadcast_args(b, s0, s1):
    """Broadcast two constant shapes."""
    known = whole(s0), whole(s1)
    shapes = [shape for shape in known if shape is not None]
    if len(shapes) < len(known):
        raise CannotLower("a shape is not constant")
    try:
        return b.const(np.array(np.broadcast_shapes(*shapes), np.int64), s0.dtype)
    except ValueError:
        raise CannotLower("the shapes do not broadcast") from None
