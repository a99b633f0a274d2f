"""Operations on the colors of images, and filters: gray, hue, blur, edges, similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfport.frontends.keras.data_format import CHANNELS_FIRST, channels_last
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating
from tfport.frontends.keras.rearranging import padded
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import convolve_depthwise
from tfport.graph.building.arrays import expand_dims, matmul, reduce, reshape, squeeze, transpose
from tfport.graph.building.sizes import sizes

_GRAY = [[0.2989], [0.5870], [0.1140]]
_SOBEL = [
    [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
    [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
]


def _of_images(
    b: LayerBuilder,
    data_format: str | None,
    images: LayerTensor,
    function: Callable[[LayerTensor], LayerTensor],
) -> LayerTensor:
    """Apply a function on a batch of channels-last images to one image or several."""
    if images.rank == 3:
        return squeeze(b, channels_last(b, data_format, expand_dims(b, images, 0), function), 0)
    return channels_last(b, data_format, images, function)


@layer("ops.RGBToGrayscale")
def grayscale(b: LayerBuilder, images: LayerTensor, *, data_format: str | None = None) -> LayerTensor:
    if images.shape[images.rank - (3 if data_format == CHANNELS_FIRST else 1)] == 1:
        return images
    weights = b.constant(_GRAY, as_floating(b, images).dtype)
    return _of_images(
        b, data_format, images, lambda x: b.cast(matmul(b, as_floating(b, x), weights), x.dtype)
    )


@layer("ops.RGBToHSV ops.HSVToRGB")
def color_space(b: LayerBuilder, images: LayerTensor, *, data_format: str | None = None) -> LayerTensor:
    op = b.instance.config.class_name
    return _of_images(b, data_format, images, lambda x: b.result(op, x))


@layer("ops.SobelEdges")
def sobel_edges(b: LayerBuilder, images: LayerTensor, *, data_format: str | None = None) -> LayerTensor:
    """The slope of each channel down and to the right, as a last axis."""
    images = transpose(b, images, (0, 2, 3, 1)) if data_format == CHANNELS_FIRST else images
    batch, height, width, channels = sizes(b, images)
    if not isinstance(channels, int):
        raise b.refuse("its number of channels is unknown")
    kernel = np.tile(np.moveaxis(np.asarray(_SOBEL, float), 0, -1)[:, :, None], (1, 1, channels, 1))
    around = padded(b, images, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect", 0)
    slopes = convolve_depthwise(b, around, b.constant(kernel, images.dtype), (1, 1), "valid", (1, 1))
    edges = b.tensor(reshape(b, slopes, (batch, height, width, channels, 2)).value, (*images.shape, 2))
    return transpose(b, edges, (0, 3, 1, 2, 4)) if data_format == CHANNELS_FIRST else edges


@layer("ops.GaussianBlur")
def gaussian_blur(
    b: LayerBuilder,
    images: LayerTensor,
    *,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Sequence[float] = (1.0, 1.0),
    data_format: str | None = None,
) -> LayerTensor:
    (first, second), (sigma_1, sigma_2) = kernel_size, sigma
    # Keras 3.15 reshapes the product of the second curve and the first to the size of the kernel
    kernel = np.outer(_bell(second, sigma_2), _bell(first, sigma_1)).reshape(first, second)

    def blurred(x: LayerTensor) -> LayerTensor:
        return _filtered(b, x, kernel, "same")

    return _of_images(b, data_format, images, blurred)


def _bell(size: int, sigma: float) -> np.ndarray:
    indices = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (indices / sigma) ** 2)
    return np.asarray(weights / weights.sum())


def _filtered(b: LayerBuilder, x: LayerTensor, kernel: np.ndarray, padding: str) -> LayerTensor:
    """Each channel convolved with the same kernel."""
    channels = x.shape[-1]
    if channels is None:
        raise b.refuse("its number of channels is unknown")
    weights = b.constant(np.tile(kernel[:, :, None, None], (1, 1, channels, 1)), x.dtype)
    return convolve_depthwise(b, x, weights, (1, 1), padding, (1, 1))


@layer("ops.SSIM")
def similarity(
    b: LayerBuilder,
    image1: LayerTensor,
    image2: LayerTensor,
    *,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> LayerTensor:
    """The structural similarity of two images, or of each pair of two batches."""
    dtype, is_single = image1.dtype, image1.rank == 3
    x, y = (as_floating(b, expand_dims(b, image, 0) if is_single else image) for image in (image1, image2))
    if data_format == CHANNELS_FIRST:
        x, y = (transpose(b, image, (0, 2, 3, 1)) for image in (x, y))
    bell = _bell(filter_size, filter_sigma)

    def blurred(image: LayerTensor) -> LayerTensor:
        return _filtered(b, image, np.outer(bell, bell), "valid")

    mean_x, mean_y = blurred(x), blurred(y)
    product = b.Mul(mean_x, mean_y)
    squares = b.Add(b.Square(mean_x), b.Square(mean_y))
    spread = b.Sub(b.Add(blurred(b.Square(x)), blurred(b.Square(y))), squares)
    shared = b.Sub(blurred(b.Mul(x, y)), product)
    low, high = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    above = b.Mul(b.Add(b.Mul(product, 2.0), low), b.Add(b.Mul(shared, 2.0), high))
    ratio = b.RealDiv(above, b.Mul(b.Add(squares, low), b.Add(spread, high)))
    result = reduce(b, "Mean", ratio, [1, 2, 3])
    return b.cast(squeeze(b, result, 0) if is_single else result, dtype)
