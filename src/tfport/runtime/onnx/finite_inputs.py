"""Notice what is not finite in the inputs of recurrent nodes: ONNX Runtime's kernels drop NaN.

Their activations limit the numbers first, which makes a number of NaN. TensorFlow's answer is NaN from there
on. A flag is added to the island; if it is raised, the host computes the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

DROP_NAN = frozenset(["LSTM", "GRU", "RNN"])
FED = (0, 5, 6)
"""The indices of the inputs that are not weights: the rows, and the states before the first."""
ARRANGES = frozenset(["Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Unsqueeze"])
"""Nodes whose numbers are those of their first input."""


def with_finite_flag(nodes: Sequence[OnnxNode]) -> tuple[list[OnnxNode], Operand | None]:
    """The nodes, and a flag that is not 0 if a recurrent node reads what is not finite; None if none does."""
    makers = {output: node for node in nodes for output in node.outputs}
    fed = dict.fromkeys(operand for node in nodes for operand in _fed(node, makers))
    if not fed:
        return list(nodes), None
    b = Builder("finite")
    wide = [b.cast(operand, FLOAT32) for operand in fed]  # sums of float16 overflow soon
    total, *others = [b.nodes("ReduceSum", operand, keepdims=0, shape=())[0] for operand in wide]
    for other in others:
        total = b.Add(total, other)
    flag = b.Mul(total, b.const(0, FLOAT32))  # of NaN and infinities, this is NaN
    return [*nodes, *b.made], flag


def _fed(node: OnnxNode, makers: dict[Operand, OnnxNode]) -> Iterator[Operand]:
    if node.op not in DROP_NAN:
        return
    for place in FED:
        operand = node.inputs[place] if place < len(node.inputs) else None
        if operand is not None and not _is_known(operand, makers):
            yield operand


def _is_known(operand: Operand | None, makers: dict[Operand, OnnxNode]) -> bool:
    """Whether these are numbers of the model, such as states of zero."""
    maker = makers.get(operand) if operand is not None else None
    if operand is None or maker is None:
        return operand is not None and operand.is_constant
    if maker.op in ARRANGES:
        return _is_known(maker.inputs[0], makers)
    if maker.op == "Add":
        return all(_is_known(term, makers) for term in maker.inputs)
    return maker.op == "ConstantOfShape"
