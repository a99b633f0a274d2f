"""Bounds around a value, written as a chain of Max, Min and Relu: one Clip or Relu.

Engines compute both together with the convolution before them.
"""

from __future__ import annotations

import math

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.patterns.producers import Producers, scalar_and_other
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def clamp(node: OnnxNode, producers: Producers) -> OnnxNode | None:
    """The Clip or Relu that replaces a Max or Min that ends this pattern."""
    x, low, high = _bounds(node.outputs[0], producers)
    if x is None or x.dtype != FLOAT32:
        return None
    if (low, high) == (0, math.inf):
        return OnnxNode("Relu", (x,), node.outputs, {})
    if math.inf in (-low, high):
        return None
    limits = (Operand(FLOAT32, value=np.array(limit, np.float32), name="limit") for limit in (low, high))
    return OnnxNode("Clip", (x, *limits), node.outputs, {})


def _bounds(operand: Operand | None, producers: Producers) -> tuple[Operand | None, float, float]:
    """What a chain of bounds starts from, and the bounds that it amounts to."""
    chain: list[tuple[str, float]] = []
    node = producers.any(operand)
    while node is not None:
        limit, inner = (0.0, node.inputs[0]) if node.op == "Relu" else scalar_and_other(node)
        if node.op not in ("Relu", "Max", "Min") or limit is None or math.isnan(limit):
            break
        chain.append((node.op, limit))
        operand, node = inner, producers.any(inner)
    low, high = -math.inf, math.inf
    for op, limit in reversed(chain):
        bound = min if op == "Min" else max
        low, high = bound(low, limit), bound(high, limit)
    return operand, low, high
