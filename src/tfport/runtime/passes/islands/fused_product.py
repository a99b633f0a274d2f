"""Products with constant matrices, with the sum and the Relu after them, as one operation of cuBLASLt.

    relu(x · w + bias)        bias and Relu are optional

ONNX Runtime adds in a kernel of its own, or in that of the node after it. Where that is a Gelu, it is faster
so (a transformer on an H200, 64 · 128 positions: 142 µs with the sum, 160 without). The queries, keys and
values of an attention are one operation with three results, which lie one after another in the memory:
attention reads them there, and nothing is left to be added to them (`added_attention_bias`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.attention import ATTENTION, OFFSETS
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = (FLOAT32, DType.parse("float16"), DType.parse("bfloat16"))
MULTIPLE = 8
"""Rows and columns of a matrix are multiples of this number, or there are no tensor cores for them."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedProduct:
    """What cuBLASLt computes at once."""

    nodes: tuple[OnnxNode, ...]
    """The ONNX nodes that it takes the place of."""
    x: Operand
    weights: NDArray[Any]
    """[results, columns, rows]: matrices are transposed, the order in which tensor cores are fastest."""
    bias: NDArray[Any]
    """[results, columns]"""
    outputs: tuple[Operand, ...]
    relu: bool

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (self.x,)

    @property
    def constants(self) -> tuple[NDArray[Any], ...]:
        return self.weights, self.bias

    def output_shape(self, x: Sequence[int]) -> tuple[int, ...]:
        """The sizes of each output for those of the input."""
        if x[-1] != self.weights.shape[-1]:
            raise Error(f"a product of {tuple(x)} with a matrix of {self.weights.shape[-1]} rows")
        return *x[:-1], self.weights.shape[1]


def fused_products(nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> list[FusedProduct]:
    """What cuBLASLt can compute of an island, in order."""
    graph = OnnxGraph(nodes, outputs)
    products = [_product(node, graph) for node in nodes if is_usual(node)]
    singles = {product.outputs[0]: product for product in products}
    joined: dict[Operand, FusedProduct] = {}
    for node in nodes:
        parts = [singles.get(o) for o in node.inputs[:OFFSETS] if o is not None and node.op == ATTENTION]
        together = _together([part for part in parts if part is not None])
        if together is not None and not any(o in joined for o in together.outputs):
            joined.update(dict.fromkeys(together.outputs, together))
    return list(dict.fromkeys(joined.get(output, single) for output, single in singles.items()))


def _product(node: OnnxNode, graph: OnnxGraph) -> FusedProduct:
    """A product with the sum and the Relu after it."""
    x, matrix = node.inputs
    assert x is not None
    assert matrix is not None
    assert matrix.array is not None
    chain, array = [node], matrix.array
    bias = np.zeros(array.shape[1], array.dtype)
    add = graph.only_reader(node, "Add")
    vector = _vector(add, array.shape[1]) if add is not None else None
    if add is not None and vector is not None and graph.only_reader(add, "Gelu") is None:
        chain.append(add)
        bias = vector
    relu = graph.only_reader(chain[-1], "Relu")
    if relu is not None:
        chain.append(relu)
    weights, is_relu = np.ascontiguousarray(array.T)[None], relu is not None
    return FusedProduct(tuple(chain), _source(x, graph), weights, bias[None], chain[-1].outputs, is_relu)


def _source(x: Operand, graph: OnnxGraph) -> Operand:
    """The operand before it was reshaped and reshaped back."""
    source = before = x
    while (reshape := graph.producer(before, "Reshape")) is not None and reshape.inputs[0] is not None:
        before = reshape.inputs[0]
        if x.shape is not None and before.shape == x.shape and x.shape.count(None) <= 1:
            source = before
    return source


def _vector(add: OnnxNode, size: int) -> NDArray[Any] | None:
    """What a node adds, if that is one number for each column."""
    arrays = [o.array for o in add.inputs if o is not None and o.array is not None]
    return arrays[0] if len(arrays) == 1 and arrays[0].shape == (size,) else None


def _together(parts: Sequence[FusedProduct]) -> FusedProduct | None:
    """Queries, keys and values as one operation, if they come from the same input."""
    first = parts[0] if len(parts) == OFFSETS else None
    if first is None or any(
        part.x is not first.x or part.weights.shape != first.weights.shape or part.relu for part in parts
    ):
        return None
    weights, bias = (np.concatenate(arrays) for arrays in zip(*(p.constants for p in parts), strict=True))
    nodes = tuple(node for part in parts for node in part.nodes)
    return FusedProduct(nodes, first.x, weights, bias, tuple(o for p in parts for o in p.outputs), relu=False)


def is_usual(node: OnnxNode) -> bool:
    """Whether a node is a product with a constant matrix for which there are tensor cores."""
    if node.op != "MatMul" or node.domain:
        return False
    x, matrix = node.inputs
    if x is None or matrix is None or matrix.array is None or x.is_constant:
        return False
    return (
        matrix.array.ndim == 2
        and (x.rank or 0) >= 2
        and x.dtype in TYPES
        and not any(size % MULTIPLE for size in matrix.array.shape)
    )
