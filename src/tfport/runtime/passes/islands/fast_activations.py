"""Activations whose kernels in ONNX Runtime are slow, as nodes that are faster together.

Softplus takes 2.5 times as long as eleven nodes that use vector instructions.

PRelu takes several times as long as a product and a maximum, which use vector instructions; between
convolutions, `image_blocks` replaces it. An exported model keeps all nodes, and on x86-64 so does OpenVINO's,
which computes PRelu together with the convolution before it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.image_blocks import HAS_BLOCKS
from tfport.runtime.passes.pass_list import ONNX_RUNTIME_CPU, Condition, NodeForms, PassTarget, island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1024
"""Elements from which on several fast nodes take less time than one slow node."""
FUSES_PRELU = HAS_BLOCKS
"""Whether OpenVINO gets PRelu, which it computes together with the node before it. On ARM64 its answers are
wrong if that is a sum, a product or a maximum (OpenVINO 2026.4)."""


@island_pass(when=ONNX_RUNTIME_CPU)
def fast_softplus(graph: IslandGraph) -> None:
    """A large Softplus is eleven nodes that are faster together."""
    for node in graph.nodes:
        if node.op == "Softplus" and _is_large(node.outputs[0]):
            graph.replace(node, *_softplus(node))


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
    return [*b.added, OnnxNode("Add", (positive, logarithm), node.outputs, {})]


def _replaces_prelu(target: PassTarget) -> bool:
    return target.nodes is NodeForms.FASTEST or (target.nodes is NodeForms.OPENVINO and not FUSES_PRELU)


@island_pass(when=Condition("on a CPU, in OpenVINO only on ARM64", _replaces_prelu))
def fast_prelu(graph: IslandGraph) -> None:
    """A PRelu with constant slopes is a product and a maximum."""
    for node in graph.nodes:
        slope = node.inputs[1] if node.op == "PRelu" else None
        if slope is not None and slope.array is not None and is_usual_slope(slope):
            graph.replace(node, *_by_maximum(node, slope.array))


def is_usual_slope(slope: Operand) -> bool:
    """Whether a PRelu with this slope is replaced."""
    return slope.array is not None and slope.dtype == FLOAT32 and bool(np.isfinite(slope.array).all())


def _by_maximum(node: OnnxNode, slope: NDArray[Any]) -> list[OnnxNode]:
    """`max(x, slope * x)` if no slope is above 1, else `max(x, 0) + slope * min(x, 0)`.

    A slope of 0 times an infinite number is none, so it takes the second way.
    """
    b, x = Builder(node.outputs[0].name), node.inputs[0]
    factor, zero = b.const(slope, FLOAT32), b.const(0, FLOAT32)
    if ((slope != 0) & (slope <= 1)).all():
        scaled = b.Mul(x, factor)
        return [*b.added, OnnxNode("Max", (x, scaled), node.outputs, {})]
    above, below = b.Max(x, zero), b.Mul(b.Min(x, zero), factor)
    return [*b.added, OnnxNode("Add", (above, below), node.outputs, {})]
