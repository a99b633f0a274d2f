"""Mean, variance, scale and offset over the last axis as one node `LayerNormalization`.

Keras writes it as a batch normalization: `x·g + (offset - mean·g)` where
`g = scale / √(variance + ε)`. Others write the definition: `(x - mean) / √(variance + ε) · scale + offset`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def layer_norm(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The LayerNormalization that replaces a sum that ends this pattern."""
    if node.op != "Add" or node.outputs[0].dtype != FLOAT32:
        return None
    for scaled, rest in producers.pairs(node.outputs[0], "Add"):
        for x, g in producers.pairs(scaled, "Mul"):
            parts = _scale(g, producers)
            if x is None or g is None or parts is None:
                continue
            scale, epsilon, variance = parts
            mean = _mean_of_square(variance, x, producers)
            offset = _offset(rest, mean, g, producers)
            if offset is not None and _along_last(scale, x) and _along_last(offset, x):
                inputs = (x, _flat(scale), _flat(offset))
                return OnnxNode("LayerNormalization", inputs, node.outputs, {"axis": -1, "epsilon": epsilon})
    return _as_defined(node, producers)


def _as_defined(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    for product, offset in producers.pairs(node.outputs[0], "Add"):
        for normal, scale in producers.pairs(product, "Mul"):
            if scale is None or offset is None or scale.array is None or offset.array is None:
                continue
            for difference, inverse in producers.pairs(normal, "Mul"):
                centered, parts = producers.of(difference, "Sub"), _inverse(inverse, producers)
                if centered is None or parts is None or (x := centered.inputs[0]) is None:
                    continue
                epsilon, variance = parts
                mean = _mean_of_square(variance, x, producers)
                is_whole = _along_last(scale.array, x) and _along_last(offset.array, x)
                if mean is not None and mean is centered.inputs[1] and is_whole:
                    inputs = (x, _flat(scale.array), _flat(offset.array))
                    attrs = {"axis": -1, "epsilon": epsilon}
                    return OnnxNode("LayerNormalization", inputs, node.outputs, attrs)
    return None


def _scale(g: Operand | None, producers: Producers) -> tuple[Any, float, Operand | None] | None:
    """For `scale / √(variance + ε)`: scale, ε and the variance."""
    for inverse, scale in producers.pairs(g, "Mul"):
        parts = _inverse(inverse, producers)
        if parts is not None and scale is not None and scale.array is not None:
            return scale.array, *parts
    return None


def _inverse(inverse: Operand | None, producers: Producers) -> tuple[float, Operand | None] | None:
    """For `1 / √(variance + ε)`: ε and the variance."""
    reciprocal = producers.of(inverse, "Reciprocal")
    root = producers.of(reciprocal.inputs[0], "Sqrt") if reciprocal else None
    for variance, epsilon in producers.pairs(root.inputs[0], "Add") if root is not None else ():
        if epsilon is not None and epsilon.array is not None and epsilon.array.size == 1:
            return float(epsilon.array.reshape(-1)[0]), variance
    return None


def _mean_of_square(variance: Operand | None, x: Operand, producers: Producers) -> Operand | None:
    """The mean of `x` in its variance, both over the last axis."""
    reduced = _reduced(variance, producers)
    square = producers.of(reduced, "Mul")
    if square is None or square.inputs[0] is not square.inputs[1]:
        return None
    difference = producers.of(square.inputs[0], "Sub")
    if difference is None or difference.inputs[0] is not x:
        return None
    mean = difference.inputs[1]
    return mean if _reduced(mean, producers) is x else None


def _reduced(operand: Operand | None, producers: Producers) -> Operand | None:
    """`x` if an operand is the mean of `x` over the last axis only."""
    node = producers.of(operand, "ReduceMean")
    if node is None or not node.attrs.get("keepdims", 1) or len(node.inputs) < 2:
        return None
    x, axes = node.inputs
    if x is None or axes is None or axes.array is None or axes.array.size != 1 or x.rank is None:
        return None
    return x if int(axes.array.reshape(-1)[0]) % x.rank == x.rank - 1 else None


def _offset(rest: Operand | None, mean: Operand | None, g: Operand, producers: Producers) -> Any:
    """The offset in `offset - mean·g`, in either form."""
    if mean is None:
        return None
    for product, offset in producers.pairs(rest, "Add"):
        for factor, other in producers.pairs(product, "Mul"):
            minus = producers.of(factor, "Neg")
            if other is g and minus is not None and minus.inputs[0] is mean:
                return offset.array if offset is not None else None
    node = producers.of(rest, "Sub")
    if node is not None:
        for factor, other in producers.pairs(node.inputs[1], "Mul"):
            if factor is mean and other is g and node.inputs[0] is not None:
                return node.inputs[0].array
    return None


def _along_last(array: Any, x: Operand) -> bool:
    return array is not None and x.shape is not None and array.size == x.shape[-1] == array.shape[-1]


def _flat(array: Any) -> Operand:
    return Operand(FLOAT32, value=np.ascontiguousarray(array.reshape(-1)))
