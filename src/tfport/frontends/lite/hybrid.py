"""Operators with real activations and integer weights, as the interpreter's hybrid kernels compute them.

Each row of the activations is rounded to 8-bit steps of its own range; the products are those of integers,
and the sums are scaled. Products and sums of the rounded real numbers are the same up to their last bits.
XNNPACK, the default delegate, rounds with other ranges; its answers differ by such steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTEGERS = ("INT8", "UINT8", "INT4", "INT2")
BLOCKWISE = "BlockwiseQuantization"
"""How a file calls weights with a scale for each block of a row."""


def is_hybrid(x: LiteValue, weights: LiteValue) -> bool:
    """Whether the activations are real numbers and the weights integers."""
    return x.type == "FLOAT32" and weights.type in INTEGERS


def rounded_rows(b: OperatorBuilder, x: Any, *, asymmetric: bool, axis: int = 1) -> Value:
    """Activations rounded to the steps of their rows, which are all elements from an axis on."""
    return b.LiteHybridInput(x, asymmetric=asymmetric, axis=axis).output(0)


def real_weights(b: OperatorBuilder, weights: LiteValue) -> Value:
    """The real numbers that integer weights stand for."""
    if weights.quantization.details_type == BLOCKWISE:
        return _in_blocks(b, weights)
    if not weights.is_quantized:
        raise b.refuse(f"its weights of type {weights.type.lower()} have no scale")
    scale = _along_axis(weights)
    load = weights.load
    if load is None:
        return b.Mul(b.cast(weights, FLOAT32), scale).output(0)
    return b.lazy_constant(lambda: _signed(load()) * scale, FLOAT32, weights.record.shape)


def _in_blocks(b: OperatorBuilder, weights: LiteValue) -> Value:
    """The scales are another tensor of the subgraph, one for each block of a row."""
    details, shape = weights.quantization.details, weights.record.shape
    tensors, size = b.subgraph.record.tensors, details.get("block_size", 0)
    index, load = details.get("scales", 0), weights.load
    if load is None or not 0 <= index < len(tensors) or len(shape) != 2:
        raise b.refuse("its weights are not a constant matrix with a tensor of scales")
    if details.get("zero_points", -1) > 0:
        raise b.refuse("weights with a zero point are not supported")
    scales = b.subgraph.value(index)
    if size < 1 or shape[1] % size or scales.load is None or scales.shape != (shape[0], shape[1] // size):
        raise b.refuse(f"the scales of its weights do not fit blocks of {size}")
    of_blocks = scales.load
    return b.lazy_constant(
        lambda: load() * np.repeat(of_blocks().astype(np.float32), size, 1), FLOAT32, shape
    )


def _signed(elements: NDArray[Any]) -> NDArray[Any]:
    """Old files store signed weights as unsigned bytes."""
    return elements.view(np.int8) if elements.dtype == np.uint8 else elements


def _along_axis(weights: LiteValue) -> NDArray[Any]:
    """The scale, in a shape that fits the weights."""
    quantization = weights.quantization
    scale = np.asarray(quantization.scale, np.float32)
    sizes = [1] * weights.rank
    if len(scale) > 1:
        sizes[quantization.axis] = len(scale)
    return scale.reshape(sizes)
