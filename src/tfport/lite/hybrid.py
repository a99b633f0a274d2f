"""Operators with real activations and integer weights, as the interpreter's hybrid kernels compute them.

Each row of the activations is rounded to 8-bit steps of its own range; the products are those of integers,
and the sums are scaled. Products and sums of the rounded real numbers are the same up to their last bits.
XNNPACK, the default delegate, rounds with other ranges; its answers differ by such steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Value
from tfport.lite.builder import OperatorBuilder
from tfport.lite.tensor import LiteValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTEGERS = ("INT8", "UINT8", "INT4", "INT2")


def is_hybrid(x: LiteValue, weights: LiteValue) -> bool:
    """Whether the activations are real numbers and the weights integers."""
    return x.type == "FLOAT32" and weights.type in INTEGERS


def rounded_rows(b: OperatorBuilder, x: Any, *, asymmetric: bool, axis: int = 1) -> Value:
    """Activations rounded to the steps of their rows, which are all elements from an axis on."""
    return b.LiteHybridInput(x, asymmetric=asymmetric, axis=axis).output(0)


def real_weights(b: OperatorBuilder, weights: LiteValue) -> Value:
    """The real numbers that integer weights stand for."""
    if not weights.is_quantized:
        raise b.refuse(f"its weights of type {weights.type.lower()} have no scale")
    scale = _along_axis(weights)
    load = weights.load
    if load is None:
        return b.Mul(b.cast(weights, FLOAT32), scale).output(0)
    return b.lazy_constant(lambda: _signed(load()) * scale, FLOAT32, weights.record.shape)


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
