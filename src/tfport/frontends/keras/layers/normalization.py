"""Normalization: by the statistics of the input itself, or of the training data (BatchNormalization)."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.keras.records import BY_PATH, Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import reduce, reshape
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import FLOAT32, DType
from tfport.startup.dataclass import dataclass


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
    dims = [x.shape[i] for i in axes]
    gamma = b.weight("gamma", dims, dtype=b.policy.variable) if scale or rms_scaling else None
    beta = b.weight("beta", dims, dtype=b.policy.variable) if center and not rms_scaling else None
    wide = b.cast(x, _precise(x))
    mean, variance = moments(b, wide, sorted(axes))
    inverse = b.Rsqrt(b.Add(variance, epsilon))
    if gamma is not None:
        inverse = b.Mul(inverse, _along(b, wide, gamma, axes))
    y = b.Mul(wide, inverse)
    if not rms_scaling:
        # TensorFlow 2.21 with oneDNN fuses `beta - mean * inverse` (_MklLayerNorm), and then epsilon is 0.001
        shift = b.Mul(b.Neg(mean), inverse)
        y = b.Add(y, shift if beta is None else b.Add(shift, _along(b, wide, beta, axes)))
    return b.cast(y, x.dtype)


@layer("RMSNormalization")
def rms_normalization(
    b: LayerBuilder, x: LayerTensor, *, axis: Json = -1, epsilon: float = 1e-6
) -> LayerTensor:
    axes = _axes(b, x, axis)
    gain = b.weight("scale", [x.shape[i] for i in axes])
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
    """The channels in groups; each group is normalized over all positions. -1 groups: one per channel."""
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
    indices = [index for index in range(1, wide.rank) if index != axis]
    mean, variance = moments(b, wide, indices)
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
    return [i % x.rank for i in stated]


def _precise(x: LayerTensor) -> DType:
    """The type for statistics: at least float32."""
    return FLOAT32 if x.dtype.numpy.itemsize < FLOAT32.numpy.itemsize else x.dtype


def _along(b: LayerBuilder, x: LayerTensor, weight: LayerTensor, axes: Sequence[int]) -> LayerTensor:
    """A weight in the type of a tensor and a shape that broadcasts along its axes, as Keras reshapes it."""
    weight = b.cast(weight, x.dtype)
    if weight.rank == x.rank or (weight.rank == 1 and list(axes) == [x.rank - 1]):
        return weight
    return reshape(b, weight, [size if index in axes else 1 for index, size in enumerate(x.shape)])


# BatchNormalization, under the names of all versions

CUDNN_MINIMUM, WITHOUT_MINIMUM = 1.001e-5, (2, 12)
"""The least epsilon of the fused op, and the version that first has none."""
OF_SAMPLE, OF_BATCH = 1, 2
"""Modes of Keras 1 that normalize by the statistics of what they get."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What scales and shifts; None for what a layer does not have."""

    gamma: LayerTensor | None
    beta: LayerTensor | None


@layer("BatchNormalization BatchNormalizationV1 BatchNormalizationV2 SyncBatchNormalization", keeps_mask=True)
def batch_normalization(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    axis: Json = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    renorm: bool = False,
    renorm_clipping: Json = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    synchronized: bool = False,
    mode: int = 0,
) -> LayerTensor:
    """`mode` is that of Keras 1: 0 for the stored statistics, 1 for each sample's, 2 for the batch's."""
    shift = 0 if virtual_batch_size is None else 1  # it adds an axis before those that files state
    axes = [(index - shift) % x.rank for index in ([axis] if isinstance(axis, int) else axis)]
    if mode == OF_SAMPLE:
        axes = [x.rank - 1]
    dims = _parameter_dims(x, axes, virtual_batch_size)
    dtype = _parameter_dtype(b)
    gamma = b.weight("gamma", dims, dtype=dtype) if scale else None
    beta = b.weight("beta", dims, dtype=dtype) if center else None
    names = ["moving_mean", "moving_variance"]
    names += ["moving_stddev", "renorm_mean", "renorm_stddev"] if renorm else []
    statistics = {name: b.weight(name, dims, trainable=False, dtype=dtype) for name in names}
    wide = b.cast(x, dtype)
    if mode == OF_SAMPLE:
        return _by_sample(b, x, Parameters(gamma, beta), epsilon)
    if mode == OF_BATCH:
        mean, variance = moments(b, wide, [i for i in range(x.rank) if i not in axes])
    else:
        mean, variance = statistics["moving_mean"], statistics["moving_variance"]
    least = _least_epsilon(b, x, axes, fused)
    y = normalized(b, wide, mean, variance, Parameters(gamma, beta), axes, max(epsilon, least))
    return b.cast(y, x.dtype)


