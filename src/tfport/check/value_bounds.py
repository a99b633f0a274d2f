"""How large the numbers of a value can be, as far as a graph shows it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfport.graph.constants import constant
from tfport.graph.graph import Value
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

        numbers = _absolute(known)
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
    if node.op == "Range":  # from the start towards the limit
        return max(largest(part, deep + 1) for part in node.inputs[:2])
    if node.op in ("RealDiv", "Div"):
        by = _least(node.inputs[1])
        return largest(node.inputs[0], deep + 1) / by if by else math.inf
    if node.op == "Cast":
        return _of_short_integers(node.inputs[0], deep)
    return math.inf


def _least(value: Value) -> float:
    """A bound below the absolute values but zero (a quotient by zero is not finite); 0 if unknown."""
    if (known := constant(value)) is not None:
        numbers = _absolute(known)
        return float(numbers[numbers > 0].min(initial=math.inf))
    is_integer = value.node.op == "Cast" and value.node.inputs[0].dtype.base.is_integer
    return 1.0 if is_integer else 0.0


def _absolute(known: Tensor) -> NDArray[Any]:
    import numpy as np

    return np.abs(known.numpy().astype(np.float64))


def _of_short_integers(value: Value, deep: int) -> float:
    kind = value.dtype.base
    if kind.name == "bool":
        return 1.0
    if kind.is_integer and kind.numpy.itemsize <= 2:
        import numpy as np

        return float(np.iinfo(kind.numpy).max) + 1
    return largest(value, deep + 1)
