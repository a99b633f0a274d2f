"""Replace Softplus, whose kernel in ONNX Runtime is slow, by nodes that are faster together.

It takes 2.5 times as long as eleven nodes that use vector instructions. An exported model keeps all nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

LARGE = 1024
"""Elements from which on several fast nodes take less time than one slow node."""


def with_fast_softplus(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """The nodes, each large Softplus replaced."""
    for node in nodes:
        if node.op == "Softplus" and _is_large(node.outputs[0]):
            yield from _softplus(node)
        else:
            yield node


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
