"""What an attention adds to queries, keys and values, outside of it.

    attention(q + a, k + b, v + c) · w + d  =  attention(q + a, k, v) · w + (c · w + d)

What is added to the keys changes all scores of a query by the same number, and softmax does not depend on
that; what is added to the values is added to the result, as the weights of a query sum up to 1. On a GPU,
ONNX Runtime then reads queries, keys and values where their products wrote them. Where cuBLASLt computes the
products, it adds as well (`fused_product`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.islands.attention import ATTENTION, OFFSETS
from tfport.runtime.passes.pass_list import Condition, IslandUse, island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_POSITIONS = 4096
"""Positions of all sequences from which three products and a sum are faster than one product that ONNX
Runtime takes apart again (a transformer in float16 on an H200: 559 in place of 608 µs of kernels with 8,192
positions, but 239 in place of 225 with 1,024)."""


def positions_of(nodes: Sequence[OnnxNode]) -> int:
    """The most positions of a sequence that an attention has; 0 if none is known."""
    shapes = [node.outputs[0].shape for node in nodes if node.op == ATTENTION]
    return max((shape[1] or 0 for shape in shapes if shape is not None), default=0)


def _in_use(use: IslandUse) -> Condition:
    return Condition(use.value, lambda target: target.use is use)


@island_pass(when=_in_use(IslandUse.MANY_POSITIONS), bodies=False)
def moved_attention_bias(graph: IslandGraph) -> None:
    """What an attention adds to keys and values moves into the sum after it, or is left out."""
    for node in graph.nodes:
        offsets = node.inputs[OFFSETS] if node.op == ATTENTION and len(node.inputs) > OFFSETS else None
        total = _sum_after(node, graph) if offsets is not None else None
        if offsets is not None and offsets.array is not None and total is not None:
            product, add = total
            graph.replace(node, *_without_offsets(node, offsets.array))
            later = _with_values(product, add, offsets.array)
            graph.replace(add, OnnxNode("Add", (_sum_input(add), later), add.outputs, {}))


@island_pass(when=_in_use(IslandUse.PRODUCTS_APART), bodies=False)
def added_attention_bias(graph: IslandGraph) -> None:
    """What an attention adds to queries, keys and values is added before it, with their products."""
    for node in graph.nodes:
        offsets = node.inputs[OFFSETS] if node.op == ATTENTION and len(node.inputs) > OFFSETS else None
        parts = [o for o in node.inputs[:OFFSETS] if o is not None]
        widths = [o.shape[-1] for o in parts if o.shape]
        if offsets is None or offsets.array is None or None in widths or len(widths) < OFFSETS:
            continue
        b = Builder("offsets")
        borders = np.cumsum([width for width in widths if width is not None])[:-1]
        vectors = np.split(offsets.array, borders)
        sums = [b.Add(o, b.const(array, o.dtype)) for o, array in zip(parts, vectors, strict=True)]
        rest = node.inputs[OFFSETS + 1 :]
        inputs = (*sums, None, *rest) if rest else tuple(sums)
        graph.replace(node, *b.added, OnnxNode(node.op, inputs, node.outputs, node.attrs, node.domain))


def _sum_after(attention: OnnxNode, graph: IslandGraph) -> tuple[OnnxNode, OnnxNode] | None:
    """The product of the result of an attention with a matrix, and the sum of that with a vector."""
    node = graph.only_reader(attention)
    while node is not None and node.op == "Reshape":
        node = graph.only_reader(node)
    if node is None or node.op != "MatMul" or node.inputs[1] is None:
        return None
    weights, add = node.inputs[1].array, graph.only_reader(node, "Add")
    if weights is None or weights.ndim != 2 or add is None:
        return None
    constants = [o.array for o in add.inputs if o is not None and o.array is not None]
    return (node, add) if len(constants) == 1 and constants[0].shape == weights.shape[1:] else None


def _without_offsets(attention: OnnxNode, offsets: NDArray[np.float32]) -> list[OnnxNode]:
    queries, keys, values, _, *rest = attention.inputs
    b = Builder("queries")
    assert queries is not None
    size = _width(queries)
    moved = b.Add(queries, b.const(offsets[:size], queries.dtype))
    inputs = (moved, keys, values, None, *rest)
    while inputs[-1] is None:
        inputs = inputs[:-1]
    return [*b.added, OnnxNode(ATTENTION, inputs, attention.outputs, attention.attrs, attention.domain)]


def _with_values(product: OnnxNode, add: OnnxNode, offsets: NDArray[np.float32]) -> Operand:
    assert product.inputs[1] is not None
    weights = product.inputs[1].array
    assert weights is not None
    (vector,) = (o for o in add.inputs if o is not None and o.array is not None)
    assert vector.array is not None
    values = offsets[len(offsets) - len(weights) :].astype(np.float64)
    moved = vector.array + values @ weights.astype(np.float64)
    return Operand(vector.dtype, value=moved.astype(vector.array.dtype), name="offsets")


def _sum_input(add: OnnxNode) -> Operand:
    (other,) = (o for o in add.inputs if o is not None and o.array is None)
    return other


def _width(operand: Operand) -> int:
    assert operand.shape is not None
    assert operand.shape[-1] is not None
    return operand.shape[-1]
