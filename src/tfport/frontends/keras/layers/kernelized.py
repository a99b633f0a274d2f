"""RandomFourierFeatures: the cosine of a fixed random projection."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import matmul
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import FLOAT32


@layer("RandomFourierFeatures")
def random_fourier_features(
    b: LayerBuilder, x: LayerTensor, *, output_dim: int, scale: Json = None
) -> LayerTensor:
    """The option `scale` is the first value of a weight."""
    kernel = b.weight("unscaled_kernel", (x.shape[-1], output_dim), trainable=False, dtype=FLOAT32)
    bias = b.weight("bias", (output_dim,), trainable=False, dtype=FLOAT32)
    factor = b.weight("kernel_scale", (1,), dtype=FLOAT32)
    product = matmul(b, b.cast(x, FLOAT32), b.Mul(b.RealDiv(1.0, factor), kernel))
    return b.Cos(b.tensor(b.node("BiasAdd", product, bias), product.shape))
