"""SpaceToBatch, SpaceToDepth and their inverses."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import full, zero_of


@host("SpaceToBatch")
def space_to_batch(input, paddings, *, block_size):
    return space_to_batch_nd(input, np.array([block_size] * 2), paddings)


@host("SpaceToBatchND")
def space_to_batch_nd(input, block_shape, paddings):
    block = _block(input, block_shape, paddings, "paddings")
    m = len(block)
    around = [(0, 0), *((int(a), int(z)) for a, z in paddings), *[(0, 0)] * (input.ndim - 1 - m)]
    shape = [a + n + z for n, (a, z) in zip(input.shape, around, strict=True)]
    padded = full(shape, zero_of(input.dtype), input.dtype)
    padded[tuple(slice(a, a + n) for n, (a, _) in zip(input.shape, around, strict=True))] = input
    if any(n % b for n, b in zip(shape[1:], block, strict=False)):
        raise RunFailed(f"the padded shape {shape} must be a multiple of the block {block}")
    split = [shape[0]]
    for n, b in zip(shape[1 : m + 1], block, strict=True):
        split += [n // b, b]
    blocks = padded.reshape(*split, *shape[m + 1 :])
    order = [
        *range(2, 2 * m + 1, 2),
        0,
        *range(1, 2 * m, 2),
        *range(2 * m + 1, blocks.ndim),
    ]
    smaller = [n // b for n, b in zip(shape[1:], block, strict=False)]
    return blocks.transpose(order).reshape(shape[0] * int(np.prod(block)), *smaller, *shape[m + 1 :])


@host("BatchToSpace")
def batch_to_space(input, crops, *, block_size):
    return batch_to_space_nd(input, np.array([block_size] * 2), crops)


@host("BatchToSpaceND")
def batch_to_space_nd(input, block_shape, crops):
    block = _block(input, block_shape, crops, "crops")
    m, whole = len(block), int(np.prod(block))
    if input.shape[0] % whole:
        raise RunFailed(f"the batch size {input.shape[0]} must be a multiple of the block {block}")
    batch, space, rest = input.shape[0] // whole, input.shape[1 : m + 1], input.shape[m + 1 :]
    blocks = input.reshape(*block, batch, *space, *rest)
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    larger = [n * b for n, b in zip(space, block, strict=True)]
    image = blocks.transpose(*order, *range(2 * m + 1, blocks.ndim)).reshape(batch, *larger, *rest)
    ends = [n - int(z) for n, (_, z) in zip(larger, crops, strict=True)]
    if any(int(a) > end for (a, _), end in zip(crops, ends, strict=True)):
        raise RunFailed(f"crops {crops.tolist()} exceed the sizes {larger}")
    return image[(slice(None), *(slice(int(a), end) for (a, _), end in zip(crops, ends, strict=True)))]


def _block(x, block_shape, around, what):
    block = [int(n) for n in block_shape.reshape(-1)]
    if x.ndim < len(block) + 1 or around.shape != (len(block), 2):
        raise RunFailed(f"block {block} does not match input {list(x.shape)} and {what} {list(around.shape)}")
    if any(n < 1 for n in block) or np.any(around < 0):
        raise RunFailed(f"block_shape {block} must be positive, and {what} must not be negative")
    return block


@host("SpaceToDepth", data_format=("NHWC", "NCHW"))
def space_to_depth(input, *, block_size, data_format):
    n, h, w, c = _nhwc(input, data_format).shape
    if h % block_size or w % block_size:
        raise RunFailed(f"height {h} and width {w} must be multiples of block_size {block_size}")
    down, across = h // block_size, w // block_size
    if data_format == "NHWC":
        blocks = input.reshape(n, down, block_size, across, block_size, c)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(n, down, across, c * block_size**2)
    blocks = input.reshape(n, c, down, block_size, across, block_size)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, down, across)


@host("DepthToSpace", data_format=("NHWC", "NCHW"))
def depth_to_space(input, *, block_size, data_format):
    n, h, w, c = _nhwc(input, data_format).shape
    if c % block_size**2:
        raise RunFailed(f"depth {c} must be a multiple of block_size squared, {block_size**2}")
    depth = c // block_size**2
    if data_format == "NHWC":
        blocks = input.reshape(n, h, w, block_size, block_size, depth)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * block_size, w * block_size, depth)
    blocks = input.reshape(n, block_size, block_size, depth, h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, depth, h * block_size, w * block_size)


def _nhwc(x, data_format):
    if x.ndim != 4:
        raise RunFailed(f"input must have 4 axes, found {x.ndim}")
    return x if data_format == "NHWC" else x.transpose(0, 2, 3, 1)
