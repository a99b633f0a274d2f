"""Special functions by the formulas that TensorFlow's kernels evaluate."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.formula import FLOAT64, NodeFunctions
from tfport.fix.rule import ROUNDING, Replacement, rule
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node
from tfport.runtime.ops.math.series.formulas import FORMULAS


@rule(" ".join(FORMULAS), keeps=ROUNDING)
def by_its_formula(op: RuleBuilder, n: Node) -> Replacement:
    """The polynomials and ratios that the kernel evaluates; short floats are computed in float32."""
    x = n.inputs[0]
    dtype = x.dtype.base
    m = NodeFunctions(op, x if dtype == FLOAT64 else op.cast(x, FLOAT32))
    return op.cast(FORMULAS[n.op](m, m.x, dtype == FLOAT64).value, dtype)
