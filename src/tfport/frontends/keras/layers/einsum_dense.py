"""EinsumDense: a product of the input with a kernel over the axes that an equation names."""

from __future__ import annotations

import re

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.einsum import einsum
from tfport.frontends.keras.kernels.lora import kernel_and_bias
from tfport.frontends.keras.kernels.quantized_einsum import QuantizedEinsum
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import Dims, LayerTensor
from tfport.startup.dataclass import dataclass

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
        place = min(output_letters.find(letter) for letter in bias_axes)
        bias = tuple(known[letter] if letter in bias_axes else 1 for letter in output_letters[place:])
        bias = (*bias, *[1] * after)
    return EinsumShapes(tuple(sizes[letter] for letter in kernel_letters), bias)
