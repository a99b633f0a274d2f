"""Products along an axis that is not the last one: the matrix is on the left, the tensor is not transposed.

    Transpose, products with constant matrices and what is computed between them, Transpose

Mixers and gated MLPs mix positions so: the axis of positions becomes the last one, is multiplied, and goes
back to its place. Both copy single elements, which takes longer than the product (64 by 64, for 256 rows of
128 channels, one ARM64 thread: 157 ms with them, 13 ms without). Here the last axis stays the last one, and
only whole rows are copied where other axes change places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.graph import like
from tfport.runtime.onnx.op_facts import UNARY
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_graph import IslandGraph
from tfport.runtime.passes.pass_list import island_pass
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_ROW = 16
"""The least size of the last axis: shorter rows are slow to multiply and to copy."""
_OF_ONE = frozenset(UNARY.split())
_OF_TWO = frozenset(["Add", "Div", "Mul", "Sub"])


@island_pass()
def transposed_matmul(graph: IslandGraph) -> None:
    """Products along an axis that is not the last one have the matrix on the left."""
    if sum(node.op == "Transpose" for node in graph.nodes) < 2:
        return
    matches = [(node, _multiplied(node, graph)) for node in graph.nodes if node.op == "Transpose"]
    for node, others in matches:
        if others is not None:
            graph.replace(node, *others)


def _multiplied(back: OnnxNode, graph: IslandGraph) -> list[OnnxNode] | None:
    """The nodes that compute the output of a Transpose that ends this pattern."""
    first, steps = _between(back, graph)
    x = first.inputs[0] if first is not None else None
    if first is None or x is None or x.shape is None or not any(step.op == "MatMul" for step in steps):
        return None
    order: list[int] = list(first.attrs["perm"])
    axis, last = order[-1], len(order) - 1
    final = [order[i] for i in back.attrs["perm"]]
    if axis == last or final[-1] != last or (x.shape[last] or 0) < LEAST_ROW:
        return None
    inner = [*(i for i in range(last) if i != axis), axis, last]
    return _rewritten(x, inner, steps, [inner.index(i) for i in final], back.outputs)


def _between(back: OnnxNode, graph: IslandGraph) -> tuple[OnnxNode | None, list[OnnxNode]]:
    """The Transpose before the products, and the nodes from there in the order in which they run."""
    steps: list[OnnxNode] = []
    operand = back.inputs[0]
    while operand is not None and operand.dtype == FLOAT32 and graph.uses(operand) == 1:
        node = graph.producer(operand)
        if node is None or node.domain:
            break
        if node.op == "Transpose":
            return node, steps[::-1]
        steps.append(node)
        operand = _source(node)
    return None, []


def _source(node: OnnxNode) -> Operand | None:
    """The operand of a node that works along the last axis, or on single elements."""
    if node.op in _OF_ONE and len(node.inputs) == 1:
        return node.inputs[0]
    if len(node.inputs) != 2 or None in node.inputs:
        return None
    x, other = (operand for operand in node.inputs if operand is not None)
    if node.op == "MatMul":
        return x if other.array is not None and other.array.ndim == 2 else None
    if node.op not in _OF_TWO:
        return None
    for operand, constant in ((x, other), (other, x)):
        if constant.array is not None and _is_along_last(constant.array, operand):
            return operand
    return None


def _is_along_last(array: NDArray[Any], operand: Operand) -> bool:
    return operand.rank is not None and array.ndim <= operand.rank and array.size in (1, *array.shape[-1:])


def _rewritten(
    x: Operand, inner: list[int], steps: list[OnnxNode], final: list[int], outputs: tuple[Operand, ...]
) -> list[OnnxNode]:
    assert x.shape is not None
    nodes: list[OnnxNode] = []
    plain = list(range(len(inner)))
    value, sizes = x, [x.shape[i] for i in inner]
    if inner != plain:
        value = Operand(FLOAT32, sizes, name="transposed")
        nodes.append(OnnxNode("Transpose", (x,), (value,), {"perm": inner}))
    for step in steps:
        inputs = [_transposed_input(step, operand, value) for operand in step.inputs]
        if step.op == "MatMul":
            inputs.reverse()
        sizes[-2] = next((o.array.shape[0] for o in inputs if o.array is not None and o.shape), sizes[-2])
        is_end = step is steps[-1] and final == plain
        value = outputs[0] if is_end else Operand(FLOAT32, sizes, name="transposed")
        nodes.append(like(step, tuple(inputs), (value,)))
    if final != plain:
        nodes.append(OnnxNode("Transpose", (value,), outputs, {"perm": final}))
    return nodes


def _transposed_input(step: OnnxNode, operand: Operand | None, value: Operand) -> Operand:
    """A constant for the axis before the last one; the value in place of what is computed."""
    if operand is None or operand.array is None:
        return value
    if step.op == "MatMul":
        return Operand(FLOAT32, value=np.ascontiguousarray(operand.array.T))
    return Operand(FLOAT32, value=operand.array.reshape((-1, 1) if operand.array.size > 1 else ()))
