"""Slopes for negative values, written with comparisons or with the two halves of a value.

    x > 0 ? x : slope * x        relu(x) - slope * relu(-x)        max(x, 0) + slope * min(x, 0)

They become one PRelu, or LeakyRelu if the slope is one number, which engines compute together with
the convolution before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.patterns.producers import Producers, constant_and_other, scalar_and_other
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scaled = tuple[Operand, NDArray[Any]] | None


def prelu(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The node that replaces a Where, Add, Sub or Max that ends this pattern."""
    find = {"Where": _of_condition, "Add": _of_halves, "Sub": _of_halves, "Max": _of_maximum}[node.op]
    scaled = find(node, producers)
    return _with_slope(node, *scaled) if scaled is not None else None


def _with_slope(node: OnnxNode, x: Operand, slope: NDArray[Any]) -> OnnxNode | None:
    if x.dtype != FLOAT32 or not np.isfinite(slope).all() or not _fits(slope, x):
        return None
    if slope.size == 1:
        return OnnxNode("LeakyRelu", (x,), node.outputs, {"alpha": float(slope.reshape(()))})
    return OnnxNode("PRelu", (x, Operand(FLOAT32, value=slope, name="slope")), node.outputs, {})


def _fits(slope: NDArray[Any], x: Operand) -> bool:
    """Whether the slope does not broadcast `x` to another shape."""
    if x.shape is None or slope.ndim > len(x.shape):
        return slope.ndim == 0
    sizes = x.shape[len(x.shape) - slope.ndim :]
    return all(n in (1, size) for n, size in zip(slope.shape, sizes, strict=True))


def _of_condition(node: OnnxNode, producers: Producers) -> Scaled:
    """`x` where it is positive, else `slope * x`; at zero both are the same if no slope is negative."""
    condition, first, second = node.inputs
    compare = producers.any(condition)
    if compare is None or compare.op not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    x, zero = compare.inputs
    if x is None or zero is None or zero.array is None or zero.array.ndim > (x.rank or 0) or zero.array.any():
        return None
    keeps, scales = (first, second) if compare.op.startswith("Greater") else (second, first)
    scaled = _scaled(scales, producers)
    if keeps is not x or scaled is None or scaled[0] is not x or zero.array.size != 1:
        return None
    strict = compare.op in ("Greater", "LessOrEqual")
    return scaled if strict or (scaled[1] >= 0).all() else None


def _of_halves(node: OnnxNode, producers: Producers) -> Scaled:
    first, second = node.inputs
    for positive, other in ((first, second), (second, first))[: 2 if node.op == "Add" else 1]:
        x, scaled = _positive_half(positive, producers), _scaled(other, producers)
        half = _negative_half(scaled[0] if scaled is not None else other, producers)
        if x is None or half is None or half[0] is not x:
            continue
        slope = half[1] * (scaled[1] if scaled is not None else np.array(1, np.float32))
        return x, np.asarray(slope if node.op == "Add" else -slope, np.float32)
    return None


def _of_maximum(node: OnnxNode, producers: Producers) -> Scaled:
    """`max(x, slope * x)` with one slope between 0 and 1."""
    if len(node.inputs) != 2:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        scaled = _scaled(other, producers)
        if scaled is not None and scaled[0] is x and ((scaled[1] > 0) & (scaled[1] <= 1)).all():
            return scaled
    return None


def _scaled(operand: Operand | None, producers: Producers) -> Scaled:
    """What is multiplied by a constant, and the constant."""
    node = producers.of(operand, "Mul")
    constant, x = constant_and_other(node) if node is not None else (None, None)
    return (x, constant) if x is not None and constant is not None else None


def _positive_half(operand: Operand | None, producers: Producers) -> Operand | None:
    """`x` of `max(x, 0)`."""
    node = producers.any(operand)
    if node is None or node.op not in ("Relu", "Max"):
        return None
    limit, x = (0.0, node.inputs[0]) if node.op == "Relu" else scalar_and_other(node)
    return x if limit == 0 else None


def _negative_half(operand: Operand | None, producers: Producers) -> tuple[Operand, Any] | None:
    """`x` and `c` of `c * min(x, 0)`."""
    least = producers.of(operand, "Min")
    if least is not None:
        limit, x = scalar_and_other(least)
        return (x, np.float32(1)) if limit == 0 and x is not None else None
    inner = _positive_half(operand, producers)
    negated = producers.of(inner, "Neg")
    if negated is not None and negated.inputs[0] is not None:
        return negated.inputs[0], np.float32(-1)
    scaled = producers.of(inner, "Mul")
    factor, x = scalar_and_other(scaled) if scaled is not None else (None, None)
    return (x, np.float32(factor)) if x is not None and factor is not None and factor < 0 else None
