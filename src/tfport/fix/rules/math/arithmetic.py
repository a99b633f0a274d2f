"""Elementwise arithmetic: sums, quotients, clipping, checks, bit shifts; and special functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.formula import FLOAT64, NodeFunctions
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import NodeOrValue, covers
from tfport.graph.dtypes import FLOAT32, INT32, INT64, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.math.series.formulas import FORMULAS

if TYPE_CHECKING:
    from numpy.typing import NDArray


@rule("AddV2", keeps=EXACT)
def as_add(op: RuleBuilder, n: Node) -> Replacement:
    """Add adds the same numbers; unlike AddV2, it also concatenates strings."""
    return op.Add(*n.inputs)


@rule("Add", keeps=EXACT)
def as_add_v2(op: RuleBuilder, n: Node) -> Replacement:
    """AddV2 adds all numbers that Add does."""
    if n.attrs["T"] == STRING:
        return refuse("AddV2 does not support strings")
    return op.AddV2(*n.inputs)


@rule("Div", keeps=EXACT)
def division_by_type(op: RuleBuilder, n: Node) -> Replacement:
    """Div is RealDiv for real and complex numbers, and TruncateDiv for integers."""
    return op.TruncateDiv(*n.inputs) if _is_integer(n) else op.RealDiv(*n.inputs)


@rule("RealDiv TruncateDiv", keeps=EXACT)
def as_div(op: RuleBuilder, n: Node) -> Replacement:
    """Div divides real numbers as RealDiv does, and integers as TruncateDiv does."""
    if _is_integer(n) != (n.op == "TruncateDiv"):
        return refuse(f"Div computes something else for {n.attrs['T']}")
    return op.Div(*n.inputs)


@rule("Div TruncateDiv", keeps=EXACT)
def rounded_towards_zero(op: RuleBuilder, n: Node) -> Replacement:
    """The quotient rounded down, and one more if it is negative and not whole."""
    x, y = n.inputs
    if not _is_integer(n):
        return refuse("FloorDiv rounds real numbers")
    down = op.FloorDiv(x, y)
    is_negative = op.NotEqual(op.Less(x, 0), op.Less(y, 0))
    is_rounded = op.LogicalAnd(op.NotEqual(op.Mul(down, y), x), is_negative)
    return op.AddV2(down, op.cast(is_rounded, x.dtype.base))


OTHER_NAMES = {
    "Mod": "TruncateMod",
    "TruncateMod": "Mod",
    "Inv": "Reciprocal",
    "Reciprocal": "Inv",
}
"""Pairs of ops that share a kernel."""


@rule(" ".join(OTHER_NAMES), keeps=EXACT)
def by_its_other_name(op: RuleBuilder, n: Node) -> Replacement:
    """Both names have the same kernel."""
    return op.node(OTHER_NAMES[n.op], *n.inputs)


@rule("DivNoNan", keeps=EXACT)
def quotient_or_zero(op: RuleBuilder, n: Node) -> Replacement:
    """The quotient, or zero if the divisor is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(y, 0), y, op.tensor(op.RealDiv(x, y), op.shape(n.output(0))))


@rule("MulNoNan", keeps=EXACT)
def product_or_zero(op: RuleBuilder, n: Node) -> Replacement:
    """The product, or zero if the second factor is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(y, 0), y, op.tensor(op.Mul(x, y), op.shape(n.output(0))))


@rule("Xdivy", keeps=EXACT)
def zero_or_quotient(op: RuleBuilder, n: Node) -> Replacement:
    """The quotient, or zero if the dividend is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(x, 0), x, op.tensor(op.RealDiv(x, y), op.shape(n.output(0))))


@rule("Xlogy Xlog1py", keeps=ROUNDING)
def zero_or_log(op: RuleBuilder, n: Node) -> Replacement:
    """The product with the logarithm, or zero if the first factor is zero."""
    x, y = n.inputs
    log = op.Log(y) if n.op == "Xlogy" else op.Log1p(y)
    return _zero_where(op, op.Equal(x, 0), x, op.tensor(op.Mul(x, log), op.shape(n.output(0))))


def _zero_where(op: RuleBuilder, condition: Node, of: Value, result: Value) -> Node:
    """Zero where a condition holds; the condition has the shape of one operand."""
    return op.Select(truth_over(op, op.tensor(condition, op.shape(of)), result), op.ZerosLike(result), result)


def truth_over(op: RuleBuilder, condition: NodeOrValue, result: Value) -> Value:
    """Bools broadcast to the shape of a result."""
    own, out = op.shape(op.value(condition)), op.shape(result)
    if own is not None and own == out and covers(own, out):
        return op.value(condition)
    return op.LogicalOr(condition, op.Fill(op.Shape(result), False)).output(0)


def _is_integer(n: Node) -> bool:
    dtype = n.outputs[0].dtype.base
    return not (dtype.is_floating or dtype.is_complex)


# Clipping, and checks for NaN and infinity.


