"""Activations that are layers, some with weights."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras import activations
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.reductions import softmax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import select
from tfport.graph.dtypes import DType

_HALF = DType.parse("float16")


@layer("ReLU", keeps_mask=True)
def relu_layer(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    max_value: float | None = None,
    negative_slope: float | None = 0.0,
    threshold: float | None = 0.0,
) -> LayerTensor:
    return activations.relu(
        b, x, negative_slope=negative_slope or 0.0, max_value=max_value, threshold=threshold or 0.0
    )


@layer("LeakyReLU", keeps_mask=True)
def leaky_relu_layer(
    b: LayerBuilder, x: LayerTensor, *, alpha: float | None = None, negative_slope: float | None = None
) -> LayerTensor:
    """Keras 3 calls the slope `negative_slope`; both default to 0.3."""
    slope = next((stated for stated in (negative_slope, alpha) if stated is not None), 0.3)
    return activations.leaky_relu(b, x, negative_slope=slope)


@layer("ELU", keeps_mask=True)
def elu_layer(b: LayerBuilder, x: LayerTensor, *, alpha: float = 1.0) -> LayerTensor:
    return activations.elu(b, x, alpha=alpha)


@layer("ThresholdedReLU", keeps_mask=True)
def thresholded_relu(b: LayerBuilder, x: LayerTensor, *, theta: float = 1.0) -> LayerTensor:
    return b.Mul(x, b.cast(b.Greater(x, theta), x.dtype))


@layer("PReLU", keeps_mask=True)
def prelu(b: LayerBuilder, x: LayerTensor, *, shared_axes: Json = None) -> LayerTensor:
    alpha = b.weight("alpha", unshared(b, x, shared_axes))
    return b.Add(b.Relu(x), b.Mul(b.Neg(alpha), b.Relu(b.Neg(x))))


def unshared(b: LayerBuilder, x: LayerTensor, shared_axes: Json) -> list[int | None]:
    """The shape of a weight for each element behind the batch; 1 for axes that share it."""
    axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes or []
    if b.version.major < 2 and b.model.file.weights is not None:  # only the weights tell
        arrays = b.model.file.weights.lists.get(b.instance.name, [])
        sizes = arrays[0].shape if arrays else ()
        axes = [axis for axis, size in enumerate(sizes, 1) if size == 1]
    return [1 if axis in axes else size for axis, size in enumerate(x.shape) if axis]


@layer("Softmax", keeps_mask=True)
def softmax_layer(
    b: LayerBuilder, x: LayerTensor, mask: LayerTensor | None = None, *, axis: Json = -1
) -> LayerTensor:
    """Masked elements get a large negative number since Keras 2.4; since 3.13 their results are 0."""
    mask = x.mask if mask is None else mask
    if mask is None or b.version.numbers < (2, 4):
        return softmax(b, x, axis=axis)
    counts = b.cast(mask, x.dtype)
    if b.version.numbers >= (3, 13):
        counts = b.cast(b.Greater(counts, 0.5), x.dtype)
        lowest = b.Add(b.ZerosLike(x), _lowest(b, x))
        return b.Mul(softmax(b, select(b, b.Greater(counts, 0.5), x, lowest), axis=axis), counts)
    return softmax(b, b.Add(x, b.Mul(b.Sub(1.0, counts), _lowest(b, x))), axis=axis)


def _lowest(b: LayerBuilder, x: LayerTensor) -> float:
    """What a masked element becomes, or has added, before the exponential."""
    if x.dtype != _HALF:
        return -1e9
    return -3e4 if b.version.major >= 3 else -32752.0
