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
ARRANGES = frozenset(
    [
        "Expand", "Gather", "Identity", "Reshape", "ReverseSequence", "Slice", "Squeeze", "Tile", "Transpose",
        "Unsqueeze",
    ]
)  # fmt: skip
"""Nodes whose numbers are those of their first input."""
JOINS = frozenset(["Add", "Concat"])
"""Nodes whose numbers are finite if those of all inputs are."""
BOUNDED = frozenset(["HardSigmoid", "Sigmoid", "Tanh"])
"""Activations with which the outputs of recurrent nodes are finite."""


def with_finite_flag(nodes: Sequence[OnnxNode]) -> tuple[list[OnnxNode], Operand | None]:
    """The nodes, and a flag that is not 0 if a recurrent node reads what is not finite; None if none does.

    Each operand is read as soon as it is computed, so that its memory is free when the last layer was.
    """
    makers = {output: node for node in nodes for output in node.outputs}
    fed = dict.fromkeys(operand for node in nodes for operand in _fed(node, makers))
    if not fed:
        return list(nodes), None
    early: list[OnnxNode] = []
    after: dict[OnnxNode, list[OnnxNode]] = {}
    sums = []
    for operand in fed:
        b = Builder("finite")
        wide = b.cast(operand, FLOAT32)  # sums of float16 overflow soon
        sums.append(b.nodes("ReduceSum", wide, keepdims=0, shape=())[0])
        (after.setdefault(makers[operand], []) if operand in makers else early).extend(b.made)
    b = Builder("finite")
    total, *others = sums
    for other in others:
        total = b.Add(total, other)
    flag = b.Mul(total, b.const(0, FLOAT32))  # of NaN and infinities, this is NaN
    in_order = [other for node in nodes for other in (node, *after.get(node, ()))]
    return [*early, *in_order, *b.made], flag


def _fed(node: OnnxNode, makers: dict[Operand, OnnxNode]) -> Iterator[Operand]:
    if node.op not in DROP_NAN:
        return
    for place in FED:
        operand = node.inputs[place] if place < len(node.inputs) else None
        if operand is not None and not _is_known(operand, makers):
            yield operand


def _is_known(operand: Operand | None, makers: dict[Operand, OnnxNode]) -> bool:
    """Whether these are numbers of the model, such as states of zero, or of a recurrent node before."""
    maker = makers.get(operand) if operand is not None else None
    if operand is None or maker is None:
        return operand is not None and operand.is_constant
    if maker.op in ARRANGES:
        return _is_known(maker.inputs[0], makers)
    if maker.op in JOINS:
        return all(_is_known(term, makers) for term in maker.inputs)
    if maker.op in DROP_NAN:
        return BOUNDED.issuperset(maker.attrs.get("activations", ()))
    return maker.op == "ConstantOfShape"
