"""How large the numbers of a value can be, as far as a graph shows it."""

from __future__ import annotations

import math

from tfport.graph.constants import constant
from tfport.graph.node import Value

AT_MOST_1 = frozenset(
    [
        "Cos",
        "Erf",
        "RandomUniform",
        "Sigmoid",
        "Sign",
        "Sin",
        "Softmax",
        "Softsign",
        "StatelessRandomUniform",
        "StatelessRandomUniformV2",
        "Tanh",
    ]
)
AS_ITS_INPUT = frozenset(
    ["Abs", "BroadcastTo", "ExpandDims", "Identity", "Neg", "Reshape", "Squeeze", "Tile", "Transpose"]
)
DEEPEST = 8


def largest(value: Value, deep: int = 0) -> float:
    """A bound of the absolute values of a real tensor; infinity if none is known."""
    if (known := constant(value)) is not None:
        import numpy as np  # here and below, as most checks do without it

        numbers = np.abs(known.numpy().astype(np.float64))
        return float(numbers.max(initial=0)) if np.all(np.isfinite(numbers)) else math.inf
    node = value.node
    if node.op in AT_MOST_1:
        return 1.0
    if deep == DEEPEST or not node.inputs:
        return math.inf
    if node.op in AS_ITS_INPUT:
        return largest(node.inputs[0], deep + 1)
    if node.op == "Mul":
        return math.prod(largest(part, deep + 1) for part in node.inputs)
    if node.op in ("Add", "AddV2", "Sub"):
        return sum(largest(part, deep + 1) for part in node.inputs)
    if node.op == "Cast":
        return _of_short_integers(node.inputs[0], deep)
    return math.inf


def _of_short_integers(value: Value, deep: int) -> float:
    kind = value.dtype.base
    if kind.name == "bool":
        return 1.0
    if kind.is_integer and kind.numpy.itemsize <= 2:
        import numpy as np

        return float(np.iinfo(kind.numpy).max) + 1
    return largest(value, deep + 1)
