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
from tfport.runtime.onnx.graph import scalar_and_other
from tfport.runtime.operand import Operand
from tfport.runtime.passes.drawn_pattern import Drawn, Match, Ops, draw
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def _above(op: Ops, x: Drawn) -> Drawn:
    return op.either(op.Relu(x), op.Max(x, 0))


def _below(op: Ops, x: Drawn, slope: Drawn, factor: Drawn) -> Drawn:
    """A multiple of `min(x, 0)`."""
    half = op.either(
        op.Min(x, 0).named("minimum"), _above(op, (-x).named("negative")), _above(op, factor * x)
    )
    return op.either(slope * half, half)


def _slope(match: Match) -> NDArray[Any]:
    """What negative values are multiplied by."""
    slope = match.slope.array if match.has("slope") else None
    slope = np.array(1, np.float32) if slope is None else slope
    if match.node.op not in ("Add", "Sub"):
        return slope
    factor = match.factor.array if match.has("factor") else np.float32(1 if match.has("minimum") else -1)
    return np.asarray(slope * factor * (1 if match.node.op == "Add" else -1), np.float32)


def _is_sloped(match: Match) -> bool:
    x, slope = match.x, _slope(match)
    if x.dtype != FLOAT32 or not np.isfinite(slope).all() or not _fits(slope, x):
        return False
    if match.has("factor"):
        factor = match.factor.array
        return factor is not None and factor.size == 1 and bool((factor < 0).all())
    if match.node.op == "Max":
        return bool(((slope > 0) & (slope <= 1)).all())
    # at zero both sides of a condition are the same if no slope is negative
    return match.node.op != "Where" or match.has("strict") or bool((slope >= 0).all())


def _fits(slope: NDArray[Any], x: Operand) -> bool:
    """Whether the slope does not broadcast `x` to another shape."""
    if x.shape is None or slope.ndim > len(x.shape):
        return slope.ndim == 0
    sizes = x.shape[len(x.shape) - slope.ndim :]
    return all(n in (1, size) for n, size in zip(slope.shape, sizes, strict=True))


SLOPED = [
    draw(drawing, constants="slope factor", accepts=_is_sloped)
    for drawing in (
        lambda op, x, slope: op.Where(
            op.either(op.Greater(x, 0).named("strict"), op.GreaterOrEqual(x, 0)), x, slope * x
        ),
        lambda op, x, slope: op.Where(
            op.either(op.LessOrEqual(x, 0).named("strict"), op.Less(x, 0)), slope * x, x
        ),
        lambda op, x, slope: op.Max(x, slope * x),
        lambda op, x, slope, factor: _above(op, x) + _below(op, x, slope, factor),
        lambda op, x, slope, factor: _above(op, x) - _below(op, x, slope, factor),
    )
]


@island_pass()
def prelu(graph: IslandGraph) -> None:
    """A slope for negative values, however it is written, is one PRelu or LeakyRelu."""
    for match in (match for pattern in SLOPED for match in graph.match(pattern)):
        slope = _slope(match)
        if slope.size == 1:
            match.replace("LeakyRelu", match.x, alpha=float(slope.reshape(())))
        else:
            match.replace("PRelu", match.x, Operand(FLOAT32, value=slope, name="slope"))


@island_pass()
def clamp(graph: IslandGraph) -> None:
    """A chain of bounds is one Clip or Relu."""
    matches = [(node, _clamped(node, graph)) for node in graph.nodes if node.op in ("Max", "Min")]
    for node, bounded in matches:
        if bounded is not None:
            graph.replace(node, bounded)


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