def _parameter_dims(x: LayerTensor, axes: list[int], virtual_batch_size: int | None) -> list[int | None]:
    if len(axes) == 1 and virtual_batch_size is None:
        return [x.shape[axes[0]]]
    dims = [size if index in axes else 1 for index, size in enumerate(x.shape)]
    return dims if virtual_batch_size is None else [1, *dims]


def _parameter_dtype(b: LayerBuilder) -> DType:
    """Statistics of half precision layers are float32."""
    return FLOAT32 if b.policy.variable.numpy.itemsize < FLOAT32.numpy.itemsize else b.policy.variable


def _least_epsilon(b: LayerBuilder, x: LayerTensor, axes: list[int], fused: bool | None) -> float:
    """The least epsilon of the version that saved the model: more than 0 if it used the fused op."""
    version = b.version.numbers
    if b.version.is_tensorflow or version >= (2, 4):
        is_fused = axes in ([1], [x.rank - 1]) and x.rank in ((4, 5) if version >= (2, 5) else (4,))
    else:
        is_fused = version >= (2, 2) and axes == [3] and x.rank == 4
    return CUDNN_MINIMUM if is_fused and fused is not False and version < WITHOUT_MINIMUM else 0.0


def _by_sample(b: LayerBuilder, x: LayerTensor, parameters: Parameters, epsilon: float) -> LayerTensor:
    """Keras 1 adds its epsilon to the variance and to the deviation."""
    mean, variance = moments(b, x, [x.rank - 1])
    y = b.RealDiv(b.Sub(x, mean), b.Add(b.Sqrt(b.Add(variance, epsilon)), epsilon))
    y = y if parameters.gamma is None else b.Mul(y, parameters.gamma)
    return y if parameters.beta is None else b.Add(y, parameters.beta)


def moments(b: LayerBuilder, x: LayerTensor, axes: list[int]) -> tuple[LayerTensor, LayerTensor]:
    """The mean and the variance over axes, which stay with the size 1."""
    mean = reduce(b, "Mean", x, axes, keep=True)
    return mean, reduce(b, "Mean", b.SquaredDifference(x, mean), axes, keep=True)


def normalized(
    b: LayerBuilder,
    x: LayerTensor,
    mean: LayerTensor,
    variance: LayerTensor,
    parameters: Parameters,
    axes: list[int],
    epsilon: float,
) -> LayerTensor:
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta`; vectors lie along the axes."""
    if x.rank == 4 and axes == [3] and x.dtype == FLOAT32 and mean.rank == 1:
        return _fused(b, x, mean, variance, parameters, epsilon)
    inverse = b.Rsqrt(b.Add(_along(b, x, variance, axes), epsilon))
    if parameters.gamma is not None:
        inverse = b.Mul(inverse, _along(b, x, parameters.gamma, axes))
    shift = b.Mul(_along(b, x, mean, axes), inverse)
    offset = b.Neg(shift) if parameters.beta is None else b.Sub(_along(b, x, parameters.beta, axes), shift)
    return b.Add(b.Mul(x, inverse), offset)


def _fused(
    b: LayerBuilder,
    x: LayerTensor,
    mean: LayerTensor,
    variance: LayerTensor,
    parameters: Parameters,
    epsilon: float,
) -> LayerTensor:
    gamma = parameters.gamma or b.OnesLike(mean)
    beta = parameters.beta or b.ZerosLike(mean)
    return b.FusedBatchNorm(x, gamma, beta, mean, variance, epsilon=epsilon, is_training=False)
