"""Layer normalization: mean, variance, scale and offset over the last axis as one node, where that is fast.

Keras writes it as a batch normalization: `x·g + (offset - mean·g)` where
`g = scale / √(variance + ε)`. Others write the definition: `(x - mean) / √(variance + ε) · scale + offset`.

On ARM64 ONNX Runtime's kernel is slow. For 512 rows of 768 numbers it takes 2.8 times as long as nine nodes,
for 64 rows of 64 numbers 1.1 times (Neoverse N1, ONNX Runtime 1.31, one thread), and their answers are closer
to the exact ones. On x86-64 the kernel takes a third of the time of the nodes. An exported model keeps all
nodes.
"""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.drawn_pattern import Drawn, Match, Ops, draw
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import ONNX_RUNTIME_CPU, island_pass
from tfport.runtime.program import OnnxNode

IS_SLOW = platform.machine() in ("aarch64", "arm64")
LARGE = 4096
"""Elements from which on several fast nodes take less time than one slow node."""


def _is_over_last_axis(mean: OnnxNode) -> bool:
    x, axes = (*mean.inputs, None)[:2]
    if x is None or axes is None or axes.array is None or axes.array.size != 1 or x.rank is None:
        return False
    return bool(mean.attrs.get("keepdims", 1)) and int(axes.array.reshape(-1)[0]) % x.rank == x.rank - 1


def _mean(op: Ops, x: Drawn, axes: Drawn) -> Drawn:
    return op.ReduceMean(x, axes).where(_is_over_last_axis)


def _inverse(op: Ops, x: Drawn, mean: Drawn, epsilon: Drawn, axes: Drawn) -> Drawn:
    """`1 / √(variance + ε)`."""
    centered = x - mean
    return op.Reciprocal(op.Sqrt(_mean(op, centered * centered, axes) + epsilon))


def _as_defined(op: Ops, x: Drawn, scale: Drawn, offset: Drawn, epsilon: Drawn, a: Drawn, b: Drawn) -> Drawn:
    mean = _mean(op, x, a)
    return (x - mean) * _inverse(op, x, mean, epsilon, b) * scale + offset


def _of_keras(op: Ops, x: Drawn, scale: Drawn, offset: Drawn, epsilon: Drawn, a: Drawn, b: Drawn) -> Drawn:
    mean = _mean(op, x, a)
    g = (_inverse(op, x, mean, epsilon, b) * scale).named("g")
    return x * g + op.either(offset - mean * g, -mean * g + offset)


def _is_layer_norm(match: Match) -> bool:
    constants = match.scale.array, match.offset.array, match.epsilon.array
    is_whole = all(_is_along_last(array, match.x) for array in constants[:2])
    return is_whole and constants[2] is not None and constants[2].size == 1 and match.output.dtype == FLOAT32


def _is_along_last(array: Any, x: Operand) -> bool:
    return array is not None and x.shape is not None and array.size == x.shape[-1] == array.shape[-1]


FORMS = [
    draw(each, constants="scale offset epsilon", accepts=_is_layer_norm) for each in (_of_keras, _as_defined)
]


@island_pass()
def layer_norm(graph: IslandGraph) -> None:
    """Mean, variance, scale and offset over the last axis are one LayerNormalization."""
    for match in (match for form in FORMS for match in graph.match(form)):
        assert match.epsilon.array is not None
        epsilon = float(match.epsilon.array.reshape(-1)[0])
        constants = _flat(match.scale), _flat(match.offset)
        match.replace("LayerNormalization", match.x, *constants, axis=-1, epsilon=epsilon)


def _flat(constant: Operand) -> Operand:
    assert constant.array is not None
    return Operand(FLOAT32, value=np.ascontiguousarray(constant.array.reshape(-1)))


@island_pass(when=ONNX_RUNTIME_CPU)
def fast_layer_norm(graph: IslandGraph) -> None:
    """A large LayerNormalization over the last axis is nine nodes, on ARM64."""
    for node in graph.nodes:
        if IS_SLOW and node.op == "LayerNormalization" and _is_large(node):
            graph.replace(node, *_in_parts(node))


def _is_large(node: OnnxNode) -> bool:
    """Whether rows of float32 may have many elements, so that the number of nodes does not matter.

    An unknown first size, of a batch, is taken as 1: in loops, the rows of one step are few.
    """
    output: Operand = node.outputs[0]
    if output.dtype != FLOAT32 or len(node.outputs) != 1 or node.attrs.get("axis", -1) != -1:
        return False
    if output.shape is None:
        return True
    first, *sizes = output.shape
    return None in sizes or math.prod((first or 1, *filter(None, sizes))) >= LARGE


def _in_parts(node: OnnxNode) -> list[OnnxNode]:
    x, factor, *offset = node.inputs
    b = Builder(node.outputs[0].name)
    last = b.const([-1], INT64)
    centered = b.Sub(x, b.ReduceMean(x, last))
    variance = b.ReduceMean(b.Mul(centered, centered), last)
    deviation = b.Sqrt(b.Add(variance, b.const(node.attrs.get("epsilon", 1e-5), FLOAT32)))
    b.Mul(b.Div(centered, deviation), factor)
    if offset:
        b.Add(b.added[-1].outputs[0], offset[0])
    *others, end = b.added
    return [*others, OnnxNode(end.op, end.inputs, node.outputs, end.attrs)]
