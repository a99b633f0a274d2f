"""Normalization by the statistics of the input itself."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import BY_PATH, Json
from tfport.frontends.keras.arrays import reduce, reshape, sizes
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.batch_normalization import moments
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import FLOAT32, DType


@layer("LayerNormalization", keeps_mask=True)
def layer_normalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    axis: Json = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    rms_scaling: bool = False,
) -> LayerTensor:
    """`rms_scaling`, of some releases of Keras 3, only divides by the deviation and multiplies."""
    axes = _axes(b, x, axis)
    dims = [x.shape[place] for place in axes]
    gamma = b.weight("gamma", dims, dtype=b.policy.variable) if scale or rms_scaling else None
    beta = b.weight("beta", dims, dtype=b.policy.variable) if center and not rms_scaling else None
    wide = b.cast(x, _precise(x))
    mean, variance = moments(b, wide, sorted(axes))
    inverse = b.Rsqrt(b.Add(variance, epsilon))
    if gamma is not None:
        inverse = b.Mul(inverse, _along(b, wide, gamma, axes))
    y = b.Mul(wide, inverse)
    if not rms_scaling:
        shift = b.Mul(mean, inverse)
        y = b.Add(y, b.Neg(shift) if beta is None else b.Sub(_along(b, wide, beta, axes), shift))
    return b.cast(y, x.dtype)


@layer("RMSNormalization")
def rms_normalization(
    b: LayerBuilder, x: LayerTensor, *, axis: Json = -1, epsilon: float = 1e-6
) -> LayerTensor:
    axes = _axes(b, x, axis)
    gain = b.weight("scale", [x.shape[place] for place in axes])
    wide = b.cast(x, _precise(x))
    inverse = b.Rsqrt(b.Add(reduce(b, "Mean", b.Square(wide), axes, keep=True), epsilon))
    y = b.Mul(b.Mul(wide, inverse), _along(b, wide, gain, axes))
    return b.cast(y, x.dtype)


@layer("UnitNormalization", keeps_mask=True)
def unit_normalization(b: LayerBuilder, x: LayerTensor, *, axis: Json = -1) -> LayerTensor:
    return to_unit_length(b, x, _axes(b, x, axis))


def to_unit_length(
    b: LayerBuilder, x: LayerTensor, axes: Sequence[int], epsilon: float = 1e-12
) -> LayerTensor:
    """Divide by the Euclidean norm over axes."""
    squares = reduce(b, "Sum", b.Square(x), axes, keep=True)
    return b.Mul(x, b.Rsqrt(b.Maximum(squares, epsilon)))


@layer("GroupNormalization", keeps_mask=True)
def group_normalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    groups: int = 32,
    axis: int = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
) -> LayerTensor:
    """The channels in groups; each group is normalized over all places. -1 groups: one per channel."""
    axis = axis % x.rank
    channels = x.shape[axis]
    if channels is None or channels % (groups if groups > 0 else channels):
        raise b.refuse(f"{channels} channels do not divide into {groups} groups")
    count = groups if groups > 0 else channels
    gamma = b.weight("gamma", (channels,), dtype=b.policy.variable) if scale else None
    beta = b.weight("beta", (channels,), dtype=b.policy.variable) if center else None
    inside = [count, channels // count]
    dims = sizes(b, x)
    split = [*dims[:axis], *inside, *dims[axis + 1 :]]
    parameter_dims = [1] * (x.rank + 1)
    parameter_dims[axis : axis + 2] = inside
    wide = reshape(b, b.cast(x, _precise(x)), split)
    places = [place for place in range(1, wide.rank) if place != axis]
    mean, variance = moments(b, wide, places)
    inverse = b.Rsqrt(b.Add(variance, epsilon))
    if gamma is not None:
        inverse = b.Mul(inverse, b.cast(reshape(b, gamma, parameter_dims), wide.dtype))
    shift = b.Mul(mean, inverse)
    offset = b.Neg(shift)
    if beta is not None:
        offset = b.Sub(b.cast(reshape(b, beta, parameter_dims), wide.dtype), shift)
    y = reshape(b, b.Add(b.Mul(wide, inverse), offset), dims)
    return b.cast(LayerTensor(y.value, x.shape), x.dtype)


@layer("SpectralNormalization", wraps="layer")
def spectral_normalization(
    b: LayerBuilder, x: LayerTensor, *, layer: Json, power_iterations: int = 1
) -> LayerTensor:
    """Inference uses the kernel as training left it, already normalized."""
    child = b.sublayer("layer", layer)
    y: LayerTensor = b.call(child, x)
    kernel = child.weights.get("kernel") or child.weights.get("embeddings")
    if kernel is None:
        raise b.refuse("the layer inside it has neither a kernel nor embeddings")
    stored = b.model.file.weights
    if stored is not None and stored.layout == BY_PATH:  # they have the kernel of the layer again
        b.weight("kernel", kernel.shape, dtype=kernel.dtype)
    b.weight("vector_u", (1, kernel.shape[-1]), trainable=False, dtype=kernel.dtype)
    return y


def _axes(b: LayerBuilder, x: LayerTensor, axis: Json) -> list[int]:
    """Axes in the order of the weights; since Keras 3.14 sorted as they are written."""
    stated = [axis] if isinstance(axis, int) else list(axis)
    if b.version.numbers >= (3, 14):
        stated = sorted(stated)
    return [place % x.rank for place in stated]


def _precise(x: LayerTensor) -> DType:
    """The type for statistics: at least float32."""
    return FLOAT32 if x.dtype.numpy.itemsize < FLOAT32.numpy.itemsize else x.dtype


def _along(b: LayerBuilder, x: LayerTensor, weight: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    """A weight in the type of a tensor and a shape that broadcasts along its axes, as Keras reshapes it."""
    weight = b.cast(weight, x.dtype)
    if list(axes) == [x.rank - 1]:
        return weight
    return reshape(b, weight, [size if place in axes else 1 for place, size in enumerate(x.shape)])
