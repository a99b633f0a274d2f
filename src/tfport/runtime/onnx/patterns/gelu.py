"""`x/2 · erfc(-x/√2)`, as Keras 3 writes it, as one node `Gelu`."""

from __future__ import annotations

import math

import numpy as np

from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import ERFC, OnnxNode


def gelu(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The Gelu that replaces a product that ends this pattern."""
    for half, tail in producers.pairs(node.outputs[0], "Mul"):
        producer = producers.any(tail)
        if producer is None or producer.means is None or producer.means[0] != ERFC:
            continue
        x = _times(half, 0.5, producers)
        minus = producers.of(_times(producer.means[1], math.sqrt(0.5), producers), "Neg")
        if x is not None and minus is not None and minus.inputs[0] is x:
            return OnnxNode("Gelu", (x,), node.outputs, {"approximate": "none"})
    return None


def _times(operand: Operand | None, factor: float, producers: Producers) -> Operand | None:
    """`x` if an operand is `x · factor`."""
    for x, c in producers.pairs(operand, "Mul"):
        if c is not None and c.array is not None and c.array.size == 1:
            return x if np.isclose(c.array.reshape(-1)[0], factor, rtol=1e-6) else None
    return None
