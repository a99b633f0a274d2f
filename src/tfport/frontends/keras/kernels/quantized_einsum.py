"""Sums of products with quantized kernels, as EinsumDense of Keras 3 computes them."""

from __future__ import annotations

from math import prod

from tfport.formats.keras.records import Json
from tfport.frontends.keras.arrays import expand_dims, reshape, squeeze, transpose
from tfport.frontends.keras.einsum import einsum, expanded
from tfport.frontends.keras.kernels.quantized import (
    BLOCKS_SINCE,
    INT8,
    Quantization,
    comes_first,
    float8_scales,
    kernel_in_blocks,
    quantizes_inputs,
    rounded,
    through_bfloat16,
    through_float8,
)
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import Dims, LayerTensor
from tfport.startup.dataclass import dataclass

Biased = tuple[LayerTensor, LayerTensor | None]
"""A product, and the bias to add."""


@dataclass(frozen=True, slots=True)
class QuantizedEinsum:
    """An equation with the shapes of its kernel and bias, and how the kernel is quantized."""

    b: LayerBuilder
    equation: str
    shape: Dims
    bias_shape: Dims | None
    config: Json

    def __call__(self, x: LayerTensor) -> LayerTensor:
        """The sum of products with the bias added."""
        how = Quantization.of(self.b.policy.quantization)
        if how.mode == "int8":
            y, bias = self._int8(x)
        elif how.mode == "float8":
            y, bias = self._float8(x)
        elif how.mode == "int4" and self._has_plain_blocks():
            y, bias = self._int4(x, how)
        else:
            text = self.b.policy.quantization
            raise self.b.refuse(f"its kernel is quantized as `{text}`, which tfport does not build")
        return y if bias is None else self.b.Add(y, bias)

    def _has_plain_blocks(self) -> bool:
        is_new = self.b.version.numbers >= BLOCKS_SINCE
        return is_new and not quantizes_inputs(self.config, by_default=False)

    def _bias(self) -> LayerTensor | None:
        return self.b.weight("bias", self.bias_shape) if self.bias_shape is not None else None

    def _float8(self, x: LayerTensor) -> Biased:
        b = self.b
        kernel, bias = b.weight("kernel", self.shape), self._bias()
        input_scale, kernel_scale = float8_scales(b)
        operands = through_float8(b, x, input_scale), through_float8(b, kernel, kernel_scale)
        return einsum(b, self.equation, *operands), None if bias is None else through_bfloat16(b, bias)

    def _int4(self, x: LayerTensor, how: Quantization) -> Biased:
        """The kernel is stored as a matrix: of the summed axes and of the others."""
        _, letters, output = expanded(self.b, self.equation, x.rank, len(self.shape))
        sizes = dict(zip(letters, (size or 0 for size in self.shape), strict=True))
        rows = prod(size for letter, size in sizes.items() if letter not in output)
        columns = prod(size for letter, size in sizes.items() if letter in output)
        kernel, bias = kernel_in_blocks(self.b, how, rows, columns, self.bias_shape)
        return einsum(self.b, self.equation, x, reshape(self.b, kernel, self.shape)), bias

    def _int8(self, x: LayerTensor) -> Biased:
        b = self.b
        stored = b.weight("kernel", self.shape, trainable=comes_first(b), dtype=INT8)
        bias = self._bias()
        letters, kernel_letters, output = expanded(b, self.equation, x.rank, len(self.shape))
        known = dict(zip(kernel_letters, self.shape, strict=True))
        dims = [known[letter] if letter in known and letter not in letters else 1 for letter in output]
        scale = b.weight("kernel_scale", dims, trainable=comes_first(b))
        if quantizes_inputs(self.config):
            summed = [place for place, letter in enumerate(letters) if letter not in output]
            x, input_scale = rounded(b, x, summed)
            for place in reversed(summed):
                input_scale = squeeze(b, input_scale, place)
            kept = [letter for letter in letters if letter in output]
            scale = b.Mul(scale, _at_letters(b, input_scale, kept, output))
        return b.RealDiv(einsum(b, self.equation, x, b.cast(stored, b.dtype)), scale), bias


def _at_letters(b: LayerBuilder, x: LayerTensor, letters: list[str], output: str) -> LayerTensor:
    """A tensor with an axis for each letter of an output; those that it does not have get the size 1."""
    ordered = [letter for letter in output if letter in letters]
    x = transpose(b, x, [letters.index(letter) for letter in ordered])
    for place, letter in enumerate(output):
        x = x if letter in letters else expand_dims(b, x, place)
    return x
