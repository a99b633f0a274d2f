"""Activations that are written as several nodes, as one node for which engines have a kernel.

GELU: `x/2 · erfc(-x/√2)`, as Keras 3 writes it, and `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`, the
approximate form of BERT, GPT-2 and Flax.

Slopes for negative values, written with comparisons or with the two halves of a value:

    x > 0 ? x : slope * x        relu(x) - slope * relu(-x)        max(x, 0) + slope * min(x, 0)

They become one PRelu, or LeakyRelu if the slope is one number. Bounds, written as a chain of Max, Min and
Relu, become one Clip or Relu. Engines compute these together with the convolution before them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.graph import constant_and_other, scalar_and_other
from tfport.runtime.operand import Operand
from tfport.runtime.passes.drawn_pattern import draw
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scaled = tuple[Operand, NDArray[Any]] | None

ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715
GELU = draw(lambda op, x: 0.5 * x * op.Erfc(math.sqrt(0.5) * -x))
GELU_BY_TANH = draw(lambda op, x: 0.5 * x * (1 + op.Tanh(ROOT * (x + CUBIC * x * x * x))))


@island_pass()
def gelu(graph: IslandGraph) -> None:
    """Both forms of GELU, with their factors in any order, are one Gelu."""
    for match in graph.match(GELU):
        match.replace("Gelu", match.x, approximate="none")
    for match in graph.match(GELU_BY_TANH):
        if match.output.dtype == FLOAT32 and match.x.rank is not None and match.x.rank == match.output.rank:
            match.replace("Gelu", match.x, approximate="tanh")


@island_pass()
def prelu(graph: IslandGraph) -> None:
    """A slope for negative values, however it is written, is one PRelu or LeakyRelu."""
    finds = {"Where": _of_condition, "Add": _of_halves, "Sub": _of_halves, "Max": _of_maximum}
    matches = [(node, finds[node.op](node, graph)) for node in graph.nodes if node.op in finds]
    for node, scaled in matches:
        if scaled is not None and (sloped := _with_slope(node, *scaled)) is not None:
            graph.replace(node, sloped)


@island_pass()
def clamp(graph: IslandGraph) -> None:
    """A chain of bounds is one Clip or Relu."""
    matches = [(node, _clamped(node, graph)) for node in graph.nodes if node.op in ("Max", "Min")]
    for node, bounded in matches:
        if bounded is not None:
            graph.replace(node, bounded)


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


def _of_condition(node: OnnxNode, graph: IslandGraph) -> Scaled:
    """`x` where it is positive, else `slope * x`; at zero both are the same if no slope is negative."""
    condition, first, second = node.inputs
    compare = graph.producer(condition)
    if compare is None or compare.op not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    x, zero = compare.inputs
    if x is None or zero is None or zero.array is None or zero.array.ndim > (x.rank or 0) or zero.array.any():
        return None
    keeps, scales = (first, second) if compare.op.startswith("Greater") else (second, first)
    scaled = _scaled(scales, graph)
    if keeps is not x or scaled is None or scaled[0] is not x or zero.array.size != 1:
        return None
    strict = compare.op in ("Greater", "LessOrEqual")
    return scaled if strict or (scaled[1] >= 0).all() else None


def _of_halves(node: OnnxNode, graph: IslandGraph) -> Scaled:
    first, second = node.inputs
    for positive, other in ((first, second), (second, first))[: 2 if node.op == "Add" else 1]:
        x, scaled = _positive_half(positive, graph), _scaled(other, graph)
        half = _negative_half(scaled[0] if scaled is not None else other, graph)
        if x is None or half is None or half[0] is not x:
            continue
        slope = half[1] * (scaled[1] if scaled is not None else np.array(1, np.float32))
        return x, np.asarray(slope if node.op == "Add" else -slope, np.float32)
    return None


def _of_maximum(node: OnnxNode, graph: IslandGraph) -> Scaled:
    """`max(x, slope * x)` with one slope between 0 and 1."""
    if len(node.inputs) != 2:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        scaled = _scaled(other, graph)
        if scaled is not None and scaled[0] is x and ((scaled[1] > 0) & (scaled[1] <= 1)).all():
            return scaled
    return None


def _scaled(operand: Operand | None, graph: IslandGraph) -> Scaled:
    """What is multiplied by a constant, and the constant."""
    node = graph.producer(operand, "Mul")
    constant, x = constant_and_other(node) if node is not None else (None, None)
    return (x, constant) if x is not None and constant is not None else None


def _positive_half(operand: Operand | None, graph: IslandGraph) -> Operand | None:
    """`x` of `max(x, 0)`."""
    node = graph.producer(operand)
    if node is None or node.op not in ("Relu", "Max"):
        return None
    limit, x = (0.0, node.inputs[0]) if node.op == "Relu" else scalar_and_other(node)
    return x if limit == 0 else None


def _negative_half(operand: Operand | None, graph: IslandGraph) -> tuple[Operand, Any] | None:
    """`x` and `c` of `c * min(x, 0)`."""
    least = graph.producer(operand, "Min")
    if least is not None:
        limit, x = scalar_and_other(least)
        return (x, np.float32(1)) if limit == 0 and x is not None else None
    inner = _positive_half(operand, graph)
    negated = graph.producer(inner, "Neg")
    if negated is not None and negated.inputs[0] is not None:
        return negated.inputs[0], np.float32(-1)
    scaled = graph.producer(inner, "Mul")
    factor, x = scalar_and_other(scaled) if scaled is not None else (None, None)
    return (x, np.float32(factor)) if x is not None and factor is not None and factor < 0 else None


def _clamped(node: OnnxNode, graph: IslandGraph) -> OnnxNode | None:
    """The Clip or Relu that replaces a Max or Min that ends this pattern."""
    x, low, high = _bounds(node.outputs[0], graph)
    if x is None or x.dtype != FLOAT32:
        return None
    if (low, high) == (0, math.inf):
        return OnnxNode("Relu", (x,), node.outputs, {})
    if math.inf in (-low, high):
        return None
    limits = (Operand(FLOAT32, value=np.array(limit, np.float32), name="limit") for limit in (low, high))
    return OnnxNode("Clip", (x, *limits), node.outputs, {})


def _bounds(operand: Operand | None, graph: IslandGraph) -> tuple[Operand | None, float, float]:
    """What a chain of bounds starts from, and the bounds that it amounts to."""
    chain: list[tuple[str, float]] = []
    node = graph.producer(operand)
    while node is not None:
        limit, inner = (0.0, node.inputs[0]) if node.op == "Relu" else scalar_and_other(node)
        if node.op not in ("Relu", "Max", "Min") or limit is None or math.isnan(limit):
            break
        chain.append((node.op, limit))
        operand, node = inner, graph.producer(inner)
    low, high = -math.inf, math.inf
    for op, limit in reversed(chain):
        bound = min if op == "Min" else max
        low, high = bound(low, limit), bound(high, limit)
    return operand, low, high
