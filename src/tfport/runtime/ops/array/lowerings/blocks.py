"""SpaceToBatch, SpaceToDepth and their inverses, lowered to ONNX: reshape, transpose, reshape.

Paddings and crops may be computed at run time, as in a dilated convolution over images of any size. The
engine then fails at those that TensorFlow refuses, so that the host reports TensorFlow's error.
"""

from __future__ import annotations

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import (
    LAST,
    cut,
    numbers_of,
    over,
    reshaped,
    size_of,
    sizes_of,
    times,
)


@lower("SpaceToBatch")
def space_to_batch(b, input, paddings, *, block_size):
    return _to_batch(b, input, (block_size, block_size), paddings)


@lower("SpaceToBatchND")
def space_to_batch_nd(b, input, block_shape, paddings):
    return _to_batch(b, input, numbers_of(block_shape, "block_shape"), paddings)


def _to_batch(b, x, block, paddings):
    rank, m = rank_of(x), len(block)
    _check(rank, block, paddings)
    if paddings.array is None or paddings.array.any():
        batch, rest = b.ints(0), [b.ints(*[0] * (rank - m - 1))] if rank > m + 1 else []
        before, after = _begins_and_ends(b, paddings, m)
        x = b.Pad(x, b.Concat(batch, before, *rest, batch, after, *rest, axis=0))
    batch, rest = size_of(b, x, 0), sizes_of(b, x, m + 1)
    inner = [over(b, size_of(b, x, i + 1), n) for i, n in enumerate(block)]
    split = [batch]
    for size, n in zip(inner, block, strict=True):
        split += [size, n]
    blocks = reshaped(b, x, [*split, *rest])
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m, 2), *range(2 * m + 1, rank + m)]
    return reshaped(b, b.transpose(blocks, order), [times(b, batch, int(np.prod(block))), *inner, *rest])


@lower("BatchToSpace")
def batch_to_space(b, input, crops, *, block_size):
    return _to_space(b, input, (block_size, block_size), crops)


@lower("BatchToSpaceND")
def batch_to_space_nd(b, input, block_shape, crops):
    return _to_space(b, input, numbers_of(block_shape, "block_shape"), crops)


def _to_space(b, x, block, crops):
    rank, m = rank_of(x), len(block)
    _check(rank, block, crops)
    batch = over(b, size_of(b, x, 0), int(np.prod(block)))
    space, rest = sizes_of(b, x, 1, m + 1), sizes_of(b, x, m + 1)
    blocks = reshaped(b, x, [*block, batch, *space, *rest])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    transposed = b.transpose(blocks, [*order, *range(2 * m + 1, rank + m)])
    larger = [times(b, size, n) for size, n in zip(space, block, strict=True)]
    image = reshaped(b, transposed, [batch, *larger, *rest])
    return _cropped(b, image, crops, block)


def _cropped(b, x, crops, block):
    m = len(block)
    if crops.array is None:
        first, after = _begins_and_ends(b, crops, m)
        ends = b.Sub(b.Shape(x, start=1, end=m + 1), after)
        enough = b.LessOrEqual(first, ends)
        return b.Slice(x, _checked(b, first, enough), ends, b.ints(*range(1, m + 1)))
    pairs = enumerate(crops.array.tolist(), start=1)
    spans = {axis: (first, -after if after else LAST, 1) for axis, (first, after) in pairs if first or after}
    assert x.shape is not None
    for axis in spans:
        size, cropped = x.shape[axis], int(crops.array[axis - 1].sum())
        # TensorFlow refuses larger crops, ONNX does not; an unknown size is at least the size of a block
        if cropped > (block[axis - 1] if size is None else size):
            raise CannotLower("crops may exceed the size")
    return cut(b, x, spans)


def _begins_and_ends(b, around, m):
    """The two columns of paddings or crops; the engine fails if an element is negative."""
    if around.array is not None:
        return tuple(b.ints(*column.tolist()) for column in around.array.T)
    flat = b.Reshape(b.int64(around), b.ints(2 * m))
    flat = _checked(b, flat, b.GreaterOrEqual(flat, b.ints(0)))
    return tuple(b.Slice(flat, b.ints(i), b.ints(2 * m), b.ints(0), b.ints(2)) for i in range(2))


def _checked(b, sizes, right):
    """The sizes; the engine fails if one is not right."""
    wrong = b.cast(b.Not(right), INT64)
    return b.Add(sizes, b.Gather(b.ints(0), wrong, axis=0))


def _check(rank, block, around):
    if rank < len(block) + 1 or min(block) < 1 or around.shape != (len(block), 2):
        raise CannotLower("the block is invalid, or the shape of paddings or crops unknown")
    if around.array is not None and np.any(around.array < 0):
        raise CannotLower("paddings or crops are negative")


@lower("SpaceToDepth", data_format=("NHWC", "NCHW"))
def space_to_depth(b, input, *, block_size, data_format):
    n, *sizes = _image(b, input)
    if data_format == "NHWC":
        h, w, c = sizes
        down, across = over(b, h, block_size), over(b, w, block_size)
        blocks = reshaped(b, input, [n, down, block_size, across, block_size, c])
        transposed = b.transpose(blocks, [0, 1, 3, 2, 4, 5])
        return reshaped(b, transposed, [n, down, across, times(b, c, block_size**2)])
    c, h, w = sizes
    down, across = over(b, h, block_size), over(b, w, block_size)
    blocks = reshaped(b, input, [n, c, down, block_size, across, block_size])
    return reshaped(b, b.transpose(blocks, [0, 3, 5, 1, 2, 4]), [n, times(b, c, block_size**2), down, across])


@lower("DepthToSpace", data_format=("NHWC", "NCHW"))
def depth_to_space(b, input, *, block_size, data_format):
    n, *sizes = _image(b, input)
    if data_format == "NHWC":
        h, w, c = sizes
        depth = over(b, c, block_size**2)
        blocks = reshaped(b, input, [n, h, w, block_size, block_size, depth])
        transposed = b.transpose(blocks, [0, 1, 3, 2, 4, 5])
        return reshaped(b, transposed, [n, times(b, h, block_size), times(b, w, block_size), depth])
    c, h, w = sizes
    depth = over(b, c, block_size**2)
    blocks = reshaped(b, input, [n, block_size, block_size, depth, h, w])
    transposed = b.transpose(blocks, [0, 3, 4, 1, 5, 2])
    return reshaped(b, transposed, [n, depth, times(b, h, block_size), times(b, w, block_size)])


def _image(b, x):
    if rank_of(x) != 4:
        raise CannotLower("the input must have 4 axes")
    return sizes_of(b, x)
