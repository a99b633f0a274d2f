"""Replace nodes whose kernel in ONNX Runtime is inaccurate by nodes that are accurate together.

The absolute error of `Sigmoid` is 1e-7, several times the result where that is small, and so the
scores of a detector would change their order. On a GPU a score of 2e-5 differed by what `1 - Sigmoid(-x)`
makes there, an absolute error of 6e-8. `x · Sigmoid(x)` stays: ONNX Runtime has one kernel for it, and its
error is small compared with `x`. So does one whose results are quantized: their steps are far larger. An
exported model keeps all nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

_TYPES = ("float32", "float64")


def accurate(
    nodes: Sequence[OnnxNode], results: Collection[Operand], *, gates_stay: bool = False
) -> Iterator[OnnxNode]:
    """The nodes of one graph with outputs `results`, the inaccurate ones replaced.

    `gates_stay`: not those that are only factors, whose error is small compared with what they multiply.
    """
    readers: dict[Operand, list[OnnxNode]] = defaultdict(list)
    for node in nodes:
        for operand in (*node.inputs, *(o for program in node.programs for o in program.captures())):
            if operand is not None:
                readers[operand].append(node)
    for node in nodes:
        if node.op != "Sigmoid" or node.outputs[0].dtype.name not in _TYPES:
            yield node
            continue
        output = node.outputs[0]
        is_inner = output not in results
        stays = is_inner and all(
            _is_swish(node, r) or r.op == "QuantizeLinear" or (gates_stay and r.op == "Mul")
            for r in readers[output]
        )
        yield from [node] if stays else _sigmoid(node)


def _is_swish(sigmoid: OnnxNode, reader: OnnxNode) -> bool:
    return reader.op == "Mul" and {*reader.inputs} == {*sigmoid.inputs, *sigmoid.outputs}


def _sigmoid(node: OnnxNode) -> list[OnnxNode]:
    """`1 / (1 + exp(-x))`: where the exponential overflows, the result is below the smallest normal float."""
    x = node.inputs[0]
    b = Builder(node.outputs[0].name)
    below = b.Add(b.Exp(b.Neg(x)), b.const(1, node.outputs[0].dtype))
    return [*b.made, OnnxNode("Reciprocal", (below,), node.outputs, {})]
