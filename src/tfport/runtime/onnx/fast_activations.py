"""Replace activations whose kernel in ONNX Runtime is slow by nodes that are faster together.

Its `PRelu` takes several times as long as a product and a maximum, which use vector instructions. An
exported model keeps all nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray


def with_fast_activations(nodes: Iterable[OnnxNode]) -> Iterator[OnnxNode]:
    """The nodes, the slow activations replaced."""
    for node in nodes:
        slope = node.inputs[1] if node.op == "PRelu" else None
        if slope is None or slope.array is None or slope.dtype != FLOAT32:
            yield node
        else:
            yield from _prelu(node, slope.array) if np.isfinite(slope.array).all() else [node]


def _prelu(node: OnnxNode, slope: NDArray[Any]) -> list[OnnxNode]:
    """`max(x, slope * x)` if all slopes are between 0 and 1, else `max(x, 0) + slope * min(x, 0)`."""
    b, x = Builder(node.outputs[0].name), node.inputs[0]
    factor, zero = b.const(slope, FLOAT32), b.const(0, FLOAT32)
    if ((slope > 0) & (slope <= 1)).all():
        scaled = b.Mul(x, factor)
        return [*b.made, OnnxNode("Max", (x, scaled), node.outputs, {})]
    above, below = b.Max(x, zero), b.Mul(b.Min(x, zero), factor)
    return [*b.made, OnnxNode("Add", (above, below), node.outputs, {})]
