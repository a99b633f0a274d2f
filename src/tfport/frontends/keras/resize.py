"""Resize images as each version of Keras does."""

from __future__ import annotations

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerSize, LayerTensor
from tfport.graph.building.sizes import shape_vector
from tfport.graph.dtypes import FLOAT32

_RESIZE_OPS = {
    "nearest": "ResizeNearestNeighbor", "bilinear": "ResizeBilinear", "bicubic": "ResizeBicubic",
}  # fmt: skip
_ANTIALIASED = {"bilinear": "triangle", "bicubic": "keyscubic"}
_KERNELS = ("lanczos3", "lanczos5", "gaussian", "mitchellcubic", *_ANTIALIASED.values())
"""Interpolations that are kernels of ScaleAndTranslate."""


def resize(
    b: LayerBuilder,
    images: LayerTensor,
    height: LayerSize,
    width: LayerSize,
    interpolation: str,
    *,
    half_pixel_centers: bool = True,
    antialias: bool = False,
) -> LayerTensor:
    """Images with the channels last in another size."""
    size = shape_vector(b, [height, width])
    known = [side if isinstance(side, int) else None for side in (height, width)]
    dims = (images.shape[0], *known, images.shape[3])
    if antialias or (interpolation == "bicubic" and b.model.file.backend == "jax"):
        interpolation = _ANTIALIASED.get(interpolation, interpolation)
    if op := _RESIZE_OPS.get(interpolation):
        # the attribute is newer than the op: state it only where it changes the result
        attrs = {"half_pixel_centers": True} if half_pixel_centers else {}
        result = b.tensor(b.node(op, images, size, **attrs), dims)
        return result if interpolation == "nearest" else b.cast(result, images.dtype)
    if interpolation == "area":
        return b.cast(b.tensor(b.node("ResizeArea", images, size), dims), images.dtype)
    if interpolation not in _KERNELS:
        raise b.refuse(f"its interpolation `{interpolation}` is unknown")
    scale = _scale(b, images, size)
    node = b.node(
        "ScaleAndTranslate", images, size, scale, [0.0, 0.0], kernel_type=interpolation, antialias=antialias
    )
    return b.cast(b.tensor(node, dims), images.dtype)


def _scale(b: LayerBuilder, images: LayerTensor, size: object) -> LayerTensor:
    """How many pixels of the result one pixel becomes, in both directions."""
    shape = b.Shape(images)
    before = b.StridedSlice(shape, [1], [3], [1])
    after = size if isinstance(size, LayerTensor) else b.constant(size) if isinstance(size, list) else None
    after = after if after is not None else b.tensor(size, (2,))  # type: ignore[arg-type]
    return b.RealDiv(b.cast(after, FLOAT32), b.cast(before, FLOAT32))
