"""Dense, EinsumDense, Activation, RandomFourierFeatures, and the layers that do nothing at inference."""

from __future__ import annotations

import re

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.kernels.kernel_forms import kernel_and_bias
from tfport.frontends.keras.kernels.quantized import QuantizedEinsum, quantized_dense
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import matmul
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.products import einsum
from tfport.graph.dtypes import FLOAT32
from tfport.startup.dataclass import dataclass


@layer("Dense", keeps_mask=True)
def dense(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    units: int,
    activation: Json = None,
    use_bias: bool = True,
    lora_rank: int | None = None,
    lora_alpha: float | None = None,
    quantization_config: Json = None,
) -> LayerTensor:
    if b.policy.quantization:
        return activate(b, activation, quantized_dense(b, x, units, use_bias, quantization_config))
    kernel, bias = kernel_and_bias(
        b, (x.shape[-1], units), (units,) if use_bias else None, lora_rank, lora_alpha
    )
    y = matmul(b, x, kernel)
    if bias is not None:
        y = b.BiasAdd(y, bias)
    return activate(b, activation, y)


@layer("Activation", keeps_mask=True)
def activation_layer(b: LayerBuilder, x: LayerTensor, *, activation: Json) -> LayerTensor:
    return activate(b, activation, x)


@layer(
    "Dropout GaussianDropout AlphaDropout SpatialDropout1D SpatialDropout2D SpatialDropout3D", keeps_mask=True
)
def dropout(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    rate: float = 0.5,
    noise_shape: Json = None,
    seed: Json = None,
    data_format: Json = None,
) -> LayerTensor:
    """Inference does not drop anything."""
    return x


@layer("GaussianNoise", keeps_mask=True)
def gaussian_noise(b: LayerBuilder, x: LayerTensor, *, stddev: float = 0.0, seed: Json = None) -> LayerTensor:
    """Inference adds no noise."""
    return x


@layer("ActivityRegularization", keeps_mask=True)
def activity_regularization(
    b: LayerBuilder, x: LayerTensor, *, l1: float = 0.0, l2: float = 0.0
) -> LayerTensor:
    """It only adds to the loss."""
    return x


@layer("Identity", keeps_mask=True)
def identity(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return x


# EinsumDense

_EQUATION = re.compile(r"(\.{3})?([a-zA-Z]+)(\.{3})?,([a-zA-Z]+)->(\.{3})?([a-zA-Z]+)(\.{3})?")


@dataclass(frozen=True, slots=True)
class EinsumShapes:
    """The shapes that an equation gives the kernel and the bias."""

    kernel: Dims
    bias: Dims | None


@layer("EinsumDense")
def einsum_dense(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    equation: str,
    output_shape: Json,
    activation: Json = None,
    bias_axes: str | None = None,
    lora_rank: int | None = None,
    lora_alpha: float | None = None,
    quantization_config: Json = None,
    gptq_unpacked_column_size: Json = None,
) -> LayerTensor:
    shapes = einsum_shapes(b, x, equation, output_shape, bias_axes)
    if b.policy.quantization:
        product = QuantizedEinsum(b, equation, shapes.kernel, shapes.bias, quantization_config)
        return activate(b, activation, product(x))
    kernel, bias = kernel_and_bias(b, shapes.kernel, shapes.bias, lora_rank, lora_alpha)
    y = einsum(b, equation, x, kernel)
    y = y if bias is None else b.Add(y, bias)
    return activate(b, activation, y)


def einsum_shapes(
    b: LayerBuilder, x: LayerTensor, equation: str, output_shape: Json, bias_axes: str | None
) -> EinsumShapes:
    """An ellipsis stands for the first or the last axes of the input and of the output."""
    parts = _EQUATION.fullmatch(equation)
    if parts is None:
        raise b.refuse(f"its equation `{equation}` is not of the form `…ab,bc->…ac`")
    left, letters, right, kernel_letters, _, output_letters, _ = parts.groups()
    elided = x.rank - len(letters)
    before, after = elided if left else 0, elided if right else 0
    stated = [output_shape] if isinstance(output_shape, int) else list(output_shape)
    first = x.shape[: max(1, before)]
    output: Dims = (*first, *stated, *x.shape[x.rank - after :])
    known = dict(zip(output_letters, output[before:], strict=False))
    sizes = {**known, **dict(zip(letters, x.shape[before:], strict=False))}
    bias: Dims | None = None
    if bias_axes:
        start = min(output_letters.find(letter) for letter in bias_axes)
        bias = tuple(known[letter] if letter in bias_axes else 1 for letter in output_letters[start:])
        bias = (*bias, *[1] * after)
    return EinsumShapes(tuple(sizes[letter] for letter in kernel_letters), bias)


@layer("RandomFourierFeatures")
def random_fourier_features(
    b: LayerBuilder, x: LayerTensor, *, output_dim: int, scale: Json = None
) -> LayerTensor:
    """The cosine of a fixed random projection; the option `scale` is the first value of a weight."""
    kernel = b.weight("unscaled_kernel", (x.shape[-1], output_dim), trainable=False, dtype=FLOAT32)
    bias = b.weight("bias", (output_dim,), trainable=False, dtype=FLOAT32)
    factor = b.weight("kernel_scale", (1,), dtype=FLOAT32)
    product = matmul(b, b.cast(x, FLOAT32), b.Mul(b.RealDiv(1.0, factor), kernel))
    return b.Cos(b.BiasAdd(product, bias))
