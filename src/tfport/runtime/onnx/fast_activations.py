"""Replace activations whose kernel in ONNX Runtime is slow by nodes that are faster together.

Its `PRelu` takes several times as long as a product and a maximum, which use vector instructions, its
`Softplus` 2.5 times as long as eleven such nodes. An exported model keeps all nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1024
"""Elements from which on several fast nodes take less time than one slow node."""


def with_fast_activations(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """The nodes, the slow activations replaced."""
    for node in nodes:
        if node.op == "Softplus" and _is_large(node.outputs[0]):
            yield from _softplus(node)
            continue
        slope = node.inputs[1] if node.op == "PRelu" else None
        if slope is None or slope.array is None or slope.dtype != FLOAT32:
            yield node
        else:
            yield from _prelu(node, slope.array) if np.isfinite(slope.array).all() else [node]


def _prelu(node: OnnxNode, slope: NDArray[Any]) -> list[OnnxNode]:
    """`max(x, slope * x)` if no slope is above 1, else `max(x, 0) + slope * min(x, 0)`.

    A slope of 0 times an infinite number is none, so it takes the second way.
    """
    b, x = Builder(node.outputs[0].name), node.inputs[0]
    factor, zero = b.const(slope, FLOAT32), b.const(0, FLOAT32)
    if ((slope != 0) & (slope <= 1)).all():
        scaled = b.Mul(x, factor)
        return [*b.made, OnnxNode("Max", (x, scaled), node.outputs, {})]
    above, below = b.Max(x, zero), b.Mul(b.Min(x, zero), factor)
    return [*b.made, OnnxNode("Add", (above, below), node.outputs, {})]


def _is_large(x: Operand) -> bool:
    """Whether a float32 tensor may have many elements, so that the number of nodes does not matter."""
    sizes = x.shape if x.shape is not None else (None,)
    return x.dtype == FLOAT32 and (None in sizes or math.prod(filter(None, sizes)) >= LARGE)


def _softplus(node: OnnxNode) -> list[OnnxNode]:
    """`max(x, 0) + log(1 + exp(-|x|))`, with what the sum `1 + exp(-|x|)` rounds off."""
    b, x = Builder(node.outputs[0].name), node.inputs[0]
    zero, unit = b.const(0, FLOAT32), b.const(1, FLOAT32)
    power = b.Exp(b.Neg(b.Abs(x)))
    total = b.Add(power, unit)
    lost = b.Sub(power, b.Sub(total, unit))
    logarithm = b.Add(b.Log(total), b.Div(lost, total))
    positive = b.Max(x, zero)
    return [*b.made, OnnxNode("Add", (positive, logarithm), node.outputs, {})]
