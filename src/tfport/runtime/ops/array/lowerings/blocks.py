"""SpaceToBatch, SpaceToDepth and their inverses, lowered to ONNX: reshape, transpose, reshape."""

from __future__ import annotations

import numpy as np

from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.ops.shared.lowered_sizes import cut, numbers_of, over, reshaped, size_of, sizes_of, times


@lower("SpaceToBatch")
def space_to_batch(b, input, paddings, *, block_size):
    return _to_batch(b, input, (block_size, block_size), constant_of(paddings, "paddings"))


@lower("SpaceToBatchND")
def space_to_batch_nd(b, input, block_shape, paddings):
    return _to_batch(b, input, numbers_of(block_shape, "block_shape"), constant_of(paddings, "paddings"))


def _to_batch(b, x, block, paddings):
    rank, m = rank_of(x), len(block)
    _check(rank, block, paddings)
    if paddings.any():
        around = np.zeros((rank, 2), np.int64)
        around[1 : m + 1] = paddings
        x = b.Pad(x, b.ints(*around.T.reshape(-1).tolist()))
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
    return _to_space(b, input, (block_size, block_size), constant_of(crops, "crops"))


@lower("BatchToSpaceND")
def batch_to_space_nd(b, input, block_shape, crops):
    return _to_space(b, input, numbers_of(block_shape, "block_shape"), constant_of(crops, "crops"))


def _to_space(b, x, block, crops):
    rank, m = rank_of(x), len(block)
    _check(rank, block, crops)
    batch = over(b, size_of(b, x, 0), int(np.prod(block)))
    space, rest = sizes_of(b, x, 1, m + 1), sizes_of(b, x, m + 1)
    blocks = reshaped(b, x, [*block, batch, *space, *rest])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    turned = b.transpose(blocks, [*order, *range(2 * m + 1, rank + m)])
    larger = [times(b, size, n) for size, n in zip(space, block, strict=True)]
    made = reshaped(b, turned, [batch, *larger, *rest])
    spans = {i + 1: (int(a), -int(z) if z else 2**63 - 1, 1) for i, (a, z) in enumerate(crops) if a or z}
    assert made.shape is not None
    for axis in spans:
        size, cropped = made.shape[axis], int(crops[axis - 1].sum())
        # TensorFlow refuses larger crops, ONNX does not; an unknown size is at least the size of a block
        if cropped > (block[axis - 1] if size is None else size):
            raise CannotLower("crops may exceed the size")
    return cut(b, made, spans)


def _check(rank, block, around):
    if rank < len(block) + 1 or around.shape != (len(block), 2) or np.any(around < 0) or min(block) < 1:
        raise CannotLower("the block is invalid")


@lower("SpaceToDepth", data_format=("NHWC", "NCHW"))
def space_to_depth(b, input, *, block_size, data_format):
    n, *sizes = _image(b, input)
    if data_format == "NHWC":
        h, w, c = sizes
        down, across = over(b, h, block_size), over(b, w, block_size)
        blocks = reshaped(b, input, [n, down, block_size, across, block_size, c])
        turned = b.transpose(blocks, [0, 1, 3, 2, 4, 5])
        return reshaped(b, turned, [n, down, across, times(b, c, block_size**2)])
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
        turned = b.transpose(blocks, [0, 1, 3, 2, 4, 5])
        return reshaped(b, turned, [n, times(b, h, block_size), times(b, w, block_size), depth])
    c, h, w = sizes
    depth = over(b, c, block_size**2)
    blocks = reshaped(b, input, [n, block_size, block_size, depth, h, w])
    turned = b.transpose(blocks, [0, 3, 4, 1, 5, 2])
    return reshaped(b, turned, [n, depth, times(b, h, block_size), times(b, w, block_size)])


def _image(b, x):
    if rank_of(x) != 4:
        raise CannotLower("the input must have 4 axes")
    return sizes_of(b, x)
