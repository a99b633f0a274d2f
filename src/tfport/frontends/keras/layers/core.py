"""Dense, Activation, and the layers that do nothing at inference."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.arrays import matmul
from tfport.frontends.keras.kernels.lora import kernel_and_bias
from tfport.frontends.keras.kernels.quantized import quantized_dense
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor


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
        y = b.tensor(b.node("BiasAdd", y, bias), y.shape)
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