@rule("ClipByValue", keeps=EXACT)
def below_then_above(op: RuleBuilder, n: Node) -> Replacement:
    """The minimum with the upper bound, then the maximum with the lower bound."""
    x, low, high = n.inputs
    if not x.dtype.is_integer and not all(_are_numbers(op.array(bound)) for bound in (low, high)):
        return refuse("its bounds may be NaN, which Minimum and Maximum treat differently")
    return op.Maximum(op.Minimum(x, high), low)


def _are_numbers(known: NDArray[Any] | None) -> bool:
    return known is not None and not np.isnan(known.astype(np.float64)).any()


@rule("ClipByValue", keeps=EXACT)
def replaced_by_bounds(op: RuleBuilder, n: Node) -> Replacement:
    """The upper bound is selected for greater numbers, then the lower bound for smaller ones."""
    x, low, high = n.inputs
    if x.dtype.is_complex:
        return refuse("complex numbers cannot be compared")
    below = op.tensor(op.SelectV2(op.tensor(op.Greater(x, high), op.shape(x)), high, x), op.shape(x))
    return op.SelectV2(op.tensor(op.Less(below, low), op.shape(x)), low, below)


@rule("CheckNumericsV2", keeps=EXACT)
def as_check_numerics(op: RuleBuilder, n: Node) -> Replacement:
    """CheckNumerics fails for the same numbers, with a less detailed message."""
    return op.CheckNumerics(*n.inputs, message=n.attrs["message"])


@rule("CheckNumerics", keeps=EXACT)
def as_check_numerics_v2(op: RuleBuilder, n: Node) -> Replacement:
    """CheckNumericsV2 fails for the same numbers."""
    return op.CheckNumericsV2(*n.inputs, message=n.attrs["message"])


# Bit shifts and inversion by arithmetic.


@rule("LeftShift", keeps=EXACT)
def times_a_power(op: RuleBuilder, n: Node) -> Replacement:
    """A left shift multiplies by a power of two; overflow is cut off in both."""
    x, y = n.inputs
    bits = x.dtype.base.numpy.itemsize * 8
    powers = np.array([1 << index for index in range(bits)], np.uint64).astype(x.dtype.base.numpy)
    return op.Mul(x, op.Gather(op.const(powers, x.dtype.base), _distance(op, y, bits)))


@rule("RightShift", keeps=EXACT)
def by_a_power(op: RuleBuilder, n: Node) -> Replacement:
    """A right shift divides by a power of two, rounded down; for a negative x, ~x is divided."""
    x, y = n.inputs
    dtype = x.dtype.base
    bits = dtype.numpy.itemsize * 8
    wide, distance = dtype if bits > 16 else INT32, _distance(op, y, bits)
    if not dtype.name.startswith("int"):
        return op.cast(_divided(op, op.cast(x, wide), distance, range(bits), wide), dtype)
    # FloorDiv of older releases overflows for large negative numbers, such as the highest power
    below = op.Neg(op.Cast(op.Less(x, 0), DstT=wide))
    sign = op.Add(op.Mul(below, 2), 1)
    transposed = op.Add(op.Mul(op.cast(x, wide), sign), below)
    down = _divided(op, transposed, distance, [*range(bits - 1), bits - 2], wide)
    down = _divided(op, down, distance, [0] * (bits - 1) + [1], wide)
    return op.cast(op.Add(op.Mul(down, sign), below), dtype)


@rule("Invert", keeps=EXACT)
def what_is_left_of_all_bits(op: RuleBuilder, n: Node) -> Replacement:
    """All bits set, minus the number."""
    x = n.inputs[0]
    all_bits = -1 if x.dtype.base.name.startswith("int") else np.iinfo(x.dtype.base.numpy).max
    return op.Sub(op.const(all_bits, x.dtype.base), x)


def _divided(op: RuleBuilder, x: NodeOrValue, distance: Node, distances: Sequence[int], dtype: DType) -> Node:
    """Divide by the power of two for each distance."""
    powers = np.array([1 << bits for bits in distances], np.uint64)
    return op.FloorDiv(x, op.Gather(op.const(powers, dtype), distance))


def _distance(op: RuleBuilder, y: Value, bits: int) -> Node:
    """The shift, clamped to 0 and the width minus 1, as in the kernel."""
    y = y if y.dtype.base in (INT32, INT64) else op.cast(y, INT32)
    return op.Minimum(op.Maximum(y, 0), bits - 1)


@rule(" ".join(FORMULAS), keeps=ROUNDING)
def by_its_formula(op: RuleBuilder, n: Node) -> Replacement:
    """The polynomials and ratios that the kernel evaluates; short floats are computed in float32."""
    x = n.inputs[0]
    dtype = x.dtype.base
    m = NodeFunctions(op, x if dtype == FLOAT64 else op.cast(x, FLOAT32))
    return op.cast(FORMULAS[n.op](m, m.x, dtype == FLOAT64).value, dtype)
