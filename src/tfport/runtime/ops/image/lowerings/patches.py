"""Patches of images that do not overlap, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower


@lower("ExtractImagePatches")
def extract_image_patches(b, images, *, ksizes, strides, rates, padding):
    """If patches are as large as their strides, as in vision transformers, they are a reshape."""
    if images.rank != 4 or None in images.shape[1:] or ksizes != strides or set(rates) != {1}:
        raise CannotLower("patches overlap, or the size of images is unknown")
    (_, tall, wide, _), (_, height, width, channels) = ksizes, images.shape
    if ksizes[0] != 1 or ksizes[3] != 1 or height < tall or width < wide or 0 in images.shape[1:]:
        raise CannotLower("patches are larger than images, or span the batch or channels")
    if padding != "VALID" and (height % tall or width % wide):
        raise CannotLower("patches at the border are padded")
    rows, columns = height // tall, width // wide
    inner = images
    if height % tall or width % wide:
        inner = b.Slice(images, b.ints(0, 0), b.ints(rows * tall, columns * wide), b.ints(1, 2))
    split = b.reshape(inner, -1, rows, tall, columns, wide, channels)
    return b.reshape(b.transpose(split, [0, 1, 3, 2, 4, 5]), -1, rows, columns, tall * wide * channels)
