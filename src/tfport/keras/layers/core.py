"""Dense, Activation, and the layers that do nothing at inference."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.keras.activations import activate
from tfport.keras.arrays import matmul
from tfport.keras.layer import layer
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.tensor import LayerTensor


@layer("Dense", keeps_mask=True)
def dense(
    b: LayerBuilder, x: LayerTensor, *, units: int, activation: Json = None, use_bias: bool = True
) -> LayerTensor:
    y = matmul(b, x, b.weight("kernel", (x.shape[-1], units)))
    if use_bias:
        y = b.tensor(b.node("BiasAdd", y, b.weight("bias", (units,))), y.shape)
    return activate(b, activation, y)


@layer("Activation", keeps_mask=True)
def activation_layer(b: LayerBuilder, x: LayerTensor, *, activation: Json) -> LayerTensor:
    return activate(b, activation, x)


@layer("Dropout", keeps_mask=True)
def dropout(
    b: LayerBuilder, x: LayerTensor, *, rate: float = 0.5, noise_shape: Json = None, seed: Json = None
) -> LayerTensor:
    """Inference does not drop anything."""
    return x
