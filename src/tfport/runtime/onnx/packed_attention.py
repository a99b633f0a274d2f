"""One product for the queries, keys and values of an attention, where all three come from the same input.

    MultiHeadAttention(x · q, x · k, x · v)  →  MultiHeadAttention(x · w)

The columns of `w` are those of q, k and v, head by head: [heads, 3, size]. ONNX Runtime has that form only on
a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.attention import ATTENTION
from tfport.runtime.onnx.island_passes import live_nodes
from tfport.runtime.onnx.patterns.producers import Producers
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

PARTS = 3
"""Queries, keys and values."""
MAX_WIDTH = 1024
"""Numbers of all heads together, up to which the kernel has this form."""


def with_packed_attention(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[OnnxNode]:
    """The nodes with one product for each attention whose parts come from one input."""
    producers = Producers(nodes)
    made: list[OnnxNode] = []
    for node in nodes:
        made += (_packed(node, producers) if node.op == ATTENTION else None) or [node]
    return live_nodes(made, outputs)


def _packed(node: OnnxNode, producers: Producers) -> list[OnnxNode] | None:
    products = [producers.of(operand, "MatMul") for operand in node.inputs[:PARTS]]
    sources = {product.inputs[0] for product in products if product is not None}
    weights = [product.inputs[1] for product in products if product is not None]
    arrays = [weight.array for weight in weights if weight is not None and weight.array is not None]
    if len(sources) != 1 or len({array.shape for array in arrays}) != 1 or len(arrays) != PARTS:
        return None
    (x,) = sources
    if x is None or x.rank != 3 or arrays[0].ndim != 2:
        return None
    heads = int(node.attrs["num_heads"])
    rows, columns = arrays[0].shape
    if columns > MAX_WIDTH:
        return None
    by_head = np.stack([array.reshape(rows, heads, columns // heads) for array in arrays], 2)
    sizes = [0, 0, heads, PARTS, columns // heads]
    weight = Operand(FLOAT32, value=by_head.reshape(rows, PARTS * columns), name="packed")
    product, parts = Operand(FLOAT32, name="packed"), Operand(FLOAT32, name="packed")
    target = Operand(INT64, value=np.array(sizes, np.int64), name="sizes")
    return [
        OnnxNode("MatMul", (x, weight), (product,), {}),
        OnnxNode("Reshape", (product, target), (parts,), {}),
        OnnxNode(ATTENTION, (parts, None, None, *node.inputs[PARTS:]), node.outputs, node.attrs, node.domain),
    ]
