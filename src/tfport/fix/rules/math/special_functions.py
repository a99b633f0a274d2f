"""Special functions by series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import with_shape_of
from tfport.fix.rule import ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value

# M. Giles, Approximating the erfinv function: in w = -log(1 - x**2), about the middle and for the tails
MIDDLE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
TAILS = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
TURN = 5.0


@rule("Erfinv", keeps=ROUNDING)
def erfinv_by_series(op: NodeBuilder, n: Node) -> Replacement:
    """A polynomial in the logarithm of 1 - x², accurate to a few ulps of float32."""
    x = n.inputs[0]
    if x.dtype.base != FLOAT32:
        return refuse(f"the series is accurate for float32, not for {x.dtype}")

    def alike(node: Node) -> Value:
        return with_shape_of(op, node, x)

    # 1 - x² would lose digits near 1
    w = alike(op.Neg(op.Log(op.Mul(op.Sub(1.0, x), op.Add(x, 1.0)))))
    middle = _polynomial(op, op.Sub(w, 2.5), MIDDLE)
    tails = _polynomial(op, op.Sub(op.Sqrt(w), 3.0), TAILS)
    inside = op.Mul(op.Select(op.Less(w, TURN), middle, tails), x)
    at_ends = op.Equal(op.Abs(x), 1.0)
    return op.Select(at_ends, op.Mul(x, np.float32(np.inf)), inside)


def _polynomial(op: NodeBuilder, w: Node, factors: Sequence[float]) -> Node:
    made = op.Add(op.Mul(w, factors[0]), factors[1])
    for factor in factors[2:]:
        made = op.Add(op.Mul(made, w), factor)
    return made
